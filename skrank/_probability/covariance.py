r"""Covariances of the parameters of a fitted linear objective.

The algebra, in the units of :class:`~skrank._fit.objective.LinearObjective`. With
:math:`\theta = [w, e]`, list weights :math:`v_q`, their sum V and divisors
:math:`m_q`, the fit minimises

.. math::

    F(\theta) = \sum_q c_q \ell_q(\theta) + \frac{\alpha}{2} \|w\|^2,
    \qquad c_q = \frac{v_q}{V m_q}.

:math:`g_q` is the gradient of :math:`\ell_q`, in w :math:`X_q^T` times the gradient in
the scores. Then

.. math::

    H = \sum_q c_q \nabla^2 \ell_q, \qquad J = \sum_q c_q^2\, g_q g_q^T, \qquad
    A = \mathrm{diag}(\alpha, \ldots, \alpha, 0, \ldots, 0),

and the covariances of the estimate around the minimum that endless data would give are

.. math::

    C_\mathrm{clustered} &= (H + A)^{-1} J (H + A)^{-1} \\
    C_\mathrm{model} &= (H + A)^{-1} \frac{H}{V m} (H + A)^{-1}.

The first (sandwich, Godambe) holds for any loss whose lists are independent, each list
one cluster. The second holds where :math:`\ell_q` is minus a log-likelihood, since the
variance of its gradient is then its second derivative, and all :math:`m_q = m`; with
:math:`\alpha = 0` and weights 1 it is the inverse of the second derivative of the sum.
It takes :math:`v_q` as a number of equal lists; the first as the weight of one list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank._data.lists import Floats
from skrank._fit.curvature import curvature
from skrank._fit.objective import LinearObjective

# Errors from the spread between lists and from curvature differ by less, unless lists
# have no spread.
SILENT = 1e-6


class Estimate(NamedTuple):
    """Covariances of a fit, and what is wrong with it.

    Attributes
    ----------
    clustered, model : ndarray of shape (P, P)
        Covariances of the module's docstring, the second without its factor
        1 / (V m); NaN for parameters that have none.
    df : float
        Effective number of parameters, the trace of H (H + A)^-1.
    optimism : float
        The trace of (H + A)^-1 J: what CLIC takes twice, times V.
    constant : ndarray of bool of shape (p,)
        Features without any variation inside lists.
    collinear : list of ndarray of shape (p,)
        Weights of features, each a sum that is constant inside every list.
    separating : ndarray of shape (P,) or None
        Where the objective never rises in some direction: each parameter's part in
        it, times its feature's spread, the largest 1. All covariances are NaN then.
    silent : ndarray of bool of shape (P,)
        Parameters about which the gradients of lists say nothing, though curvatures
        do: clustered errors of 0, which are NaN here.
    curved : bool
        Whether the objective is curved upwards wherever the data can tell.
    step : float
        Newton step to the minimum, the largest number of (clustered) standard errors.
    """

    clustered: Floats
    model: Floats
    df: float
    optimism: float
    constant: np.ndarray
    collinear: list[Floats]
    separating: Floats | None
    silent: np.ndarray
    curved: bool
    step: float


def estimate(
    objective: LinearObjective, parameters: Floats, free: np.ndarray | None = None
) -> tuple[Estimate, int]:
    """Return the covariances of a fit and the number of lists that inform it.

    Only ``free`` parameters are estimated; covariances have these alone. Weights are
    always free, other parameters are where they are at no limit of the model.
    """
    found = curvature(objective, parameters, free)
    p, n_lists = objective.n_features, found.derivatives.n_lists
    basis, inverse = found.basis, found.inverse
    clustered = basis @ (inverse @ found.meat @ inverse) @ basis.T
    model = basis @ (inverse @ found.hessian @ inverse) @ basis.T
    undefined = np.zeros(len(found.step), dtype=bool)
    undefined[:p] = found.constant
    if objective.alpha == 0:
        for direction in found.collinear:
            undefined[:p] |= direction != 0
    if found.separating is not None or not found.curved:
        undefined[:] = True
    for covariance in (clustered, model):
        covariance[undefined] = np.nan
        covariance[:, undefined] = np.nan
    silent = ~undefined & (
        np.diag(clustered) * max(n_lists, 1) < SILENT**2 * np.diag(model)
    )
    clustered[silent] = np.nan
    clustered[:, silent] = np.nan
    errors = standard_errors(clustered)
    known = errors > 0
    moves = np.abs(found.step[known]) / errors[known]
    return (
        Estimate(
            clustered,
            model,
            float(np.trace(inverse @ found.hessian)),
            float(np.trace(inverse @ found.meat)),
            found.constant,
            found.collinear,
            found.separating,
            silent,
            found.curved,
            float(np.max(moves, initial=0.0)),
        ),
        n_lists,
    )


def standard_errors(covariance: Floats) -> Floats:
    """Return the roots of a covariance's diagonal, NaN where that is NaN."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))  # rounding below 0
