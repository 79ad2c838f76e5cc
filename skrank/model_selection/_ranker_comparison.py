"""The result of a comparison of rankers, with its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.lists import Floats
from skrank.metrics import ScoreComparison, bootstrap_interval, compare_scores
from skrank.model_selection._report import report, report_html
from skrank.model_selection._result import (
    RankerResult,
    RankerStatistics,
    n_undefined,
    sd_of_repeats,
)


@dataclass(frozen=True, repr=False)
class RankerComparison:
    """Values of several rankers on the same lists; ``print`` shows a table.

    Attributes
    ----------
    results : dict of str to RankerResult
        By name, in the order given: values of each list, time and warnings of fits.
    lists : ndarray of shape (n_lists,)
        Group label of each test list, in sorted order.
    refused : dict of str to str
        Metrics that do not apply to the labels, and why.
    reference : str or None
        Name of the ranker that others are compared to; None takes the first.
    method : {"randomization", "t", "wilcoxon"}
        Test of :func:`~skrank.metrics.compare_scores`.
    confidence : float
        Confidence of the intervals.
    n_resamples : int
        Number of random signs and of resampled means.
    random_state : int, RandomState instance or None
        Seed of these.
    clusters : ndarray of shape (n_lists,) or None
        Cluster of each test list, used for intervals and p values; None makes each
        list one.

    Examples
    --------
    >>> from skrank.model_selection import RankerComparison, RankerResult
    >>> comparison = RankerComparison(
    ...     {
    ...         "old": RankerResult({"ndcg": [0.5, 0.25, 0.5, 0.75, 0.5]}),
    ...         "new": RankerResult({"ndcg": [0.75, 0.5, 0.75, 0.875, 1.0]}),
    ...     },
    ...     lists=["a", "b", "c", "d", "e"],
    ...     random_state=0,
    ... )
    >>> comparison.statistics("ndcg")["new"].difference.difference
    0.275
    """

    results: dict[str, RankerResult]
    lists: NDArray
    refused: dict[str, str] = field(default_factory=dict)
    reference: str | None = None
    method: str = "randomization"
    confidence: float = 0.95
    n_resamples: int = 10_000
    random_state: Any = None
    clusters: NDArray | None = None
    _known: dict[str, Any] = field(default_factory=dict, init=False, compare=False)

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics that at least one ranker has values of."""
        return list(dict.fromkeys(m for r in self.results.values() for m in r.values))

    def statistics(self, metric: str) -> dict[str, RankerStatistics]:
        """Return means, intervals and differences from the reference, by ranker.

        Parameters
        ----------
        metric : str
            Name of a metric.

        Returns
        -------
        statistics : dict of str to RankerStatistics
            Of the rankers that have values, in the order given.

        Raises
        ------
        ValueError
            If no ranker has values of this metric.
        """
        if metric not in self._known:
            self._known[metric] = self._statistics(metric)
        return self._known[metric]

    def _statistics(self, metric: str) -> dict[str, RankerStatistics]:
        values = {
            name: np.asarray(result.values[metric], dtype=np.float64)
            for name, result in self.results.items()
            if metric in result.values
        }
        if not values:
            raise ValueError(
                f"no ranker has values of {metric!r}; there are "
                f"{', '.join(self.metrics) or 'none'}."
            )
        differences = self._differences(values)
        statistics = {}
        for name, column in values.items():
            interval = None
            if self._n_parts(column) >= (1 if self.clusters is None else 2):
                interval = bootstrap_interval(
                    column,
                    confidence=self.confidence,
                    n_resamples=self.n_resamples,
                    random_state=self.random_state,
                    clusters=self.clusters,
                )
            mean = float(np.nan_to_num(column, nan=0.0).mean())
            statistics[name] = RankerStatistics(interval, mean, differences.get(name))
        return statistics

    def _n_parts(self, values: Floats) -> int:
        """Return how many lists, or clusters of these, have a value."""
        known = ~np.isnan(values)
        if self.clusters is None:
            return int(known.sum())
        return len(np.unique(np.asarray(self.clusters)[known]))

    def _differences(self, values: Mapping[str, Floats]) -> dict[str, ScoreComparison]:
        """Compare all rankers to the reference, where enough lists have both values."""
        reference = values.get(self.reference_name)
        if reference is None:
            return {}
        others = {
            name: column
            for name, column in values.items()
            if name != self.reference_name and self._n_parts(column + reference) > 1
        }
        if not others:
            return {}
        return compare_scores(
            others,
            reference,
            method=self.method,
            confidence=self.confidence,
            n_resamples=self.n_resamples,
            random_state=self.random_state,
            clusters=self.clusters,
        )

    @property
    def reference_name(self) -> str:
        """Name of the ranker that others are compared to."""
        return next(iter(self.results)) if self.reference is None else self.reference

    def to_frame(self) -> Any:
        """Return all statistics as a pandas frame, a row a metric and ranker.

        Returns
        -------
        frame : DataFrame
            Indexed by metric and ranker, with columns mean, low, high,
            mean_empty_as_zero, n_lists, n_empty, sd_of_repeats (standard deviation
            between repeats, NaN for one), difference, difference_low,
            difference_high, p_value, p_holm, fit_seconds (all fits together) and
            problem. Numbers that do not exist are NaN.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        import pandas as pd

        rows = {}
        for metric in self.metrics:
            statistics = self.statistics(metric)
            for name, result in self.results.items():
                rows[metric, name] = _row(result, metric, statistics.get(name))
        index = pd.MultiIndex.from_tuples(list(rows), names=["metric", "ranker"])
        return pd.DataFrame(list(rows.values()), index=index)

    def __repr__(self) -> str:
        counts = f"rankers: {len(self.results)}, lists: {len(self.lists)}"
        return f"<RankerComparison: {counts}; print it for the table>"

    def __str__(self) -> str:
        return report(self)

    def _repr_html_(self) -> str:
        return report_html(self)


def _row(
    result: RankerResult, metric: str, statistics: RankerStatistics | None
) -> dict[str, Any]:
    """Return one row of the frame."""
    interval = None if statistics is None else statistics.interval
    difference = None if statistics is None else statistics.difference
    nan = float("nan")
    return {
        "mean": nan if interval is None else interval.mean,
        "low": nan if interval is None else interval.low,
        "high": nan if interval is None else interval.high,
        "mean_empty_as_zero": nan
        if statistics is None
        else statistics.mean_empty_as_zero,
        "n_lists": 0 if interval is None else interval.n_lists,
        "n_empty": n_undefined(result, metric),
        "sd_of_repeats": sd_of_repeats(result, metric),
        "difference": nan if difference is None else difference.difference,
        "difference_low": nan if difference is None else difference.low,
        "difference_high": nan if difference is None else difference.high,
        "p_value": nan if difference is None else difference.p_value,
        "p_holm": nan if difference is None else difference.p_holm,
        "fit_seconds": sum(result.seconds) if result.seconds else nan,
        "problem": result.problem,
    }
