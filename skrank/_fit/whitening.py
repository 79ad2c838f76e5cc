r"""Coordinates in which an objective has about the same curvature in all directions.

With :math:`H \approx Z^T D Z + \alpha I = R^T R` (see :mod:`skrank._fit.gram`),
L-BFGS in :math:`u = R w` needs as many steps for correlated features of wild scales as
for independent ones of unit variance, and :math:`\frac12 \|R^{-T} \nabla F\|^2`
estimates how far F is above its minimum.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy import linalg

from skrank._data.lists import Floats
from skrank._fit.gram import Gram
from skrank._fit.objective import LinearObjective

# Added to a diagonal of 1, times the number of features: the rounding error of a Gram
# matrix. It changes coordinates, but never the optimum.
ROUNDING = 4.0 * np.finfo(np.float64).eps
# Smallest eigenvalue of a scaled Gram matrix, with diagonal 1, that counts without a
# penalty. Along smaller ones the objective is flat, or the rows do not determine it.
FLOOR = 1e-8
# Eigenvalues of such a matrix, per feature, that are 0 except for rounding.
NOTHING = 1e-13
# If features explain more than this share of the curvature in a loss's own parameter,
# the approximation is too coarse to subtract it.
MOST_EXPLAINED = 0.95
LONGEST = 10.0  # step of a loss's own parameter, which is a logarithm
LEAST_EXPLAINED = 1e-6  # smaller values may be errors of the differences
SMALLEST = 1e-250  # curvature along a feature; smaller numbers have lost digits


class Coordinates(Protocol):
    """A linear map between parameters and coordinates u.

    The loss's own parameters come last in both.
    """

    size: int

    def move(self, u: Floats) -> Floats:
        """Return the change of parameters for a change of u, R^-1 u."""

    def slope(self, gradient: Floats) -> Floats:
        """Return the gradient in u, R^-T times that in the parameters."""

    def extra_units(self) -> Floats:
        """Return the factors of the loss's own parameters in u."""


class Units:
    """Each parameter in a unit of its own."""

    def __init__(self, units: Floats, n_extra: int) -> None:
        self.units, self.size, self.n_extra = units, len(units), n_extra

    def move(self, u: Floats) -> Floats:
        return u / self.units

    def slope(self, gradient: Floats) -> Floats:
        return gradient / self.units

    def extra_units(self) -> Floats:
        return self.units[len(self.units) - self.n_extra :]


class Root:
    r"""A root R of a symmetric matrix, :math:`A \approx R^T R`, for products with R^-1.

    It is the Cholesky factor of A, scaled to a unit diagonal. If A has no penalty and
    is singular, eigenvectors are used, and eigenvalues below a floor are raised to it.
    A search from zero then stays at zero along directions in which nothing changes, so
    it ends at the optimum of least norm in the units of the scaled matrix.
    """

    def __init__(self, matrix: Floats, alpha: float) -> None:
        n = len(matrix)
        self.n, self.vectors = n, None
        if n == 0:  # which LAPACK refuses
            return
        diagonal = np.diag(matrix) + alpha
        self.scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        # A unit diagonal makes ROUNDING and FLOOR mean the same for all units.
        scaled = matrix / self.scale
        scaled /= self.scale[:, np.newaxis]
        unit = np.where(diagonal > 0, 1.0, 0.0)
        np.fill_diagonal(scaled, unit + (ROUNDING * n if alpha > 0 else 0.0))
        self.factor, failed = linalg.lapack.dpotrf(scaled)
        if not failed and alpha == 0:
            # A tiny pivot: the factor exists, but only by rounding.
            failed = np.min(np.diag(self.factor)) ** 2 < FLOOR
        if failed:
            np.fill_diagonal(scaled, unit)
            # With A = V diag(values) V^T, R^-1 is V diag(values)^(-1/2).
            values, vectors = linalg.eigh(scaled)
            floor = FLOOR if alpha == 0 else ROUNDING * n
            self.vectors = vectors / np.sqrt(np.maximum(values, floor))
            if alpha == 0:  # the objective is flat along these, so do not move
                self.vectors[:, values <= NOTHING * n] = 0.0

    def move(self, u: Floats) -> Floats:
        """Return R^-1 u."""
        if self.n == 0:
            return u
        if self.vectors is not None:
            return self.vectors @ u / self.scale
        return linalg.blas.dtrsv(self.factor, u) / self.scale

    def slope(self, gradient: Floats) -> Floats:
        """Return R^-T times a gradient."""
        if self.n == 0:
            return gradient
        if self.vectors is not None:
            return (gradient / self.scale) @ self.vectors
        return linalg.blas.dtrsv(self.factor, gradient / self.scale, trans=1)


class Whitened:
    r"""Coordinates u = R w of weights, and of the loss's own parameters e after them.

    With mixed derivatives C and second derivatives E in e,

    .. math::

        \begin{pmatrix} A & C \\ C^T & E \end{pmatrix} \approx
        \begin{pmatrix} R & B \\ 0 & S \end{pmatrix}^T
        \begin{pmatrix} R & B \\ 0 & S \end{pmatrix},
        \qquad B = R^{-T} C, \quad S^2 = \mathrm{diag}(E - B^T B).

    S is diagonal, so that bounds on e are bounds on its coordinates. It is large enough
    that the step expected from the gradient is not longer than usual differences of
    such parameters.
    """

    def __init__(self, sums: Gram, alpha: float, gradient: Floats) -> None:
        self.n_features = len(gradient) - len(sums.extra)
        self.free = sums.free
        self.directions = None if sums.basis is None else sums.basis.directions
        self.root = Root(sums.gram, alpha)
        self.n_weights, self.n_extra = sums.cross.shape
        self.size = self.n_weights + self.n_extra
        curvature = np.diag(sums.extra)  # in the loss's own parameters
        curvature = np.where(curvature > 0, curvature, 1.0)
        slope = np.abs(gradient[self.n_features :])
        curvature = np.maximum(curvature, slope / LONGEST)
        self.coupling = np.zeros(sums.cross.shape)
        if self.n_extra:
            # B = R^-T C; the diagonal of B^T B is the curvature that weights explain.
            coupling = np.empty_like(sums.cross)
            for k in range(self.n_extra):
                coupling[:, k] = self.root.slope(sums.cross[:, k])
            explained = np.sum(coupling**2, axis=0)
            coupling[:, explained < LEAST_EXPLAINED * curvature] = 0.0
            if np.all(explained < MOST_EXPLAINED * curvature):
                self.coupling, curvature = coupling, curvature - explained
        self.own_units = np.sqrt(curvature)

    def move(self, u: Floats) -> Floats:
        # Solve the block triangle from below: e first, then w = R^-1 (u - B e).
        change = np.zeros(self.n_features + self.n_extra)
        extra = u[self.n_weights :] / self.own_units
        weights = self.root.move(u[: self.n_weights] - self.coupling @ extra)
        if self.directions is not None:
            weights = self.directions @ weights
        change[self.free] = weights
        change[self.n_features :] = extra
        return change

    def slope(self, gradient: Floats) -> Floats:
        weights = gradient[self.free]
        if self.directions is not None:
            weights = weights @ self.directions
        weights = self.root.slope(weights)
        extra = gradient[self.n_features :] - weights @ self.coupling
        return np.concatenate((weights, extra / self.own_units))

    def extra_units(self) -> Floats:
        return self.own_units


def can_be_whitened(sums: Gram, alpha: float) -> bool:
    """Return whether all sums are finite and curvatures of features above SMALLEST."""
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = np.diag(sums.gram) + alpha
        everything = sums.gram.sum() + sums.cross.sum() + sums.extra.sum()
    return bool(np.isfinite(everything) and np.all(diagonal > SMALLEST))


def units_of_spread(objective: LinearObjective, gradient_at_zero: Floats) -> Units:
    """Return one scale per parameter, for when a Gram matrix is too dear or not finite.

    It is the change of scores for one unit of the parameter,
    ``sqrt(spread_j^2 + alpha / slope)``: the penalty adds to the curvature, and the
    slope of the loss stands for its curvature. If the penalty dominates, weights of
    about 1 in these units are far from the optimum. Since the solver starts with a step
    of length 1, units are then larger by this ratio. See doc/math/solver.md, section
    "Whitening", paragraph "Wide data".
    """
    spread = objective.spread()
    slope = float(np.max(np.abs(gradient_at_zero[: len(spread)]) / spread, initial=0.0))
    penalty = np.sqrt(objective.ridge) / np.sqrt(slope) if slope > 0 else 0.0
    units = np.hypot(spread, penalty)
    n_extra = len(gradient_at_zero) - len(spread)
    steepest = np.max(np.abs(gradient_at_zero[: len(spread)]) / units, initial=0.0)
    if n_extra == 0 and steepest > 0:
        units *= slope / steepest
    return Units(np.append(units, np.ones(n_extra)), n_extra)
