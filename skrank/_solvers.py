"""Minimise an objective: L-BFGS, with scales and messages that suit rankers."""

from __future__ import annotations

import warnings
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.exceptions import ConvergenceWarning

from skrank._lists import Floats
from skrank._objective import LinearObjective


class Solution(NamedTuple):
    """Parameters found, their objective, and the number of iterations."""

    parameters: Floats
    value: float
    n_iter: int


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

    The solver sees the objective less its value at zero weights, divided by the
    largest entry of its gradient there, so that ``tol`` and ``ftol`` mean the same
    for every loss, and constants do not count.

    Parameters
    ----------
    objective : LinearObjective
        Called with parameters, returns value and gradient.
    start : ndarray of shape (n_parameters,)
        Where to start.
    tol : float
        Stop when the largest entry of the gradient is at most this share of the
        largest at zero weights.
    ftol : float
        Stop when an iteration lowers the scaled objective by less than this share.
    max_iter : int
        Largest number of iterations.
    verbose : int, default=0
        Print a line every ``verbose`` iterations, where positive.
    name : str, default="skrank"
        Who speaks in messages.

    Returns
    -------
    solution : Solution
        Parameters, objective and number of iterations.

    Raises
    ------
    ValueError
        If the objective is not finite at zero weights.

    Warns
    -----
    ConvergenceWarning
        If the solver stops for any reason but success, unless rounding is all that is
        left of the gradient.
    """
    value_at_zero, gradient_at_zero = objective(objective.start)
    scale = float(np.max(np.abs(gradient_at_zero), initial=0.0))
    if not np.isfinite(value_at_zero + scale):
        raise ValueError(
            f"The objective of {name} is not finite at zero weights. X holds values "
            "so large that sums over them overflow; scale X, for example with "
            "StandardScaler."
        )
    if scale == 0.0:
        if not start.any():
            return Solution(start, value_at_zero, 0)
        scale = 1.0

    def scaled(parameters: Floats) -> tuple[float, Floats]:
        value, gradient = objective(parameters)
        return (value - value_at_zero) / scale, gradient / scale

    numbers = count(1)

    def report(intermediate_result: OptimizeResult) -> None:
        number = next(numbers)
        if verbose > 0 and number % verbose == 0:
            value = intermediate_result.fun * scale + value_at_zero
            print(f"[{name}] iteration {number}: objective {value:.9g}")

    if verbose > 0:
        print(f"[{name}] zero weights: objective {value_at_zero:.9g}")
    result = minimize(
        scaled,
        start,
        method="L-BFGS-B",
        jac=True,
        callback=report,
        options={
            "gtol": tol,
            "ftol": ftol,
            "maxiter": max_iter,
            "maxls": 50,
            "maxfun": 100 * max_iter,
        },
    )
    value = float(result.fun) * scale + value_at_zero
    largest = float(np.max(np.abs(result.jac), initial=0.0))
    if verbose > 0:
        print(
            f"[{name}] stopped after {result.nit} iterations: objective {value:.9g}, "
            f"gradient {largest:.2g} of that at zero weights"
        )
    if result.status != 0 and not (
        result.status == 2 and largest * scale <= objective.rounding(result.x)
    ):
        if result.status == 1:
            advice = f"Raise max_iter (now {max_iter}), scale X, or raise alpha."
        else:
            advice = "Scale X, raise alpha, or raise tol."
        warnings.warn(
            f"{name} stopped before it converged, after {result.nit} iterations "
            f"(solver: {result.message}). The largest gradient entry is {largest:.2g} "
            f"of that at zero weights; tol asks for {tol:.2g}. {advice}",
            ConvergenceWarning,
            stacklevel=4,  # the caller of fit, which scikit-learn wraps
        )
    return Solution(result.x, value, int(result.nit))
