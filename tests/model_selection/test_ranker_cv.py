"""RankerCV: the optima and scores of a grid search, by far fewer evaluations."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

from skrank import with_groups
from skrank._fit.objective import LinearObjective
from skrank.linear_model import (
    DavidsonRanker,
    ListMLERanker,
    PMOPRanker,
    RankNetRanker,
    RankSVMRanker,
)
from skrank.metrics import make_ranking_scorer, ndcg_score
from skrank.model_selection import QueryKFold, RankerCV

ALPHAS = [1e-3, 1e-1, 10.0]


@pytest.fixture(scope="module")
def data():
    """Return shuffled lists of 8 rows."""
    rng = np.random.default_rng(3)
    groups = rng.permutation(np.repeat(np.arange(40), 8))
    X = rng.normal(size=(320, 6))
    y = np.digitize(X[:, 0] - X[:, 1] + 2 * rng.normal(size=320), [0, 1, 2])
    return X, y, groups


@pytest.mark.parametrize(
    "ranker",
    [
        ListMLERanker(),
        RankNetRanker(),
        RankSVMRanker("linear"),
        DavidsonRanker(),
        PMOPRanker(),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_scores_and_choice_are_those_of_a_grid_search(data, ranker):
    X, y, groups = data
    search = RankerCV(ranker, ALPHAS, cv=QueryKFold(4)).fit(X, y, groups)
    grid = GridSearchCV(
        ranker,
        {"alpha": ALPHAS},
        cv=QueryKFold(4),
        scoring=make_ranking_scorer(ndcg_score, k=10),
    ).fit(X, with_groups(y, groups))
    for key in ("split0_test_score", "mean_test_score", "std_test_score"):
        np.testing.assert_allclose(
            search.cv_results_[key], grid.cv_results_[key][::-1], atol=1e-3
        )
    assert search.alpha_ == grid.best_params_["alpha"]
    np.testing.assert_allclose(search.coef_, grid.best_estimator_.coef_, rtol=1e-12)
    np.testing.assert_array_equal(search.predict(X), X @ search.coef_)


def test_each_fold_ends_at_the_optimum_of_its_lists(data):
    X, y, groups = data
    search = RankerCV(ListMLERanker(), ALPHAS, cv=4).fit(X, y, groups)
    assert search.coef_path_.shape == (4, 3, 6)
    np.testing.assert_array_equal(search.alphas_, ALPHAS[::-1])
    for fold, (train, _) in enumerate(QueryKFold(4).split(X, y, groups)):
        for number, alpha in enumerate(search.alphas_):
            alone = ListMLERanker(alpha=alpha).fit(X[train], y[train], groups[train])
            np.testing.assert_allclose(
                search.coef_path_[fold, number], alone.coef_, rtol=0, atol=1e-5
            )


def test_the_path_takes_far_fewer_evaluations_than_a_grid(data, monkeypatch):
    X, y, groups = data
    calls = []
    evaluate = LinearObjective.__call__

    def counted(self, parameters):
        calls.append(1)
        return evaluate(self, parameters)

    monkeypatch.setattr(LinearObjective, "__call__", counted)
    alphas = np.logspace(-4, 1, 10)
    RankerCV(RankNetRanker(), alphas).fit(X, y, groups)
    # 50 fits in folds, and one to all data.
    assert len(calls) <= 51 * 6


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_number_of_threads_changes_no_bit(data, n_jobs):
    X, y, groups = data
    one = RankerCV(RankNetRanker(), ALPHAS, cv=3).fit(X, y, groups)
    many = RankerCV(RankNetRanker(), ALPHAS, cv=3, n_jobs=n_jobs).fit(X, y, groups)
    np.testing.assert_array_equal(one.coef_path_, many.coef_path_)
    for key, values in one.cv_results_.items():
        np.testing.assert_array_equal(values, many.cv_results_[key])


def test_sparse_rows_score_as_dense_ones(data):
    X, y, groups = data
    X = np.where(np.abs(X) > 1, X, 0.0)
    dense = RankerCV(RankNetRanker(), ALPHAS, cv=3).fit(X, y, groups)
    stored = RankerCV(RankNetRanker(), ALPHAS, cv=3).fit(sparse.csr_array(X), y, groups)
    np.testing.assert_allclose(stored.coef_path_, dense.coef_path_, atol=1e-5)


def test_one_standard_error_takes_the_largest_penalty_that_is_nearly_as_good(data):
    X, y, groups = data
    # A penalty favours large features, which are noise here.
    X = X * [0.1, 0.1, 5.0, 5.0, 5.0, 5.0]
    alphas = np.logspace(-4, 2, 13)
    best = RankerCV(RankNetRanker(), alphas).fit(X, y, groups)
    plain = RankerCV(RankNetRanker(), alphas, rule="one_standard_error")
    plain.fit(X, y, groups)
    scores = np.array(
        [best.cv_results_[f"split{fold}_test_score"] for fold in range(5)]
    )
    means = scores.mean(axis=0)
    top = int(np.argmax(means))
    error = np.std(scores[:, top], ddof=1) / np.sqrt(5)
    allowed = [
        alpha
        for alpha, mean in zip(best.alphas_, means, strict=True)
        if mean >= means[top] - error
    ]
    assert best.alpha_ == best.alphas_[top]
    assert plain.alpha_ == max(allowed) > best.alpha_


def test_a_list_of_weight_zero_counts_neither_in_fits_nor_in_scores(data):
    X, y, groups = data
    other = np.where(groups < 5, y.max() - y, y)
    weight = np.where(groups < 5, 0.0, 1.0)
    search = RankerCV(ListMLERanker(), ALPHAS, cv=4)
    first = search.fit(X, y, groups, sample_weight=weight).cv_results_
    second = search.fit(X, other, groups, sample_weight=weight).cv_results_
    for key, values in first.items():
        np.testing.assert_allclose(second[key], values, rtol=1e-9)


def test_groups_ride_on_the_index_through_a_pipeline(data):
    X, y, groups = data
    search = RankerCV(RankNetRanker(), ALPHAS, cv=3)
    direct = search.fit(StandardScaler().fit_transform(X), y, groups)
    chained = make_pipeline(StandardScaler(), RankerCV(RankNetRanker(), ALPHAS, cv=3))
    chained.fit(X, with_groups(y, groups))
    np.testing.assert_array_equal(chained[-1].coef_path_, direct.coef_path_)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_groups_are_routed_through_an_outer_cross_validation(data, n_jobs):
    X, y, groups = data
    search = RankerCV(RankNetRanker(), ALPHAS, cv=3, n_jobs=n_jobs)
    cv = GroupKFold(4)
    with config_context(enable_metadata_routing=True):
        results = cross_validate(
            make_pipeline(StandardScaler(), search),
            X,
            y,
            cv=cv,
            params={"groups": groups},
        )
    for number, (train, test) in enumerate(cv.split(X, y, groups)):
        scaler = StandardScaler().fit(X[train])
        search.fit(scaler.transform(X[train]), y[train], groups[train])
        score = search.score(scaler.transform(X[test]), y[test], groups[test])
        assert results["test_score"][number] == score


def test_its_score_is_that_of_the_cross_validation(data):
    X, y, groups = data
    search = RankerCV(RankNetRanker(), ALPHAS, cv=3, scoring="ndcg@3").fit(*data)
    assert search.score(X, y, groups) == ndcg_score(y, search.predict(X), groups, k=3)
    (train, test), *_ = QueryKFold(3).split(X, y, groups)
    search.ranker_.set_params(alpha=search.alpha_).fit(
        X[train], y[train], groups[train]
    )
    place = list(search.alphas_).index(search.alpha_)
    assert search.score(X[test], y[test], groups[test]) == pytest.approx(
        search.cv_results_["split0_test_score"][place], abs=1e-3
    )


def test_fits_that_stop_early_are_told_once(data):
    with pytest.warns(ConvergenceWarning, match="stopped") as caught:
        RankerCV(RankNetRanker(max_iter=1), ALPHAS, cv=3).fit(*data)
    messages = [str(warning.message) for warning in caught]
    assert sum("of 9 fits stopped early" in message for message in messages) == 1
    assert len(messages) == 2  # and the fit to all data


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alphas": []}, "alphas must be a number of penalties or a list"),
        ({"alphas": [-1.0, 1.0]}, "alphas must be numbers of at least 0"),
        ({"alphas": [np.nan]}, "alphas must be numbers of at least 0"),
        ({"alphas": 0}, "alphas must be at least 1, got 0"),
        ({"alphas": True}, "alphas must be a number of penalties .* got True"),
        ({"alphas": [True, False]}, "alphas must be a number of penalties or a list"),
        ({"rule": "least"}, "'rule' parameter of RankerCV"),
        ({"scoring": "ndcg@x"}, "ndcg@x"),
    ],
)
def test_settings_out_of_range_are_refused(data, settings, message):
    with pytest.raises(ValueError, match=message):
        RankerCV(RankNetRanker(), **{"alphas": ALPHAS, **settings}).fit(*data)


def test_no_cv_is_five_folds(data):
    alphas = [0.1, 1.0]
    default = RankerCV(RankNetRanker(), alphas, cv=None).fit(*data)
    five = RankerCV(RankNetRanker(), alphas, cv=QueryKFold(5)).fit(*data)
    np.testing.assert_array_equal(default.coef_path_, five.coef_path_)


def test_what_is_no_linear_ranker_is_refused(data):
    with pytest.raises(ValueError, match="'ranker' parameter of RankerCV"):
        RankerCV(StandardScaler()).fit(*data)


def test_a_fold_that_cuts_a_list_is_refused(data):
    X, y, groups = data
    rows = np.arange(len(y))
    with pytest.raises(
        ValueError, match="rows of 40 lists into training and test part"
    ):
        RankerCV(cv=[(rows[::2], rows[1::2])]).fit(X, y, groups)


def test_nothing_is_ranked_before_fit():
    with pytest.raises(NotFittedError, match="RankerCV"):
        RankerCV().predict(np.zeros((2, 2)))


def lists_of_five(X):
    """Return groups of every so many rows, since neighbours often share a label."""
    n_rows = _num_samples(X)
    return np.arange(n_rows) % max(2, n_rows // 5)


class ListsOfFive(RankerCV):
    """Takes rows in lists of five where groups are missing, as in common checks."""

    def fit(self, X, y, groups=None, *, sample_weight=None):
        if groups is None:
            groups = lists_of_five(X)
        return super().fit(X, y, groups, sample_weight=sample_weight)

    def score(self, X, y, groups=None, sample_weight=None):
        if groups is None:
            groups = lists_of_five(X)
        return super().score(X, y, groups, sample_weight)


def excused(search):
    reason = "weights of rows are not repetitions of rows: a row twice is another list"
    return dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        reason,
    )


# Some checks have so few rows that no list of a fold has two labels.
@pytest.mark.filterwarnings("ignore:The metric is undefined for every list")
@pytest.mark.filterwarnings("ignore:.*all rows of each list are tied")
@parametrize_with_checks(
    [ListsOfFive(alphas=[0.1, 1.0], cv=2, scoring="pairwise_accuracy")],
    expected_failed_checks=excused,
)
def test_scikit_learns_checks_pass_with_lists_of_five(estimator, check):
    check(estimator)
