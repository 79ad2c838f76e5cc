"""Histories and profiles reach networks inside scikit-learn's tools."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

torch = pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank import ListMLERanker, with_groups  # noqa: E402
from skrank.metrics import dcg_scorer, ndcg_score, ndcg_scorer  # noqa: E402
from skrank.model_selection import QueryKFold  # noqa: E402
from skrank.neural import MLPRanker, STARanker, make_browsing  # noqa: E402

ONE_NETWORK = {"n_networks": 1, "early_stopping": False}
QUICK = {**ONE_NETWORK, "max_epochs": 3, "learning_rate": 0.01, "random_state": 0}
SIZES = [2, 8]
BOTH = pytest.mark.parametrize("ranker", [STARanker, MLPRanker])


@pytest.fixture(scope="module")
def data():
    return make_browsing(n_lists=30, random_state=0)


@pytest.fixture
def of_lists(data):
    return {"groups": data.groups, "history": data.history, "profile": data.profile}


def loop(model_of, data, with_history=True):
    """Return NDCG by setting and fold, everything handed over by hand."""
    X, y, groups = data.X, data.y, data.groups
    extra = (data.history, data.profile) if with_history else ()
    values = []
    for size in SIZES:
        for train, test in GroupKFold(3).split(X, y, groups):
            model = model_of(size).fit(X[train], y[train], groups[train], *extra)
            scores = model.predict(X[test], groups[test], *extra)
            values.append(ndcg_score(y[test], scores, groups[test]))
    return np.array(values).reshape(len(SIZES), 3)


@BOTH
@pytest.mark.parametrize("scoring", [None, ndcg_scorer()])
def test_a_search_over_hidden_size_equals_a_loop_by_hand(
    data, of_lists, ranker, scoring
):
    expected = loop(lambda size: ranker(hidden_size=size, **QUICK), data).mean(1)
    assert expected[0] != expected[1]
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ranker(**QUICK), {"hidden_size": SIZES}, cv=GroupKFold(3), scoring=scoring
        ).fit(data.X, data.y, **of_lists)
        np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
        value = search.score(data.X, data.y, **of_lists)
    model = search.best_estimator_
    assert value == model.score(data.X, data.y, **of_lists)


def test_a_search_over_a_pipeline_passes_them_on(data, of_lists):
    # The reader standardises anyhow, so that scaling before changes rounding alone.
    expected = loop(lambda size: STARanker(hidden_size=size, **QUICK), data).mean(1)
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), STARanker(**QUICK)),
            {"staranker__hidden_size": SIZES},
            cv=GroupKFold(3),
            scoring=ndcg_scorer(),
        ).fit(data.X, data.y, **of_lists)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)


def test_several_metrics_give_the_same(data, of_lists):
    model = STARanker(hidden_size=2, **QUICK)
    expected = loop(lambda size: STARanker(hidden_size=size, **QUICK), data)[0]
    with config_context(enable_metadata_routing=True):
        scores = cross_validate(
            model, data.X, data.y, params=of_lists, cv=GroupKFold(3),
            scoring={"ndcg": ndcg_scorer(), "dcg": dcg_scorer()}, error_score="raise",
        )  # fmt: skip
    np.testing.assert_allclose(scores["test_ndcg"], expected)
    assert (scores["test_dcg"] > 1.0).all()


def test_without_routing_groups_ride_on_the_labels(data):
    expected = loop(lambda size: STARanker(hidden_size=size, **QUICK), data, False)
    search = GridSearchCV(
        STARanker(**QUICK), {"hidden_size": SIZES}, cv=QueryKFold(3),
        scoring=ndcg_scorer(),
    ).fit(data.X, with_groups(data.y, data.groups))  # fmt: skip
    scores = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(scores, expected.mean(1))


def test_a_scorer_leaves_histories_from_models_that_do_not_ask(data, of_lists):
    model = ListMLERanker().fit(data.X, data.y, data.groups)
    expected = ndcg_scorer()(model, data.X, data.y, groups=data.groups)
    assert ndcg_scorer()(model, data.X, data.y, **of_lists) == expected
