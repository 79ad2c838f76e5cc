"""Intervals and tests of lists that depend on each other, by clusters of them."""

import itertools

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from sklearn.linear_model import Ridge

from skrank import ListMLERanker
from skrank.datasets import make_ranking
from skrank.metrics import bootstrap_interval, compare_scores
from skrank.model_selection import QueryKFold, compare_rankers

METHODS = ["randomization", "t", "wilcoxon"]


def of_users(n_users=40, most=5, seed=0, effect=1.0):
    """Return two rankers' values, with clusters of unequal sizes in any order."""
    rng = np.random.default_rng(seed)
    users = rng.permutation(
        np.repeat(np.arange(n_users), rng.integers(1, most, 99)[:n_users])
    )
    shift = effect * rng.standard_normal(n_users)[users]
    values = rng.standard_normal((2, len(users)))
    return values[0] + shift + 0.3, values[1], users


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_users_with_four_identical_lists_keep_the_interval_of_one_list_each(method):
    values = np.random.default_rng(0).gamma(2.0, size=40)
    once = bootstrap_interval(values, method=method, random_state=0)
    users = np.tile(np.arange(40), 4)
    options = {"method": method, "random_state": 0}
    fourfold = bootstrap_interval(np.tile(values, 4), clusters=users, **options)
    # The same draws; sums of four times a value are exact.
    np.testing.assert_allclose(
        [fourfold.mean, fourfold.low, fourfold.high],
        [once.mean, once.low, once.high],
        rtol=1e-13,
    )
    assert (fourfold.n_lists, fourfold.n_clusters) == (160, 40)
    assert str(fourfold).endswith("95% confidence, 160 lists in 40 clusters")
    naive = bootstrap_interval(np.tile(values, 4), **options)
    assert naive.high - naive.low < 0.6 * (once.high - once.low)


@pytest.mark.parametrize("method", METHODS)
def test_users_with_four_identical_lists_keep_the_p_value_of_one_list_each(method):
    rng = np.random.default_rng(1)
    a, b = rng.random(40) + 0.25, rng.random(40)
    options = {"method": method, "random_state": 0}
    once = compare_scores(a, b, **options)
    order = rng.permutation(160)
    users = np.tile(np.arange(40), 4)
    tiled = np.tile(a, 4)[order], np.tile(b, 4)[order]
    fourfold = compare_scores(*tiled, clusters=users[order], **options)
    assert 0.001 < once.p_value < 0.5
    for name in ("p_value", "difference", "low", "high", "mean_a", "mean_b"):
        expected = getattr(once, name)
        assert getattr(fourfold, name) == pytest.approx(expected, rel=1e-12), name
    assert compare_scores(*tiled, **options).p_value < once.p_value / 10
    assert "160 lists in 40 clusters" in str(fourfold)


def test_the_bootstrap_draws_clusters_as_all_resamples_of_few_say():
    values = np.array([0.1, 0.7, 0.4, 0.9, 0.2, 0.35, 0.6])
    users = np.array(["b", "a", "a", "c", "d", "b", "a"])
    parts = [values[users == user] for user in "abcd"]
    means = sorted(
        np.concatenate([parts[g] for g in drawn]).mean()
        for drawn in itertools.product(range(4), repeat=4)
    )
    for confidence in (0.5, 0.7, 0.9):
        interval = bootstrap_interval(
            values,
            clusters=users,
            confidence=confidence,
            n_resamples=40_000,
            random_state=0,
        )
        tails = (1 - confidence) / 2, (1 + confidence) / 2
        low, high = (means[int(np.floor(tail * 256))] for tail in tails)
        # These tails are no multiples of 1/256, so that one mean is the quantile.
        assert interval.low == pytest.approx(low, rel=1e-12)
        assert interval.high == pytest.approx(high, rel=1e-12)


def test_bca_of_clusters_has_the_acceleration_of_leaving_clusters_out():
    a, _, users = of_users(n_users=12)
    a = np.exp(a)
    interval = bootstrap_interval(
        a, clusters=users, method="bca", n_resamples=200_000, random_state=0
    )
    rng = np.random.default_rng(5)
    parts = [a[users == user] for user in range(12)]
    drawn = rng.integers(0, 12, size=(200_000, 12))
    sums, counts = np.array([[part.sum(), len(part)] for part in parts]).T
    means = np.sort(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    bias = stats.norm.ppf(np.mean(means < a.mean()))
    without = np.array([a[users != user].mean() for user in range(12)])
    d = without.mean() - without
    acceleration = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
    z = bias + stats.norm.ppf([0.025, 0.975])
    tails = stats.norm.cdf(bias + z / (1 - acceleration * z))
    # Two sets of draws: five standard errors of their quantiles.
    for value, tail in zip((interval.low, interval.high), tails, strict=True):
        error = 5 * np.sqrt(2 * tail * (1 - tail) / 200_000)
        low, high = np.quantile(means, [max(tail - error, 0), min(tail + error, 1)])
        assert low <= value <= high
    plain = np.quantile(means, [0.025, 0.975])
    assert abs(interval.high - plain[1]) > 0.02 * (plain[1] - plain[0])


@pytest.mark.parametrize("seed", range(3))
def test_all_lists_of_a_cluster_get_one_sign(seed):
    a, b, users = of_users(n_users=9, seed=seed)
    d = a - b
    sums = [
        abs(sum(signs[user] * value for user, value in zip(users, d, strict=True)))
        for signs in itertools.product([1.0, -1.0], repeat=9)
    ]
    share = np.mean(np.array(sums) >= abs(d.sum()) - 1e-9)
    assert compare_scores(a, b, clusters=users).p_value == share


@pytest.mark.parametrize("seed", range(3))
def test_the_t_test_of_clusters_is_that_of_statsmodels(seed):
    a, b, users = of_users(seed=seed)
    fit = sm.OLS(a - b, np.ones(len(a))).fit(
        cov_type="cluster", cov_kwds={"groups": users}, use_t=True
    )
    comparison = compare_scores(a, b, method="t", clusters=users, confidence=0.9)
    assert comparison.p_value == pytest.approx(fit.pvalues[0], rel=1e-9)
    expected = fit.conf_int(0.1)[0]
    np.testing.assert_allclose([comparison.low, comparison.high], expected, rtol=1e-9)


def test_wilcoxons_test_of_clusters_is_that_of_their_means():
    a, b, users = of_users(n_users=14)
    means = [np.mean((a - b)[users == user]) for user in range(14)]
    p = compare_scores(a, b, method="wilcoxon", clusters=users).p_value
    assert p == pytest.approx(stats.wilcoxon(means, method="exact").pvalue, rel=1e-12)
    # Means that are equal but for rounding share their ranks.
    first = np.array([0.1, 0.2, 0.15, 0.15, 0.6, 0.7])
    users = [1, 1, 2, 2, 3, 4]
    p = compare_scores(first, np.zeros(6), method="wilcoxon", clusters=users).p_value
    ranks = [1.5, 1.5, 3, 4]
    sums = [np.dot(s, ranks) for s in itertools.product([0, 1], repeat=4)]
    assert p == 2 * np.mean(np.array(sums) >= sum(ranks))


@pytest.mark.parametrize("method", METHODS)
def test_differences_that_cancel_in_a_cluster_are_no_difference(method):
    a = np.tile([0.1, 0.2, 0.0], 6)
    b = np.tile([0.0, 0.0, 0.3], 6)
    users = np.repeat(np.arange(6), 3)
    comparison = compare_scores(a, b, method=method, clusters=users)
    assert comparison.p_value == 1.0
    assert comparison.difference == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_clusters_of_one_list_each_have_the_p_value_of_lists(method):
    a, b, _ = of_users(n_users=12, most=2)
    users = [f"user {number:02d}" for number in range(12)]
    alone = compare_scores(a, b, method=method, random_state=0)
    clustered = compare_scores(a, b, method=method, random_state=0, clusters=users)
    assert clustered.p_value == alone.p_value
    assert (clustered.low, clustered.high) == (alone.low, alone.high)
    assert (clustered.n_clusters, alone.n_clusters) == (12, None)


@pytest.mark.parametrize("method", METHODS)
def test_true_nulls_of_dependent_lists_are_rejected_as_often_as_promised(method):
    clustered, naive = [], []
    for seed in range(300):
        a, b, users = of_users(n_users=20, seed=seed, effect=2.0)
        options = {"method": method, "n_resamples": 200, "random_state": seed}
        clustered.append(compare_scores(a - 0.3, b, clusters=users, **options).p_value)
        naive.append(compare_scores(a - 0.3, b, **options).p_value)
    # Three standard errors above 5 %; lists that are taken as independent err often.
    assert np.mean(np.array(clustered) <= 0.05) < 0.05 + 3 * np.sqrt(0.0475 / 300)
    assert np.mean(np.array(naive) <= 0.05) > 0.12


def test_lists_without_a_value_are_left_out_of_their_cluster():
    a, b, users = of_users(n_users=10)
    holes = a.copy()
    holes[[0, 3]] = np.nan
    kept = ~np.isnan(holes)
    left_out = compare_scores(holes, b, clusters=users, random_state=0)
    expected = compare_scores(a[kept], b[kept], clusters=users[kept], random_state=0)
    assert (left_out.p_value, left_out.low) == (expected.p_value, expected.low)
    assert left_out.n_dropped == 2
    several = compare_scores({"a": holes}, b, clusters=users, random_state=0)
    assert several["a"].p_value == expected.p_value


def test_clusters_that_cannot_be_used_are_named():
    a, b, users = of_users()
    for call in (
        lambda clusters: bootstrap_interval(a, clusters=clusters),
        lambda clusters: compare_scores(a, b, clusters=clusters),
    ):
        with pytest.raises(
            ValueError, match=f"clusters has 3 entries for {len(a)} lists"
        ):
            call([1, 2, 3])
        with pytest.raises(ValueError, match="all lists into one cluster"):
            call(np.zeros(len(a)))
        with pytest.raises(
            ValueError, match=r"clusters has 1 missing .* cluster label.* clusters of"
        ):
            call([None, *users[1:]])
        with pytest.raises(ValueError, match=r"^clusters must hold one .*, got 'u'\.$"):
            call("u")
        with pytest.raises(ValueError, match=r"clusters must be one-d.*clusters\[:, 0"):
            call(np.zeros((len(a), 2)))
    only = np.where(users == 0, a, np.nan)
    with pytest.raises(ValueError, match="only one cluster has lists with values"):
        bootstrap_interval(np.append(only, 0.5), clusters=[*users, 0])
    with pytest.raises(ValueError, match="only one cluster has lists with values"):
        compare_scores([1.0, 2.0, np.nan], [0.0, 0.0, 0.0], clusters=["a", "a", "b"])


def test_rankers_are_compared_by_clusters_whose_lists_stay_together():
    X, y, groups = make_ranking(40, n_features=4, n_informative=2, random_state=0)
    rankers = {"ridge": Ridge(), "listmle": ListMLERanker()}
    options = {"metrics": "ndcg@10", "random_state": 0}
    once = compare_rankers(rankers, X, y, groups, clusters=groups, **options)
    rows = np.tile(np.arange(len(X)), 4)
    lists = 100 * groups[rows] + np.repeat(np.arange(4), len(X))
    users = groups[rows]
    # Ridge's penalty is on a sum over rows.
    rankers["ridge"] = Ridge(alpha=4.0)
    fourfold = compare_rankers(
        rankers, X[rows], y[rows], lists, clusters=users, **options
    )
    assert fourfold.clusters.tolist() == [label // 100 for label in fourfold.lists]
    first, second = (one.to_frame() for one in (once, fourfold))
    for column in ("mean", "low", "high", "difference", "p_value", "p_holm"):
        np.testing.assert_allclose(second[column], first[column], rtol=1e-9)
    assert second["n_lists"].tolist() == [160, 160]
    assert "Both are by cluster: 40 clusters of lists." in " ".join(
        str(fourfold).split()
    )
    naive = compare_rankers(rankers, X[rows], y[rows], lists, **options)
    assert "cluster" not in str(naive)


def test_a_splitter_keeps_clusters_whole():
    X, y, groups = make_ranking(30, n_features=4, n_informative=2, random_state=0)
    users = np.array([f"user {label % 10}" for label in groups])
    recorded = []

    class Watched(QueryKFold):
        def split(self, X, y=None, groups=None):
            for train, test in super().split(X, y, groups):
                recorded.append(set(users[train]) & set(users[test]))
                yield train, test

    comparison = compare_rankers(
        {"a": ListMLERanker()}, X, y, groups, cv=Watched(5), clusters=users
    )
    assert recorded == [set()] * 5
    assert len(np.unique(comparison.clusters)) == 10
    with pytest.raises(ValueError, match="constant inside each list"):
        compare_rankers({"a": Ridge()}, X, y, groups, clusters=np.arange(len(y)))


def test_metrics_of_one_cluster_have_a_mean_and_no_interval():
    X, y, groups = make_ranking(12, n_features=4, n_informative=2, random_state=0)
    y = np.where(groups < 4, y, 0)
    comparison = compare_rankers(
        {"a": ListMLERanker(), "b": Ridge()},
        X,
        y,
        groups,
        cv=3,
        metrics="ndcg",
        clusters=groups // 4,
        random_state=0,
    )
    statistics = comparison.statistics("ndcg")["b"]
    assert statistics.interval is None
    assert statistics.difference is None
