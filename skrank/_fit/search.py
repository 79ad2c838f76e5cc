"""One minimisation by L-BFGS, in coordinates that are renewed where that pays."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from skrank._data.lists import Floats
from skrank._fit.gram import (
    Basis,
    Gram,
    needs_basis,
    passes_of_gram,
    row_space,
    weighted_gram,
)
from skrank._fit.objective import LinearObjective
from skrank._fit.parts import gram_inside_parts
from skrank._fit.points import Point, known_start, not_finite
from skrank._fit.progress import iteration_done, solver_began
from skrank._fit.uncorrelated import diagonal_of_few
from skrank._fit.whitening import (
    Coordinates,
    Units,
    Whitened,
    can_be_whitened,
    units_of_spread,
)

# Relative rounding error of the objective.
LAST_DIGITS = 64 * float(np.finfo(np.float64).eps)
PAST, LEAST_PAST = 30, 10  # steps that L-BFGS remembers; fewer for wide X
PAST_BYTES = 2**23
# Evaluations before features are whitened again, with the curvature at the current
# point; twice as many each time from the second on. After fewer, the weights D of rows
# in the curvature (doc/math/solver.md, "Whitening") would be far from those at the end.
PATIENCE = 8
# Whiten again only if the estimated gap must still fall by 3 powers of ten, plus one
# for every 8 evaluations that a Gram matrix costs.
DECADES, PASSES_A_DECADE = 3.0, 8.0
# If whitening costs more passes than this, begin without: the fit may end before.
MOST_PASSES = 50.0
# Share of the first Gram matrix in later ones. Rows in the flat part of a loss have no
# curvature there, so that steps along them would be too long without this.
KEPT = 0.01
EVALUATIONS_AN_ITERATION = 100  # of a whole fit, on average
NOTHING = 1e-10  # ratio of slopes that rounding can explain


class Search:
    """One minimisation: its current point, its cost, and why it ended.

    ``reason`` is None while it runs, and "stuck" if no step lowers the objective.
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
        max_evaluations: int | None = None,
    ) -> None:
        self.objective, self.start, self.enough = objective, start, enough
        self.tol, self.ftol, self.max_iter = tol, ftol, max_iter
        self.verbose, self.name = verbose, name
        if max_evaluations is None:
            max_evaluations = EVALUATIONS_AN_ITERATION * max_iter
        self.max_evaluations = max_evaluations
        self.n_iter = self.n_evaluations = self.n_whitenings = 0
        self.reason: str | None = None
        self.coordinates: Coordinates
        self.first_sums: Gram | None = None
        self.last_sums: Gram | None = None
        self.basis: Basis | None = None
        self.patience = np.inf
        self.has_moved = False
        self.known_slope: tuple[Floats, Coordinates, Floats] | None = None

    def begin(self) -> None:
        """Evaluate at zero weights and at the start."""
        zero = self.objective.start
        shared = self.objective.shared
        if "zero" not in shared:
            shared["zero"] = self.evaluate(zero)
        self.zero = shared["zero"]
        steepest = np.max(np.abs(self.zero.gradient), initial=0.0)
        if not np.isfinite(self.zero.value + steepest):
            raise ValueError(not_finite(self.name, "at zero weights"))
        solver_began(self.name, self.zero.value, self.verbose)
        if np.array_equal(self.start, zero):
            self.at = self.latest = self.zero
        else:
            self.at = self.latest = known_start(
                self.objective, self.start
            ) or self.evaluate(self.start)
        if steepest == 0.0 and not self.start.any():
            self.reason = "converged"

    def evaluate(self, parameters: Floats) -> Point:
        """Evaluate the objective at some parameters."""
        self.n_evaluations += 1
        self.latest = Point(parameters, *self.objective(parameters))
        return self.latest

    def climb_down(self, sums: Gram | None) -> None:
        """Run L-BFGS, and renew the coordinates where that pays."""
        self.has_moved = True
        self.passes = passes_of_gram(self.objective)
        sums = sums or self.objective.shared.get("sums")
        if sums is not None:
            self.whiten(sums)
        elif self.passes <= MOST_PASSES:
            self.whiten()
        else:
            self.coordinates = units_of_spread(self.objective, self.zero.gradient)
            self.patience = max(self.passes, PATIENCE)
        if self.is_done():
            self.reason = "converged"
        met_tol = False
        while self.reason is None:
            self.run(self.down_by_value)
            if self.reason == "whiten":
                self.reason = None
                self.whiten()
            elif self.reason == "converged" and self.whiten_inside_parts():
                met_tol = True
                self.reason = "converged" if self.is_done() else None
        if self.reason == "stuck" and self.ftol <= LAST_DIGITS:
            self.go_on_by_gradients()
        # If tol was met before lists were cut into parts, nothing is left inside these.
        self.reason = "converged" if self.reason == "stuck" and met_tol else self.reason

    def whiten(self, sums: Gram | None = None) -> None:
        """Make coordinates from the curvature at this point, or from known sums."""
        first = self.first_sums
        if sums is None:
            if needs_basis(self.objective) and self.basis is None:
                self.basis = row_space(self.objective, self.at.parameters)
            self.n_whitenings += 1
            with np.errstate(over="ignore", invalid="ignore"):
                if first is None:
                    sums = diagonal_of_few(self.objective, self.at.parameters)
                sums = sums or weighted_gram(
                    self.objective, self.at.parameters, self.basis
                )
        if first is None:
            self.first_sums = sums
            self.patience = PATIENCE
        else:
            # Keep a little of the first curvature, for rows that are now in the flat
            # part of the loss.
            sums = sums.mixed(first, KEPT)
            self.patience = PATIENCE * 2 ** max(self.n_whitenings - 2, 0)
        self.last_sums = self.objective.shared["sums"] = sums
        alpha = self.objective.ridge
        if can_be_whitened(sums, alpha):
            self.coordinates = Whitened(sums, alpha, self.at.gradient)
        else:
            self.coordinates = units_of_spread(self.objective, self.zero.gradient)
            self.patience = np.inf

    def whiten_inside_parts(self) -> bool:
        """Leave out the curvature between far parts of lists, which is not there."""
        if isinstance(self.coordinates, Units):
            return False
        sums = gram_inside_parts(self.objective, self.at.parameters, self.basis)
        if sums is not None:
            self.n_whitenings, self.first_sums = self.n_whitenings + 1, None
            self.whiten(sums)
        return sums is not None

    def run(self, function: Callable) -> None:
        """Run L-BFGS from this point until it is done, or whitening again pays."""
        self.n_before = self.n_evaluations
        self.change = self.change_so_far = 0.0
        origin = self.at
        slope = self.coordinates.slope(origin.gradient)
        self.held = self.is_rounding_beside_extra(slope)
        if self.held:
            # Only the loss's own parameters move in this run.
            slope[: len(slope) - len(self.objective.extra_start)] = 0.0
        length = _norm(slope)
        if not length > 0.0:
            self.reason = "stuck"
            return
        # The solver's first step has length 1 in v = u / step, which is Newton's step
        # in whitened coordinates.
        self.step = 1.0 if isinstance(self.coordinates, Units) else length
        self.length = length
        first, size = slope / length, len(slope)

        def scaled(v: Floats) -> tuple[float, Floats]:
            if not v.any():
                return 0.0, first
            change = self.coordinates.move(self.step * v)
            point = self.evaluate(origin.parameters + change)
            gradient = self.slope_at(point) / length
            if self.held:
                gradient[: size - len(self.objective.extra_start)] = 0.0
            return function(origin, point, v, first, gradient), gradient

        minimize(
            scaled,
            np.zeros(size),
            method="L-BFGS-B",
            jac=True,
            bounds=self.bounds(origin.parameters),
            callback=self.after_iteration,
            options={
                "gtol": 0.0,
                "ftol": 0.0,
                "maxiter": self.max_iter - self.n_iter,
                "maxls": 50,
                "maxcor": int(np.clip(PAST_BYTES // (16 * size), LEAST_PAST, PAST)),
                "maxfun": max(1, self.max_evaluations - self.n_evaluations),
            },
        )
        if self.reason is None:
            self.reason = "limit" if self.n_iter >= self.max_iter else "stuck"

    def is_rounding_beside_extra(self, slope: Floats) -> bool:
        """Return whether the slope of weights is rounding beside the other slopes.

        Then weights stay fixed for now. If all rows tie, their slope is rounding alone,
        which would move them further with each step.
        """
        n_extra = len(self.objective.extra_start)
        n_weights = len(slope) - n_extra
        largest = np.max(np.abs(slope[n_weights:]), initial=0.0)
        return bool(np.all(np.abs(slope[:n_weights]) <= NOTHING * largest) and n_extra)

    def down_by_value(
        self, origin: Point, point: Point, v: Floats, first: Floats, gradient: Floats
    ) -> float:
        """Return the change of the objective in the solver's units.

        Where values since the last step have no digits, gradients tell what it adds.
        """
        change, digits = point.value - origin.value, LAST_DIGITS * abs(self.at.value)
        if abs(point.value - self.at.value) <= digits:
            step = point.parameters - self.at.parameters
            by_slopes = 0.5 * float((self.at.gradient + point.gradient) @ step)
            if abs(by_slopes) <= digits:
                change = self.change_so_far + by_slopes
        self.change = change
        return change / self.step / self.length

    def down_by_gradient(
        self, origin: Point, point: Point, v: Floats, first: Floats, gradient: Floats
    ) -> float:
        """Return that change to third order, by the trapezoid ``(g_0 + g)·v / 2``."""
        return 0.5 * float((first + gradient) @ v)

    def go_on_by_gradients(self) -> None:
        """Continue by gradients where values have no digits left.

        Near the optimum a step changes the value by less than its rounding error, but
        still changes the gradient.
        """
        before, self.reason, self.patience = self.at, None, np.inf
        largest = np.max(np.abs(self.coordinates.slope(before.gradient)))
        self.run(self.down_by_gradient)
        slope = self.coordinates.slope(self.at.gradient)
        if self.reason == "stuck" and not np.max(np.abs(slope)) < largest:
            self.at = before

    def after_iteration(self, intermediate_result: OptimizeResult) -> None:
        """Make the last evaluation the current point, and stop if a rule says so."""
        before, self.at, self.change_so_far = self.at, self.latest, self.change
        self.n_iter += 1
        iteration_done(self.name, self.n_iter, self.at.value, self.verbose)
        if self.is_done():
            self.reason = "converged"
        elif self.enough is not None and self.enough(self.at, self.gap()):
            self.reason = "enough"
        elif self.n_iter >= self.max_iter:
            self.reason = "limit"
        elif met_ftol(self.ftol, before.value - self.at.value, self.decrease()):
            self.reason = "ftol"
        elif self.whitening_pays():
            self.reason = "whiten"
        if self.reason is not None:
            raise StopIteration

    def whitening_pays(self) -> bool:
        """Return whether enough has been done, and enough remains, to whiten again."""
        if self.held and not self.is_rounding_beside_extra(
            self.coordinates.slope(self.at.gradient)
        ):
            return True
        if self.n_evaluations - self.n_before < self.patience:
            return False
        if isinstance(self.coordinates, Units):
            return True
        with np.errstate(divide="ignore"):
            ratio = self.share_left() / self.tol if self.tol else np.inf
            least = DECADES + self.passes / PASSES_A_DECADE
            return bool(2.0 * np.log10(ratio) >= least)

    def decrease(self) -> float:
        """Return the decrease of the objective since zero weights."""
        return max(self.zero.value - self.at.value, 0.0)

    def gap(self) -> float:
        """Return the estimate of how far the objective is above its least value.

        Without whitening it is rough, since units do not reflect curvature.
        """
        if isinstance(self.coordinates, Units):
            return np.inf
        slope = self.free_slope(self.at)
        with np.errstate(over="ignore"):
            return 0.5 * float(slope.dot(slope))

    def share_left(self) -> float:
        """Return the root of the estimate's share of the decrease.

        If values have no digits to show a decrease, take the decrease that the first
        gradient predicts. Without whitening, return the largest entry of the gradient
        over that at zero weights.
        """
        slope = self.free_slope(self.at)
        if isinstance(self.coordinates, Units):
            first = self.coordinates.slope(self.zero.gradient)
            largest = float(np.max(np.abs(slope), initial=0.0))
            return largest / (float(np.max(np.abs(first), initial=0.0)) or 1.0)
        length = _norm(slope)
        if self.decrease() > LAST_DIGITS * abs(self.zero.value):
            whole = np.sqrt(2.0 * self.decrease())
        else:
            whole = _norm(self.coordinates.slope(self.zero.gradient))
        return length / float(whole) if whole > 0.0 else length

    def is_done(self) -> bool:
        """Return whether ``tol`` is met."""
        return self.share_left() <= self.tol

    def slope_at(self, point: Point) -> Floats:
        """Return the gradient in the solver's coordinates; computed once a point."""
        known = self.known_slope
        if (
            known is None
            or known[0] is not point.gradient
            or known[1] is not self.coordinates
        ):
            slope = self.coordinates.slope(point.gradient)
            known = self.known_slope = (point.gradient, self.coordinates, slope)
        return known[2]

    def free_slope(self, point: Point) -> Floats:
        """Return the gradient in the solver's coordinates, with 0 where bounds hold."""
        slope = self.slope_at(point)
        n_extra = len(self.objective.extra_start)
        if n_extra:
            slope = slope.copy()
            extra = point.parameters[self.objective.n_features :]
            extra_slope = slope[len(slope) - n_extra :]
            limit = self.objective.loss.extra_limit
            extra_slope[(np.abs(extra) >= limit) & (extra_slope * extra < 0.0)] = 0.0
        return slope

    def bounds(self, origin: Floats) -> Bounds | None:
        """Return the bounds of the loss's own parameters; weights have none."""
        limit = self.objective.loss.extra_limit
        n_extra = len(self.objective.extra_start)
        if n_extra == 0 or np.isinf(limit):
            return None
        low = np.full(self.coordinates.size, -np.inf)
        high = -low
        extra = origin[self.objective.n_features :]
        unit = self.coordinates.extra_units() / self.step
        # In the solver's units, relative to the origin. 0 must stay allowed, though
        # rounding may put the origin just outside.
        low[len(low) - n_extra :] = np.minimum((-limit - extra) * unit, 0.0)
        high[len(high) - n_extra :] = np.maximum((limit - extra) * unit, 0.0)
        return Bounds(low, high)


def met_ftol(ftol: float, fall: float, decrease: float) -> bool:
    """Return whether an iteration lowered the objective by too little to go on."""
    return ftol > LAST_DIGITS and fall <= ftol * decrease


def _norm(slope: Floats) -> float:
    """Return the length of a vector, infinite where squares overflow."""
    with np.errstate(over="ignore"):
        return math.sqrt(float(slope.dot(slope)))
