"""How many evaluations of the objective fits take, and what stands beside them."""

from __future__ import annotations

import csv
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from newton import least_by_newton
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from yardstick import report

from skrank import with_groups
from skrank._fit.gram import passes_of_gram
from skrank._fit.lbfgs import LAST_DIGITS, minimize_lbfgs
from skrank._fit.objective import LinearObjective
from skrank.datasets import load_letor
from skrank.linear_model import (
    DavidsonRanker,
    ListMLERanker,
    ListNetRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
    RaoKupperRanker,
)
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import QueryKFold, RankerCV

# Public data that are not ours to give away: SKRANK_SHARED names their folder.
SHARED = Path(os.environ.get("SKRANK_SHARED", Path(__file__).parents[2] / "shared"))
FILES = {
    "MQ2008": [f"mq2008/S{number}.txt.gz" for number in range(1, 6)],
    "LightGBM's example": ["lightgbm_lambdarank/train.txt.gz"],
    "MSLR, 5,000 rows": ["mslr_web10k_fold1_train5k/train.5k.txt.gz"],
}
BEFORE = Path(__file__).parent / "results/solver_before.csv"
ALPHAS = [0.1, 0.01, 1e-3, 1e-4]
RANKERS = [
    (ListMLERanker(), {}),
    (ListMLERanker("breslow"), {}),
    (ListMLERanker("marginal"), {}),
    (ListNetRanker(), {}),
    (RankNetRanker(), {}),
    (RankSVMRanker(), {"MSLR, 5,000 rows, raw": 50}),
    (RankRegressionRanker(), {}),
    (DavidsonRanker(), {}),
    (RaoKupperRanker(), {}),
]
N_FITS = 200  # of 500 x 20, whose median counts


def load(name):
    """Return X, y and groups of a data set."""
    parts = [load_letor(SHARED / "data" / path) for path in FILES[name]]
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def data_sets():
    """Yield the name of each data set that is there, its most evaluations, its data."""
    for name, most in zip(FILES, [20, 20, 40], strict=True):
        if not (SHARED / "data" / FILES[name][0]).exists():
            print(f"{name} is not there: {SHARED / 'data'}", file=sys.stderr)
            continue
        X, y, groups = load(name)
        if "MSLR" in name:
            yield f"{name}, raw", most, (X, y, groups)
            X = StandardScaler().fit_transform(X)
            name += ", standardised"
        yield name, most, (X, y, groups)


def solved(ranker, data):
    """Return the solution, what a Gram matrix costs, and its share above the least."""
    X, y, groups = data
    checked = ranker._fit_data(X, y, groups, None, None)
    ranker.alpha_ = ranker.alpha
    objective = ranker._objective(checked, ranker._loss())
    with objective.running():
        solution = minimize_lbfgs(
            objective, objective.start, tol=1e-6, ftol=LAST_DIGITS, max_iter=1000
        )
        least = least_by_newton(objective, solution.parameters)[0]
    above = (solution.value - least) / abs(least)
    return solution, passes_of_gram(objective), above


def values_before():
    """Return the objective of each fit at version 0.1's first solver, by its name."""
    with BEFORE.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {
        (row["data"], row["ranker"], float(row["alpha"])): float(row["objective"])
        for row in rows
    }


def counts():
    """Return rows of each ranker over all penalties.

    The most evaluations, the passes that Gram matrices take beside them, how far the
    objective ends above Newton's least value, and above that of the solver before.
    """
    measured, before = [], values_before()
    for name, most, data in data_sets():
        for ranker, more in RANKERS:
            numbers, passes, above, over = [], [], [], []
            title = f"{name}, {ranker}"
            for alpha in ALPHAS:
                solution, cost, share = solved(ranker.set_params(alpha=alpha), data)
                ranker.set_params(alpha=0.1)
                numbers.append(solution.n_evaluations)
                passes.append(solution.n_whitenings * cost)
                above.append(share)
                old = before[name, str(ranker), alpha]
                over.append((solution.value - old) / abs(old))
                if solution.problem is not None:
                    numbers.append(np.inf)
            target = more.get(name, most)
            measured.append((f"{title}, evaluations", max(numbers), target))
            measured.append((f"{title}, Gram matrices in passes", max(passes), None))
            measured.append((f"{title}, 1e-9 above Newton", max(above) / 1e-9, 1.0))
            measured.append((f"{title}, 1e-9 above before", max(over) / 1e-9, 1.0))
    return measured


def small_fits():
    """Return a row: milliseconds of CPU that a fit of 500 x 20 takes, one thread."""
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((500, 20)), np.repeat(np.arange(50), 10)
    y = rng.integers(0, 3, 500)
    times = []
    for _ in range(N_FITS):
        start = time.process_time()
        ListMLERanker().fit(X, y, groups)
        times.append(time.process_time() - start)
    return [("a fit of 500 x 20, ms", 1000 * float(np.median(times)), 2.5)]


def beside_the_solver():
    """Return rows: CPU time of a fit before and after the solver runs.

    Of a dense fit in reads of X (``X.sum()``), of a wide sparse one in evaluations.
    """
    rng = np.random.default_rng(0)
    n_rows, n_columns, n_stored = 100_000, 1_000_000, 50
    columns = np.sort(rng.integers(0, n_columns, (n_rows, n_stored)), axis=1)
    wide = sparse.csr_array(
        (
            rng.random(columns.size),
            columns.ravel(),
            np.arange(0, columns.size + 1, n_stored),
        ),
        shape=(n_rows, n_columns),
    )
    wide.sum_duplicates()
    cases = [
        ("300,000 x 136, reads", rng.standard_normal((300_000, 136)), 4.0),
        ("sparse 100,000 x 1,000,000, by evaluations of", wide, 2.0),
    ]
    return [
        (f"beside the solver, {name} X", _share_beside(X), target)
        for name, X, target in cases
    ]


def _share_beside(X):
    """Return the median CPU time of a fit of X beside the solver, in its unit."""
    n_rows = X.shape[0]
    y, groups = (
        np.random.default_rng(1).integers(0, 3, n_rows),
        np.arange(n_rows) // 100,
    )
    inside, calls = [], []
    solve, evaluate = ListMLERanker._solve, LinearObjective.__call__

    def timed(function, times):
        def run(*arguments):
            start = time.process_time()
            result = function(*arguments)
            times.append(time.process_time() - start)
            return result

        return run

    ListMLERanker._solve = timed(solve, inside)
    LinearObjective.__call__ = timed(evaluate, calls)
    shares = []
    try:
        for _ in range(5):
            inside.clear()
            calls.clear()
            start = time.process_time()
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                ListMLERanker().fit(X, y, groups)  # some columns cannot rank
            beside = time.process_time() - start - sum(inside)
            start = time.process_time()
            X.sum()
            read = time.process_time() - start
            unit = np.median(calls) if sparse.issparse(X) else read
            shares.append(beside / unit)
    finally:
        ListMLERanker._solve, LinearObjective.__call__ = solve, evaluate
    return float(np.median(shares))


def jittered(n_copies=2, seed=0):
    """Return standardised copies of MSLR rows with noise of a tenth of each feature.

    Each copy has lists of its own: 10,000 x 136.
    """
    X, y, groups = load("MSLR, 5,000 rows")
    X = StandardScaler().fit_transform(X)
    rng = np.random.default_rng(seed)
    copies = [X + 0.1 * rng.standard_normal(X.shape) for _ in range(n_copies)]
    names = [groups + number * (groups.max() + 1) for number in range(n_copies)]
    return np.vstack(copies), np.tile(y, n_copies), np.concatenate(names)


def paths():
    """Return rows: evaluations of RankerCV, 5 folds and 10 penalties, and its time."""
    if not (SHARED / "data" / FILES["MSLR, 5,000 rows"][0]).exists():
        return []
    X, y, groups = jittered()
    alphas = np.logspace(-4, 1, 10)
    calls = []
    evaluate = LinearObjective.__call__

    def counted(self, parameters):
        calls.append(1)
        return evaluate(self, parameters)

    LinearObjective.__call__ = counted
    measured = []
    try:
        for ranker in (ListMLERanker(), RankNetRanker()):
            calls.clear()
            start = time.process_time()
            RankerCV(ranker, alphas, cv=QueryKFold(5)).fit(X, y, groups)
            taken, n_calls = time.process_time() - start, len(calls)
            calls.clear()
            start = time.process_time()
            GridSearchCV(
                ranker,
                {"alpha": alphas},
                cv=QueryKFold(5),
                scoring=make_ranking_scorer("ndcg@10"),
            ).fit(X, with_groups(y, groups))
            grid = time.process_time() - start
            name = f"RankerCV({ranker})"
            measured.append((f"{name}, evaluations", n_calls, 500))
            measured.append((f"{name}, time over GridSearchCV's", taken / grid, None))
    finally:
        LinearObjective.__call__ = evaluate
    return measured


def rows():
    """Return (name, number, target or None) of each measurement."""
    return counts() + small_fits() + beside_the_solver() + paths()


if __name__ == "__main__":
    sys.exit(report(rows()))
