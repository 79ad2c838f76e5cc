"""Minimise an objective: L-BFGS, with scales and messages that suit rankers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from skrank._data.lists import Floats
from skrank._fit.objective import LinearObjective

LAST_DIGITS = 64 * float(np.finfo(np.float64).eps)  # of the objective, lost in its sums
PAST, LEAST_PAST = 30, 10  # steps that L-BFGS remembers, the fewer the wider X
PAST_BYTES = 2**23
# Smooth losses in place of one with kinks, ever closer to it, until the objective is
# surely within this share of the least possible.
WIDTHS = 4.0 ** -np.arange(16)
GAP = 1e-4
# Without a penalty nothing tells how near the least value is. Near a kink the gradient
# turns within the width: what tol asks of a smooth loss would cost ten times the
# iterations, for digits beyond the gap. So 100 times tol will do, up to the largest
# that leaves the gap to the widths.
SMOOTHED_TOL = 100.0
LARGEST_SMOOTHED_TOL = 1e-3


class Solution(NamedTuple):
    """Parameters found, their objective, the number of iterations, what went wrong.

    ``problem`` says why the solver stopped early, for the ranker to warn of; else None.
    ``value_at_zero`` is the objective at zero weights, where the solver knows it.
    """

    parameters: Floats
    value: float
    n_iter: int
    problem: str | None = None
    value_at_zero: float = np.nan


def minimize_lbfgs(
    objective: LinearObjective,
    start: Floats,
    *,
    tol: float,
    ftol: float,
    max_iter: int,
    verbose: int = 0,
    name: str = "skrank",
    enough: Callable[[Floats, float, Floats], bool] | None = None,
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
    enough : callable, default=None
        Called with parameters, value and gradient after each iteration; true is
        success.

    Returns
    -------
    solution : Solution
        Parameters, objective and number of iterations; a problem if the solver stops
        for any reason but success, unless ``tol`` is met or rounding is all that is
        left of the gradient.

    Raises
    ------
    ValueError
        If the objective is not finite at zero weights, or where the solver ends.

    """
    max_iter = int(max_iter)  # NumPy's small integers overflow when multiplied
    value_at_zero, gradient_at_zero = objective(objective.start)
    steepest = float(np.max(np.abs(gradient_at_zero), initial=0.0))
    if not np.isfinite(value_at_zero + steepest):
        raise ValueError(_not_finite(name, "at zero weights"))
    if steepest == 0.0 and not start.any():
        return Solution(start, value_at_zero, 0, None, value_at_zero)
    units = _units(objective, gradient_at_zero)
    scale = float(np.max(np.abs(gradient_at_zero) / units)) or 1.0

    seen: tuple[Floats, float, Floats] = (start, value_at_zero, gradient_at_zero)

    def scaled(parameters: Floats) -> tuple[float, Floats]:
        nonlocal seen
        weights = parameters / units
        seen = (weights, *objective(weights))
        return (seen[1] - value_at_zero) / scale, seen[2] / units / scale

    numbers = count(1)
    halted = False

    def report(intermediate_result: OptimizeResult) -> None:
        nonlocal halted
        number = next(numbers)
        if verbose > 0 and number % verbose == 0:
            value = intermediate_result.fun * scale + value_at_zero
            print(f"[{name}] iteration {number}: objective {value:.9g}")
        # The solver has just been where it steps to.
        if enough is not None and enough(*seen):
            halted = True
            raise StopIteration

    if verbose > 0:
        print(f"[{name}] zero weights: objective {value_at_zero:.9g}")
    bounds = _bounds(objective)
    result = _minimize(scaled, start * units, tol, ftol, max_iter, bounds, report)
    if ftol <= LAST_DIGITS and result.nit < max_iter and not halted:
        left = max_iter - result.nit
        result = _finish(scaled, result, tol, left, bounds, report, lambda: halted)
    value = float(result.fun) * scale + value_at_zero
    largest = float(np.max(np.abs(result.jac), initial=0.0))
    if verbose > 0:
        print(
            f"[{name}] stopped after {result.nit} iterations: objective {value:.9g}, "
            f"gradient {largest:.2g} of that at zero weights"
        )
    parameters = result.x / units
    if not (np.isfinite(value + largest) and np.isfinite(parameters).all()):
        raise ValueError(_not_finite(name, f"after {result.nit} iterations"))
    problem = None
    if result.status == 1:
        advice = "Raise max_iter, scale X, or raise alpha."
    else:
        advice = "Scale X, raise alpha, or raise tol."
    failed = result.status != 0 and largest > tol and not halted
    if failed and not (result.status == 2 and _is_rounding(objective, parameters)):
        problem = (
            f"{name} stopped before it converged, after {result.nit} iterations "
            f"(solver: {result.message}). The largest gradient entry is {largest:.2g} "
            f"of that at zero weights; tol asks for {tol:.2g}. {advice}"
        )
    return Solution(parameters, value, int(result.nit), problem, value_at_zero)


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
            "maxcor": int(np.clip(PAST_BYTES // (16 * len(start)), LEAST_PAST, PAST)),
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
    is_halted: Callable[[], bool],
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
    if is_halted() or np.max(np.abs(end.jac)) < np.max(np.abs(first)):
        result.x, result.jac = end.x, end.jac
        if end.status == 1:  # the limit of iterations
            result.status, result.message = end.status, end.message
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
    r"""Minimise an objective whose loss has kinks, where L-BFGS stalls.

    Smooth losses below it are minimised one after the other, each from the last one's
    solution, with widths of 1, 1/4, 1/16, ... With a penalty,

    .. math:: \min F \ge F_w(x) - \|\nabla F_w(x)\|^2 / (2 \alpha)

    for a smooth :math:`F_w` below F, wherever x is. So each is minimised until it is
    as near to its least value as to F, and the sequence ends when F is at most a share
    of itself above its least possible value, for certain: 1e-4, or ``tol`` if that is
    more. Without a penalty each is minimised to 100 times ``tol`` where that is at most
    1e-3. Else the parameters of :func:`minimize_lbfgs` mean the same; ``max_iter`` is
    that of all together.

    Returns
    -------
    solution : Solution
        Parameters, the objective itself there, and the number of all iterations.
    """
    share = max(GAP, tol)
    near = _NearEnough(objective, share)
    if near.certain:
        tol = 0.0
    else:
        tol = max(tol, min(SMOOTHED_TOL * tol, LARGEST_SMOOTHED_TOL))
    left = int(max_iter)
    for width in WIDTHS:
        smoothed = objective.loss.smoothed(float(width))
        assert smoothed is not None
        smooth = objective.with_loss(smoothed)
        below = minimize_lbfgs(
            smooth,
            start,
            tol=tol,
            ftol=ftol,
            max_iter=left,
            verbose=verbose,
            name=f"{name} (kinks rounded by {width:g})",
            enough=near,
        )
        start = below.parameters
        left -= below.n_iter
        value = objective(start)[0]
        gap = value - below.value
        if gap <= 0.5 * share * value or left < 1:
            break
    if near.certain:
        gap += near.error(smooth(start)[1])
    # What a user's ftol ends is as near as was asked, however little is certain.
    stopped = ftol <= LAST_DIGITS or left < 1 or below.problem is not None
    problem = None if near.certain else below.problem
    if problem is None and stopped and gap > share * value:
        problem = (
            f"{name} stopped after {max_iter - left} iterations with kinks rounded by "
            f"{width:g}, which leaves the value {value:.6g} up to {gap:.2g} above the "
            "least possible. Raise max_iter, scale X, or raise alpha."
        )
    at_zero = objective(objective.start)[0]
    return Solution(start, value, max_iter - left, problem, at_zero)


class _NearEnough:
    """Tell when a smooth objective is minimised as closely as the one with kinks needs.

    Parameters
    ----------
    objective : LinearObjective
        The one with kinks.
    share : float
        Of its value that it may be above the least possible, all in all.
    """

    def __init__(self, objective: LinearObjective, share: float) -> None:
        self.objective, self.share = objective, share
        self.certain = objective.alpha > 0 and len(objective.extra_start) == 0
        self.kinks = np.inf  # what lay between the two when last seen, about

    def error(self, gradient: Floats) -> float:
        """Return how far a smooth objective can be above its least value."""
        with np.errstate(over="ignore"):
            return float(gradient @ (gradient / (2.0 * self.objective.alpha)))

    def __call__(self, parameters: Floats, value: float, gradient: Floats) -> bool:
        """Tell it at these parameters, given the smooth value and gradient."""
        if not self.certain:
            return False
        error = self.error(gradient)
        if error > self.kinks:
            return False
        above = self.objective(parameters)[0]
        self.kinks = max(above - value, 0.5 * self.share * above)
        return error <= self.kinks


def _not_finite(name: str, where: str) -> str:
    return (
        f"The objective of {name} is not finite {where}. X holds values so large or so "
        "small that sums over them overflow or vanish: scale X, for example with "
        "StandardScaler. With a loss of your own, see that it returns numbers."
    )


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
    proportion to the loss's own slope, which stands for its curvature. Where the
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
