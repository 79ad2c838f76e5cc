"""Minimise with kinks or bounds where features are too many for a matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from skrank._data.lists import Floats
from skrank._fit.gram import Gram
from skrank._fit.objective import LinearObjective
from skrank._fit.points import KinkedSearch, Point
from skrank._fit.progress import iteration_done
from skrank._fit.search import EVALUATIONS_AN_ITERATION, met_ftol
from skrank._fit.solution import Solution
from skrank._fit.whitening import units_of_spread

PAST = 20  # steps that L-BFGS-B remembers


def minimize_split(
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
    r"""Minimise by L-BFGS-B over :math:`w = u - v` with :math:`u, v \ge 0`.

    Without a penalty on absolute values, over w itself. Each feature has a unit of its
    own. Needs no matrix, and some ten times the evaluations of a proximal fit.

    Parameters and solution are those of
    :func:`~skrank._fit.proximal.minimize_proximal`; ``tol`` asks for the subgradient
    alone, and ``sums`` are not used.
    """
    search = _Split(objective, start, tol, int(max_iter), verbose, name, enough)
    if max_evaluations is None:
        max_evaluations = EVALUATIONS_AN_ITERATION * int(max_iter)
    search.run(max_evaluations, ftol)
    at = search.at
    objective.shared["last"] = search.smooth_point(), objective.ridge
    residual, problem = search.residual(at), None
    rounding = objective.rounding(at.parameters) if residual > tol else None
    if (
        rounding is not None
        and not search.is_done
        and np.any(np.abs(search.subgradient(at)) > rounding)
    ):
        why = "it reached max_iter" if search.n_iter >= max_iter else "no step helps"
        problem = (
            f"{name} stopped before it converged, after {search.n_iter} iterations "
            f"({why}). The least subgradient is {residual:.2g} of the largest entry of "
            f"the gradient at zero weights; tol={tol:.2g} asks for so much. Raise "
            "max_iter, scale X, or raise alpha or tol."
        )
    return Solution(
        at.parameters,
        at.value,
        search.n_iter,
        problem,
        np.inf,
        search.n_evaluations,
        0,
        None,
        search.highest,
    )


class _Split(KinkedSearch):
    """One minimisation: where it is, and what it has cost."""

    def __init__(
        self,
        objective: LinearObjective,
        start: Floats,
        tol: float,
        max_iter: int,
        verbose: int,
        name: str,
        enough: Callable[[Point, float], bool] | None,
    ) -> None:
        super().__init__(objective, start, name)
        self.tol, self.max_iter, self.enough = tol, max_iter, enough
        self.verbose, self.is_done = verbose, False
        self.evaluate_zero()
        self.evaluate_start()
        self.latest = self.at
        self.both = bool(self.terms.l1.any())

    def evaluate(self, parameters: Floats) -> Point:
        """Evaluate the whole objective at some parameters, and remember the point."""
        self.latest = super().evaluate(parameters)
        return self.latest

    def residual(self, point: Point) -> float:
        """Return the largest entry of the least subgradient, in units of that at 0."""
        return self.size(self.subgradient(point))

    def run(self, max_evaluations: int, ftol: float) -> None:
        """Run L-BFGS-B until the subgradient is small enough."""
        if self.residual(self.at) <= self.tol:
            self.is_done = True
            return
        units = units_of_spread(self.objective, self.zero.gradient).units
        terms, n = self.terms, len(units)
        x = self.at.parameters
        first, low, high = x, terms.low, terms.high
        if self.both:
            # The positive and the negative part of w, with bounds such that w = u - v
            # stays within its own.
            first = np.append(np.maximum(x, 0.0), np.maximum(-x, 0.0))
            low, high = (
                np.append(np.maximum(terms.low, 0.0), np.maximum(-terms.high, 0.0)),
                np.append(np.maximum(terms.high, 0.0), np.maximum(-terms.low, 0.0)),
            )
            # u and v have the unit of their weight.
            units = np.tile(units, 2)

        def scaled(v: Floats) -> tuple[float, Floats]:
            q = v / units
            w = q[:n] - q[n:] if self.both else q
            point = self.evaluate(terms.nearest(w))
            gradient, value = point.gradient, point.value
            if self.both:
                # u and v count each, which is more than their difference where both do
                value += float(terms.l1 @ (q[:n] + q[n:] - np.abs(w)))
                gradient = np.append(gradient + terms.l1, terms.l1 - gradient)
            return value / self.unit, gradient / units / self.unit

        with np.errstate(invalid="ignore"):
            bounds = Bounds(low * units, high * units)
        minimize(
            scaled,
            first * units,
            method="L-BFGS-B",
            jac=True,
            bounds=bounds,
            callback=lambda intermediate_result: self.after_iteration(
                intermediate_result, ftol
            ),
            options={
                "gtol": 0.0,
                "ftol": 0.0,
                "maxiter": self.max_iter,
                "maxls": 50,
                "maxcor": PAST,
                "maxfun": max(1, max_evaluations),
            },
        )

    def after_iteration(self, result: OptimizeResult, ftol: float) -> None:
        """Make the last evaluation the current point, and stop if a rule says so."""
        before, self.at = self.at, self.latest
        self.n_iter += 1
        iteration_done(self.name, self.n_iter, self.at.value, self.verbose)
        fall = before.value - self.at.value
        self.is_done = (
            self.residual(self.at) <= self.tol
            or (
                self.enough is not None
                and self.enough(
                    self.at._replace(gradient=self.subgradient(self.at)), np.inf
                )
            )
            or met_ftol(ftol, fall, max(self.zero.value - self.at.value, 0.0))
        )
        if self.is_done:
            raise StopIteration
