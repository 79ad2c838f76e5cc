"""Results of one ranker in a comparison: values, times, warnings, statistics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skrank._data.lists import Floats
from skrank.metrics import Interval, ScoreComparison


@dataclass
class RankerResult:
    """Values, times and warnings of one ranker.

    Attributes
    ----------
    values : dict of str to ndarray of shape (n_lists,)
        Per metric one value a test list, NaN where undefined, in the order of
        ``RankerComparison.lists``; the mean where a list was tested several times.
        Empty if the ranker failed; ``problem`` then has the reason.
    repeat_means : dict of str to list of float
        Per metric the mean over lists of each repeat.
    seconds : list of float
        Time of each fit.
    warnings : dict of str to int
        Text of each kind of warning, and the number of fits that gave it.
    problem : str or None
        Why the ranker has no values.

    Examples
    --------
    >>> from skrank.model_selection import RankerResult
    >>> RankerResult({"ndcg": [1.0, float("nan"), 0.5]}).mean("ndcg")
    0.75
    """

    values: dict[str, Any] = field(default_factory=dict)
    repeat_means: dict[str, list[float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    warnings: dict[str, int] = field(default_factory=dict)
    problem: str | None = None

    def mean(self, metric: str) -> float:
        """Return the mean over the lists where the metric is defined, else NaN."""
        return mean_of_defined(np.asarray(self.values.get(metric, ())))


@dataclass(frozen=True)
class RankerStatistics:
    """Statistics of one metric for one ranker.

    Attributes
    ----------
    interval : Interval or None
        Mean over the lists that have a value, and its bootstrap interval; None where
        no list has one.
    mean_empty_as_zero : float
        Mean over all lists, those without a value counting as 0.
    difference : ScoreComparison or None
        From the reference, list by list, with its p value as it is and after Holm's
        correction over the rankers; None for the reference, and where fewer than two
        lists have both values.

    Examples
    --------
    >>> from skrank.metrics import bootstrap_interval
    >>> from skrank.model_selection import RankerStatistics
    >>> values = [0.5, 0.5, float("nan"), 0.5]
    >>> RankerStatistics(bootstrap_interval(values), 0.375, None).interval.mean
    0.5
    """

    interval: Interval | None
    mean_empty_as_zero: float
    difference: ScoreComparison | None


def n_undefined(result: RankerResult, metric: str) -> int:
    """Return in how many lists a ranker's metric is undefined."""
    return int(np.isnan(np.asarray(result.values.get(metric, ()))).sum())


def sd_of_repeats(result: RankerResult, metric: str) -> float:
    """Return the standard deviation of the means of repeats, NaN for one."""
    means = result.repeat_means.get(metric, [])
    return float(np.std(means, ddof=1)) if len(means) > 1 else float("nan")


def mean_of_defined(values: Floats) -> float:
    """Return the mean of values that are not NaN, or NaN if there are none."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if values.size else float("nan")
