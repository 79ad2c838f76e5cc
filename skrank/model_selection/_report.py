"""A comparison of rankers as text, in lines of at most 88 characters."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from skrank._data.html import (
    Table,
    list_html,
    page_html,
    paragraph_html,
    table_html,
)
from skrank.model_selection._result import (
    RankerResult,
    RankerStatistics,
    n_undefined,
    sd_of_repeats,
)

WIDTH = 88
NARROWEST = 16  # of the column of names


class Comparison(Protocol):
    """Fields of a comparison that a report reads; see ``RankerComparison``."""

    @property
    def results(self) -> Mapping[str, RankerResult]:
        """Result of each ranker, by name."""

    @property
    def lists(self) -> NDArray:
        """Labels of the test lists."""

    @property
    def refused(self) -> Mapping[str, str]:
        """Why metrics do not apply."""

    @property
    def metrics(self) -> list[str]:
        """Metrics that have values."""

    @property
    def reference_name(self) -> str:
        """Which ranker others are compared to."""

    @property
    def method(self) -> str:
        """Test of the differences."""

    @property
    def confidence(self) -> float:
        """Confidence of the intervals."""

    @property
    def clusters(self) -> NDArray | None:
        """Cluster of each test list."""

    def statistics(self, metric: str) -> Mapping[str, RankerStatistics]:
        """Return means, intervals and differences, by ranker."""


def report(comparison: Comparison) -> str:
    """Return a block of rows for each metric, and an explanation of the numbers."""
    parts = [metric_table(comparison, metric) for metric in comparison.metrics]
    if not parts:
        names = "\n".join(comparison.results)
        parts = [f"No ranker has values.\n{names}"]
    parts.append("\n".join(wrapped(text) for text in _meaning(comparison)))
    notes = [*numbered_notes(comparison), *_refusals(comparison)]
    if notes:
        parts.append("\n".join(notes))
    return "\n\n".join(parts)


def metric_table(
    comparison: Comparison, metric: str, head: str = "", fit_times: bool = True
) -> str:
    """Return the rows of one metric, best first.

    Parameters
    ----------
    comparison : RankerComparison
        With values of this metric.
    metric : str
        Its name.
    head : str, default=""
        Title of the table; empty takes the name of the metric.
    fit_times : bool, default=True
        Whether to show them.
    """
    heads, rows = _metric_cells(comparison, metric, fit_times)
    widths = [
        1 + max(len(cells[column]) for cells in (heads, *(cells for _, cells in rows)))
        for column in range(len(heads))
    ]
    room = WIDTH - sum(widths)
    longest = max(len(text) for text in [head or metric, *(text for text, _ in rows)])
    longest = min(longest, room) if room >= NARROWEST else 0
    lines = [*_spread(head or metric, heads, longest, widths)]
    lines.append("-" * (longest + sum(widths)))
    for text, cells in rows:
        lines += _spread(text, cells, longest, widths)
    return "\n".join(lines)


def _metric_cells(
    comparison: Comparison, metric: str, fit_times: bool
) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the heads of columns, and the name and cells of rows, best first."""
    statistics = comparison.statistics(metric)
    results = comparison.results
    empty = any(n_undefined(result, metric) for result in results.values())
    heads = ["mean", "interval", *(["as 0"] if empty else [])]
    heads += ["difference", "interval", "p", *(["fit (s)"] if fit_times else [])]
    at_difference = heads.index("difference")
    means = {name: result.mean(metric) for name, result in results.items()}
    names = sorted(
        results, key=lambda name: -math.inf if math.isnan(means[name]) else means[name]
    )[::-1]
    marks = marked_names(comparison)
    rows: list[tuple[str, list[str]]] = []
    for name in names:
        cells = _cells(results[name], statistics.get(name), empty)
        if name == comparison.reference_name and name in statistics:
            cells[at_difference] = "reference"
        rows.append((marks[name], cells[: len(heads)]))
    return heads, rows


def report_html(comparison: Comparison) -> str:
    """Return the same tables and notes as HTML."""
    parts = []
    for metric in comparison.metrics:
        heads, rows = _metric_cells(comparison, metric, fit_times=True)
        cells = [[name, *row] for name, row in rows]
        parts.append(table_html(Table(["ranker", *heads], cells, 1, metric)))
    if not parts:
        parts.append(paragraph_html("No ranker has values."))
    parts += [paragraph_html(text) for text in _meaning(comparison)]
    notes = [f"[{number}] {text}" for text, number in numbered(comparison).items()]
    notes += [f"{name} not shown: {why}" for name, why in comparison.refused.items()]
    return page_html(*parts, list_html(notes))


def _cells(
    result: RankerResult, statistics: RankerStatistics | None, empty: bool
) -> list[str]:
    """Return the cells of a ranker's row."""
    interval = None if statistics is None else statistics.interval
    difference = None if statistics is None else statistics.difference
    mean = ["-", "-"]
    if interval is not None:
        mean = [_number(interval.mean, 4), _interval(interval.low, interval.high)]
    if empty:
        mean.append(
            "-" if statistics is None else _number(statistics.mean_empty_as_zero, 4)
        )
    behind = ["-", "-", "-"]
    if difference is not None:
        behind = [
            _number(difference.difference, 4, "+"),
            _interval(difference.low, difference.high),
            _p_value(difference.p_holm),
        ]
    timed = result.problem is None and result.seconds
    return [*mean, *behind, f"{sum(result.seconds):.3f}" if timed else "-"]


def _interval(low: float, high: float) -> str:
    return f"[{_number(low, 3)}, {_number(high, 3)}]"


def _number(value: float, digits: int, sign: str = "") -> str:
    """Format a number with decimals, or with significant digits if it is large."""
    if abs(value) < 10:
        return f"{value:{sign}.{digits}f}"
    return f"{value:{sign}.{digits if abs(value) < 100_000 else digits - 1}g}"


def _p_value(p: float | None) -> str:
    if p is None:
        return "-"
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def _spread(text: str, cells: list[str], longest: int, widths: list[int]) -> list[str]:
    """Return the lines of a row; a name that is too long gets several lines."""
    right = "".join(c.rjust(width) for c, width in zip(cells, widths, strict=True))
    above = []
    if len(text) > longest:
        above = wrapped(text, next_lines="  ").splitlines()
        text = ""
    return [*above, (text.ljust(longest) + right).rstrip()]


def _meaning(comparison: Comparison) -> list[str]:
    """Return a text that explains the columns of a metric's table."""
    results = list(comparison.results.values())
    n_lists = len(comparison.lists)
    n_fits = max(len(result.seconds) for result in results)
    repeats = {len(m) for r in results for m in r.repeat_means.values()} or {1}
    n_repeats = max(repeats)
    text = [interval_text(comparison)]
    shown = f"{n_lists:,} test lists, {n_fits} fit{'s' * (n_fits != 1)} a ranker"
    if n_repeats > 1:
        shown += f" in {n_repeats} repeats; a list's value is the mean over these"
    text.append(f"{shown}. fit (s): all fits together.")
    for metric in comparison.metrics:
        counts = sorted({n_undefined(r, metric) for r in results if metric in r.values})
        if counts[-1]:
            count = " to ".join(
                f"{n:,}" for n in dict.fromkeys((counts[0], counts[-1]))
            )
            text.append(
                f"{metric} has no value in {count} lists: means leave them out, the "
                'column "as 0" counts them as 0.'
            )
        spread = [sd_of_repeats(result, metric) for result in results]
        spread = [sd for sd in spread if not math.isnan(sd)]
        if spread:
            text.append(
                f"Between repeats, means of {metric} had standard deviations of up to "
                f"{max(spread):.4f}."
            )
    return text


def interval_text(comparison: Comparison) -> str:
    """Return a text that explains intervals, differences and p values."""
    by_cluster = ""
    if comparison.clusters is not None:
        n_clusters = len(np.unique(comparison.clusters))
        by_cluster = f" Both are by cluster: {n_clusters:,} clusters of lists."
    return (
        f"Intervals ({100 * comparison.confidence:g}%) and p values are conditional on "
        "the trained models: they tell of other test lists, not of other training "
        f"data. difference: from {comparison.reference_name}, list by list; p: "
        f"{comparison.method} test, by Holm's correction for all rankers of a block."
        f"{by_cluster}"
    )


def marked_names(comparison: Comparison) -> dict[str, str]:
    """Return the names of rankers, each with the numbers of its notes."""
    notes = numbered(comparison)
    return {
        name: name
        + "".join(f" [{n}]" for n in sorted(notes[text] for text in remarks(result)))
        for name, result in comparison.results.items()
    }


def numbered_notes(comparison: Comparison) -> Iterable[str]:
    """Return the numbered notes on rankers, a line each."""
    for text, number in numbered(comparison).items():
        yield wrapped(text, f"[{number}] ")


def numbered(comparison: Comparison) -> dict[str, int]:
    """Return the notes on rankers, each once, numbered in order of first use."""
    numbers: dict[str, int] = {}
    for result in comparison.results.values():
        for text in remarks(result):
            numbers.setdefault(text, len(numbers) + 1)
    return numbers


def remarks(result: RankerResult) -> list[str]:
    """Return the notes on a ranker, without the name of its class."""
    texts = [*result.warnings]
    if result.problem is not None:
        texts.append(result.problem)
    return [
        re.sub(r"^(failed: )?\w+\.fit: (.)", _without_class, text) for text in texts
    ]


def _without_class(start: re.Match[str]) -> str:
    """Drop the class name at the start of a message, and begin with a capital."""
    failed, first = start.groups(default="")
    return failed + (first if failed else first.upper())


def _refusals(comparison: Comparison) -> Iterable[str]:
    for metric, reason in comparison.refused.items():
        yield wrapped(f"{metric} not shown: {reason}")


def wrapped(text: str, mark: str = "", next_lines: str | None = None) -> str:
    """Return a wrapped paragraph; by default lines are indented by the mark's width."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark) if next_lines is None else next_lines,
        break_on_hyphens=False,
    )
