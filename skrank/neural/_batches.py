"""Batches: lists of different lengths as padded tables, which networks read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from skrank._data.lists import Floats, Indices

# Lists are sorted by length among so many batches, so that little is padded.
WINDOW = 8
# Pairs of candidates, lists x longest^2, that are computed at once.
MOST_PAIRS = 2**21
# Rows, padding included, that are predicted at once.
MOST_ROWS = 2**14
# Lists that an LSTM reads in the time of one step's fixed part.
STEP_COST = 16


@dataclass(frozen=True, slots=True)
class Histories:
    """Rows browsed in some lists of a batch, of similar number; padding is 0.

    Attributes
    ----------
    rows : Tensor of shape (n_histories, longest, n_history)
        The rows, in order.
    sizes : int Tensor of shape (n_histories,)
        Number of rows of each, at least 1.
    lists : int Tensor of shape (n_histories,)
        Number in the batch of the list of each.
    """

    rows: Tensor
    sizes: Tensor
    lists: Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """The tables of some lists that a network reads; padding is zero and not valid.

    Attributes
    ----------
    candidates : Tensor of shape (n_lists, longest, n_features)
        Rows to arrange.
    valid : bool Tensor of shape (n_lists, longest)
        Which of them are rows, not padding; rows come first.
    sizes : ndarray of int of shape (n_lists,)
        Number of rows of each list.
    histories : tuple of Histories or None
        Rows browsed, long and short histories apart; lists without any are left out.
    profile : Tensor of shape (n_lists, n_profile) or None
        One row a list.
    """

    candidates: Tensor
    valid: Tensor
    sizes: Indices
    histories: tuple[Histories, ...] | None = None
    profile: Tensor | None = None


class Ragged:
    """Rows of all lists, one after the other, from which batches are made.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Rows, together by list.
    sizes : ndarray of int of shape (n_lists,)
        Number of rows of each list, at least 0.
    dtype : torch.dtype
        Kind of numbers of the tables.
    device : torch.device
        Where tables lie.
    """

    def __init__(
        self, rows: Floats, sizes: Indices, dtype: torch.dtype, device: torch.device
    ) -> None:
        # The last row is the padding.
        padded = np.concatenate((rows, np.zeros((1, rows.shape[1]))))
        self.rows = torch.as_tensor(padded, dtype=dtype, device=device)
        self.sizes = sizes
        self.starts = np.cumsum(sizes) - sizes

    def padded(self, numbers: Indices) -> tuple[Tensor, Tensor]:
        """Return rows (n_lists, longest, n_features), and which are not padding."""
        valid, index = padded_index(self.starts[numbers], self.sizes[numbers])
        index[~valid] = len(self.rows) - 1
        device = self.rows.device
        table = self.rows[torch.as_tensor(index, device=device)]
        return table, torch.as_tensor(valid, device=device)

    def histories(self, numbers: Indices) -> tuple[Histories, ...]:
        """Return the rows of some lists, long and short ones apart."""
        sizes = self.sizes[numbers]
        device = self.rows.device
        return tuple(
            Histories(
                self.padded(numbers[lists])[0],
                torch.as_tensor(sizes[lists], device=device),
                torch.as_tensor(lists, device=device),
            )
            for lists in like_sizes(sizes)
        )


def like_sizes(sizes: Indices) -> Iterator[Indices]:
    """Yield the numbers of lists that have rows, those of similar size together.

    An LSTM takes as many steps as the longest list has rows. A step has a fixed cost,
    that of STEP_COST lists. So short lists are read apart where padding them would cost
    more than the additional steps.
    """
    lists = np.argsort(-sizes, kind="stable")
    lists = lists[sizes[lists] > 0]
    sizes, first = sizes[lists], 0
    while first < len(lists):
        n_shorter = np.arange(len(lists) - first, 0, -1)
        padding = (sizes[first] - sizes[first:]) * n_shorter
        cuts = np.flatnonzero(padding > STEP_COST * sizes[first:])
        last = first + cuts[0] if len(cuts) else len(lists)
        yield lists[first:last]
        first = last


def padded_index(starts: Indices, sizes: Indices) -> tuple[NDArray[np.bool_], Indices]:
    """Return which places of a padded table are rows, and the row at each place.

    Both of shape (n_lists, longest), at least one place wide. At padding the row is 0.
    """
    place = np.arange(max(int(sizes.max()), 1))
    valid = place < sizes[:, None]
    return valid, np.where(valid, starts[:, None] + place, 0)


@dataclass(frozen=True, slots=True)
class ListTables:
    """Candidates, histories and profiles of lists, ready to be cut into batches.

    Attributes
    ----------
    candidates : Ragged
        Rows to arrange.
    history : Ragged or None
        Rows browsed.
    profile : Tensor of shape (n_lists, n_profile) or None
        One row a list.
    """

    candidates: Ragged
    history: Ragged | None
    profile: Tensor | None

    def batch(self, numbers: Indices) -> Batch:
        """Return the lists with these numbers as a batch."""
        candidates, valid = self.candidates.padded(numbers)
        histories = profile = None
        if self.history is not None:
            histories = self.history.histories(numbers)
        if self.profile is not None:
            profile = self.profile[torch.as_tensor(numbers, device=valid.device)]
        sizes = self.candidates.sizes[numbers]
        return Batch(candidates, valid, sizes, histories, profile)


def drawn_batches(
    numbers: Indices, sizes: Indices, batch_size: int, rng: np.random.RandomState
) -> list[Indices]:
    """Return the lists in batches of random order, lists of like length together."""
    drawn = rng.permutation(numbers)
    batches = []
    for first in range(0, len(drawn), WINDOW * batch_size):
        window = drawn[first : first + WINDOW * batch_size]
        window = window[np.argsort(sizes[window], kind="stable")]
        starts = range(0, len(window), batch_size)
        batches += [window[start : start + batch_size] for start in starts]
    return [batches[place] for place in rng.permutation(len(batches))]


def bounded_parts(
    numbers: Indices,
    sizes: Indices,
    *,
    most_rows: float = np.inf,
    most_pairs: float = MOST_PAIRS,
) -> Iterator[Indices]:
    """Yield lists in parts that fit in memory, the longest first.

    A part has at most so many pairs of candidates and rows, padding included, or is a
    single list.
    """
    by_size = numbers[np.argsort(-sizes[numbers], kind="stable")]
    first = 0
    while first < len(by_size):
        longest = int(sizes[by_size[first]])
        most = min(most_pairs / longest**2, most_rows / longest, len(by_size))
        last = first + max(int(most), 1)
        yield by_size[first:last]
        first = last
