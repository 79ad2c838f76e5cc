"""Check features, and name the columns that hold no numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from skrank._data.checks import as_written, count_of, listing, refuse_misread

FLOATS = [np.float64, np.float32]  # types that are not converted
BLOCK = 2**22  # entries that are checked at a time


def validate_features(
    estimator: Any, X: Any, y: Any = "no_validation", **options: Any
) -> Any:
    """Check features, and labels where there are some, as scikit-learn does.

    Parameters
    ----------
    estimator : estimator
        Whose number and names of features are learned or compared.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,), default="no_validation"
        Labels, checked with ``X`` unless left out.
    **options : any
        As ``sklearn.utils.validation.validate_data`` takes them. By default sparse
        ``X`` becomes CSR, and float64 and float32 stay.

    Returns
    -------
    X : {ndarray, sparse matrix}
        The features; a pair with ``y`` where that is checked.

    Raises
    ------
    ValueError
        As scikit-learn does; for NaN and infinity the message names the columns.
    """
    refuse_misread(X, "X")
    refuse_misread(y, "y")
    settings = {"accept_sparse": "csr", "accept_large_sparse": True, "dtype": FLOATS}
    try:
        return validate_data(estimator, X, y, **{**settings, **options})
    except ValueError as error:
        message = str(error)
        if not message.startswith("Input X contains"):
            raise
        columns = _columns_without_numbers(X)
        if columns is None:
            raise
        first = message.splitlines()[0].rstrip(".")
        raise ValueError(
            f"{first}, in {columns}.\n{type(estimator).__name__} takes finite numbers "
            "alone: fill these in a pipeline with scikit-learn's SimpleImputer, as "
            "skrank.ranking_pipeline() does, or drop the rows."
        ) from None


def _columns_without_numbers(X: Any) -> str | None:
    """Return a text on the columns with NaN or infinity, or None if there are none."""
    try:
        counts = _counts(X)
    except (TypeError, ValueError):  # a kind of table that cannot be read again
        return None
    numbers = np.flatnonzero(counts)
    if len(numbers) == 0:
        return None
    names = getattr(X, "columns", None)
    names = [
        as_written(number if names is None else names[number]) for number in numbers
    ]
    rows = [
        f"{name} ({count_of(int(counts[number]), 'row')})"
        for name, number in zip(names, numbers, strict=True)
    ]
    return f"column{'s' * (len(rows) > 1)} {listing(rows)}"


def _counts(X: Any) -> NDArray[np.intp]:
    """Return the number of rows of each column that hold NaN or infinity."""
    if sparse.issparse(X):
        stored = sparse.coo_array(X)
        bad = stored.col[~np.isfinite(stored.data)]
        return np.bincount(bad, minlength=X.shape[1])
    # By column: NumPy would read pandas.NA of the whole frame as an object.
    if hasattr(X, "columns"):
        return np.array([_n_bad(X[name]) for name in X.columns])
    table = np.asarray(X)
    if table.dtype.kind not in "fiub":
        table = table.astype(np.float64)
    step = max(1, BLOCK // max(1, table.shape[1]))
    counts = np.zeros(table.shape[1], dtype=np.intp)
    for start in range(0, len(table), step):
        counts += np.sum(~np.isfinite(table[start : start + step]), axis=0)
    return counts


def _n_bad(column: Any) -> int:
    """Return how many entries of a frame's column are NaN, missing or infinite."""
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):  # missing values of pandas' own
        values = np.array([_as_number(value) for value in column])
    return int(np.sum(~np.isfinite(values)))


def _as_number(value: Any) -> float:
    """Return a value as a number, or NaN if it is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
