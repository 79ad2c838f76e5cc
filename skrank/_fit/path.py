"""Fits of one objective for several penalties, each from the solution of the last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from skrank._data.lists import Floats
from skrank._fit.objective import LinearObjective
from skrank._fit.solution import Solution


def largest_alpha(
    objective: LinearObjective,
    solve: Callable[[LinearObjective, Floats], Solution],
) -> float:
    r"""Return the least penalty that leaves all weights at 0, as near as bounds allow.

    .. math:: \alpha_{\max} = \max_j |\partial_j F(0)| / \rho

    over features whose bounds allow a step down. A loss's own parameters have no
    penalty: they are fitted first, while the weights stay at 0.

    Parameters
    ----------
    objective : LinearObjective
        With ``l1_ratio`` above 0; its own ``alpha`` does not count.
    solve : callable
        Called with the objective of a penalty and a start, returns the solution.

    Returns
    -------
    alpha : float
        The penalty; 0 where no feature leads down.
    """
    p = objective.n_features
    smooth = objective.with_penalty(0.0, {})
    terms = smooth.terms()
    parameters = terms.nearest(objective.start)
    if len(objective.extra_start):
        held = objective.with_penalty(0.0, {})
        held.bounds = parameters[:p], parameters[:p]
        parameters = solve(held, parameters).parameters
    slope = np.abs(terms.subgradient(parameters, smooth(parameters)[1])[:p])
    slope[parameters[:p] != 0.0] = 0.0  # where bounds exclude 0
    return float(np.max(slope, initial=0.0)) / objective.l1_ratio


def solve_path(
    objective: LinearObjective,
    alphas: Sequence[float],
    solve: Callable[[LinearObjective, Floats], Solution],
) -> list[Solution]:
    """Minimise an objective for each penalty, largest first.

    Each fit starts from the last solution. The objective at zero weights and the last
    Gram matrix do not depend on the penalty, so all fits share them.

    Parameters
    ----------
    objective : LinearObjective
        Its own penalty does not count.
    alphas : sequence of float
        Penalties, in any order.
    solve : callable
        Called with the objective of a penalty and a start, returns the solution.

    Returns
    -------
    solutions : list of Solution
        In the order of ``alphas``.
    """
    solutions: dict[int, Solution] = {}
    start = objective.start
    shared: dict[Any, Any] = {}
    for number in sorted(range(len(alphas)), key=lambda number: -alphas[number]):
        solution = solve(objective.with_penalty(alphas[number], shared), start)
        solutions[number] = solution
        start = solution.parameters
    return [solutions[number] for number in range(len(alphas))]
