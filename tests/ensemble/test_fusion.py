"""Rankings fused from several members: by hand, and inside scikit-learn's tools."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

from skrank import ListMLERanker, ListNetRanker, RankNetRanker, with_groups
from skrank._data.grouping import group_rows
from skrank.datasets import load_letor, make_ranking
from skrank.ensemble import FusionRanker
from skrank.ensemble._weights import bagged_weights
from skrank.interop import as_ranker
from skrank.metrics import ndcg_score, ndcg_scorer, pairwise_accuracy_score
from skrank.preprocessing import QueryScaler

METHODS = ["scores", "ranks", "rrf", "scaled"]


class Fixed(BaseEstimator):
    """Scores rows by one of their columns."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X):
        return np.asarray(X)[:, self.column]


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, n_features=6, list_effect=0.5, shuffle=True, random_state=0)


def members():
    return [("mle", ListMLERanker()), ("ridge", Ridge())]


def test_the_fused_scores_by_hand():
    groups = np.array([0, 0, 0, 1, 1])
    X = np.array([[1.0, 9], [2, 3], [3, 3], [5, 1], [5, 2]])
    pair = [("a", Fixed(0)), ("b", Fixed(1))]
    fusion = FusionRanker(pair, weights=None).fit(X, [1] * 5, groups)
    first, second = np.array([-1, 0, 1]) * 1.5**0.5, np.array([2, -1, -1]) / 2**0.5
    expected = np.append((first + second) / 2, [-0.5, 0.5])
    np.testing.assert_allclose(fusion.predict(X, groups), expected)
    fusion.set_params(method="ranks")
    ranks = np.array([[3, 1], [2, 2.5], [1, 2.5], [1.5, 2], [1.5, 1]])
    sizes = np.array([3, 3, 3, 2, 2])
    np.testing.assert_allclose(fusion.predict(X, groups), sizes - ranks.mean(axis=1))
    fusion.set_params(method="rrf")
    np.testing.assert_allclose(
        fusion.predict(X, groups), (1 / (60 + ranks)).mean(axis=1)
    )
    fusion.set_params(method="scaled").fit(X, [1] * 5, groups)
    deviations = np.sqrt([2 / 5, (24 + 0.5) / 5])
    np.testing.assert_allclose(fusion.deviations_, deviations)
    np.testing.assert_allclose(fusion.predict(X), (X / deviations).mean(axis=1))


@pytest.mark.parametrize("method", METHODS)
def test_lists_do_not_mix_and_row_order_does_not_matter(data, method):
    X, y, groups = data
    fusion = FusionRanker(members(), method).fit(X, y, groups)
    scores = fusion.predict(X, groups)
    one = groups == groups[0]
    np.testing.assert_allclose(fusion.predict(X[one], groups[one]), scores[one])
    rows = np.random.default_rng(0).permutation(len(y))
    again = FusionRanker(members(), method).fit(X[rows], y[rows], groups[rows])
    np.testing.assert_allclose(
        again.predict(X[rows], groups[rows]), scores[rows], atol=1e-5
    )


def test_scaled_linear_members_are_a_linear_ranker(data):
    X, y, groups = data
    fusion = FusionRanker(members(), "scaled").fit(X, y, groups)
    expected = X @ fusion.coef_ + fusion.intercept_
    np.testing.assert_allclose(fusion.predict(X), expected, atol=1e-12)
    assert not hasattr(FusionRanker(members()).fit(X, y, groups), "coef_")
    booster = [*members(), ("tree", HistGradientBoostingRegressor(max_iter=2))]
    assert not hasattr(FusionRanker(booster, "scaled").fit(X, y, groups), "coef_")


def test_members_may_have_exact_zeros_and_bounds(data):
    X, y, groups = data
    lasso = ListMLERanker(l1_ratio=1.0, alpha=0.2, positive=True)
    fusion = FusionRanker([("lasso", lasso), ("svm", ListNetRanker())], "scaled")
    fusion.fit(X, y, groups)
    alone = lasso.fit(X, y, groups)
    assert 0 < alone.n_features_active_ < 6
    np.testing.assert_array_equal(fusion.estimators_[0].coef_, alone.coef_)


def test_a_member_without_an_opinion_does_not_count(data):
    X, y, groups = data
    X = np.column_stack((X, np.zeros(len(X))))
    pair = [("mle", ListMLERanker()), ("none", Fixed(6))]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*constant inside every list")
        alone = ListMLERanker().fit(X, y, groups)
        for method in ("scores", "scaled"):
            fusion = FusionRanker(pair, method).fit(X, y, groups)
            value = ndcg_score(y, fusion.predict(X, groups), groups)
            assert value == ndcg_score(y, alone.predict(X), groups)


@pytest.mark.parametrize("method", METHODS)
def test_members_count_by_their_weights(data, method):
    X, y, groups = data
    pair = FusionRanker(members(), method, weights=[3, 1]).fit(X, y, groups)
    one, two = (
        FusionRanker(members(), method, weights=w).fit(X, y, groups).predict(X, groups)
        for w in ([1, 0], [0, 1])
    )
    expected = (3 * one + two) / 4
    np.testing.assert_allclose(pair.predict(X, groups), expected, atol=1e-12)
    for wrong in ([1], [-1, 2], [0, 0]):
        with pytest.raises(ValueError, match="weights must be 2 numbers"):
            FusionRanker(members(), method, weights=wrong).fit(X, y, groups)


def test_a_pipeline_as_member_gets_groups_with_and_without_routing(data):
    X, y, groups = data
    pair = [("scaled", make_pipeline(QueryScaler(), ListNetRanker())), ("r", Ridge())]
    scores = []
    for routing in (True, False):
        with config_context(enable_metadata_routing=routing):
            fusion = FusionRanker(pair).fit(X, y, groups=groups)
            scores.append(fusion.predict(X, groups=groups))
            assert 0 < fusion.score(X, y, groups=groups) <= 1
    np.testing.assert_array_equal(*scores)
    expected = ListNetRanker().fit(
        QueryScaler().fit_transform(X, groups=groups), y, groups
    )
    np.testing.assert_array_equal(fusion.estimators_[0][-1].coef_, expected.coef_)


def by_hand(X, y, groups, alpha, cv):
    values = []
    for train, test in cv.split(X, y, groups):
        fusion = FusionRanker([("mle", ListMLERanker(alpha=alpha)), ("ridge", Ridge())])
        fusion.fit(X[train], y[train], groups[train])
        scores = fusion.predict(X[test], groups[test])
        values.append(ndcg_score(y[test], scores, groups[test], k=5))
    return values


def test_a_search_over_a_members_parameter_equals_the_loop(data):
    X, y, groups = data
    cv = GroupKFold(3)
    grid = {"mle__alpha": [0.01, 10.0]}
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            FusionRanker(members()), grid, scoring=ndcg_scorer(k=5), cv=cv
        ).fit(X, y, groups=groups)
        alone = cross_val_score(
            FusionRanker(members()),
            X,
            y,
            cv=cv,
            scoring=ndcg_scorer(k=5),
            params={"groups": groups},
        )
    for i, alpha in enumerate(grid["mle__alpha"]):
        values = [search.cv_results_[f"split{f}_test_score"][i] for f in range(3)]
        np.testing.assert_allclose(values, by_hand(X, y, groups, alpha, cv))
    np.testing.assert_allclose(alone, by_hand(X, y, groups, 0.1, cv))


def test_score_refuses_labels_that_ndcg_does_not_take(data):
    X, y, groups = data
    fusion = FusionRanker(members()).fit(X, y, groups)
    with pytest.raises(
        ValueError,
        match=r"FusionRanker.score \(NDCG\) needs labels of at least 0, got -1",
    ):
        fusion.score(X, y - 1, groups)


def test_inside_a_pipeline_groups_reach_fit_predict_and_score(data):
    X, y, groups = data
    model = make_pipeline(QueryScaler("rank"), FusionRanker(members()))
    with config_context(enable_metadata_routing=True):
        model.fit(X, y, groups=groups)
        scores = model.predict(X, groups=groups)
        value = model.score(X, y, groups=groups)
    assert value == pytest.approx(ndcg_score(y, scores, groups))


def test_without_routing_the_index_of_x_and_y_is_enough(data):
    X, y, groups = data
    frame = pd.DataFrame(X, index=pd.Index(groups, name="groups")).add_prefix("x")
    labels = with_groups(y, groups)
    scores = cross_val_predict(
        FusionRanker(members()), frame, labels, groups=groups, cv=GroupKFold(3)
    )
    assert np.isfinite(scores).all()
    fitted = FusionRanker(members()).fit(frame, labels)
    expected = FusionRanker(members()).fit(X, y, groups).predict(X, groups)
    np.testing.assert_allclose(fitted.predict(frame), expected)
    assert fitted.feature_names_in_.tolist() == list(frame.columns)


def test_missing_groups_say_what_to_do(data):
    X, y, groups = data
    fusion = FusionRanker(members())
    with pytest.raises(ValueError, match=r"FusionRanker\.fit needs to know"):
        fusion.fit(X, y)
    fusion.fit(X, y, groups)
    with pytest.raises(ValueError, match=r"predict needs.*cross_val_predict.*scaled"):
        fusion.predict(X)
    with pytest.raises(ValueError, match="entries for"):
        fusion.predict(X, groups[1:])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        FusionRanker(members()).predict(X, groups)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "at least one"),
        ([("a", Ridge()), ("a", Ridge())], "not unique"),
        ([("method", Ridge())], "conflict"),
        ([("a", QueryScaler())], "no fit and predict"),
        ([Ridge()], "pair"),
    ],
)
def test_wrong_members_are_refused(data, wrong, message):
    with pytest.raises(ValueError, match=message):
        FusionRanker(wrong).fit(*data)


def test_lightgbms_ranker_is_a_member(data):
    lightgbm = pytest.importorskip("lightgbm", reason="a booster as member")
    X, y, groups = data
    booster = as_ranker(lightgbm.LGBMRanker(n_estimators=5, n_jobs=1, verbose=-1))
    fusion = FusionRanker([("listnet", ListNetRanker()), ("lightgbm", booster)], "rrf")
    value = fusion.fit(X, y, groups).score(X, y, groups)
    alone = clone(booster).fit(X, y, groups).predict(X)
    np.testing.assert_array_equal(fusion.estimators_[1].predict(X), alone)
    assert 0.5 < value <= 1.0


def test_weights_of_lists_reach_every_member(data):
    X, y, groups = data
    weights = 1.0 + groups % 3
    fusion = FusionRanker(members()).fit(X, y, groups, sample_weight=weights)
    alone = ListMLERanker().fit(X, y, groups, sample_weight=weights)
    np.testing.assert_array_equal(fusion.estimators_[0].coef_, alone.coef_)
    ridge = Ridge().fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(fusion.estimators_[1].coef_, ridge.coef_)
    with pytest.raises(ValueError, match="'a' takes no sample_weight"):
        FusionRanker([("a", Fixed())]).fit(X, y, groups, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        pair = [
            ("mle", ListMLERanker().set_fit_request(sample_weight=True)),
            ("ridge", Ridge().set_fit_request(sample_weight=False)),
        ]
        routed = FusionRanker(pair).fit(X, y, groups, sample_weight=weights)
    np.testing.assert_array_equal(routed.estimators_[0].coef_, alone.coef_)
    np.testing.assert_array_equal(routed.estimators_[1].coef_, Ridge().fit(X, y).coef_)


def test_sparse_tables_and_several_processes(data):
    X, y, groups = data
    X = np.where(X > 0.5, X, 0.0)
    alone = FusionRanker(members()).fit(X, y, groups).predict(X, groups)
    several = FusionRanker(members(), n_jobs=2).fit(X, y, groups)
    np.testing.assert_array_equal(several.predict(X, groups), alone)
    table = sparse.csr_array(X)
    scores = FusionRanker(members()).fit(table, y, groups).predict(table, groups)
    np.testing.assert_allclose(scores, alone, atol=1e-3)


def test_scores_that_are_not_finite_name_the_member(data):
    X, y, groups = data
    fusion = FusionRanker([("one", Fixed())]).fit(X, y, groups)
    X = X.copy()
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="member 'one'"):
        fusion.predict(X, groups)


def no_worse_than_the_best(train, test, method, *others):
    """Compare with the best member, by paired differences over lists."""
    X, y, groups = test
    several = [
        ("listnet", ListNetRanker()),
        ("trees", HistGradientBoostingRegressor(max_iter=50, random_state=0)),
        *others,
    ]
    fusion = FusionRanker(several, method).fit(*train)
    values = [
        ndcg_score(y, scores, groups, average=None)
        for scores in [m.predict(X) for m in fusion.estimators_]
    ]
    best = max(values, key=np.nanmean)
    fused = ndcg_score(y, fusion.predict(X, groups), groups, average=None)
    difference = (fused - best)[~np.isnan(best)]  # NaN where no row is relevant
    assert difference.mean() > -2 * difference.std() / np.sqrt(len(difference))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "other", [RankNetRanker(), Fixed(0)], ids=["alike", "one feature"]
)
def test_no_worse_than_the_best_member_on_500_lists(method, other):
    X, y, groups = make_ranking(1000, n_features=8, noise=1.0, random_state=1)
    X[:, 0] *= np.abs(X[:, 1])  # so that trees and linear rankers see different things
    train = groups < 500
    no_worse_than_the_best(
        (X[train], y[train], groups[train]),
        (X[~train], y[~train], groups[~train]),
        method,
        ("other", other),
    )


@pytest.mark.parametrize("method", METHODS)
def test_no_worse_than_the_best_member_on_mq2008(shared, method):
    files = [shared / f"data/mq2008/S{i}.txt.gz" for i in range(1, 6)]
    parts = load_letor(files)
    X, y, groups = (np.concatenate(p) for p in zip(*parts, strict=True))
    number = np.unique(groups, return_inverse=True)[1]
    train = number % 3 == 0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*constant inside every list")
        no_worse_than_the_best(
            (X[train], y[train], number[train]),
            (X[~train], y[~train], number[~train]),
            method,
            ("ranknet", RankNetRanker()),
        )


class OneListFusion(FusionRanker):
    """Takes all rows as one list where groups are missing, as the checks do."""

    def fit(self, X, y, groups=None, *, sample_weight=None):
        if groups is None:
            groups = np.zeros(_num_samples(X))
        return super().fit(X, y, groups, sample_weight=sample_weight)

    def predict(self, X, groups=None):
        if groups is None and hasattr(self, "estimators_"):
            groups = np.zeros(_num_samples(X))
        return super().predict(X, groups)

    def score(self, X, y, groups=None, sample_weight=None):
        if groups is None:
            groups = np.zeros(_num_samples(X))
        return super().score(X, y, groups, sample_weight)


def excused(estimator):
    weights = "weights of rows are not repetitions of rows: a row twice is another list"
    checks = dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        weights,
    )
    if estimator.method != "scaled":
        checks["check_methods_subset_invariance"] = "scores depend on their list"
    return checks


@parametrize_with_checks(
    [OneListFusion(members(), method) for method in METHODS],
    expected_failed_checks=excused,
)
def test_scikit_learns_checks_pass_with_one_list(estimator, check):
    check(estimator)


def test_copies_are_unfitted_and_parameters_reach_members(data):
    fusion = FusionRanker(members()).fit(*data)
    copied = clone(fusion)
    assert not hasattr(copied, "estimators_")
    copied.set_params(mle__alpha=3.0, ridge=Ridge(alpha=7.0))
    assert copied.get_params()["mle__alpha"] == 3.0
    assert copied.get_params()["ridge__alpha"] == 7.0
    assert "mle" in repr(copied)


def test_a_refit_forgets_what_another_method_and_frame_left(data):
    X, y, groups = data
    frame = pd.DataFrame(X).add_prefix("x")
    fusion = FusionRanker(members(), "scaled").fit(frame, y, groups)
    fusion.set_params(method="scores").fit(X, y, groups)
    assert not hasattr(fusion, "deviations_")
    assert not hasattr(fusion, "feature_names_in_")
    fusion.set_params(method="scaled")
    for use in (lambda: fusion.predict(X), lambda: fusion.coef_):
        with pytest.raises(NotFittedError, match=r"another method.*fit it again"):
            use()
    expected = FusionRanker(members(), "scaled").fit(X, y, groups).predict(X)
    np.testing.assert_array_equal(fusion.fit(X, y, groups).predict(X), expected)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"weights": [1.0]}, "weights must be 2 numbers"),
        ({"mle__alpha": -1.0}, "alpha"),
        ({"mle": Fixed(99)}, "index 99 is out of bounds"),
    ],
)
def test_a_failed_refit_changes_nothing(data, wrong, message):
    X, y, groups = data
    frame = pd.DataFrame(X).add_prefix("x")
    fusion = FusionRanker(members(), "scaled").fit(frame, y, groups)
    names = ("estimators_", "named_estimators_", "deviations_", "feature_names_in_")
    before = {name: getattr(fusion, name) for name in names}
    fusion.set_params(**wrong)
    with pytest.raises((ValueError, IndexError), match=message):
        fusion.fit(X[:, :3], y, groups)
    assert all(getattr(fusion, name) is before[name] for name in names)


def left_out_columns(X, y, groups, method):
    """Return what members of the other half give each row, by a plain loop."""
    labels = np.unique(groups)
    half_of = dict(
        zip(labels, np.random.default_rng(0).permutation(len(labels)) % 2, strict=True)
    )
    halves = np.array([half_of[group] for group in groups])
    columns = np.zeros((len(y), 2))
    for half in range(2):
        train, test = halves != half, halves == half
        for j, weights in enumerate(([1, 0], [0, 1])):
            one = FusionRanker(members(), method, weights=weights)
            one.fit(X[train], y[train], groups[train])
            columns[test, j] = one.predict(X[test], groups[test])
    return columns


def chosen_by_hand(columns, y, groups, metric, weight_of_list):
    """Return the mean of the weights that resampled lists choose, by plain loops."""
    values = {}  # by weights, in the order in which they are tried

    def value(counts):
        shares = tuple(count / sum(counts) for count in counts)
        of_lists = metric(y, columns @ np.array(shares), groups, average=None)
        values.setdefault(shares, of_lists[~np.isnan(of_lists)])
        return np.nansum(of_lists * weight_of_list)

    counts = (0, 0)
    value((1, 1))
    for _ in range(20):
        counts = max(
            [(counts[0] + 1, counts[1]), (counts[0], counts[1] + 1)], key=value
        )
    defined = ~np.isnan(metric(y, columns[:, 0], groups, average=None))
    rng, chosen = np.random.default_rng(0), []
    for _ in range(100):
        lists = rng.integers(defined.sum(), size=defined.sum())
        weights = weight_of_list[defined][lists]
        sums = {w: (of_list[lists] * weights).sum() for w, of_list in values.items()}
        highest = max(sums.values())
        chosen.append(next(w for w in sums if sums[w] >= highest * (1 - 1e-12)))
    return np.mean(chosen, axis=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shift", [0.0, -2.0, 0.25])
def test_weights_by_left_out_lists_are_those_of_the_loop(data, method, shift):
    X, y, groups = data
    metric = ndcg_score if shift == 0 else pairwise_accuracy_score  # no grades
    y = y + shift
    columns = left_out_columns(X, y, groups, method)
    expected = chosen_by_hand(columns, y, groups, metric, np.ones(40))
    fusion = FusionRanker(members(), method).fit(X, y, groups)
    np.testing.assert_allclose(fusion.weights_, expected, rtol=1e-12)
    assert fusion.weights_.sum() == pytest.approx(1)
    fixed = FusionRanker(members(), method, weights=fusion.weights_).fit(X, y, groups)
    np.testing.assert_array_equal(fusion.predict(X, groups), fixed.predict(X, groups))


def test_lists_choose_by_their_weights(data):
    X, y, groups = data
    grouping = group_rows(groups)
    columns = X[:, :2]
    of_list = np.random.default_rng(0).exponential(size=40)
    rows = of_list[groups] * np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    means = np.array([rows[groups == group].mean() for group in range(40)])
    for weights in (of_list[groups], rows):
        lists = of_list if weights is not rows else means
        expected = chosen_by_hand(columns, y, groups, ndcg_score, lists)
        bagged = bagged_weights(columns, y, grouping, weights)
        np.testing.assert_allclose(bagged, expected, rtol=1e-12)
    assert not np.allclose(bagged, bagged_weights(columns, y, grouping))


def test_nothing_to_choose_leaves_equal_weights(data):
    X, y, groups = data
    few = groups < 9

    class Once(Fixed):
        def fit(self, X, y):
            fits.append(len(y))
            return super().fit(X, y)

    for rows, several in ((few, 2), (groups >= 0, 1)):
        fits = []
        some = [(f"m{j}", Once(j)) for j in range(several)]
        fusion = FusionRanker(some).fit(X[rows], y[rows], groups[rows])
        assert fits == [rows.sum()] * several  # no member is fitted to halves
        assert fusion.weights_.tolist() == [1 / several] * several
    alike = FusionRanker([("a", Fixed(0)), ("b", Fixed(1))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fusion = alike.fit(X, np.zeros(len(y)), groups)  # no list can be ranked wrong
    assert fusion.weights_.tolist() == [0.5, 0.5]


def test_weights_by_left_out_lists_do_not_depend_on_order_or_names(data):
    X, y, groups = data
    expected = FusionRanker(members(), weights="auto").fit(X, y, groups).weights_
    rows = np.random.default_rng(1).permutation(len(y))
    names = np.array([f"q{group:03}" for group in groups])
    again = FusionRanker(members(), weights="auto")
    again.fit(X[rows], y[rows], names[rows], sample_weight=np.full(len(y), 2.0))
    np.testing.assert_allclose(again.weights_, expected)
    frame = pd.DataFrame(X, index=pd.Index(groups, name="groups")).add_prefix("x")
    framed = FusionRanker(members(), weights="auto").fit(frame, with_groups(y, groups))
    np.testing.assert_allclose(framed.weights_, expected)


def test_a_member_that_ranks_backwards_gets_no_weight(data):
    X, y, groups = data
    table = np.column_stack((X, -y))
    pair = [("good", Fixed(0)), ("backwards", Fixed(6)), ("ridge", Ridge())]
    fusion = FusionRanker(pair, weights="auto").fit(table, y, groups)
    assert fusion.weights_[1] == 0.0


@pytest.mark.parametrize("weights", [None, [7.0, 7.0, 7.0], [1e308] * 3])
def test_equal_sums_of_ranks_stay_equal(weights):
    groups = np.zeros(3)
    X = np.array([[1.0, 2, 3], [2, 3, 1], [3, 1, 2]])  # each row has ranks 1, 2 and 3
    fusion = FusionRanker(
        [(f"m{j}", Fixed(j)) for j in range(3)], "ranks", weights=weights
    ).fit(X, [1, 2, 3], groups)
    assert fusion.predict(X, groups).tolist() == [1.0, 1.0, 1.0]


def test_weights_in_other_words_are_refused(data):
    with pytest.raises(ValueError, match="'weights' parameter of FusionRanker must be"):
        FusionRanker(members(), weights="best").fit(*data)


def test_a_member_that_cannot_be_fitted_to_half_of_the_lists_says_so(data):
    X, y, groups = data
    folds = list(GroupKFold(3).split(X, y, groups))  # numbers of rows of the whole
    pair = [("search", GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=folds)), *members()]
    with pytest.raises(IndexError, match="out of bounds") as caught:
        FusionRanker(pair).fit(X, y, groups)
    (note,) = caught.value.__notes__
    assert "fit to half of the lists" in note
    assert "need weights=None" in note
    fusion = FusionRanker(pair, weights=None).fit(X, y, groups)
    assert fusion.weights_.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="'alpha' parameter") as caught:
        FusionRanker([("mle", ListMLERanker(alpha=-1.0))]).fit(X, y, groups)
    assert not hasattr(caught.value, "__notes__")


def test_members_that_are_fitted_already_are_judged_by_what_they_give(data):
    X, y, groups = data
    train, test = groups < 10, groups >= 10
    good = ListMLERanker().fit(X[train], y[train], groups[train])
    bad = ListMLERanker().fit(X[train], -y[train], groups[train])
    pair = [("good", FrozenEstimator(good)), ("bad", FrozenEstimator(bad))]
    fusion = FusionRanker(pair).fit(X[test], y[test], groups[test])
    assert fusion.weights_[0] > 0.6  # above one half the order is the good one's
    np.testing.assert_array_equal(fusion.estimators_[0].coef_, good.coef_)


def test_chosen_weights_hold_where_one_member_is_far_better():
    X, y, groups = make_ranking(1000, n_features=8, noise=1.0, random_state=1)
    product = X[:, 0] * X[:, 1]  # which trees see, and linear rankers do not
    y = np.where(product > 1.0, 4, np.where(product < -1.0, 0, np.minimum(y, 3)))
    train = groups < 500
    pair = [
        ("listnet", ListNetRanker()),
        ("ranknet", RankNetRanker()),
        ("trees", HistGradientBoostingRegressor(max_iter=50, random_state=0)),
    ]
    test = X[~train], groups[~train]
    errors = []
    for weights in (None, "auto"):
        fusion = FusionRanker(pair, weights=weights)
        fusion.fit(X[train], y[train], groups[train])
        trees = fusion.named_estimators_["trees"].predict(test[0])
        values = [
            ndcg_score(y[~train], scores, test[1], average=None)
            for scores in (fusion.predict(*test), trees)
        ]
        gap = values[0] - values[1]
        gap = gap[~np.isnan(gap)]
        errors.append(gap.mean() / (gap.std() / np.sqrt(len(gap))))
    assert errors[0] < -3  # equal weights lose to the trees
    assert errors[1] > -2
