"""Check what a metric is given, and average its values over lists."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skrank._checks import equally_long, finite_column
from skrank._groups import Grouping, find_groups, group_rows, list_weights
from skrank._kernels.metrics import TIES
from skrank._lists import Floats


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
    """

    y: Floats
    scores: Floats
    grouping: Grouping
    weights: Floats | None

    def average(self, values: Floats, average: str | None, empty: str | float) -> Any:
        """Return the mean of one value a list, or the values by list label.

        Parameters
        ----------
        values : ndarray of shape (n_lists,)
            In the order of the lists, NaN where undefined.
        average : {"mean", None}
            None returns the values, NaN included.
        empty : "skip" or float
            What an undefined list counts as in the mean.
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
        # Summed alike above and below, so that values of at most 1 average to that.
        total = float(len(values) if weights is None else weights.sum())
        if total == 0:
            warnings.warn(
                "The metric is undefined for every list (no relevant row, or no "
                "labels that differ), so the mean is set to 0.0. Use empty= to say "
                "what such lists count as.",
                UndefinedMetricWarning,
                stacklevel=3,
            )
            return 0.0
        return float((values if weights is None else weights * values).sum() / total)


def scored_lists(
    y_true: Any, y_score: Any, groups: Any, sample_weight: Any, metric: str
) -> ScoredLists:
    """Check labels, scores, groups and weights, and bring lists together."""
    y = finite_column(y_true, "y_true")
    scores = finite_column(y_score, "y_score")
    equally_long(y, scores, ("y_true", "y_score"))
    grouping = group_rows(find_groups(y_true, groups, metric), len(y))
    weights = list_weights(sample_weight, grouping)
    return ScoredLists(grouping.gather(y), grouping.gather(scores), grouping, weights)


def check_average(average: Any, empty: Any = "skip") -> None:
    """Raise ValueError for an unknown ``average`` or ``empty``."""
    if average is not None and average != "mean":
        raise ValueError(f"average must be 'mean' or None, got {average!r}.")
    if isinstance(empty, str) and empty == "skip":
        return
    if (
        isinstance(empty, bool)
        or not isinstance(empty, Real)
        or not np.isfinite(float(empty))
    ):
        raise ValueError(f"empty must be 'skip' or a finite number, got {empty!r}.")


def check_ties(ties: Any) -> int:
    """Return the kernel's code for ``ties``."""
    if not isinstance(ties, str) or ties not in TIES:
        raise ValueError(
            f"ties must be 'average', 'worst', 'best' or 'order', got {ties!r}."
        )
    return TIES[ties]


def check_cutoff(k: Any) -> None:
    """Raise ValueError for a cut-off that is not None or a positive integer."""
    if k is None:
        return
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k must be a positive integer or None, got {k!r}.")


def cutoff_of(k: int | None, grouping: Grouping) -> int:
    """Return the largest rank that any list has within the cut-off."""
    longest = int(grouping.lists.sizes.max())
    return longest if k is None else min(int(k), longest)
