"""Average precision, with each of the three divisors in use."""

from __future__ import annotations

from typing import Any

from skrank._data.checks import check_choice
from skrank._data.groups import suggests_groups
from skrank._kernels.binary import DIVISORS, average_precision
from skrank.metrics._average import (
    check_average,
    check_cutoff,
    cutoff_of,
)
from skrank.metrics._registry import registered
from skrank.metrics._relevant import relevant_lists

__all__ = ["average_precision_score", "average_precision_scorer"]


@suggests_groups
def average_precision_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    k: int | None = None,
    relevance_level: float = 1,
    normalizer: str = "all",
    ties: str = "average",
    empty: str | float = "skip",
    average: str | None = "mean",
    sample_weight: Any = None,
    convention: Any = None,
    doc_ids: Any = None,
    retrieved: Any = None,
) -> Any:
    r"""Return the average precision, averaged over lists (MAP).

    .. math::

        \mathrm{AP} = \frac{1}{N} \sum_{r \le k} [y_r \ge \text{level}]
            \frac1r \sum_{j \le r} [y_j \ge \text{level}]

    over the ranks of a list: the mean precision at the relevant rows, where N is as
    ``normalizer`` says [1]_. It is undefined for a list without a relevant row.
    Unlike ``sklearn.metrics.average_precision_score`` it does not pool the lists.

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
    normalizer : {"all", "min", "found"}, default="all"
        What the sum is divided by: the number of all relevant rows of the list, that
        or k where k is less, or the number of those within the cut-off. A hit can
        lower the mean over those found; the best order still has hits first.
    ties : {"average", "worst", "best", "order"}, default="average"
        How equal scores count: by the exact mean over their orders, by their worst
        or best order, or in row order.
    empty : "skip" or float, default="skip"
        What an undefined list counts as in the mean. If all are skipped the mean
        is 0.0, with a warning.
    average : {"mean", "geometric", None}, default="mean"
        None returns one value a list, NaN where undefined, in the order of
        ``list_labels(groups)``. "geometric" is the geometric mean, in which values
        below 1e-5 count as 1e-5, as in trec_eval's gm_map.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    convention : str, default=None
        Compute the number of this tool: "trec_eval", "lightgbm", "xgboost", "sklearn"
        or "catboost". It sets gain, ties, empty lists, divisor and cut-off as the tool
        does; :func:`explain_metric` shows them.
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
    >>> from skrank.metrics import average_precision_score
    >>> y, scores, groups = [1, 1, 1, 0], [4.0, 3.0, 2.0, 1.0], [7, 7, 7, 7]
    >>> average_precision_score(y, scores, groups)
    1.0
    >>> round(average_precision_score(y, scores, groups, k=2), 4)
    0.6667
    >>> average_precision_score(y, scores, groups, k=2, normalizer="min")
    1.0
    """
    check_average(average, empty, geometric=True)
    check_cutoff(k)
    check_choice(normalizer, "normalizer", DIVISORS)
    options = {
        "relevance_level": relevance_level,
        "normalizer": normalizer,
        "ties": ties,
        "empty": empty,
    }
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists(
        "average_precision_score", rows, options, convention, doc_ids, retrieved
    )
    if lists.rule.ties == "level" and k is not None:
        raise ValueError(
            "scikit-learn has no cut-off for average precision; leave k out under "
            "its convention."
        )
    values = average_precision(
        lists.relevant,
        lists.scores,
        lists.offsets,
        lists.totals,
        cutoff_of(k, lists.data.grouping),
        lists.rule.tie,
        DIVISORS[lists.rule.normalizer],
    )
    return lists.data.average(values, average, lists.rule.empty)


average_precision_scorer = registered(
    average_precision_score, "map", "ap", "map_cut", k=10
)
