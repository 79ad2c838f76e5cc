"""scikit-learn's group splitters, which also find groups on ``y``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, GroupShuffleSplit
from sklearn.utils.validation import _num_samples

from skrank._data.checks import as_written, check_count, refuse_lazy
from skrank._data.grouping import Grouping, group_rows, groups_on_index
from skrank._data.groups import missing_groups_message, suggests_groups
from skrank._data.lists import Indices


class QueryKFold(GroupKFold):
    """Split lists into k folds of about the same number of rows.

    scikit-learn's :class:`~sklearn.model_selection.GroupKFold`, which also finds the
    groups on a pandas ``y`` with an index level named "groups" (see
    :func:`skrank.with_groups`), so that it works as ``cv`` of scikit-learn's tools
    without metadata routing. Lists are never cut.

    The folds are those of ``GroupKFold`` for the same labels. They do not depend on
    the order of rows, but lists of one size are dealt out in sorted order of their
    labels, so that other names (9, 10 or "10", "9") may give other folds. Labels that
    cannot be sorted count in the order in which they first appear.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=False
        Deal lists out at random, the same number to each fold; otherwise the longest
        first, each to the fold with the fewest rows.
    random_state : int, RandomState instance or None, default=None
        Seed for ``shuffle=True``.

    See Also
    --------
    QueryShuffleSplit : Random splits by list.
    group_train_test_split : One random split, of the data themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import with_groups
    >>> from skrank.model_selection import QueryKFold
    >>> y = with_groups([1, 0, 2, 0, 0, 1], ["a", "a", "b", "b", "c", "c"])
    >>> for train, test in QueryKFold(3).split(np.zeros((6, 1)), y):
    ...     print(train, test)
    [0 1 2 3] [4 5]
    [0 1 4 5] [2 3]
    [2 3 4 5] [0 1]
    """

    @suggests_groups
    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Generate the row numbers of each training and test set.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features; only their number of rows matters.
        y : array-like of shape (n_rows,), default=None
            Labels; a pandas object may have an index level named "groups".
        groups : array-like of shape (n_rows,), default=None
            One label a row of what to keep together, any hashable values; None takes
            the index level "groups" of ``y``. May be coarser than the lists of ``y``,
            such as users who have several lists each.

        Yields
        ------
        train, test : ndarray of int
            Row numbers.

        Raises
        ------
        ValueError
            If groups are missing, cut a list of ``y``, have another length than
            ``X`` or miss values, or if there are fewer of them than folds.
        """
        codes = code_groups(X, y, groups, "QueryKFold.split")
        return super().split(X, y, codes)


class QueryShuffleSplit(GroupShuffleSplit):
    """Split lists at random into a training and a test set, several times.

    scikit-learn's :class:`~sklearn.model_selection.GroupShuffleSplit`, which also
    finds the groups on a pandas ``y`` with an index level named "groups" (see
    :func:`skrank.with_groups`). Lists are never cut. The splits are those of
    ``GroupShuffleSplit`` for the same labels; other names of the lists may give other
    splits where they sort in another order.

    Parameters
    ----------
    n_splits : int, default=5
        Number of splits.
    test_size : float or int, default=None
        Share or number of lists (not rows) in the test set; None takes what
        ``train_size`` leaves, or 0.2.
    train_size : float or int, default=None
        Share or number of lists in the training set; None takes what ``test_size``
        leaves.
    random_state : int, RandomState instance or None, default=None
        Seed.

    See Also
    --------
    QueryKFold : Folds of which each list is tested once.
    group_train_test_split : One random split, of the data themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.model_selection import QueryShuffleSplit
    >>> groups = ["a", "a", "b", "b", "c", "c"]
    >>> splitter = QueryShuffleSplit(n_splits=2, test_size=1, random_state=1)
    >>> for train, test in splitter.split(np.zeros((6, 1)), groups=groups):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 4 5] [2 3]
    """

    @suggests_groups
    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Generate the row numbers of each training and test set.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features; only their number of rows matters.
        y : array-like of shape (n_rows,), default=None
            Labels; a pandas object may have an index level named "groups".
        groups : array-like of shape (n_rows,), default=None
            One label a row of what to keep together, any hashable values; None takes
            the index level "groups" of ``y``. May be coarser than the lists of ``y``,
            such as users who have several lists each.

        Yields
        ------
        train, test : ndarray of int
            Row numbers.

        Raises
        ------
        ValueError
            If groups are missing, cut a list of ``y``, have another length than
            ``X`` or miss values, or if ``n_splits`` is not an integer of at least 1.
        """
        check_count(self.n_splits, "n_splits")
        codes = code_groups(X, y, groups, "QueryShuffleSplit.split")
        return super().split(X, y, codes)


def code_groups(X: Any, y: Any, groups: Any, method: str) -> Indices:
    """Return the groups to keep together as numbers, in the order of their labels.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Labels; a pandas object may have an index level named "groups".
    groups : array-like of shape (n_rows,) or None
        Groups to keep together; used instead of the index of ``y``.
    method : str
        The caller's name, for messages.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        Position of each row's label among the sorted labels.

    Raises
    ------
    ValueError
        If groups are missing or not valid, or cut a list of ``y``.
    """
    refuse_lazy(X, "X")
    n_rows = _num_samples(X)
    indexed = groups_on_index(y)
    if groups is None and indexed is None:
        raise ValueError(missing_groups_message(method, "y"))
    grouping = group_rows(indexed if groups is None else groups, n_rows)
    codes = _codes(grouping)
    if groups is not None and indexed is not None:
        _refuse_cut_lists(codes, group_rows(indexed, n_rows), method)
    return codes


def _codes(grouping: Grouping) -> Indices:
    """Return the place of each row's label among the sorted labels."""
    lists = grouping.lists
    place = np.arange(lists.n_lists)
    order = grouping.label_order()
    if order is not None:
        place[order] = np.arange(lists.n_lists)
    return grouping.scatter(lists.expand(place))


def _refuse_cut_lists(codes: Indices, of_y: Grouping, method: str) -> None:
    """Raise ValueError if groups cut a list of ``y``."""
    ordered = of_y.gather(codes)
    cut = of_y.lists.min(ordered) != of_y.lists.max(ordered)
    if cut.any():
        raise ValueError(
            f"{method}: groups= would cut {int(cut.sum())} of {len(cut)} lists of y "
            f"(its index level 'groups') between training and test rows, such as list "
            f"{as_written(of_y.labels[np.argmax(cut)])}. Give groups that hold each "
            "list whole, such as the user who made the query, or none to split by list."
        )
