"""Minimise an objective: L-BFGS in whitened coordinates, with messages for rankers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skrank._data.lists import Floats
from skrank._fit.gram import Gram
from skrank._fit.objective import LinearObjective
from skrank._fit.points import Point, not_finite, why_stopped
from skrank._fit.progress import solver_ended
from skrank._fit.search import LAST_DIGITS, Search
from skrank._fit.solution import Solution

__all__ = ["LAST_DIGITS", "Point", "Solution", "minimize_lbfgs"]
# Share of the decrease that is far below the rounding of the objective. If a search is
# stuck that close to the optimum, do not warn, whatever tol is.
NOTHING_LEFT = 1e-20


def minimize_lbfgs(
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
    r"""Minimise an objective by SciPy's L-BFGS in whitened coordinates.

    The solver sees u = R w with :math:`R^T R \approx \nabla^2 F` at the start, and
    again after some evaluations, so that neither scales nor correlations of features
    slow it down, and a step of length 1 is Newton's. In these coordinates

    .. math:: \tfrac12 \|R^{-T} \nabla F(w)\|^2

    estimates how far F is above its least value: how near, doc/math/solver.md says in
    its section "When to stop". Where a Gram matrix would cost more than it saves, each
    parameter has a unit of its own instead, and the estimate is a rough one.

    Parameters
    ----------
    objective : LinearObjective
        Called with parameters, returns value and gradient.
    start : ndarray of shape (n_parameters,)
        Where to start.
    tol : float
        Stop when the estimate is at most ``tol**2`` times the decrease since zero
        weights.
    ftol : float
        Stop when an iteration lowers the objective by less than this share of the
        decrease since zero weights. At 64 eps or less the values have run out of
        digits: then gradients alone go on until ``tol`` is met or they, too, have none
        left.
    max_iter : int
        Largest number of iterations.
    verbose : int, default=0
        Print a line every ``verbose`` iterations, where positive.
    name : str, default="skrank"
        Name of the method, for messages.
    enough : callable, default=None
        Called after each iteration with the current point and the estimate; if it
        returns true, the solver stops with success.
    max_evaluations : int, default=None
        Largest number of evaluations, None for 100 times ``max_iter``.
    sums : Gram, default=None
        The Gram matrix to begin with, if it is known.

    Returns
    -------
    solution : Solution
        The result; with a problem if the solver stops without success, unless the
        gradient is rounding alone.

    Raises
    ------
    ValueError
        If the objective is not finite at zero weights, or where the solver ends.

    """
    search = Search(
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
    search.begin()
    if search.reason is None:
        search.climb_down(sums)
    objective.shared["last"] = search.at, objective.ridge
    return _solution(search)


def _solution(search: Search) -> Solution:
    """Return the end of a search, with its problem if there is one."""
    at, gap, share = search.at, 0.0, 0.0
    if search.has_moved:
        gap, share = search.gap(), search.share_left() ** 2
    solver_ended(search.name, search.n_iter, at.value, gap, search.verbose)
    # If a step failed, the point where it failed may show why.
    ended = at if search.reason in ("converged", "enough", "ftol") else search.latest
    for point in (at, ended):
        if not np.isfinite(point.value + np.sum(point.parameters + point.gradient)):
            where = f"after {search.n_iter} iterations"
            raise ValueError(not_finite(search.name, where))
    problem = None
    if search.reason == "limit" or (
        search.reason == "stuck" and share > NOTHING_LEFT and not _is_rounding(search)
    ):
        problem = _problem(search, share)
    return Solution(
        at.parameters,
        at.value,
        search.n_iter,
        problem,
        gap,
        search.n_evaluations,
        search.n_whitenings,
        search.last_sums,
        search.zero.value,
    )


def _problem(search: Search, share: float) -> str:
    """Return a text that the solver stopped early, with advice."""
    why, advice = why_stopped(search.reason or "")
    return (
        f"{search.name} stopped before it converged, after {search.n_iter} iterations "
        f"({why}). By estimate the objective is {share:.2g} of its decrease above "
        f"the least possible; tol={search.tol:.2g} asks for {search.tol**2:.2g}. "
        f"{advice}"
    )


def _is_rounding(search: Search) -> bool:
    """Return whether the gradient is rounding alone."""
    rounding = search.objective.rounding(search.at.parameters)
    return bool(np.all(np.abs(search.at.gradient) <= rounding))
