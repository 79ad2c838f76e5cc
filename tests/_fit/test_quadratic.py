"""The quadratic model of a step: its minimum, and what it learns."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from skrank import RankSVMRanker
from skrank._fit.composite import Terms
from skrank._fit.quadratic import LEAST_KEPT, Quadratic


def drawn(seed, n=30, condition=1e8):
    """Return a model, a point, a gradient and terms; scales and directions differ."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    root = Q * np.geomspace(1, condition**-0.5, n)
    root = root.T * 10.0 ** rng.uniform(-2, 2, n)
    model = Quadratic(root.T @ root, np.zeros(n))
    low = np.where(rng.random(n) < 0.3, -rng.uniform(0, 1, n), -np.inf)
    high = np.where(rng.random(n) < 0.3, rng.uniform(0, 1, n), np.inf)
    low[3] = high[3] = 0.2
    terms = Terms(np.zeros(n), low, high)
    return model, root, terms.nearest(rng.normal(size=n)), rng, terms


@pytest.mark.parametrize("seed", range(10))
def test_within_bounds_the_minimum_is_that_of_least_squares(seed):
    model, root, point, rng, terms = drawn(seed)
    goal = rng.normal(size=len(point))
    gradient = root.T @ (root @ point - goal)
    minimum = model.least(point, gradient, terms)
    apart = terms.high > terms.low
    wide = np.where(apart, terms.high, terms.low + 1e-12)
    expected = lsq_linear(root, goal, (terms.low, wide), method="bvls", tol=1e-15)
    assert np.all((minimum >= terms.low) & (minimum <= terms.high))
    value = np.sum((root @ minimum - goal) ** 2)
    assert value <= np.sum((root @ expected.x - goal) ** 2) * (1 + 1e-8)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("condition", [1e2, 1e10])
def test_at_its_minimum_no_slope_of_the_model_leads_down(seed, condition):
    model, _, point, rng, terms = drawn(seed, condition=condition)
    n = len(point)
    unit = np.sqrt(np.diag(model.matrix))
    gradient = unit * rng.normal(size=n)
    terms = terms._replace(l1=np.where(rng.random(n) < 0.8, 0.7, 0.0) * unit)
    minimum = model.least(point, gradient, terms)
    slope = gradient + model.matrix @ (minimum - point)
    least = terms.subgradient(minimum, slope)
    # In units of each parameter; rounding is that of the largest product.
    size = np.max(np.abs(model.matrix) @ np.abs(minimum - point) / unit)
    assert np.max(np.abs(least) / unit) <= 1e-11 * max(size, 1.0)
    assert np.any((minimum == 0.0) & (terms.l1 > 0))


def test_after_a_step_the_model_foretells_the_change_of_the_gradient():
    model, _, _, rng, _ = drawn(0, condition=10.0)
    n = len(model.matrix)
    model.ridge = np.full(n, 0.3)
    other = drawn(1, condition=10.0)[0].matrix
    step = rng.normal(size=n)
    change = other @ step + 0.3 * step
    model.learn(step, change)
    product = model.matrix @ step + model.ridge * step
    np.testing.assert_allclose(product, change, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.matrix, model.matrix.T)
    assert np.linalg.eigvalsh(model.matrix)[0] > 0


def test_what_is_not_convex_leaves_a_little_curvature():
    model = Quadratic(np.diag([1.0, 2.0]), np.zeros(2))
    model.learn(np.array([0.0, 1.0]), np.array([0.0, -5.0]))
    np.testing.assert_allclose(model.matrix, np.diag([1.0, 2.0 * LEAST_KEPT]))
    before = model.matrix.copy()
    model.learn(np.zeros(2), np.zeros(2))
    model.learn(np.ones(2), np.array([np.nan, 0.0]))
    np.testing.assert_array_equal(model.matrix, before)


@pytest.mark.parametrize("seed", range(3))
def test_fits_of_more_features_than_rows_with_weights_at_zero_converge(seed):
    """Warnings are errors: of convergence, and of overflow in a matrix bent down."""
    rng = np.random.default_rng(seed)
    X, groups = rng.normal(size=(30, 60)), np.repeat(np.arange(6), 5)
    y = np.round(X @ rng.normal(size=60) + rng.normal(size=30))
    ranker = RankSVMRanker(alpha=1e-3, l1_ratio=0.9).fit(X, y, groups)
    assert 0 < ranker.n_features_active_ < 60


def test_a_face_that_bends_down_is_left_to_sweeps():
    matrix = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, -1e-3]])
    infinite = np.full(3, np.inf)
    terms = Terms(np.zeros(3), -infinite, infinite)
    gradient = np.array([4.0, -1.0, 1.0])
    minimum = Quadratic(matrix, np.zeros(3)).least(np.zeros(3), gradient, terms)
    expected = -np.linalg.solve(matrix[:2, :2], gradient[:2])
    np.testing.assert_allclose(minimum[:2], expected, rtol=1e-10)
    assert minimum[2] == 0.0


def test_a_step_to_the_other_side_of_0_may_be_as_long_as_floats_allow():
    """The product of weight and step is 1e440, beyond the largest float."""
    curvature = np.array([[2.0, 1.0], [1.0, 2.0]]) * 1e-220
    model = Quadratic(curvature.copy(), np.zeros(2))
    infinite = np.full(2, np.inf)
    point, gradient = np.array([1e220, -1e220]), np.array([3.0, 0.0])
    minimum = model.least(point, gradient, Terms(np.zeros(2), -infinite, infinite))
    expected = point - np.linalg.solve(curvature * 1e220, gradient) * 1e220
    np.testing.assert_allclose(minimum, expected, rtol=0, atol=1e-10 * 1e220)
