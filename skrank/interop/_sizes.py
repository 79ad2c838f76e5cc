"""Groups from the sizes of lists, and sizes from groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.grouping import group_rows
from skrank._data.groups import suggests_groups
from skrank._data.lists import Lists


def groups_from_sizes(sizes: Any) -> NDArray:
    """Return one group label a row from the sizes of lists, 0 for the first list.

    LightGBM and XGBoost's ``set_group`` take sizes.

    Parameters
    ----------
    sizes : array-like of int of shape (n_lists,)
        Number of rows of each list, in row order.

    Returns
    -------
    groups : ndarray of shape (n_rows,)
        Group labels 0, 1, ...

    Raises
    ------
    ValueError
        If there is no list, or a size is below 1 or not a whole number.

    Examples
    --------
    >>> from skrank.interop import groups_from_sizes
    >>> groups_from_sizes([2, 3])
    array([0, 0, 1, 1, 1])
    """
    lists = Lists(sizes)
    return lists.expand(np.arange(lists.n_lists))


@suggests_groups
def sizes_from_groups(groups: Any) -> NDArray:
    """Return the sizes of lists, in row order, from one group label a row.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        One group label a row; the rows of each list are together.

    Returns
    -------
    sizes : ndarray of shape (n_lists,)
        Number of rows of each list, as LightGBM takes them.

    Raises
    ------
    ValueError
        If a list's rows are apart, since sizes cannot express that, or if groups are
        not one-dimensional or miss values.

    Examples
    --------
    >>> from skrank.interop import sizes_from_groups
    >>> sizes_from_groups(["b", "b", "a"])
    array([2, 1])
    """
    grouping = group_rows(groups)
    if grouping.rows is not None:
        raise ValueError(
            "groups has lists whose rows are apart, which sizes cannot describe. Sort "
            "all rows by group first: np.argsort(groups, kind='stable')."
        )
    return grouping.lists.sizes
