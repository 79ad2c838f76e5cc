"""Rows that belong to lists, such as what a user browsed before."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from skrank._data.checks import as_written
from skrank._data.grouping import group_rows
from skrank._data.groups import suggests_groups
from skrank._data.lists import Floats, Indices


class ListData:
    """Rows of features for each list, by the label of the list.

    Holds the data of a list besides its candidates: the rows that a user browsed, in
    order, or one row of a profile. It has neither length nor shape on purpose:
    scikit-learn's searches cut metadata whose length is the number of rows, and pass on
    all others as they are. So one object serves all folds.

    Parameters
    ----------
    rows : mapping from label to array-like of shape (n, n_features) or (n_features,)
        The rows of each list, n of them, which may be 0: ``np.empty((0, n_features))``.
        A flat array is one row. All have the same number of features.

    Attributes
    ----------
    n_features : int
        Number of columns.

    Raises
    ------
    TypeError
        If ``rows`` is not a mapping.
    ValueError
        If there is no list, a value is not a finite table of numbers, or the numbers of
        columns differ.

    Examples
    --------
    >>> from skrank.neural import ListData
    >>> browsed = ListData({"a": [[1.0, 0.0], [0.0, 1.0]], "b": [0.5, 0.5]})
    >>> browsed
    ListData(n_lists=2, n_features=2)
    >>> browsed.rows_of("b")
    array([[0.5, 0.5]])
    """

    __slots__ = ("_tables", "n_features")

    def __init__(self, rows: Mapping[Hashable, Any]) -> None:
        if not isinstance(rows, Mapping):
            raise TypeError(
                "ListData takes a dictionary from the label of a list to its rows, "
                f"got {type(rows).__name__}. ListData.from_rows takes a table."
            )
        if not rows:
            raise ValueError("ListData needs the rows of at least one list, got none.")
        self._tables = {
            label_key(label): _table(label, values) for label, values in rows.items()
        }
        widths = {table.shape[1] for table in self._tables.values()}
        if len(widths) > 1:
            raise ValueError(
                "ListData needs the same number of features in every list, got "
                f"{sorted(widths)}. A list without rows is np.empty((0, n_features))."
            )
        self.n_features: int = widths.pop()

    @classmethod
    @suggests_groups
    def from_rows(cls, X: Any, groups: Any) -> ListData:
        """Make one from a table and the label of each row's list.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows; those of one list keep their order.
        groups : array-like of shape (n_rows,)
            One group label a row, in any order.

        Returns
        -------
        data : ListData
            The rows by list.

        Raises
        ------
        ValueError
            If ``X`` is not a table of finite numbers, or ``groups`` do not fit it.
        """
        table = _table("X", X)
        grouping = group_rows(groups, len(table))
        parts = np.split(grouping.gather(table), grouping.lists.starts[1:])
        return cls(dict(zip(grouping.labels, parts, strict=True)))

    def __repr__(self) -> str:
        return f"ListData(n_lists={len(self._tables)}, n_features={self.n_features})"

    def rows_of(self, label: Hashable) -> Floats:
        """Return the rows of one list, shape (n, n_features); KeyError if unknown."""
        return self._tables[label_key(label)]

    def gather(self, labels: Iterable[Hashable], name: str) -> tuple[Floats, Indices]:
        """Return the rows of some lists one after the other, and each list's number.

        Parameters
        ----------
        labels : iterable of length n_lists
            Labels of the lists wanted.
        name : str
            Name of these rows, for messages.

        Returns
        -------
        rows : ndarray of shape (n_rows, n_features)
            The rows.
        sizes : ndarray of int of shape (n_lists,)
            Number of rows of each list.

        Raises
        ------
        ValueError
            If a list is unknown.
        """
        labels = list(labels)
        keys = [label_key(label) for label in labels]
        missing = [
            label
            for label, key in zip(labels, keys, strict=True)
            if key not in self._tables
        ]
        if missing:
            raise ValueError(
                f"{name} has no rows for {len(missing)} of {len(labels)} lists, such "
                f"as {as_written(missing[0])}. Labels must be those of groups; a list "
                "without rows is np.empty((0, n_features))."
            )
        tables = [self._tables[key] for key in keys]
        return np.concatenate(tables), np.array([len(table) for table in tables])


# Attoseconds in each unit of fixed length.
ATTOSECONDS = {
    **{"W": 7 * 86400 * 10**18, "D": 86400 * 10**18, "h": 3600 * 10**18},
    **{"m": 60 * 10**18, "s": 10**18, "ms": 10**15, "us": 10**12, "ns": 10**9},
    **{"ps": 10**6, "fs": 10**3, "as": 1},
}


def label_key(label: Any) -> Hashable:
    """Return the key of a label, which is the same for equal dates of different types.

    Dates come as ``datetime64`` of any unit from arrays, and as ``datetime``, ``date``
    or pandas' ``Timestamp`` from users; their hashes differ. Dates with a time zone,
    and all other labels, are as they are.
    """
    if isinstance(label, datetime | timedelta) and hasattr(label, "to_numpy"):
        # For pandas' Timestamp: numpy's own conversion would drop nanoseconds.
        label = label if getattr(label, "tzinfo", None) else label.to_numpy()
    elif isinstance(label, datetime):
        label = label if label.tzinfo else np.datetime64(label)
    elif isinstance(label, date):
        label = np.datetime64(label)
    elif isinstance(label, timedelta):
        label = np.timedelta64(label)
    if not isinstance(label, np.datetime64 | np.timedelta64):
        return label
    unit, step = np.datetime_data(label.dtype)
    if isinstance(label, np.datetime64) and unit in {"Y", "M"}:
        # Years and months have no fixed length.
        label, unit, step = label.astype("datetime64[D]"), "D", 1
    kind = label.dtype.kind
    if unit not in ATTOSECONDS:
        return kind, unit, step * int(label.astype(np.int64))
    return kind, ATTOSECONDS[unit] * step * int(label.astype(np.int64))


def _table(label: Hashable, rows: Any) -> Floats:
    """Return rows as a finite float64 table."""
    try:
        table = np.atleast_2d(np.array(rows, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"ListData: {label!r} holds no table of numbers; give one row of numbers "
            "for each entry of the list."
        ) from error
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(
            f"ListData: {label!r} must be a row or a table of rows, got shape "
            f"{np.shape(rows)}."
        )
    if not np.isfinite(table).all():
        raise ValueError(
            f"ListData: {label!r} contains NaN or infinity; fill in or drop these rows."
        )
    return table
