"""Choose the columns to encode when the data are known; the first steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer

from skrank._data.checks import is_integer, refuse_lazy

SHOWN = 10  # names of columns in an error


def check_columns(columns: Any) -> None:
    """Raise ValueError unless this is "auto" or a list of columns."""
    text = isinstance(columns, str)
    if columns != "auto" if text else not isinstance(columns, Iterable):
        raise ValueError(
            f"categorical must be 'auto', None or a list of columns, got {columns!r}."
        )


class Columns(ColumnTransformer):
    """scikit-learn's ColumnTransformer, which says what to pass for a LazyFrame."""

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        refuse_lazy(X, "X")
        return super().fit_transform(X, y, **params)

    def transform(self, X: Any, **params: Any) -> Any:
        refuse_lazy(X, "X")
        return super().transform(X, **params)


class Imputer(SimpleImputer):
    """scikit-learn's SimpleImputer, which says what to pass for a LazyFrame."""

    def fit(self, X: Any, y: Any = None) -> Imputer:
        refuse_lazy(X, "X")
        return super().fit(X, y)

    def transform(self, X: Any) -> Any:
        refuse_lazy(X, "X")
        return super().transform(X)


def plain_step(step: Any) -> Any:
    """Return a step of these two as scikit-learn's own, which other tools know."""
    for own, kind in ((Columns, ColumnTransformer), (Imputer, SimpleImputer)):
        if isinstance(step, own):
            plain = kind.__new__(kind)
            plain.__dict__.update(vars(step))
            return plain
    return step


class Categories:
    """Select the columns to encode.

    Columns are returned by number, which is never taken for a name.
    """

    def __init__(self, columns: Any) -> None:
        self.columns = columns

    def __repr__(self):
        return f"{type(self).__name__}({self.columns!r})"

    def __call__(self, X: Any) -> list[int]:
        """Return the numbers of the columns to encode."""
        if not isinstance(self.columns, str):
            return _numbers(list(self.columns), X)
        types = list(X.dtypes) if hasattr(X, "dtypes") else []
        return [j for j, one in enumerate(types) if not _holds_numbers(one)]


class Others(Categories):
    """Select the columns that are not to encode."""

    def __call__(self, X: Any) -> list[int]:
        """Return the numbers of the other columns."""
        chosen = set(super().__call__(X))
        return [j for j in range(X.shape[1]) if j not in chosen]


def _numbers(chosen, X):
    """Return the numbers of columns that are given by name, number or mask."""
    n_columns = X.shape[1]
    if chosen and all(isinstance(column, bool | np.bool_) for column in chosen):
        if len(chosen) != n_columns:
            raise ValueError(
                f"categorical has {len(chosen)} truth values, X has {n_columns} "
                "columns. Give one for each."
            )
        return np.flatnonzero(chosen).tolist()
    names = list(getattr(X, "columns", ()))
    numbers = [_number(column, names, n_columns) for column in chosen]
    return list(dict.fromkeys(numbers))


def _number(column, names, n_columns):
    """Return the number of one column."""
    if is_integer(column):
        if not -n_columns <= column < n_columns:
            raise ValueError(
                f"categorical has column {column}, X has {n_columns} columns: numbers "
                f"go from {-n_columns} to {n_columns - 1}."
            )
        return int(column) % n_columns
    if column not in names:
        shown = ", ".join(map(repr, names[:SHOWN])) + ", ..." * (len(names) > SHOWN)
        raise ValueError(
            f"categorical has column {column!r}, "
            + (
                f"X has columns {shown}. Pass names that X has."
                if names
                else "but X has no names of columns. Pass a frame, or their numbers."
            )
        )
    return names.index(column)


def _holds_numbers(dtype):
    """Return whether the type of a column of pandas or polars is one of numbers."""
    if hasattr(dtype, "is_numeric"):  # polars
        return dtype.is_numeric() or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in "biufc"
