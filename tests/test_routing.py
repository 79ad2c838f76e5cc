"""Groups reach rankers inside scikit-learn's tools: values equal a loop by hand.

Each test compares with a loop over GroupKFold that passes groups itself. "routing"
switches metadata routing on and passes ``groups``; "index" leaves it off and lets the
groups ride on the index of ``y``.
"""

import threading

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV, SelectKBest, SequentialFeatureSelector
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank.linear_model
from skrank import ListMLERanker, RankNetRanker, with_groups
from skrank.ensemble import FusionRanker
from skrank.metrics import (
    err_score,
    err_scorer,
    ndcg_score,
    ndcg_scorer,
    pairwise_accuracy_score,
    pairwise_accuracy_scorer,
)
from skrank.model_selection import QueryKFold

RANKERS = [getattr(skrank.linear_model, name) for name in skrank.linear_model.__all__]
ALPHAS = [0.01, 0.3, 10.0]
CV = GroupKFold(3)


@pytest.fixture(scope="module")
def data():
    """Return shuffled lists whose level hides what ranks inside them."""
    rng = np.random.default_rng(7)
    groups = rng.permutation(np.repeat(np.arange(24) * 5 - 17, 6))
    level = rng.normal(size=120)[groups + 17]
    X = rng.normal(size=(144, 4))
    y = np.digitize(X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=144), [0, 1])
    X[:, 0] += 3 * level
    return X, y, groups


@pytest.fixture(params=[True, False], ids=["routing", "index"])
def way(request):
    """Return one of the two ways to carry groups, switched on."""
    with config_context(enable_metadata_routing=request.param):
        yield Routing() if request.param else Index()


class Routing:
    """Groups are passed to the outer call."""

    routing = True

    def labels(self, y, groups):
        return y

    def given(self, groups):
        return {"groups": groups}

    def params(self, groups):
        return {"params": {"groups": groups}}

    def cv(self, n_splits=3):
        return GroupKFold(n_splits)


class Index:
    """Groups are on the index of ``y``, where splitters of skrank find them too."""

    routing = False

    def labels(self, y, groups):
        return with_groups(y, groups)

    def given(self, groups):
        return {}

    def params(self, groups):
        return {}

    def cv(self, n_splits=3):
        return QueryKFold(n_splits)


def fit(model, X, y, groups):
    """Fit a ranker, or a transformer and a ranker, and return its ``predict``."""
    model = clone(model)
    if not hasattr(model, "steps"):
        return model.fit(X, y, groups).predict
    scaler, ranker = (step for _, step in model.steps)
    ranker.fit(scaler.fit_transform(X), y, groups)
    return lambda new: ranker.predict(scaler.transform(new))


def loop(model, X, y, groups, metric=ndcg_score, cv=CV, **options):
    """Return the metric of each fold, every group handed over by hand."""
    values = []
    for train, test in cv.split(X, y, groups):
        predict = fit(model, X[train], y[train], groups[train])
        values.append(metric(y[test], predict(X[test]), groups[test], **options))
    return np.array(values)


def means(models, *args, **options):
    values = np.array([loop(model, *args, **options).mean() for model in models])
    assert len(set(values)) > 1  # else any choice would be right
    return values


def scaled(alpha):
    return make_pipeline(StandardScaler(), ListMLERanker(alpha=alpha))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("ranker", RANKERS)
def test_a_search_equals_the_loop(data, way, ranker, n_jobs):
    X, y, groups = data
    search = GridSearchCV(ranker(), {"alpha": ALPHAS}, cv=way.cv(), n_jobs=n_jobs)
    search.fit(X, way.labels(y, groups), **way.given(groups))
    expected = means([ranker(alpha=alpha) for alpha in ALPHAS], X, y, groups)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    best = fit(ranker(alpha=ALPHAS[np.argmax(expected)]), X, y, groups)
    np.testing.assert_array_equal(search.predict(X), best(X))
    score = search.score(X, way.labels(y, groups), **way.given(groups))
    assert score == pytest.approx(ndcg_score(y, best(X), groups))


def test_groups_of_the_fold_reach_fit_and_score(data, way):
    X, y = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]]), np.array([1, 2, 3, 4])
    groups = np.array(["a", "a", "b", "b"])
    search = GridSearchCV(Recorder(), {"alpha": [1.0]}, cv=way.cv(2), refit=False)
    Recorder.seen = []
    search.fit(X, way.labels(y, groups), **way.given(groups))
    assert sorted(Recorder.seen) == [
        ("fit", ["a", "a"]),
        ("fit", ["b", "b"]),
        ("score", ["a", "a"]),
        ("score", ["b", "b"]),
    ]


class Recorder(ListMLERanker):
    """A ranker that notes the groups it is given, or finds on the index."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, groups=None, *, sample_weight=None):
        self.note("fit", y, groups)
        return super().fit(X, y, groups, sample_weight=sample_weight)

    def score(self, X, y, groups=None, sample_weight=None):
        self.note("score", y, groups)
        return super().score(X, y, groups, sample_weight)

    def note(self, method, y, groups):
        groups = y.index if groups is None else groups
        self.seen.append((method, [str(label) for label in groups]))


def test_a_pipeline_equals_the_loop(data, way):
    X, y, groups = data
    model = scaled(0.1)
    if way.routing:
        model.fit(X, y, groups=groups)
    else:
        model.fit(X, with_groups(y, groups))
    expected = fit(scaled(0.1), X, y, groups)
    np.testing.assert_array_equal(model.predict(X), expected(X))
    score = model.score(X, way.labels(y, groups), **way.given(groups))
    assert score == pytest.approx(ndcg_score(y, expected(X), groups))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_pipeline_in_a_search_equals_the_loop(data, way, n_jobs):
    X, y, groups = data
    grid = {"listmleranker__alpha": ALPHAS}
    search = GridSearchCV(scaled(1.0), grid, cv=way.cv(), n_jobs=n_jobs)
    search.fit(X, way.labels(y, groups), **way.given(groups))
    expected = means([scaled(alpha) for alpha in ALPHAS], X, y, groups)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)


def test_a_search_over_two_rankers_equals_the_loop(data, way):
    X, y, groups = data
    pipeline = make_pipeline(StandardScaler(), ListMLERanker())
    pipeline.steps[-1] = ("ranker", pipeline.steps[-1][1])
    rankers = [ListMLERanker(), RankNetRanker()]
    search = GridSearchCV(pipeline, {"ranker": rankers}, cv=way.cv())
    search.fit(X, way.labels(y, groups), **way.given(groups))
    models = [make_pipeline(StandardScaler(), ranker) for ranker in rankers]
    expected = means(models, X, y, groups)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)


def test_a_search_over_a_ranker_and_ridge_regression_equals_the_loop(data, way):
    X, y, groups = data
    pipeline = Pipeline([("scaler", StandardScaler()), ("ranker", ListMLERanker())])
    regression = FusionRanker([("ridge", Ridge())], method="scaled")
    grid = [
        {"ranker": [ListMLERanker()]},
        {"ranker": [regression], "ranker__ridge__alpha": [0.1, 300.0]},
    ]
    search = GridSearchCV(pipeline, grid, scoring=ndcg_scorer(), cv=way.cv())
    search.fit(X, way.labels(y, groups), **way.given(groups))
    values = search.cv_results_["mean_test_score"]
    expected = [loop(scaled(0.1), X, y, groups).mean()]
    for alpha in [0.1, 300.0]:
        folds = []
        for train, test in CV.split(X, y, groups):
            model = make_pipeline(StandardScaler(), Ridge(alpha=alpha))
            scores = model.fit(X[train], y[train]).predict(X[test])
            folds.append(ndcg_score(y[test], scores, groups[test]))
        expected.append(np.mean(folds))
    np.testing.assert_allclose(values, expected)
    # Alone, it has no place for groups that routing hands to the last step.
    if way.routing:
        search.set_params(param_grid={"ranker": [Ridge()]}, error_score="raise")
        with pytest.raises(TypeError, match="unexpected argument"):
            search.fit(X, y, groups=groups)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_nested_searches_equal_loops(data, way, n_jobs):
    X, y, groups = data
    grid = {"listmleranker__alpha": ALPHAS}
    search = GridSearchCV(scaled(1.0), grid, cv=way.cv(2))
    values = cross_val_score(
        search,
        X,
        way.labels(y, groups),
        cv=way.cv(),
        n_jobs=n_jobs,
        **way.params(groups),
    )
    expected = []
    for train, test in CV.split(X, y, groups):
        part = X[train], y[train], groups[train]
        models = [scaled(alpha) for alpha in ALPHAS]
        inner = [loop(model, *part, cv=GroupKFold(2)).mean() for model in models]
        predict = fit(models[np.argmax(inner)], *part)
        expected.append(ndcg_score(y[test], predict(X[test]), groups[test]))
    np.testing.assert_allclose(values, expected)


def test_several_metrics_equal_the_loop(data, way):
    X, y, groups = data
    scorers = {
        "ndcg": ndcg_scorer(k=3),
        "err": err_scorer(k=3),
        "pairs": pairwise_accuracy_scorer(),
    }
    search = GridSearchCV(
        ListMLERanker(), {"alpha": ALPHAS}, scoring=scorers, refit="pairs", cv=way.cv()
    )
    search.fit(X, way.labels(y, groups), **way.given(groups))
    models = [ListMLERanker(alpha=alpha) for alpha in ALPHAS]
    for name, metric, options in [
        ("ndcg", ndcg_score, {"k": 3}),
        ("err", err_score, {"k": 3}),
        ("pairs", pairwise_accuracy_score, {}),
    ]:
        expected = means(models, X, y, groups, metric=metric, **options)
        np.testing.assert_allclose(search.cv_results_[f"mean_test_{name}"], expected)


def test_a_random_search_equals_the_loop(data, way):
    X, y, groups = data
    search = RandomizedSearchCV(
        ListMLERanker(), {"alpha": ALPHAS}, n_iter=3, cv=way.cv(), random_state=0
    )
    search.fit(X, way.labels(y, groups), **way.given(groups))
    drawn = search.cv_results_["param_alpha"]
    expected = means([ListMLERanker(alpha=alpha) for alpha in drawn], X, y, groups)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)


# So few iterations are the point of halving.
@pytest.mark.filterwarnings("ignore:ListMLERanker stopped before it converged")
def test_halving_over_a_parameter_equals_the_loop(data, way):
    X, y, groups = data
    search = HalvingGridSearchCV(
        ListMLERanker(tol=0.0),  # a limit of iterations is what is halved
        {"alpha": ALPHAS},
        resource="max_iter",
        min_resources=1,
        max_resources=3,
        cv=way.cv(),
    )
    search.fit(X, way.labels(y, groups), **way.given(groups))
    results = search.cv_results_
    models = [ListMLERanker(tol=0.0, **params) for params in results["params"]]
    expected = [loop(model, X, y, groups).mean() for model in models]
    assert len(expected) > len(ALPHAS)
    np.testing.assert_allclose(results["mean_test_score"], expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_validation_equals_the_loop(data, way, n_jobs):
    X, y, groups = data
    labels = way.labels(y, groups)
    options = {"cv": way.cv(), "n_jobs": n_jobs, **way.params(groups)}
    expected = loop(ListMLERanker(), X, y, groups)
    values = cross_val_score(ListMLERanker(), X, labels, **options)
    np.testing.assert_allclose(values, expected)
    results = cross_validate(ListMLERanker(), X, labels, **options)
    np.testing.assert_allclose(results["test_score"], expected)
    scores = cross_val_predict(ListMLERanker(), X, labels, **options)
    for train, test in CV.split(X, y, groups):
        predict = fit(ListMLERanker(), X[train], y[train], groups[train])
        np.testing.assert_array_equal(scores[test], predict(X[test]))


def test_without_routing_groups_may_reach_the_splitter_beside_the_index(data):
    X, y, groups = data
    values = cross_val_score(
        ListMLERanker(), X, with_groups(y, groups), groups=groups, cv=CV
    )
    np.testing.assert_allclose(values, loop(ListMLERanker(), X, y, groups))


def test_sequential_selection_equals_the_loop(data, way):
    X, y, groups = data
    selector = SequentialFeatureSelector(
        ListMLERanker(), n_features_to_select=2, cv=list(CV.split(X, y, groups))
    )
    selector.fit(X, way.labels(y, groups), **way.given(groups))
    chosen = []
    for _ in range(2):
        left = [j for j in range(X.shape[1]) if j not in chosen]
        values = [
            loop(ListMLERanker(), X[:, [*chosen, j]], y, groups).mean() for j in left
        ]
        chosen.append(left[int(np.argmax(values))])
    np.testing.assert_array_equal(
        np.flatnonzero(selector.get_support()), sorted(chosen)
    )


def test_recursive_elimination_with_routing_equals_the_loop(data):
    X, y, groups = data
    with config_context(enable_metadata_routing=True):
        # Its own default is R2 for all that is not a classifier, so scoring is needed.
        selector = RFECV(ListMLERanker(), cv=CV, scoring=ndcg_scorer())
        selector.fit(X, y, groups=groups)
    n_features = X.shape[1]
    expected = np.zeros((CV.n_splits, n_features))
    for fold, (train, test) in enumerate(CV.split(X, y, groups)):
        columns = np.arange(n_features)
        while len(columns):
            ranker = ListMLERanker().fit(X[train][:, columns], y[train], groups[train])
            scores = ranker.predict(X[test][:, columns])
            value = ndcg_score(y[test], scores, groups[test])
            expected[fold, len(columns) - 1] = value
            columns = np.delete(columns, np.argmin(ranker.coef_**2))
    results = selector.cv_results_["mean_test_score"]
    np.testing.assert_allclose(results, expected.mean(axis=0))


def test_recursive_elimination_without_routing_fails_loudly(data):
    X, y, groups = data
    folds = list(CV.split(X, y, groups))
    with pytest.raises(ValueError, match="metadata routing is off"):
        RFECV(ListMLERanker(), cv=folds).fit(X, with_groups(y, groups))


def test_permutation_importance_with_the_index_equals_the_loop(data):
    X, y, groups = data
    ranker = ListMLERanker().fit(X, y, groups)
    result = permutation_importance(
        ranker, X, with_groups(y, groups), n_repeats=3, random_state=0
    )
    baseline = ndcg_score(y, ranker.predict(X), groups)
    assert result.importances.shape == (4, 3)
    # The permutation is scikit-learn's: a column's share of the scores is moved.
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max + 1)
    for column in range(4):
        draw, rows = np.random.RandomState(seed), np.arange(len(y))
        moved = X.copy()
        for repeat in range(3):
            draw.shuffle(rows)
            moved[:, column] = moved[rows, column]
            value = ndcg_score(y, ranker.predict(moved), groups)
            assert result.importances[column, repeat] == pytest.approx(baseline - value)


def test_permutation_importance_with_routing_raises(data):
    X, y, groups = data
    ranker = ListMLERanker().fit(X, y, groups)
    with (
        config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="metadata routing is on, but nothing passed"),
    ):
        permutation_importance(ranker, X, y)


@pytest.fixture(scope="module")
def users(data):
    """Return a coarser partition than the lists: each user has several."""
    groups = data[2]
    return (groups + 17) // 5 % 8


def loop_by_users(X, y, groups, users):
    values = []
    for alpha in ALPHAS:
        folds = []
        for train, test in CV.split(X, y, users):
            predict = fit(ListMLERanker(alpha=alpha), X[train], y[train], groups[train])
            folds.append(ndcg_score(y[test], predict(X[test]), groups[test]))
        values.append(np.mean(folds))
    return values


def test_splitting_by_users_with_routing_equals_the_loop(data, users):
    X, y, groups = data
    with config_context(enable_metadata_routing=True):
        cv = GroupKFold(3).set_split_request(groups="users")
        search = GridSearchCV(ListMLERanker(), {"alpha": ALPHAS}, cv=cv)
        search.fit(X, y, groups=groups, users=users)
    expected = loop_by_users(X, y, groups, users)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)


@pytest.mark.parametrize("cv", [GroupKFold(3), QueryKFold(3)], ids=["theirs", "ours"])
def test_splitting_by_users_with_the_index_equals_the_loop(data, users, cv):
    X, y, groups = data
    search = GridSearchCV(ListMLERanker(), {"alpha": ALPHAS}, cv=cv)
    search.fit(X, with_groups(y, groups), groups=users)
    expected = loop_by_users(X, y, groups, users)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)


def test_users_taken_for_groups_with_routing_raise(data, users):
    X, y, groups = data
    search = GridSearchCV(ListMLERanker(), {"alpha": ALPHAS}, cv=CV)
    with (
        config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="differ from the index level 'groups'"),
    ):
        search.fit(X, with_groups(y, groups), groups=users)


@pytest.mark.parametrize("ranker", RANKERS)
def test_a_conflict_between_argument_and_index_raises(data, ranker):
    X, y, groups = data
    fitted = ranker().fit(X, y, groups)
    for method in (ranker().fit, fitted.score):
        with pytest.raises(ValueError, match=f"{method.__name__} was given groups="):
            method(X, with_groups(y, groups), groups[::-1])


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("routing", [True, False])
def test_missing_groups_raise_and_tell_the_state_of_routing(data, ranker, routing):
    X, y, groups = data
    fitted = ranker().fit(X, y, groups)
    state = "is on" if routing else "is off"
    with config_context(enable_metadata_routing=routing):
        for method in (ranker().fit, fitted.score):
            name = f"{ranker.__name__}.{method.__name__}"
            with pytest.raises(ValueError, match=rf"{name} needs.*routing {state}"):
                method(X, y)


def test_a_search_that_hands_groups_to_the_splitter_alone_raises(data):
    X, y, groups = data
    search = GridSearchCV(ListMLERanker(), {"alpha": ALPHAS}, cv=CV, n_jobs=2)
    with pytest.raises(ValueError, match=r"fits failed(.|\n)*metadata routing is off"):
        search.fit(X, y, groups=groups)


def test_a_pipeline_score_that_loses_groups_raises(data):
    X, y, groups = data
    model = scaled(0.1).fit(X, y, listmleranker__groups=groups)
    with pytest.raises(ValueError, match="metadata routing is off"):
        model.score(X, y)


def test_scorers_rank_with_ridge(data, way):
    X, y, groups = data
    search = GridSearchCV(
        Ridge(), {"alpha": [0.1, 300.0]}, scoring=ndcg_scorer(k=3), cv=way.cv()
    )
    search.fit(X, way.labels(y, groups), **way.given(groups))
    for alpha, value in zip(
        [0.1, 300.0], search.cv_results_["mean_test_score"], strict=True
    ):
        folds = [
            ndcg_score(
                y[test],
                Ridge(alpha=alpha).fit(X[train], y[train]).predict(X[test]),
                groups[test],
                k=3,
            )
            for train, test in CV.split(X, y, groups)
        ]
        assert value == pytest.approx(np.mean(folds))


LABELS = {
    "floats": lambda groups: groups / 4,
    "strings": lambda groups: np.array([f"q{group:+d}" for group in groups]),
    "objects": lambda groups: np.array([f"q{g}" for g in groups], dtype=object),
    "64 bits": lambda groups: groups.astype(np.int64) + 2**62,
    "categories": lambda groups: pd.Categorical(groups),
    "dates": lambda groups: np.datetime64("2026-01-01") + groups,
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind_equal_the_loop_over_their_folds(data, way, kind):
    X, y, groups = data
    labels = LABELS[kind](groups)
    # GroupKFold orders equal lists by name, so the folds come from these labels.
    folds = list(CV.split(X, y, labels))
    search = GridSearchCV(ListMLERanker(), {"alpha": ALPHAS}, cv=folds)
    search.fit(X, way.labels(y, labels), **way.given(labels))
    expected = []
    for alpha in ALPHAS:
        values = []
        for train, test in folds:
            predict = fit(ListMLERanker(alpha=alpha), X[train], y[train], groups[train])
            values.append(ndcg_score(y[test], predict(X[test]), groups[test]))
        expected.append(np.mean(values))
    results = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(results, expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda g: np.where(g == g[0], np.nan, g), "missing values"),
        (lambda g: g[:-1], "groups has 143 entries for 144 rows"),
        (lambda g: np.column_stack((g, g)), "one-dimensional"),
        (lambda g: np.full(24, 6), r"np\.repeat\(.*, np\.int64\(sizes\)\)\."),
    ],
    ids=["NaN", "length", "2-d", "sizes"],
)
@pytest.mark.parametrize("ranker", RANKERS)
def test_broken_groups_raise(data, ranker, spoil, message):
    X, y, groups = data
    fitted = ranker().fit(X, y, groups)
    for method in (ranker().fit, fitted.score):
        with pytest.raises(ValueError, match=message):
            method(X, y, spoil(groups))


def test_groups_reach_the_ranker_behind_a_selector_of_features(data, way):
    X, y, groups = data
    model = make_pipeline(SelectKBest(k=2), ListMLERanker())
    model.fit(X, way.labels(y, groups), **way.given(groups))
    chosen = SelectKBest(k=2).fit(X, y).get_support()
    expected = ListMLERanker().fit(X[:, chosen], y, groups)
    np.testing.assert_array_equal(model[-1].coef_, expected.coef_)


def test_threads_of_a_ranker_do_not_need_the_setting(data):
    # The setting of routing is one of each thread: a new one sees it off.
    X, y, groups = data
    results = []
    with config_context(enable_metadata_routing=True):
        thread = threading.Thread(
            target=lambda: results.append(ListMLERanker(n_jobs=2).fit(X, y, groups))
        )
        thread.start()
        thread.join()
    expected = ListMLERanker().fit(X, y, groups)
    np.testing.assert_array_equal(results[0].coef_, expected.coef_)
