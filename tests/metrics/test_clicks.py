"""Click models: expected clicks, best orders and draws against plain formulas."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skrank.metrics import (
    Cascade,
    DynamicBayesian,
    PositionBased,
    UserBrowsing,
    best_order,
    click_score,
    click_scorer,
    dcg_score,
    err_score,
    ndcg_score,
    simulate_clicks,
)

EPS = np.finfo(float).eps
TOL = 64 * EPS
JOACHIMS = [0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06]
STARANK = [1, 1, 0.95, 0.82, 0.69, 0.54, 0.47, 0.43, 0.41, 0.43]
# Propensities that grow with the rank somewhere, and a table with few ranks.
BUMPY = [0.5, 0.2, 0.9, 0.2, 0.7, 0.1]
SMALL_TABLE = [[0.9], [0.8, 0.3], [0.6, 0.7, 0.4]]
# Row i: the last click 1, 2, ... ranks above, and, last, no click above.
TABLE = [
    [1.0],
    [0.98, 1.0],
    [1.0, 0.62, 0.95],
    [1.0, 0.77, 0.42, 0.82],
    [1.0, 0.92, 0.55, 0.31, 0.69],
    [1.0, 0.96, 0.63, 0.40, 0.22, 0.54],
    [1.0, 0.99, 0.73, 0.46, 0.29, 0.17, 0.47],
    [1.0, 1.0, 0.89, 0.52, 0.35, 0.24, 0.14, 0.43],
    [1.0, 1.0, 0.95, 0.68, 0.40, 0.29, 0.19, 0.12, 0.41],
    [1.0, 1.0, 1.0, 0.96, 0.52, 0.36, 0.27, 0.18, 0.12, 0.43],
]


def attraction(y, noise=0.1, max_grade=4):
    return noise + (1 - noise) * (2**y - 1) / (2**max_grade - 1)


def satisfaction(y, max_grade=4):
    return (2**y - 1) / 2**max_grade


def position_chances(a, propensity, tau=1.0):
    """Chance of a click at each rank: rho**tau a."""
    last = len(propensity) - 1
    return [propensity[min(i, last)] ** tau * a[i] for i in range(len(a))]


def bayesian_chances(a, s, gamma):
    """Chance of a click at each rank: a times the chance to get there."""
    chances, reached = [], 1.0
    for a_here, s_here in zip(a, s, strict=True):
        chances.append(reached * a_here)
        reached *= gamma * (1 - a_here * s_here)
    return chances


def reading_chance(table, rank, last, tau):
    """Chance to read a rank (from 1), the last click at rank ``last`` (0: none)."""
    row = table[min(rank, len(table)) - 1]
    if last == 0:
        return row[-1] ** tau
    distance = min(rank - last, max(len(row) - 1, 1))
    return row[distance - 1] ** tau


def browsing_chances(a, table=TABLE, tau=1.0):
    """Chance of a click at each rank: the sum over places of the last click."""
    last_click, chances = {0: 1.0}, []
    for rank, a_here in enumerate(a, start=1):
        clicked, stays = 0.0, {}
        for last, chance in last_click.items():
            click = a_here * reading_chance(table, rank, last, tau)
            clicked += chance * click
            stays[last] = chance * (1 - click)
        last_click = {**stays, rank: clicked}
        chances.append(clicked)
    return chances


MODELS = {
    "joachims": (PositionBased(), lambda a, s: position_chances(a, JOACHIMS)),
    "starank": (
        PositionBased("starank", tau=0.7),
        lambda a, s: position_chances(a, STARANK, 0.7),
    ),
    "bumpy": (PositionBased(BUMPY), lambda a, s: position_chances(a, BUMPY)),
    "cascade": (Cascade(), lambda a, s: bayesian_chances(a, [1] * len(a), 1)),
    "dbn": (DynamicBayesian(), lambda a, s: bayesian_chances(a, s, 0.9)),
    "patient": (DynamicBayesian(1.0), lambda a, s: bayesian_chances(a, s, 1)),
    "browsing": (UserBrowsing(), lambda a, s: browsing_chances(a)),
    "small table": (
        UserBrowsing(SMALL_TABLE, tau=0.8),
        lambda a, s: browsing_chances(a, SMALL_TABLE, 0.8),
    ),
}


@cache
def plain_worth(name, ranked, kind, k, noise):
    """The formula, for labels in ranked order."""
    a = [attraction(y, noise) for y in ranked]
    s = [1.0 if name == "cascade" else satisfaction(y) for y in ranked]
    chances = MODELS[name][1](a, s)
    total = 0.0
    for rank, (chance, s_here) in enumerate(zip(chances, s, strict=True), start=1):
        if k is None or rank <= k:
            worth = 1.0 if kind == "clicks" else s_here
            total += chance * worth / (rank if kind == "effort" else 1)
    return total


lists_of_rows = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from([0, 0, 0.5, 1, 2, 3, 4]), min_size=n, max_size=n),
        st.lists(st.integers(0, 2), min_size=n, max_size=n),
    )
)
options = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["clicks", "satisfied", "effort"]),
        "k": st.sampled_from([None, 1, 2, 3, 5]),
        "noise": st.sampled_from([0, 0.1]),
    }
)


@pytest.mark.parametrize("name", MODELS)
@settings(deadline=None, max_examples=60)
@given(lists_of_rows, options)
def test_tied_scores_count_by_the_mean_over_all_orders(name, rows, options):
    y, scores = rows
    values = [
        plain_worth(name, tuple(y[i] for i in order), **options)
        for order in itertools.permutations(range(len(y)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    in_order = sorted(range(len(y)), key=lambda i: -scores[i])
    for ties, expected in [
        ("average", np.mean(values)),
        ("worst", min(values)),
        ("best", max(values)),
        ("order", plain_worth(name, tuple(y[i] for i in in_order), **options)),
    ]:
        value = click_score(
            y, scores, [0] * len(y), model=MODELS[name][0], ties=ties, **options
        )
        assert value == pytest.approx(expected, rel=TOL, abs=TOL)


@pytest.mark.parametrize("name", MODELS)
@settings(deadline=None, max_examples=60)
@given(lists_of_rows, options)
def test_the_best_order_is_that_of_all_permutations(name, rows, options):
    y, groups = rows[0], [0] * len(rows[0])
    most = max(plain_worth(name, p, **options) for p in itertools.permutations(y))
    model = MODELS[name][0]
    best = best_order(y, groups, model=model, **options)
    assert best.exact.tolist() == [True]
    assert best.values[0] == pytest.approx(most, rel=TOL, abs=TOL)
    ranked = tuple(y[i] for i in np.argsort(best.ranks))
    assert sorted(best.ranks) == list(range(1, len(y) + 1))
    assert plain_worth(name, ranked, **options) == pytest.approx(most, rel=TOL)
    share = click_score(
        y, -best.ranks, groups, model=model, normalize=True, empty=1, **options
    )
    assert share == pytest.approx(1, rel=TOL)


@pytest.mark.parametrize("name", ["dbn", "patient"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_cutoff_takes_the_rows_that_are_best_together(name, k):
    """Two rows that satisfy are worth less than one, behind one that does not."""
    samples = list(itertools.combinations_with_replacement(range(5), 4))
    y, groups = np.ravel(samples), np.repeat(np.arange(len(samples)), 4)
    worth = np.array(
        [
            [plain_worth(name, p, "clicks", k, 0.1) for p in itertools.permutations(y)]
            for y in samples
        ]
    )
    model = MODELS[name][0]
    best = best_order(y, groups, model=model, k=k)
    np.testing.assert_allclose(best.values, worth.max(axis=1), rtol=TOL)
    for ties, expected in [("best", worth.max(axis=1)), ("worst", worth.min(axis=1))]:
        values = click_score(
            y, 0 * y, groups, model=model, k=k, ties=ties, average=None
        )
        np.testing.assert_allclose(values, expected, rtol=TOL)


@pytest.mark.parametrize(("table", "name"), [(TABLE, "dupret"), (SMALL_TABLE, None)])
@pytest.mark.parametrize("tau", [1.0, 0.5])
def test_user_browsing_equals_all_patterns_of_clicks(table, name, tau):
    y = np.array([1, 4, 0, 2, 3, 0, 1, 2, 0, 1])
    a = attraction(y)
    rates = np.zeros(len(y))
    for pattern in itertools.product([0, 1], repeat=len(y)):
        chance, last = 1.0, 0
        for rank, clicked in enumerate(pattern, start=1):
            click = a[rank - 1] * reading_chance(table, rank, last, tau)
            chance *= click if clicked else 1 - click
            last = rank if clicked else last
        rates += chance * np.array(pattern)
    model = UserBrowsing(name or table, tau=tau)
    totals = totals_by_cutoff(y, model)
    np.testing.assert_allclose(totals, np.cumsum(rates), rtol=1024 * EPS)
    np.testing.assert_allclose(browsing_chances(a, table, tau), rates, rtol=2**10 * EPS)


def totals_by_cutoff(y, model, **options):
    """Expected clicks up to each rank, rows ranked as they stand."""
    scores, groups = -np.arange(len(y)), np.zeros(len(y))
    return [
        click_score(y, scores, groups, model=model, k=k, **options)
        for k in range(1, len(y) + 1)
    ]


def test_values_are_the_worked_numbers(worked_numbers):
    worked = worked_numbers["metrics"]
    y = np.array(worked["ranked_labels"])
    np.testing.assert_allclose(
        totals_by_cutoff(y, PositionBased([1.0])),
        np.cumsum(worked["attraction_eps_0.1"]),
        rtol=TOL,
    )
    np.testing.assert_allclose(
        totals_by_cutoff(y, Cascade(), attraction="err", noise=0),
        np.cumsum(worked["cascade_click_probabilities"]),
        rtol=TOL,
    )
    np.testing.assert_allclose(
        totals_by_cutoff(y, UserBrowsing()),
        np.cumsum(worked["ubm_click_probabilities"]),
        rtol=TOL,
    )
    for name, model in [
        ("pbm_joachims_tau1", PositionBased()),
        ("pbm_joachims_tau0.5", PositionBased(tau=0.5)),
        ("pbm_joachims_tau0", PositionBased(tau=0)),
        ("pbm_starank_code_tau1", PositionBased("starank")),
        ("ubm", UserBrowsing()),
    ]:
        value = totals_by_cutoff(y, model)[-1]
        assert value == pytest.approx(worked[name], rel=TOL), name


def test_worked_numbers_of_thirteen_rows(worked_numbers):
    worked = worked_numbers["metrics"]
    worked = worked["ubm_13_items"]
    chances = np.array(worked["attraction"])
    totals = totals_by_cutoff(
        np.arange(13), UserBrowsing(), attraction=lambda y: chances[y.astype(int)]
    )
    np.testing.assert_allclose(totals, np.cumsum(worked["clicks"]), rtol=TOL)
    assert totals[-1] == pytest.approx(worked["total"], rel=TOL)


def test_worked_numbers_of_a_dynamic_bayesian_network(worked_numbers):
    worked = worked_numbers["metrics"]
    worked = worked["dbn"]
    a, s = np.array(worked["attraction"]), np.array(worked["satisfaction"])
    model = DynamicBayesian(worked["gamma"], lambda y: s[y.astype(int)])
    for kind, expected in [
        ("clicks", np.cumsum(worked["click"])),
        ("satisfied", np.cumsum(worked["satisfied"])),
        ("effort", np.cumsum(worked["satisfied"] / np.arange(1.0, 5.0))),
    ]:
        totals = totals_by_cutoff(
            np.arange(4), model, kind=kind, attraction=lambda y: a[y.astype(int)]
        )
        np.testing.assert_allclose(totals, expected, rtol=TOL)
    assert totals[-1] == pytest.approx(worked["expected_reciprocal_rank"], rel=TOL)


def test_worked_best_orders_of_five_rows(worked_numbers):
    worked = worked_numbers["metrics"]
    chances = np.array(worked["oracle_5_items"]["attraction"])
    for name, model in [
        ("pbm_joachims", PositionBased()),
        ("pbm_starank_code", PositionBased("starank")),
        ("ubm", UserBrowsing()),
    ]:
        expected = worked["oracle_5_items"]["best"][name]
        best = best_order(
            np.arange(5),
            np.zeros(5),
            model=model,
            attraction=lambda y: chances[y.astype(int)],
        )
        assert np.argsort(best.ranks).tolist() in expected["permutations"]
        assert best.values[0] == pytest.approx(expected["value"], rel=TOL)


def random_lists(seed=0, n_lists=30, n_rows=600, n_scores=1000):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(n_lists), rng.integers(0, n_lists, n_rows)])
    y = rng.choice([0, 0, 1, 2, 3, 4], len(groups))
    return y, rng.integers(0, n_scores, len(groups)), groups


@pytest.mark.parametrize("k", [None, 3, 10])
@pytest.mark.parametrize("ties", ["average", "best", "worst", "order"])
def test_dcg_and_ndcg_are_position_based(k, ties):
    y, scores, groups = random_lists(n_scores=5)
    model = PositionBased(lambda ranks: 1 / np.log2(1 + ranks))
    clicks = {"model": model, "noise": 0, "k": k, "ties": ties, "average": None}
    plain = {"k": k, "ties": ties, "average": None}
    np.testing.assert_allclose(
        15 * click_score(y, scores, groups, **clicks),
        dcg_score(y, scores, groups, **plain),
        rtol=TOL,
    )
    np.testing.assert_allclose(
        click_score(y, scores, groups, normalize=True, **clicks),
        ndcg_score(y, scores, groups, **plain),
        rtol=TOL,
    )


def test_rank_biased_precision_is_position_based():
    relevant = np.array([1, 0, 0, 1, 1, 0, 1])
    model = PositionBased(lambda ranks: 0.2 * 0.8 ** (ranks - 1))
    value = click_score(
        relevant, -np.arange(7), np.zeros(7), model=model, attraction=lambda y: y
    )
    expected = (1 - 0.8) * (1 + 0.8**3 + 0.8**4 + 0.8**6)
    assert value == pytest.approx(expected, rel=TOL)


@pytest.mark.parametrize("k", [None, 3, 10])
@pytest.mark.parametrize("ties", ["average", "best", "worst", "order"])
@pytest.mark.parametrize(
    ("model", "options"),
    [
        (Cascade(), {"attraction": "err", "noise": 0}),
        (DynamicBayesian(gamma=1), {"attraction": np.ones_like}),
    ],
)
def test_err_is_the_effort_of_cascades(k, ties, model, options):
    y, scores, groups = random_lists(n_scores=5)
    np.testing.assert_allclose(
        click_score(
            y, scores, groups, model=model, kind="effort", k=k, ties=ties,
            average=None, **options,
        ),
        err_score(y, scores, groups, k=k, ties=ties, average=None),
        rtol=TOL,
    )  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_clicks_drawn_agree_with_those_expected(name):
    y, scores, groups = random_lists(n_lists=12, n_rows=60, n_scores=4)
    model, n_samples = MODELS[name][0], 20_000
    clicks = simulate_clicks(
        y, scores, groups, model=model, n_samples=n_samples, random_state=3
    )
    assert clicks.shape == (n_samples, len(y))
    of_list = groups == np.arange(12)[:, np.newaxis]
    per_user = clicks @ of_list.T.astype(float)
    error = per_user.std(axis=0, ddof=1) / np.sqrt(n_samples)
    expected = click_score(y, scores, groups, model=model, average=None)
    z = (per_user.mean(axis=0) - expected) / np.maximum(error, EPS)
    # The largest of 12 normal deviates exceeds 4.5 in one of 12,000 trials.
    assert np.abs(z).max() < 4.5


def test_each_rank_is_clicked_as_often_as_expected():
    y = np.array([3, 2, 0, 4, 1, 0, 2, 3, 2, 0, 4, 1, 0])
    n_samples = 40_000
    for name, (model, chances) in MODELS.items():
        a, s = attraction(y), satisfaction(y)
        expected = np.array(chances(a, np.ones(13) if name == "cascade" else s))
        clicks = simulate_clicks(
            y, -np.arange(13), np.zeros(13), model=model, n_samples=n_samples,
            random_state=1,
        )  # fmt: skip
        error = np.sqrt(expected * (1 - expected) / n_samples) + EPS
        assert (np.abs(clicks.mean(axis=0) - expected) / error).max() < 4.5, name
        top = simulate_clicks(y, -np.arange(13), np.zeros(13), model=model, k=4)
        assert not top[:, 4:].any()


def test_draws_repeat_with_a_seed_and_are_new_without():
    y, scores, groups = random_lists()
    first, second, other = (
        simulate_clicks(y, scores, groups, model=Cascade(), random_state=seed)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("normalize", [False, True])
def test_lists_apart_equal_lists_together(name, normalize):
    # Two scores leave blocks that user browsing samples.
    y, scores, groups = random_lists(n_lists=4, n_rows=400, n_scores=2)
    options = {"model": MODELS[name][0], "normalize": normalize, "n_samples": 50}
    values = click_score(y, scores, groups, average=None, **options)
    for g in range(4):
        rows = groups == g
        assert click_score(y[rows], scores[rows], groups[rows], **options) == values[g]
    order = np.random.default_rng(0).permutation(len(y))
    again = click_score(
        y[order], 3 * scores[order] - 7, groups[order], average=None, **options
    )
    np.testing.assert_allclose(again, values, rtol=TOL)
    assert not normalize or values.max() <= 1


def test_blocks_too_mixed_to_average_are_sampled_with_their_error():
    rng = np.random.default_rng(5)
    y, scores, groups = rng.uniform(0, 4, 14), np.zeros(14), np.zeros(14)
    exact_part = y.round()  # few kinds of rows: exact
    value, error = click_score(
        exact_part, scores, groups, model=UserBrowsing(), return_error=True
    )
    assert error == 0
    draws = [rng.permutation(exact_part) for _ in range(4000)]
    totals = [sum(browsing_chances(attraction(d))) for d in draws]
    spread = np.std(totals) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - value) < 4.5 * spread

    options = {"model": UserBrowsing(), "return_error": True, "n_samples": 4000}
    value, error = click_score(y, scores, groups, **options)
    draws = [rng.permutation(y) for _ in range(4000)]
    totals = [sum(browsing_chances(attraction(d))) for d in draws]
    spread = np.std(totals) / np.sqrt(len(totals))
    assert error == pytest.approx(spread, rel=0.1)
    assert abs(np.mean(totals) - value) < 4.5 * np.hypot(error, spread)
    assert click_score(y, scores, groups, **options) == (value, error)
    other, _ = click_score(y, scores, groups, random_state=1, **options)
    assert other != value
    new, _ = click_score(y, scores, groups, random_state=None, **options)
    assert new != value


def test_errors_of_sampling_are_averaged_as_errors():
    y, scores, groups = random_lists(n_lists=4, n_rows=200, n_scores=1)
    y = y + np.linspace(0, 1e-3, len(y))[::-1] * (y < 4)
    weights = groups + 1.0
    options = {"model": UserBrowsing(), "return_error": True, "n_samples": 50}
    _, each = click_score(y, scores, groups, average=None, **options)
    assert (each > 0).all()
    _, error = click_score(y, scores, groups, sample_weight=weights, **options)
    expected = np.sqrt(np.sum((np.arange(1, 5) * each) ** 2)) / 10
    assert error == pytest.approx(expected, rel=TOL)
    _, none = click_score(y, scores, groups, **{**options, "model": Cascade()})
    assert none == 0


@pytest.mark.parametrize("name", ["cascade", "dbn", "patient"])
def test_a_long_tied_block_of_a_cascade_equals_draws(name):
    rng = np.random.default_rng(2)
    y = rng.choice([0, 1, 2, 3, 4], 300, p=[0.9, 0.06, 0.02, 0.01, 0.01])
    drawn = rng.random((4000, 300)).argsort(axis=1)
    model = MODELS[name][0]
    draws = click_score(
        y[drawn].ravel(),
        np.tile(-np.arange(300), 4000),
        np.repeat(np.arange(4000), 300),
        model=model,
        noise=0,
        average=None,
    )
    value = click_score(y, np.zeros(300), np.zeros(300), model=model, noise=0)
    assert abs(draws.mean() - value) < 4.5 * draws.std() / np.sqrt(4000) + TOL


@pytest.mark.parametrize("n_relevant", [1, 1000, 100_000])
def test_a_tied_list_of_1e5_rows_is_quick_and_right(n_relevant):
    y, zeros = np.zeros(100_000), np.zeros(100_000)
    y[:n_relevant] = 1
    options = {"kind": "effort", "attraction": "err", "noise": 0}
    value = click_score(y, zeros, zeros, model=Cascade(), **options)
    assert value == pytest.approx(err_score(y, zeros, zeros), rel=1e-11)


def test_under_user_browsing_long_lists_are_searched_and_say_so():
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(20), 30)
    y = rng.uniform(0, 4, len(groups))
    best = best_order(y, groups, model=UserBrowsing())
    assert not best.exact.any()
    by_label = click_score(y, y, groups, model=UserBrowsing(), average=None)
    assert (best.values > by_label * 1.01).all()
    again = click_score(y, -best.ranks, groups, model=UserBrowsing(), average=None)
    np.testing.assert_allclose(again, best.values, rtol=TOL)
    # No swap and no move among the first 20 rows helps, and the rest is sorted.
    for q in range(3):
        rows = y[groups == q][np.argsort(best.ranks[groups == q])]
        assert (np.diff(rows[20:]) <= 0).all()
        for i, j in itertools.permutations(range(20), 2):
            moved = np.insert(np.delete(rows, i), j, rows[i])
            swapped = rows.copy()
            swapped[[i, j]] = rows[[j, i]]
            for other in (moved, swapped):
                value = sum(browsing_chances(attraction(other)))
                assert value <= best.values[q] * (1 + 1e-12)


@pytest.mark.parametrize("k", [3, 25])
def test_the_search_knows_the_cutoff(k):
    rng = np.random.default_rng(8)
    y, groups = rng.uniform(0, 4, 60), np.zeros(60)
    options = {"model": UserBrowsing(), "kind": "satisfied", "k": k}
    best = best_order(y, groups, **options)
    value = click_score(y, -best.ranks, groups, **options)
    assert value == pytest.approx(best.values[0], rel=TOL)
    assert value > click_score(y, y, groups, **options)


def test_the_search_mostly_finds_the_best_order(monkeypatch):
    rng = np.random.default_rng(9)
    groups = np.repeat(np.arange(120), np.tile([5, 6, 7], 40))
    y = rng.integers(0, 5, len(groups))
    exact = best_order(y, groups, model=UserBrowsing())
    monkeypatch.setattr("skrank.metrics._clicks.browsing.MOST_ORDERS", 1)
    searched = best_order(y, groups, model=UserBrowsing())
    assert exact.exact.all()
    assert not searched.exact.any()
    share = searched.values / exact.values
    assert share.max() <= 1 + TOL
    # A trial on other lists of 5 to 7 rows found 114 of 120, sorted ones lose 4-5%.
    assert np.mean(share > 1 - 1e-9) > 0.9
    assert share.mean() > 0.999
    by_label = click_score(y, y, groups, model=UserBrowsing(), average=None)
    assert 0.03 < 1 - np.mean(by_label / exact.values) < 0.06


def test_a_long_list_with_few_kinds_of_rows_is_still_exact():
    y = np.zeros(100)
    y[:2] = 4
    best = best_order(y, np.zeros(100), model=UserBrowsing())
    assert best.exact.tolist() == [True]
    ranked = np.zeros(100)
    values = []
    for i, j in itertools.combinations(range(12), 2):
        ranked[:] = 0
        ranked[[i, j]] = 4
        values.append(sum(browsing_chances(attraction(ranked))))
    assert best.values[0] == pytest.approx(max(values), rel=1e-12)


def test_the_best_order_of_a_long_list_is_quick():
    n = 100_000
    for y, exact in [(np.zeros(n), True), (np.arange(n) % 5, False)]:
        best = best_order(y, np.zeros(n), model=UserBrowsing())
        assert best.exact.tolist() == [exact]
        value = click_score(y, -best.ranks, np.zeros(n), model=UserBrowsing())
        assert value == best.values[0]


def test_worst_and_best_ties_refuse_what_they_cannot_go_through():
    y, scores, groups = np.linspace(0, 4, 12), np.zeros(12), np.zeros(12)
    for ties in ("best", "worst"):
        with pytest.raises(ValueError, match=r"list .*0.* has too many"):
            click_score(y, scores, groups, model=UserBrowsing(), ties=ties)
    assert click_score(y, scores, groups, model=UserBrowsing(), ties="best", k=4) > 0


def test_without_a_chance_of_a_click_a_share_is_undefined():
    y, scores, groups = [0, 0, 1], [1, 2, 3], ["a", "a", "b"]
    options = {"model": Cascade(), "noise": 0, "normalize": True}
    np.testing.assert_array_equal(
        click_score(y, scores, groups, average=None, **options), [np.nan, 1]
    )
    assert click_score(y, scores, groups, **options) == 1
    assert click_score(y, scores, groups, empty=0, **options) == 0.5
    assert click_score(y, scores, groups, model=Cascade(), noise=0) == 1 / 30


def test_large_grades_do_not_overflow():
    y, scores, groups = [5000, 4999, 0], [3, 2, 1], [7, 7, 7]
    value = click_score(
        y, scores, groups, model=PositionBased([1.0]), max_grade=5000, noise=0
    )
    assert value == 1.5


def test_values_and_ranks_keep_their_places():
    y, groups = [0, 4, 1, 3], ["b", "a", "b", "a"]
    best = best_order(y, groups, model=Cascade())
    assert best.ranks.tolist() == [2, 1, 1, 2]
    assert best.values[0] == 1  # "a" has the row that is always clicked
    clicks = simulate_clicks(y, [1, 2, 3, 4], groups, model=Cascade(), n_samples=99)
    assert clicks[:, 1].sum() + clicks[:, 3].sum() == 99


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": Cascade}, "model must be a click model"),
        ({"model": PositionBased("eye")}, "propensity must be one of .'joachims'"),
        ({"model": PositionBased([0.5, 1.5])}, "propensity must hold numbers"),
        ({"model": PositionBased([])}, "propensity must be a name"),
        ({"model": PositionBased(np.sum)}, "propensity must return one number per"),
        ({"model": PositionBased(tau=-1)}, "tau must be a number of at least 0"),
        ({"model": UserBrowsing(tau="a")}, "tau must be a number of at least 0"),
        ({"model": UserBrowsing("pbm")}, "table must be one of"),
        ({"model": UserBrowsing([[1.0], [1.0]])}, "table must have 1, 2, 3"),
        ({"model": UserBrowsing([[1.0], [-1, 1.0]])}, "row 2 of table must hold"),
        ({"model": DynamicBayesian(gamma=2)}, "gamma must be a number from 0 to 1"),
        ({"model": DynamicBayesian(satisfaction=2)}, "satisfaction must be a number"),
        ({"model": DynamicBayesian(satisfaction="a")}, "satisfaction must be 'err'"),
        ({"kind": "cost"}, "kind must be 'clicks', 'satisfied' or 'effort'"),
        ({"attraction": "labels"}, "attraction must be 'graded', 'err' or a function"),
        ({"attraction": np.exp}, "what attraction returns must hold numbers from 0"),
        ({"attraction": np.sum}, "attraction must return one number per label"),
        ({"noise": 1.5}, "noise must be a number from 0 to 1"),
        ({"max_grade": 2}, "click_score needs labels from 0 to max_grade=2"),
        ({"max_grade": 0}, "max_grade must be a positive finite number"),
        ({"n_samples": 1}, "n_samples must be an integer of at least 2"),
        ({"ties": "mean"}, "ties must be"),
        ({"k": 0}, "k must be None or an integer of at least 1"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        click_score([3, 0], [2, 1], [7, 7], **{"model": Cascade(), **options})


@pytest.mark.parametrize("model", [PositionBased(), UserBrowsing()])
def test_labels_need_no_grades_where_functions_make_chances_of_them(model):
    y, groups = [-1.5, 2.5], [7, 7]
    options = {"model": model, "attraction": lambda y: y > 0}
    assert click_score(y, [1, 2], groups, **options) == model_reads_first(model)
    assert best_order(y, groups, **options).ranks.tolist() == [2, 1]
    clicks = simulate_clicks(y, [1, 2], groups, n_samples=500, **options)
    assert not clicks[:, 0].any()
    with pytest.raises(ValueError, match=r"labels from 0 to max_grade=4, got -1\.5"):
        click_score(y, [1, 2], groups, kind="satisfied", **options)


def model_reads_first(model):
    return JOACHIMS[0] if isinstance(model, PositionBased) else TABLE[0][0]


def test_simulation_checks_the_model():
    with pytest.raises(ValueError, match="gamma must be a number from 0 to 1"):
        simulate_clicks([3, 0], [2, 1], [7, 7], model=DynamicBayesian(gamma=2))


def test_simulation_needs_users():
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1"):
        simulate_clicks([3, 0], [2, 1], [7, 7], model=Cascade(), n_samples=0)


def test_a_table_of_one_row_has_the_same_chance_at_all_ranks():
    y, scores, groups = [3, 0, 4], [3, 2, 1], [7, 7, 7]
    value = click_score(y, scores, groups, model=UserBrowsing([[0.5]]))
    expected = click_score(y, scores, groups, model=PositionBased([0.5]))
    assert value == pytest.approx(expected, rel=TOL)


def test_models_and_scorer_are_made_of_parameters():
    model = UserBrowsing(tau=0.5)
    assert repr(clone(model)) == "UserBrowsing(tau=0.5)"
    assert Cascade().get_params() == {}
    y, scores, groups = random_lists()
    scorer = clone(click_scorer(model=model, k=3, normalize=True))
    ridge = Ridge(alpha=1e-9, fit_intercept=False).fit([[1.0], [2.0]], [1.0, 2.0])
    value = scorer(ridge, scores[:, np.newaxis], y, groups=groups)
    expected = click_score(y, scores, groups, model=model, k=3, normalize=True)
    assert value == expected
    with pytest.raises(TypeError, match="has no parameter 'gain'"):
        click_scorer(model=model, gain="linear")
