"""Targets of networks: a loss of scores, or the likelihood of a best arrangement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank.losses import Loss
from skrank.metrics import best_order
from skrank.metrics._clicks.order import free_choices
from skrank.neural._arranger import Arranger, arrangement_loss
from skrank.neural._batches import Batch, padded_index
from skrank.neural._compiled_loss import CompiledLoss
from skrank.neural._scorers import batch_scores

# The arranger, h and u of a network.
Encoded = tuple[Arranger, Tensor, Tensor]


class LossTarget:
    """Labels under a loss of the package."""

    def __init__(self, loss: Loss, y: Floats, lists: Lists) -> None:
        self.loss, self.y, self.lists = loss, y, lists

    def redraw(self, rng: np.random.RandomState) -> None:
        """Do nothing, since a loss draws once a fit."""

    def values(
        self,
        network: nn.ModuleDict,
        batch: Batch,
        numbers: Indices,
        *,
        validating: bool = False,
    ) -> Tensor:
        """Return the loss of each list of a batch, (n_lists,)."""
        scores = batch_scores(network, batch)[batch.valid]
        lists = Lists(self.lists.sizes[numbers])
        place = np.arange(lists.n_rows) - lists.expand(lists.starts)
        y = self.y[lists.expand(self.lists.starts[numbers]) + place]
        extra: Tensor = network["head"].extra
        limit = self.loss.extra_limit
        extra = extra.clamp(-limit, limit) if np.isfinite(limit) else extra
        prepared = self.loss.prepare(y, lists)
        return CompiledLoss.apply(scores, extra, self.loss, prepared, lists)


class ArrangementTarget:
    """A best arrangement of each list, drawn from all known best ones.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Labels in the order of the lists, or other numbers that are equal for rows that
        may change places.
    ranks : ndarray of shape (n_rows,)
        Rank of each row in a best arrangement, any number that sorts to it.
    lists : Lists
        The lists.
    masked : {"placed", "previous"}
        Reading of the loss.
    redrawn : bool
        Whether the arrangement is drawn again in each epoch, not only once. Validation
        keeps the first order.
    rng : RandomState
        Draws the first order.
    open_places : ndarray of shape (n_rows,), default=None
        Numbers of the places, list by list, equal for those whose rows may change.
    """

    def __init__(
        self,
        y: Floats,
        ranks: Floats,
        lists: Lists,
        masked: str,
        redrawn: bool,
        rng: np.random.RandomState,
        open_places: Indices | None = None,
    ) -> None:
        self.y, self.lists, self.masked = y, lists, masked
        self.of_list = lists.expand(np.arange(lists.n_lists))
        places = np.empty(len(y))
        places[np.lexsort((ranks, self.of_list))] = np.arange(len(y))
        # Places of the rows of each label, label by label.
        self.places = places[np.lexsort((places, y, self.of_list))]
        self.open_places = open_places
        several = (Levels(y, lists).sizes > 1).any()
        if open_places is not None:
            # Sort places by number in each list, and rows by label in a drawn order.
            self.by_number = np.lexsort((open_places, self.of_list))
            blocks = Levels(open_places.astype(np.float64), lists)
            several |= (blocks.sizes > 1).any()
        self.redrawn = redrawn and bool(several)
        self.order = self.first_order = self._draw(rng)

    def redraw(self, rng: np.random.RandomState) -> None:
        """Draw another of the best arrangements."""
        if self.redrawn:
            self.order = self._draw(rng)

    def _draw(self, rng: np.random.RandomState) -> Indices:
        """Return which row of its list stands at each place."""
        tie_breaks = rng.random_sample(len(self.y))
        places = np.empty(len(self.y))
        places[np.lexsort((tie_breaks, self.y, self.of_list))] = self.places
        order = np.argsort(places)
        if self.open_places is not None:
            keys = rng.random_sample(len(order))
            drawn = np.lexsort((keys, self.open_places, self.of_list))
            order[self.by_number] = order[drawn]
        return order - self.lists.expand(self.lists.starts)

    def values(
        self,
        network: nn.ModuleDict,
        batch: Batch,
        numbers: Indices,
        *,
        validating: bool = False,
    ) -> Tensor:
        """Return minus the log-probability of each list's arrangement, (n_lists,)."""
        order = self.first_order if validating else self.order
        encoded = network["encoder"](batch)
        places = padded_order(order, self.lists, numbers)
        scores = order_scores([(network["head"], *encoded)], places, self.masked)
        return arrangement_loss(scores, batch.valid, self.masked)


def best_ranks(
    target: Any, max_grade: float, y: Floats, lists: Lists
) -> tuple[Floats, Floats, Indices | None]:
    """Return ranks of a best arrangement, and which rows and places may be exchanged.

    Parameters
    ----------
    target : "ndcg" or click model
        Measure of the best arrangement.
    max_grade : float
        The best grade there could be, for click models.
    y : ndarray of shape (n_rows,)
        Labels in the order of the lists.
    lists : Lists
        The lists.

    Returns
    -------
    ranks : ndarray of shape (n_rows,)
        The least first.
    open_rows : ndarray of shape (n_rows,)
        Numbers that are equal for rows that may change places.
    open_places : ndarray of shape (n_rows,) or None
        Numbers that are equal for places whose rows may change.
    """
    if target == "ndcg":
        return -y, y, None
    of_list = lists.expand(np.arange(lists.n_lists))
    best = best_order(y, of_list, model=target, max_grade=max_grade)
    free = free_choices(y, lists, target, max_grade)
    return best.ranks.astype(np.float64), free.rows.astype(np.float64), free.places


def padded_order(order: Indices, lists: Lists, numbers: Indices) -> Indices:
    """Return the places in their lists of some lists' rows, padding behind them."""
    valid, index = padded_index(lists.starts[numbers], lists.sizes[numbers])
    return np.where(valid, order[index], np.arange(valid.shape[1]))


def order_scores(encoded: Sequence[Encoded], order: Indices, masked: str) -> Tensor:
    """Return scores (n_lists, longest, longest) of candidates placed in an order.

    ``encoded`` holds the arranger, h and u of each network; the mean counts.
    """
    total: Tensor | None = None
    for arranger, h, user in encoded:
        index = torch.as_tensor(order, device=h.device)[..., None].expand_as(h)
        scores = arranger(h.gather(1, index), user, masked)
        total = scores if total is None else total + scores
    assert total is not None
    return total if len(encoded) == 1 else total / len(encoded)
