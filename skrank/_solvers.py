"""Minimise an objective: L-BFGS, with scales and messages that suit rankers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from skrank._lists import Floats
from skrank._objective import LinearObjective

LAST_DIGITS = 64 * np.finfo(np.float64).eps  # of the objective, lost in its sums
# Smooth losses in place of one with kinks, ever closer to it, until the objective is
# surely within this share of the least possible.
WIDTHS = 10.0 ** -np.arange(9)
GAP = 1e-4
# Near a kink the gradient turns within the width: what tol asks of a smooth loss would
# cost ten times the iterations, for digits beyond the gap. So 100 times tol will do, up
# to the largest that leaves the gap to the widths.
SMOOTHED_TOL = 100.0
LARGEST_SMOOTHED_TOL = 1e-3


class Solution(NamedTuple):
    """Parameters found, their objective, the number of iterations, what went wrong.

    ``problem`` says why the solver stopped early, for the ranker to warn of; else None.
    """

    parameters: Floats
    value: float
    n_iter: int
    problem: str | None = None


def minimize_lbfgs(
    objective: LinearObjective,
    start: Floats,
    *,
    tol: float,
    ftol: float,
    max_iter: int,
    verbose: int = 0,
    name: str = "skrank",
) -> Solution:
    """Minimise an objective by SciPy's L-BFGS-B.

    The solver sees weights in units of the scores that they make: each is multiplied
    by about the square root of the curvature along it, from the spread of its feature
    and the penalty. It sees the objective less its value at zero weights, divided by
    the largest entry of its gradient there. So ``tol`` and ``ftol`` mean the same for
    every loss and every scale of a feature, and constants do not count.

    Parameters
    ----------
    objective : LinearObjective
        Called with parameters, returns value and gradient.
    start : ndarray of shape (n_parameters,)
        Where to start.
    tol : float
        Stop when the largest entry of the gradient, in these units, is at most this
        share of the largest at zero weights.
    ftol : float
        Stop when an iteration lowers the scaled objective by less than this share. At
        64 eps or less the values have run out of digits: then gradients alone go on
        until ``tol`` is met or they, too, have none left.
    max_iter : int
        Largest number of iterations.
    verbose : int, default=0
        Print a line every ``verbose`` iterations, where positive.
    name : str, default="skrank"
        Who speaks in messages.

    Returns
    -------
    solution : Solution
        Parameters, objective and number of iterations; a problem if the solver stops
        for any reason but success, unless ``tol`` is met or rounding is all that is
        left of the gradient.

    Raises
    ------
    ValueError
        If the objective is not finite at zero weights.

    """
    value_at_zero, gradient_at_zero = objective(objective.start)
    steepest = float(np.max(np.abs(gradient_at_zero), initial=0.0))
    if not np.isfinite(value_at_zero + steepest):
        raise ValueError(
            f"The objective of {name} is not finite at zero weights. X holds values "
            "so large that sums over them overflow; scale X, for example with "
            "StandardScaler."
        )
    if steepest == 0.0 and not start.any():
        return Solution(start, value_at_zero, 0)
    units = _units(objective, gradient_at_zero)
    scale = float(np.max(np.abs(gradient_at_zero) / units)) or 1.0

    def scaled(parameters: Floats) -> tuple[float, Floats]:
        value, gradient = objective(parameters / units)
        return (value - value_at_zero) / scale, gradient / units / scale

    numbers = count(1)

    def report(intermediate_result: OptimizeResult) -> None:
        number = next(numbers)
        if verbose > 0 and number % verbose == 0:
            value = intermediate_result.fun * scale + value_at_zero
            print(f"[{name}] iteration {number}: objective {value:.9g}")

    if verbose > 0:
        print(f"[{name}] zero weights: objective {value_at_zero:.9g}")
    bounds = _bounds(objective)
    result = _minimize(scaled, start * units, tol, ftol, max_iter, bounds, report)
    if ftol <= LAST_DIGITS and result.nit < max_iter:
        result = _finish(scaled, result, tol, max_iter - result.nit, bounds, report)
    value = float(result.fun) * scale + value_at_zero
    largest = float(np.max(np.abs(result.jac), initial=0.0))
    if verbose > 0:
        print(
            f"[{name}] stopped after {result.nit} iterations: objective {value:.9g}, "
            f"gradient {largest:.2g} of that at zero weights"
        )
    parameters = result.x / units
    problem = None
    if result.status == 1:
        advice = "Raise max_iter, scale X, or raise alpha."
    else:
        advice = "Scale X, raise alpha, or raise tol."
    failed = result.status != 0 and largest > tol
    if failed and not (result.status == 2 and _is_rounding(objective, parameters)):
        problem = (
            f"{name} stopped before it converged, after {result.nit} iterations "
            f"(solver: {result.message}). The largest gradient entry is {largest:.2g} "
            f"of that at zero weights; tol asks for {tol:.2g}. {advice}"
        )
    return Solution(parameters, value, int(result.nit), problem)


def _minimize(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    tol: float,
    ftol: float,
    max_iter: int,
    bounds: Bounds | None,
    report: Callable[[OptimizeResult], None] | None = None,
) -> OptimizeResult:
    """Run L-BFGS-B on a function that returns its value and gradient."""
    return minimize(
        function,
        start,
        method="L-BFGS-B",
        jac=True,
        bounds=bounds,
        callback=report,
        options={
            "gtol": tol,
            "ftol": ftol,
            "maxiter": max_iter,
            "maxls": 50,
            "maxfun": 100 * max_iter,
        },
    )


def _finish(
    function: Callable[[Floats], tuple[float, Floats]],
    result: OptimizeResult,
    tol: float,
    max_iter: int,
    bounds: Bounds | None,
    report: Callable[[OptimizeResult], None],
) -> OptimizeResult:
    """Go on by gradients alone where values have run out of digits.

    Near the optimum a step changes the value by less than its rounding, though not the
    gradient. The trapezoid ``(g_0 + g)·(x - x_0) / 2`` is that change to third order.
    """
    origin, first = result.x, result.jac

    def by_gradient(parameters: Floats) -> tuple[float, Floats]:
        gradient = function(parameters)[1]
        return 0.5 * float((first + gradient) @ (parameters - origin)), gradient

    def report_value(intermediate_result: OptimizeResult) -> None:
        report(OptimizeResult(fun=result.fun + intermediate_result.fun))

    if np.max(np.abs(first), initial=0.0) <= tol:
        return result
    end = _minimize(by_gradient, origin, tol, 0.0, max_iter, bounds, report_value)
    if np.max(np.abs(end.jac)) < np.max(np.abs(first)):
        result.x, result.jac = end.x, end.jac
        result.fun = function(end.x)[0]
        result.nit += end.nit
    return result


def minimize_by_smoothing(
    objective: LinearObjective,
    start: Floats,
    *,
    tol: float,
    ftol: float,
    max_iter: int,
    verbose: int = 0,
    name: str = "skrank",
) -> Solution:
    """Minimise an objective whose loss has kinks, where L-BFGS stalls.

    Smooth losses below it are minimised one after the other, each from the last one's
    solution, with widths of 1, 0.1, 0.01, ... Their least value is never above that
    of the objective, so what lies between the two at the solution bounds its error; the
    sequence ends when this is at most 1e-4 of the objective. The parameters of
    :func:`minimize_lbfgs` mean the same, but that each smooth objective is minimised
    to 100 times ``tol`` where that is at most 1e-3; ``max_iter`` is that of all
    together.

    Returns
    -------
    solution : Solution
        Parameters, the objective itself there, and the number of all iterations.
    """
    tol = max(tol, min(SMOOTHED_TOL * tol, LARGEST_SMOOTHED_TOL))
    left = max_iter
    for width in WIDTHS:
        smoothed = objective.loss.smoothed(float(width))
        assert smoothed is not None
        below = minimize_lbfgs(
            objective.with_loss(smoothed),
            start,
            tol=tol,
            ftol=ftol,
            max_iter=left,
            verbose=verbose,
            name=f"{name} (kinks rounded by {width:g})",
        )
        start = below.parameters
        value = objective(start)[0]
        left -= below.n_iter
        near = value - below.value <= GAP * value
        if near or left < 1:
            break
    problem = below.problem
    if problem is None and not near:
        problem = (
            f"{name} stopped with kinks rounded by {width:g}, which leaves the value "
            f"up to {value - below.value:.2g} above the least. Raise max_iter."
        )
    return Solution(start, value, max_iter - left, problem)


def _bounds(objective: LinearObjective) -> Bounds | None:
    """Return the bounds of the loss's own parameters; weights have none."""
    limit = objective.loss.extra_limit
    if len(objective.extra_start) == 0 or np.isinf(limit):
        return None
    largest = np.full(len(objective.start), np.inf)
    largest[objective.n_features :] = limit
    return Bounds(-largest, largest)


def _units(objective: LinearObjective, gradient_at_zero: Floats) -> Floats:
    """Return the score that one unit of each parameter makes.

    ``sqrt(spread_j^2 + alpha / slope)``: the penalty curves the objective too, in
    in proportion to the loss's own slope, which stands for its curvature. Where the
    penalty curves it more than the loss, weights of about 1 in these units are far off:
    the solver starts with a step of length 1, so that units are larger by this ratio.
    """
    spread = objective.spread()
    slope = float(np.max(np.abs(gradient_at_zero[: len(spread)]) / spread, initial=0.0))
    penalty = np.sqrt(objective.alpha) / np.sqrt(slope) if slope > 0 else 0.0
    units = np.hypot(spread, penalty)
    n_extra = len(gradient_at_zero) - len(spread)
    steepest = np.max(np.abs(gradient_at_zero[: len(spread)]) / units, initial=0.0)
    if n_extra == 0 and steepest > 0:
        units *= slope / steepest
    return np.append(units, np.ones(n_extra))


def _is_rounding(objective: LinearObjective, parameters: Floats) -> bool:
    """Tell whether rounding is all that is left of the gradient."""
    gradient = np.abs(objective(parameters)[1])
    return bool(np.all(gradient <= objective.rounding(parameters)))
