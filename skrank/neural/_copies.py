"""Rows of a list by their content, so that neither their order nor copies matter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrank._data.grouping import Grouping
from skrank._data.lists import Floats, Indices


def by_content(X: Floats, grouping: Grouping) -> tuple[Grouping, Indices | None]:
    """Return the lists with their rows sorted by content, and where copies begin.

    Rows are sorted by their first feature, equal ones by the second, and so on. So
    networks get the same numbers in the same places however a user orders the rows:
    rounding is the same too, and candidates between which a network sees no difference
    come in the same order.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows as given.
    grouping : Grouping
        The lists.

    Returns
    -------
    grouping : Grouping
        The same lists; equal rows are neighbours, in row order.
    first : ndarray of int of shape (n_rows,) or None
        For each row, in the order of the lists, the first row of its list that equals
        it. None where no two rows of a list are equal.
    """
    lists = grouping.lists
    rows = np.arange(len(X)) if grouping.rows is None else grouping.rows.copy()
    # First rows of runs that are equal in all columns so far; at first, whole lists.
    first = lists.expand(lists.starts)
    tied = np.flatnonzero(lists.expand(lists.sizes) > 1)
    for column in range(X.shape[1]):
        if not len(tied):
            break
        # Sort the rows of each run by the next column, and cut runs where it differs.
        values, classes = X[rows[tied], column], first[tied]
        order = np.lexsort((values, classes))
        rows[tied], values = rows[tied][order], values[order]
        differs = (values[1:] != values[:-1]) | (classes[1:] != classes[:-1])
        starts = np.flatnonzero(np.concatenate(([True], differs)))
        sizes = np.diff(starts, append=len(tied))
        first[tied] = np.repeat(tied[starts], sizes)
        tied = tied[np.repeat(sizes, sizes) > 1]
    return Grouping(lists, rows, grouping.labels), first if len(tied) else None


def share_ranks(ranks: NDArray, first: Indices | None) -> NDArray:
    """Return ranks with the copies of a row in row order among the ranks they have.

    Copies can change places in an arrangement without changing it; rounding, which
    depends on the batch, must not decide.

    Parameters
    ----------
    ranks : ndarray of shape (..., n_rows)
        Ranks inside lists.
    first : ndarray of shape (n_rows,) or None
        As from :func:`by_content`.

    Returns
    -------
    ranks : ndarray of shape (..., n_rows)
        The same array where no rows are equal.
    """
    if first is None:
        return ranks
    # Copies are neighbours, so sorting by class and rank moves no other rows.
    classes = np.broadcast_to(first, ranks.shape)
    return np.take_along_axis(ranks, np.lexsort((ranks, classes)), axis=-1)
