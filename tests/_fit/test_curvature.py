"""Dependent features: the sums that are zero, in the features' own units."""

import numpy as np
import pytest

from skrank._fit.curvature import _estimable


def test_dependent_sums_are_those_of_the_features_themselves():
    first, second = np.random.default_rng(0).normal(size=(2, 50))
    X = np.column_stack((first, 1e3 * second, 4.0 * first + 20.0 * second))
    constant, (direction,), basis = _estimable(X.T @ X)
    assert not constant.any()
    # 4 of the first and 1/50 of the second are the third.
    np.testing.assert_allclose(
        direction / direction[2], [-4.0, -0.02, 1.0], rtol=0, atol=1e-6
    )
    assert np.max(np.abs(direction)) == pytest.approx(1.0)
    np.testing.assert_allclose(basis.T @ X.T @ X @ basis, np.eye(2), atol=1e-9)
