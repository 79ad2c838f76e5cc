"""The partition of rows into lists, and of each list's rows into levels of ties."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Lists:
    """Partition rows into contiguous lists.

    List ``q`` holds the rows ``offsets[q] : offsets[q + 1]``. Every method works
    on one value a row or one value a list, without a Python loop.

    Parameters
    ----------
    sizes : array-like of int of shape (n_lists,)
        Number of rows of each list, at least 1 each.

    Attributes
    ----------
    sizes, starts : ndarray of shape (n_lists,)
        Number of rows and first row of each list.
    offsets : ndarray of shape (n_lists + 1,)
        The starts, and the number of rows at the end.
    n_lists, n_rows : int
        Number of lists and of rows.

    Raises
    ------
    ValueError
        If there is no list, a size is below 1 or not a whole number, or sizes add up
        to more than an index holds.

    Examples
    --------
    >>> from skrank import Lists
    >>> lists = Lists([2, 3])
    >>> lists.sum([1.0, 2.0, 3.0, 4.0, 5.0])
    array([ 3., 12.])
    """

    __slots__ = ("n_lists", "n_rows", "offsets", "sizes", "starts")

    def __init__(self, sizes: ArrayLike) -> None:
        values = np.asarray(sizes)
        if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
            raise ValueError(
                "sizes must be a one-dimensional array of at least one integer, "
                f"got shape {values.shape} and dtype {values.dtype}."
            )
        if values.min() < 1:
            raise ValueError(f"sizes must be at least 1, got {values.min()}.")
        n_rows = values.sum(dtype=np.float64)
        if n_rows >= 2.0**63:  # as offsets, they would wrap round
            raise ValueError(f"sizes add up to {n_rows:.3g} rows, which is too many.")
        self.sizes: Indices = values.astype(np.intp)
        self.offsets: Indices = np.zeros(values.size + 1, dtype=np.intp)
        np.cumsum(self.sizes, out=self.offsets[1:])
        self.starts: Indices = self.offsets[:-1]
        self.n_lists = values.size
        self.n_rows = int(self.offsets[-1])

    @classmethod
    def of_offsets(cls, offsets: Indices) -> Lists:
        """Return lists from offsets that are known to grow from 0, unchecked."""
        lists = cls.__new__(cls)
        lists.offsets, lists.starts = offsets, offsets[:-1]
        lists.sizes = offsets[1:] - lists.starts
        lists.n_lists = len(lists.starts)
        lists.n_rows = int(offsets[-1])
        return lists

    def __repr__(self) -> str:
        return f"Lists(n_lists={self.n_lists}, n_rows={self.n_rows})"

    def __len__(self) -> int:
        return self.n_lists

    def part(self, first: int, last: int) -> Lists:
        """Return the lists ``first`` to ``last - 1`` as a partition of its own.

        Ends with the last list where ``last`` goes beyond it.
        """
        offsets = self.offsets[first : min(last, self.n_lists) + 1]
        return Lists.of_offsets(offsets - offsets[0])

    def sum(self, values: ArrayLike) -> NDArray:
        """Return the sum of row values in each list, shape (n_lists,)."""
        return np.add.reduceat(self._rows(values), self.starts)

    def max(self, values: ArrayLike) -> NDArray:
        """Return the largest row value in each list, shape (n_lists,)."""
        return np.maximum.reduceat(self._rows(values), self.starts)

    def min(self, values: ArrayLike) -> NDArray:
        """Return the smallest row value in each list, shape (n_lists,)."""
        return np.minimum.reduceat(self._rows(values), self.starts)

    def expand(self, values: ArrayLike) -> NDArray:
        """Return the value of each row's list, shape (n_rows,)."""
        values = np.asarray(values)
        if values.shape[:1] != (self.n_lists,):
            raise ValueError(
                f"values needs one entry for each of {self.n_lists} lists, got shape "
                f"{values.shape}."
            )
        return values.repeat(self.sizes, axis=0)

    def _rows(self, values: ArrayLike) -> NDArray:
        """Return row values after a check of their number, which ``reduceat`` omits."""
        values = np.asarray(values)
        if values.shape[:1] != (self.n_rows,):
            raise ValueError(
                f"values needs one entry for each of {self.n_rows} rows, got shape "
                f"{values.shape}."
            )
        return values

    def softmax(self, scores: ArrayLike) -> tuple[Floats, Floats]:
        """Return softmax probabilities in each list, and each list's log-sum-exp.

        Safe for scores of any size: the largest score of a list is taken out first.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            One score a row.

        Returns
        -------
        probabilities : ndarray of shape (n_rows,)
            ``exp(s_i) / sum_j exp(s_j)`` over the rows j of row i's list.
        log_sum_exp : ndarray of shape (n_lists,)
            ``log sum_j exp(s_j)`` of each list.
        """
        scores = np.asarray(scores, dtype=np.float64)
        top = self.max(scores)
        probabilities = scores - self.expand(top)
        np.exp(probabilities, out=probabilities)
        total = self.sum(probabilities)
        probabilities *= self.expand(1.0 / total)
        return probabilities, top + np.log(total)


class Levels:
    """Sort the rows of each list into levels: rows that share a label.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels, higher is better.
    lists : Lists
        The lists that the rows form.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Rows by list, best label first; rows of one level in row order.
    starts : ndarray of shape (n_levels + 1,)
        First place in ``order`` of each level, and the number of rows at the end.
    offsets : ndarray of shape (n_lists + 1,)
        First level of each list, and the number of levels at the end.
    """

    __slots__ = ("offsets", "order", "starts")

    def __init__(self, y: ArrayLike, lists: Lists) -> None:
        worst_last = -lists._rows(np.asarray(y, dtype=np.float64))
        of_list = lists.expand(np.arange(lists.n_lists))
        self.order: Indices = np.lexsort((worst_last, of_list))
        sorted_labels = worst_last[self.order]
        first = np.empty(lists.n_rows, dtype=bool)
        np.not_equal(sorted_labels[1:], sorted_labels[:-1], out=first[1:])
        first[lists.starts] = True
        begins = np.flatnonzero(first)
        self.starts: Indices = np.append(begins, lists.n_rows)
        self.offsets: Indices = np.searchsorted(begins, lists.offsets)

    @property
    def sizes(self) -> Indices:
        """Number of rows of each level."""
        return np.diff(self.starts)

    @property
    def n_levels(self) -> Indices:
        """Number of levels of each list."""
        return np.diff(self.offsets)
