r"""Curvature of an objective at the end of a fit, and directions of endless decrease.

In the units of :class:`~skrank._fit.objective.LinearObjective`. With
:math:`\theta = [w, e]`, list weights :math:`v_q`, their sum V and divisors
:math:`m_q`, the fit minimises

.. math::

    F(\theta) = \sum_q c_q \ell_q(\theta) + \frac{\alpha}{2} \|w\|^2,
    \qquad c_q = \frac{v_q}{V m_q}.

:math:`g_q` is the gradient of :math:`\ell_q`, in w :math:`X_q^T` times the gradient in
the scores. Then

.. math::

    H = \sum_q c_q \nabla^2 \ell_q, \qquad J = \sum_q c_q^2\, g_q g_q^T, \qquad
    A = \mathrm{diag}(\alpha, \ldots, \alpha, 0, \ldots, 0).

The curvature of the objective is H + A.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from skrank._data.lists import Floats, Indices
from skrank._fit.derivatives import Derivatives, derivatives, score_range
from skrank._fit.objective import LinearObjective

# Features count as exactly dependent below this relative eigenvalue of their
# correlations inside lists: differences of gradients are not more exact.
COLLINEAR = 1e-10
# A direction does not involve a feature if its part is below this share of the
# feature's own length.
INVOLVED = 1e-5
FLAT = 1e-10  # relative curvature that may be rounding alone
FAR = 150.0  # range of scores at which losses have become linear
# A step is harmless if it changes no difference of two scores by more than this.
SMALL_MOVE = 0.05
# If the loss rises slower by this factor in one direction, it does not rise there.
RECEDES = 1e-4
WAYS = (1.0, -1.0)


class Curvature(NamedTuple):
    """The curvature of an objective along what its data determine.

    Attributes
    ----------
    derivatives : Derivatives
        In the P free parameters.
    basis : ndarray of shape (P, r)
        Directions that the data determine, scaled so that the objective has about the
        same curvature along each.
    hessian, meat : ndarray of shape (r, r)
        H and J along the basis.
    inverse : ndarray of shape (r, r)
        Inverse of H + A along the basis, whose eigenvalues are raised to the size of
        rounding errors.
    step : ndarray of shape (P,)
        The Newton step to the minimum.
    constant : ndarray of bool of shape (p,)
        Features without any variation inside lists.
    collinear : list of ndarray of shape (p,)
        Weights of features, each a sum that is constant inside every list.
    separating : ndarray of shape (P,) or None
        A direction in which the objective never rises: the part of each parameter,
        times the spread of its feature, with the largest part 1. None if there is none.
    curved : bool
        Whether the curvature is positive in all directions that the data determine.
    """

    derivatives: Derivatives
    basis: Floats
    hessian: Floats
    meat: Floats
    inverse: Floats
    step: Floats
    constant: np.ndarray
    collinear: list[Floats]
    separating: Floats | None
    curved: bool


def curvature(
    whole: LinearObjective,
    parameters: Floats,
    free: np.ndarray | None = None,
    clusters: Indices | None = None,
) -> Curvature:
    """Return the curvature of an objective at some parameters.

    Only ``free`` parameters count; None takes all. Weights are always free, other
    parameters unless they are at a limit of the model. ``clusters`` are numbers of the
    clusters of lists; None makes each list one.
    """
    with whole.running():  # BLAS threads would stall on products of blocks
        parts = derivatives(whole, parameters, clusters)
    objective: LinearObjective | _Held = whole
    if free is not None:
        objective, parameters = _Held(whole, parameters, free), parameters[free]
        parts = parts._replace(
            gradient=parts.gradient[free],
            hessian=parts.hessian[np.ix_(free, free)],
            meat=parts.meat[np.ix_(free, free)],
            counts=parts.counts._replace(
                of_parameters=parts.counts.of_parameters[free]
            ),
        )
    p, alpha = objective.n_features, objective.ridge
    penalty = np.zeros(len(parameters))
    penalty[:p] = alpha
    constant, dependent, basis = _estimable(parts.gram)
    if alpha > 0:
        # With a penalty, coefficients of dependent features are determined too.
        basis = np.eye(p)[:, ~constant]
    basis = _scaled(basis, parts.hessian, penalty)
    # H and J along the basis; the inverse of H + A there is that of the covariances.
    H = basis.T @ parts.hessian @ basis
    J = basis.T @ parts.meat @ basis
    values, vectors = np.linalg.eigh(H + (basis.T * penalty) @ basis)
    # Eigenvalues below rounding are raised to it, so that the inverse is finite.
    largest = np.max(np.abs(values), initial=0.0)
    floored = np.maximum(values, FLAT * largest) if largest > 0 else np.ones(len(H))
    scaled = vectors / floored
    step = -basis @ (scaled @ (vectors.T @ (basis.T @ parts.gradient)))
    separating = None
    if alpha == 0 and len(values):
        separating = _recession(
            objective, parameters, step, basis @ vectors[:, 0], values[0], largest
        )
    if separating is not None:
        # Parts in units of score, so that features of any scale can be compared.
        separating[:p] *= np.sqrt(np.diag(parts.gram))
        separating = np.abs(separating) / np.max(np.abs(separating))
    return Curvature(
        parts,
        basis,
        H,
        J,
        scaled @ vectors.T,
        step,
        constant,
        dependent,
        separating,
        bool((values > 0).all()),
    )


def _scaled(basis: Floats, hessian: Floats, penalty: Floats) -> Floats:
    """Return a basis of weights and extra parameters of about the same curvature."""
    n_weights, n_extra = basis.shape[1], len(hessian) - len(basis)
    basis = linalg.block_diag(basis, np.eye(n_extra))
    curves = np.diag(basis.T @ (hessian + np.diag(penalty)) @ basis).copy()
    if n_weights and not penalty.any():
        # Weights are scaled already; scale extra parameters to the same curvature.
        curves[:n_weights] = curves[:n_weights].mean()
        curves /= curves[0] if curves[0] > 0 else 1.0
    basis /= np.sqrt(np.where(curves > 0, curves, 1.0))
    return basis


class _Held:
    """An objective as a function of the free parameters; the others are fixed."""

    def __init__(
        self, objective: LinearObjective, parameters: Floats, free: np.ndarray
    ) -> None:
        self.objective, self.parameters, self.free = objective, parameters, free
        self.n_features, self.ridge = objective.n_features, objective.ridge

    def __call__(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the value, and the gradient in the free parameters."""
        whole = self.parameters.copy()
        whole[self.free] = parameters
        value, gradient = self.objective(whole)
        return value, gradient[self.free]


def _estimable(gram: Floats) -> tuple[np.ndarray, list[Floats], Floats]:
    """Return constant features, dependent sums, and a basis (p, r) of the rest.

    Along the basis the Gram matrix of the features is the identity, so that curvatures
    along it can be compared.
    """
    length = np.sqrt(np.diag(gram))
    constant = length == 0
    varied = np.flatnonzero(~constant)
    scale = length[varied]
    values, vectors = np.linalg.eigh(
        gram[np.ix_(varied, varied)] / np.outer(scale, scale)
    )
    # Eigenvectors of tiny eigenvalues are sums that are constant inside lists.
    small = values <= COLLINEAR
    basis = np.zeros((len(length), int((~small).sum())))
    basis[varied] = vectors[:, ~small] / np.sqrt(values[~small]) / scale[:, None]
    dependent = []
    for row in _echelon(vectors[:, small].T.copy()):
        direction = np.zeros(len(length))
        direction[varied] = row / scale
        dependent.append(direction / np.max(np.abs(direction)))
    return constant, dependent, basis


def _echelon(rows: Floats) -> Floats:
    """Return rows that span the same space, each with a column of its own."""
    # Gauss and Jordan's elimination; the largest entry left is the pivot.
    for number in range(len(rows)):
        at, pivot = divmod(int(np.argmax(np.abs(rows[number:]))), rows.shape[1])
        rows[[number, number + at]] = rows[[number + at, number]]
        rows[number] /= rows[number, pivot]
        others = np.arange(len(rows)) != number
        rows[others] -= np.outer(rows[others, pivot], rows[number])
    rows[np.abs(rows) < INVOLVED] = 0.0
    return rows


def _recession(
    objective: LinearObjective | _Held,
    parameters: Floats,
    step: Floats,
    flattest: Floats,
    smallest: float,
    largest: float,
) -> Floats | None:
    """Return a direction, up to its sign, in which the objective never rises, or None.

    If lists are separated, curvature and gradient vanish at the same rate: the Newton
    step stays as large as the gap, however long the solver runs. If both have vanished,
    try the flattest direction, and the direction of the coefficients.
    """
    p = objective.n_features
    whole = objective.objective if isinstance(objective, _Held) else objective
    candidates = []
    if score_range(whole, step[:p]) > SMALL_MOVE:
        candidates += [step, flattest]
    if smallest <= FLAT * largest:
        candidates += [flattest, parameters]
    for direction in candidates:
        reach = score_range(whole, direction[:p])
        if reach == 0:
            continue
        # So far out all losses are linear, and one difference is the slope of the ray.
        far = direction * (FAR / reach)
        slopes = [_slope_far_out(objective, parameters, way * far) for way in WAYS]
        if whole.bounds is not None:
            # Between bounds it may fall for ever only along what meets none.
            inside = [whole.unbounded(way * far) for way in WAYS]
            left = [score_range(whole, one[:p]) for one in inside]
            inside = [
                one * (FAR / reach)  # what is left may be short
                for one, reach in zip(inside, left, strict=True)
                if reach > 0
            ]
            within = [_slope_far_out(objective, parameters, one) for one in inside]
            if within and min(within) < RECEDES * max(slopes):
                return inside[int(np.argmin(within))]
        elif min(slopes) < RECEDES * max(slopes):
            return direction.copy()
    return None


def _slope_far_out(
    objective: LinearObjective | _Held, parameters: Floats, far: Floats
) -> float:
    """Return how the objective changes along a direction, far from the parameters."""
    return objective(parameters + 2.0 * far)[0] - objective(parameters + far)[0]
