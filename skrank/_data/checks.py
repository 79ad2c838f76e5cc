"""Check numbers and columns of numbers that a caller passes, at the public door."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from skrank._data.lists import Floats

LARGEST_EXACT = 2**53  # beyond it float64 merges neighbouring integers
LISTED = 5  # names in a message
LARGEST_SQUARED = 1e145  # its square leaves room for sums over rows and over pairs


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def count_of(number: int, noun: str) -> str:
    """Return a number and a noun, in the plural unless there is one."""
    return f"{number:,} {noun}" + "s" * (number != 1)


def listing(names: list[str]) -> str:
    """Return names as text, the first few of many."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def as_written(label: Any) -> str:
    """Return a label as its user writes it, not as numpy shows its scalars."""
    numeric = isinstance(label, np.bool_ | np.number | np.str_ | np.bytes_)
    return repr(label.item() if numeric else label)


def check_count(
    value: Any, name: str, least: int = 1, *, optional: bool = False
) -> None:
    """Raise ValueError unless a value is an integer of at least ``least``."""
    if optional and value is None:
        return
    if not is_integer(value) or value < least:
        none = "None or " if optional else ""
        raise ValueError(
            f"{name} must be {none}an integer of at least {least}, got {value!r}."
        )


def check_choice(value: Any, name: str, choices: Iterable[str | bool | None]) -> None:
    """Raise ValueError unless a value is one of some strings, booleans or None."""
    known = list(choices)
    if not (value is None or isinstance(value, str | bool)) or value not in known:
        *others, last = map(repr, known)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{name} must be {listed}, got {value!r}.")


def check_positive(value: Any, name: str) -> None:
    """Raise ValueError unless a value is a positive finite number."""
    if not is_number(value) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive finite number, got {value!r}.")


def check_confidence(value: Any) -> None:
    """Raise ValueError for a ``confidence`` that is not between 0 and 1."""
    if not is_number(value) or not 0 < value < 1:
        raise ValueError(f"confidence must be a number between 0 and 1, got {value!r}.")


class Integers(Interval):
    """Range of integers for ``_parameter_constraints``, which refuses True and False.

    scikit-learn's ``Interval(Integral, ...)`` takes ``top_k=True`` for 1.

    Parameters
    ----------
    least, most : int or None
        Smallest and largest integer of the range; None sets no limit.
    """

    def __init__(self, least: int | None, most: int | None = None) -> None:
        ends = {(True, True): "both", (True, False): "left", (False, True): "right"}
        closed = ends.get((least is not None, most is not None), "neither")
        super().__init__(Integral, least, most, closed=closed)

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether a value is an integer of the range."""
        return is_integer(val) and val in self


def finite_column(values: Any, name: str) -> Floats:
    """Return one finite float64 number a row.

    Parameters
    ----------
    values : array-like of shape (n_rows,)
        Real numbers.
    name : str
        The argument's name, for messages.

    Returns
    -------
    column : ndarray of shape (n_rows,)
        C-contiguous float64, not a copy where ``values`` is that already.

    Raises
    ------
    ValueError
        If ``values`` is empty, not one-dimensional, not real, not finite, masked,
        lazy, of categories, or holds integers that float64 cannot tell apart.
    """
    refuse_misread(values, name)
    array: NDArray = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, got shape {array.shape}. Pass one "
            "number per row, all lists one after the other."
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty; it needs one number per row.")
    if array.dtype.kind not in "biufO":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        _refuse_inexact(max(-int(array.min()), int(array.max())), name)
    elif array.dtype.kind == "O":
        # float() would take "1" for a number.
        if any(isinstance(value, str | bytes) for value in array):
            raise ValueError(f"{name} must hold real numbers, got strings.")
        integers = (abs(int(value)) for value in array if isinstance(value, Integral))
        _refuse_inexact(max(integers, default=0), name)
    try:
        column = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold real numbers ({error}).") from error
    if not np.isfinite(column).all():
        n_missing = int(np.isnan(column).sum())
        n_infinite = int(np.isinf(column).sum())
        raise ValueError(
            f"{name} has {n_missing} NaN and {n_infinite} infinite values; drop or "
            "replace them."
        )
    return column


def refuse_misread(values: Any, name: str) -> None:
    """Raise ValueError for values that numpy would read wrongly without an error.

    These are masked entries, whose hidden values scikit-learn would use; lazy frames of
    polars, which have no rows yet; and categories that are not numbers.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        n_masked = int(np.ma.getmaskarray(values).sum())
        raise ValueError(
            f"{name} has {n_masked} masked entries; fill them or drop these rows."
        )
    if not isinstance(values, np.ndarray):
        refuse_lazy(values, name)
        _refuse_categories(values, name)


def refuse_lazy(values: Any, name: str) -> None:
    """Raise ValueError for a polars LazyFrame or expression."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(values, polars.LazyFrame | polars.Expr):
        return
    kind = type(values).__name__
    advice = "pass what its collect() returns"
    if kind == "Expr":
        advice = f"pass the column, such as frame[{name!r}]"
    elif name != "X":
        advice = f"pass a column of what its collect() returns, such as [{name!r}]"
    raise ValueError(f"{name} is a polars {kind}, which has no rows yet; {advice}.")


def _refuse_categories(values: Any, name: str) -> None:
    """Raise ValueError for categories of pandas or polars that are not numbers."""
    dtype = getattr(values, "dtype", None)
    if type(values).__module__.startswith("polars") and str(dtype).startswith(
        ("Categorical", "Enum")
    ):
        raise ValueError(
            f"{name} holds categories; pass their numbers, {name}.to_physical(), if "
            "the best category is last."
        )
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return
    kind = getattr(categories.dtype, "kind", "O")
    if kind in "biuf":
        return
    if not getattr(dtype, "ordered", False):
        raise ValueError(
            f"{name} holds categories without an order; pass numbers of which larger "
            "is better, such as the codes of a pandas.Categorical with ordered=True "
            "and the best category last."
        )
    raise ValueError(
        f"{name} holds ordered categories; pass their codes, {name}.cat.codes of a "
        f"Series or {name}.codes of a Categorical, if the best category is last. "
        "Missing ones have -1 there."
    )


def _refuse_inexact(largest: int, name: str) -> None:
    if largest > LARGEST_EXACT:
        raise ValueError(
            f"{name} holds integers beyond 2**53 (up to {largest} in size), which "
            "float64 cannot tell apart. Pass ranks or smaller numbers."
        )


def equally_long(first: Floats, second: Floats, names: tuple[str, str]) -> None:
    """Raise ValueError for two columns of different length."""
    if len(first) != len(second):
        raise ValueError(
            f"{names[0]} has {len(first)} entries and {names[1]} has {len(second)}; "
            "they need one entry per row each."
        )
