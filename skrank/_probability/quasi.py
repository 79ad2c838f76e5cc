"""Quasi standard errors: one error an item, whichever item is the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from skrank._data.lists import Floats


def quasi_standard_errors(covariance: Any) -> Floats:
    r"""Return quasi standard errors of items from the covariance of their estimates.

    Estimates of items are known relative to one another alone, and errors from the
    reference item do not show how sure other comparisons are. Quasi variances
    :math:`q_i` are chosen so that they give the error of every comparison [1]_:

    .. math::

        \mathrm{Var}(\hat\beta_i - \hat\beta_j) \approx q_i + q_j ,

    with the least sum of squares of :math:`\log (q_i + q_j) - \log
    \mathrm{Var}(\hat\beta_i - \hat\beta_j)` over all pairs, as in R's ``qvcalc``.
    Intervals of two items that do not overlap then differ, as a rule of thumb.

    Parameters
    ----------
    covariance : array-like of shape (n_items, n_items)
        Covariance of the estimates; a row and a column of zeros for the reference.

    Returns
    -------
    errors : ndarray of shape (n_items,)
        Roots of the quasi variances; NaN for an item whose quasi variance would be
        negative.

    Raises
    ------
    ValueError
        If the covariance is not a square matrix of at least three items, or some
        difference has no positive variance.

    References
    ----------
    .. [1] D. Firth, R. X. de Menezes, "Quasi-variances", Biometrika 91 (2004).

    Examples
    --------
    >>> from skrank.inspection import quasi_standard_errors
    >>> # The first item is the reference: three independent estimates of variance
    >>> # 1, 4 and 9, less the first.
    >>> quasi_standard_errors([[0, 0, 0], [0, 5, 1], [0, 1, 10]]).round(6)
    array([1., 2., 3.])
    """
    matrix = np.asarray(covariance, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 3:
        raise ValueError(
            "covariance must be a square matrix of at least three items, the "
            f"reference included, got shape {matrix.shape}."
        )
    variances = np.diag(matrix)
    first, second = np.triu_indices(len(matrix), k=1)
    of_pairs = variances[first] + variances[second] - 2.0 * matrix[first, second]
    if not (of_pairs > 0).all():
        raise ValueError(
            "some difference of two items has no positive variance; leave out items "
            "without a standard error, and name the reference."
        )
    # Find q_i such that q_i + q_j is near the variance of each difference, in logs, so
    # that small and large variances are met with the same relative error.
    scale = float(of_pairs.mean())
    rows = np.arange(len(of_pairs))
    design = np.zeros((len(of_pairs), len(matrix)))
    design[rows, first] = design[rows, second] = 1.0
    target = np.log(of_pairs / scale)

    def residuals(q: Floats) -> Floats:
        return np.log(np.maximum(design @ q, 1e-12)) - target

    def jacobian(q: Floats) -> Floats:
        return design / np.maximum(design @ q, 1e-12)[:, None]

    # In these units the mean variance of a difference is 1, so each item begins with
    # half.
    start = np.full(len(matrix), 0.5)
    solution = optimize.least_squares(
        residuals, start, jacobian, xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    q = scale * solution.x
    return np.sqrt(np.where(q >= 0, q, np.nan))
