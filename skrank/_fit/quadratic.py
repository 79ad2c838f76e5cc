r"""A quadratic model of an objective's smooth part, minimised with kinks and bounds.

With x where the search is and g the gradient there, the model of a step is

.. math::

    m(z) = g^T (z - x) + \tfrac12 (z - x)^T B (z - x) + \sum_j \lambda_j |z_j|,
    \qquad B = M + \alpha (1 - \rho) I.

M starts as the weighted Gram matrix, with what couples it to a loss's own parameters,
and learns from each step by the formula of Broyden, Fletcher, Goldfarb and Shanno. The
exact part of the penalty stays out of what is learned.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from skrank._data.lists import Floats
from skrank._fit.composite import Terms
from skrank._fit.gram import Gram
from skrank._fit.whitening import ROUNDING, SMALLEST, Whitened
from skrank._kernels.descent import descend

# Least share of the curvature along a step that one step may take away: values far
# from a quadratic would leave next to none.
LEAST_KEPT = 0.02
# Share of its terms that the curvature along a step keeps where they cancel, from which
# it may be divided by.
LEAST_EXPECTED = 1e-4
SWEEPS, ROUNDS = 10, 200  # of coordinates, before the face they found is solved exactly
MOST_STALLED = 20  # stop after 20 rounds without progress, where only rounding is left
NOTHING_FALLS = 1e-24  # share of the largest fall, in the square of a step


class Quadratic:
    """Curvature of the smooth part, without the penalty, and the penalty's own.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        M; changed by :meth:`learn`.
    ridge : ndarray of shape (n,)
        What the penalty adds to the diagonal.
    """

    def __init__(self, matrix: Floats, ridge: Floats) -> None:
        self.matrix, self.ridge = matrix, ridge

    @classmethod
    def from_sums(cls, sums: Gram, ridge: float, gradient: Floats) -> Quadratic | None:
        """Return the model of a Gram matrix, or None where that overflows.

        ``gradient`` bounds the steps of a loss's own parameters, as in
        :class:`~skrank._fit.whitening.Whitened`.
        """
        n_extra = len(sums.extra)
        n_features = len(gradient) - n_extra
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = np.diag(sums.gram) + ridge
            finite = np.isfinite(sums.gram.sum() + sums.cross.sum() + sums.extra.sum())
        if not finite:
            return None
        if np.any(diagonal <= SMALLEST):
            # Rows without curvature: as for a loss's own parameters, no long step.
            lacking = np.maximum(np.abs(gradient[sums.free]), 1.0)
            gram = sums.gram + np.diag(np.where(diagonal <= SMALLEST, lacking, 0.0))
            sums = sums._replace(gram=gram)
        matrix = np.zeros((n_features + n_extra, n_features + n_extra))
        matrix[np.ix_(sums.free, sums.free)] = sums.gram
        if n_extra:
            coordinates = Whitened(sums, ridge, gradient)
            coupling = coordinates.coupling
            kept = np.where(coupling.any(axis=0), sums.cross, 0.0)
            matrix[sums.free, n_features:] = kept
            matrix[n_features:, sums.free] = kept.T
            extra = coupling.T @ coupling + np.diag(coordinates.own_units**2)
            matrix[n_features:, n_features:] = extra
        return cls(matrix, _on_weights(ridge, n_features, n_extra))

    def with_ridge(self, ridge: float, n_features: int) -> Quadratic:
        """Return a copy for another penalty."""
        n_extra = len(self.ridge) - n_features
        return Quadratic(self.matrix.copy(), _on_weights(ridge, n_features, n_extra))

    def learn(self, step: Floats, change: Floats) -> None:
        """Take in how the gradient changed along a step."""
        change = change - self.ridge * step
        product = self.matrix @ step
        expected, observed = float(step @ product), float(step @ change)
        if not np.isfinite(expected + observed):
            return
        expected = max(expected, 0.0)
        if observed < LEAST_KEPT * expected:
            share = (1.0 - LEAST_KEPT) * expected / (expected - observed)
            change = share * change + (1.0 - share) * product
            observed = float(step @ change)
        if not observed > 0.0:
            return
        size = np.abs(step)
        if expected <= LEAST_EXPECTED * float(size @ (np.abs(self.matrix) @ size)):
            # To divide by it magnifies rounding, update after update, until the matrix
            # bends down: only add what curvature is missing.
            share = max(1.0 - expected / observed, 0.0)
            self.matrix += share * np.outer(change, change) / observed
            return
        self.matrix += np.outer(change, change) / observed
        self.matrix -= np.outer(product, product) / expected

    def least(self, point: Floats, gradient: Floats, terms: Terms) -> Floats:
        """Return the minimum of the model, from the point where the gradient is.

        Sweeps over coordinates find which parameters are at 0 or at a bound; a system
        of equations then moves the others, up to the first that meets a kink or a
        bound. Each can only lower the model.
        """
        active = np.flatnonzero(terms.low < terms.high)
        sub = terms.take(active)
        matrix = self.matrix[np.ix_(active, active)]
        n = len(active)
        matrix[np.diag_indices(n)] *= 1.0 + ROUNDING * n
        matrix[np.diag_indices(n)] += self.ridge[active]
        matrix = np.ascontiguousarray(matrix)
        z, slope = point[active].copy(), gradient[active].copy()
        largest, smallest, n_stalled = 0.0, np.inf, 0
        for _ in range(ROUNDS):
            fall, largest_fall = descend(
                matrix, slope, z, sub.l1, sub.low, sub.high, SWEEPS, NOTHING_FALLS
            )
            largest = max(largest, largest_fall)
            n_stalled = 0 if fall < 0.5 * smallest else n_stalled + 1
            smallest = min(smallest, fall)
            if fall <= NOTHING_FALLS * largest or n_stalled > MOST_STALLED:
                break
            if fall <= _rounding_of(matrix, gradient[active], z, z - point[active]):
                break
            for _ in range(n):  # each but the last puts a parameter at a kink or bound
                moved = _solve_face(matrix, slope, z, sub)
                if moved is None:
                    break
                slope = gradient[active] + matrix @ (z - point[active])
                if moved:
                    break
        result = point.copy()
        result[active] = z
        return result

    def change(self, step: Floats) -> float:
        """Return half the curvature along a step, :math:`s^T B s / 2`."""
        return 0.5 * float(step @ (self.matrix @ step) + step @ (self.ridge * step))


def _rounding_of(matrix: Floats, gradient: Floats, z: Floats, step: Floats) -> float:
    """Return the fall, in the kernel's units, that rounding alone could show."""
    diagonal = np.diag(matrix)
    slope = np.abs(gradient) + np.abs(matrix) @ np.abs(step) + diagonal * np.abs(z)
    error = 4.0 * np.finfo(np.float64).eps * slope
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(error * error / diagonal, initial=0.0))


def _on_weights(ridge: float, n_features: int, n_extra: int) -> Floats:
    return np.append(np.full(n_features, ridge), np.zeros(n_extra))


def _solve_face(matrix: Floats, slope: Floats, z: Floats, terms: Terms) -> bool | None:
    """Move z, in place, to the minimum over parameters at no kink and no bound.

    Where kinks or bounds are on the way: up to the first, or past it with all that
    meet one held there, whichever is lower. Returns whether z came to the minimum, and
    None where there is nothing to move.
    """
    free = (z > terms.low) & (z < terms.high) & ((z != 0.0) | (terms.l1 == 0.0))
    at = np.flatnonzero(free)
    if not len(at):
        return None
    face = matrix[np.ix_(at, at)]
    diagonal = np.diag(face)
    if not np.all(diagonal > 0.0):  # no minimum along it: sweeps leave it, too
        return None
    unit = 1.0 / np.sqrt(diagonal)
    factor, failed = linalg.lapack.dpotrf(face * unit * unit[:, np.newaxis])
    if failed:
        return None
    push = slope[at] + terms.l1[at] * np.sign(z[at])
    solved, _ = linalg.lapack.dpotrs(factor, -unit * push)
    step = unit * solved
    if not np.all(np.isfinite(step)):
        return None
    wall = np.where(step > 0, terms.high[at], terms.low[at])
    inner = np.where(step > 0, np.minimum(wall, 0.0), np.maximum(wall, 0.0))
    kinked = (terms.l1[at] > 0) & (np.sign(z[at]) * np.sign(step) < 0)
    wall = np.where(kinked, inner, wall)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(step != 0.0, (wall - z[at]) / step, np.inf)
    first = float(reach.min())
    if first >= 1.0:
        z[at] += step
        return True
    # Up to kinks the penalty is a straight line, which push holds.
    ahead = [
        np.where(reach <= length, wall - z[at], length * step)
        for length in (first, 1.0)
    ]
    falls = [push @ move + 0.5 * (move @ (face @ move)) for move in ahead]
    length = 1.0 if falls[1] < falls[0] else first
    met = reach <= length
    z[at] += length * step
    z[at[met]] = wall[met]
    return False
