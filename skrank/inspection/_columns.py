"""Measure features column by column: range, spread, and order inside lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skrank._data.checks import refuse_misread
from skrank._data.grouping import Grouping
from skrank._data.lists import Floats, Levels, Lists

FAR = 10.0  # interquartile ranges from the median, where a value is an outlier
COARSE = 1e4  # steps in a column's range, below which rows are nearly the same
HEADINGS = (
    *("missing", "mean", "sd", "min", "max"),
    *("sd_within", "constant", "outliers", "label_order"),
)
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio, which mixes bits


@dataclass
class Columns:
    """Measurements of each feature, and hashes of the rows.

    Attributes
    ----------
    names : list of str
        Names of the features that hold numbers.
    unread : list of str
        Names of columns that hold no numbers.
    facts : dict of str to list of float
        One value a feature under each heading of :func:`measure`.
    exact, near : ndarray of uint64 of shape (n_rows,)
        Hashes of each row's features, as they are and rounded.
    """

    names: list[str]
    unread: list[str]
    facts: dict[str, list[float]]
    exact: NDArray[np.uint64]
    near: NDArray[np.uint64]


def read_columns(X: Any, grouping: Grouping, levels: Levels) -> Columns:
    """Measure every feature, with rows in the order of the lists.

    Raises ValueError if ``X`` is not two-dimensional or has another number of rows.
    """
    n_rows = grouping.lists.n_rows
    columns = Columns(
        [],
        [],
        {heading: [] for heading in HEADINGS},
        np.zeros(n_rows, np.uint64),
        np.zeros(n_rows, np.uint64),
    )
    for name, column in _numbers(X, n_rows):
        if column is None:
            columns.unread.append(name)
            continue
        values = grouping.gather(column)
        columns.names.append(name)
        for key, value in measure(values, grouping.lists, levels).items():
            columns.facts[key].append(value)
        _mix(columns.exact, values)
        _mix(columns.near, _rounded(values))
    return columns


def measure(values: Floats, lists: Lists, levels: Levels) -> dict[str, float]:
    """Return the range, the spread and the order of one feature."""
    known = np.isfinite(values)
    finite = values[known]
    facts = {"missing": 1.0 - len(finite) / len(values)}
    if not len(finite):
        return dict.fromkeys(HEADINGS, np.nan) | facts
    quartiles = np.quantile(finite, [0.25, 0.5, 0.75])
    reach = FAR * (quartiles[2] - quartiles[0])
    filled = np.where(known, values, quartiles[1])
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.add.reduceat(filled, lists.starts) / lists.sizes
        within = float(np.sqrt(np.mean((filled - lists.expand(means)) ** 2)))
        spread = float(finite.std())
    # A list of one row shows nothing, so it does not count as constant.
    several = lists.sizes > 1
    flat = (lists.max(filled) == lists.min(filled))[several]
    outliers = np.abs(finite - quartiles[1]) > reach if reach > 0 else [False]
    return facts | {
        "mean": float(finite.mean()),
        "sd": spread,
        "min": float(finite.min()),
        "max": float(finite.max()),
        "sd_within": 0.0 if flat.all() else within,
        "constant": float(flat.mean()) if several.any() else np.nan,
        "outliers": float(np.mean(outliers)),
        "label_order": _order_of_labels(filled, levels),
    }


def _order_of_labels(values: Floats, levels: Levels) -> float:
    """Return in what share of steps between labels a feature is in order or reversed.

    A step is from one level of a list to the next; it is in order if the smallest
    value above exceeds the largest below. 1 means that the feature orders all rows as
    the labels do, -1 that it orders them the other way round; NaN without a step.
    """
    ordered = values[levels.order]
    top = np.maximum.reduceat(ordered, levels.starts[:-1])
    bottom = np.minimum.reduceat(ordered, levels.starts[:-1])
    step = np.ones(len(top), dtype=bool)
    step[levels.offsets[1:] - 1] = False  # the last level of a list has none below
    at = np.flatnonzero(step)
    if not len(at):
        return np.nan
    up = np.mean(bottom[at] > top[at + 1])
    down = np.mean(top[at] < bottom[at + 1])
    return float(up if up >= down else -down)


def _mix(hashes: NDArray[np.uint64], values: Floats) -> None:
    """Add a column to the hash of each row, in place; NaN equals NaN, and 0 is -0."""
    clean = np.where(np.isnan(values), np.nan, values) + 0.0
    bits = np.ascontiguousarray(clean).view(np.uint64)
    # Small integers as floats differ in their high bits alone, so spread these.
    bits = (bits ^ (bits >> np.uint64(29))) * ODD
    hashes *= ODD
    hashes ^= bits ^ (bits >> np.uint64(32))


def _rounded(values: Floats) -> Floats:
    """Return values in steps of 1e-4 of their column's range."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return values
    half = finite.max() / 2 - finite.min() / 2
    return np.rint(values / half * (COARSE / 2)) if half > 0 else values


def _numbers(X: Any, n_rows: int) -> Iterator[tuple[str, Floats | None]]:
    """Yield name and values of each column, None for a column without numbers."""
    refuse_misread(X, "X")
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        pairs: Iterable[tuple[str, Floats | None]] = (
            (str(X.columns[j]), _from_pandas(X.iloc[:, j])) for j in range(X.shape[1])
        )
    elif hasattr(X, "get_columns"):
        pairs = ((series.name, _from_polars(series)) for series in X.get_columns())
    else:
        pairs = _from_matrix(X)
    for name, column in pairs:
        if column is not None and column.shape != (n_rows,):
            raise ValueError(
                f"X has {column.shape[0]} rows for {n_rows} labels; it needs one row "
                "per label."
            )
        yield name, column


def _from_pandas(series: Any) -> Floats | None:
    if series.dtype.kind not in "biuf":
        return None
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def _from_polars(series: Any) -> Floats | None:
    if not (series.dtype.is_numeric() or str(series.dtype) == "Boolean"):
        return None
    return series.cast(float).to_numpy().astype(np.float64)


def _from_matrix(X: Any) -> Iterator[tuple[str, Floats]]:
    """Yield the columns of an array or of a sparse matrix."""
    if sparse.issparse(X):
        X = X.tocsc()
    else:
        X = np.asarray(X)
        if X.dtype.kind not in "biuf":
            try:
                X = X.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"X must hold numbers, or be a DataFrame ({error})."
                ) from error
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, got shape {X.shape}.")
    for j in range(X.shape[1]):
        column = X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]
        yield f"x{j}", np.ascontiguousarray(column, dtype=np.float64)
