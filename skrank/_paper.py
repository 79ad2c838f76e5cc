"""The experiment of the paper on ordered partitions, as the command runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sklearn.preprocessing import StandardScaler

from skrank import linear_model as lm
from skrank._settings import made, shown
from skrank._table import (
    STARS,
    all_together,
    heading,
    metric_cells,
    note,
    print_kept,
    print_notes,
    print_rows,
    say,
    seconds,
)
from skrank.model_selection._comparison import Fold, compare
from skrank.model_selection._named_metrics import Metric
from skrank.model_selection._report import marked_names
from skrank.model_selection._result import RankerComparison, RankerResult
from skrank.preprocessing import SecondOrderFeatures

TITLE = "the experiment of Truyen, Phung and Venkatesh (SDM 2011)"
# The name in the paper, and what it is here.
OF_PAPER: dict[str, tuple[type, dict[str, Any]]] = {
    "Rank Regress": (lm.RankRegressionRanker, {"differences": "labels"}),
    "RankNet": (lm.RankNetRanker, {}),
    "Ranking SVM": (lm.RankSVMRanker, {"hinge": "linear"}),
    "ListMLE, ties by order": (lm.ListMLERanker, {"ties": "order"}),
    "ListMLE, ties at random": (lm.ListMLERanker, {"ties": "random"}),
    "PairTies-D": (lm.DavidsonRanker, {}),
    "PairTies-RK": (lm.RaoKupperRanker, {}),
    "PMOP-FD": (lm.PMOPRanker, {"potential": "arithmetic"}),
    "PMOP-Gibbs": (lm.PMOPRanker, {"potential": "geometric", "inference": "gibbs"}),
    "PMOP-MH": (lm.PMOPRanker, {"potential": "geometric", "inference": "metropolis"}),
}
BASE = "ListMLE, Efron"  # what others are compared to
BESIDE: dict[str, tuple[type, dict[str, Any]]] = {
    BASE: (lm.ListMLERanker, {"ties": "efron"}),
    "PMOP, exact": (lm.PMOPRanker, {"potential": "geometric"}),
    "Rank Regress, margin": (lm.RankRegressionRanker, {"differences": "margin"}),
    "Ranking SVM, squared": (lm.RankSVMRanker, {"hinge": "squared"}),
    "ListNet": (lm.ListNetRanker, {}),
}
FIRST, CENTRED, RAW = "first order", "+ centred", "+ raw"
FTOL = 1e-5
MAX_ITER = 100
LIMIT = f"Ended at {MAX_ITER} iterations in at least one fold, as the protocol has it."
NAME = max(map(len, OF_PAPER | BESIDE)) + 1


def paper_rankers(alpha: float | None, n_jobs: int, seed: int) -> dict[str, Any]:
    """Return the rankers with the paper's rules for stopping, by name."""
    common = {"alpha": alpha or 0.0, "n_jobs": n_jobs, "random_state": seed}
    rankers = {}
    for name, (ranker, settings) in (OF_PAPER | BESIDE).items():
        stop: dict[str, Any] = {"ftol": FTOL, "max_iter": MAX_ITER}
        if "inference" in settings:
            stop = {}  # the defaults of chains are the paper's
        rankers[name] = made(ranker, settings, **common, **stop)
    return rankers


def feature_sets(threshold: float | None, with_mean: bool) -> dict[str, Any]:
    """Return the transformers; without a threshold there are no products."""
    sets: dict[str, Any] = {FIRST: StandardScaler(with_mean=with_mean)}
    if threshold is not None:
        sets[CENTRED] = SecondOrderFeatures(threshold)
        sets[RAW] = SecondOrderFeatures(threshold, center=False)
    return sets


def protocol(rankers: Mapping[str, Any]) -> str:
    """Say when fits stop."""
    chain = rankers["PMOP-MH"]
    return (
        f"alpha: {chain.alpha:g}; L-BFGS stops at a relative improvement of {FTOL:g} "
        f"or after {MAX_ITER} iterations, chains after {chain.max_iter:,} passes with "
        f"steps of {chain.learning_rate:g}"
    )


def print_names() -> None:
    """Print what each name in the tables is in this package."""
    for kind, rankers in (("in the paper", OF_PAPER), ("beside it", BESIDE)):
        say("")
        say(kind.ljust(NAME) + "here")
        for name, (ranker, settings) in rankers.items():
            say(name.ljust(NAME) + shown(ranker, settings))


def run_paper(
    rankers: Mapping[str, Any],
    sets: Mapping[str, Any],
    folds: Sequence[Fold],
    metrics: Mapping[str, Metric],
    progress: Callable[[int, str], None],
    **options: Any,
) -> tuple[dict[str, RankerComparison], dict[str, list[Any]]]:
    """Compare the rankers on each set of features.

    Returns
    -------
    found : dict of str to RankerComparison
        By set of features.
    learned : dict of str to list of transformer
        Fitted to each fold.
    """
    found: dict[str, RankerComparison] = {}
    learned: dict[str, list[Any]] = {name: [] for name in sets}
    for name, transformer in sets.items():
        found[name] = compare(
            rankers,
            folds,
            metrics,
            transformer=transformer,
            learned=learned[name].append,
            progress=lambda fold, ranker, n=name: progress(fold, f"{ranker}, {n}"),
            **options,
        )
    return found, learned


def print_paper(
    found: Mapping[str, RankerComparison],
    learned: Mapping[str, Sequence[Any]],
    columns: list[str],
    metric: str,
    n_folds: int,
) -> None:
    """Print the paper's two tables, and the differences with their intervals."""
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
    for name in (CENTRED, RAW):
        if name in learned:
            print_kept(f' for "{name}"', learned[name])
    print_notes(together, columns)

    say("")
    times = [
        (name, [seconds(name, one.results[name]) for one in found.values()])
        for name in found[FIRST].results
    ]
    print_rows("ranker", list(found), times)
    say("")
    note(f"Seconds of fitting{all_together(n_folds)}.")
    if metric in together.metrics:
        say("")
        _print_differences(found, metric)


def _row(ranker: str, features: str, found: Mapping[str, Any]) -> str:
    """Return what a row is called; one set of features goes without saying."""
    return ranker.ljust(NAME) + features if len(found) > 1 else ranker


def _together(found: Mapping[str, RankerComparison]) -> RankerComparison:
    """Return all rankers on all sets of features as one comparison."""
    first = found[FIRST]
    results = {
        _row(ranker, features, found): _as_asked(one.results[ranker])
        for ranker in first.results
        for features, one in found.items()
    }
    return replace(first, results=results)


def _as_asked(result: RankerResult) -> RankerResult:
    """Say of all fits that ended at the protocol's limit the same, not what to do."""
    known = {
        LIMIT if "stopped before it converged" in text else text: count
        for text, count in result.warnings.items()
    }
    return replace(result, warnings=known)


def _print_by_set(heads: list[str], cells: Mapping[str, list[str]]) -> None:
    """Print rows of rankers and sets of features, each ranker's name once."""
    rows, last = [], ""
    for row, numbers in cells.items():
        name = row[:NAME]
        rows.append((row if name != last else " " * NAME + row[NAME:], numbers))
        last = name
    print_rows("ranker", heads, rows)


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
    shown = {name: one for name, one in results.items() if metric in one.values}
    if not shown:
        return {}
    comparison = replace(like, results=shown, reference=reference)
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
