"""Weights of lists, and of rows inside them, from ``sample_weight``."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import as_written, count_of, finite_column, refuse_lazy
from skrank._data.grouping import Grouping
from skrank._data.lists import Floats


def list_weights(sample_weight: Any, grouping: Grouping) -> Floats | None:
    """Return the weight of each list from weights of its rows.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,) or None
        One weight a row, the same for all rows of a list.
    grouping : Grouping
        The lists.

    Returns
    -------
    weights : ndarray of shape (n_lists,) or None
        In the order of ``grouping.lists``.

    Raises
    ------
    ValueError
        If the length differs, or weights vary inside a list, are negative, masked,
        not finite, or all zero.
    """
    weights, shares = split_weights(sample_weight, grouping)
    if shares is not None:
        varies = grouping.lists.max(shares) != grouping.lists.min(shares)
        label = grouping.labels[np.argmax(varies)]
        raise ValueError(
            "sample_weight must be constant inside each list: it is the weight of "
            f"the list. It varies in {count_of(int(varies.sum()), 'list')}, such as "
            f"{as_written(label)}. Weights of rows are for fit of linear rankers by "
            "RankNet, RankSVM, ListMLE or ListNet; elsewhere pass each row the mean of "
            "its list, or none (with metadata routing, "
            "set_score_request(sample_weight=False))."
        )
    return weights


def split_weights(
    sample_weight: Any, grouping: Grouping
) -> tuple[Floats | None, Floats | None]:
    """Return the weight of each list, and how the weights of its rows vary about it.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,) or None
        One weight a row.
    grouping : Grouping
        The lists.

    Returns
    -------
    weights : ndarray of shape (n_lists,) or None
        Mean weight of the rows of each list, in the order of ``grouping.lists``; equal
        weights are taken as they are, since their mean may be off by rounding.
    shares : ndarray of shape (n_rows,) or None
        Weight of each row over the mean of its list, in the order of the lists; 1
        throughout lists of equal weights, and None where all lists are such.

    Raises
    ------
    ValueError
        As :func:`list_weights`, except for weights that vary.
    """
    if sample_weight is None:
        return None, None
    refuse_lazy(sample_weight, "sample_weight")
    values = np.asanyarray(sample_weight)  # a masked array keeps its mask
    lists = grouping.lists
    if values.shape != (lists.n_rows,):
        raise ValueError(
            f"sample_weight has shape {values.shape} for {lists.n_rows} rows in "
            f"{lists.n_lists} lists; it needs one entry per row. For one weight per "
            "list w, in the order of the sorted group labels, use "
            "w[np.unique(groups, return_inverse=True)[1]]."
        )
    rows = finite_column(values, "sample_weight")
    if rows.min() < 0:
        raise ValueError(f"sample_weight must not be negative, got {rows.min()}.")
    rows = grouping.gather(rows)
    varies = lists.max(rows) != lists.min(rows)
    weights = rows[lists.starts]
    if not weights.max() > 0 and not varies.any():
        raise ValueError("sample_weight is zero for every list.")
    if not varies.any():
        return weights, None
    # Of the largest first, since the sum of huge weights overflows.
    largest = lists.max(rows)
    shares = rows / lists.expand(np.where(varies, largest, 1.0))
    means = lists.sum(shares) / lists.sizes
    shares /= lists.expand(np.where(varies, means, 1.0))
    shares[lists.expand(~varies)] = 1.0
    return np.where(varies, largest * means, weights), shares
