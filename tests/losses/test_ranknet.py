"""What is particular to RankNet: its numbers, wide scores, weights, many rows."""

import tracemalloc
from math import exp, fsum, log, log1p, log2

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from skrank import Lists
from skrank.losses import RankNet

EPS = np.finfo(np.float64).eps
WORKED = ["notie", "ties", "alltied", "single", "extreme"]


def value_and_gradient(scores, y, sizes=None, loss=None):
    loss = RankNet() if loss is None else loss
    lists = Lists([len(y)] if sizes is None else sizes)
    scores, y = np.array(scores, dtype=float), np.array(y, dtype=float)
    return loss.value_and_gradient(scores, loss.prepare(y, lists), lists)


def softplus(t):
    return max(t, 0.0) + log1p(exp(-abs(t)))


def sigma(t):
    return 1.0 / (1.0 + exp(-t)) if t >= 0 else exp(t) / (1.0 + exp(t))


def exact(scores, y):
    """Return the value and gradient by one correctly rounded sum over pairs."""
    rows = range(len(y))
    pairs = [(i, j) for i in rows for j in rows if y[i] > y[j]]
    value = fsum(softplus(scores[j] - scores[i]) for i, j in pairs)
    slopes = [[] for _ in rows]
    for i, j in pairs:
        slope = sigma(scores[j] - scores[i])
        slopes[i].append(-slope)
        slopes[j].append(slope)
    return value, [fsum(slope) for slope in slopes]


@pytest.mark.parametrize("name", WORKED)
def test_values_and_gradients_are_the_worked_numbers(worked_numbers, name):
    cases = worked_numbers["cases"]
    (case,) = [case for case in cases if case["id"] == f"ranknet/{name}"]
    values, gradient = value_and_gradient(case["s"], case["y"])
    assert_allclose(values, case["loss"], rtol=1e-14)
    assert_allclose(gradient, case["grad_s"], rtol=1e-14, atol=1e-15)


def test_three_rows_by_hand():
    values, gradient = value_and_gradient([3.0, 1.0, 2.0], [2, 1, 0])
    expected = log(1 + exp(-2.0)) + log(1 + exp(-1.0)) + log(1 + exp(1.0))
    assert_allclose(values, expected, rtol=4 * EPS)
    first, second, third = sigma(-2.0), sigma(-1.0), sigma(1.0)
    assert_allclose(
        gradient,
        [-first - second, first - third, second + third],
        rtol=8 * EPS,
    )


@pytest.mark.parametrize("reach", [40.0, 100.0, 300.0, 650.0, 699.0, 750.0, 2000.0])
@pytest.mark.parametrize("n_rows", [2, 7, 60, 200])
def test_scores_far_apart_give_the_exact_value(reach, n_rows):
    rng = np.random.default_rng(int(reach) + n_rows)
    scores = reach * rng.random(n_rows)
    scores[:2] = 0.0, reach  # the worst row on top: the largest of all factors
    y = rng.integers(0, 4, n_rows)
    y[:2] = 3, 0
    values, gradient = value_and_gradient(scores, y)
    value, slopes = exact(scores.tolist(), y.tolist())
    # A score of size `reach` is rounded by EPS * reach / 2, twice in a pair.
    assert_allclose(values, value, rtol=2 * EPS * reach)
    assert_allclose(gradient, slopes, rtol=0, atol=EPS * reach * n_rows)


@pytest.mark.parametrize("gap", [0.0, 5.0, 40.0, 600.0])
def test_lists_of_many_ranges_do_not_disturb_each_other(gap):
    rng = np.random.default_rng(1)
    sizes = [3, 50, 4, 90, 2]
    y = np.concatenate([rng.integers(0, 3, size) for size in sizes])
    scale = np.repeat([1.0, gap, 900.0, gap, 0.0], sizes)
    scores = scale * rng.random(len(y))
    values, gradient = value_and_gradient(scores, y, sizes)
    stops = np.cumsum(sizes)
    for number, stop in enumerate(stops):
        part = slice(stop - sizes[number], stop)
        alone, slopes = value_and_gradient(scores[part], y[part])
        assert_array_equal(values[number], alone[0])
        assert_array_equal(gradient[part], slopes)


def test_scores_that_are_not_finite_do_not_look_like_numbers():
    for bad in [np.nan, np.inf]:
        values, _ = value_and_gradient([0.0, bad, 1.0, bad], [0, 1, 2, 3])
        assert np.isnan(values[0])


def test_two_item_lists_equal_logistic_regression_on_differences():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, 2, 3))
    y = np.tile([1.0, 0.0], (80, 1))
    swapped = rng.random(80) < 0.4
    y[swapped] = y[swapped, ::-1]
    differences, first_wins = X[:, 0] - X[:, 1], y[:, 0] > y[:, 1]
    model = LogisticRegression(C=1e12, fit_intercept=False, tol=1e-10)
    coef = model.fit(differences, first_wins).coef_[0]
    values, gradient = value_and_gradient((X @ coef).ravel(), y.ravel(), [2] * 80)
    probabilities = model.predict_proba(differences)
    assert_allclose(values.mean(), log_loss(first_wins, probabilities), rtol=1e-13)
    # At scikit-learn's optimum the gradient in the weights is 0 to its tolerance.
    assert_allclose(X.reshape(-1, 3).T @ gradient / 80, 0.0, atol=1e-8)


def test_no_overflow_at_scores_of_a_thousand():
    expected = 2 * softplus(-1.0) + softplus(-2.0)
    for scores in [[1000.0, 999.0, 998.0], [-1000.0, -1001.0, -1002.0]]:
        assert_allclose(RankNet()(scores, [2, 1, 0], [0, 0, 0]), expected, rtol=1e-14)


@pytest.mark.parametrize("gap", [100.0, 1000.0])
def test_a_better_row_far_below_costs_its_distance_in_nats(gap):
    values, gradient = value_and_gradient([0.0, gap], [1, 0])
    assert values[0] == gap
    assert_array_equal(gradient, [-1.0, 1.0])


def test_only_the_order_of_labels_counts():
    scores, y, groups = [3.0, 1.0, 2.0], np.array([2, 1, 0]), [0, 0, 0]
    value = RankNet()(scores, y, groups)
    pairs = [0.1269280110, 0.3132616875, 1.3132616875]
    assert_allclose(value, sum(pairs), atol=2e-10)
    assert RankNet()(scores, 100 * y, groups) == value
    assert RankNet()(scores, y**2, groups) == value


def test_labels_are_used():
    scores, groups = [1.0, 0.0, -1.0], [0, 0, 0]
    right = RankNet()(scores, [2, 1, 0], groups)
    wrong = RankNet()(scores, [0, 1, 2], groups)
    assert_allclose(right, 2 * softplus(-1.0) + softplus(-2.0), rtol=1e-14)
    assert_allclose(wrong, 2 * softplus(1.0) + softplus(2.0), rtol=1e-14)


def test_one_win_each_is_best_met_by_equal_scores():
    # A tie as half a win each: the pair in both orders, as two lists.
    y, sizes = [1, 0, 0, 1], [2, 2]

    def loss(gap):
        return value_and_gradient([gap, 0.0, gap, 0.0], y, sizes)[0].mean()

    assert abs(minimize_scalar(loss).x) < 1e-6
    assert_array_equal(value_and_gradient([0.3, 2.0], [1, 1])[1], [0.0, 0.0])


def test_gain_weights_by_hand():
    # Labels 2, 1, 0: gains 3, 1, 0 and ideal DCG 3 + 1 / log2(3).
    ideal = 3 + 1 / log2(3)
    values, gradient = value_and_gradient(
        [3.0, 1.0, 2.0], [2, 1, 0], loss=RankNet("gain")
    )
    expected = (2 * softplus(-2.0) + 3 * softplus(-1.0) + 1 * softplus(1.0)) / ideal
    assert_allclose(values, expected, rtol=8 * EPS)
    slope = (-2 * sigma(-2.0) - 3 * sigma(-1.0)) / ideal
    assert_allclose(gradient[0], slope, rtol=8 * EPS)


@pytest.mark.parametrize("top", [72, 5000])
def test_gain_weights_of_large_labels_do_not_overflow(top):
    # Beside 2**top all other gains vanish: both pairs with the best row weigh 1.
    values, gradient = value_and_gradient(
        [0.5, 0.0, 0.0], [top, 1, 0], loss=RankNet("gain")
    )
    assert_allclose(values, 2 * softplus(-0.5), rtol=8 * EPS)
    assert_allclose(gradient, sigma(-0.5) * np.array([-2, 1, 1]), rtol=8 * EPS)


def test_lists_without_gain_weigh_nothing():
    values, gradient = value_and_gradient(
        [0.5, 0.0, 2.0, 1.0], [0, 0, 1, 0], [2, 2], RankNet("gain")
    )
    assert_allclose(values, [0.0, softplus(-1.0)], rtol=8 * EPS)
    assert_array_equal(gradient[:2], [0.0, 0.0])


def test_unknown_pair_weights_are_named():
    with pytest.raises(ValueError, match="pair_weight must be None or 'gain', got 'g'"):
        RankNet("g")([0.0, 1.0], [1, 0], [0, 0])


@pytest.mark.parametrize("scale", [1.0, 500.0])
def test_a_hundred_thousand_rows_take_memory_for_rows_only(scale):
    n_rows = 100_000
    rng = np.random.default_rng(2)
    scores = scale * rng.random(n_rows)
    y = np.zeros(n_rows)
    y[70_000] = 1.0
    lists, loss = Lists([n_rows]), RankNet()
    prepared = loss.prepare(y, lists)
    assert loss.n_terms(prepared, lists)[0] == n_rows - 1
    tracemalloc.start()
    values, gradient = loss.value_and_gradient(scores, prepared, lists)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 5 * 8 * n_rows
    losses = np.logaddexp(0.0, np.delete(scores, 70_000) - scores[70_000])
    assert_allclose(values[0], fsum(losses), rtol=2 * EPS * max(scale, 10.0))
    assert_allclose(gradient[70_000], -gradient.sum() + gradient[70_000], rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 300.0, 2000.0])
def test_the_hessian_is_that_of_the_formula(scale):
    rng = np.random.default_rng(6)
    scores, y = scale * rng.random(9), rng.integers(0, 3, 9)
    direction = rng.standard_normal(9)
    lists, loss = Lists([9]), RankNet()
    prepared = loss.prepare(y.astype(float), lists)
    hessian = np.zeros((9, 9))
    for i in range(9):
        for j in range(9):
            if y[i] > y[j]:
                gap = scores[i] - scores[j]
                curvature = sigma(gap) * sigma(-gap)
                hessian[[i, j], [i, j]] += curvature
                hessian[[i, j], [j, i]] -= curvature
    product = loss.hessian_product(scores, prepared, lists, direction)
    assert_allclose(product, hessian @ direction, rtol=0, atol=20 * EPS * (1 + scale))
