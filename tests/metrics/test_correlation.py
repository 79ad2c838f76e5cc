"""Kendall's tau and Spearman's rho against double loops and SciPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from skrank.metrics import (
    kendall_tau_score,
    pairwise_accuracy_score,
    spearman_score,
)

EPS = np.finfo(float).eps
rows = st.lists(
    st.tuples(st.integers(-2, 3), st.sampled_from([-1.5, 0.0, -0.0, 0.1, 7.0])),
    min_size=1,
    max_size=30,
)


def alone(metric, y, scores, **options):
    return metric(y, scores, np.zeros(len(y)), average=None, **options)[0]


@settings(deadline=None)
@given(rows)
def test_tau_b_and_rho_equal_scipy(pairs):
    y, scores = map(np.array, zip(*pairs, strict=True))
    if len(set(y)) < 2 or len(set(scores)) < 2:
        assert np.isnan(alone(kendall_tau_score, y, scores))
        assert np.isnan(alone(spearman_score, y, scores))
        return
    expected = kendalltau(y, scores).statistic
    value = alone(kendall_tau_score, y, scores)
    assert value == pytest.approx(expected, abs=8 * EPS)
    expected = spearmanr(y, scores).statistic
    value = alone(spearman_score, y, scores)
    # SciPy's product of two rounded roots, and n rounded squares.
    assert value == pytest.approx(expected, abs=len(y) * 8 * EPS)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(2, 6).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(0, 2), min_size=n, max_size=n),
            st.lists(st.integers(0, 2), min_size=n, max_size=n),
        )
    )
)
def test_tau_a_is_the_mean_over_all_orders_of_tied_scores(case):
    y, scores = case
    n = len(y)
    values = []
    for order in itertools.permutations(range(n)):
        if any(scores[a] < scores[b] for a, b in itertools.pairwise(order)):
            continue
        values.append(
            sum(np.sign(y[a] - y[b]) for a, b in itertools.combinations(order, 2))
            / (n * (n - 1) / 2)
        )
    value = alone(kendall_tau_score, y, scores, variant="a")
    if len(set(y)) < 2:
        assert np.isnan(value)
    else:
        assert value == pytest.approx(np.mean(values), abs=64 * EPS)


def test_lists_without_pairs_to_compare_are_undefined():
    y, flat = [0, 1, 2], [5, 5, 5]
    assert np.isnan(alone(kendall_tau_score, y, flat))
    assert alone(kendall_tau_score, y, flat, variant="a") == 0.0
    assert alone(pairwise_accuracy_score, y, flat) == 0.5
    for variant in "ab":
        assert np.isnan(alone(kendall_tau_score, flat, y, variant=variant))
    assert np.isnan(alone(pairwise_accuracy_score, flat, y))
    value = alone(kendall_tau_score, [1, 1, 0], [3, 2, 1], variant="a")
    assert value == pytest.approx(2 / 3, rel=EPS)
    value = alone(kendall_tau_score, [1, 1, 0], [3, 2, 1])
    assert value == pytest.approx(np.sqrt(2 / 3), rel=2 * EPS)


def test_lists_equal_one_by_one_and_perfect_orders_give_exactly_1():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), rng.integers(2, 40, 50))
    y, scores = rng.integers(0, 4, len(groups)), rng.integers(0, 6, len(groups))
    for metric in (kendall_tau_score, spearman_score):
        together = metric(y, scores, groups, average=None)
        apart = [alone(metric, y[groups == g], scores[groups == g]) for g in range(50)]
        np.testing.assert_array_equal(together, apart)
        assert metric(y, 3 * y + 1, groups) == 1.0
        assert metric(y, -y, groups) == -1.0


def test_an_unknown_variant_is_named():
    with pytest.raises(ValueError, match="variant must be 'b' or 'a', got 'c'"):
        kendall_tau_score([0, 1], [0, 1], [0, 0], variant="c")


def test_values_asserted_in_pyltrs_tests(published_values):
    entries = published_values
    entries = [entry for entry in entries if entry["metric"] == "kendall_tau"]
    assert entries
    for entry in entries:
        y = entry["y_ranked"]
        value = kendall_tau_score(
            y, -np.arange(len(y)), np.zeros(len(y)), variant="a", empty=0.0
        )
        assert value == pytest.approx(entry["expected"], abs=entry["tol"])
