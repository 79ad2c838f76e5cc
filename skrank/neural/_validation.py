"""Lists set apart for early stopping, and the value that is measured on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from skrank._data.lists import Floats, Indices, Lists
from skrank.metrics import RankingScorer, make_ranking_scorer
from skrank.neural._batches import MOST_ROWS, Batch, bounded_parts
from skrank.neural._trainer import mean_loss

FEWEST_LISTS = 10  # of which early_stopping="auto" sets some apart


def split_lists(
    ranker: Any, weights: Floats, rng: np.random.RandomState
) -> tuple[Indices, Indices | None]:
    """Return the numbers of the training lists, and of the validation lists.

    Lists of weight 0 count in neither, so they stay with the training lists.

    Parameters
    ----------
    ranker : NeuralRanker
        With ``early_stopping`` and ``validation_fraction``.
    weights : ndarray of shape (n_lists,)
        Weights of lists.
    rng : RandomState
        Draws the lists that are set apart.

    Raises
    ------
    ValueError
        If ``early_stopping`` is True and fewer than two lists weigh more than 0.
    """
    numbers = np.arange(len(weights))
    weighty = np.flatnonzero(weights > 0)
    enough = FEWEST_LISTS if ranker.early_stopping == "auto" else 2
    if not ranker.early_stopping or (enough > 2 and len(weighty) < enough):
        return numbers, None
    if len(weighty) < enough:
        raise ValueError(
            "early_stopping=True sets whole lists apart, and there is only one "
            + ("list. " if len(weights) == 1 else "with a weight above 0. ")
            + "Use early_stopping=False."
        )
    n_apart = int(np.ceil(ranker.validation_fraction * len(weighty)))
    n_apart = min(n_apart, len(weighty) - 1)
    apart = np.sort(rng.permutation(weighty)[:n_apart])
    return np.setdiff1d(numbers, apart), apart


class Validation:
    """Measure networks on the lists set apart; smaller values are better.

    Parameters
    ----------
    ranker : NeuralRanker
        With ``validation_metric``, and ``_predict``.
    data : LabelledLists
        All lists.
    target : Target
        The loss of lists.
    numbers : ndarray of int
        The lists set apart.

    Attributes
    ----------
    sign : float
        -1 if the value is the negative of a metric, else 1.
    """

    def __init__(self, ranker: Any, data: Any, target: Any, numbers: Indices) -> None:
        self.ranker, self.data, self.target = ranker, data, target
        self.numbers, self.sign = numbers, 1.0
        self.scorer = find_scorer(ranker.validation_metric)
        if self.scorer is None:
            return
        self.sign = -1.0 if self.scorer.greater_is_better else 1.0
        lists = data.lists
        self.lists = Lists(lists.sizes[numbers])
        place = np.arange(self.lists.n_rows) - self.lists.expand(self.lists.starts)
        self.y = data.y[self.lists.expand(lists.starts[numbers]) + place]
        self.groups = self.lists.expand(np.arange(self.lists.n_lists))
        self.options = dict(self.scorer.kwargs)
        weights = data.weights[numbers]
        if weights.min() < weights.max():
            self.options["sample_weight"] = self.lists.expand(weights)

    @torch.no_grad()
    def __call__(self, network: nn.ModuleDict) -> float:
        """Return the loss or the signed metric of the lists set apart."""
        if self.scorer is None:
            data = self.data
            return mean_loss(
                network, data.tables, self.target, data.weights, self.numbers
            )
        network.eval()
        scores = np.empty(self.lists.n_rows)
        sizes = self.lists.sizes
        for part in bounded_parts(np.arange(len(sizes)), sizes, most_rows=MOST_ROWS):
            batch = self.data.tables.batch(self.numbers[part])
            padded = self.ranker._predict([network], batch)
            place_rows(scores, padded, batch, self.lists, part)
        value = self.scorer.metric(self.y, scores, self.groups, **self.options)
        return self.sign * float(value)


def find_scorer(metric: Any) -> RankingScorer | None:
    """Return the scorer that a name, a function or a scorer stands for."""
    if metric is None or isinstance(metric, RankingScorer):
        return metric
    return make_ranking_scorer(metric)


def place_rows(
    out: Any, padded: Any, batch: Batch, lists: Lists, part: Indices
) -> None:
    """Write values of a batch's candidates to the places of their rows.

    ``out`` is of shape (..., n_rows), ``padded`` a tensor (..., n_lists, longest).
    """
    valid = batch.valid.cpu().numpy()
    place = np.arange(valid.shape[1])
    rows = (lists.starts[part][:, None] + place)[valid]
    out[..., rows] = padded.cpu().numpy()[..., valid]
