"""Blocks of whole lists, small enough to stay in cache while they are read."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import skrank._kernels.gemv as gemv
from skrank._data.lists import Floats, Indices, Lists

# Bytes of X: larger blocks leave the caches, smaller ones make threads wait.
BLOCK_BYTES = 2**21
SMALLEST_BLOCK_BYTES = 2**17  # in smaller blocks calls cost more than products
N_BLOCKS = 16  # least number of blocks, if X has fewer of full size
LARGEST_INT = 2**31 - 1  # largest number of rows that BLAS takes
PART = 1 / 16  # share of the remaining blocks that a thread takes at once


class Block:
    """A run of whole lists: its rows of X, its lists, and its prepared labels.

    Parameters
    ----------
    X : ndarray, csr_array or None
        The rows as a view; None where they are gathered from ``source`` each time.
    source, rows : ndarray or None
        A memory map and the row numbers to gather from it.
    start, stop : int
        The rows' places in the order of the lists.
    lists : Lists
        The lists of the block.
    prepared : object
        What ``loss.prepare`` returned for the block.
    factors : ndarray of shape (n_lists,)
        Factor of each list's value in the objective.
    offset : ndarray of shape (n_rows,) or None
        What is added to ``X @ coef``.
    """

    __slots__ = (
        "X",
        "X_transposed",
        "factors",
        "lists",
        "offset",
        "prepared",
        "row_factors",
        "rows",
        "source",
        "start",
        "stop",
    )

    def __init__(
        self,
        X: Any,
        source: Any,
        rows: Indices | None,
        start: int,
        stop: int,
        lists: Lists,
        prepared: Any,
        factors: Floats,
        offset: Floats | None = None,
    ) -> None:
        self.X, self.source, self.rows = X, source, rows
        self.X_transposed = None if X is None else _transposed(X)
        self.start, self.stop = start, stop
        self.lists, self.prepared, self.factors = lists, prepared, factors
        self.offset = offset
        # If all lists have one factor, it multiplies sums instead of rows.
        same = bool(np.all(factors == factors[0]))
        self.row_factors = factors[0] if same else None

    def features(self, buffer: Floats | None) -> tuple[Any, Any]:
        """Return the rows and their transpose as float64, in the caller's buffer."""
        if self.source is not None:
            X = self.source[self.rows]
        else:
            X = self.X
        if buffer is not None:
            cast = buffer[: self.stop - self.start]
            np.copyto(cast, X)
            return cast, cast.T
        if self.source is not None:
            return X, X.T
        return X, self.X_transposed

    def scores(self, X: Any, coef: Floats) -> Floats:
        """Return the scores of the rows, which are ``X``."""
        return self.with_offset(np.asarray(X.dot(coef), dtype=np.float64))

    def with_offset(self, scores: Floats) -> Floats:
        """Return ``X @ coef`` with the offset added to it, in place."""
        if self.offset is not None:
            scores += self.offset
        return scores

    def scale_rows(self, gradient: Floats) -> Floats:
        """Return a gradient in the scores times the factor of each row's list.

        Not in place: a loss may return an array that it keeps.
        """
        if self.row_factors is None:
            return gradient * self.lists.expand(self.factors)
        return gradient * self.row_factors


def linear_scores(X: Any, coef: Floats) -> Floats:
    """Return ``X @ coef`` in float64, without a float64 copy of all of a float32 X."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return np.asarray(X @ coef, dtype=np.float64)
    scores = np.empty(X.shape[0])
    step = max(1, BLOCK_BYTES // (X.itemsize * X.shape[1]))
    for start in range(0, X.shape[0], step):
        part = np.asarray(X[start : start + step], dtype=np.float64)
        scores[start : start + step] = part @ coef
    return scores


def is_memory_mapped(X: Any) -> bool:
    """Return whether an array's memory is a file."""
    while X is not None:
        if isinstance(X, np.memmap | mmap.mmap):
            return True
        X = getattr(X, "base", None)
    return False


def is_plain(X: Any) -> bool:
    """Return whether BLAS can take the rows as they are in memory."""
    return (
        gemv.available
        and isinstance(X, np.ndarray)
        and X.flags.c_contiguous
        and 0 < X.shape[1] <= LARGEST_INT
        and len(X) <= LARGEST_INT
    )


def block_bounds(X: Any, lists: Lists) -> Indices:
    """Return the first list of each block, and the number of lists at the end."""
    if sparse.issparse(X):
        before = X.indptr[lists.offsets].astype(np.float64) * 16.0
    else:
        before = lists.offsets * float(X.dtype.itemsize * X.shape[1])
    total = before[-1]
    size = min(BLOCK_BYTES, max(total / N_BLOCKS, SMALLEST_BLOCK_BYTES))
    # A block ends with the list that reaches the next multiple of its size.
    number = np.floor(before[:-1] / size)
    first = np.flatnonzero(np.diff(number, prepend=-1.0) > 0)
    return np.append(first, lists.n_lists)


def runs_of_blocks(n_blocks: int) -> list[slice]:
    """Return runs of blocks, long ones first, so that threads end at the same time."""
    parts, start = [], 0
    while start < n_blocks:
        stop = start + math.ceil(PART * (n_blocks - start))
        parts.append(slice(start, stop))
        start = stop
    return parts


def row_view(X: Any, start: int, stop: int) -> Any:
    """Return rows of X without a copy."""
    if not sparse.issparse(X):
        return X[start:stop]
    low, high = X.indptr[start], X.indptr[stop]
    view = sparse.csr_array((stop - start, X.shape[1]), dtype=X.dtype)
    _share(
        view, X.data[low:high], X.indices[low:high], X.indptr[start : stop + 1] - low
    )
    return view


def _transposed(X: Any) -> Any:
    """Return the transpose without a copy."""
    if not sparse.issparse(X):
        return X.T
    view = sparse.csc_array((X.shape[1], X.shape[0]), dtype=X.dtype)
    _share(view, X.data, X.indices, X.indptr)
    return view


def _share(view: Any, data: NDArray, indices: NDArray, indptr: NDArray) -> None:
    """Set the arrays of a sparse matrix, since its constructor would copy slices."""
    view.data, view.indices, view.indptr = data, indices, indptr
