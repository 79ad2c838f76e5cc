"""Exact draws, expected levels and pair probabilities against enumeration."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare

import skrank._probability.partitions
from skrank import Lists
from skrank._probability.partitions import (
    SubsetModel,
    expected_levels,
    pair_probabilities,
    stage_probabilities,
)

SCORES = np.array([0.4, -0.8, 1.3, 0.1])
# Log-weights of subsets of 0, 1, ..., 4 rows.
WEIGHTS = {
    "pmop": [-np.inf, 0.0, 0.0, 0.0, 0.0],
    "at most two": [-np.inf, 0.0, 0.0, -np.inf, -np.inf],
    "davidson-luce": [-np.inf, 0.0, -1.2, -np.inf, 0.7],
}
MODELS = {
    f"{mean} {name}": SubsetModel(mean == "arithmetic", np.array(weights))
    for mean in ("geometric", "arithmetic")
    for name, weights in WEIGHTS.items()
}


def potential(model, scores, subset):
    """Return delta_|S| exp(mean s), or delta_|S| mean(exp(s)), of a subset."""
    chosen = scores[list(subset)]
    delta = np.exp(model.log_weights[len(subset)])
    if model.arithmetic:
        return delta * np.mean(np.exp(chosen))
    return delta * np.exp(np.mean(chosen))


def subsets(rows):
    """Return all non-empty subsets of some rows."""
    return [
        subset
        for size in range(1, len(rows) + 1)
        for subset in combinations(sorted(rows), size)
    ]


def partitions(model, scores, rows=None, level=1):
    """Yield the levels of every ordered partition of rows, and its probability."""
    rows = range(len(scores)) if rows is None else rows
    total = sum(potential(model, scores, subset) for subset in subsets(rows))
    for subset in subsets(rows):
        proba = potential(model, scores, subset) / total
        levels_of_subset = dict.fromkeys(subset, level)
        remaining = sorted(set(rows) - set(subset))
        if not remaining:
            yield levels_of_subset, proba
            continue
        for below, share in partitions(model, scores, remaining, level + 1):
            yield levels_of_subset | below, proba * share


def enumerated(model, scores):
    """Return levels (n_partitions, n_rows) and probabilities of all partitions."""
    all_partitions = list(partitions(model, scores))
    levels = np.array([[of[i] for i in range(len(scores))] for of, _ in all_partitions])
    return levels, np.array([proba for _, proba in all_partitions])


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


def test_there_are_75_ordered_partitions_of_four_rows():
    levels, proba = enumerated(MODELS["geometric pmop"], SCORES)
    assert len(levels) == 75
    assert_allclose(proba.sum(), 1.0, rtol=1e-14)


def test_draws_follow_the_probabilities_of_all_partitions(model):
    levels, proba = enumerated(model, SCORES)
    n_samples = 100_000
    drawn = model.draw(SCORES, Lists([4]), n_samples, seed=1)
    code = 5 ** np.arange(4)
    counts = np.array([np.sum(drawn @ code == of) for of in levels @ code])
    possible = proba > 0
    assert counts.sum() == n_samples
    assert counts[~possible].sum() == 0
    assert chisquare(counts[possible], n_samples * proba[possible]).pvalue > 1e-3


def test_draws_of_a_list_depend_on_seed_and_place_but_not_on_other_lists(model):
    scores = np.concatenate((SCORES, SCORES[:3], SCORES))
    together = model.draw(scores, Lists([4, 3, 4]), 50, seed=3)
    assert_array_equal(together, model.draw(scores, Lists([4, 3, 4]), 50, seed=3))
    last = model.draw(SCORES, Lists([4]), 50, seed=3, place=7)
    assert_array_equal(together[:, 7:], last)
    assert np.any(together[:, :4] != together[:, 7:])
    assert np.any(together != model.draw(scores, Lists([4, 3, 4]), 50, seed=4))


@pytest.mark.parametrize("n_rows", [13, 40, 300])
def test_levels_of_long_lists_are_numbered_without_gaps(n_rows):
    rng = np.random.default_rng(n_rows)
    scores = rng.standard_normal(n_rows)
    weights = np.append(-np.inf, np.zeros(n_rows))
    for arithmetic in (False, True):
        model = SubsetModel(arithmetic, weights)
        drawn = model.draw(scores, Lists([n_rows]), 1, seed=0)[0]
        assert_array_equal(np.unique(drawn), np.arange(1, drawn.max() + 1))


def test_equal_scores_draw_a_first_level_of_binomial_size():
    n_rows, n_samples = 1100, 10  # 2^1100 overflows
    weights = np.append(-np.inf, np.zeros(n_rows))
    for arithmetic in (False, True):
        model = SubsetModel(arithmetic, weights)
        drawn = model.draw(np.zeros(n_rows), Lists([n_rows]), n_samples, seed=0)
        sizes = np.sum(drawn == 1, axis=1)
        error = np.sqrt(n_rows / 4 / n_samples)
        assert abs(sizes.mean() - n_rows / 2) < 4 * error
        assert 0.1 < sizes.var(ddof=1) / (n_rows / 4) < 3.5


@pytest.mark.parametrize("gap", [50.0, 800.0, 1e5])
def test_scores_far_apart_are_drawn_in_their_order(gap):
    scores = gap * np.arange(6.0)
    model = SubsetModel(False, np.append(-np.inf, np.zeros(6)))
    drawn = model.draw(scores, Lists([6]), 200, seed=0)
    # A tie of two rows costs exp(gap / 2) and all other ties more.
    assert_array_equal(drawn, np.tile(6 - np.arange(6), (200, 1)))


def test_short_lists_have_exact_levels_and_pairs(model):
    levels, proba = enumerated(model, SCORES)
    lists = Lists([4, 1])
    scores = np.append(SCORES, 2.0)
    level = expected_levels(scores, lists, model, n_samples=2, seed=0)
    assert_allclose(level.value, [*(proba @ levels), 1.0], rtol=1e-13)
    assert_array_equal(level.standard_error, 0.0)
    pairs = pair_probabilities(scores, lists, model, n_samples=2, seed=0)
    assert_array_equal(
        list(zip(pairs.first, pairs.second, strict=True)),
        list(combinations(range(4), 2)),
    )
    one, other = levels[:, pairs.first], levels[:, pairs.second]
    expected = [proba @ (one < other), proba @ (one == other), proba @ (one > other)]
    assert_allclose(pairs.proba, np.transpose(expected), rtol=1e-12)
    assert_array_equal(pairs.standard_error, 0.0)


def test_longer_lists_are_sampled_within_their_standard_errors(model, monkeypatch):
    rng = np.random.default_rng(0)
    lists = Lists([2, 4, 1, 4, 3])
    scores = rng.standard_normal(lists.n_rows)
    exact = expected_levels(scores, lists, model, 2, seed=0)
    exact_pairs = pair_probabilities(scores, lists, model, 2, seed=0)
    monkeypatch.setattr(skrank._probability.partitions, "SHORT", 2)
    # So few at once that each list is drawn alone.
    monkeypatch.setattr(skrank._probability.partitions, "DRAWN_AT_ONCE", 4000)
    level = expected_levels(scores, lists, model, 4000, seed=0)
    pairs = pair_probabilities(scores, lists, model, 4000, seed=0)
    long = np.repeat(lists.sizes > 2, lists.sizes)
    assert_array_equal(level.standard_error > 0, long)
    assert_array_equal(level.value[~long], exact.value[~long])
    error = (level.value - exact.value)[long] / level.standard_error[long]
    assert np.max(np.abs(error)) < 4.5
    assert_array_equal(pairs.first, exact_pairs.first)
    sampled = long[pairs.first]
    error = (pairs.proba - exact_pairs.proba)[sampled] / pairs.standard_error[sampled]
    assert np.max(np.abs(error)) < 4.5
    assert_allclose(pairs.proba.sum(axis=1), 1.0, rtol=1e-12)


def test_pair_probabilities_of_the_longest_enumerated_list_match_draws():
    rng = np.random.default_rng(5)
    scores = rng.standard_normal(12)
    for arithmetic in (False, True):
        model = SubsetModel(arithmetic, np.append(-np.inf, np.zeros(12)))
        exact = pair_probabilities(scores, Lists([12]), model, 2, seed=0)
        assert_array_equal(exact.standard_error, 0.0)
        drawn = model.draw(scores, Lists([12]), 20_000, seed=0)
        ties = np.mean(drawn[:, exact.first] == drawn[:, exact.second], axis=0)
        p = exact.proba[:, 1]
        assert np.max(np.abs(ties - p) / np.sqrt(p * (1 - p) / 20_000)) < 4.5


def test_stage_probabilities_are_shares_of_potentials(model):
    lists = Lists([3, 4])
    scores = np.concatenate((SCORES[:3], SCORES))
    y = np.array([2.0, 0.0, 2.0, 5.0, 1.0, 5.0, 3.0])

    def log_likelihoods(scores, y, lists):
        values = []
        for start, stop in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
            left, value = list(range(start, stop)), 0.0
            for grade in np.unique(y[start:stop])[::-1]:
                top = [i for i in left if y[i] == grade]
                total = sum(
                    potential(model, scores, subset) for subset in subsets(left)
                )
                value += np.log(potential(model, scores, top) / total)
                left = [i for i in left if y[i] < grade]
            values.append(value)
        return np.array(values)

    probabilities = stage_probabilities(log_likelihoods, scores, y, lists)
    expected = np.empty(7)
    for top, left in [
        ((0, 2), (0, 1, 2)),
        ((1,), (1,)),
        ((3, 5), (3, 4, 5, 6)),
        ((6,), (4, 6)),
        ((4,), (4,)),
    ]:
        total = sum(potential(model, scores, subset) for subset in subsets(left))
        expected[list(top)] = potential(model, scores, top) / total
    assert_allclose(probabilities, expected, rtol=1e-13)
