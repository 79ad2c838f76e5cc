"""The table that the command prints, and what it says around it."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from skrank.model_selection._report import (
    WIDTH,
    interval_text,
    marked_names,
    metric_table,
    numbered_notes,
    wrapped,
)
from skrank.model_selection._result import RankerComparison, n_undefined

RANDOM_ORDER = "(random order)"  # the row that is no fit


def heading(name: str) -> str:
    """Return the head of a measure's column."""
    return "pairwise" if name == "pairwise_accuracy" else name.upper()


def describe(lines: dict[str, str]) -> None:
    """Print texts, each behind its name."""
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
    means = {
        name: [result.mean(metric) for metric in columns]
        for name, result in comparison.results.items()
    }
    by = columns.index(sort_by)
    names = sorted(means, key=lambda name: -np.nan_to_num(means[name][by], nan=-1.0))
    titles = [heading(name) for name in columns]
    widths = [max(len(title), 6) + 2 for title in titles] + [9]
    stars = [_stars(comparison, metric) for metric in columns]
    marked = marked_names(comparison)
    rows = []
    for name in names:
        result = comparison.results[name]
        cells = [
            ("-" if math.isnan(mean) else f"{mean:.4f}") + star.get(name, " ")
            for mean, star in zip(means[name], stars, strict=True)
        ]
        timed = result.problem is None and name != RANDOM_ORDER
        cells.append(f"{sum(result.seconds):.3f} " if timed else "- ")
        rows.append((marked[name], _right(cells, widths)))
    longest = min(max(len(name) for name, _ in rows), WIDTH + 1 - sum(widths))
    heads = _right([f"{title} " for title in [*titles, "fit (s)"]], widths)
    say("ranker".ljust(longest) + heads)
    say("-" * (longest + sum(widths) - 1))
    for name, right in rows:
        *above, last = textwrap.wrap(name, longest, subsequent_indent="  ")
        for line in above:
            say(line)
        say(last.ljust(longest) + right)
    say("")
    folds = f", all {n_folds} folds together" if n_folds > 1 else ""
    note(
        f"Sorted by {heading(sort_by)}; larger is better. * best of the column, ~ less "
        "than two standard errors (of differences list by list) behind it. "
        f"fit (s): seconds of fitting{folds}."
    )


def _right(cells: list[str], widths: list[int]) -> str:
    padded = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return "".join(padded).rstrip()


def _stars(comparison: RankerComparison, metric: str) -> dict[str, str]:
    """Mark the best rankers, and those that cannot be told from the first of them."""
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
    """Print what the table leaves open."""
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
    """Return in how many lists a measure is undefined, for whatever scores."""
    for name in columns:
        if name.partition("@")[0] == base:
            for result in comparison.results.values():
                if name in result.values:
                    return n_undefined(result, name)
    return 0


def print_intervals(comparison: RankerComparison, metric: str) -> None:
    """Print how sure the means of one measure are, and the differences."""
    results = dict(comparison.results)
    results.pop(RANDOM_ORDER)
    comparison = replace(comparison, results=results)
    if metric in comparison.metrics:
        say("")
        say(metric_table(comparison, metric, heading(metric), fit_times=False))
        say("")
        note(interval_text(comparison))


def note(text: str) -> None:
    """Print a paragraph."""
    say(wrapped(text))


def say(text: str) -> None:
    """Print, whatever the encoding of the output has signs for."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))
