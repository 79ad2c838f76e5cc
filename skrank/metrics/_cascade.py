"""Metrics of a user who reads from the top and stops: expected reciprocal rank."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from skrank._kernels.metrics import expected_reciprocal_rank
from skrank.metrics._average import (
    check_average,
    check_cutoff,
    check_ties,
    cutoff_of,
    scored_lists,
)


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
        Labels from 0 to ``max_grade``, higher is better.
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

    Returns
    -------
    score : float or ndarray of shape (n_lists,)
        Between 0 and 1, higher is better.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, values are not finite, or labels are
        negative or above ``max_grade``.

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
    tie = check_ties(ties)
    if not isinstance(max_grade, Real) or not 0 < max_grade < np.inf:
        raise ValueError(
            f"max_grade must be a positive finite number, got {max_grade!r}."
        )
    data = scored_lists(y_true, y_score, groups, sample_weight, "err_score")
    lowest, highest = data.y.min(), data.y.max()
    if lowest < 0:
        raise ValueError(
            f"err_score needs labels of at least 0, got {lowest}: they are chances "
            "to stop. pairwise_accuracy_score takes any real labels."
        )
    if highest > max_grade:
        raise ValueError(
            f"err_score got a label of {highest} above max_grade={max_grade}. Set "
            "max_grade to the best grade of the scale, the same for all data."
        )
    values = expected_reciprocal_rank(
        data.y,
        data.scores,
        data.grouping.lists.offsets,
        cutoff_of(k, data.grouping),
        tie,
        max_grade,
    )
    return data.average(values, average, "skip")
