"""Metrics of a user who looks for the first relevant row, or the first few."""

from __future__ import annotations

from typing import Any

from skrank._data.checks import check_count
from skrank._data.groups import suggests_groups
from skrank._kernels.binary import hit_chance, reciprocal_rank, search_length
from skrank.metrics._average import (
    check_average,
    check_cutoff,
    cutoff_of,
)
from skrank.metrics._registry import registered
from skrank.metrics._relevant import relevant_lists

__all__ = [
    "expected_search_length_score",
    "hit_rate_score",
    "reciprocal_rank_score",
    "expected_search_length_scorer",
    "hit_rate_scorer",
    "reciprocal_rank_scorer",
]


@suggests_groups
def reciprocal_rank_score(
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
    r"""Return one over the rank of the first relevant row, averaged over lists (MRR).

    .. math:: \mathrm{RR} = \frac{1}{\min \{r \le k : y_r \ge \text{level}\}}

    over the ranks of a list, and 0 where no row within the cut-off is relevant [1]_.
    Nothing is sorted: rows are counted against the best relevant score.

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

    References
    ----------
    .. [1] E. Voorhees, "The TREC-8 question answering track report", TREC 1999.

    Examples
    --------
    >>> from skrank.metrics import reciprocal_rank_score
    >>> reciprocal_rank_score([0, 1, 2], [3.0, 2.0, 1.0], groups=[7, 7, 7])
    0.5
    """
    check_average(average)
    check_cutoff(k)
    options = {"relevance_level": relevance_level, "ties": ties}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "reciprocal_rank_score", rows, options, convention, doc_ids, retrieved
    )
    values = reciprocal_rank(
        lists.relevant,
        lists.scores,
        lists.offsets,
        cutoff_of(k, lists.data.grouping),
        lists.rule.tie,
    )
    return lists.data.average(values, average, lists.rule.empty)


@suggests_groups
def expected_search_length_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    n_wanted: int = 1,
    relevance_level: float = 1,
    ties: str = "average",
    empty: str | float = "skip",
    average: str | None = "mean",
    sample_weight: Any = None,
    retrieved: Any = None,
) -> Any:
    r"""Return how many rows precede the wanted relevant ones, averaged over lists.

    .. math:: \mathrm{ESL} = \sum_{r < r^*} [y_r < \text{level}]

    over the ranks of a list, where the ``n_wanted``-th relevant row has rank
    :math:`r^*`: the irrelevant rows that a user reads [1]_. With equal scores it is
    Cooper's expectation. It is undefined for a list with fewer relevant rows. Less is
    better, so its scorer is negative.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, higher is better.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    n_wanted : int, default=1
        How many relevant rows the user looks for.
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
        At least 0, in rows; lower is better.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ or values are not finite, or
        ``n_wanted`` is not a positive integer.

    Warns
    -----
    UndefinedMetricWarning
        If no list has enough relevant rows.

    References
    ----------
    .. [1] W. S. Cooper, "Expected search length", American Documentation 19 (1968),
       30-41.

    Examples
    --------
    >>> from skrank.metrics import expected_search_length_score
    >>> expected_search_length_score([0, 1, 0], [1.0, 1.0, 0.0], groups=[7, 7, 7])
    0.5
    """
    check_average(average, empty)
    check_count(n_wanted, "n_wanted")
    options = {"relevance_level": relevance_level, "ties": ties, "empty": empty}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "expected_search_length_score", rows, options, retrieved=retrieved
    )
    values = search_length(
        lists.relevant,
        lists.scores,
        lists.offsets,
        min(int(n_wanted), len(lists.scores) + 1),
        lists.rule.tie,
    )
    return lists.data.average(values, average, lists.rule.empty)


@suggests_groups
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

    Examples
    --------
    >>> from skrank.metrics import hit_rate_score
    >>> hit_rate_score([1, 0, 0, 1], [2.0, 1.0, 2.0, 1.0], groups=[7, 7, 8, 8], k=1)
    0.5
    """
    check_average(average)
    check_cutoff(k)
    options = {"relevance_level": relevance_level, "ties": ties}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "hit_rate_score", rows, options, convention, doc_ids, retrieved
    )
    values = hit_chance(
        lists.relevant, lists.scores, lists.offsets, lists.cutoffs(k), lists.rule.tie
    )
    return lists.data.average(values, average, lists.rule.empty)


reciprocal_rank_scorer = registered(
    reciprocal_rank_score, "mrr", "rr", "recip_rank", k=10
)
expected_search_length_scorer = registered(
    expected_search_length_score, "neg_esl", greater_is_better=False, n_wanted=2
)
hit_rate_scorer = registered(hit_rate_score, "hit", "hr", "success", k=10)
