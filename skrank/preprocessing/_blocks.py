"""Go through a table in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from skrank._data.lists import Lists

BLOCK_ENTRIES = 2**20  # 8 MB of float64
LEAST_ROWS = 512  # so that adding up p x p matrices costs little beside making them


def row_blocks(X: Any, width: int | None = None) -> Iterator[slice]:
    """Yield runs of rows that together cover a table.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        The table.
    width : int, default=None
        Number of columns that are computed from each row; None takes those of ``X``.
    """
    n_rows = X.shape[0]
    if sparse.issparse(X) and width is None:
        step = max(1, BLOCK_ENTRIES * n_rows // max(1, X.nnz))
    else:
        step = max(1, BLOCK_ENTRIES // max(width or 0, X.shape[1]))
    if width is None:
        step = max(LEAST_ROWS, step)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def list_blocks(X: Any, lists: Lists) -> Iterator[tuple[slice, Lists]]:
    """Yield runs of rows that are whole lists, and the lists of each run."""
    entries = X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]
    step = max(1, int(BLOCK_ENTRIES / max(1.0, entries)))
    first = 0
    while first < lists.n_lists:
        end = lists.offsets[first] + step
        last = int(np.searchsorted(lists.offsets, end, side="right")) - 1
        last = max(last, first + 1)
        yield (
            slice(int(lists.offsets[first]), int(lists.offsets[last])),
            lists.part(first, last),
        )
        first = last


def canonical(X: Any) -> Any:
    """Return CSR rows in which no entry is stored as several that add up to it."""
    if not X.has_canonical_format:
        X = X.copy()  # a slice may be a view
        X.sum_duplicates()
    return X
