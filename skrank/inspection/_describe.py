"""Describe ranking data before anything is fitted to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import finite_column
from skrank._data.grouping import Grouping, group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank.inspection._columns import Columns, read_columns
from skrank.inspection._description import ListsDescription
from skrank.inspection._findings import find_all


@suggests_groups
def describe_lists(X: Any, y: Any, groups: Any = None) -> ListsDescription:
    """Describe ranking data, and report what may be wrong with them.

    Looks at sizes of lists, labels and ties, features (missing, constant inside
    lists, scales, outliers), rows and lists that occur twice, the order of the file,
    and features that give the labels away. Each finding comes with advice. Nothing is
    changed, and what a ranker would refuse, such as missing values, is reported.

    To find out what a test part shares with a training part, describe both together.

    Parameters
    ----------
    X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
        Features. Columns of a frame without numbers are reported and left out.
    y : array-like of shape (n_rows,)
        Labels, higher is better; where 1 is the best, as places in a race, pass
        :func:`~skrank.interop.from_ranks` of them. A pandas object may carry the
        groups on an index level named "groups".
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y``.

    Returns
    -------
    description : ListsDescription
        Prints as a page; ``to_frame()`` gives the findings, ``to_frame("lists")`` and
        ``to_frame("features")`` the numbers.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, ``y`` is not finite, or ``X`` is not
        two-dimensional.

    See Also
    --------
    ListsDisplay : A picture of sizes, labels and ties.

    Examples
    --------
    >>> from skrank.datasets import load_mode_choice
    >>> from skrank.inspection import describe_lists
    >>> description = describe_lists(*load_mode_choice())
    >>> print(description)  # doctest: +ELLIPSIS
    lists                 210
    rows                  840
    rows a list           4 to 4, median 4
    features              8
    labels                0: 75 %, 1: 25 %
    relevant rows a list  1
    lists without any     0
    pairs with an order   50 %
    <BLANKLINE>
    warning: Deviations inside lists differ by 530 to 1: x5 has 231, x0 has 0.433...
    """
    groups = find_groups(y, groups, "describe_lists", "y")
    labels = finite_column(y, "y")
    grouping = group_rows(groups, len(labels))
    values = grouping.gather(labels)
    levels = Levels(values, grouping.lists)
    columns = read_columns(X, grouping, levels)
    description = ListsDescription(
        **_of_lists(values, grouping, levels),
        **_of_rows(values, grouping),
        **_of_duplicates(values, grouping, columns),
        feature_names=columns.names,
        unread=columns.unread,
        features={key: np.array(column) for key, column in columns.facts.items()},
    )
    description.findings.extend(find_all(description))
    return description


def _of_lists(values: Floats, grouping: Grouping, levels: Levels) -> dict[str, Any]:
    """Return the facts that have one value a list, and the labels that occur."""
    lists = grouping.lists
    sizes, level_sizes = lists.sizes, levels.sizes
    n_pairs = sizes * (sizes - 1) // 2
    tied = np.add.reduceat(level_sizes * (level_sizes - 1) // 2, levels.offsets[:-1])
    decided = np.full(lists.n_lists, np.nan)
    np.divide(n_pairs - tied, n_pairs, out=decided, where=n_pairs > 0)
    label_values, counts = np.unique(values, return_counts=True)
    order = _order(grouping)
    top = level_sizes[levels.offsets[:-1]]
    places = lists.sum(values) == sizes * (sizes + 1) / 2
    places &= (levels.n_levels == sizes) & (lists.min(values) == 1)
    places &= lists.max(values) == sizes
    return {
        "labels": grouping.labels[order],
        "sizes": sizes[order],
        "n_levels": levels.n_levels[order],
        "n_relevant": lists.sum((values > 0).astype(np.intp))[order],
        "pairs_decided": decided[order],
        "label_values": label_values,
        "label_counts": counts,
        "n_pairs": int(n_pairs.sum()),
        "n_decided_pairs": int((n_pairs - tied).sum()),
        "looks_like_ranks": bool(places.all() and sizes.max() > 2),
        "one_chosen": bool(
            np.all((levels.n_levels == 2) & (top == 1)) and sizes.max() > 2
        ),
    }


def _order(grouping: Grouping) -> Indices:
    """Return the permutation that sorts lists by label, the identity if none does."""
    order = grouping.label_order()
    return np.arange(grouping.lists.n_lists) if order is None else order


def _of_rows(values: Floats, grouping: Grouping) -> dict[str, Any]:
    """Return facts about the order of rows in the file."""
    lists = grouping.lists
    n_runs, n_split = lists.n_lists, 0
    if grouping.rows is not None:
        of_list = grouping.list_of_rows()
        starts = np.append(True, of_list[1:] != of_list[:-1])
        n_runs = int(starts.sum())
        n_split = int((np.bincount(of_list[starts]) > 1).sum())
    same_list = np.ones(lists.n_rows, dtype=bool)
    same_list[lists.starts] = False
    steps = np.diff(values)[same_list[1:]]
    steps = steps[steps != 0]
    return {
        "n_runs": n_runs,
        "n_split_lists": n_split,
        "n_label_steps": len(steps),
        "falling_steps": float(np.mean(steps < 0)) if len(steps) else np.nan,
    }


def _of_duplicates(
    values: Floats, grouping: Grouping, columns: Columns
) -> dict[str, Any]:
    """Return the numbers of rows that occur twice, inside lists and across."""
    lists = grouping.lists
    none: dict[str, Any] = {"n_contradicting": 0, "n_repeated": 0}
    if not columns.names:
        return none | {"shared": np.zeros(lists.n_lists)}
    of_list = lists.expand(np.arange(lists.n_lists))
    # Sort, so that equal rows of a list stand together, and of these equal labels.
    order = np.lexsort((values, columns.exact, of_list))
    again = np.diff(of_list[order]) == 0
    again &= columns.exact[order][1:] == columns.exact[order][:-1]
    same_label = np.diff(values[order]) == 0
    return {
        "n_contradicting": int((again & ~same_label).sum()),
        "n_repeated": int((again & same_label).sum()),
        "shared": _shared(columns.near, of_list, lists)[_order(grouping)],
    }


def _shared(hashes: NDArray[np.uint64], of_list: Indices, lists: Lists) -> Floats:
    """Return the share of each list's rows that occur in another list too."""
    order = np.lexsort((of_list, hashes))
    starts = np.append(True, np.diff(hashes[order]) != 0)
    of_hash = np.cumsum(starts) - 1
    first = of_list[order][np.flatnonzero(starts)]
    ends = np.append(np.flatnonzero(starts)[1:], len(order)) - 1
    several = (of_list[order][ends] != first)[of_hash]
    shared = np.zeros(lists.n_rows)
    shared[order] = several
    return lists.sum(shared) / lists.sizes
