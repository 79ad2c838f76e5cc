"""Lists whose rows are relevant or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank._data.checks import is_number
from skrank._data.lists import Floats, Indices
from skrank._kernels.binary import hits_within
from skrank.metrics._average import ScoredLists, check_ties, scored_lists
from skrank.metrics._conventions import Rule, rule_of


@dataclass(frozen=True, slots=True)
class RelevantLists:
    """Scored lists whose rows are relevant or not.

    Attributes
    ----------
    data : ScoredLists
        The checked lists.
    rule : Rule
        The convention of the metric.
    relevant : ndarray of shape (n_rows,)
        1.0 for relevant rows that are ranked, else 0.0.
    totals : ndarray of shape (n_lists,)
        Number of relevant rows, ranked or not.
    """

    data: ScoredLists
    rule: Rule
    relevant: Floats
    totals: Floats

    @property
    def scores(self) -> Floats:
        """Scores by row."""
        return self.data.scores

    @property
    def offsets(self) -> Indices:
        """First row of each list, and the number of rows."""
        return self.data.grouping.lists.offsets

    @property
    def n_ranked(self) -> Floats:
        """Number of ranked rows of each list."""
        lists = self.data.grouping.lists
        if self.data.retrieved is None:
            return lists.sizes.astype(np.float64)
        return lists.sum(self.data.retrieved.astype(np.float64))

    def cutoffs(self, k: int | None) -> Indices:
        """Return the last rank that counts in each list."""
        sizes = self.data.grouping.lists.sizes
        return sizes if k is None else np.minimum(sizes, min(k, int(sizes.max())))

    def hits(self, k: int | None) -> Floats:
        """Return the number of relevant rows within the cut-off, by list."""
        return hits_within(
            self.relevant, self.scores, self.offsets, self.cutoffs(k), self.rule.tie
        )

    def n_counted(self, k: int | None) -> Floats:
        """Return the divisor of precision: k, or the number of ranked rows."""
        if k is None:
            return self.n_ranked
        if self.rule.cutoff == "shorter":
            return np.minimum(float(k), self.n_ranked)
        return np.full(len(self.totals), float(k))


def relevant_lists(
    metric: str,
    rows: tuple[Any, Any, Any, Any],
    options: Mapping[str, Any],
    convention: Any = None,
    doc_ids: Any = None,
    retrieved: Any = None,
) -> RelevantLists:
    """Check the arguments of a metric, and find the relevant rows.

    Parameters
    ----------
    metric : str
        Name of the metric.
    rows : tuple
        Labels, scores, groups and weights.
    options : mapping
        Its options that are fields of ``Rule``.
    convention, doc_ids, retrieved
        Arguments of the metric.
    """
    check_level(options["relevance_level"])
    check_ties(options["ties"])
    rule = rule_of(metric, convention, options)
    data = scored_lists(*rows, metric, rule, doc_ids, retrieved)
    relevant = (data.y >= rule.relevance_level).astype(np.float64)
    totals = data.grouping.lists.sum(relevant)
    return RelevantLists(data, rule, data.ranked(relevant), totals)


def check_level(level: Any) -> None:
    """Raise ValueError for a relevance level that is not a finite number."""
    if not is_number(level) or not np.isfinite(float(level)):
        raise ValueError(f"relevance_level must be a finite number, got {level!r}.")


def ratio(part: Floats, whole: Floats, undefined: float = np.nan) -> Floats:
    """Return part / whole of each list, at most 1; ``undefined`` where whole is 0."""
    values = np.full(len(whole), undefined)
    np.divide(part, whole, out=values, where=whole > 0)
    return np.minimum(values, 1.0)
