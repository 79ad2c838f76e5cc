"""Pairwise accuracy: the share of pairs put in order."""

from __future__ import annotations

from typing import Any

from skrank._kernels.metrics import pairs_in_order
from skrank.metrics._average import check_average, scored_lists


def pairwise_accuracy_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    empty: Any = "skip",
    average: Any = "mean",
    sample_weight: Any = None,
) -> Any:
    r"""Return the share of pairs with different labels that scores put in order.

    .. math::

        \frac{\sum_{y_i > y_j} [s_i > s_j] + \frac12 [s_i = s_j]}{\sum_{y_i > y_j} 1}

    over the pairs of one list, then averaged over lists. A constant score gives 1/2.
    It takes any real labels, and :math:`n \log n` steps for a list of n rows.
    """
    check_average(average, empty)
    data = scored_lists(
        y_true, y_score, groups, sample_weight, "pairwise_accuracy_score"
    )
    values = pairs_in_order(data.y, data.scores, data.grouping.lists.offsets)
    return data.average(values, average, empty)
