"""Discounted cumulative gain (DCG), and its ratio to that of the best order (NDCG)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skrank._data.groups import suggests_groups
from skrank._data.lists import Floats
from skrank._kernels.metrics import discounted_gain
from skrank.metrics._average import (
    ScoredLists,
    check_average,
    check_cutoff,
    check_ties,
    cutoff_of,
    scored_lists,
)
from skrank.metrics._conventions import Rule, rule_of
from skrank.metrics._registry import registered

__all__ = ["dcg_score", "ndcg_score", "dcg_scorer", "ndcg_scorer"]


@suggests_groups
def ndcg_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    k: int | None = None,
    gain: str | Callable = "exponential",
    discount: str | Callable = "log2",
    ties: str = "average",
    empty: str | float = "skip",
    average: str | None = "mean",
    sample_weight: Any = None,
    convention: Any = None,
    doc_ids: Any = None,
    retrieved: Any = None,
) -> Any:
    r"""Return the normalised discounted cumulative gain, averaged over lists.

    .. math::

        \mathrm{NDCG} = \frac{\mathrm{DCG}}{\max \mathrm{DCG}}, \qquad
        \mathrm{DCG} = \sum_{r \le k} \frac{2^{y_r} - 1}{\log_2(1 + r)}

    over the ranks of a list, where the largest DCG is that of the order by label
    [1]_. It is undefined for a list without a relevant row.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels of at least 0, higher is better. Under the conventions "trec_eval" and
        "gdeval" less than 0 means not judged, worth 0.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    k : int, default=None
        Last rank that counts; None counts all, and so does a list shorter than k.
    gain : {"exponential", "linear"} or callable, default="exponential"
        Worth of a label: 2**y - 1, y, or what a function of all labels returns
        (numbers of at least 0).
    discount : "log2" or callable, default="log2"
        Factor of a rank: 1 / log2(1 + rank), or what a function of the ranks
        1, 2, ... returns (numbers of at least 0 that never grow).
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
        Compute the number of this tool: "trec_eval", "lightgbm", "xgboost", "sklearn",
        "catboost" or "gdeval". It sets gain, ties, empty lists, divisor and cut-off as
        the tool does; :func:`explain_metric` shows them.
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
        If groups are missing, lengths differ, values are not finite, labels are
        negative, or a convention contradicts another argument or needs ``doc_ids``.

    Warns
    -----
    UndefinedMetricWarning
        If no list has a relevant row.

    References
    ----------
    .. [1] K. Jarvelin, J. Kekalainen, "Cumulated gain-based evaluation of IR
       techniques", ACM TOIS 20 (2002); the exponential gain is that of C. Burges et
       al., "Learning to rank using gradient descent", ICML 2005.

    Examples
    --------
    >>> from skrank.metrics import ndcg_score
    >>> y, scores = [0, 1, 0, 2, 0], [0.1, 0.2, 0.3, 0.9, 0.5]
    >>> round(ndcg_score(y, scores, groups=[1, 1, 1, 2, 2]), 4)
    0.8155
    >>> ndcg_score(y, scores, groups=[1, 1, 1, 2, 2], k=1, average=None)
    array([0., 1.])
    """
    check_average(average, empty)
    _check_options(k, gain, discount)
    check_ties(ties)
    options = {"gain": gain, "discount": discount, "ties": ties, "empty": empty}
    rule = rule_of("ndcg_score", convention, options)
    data = scored_lists(
        y_true, y_score, groups, sample_weight, "ndcg_score", rule, doc_ids, retrieved
    )
    values = _discounted_gain(data, k, rule, "ndcg_score")
    return data.average(values, average, rule.empty, rule.empty_weight)


@suggests_groups
def dcg_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    k: int | None = None,
    gain: str | Callable = "exponential",
    discount: str | Callable = "log2",
    ties: str = "average",
    average: str | None = "mean",
    sample_weight: Any = None,
    convention: Any = None,
    doc_ids: Any = None,
    retrieved: Any = None,
) -> Any:
    r"""Return the discounted cumulative gain, averaged over lists.

    .. math:: \mathrm{DCG} = \sum_{r \le k} \frac{2^{y_r} - 1}{\log_2(1 + r)}

    over the ranks of a list [1]_. A list without a relevant row has 0.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels of at least 0, higher is better.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    k : int, default=None
        Last rank that counts; None counts all, and so does a list shorter than k.
    gain : {"exponential", "linear"} or callable, default="exponential"
        Worth of a label: 2**y - 1, y, or what a function of all labels returns
        (numbers of at least 0).
    discount : "log2" or callable, default="log2"
        Factor of a rank: 1 / log2(1 + rank), or what a function of the ranks
        1, 2, ... returns (numbers of at least 0 that never grow).
    ties : {"average", "worst", "best", "order"}, default="average"
        How equal scores count: by the exact mean over their orders, by their worst
        or best order, or in row order.
    average : {"mean", None}, default="mean"
        None returns one value a list, in the order of ``list_labels(groups)``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    convention : str, default=None
        Compute the number of this tool: "sklearn" or "catboost". It sets gain, ties,
        empty lists, divisor and cut-off as the tool does; :func:`explain_metric` shows
        them.
    doc_ids : array-like of shape (n_rows,), default=None
        Ids of the rows, needed where the convention breaks ties by them.
    retrieved : array-like of bool of shape (n_rows,), default=None
        Which rows are ranked; the others are only there to be found. None means all.

    Returns
    -------
    score : float or ndarray of shape (n_lists,)
        At least 0, higher is better, in units of the gain.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, values are not finite, labels are
        negative, the gain exceeds the largest float (labels above 1023), or a
        convention contradicts another argument.

    References
    ----------
    .. [1] K. Jarvelin, J. Kekalainen, "Cumulated gain-based evaluation of IR
       techniques", ACM TOIS 20 (2002); the exponential gain is that of C. Burges et
       al., "Learning to rank using gradient descent", ICML 2005.

    Examples
    --------
    >>> from skrank.metrics import dcg_score
    >>> dcg_score([2, 0, 1], [3.0, 2.0, 1.0], groups=[7, 7, 7])
    3.5
    """
    check_average(average)
    _check_options(k, gain, discount)
    check_ties(ties)
    options = {"gain": gain, "discount": discount, "ties": ties}
    rule = rule_of("dcg_score", convention, options)
    data = scored_lists(
        y_true, y_score, groups, sample_weight, "dcg_score", rule, doc_ids, retrieved
    )
    values = _discounted_gain(data, k, rule, "dcg_score")
    with np.errstate(over="ignore"):
        score = data.average(values, average, "skip")
    _refuse_overflow(score)
    return score


def _check_options(k: Any, gain: Any, discount: Any) -> None:
    """Raise ValueError for an unknown cut-off, gain or discount."""
    check_cutoff(k)
    if not callable(gain) and not _is_one_of(gain, "exponential", "linear"):
        raise ValueError(
            f"gain must be 'exponential', 'linear' or callable, got {gain!r}."
        )
    if not callable(discount) and not _is_one_of(discount, "log2"):
        raise ValueError(f"discount must be 'log2' or callable, got {discount!r}.")


def _is_one_of(value: Any, *names: str) -> bool:
    return isinstance(value, str) and value in names


def _discounted_gain(data: ScoredLists, k: Any, rule: Rule, metric: str) -> Floats:
    """Return the DCG of each list; for NDCG, divided by that of its best order."""
    worth = _gains(data.y, rule.gain, metric)
    offsets = data.grouping.lists.offsets
    factors = _factors(cutoff_of(k, data.grouping), rule.discount)
    linear = rule.gain != "exponential"
    normalize = metric == "ndcg_score"
    apart = normalize and data.retrieved is not None
    values = discounted_gain(
        data.ranked(worth),
        data.scores,
        offsets,
        factors,
        rule.tie,
        linear,
        normalize and not apart,
    )
    if not apart:
        return values
    # The best order is over all rows, also those that were not retrieved.
    best = discounted_gain(worth, worth, offsets, factors, rule.tie, linear, False)
    _refuse_overflow(best)
    share = np.full(len(best), np.nan)
    np.divide(values, best, out=share, where=best > 0)
    # Rounding of two sums may raise their ratio above 1.
    return np.minimum(share, 1.0)


def _refuse_overflow(score: Any) -> None:
    """Raise ValueError for a discounted gain beyond the largest float."""
    if not np.isfinite(score).all():
        raise ValueError(
            "The discounted gain exceeds the largest float. Use gain='linear', "
            "smaller labels, or ndcg_score, which takes labels of any size if all "
            "rows are retrieved."
        )


def _gains(y: Floats, gain: Any, metric: str) -> Floats:
    """Return labels for a named gain, checked, and gains for a callable."""
    if callable(gain):
        gains = np.ascontiguousarray(gain(y), dtype=np.float64)
        if gains.shape != y.shape:
            raise ValueError(
                f"gain must return one number per label, got shape {gains.shape} "
                f"for {y.shape[0]} labels."
            )
        if not (gains.min() >= 0 and np.isfinite(gains.max())):
            raise ValueError(
                "gain must return finite numbers of at least 0, got values from "
                f"{gains.min()} to {gains.max()}."
            )
        return gains
    if y.min() < 0:
        raise ValueError(
            f"{metric} needs labels of at least 0, got {y.min()}: gains would be "
            "negative. pairwise_accuracy_score takes any real labels; or give "
            "gain= a function that maps yours to gains."
        )
    return y


def _factors(n_ranks: int, discount: Any) -> Floats:
    """Return the factor of each rank."""
    ranks = np.arange(1, n_ranks + 1, dtype=np.float64)
    if not callable(discount):
        return 1.0 / np.log2(1.0 + ranks)
    factors = np.ascontiguousarray(discount(ranks), dtype=np.float64)
    if factors.shape != ranks.shape:
        raise ValueError(
            f"discount must return one factor per rank, got shape {factors.shape} "
            f"for {n_ranks} ranks."
        )
    # With factors that grow, sorting by gain would not be the best order.
    falling = np.all(factors[1:] <= factors[:-1])
    if not (falling and 0 < factors[0] < np.inf and factors[-1] >= 0):
        raise ValueError(
            "discount must return finite factors of at least 0 that never grow with "
            f"the rank and start above 0, got {factors[:5]} for the first ranks."
        )
    return factors


ndcg_scorer = registered(ndcg_score, "ndcg_cut", k=10)
dcg_scorer = registered(dcg_score, k=10)
