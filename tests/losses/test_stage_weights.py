"""Stages of ListMLE that weigh: gains, places and discounts, tied levels too."""

import warnings
from itertools import permutations
from math import exp, fsum, log, log2

import numpy as np
import pytest

from skrank import Lists
from skrank.losses import ListMLE

TIES = ["order", "random", "breslow", "efron", "marginal"]
WEIGHTS = ["gain", "position", "discount"]
EPS = np.finfo(np.float64).eps


def lists_with_ties(seed=0, n_lists=8, largest=12):
    """Return scores, labels with ties, and their lists."""
    rng = np.random.default_rng(seed)
    lists = Lists(rng.integers(1, largest, n_lists))
    y = rng.integers(0, 4, lists.n_rows).astype(float)
    return rng.normal(size=lists.n_rows), y, lists


def prepared_for(loss, y, lists):
    """Return the stages of a loss that may say that it learns the order of rows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*order of rows in the data")
        return loss.prepare(loss.check_labels(y, lists), lists)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("ties", TIES)
def test_weights_of_one_give_the_bits_of_no_weights(ties, wide):
    scores, y, lists = lists_with_ties()
    scores *= 400.0 if wide else 1.0
    direction = np.cos(np.arange(lists.n_rows))
    loss = ListMLE(ties, random_state=0)
    plain = prepared_for(loss, y, lists)
    ones = plain._replace(weights=np.ones(lists.n_rows))
    for stages in (plain, ones):
        value, gradient = loss.value_and_gradient(scores, stages, lists)
        product = loss.hessian_product(scores, stages, lists, direction)
        if stages is plain:
            expected = value, gradient, product
    np.testing.assert_array_equal(value, expected[0])
    np.testing.assert_array_equal(gradient, expected[1])
    np.testing.assert_array_equal(product, expected[2])


@pytest.mark.parametrize("ties", ["efron", "breslow", "marginal"])
def test_zero_weights_leave_nothing(ties):
    scores, y, lists = lists_with_ties()
    loss = ListMLE(ties)
    for scale in (1.0, 1e3):
        none = prepared_for(loss, y, lists)._replace(weights=np.zeros(lists.n_rows))
        value, gradient = loss.value_and_gradient(scale * scores, none, lists)
        product = loss.hessian_product(scale * scores, none, lists, scores)
        assert not value.any()
        assert not gradient.any()
        assert not product.any()


def log_orders(s, level, remaining):
    """Return log P(the rows of a level come before the rest), order by order."""
    total = 0.0
    for order in permutations(level):
        left, chance = list(level) + list(remaining), 1.0
        for pick in order:
            chance *= exp(s[pick]) / fsum(exp(s[i]) for i in left)
            left.remove(pick)
        total += chance
    return log(total)


def test_marginal_gain_stages_equal_the_enumeration_of_orders():
    s, y = [0.3, -1.0, 0.8, 0.1, 1.7, -0.4, 0.0], [2, 2, 0, 1, 1, 1, 0]
    ideal = fsum(
        (2.0**label - 1) / log2(2 + rank)
        for rank, label in enumerate(sorted(y, reverse=True))
    )
    best = log_orders(s, [0, 1], [2, 3, 4, 5, 6])
    middle = log_orders(s, [3, 4, 5], [2, 6])
    expected = -(3 * best + 1 * middle) / ideal
    value = ListMLE("marginal", stage_weights="gain")(s, y, [0] * 7)
    assert value == pytest.approx(expected, rel=1e-13)


def test_efron_gain_stages_by_hand():
    s, y = np.log([2.0, 3.0, 1.0, 4.0]), [1, 1, 0, 3]
    ideal = 7 + 1 / log2(3) + 1 / 2
    top = log(10) - log(4)
    tied = log(6) + log(6 - 5 / 2) - log(6)
    value = ListMLE(stage_weights="gain")(s, y, [0] * 4)
    assert value == pytest.approx((7 * top + tied) / ideal, rel=1e-14)


def test_tied_levels_weigh_the_mean_of_the_places_they_take():
    s, y = np.log([2.0, 3.0, 1.0, 4.0]), [1, 1, 0, 3]
    top, tied = log(10) - log(4), log(6) + log(6 - 5 / 2) - log(6)
    groups = [0] * 4
    discount = top + tied * (1 / log2(3) + 1 / 2) / 2
    position = top * (1 - 1 / 8) + tied * ((1 / 2 - 1 / 8) + (1 / 4 - 1 / 8)) / 2
    assert ListMLE(stage_weights="discount")(s, y, groups) == pytest.approx(discount)
    assert ListMLE(stage_weights="position")(s, y, groups) == pytest.approx(position)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("shift", [-3.0, 0.1, 1e6])
def test_a_shift_of_the_labels_of_a_list_changes_no_gain_stage(ties, shift):
    scores, y, lists = lists_with_ties(3)
    loss = ListMLE(ties, stage_weights="gain", random_state=5)
    shifts = lists.expand(shift * np.arange(1.0, lists.n_lists + 1))
    plain = prepared_for(loss, y, lists)
    moved = prepared_for(loss, y + shifts, lists)
    np.testing.assert_array_equal(plain.weights, moved.weights)
    for first, second in zip(
        loss.value_and_gradient(scores, plain, lists),
        loss.value_and_gradient(scores, moved, lists),
        strict=True,
    ):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("ties", TIES)
def test_labels_that_are_no_grades_weigh_alike_and_warn(ties):
    groups = np.repeat([0, 1, 2], 4)
    y = np.array([0, 0.5, 1.5, 3, 0, 1, 2, 33, 0, 1, 2, 3.0])
    scores = np.cos(np.arange(12.0))
    gain = ListMLE(ties, stage_weights="gain", random_state=0)
    auto = ListMLE(ties, stage_weights="auto", random_state=0)
    plain = ListMLE(ties, random_state=0)
    with pytest.warns(UserWarning, match=r"in 2 of 3 lists .*not whole.*more than 31"):
        value = gain(scores, y, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert auto(scores, y, groups) == value
        graded = gain(scores[8:], y[8:], groups[8:])
    uniform = [
        plain(scores[part], y[part], groups[part]) for part in np.r_[:8].reshape(2, 4)
    ]
    assert value == pytest.approx((sum(uniform) + graded) / 3, rel=1e-14)


@pytest.mark.parametrize("ties", TIES)
def test_gains_do_not_overflow(ties):
    y = np.array([1e9, 1e9 - 1, 1e9 - 31.0])
    value = ListMLE(ties, stage_weights="gain", random_state=0)(
        [0.3, 0.2, 0.1], y, [0, 0, 0]
    )
    same = ListMLE(ties, stage_weights="gain", random_state=0)(
        [0.3, 0.2, 0.1], [31, 30, 0], [0, 0, 0]
    )
    assert np.isfinite(value)
    assert value == same


@pytest.mark.parametrize("ties", ["efron", "breslow", "marginal"])
def test_a_list_with_one_level_has_loss_zero(ties):
    for last_level in ("skip", "rank"):
        loss = ListMLE(ties, last_level, stage_weights="gain")
        assert loss([0.2, -0.4, 0.9], [2, 2, 2], [0, 0, 0]) == 0.0


def test_the_lowest_level_weighs_nothing_even_if_ranked():
    scores, y, lists = lists_with_ties(5)
    groups = lists.expand(np.arange(lists.n_lists))
    skip = ListMLE(stage_weights="gain")(scores, y, groups)
    assert ListMLE("efron", "rank", stage_weights="gain")(scores, y, groups) == skip


def test_top_k_leaves_the_ideal_dcg_of_all_rows():
    _, y, lists = lists_with_ties(6)
    whole = prepared_for(ListMLE(stage_weights="gain"), y, lists)
    cut = prepared_for(ListMLE(top_k=2, stage_weights="gain"), y, lists)
    np.testing.assert_array_equal(whole.weights, cut.weights)
    assert cut.n_stages.max() <= 2


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("ties", TIES)
def test_weighted_stages_are_convex(ties, weights):
    scores, y, lists = lists_with_ties(7)
    loss = ListMLE(ties, stage_weights=weights, random_state=0)
    prepared = prepared_for(loss, y, lists)
    rng = np.random.default_rng(0)
    for _ in range(20):
        direction = rng.normal(size=lists.n_rows)
        product = loss.hessian_product(2 * scores, prepared, lists, direction)
        # Of one list at a time, since lists do not mix.
        bends = lists.sum(direction * product)
        assert (bends >= -1e-12).all()
