"""Describe ranking data before anything is fitted to it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import check_choice, count_of, finite_column
from skrank._data.grouping import Grouping, group_rows
from skrank._data.groups import find_groups, takes_groups
from skrank._data.html import (
    Table,
    number_text,
    page_html,
    paragraph_html,
    table_html,
)
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank.inspection._columns import Columns, read_columns
from skrank.inspection._findings import Finding, find_all, percent

PAGE = 88
SHOWN_LABELS = 8


@dataclass(frozen=True, eq=False)
class ListsDescription:
    """What there is to know of some lists; prints as a page.

    :func:`describe_lists` returns it.

    Attributes
    ----------
    labels : ndarray of shape (n_lists,)
        Group labels, in the order of ``list_labels(groups)``; all that has one value
        a list is in this order.
    sizes, n_levels, n_relevant : ndarray of int of shape (n_lists,)
        Rows, different labels, and rows with a label above 0.
    pairs_decided : ndarray of shape (n_lists,)
        Share of pairs of rows whose labels differ, NaN for single rows.
    shared : ndarray of shape (n_lists,)
        Share of rows whose features stand in another list too, to 1e-4 of each
        feature's range.
    label_values, label_counts : ndarray of shape (n_values,)
        The labels that occur, increasing, and how often.
    n_pairs, n_decided_pairs : int
        Pairs of rows of one list, and those whose labels differ.
    feature_names, unread : list of str
        Columns with numbers, and columns without.
    features : dict of str to ndarray of shape (n_features,)
        Under "missing" the share of missing or infinite values; "mean", "sd", "min",
        "max"; "sd_within", the deviation from the list's mean; "constant", the share
        of lists of two rows or more in which the feature is constant; "outliers",
        the share of values more than 10 interquartile ranges from the median;
        "label_order", the share of steps between labels that the feature puts in
        order (1: as the labels do; negative: the other way round).
    n_runs, n_split_lists : int
        Runs of equal group labels in row order, and lists of more than one run.
    n_label_steps : int
        Neighbouring rows of a list whose labels differ.
    falling_steps : float
        Share of these in which the better row stands first.
    n_contradicting, n_repeated : int
        Rows with the features of an earlier row of the same list, and another label,
        or the same label.
    findings : list of Finding
        What may be wrong, and what to do about it; errors first.

    Examples
    --------
    >>> from skrank.datasets import load_mode_choice
    >>> from skrank.inspection import describe_lists
    >>> description = describe_lists(*load_mode_choice())
    >>> [finding.name for finding in description.findings]
    ['scales', 'one chosen', 'outliers', 'shared rows']
    """

    labels: NDArray
    sizes: Indices
    n_levels: Indices
    n_relevant: Indices
    pairs_decided: Floats
    shared: Floats
    label_values: Floats
    label_counts: Indices
    n_pairs: int
    n_decided_pairs: int
    feature_names: list[str]
    unread: list[str]
    features: dict[str, Floats] = field(repr=False)
    n_runs: int
    n_split_lists: int
    n_label_steps: int
    falling_steps: float
    n_contradicting: int
    n_repeated: int
    looks_like_ranks: bool
    one_chosen: bool
    findings: list[Finding] = field(default_factory=list)

    @property
    def whole_labels(self) -> bool:
        """Whether all labels are whole numbers."""
        return bool(np.all(self.label_values == np.rint(self.label_values)))

    def to_frame(self, what: str = "findings") -> Any:
        """Return findings, lists or features as a pandas frame.

        Parameters
        ----------
        what : {"findings", "lists", "features"}, default="findings"
            A row a finding; a row a list, indexed by group label; or a row a feature.

        Returns
        -------
        frame : DataFrame
            The attributes of the same names as columns.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If ``what`` is unknown.
        """
        check_choice(what, "what", ("findings", "lists", "features"))
        import pandas as pd

        if what == "findings":
            columns = ["name", "severity", "text", "advice"]
            rows = [[getattr(one, key) for key in columns] for one in self.findings]
            return pd.DataFrame(rows, columns=columns)
        if what == "features":
            index = pd.Index(self.feature_names, name="feature")
            return pd.DataFrame(self.features, index=index)
        dtype = object if self.labels.dtype.kind == "O" else None
        index = pd.Index(self.labels, dtype=dtype, name="groups", tupleize_cols=False)
        columns = ["sizes", "n_levels", "n_relevant", "pairs_decided", "shared"]
        return pd.DataFrame({key: getattr(self, key) for key in columns}, index=index)

    def _summary(self) -> list[tuple[str, str]]:
        """Return what stands at the head of the page, as names and values."""
        sizes = self.sizes
        median = np.median(sizes)
        decided = self.n_decided_pairs / self.n_pairs if self.n_pairs else np.nan
        return [
            ("lists", f"{len(sizes):,}"),
            ("rows", f"{sizes.sum():,}"),
            ("rows a list", f"{sizes.min():,} to {sizes.max():,}, median {median:g}"),
            ("features", f"{len(self.feature_names):,}"),
            ("labels", self._labels_text()),
            ("relevant rows a list", number_text(self.n_relevant.mean(), 3)),
            ("lists without any", f"{int((self.n_relevant == 0).sum()):,}"),
            ("pairs with an order", "-" if decided != decided else percent(decided)),
        ]

    def _labels_text(self) -> str:
        """Return the labels with their shares, or their range where they are many."""
        values, counts = self.label_values, self.label_counts
        if len(values) > SHOWN_LABELS:
            return f"{len(values):,} values, {values[0]:g} to {values[-1]:g}"
        shares = counts / counts.sum()
        pairs = zip(values, shares, strict=True)
        return ", ".join(f"{value:g}: {percent(share)}" for value, share in pairs)

    def __str__(self) -> str:
        lines = [f"{name:22}{value}" for name, value in self._summary()]
        lines.append("")
        for finding in self.findings:
            mark = f"{finding.severity}: "
            lines.append(
                textwrap.fill(mark + finding.text, PAGE, subsequent_indent="  ")
            )
            lines.append(
                textwrap.fill(
                    finding.advice, PAGE, initial_indent="  ", subsequent_indent="  "
                )
            )
        if not self.findings:
            lines.append("Nothing to report.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<ListsDescription: {count_of(len(self.sizes), 'list')}, "
            f"{count_of(len(self.findings), 'finding')}; print it for the page>"
        )

    def _repr_html_(self) -> str:
        parts = [table_html(Table(("", ""), self._summary(), 2, "Lists"))]
        for finding in self.findings:
            text = f"{finding.severity.capitalize()}: {finding.text} {finding.advice}"
            parts.append(paragraph_html(text, finding.severity))
        if not self.findings:
            parts.append(paragraph_html("Nothing to report."))
        return page_html(*parts)


@takes_groups
def describe_lists(X: Any, y: Any, groups: Any = None) -> ListsDescription:
    """Describe ranking data, and say what may be wrong with them.

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
        Labels, higher is better. A pandas object may carry the groups on an index
        level named "groups".
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
    groups = find_groups(y, groups, "describe_lists")
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
    """Return what has one value a list, and what labels there are."""
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
    """Return what the order of rows says."""
    lists = grouping.lists
    n_runs, n_split = lists.n_lists, 0
    if grouping.rows is not None:
        of_list = np.empty(lists.n_rows, dtype=np.intp)
        of_list[grouping.rows] = lists.expand(np.arange(lists.n_lists))
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
    """Return what rows say twice, inside lists and across."""
    lists = grouping.lists
    none: dict[str, Any] = {"n_contradicting": 0, "n_repeated": 0}
    if not columns.names:
        return none | {"shared": np.zeros(lists.n_lists)}
    of_list = lists.expand(np.arange(lists.n_lists))
    # Equal rows of one list stand together, those of equal labels first of all.
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
    """Return the share of each list's rows that stand in another list too."""
    order = np.lexsort((of_list, hashes))
    starts = np.append(True, np.diff(hashes[order]) != 0)
    of_hash = np.cumsum(starts) - 1
    first = of_list[order][np.flatnonzero(starts)]
    ends = np.append(np.flatnonzero(starts)[1:], len(order)) - 1
    several = (of_list[order][ends] != first)[of_hash]
    shared = np.zeros(lists.n_rows)
    shared[order] = several
    return lists.sum(shared) / lists.sizes
