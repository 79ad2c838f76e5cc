"""Labels from ranks of which 1 is the best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import finite_column, refuse_misread
from skrank._data.grouping import group_rows, is_missing
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Floats


@suggests_groups
def from_ranks(ranks: Any, groups: Any = None) -> Floats:
    """Return labels, larger is better, from ranks of which 1 is the best.

    A list's label is its largest rank plus one, minus the rank. Rows without a rank
    did not finish: they tie behind all others of their list, with label 0.

    The labels are places, not grades: metrics with a level of relevance, such as hit
    rate, precision and reciprocal rank, count every row with a rank as relevant. Pass
    them labels 1 and 0 instead, for example 1 for winners.

    Parameters
    ----------
    ranks : array-like of shape (n_rows,)
        Rank of each row in its list; equal ranks give equal labels. Without a rank
        are NaN, None, pandas.NA and text without a digit, such as "DNF"; text with
        digits must be a number.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``ranks``.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
        At least 1, or 0 for rows without a rank, in row order.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, ranks are infinite or below 1, or text
        has digits but is not a number, such as "3rd".

    Examples
    --------
    >>> from skrank.interop import from_ranks
    >>> from_ranks([1, 2, 3, 2, 1], ["a", "a", "a", "b", "b"])
    array([3., 2., 1., 1., 2.])
    >>> from_ranks(["1", "DNF", "2", "DNS"], ["a", "a", "a", "a"])
    array([2., 0., 1., 0.])
    """
    groups = find_groups(ranks, groups, "from_ranks", "ranks")
    column, finished = _ranks_and_finished(ranks)
    if column.min() < 1:
        raise ValueError(
            f"ranks must be at least 1, the best, got {column.min():g}. For ranks "
            "from 0 add 1."
        )
    grouping = group_rows(groups, len(column))
    listed = grouping.gather(np.where(finished, column, 0.0))
    lists = grouping.lists
    labels = lists.expand(lists.max(listed)) + 1 - listed
    return np.where(finished, grouping.scatter(labels), 0.0)


def _ranks_and_finished(ranks: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the rank of each row, 1 where it has none, and whether it has one."""
    refuse_misread(ranks, "ranks")
    array = np.asarray(ranks)
    if array.ndim != 1 or array.dtype.kind not in "fOUST":
        column = finite_column(ranks, "ranks")
        return column, np.ones(len(column), dtype=bool)
    if isinstance(ranks, list | tuple):
        array = np.fromiter(ranks, dtype=object, count=len(ranks))  # 1 stays 1
    if array.dtype.kind == "f":
        finished = ~np.isnan(array)
        return finite_column(np.where(finished, array, 1.0), "ranks"), finished
    values = array.tolist()
    finished = np.array([not _did_not_finish(value) for value in values])
    numbers = [
        _number(value) if has_rank else 1.0
        for value, has_rank in zip(values, finished, strict=True)
    ]
    return finite_column(numbers, "ranks"), finished


def _did_not_finish(value: Any) -> bool:
    """Return whether a rank is missing, or text without a digit."""
    if isinstance(value, bytes):
        value = value.decode("latin1")
    if isinstance(value, str):
        return not any(map(str.isdigit, value))
    return is_missing(value)


def _number(value: Any) -> Any:
    """Return text as a number, and other values as they are."""
    if not isinstance(value, str | bytes):
        return value
    try:
        return float(value)
    except ValueError:
        raise ValueError(
            f"ranks must hold numbers, or text without a digit (such as 'DNF') for "
            f"rows that have no rank, got {value!r}."
        ) from None
