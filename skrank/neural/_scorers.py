"""Heads that give each candidate a score."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from skrank._data.lists import Floats
from skrank.neural._batches import Batch
from skrank.neural._encoders import FLOAT32


class Scorer(nn.Module):
    """One score for each candidate, v . tanh(W h), and the loss's own parameters.

    It is the arranger without a state.

    Parameters
    ----------
    sizes : sequence of int
        Size of h, and of each hidden layer.
    extra : ndarray of shape (n_extra,)
        Start of the loss's own parameters.
    """

    def __init__(self, sizes: Sequence[int], extra: Floats) -> None:
        super().__init__()
        self.hidden = nn.ModuleList(
            nn.Linear(n_in, n_out, dtype=FLOAT32) for n_in, n_out in pairwise(sizes)
        )
        self.v = nn.Linear(sizes[-1], 1, bias=False, dtype=FLOAT32)
        self.extra = extra_parameter(extra)

    def forward(self, h: Tensor) -> Tensor:
        """Return scores (n_lists, longest) of vectors (n_lists, longest, H)."""
        for layer in self.hidden:
            h = torch.tanh(layer(h))
        return self.v(h)[..., 0]


class OwnScorer(nn.Module):
    """A user's module that reads standardised candidates, and the loss's parameters.

    Parameters
    ----------
    scorer : nn.Module or callable
        A module, whose copy draws its weights again, or a function that makes one from
        the number of features.
    n_features : int
        Number of features of a candidate.
    extra : ndarray of shape (n_extra,)
        Start of the loss's own parameters.
    """

    def __init__(
        self, scorer: nn.Module | Callable, n_features: int, extra: Floats
    ) -> None:
        super().__init__()
        if isinstance(scorer, nn.Module):
            module = copy.deepcopy(scorer)
            for layer in module.modules():
                if callable(getattr(layer, "reset_parameters", None)):
                    layer.reset_parameters()
        else:
            module = scorer(n_features)
            if not isinstance(module, nn.Module):
                raise TypeError(
                    "scorer must be a torch.nn.Module or a function that returns one "
                    f"for a number of features, but it returned {type(module)}."
                )
        self.module = module.to(FLOAT32)
        self.takes_valid = "valid" in inspect.signature(module.forward).parameters
        self.extra = extra_parameter(extra)

    def forward(self, batch: Batch) -> Tensor:
        """Return scores (n_lists, longest)."""
        options = {"valid": batch.valid} if self.takes_valid else {}
        scores = self.module(batch.candidates, **options)
        shape = batch.valid.shape
        if scores.shape == (*shape, 1):
            return scores[..., 0]
        if scores.shape != shape:
            raise ValueError(
                "scorer must return one score a candidate, of shape (n_lists, longest) "
                f"or (n_lists, longest, 1); for candidates of shape "
                f"{tuple(batch.candidates.shape)} it returned {tuple(scores.shape)}."
            )
        return scores


def extra_parameter(extra: Floats) -> nn.Parameter:
    """Return a loss's own parameters as torch learns them."""
    return nn.Parameter(torch.as_tensor(extra, dtype=FLOAT32))


def batch_scores(network: nn.ModuleDict, batch: Batch) -> Tensor:
    """Return the scores (n_lists, longest) of a batch."""
    if "encoder" not in network:
        return network["head"](batch)
    h, _ = network["encoder"](batch)
    return network["head"](h)
