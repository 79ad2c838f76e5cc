"""Bounds of weights, as users write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skrank._data.lists import Floats

HOW = (
    "Give bounds=(low, high), each a number, an array of shape (n_features,) or None "
    "for no bound, or a dict from columns to pairs of numbers, such as "
    "{'price': (None, 0)}."
)


def read_bounds(
    bounds: Any,
    positive: bool,
    n_features: int,
    names: Sequence[Any] | None = None,
) -> tuple[Floats, Floats] | None:
    """Return the least and the largest weight of each feature, or None without bounds.

    Parameters
    ----------
    bounds : tuple, dict or None
        As documented in the rankers.
    positive : bool
        No weight may be below 0, whatever ``bounds`` allow.
    n_features : int
        Number of features.
    names : sequence of str, default=None
        Names of the features, where ``X`` had some.

    Returns
    -------
    bounds : tuple of two ndarray of shape (n_features,), or None
        Low and high, infinite where there is no bound.

    Raises
    ------
    TypeError
        If ``bounds`` is neither a tuple, a dict nor None.
    ValueError
        If a column is unknown, a bound is not a number, an array has another length
        than ``n_features``, or a weight has no room.
    """
    low, high = np.full(n_features, -np.inf), np.full(n_features, np.inf)
    if isinstance(bounds, Mapping):
        for column, pair in bounds.items():
            at = _place(column, n_features, names)
            low[at], high[at] = _pair(pair, (), f"bounds[{column!r}]")
    elif isinstance(bounds, tuple):
        low[:], high[:] = _pair(bounds, (n_features,), "bounds")
    elif bounds is not None:
        raise TypeError(
            f"bounds must be a tuple, a dict or None, got {type(bounds).__name__}. "
            f"{HOW}"
        )
    if positive:
        low = np.maximum(low, 0.0)
    _refuse_no_room(low, high, positive, names)
    if np.isinf(low).all() and np.isinf(high).all():
        return None
    return low, high


def _pair(pair: Any, shape: tuple[int, ...], name: str) -> tuple[Any, Any]:
    """Return low and high of a pair, of one shape or broadcast to it."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(f"{name} must be a pair (low, high), got {pair!r}. {HOW}")
    values = []
    for side, value, none in zip(("low", "high"), pair, (-np.inf, np.inf), strict=True):
        try:
            numbers = np.asarray(none if value is None else value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"the {side} of {name} must be numbers or None, got {value!r}. {HOW}"
            ) from None
        if numbers.ndim and numbers.shape != shape:
            wanted = f"an array of shape {shape}" if shape else "one number"
            raise ValueError(
                f"the {side} of {name} must be {wanted}, got an array of shape "
                f"{numbers.shape}. {HOW}"
            )
        if np.isnan(numbers).any() or np.any(numbers == -none):
            raise ValueError(
                f"the {side} of {name} must not be NaN or {-none}, got {value!r}. "
                "None means no bound."
            )
        values.append(numbers)
    return values[0], values[1]


def _place(column: Any, n_features: int, names: Sequence[Any] | None) -> int:
    """Return the number of a column that is named or numbered."""
    if isinstance(column, str):
        if names is None:
            raise ValueError(
                f"bounds names the column {column!r}, but X has no names of columns. "
                "Number columns from 0, or fit on a data frame."
            )
        places = np.flatnonzero(np.asarray(names, dtype=object) == column)
        if not len(places):
            raise ValueError(
                f"bounds names the column {column!r}, which X does not have. It has "
                f"{_some(names)}."
            )
        return int(places[0])
    if isinstance(column, bool) or not isinstance(column, int | np.integer):
        raise ValueError(
            f"bounds must have names or numbers of columns as keys, got {column!r}."
        )
    if not 0 <= column < n_features:
        raise ValueError(
            f"bounds numbers the column {column}, but X has {n_features} columns, "
            f"numbered 0 to {n_features - 1}."
        )
    return int(column)


def _some(names: Sequence[Any]) -> str:
    """Return the first names of many."""
    shown = ", ".join(repr(str(name)) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _refuse_no_room(
    low: Floats, high: Floats, positive: bool, names: Sequence[Any] | None
) -> None:
    """Raise if the least weight of a feature is above the largest."""
    wrong = np.flatnonzero(low > high)
    if not len(wrong):
        return
    at = int(wrong[0])
    column = f"column {at}" if names is None else f"column {at} ({names[at]!s})"
    also = " with positive=True" if positive else ""
    raise ValueError(
        f"bounds leave no room for the weight of {column}: low {low[at]:g} is above "
        f"high {high[at]:g}{also}."
    )
