"""Lists of different lengths as padded tables, and what a network reads of them."""

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


@dataclass(frozen=True, slots=True)
class History:
    """Rows browsed, packed: the first of each list, then the second of each, ...

    Attributes
    ----------
    rows : Tensor of shape (n_browsed, n_history)
        The rows.
    step_sizes : int Tensor of shape (longest,)
        Number of lists that have a first, a second, ... row; on the CPU.
    lists : int Tensor of shape (n_histories,)
        Number in the batch of the lists that have a history, the longest first.
    sizes : Tensor of shape (n_histories,)
        Number of rows of each of these.
    of_row : int Tensor of shape (n_browsed,)
        Number in the batch of the list of each row.
    """

    rows: Tensor
    step_sizes: Tensor
    lists: Tensor
    sizes: Tensor
    of_row: Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """What a network reads of some lists; padding is zero and not valid.

    Attributes
    ----------
    candidates : Tensor of shape (n_lists, longest, n_features)
        Rows to arrange.
    valid : bool Tensor of shape (n_lists, longest)
        Which of them are rows, not padding; rows come first.
    sizes : ndarray of int of shape (n_lists,)
        Number of rows of each list.
    history : History or None
        Rows browsed.
    profile : Tensor of shape (n_lists, n_profile) or None
        One row a list.
    """

    candidates: Tensor
    valid: Tensor
    sizes: Indices
    history: History | None = None
    profile: Tensor | None = None


class Ragged:
    """Rows of lists one after the other, of which batches are cut.

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
        """Return rows (n_lists, longest, n_features), and which are no padding."""
        valid, index = padded_index(self.starts[numbers], self.sizes[numbers])
        index[~valid] = len(self.rows) - 1
        device = self.rows.device
        table = self.rows[torch.as_tensor(index, device=device)]
        return table, torch.as_tensor(valid, device=device)

    def packed(self, numbers: Indices) -> History:
        """Return the rows of some lists step by step, without padding."""
        sizes = self.sizes[numbers]
        lists = np.argsort(-sizes, kind="stable")
        lists = lists[sizes[lists] > 0]
        sizes, starts = sizes[lists], self.starts[numbers[lists]]
        n_rows = int(sizes.sum())
        of_row = np.repeat(np.arange(len(lists)), sizes)
        step = np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        by_step = np.argsort(step, kind="stable")
        of_row, step = of_row[by_step], step[by_step]
        device = self.rows.device

        def as_tensor(values):
            return torch.as_tensor(values, device=device)

        return History(
            self.rows[as_tensor(starts[of_row] + step)],
            torch.as_tensor(np.bincount(step), dtype=torch.int64, device="cpu"),
            as_tensor(lists),
            as_tensor(sizes),
            as_tensor(lists[of_row]),
        )


def padded_index(starts: Indices, sizes: Indices) -> tuple[NDArray[np.bool_], Indices]:
    """Return which places of a padded table are rows, and the row at each place.

    Both of shape (n_lists, longest), at least one place wide. At padding the row is 0.
    """
    place = np.arange(max(int(sizes.max()), 1))
    valid = place < sizes[:, None]
    return valid, np.where(valid, starts[:, None] + place, 0)


@dataclass(frozen=True, slots=True)
class ListTables:
    """All that is known of some lists, ready to be cut into batches.

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
        history = profile = None
        if self.history is not None:
            history = self.history.packed(numbers)
        if self.profile is not None:
            profile = self.profile[torch.as_tensor(numbers, device=valid.device)]
        sizes = self.candidates.sizes[numbers]
        return Batch(candidates, valid, sizes, history, profile)


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
    numbers: Indices, sizes: Indices, most_rows: float = np.inf
) -> Iterator[Indices]:
    """Yield lists in parts that fit in memory, the longest first.

    A part has at most MOST_PAIRS pairs of candidates and ``most_rows`` rows, padding
    included, or is a single list.
    """
    by_size = numbers[np.argsort(-sizes[numbers], kind="stable")]
    first = 0
    while first < len(by_size):
        longest = int(sizes[by_size[first]])
        most = min(MOST_PAIRS // longest**2, most_rows // longest)
        last = first + max(int(most), 1)
        yield by_size[first:last]
        first = last
