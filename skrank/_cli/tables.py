"""The tables that the command prints, with heads and notes."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from skrank.model_selection._ranker_comparison import RankerComparison
from skrank.model_selection._report import (
    WIDTH,
    interval_text,
    marked_names,
    metric_table,
    numbered_notes,
    wrapped,
)
from skrank.model_selection._result import n_undefined
from skrank.preprocessing import SecondOrderFeatures

RANDOM_ORDER = "(random order)"  # the row that is not a fit
STARS = (
    "larger is better. * best of the column, ~ less than two standard errors (of "
    "differences list by list) behind it."
)


def heading(name: str) -> str:
    """Return the head of a measure's column."""
    return "pairwise" if name == "pairwise_accuracy" else name.upper()


def describe(lines: dict[str, str]) -> None:
    """Print names and texts in two columns."""
    for name, text in lines.items():
        say(
            textwrap.fill(
                text,
                WIDTH,
                initial_indent=name.ljust(10),
                subsequent_indent=" " * 10,
                break_on_hyphens=False,
            )
        )


def print_table(
    comparison: RankerComparison, columns: list[str], sort_by: str, n_folds: int
) -> None:
    """Print one row a ranker, best first."""
    results = comparison.results
    means = {name: result.mean(sort_by) for name, result in results.items()}
    names = sorted(results, key=lambda name: -np.nan_to_num(means[name], nan=-1.0))
    cells = metric_cells(comparison, columns)
    marked = marked_names(comparison)
    rows = []
    for name in names:
        timed = results[name].problem is None and name != RANDOM_ORDER
        seconds = f"{sum(results[name].seconds):.3f} " if timed else "- "
        rows.append((marked[name], [*cells[name], seconds]))
    print_rows([f"{heading(name)} " for name in columns] + ["fit (s) "], rows)
    say("")
    folds = f", all {n_folds} folds together" if n_folds > 1 else ""
    note(f"Sorted by {heading(sort_by)}; {STARS} fit (s): seconds of fitting{folds}.")


def metric_cells(
    comparison: RankerComparison, columns: list[str]
) -> dict[str, list[str]]:
    """Return the means of each ranker, each with its mark behind it."""
    stars = {metric: _stars(comparison, metric) for metric in columns}
    return {
        name: [
            ("-" if math.isnan(mean) else f"{mean:.4f}") + stars[metric].get(name, " ")
            for metric, mean in zip(columns, map(result.mean, columns), strict=True)
        ]
        for name, result in comparison.results.items()
    }


def print_rows(heads: list[str], rows: Sequence[tuple[str, list[str]]]) -> None:
    """Print rankers and cells below heads; a name that is too long takes more lines."""
    widths = [
        1 + max(map(len, column))
        for column in zip(heads, *(cells for _, cells in rows), strict=True)
    ]
    rights = [_right(cells, widths) for cells in (heads, *(cells for _, cells in rows))]
    width = max(map(len, rights))
    longest = min(max(len(name) for name, _ in rows), WIDTH - width)
    say("ranker".ljust(longest) + rights[0])
    say("-" * (longest + width))
    for (name, _), right in zip(rows, rights[1:], strict=True):
        *above, last = textwrap.wrap(name, longest, subsequent_indent="  ")
        for line in above:
            say(line)
        say(last.ljust(longest) + right)


def _right(cells: list[str], widths: list[int]) -> str:
    padded = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return "".join(padded).rstrip()


def _stars(comparison: RankerComparison, metric: str) -> dict[str, str]:
    """Mark the best rankers, and those that may be as good as the best."""
    values = {
        name: result.values[metric]
        for name, result in comparison.results.items()
        if metric in result.values
    }
    means = {name: comparison.results[name].mean(metric) for name in values}
    means = {name: mean for name, mean in means.items() if not math.isnan(mean)}
    if not means:
        return {}
    best = max(means, key=means.__getitem__)
    stars = {}
    for name, mean in means.items():
        behind = values[best] - values[name]
        behind = behind[~np.isnan(behind)]
        if f"{mean:.4f}" == f"{means[best]:.4f}":
            stars[name] = "*"
        elif len(behind) > 1:
            error = behind.std(ddof=1) / math.sqrt(len(behind))
            stars[name] = "~" if behind.mean() < 2 * error else " "
    return stars


def print_notes(comparison: RankerComparison, columns: list[str]) -> None:
    """Print notes on measures that are missing or undefined, and on warnings."""
    for text in numbered_notes(comparison):
        say(text)
    titles: dict[str, list[str]] = {}
    for name, reason in comparison.refused.items():
        titles.setdefault(reason, []).append(heading(name))
    for reason, heads in titles.items():
        note(f"{', '.join(heads)} not shown: {reason}")
    n_lists = len(comparison.lists)
    for base, lacking in (
        ("ndcg", "no row with a label above 0"),
        ("pairwise_accuracy", "no two labels that differ"),
    ):
        undefined = _n_undefined(comparison, columns, base)
        if undefined:
            text = f"{undefined:,} of {n_lists:,} test lists have {lacking}: "
            text += f"{heading(base)} leaves them out"
            if base == "ndcg":
                text += ", ERR counts them as 0"
            note(text + ".")


def _n_undefined(
    comparison: RankerComparison, columns: Iterable[str], base: str
) -> int:
    """Return in how many lists a measure is undefined for all rankers."""
    for name in columns:
        if name.partition("@")[0] == base:
            for result in comparison.results.values():
                if name in result.values:
                    return n_undefined(result, name)
    return 0


def print_intervals(comparison: RankerComparison, metric: str) -> None:
    """Print intervals of the means of one measure, and of the differences."""
    results = dict(comparison.results)
    results.pop(RANDOM_ORDER)
    comparison = replace(comparison, results=results)
    if metric in comparison.metrics:
        say("")
        say(metric_table(comparison, metric, heading(metric), fit_times=False))
        say("")
        note(interval_text(comparison))


def print_kept(where: str, fitted: Sequence[SecondOrderFeatures]) -> None:
    """Print how many products each fold has."""
    counts = ", ".join(f"{len(one.pairs_):,}" for one in fitted)
    folds = ", fold by fold" if len(fitted) > 1 else ""
    note(f"Products kept{where}, of {fitted[0].n_candidates_:,}{folds}: {counts}.")


def note(text: str) -> None:
    """Print a paragraph."""
    say(wrapped(text))


def say(text: str) -> None:
    """Print a text; replace characters that the output's encoding does not have."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))
