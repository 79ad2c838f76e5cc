"""Scorers in scikit-learn's tools: the values equal hand-written loops."""

import pickle
import sys
from inspect import signature

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import metrics, with_groups
from skrank._data.groups import find_groups
from skrank.metrics import (
    RankingScorer,
    dcg_score,
    err_score,
    err_scorer,
    make_ranking_scorer,
    ndcg_score,
    ndcg_scorer,
    pairwise_accuracy_score,
    pairwise_accuracy_scorer,
)

try:  # joblib's own copy, till joblib 1.5
    from joblib.externals.cloudpickle import register_pickle_by_value
except ImportError:
    from cloudpickle import register_pickle_by_value

# Worker processes cannot import a test module by name.
register_pickle_by_value(sys.modules[__name__])

ALPHAS = [0.01, 100.0, 1e4]
SCORERS = {
    "ndcg": ndcg_scorer(k=3),
    "err": err_scorer(k=3),
    "pairs": pairwise_accuracy_scorer(),
}
CV = GroupKFold(3)


class ListCenteredRidge(RegressorMixin, BaseEstimator):
    """A model that looks at whole lists: scores relative to the list's mean."""

    __metadata_request__fit = {"groups": True}  # noqa: RUF012
    __metadata_request__predict = {"groups": True}  # noqa: RUF012

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y, groups=None):
        find_groups(y, groups, "fit", "y")
        self.ridge_ = Ridge(alpha=self.alpha).fit(X, np.asarray(y))
        return self

    def predict(self, X, groups=None):
        assert groups is not None, "groups did not reach predict"
        scores = self.ridge_.predict(X)
        _, codes = np.unique(groups, return_inverse=True)
        mean = np.bincount(codes, scores) / np.bincount(codes)
        # The square turns scores below the mean around, so that lists matter.
        return (scores - mean[codes]) ** 2


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(30), 6))
    X = rng.normal(size=(180, 4))
    level = rng.normal(size=30)[groups]
    X[:, 0] += level
    y = np.digitize(X[:, 0] - level + rng.normal(size=180), [0, 1, 2])
    return X, y, groups


def loop(estimators, X, y, groups, metric, **options):
    """Mean of the test values over folds, for each estimator."""
    return np.array(
        [
            np.mean(
                [
                    metric(
                        y[test],
                        scores_of(
                            clone(estimator), X, y, groups, train, X[test], groups[test]
                        ),
                        groups[test],
                        **options,
                    )
                    for train, test in CV.split(X, y, groups)
                ]
            )
            for estimator in estimators
        ]
    )


def scores_of(estimator, X, y, groups, train, X_test, groups_test):
    """Fit on training rows and predict others, without any of scikit-learn's tools."""
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    if hasattr(estimator, "steps"):
        scaler = estimator[0].fit(X[train])
        X_train, X_test = scaler.transform(X[train]), scaler.transform(X_test)
    else:
        X_train = X[train]
    if isinstance(last, ListCenteredRidge):
        return last.fit(X_train, y[train], groups[train]).predict(X_test, groups_test)
    return last.fit(X_train, y[train]).predict(X_test)


MODELS = {
    "ridge": Ridge,
    "pipeline": lambda alpha: make_pipeline(StandardScaler(), Ridge(alpha=alpha)),
    "listwise": ListCenteredRidge,
    "listwise pipeline": lambda alpha: make_pipeline(
        StandardScaler(), ListCenteredRidge(alpha)
    ),
}


def grid_of(estimator):
    last = f"{estimator.steps[-1][0]}__" if hasattr(estimator, "steps") else ""
    return {f"{last}alpha": ALPHAS}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("routing", [True, False], ids=["routing", "index"])
@pytest.mark.parametrize("model", MODELS)
def test_a_search_over_several_metrics_equals_a_loop(data, model, routing, n_jobs):
    X, y, groups = data
    estimator = MODELS[model](1.0)
    with config_context(enable_metadata_routing=routing):
        search = GridSearchCV(
            estimator,
            grid_of(estimator),
            scoring=SCORERS,
            refit="ndcg",
            cv=CV,
            n_jobs=n_jobs,
            error_score="raise",
        )
        search.fit(X, y if routing else with_groups(y, groups), groups=groups)
    models = [MODELS[model](alpha) for alpha in ALPHAS]
    for name, metric, options in [
        ("ndcg", ndcg_score, {"k": 3}),
        ("err", err_score, {"k": 3}),
        ("pairs", pairwise_accuracy_score, {}),
    ]:
        expected = loop(models, X, y, groups, metric, **options)
        np.testing.assert_allclose(
            search.cv_results_[f"mean_test_{name}"], expected, rtol=1e-12
        )
        assert np.ptp(expected) > 0


@pytest.mark.parametrize("routing", [True, False], ids=["routing", "index"])
@pytest.mark.parametrize("model", ["ridge", "listwise", "listwise pipeline"])
def test_one_scorer_in_a_search_and_its_score(data, model, routing):
    X, y, groups = data
    indexed = y if routing else with_groups(y, groups)
    estimator = MODELS[model](1.0)
    with config_context(enable_metadata_routing=routing):
        search = GridSearchCV(
            estimator,
            grid_of(estimator),
            scoring=ndcg_scorer(k=3),
            cv=CV,
            error_score="raise",
        )
        search.fit(X, indexed, groups=groups)
        score = search.score(X, indexed, **({"groups": groups} if routing else {}))
    models = [MODELS[model](alpha) for alpha in ALPHAS]
    expected = loop(models, X, y, groups, ndcg_score, k=3)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], expected, rtol=1e-12
    )
    every_row = np.arange(len(y))
    best = models[np.argmax(expected)]
    scores = scores_of(best, X, y, groups, every_row, X, groups)
    assert score == pytest.approx(ndcg_score(y, scores, groups, k=3), rel=1e-12)


@pytest.mark.parametrize("routing", [True, False], ids=["routing", "index"])
@pytest.mark.parametrize("model", ["ridge", "listwise"])
@pytest.mark.parametrize("outer_pipeline", [False, True])
# Rows by number cut the lists of an inner training part, as they may where one asks.
@pytest.mark.filterwarnings("ignore:cv puts rows of one list into the training")
def test_nested_searches_equal_a_loop_over_searches(
    data, model, routing, outer_pipeline
):
    X, y, groups = data
    if not routing:
        inner_cv = [(np.arange(0, 60), np.arange(60, 118))]
    else:
        inner_cv = GroupKFold(2)
    scorer = ndcg_scorer(k=3)
    search = GridSearchCV(
        MODELS[model](1.0),
        {"alpha": ALPHAS},
        scoring=scorer,
        cv=inner_cv,
        error_score="raise",
    )
    estimator = make_pipeline(StandardScaler(), search) if outer_pipeline else search
    with config_context(enable_metadata_routing=routing):
        values = cross_val_score(
            estimator,
            X,
            y if routing else with_groups(y, groups),
            scoring=scorer,
            cv=CV,
            error_score="raise",
            **({"params": {"groups": groups}} if routing else {"groups": groups}),
        )
    expected = []
    for train, test in CV.split(X, y, groups):
        X_train, X_test = X[train], X[test]
        if outer_pipeline:
            scaler = StandardScaler().fit(X_train)
            X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
        y_train, groups_train = y[train], groups[train]
        folds = inner_cv
        if routing:
            folds = list(inner_cv.split(X_train, y_train, groups_train))
        inner = [
            np.mean(
                [
                    ndcg_score(
                        y_train[b],
                        scores_of(
                            MODELS[model](alpha),
                            X_train,
                            y_train,
                            groups_train,
                            a,
                            X_train[b],
                            groups_train[b],
                        ),
                        groups_train[b],
                        k=3,
                    )
                    for a, b in folds
                ]
            )
            for alpha in ALPHAS
        ]
        scores = scores_of(
            MODELS[model](ALPHAS[np.argmax(inner)]),
            X_train,
            y_train,
            groups_train,
            np.arange(len(train)),
            X_test,
            groups[test],
        )
        expected.append(ndcg_score(y[test], scores, groups[test], k=3))
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_missing_groups_name_the_scorer_and_the_state_of_routing(data):
    X, y, groups = data
    ridge = Ridge().fit(X, y)
    with pytest.raises(ValueError, match=r"RankingScorer\(ndcg_score, k=3\) needs"):
        ndcg_scorer(k=3)(ridge, X, y)
    for routing, state in [(True, "routing is on"), (False, "routing is off")]:
        with (
            config_context(enable_metadata_routing=routing),
            pytest.raises(ValueError, match=state),
        ):
            cross_validate(ridge, X, y, scoring=ndcg_scorer(), error_score="raise")
    with pytest.raises(ValueError, match="differ from the index"):
        ndcg_scorer()(ridge, X, with_groups(y, groups), groups=groups + 1)


def test_weights_are_passed_once_requested(data):
    X, y, groups = data
    weight = groups % 3 + 1.0
    ridge = Ridge().fit(X, y)
    expected = ndcg_score(y, ridge.predict(X), groups, sample_weight=weight)
    assert expected != ndcg_score(y, ridge.predict(X), groups)
    assert ndcg_scorer()(ridge, X, y, groups, weight) == expected
    with config_context(enable_metadata_routing=True):
        assert (
            not ndcg_scorer()
            .get_metadata_routing()
            .consumes("score", ["sample_weight"])
        )
        scorers = {
            "weighted": ndcg_scorer().set_score_request(
                groups=True, sample_weight=True
            ),
            "plain": ndcg_scorer().set_score_request(groups=True, sample_weight=False),
        }
        results = cross_validate(
            Ridge().set_fit_request(sample_weight=False),
            X,
            y,
            scoring=scorers,
            cv=CV,
            params={"groups": groups, "sample_weight": weight},
            error_score="raise",
        )
    for name, used in [("weighted", weight), ("plain", np.ones(len(y)))]:
        values = []
        for train, test in CV.split(X, y, groups):
            scores = Ridge().fit(X[train], y[train]).predict(X[test])
            values.append(
                ndcg_score(y[test], scores, groups[test], sample_weight=used[test])
            )
        np.testing.assert_allclose(results[f"test_{name}"], values, rtol=1e-12)


def test_a_search_without_routing_passes_weights_to_metrics_that_take_them(data):
    X, y, groups = data
    weight = groups % 3 + 1.0
    search = GridSearchCV(
        Ridge(),
        {"alpha": [1.0]},
        scoring={"ndcg": ndcg_scorer(), "pairs": pairwise_accuracy_scorer()},
        refit="ndcg",
        cv=CV,
        error_score="raise",
    ).fit(X, with_groups(y, groups), groups=groups, sample_weight=weight)
    values = []
    for train, test in CV.split(X, y, groups):
        ridge = Ridge().fit(X[train], y[train], sample_weight=weight[train])
        scores = ridge.predict(X[test])
        values.append(
            ndcg_score(y[test], scores, groups[test], sample_weight=weight[test])
        )
    assert search.best_score_ == pytest.approx(np.mean(values), rel=1e-12)


def test_the_request_survives_clone_and_pickle():
    with config_context(enable_metadata_routing=True):
        scorer = ndcg_scorer(k=3).set_score_request(groups="queries")
    for other in (clone(scorer), pickle.loads(pickle.dumps(scorer))):
        request = other.get_metadata_routing().score.requests
        assert request == {
            "groups": "queries",
            "sample_weight": None,
            "offset": True,
            "history": True,
            "profile": True,
        }
    request = ndcg_scorer().get_metadata_routing().score.requests
    assert request == {
        "groups": True,
        "sample_weight": None,
        "offset": True,
        "history": True,
        "profile": True,
    }


@pytest.mark.parametrize("copy", [clone, lambda s: pickle.loads(pickle.dumps(s))])
def test_parameters_survive_clone_and_pickle(copy):
    scorer = make_ranking_scorer(dcg_score, greater_is_better=False, k=7, gain="linear")
    other = copy(scorer)
    assert type(other) is RankingScorer
    assert other.get_params() == {
        "metric": dcg_score,
        "greater_is_better": False,
        "k": 7,
        "gain": "linear",
    }
    assert repr(other) == (
        "RankingScorer(dcg_score, greater_is_better=False, k=7, gain='linear')"
    )


def test_parameters_can_be_set():
    scorer = ndcg_scorer(k=10)
    assert scorer.set_params(k=5, empty=0.0) is scorer
    assert scorer.get_params()["k"] == 5
    assert repr(scorer) == "RankingScorer(ndcg_score, k=5, empty=0.0)"
    with pytest.raises(TypeError, match="ndcg_score has no parameter 'max_grade'"):
        scorer.set_params(max_grade=3)
    scorer.set_params(metric=dcg_score, greater_is_better=False)
    assert scorer.metric is dcg_score
    assert scorer.greater_is_better is False


def test_parents_show_their_scorer():
    search = GridSearchCV(Ridge(), {"alpha": [1]}, scoring=ndcg_scorer(k=5))
    assert "RankingScorer(ndcg_score, k=5)" in repr(search)
    assert "RankingScorer(ndcg_score, k=5)" in search._repr_html_inner()
    scorer = clone(search).scoring
    assert scorer.get_params()["k"] == 5
    assert check_scoring(Ridge(), scorer) is scorer


def test_unknown_options_are_refused_when_made():
    with pytest.raises(TypeError, match="ndcg_score has no parameter 'n'"):
        ndcg_scorer(n=10)
    with pytest.raises(TypeError, match="metric must be a name such as 'ndcg@10' or"):
        make_ranking_scorer(7)
    with pytest.raises(TypeError, match="ndcg_score has no parameter 'n'"):
        make_ranking_scorer("ndcg@5", n=10)


def test_a_loss_is_turned_around(data):
    X, y, groups = data

    def lost(y, scores, groups, **options):
        return 1 - ndcg_score(y, scores, groups, **options)

    ridge = Ridge().fit(X, y)
    value = make_ranking_scorer(lost, greater_is_better=False, k=3)(
        ridge, X, y, groups=groups
    )
    assert value == ndcg_scorer(k=3)(ridge, X, y, groups=groups) - 1


OF_RANKERS = "log_likelihood_scorer"  # asks the model, not its scores
READY_MADE = [name for name in metrics.__all__ if name.endswith("_scorer")]


@pytest.mark.parametrize(
    "name",
    sorted(set(READY_MADE) - {"make_ranking_scorer", "click_scorer", OF_RANKERS}),
)
def test_each_ready_made_scorer_is_its_metric_of_the_predictions(name):
    metric = getattr(metrics, name.replace("_scorer", "_score"))
    options = {"k": 2} if "k" in signature(metric).parameters else {}
    scorer = getattr(metrics, name)(**options)
    X = np.arange(12.0).reshape(-1, 1) % 5
    y, groups = np.tile([0, 1, 2, 1, 0, 3], 2), np.repeat([0, 1], 6)
    model = Ridge().fit(X, y)
    expected = metric(y, model.predict(X), groups, **options)
    sign = 1 if scorer.greater_is_better else -1
    assert scorer(model, X, y, groups=groups) == sign * expected
    with pytest.raises(TypeError, match="has no parameter 'cutoff'"):
        getattr(metrics, name)(cutoff=3)
    # Help shows the metric's own options, and none that belong to rows.
    offered = signature(getattr(metrics, name)).parameters
    own = signature(metric).parameters
    assert set(offered) <= set(own) - {"y_true", "average", "sample_weight", "doc_ids"}
    assert set(options) <= set(offered)


def test_every_metric_has_a_ready_made_scorer():
    scores = {name[:-6] for name in metrics.__all__ if name.endswith("_score")}
    assert {name[:-7] for name in READY_MADE} - {
        "make_ranking",
        OF_RANKERS[:-7],
    } == scores


def test_masked_labels_are_refused_not_unmasked():
    X = np.arange(4.0).reshape(-1, 1)
    y = np.ma.array([0, 1, 1, 2], mask=[0, 0, 0, 1])
    ridge = Ridge().fit(X, y.data)
    with pytest.raises(ValueError, match="masked entries"):
        ndcg_scorer()(ridge, X, y, groups=[7, 7, 8, 8])
