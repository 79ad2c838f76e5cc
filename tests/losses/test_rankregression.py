"""What is particular to RankRegression: its numbers, Laplacian, and many rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skrank import Lists
from skrank.losses import RankRegression

EPS = np.finfo(np.float64).eps


def value_and_gradient(loss, scores, y):
    lists = Lists([len(y)])
    scores, y = np.array(scores, dtype=float), np.array(y, dtype=float)
    return loss.value_and_gradient(scores, loss.prepare(y, lists), lists)


@pytest.mark.parametrize(
    ("name", "differences"), [("rankregress", "margin"), ("labeldiff", "labels")]
)
def test_values_and_gradients_are_the_worked_numbers(worked_numbers, name, differences):
    cases = worked_numbers["cases"]
    cases = [case for case in cases if case["id"].startswith(f"{name}/")]
    assert len(cases) == 2
    for case in cases:
        loss = RankRegression(differences)
        values, gradient = value_and_gradient(loss, case["s"], case["y"])
        assert_allclose(values, case["loss"], rtol=8 * EPS)
        assert_allclose(gradient, case["grad_s"], rtol=8 * EPS, atol=16 * EPS)


def test_the_margin_form_has_the_laplacian_of_pairs():
    rng = np.random.default_rng(0)
    y, scores, direction = rng.integers(0, 4, 12), *rng.standard_normal((2, 12))
    pairs = (y[:, np.newaxis] != y).astype(float)
    laplacian = np.diag(pairs.sum(axis=1)) - pairs
    b = (y[:, np.newaxis] > y).sum(axis=1) - (y[:, np.newaxis] < y).sum(axis=1)
    loss, lists = RankRegression(), Lists([12])
    prepared = loss.prepare(y.astype(float), lists)
    values, gradient = loss.value_and_gradient(scores, prepared, lists)
    expected = pairs.sum() / 2 - 2 * b @ scores + scores @ laplacian @ scores
    assert_allclose(values, expected, rtol=100 * EPS)
    assert_allclose(gradient, 2 * laplacian @ scores - 2 * b, atol=200 * EPS)
    product = loss.hessian_product(scores, prepared, lists, direction)
    assert_allclose(product, 2 * laplacian @ direction, atol=200 * EPS)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_scores_that_meet_every_margin_cost_nothing_to_the_last_digit(shift):
    # Running sums of squares would leave rounding of 1e6^2 here.
    values, gradient = value_and_gradient(
        RankRegression(), np.array([1.0, 1.0, 0.0, 0.0, 0.0]) + shift, [1, 1, 0, 0, 0]
    )
    assert values[0] <= 100 * EPS
    assert_allclose(gradient, 0.0, atol=100 * EPS)


def test_labels_count_as_numbers_only_for_label_differences():
    scores, groups = [0.3, 0.1, 0.9], [0, 0, 0]
    margin, labels = RankRegression(), RankRegression("labels")
    assert margin(scores, [2, 1, 0], groups) == margin(scores, [90, 1, 0], groups)
    assert labels([9.0, 2.0, 2.5], [9, 2, 2.5], groups) == 0.0
    assert labels(scores, [2, 1, 0], groups) < labels(scores, [90, 1, 0], groups)


@pytest.mark.parametrize("differences", ["margin", "labels"])
def test_a_hundred_thousand_distinct_labels(differences):
    n_rows = 100_000
    rng = np.random.default_rng(1)
    y, scores = rng.permutation(n_rows) / 1e5, np.zeros(n_rows)
    loss, lists = RankRegression(differences), Lists([n_rows])
    prepared = loss.prepare(y, lists)
    values, gradient = loss.value_and_gradient(scores, prepared, lists)
    if differences == "margin":
        assert_allclose(values[0], n_rows * (n_rows - 1) / 2, rtol=1e-14)
        expected = 2.0 * (n_rows - 1 - 2e5 * y)  # rows above less rows below
    else:
        assert_allclose(values[0], n_rows**2 * y.var(), rtol=1e-12)
        expected = 2.0 * n_rows * (y.mean() - y)
    assert_allclose(gradient, expected, rtol=1e-12, atol=1e-6)


def test_unknown_differences_are_named():
    with pytest.raises(ValueError, match="differences must be 'margin' or 'labels'"):
        RankRegression("pairs")([0.0, 1.0], [1, 0], [0, 0])


@pytest.mark.parametrize("size", [1e155, -1e300, 8e307])
def test_labels_whose_squares_overflow_are_refused_by_name(size):
    lists, y = Lists([3]), np.array([0.0, 1.0, 2.0]) * size
    with pytest.raises(ValueError, match=r"y holds .*beyond 1e\+145"):
        RankRegression("labels").check_labels(y, lists)
    assert RankRegression("labels")([0.0, 0.0], [1e145, 0.0], [0, 0]) < np.inf
    assert RankRegression()([0.0, 0.5, 1.0], np.abs(y), [0, 0, 0]) == 0.5
