"""Rank-biased precision: a user who goes on to the next row with chance p."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import is_number
from skrank._data.groups import suggests_groups
from skrank._kernels.metrics import discounted_gain
from skrank.metrics._average import (
    check_average,
    check_cutoff,
    cutoff_of,
)
from skrank.metrics._registry import registered
from skrank.metrics._relevant import relevant_lists

__all__ = ["rank_biased_precision_score", "rank_biased_precision_scorer"]


@suggests_groups
def rank_biased_precision_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    p: float = 0.8,
    k: int | None = None,
    relevance_level: float = 1,
    ties: str = "average",
    average: str | None = "mean",
    sample_weight: Any = None,
    retrieved: Any = None,
) -> Any:
    r"""Return the rank-biased precision, averaged over lists.

    .. math:: \mathrm{RBP} = (1 - p) \sum_{r \le k} p^{r - 1} [y_r \ge \text{level}]

    over the ranks of a list. A user goes on from each row to the next with chance p;
    the value is the expected share of relevant rows among the rows read [1]_. A list
    without a relevant row has 0, and a list of n rows at most 1 - p**n.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, higher is better.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    p : float, default=0.8
        Chance to go on to the next row, at least 0 and below 1.
    k : int, default=None
        Last rank that counts; None counts all, and so does a list shorter than k.
    relevance_level : float, default=1
        The least label that is relevant.
    ties : {"average", "worst", "best", "order"}, default="average"
        How equal scores count: by the exact mean over their orders, by their worst
        or best order, or in row order.
    average : {"mean", None}, default="mean"
        None returns one value a list, in the order of ``list_labels(groups)``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    retrieved : array-like of bool of shape (n_rows,), default=None
        Which rows are ranked; the others are only there to be found. None means all.

    Returns
    -------
    score : float or ndarray of shape (n_lists,)
        Between 0 and 1, higher is better.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ or values are not finite, or
        ``p`` is not a chance below 1.

    References
    ----------
    .. [1] A. Moffat, J. Zobel, "Rank-biased precision for measurement of retrieval
       effectiveness", ACM TOIS 27 (2008), equation 4.

    Examples
    --------
    >>> from skrank.metrics import rank_biased_precision_score
    >>> y, scores, groups = [1, 0, 1], [3.0, 2.0, 1.0], [7, 7, 7]
    >>> rank_biased_precision_score(y, scores, groups, p=0.5)
    0.625
    """
    check_average(average)
    check_cutoff(k)
    if not is_number(p) or not 0 <= p < 1:
        raise ValueError(f"p must be at least 0 and below 1, got {p!r}.")
    options = {"relevance_level": relevance_level, "ties": ties}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "rank_biased_precision_score", rows, options, retrieved=retrieved
    )
    ranks = np.arange(cutoff_of(k, lists.data.grouping))
    values = discounted_gain(
        lists.relevant,
        lists.scores,
        lists.offsets,
        (1.0 - p) * float(p) ** ranks,
        lists.rule.tie,
        True,
        False,
    )
    return lists.data.average(values, average, lists.rule.empty)


rank_biased_precision_scorer = registered(rank_biased_precision_score, "rbp", k=10)
