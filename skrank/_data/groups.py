"""Find the groups of rows, and explain how to pass them where they are missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np
import sklearn
from numpy.typing import NDArray

from skrank._data.checks import refuse_misread
from skrank._data.cut_lists import warn_of_cut_lists
from skrank._data.grouping import (
    LEVEL,
    group_rows,
    groups_on_index,
    one_dimensional,
    same_labels,
)

OTHER_NAMES = {
    *("group", "group_id", "group_ids", "qid", "qids"),
    *("query", "queries", "query_id", "query_ids"),
}
P = ParamSpec("P")
R = TypeVar("R")


def suggests_groups(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that the error for ``qid=`` and the like names ``groups``.

    Other unknown arguments raise the usual TypeError.
    """
    is_method = next(iter(signature(function).parameters)) == "self"

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name.lower() in OTHER_NAMES:
                called = function.__qualname__
                if is_method and args:
                    called = f"{type(args[0]).__name__}.{function.__name__}"
                raise TypeError(
                    f"{called}() got an unexpected keyword argument '{name}'. Did you "
                    "mean 'groups', one label per row?"
                )
        return function(*args, **kwargs)

    return checked


def find_groups(
    carrier: Any,
    groups: Any,
    method: str,
    name: str,
    *,
    explain: Callable[[str, str], str] | None = None,
) -> Any:
    """Return ``groups``, or if None the groups on the index of another argument.

    Parameters
    ----------
    carrier : array-like of shape (n_rows,) or (n_rows, n_features)
        Labels or features; may be a pandas object with an index level "groups".
    groups : array-like of shape (n_rows,) or None
        One group label a row.
    method : str
        The caller's name, for messages.
    name : str
        What the caller calls ``carrier``, for messages.
    explain : callable, default=None
        Returns the message for missing groups from ``method`` and ``name``; None means
        :func:`missing_groups_message`.

    Returns
    -------
    groups : array-like of shape (n_rows,)
        Not checked yet.

    Raises
    ------
    ValueError
        If there are no groups, or the argument and the index differ.
    """
    indexed = groups_on_index(carrier)
    if groups is None:
        if indexed is None:
            message = (explain or missing_groups_message)(method, name)
            raise ValueError(message + _other_levels(carrier, name))
        warn_of_cut_lists(indexed)
        return indexed
    if indexed is not None and not same_labels(indexed, groups):
        # Later checks explain missing values and a wrong length better.
        group_rows(groups, len(indexed))
        group_rows(indexed)
        message = (
            f"{method} was given groups= that differ from the index level '{LEVEL}' "
            f"of {name}. Pass only one of the two."
        )
        if name == "y":
            message += (
                " (To split by something coarser than the list, such as users, give it "
                "to the splitter alone: with metadata routing off, or through "
                "set_split_request.)"
            )
        raise ValueError(message)
    warn_of_cut_lists(groups)
    return groups


def _other_levels(y: Any, name: str) -> str:
    """Return advice on an index level with another name, or an empty text."""
    index = getattr(y, "index", None)
    names = getattr(index, "names", None) or ()
    levels = [level for level in names if isinstance(level, str)]
    if not levels:
        return ""
    likely = [level for level in levels if level.lower() in OTHER_NAMES]
    level = (likely or levels)[0]
    return (
        f" The index of {name} has the level {level!r}: if it holds the groups, pass "
        f"groups={name}.index.get_level_values({level!r}), or rename it by "
        f"{name}.rename_axis(index={{{level!r}: '{LEVEL}'}})."
    )


def missing_groups_message(method: str, name: str) -> str:
    """Return advice on passing groups, by how scikit-learn is configured.

    ``name`` is the argument that may carry groups; those of labels come from
    ``with_groups``, and go where scikit-learn's tools take labels.
    """
    are_labels = name in ("y", "y_true")
    made = " (skrank.with_groups makes one)" if are_labels else ""
    inside = ""
    if are_labels or name == "X":
        inside = f" Inside scikit-learn tools: {_state_of_routing(are_labels)}"
    return (
        f"{method} needs to know which rows form a list, and no groups were given to "
        f"it. Pass groups=, one label per row, or give a pandas {name} with an index "
        f"level named '{LEVEL}'{made}.{inside} To rank all rows as one list pass "
        f"groups=np.zeros(len({name}))."
    )


def _state_of_routing(with_labels: bool) -> str:
    """Return what to do inside scikit-learn's tools, by how it is configured."""
    if sklearn.get_config()["enable_metadata_routing"]:
        return "metadata routing is on, but nothing passed groups this far."
    if with_labels:
        return (
            "metadata routing is off, so tools such as GridSearchCV and RFECV use "
            "groups for their splitter alone and cannot pass them on: call "
            "sklearn.set_config(enable_metadata_routing=True) and pass groups to the "
            "outer fit."
        )
    return (
        "metadata routing is off, so they do not pass groups on: call "
        "sklearn.set_config(enable_metadata_routing=True) and pass groups= to the "
        "outer call."
    )


@suggests_groups
def list_labels(groups: Any) -> NDArray:
    """Return the labels of the lists, in the order of values that are given by list.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        One group label a row.

    Returns
    -------
    labels : ndarray of shape (n_lists,)
        Sorted as by ``np.unique`` where labels can be compared, else in the order
        of first appearance.

    Raises
    ------
    ValueError
        If groups are not one-dimensional, miss values or cannot be hashed.

    Examples
    --------
    >>> from skrank.metrics import list_labels
    >>> list_labels(["b", "b", "a"])
    array(['a', 'b'], dtype=object)
    """
    grouping = group_rows(groups)
    order = grouping.label_order()
    return grouping.labels if order is None else grouping.labels[order]


@suggests_groups
def with_groups(y: Any, groups: Any) -> Any:
    """Return labels as a pandas Series that carries its groups on the index.

    Rankers, scorers and splitters of skrank read the index level named "groups", so
    that lists stay together inside scikit-learn's tools without metadata routing.
    Rows are matched by position, never by an index that ``y`` or ``groups`` has.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels, higher is better.
    groups : array-like of shape (n_rows,)
        One group label a row.

    Returns
    -------
    y : pandas.Series of shape (n_rows,)
        The labels, with an index level named "groups".

    Raises
    ------
    ImportError
        If pandas is not installed.
    ValueError
        If lengths differ, ``y`` is masked, or groups are not one-dimensional or miss
        values.

    Examples
    --------
    >>> from skrank import with_groups
    >>> with_groups([2, 0, 1], ["a", "a", "b"])
    groups
    a    2
    a    0
    b    1
    dtype: int64
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "with_groups needs pandas (pip install pandas). Without it, turn on "
            "metadata routing and pass groups= instead."
        ) from error
    refuse_misread(y, "y")
    values = np.asarray(y)
    if values.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {values.shape}.")
    group_rows(groups, len(values))
    labels = one_dimensional(groups)
    if labels.dtype == np.float16:
        labels = labels.astype(np.float32)  # pandas has no index of half floats
    # For objects name the type, or pandas makes dates, strings or a MultiIndex of them.
    dtype = object if labels.dtype.kind == "O" else None
    index = pd.Index(labels, dtype=dtype, name=LEVEL, tupleize_cols=False)
    return pd.Series(values, index=index)
