"""Precision at a cut-off, and at the number of relevant rows.

Names say "at_k" where scikit-learn has a metric of the same name whose second
argument is a class a row, not a score.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.groups import suggests_groups
from skrank._kernels.binary import hits_within
from skrank.metrics._average import check_average, check_cutoff
from skrank.metrics._registry import registered
from skrank.metrics._relevant import ratio, relevant_lists

__all__ = [
    "precision_at_k_score",
    "r_precision_score",
    "precision_at_k_scorer",
    "r_precision_scorer",
]


@suggests_groups
def precision_at_k_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    k: int | None = None,
    relevance_level: float = 1,
    ties: str = "average",
    average: str | None = "mean",
    sample_weight: Any = None,
    convention: Any = None,
    doc_ids: Any = None,
    retrieved: Any = None,
) -> Any:
    r"""Return the share of relevant rows among the first k, averaged over lists.

    .. math:: \mathrm{P@}k = \frac{1}{k} \sum_{r \le k} [y_r \ge \text{level}]

    over the ranks of a list. A list without a relevant row has 0.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, higher is better.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    k : int, default=None
        Last rank that counts, and what precision divides by, also where a list is
        shorter. None takes the size of each list.
    relevance_level : float, default=1
        The least label that is relevant.
    ties : {"average", "worst", "best", "order"}, default="average"
        How equal scores count: by the exact mean over their orders, by their worst
        or best order, or in row order.
    average : {"mean", None}, default="mean"
        None returns one value a list, in the order of ``list_labels(groups)``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    convention : str, default=None
        Compute the number of this tool: "trec_eval", "xgboost" or "catboost". It sets
        gain, ties, empty lists, divisor and cut-off as the tool does;
        :func:`explain_metric` shows them.
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

    Examples
    --------
    >>> from skrank.metrics import precision_at_k_score
    >>> precision_at_k_score([1, 0, 2], [3.0, 2.0, 1.0], groups=[7, 7, 7], k=2)
    0.5
    """
    check_average(average)
    check_cutoff(k)
    options = {"relevance_level": relevance_level, "ties": ties}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "precision_at_k_score", rows, options, convention, doc_ids, retrieved
    )
    values = ratio(lists.hits(k), lists.n_counted(k), 0.0)
    return lists.data.average(values, average, lists.rule.empty)


@suggests_groups
def r_precision_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    relevance_level: float = 1,
    ties: str = "average",
    empty: str | float = "skip",
    average: str | None = "mean",
    sample_weight: Any = None,
    convention: Any = None,
    doc_ids: Any = None,
    retrieved: Any = None,
) -> Any:
    r"""Return the precision at the number of relevant rows, averaged over lists.

    .. math:: \frac{1}{R} \sum_{r \le R} [y_r \ge \text{level}]

    over the ranks of a list with R relevant rows [1]_. It is undefined for a list
    without a relevant row.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, higher is better.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
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
        Compute the number of this tool: "trec_eval". It sets gain, ties, empty lists,
        divisor and cut-off as the tool does; :func:`explain_metric` shows them.
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

    References
    ----------
    .. [1] C. Buckley, E. Voorhees, "Retrieval system evaluation", in TREC: Experiment
       and Evaluation in Information Retrieval, MIT Press 2005.

    Examples
    --------
    >>> from skrank.metrics import r_precision_score
    >>> r_precision_score([1, 0, 2], [3.0, 2.0, 1.0], groups=[7, 7, 7])
    0.5
    """
    check_average(average, empty)
    options = {"relevance_level": relevance_level, "ties": ties, "empty": empty}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "r_precision_score", rows, options, convention, doc_ids, retrieved
    )
    hits = hits_within(
        lists.relevant,
        lists.scores,
        lists.offsets,
        lists.totals.astype(np.intp),
        lists.rule.tie,
    )
    values = ratio(hits, lists.totals)
    return lists.data.average(values, average, lists.rule.empty)


precision_at_k_scorer = registered(precision_at_k_score, "p", "prec", k=10)
r_precision_scorer = registered(r_precision_score, "rprec", relevance_level=2)
