"""Ranks of scores inside each list."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank._data.checks import check_choice, finite_column
from skrank._data.grouping import group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Floats, Levels, Lists

METHODS = ("min", "max", "average", "dense", "ordinal")


@suggests_groups
def rank_within(
    scores: ArrayLike, groups: ArrayLike | None = None, *, method: str = "min"
) -> Floats:
    """Return the rank of each row in its list by decreasing score, 1 for the best.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Scores, larger is better, as ``predict`` returns them.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``scores``.
    method : {"min", "max", "average", "dense", "ordinal"}, default="min"
        Rank of rows with equal scores, as in ``scipy.stats.rankdata``: "min" gives
        1, 2, 2, 4; "ordinal" goes by row order.

    Returns
    -------
    ranks : ndarray of shape (n_rows,)
        float64 for "average", else integers.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, scores are not finite or ``method`` is
        unknown.

    Examples
    --------
    >>> from skrank import rank_within
    >>> rank_within([0.3, 0.9, 0.1, 0.2], ["a", "a", "b", "b"])
    array([2, 1, 2, 1])
    """
    check_choice(method, "method", METHODS)
    groups = find_groups(scores, groups, "rank_within", "scores")
    flat = finite_column(scores, "scores")
    grouping = group_rows(groups, len(flat))
    ranks = ranks_in_order(grouping.gather(flat), grouping.lists, method)
    return grouping.scatter(ranks)


def ranks_in_order(scores: Floats, lists: Lists, method: str) -> Floats:
    """Return the ranks of checked scores whose lists are contiguous."""
    levels = Levels(scores, lists)
    list_start = np.repeat(lists.starts, levels.n_levels)
    n_better = levels.starts[:-1] - list_start  # rows of the list above each level
    if method == "ordinal":
        sorted_ranks = np.arange(1, lists.n_rows + 1) - lists.expand(lists.starts)
    else:
        level_ranks = {
            "min": n_better + 1,
            "max": n_better + levels.sizes,
            "average": n_better + (levels.sizes + 1) / 2,
            "dense": np.arange(1, len(n_better) + 1)
            - np.repeat(levels.offsets[:-1], levels.n_levels),
        }[method]
        sorted_ranks = np.repeat(level_ranks, levels.sizes)
    ranks = np.empty_like(sorted_ranks)
    ranks[levels.order] = sorted_ranks
    return ranks
