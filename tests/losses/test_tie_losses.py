"""What is particular to RaoKupper and Davidson: probabilities, limits, wide scores."""

import tracemalloc
from math import exp, expm1, fsum, log, log1p

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skrank import Lists
from skrank.losses import Davidson, RankNet, RaoKupper

EPS = np.finfo(np.float64).eps
both = pytest.mark.parametrize("loss", [RaoKupper(), Davidson()], ids=["RK", "D"])


def evaluate(loss, scores, y, parameter):
    lists = Lists([len(y)])
    scores, y = np.array(scores, dtype=float), np.array(y, dtype=float)
    extra = np.array([parameter], dtype=float)
    return loss.value_and_gradient(scores, loss.prepare(y, lists), lists, extra)


def probabilities(loss, gap, parameter):
    """Return P(win), P(loss), P(tie) of two rows, by the loss."""
    computed = []
    for y in ([1, 0], [0, 1], [0, 0]):
        computed.append(exp(-evaluate(loss, [gap, 0.0], y, parameter)[0][0]))
    return computed


def softplus(t):
    return max(t, 0.0) + log1p(exp(-abs(t)))


def sigma(t):
    return 1.0 / (1.0 + exp(-t)) if t >= 0 else exp(t) / (1.0 + exp(t))


def raokupper_pair(d, tie, a):
    """Return the loss of a pair, its slope in d and its slope in a."""
    eta, rate = log1p(exp(a)), sigma(a)
    q, p = sigma(eta - d), sigma(eta + d)
    if not tie:
        return softplus(eta - d), -q, q * rate
    value = softplus(eta - d) + softplus(eta + d) - a - log(2 + exp(a))
    return value, p - q, rate * (p + q + 2 / expm1(-2 * eta))


def davidson_pair(d, tie, b):
    """Return the loss of a pair, its slope in d and its slope in b."""
    top = max(d / 2, -d / 2, b)
    weights = [exp(t - top) for t in (d / 2, -d / 2, b)]
    total = top + log(fsum(weights))
    win, lose, both = (weight / fsum(weights) for weight in weights)
    if tie:
        return total - b, (win - lose) / 2, both - 1
    return total - d / 2, -(lose + both / 2), both


def exact(loss, scores, y, parameter):
    """Return value and gradients by one correctly rounded sum over pairs."""
    pair = raokupper_pair if isinstance(loss, RaoKupper) else davidson_pair
    rows = range(len(y))
    values, in_extra, slopes = [], [], [[] for _ in rows]
    for i in rows:
        for j in rows:
            if y[i] > y[j] or (y[i] == y[j] and i < j):
                gap = scores[i] - scores[j]
                value, slope, change = pair(gap, y[i] == y[j], parameter)
                values.append(value)
                in_extra.append(change)
                slopes[i].append(slope)
                slopes[j].append(-slope)
    return fsum(values), [fsum(slope) for slope in slopes], fsum(in_extra)


@pytest.mark.parametrize("name", ["notie", "ties", "alltied"])
@pytest.mark.parametrize(("model", "letter"), [("raokupper", "a"), ("davidson", "b")])
def test_values_and_gradients_are_the_worked_numbers(
    worked_numbers, model, letter, name
):
    cases = worked_numbers["cases"]
    (case,) = [case for case in cases if case["id"] == f"{model}/{name}"]
    loss = RaoKupper() if model == "raokupper" else Davidson()
    parameter = case["params"][letter]
    values, gradient, in_extra = evaluate(loss, case["s"], case["y"], parameter)
    assert_allclose(values, case["loss"], rtol=1e-14)
    assert_allclose(gradient, case["grad_s"], rtol=1e-13, atol=1e-14)
    assert_allclose(in_extra[0, 0], case[f"grad_{letter}"], rtol=1e-13)


@pytest.mark.parametrize("parameter", [-15.0, -2.0, 0.3, 12.0, 20.0])
@pytest.mark.parametrize("gap", [0.0, 0.7, -3.0, 40.0])
@both
def test_the_three_probabilities_add_up_to_one(loss, gap, parameter):
    assert_allclose(sum(probabilities(loss, gap, parameter)), 1.0, rtol=60 * EPS)


@pytest.mark.parametrize("parameter", [-20.0, -3.0, 0.5, 20.0])
@pytest.mark.parametrize("reach", [0.0, 40.0, 100.0, 300.0, 650.0, 750.0, 2000.0])
@both
def test_scores_far_apart_give_the_exact_value(loss, reach, parameter):
    rng = np.random.default_rng(int(reach))
    scores = reach * rng.random(70)
    scores[:2] = 0.0, reach  # the worst row on top: the largest of all factors
    y = rng.integers(0, 4, 70)
    y[:4] = 3, 0, 3, 0
    values, gradient, in_extra = evaluate(loss, scores, y, parameter)
    value, slopes, change = exact(loss, scores.tolist(), y.tolist(), parameter)
    size = max(reach, 20.0)  # of the terms, each rounded in proportion
    assert_allclose(values, value, rtol=4 * EPS * size)
    assert_allclose(gradient, slopes, rtol=0, atol=EPS * size * 70)
    assert_allclose(in_extra[0, 0], change, rtol=0, atol=EPS * size * 70 * 70)


@both
def test_equal_scores_tie_as_often_as_the_start_says(loss):
    # Two of six pairs are tied.
    y, lists = np.array([2.0, 2.0, 1.0, 1.0]), Lists([4])
    (start,) = loss.extra_parameters(y, lists)
    tie = probabilities(loss, 0.0, start)[2]
    assert_allclose(tie, 2 / 6, rtol=8 * EPS)
    in_extra = evaluate(loss, np.zeros(4), y, start)[2]
    assert_allclose(in_extra, 0.0, atol=8 * EPS)


def test_equal_scores_by_hand():
    theta, nu = 1 + exp(0.4), exp(0.4)
    assert_allclose(
        probabilities(RaoKupper(), 0.0, 0.4)[2], (theta - 1) / (theta + 1), rtol=8 * EPS
    )
    assert_allclose(probabilities(Davidson(), 0.0, 0.4)[2], nu / (2 + nu), rtol=8 * EPS)


@pytest.mark.parametrize("gap", [0.0, 0.8, -2.5])
def test_davidson_with_nu_2_is_two_comparisons_at_half_scale(gap):
    win, lose, tie = probabilities(Davidson(), gap, log(2.0))
    half = sigma(gap / 2)
    assert_allclose(
        [win, lose, tie],
        [half**2, (1 - half) ** 2, 2 * half * (1 - half)],
        rtol=20 * EPS,
    )


@both
def test_without_ties_the_limit_is_ranknet(loss):
    rng = np.random.default_rng(3)
    scores, y = 2.0 * rng.standard_normal(30), rng.permutation(30).astype(float)
    values, gradient, in_extra = evaluate(loss, scores, y, -40.0)
    expected = RankNet().value_and_gradient(
        scores, RankNet().prepare(y, Lists([30])), Lists([30])
    )
    assert_allclose(values, expected[0], rtol=1e-14)
    assert_allclose(gradient, expected[1], atol=1e-13)
    assert abs(in_extra[0, 0]) < 1e-14
    assert loss.extra_parameters(y, Lists([30])) == [-loss.extra_limit]


@both
def test_nothing_but_ties_starts_at_the_upper_limit(loss):
    assert loss.extra_parameters(np.zeros(5), Lists([2, 3])) == [loss.extra_limit]
    assert loss.extra_parameters(np.zeros(2), Lists([1, 1])) == [0.0]


@pytest.mark.parametrize("parameter", [-3.0, 0.5, 4.0])
@pytest.mark.parametrize("scale", [1.0, 300.0, 2000.0])
@both
def test_the_hessian_is_that_of_the_formula(loss, scale, parameter):
    rng = np.random.default_rng(6)
    scores, y = scale * rng.random(9), rng.integers(0, 3, 9)
    direction = rng.standard_normal(9)
    hessian = np.zeros((9, 9))
    for i in range(9):
        for j in range(9):
            if y[i] > y[j] or (y[i] == y[j] and i < j):
                gap = scores[i] - scores[j]
                curvature = curvature_of(loss, gap, y[i] == y[j], parameter)
                hessian[[i, j], [i, j]] += curvature
                hessian[[i, j], [j, i]] -= curvature
    lists = Lists([9])
    prepared = loss.prepare(y.astype(float), lists)
    product = loss.hessian_product(
        scores, prepared, lists, direction, np.array([parameter])
    )
    assert_allclose(product, hessian @ direction, rtol=0, atol=20 * EPS * (1 + scale))


def curvature_of(loss, gap, tie, parameter):
    """Return the second derivative of a pair's loss in d."""
    if isinstance(loss, RaoKupper):
        eta = log1p(exp(parameter))
        p, q = sigma(eta + gap), sigma(eta - gap)
        return q * (1 - q) + (p * (1 - p) if tie else 0.0)
    win, lose, _ = probabilities(loss, gap, parameter)
    # Variance of d/2 with these probabilities.
    return (win + lose - (win - lose) ** 2) / 4


@pytest.mark.parametrize("scale", [1.0, 500.0])
@both
def test_long_lists_take_memory_for_rows_only(loss, scale):
    n_rows = 3000
    rng = np.random.default_rng(2)
    scores, y = scale * rng.random(n_rows), rng.integers(0, 3, n_rows).astype(float)
    lists, extra = Lists([n_rows]), np.zeros(1)
    prepared = loss.prepare(y, lists)
    assert loss.n_terms(prepared, lists)[0] == n_rows * (n_rows - 1) / 2
    tracemalloc.start()
    values, gradient, _ = loss.value_and_gradient(scores, prepared, lists, extra)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(values).all()
    assert abs(gradient.sum()) <= 1e-9
    # Boxes hold some 50 numbers a row; one a pair would be 1,500.
    assert peak <= 60 * 8 * n_rows


@both
def test_scores_that_are_not_finite_do_not_look_like_numbers(loss):
    for bad in [np.nan, np.inf]:
        values = evaluate(loss, [0.0, bad, 1.0, bad], [0, 1, 2, 2], 0.0)[0]
        assert np.isnan(values[0])
