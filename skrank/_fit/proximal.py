"""Minimise an objective with kinks and bounds of weights, by proximal Newton steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skrank._data.lists import Floats
from skrank._fit.gram import Gram, weighted_gram
from skrank._fit.objective import LinearObjective
from skrank._fit.points import (
    KinkedSearch,
    Point,
    known_start,
    not_finite,
    why_stopped,
)
from skrank._fit.progress import iteration_done, solver_began, solver_ended
from skrank._fit.quadratic import Quadratic
from skrank._fit.search import EVALUATIONS_AN_ITERATION, LAST_DIGITS, met_ftol
from skrank._fit.solution import Solution
from skrank._fit.uncorrelated import diagonal_of_few

MOST_GRAMS = 6  # matrices of a fit: later ones add little to what steps have shown
PATIENCE = 8  # evaluations before the next, twice as many each time from the second on
DECADES = 3.0  # of the gap that must be left for a matrix to pay
SUFFICIENT = 1e-4  # least decrease of a step, as a share of the promised one
HALVINGS = 40  # of a step, after which the search is stuck
SHORTEST, LONGEST = 0.1, 0.5  # what is left of a step that was too long


class ProximalSearch(KinkedSearch):
    """One minimisation by proximal Newton steps: where it is, and why it ended.

    ``reason`` is as in :class:`~skrank._fit.search.Search`.
    """

    def __init__(
        self,
        objective: LinearObjective,
        start: Floats,
        tol: float,
        ftol: float,
        max_iter: int,
        verbose: int,
        name: str,
        enough: Callable[[Point, float], bool] | None,
        max_evaluations: int,
    ) -> None:
        super().__init__(objective, start, name)
        self.tol, self.ftol, self.max_iter = tol, ftol, max_iter
        self.verbose, self.enough = verbose, enough
        self.max_evaluations = max_evaluations
        self.n_grams = self.n_before = 0
        self.reason: str | None = None
        self.sums: Gram | None = None
        self.model: Quadratic

    def begin(self, sums: Gram | None) -> None:
        """Evaluate at zero weights and at the start; take a model of the curvature."""
        self.evaluate_zero()
        solver_began(self.name, self.zero.value, self.verbose)
        self.evaluate_start(self.known_start())
        shared = self.objective.shared
        known = shared.get("model")
        if sums is None and known is not None:
            n_features = self.objective.n_features
            self.model = known.with_ridge(self.objective.ridge, n_features)
        else:
            self.make_model(sums or shared.get("sums"))
        self.look_ahead()

    def known_start(self) -> Point | None:
        """Return the objective at the start, if another penalty's fit ended there."""
        smooth = known_start(self.objective, self.start)
        if smooth is None:
            return None
        return smooth._replace(value=smooth.value + self.terms.value(self.start))

    def make_model(self, sums: Gram | None = None) -> None:
        """Take the model from the curvature here, or from sums that are known."""
        if sums is None:
            with np.errstate(over="ignore", invalid="ignore"):
                if self.n_grams == 0:
                    sums = diagonal_of_few(self.objective, self.at.parameters)
                sums = sums or weighted_gram(self.objective, self.at.parameters)
            self.n_grams += 1
            self.objective.shared["sums"] = sums
        self.sums = sums
        model = Quadratic.from_sums(sums, self.objective.ridge, self.at.gradient)
        if model is None:
            raise ValueError(not_finite(self.name, "in its second derivatives"))
        self.model = model
        self.n_before = self.n_evaluations

    def look_ahead(self) -> None:
        """Find the next step and what it promises."""
        at = self.at
        self.slope = self.subgradient(at)
        target = self.model.least(at.parameters, at.gradient, self.terms)
        self.target, self.step = target, target - at.parameters
        # Change of the penalty over the whole step. Each parameter's difference comes
        # first, since sums over all would cancel.
        self.kinks = float(self.terms.l1 @ (np.abs(target) - np.abs(at.parameters)))
        self.promise = float(at.gradient @ self.step) + self.kinks
        # Minus the least value of the model: slope and kinks along the step, and the
        # curvature, 1/2 s^T B s.
        self.gap = max(-self.promise - self.model.change(self.step), 0.0)

    def residual(self) -> float:
        """Return the largest entry of the least subgradient, in units of that at 0."""
        return self.size(self.slope)

    def decrease(self) -> float:
        """Return how far the objective has come down."""
        return max(self.highest - self.at.value, 0.0)

    def is_done(self) -> bool:
        """Return whether ``tol`` is met, by the subgradient and by the model."""
        if self.residual() > self.tol:
            return False
        # Below the rounding of the value the gap cannot be told from 0.
        rounding = LAST_DIGITS * abs(self.at.value) * self.tol
        return self.gap <= max(self.tol**2 * self.decrease(), rounding * self.tol)

    def run(self) -> None:
        """Step until done."""
        if self.is_done():
            self.reason = "converged"
        while self.reason is None:
            before = self.at
            if not self.move():
                if self.n_evaluations > self.n_before and self.n_grams < MOST_GRAMS:
                    self.make_model()
                    self.look_ahead()
                    self.n_before = self.n_evaluations  # once at one point
                    if self.move():
                        self.after_step(before)
                        continue
                self.reason = "stuck"
                return
            self.after_step(before)

    def move(self) -> bool:
        """Take the step, shortened until enough of its promise is kept."""
        at, length = self.at, 1.0
        if not self.promise < 0.0:
            return False
        for _ in range(HALVINGS):
            parameters = at.parameters + length * self.step
            if length == 1.0:  # exactly at kinks and bounds
                parameters = self.target
            point = self.evaluate(parameters)
            change = self.change_to(point, parameters - at.parameters, length)
            if change <= SUFFICIENT * length * self.promise:
                self.model.learn(
                    parameters - at.parameters, point.gradient - at.gradient
                )
                self.at = point
                return True
            if self.n_evaluations >= self.max_evaluations:
                return False
            # Where a parabola through value, slope and this value is least.
            bend = change - length * self.promise
            share = -0.5 * length * self.promise / bend if bend > 0 else SHORTEST
            share = share if np.isfinite(share) else SHORTEST
            length *= min(max(share, SHORTEST), LONGEST)
        return False

    def change_to(self, point: Point, step: Floats, length: float) -> float:
        """Return the change of the objective, by gradients where values have no digits.

        By the trapezoid, to third order.
        """
        at = self.at
        change = point.value - at.value
        if not np.isfinite(change):
            return np.inf
        if abs(self.promise) * length > LAST_DIGITS * abs(at.value):
            return change
        smooth = 0.5 * float((at.gradient + point.gradient) @ step)
        kinks = float(
            self.terms.l1 @ (np.abs(point.parameters) - np.abs(at.parameters))
        )
        return smooth + kinks

    def after_step(self, before: Point) -> None:
        """Look at where the step led; stop where the search should."""
        self.n_iter += 1
        iteration_done(self.name, self.n_iter, self.at.value, self.verbose)
        self.look_ahead()
        if self.is_done():
            self.reason = "converged"
        elif self.enough is not None and self.enough(
            self.at._replace(gradient=self.slope), self.gap
        ):
            self.reason = "enough"
        elif self.n_iter >= self.max_iter or self.n_evaluations >= self.max_evaluations:
            self.reason = "limit"
        elif met_ftol(self.ftol, before.value - self.at.value, self.decrease()):
            self.reason = "ftol"
        elif self.new_model_pays():
            self.make_model()
            self.look_ahead()

    def new_model_pays(self) -> bool:
        """Return whether the search is far from its matrix, and far from the end."""
        patience = PATIENCE * 2 ** max(self.n_grams - 1, 0)
        if (
            self.n_grams >= MOST_GRAMS
            or self.n_evaluations - self.n_before < patience
            or not self.tol > 0.0
        ):
            return False
        largest_gap = self.tol**2 * self.decrease()
        return bool(self.gap > 10.0**DECADES * largest_gap)


def minimize_proximal(
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
    r"""Minimise an objective with a penalty on absolute values or bounds.

    Each step goes to the minimum of a quadratic model of the smooth part plus the
    penalty within the bounds, or on the way there as far as the objective falls. The
    model begins with the weighted Gram matrix and learns from the gradients that steps
    meet. The fit ends where both hold: the least subgradient within the bounds is at
    most ``tol`` times the largest entry of the gradient at zero weights, in each entry;
    and what the model promises is at most ``tol**2`` times the decrease so far, which
    also notices features of small scale beside large ones.

    Parameters
    ----------
    objective, start, tol, ftol, max_iter, verbose, name, enough, max_evaluations, sums
        As in :func:`~skrank._fit.lbfgs.minimize_lbfgs`; ``tol`` also as above.

    Returns
    -------
    solution : Solution
        The result; its value is that of the whole objective.

    Raises
    ------
    ValueError
        If the objective is not finite at zero weights, where the solver starts or
        where it ends.
    """
    if max_evaluations is None:
        max_evaluations = EVALUATIONS_AN_ITERATION * int(max_iter)
    search = ProximalSearch(
        objective,
        start,
        tol,
        ftol,
        int(max_iter),
        verbose,
        name,
        enough,
        max_evaluations,
    )
    search.begin(sums)
    search.run()
    objective.shared["last"] = search.smooth_point(), objective.ridge
    objective.shared["model"] = search.model
    return _solution(search)


def _solution(search: ProximalSearch) -> Solution:
    """Return where the search ended, and what went wrong."""
    at = search.at
    solver_ended(search.name, search.n_iter, at.value, search.gap, search.verbose)
    if not np.isfinite(at.value + np.sum(at.parameters + at.gradient)):
        raise ValueError(not_finite(search.name, f"after {search.n_iter} iterations"))
    problem = None
    if search.reason == "limit" or (
        search.reason == "stuck" and not _is_rounding(search)
    ):
        problem = _problem(search)
    return Solution(
        at.parameters,
        at.value,
        search.n_iter,
        problem,
        search.gap,
        search.n_evaluations,
        search.n_grams,
        search.sums,
        search.highest,
    )


def _problem(search: ProximalSearch) -> str:
    """Return a text that the solver stopped early, with advice."""
    why, advice = why_stopped(search.reason or "")
    decrease = search.decrease()
    share = search.gap / decrease if decrease > 0 else search.gap
    return (
        f"{search.name} stopped before it converged, after {search.n_iter} iterations "
        f"({why}). The least subgradient is {search.residual():.2g} of the largest "
        f"entry of the gradient at zero weights; tol={search.tol:.2g} asks for so "
        f"much. By estimate the objective is {share:.2g} of its decrease above the "
        f"least possible; tol asks for {search.tol**2:.2g}. {advice}"
    )


def _is_rounding(search: ProximalSearch) -> bool:
    """Return whether the subgradient is rounding alone."""
    rounding = search.objective.rounding(search.at.parameters)
    return bool(np.all(np.abs(search.slope) <= rounding))
