"""The description of ranking data: facts and findings, printed as a page."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import check_choice, count_of
from skrank._data.html import (
    Table,
    number_text,
    page_html,
    paragraph_html,
    table_html,
)
from skrank._data.lists import Floats, Indices
from skrank.inspection._finding import Finding, percent

PAGE = 88
SHOWN_LABELS = 8


@dataclass(frozen=True, eq=False)
class ListsDescription:
    """Facts about ranking data, with findings; prints as a page.

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
        """Return the summary at the head of the page, as names and values."""
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
