"""What fits with a penalty on absolute weights or bounds take, and what they leave."""

from __future__ import annotations

import time
import warnings
from itertools import product

import numpy as np
from bench_solver import data_sets
from scipy import sparse

from skrank._fit.minimizing import minimize_smooth
from skrank._fit.objective import LinearObjective
from skrank._fit.search import LAST_DIGITS
from skrank.linear_model import (
    DavidsonRanker,
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
    RaoKupperRanker,
)

RANKERS = [
    ListMLERanker(),
    ListNetRanker(),
    RankNetRanker(),
    RankSVMRanker(),
    RankRegressionRanker(),
    DavidsonRanker(),
    RaoKupperRanker(),
]
RATIOS, SHARES = [0.1, 0.5, 1.0], [0.1, 0.01, 0.001]
MOST_EVALUATIONS, MOST_GRAMS = 43, 6
TOL = 1e-6


def objective_of(ranker, data):
    """Return what a ranker minimises, without a penalty."""
    X, y, groups = data
    checked = ranker._fit_data(X, y, groups, None)
    ranker.alpha_ = 0.0
    return ranker._objective(checked, ranker._loss())


def bounds_of(name, p):
    """Return bounds by name."""
    if name == "free":
        return None
    if name == "positive":
        return np.zeros(p), np.full(p, np.inf)
    return np.full(p, -0.02), np.full(p, 0.05)


def solved(ranker, data):
    """Return evaluations, Gram matrices and residuals of all settings."""
    base = objective_of(ranker, data)
    p = base.n_features
    steepest = np.max(np.abs(base(base.start)[1][:p]))
    costs = []
    for ratio, share, box in product(RATIOS, SHARES, ["free", "positive", "box"]):
        objective = base.with_penalty(share * steepest / ratio, {})
        objective.l1_ratio, objective.bounds = ratio, bounds_of(box, p)
        with objective.running():
            solution = minimize_smooth(
                objective, objective.start, tol=TOL, ftol=LAST_DIGITS, max_iter=1000
            )
            gradient = objective(solution.parameters)[1]
        least = objective.terms().subgradient(solution.parameters, gradient)
        residual = np.max(np.abs(least)) / steepest
        if solution.problem is not None:
            residual = np.inf
        costs.append((solution.n_evaluations, solution.n_whitenings, residual))
    return np.max(costs, axis=0)


def counts():
    """Return rows: the most of all penalties and bounds, for each data set."""
    measured = []
    for name, _, data in data_sets():
        n_grams, residuals = [], []
        for ranker in RANKERS:
            n_evaluations, grams, residual = solved(ranker, data)
            measured.append(
                (f"{name}, {ranker}, evaluations", n_evaluations, MOST_EVALUATIONS)
            )
            n_grams.append(grams)
            residuals.append(residual)
        n_evaluations, grams, residual = solved(PMOPRanker(), data)
        measured.append((f"{name}, PMOPRanker(), not convex", n_evaluations, None))
        n_grams.append(grams)
        residuals.append(residual)
        measured.append((f"{name}, Gram matrices, at most", max(n_grams), MOST_GRAMS))
        measured.append(
            (f"{name}, least subgradient over tol, at most", max(residuals) / TOL, 1.0)
        )
    return measured


def cpu(ranker, data):
    """Return the CPU time of a fit."""
    start = time.process_time()
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        ranker.fit(*data)
    return time.process_time() - start


def beside_ridge():
    """Return rows: CPU time of elastic nets and bounds over that of the ridge fit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300_000, 136))
    X += X[:, :1]  # correlated
    weights = np.where(np.arange(136) % 4 == 0, rng.normal(0, 0.3, 136), 0.0)
    groups = np.arange(len(X)) // 100
    y = np.digitize(X @ weights + 2.0 * rng.standard_normal(len(X)), [0, 1, 2])
    data = X, y, groups
    rows = []
    for ranker, share in product([ListMLERanker, RankNetRanker], [0.1, 0.01, 0.001]):
        base = objective_of(ranker(), data)
        largest = np.max(np.abs(base(base.start)[1]))
        alpha = share * largest / 0.5
        del base
        ratios = [
            cpu(ranker(alpha=alpha, l1_ratio=0.5), data)
            / cpu(ranker(alpha=alpha), data)
            for _ in range(3)
        ]
        what = f"300,000 x 136, {ranker.__name__}, elastic net at {share:g}, ridge fits"
        rows.append((what, float(np.median(ratios)), 3.0))
    ratios = [
        cpu(ListMLERanker(positive=True), data) / cpu(ListMLERanker(), data)
        for _ in range(3)
    ]
    what = "300,000 x 136, ListMLERanker, positive, ridge fits"
    rows.append((what, float(np.median(ratios)), 3.0))
    return rows


def wide():
    """Return rows: 100,000 sparse columns, of which 50 tell the order."""
    rng = np.random.default_rng(0)
    n_rows, n_columns = 20_000, 100_000
    noise = sparse.random_array(
        (n_rows, n_columns - 50), density=5e-4, random_state=rng, format="csr"
    )
    informative = sparse.random_array((n_rows, 50), density=0.2, random_state=rng)
    X = sparse.csr_array(sparse.hstack([noise, informative]))
    score = informative @ np.where(np.arange(50) % 2 == 0, 3.0, -3.0)
    y = np.digitize(score + rng.gumbel(size=n_rows), [-2.0, 0.0, 2.0, 4.0])
    data = X, y, np.arange(n_rows) // 20
    lasso = RankNetRanker(alpha=0.003, l1_ratio=1.0, normalize="terms")
    ridge = RankNetRanker(alpha=0.1, normalize="terms")
    ratios = [cpu(lasso, data) / cpu(ridge, data) for _ in range(5)]
    evaluate, calls = LinearObjective.__call__, []
    LinearObjective.__call__ = lambda self, parameters: (
        calls.append(self.n_features) or evaluate(self, parameters)
    )
    try:
        cpu(lasso, data)
    finally:
        LinearObjective.__call__ = evaluate
    active = np.flatnonzero(lasso.coef_)
    name = "sparse 20,000 x 100,000, 50 features tell"
    return [
        (f"{name}, CPU time, ridge fits", float(np.median(ratios)), 3.0),
        (f"{name}, of all columns, evaluations", calls.count(n_columns), 10),
        (f"{name}, of a set, evaluations", len(calls) - calls.count(n_columns), 43),
        (f"{name}, features with a weight", len(active), None),
        (f"{name}, those that tell", int(np.sum(active >= n_columns - 50)), None),
    ]


def rows():
    """Yield each measurement, its ratio and what is asked."""
    yield from counts()
    yield from beside_ridge()
    yield from wide()
