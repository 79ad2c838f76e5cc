"""Labels from ranks of which 1 is the best."""

from __future__ import annotations

from typing import Any

from skrank._data.checks import finite_column
from skrank._data.grouping import group_rows
from skrank._data.groups import find_groups, takes_groups
from skrank._data.lists import Floats


@takes_groups
def from_ranks(ranks: Any, groups: Any = None) -> Floats:
    """Return labels, larger is better, from ranks of which 1 is the best.

    A list's label is its largest rank plus one, minus the rank.

    Parameters
    ----------
    ranks : array-like of shape (n_rows,)
        Rank of each row in its list; equal ranks give equal labels.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``ranks``.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
        At least 1, in row order.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, or ranks are not finite or below 1.

    Examples
    --------
    >>> from skrank.interop import from_ranks
    >>> from_ranks([1, 2, 3, 2, 1], ["a", "a", "a", "b", "b"])
    array([3., 2., 1., 1., 2.])
    """
    groups = find_groups(ranks, groups, "from_ranks")
    column = finite_column(ranks, "ranks")
    if column.min() < 1:
        raise ValueError(
            f"ranks must be at least 1, the best, got {column.min()}. For ranks from "
            "0 add 1."
        )
    grouping = group_rows(groups, len(column))
    listed = grouping.gather(column)
    lists = grouping.lists
    return grouping.scatter(lists.expand(lists.max(listed)) + 1 - listed)
