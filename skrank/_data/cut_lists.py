"""Warn where scikit-learn's tools take some rows of a list and leave others.

A fit and a score see the rows that they get, and cannot tell that others are missing.
The functions of scikit-learn that called them have all rows, and the row numbers of
the training and the test part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from skrank._data.warnings import locals_of_callers, warn

IN_BOTH = (
    "cv puts rows of one list into the training and the test part alike, so that "
    "scores are not those of lists never seen. A number as cv=5 cuts lists: pass "
    "cv=skrank.model_selection.QueryKFold(5), which keeps lists whole."
)
THINNED = (
    "Lists lose rows here, since rows are drawn without regard to lists: by "
    "resource='n_samples', the default of halving searches, or by scikit-learn's "
    "learning_curve. Use resource='max_iter', or skrank.model_selection.learning_curve."
)
SAMPLED = (
    "max_samples draws rows without regard to lists, so that lists lose rows here and "
    "importances are not those of whole lists. Leave out max_samples, or pass some "
    "whole lists as X and y."
)

# Calls of joblib that have warned already, which stand for one search or one loop; and
# where there is none, as in joblib's workers, the data of which was warned.
_warned: WeakSet[Any] = WeakSet()
_warned_of: set[tuple[str, str]] = set()


def warn_of_cut_lists(
    groups: Any, same: Callable[[Any, Any], bool], on_index: Callable[[Any], Any]
) -> None:
    """Warn once a run if rows in hand are parts of lists, taken by scikit-learn.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        Group labels of the rows in hand.
    same : callable
        Tells whether two sequences hold the same labels.
    on_index : callable
        Returns the groups on the index of a pandas object, else None.
    """
    for variables in locals_of_callers("sklearn"):
        message = None
        if {"train", "test", "X", "y"} <= variables.keys():
            message = _of_split(variables, groups, same, on_index)
        elif {"max_samples", "X", "y", "n_repeats"} <= variables.keys():
            message = _of_sample(variables, groups, on_index)
        if message is None:
            continue
        if _is_first(message, variables["y"]):
            warn(message)
        return


def _is_first(message: str, y: Any) -> bool:
    """Tell whether a run has not warned so far, and remember that it does now."""
    run = _outermost_run()
    if run is None:
        key = message, f"{len(y)} {np.asarray(y).ravel()[:9]}"
        first = key not in _warned_of
        _warned_of.add(key)
        return first
    first = run not in _warned
    _warned.add(run)
    return first


def _outermost_run() -> Any:
    """Return joblib's object for all fits of the user's call; None in its workers."""
    run = None
    for variables in locals_of_callers("joblib"):
        one = variables.get("self")
        if type(one).__name__ == "Parallel":
            run = one
    return run


def _of_split(
    variables: Mapping[str, Any],
    groups: Any,
    same: Callable[[Any, Any], bool],
    on_index: Callable[[Any], Any],
) -> str | None:
    """Say how a training and a test part cut lists, if they do."""
    train, test = np.asarray(variables["train"]), np.asarray(variables["test"])
    if train.dtype.kind not in "iu" or test.dtype.kind not in "iu":
        return None
    n_rows = max(train.max(initial=-1), test.max(initial=-1)) + 1
    for labels in _candidates(variables, on_index):
        if len(labels) < n_rows:
            continue
        column = np.asarray(labels)
        if column.ndim != 1:
            continue
        if not (same(column[test], groups) or same(column[train], groups)):
            continue
        return _how_cut(_codes(column), train, test)
    return None


def _how_cut(codes: NDArray, train: NDArray, test: NDArray) -> str | None:
    """Say how two sets of rows cut lists, if they do."""
    whole = np.bincount(codes)
    in_train = np.bincount(codes[train], minlength=len(whole))
    in_test = np.bincount(codes[test], minlength=len(whole))
    if np.any((in_train > 0) & (in_test > 0)):
        return IN_BOTH
    taken = in_train + in_test
    return THINNED if np.any((taken > 0) & (taken < whole)) else None


def _of_sample(
    variables: Mapping[str, Any], groups: Any, on_index: Callable[[Any], Any]
) -> str | None:
    """Say that a sample of rows leaves out rows of its lists, if it does."""
    labels = on_index(variables["y"])
    if labels is None or len(labels) <= len(groups):
        return None
    codes, n_known = _codes(np.asarray(labels)), None
    of_sample = dict(zip(np.asarray(labels).tolist(), codes.tolist(), strict=True))
    known = [of_sample.get(label) for label in np.asarray(groups).tolist()]
    if None in known:
        return None
    n_known = np.bincount(np.asarray(known, dtype=np.intp), minlength=codes.max() + 1)
    thinned = (n_known > 0) & (n_known < np.bincount(codes))
    return SAMPLED if thinned.any() else None


def _candidates(
    variables: Mapping[str, Any], on_index: Callable[[Any], Any]
) -> Iterator[Any]:
    """Yield what may be the groups of all rows."""
    labels = on_index(variables["y"])
    if labels is not None:
        yield labels
    for name in ("fit_params", "score_params", "params", "routed_params"):
        yield from _columns(variables.get(name))


def _columns(params: Any) -> Iterator[Any]:
    """Yield the arrays of parameters, those of several scorers too."""
    if isinstance(params, Mapping):
        for value in params.values():
            yield from _columns(value)
    elif hasattr(params, "__len__") and not isinstance(params, str):
        yield params


def _codes(labels: NDArray) -> NDArray:
    """Return labels as numbers from 0."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(x, len(numbers)) for x in labels.tolist()])
