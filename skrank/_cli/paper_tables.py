"""What the command prints of the paper's experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skrank._cli.paper import BASE, BESIDE, CENTRED, FIRST, OF_PAPER, RAW
from skrank._cli.rankers import shown
from skrank._cli.tables import (
    STARS,
    heading,
    metric_cells,
    note,
    print_kept,
    print_notes,
    print_rows,
    say,
)
from skrank.model_selection._ranker_comparison import RankerComparison
from skrank.model_selection._report import marked_names
from skrank.model_selection._result import RankerResult

NAME = max(map(len, OF_PAPER | BESIDE)) + 1


def print_names() -> None:
    """Print what each name in the tables is in this package."""
    for kind, rankers in (("in the paper", OF_PAPER), ("beside it", BESIDE)):
        say("")
        say(kind.ljust(NAME) + "here")
        for name, (ranker, settings) in rankers.items():
            say(name.ljust(NAME) + shown(ranker.__name__, settings))


def print_paper(
    found: Mapping[str, RankerComparison],
    learned: Mapping[str, Sequence[Any]],
    columns: list[str],
    metric: str,
) -> None:
    """Print the paper's two tables, and the differences with their intervals.

    Sets of features to which no fold adds a product are left out of all three.
    """
    without = [
        name
        for name in (CENTRED, RAW)
        if name in learned and not any(len(one.pairs_) for one in learned[name])
    ]
    found = {name: one for name, one in found.items() if name not in without}
    n_folds = len(learned[FIRST])
    together = _together(found)
    cells = metric_cells(together, columns)
    marked = marked_names(together)
    say("")
    _print_by_set(
        [f"{heading(name)} " for name in columns],
        {marked[row]: cells[row] for row in cells},
    )
    say("")
    note(STARS[0].upper() + STARS[1:])
    for name in without:
        where = " in any fold" if n_folds > 1 else ""
        note(f'"{name}" is left out: no product is kept{where}, so it is first order.')
    for name in (CENTRED, RAW):
        if name in found:
            print_kept(f' for "{name}"', learned[name])
    print_notes(together, columns)

    say("")
    times = [
        (name, [_seconds(one.results[name]) for one in found.values()])
        for name in found[FIRST].results
    ]
    print_rows(list(found), times)
    say("")
    note("Seconds of a fit" + (", median of the folds." if n_folds > 1 else "."))
    if metric in together.metrics:
        say("")
        _print_differences(found, metric)


def _seconds(result: RankerResult) -> str:
    return "-" if result.problem else f"{np.median(result.seconds):.3f}"


def _row(ranker: str, features: str, found: Mapping[str, Any]) -> str:
    """Return what a row is called; one set of features goes without saying."""
    return ranker.ljust(NAME) + features if len(found) > 1 else ranker


def _together(found: Mapping[str, RankerComparison]) -> RankerComparison:
    """Return all rankers on all sets of features as one comparison."""
    first = found[FIRST]
    results = {
        _row(ranker, features, found): one.results[ranker]
        for ranker in first.results
        for features, one in found.items()
    }
    return replace(first, results=results)


def _print_by_set(heads: list[str], cells: Mapping[str, list[str]]) -> None:
    """Print rows of rankers and sets of features, each ranker's name once."""
    rows, last = [], ""
    for row, numbers in cells.items():
        name = row[:NAME]
        rows.append((row if name != last else " " * NAME + row[NAME:], numbers))
        last = name
    print_rows(heads, rows)


def _print_differences(found: Mapping[str, RankerComparison], metric: str) -> None:
    """Print differences from the first order, and from one ranker, list by list."""
    from_base = {
        features: _differences(one, one.results, BASE, metric)
        for features, one in found.items()
    }
    cells = {}
    for ranker in found[FIRST].results:
        sets = {features: one.results[ranker] for features, one in found.items()}
        from_first = _differences(found[FIRST], sets, FIRST, metric)
        for features in found:
            cells[_row(ranker, features, found)] = [
                *([from_first.get(features, "-")] if len(found) > 1 else []),
                from_base[features].get(ranker, "-"),
            ]
    heads = [f"less {name}" for name in ((FIRST, BASE) if len(found) > 1 else (BASE,))]
    _print_by_set(heads, cells)
    say("")
    confidence = 100 * found[FIRST].confidence
    note(
        f"Differences of {heading(metric)} in thousandths, list by list, with "
        f"{confidence:g}% intervals, which tell of other test lists, not of other "
        f"training data. less {BASE}: on the same features."
    )


def _differences(
    like: RankerComparison,
    results: Mapping[str, RankerResult],
    reference: str,
    metric: str,
) -> dict[str, str]:
    """Return the difference of each from a reference, and its interval."""
    ranked = {name: one for name, one in results.items() if metric in one.values}
    if not ranked:
        return {}
    comparison = replace(like, results=ranked, reference=reference)
    found = {
        name: statistics.difference
        for name, statistics in comparison.statistics(metric).items()
    }
    return {
        name: f"{_thousandths(one.difference)} "
        f"[{_thousandths(one.low)}, {_thousandths(one.high)}]"
        for name, one in found.items()
        if one is not None
    }


def _thousandths(value: float) -> str:
    return f"{1e3 * value:+.{1 if abs(value) < 0.1 else 0}f}"
