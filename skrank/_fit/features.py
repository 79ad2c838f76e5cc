"""Find features that are constant inside every list, which cannot rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skrank._data.lists import Indices, Lists

N_STEPS = 64
STEP_BYTES = 2**24  # so that only small parts of a memory map are in memory


def constant_features(
    X: Any, lists: Lists, rows: Indices | None = None
) -> NDArray[np.bool_]:
    """Return which features are constant inside every list.

    Goes through the lists in steps, and drops each feature once it varies, so that
    usual data need one step.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        Features, rows together by list unless ``rows`` says where they are.
    lists : Lists
        The lists.
    rows : ndarray of shape (n_rows,), default=None
        Row of ``X`` at each place in the order of the lists.

    Returns
    -------
    constant : ndarray of bool of shape (n_features,)
        True where no list holds two different values.
    """
    is_sparse = sparse.issparse(X)
    constant = np.ones(X.shape[1], dtype=bool)
    never_stored = np.zeros(X.shape[1], dtype=bool)
    if is_sparse:
        filled = X.indices if X.data.all() else X.indices[X.data != 0]
        n_filled = np.bincount(filled, minlength=X.shape[1])
        never_stored = n_filled == 0
        # A column with fewer stored values than the smallest list has rows has a zero
        # in every list, so it varies wherever a value is stored. That decides most
        # columns of a wide X.
        if X.has_canonical_format:
            constant = never_stored | (n_filled >= lists.sizes.min())
        if not (constant & ~never_stored).any():
            return constant
    n_bytes = (X.data.nbytes + X.indices.nbytes) if is_sparse else X.nbytes
    n_steps = max(N_STEPS, n_bytes // STEP_BYTES)
    step = max(1, -(-lists.n_lists // n_steps))
    for first in range(0, lists.n_lists, step):
        part = lists.part(first, first + step)
        start = lists.offsets[first]
        stop = start + part.n_rows
        if is_sparse:
            varied = _varied_sparse(X, start, stop, part, constant & ~never_stored)
        else:
            remaining = np.flatnonzero(constant)
            block = X[start:stop] if rows is None else X[rows[start:stop]]
            if len(remaining) < X.shape[1]:
                block = block[:, remaining]
            low = np.minimum.reduceat(block, part.starts, axis=0)
            high = np.maximum.reduceat(block, part.starts, axis=0)
            varied = remaining[(low != high).any(axis=0)]
        constant[varied] = False
        if not (constant & ~never_stored).any():
            break
    return constant


def _varied_sparse(
    X: Any, start: int, stop: int, part: Lists, open_: NDArray[np.bool_]
) -> Indices:
    """Return those of the open columns that vary inside a list of some CSR rows."""
    block = X[start:stop]
    if not block.has_canonical_format:
        block = block.copy()  # the slice may be a view
        block.sum_duplicates()
    columns, values = block.indices, block.data
    counts = np.diff(block.indptr)
    of_list = np.repeat(part.expand(np.arange(part.n_lists)), counts)
    kept = open_[columns] & (values != 0)
    columns, values, of_list = columns[kept], values[kept], of_list[kept]
    if not len(columns):
        return columns
    order = np.lexsort((columns, of_list))
    columns, values, of_list = columns[order], values[order], of_list[order]
    first = np.empty(len(columns), dtype=bool)
    first[0] = True
    first[1:] = (columns[1:] != columns[:-1]) | (of_list[1:] != of_list[:-1])
    starts = np.flatnonzero(first)
    # A cell with fewer stored values than rows also holds zeros.
    filled = np.diff(starts, append=len(columns)) == part.sizes[of_list[starts]]
    same = np.minimum.reduceat(values, starts) == np.maximum.reduceat(values, starts)
    return columns[starts[~(filled & same)]]
