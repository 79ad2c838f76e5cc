"""Clusters of lists: lists of one user, or of one day, that depend on each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import as_written, count_of
from skrank._data.grouping import Grouping, group_rows
from skrank._data.lists import Indices


def cluster_codes(clusters: Any, n_lists: int) -> Indices:
    """Return the number of each list's cluster, from one label a list.

    Raises
    ------
    ValueError
        If there is not one label a list, labels are missing, or there is one cluster.
    """
    codes = _codes(clusters, n_lists, "lists")
    if n_lists and codes.max() == 0:
        raise ValueError(
            "clusters puts all lists into one cluster, which does not show how "
            "clusters differ; give at least two."
        )
    return codes


def clusters_of_lists(clusters: Any, grouping: Grouping) -> Indices:
    """Return the number of each list's cluster, from one label a row.

    Raises
    ------
    ValueError
        If there is not one label a row, labels are missing, or clusters cut lists.
    """
    lists = grouping.lists
    codes = grouping.gather(_codes(clusters, lists.n_rows, "rows"))
    cut = lists.max(codes) != lists.min(codes)
    if cut.any():
        label = as_written(grouping.labels[np.argmax(cut)])
        raise ValueError(
            "clusters must be constant inside each list, since they are made of whole "
            f"lists; they vary in {count_of(int(cut.sum()), 'list')}, such as {label}."
        )
    return codes[lists.starts]


def _codes(clusters: Any, n: int, unit: str) -> Indices:
    """Return numbers of clusters, refusing bad labels by the name of the argument."""
    partition = group_rows(clusters, name="clusters")
    n_given = partition.lists.n_rows
    if n_given != n:
        raise ValueError(
            f"clusters has {n_given} entries for {n} {unit}; it needs one label "
            f"per {unit[:-1]}."
        )
    return partition.list_of_rows()
