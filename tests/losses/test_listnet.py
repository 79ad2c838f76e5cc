"""What is particular to ListNet: its targets, worked by hand."""

from math import exp, log

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from skrank import Lists
from skrank.losses import ListNet

EPS = np.finfo(np.float64).eps


def value_and_gradient(scores, y, sizes=None, loss=None):
    loss = ListNet() if loss is None else loss
    lists = Lists([len(y)] if sizes is None else sizes)
    scores, y = np.array(scores, dtype=float), np.array(y, dtype=float)
    return loss.value_and_gradient(scores, loss.prepare(y, lists), lists)


def test_gains_by_hand():
    # Labels 2, 1, 0: gains 3, 1, 0, so the target is 3/4, 1/4, 0.
    values, gradient = value_and_gradient([3.0, 1.0, 2.0], [2, 1, 0])
    total = exp(3.0) + exp(1.0) + exp(2.0)
    assert_allclose(
        values,
        -3 / 4 * log(exp(3.0) / total) - 1 / 4 * log(exp(1.0) / total),
        rtol=8 * EPS,
    )
    assert_allclose(
        gradient,
        [exp(3.0) / total - 3 / 4, exp(1.0) / total - 1 / 4, exp(2.0) / total],
        rtol=8 * EPS,
    )


@pytest.mark.parametrize("temperature", [1.0, 0.5, 4.0])
def test_softmax_of_labels_by_hand(temperature):
    values, gradient = value_and_gradient(
        [0.5, -1.0], [1.5, -0.5], loss=ListNet("softmax", temperature=temperature)
    )
    best = 1 / (1 + exp(-2.0 / temperature))  # the labels are 2 apart
    p = 1 / (1 + exp(-1.5))  # the scores are 1.5 apart
    assert_allclose(values, -best * log(p) - (1 - best) * log(1 - p), rtol=8 * EPS)
    assert_allclose(gradient, [p - best, best - p], rtol=0, atol=4 * EPS)


def test_the_least_value_is_the_entropy_of_the_target():
    y = np.array([0.0, 1.0, 3.0, 1.0])
    target = np.exp(y) / np.exp(y).sum()
    values, gradient = value_and_gradient(y + 7.0, y, loss=ListNet("softmax"))
    assert_allclose(values, -np.sum(target * np.log(target)), rtol=16 * EPS)
    assert_allclose(gradient, 0.0, atol=4 * EPS)


def test_a_list_without_gain_has_no_loss():
    values, gradient = value_and_gradient(
        [0.3, -2.0, 1.0, 0.0], [0, 0, 1, 0], sizes=[2, 2]
    )
    assert_allclose(values, [0.0, log(1 + exp(-1.0))], rtol=8 * EPS)
    assert_array_equal(gradient[:2], [0.0, 0.0])


@pytest.mark.parametrize("top", [72, 5000])
def test_large_labels_do_not_overflow(top):
    # Beside 2**top all other gains vanish: the target is the best row.
    values, gradient = value_and_gradient([0.5, 0.0, 0.0], [top, 1, 0])
    total = exp(0.5) + 2
    assert_allclose(values, log(total) - 0.5, rtol=8 * EPS)
    assert_allclose(gradient[1:], 1 / total, rtol=8 * EPS)


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
    # One relevant row: minus the log of its softmax, whatever the size of scores.
    expected = log(1 + exp(-1.0) + exp(-2.0))
    for scores in [[1000.0, 999.0, 998.0], [-1000.0, -1001.0, -1002.0]]:
        value = ListNet()(scores, [1, 0, 0], [0, 0, 0])
        assert_allclose(value, expected, rtol=0, atol=1000 * EPS)


def test_a_relevant_row_a_thousand_below_costs_its_distance_in_nats():
    values, gradient = value_and_gradient([0.0, 1000.0], [1, 0])
    assert values[0] == 1000.0
    assert_array_equal(gradient, [-1.0, 1.0])


def test_labels_are_used():
    scores, groups = [1.0, 0.0, -1.0], [0, 0, 0]
    right = ListNet()(scores, [1, 0, 0], groups)
    wrong = ListNet()(scores, [0, 0, 1], groups)
    assert_allclose(wrong - right, 2.0, rtol=8 * EPS)


@pytest.mark.parametrize(
    ("loss", "complaint"),
    [
        (ListNet("gains"), "target must be 'gain' or 'softmax', got 'gains'"),
        (ListNet("softmax", temperature=0.0), "a positive finite number, got 0.0"),
        (ListNet("softmax", temperature=np.inf), "a positive finite number, got inf"),
    ],
)
def test_unknown_settings_are_named(loss, complaint):
    with pytest.raises(ValueError, match=complaint):
        loss([0.0, 1.0], [1, 0], [0, 0])


@pytest.mark.parametrize(
    ("labels", "temperature"),
    [([1.0, 0.0], 1e-320), ([1e308, -1e308], 1.0), ([1e308, -1e308], 1e-3)],
)
def test_labels_far_apart_in_units_of_temperature_leave_the_best_row(
    labels, temperature
):
    loss = ListNet("softmax", temperature=temperature)
    assert_array_equal(loss.prepare(np.array(labels), Lists([2]))[0], [1.0, 0.0])
