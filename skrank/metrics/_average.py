"""Check the arguments that metrics share, and average their values over lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from skrank._data.checks import (
    check_choice,
    check_count,
    equally_long,
    finite_column,
    is_number,
)
from skrank._data.grouping import Grouping, group_rows
from skrank._data.groups import find_groups
from skrank._data.lists import Floats
from skrank._data.warnings import warn
from skrank._data.weights import list_weights
from skrank._kernels.metrics import TIES
from skrank.metrics._conventions import Rule

GEOMETRIC_FLOOR = 1e-5  # trec_eval's MIN_GEO_MEAN


@dataclass(frozen=True, slots=True)
class ScoredLists:
    """Checked labels and scores, the rows of each list together.

    Attributes
    ----------
    y, scores : ndarray of shape (n_rows,)
        Labels and scores, finite.
    grouping : Grouping
        The lists of these rows.
    weights : ndarray of shape (n_lists,) or None
        Weight of each list.
    retrieved : ndarray of bool of shape (n_rows,) or None
        Which rows have a rank; None means all. The scores of others are -inf.
    """

    y: Floats
    scores: Floats
    grouping: Grouping
    weights: Floats | None
    retrieved: NDArray | None = None

    def ranked(self, worth: Floats) -> Floats:
        """Return the worth of each row, with 0 for rows that are not retrieved."""
        return worth if self.retrieved is None else np.where(self.retrieved, worth, 0.0)

    def average(
        self,
        values: Floats,
        average: str | None,
        empty: str | float,
        empty_weight: str = "list",
    ) -> Any:
        """Return the mean of one value a list, or the values by list label.

        Parameters
        ----------
        values : ndarray of shape (n_lists,)
            In the order of the lists, NaN where undefined.
        average : {"mean", "geometric", None}
            None returns the values, NaN included.
        empty : "skip" or float
            What an undefined list counts as in the mean.
        empty_weight : {"list", "one"}
            Weight of an undefined list in the sum.
        """
        if average is None:
            order = self.grouping.label_order()
            return values if order is None else values[order]
        weights = self.weights
        undefined = np.isnan(values)
        if undefined.any():
            if empty == "skip":
                values = values[~undefined]
                weights = None if weights is None else weights[~undefined]
            else:
                values = np.where(undefined, empty, values)
                if weights is not None and empty_weight == "one":
                    total = weights.sum()
                    added = np.where(undefined, 1.0, weights)
                    return float((added * values).sum() / total) if total else 0.0
        if average == "geometric":
            values = np.log(np.maximum(values, GEOMETRIC_FLOOR))
        # Values and weights are summed in the same order, so that rounding cannot bring
        # the mean of values of at most 1 above 1.
        total = float(len(values) if weights is None else weights.sum())
        if total == 0:
            warn(
                "The metric is undefined for every list (no relevant row, or no "
                "labels that differ), so the mean is set to 0.0. Use empty= to say "
                "what such lists count as.",
                UndefinedMetricWarning,
            )
            return 0.0
        mean = float((values if weights is None else weights * values).sum() / total)
        return float(np.exp(mean)) if average == "geometric" else mean


def scored_lists(
    y_true: Any,
    y_score: Any,
    groups: Any,
    sample_weight: Any,
    metric: str,
    rule: Rule | None = None,
    doc_ids: Any = None,
    retrieved: Any = None,
) -> ScoredLists:
    """Check labels, scores, groups and weights, and bring lists together.

    Parameters
    ----------
    y_true, y_score, groups, sample_weight
        Arguments of the metric.
    metric : str
        Its name, for messages.
    rule : Rule, default=None
        How scores are rounded, and whether document ids break ties.
    doc_ids, retrieved : array-like of shape (n_rows,), default=None
        Document ids, and which rows have a rank.
    """
    y = finite_column(y_true, "y_true")
    scores = finite_column(y_score, "y_score")
    equally_long(y, scores, ("y_true", "y_score"))
    grouping = group_rows(find_groups(y_true, groups, metric, "y_true"), len(y))
    weights = list_weights(sample_weight, grouping)
    if rule is not None and rule.negative == "unjudged":
        y = np.maximum(y, 0.0)
    if rule is not None and rule.scores == "float32":
        # Clip first: a score that became -inf would tie with rows that have no rank.
        largest = float(np.finfo(np.float32).max)
        rounded = np.clip(scores, -largest, largest).astype(np.float32)
        scores = rounded.astype(np.float64)
    if retrieved is not None:
        retrieved = flags(retrieved, "retrieved", len(y))
        scores = np.where(retrieved, scores, -np.inf)
    if rule is not None and rule.ties == "doc_ids":
        grouping = _by_document(grouping, scores, doc_ids, metric)
    return ScoredLists(
        grouping.gather(y),
        grouping.gather(scores),
        grouping,
        weights,
        None if retrieved is None else grouping.gather(retrieved),
    )


def _by_document(
    grouping: Grouping, scores: Floats, doc_ids: Any, metric: str
) -> Grouping:
    """Put the rows of each list in descending order of document id."""
    of_list = grouping.lists.expand(np.arange(grouping.lists.n_lists))
    if doc_ids is None:
        listed = grouping.gather(scores)
        listed = listed[np.lexsort((listed, of_list))]
        tied = (listed[1:] == listed[:-1]) & (of_list[1:] == of_list[:-1])
        if (tied & (listed[1:] > -np.inf)).any():
            raise ValueError(
                f"{metric} has tied scores, which this convention orders by document "
                "id. Pass doc_ids=, one id per row."
            )
        return grouping
    ids = np.asarray(doc_ids)
    if ids.shape != scores.shape:
        raise ValueError(
            f"doc_ids needs one id per row, got shape {ids.shape} for "
            f"{len(scores)} rows."
        )
    # The tools compare ids as bytes of UTF-8, which order like code points.
    _, number = np.unique(ids.astype(str), return_inverse=True)
    order = np.lexsort((-grouping.gather(number), of_list))
    return replace(
        grouping, rows=order if grouping.rows is None else grouping.rows[order]
    )


def flags(values: Any, name: str, n_rows: int) -> NDArray:
    """Return one bool a row."""
    array = np.asarray(values)
    if array.dtype.kind != "b" or array.shape != (n_rows,):
        raise ValueError(
            f"{name} needs one bool per row, got dtype {array.dtype} and shape "
            f"{array.shape} for {n_rows} rows."
        )
    return array


def check_average(average: Any, empty: Any = "skip", geometric: bool = False) -> None:
    """Raise ValueError for an unknown ``average`` or ``empty``."""
    check_choice(average, "average", ["mean", *["geometric"] * geometric, None])
    if isinstance(empty, str) and empty == "skip":
        return
    if not is_number(empty) or not np.isfinite(float(empty)):
        raise ValueError(f"empty must be 'skip' or a finite number, got {empty!r}.")


def check_ties(ties: Any) -> None:
    """Raise ValueError for unknown ``ties``."""
    check_choice(ties, "ties", TIES)


def check_cutoff(k: Any) -> None:
    """Raise ValueError for a cut-off that is not None or a positive integer."""
    check_count(k, "k", optional=True)


def cutoff_of(k: int | None, grouping: Grouping) -> int:
    """Return the largest rank that any list has within the cut-off."""
    longest = int(grouping.lists.sizes.max())
    return longest if k is None else min(int(k), longest)
