"""Probabilities of pipelines, and intervals against enumeration and simulation."""

from dataclasses import replace
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import special
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import (
    DavidsonLuceRanker,
    DavidsonRanker,
    ListMLERanker,
    PMOPRanker,
    RankNetRanker,
    RankSVMRanker,
    RaoKupperRanker,
)
from skrank._probability import plackett_luce
from skrank.inspection import (
    pairwise_intervals,
    pairwise_proba,
    stage_proba,
    summarize,
    top_k_intervals,
    top_k_proba,
)
from skrank.preprocessing import QueryScaler

EXACT = {"alpha": 0, "tol": 1e-12, "ftol": 0.0, "max_iter": 5000}
TRUTH = np.array([0.8, -0.5, 0.3])


def races(n_lists=60, size=5, seed=0):
    """Return features, orders of a Plackett-Luce model, and groups."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_lists * size, 3))
    utility = X @ TRUTH + rng.gumbel(size=len(X))
    y = utility.reshape(-1, size).argsort(1).argsort(1).ravel()
    return X, y, np.repeat(np.arange(n_lists), size)


def first_k(scores, k):
    """Return the chance of each row to be among the first k, order by order."""
    chances = np.zeros(scores.shape)
    for order in map(list, permutations(range(scores.shape[-1]))):
        picked = np.exp(scores[..., order])
        left = np.cumsum(picked[..., ::-1], axis=-1)[..., ::-1]
        chances[..., order[:k]] += np.prod(picked / left, axis=-1)[..., None]
    return chances


def gradient(function, theta, step=1e-5):
    """Return central differences, (n_values, n_parameters)."""
    moves = step * np.eye(len(theta))
    return np.transpose(
        [(function(theta + m) - function(theta - m)) / (2 * step) for m in moves]
    )


@pytest.fixture(scope="module")
def fit():
    X, y, groups = races()
    ranker = ListMLERanker(**EXACT).fit(X, y, groups)
    return ranker, ranker.summary(X, y, groups, covariance="model")


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_intervals_of_the_first_are_the_delta_method_of_enumerated_orders(fit, k):
    ranker, summary = fit
    X = np.random.default_rng(1).standard_normal((5, 3))
    result = top_k_intervals(ranker, summary, X, np.zeros(5), k)
    np.testing.assert_allclose(
        result.probability, first_k(X @ ranker.coef_, k), rtol=1e-12
    )
    slopes = gradient(lambda coef: first_k(X @ coef, k), ranker.coef_)
    variance = np.einsum("ij,jk,ik->i", slopes, summary.covariance_matrix, slopes)
    np.testing.assert_allclose(result.standard_error, np.sqrt(variance), rtol=1e-7)
    p = result.probability
    error = np.sqrt(variance) / (p * (1 - p))
    for ends, sign in ((result.low, -1), (result.high, 1)):
        expected = special.expit(special.logit(p) + sign * 1.959963984540054 * error)
        np.testing.assert_allclose(ends, expected, rtol=1e-7)


@pytest.mark.parametrize("k", [1, 3])
def test_intervals_of_the_first_are_the_quantiles_of_drawn_coefficients(fit, k):
    ranker, summary = fit
    X = np.random.default_rng(2).standard_normal((5, 3))
    rng = np.random.default_rng(3)
    # A tenth of the errors, as of a hundred times the lists: nearly linear.
    small = replace(summary, covariance_matrix=summary.covariance_matrix / 100)
    result = top_k_intervals(ranker, small, X, np.zeros(5), k)
    drawn = rng.multivariate_normal(ranker.coef_, small.covariance_matrix, 4000)
    chances = first_k(drawn @ X.T, k)
    low, high = np.quantile(chances, [0.025, 0.975], axis=0)
    width = high - low
    # A quantile of 4,000 draws is off by .022 of the width; three times that.
    np.testing.assert_array_less(np.abs(result.low - low), 0.066 * width)
    np.testing.assert_array_less(np.abs(result.high - high), 0.066 * width)


def test_intervals_hold_the_true_probability_as_often_as_they_promise():
    rows = np.random.default_rng(4).standard_normal((4, 3))
    truth = {k: first_k(rows @ TRUTH, k) for k in (1, 2)}
    wins = special.expit((rows[:2] - rows[2:]) @ TRUTH)
    held = []
    for seed in range(150):
        X, y, groups = races(seed=seed)
        ranker = ListMLERanker(alpha=0).fit(X, y, groups)
        summary = ranker.summary(X, y, groups)
        for k in (1, 2):
            result = top_k_intervals(ranker, summary, rows, np.zeros(4), k)
            held.append((result.low <= truth[k]) & (truth[k] <= result.high))
        pairs = pairwise_intervals(ranker, summary, rows[:2], rows[2:])
        held.append(np.tile((pairs.win_low <= wins) & (wins <= pairs.win_high), 2))
    # Rows share their fits, so the error is that of 150 draws at most.
    assert abs(np.mean(held) - 0.95) < 3 * np.sqrt(0.05 * 0.95 / 150)


def test_pairs_without_ties_have_the_interval_of_their_difference(fit):
    ranker, summary = fit
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, 7, 3)) * [[[1.0]], [[30.0]]]
    result = pairwise_intervals(ranker, replace(summary, confidence=0.8), a, b)
    difference = (a - b) @ ranker.coef_
    error = np.sqrt([row @ summary.covariance_matrix @ row for row in a - b])
    np.testing.assert_allclose(result.win, special.expit(difference), rtol=1e-12)
    reach = 1.2815515655446004 * error
    np.testing.assert_allclose(
        result.win_low, special.expit(difference - reach), rtol=1e-6
    )
    np.testing.assert_allclose(
        result.win_high, special.expit(difference + reach), rtol=1e-6
    )
    assert not result.tie.any()
    assert not result.tie_high.any()


@pytest.mark.parametrize("ranker", [DavidsonRanker, RaoKupperRanker])
def test_pairs_with_ties_have_the_delta_method_of_all_parameters(ranker):
    X, y, groups = races(n_lists=100)
    y = y // 2
    model = ranker(**EXACT).fit(X, y, groups)
    summary = model.summary(X, y, groups)
    a, b = np.random.default_rng(6).standard_normal((2, 6, 3))
    result = pairwise_intervals(model, summary, a, b)

    def chances(theta):
        d, extra = (a - b) @ theta[:3], theta[3]
        if ranker is DavidsonRanker:
            tie = np.exp(extra + (a + b) @ theta[:3] / 2)
            one, two = np.exp(a @ theta[:3]), np.exp(b @ theta[:3])
            return np.concatenate([one, tie]) / np.tile(one + two + tie, 2)
        theta_ = 1 + np.exp(extra)
        win = 1 / (1 + theta_ * np.exp(-d))
        lose = 1 / (1 + theta_ * np.exp(d))
        return np.concatenate([win, 1 - win - lose])

    theta = np.append(model.coef_, model.extra_)
    p = chances(theta)
    slopes = gradient(chances, theta) / (p * (1 - p))[:, None]
    error = np.sqrt(np.einsum("ij,jk,ik->i", slopes, summary.covariance_matrix, slopes))
    low = special.expit(special.logit(p) - 1.959963984540054 * error)
    high = special.expit(special.logit(p) + 1.959963984540054 * error)
    np.testing.assert_allclose(np.concatenate([result.win, result.tie]), p, rtol=1e-9)
    np.testing.assert_allclose(
        np.concatenate([result.win_low, result.tie_low]), low, rtol=1e-6
    )
    np.testing.assert_allclose(
        np.concatenate([result.win_high, result.tie_high]), high, rtol=1e-6
    )


def partitions(n):
    """Return the level of each row, 0 the best, in every partition of n rows."""
    every = np.array(list(product(range(n), repeat=n)))
    return [levels for levels in every if set(levels) == set(range(levels.max() + 1))]


def pairs_by_partitions(scores, worth):
    """Return the chances to win, tie and lose of pairs, partition by partition."""
    n = len(scores)
    chances = np.zeros((n, n, 2))
    for levels in partitions(n):
        chance = 1.0
        for level in range(levels.max() + 1):
            left = np.flatnonzero(levels >= level)
            subsets = [
                list(subset)
                for size in range(1, len(left) + 1)
                for subset in combinations(left, size)
            ]
            total = sum(worth(scores[subset]) for subset in subsets)
            chance *= worth(scores[levels == level]) / total
        chances[..., 0] += chance * (levels[:, None] < levels)
        chances[..., 1] += chance * (levels[:, None] == levels)
    first, second = np.triu_indices(n, 1)
    wins, ties = chances[first, second].T
    return np.column_stack((wins, ties, chances[second, first, 0]))


@pytest.mark.parametrize("ranker", [PMOPRanker, DavidsonLuceRanker])
def test_pairs_of_partitions_have_the_delta_method_of_enumerated_partitions(ranker):
    X, y, groups = races(n_lists=80)
    model = ranker(**EXACT).fit(X, y // 2, groups)
    summary = model.summary(X, y // 2, groups)
    rows = pd.DataFrame(np.random.default_rng(9).standard_normal((4, 3)))
    rows.index = list("wxyz")
    result = pairwise_intervals(model, summary, rows, groups=[1, 1, 1, 1])
    theta = np.append(model.coef_, model.extra_)

    def chances(theta):
        def worth(scores):
            if ranker is PMOPRanker:
                return np.exp(scores).mean()
            # No level of three or more was in the fit.
            weight = [1.0, np.exp(theta[-1]), 0.0, 0.0][len(scores) - 1]
            return weight * np.exp(scores.mean())

        return pairs_by_partitions(rows.to_numpy() @ theta[:3], worth).ravel()

    p = chances(theta)
    np.testing.assert_allclose(result.proba.ravel(), p, rtol=1e-10)
    slopes = gradient(chances, theta) / (p * (1 - p))[:, None]
    error = np.sqrt(np.einsum("ij,jk,ik->i", slopes, summary.covariance_matrix, slopes))
    for ends, sign in ((result.low, -1), (result.high, 1)):
        expected = special.expit(special.logit(p) + sign * 1.959963984540054 * error)
        np.testing.assert_allclose(ends.ravel(), expected, rtol=1e-6)
    frame = result.to_frame()
    assert list(frame)[:5] == ["groups", "first", "second", "win", "win_low"]
    assert frame["second"].tolist() == list("xyzyzz")
    # Rows in any order, in lists of their own, as if alone.
    mixed = pd.concat([rows.iloc[:2], rows, rows.iloc[2:]])
    lists = ["b", "b", "a", "a", "a", "a", "b", "b"]
    both = pairwise_intervals(model, summary, mixed, groups=lists)
    for label in "ab":
        own = both.to_frame()["groups"] == label
        np.testing.assert_allclose(both.low[own], result.low, rtol=1e-8)
    with pytest.raises(ValueError, match="13 rows is too long"):
        pairwise_intervals(model, summary, X[:13], groups=np.zeros(13))
    known = np.array([1.0, 0.0, -1.0, 0.5])
    moved = pairwise_intervals(model, summary, rows, groups=[1] * 4, offset=known)
    assert not np.allclose(moved.proba, result.proba, rtol=0.01)
    expected = model.pairwise_proba(rows.to_numpy(), [1] * 4, offset=known)
    np.testing.assert_allclose(moved.proba, expected.proba, rtol=1e-10)


def test_what_is_certain_has_an_interval_of_no_width(fit):
    ranker, summary = fit
    rows = np.zeros((4, 3))
    rows[3, 0] = -2000.0  # of the best feature
    for k in (1, 2, 3):
        result = top_k_intervals(ranker, summary, rows, np.zeros(4), k)
        assert [result.low[3], result.probability[3], result.high[3]] == [0, 0, 0]
        assert result.standard_error[3] == 0
    X, y, groups = races()
    model = DavidsonLuceRanker(**EXACT).fit(X, y, groups)  # no ties
    summary = model.summary(X, y, groups)
    pairs = pairwise_intervals(model, summary, X[:4], groups=groups[:4])
    assert not pairs.proba[:, 1].any()
    assert not pairs.high[:, 1].any()
    assert (pairs.low[:, 0] < pairs.proba[:, 0]).all()
    # Equal rows are equally good, whatever the coefficients are.
    equal = pairwise_intervals(model, summary, rows[:3], groups=np.zeros(3))
    for ends in (equal.low, equal.high):
        np.testing.assert_allclose(ends[:, [0, 2]], 0.5, rtol=1e-12)


def test_a_parameter_of_ties_at_its_limit_is_taken_as_known():
    X, y, groups = races(n_lists=100)
    ranker = DavidsonRanker(**EXACT)
    with pytest.warns(UserWarning, match="limit"):
        ranker.fit(X, y, groups)  # no ties
    summary = ranker.summary(X, y, groups)
    result = pairwise_intervals(ranker, summary, X[:5], X[5:10])
    assert (result.win_low < result.win).all()
    assert (result.win < result.win_high).all()


def test_intervals_keep_the_index_and_the_groups(fit):
    ranker, summary = fit
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.standard_normal((7, 3)), index=list("abcdefg"))
    X = frame.to_numpy()
    groups = np.array([2, 1, 2, 1, 2, 1, 3])
    for k in (1, 2):
        result = top_k_intervals(ranker, summary, frame, groups, k)
        table = result.to_frame()
        assert table.index.tolist() == list("abcdefg")
        assert table["groups"].tolist() == groups.tolist()
        assert list(table)[1:] == ["probability", "standard_error", "low", "high"]
        for group in (1, 2):
            rows = groups == group
            alone = top_k_intervals(ranker, summary, X[rows], groups[rows], k)
            np.testing.assert_allclose(result.low[rows], alone.low, rtol=1e-9)
        # A row that is alone in its list is surely first.
        assert table.loc["g", ["probability", "low", "high"]].tolist() == [1, 1, 1]
        assert table.loc["g", "standard_error"] == 0
        assert "standard_error" in result._repr_html_()
    pairs = pairwise_intervals(ranker, summary, frame[:2], frame[2:4]).to_frame()
    assert pairs.index.tolist() == ["a", "b"]
    assert list(pairs) == ["win", "win_low", "win_high", "tie", "tie_low", "tie_high"]


def test_clusters_and_confidence_of_the_summary_are_those_of_the_intervals():
    X, y, groups = races()
    ranker = ListMLERanker(**EXACT).fit(X, y, groups)
    rows = X[:5], groups[:5]
    one, two = (
        ranker.summary(X, y, groups, clusters=groups // 10, confidence=level)
        if level == 0.5
        else ranker.summary(X, y, groups, confidence=level)
        for level in (0.95, 0.99)
    )
    narrow, wide = (top_k_intervals(ranker, summary, *rows) for summary in (one, two))
    assert (wide.high - wide.low > narrow.high - narrow.low).all()
    with pytest.warns(UserWarning, match="Only 6 clusters"):
        few = ranker.summary(X, y, groups, clusters=groups // 10)
    other = top_k_intervals(ranker, few, *rows)
    assert not np.allclose(other.standard_error, narrow.standard_error, rtol=0.01)


@pytest.mark.parametrize("k", [1, 2])
def test_an_offset_is_a_known_part_of_the_score(k):
    X, y, groups = races()
    offset = np.random.default_rng(8).standard_normal(len(y))
    ranker = ListMLERanker(**EXACT).fit(X, y, groups, offset=offset)
    summary = ranker.summary(X, y, groups, offset=offset)
    rows, known = X[:5], np.array([2.0, 0.0, -1.0, 0.0, 1.0])
    result = top_k_intervals(ranker, summary, rows, np.zeros(5), k, offset=known)
    of_coef = lambda coef: first_k(rows @ coef + known, k)  # noqa: E731
    np.testing.assert_allclose(result.probability, of_coef(ranker.coef_), rtol=1e-12)
    slopes = gradient(of_coef, ranker.coef_)
    variance = np.einsum("ij,jk,ik->i", slopes, summary.covariance_matrix, slopes)
    np.testing.assert_allclose(result.standard_error, np.sqrt(variance), rtol=1e-7)
    chances = top_k_proba(ranker, rows, np.zeros(5), k, offset=known)
    np.testing.assert_allclose(chances.probability, result.probability, rtol=1e-12)
    for call in (
        lambda: top_k_intervals(ranker, summary, rows, np.zeros(5), k),
        lambda: top_k_proba(ranker, rows, np.zeros(5), k),
    ):
        with pytest.raises(ValueError, match="was fitted with an offset"):
            call()
    pairs = pairwise_intervals(ranker, summary, rows[:2], rows[2:4])
    gaps = (rows[:2] - rows[2:4]) @ ranker.coef_
    np.testing.assert_allclose(pairs.win, special.expit(gaps), rtol=1e-12)


def test_features_without_an_error_leave_no_interval_where_they_differ():
    X, y, groups = races()
    X = np.column_stack((X, groups))
    with pytest.warns(UserWarning, match="constant inside every list"):
        ranker = ListMLERanker(**EXACT).fit(X, y, groups)
    summary = ranker.summary(X, y, groups)
    rows = X[:5].copy()
    for k in (1, 2):
        assert np.isfinite(
            top_k_intervals(ranker, summary, rows, groups[:5], k).low
        ).all()
    pairs = pairwise_intervals(ranker, summary, rows[:2], rows[2:4])
    assert np.isfinite(pairs.win_low).all()
    rows[0, 3] = 7.0
    for k in (1, 2):
        assert np.isnan(top_k_intervals(ranker, summary, rows, groups[:5], k).low).all()
    pairs = pairwise_intervals(ranker, summary, rows[:2], rows[2:4])
    assert np.isnan(pairs.win_low).tolist() == [True, False]


def test_penalties_warn_and_other_fits_are_refused(fit):
    ranker, summary = fit
    X, y, groups = races()
    ridge = ListMLERanker(alpha=0.1).fit(X, y, groups)
    of_ridge = ridge.summary(X, y, groups)
    with pytest.warns(
        UserWarning, match=r"top_k_intervals: alpha > 0.*pulled towards 0"
    ):
        top_k_intervals(ridge, of_ridge, X[:5], groups[:5])
    with pytest.warns(UserWarning, match="pairwise_intervals: alpha > 0"):
        pairwise_intervals(ridge, of_ridge, X[:2], X[2:4])
    with pytest.raises(ValueError, match="Pass the summary of this fit"):
        top_k_intervals(
            ranker, replace(summary, coef=summary.coef + 1), X[:5], groups[:5]
        )
    some = ranker.summary(X, y, groups, features=[0, 1])
    with pytest.raises(ValueError, match="2 coefficients of a ListMLERanker, which"):
        pairwise_intervals(ranker, some, X[:2], X[2:4])
    nothing = replace(
        summary, covariance_matrix=np.full((3, 3), np.nan), notes=("Why.",)
    )
    with pytest.raises(ValueError, match=r"there are no intervals: Why"):
        top_k_intervals(ranker, nothing, X[:5], groups[:5])
    with pytest.raises(ValueError, match="X_a"):
        pairwise_intervals(ranker, summary, X[:2], X[:3])
    with pytest.raises(ValueError, match="k must be"):
        top_k_intervals(ranker, summary, X[:5], groups[:5], 0)
    with pytest.raises(TypeError, match="PMOPRanker is a model of partitions"):
        pairwise_intervals(PMOPRanker().fit(X, y, groups), summary, X[:2], X[:2])
    with pytest.raises(TypeError, match="ListMLERanker takes two tables"):
        pairwise_intervals(ranker, summary, X[:5], groups=groups[:5])
    with pytest.raises(TypeError, match="RankNetRanker has no top_k_proba"):
        top_k_intervals(RankNetRanker().fit(X, y, groups), summary, X[:5], groups[:5])


def test_lists_that_would_be_drawn_have_no_intervals(fit, monkeypatch):
    ranker, summary = fit
    X, _, groups = races(n_lists=2)
    monkeypatch.setattr(plackett_luce, "EXACT_WORK", 10.0)
    with pytest.raises(ValueError, match="5 rows is too long for exact probabilities"):
        top_k_intervals(ranker, summary, X, groups, 2)
    top_k_intervals(ranker, summary, X, groups, 1)


@pytest.fixture(scope="module")
def pipeline():
    """Return a frame, labels, groups, and a pipeline that scales by list."""
    X, y, groups = races(n_lists=40)
    frame = pd.DataFrame(X, columns=["pace", "age", "draw"]).add_prefix("the ")
    frame.index = [f"row {number}" for number in range(len(X))]
    made = make_pipeline(QueryScaler(), StandardScaler(), ListMLERanker(**EXACT))
    return frame, y, groups, fitted(made, frame, y, groups)


def fitted(made, X, y, groups):
    """Return a pipeline fitted with routing on."""
    with sklearn.config_context(enable_metadata_routing=True):
        return made.fit(X, y, groups=groups)


def test_probabilities_of_a_pipeline_are_those_of_its_ranker(pipeline):
    frame, y, groups, model = pipeline
    scaled = QueryScaler().fit(frame, groups=groups).transform(frame, groups=groups)
    scaled = StandardScaler().fit_transform(scaled)
    ranker = model[-1]
    for k in (1, 3):
        result = top_k_proba(model, frame, groups, k)
        expected = ranker.top_k_proba(scaled, groups, k)
        np.testing.assert_allclose(result.probability, expected.probability, rtol=1e-9)
        assert result.to_frame().index.tolist() == frame.index.tolist()
        assert result.to_frame()["groups"].tolist() == groups.tolist()
    np.testing.assert_allclose(
        stage_proba(model, frame, y, groups), ranker.stage_proba(scaled, y, groups)
    )
    full = stage_proba(model, frame, y, groups, full=True)
    np.testing.assert_allclose(
        full[0], ranker.stage_proba(scaled, y, groups, full=True)[0]
    )
    summary = summarize(model, frame, y, groups)
    result = top_k_intervals(model, summary, frame, groups, 2)
    own = top_k_intervals(ranker, ranker.summary(scaled, y, groups), scaled, groups, 2)
    np.testing.assert_allclose(result.low, own.low, rtol=1e-7)
    assert result.to_frame().index.tolist() == frame.index.tolist()


def test_pairs_of_a_pipeline_are_those_of_its_ranker():
    X, y, groups = races(n_lists=40)
    frame = pd.DataFrame(X, columns=["pace", "age", "draw"])
    made = make_pipeline(StandardScaler(), RankNetRanker(**EXACT))
    model = made.fit(frame, y, ranknetranker__groups=groups)
    scaled = StandardScaler().fit_transform(frame)
    result = pairwise_proba(model, frame[:4], frame[4:8])
    expected = model[-1].pairwise_proba(scaled[:4], scaled[4:8])
    np.testing.assert_allclose(result.win, expected.win, rtol=1e-12)
    assert result.to_frame().index.tolist() == [0, 1, 2, 3]
    summary = summarize(model, frame, y, groups)
    intervals = pairwise_intervals(model, summary, frame[:4], frame[4:8])
    own = model[-1].summary(scaled, y, groups)
    expected = pairwise_intervals(model[-1], own, scaled[:4], scaled[4:8])
    np.testing.assert_allclose(intervals.win_low, expected.win_low, rtol=1e-9)
    tied = make_pipeline(StandardScaler(), PMOPRanker()).fit(
        frame, y // 2, pmopranker__groups=groups
    )
    lists = pairwise_proba(tied, frame, groups=groups)
    expected = tied[-1].pairwise_proba(scaled, groups)
    np.testing.assert_allclose(lists.proba, expected.proba, rtol=1e-9)


def test_a_search_is_asked_for_its_best_model():
    X, y, groups = races(n_lists=30)
    made = make_pipeline(StandardScaler(), ListMLERanker())
    grid = {"listmleranker__alpha": [0.1, 1.0]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(made, grid, cv=3).fit(X, y, groups=groups)
    expected = top_k_proba(search.best_estimator_, X, groups)
    np.testing.assert_array_equal(top_k_proba(search, X, groups), expected)


def test_rankers_without_probabilities_say_so():
    X, y, groups = races(n_lists=10)
    model = make_pipeline(StandardScaler(), RankSVMRanker())
    model.fit(X, y, ranksvmranker__groups=groups)
    for call, name in (
        (lambda: top_k_proba(model, X, groups), "top_k_proba"),
        (lambda: stage_proba(model, X, y, groups), "stage_proba"),
        (lambda: pairwise_proba(model, X, X), "pairwise_proba"),
        (lambda: top_k_intervals(model, None, X, groups), "top_k_proba"),
    ):
        with pytest.raises(TypeError, match=f"RankSVMRanker has no {name}: "):
            call()
    with pytest.raises(ValueError, match="top_k_proba needs to know which rows"):
        top_k_proba(model, X)
