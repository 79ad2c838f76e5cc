"""Recall at a cut-off, and the F-measure that weighs it against precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import check_positive
from skrank._data.groups import suggests_groups
from skrank.metrics._average import check_average, check_cutoff
from skrank.metrics._registry import registered
from skrank.metrics._relevant import ratio, relevant_lists

__all__ = [
    "f_measure_at_k_score",
    "recall_at_k_score",
    "f_measure_at_k_scorer",
    "recall_at_k_scorer",
]


@suggests_groups
def recall_at_k_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    k: int | None = None,
    relevance_level: float = 1,
    ties: str = "average",
    empty: str | float = "skip",
    average: str | None = "mean",
    sample_weight: Any = None,
    convention: Any = None,
    doc_ids: Any = None,
    retrieved: Any = None,
) -> Any:
    r"""Return the share of the relevant rows among the first k, averaged over lists.

    .. math::

        \mathrm{R@}k = \frac{\sum_{r \le k} [y_r \ge \text{level}]}
            {\sum_i [y_i \ge \text{level}]}

    over the ranks of a list. It is undefined for a list without a relevant row.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, higher is better.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    k : int, default=None
        Last rank that counts; None counts all, and so does a list shorter than k.
    relevance_level : float, default=1
        The least label that is relevant.
    ties : {"average", "worst", "best", "order"}, default="average"
        How equal scores count: by the exact mean over their orders, by their worst
        or best order, or in row order.
    empty : "skip" or float, default="skip"
        What an undefined list counts as in the mean. If all are skipped the mean
        is 0.0, with a warning.
    average : {"mean", None}, default="mean"
        None returns one value a list, NaN where undefined, in the order of
        ``list_labels(groups)``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    convention : str, default=None
        Compute the number of this tool: "trec_eval" or "catboost". It sets gain, ties,
        empty lists, divisor and cut-off as the tool does; :func:`explain_metric` shows
        them.
    doc_ids : array-like of shape (n_rows,), default=None
        Ids of the rows, needed where the convention breaks ties by them.
    retrieved : array-like of bool of shape (n_rows,), default=None
        Which rows are ranked; the others are only there to be found. None means all.

    Returns
    -------
    score : float or ndarray of shape (n_lists,)
        Between 0 and 1, higher is better.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ or values are not finite, or if a
        convention contradicts another argument or needs ``doc_ids``.

    Warns
    -----
    UndefinedMetricWarning
        If no list has a relevant row.

    Examples
    --------
    >>> from skrank.metrics import recall_at_k_score
    >>> recall_at_k_score([1, 0, 2], [3.0, 2.0, 1.0], groups=[7, 7, 7], k=2)
    0.5
    """
    check_average(average, empty)
    check_cutoff(k)
    options = {"relevance_level": relevance_level, "ties": ties, "empty": empty}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "recall_at_k_score", rows, options, convention, doc_ids, retrieved
    )
    values = ratio(lists.hits(k), lists.totals)
    return lists.data.average(values, average, lists.rule.empty)


@suggests_groups
def f_measure_at_k_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    beta: float = 1.0,
    k: int | None = None,
    relevance_level: float = 1,
    ties: str = "average",
    empty: str | float = "skip",
    average: str | None = "mean",
    sample_weight: Any = None,
    retrieved: Any = None,
) -> Any:
    r"""Return the F-measure of the first k rows, averaged over lists.

    .. math::

        F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}
            = \frac{(1 + \beta^2) h}{\beta^2 n + k}

    where h of the first k rows are relevant, n are in the list, P is
    :func:`precision_at_k_score` and R is :func:`recall_at_k_score` [1]_. It is
    undefined for a list without a relevant row.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, higher is better.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    beta : float, default=1.0
        How many times as much recall counts as precision.
    k : int, default=None
        Last rank that counts, and what precision divides by, also where a list is
        shorter. None takes the size of each list.
    relevance_level : float, default=1
        The least label that is relevant.
    ties : {"average", "worst", "best", "order"}, default="average"
        How equal scores count: by the exact mean over their orders, by their worst
        or best order, or in row order.
    empty : "skip" or float, default="skip"
        What an undefined list counts as in the mean. If all are skipped the mean
        is 0.0, with a warning.
    average : {"mean", None}, default="mean"
        None returns one value a list, NaN where undefined, in the order of
        ``list_labels(groups)``.
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
        ``beta`` is not positive.

    Warns
    -----
    UndefinedMetricWarning
        If no list has a relevant row.

    References
    ----------
    .. [1] C. J. van Rijsbergen, "Information Retrieval", 2nd edition, Butterworths
       1979, chapter 7.

    Examples
    --------
    >>> from skrank.metrics import f_measure_at_k_score
    >>> f_measure_at_k_score([1, 0, 2], [3.0, 2.0, 1.0], groups=[7, 7, 7], k=2)
    0.5
    """
    check_average(average, empty)
    check_cutoff(k)
    check_positive(beta, "beta")
    options = {"relevance_level": relevance_level, "ties": ties, "empty": empty}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists("f_measure_at_k_score", rows, options, retrieved=retrieved)
    weight = float(beta) ** 2
    values = ratio(
        (1 + weight) * lists.hits(k),
        np.where(lists.totals > 0, weight * lists.totals + lists.n_counted(k), 0.0),
    )
    return lists.data.average(values, average, lists.rule.empty)


recall_at_k_scorer = registered(recall_at_k_score, "r", k=10)
f_measure_at_k_scorer = registered(f_measure_at_k_score, "f", "f1", k=10)
