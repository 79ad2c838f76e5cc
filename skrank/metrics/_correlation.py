"""Rank correlations of labels and scores inside each list."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import check_choice
from skrank._data.groups import suggests_groups
from skrank._data.ranks import ranks_in_order
from skrank._kernels.metrics import count_pairs
from skrank.metrics._average import check_average, scored_lists
from skrank.metrics._registry import registered

__all__ = [
    "kendall_tau_score",
    "spearman_score",
    "kendall_tau_scorer",
    "spearman_scorer",
]


@suggests_groups
def kendall_tau_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    variant: str = "b",
    empty: str | float = "skip",
    average: str | None = "mean",
    sample_weight: Any = None,
) -> Any:
    r"""Return Kendall's rank correlation, averaged over lists.

    .. math::

        \tau_a = \frac{C - D}{n (n - 1) / 2}, \qquad
        \tau_b = \frac{C - D}{\sqrt{P_y P_s}}

    where of the pairs of a list of n rows C are put in order by the scores and D the
    wrong way, and :math:`P_y, P_s` have different labels and scores [1]_. Pairs with
    equal scores add 0, which is their mean over orders. It takes about n log n steps.
    Undefined are lists of one row and lists with equal labels, and for the variant
    "b" lists with equal scores.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Any real labels, higher is better; only their order matters.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    variant : {"b", "a"}, default="b"
        "b" corrects for equal labels and scores; "a" divides by all pairs.
    empty : "skip" or float, default="skip"
        What an undefined list counts as in the mean. If all are skipped the mean
        is 0.0, with a warning.
    average : {"mean", None}, default="mean"
        None returns one value a list, NaN where undefined, in the order of
        ``list_labels(groups)``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.

    Returns
    -------
    score : float or ndarray of shape (n_lists,)
        Between -1 and 1, higher is better.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ or values are not finite, or
        ``variant`` is unknown.

    Warns
    -----
    UndefinedMetricWarning
        If no list is defined.

    References
    ----------
    .. [1] M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33
       (1945), 239-251.

    Examples
    --------
    >>> from skrank.metrics import kendall_tau_score
    >>> y, scores, groups = [1, 1, 0], [3.0, 2.0, 1.0], [7, 7, 7]
    >>> round(kendall_tau_score(y, scores, groups), 4)
    0.8165
    >>> round(kendall_tau_score(y, scores, groups, variant="a"), 4)
    0.6667
    """
    check_average(average, empty)
    check_choice(variant, "variant", ("b", "a"))
    data = scored_lists(y_true, y_score, groups, sample_weight, "kendall_tau_score")
    lists = data.grouping.lists
    by_label, wrong, tied, by_score = count_pairs(data.y, data.scores, lists.offsets)
    if variant == "a":
        pairs = lists.sizes * (lists.sizes - 1) / 2
    else:
        # sqrt(P_y P_s), not sqrt(P_y) sqrt(P_s): rounding of two roots would give a
        # correlation other than 1 where both numbers of pairs are equal.
        pairs = np.sqrt(by_label.astype(np.float64) * by_score)
    values = np.full(len(pairs), np.nan)
    np.divide(
        by_label - tied - 2 * wrong,
        pairs,
        out=values,
        where=(pairs > 0) & (by_label > 0),
    )
    return data.average(np.clip(values, -1.0, 1.0), average, empty)


@suggests_groups
def spearman_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    empty: str | float = "skip",
    average: str | None = "mean",
    sample_weight: Any = None,
) -> Any:
    r"""Return Spearman's rank correlation, averaged over lists.

    .. math::

        \rho = \frac{\sum_i (R_i - \bar R)(S_i - \bar S)}
            {\sqrt{\sum_i (R_i - \bar R)^2 \sum_i (S_i - \bar S)^2}}

    where R and S are the ranks of labels and scores in a list, equal ones sharing
    their mean rank [1]_. It is undefined where all labels or all scores are equal.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Any real labels, higher is better; only their order matters.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    empty : "skip" or float, default="skip"
        What an undefined list counts as in the mean. If all are skipped the mean
        is 0.0, with a warning.
    average : {"mean", None}, default="mean"
        None returns one value a list, NaN where undefined, in the order of
        ``list_labels(groups)``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.

    Returns
    -------
    score : float or ndarray of shape (n_lists,)
        Between -1 and 1, higher is better.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ or values are not finite.

    Warns
    -----
    UndefinedMetricWarning
        If no list is defined.

    References
    ----------
    .. [1] M. G. Kendall, "Rank Correlation Methods", 4th edition, Griffin 1970,
       chapter 3.

    Examples
    --------
    >>> from skrank.metrics import spearman_score
    >>> spearman_score([2, 0, 1], [3.0, 2.0, 1.0], groups=[7, 7, 7])
    0.5
    """
    check_average(average, empty)
    data = scored_lists(y_true, y_score, groups, sample_weight, "spearman_score")
    lists = data.grouping.lists
    middle = lists.expand((lists.sizes + 1) / 2)
    labels = ranks_in_order(data.y, lists, "average") - middle
    scores = ranks_in_order(data.scores, lists, "average") - middle
    spread = np.sqrt(lists.sum(labels**2) * lists.sum(scores**2))
    values = np.full(lists.n_lists, np.nan)
    np.divide(lists.sum(labels * scores), spread, out=values, where=spread > 0)
    return data.average(np.clip(values, -1.0, 1.0), average, empty)


kendall_tau_scorer = registered(kendall_tau_score, "kendall", "tau", variant="a")
spearman_scorer = registered(spearman_score, "rho", empty=0.0)
