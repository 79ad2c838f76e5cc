"""Simulated browsing: its best arrangements, which no score of single rows gives."""

from itertools import permutations

import numpy as np
import pytest

pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank.metrics import PositionBased, UserBrowsing, best_order
from skrank.neural import make_browsing
from skrank.neural._simulation import best_arrangements

RHO = [0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11]


def expected_clicks(order, appeal, topic, dependence):
    """Return the clicks that users of the position based model are expected to make."""
    total, above = 0.0, None
    for rank, row in enumerate(order):
        taken = dependence if topic[row] == above else 0.0
        total += RHO[rank] * appeal[row] * (1.0 - taken)
        above = topic[row]
    return total


@pytest.mark.parametrize("dependence", [0.0, 0.5, 0.8, 1.0])
def test_labels_sort_into_the_best_of_all_orders(dependence):
    data = make_browsing(n_lists=8, list_size=5, dependence=dependence, random_state=0)
    worth = data.worth(data.y, average=None)
    for number in range(8):
        rows = data.groups == number
        appeal, topic = data.appeal[rows], data.topic[rows]
        values = [
            expected_clicks(order, appeal, topic, dependence)
            for order in permutations(range(5))
        ]
        assert worth[number] == pytest.approx(max(values), rel=1e-12)
        order = np.argsort(-data.y[rows])
        clicks = expected_clicks(order, appeal, topic, dependence)
        assert clicks == pytest.approx(max(values), rel=1e-12)


def test_no_score_of_single_rows_gives_the_best_arrangements():
    appeal, topic = {"A": 0.9, "A'": 0.8, "B": 0.6}, {"A": 0, "A'": 0, "B": 1}

    def best(*rows):
        arrangement = best_arrangements(
            np.array([[appeal[row] for row in rows]]),
            np.array([[topic[row] for row in rows]]),
            0.8,
            PositionBased(),
        )
        return [rows[place] for place in np.argsort(arrangement[0])]

    # The score of A' would have to be above and below that of B.
    assert best("B", "A'") == ["A'", "B"]
    assert best("A'", "B", "A") == ["A", "B", "A'"]


def test_most_lists_are_worth_more_arranged_than_sorted_by_appeal():
    data = make_browsing(n_lists=100, random_state=0)
    gain = data.worth(data.y, average=None) - data.worth(data.appeal, average=None)
    assert (gain >= -1e-12).all()
    assert np.mean(gain > 1e-6) > 0.8


def test_without_dependence_the_click_models_own_best_orders_are_best():
    pbm = make_browsing(n_lists=20, dependence=0.0, random_state=0)
    np.testing.assert_allclose(
        pbm.worth(pbm.y, average=None), pbm.worth(pbm.appeal, average=None), rtol=1e-12
    )
    ubm = make_browsing(
        n_lists=20, dependence=0.0, model=UserBrowsing(), random_state=0
    )
    best = best_order(
        ubm.appeal, ubm.groups, model=ubm.model, attraction=lambda appeal: appeal
    )
    np.testing.assert_allclose(ubm.worth(ubm.y, average=None), best.values, rtol=1e-12)


@pytest.mark.parametrize("model", [PositionBased(), UserBrowsing()])
def test_drawn_clicks_are_as_many_as_expected(model):
    data = make_browsing(n_lists=50, model=model, random_state=0)
    scores = np.random.default_rng(0).standard_normal(len(data.y))
    clicks = data.clicks(scores, n_samples=400, random_state=1)
    means = clicks.sum(1) / 50  # of each sample, over lists
    error = means.std(ddof=1) / np.sqrt(len(means))
    assert abs(means.mean() - data.worth(scores)) < 4 * error
    again = data.clicks(scores, n_samples=400, random_state=1)
    np.testing.assert_array_equal(clicks, again)


def test_equal_scores_rank_in_row_order():
    data = make_browsing(n_lists=5, random_state=0)
    in_order = -np.arange(len(data.y), dtype=float)
    np.testing.assert_array_equal(
        data.attraction(np.zeros(len(data.y))), data.attraction(in_order)
    )
    assert data.worth(np.zeros(len(data.y))) == data.worth(in_order)


def test_the_latest_rows_browsed_show_the_interest_of_now():
    data = make_browsing(n_lists=400, n_browsed=9, random_state=0)
    liked = {"old": [], "new": []}
    for user in range(400):
        topics = data.history.rows_of(user)[:, :-1]
        half = len(topics) // 2
        interest = data.profile.rows_of(user)[0]
        liked["old"] += list(topics[:half] @ interest)
        liked["new"] += list(topics[half:] @ interest)
    # One interest is worth some standard deviations of a mean over 1,600 rows more.
    assert np.mean(liked["new"]) > np.mean(liked["old"]) + 0.3


def test_the_same_seed_draws_the_same_data():
    first, second = (make_browsing(n_lists=4, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
    np.testing.assert_array_equal(first.history.rows_of(2), second.history.rows_of(2))


@pytest.mark.parametrize(
    "wrong", [{"list_size": 8}, {"dependence": 1.1}, {"n_lists": 0}, {"model": "pbm"}]
)
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter"):
        make_browsing(**wrong)


def test_scores_of_another_length_are_refused():
    data = make_browsing(n_lists=2, random_state=0)
    with pytest.raises(ValueError, match="scores has 3 entries"):
        data.worth([1.0, 2.0, 3.0])
