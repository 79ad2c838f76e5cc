"""Quasi variances: one number an item, from which all differences follow nearly."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from skrank._data.lists import Floats


def quasi_variances(covariance: Floats) -> Floats:
    r"""Return the quasi variances of a set of estimates.

    They minimise

    .. math::

        \sum_{i<j} \left(\log v_{ij} - \log(q_i + q_j)\right)^2,
        \qquad v_{ij} = C_{ii} + C_{jj} - 2 C_{ij},

    so that :math:`q_i + q_j` is close to the variance of each difference. They do not
    depend on which item is the reference.

    Parameters
    ----------
    covariance : ndarray of shape (n_items, n_items)
        Covariance C of the estimates; the row and column of a reference are 0.

    Returns
    -------
    variances : ndarray of shape (n_items,)
        Quasi variances; one may be negative where no positive ones come close. NaN
        where there are fewer than three items or a variance is not positive.

    References
    ----------
    .. [1] D. Firth, R. X. de Menezes, "Quasi-variances", Biometrika 91 (2004), 65-80,
       section 2.
    """
    n_items = len(covariance)
    first, second = np.triu_indices(n_items, 1)
    diagonal = np.diag(covariance)
    contrasts = diagonal[first] + diagonal[second] - 2.0 * covariance[first, second]
    if n_items < 3 or not np.all(np.isfinite(contrasts)) or np.any(contrasts <= 0):
        return np.full(n_items, np.nan)
    unit = float(np.exp(np.mean(np.log(contrasts))))
    target = contrasts / unit
    # The sum of an item's contrasts gives the least squares solution in closed form.
    sums = np.bincount(first, target, n_items) + np.bincount(second, target, n_items)
    start = (sums - target.sum() / (n_items - 1)) / (n_items - 2)
    sizes = start[first] + start[second]
    if np.any(sizes <= 0):
        start = np.full(n_items, 0.5)

    def residuals(q: Floats) -> Floats:
        size = q[first] + q[second]
        # Beyond the edge where a logarithm ends, a value that no step accepts.
        return np.log(np.where(size > 0, size, 1e-300)) - np.log(target)

    def jacobian(q: Floats) -> Floats:
        size = np.maximum(q[first] + q[second], 1e-300)
        matrix = np.zeros((len(size), n_items))
        rows = np.arange(len(size))
        matrix[rows, first] = matrix[rows, second] = 1.0 / size
        return matrix

    fit = least_squares(
        residuals, start, jac=jacobian, xtol=1e-14, ftol=1e-14, gtol=1e-12
    )
    return unit * fit.x
