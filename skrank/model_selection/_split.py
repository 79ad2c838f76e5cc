"""One random split of the data into whole lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, indexable

from skrank._data.checks import refuse_lazy, refuse_misread
from skrank._data.grouping import groups_on_index
from skrank._data.groups import suggests_groups
from skrank.model_selection._splitters import QueryShuffleSplit, code_groups


@suggests_groups
def group_train_test_split(
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    test_size: Any = None,
    train_size: Any = None,
    random_state: Any = None,
) -> list[Any]:
    """Split data at random into a training and a test set of whole lists.

    What :func:`sklearn.model_selection.train_test_split` does for rows, which would
    put most lists on both sides. Rows keep their order. For more arrays, such as
    ``sample_weight``, take the row numbers from
    ``next(QueryShuffleSplit(1).split(X, y, groups))``.

    Parameters
    ----------
    X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Labels; a pandas object may have an index level named "groups".
    groups : array-like of shape (n_rows,), default=None
        One label a row of what to keep together, any hashable values; None takes the
        index level "groups" of ``y``. May be coarser than the lists of ``y``, such as
        users who have several lists each.
    test_size : float or int, default=None
        Share or number of groups (not rows) in the test set; None takes what
        ``train_size`` leaves, or 0.25.
    train_size : float or int, default=None
        Share or number of groups in the training set; None takes what ``test_size``
        leaves.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X_train, X_test, y_train, y_test : same types as ``X`` and ``y``
        Features and labels. Sparse matrices become CSR, and a pandas ``y`` keeps its
        index, with its groups if it has any.
    groups_train, groups_test : same type as ``groups``
        What was kept together; an array where it comes from the index of ``y``.

    Raises
    ------
    ValueError
        If groups are missing, cut a list of ``y``, have another length than ``X`` or
        miss values, or if a side would be empty.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import group_train_test_split
    >>> X, y = np.arange(6).reshape(6, 1), [1, 0, 2, 0, 0, 1]
    >>> groups = ["a", "a", "b", "b", "c", "c"]
    >>> X_train, X_test, y_train, y_test, groups_train, groups_test = (
    ...     group_train_test_split(X, y, groups, test_size=1, random_state=0)
    ... )
    >>> groups_train, groups_test
    (['a', 'a', 'b', 'b'], ['c', 'c'])
    """
    refuse_lazy(X, "X")
    refuse_misread(y, "y")
    X, y = indexable(X, y)
    codes = code_groups(X, y, groups, "group_train_test_split")
    if groups is None:
        groups = groups_on_index(y)
    if not hasattr(groups, "iloc") and hasattr(groups, "get_level_values"):
        groups = np.asarray(groups)  # a pandas index
    if test_size is None and train_size is None:
        test_size = 0.25
    splitter = QueryShuffleSplit(
        1, test_size=test_size, train_size=train_size, random_state=random_state
    )
    train, test = next(splitter.split(X, groups=codes))
    return [
        _safe_indexing(array, rows)
        for array in (X, y, groups)
        for rows in (train, test)
    ]
