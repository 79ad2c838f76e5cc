"""The table that the command prints, and what it says around it."""

from __future__ import annotations

import math
import re
import sys
import textwrap
from collections.abc import Iterable

import numpy as np

from skrank.model_selection._comparison import Comparison, RankerResult

WIDTH = 88
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
    comparison: Comparison, columns: list[str], sort_by: str, n_folds: int
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
    notes = _numbered(comparison)
    rows = []
    for name in names:
        result = comparison.results[name]
        cells = [
            ("-" if math.isnan(mean) else f"{mean:.4f}") + star.get(name, " ")
            for mean, star in zip(means[name], stars, strict=True)
        ]
        timed = result.problem is None and name != RANDOM_ORDER
        cells.append(f"{sum(result.seconds):.3f} " if timed else "- ")
        marks = [f" [{notes[text]}]" for text in _remarks(result)]
        rows.append((name + "".join(marks), _right(cells, widths)))
    longest = min(max(len(name) for name, _ in rows), WIDTH + 1 - sum(widths))
    heads = _right([f"{title} " for title in [*titles, "fit (s)"]], widths)
    say("ranker".ljust(longest) + heads)
    say("-" * (longest + sum(widths) - 1))
    for name, cells in rows:
        *above, last = textwrap.wrap(name, longest, subsequent_indent="  ")
        for line in above:
            say(line)
        say(last.ljust(longest) + cells)
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


def _stars(comparison: Comparison, metric: str) -> dict[str, str]:
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


def _numbered(comparison: Comparison) -> dict[str, int]:
    """Return the notes on rankers, each once, numbered in order of first use."""
    numbers: dict[str, int] = {}
    for result in comparison.results.values():
        for text in _remarks(result):
            numbers.setdefault(text, len(numbers) + 1)
    return numbers


def _remarks(result: RankerResult) -> list[str]:
    """Return what there is to say of a ranker, without the name of its class."""
    texts = [*result.warnings]
    if result.problem is not None:
        texts.append(result.problem)
    return [re.sub(r"^(failed: )?\w+\.fit: ", r"\1", text) for text in texts]


def print_notes(comparison: Comparison, columns: list[str]) -> None:
    """Print what the table leaves open."""
    for text, number in _numbered(comparison).items():
        note(text, f"[{number}] ")
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


def _n_undefined(comparison: Comparison, columns: Iterable[str], base: str) -> int:
    """Return in how many lists a measure is undefined, for whatever scores."""
    for name in columns:
        if name.partition("@")[0] == base:
            for result in comparison.results.values():
                if name in result.values:
                    return int(np.isnan(result.values[name]).sum())
    return 0


def note(text: str, mark: str = "") -> None:
    """Print a paragraph, its other lines indented by the mark."""
    say(
        textwrap.fill(
            text,
            WIDTH,
            initial_indent=mark,
            subsequent_indent=" " * len(mark),
            break_on_hyphens=False,
        )
    )


def say(text: str) -> None:
    """Print, whatever the encoding of the output has signs for."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))
