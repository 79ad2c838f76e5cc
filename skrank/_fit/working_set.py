"""Minimise an objective of very many features, few of which get a weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from skrank._data.lists import Floats, Indices
from skrank._fit.gram import Gram
from skrank._fit.objective import LinearObjective
from skrank._fit.points import KinkedSearch, Point
from skrank._fit.proximal import minimize_proximal
from skrank._fit.search import EVALUATIONS_AN_ITERATION, met_ftol
from skrank._fit.solution import Solution
from skrank._fit.split import minimize_split

FEWEST = 64  # features that a set gains at a time, or as many as have a weight
LARGEST = 4096  # set whose curvature is held as a matrix
MOST_SETS = 50
STRICTER = 0.5  # of tol, inside a set: joined sets are a little off


def minimize_on_working_sets(
    objective: LinearObjective,
    start: Floats,
    *,
    tol: float,
    ftol: float,
    max_iter: int,
    verbose: int = 0,
    name: str = "skrank",
    enough: Callable[[Point, float], bool] | None = None,
    max_evaluations: int | None = None,
    sums: Gram | None = None,
) -> Solution:
    """Minimise over sets of features, until no other feature asks for a weight.

    A set holds the features that have a weight and those of the largest subgradients.
    The objective over these alone reads a small X and is minimised by
    :func:`~skrank._fit.proximal.minimize_proximal`; one evaluation over all features
    then shows which others would lower the objective. Sets that outgrow a matrix are
    left for :func:`~skrank._fit.split.minimize_split`.

    Parameters and solution are those of ``minimize_proximal``, but that ``sums`` are
    not used, and ``n_evaluations`` counts those over sets too.
    """
    sets = _Sets(objective, start, name)
    if max_evaluations is None:
        max_evaluations = EVALUATIONS_AN_ITERATION * int(max_iter)
    settings = {
        "tol": STRICTER * tol,
        "ftol": ftol,
        "verbose": verbose,
    }
    for _ in range(MOST_SETS):
        n_left, before = int(max_iter) - sets.n_iter, sets.at.value
        chosen = sets.choose(tol)
        if sets.residual() <= tol or len(chosen) > LARGEST or n_left < 1:
            break
        sets.solve(
            chosen,
            max_iter=n_left,
            max_evaluations=max_evaluations - sets.n_evaluations,
            name=f"{name} ({len(chosen)} features)",
            **settings,
        )
        if sets.problem is not None or sets.n_evaluations >= max_evaluations:
            break
        if enough is not None and enough(sets.subgradient_point(), sets.gap):
            break
        fall, whole = before - sets.at.value, sets.highest - sets.at.value
        if met_ftol(ftol, fall, whole):
            return sets.solution()
    objective.shared["last"] = sets.smooth_point(), objective.ridge
    first = sets.solution()
    if first.problem is not None or sets.residual() <= tol or enough is not None:
        return first
    # Sets became too large or too many: finish over all features, from the point
    # reached.
    second = minimize_split(
        objective,
        first.parameters,
        tol=tol,
        ftol=ftol,
        max_iter=max(int(max_iter) - first.n_iter, 1),
        verbose=verbose,
        name=name,
    )
    return second._replace(
        n_iter=second.n_iter + first.n_iter,
        n_evaluations=second.n_evaluations + first.n_evaluations,
        n_whitenings=first.n_whitenings,
    )


class _Sets(KinkedSearch):
    """Where the search over sets of features is."""

    def __init__(self, objective: LinearObjective, start: Floats, name: str) -> None:
        super().__init__(objective, start, name)
        self.n_grams = 0
        self.problem: str | None = None
        self.gap = 0.0
        self.evaluate_zero()
        self.evaluate_start()
        self.slope = self.subgradient(self.at)

    def residual(self) -> float:
        """Return the largest entry of the least subgradient, in units of that at 0."""
        return self.size(self.slope)

    def choose(self, tol: float) -> Indices:
        """Return features with a weight, and those that lead down the most."""
        n_features = self.objective.n_features
        held = self.at.parameters[:n_features] != 0.0
        if self.objective.data.constant is not None:
            held &= ~self.objective.data.constant
        slopes = np.abs(self.slope[:n_features])
        slopes[held] = 0.0
        # Double the set at most: sets that grow by a constant number would take too
        # many fits.
        n_more = max(FEWEST, int(held.sum()))
        best = np.argsort(-slopes, kind="stable")[:n_more]
        held[best[slopes[best] > 0.5 * tol * self.unit]] = True
        return np.flatnonzero(held)

    def solve(self, chosen: Indices, **settings: Any) -> None:
        """Minimise over some features, and evaluate over all where that ends."""
        whole, n_features = self.objective, self.objective.n_features
        data = replace(whole.data, X=whole.data.X[:, chosen], constant=None)
        part = whole.remade(data, whole.loss)
        if whole.bounds is not None:
            part.bounds = whole.bounds[0][chosen], whole.bounds[1][chosen]
        part.share_threads(whole)
        places = np.append(chosen, np.arange(n_features, len(self.at.parameters)))
        # The value at zero weights is the same for any set of features, so nothing has
        # to be evaluated again.
        part.shared["zero"] = Point(
            part.start, self.zero.value, self.zero.gradient[places]
        )
        smooth = self.smooth_point()
        start = Point(smooth.parameters[places], smooth.value, smooth.gradient[places])
        part.shared["last"] = start, whole.ridge
        solution = minimize_proximal(part, start.parameters, **settings)
        parameters = self.at.parameters.copy()
        parameters[places] = solution.parameters
        self.at = self.evaluate(parameters)
        self.slope = self.subgradient(self.at)
        self.n_iter += solution.n_iter
        self.n_evaluations += solution.n_evaluations
        self.n_grams += solution.n_whitenings
        self.problem, self.gap = solution.problem, solution.gap

    def solution(self) -> Solution:
        """Return where the search is, and what it took."""
        return Solution(
            self.at.parameters,
            self.at.value,
            self.n_iter,
            self.problem,
            self.gap,
            self.n_evaluations,
            self.n_grams,
            None,
            self.highest,
        )

    def subgradient_point(self) -> Point:
        """Return where the search is, with the least subgradient."""
        return self.at._replace(gradient=self.slope)
