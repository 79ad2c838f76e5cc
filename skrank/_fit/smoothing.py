"""Minimise an objective whose loss has kinks, by smooth losses that approach it."""

from __future__ import annotations

import numpy as np

from skrank._data.lists import Floats
from skrank._fit.minimizing import minimize_smooth
from skrank._fit.objective import LinearObjective
from skrank._fit.points import Point
from skrank._fit.search import EVALUATIONS_AN_ITERATION, LAST_DIGITS
from skrank._fit.solution import Solution

WIDTHS = 4.0 ** -np.arange(16)
GAP = 1e-4  # allowed distance from the least value, as a share of the objective
FLOOR = 1e-9  # share of the objective at zero weights that counts as nothing
# Close to kinks the curvature changes within their width, so that the estimate of the
# gap is too small, by up to this factor.
CAUTION = 100.0
# Near a kink the gradient changes within the width, so the user's tol would take ten
# times the iterations, for digits below the gap. So 100 times tol is used, but no more
# than leaves the gap to the widths.
SMOOTHED_TOL = 100.0
LARGEST_SMOOTHED_TOL = 1e-3


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
    solution, with widths of 1, 1/4, 1/16, ... With :math:`F_w` the smooth objective
    below F,

    .. math:: \min F \ge \min F_w \approx F_w(x) - g

    where g is 100 times the estimate of :func:`minimize_lbfgs`, since that is too small
    near kinks, or :math:`\|\nabla F_w(x)\|^2 / (2 \alpha)` if that is less. Each smooth
    objective is minimised until it is as near to its least value as to F. The sequence
    ends when F is at most a share of itself above its least value, by this bound: 1e-4,
    or ``tol`` if that is larger (or 1e-9 of its value at zero weights, if a fit meets
    all margins). The other parameters are those of :func:`minimize_lbfgs`; ``max_iter``
    limits all iterations together.

    Returns
    -------
    solution : Solution
        Parameters, the objective itself there, and the number of all iterations.
    """
    share = max(GAP, tol)
    at_zero = objective(objective.start)[0]
    floor = FLOOR * at_zero
    near = _NearEnough(objective, share, floor)
    tol = max(tol, min(SMOOTHED_TOL * tol, LARGEST_SMOOTHED_TOL))
    n_left, n_evaluations, n_whitenings = int(max_iter), 1, 0
    budget = EVALUATIONS_AN_ITERATION * n_left  # for all widths together
    sums = None
    widths = iter(WIDTHS.tolist())
    width = next(widths)
    while True:
        smooth = _smooth(objective, width)
        below = minimize_smooth(
            smooth,
            start,
            tol=tol,
            ftol=ftol,
            max_iter=n_left,
            verbose=verbose,
            name=f"{name} (kinks rounded by {width:g})",
            enough=near,
            max_evaluations=budget - n_evaluations - near.n_evaluations,
            sums=sums,
        )
        start = below.parameters
        n_left -= below.n_iter
        n_evaluations += below.n_evaluations + 1
        n_whitenings += below.n_whitenings
        value = _value(objective, start)
        above = value - below.value
        if n_left < 1 or n_evaluations + near.n_evaluations >= budget:
            break
        if above > 0.5 * max(share * value, floor):
            if width == WIDTHS[-1]:
                break
            width, sums = next(widths), below.sums
        elif sums is None or below.n_whitenings:
            break
        else:  # the estimate uses a Gram matrix of other widths, and may be too small
            sums = None
    remaining = near.remaining(_subgradient(smooth, start), below.gap)
    gap = above + (remaining if np.isfinite(remaining) else 0.0)
    problem = None if np.isfinite(remaining) else below.problem
    # If the user's own ftol stopped the fit, do not warn: it is as close as asked for.
    stopped = ftol <= LAST_DIGITS or n_left < 1 or below.problem is not None
    if problem is None and stopped and gap > max(share * value, floor):
        problem = _problem(name, max_iter - n_left, width, value, gap)
    n_iter, n_evaluations = max_iter - n_left, n_evaluations + near.n_evaluations + 1
    return Solution(
        start, value, n_iter, problem, gap, n_evaluations, n_whitenings, None, at_zero
    )


def _smooth(objective: LinearObjective, width: float) -> LinearObjective:
    """Return the objective with kinks rounded by a width."""
    loss = objective.loss.smoothed(width)
    assert loss is not None
    return objective.with_loss(loss)


def _value(objective: LinearObjective, parameters: Floats) -> float:
    """Return the whole objective somewhere."""
    return objective(parameters)[0] + objective.penalty_with_kinks(parameters)


def _subgradient(objective: LinearObjective, parameters: Floats) -> Floats:
    """Return the gradient, or the least subgradient within bounds."""
    gradient = objective(parameters)[1]
    if objective.is_smooth:
        return gradient
    return objective.terms().subgradient(parameters, gradient)


def _problem(name: str, n_iter: int, width: float, value: float, gap: float) -> str:
    """Return a text on how near the solver came."""
    return (
        f"{name} stopped after {n_iter} iterations with kinks rounded by {width:g}, "
        f"which leaves the value {value:.6g} up to {gap:.2g} above the least possible. "
        "Raise max_iter, scale X, or raise alpha."
    )


class _NearEnough:
    """Decide when a smooth objective is minimised as closely as is useful.

    Parameters
    ----------
    objective : LinearObjective
        The one with kinks.
    share : float
        Allowed distance above the least value, as a share of its value.
    floor : float
        Distance that is always allowed.
    """

    def __init__(self, objective: LinearObjective, share: float, floor: float) -> None:
        self.objective, self.share, self.floor = objective, share, floor
        self.kinks = np.inf  # estimated distance of the two objectives
        self.n_evaluations = 0

    def __call__(self, point: Point, gap: float) -> bool:
        """Return whether to stop at a point of a smooth objective, given its gap."""
        remaining = self.remaining(point.gradient, gap)
        if not remaining <= self.kinks:
            return False
        self.n_evaluations += 1
        above = _value(self.objective, point.parameters)
        allowed = max(self.share * above, self.floor)
        self.kinks = max(above - point.value, 0.5 * allowed)
        return remaining <= self.kinks

    def remaining(self, gradient: Floats, gap: float) -> float:
        r"""Return a bound on how far the smooth objective is above its least value.

        It is a cautious estimate, and at most :math:`\|\nabla F\|^2 / (2 \alpha)`.
        """
        alpha = self.objective.ridge
        if alpha == 0.0 or len(self.objective.extra_start):
            return CAUTION * gap
        with np.errstate(over="ignore"):
            bound = float(gradient @ (gradient / (2.0 * alpha)))
        return min(CAUTION * gap, bound)
