"""Draws and probabilities of rankings against enumeration of all orders."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from scipy import stats

import skrank._probability.plackett_luce as plackett_luce
from skrank import Lists
from skrank._data.lists import Levels
from skrank._probability.plackett_luce import (
    draw_ranks,
    stage_probabilities,
    top_k_probabilities,
)


def orders_of(scores):
    """Return all orders, best row first, and the probability of each."""
    orders = np.array(list(permutations(range(len(scores)))))
    weights = np.exp(scores - np.max(scores))[orders]
    left = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
    return orders, np.prod(weights / left, axis=1)


def first_k(scores, k):
    """Return the probability of each row to be among the first k, by enumeration."""
    orders, probabilities = orders_of(scores)
    proba = np.zeros(len(scores))
    for place in range(min(k, len(scores))):
        np.add.at(proba, orders[:, place], probabilities)
    return proba


def exact(scores, sizes, k):
    probabilities = top_k_probabilities(
        np.asarray(scores), Lists(sizes), k, 1, np.random.RandomState(0)
    )
    assert not probabilities.standard_error.any()
    return probabilities.probability


@pytest.mark.parametrize("spread", [0.0, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6, 9])
def test_top_k_probabilities_equal_enumeration(spread, k):
    rng = np.random.default_rng(k)
    sizes = [1, 2, 3, 4, 5, 6]
    scores = spread * rng.standard_normal(sum(sizes))
    parts = np.split(scores, np.cumsum(sizes)[:-1])
    expected = np.concatenate([first_k(part, k) for part in parts])
    np.testing.assert_allclose(exact(scores, sizes, k), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("k", [2, 15, 29, 50, 98, 99])
@pytest.mark.parametrize("spread", [0.0, 2.0, 400.0])
def test_top_k_probabilities_sum_to_k_and_follow_the_scores(k, spread):
    scores = spread * np.random.default_rng(0).standard_normal(100)
    probabilities = exact(scores, [100], k)
    # A hundred sums of some hundred nodes of at most 1, each rounded.
    assert probabilities.sum() == pytest.approx(k, abs=1e-11)
    assert np.all(np.diff(probabilities[np.argsort(scores)]) >= -1e-12)
    if spread == 0.0:
        np.testing.assert_allclose(probabilities, k / 100, atol=1e-12)


def test_top_k_probabilities_of_scores_far_apart_are_certain():
    assert exact([3e3, -3e3, 0.0, 1e3], [4], 2).tolist() == [1.0, 0.0, 0.0, 1.0]


def test_draws_follow_the_probabilities_of_all_orders():
    scores = np.array([0.4, -0.9, 1.3, 0.0, 0.2])
    n_samples = 20_000
    lists = Lists([2, 5])
    both = np.concatenate(([0.7, -0.3], scores))
    ranks = draw_ranks(both, lists, n_samples, np.random.RandomState(0))
    orders, probabilities = orders_of(scores)
    code = 10 ** np.arange(5)
    expected = dict(zip((np.argsort(orders) + 1) @ code, probabilities, strict=True))
    assert sum(probabilities) == pytest.approx(1.0, abs=1e-14)
    codes, counts = np.unique(ranks[:, 2:] @ code, return_counts=True)
    assert len(expected) == factorial(5)
    assert set(codes) <= set(expected)
    counted = dict(zip(codes, counts, strict=True))
    table = np.array([(counted.get(c, 0), n_samples * p) for c, p in expected.items()])
    assert table[:, 1].min() > 5  # as the test needs
    assert stats.chisquare(*table.T).pvalue > 1e-3
    wins = int((ranks[:, 0] == 1).sum())
    assert stats.binomtest(wins, n_samples, 1 / (1 + np.exp(-1.0))).pvalue > 1e-3


def test_top_k_probabilities_agree_with_draws_of_long_lists():
    rng = np.random.default_rng(3)
    scores, n_samples = rng.standard_normal(30), 20_000
    ranks = draw_ranks(scores, Lists([30]), n_samples, np.random.RandomState(1))
    probability = exact(scores, [30], 7)
    share = np.mean(ranks <= 7, axis=0)
    z = (share - probability) / np.sqrt(probability * (1 - probability) / n_samples)
    assert np.abs(z).max() < 4
    assert np.sum(z**2) < stats.chi2.ppf(1 - 1e-3, 30)


def test_lists_that_are_too_long_are_drawn_with_a_standard_error(monkeypatch):
    scores = np.random.default_rng(0).standard_normal(23)
    lists = Lists([3, 20])
    whole = exact(scores, [3, 20], 5)
    monkeypatch.setattr(plackett_luce, "EXACT_WORK", 1e3)
    rng = np.random.RandomState(0)
    drawn = top_k_probabilities(scores, lists, 5, 4000, rng)
    assert not drawn.standard_error[:3].any()
    assert np.all(drawn.standard_error[3:] > 0)
    z = (drawn.probability - whole)[3:] / drawn.standard_error[3:]
    assert 0.3 < np.sqrt(np.mean(z**2)) < 2
    assert np.abs(z).max() < 4


def test_noise_is_drawn_in_parts_that_do_not_show(monkeypatch):
    scores, lists = np.zeros(6), Lists([2, 4])
    whole = draw_ranks(scores, lists, 50, np.random.RandomState(0))
    monkeypatch.setattr(plackett_luce, "DRAWN_AT_ONCE", 20)
    parts = draw_ranks(scores, lists, 50, np.random.RandomState(0))
    np.testing.assert_array_equal(whole, parts)


@pytest.mark.parametrize("spread", [1.0, 1e3])
def test_stage_probabilities_divide_by_all_that_is_not_better(spread):
    rng = np.random.default_rng(0)
    sizes = [1, 4, 6, 4]
    lists = Lists(sizes)
    scores, y = spread * rng.standard_normal(15), rng.integers(0, 3, 15)
    levels = Levels(y, lists)
    probabilities = stage_probabilities(scores, levels.order, levels.starts, lists)
    of_list = np.repeat(np.arange(4), sizes)
    for i in range(15):
        left = scores[(of_list == of_list[i]) & (y <= y[i])]
        expected = 1 / np.sum(np.exp(np.minimum(left - scores[i], 700.0)))
        assert probabilities[i] == pytest.approx(expected, rel=1e-12, abs=1e-300)
