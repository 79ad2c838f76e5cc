"""Warn where scikit-learn's tools take some rows of a list and leave others.

A fit or a score gets some rows, and cannot see that others are missing. But the
functions of scikit-learn that called it hold all rows, and the row numbers of the
training and the test part, in their local variables. What is read of them by name,
here and in ``warnings`` (a test compares these names with the installed versions):

- ``train``, ``test``, ``X``, ``y``, and ``fit_params``, ``score_params`` or
  ``routed_params`` of ``_fit_and_score``, ``_fit_and_predict`` and ``_rfe_single_fit``;
- ``X``, ``y``, ``max_samples``, ``n_repeats`` of ``_calculate_permutation_scores``;
- ``self``, a ``Parallel``, of joblib's methods;
- the name of the module that has ``_fit_and_score``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from skrank._data.grouping import group_rows, groups_on_index, same_labels
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

# Warn once a search. A call of joblib stands for one search or one loop; in joblib's
# workers, where there is no such call, the data stand for it.
_warned: WeakSet[Any] = WeakSet()
_warned_of: set[tuple[str, str]] = set()


def warn_of_cut_lists(groups: Any) -> None:
    """Warn once a run if scikit-learn took only parts of lists.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        Group labels of the rows.
    """
    for variables in locals_of_callers("sklearn"):
        message = None
        if {"train", "test", "X", "y"} <= variables.keys():
            message = _of_split(variables, groups)
        elif {"max_samples", "X", "y", "n_repeats"} <= variables.keys():
            message = _of_sample(variables, groups)
        if message is None:
            continue
        if _is_first(message, variables["y"]):
            warn(message)
        return


def _is_first(message: str, y: Any) -> bool:
    """Return whether a run has not warned so far, and remember that it warns now."""
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
        caller = variables.get("self")
        if type(caller).__name__ == "Parallel":
            run = caller
    return run


def _of_split(variables: Mapping[str, Any], groups: Any) -> str | None:
    """Return the warning if a training and a test part cut lists, else None."""
    train, test = np.asarray(variables["train"]), np.asarray(variables["test"])
    if train.dtype.kind not in "iu" or test.dtype.kind not in "iu":
        return None
    n_rows = max(train.max(initial=-1), test.max(initial=-1)) + 1
    for labels in _candidates(variables):
        if len(labels) < n_rows:
            continue
        column = np.asarray(labels)
        if column.ndim != 1:
            continue
        if same_labels(column[test], groups) or same_labels(column[train], groups):
            codes = _codes(column)
            return None if codes is None else _how_cut(codes, train, test)
    return None


def _how_cut(codes: NDArray, train: NDArray, test: NDArray) -> str | None:
    """Return the warning if two sets of rows cut lists, else None."""
    whole = np.bincount(codes)
    in_train = np.bincount(codes[train], minlength=len(whole))
    in_test = np.bincount(codes[test], minlength=len(whole))
    if np.any((in_train > 0) & (in_test > 0)):
        return IN_BOTH
    used = in_train + in_test
    return THINNED if np.any((used > 0) & (used < whole)) else None


def _of_sample(variables: Mapping[str, Any], groups: Any) -> str | None:
    """Return the warning if a sample of rows cuts lists, else None."""
    labels = groups_on_index(variables["y"])
    if labels is None or len(labels) <= len(groups):
        return None
    try:
        whole, sampled = group_rows(labels), group_rows(groups)
    except ValueError:  # which the caller says better
        return None
    size_of = dict(zip(whole.labels.tolist(), whole.lists.sizes.tolist(), strict=True))
    sizes = [size_of.get(label) for label in sampled.labels.tolist()]
    if None in sizes:
        return None
    return SAMPLED if np.any(sampled.lists.sizes < np.array(sizes)) else None


def _candidates(variables: Mapping[str, Any]) -> Iterator[Any]:
    """Yield arguments of the caller that may be the groups of all rows."""
    labels = groups_on_index(variables["y"])
    if labels is not None:
        yield labels
    for name in ("fit_params", "score_params", "routed_params"):
        yield from _columns(variables.get(name))


def _columns(params: Any) -> Iterator[Any]:
    """Yield the arrays among parameters, also of nested ones for several scorers."""
    if isinstance(params, Mapping):
        for value in params.values():
            yield from _columns(value)
    elif hasattr(params, "__len__") and not isinstance(params, str):
        yield params


def _codes(labels: NDArray) -> NDArray | None:
    """Return labels as numbers from 0, None where they are no labels of groups."""
    try:
        return group_rows(labels).list_of_rows()
    except ValueError:  # of rows that are in neither part
        return None
