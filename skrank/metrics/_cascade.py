"""Expected reciprocal rank (ERR): a user reads from the top and stops at some row."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import check_positive
from skrank._data.groups import suggests_groups
from skrank._data.lists import Floats
from skrank._kernels.metrics import expected_reciprocal_rank
from skrank.metrics._average import (
    check_average,
    check_cutoff,
    check_ties,
    cutoff_of,
    scored_lists,
)
from skrank.metrics._conventions import Rule, rule_of
from skrank.metrics._registry import registered

__all__ = ["err_score", "err_scorer"]


@suggests_groups
def err_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    max_grade: float = 4,
    k: int | None = None,
    ties: str = "average",
    average: str | None = "mean",
    sample_weight: Any = None,
    convention: Any = None,
    doc_ids: Any = None,
    retrieved: Any = None,
) -> Any:
    r"""Return the expected reciprocal rank, averaged over lists.

    .. math::

        \mathrm{ERR} = \sum_{r \le k} \frac1r V(y_r) \prod_{j < r} (1 - V(y_j)),
        \qquad V(y) = \frac{2^y - 1}{2^{y_{\max}}}

    over the ranks of a list: the mean of one over the rank at which a user stops
    who reads from the top and stops at label y with chance V(y) [1]_. A list
    without a relevant row has 0.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels from 0 to ``max_grade``, higher is better. Under the convention "gdeval"
        less than 0 means not judged, worth 0.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    max_grade : float, default=4
        The best grade there could be. It is never read from the data, since lists
        would then be measured differently.
    k : int, default=None
        Last rank that counts; None counts all.
    ties : {"average", "worst", "best", "order"}, default="average"
        How equal scores count: by the exact mean over their orders, by their worst
        or best order, or in row order.
    average : {"mean", None}, default="mean"
        None returns one value a list, in the order of ``list_labels(groups)``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    convention : str, default=None
        Compute the number of this tool: "catboost" or "gdeval". It sets gain, ties,
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
        If groups are missing, lengths differ, values are not finite, labels are
        negative or above ``max_grade``, or a convention contradicts another argument
        or needs ``doc_ids``.

    References
    ----------
    .. [1] O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan, "Expected reciprocal rank
       for graded relevance", CIKM 2009, equations 4 and 7.

    Examples
    --------
    >>> from skrank.metrics import err_score
    >>> err_score([4, 0, 2], [3.0, 2.0, 1.0], groups=[7, 7, 7])
    0.94140625
    """
    check_average(average)
    check_cutoff(k)
    check_ties(ties)
    check_positive(max_grade, "max_grade")
    rule = rule_of("err_score", convention, {"max_grade": max_grade, "ties": ties})
    data = scored_lists(
        y_true, y_score, groups, sample_weight, "err_score", rule, doc_ids, retrieved
    )
    labels, best = _stopping_labels(data.y, rule)
    lists = data.grouping.lists
    values = expected_reciprocal_rank(
        data.ranked(labels),
        data.scores,
        lists.offsets,
        cutoff_of(k, data.grouping),
        rule.tie,
        best,
    )
    if rule.empty == "skip":
        values[lists.max(data.y) == 0] = np.nan
    return data.average(values, average, rule.empty)


def _stopping_labels(y: Floats, rule: Rule) -> tuple[Floats, float]:
    """Return labels and the best grade, from which the chances to stop are computed."""
    chances = rule.gain == "chance"
    limit = 1.0 if chances else rule.max_grade
    lowest, highest = y.min(), y.max()
    if lowest < 0:
        raise ValueError(
            f"err_score needs labels of at least 0, got {lowest}: they are chances "
            "to stop. pairwise_accuracy_score takes any real labels."
        )
    if highest > limit:
        advice = (
            "This convention takes labels as chances to stop."
            if chances
            else "Set max_grade to the best grade of the scale, the same for all data."
        )
        name = "1" if chances else f"max_grade={limit}"
        raise ValueError(f"err_score got a label of {highest} above {name}. {advice}")
    # The formula (2**y - 1) / 2**0 gives back the chance for y = log2(1 + chance).
    return (np.log2(1.0 + y), 0.0) if chances else (y, limit)


err_scorer = registered(err_score, k=10, max_grade=2)
