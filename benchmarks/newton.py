"""The least value of an objective, by Newton's method with exact Hessians."""

import numpy as np

from skrank._fit.derivatives import derivatives

DECREMENT = 1e-13  # share of the objective that is left when Newton's method ends
MOST_STEPS, MOST_HALVINGS = 30, 40


def least_by_newton(objective, start):
    """Return the least value found from a start, and what Newton's decrement leaves.

    Each step solves with the exact Hessian, a product with it for each feature, scaled
    to a unit diagonal, and is halved until the objective falls.
    """
    at, (value, _) = start, objective(start)
    weights = np.arange(len(start)) < objective.n_features
    left = np.inf
    for _ in range(MOST_STEPS):
        second = derivatives(objective, at)
        hessian = second.hessian + np.diag(np.where(weights, objective.ridge, 0.0))
        unit = 1.0 / np.sqrt(np.diag(hessian))
        scaled = hessian * unit * unit[:, np.newaxis]
        step = unit * np.linalg.lstsq(scaled, unit * second.gradient, rcond=1e-14)[0]
        if objective.data.constant is not None:
            step[: objective.n_features][objective.data.constant] = 0.0
        left = 0.5 * float(second.gradient @ step)
        for halving in range(MOST_HALVINGS):
            new = objective(at - 0.5**halving * step)[0]
            if new < value:
                at, value = at - 0.5**halving * step, new
                break
        else:  # rounding is all that is left
            break
        if left <= DECREMENT * abs(value):
            break
    return value, left
