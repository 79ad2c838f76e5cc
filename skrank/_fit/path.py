"""Fits of one objective for several penalties, each from the solution of the last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from skrank._data.lists import Floats
from skrank._fit.lbfgs import Solution
from skrank._fit.objective import LinearObjective


def solve_path(
    objective: LinearObjective,
    alphas: Sequence[float],
    solve: Callable[[LinearObjective, Floats], Solution],
) -> list[Solution]:
    """Minimise an objective for each penalty, largest first.

    A solution is where the next fit starts. The objective at zero weights and the last
    Gram matrix, which do not depend on the penalty, serve all fits.

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
