"""Davidson-Luce: worked numbers, sizes that never occur, slope, pairs."""

from math import exp, log

import numpy as np
import pytest
from skrank._kernels.subsets_geometric import IMPOSSIBLE

from skrank import Lists
from skrank.losses import PMOP, DavidsonLuce, ListMLE

EPS = np.finfo(np.float64).eps


def evaluate(loss, scores, y, *extra):
    scores, y = np.asarray(scores, dtype=float), np.asarray(y, dtype=float)
    lists = Lists([len(y)])
    return loss.value_and_gradient(scores, loss.prepare(y, lists), lists, *extra)


def test_values_and_gradients_are_the_worked_numbers(worked_numbers):
    cases = worked_numbers["cases"]
    cases = [case for case in cases if case["id"].startswith("davidson_luce/")]
    assert len(cases) >= 3
    for case in cases:
        n = len(case["s"])
        log_delta = np.array(case["params"]["log_delta"][2 : n + 1])
        result = evaluate(DavidsonLuce(), case["s"], case["y"], log_delta)
        assert result[0][0] == pytest.approx(case["loss"], rel=1e-15, abs=1e-15)
        np.testing.assert_allclose(result[1], case["grad_s"], atol=2 * EPS)
        expected = np.zeros(n - 1)
        in_weights = case["grad_log_delta"][2 : n + 1]
        expected[: len(in_weights)] = in_weights
        np.testing.assert_allclose(result[2][0], expected, atol=4 * EPS)


def test_a_pair_of_rows_is_davidsons_model():
    s, log_nu = [0.4, -0.3], 0.7
    tie = exp(log_nu + 0.05)
    total = exp(0.4) + exp(-0.3) + tie
    win = evaluate(DavidsonLuce(), s, [1, 0], np.array([log_nu]))
    draw = evaluate(DavidsonLuce(), s, [1, 1], np.array([log_nu]))
    assert win[0][0] == pytest.approx(log(total) - 0.4, rel=1e-15)
    assert draw[0][0] == pytest.approx(log(total) - log(tie), rel=1e-15)
    assert win[2][0, 0] == pytest.approx(tie / total, rel=1e-15)
    assert draw[2][0, 0] == pytest.approx(tie / total - 1, rel=1e-15)


def test_sizes_that_never_occur_are_impossible():
    """Three rows tied and single rows: no stage takes two."""
    y = np.array([1.0, 1.0, 1.0, 0.0])
    loss = DavidsonLuce()
    start = loss.extra_parameters(y, Lists([4]))
    np.testing.assert_array_equal(start, [IMPOSSIBLE, 0.0])
    assert np.exp(start[0]) == 0.0
    s = np.array([0.3, -0.1, 0.8, 0.5])
    values, _, in_extra = evaluate(loss, s, y, start)
    ones = np.exp(s).sum()
    threes = np.exp((s.sum() - s) / 3).sum()
    expected = log(ones + threes) - (0.3 - 0.1 + 0.8) / 3
    assert values[0] == pytest.approx(expected, rel=1e-14)
    assert in_extra[0, 0] == 0.0
    assert in_extra[0, 1] == pytest.approx(threes / (ones + threes) - 1, rel=1e-14)


@pytest.mark.parametrize("scale", [1.0, 1e4])  # near and far
def test_a_block_of_lists_knows_the_sizes_of_the_others(scale):
    rng = np.random.default_rng(0)
    y = np.array([2, 2, 1, 0, 1, 1, 1, 1, 0, 0], dtype=float)
    s = scale * rng.standard_normal(10)
    lists, loss = Lists([4, 6]), DavidsonLuce()
    extra = loss.extra_parameters(y, lists)
    np.testing.assert_array_equal(extra, [0.0, IMPOSSIBLE, 0.0])
    together = loss.value_and_gradient(s, loss.prepare(y, lists), lists, extra)
    for q, rows in enumerate([slice(0, 4), slice(4, 10)]):
        values, gradient, in_extra = evaluate(loss, s[rows], y[rows], extra)
        np.testing.assert_array_equal(values, together[0][[q]])
        np.testing.assert_array_equal(gradient, together[1][rows])
        np.testing.assert_array_equal(in_extra, together[2][[q]])


@pytest.mark.parametrize("tie_weights", ["sizes", "slope"])
def test_without_ties_it_is_plackett_luce(tie_weights):
    rng = np.random.default_rng(1)
    s, y = rng.standard_normal(12), rng.permutation(12).astype(float)
    loss = DavidsonLuce(tie_weights)
    extra = loss.extra_parameters(y, Lists([12]))
    result = evaluate(loss, s, y, *([extra] if len(extra) else []))
    expected = evaluate(ListMLE(), s, y)
    assert result[0][0] == pytest.approx(expected[0][0], rel=1e-14)
    np.testing.assert_allclose(result[1], expected[1], rtol=0, atol=8 * EPS)


@pytest.mark.parametrize("max_tie_size", [None, 4])
def test_a_slope_of_zero_is_pmop(max_tie_size):
    s, y = np.linspace(-1.0, 2.0, 9), [2, 2, 0, 1, 1, 1, 0, 2, 0]
    slope = evaluate(DavidsonLuce("slope", max_tie_size), s, y, np.zeros(1))
    pmop = evaluate(PMOP("geometric", max_tie_size), s, y)
    np.testing.assert_array_equal(slope[0], pmop[0])
    np.testing.assert_array_equal(slope[1], pmop[1])


@pytest.mark.parametrize("slope", [-300.0, -40.0, 40.0, 300.0])
def test_slopes_of_any_size(slope):
    """Where a size has all the weight, the others are as good as impossible."""
    s, y = np.array([0.5, -0.2, 0.1, 1.0]), np.array([1.0, 0.0, 2.0, 3.0])
    values, gradient, in_slope = evaluate(
        DavidsonLuce("slope"), s, y, np.array([slope])
    )
    if slope < 0:
        expected, by_listmle = evaluate(ListMLE(), s, y)
        assert values[0] == pytest.approx(expected[0], rel=1e-14)
        np.testing.assert_allclose(gradient, by_listmle, rtol=0, atol=8 * EPS)
        assert in_slope[0, 0] == pytest.approx(0.0, abs=1e-15)
    else:
        # Stages of 4, 3, 2, 1 rows take them all; observed are single rows.
        means = [s.mean(), s[:3].mean(), s[:2].mean()]
        expected = sum(means) + s[1] - s.sum() + slope * 6
        assert values[0] == pytest.approx(expected, rel=1e-14)
        assert in_slope[0, 0] == pytest.approx(6.0, rel=1e-14)


@pytest.mark.parametrize(
    ("loss", "complaint"),
    [
        (DavidsonLuce("free"), "tie_weights must be 'sizes' or 'slope', got 'free'"),
        (DavidsonLuce(max_tie_size=0), "max_tie_size must be None or an integer"),
        (DavidsonLuce(max_tie_size=1), "2 rows of list 0 .* share the label 1"),
    ],
)
def test_wrong_parameters_are_named(loss, complaint):
    with pytest.raises(ValueError, match=complaint):
        loss([0.0, 1.0, 0.0], [1, 1, 0], [0, 0, 0])
