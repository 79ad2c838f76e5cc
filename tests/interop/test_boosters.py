"""Boosters as rankers: what they are handed, against calls made by hand."""

import importlib.util
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import with_groups
from skrank.datasets import make_ranking
from skrank.interop import BoosterRanker, as_ranker
from skrank.metrics import ndcg_scorer
from skrank.model_selection import QueryKFold, compare_rankers

LIBRARIES = [
    pytest.param(
        library,
        marks=pytest.mark.skipif(
            importlib.util.find_spec(library) is None,
            reason=f"{library} is not installed (extra test-peers)",
        ),
    )
    for library in ("lightgbm", "xgboost", "catboost")
]


def booster(library, **settings):
    """Return an unfitted booster of few small trees."""
    if library == "lightgbm":
        from lightgbm import LGBMRanker

        return LGBMRanker(n_estimators=15, num_leaves=4, verbose=-1, **settings)
    if library == "xgboost":
        from xgboost import XGBRanker

        return XGBRanker(n_estimators=15, max_depth=2, **settings)
    from catboost import CatBoostRanker

    return CatBoostRanker(
        iterations=15, depth=2, verbose=0, allow_writing_files=False, **settings
    )


def by_hand(library, X, y, sizes, weights=None, **settings):
    """Fit a booster to rows together by list, as its own manual says."""
    model = booster(library, **settings)
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    if library == "lightgbm":
        rows = None if weights is None else weights[numbers]
        return model.fit(X, y, group=sizes, sample_weight=rows)
    if library == "xgboost":
        return model.fit(X, y, qid=numbers, sample_weight=weights)
    rows = None if weights is None else weights[numbers]
    return model.fit(X, y, group_id=numbers, group_weight=rows)


def sorted_data(n_lists=40):
    X, y, groups = make_ranking(n_lists, list_effect=1.0, random_state=3)
    return X, y, groups, np.bincount(groups)


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param


def test_rows_of_sorted_lists_give_the_model_made_by_hand(library):
    X, y, groups, sizes = sorted_data()
    expected = by_hand(library, X, y, sizes).predict(X)
    scores = BoosterRanker(booster(library)).fit(X, y, groups).predict(X)
    np.testing.assert_array_equal(scores, expected)
    assert scores.dtype == np.float64


def test_interleaved_lists_with_string_labels_give_the_same_model(library):
    X, y, groups, sizes = sorted_data()
    expected = by_hand(library, X, y, sizes).predict(X)
    # The first rows of all lists, then the second ones: rows keep their order inside.
    place = np.arange(len(y)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = np.argsort(place, kind="stable")
    names = np.array([f"query {number:03d}" for number in groups])
    ranker = BoosterRanker(booster(library)).fit(X[order], y[order], names[order])
    np.testing.assert_array_equal(ranker.predict(X[order]), expected[order])
    np.testing.assert_array_equal(ranker.predict(X), expected)


def test_weights_of_lists_reach_the_library(library):
    X, y, groups, sizes = sorted_data()
    weights = np.random.default_rng(0).choice([0.25, 1.0, 4.0], len(sizes))
    expected = by_hand(library, X, y, sizes, weights).predict(X)
    ranker = BoosterRanker(booster(library))
    ranker.fit(X, y, groups, sample_weight=weights[groups])
    np.testing.assert_array_equal(ranker.predict(X), expected)
    assert np.any(expected != by_hand(library, X, y, sizes).predict(X))


def test_weights_that_vary_inside_a_list_are_refused(library):
    X, y, groups, _ = sorted_data()
    with pytest.raises(ValueError, match="constant inside each list"):
        BoosterRanker(booster(library)).fit(
            X, y, groups, sample_weight=np.arange(1.0, len(y) + 1)
        )


def test_a_validation_part_of_whole_lists_stops_early(library):
    X, y, groups, _ = sorted_data(60)
    y = np.random.default_rng(0).permutation(y)  # nothing to learn
    settings = {"early_stopping_rounds": 2}
    if library == "catboost":
        settings["eval_metric"] = "NDCG"
    model = booster(library, **settings).set_params(
        **{"iterations" if library == "catboost" else "n_estimators": 200}
    )
    ranker = BoosterRanker(model, validation_fraction=0.3, random_state=0)
    ranker.fit(X, y, groups)
    fitted = ranker.estimator_
    best = {
        "lightgbm": lambda: fitted.best_iteration_,
        "xgboost": lambda: fitted.best_iteration,
        "catboost": lambda: fitted.best_iteration_,
    }[library]()
    assert best < 150


def test_lists_given_to_watch_are_handed_on(library):
    X, y, groups, _ = sorted_data(60)
    test = groups >= 40
    ranker = BoosterRanker(booster(library))
    shuffled = np.random.default_rng(1).permutation(np.flatnonzero(test))
    ranker.fit(
        X[~test],
        y[~test],
        groups[~test],
        eval_set=(X[shuffled], y[shuffled], groups[shuffled]),
    )
    fitted = ranker.estimator_
    history = {
        "lightgbm": lambda: fitted.evals_result_,
        "xgboost": lambda: fitted.evals_result(),
        "catboost": lambda: {"v": fitted.get_evals_result()["validation"]},
    }[library]()
    curves = [curve for part in history.values() for curve in part.values()]
    assert {len(curve) for curve in curves} == {15}


def test_labels_on_an_index_need_no_routing(library):
    X, y, groups, _ = sorted_data()
    labels = with_groups(y, groups)
    ranker = BoosterRanker(booster(library))
    values = cross_val_score(ranker, X, labels, cv=QueryKFold(3))
    by_loop = []
    for train, test in QueryKFold(3).split(X, labels):
        fitted = clone(ranker).fit(X[train], y[train], groups[train])
        by_loop.append(fitted.score(X[test], y[test], groups[test]))
    np.testing.assert_allclose(values, by_loop, rtol=1e-15)


def test_a_search_with_routing_tunes_the_booster_inside(library):
    X, y, groups, _ = sorted_data()
    grid = {"boosterranker__estimator__learning_rate": [0.01, 0.3]}
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), BoosterRanker(booster(library))),
            grid,
            scoring=ndcg_scorer(k=5),
            cv=GroupKFold(2),
        ).fit(X, y, groups=groups)
        assert search.score(X, y, groups=groups) > 0.5
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_comparisons_take_boosters_as_they_are(library):
    X, y, groups, _ = sorted_data()
    model = booster(library)
    comparison = compare_rankers(
        {"bare": model, "wrapped": BoosterRanker(model), "piped": make_pipeline(model)},
        X,
        y,
        groups,
        cv=2,
        metrics="ndcg@5",
        random_state=0,
    )
    values = {
        name: result.values["ndcg@5"] for name, result in comparison.results.items()
    }
    np.testing.assert_array_equal(values["bare"], values["wrapped"])
    np.testing.assert_array_equal(values["piped"], values["wrapped"])


def test_frames_keep_their_names_and_another_order_raises(library):
    X, y, groups, _ = sorted_data()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    ranker = BoosterRanker(booster(library)).fit(frame, y, groups)
    assert list(ranker.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="must be in the same order"):
        ranker.predict(frame[frame.columns[::-1]])


def test_a_fit_that_raises_leaves_the_fitted_ranker_as_it_was(library):
    X, y, groups, _ = sorted_data()
    ranker = BoosterRanker(booster(library)).fit(X, y, groups)
    before = ranker.predict(X)
    with pytest.raises(ValueError, match="groups"):
        ranker.fit(X[:, :1], y, groups[:-1])
    np.testing.assert_array_equal(ranker.predict(X), before)
    assert ranker.n_features_in_ == X.shape[1]


@pytest.mark.parametrize(
    ("library", "settings", "y", "message"),
    [
        ("lightgbm", {}, 31, "from 0 to 30, got 31"),
        ("lightgbm", {}, 0.5, "whole numbers.*label_gain"),
        ("lightgbm", {}, -1, "got -1"),
        ("lightgbm", {"label_gain": [0, 1, 3]}, 3, "from 0 to 2"),
        ("xgboost", {}, 32, "from 0 to 31, got 32.*ndcg_exp_gain=False"),
        ("xgboost", {}, 2.5, "whole numbers"),
        ("xgboost", {"ndcg_exp_gain": False}, -0.5, "got -0.5"),
        ("xgboost", {"objective": "rank:map"}, 2, "from 0 to 1"),
    ],
)
def test_labels_that_a_library_cannot_take_raise_before_the_fit(
    library, settings, y, message
):
    pytest.importorskip(library)
    labels = np.array([0.0, 1.0, y, 0.0])
    ranker = BoosterRanker(booster(library, **settings))
    with pytest.raises(ValueError, match=message):
        ranker.fit(np.arange(4.0).reshape(-1, 1), labels, [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("library", "settings", "y"),
    [
        ("lightgbm", {"label_gain": list(range(60))}, 59),
        ("xgboost", {"ndcg_exp_gain": False}, 2.5),
        ("xgboost", {"objective": "rank:pairwise"}, -2.5),
        ("catboost", {}, 2.5),
        ("catboost", {}, -1.0),
    ],
)
def test_labels_that_a_library_takes_pass(library, settings, y):
    pytest.importorskip(library)
    X, labels, groups, _ = sorted_data()
    labels = np.where(labels == labels.max(), y, np.minimum(labels, 1)).astype(float)
    scores = BoosterRanker(booster(library, **settings)).fit(X, labels, groups)
    assert np.isfinite(scores.predict(X)).all()


def test_what_is_no_booster_is_refused_and_left_alone():
    with pytest.raises(TypeError, match="LGBMRanker, XGBRanker and CatBoostRanker"):
        BoosterRanker(Ridge()).fit([[0.0], [1.0]], [0, 1], [0, 0])
    ridge = Ridge()
    assert as_ranker(ridge) is ridge
    pipeline = make_pipeline(StandardScaler(), ridge)
    assert as_ranker(pipeline) is pipeline


def test_an_estimator_that_takes_groups_itself_is_left_alone():
    class Own:
        def fit(self, X, y, groups=None, group=None):
            return self

    own = Own()
    assert as_ranker(own) is own


def test_groups_in_the_form_of_a_library_are_refused(library):
    X, y, groups, sizes = sorted_data()
    ranker = BoosterRanker(booster(library))
    with pytest.raises(TypeError, match="mean 'groups'"):
        ranker.fit(X, y, groups, qid=groups)
    with pytest.raises(TypeError, match="leave eval_group out"):
        ranker.fit(X, y, groups, eval_group=[sizes])


def test_missing_groups_and_other_lengths_raise(library):
    X, y, groups, _ = sorted_data()
    ranker = BoosterRanker(booster(library))
    with pytest.raises(ValueError, match="no groups were given"):
        ranker.fit(X, y)
    with pytest.raises(ValueError, match=r"X has \d+ rows and y has"):
        ranker.fit(X[1:], y, groups)
    with pytest.raises(ValueError, match="leaves none to fit"):
        BoosterRanker(booster(library), validation_fraction=0.9).fit(
            X[:8], y[:8], groups[:8]
        )
    with pytest.raises(ValueError, match=r"eval_set must hold \(X, y, groups\)"):
        ranker.fit(X, y, groups, eval_set=(X,))


def test_no_warning_comes_of_the_wrapper_itself(library):
    X, y, groups, _ = sorted_data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = BoosterRanker(booster(library), validation_fraction=0.2)
        ranker.fit(X, y, groups).score(X, y, groups)
