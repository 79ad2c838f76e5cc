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


@dataclass(frozen=True, slots=True)
class Batch:
    """What a network reads of some lists; padding is zero and not valid.

    Attributes
    ----------
    candidates : Tensor of shape (n_lists, longest, n_features)
        Rows to arrange.
    valid : bool Tensor of shape (n_lists, longest)
        Which of them are rows, not padding; rows come first.
    history : Tensor of shape (n_lists, longest_history, n_history) or None
        Rows browsed, in order.
    n_browsed : int Tensor of shape (n_lists,) or None
        Number of rows browsed.
    profile : Tensor of shape (n_lists, n_profile) or None
        One row a list.
    """

    candidates: Tensor
    valid: Tensor
    history: Tensor | None = None
    n_browsed: Tensor | None = None
    profile: Tensor | None = None


class Ragged:
    """Rows of lists one after the other, of which batches are padded tables.

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
        history = n_browsed = profile = None
        if self.history is not None:
            history, browsed = self.history.padded(numbers)
            n_browsed = browsed.sum(1)
        if self.profile is not None:
            profile = self.profile[torch.as_tensor(numbers, device=valid.device)]
        return Batch(candidates, valid, history, n_browsed, profile)


def drawn_batches(
    numbers: Indices, sizes: Indices, batch_size: int, rng: np.random.RandomState
) -> list[Indices]:
    """Return the lists in batches of random order, lists of like length together."""
    drawn = rng.permutation(numbers)
    batches = []
    for first in range(0, len(drawn), WINDOW * batch_size):
        window = drawn[first : first + WINDOW * batch_size]
        window = window[np.argsort(sizes[window], kind="stable")]
        batches += list(batches_of(window, batch_size))
    return [batches[place] for place in rng.permutation(len(batches))]


def batches_of(numbers: Indices, batch_size: int) -> Iterator[Indices]:
    """Yield the lists in batches, in their order."""
    for first in range(0, len(numbers), batch_size):
        yield numbers[first : first + batch_size]
