"""The tables of paper_experiment.py: means, notes, times and differences."""

from __future__ import annotations

import math
import textwrap
from dataclasses import replace

import numpy as np

WIDTH = 88
NAME = 23  # of the column of rankers
STARS = (
    "Larger is better. * best of the column, ~ less than two standard errors (of "
    "differences list by list) behind it."
)


def say(text=""):
    """Print."""
    print(text, flush=True)


def note(text, mark=""):
    """Print a paragraph."""
    say(
        textwrap.fill(
            text,
            WIDTH,
            initial_indent=mark,
            subsequent_indent=" " * len(mark),
            break_on_hyphens=False,
        )
    )


def print_names(kinds, rankers):
    """Print what each name in the tables is in this package."""
    for kind, of_kind in kinds.items():
        named = {name: one for name, one in of_kind.items() if name in rankers}
        if named:
            say(f"\n{kind.ljust(NAME)}here")
        for name, ranker in named.items():
            text = " ".join(str(ranker).split())
            lines = textwrap.wrap(
                text, WIDTH - NAME, subsequent_indent="    ", break_long_words=False
            )
            say(name.ljust(NAME) + lines[0])
            for line in lines[1:]:
                say(" " * NAME + line)


def print_tables(comparisons, transformers, columns, metric, base, first):
    """Print the means, what there is to say of fits, their times, and differences.

    Parameters
    ----------
    comparisons : dict of str to RankerComparison
        By set of features.
    transformers : dict of str to list of transformer
        Fitted to each fold.
    columns : list of str
        Metrics to show.
    metric : str
        Metric of the differences.
    base : str
        Ranker that others are compared to.
    first : str
        Set of features that others are compared to.
    """
    empty = [
        features
        for features, fitted in transformers.items()
        if hasattr(fitted[0], "pairs_") and not any(len(one.pairs_) for one in fitted)
    ]
    comparisons = {k: one for k, one in comparisons.items() if k not in empty}
    rows = [
        (name, features, comparisons[features].results[name])
        for name in next(iter(comparisons.values())).results
        for features in comparisons
    ]
    notes = numbered_notes(rows)
    marks = {
        (name, features): "".join(f" [{notes[text]}]" for text in remarks(result))
        for name, features, result in rows
    }
    say()
    cells = means(rows, columns)
    for name, features, result in rows:
        seconds = "-" if result.problem else f"{np.median(result.seconds):.3f}"
        cells[name, features].append(seconds)
    print_by_set(
        [*(column.upper() for column in columns), "fit (s)"], rows, cells, marks
    )
    say()
    note(STARS + " fit (s): seconds of a fit, median of the folds.")
    for features in empty:
        note(f'"{features}" is left out: no product is kept, so it is first order.')
    for features, fitted in transformers.items():
        if hasattr(fitted[0], "pairs_") and features not in empty:
            counts = ", ".join(f"{len(one.pairs_):,}" for one in fitted)
            note(
                f'Products kept for "{features}", of {fitted[0].n_candidates_:,}, '
                f"fold by fold: {counts}."
            )
    for text, number in notes.items():
        note(text, f"[{number}] ")
    if any(metric in result.values for _, _, result in rows):
        say()
        print_differences(comparisons, rows, metric, base, first)


def remarks(result):
    """Return what there is to say of a ranker's fits."""
    return [*result.warnings] + ([result.problem] if result.problem else [])


def numbered_notes(rows):
    """Return the numbers of all remarks, in order of first use."""
    notes = {}
    for _, _, result in rows:
        for text in remarks(result):
            notes.setdefault(text, len(notes) + 1)
    return notes


def means(rows, columns):
    """Return the means of each row as text, each with its mark behind it."""
    cells = {(name, features): [] for name, features, _ in rows}
    for column in columns:
        values = {
            (name, features): result.values[column]
            for name, features, result in rows
            if column in result.values
        }
        mean = {row: np.nanmean(one) for row, one in values.items()}
        best = max(mean, key=mean.get) if mean else None
        for row in cells:
            if row not in values:
                cells[row].append("- ")
                continue
            behind = values[best] - values[row]
            behind = behind[~np.isnan(behind)]
            error = behind.std(ddof=1) / math.sqrt(len(behind))
            mark = "~" if behind.mean() < 2 * error else " "
            if f"{mean[row]:.4f}" == f"{mean[best]:.4f}":
                mark = "*"
            cells[row].append(f"{mean[row]:.4f}{mark}")
    return cells


def print_by_set(heads, rows, cells, marks):
    """Print rows of rankers and sets of features, each ranker's name once."""
    labels = {
        (name, features): features + marks.get((name, features), "")
        for name, features, _ in rows
    }
    longest = max(map(len, labels.values()))
    widths = [
        1 + max(len(head), *(len(cells[row][i]) for row in cells))
        for i, head in enumerate(heads)
    ]
    line = "".join(h.rjust(w) for h, w in zip(heads, widths, strict=True))
    say("ranker".ljust(NAME + longest) + line)
    say("-" * (NAME + longest + len(line)))
    last = None
    for name, features, _ in rows:
        row = (name, features)
        right = "".join(c.rjust(w) for c, w in zip(cells[row], widths, strict=True))
        left = "" if name == last else name
        say((left.ljust(NAME) + labels[row].ljust(longest) + right).rstrip())
        last = name


def print_differences(comparisons, rows, metric, base, first):
    """Print differences from the first order and from one ranker, list by list."""
    from_base = {
        features: differences(one, one.results, base, metric)
        for features, one in comparisons.items()
    }
    heads = [f"less {base}"]
    if len(comparisons) > 1 and first in comparisons:
        heads.insert(0, f"less {first}")
    cells = {}
    for name, features, _ in rows:
        texts = [from_base[features].get(name, "-")]
        if len(heads) > 1:
            of_name = {k: one.results[name] for k, one in comparisons.items()}
            from_first = differences(comparisons[first], of_name, first, metric)
            texts.insert(0, from_first.get(features, "-"))
        cells[name, features] = texts
    print_by_set(heads, rows, cells, {})
    say()
    note(
        f"Differences of {metric.upper()} in thousandths, list by list, with 95% "
        "intervals, which tell of other test lists, not of other training data. "
        f"less {base}: on the same features."
    )


def differences(like, results, reference, metric):
    """Return the difference of each from a reference with its interval, as text."""
    with_values = {k: one for k, one in results.items() if metric in one.values}
    if reference not in with_values or len(with_values) < 2:
        return {}
    comparison = replace(like, results=with_values, reference=reference)
    texts = {}
    for name, statistics in comparison.statistics(metric).items():
        one = statistics.difference
        if one is not None:
            low, high = thousandths(one.low), thousandths(one.high)
            texts[name] = f"{thousandths(one.difference)} [{low}, {high}]"
    return texts


def thousandths(value):
    """Return a number in thousandths."""
    return f"{1e3 * value:+.{1 if abs(value) < 0.1 else 0}f}"
