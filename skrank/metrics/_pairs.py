"""Pairwise accuracy: the share of pairs put in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.groups import suggests_groups
from skrank._kernels.metrics import count_pairs
from skrank.metrics._average import check_average, scored_lists
from skrank.metrics._registry import registered

__all__ = ["pairwise_accuracy_score", "pairwise_accuracy_scorer"]


@suggests_groups
def pairwise_accuracy_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    empty: str | float = "skip",
    average: str | None = "mean",
    sample_weight: Any = None,
) -> Any:
    r"""Return the share of pairs with different labels that scores put in order.

    .. math::

        \frac{\sum_{y_i > y_j} [s_i > s_j] + \frac12 [s_i = s_j]}{\sum_{y_i > y_j} 1}

    over the pairs of a list, averaged over lists. Constant scores have 1/2. It takes
    about n log n steps for a list of n rows, and is undefined where all labels of a
    list are equal. For labels 0 and 1 it is the area under the ROC curve of each
    list [1]_.

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
        Between 0 and 1, higher is better.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ or values are not finite.

    Warns
    -----
    UndefinedMetricWarning
        If no list has two different labels.

    References
    ----------
    .. [1] R. Herbrich, T. Graepel, K. Obermayer, "Large margin rank boundaries for
       ordinal regression", Advances in Large Margin Classifiers, MIT Press 2000.

    Examples
    --------
    >>> from skrank.metrics import pairwise_accuracy_score
    >>> pairwise_accuracy_score([1.5, -2, 0], [3.0, 1.0, 1.0], groups=[7, 7, 7])
    0.8333333333333334
    """
    check_average(average, empty)
    data = scored_lists(
        y_true, y_score, groups, sample_weight, "pairwise_accuracy_score"
    )
    pairs, wrong, tied, _ = count_pairs(
        data.y, data.scores, data.grouping.lists.offsets
    )
    values = np.full(len(pairs), np.nan)
    np.divide(pairs - wrong - 0.5 * tied, pairs, out=values, where=pairs > 0)
    return data.average(values, average, empty)


pairwise_accuracy_scorer = registered(pairwise_accuracy_score, "pairwise", empty=0.5)
