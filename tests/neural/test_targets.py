"""Arrangements to learn are drawn among all best orders of a click model."""

import itertools
from collections import Counter

import numpy as np
import pytest

pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank import Lists
from skrank.metrics import (
    Cascade,
    DynamicBayesian,
    PositionBased,
    UserBrowsing,
    click_score,
)
from skrank.neural._targets import ArrangementTarget, best_ranks

MODELS = {
    "all ranks alike from the third": PositionBased([0.9, 0.6, 0.3]),
    "ranks that are never read": PositionBased([0.8, 0.5, 0.0]),
    "ranks that rise again": PositionBased([0.8, 0.4, 0.2, 0.4]),
    "every rank read": PositionBased(tau=0.0),
    "the cascade": Cascade(),
    "nobody stops": DynamicBayesian(gamma=1.0, satisfaction=0.5),
    "some stop": DynamicBayesian(gamma=0.8, satisfaction=0.5),
    "browsing with equal chances": UserBrowsing(tau=0.0),
    "browsing by rank alone": UserBrowsing([[0.9], [0.5, 0.5], [0.2, 0.2, 0.2]]),
}
LABELS = np.array([2.0, 0.0, 1.0, 0.0, 3.0])


def best_orders(model):
    """Return all orders of five rows with the largest expected clicks."""
    values = {}
    for order in itertools.permutations(range(5)):
        scores = np.empty(5)
        scores[list(order)] = -np.arange(5)
        values[order] = click_score(LABELS, scores, [7] * 5, model=model)
    most = max(values.values())
    return {order for order, value in values.items() if value > most - 1e-12}


def target_of(model, n_lists=1, seed=0):
    lists = Lists(np.full(n_lists, 5))
    y = np.tile(LABELS, n_lists)
    ranks, open_rows, open_places = best_ranks(model, 4.0, y, lists)
    rng = np.random.RandomState(seed)
    target = ArrangementTarget(
        open_rows, ranks, lists, "placed", True, rng, open_places
    )
    return target, rng


@pytest.mark.parametrize("name", MODELS)
def test_each_best_order_is_drawn_as_often_as_any_other(name):
    expected = best_orders(MODELS[name])
    assert len(expected) >= 2
    n_lists = 40 * len(expected)
    target, _ = target_of(MODELS[name], n_lists)
    drawn = Counter(map(tuple, target.order.reshape(n_lists, 5).tolist()))
    assert set(drawn) == expected
    # Each count is binomial with mean 40 and a standard deviation below 6.4.
    assert max(abs(count - 40) for count in drawn.values()) < 5 * 6.4


def test_the_arrangement_changes_from_epoch_to_epoch():
    target, rng = target_of(MODELS["every rank read"])
    assert target.redrawn
    distinct = set()
    for _ in range(50):
        target.redraw(rng)
        distinct.add(tuple(target.order))
    assert len(distinct) > 10


def test_browsing_by_the_last_click_leaves_equal_labels_alone_open():
    model = UserBrowsing()
    expected = best_orders(model)
    target, _ = target_of(model, 200)
    drawn = set(map(tuple, target.order.reshape(200, 5).tolist()))
    assert drawn == expected
    assert len(expected) == 2
