"""Quasi standard errors reproduce the errors of all differences."""

import numpy as np
import pytest

from skrank.inspection import quasi_standard_errors


def less_the_first(variances):
    """Return the covariance of independent estimates less the first of them."""
    matrix = np.diag(np.asarray(variances, dtype=float)) + variances[0]
    matrix[0] = matrix[:, 0] = 0.0
    return matrix


@pytest.mark.parametrize("variances", [[1, 4, 9], [0.01, 1, 2, 3, 50], [2e-9] * 4])
def test_independent_estimates_have_their_own_errors(variances):
    errors = quasi_standard_errors(less_the_first(variances))
    np.testing.assert_allclose(errors, np.sqrt(variances), rtol=1e-6)


def test_errors_do_not_depend_on_the_reference():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    covariance = root @ root.T + np.diag([1.0, 2.0, 3.0, 4.0, 5.0])
    expected = quasi_standard_errors(covariance)
    for reference in range(5):
        contrast = np.eye(5)
        contrast[:, reference] -= 1.0
        moved = contrast @ covariance @ contrast.T
        np.testing.assert_allclose(quasi_standard_errors(moved), expected, rtol=1e-6)


def test_the_fit_is_the_best_in_logarithms():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(6, 9))
    covariance = root @ root.T
    q = quasi_standard_errors(covariance) ** 2
    first, second = np.triu_indices(6, k=1)
    variances = np.diag(covariance)
    exact = variances[first] + variances[second] - 2 * covariance[first, second]

    def misfit(values):
        return np.sum(np.log((values[first] + values[second]) / exact) ** 2)

    for _ in range(50):
        other = q * np.exp(0.01 * rng.normal(size=6))
        assert misfit(other) > misfit(q)


def test_bad_covariances_are_refused():
    with pytest.raises(ValueError, match="square matrix of at least three items"):
        quasi_standard_errors(np.eye(2))
    with pytest.raises(ValueError, match="no positive variance"):
        quasi_standard_errors(np.ones((3, 3)))
    with pytest.raises(ValueError, match="no positive variance"):
        quasi_standard_errors(np.full((3, 3), np.nan))
