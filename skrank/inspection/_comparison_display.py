"""Draw a comparison of rankers: means with intervals, and differences by list."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import check_choice, check_count
from skrank.inspection._drawing import (
    COLORS,
    GREY,
    add_legend,
    height_of,
    names_at_rows,
    new_axes,
    style_of,
)
from skrank.model_selection import RankerComparison

LABELLED = len(COLORS)  # lines that colours tell apart


class RankerComparisonDisplay:
    """Several rankers on the same lists: which is better, by how much, and where.

    The left picture has the mean difference of each ranker from the reference, with
    its interval; the right one the differences of all lists, sorted, so that wins and
    losses can be counted.

    Parameters
    ----------
    comparison : RankerComparison
        What ``compare_rankers`` returned.
    metric : str
        Name of one of its metrics.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib Axes
        Means, and differences by list.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : dict of str to Line2D
        By ranker, the sorted differences of all lists from the reference.

    Examples
    --------
    >>> from skrank import ListMLERanker, RankNetRanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import RankerComparisonDisplay
    >>> from skrank.model_selection import compare_rankers
    >>> X, y, groups = make_ranking(40, random_state=0)
    >>> rankers = {"listmle": ListMLERanker(), "ranknet": RankNetRanker()}
    >>> comparison = compare_rankers(rankers, X, y, groups, random_state=0)
    >>> display = RankerComparisonDisplay.from_comparison(comparison)
    >>> list(display.lines_)
    ['ranknet']
    """

    def __init__(self, comparison: RankerComparison, metric: str) -> None:
        self.comparison, self.metric = comparison, metric

    @classmethod
    def from_comparison(
        cls,
        comparison: RankerComparison,
        *,
        metric: str | None = None,
        ax: Any = None,
        max_shown: int = 30,
    ) -> RankerComparisonDisplay:
        """Draw one metric of a comparison.

        Parameters
        ----------
        comparison : RankerComparison
            What ``compare_rankers`` returned.
        metric : str, default=None
            Name of one of its metrics; None takes the first.
        ax : sequence of two matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_shown : int, default=30
            See :meth:`plot`.

        Returns
        -------
        display : RankerComparisonDisplay
            Drawn.

        Raises
        ------
        ValueError
            If no ranker has values of the metric.
        """
        metrics = comparison.metrics
        if not metrics:
            raise ValueError(
                "no ranker of the comparison has values to draw. Print the "
                "comparison to see why."
            )
        chosen = metrics[0] if metric is None else metric
        check_choice(chosen, "metric", metrics)
        return cls(comparison, chosen).plot(ax, max_shown=max_shown)

    def plot(self, ax: Any = None, *, max_shown: int = 30) -> RankerComparisonDisplay:
        """Draw means and differences.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_shown : int, default=30
            Of more rankers, the best of the metric are shown, and the reference.

        Returns
        -------
        display : RankerComparisonDisplay
            This display.
        """
        check_count(max_shown, "max_shown")
        statistics = self.comparison.statistics(self.metric)
        intervals = {
            name: of_ranker.interval
            for name, of_ranker in statistics.items()
            if of_ranker.interval is not None
        }
        names = sorted(intervals, key=lambda name: -intervals[name].mean)
        n_rankers = len(names)
        reference = self.comparison.reference_name
        others = [name for name in names if name != reference][: max_shown - 1]
        if n_rankers > max_shown:
            names = [name for name in names if name in (*others, reference)]
        rows = [self._row_text(name, statistics[name]) for name in names]
        self.figure_, self.axes_ = new_axes(ax, 2, (10.0, height_of(rows, 3.6)))
        self.ax_ = self.axes_[0]
        self._plot_means(names, rows, statistics)
        self._plot_lists(names)
        if len(names) < n_rankers:
            self.ax_.set_title(f"{len(names)} of {n_rankers}")
        return self

    def _row_text(self, name: str, statistics: Any) -> str:
        """Return a ranker's name, its difference from the reference, and p."""
        if name == self.comparison.reference_name:
            return f"{name} (reference)"
        difference = statistics.difference
        if difference is None:
            return name
        text = f"{name}\n{difference.difference:+.4f}"
        if difference.p_holm is not None:
            text += f", p {_p_text(difference.p_holm)}"
        return text

    def _plot_means(self, names: list[str], rows: list[str], statistics: Any) -> None:
        """Draw the mean of each ranker with its interval, best at the top."""
        axes = self.axes_[0]
        reference = self.comparison.reference_name
        for row, name in enumerate(names):
            interval = statistics[name].interval
            error = [[interval.mean - interval.low], [interval.high - interval.mean]]
            axes.errorbar(
                interval.mean,
                row,
                xerr=error,
                capsize=3,
                **self._style(name, names),
                linestyle="",
            )
        names_at_rows(axes, rows)
        if reference in statistics and statistics[reference].interval is not None:
            axes.axvline(
                statistics[reference].interval.mean, color=GREY, linewidth=1, zorder=0
            )
        confidence = self.comparison.confidence
        axes.set_xlabel(f"mean {self.metric}, {confidence:.0%} interval over lists")
        axes.grid(axis="x", alpha=0.3)

    def _plot_lists(self, names: list[str]) -> None:
        """Draw the sorted differences of each ranker from the reference."""
        axes = self.axes_[1]
        reference = self.comparison.reference_name
        results = self.comparison.results
        self.lines_: dict[str, Any] = {}
        base = results[reference].values.get(self.metric)
        for name in names:
            if name == reference or base is None:
                continue
            values = np.asarray(results[name].values[self.metric]) - np.asarray(base)
            values = np.sort(values[~np.isnan(values)])
            if not len(values):
                continue
            share = (np.arange(len(values)) + 0.5) / len(values)
            style = self._style(name, names)
            better, worse = np.mean(values > 0), np.mean(values < 0)
            label = f"{name}: {better:.0%} better, {worse:.0%} worse"
            (self.lines_[name],) = axes.plot(
                100 * share, values, label=label, linewidth=1.5, color=style["color"]
            )
        axes.axhline(0.0, color=GREY, linewidth=1)
        axes.set_xlabel("lists, sorted by difference (% of them)")
        axes.set_ylabel(f"{self.metric} of a list, less the reference's")
        axes.grid(alpha=0.3)
        if 0 < len(self.lines_) <= LABELLED:
            # Sorted differences rise from the lower left to the upper right.
            add_legend(axes, "upper left")

    def _style(self, name: str, names: list[str]) -> dict[str, str]:
        """Return colour and marker of a ranker, the same in both pictures."""
        if name == self.comparison.reference_name:
            return {"color": GREY, "marker": "o"}
        others = [one for one in names if one != self.comparison.reference_name]
        return style_of(others.index(name))


def _p_text(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"
