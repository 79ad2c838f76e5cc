"""Metrics that count the relevant rows within a cut-off.

Names say "at_k" where scikit-learn has a metric of the same name whose second
argument is a class a row, not a score.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import check_positive
from skrank._data.groups import takes_groups
from skrank._data.lists import Floats
from skrank._kernels.binary import hit_chance, hits_within
from skrank.metrics._average import check_average, check_cutoff
from skrank.metrics._relevant import (
    RelevantLists,
    ratio,
    relevant_lists,
)


@takes_groups
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
        Give the number of this tool: "trec_eval", "xgboost" or "catboost". It sets what
        the tool fixes of gain, ties, empty lists, divisor and cut-off;
        :func:`explain_metric` shows what that is.
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
    given = {"relevance_level": relevance_level, "ties": ties}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "precision_at_k_score", rows, given, convention, doc_ids, retrieved
    )
    values = ratio(_hits(lists, k), _n_counted(lists, k), 0.0)
    return lists.data.average(values, average, lists.rule.empty)


@takes_groups
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
        Give the number of this tool: "trec_eval" or "catboost". It sets what the tool
        fixes of gain, ties, empty lists, divisor and cut-off; :func:`explain_metric`
        shows what that is.
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
    given = {"relevance_level": relevance_level, "ties": ties, "empty": empty}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "recall_at_k_score", rows, given, convention, doc_ids, retrieved
    )
    values = ratio(_hits(lists, k), lists.totals)
    return lists.data.average(values, average, lists.rule.empty)


@takes_groups
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
    given = {"relevance_level": relevance_level, "ties": ties, "empty": empty}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists("f_measure_at_k_score", rows, given, retrieved=retrieved)
    weight = float(beta) ** 2
    values = ratio(
        (1 + weight) * _hits(lists, k),
        np.where(lists.totals > 0, weight * lists.totals + _n_counted(lists, k), 0.0),
    )
    return lists.data.average(values, average, lists.rule.empty)


@takes_groups
def hit_rate_score(
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
    r"""Return the share of lists with a relevant row among the first k.

    .. math:: \mathrm{HR@}k = [\max_{r \le k} y_r \ge \text{level}]

    over the ranks of a list, averaged over lists; also known as success. Where k
    falls into a block of equal scores it is the chance of a hit, which is
    hypergeometric.

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
    average : {"mean", None}, default="mean"
        None returns one value a list, in the order of ``list_labels(groups)``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    convention : str, default=None
        Give the number of this tool: "trec_eval". It sets what the tool fixes of gain,
        ties, empty lists, divisor and cut-off; :func:`explain_metric` shows what that
        is.
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
    >>> from skrank.metrics import hit_rate_score
    >>> hit_rate_score([1, 0, 0, 1], [2.0, 1.0, 2.0, 1.0], groups=[7, 7, 8, 8], k=1)
    0.5
    """
    check_average(average)
    check_cutoff(k)
    given = {"relevance_level": relevance_level, "ties": ties}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "hit_rate_score", rows, given, convention, doc_ids, retrieved
    )
    values = hit_chance(
        lists.relevant, lists.scores, lists.offsets, lists.cutoffs(k), lists.rule.tie
    )
    return lists.data.average(values, average, lists.rule.empty)


@takes_groups
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
        Give the number of this tool: "trec_eval". It sets what the tool fixes of gain,
        ties, empty lists, divisor and cut-off; :func:`explain_metric` shows what that
        is.
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
    given = {"relevance_level": relevance_level, "ties": ties, "empty": empty}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "r_precision_score", rows, given, convention, doc_ids, retrieved
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


def _hits(lists: RelevantLists, k: int | None) -> Floats:
    """Return the number of relevant rows within the cut-off."""
    return hits_within(
        lists.relevant, lists.scores, lists.offsets, lists.cutoffs(k), lists.rule.tie
    )


def _n_counted(lists: RelevantLists, k: int | None) -> Floats:
    """Return what precision divides by: k, or the number of ranked rows."""
    if k is None:
        return lists.n_ranked
    if lists.rule.cutoff == "shorter":
        return np.minimum(float(k), lists.n_ranked)
    return np.full(len(lists.totals), float(k))
