"""The pipeline that ranks well untuned: steps, frames, groups, and new lists."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import Pipeline, make_pipeline

import skrank
from skrank import ListMLERanker, ranking_pipeline, with_groups
from skrank.datasets import make_ranking
from skrank.ensemble import FusionRanker
from skrank.export import linear_formula
from skrank.metrics import ndcg_score, ndcg_scorer, pairwise_accuracy_score
from skrank.preprocessing import QueryScaler


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, n_features=6, list_effect=1.0, shuffle=True, random_state=0)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def test_it_is_a_pipeline_whose_steps_can_be_seen_and_changed(data, routing):
    X, y, groups = data
    pipeline = ranking_pipeline()
    assert type(pipeline) is Pipeline
    assert [name for name, _ in pipeline.steps] == ["columns", "features", "ranker"]
    pipeline.set_params(
        ranker__gain__alpha=3.0,
        ranker__regression=RidgeCV([1.0]),
        features__logs="drop",
    )
    pipeline.fit(X, y, groups=groups)
    assert pipeline[-1].estimators_[0].alpha_ == 3.0
    assert pipeline[-1].coef_.shape == (24,)
    assert not hasattr(clone(pipeline)[-1], "estimators_")
    assert skrank.ranking_pipeline is ranking_pipeline


def test_it_equals_its_parts_by_hand(data, routing):
    X, y, groups = data
    pipeline = ranking_pipeline().fit(X, y, groups=groups)
    Z = np.hstack(
        [
            QueryScaler().fit_transform(X, groups=groups),
            QueryScaler(shrinkage="auto").fit_transform(X, groups=groups),
            QueryScaler(shrinkage="auto", signed_log=True).fit_transform(
                X, groups=groups
            ),
            12**0.5 * QueryScaler("rank").fit_transform(X, groups=groups),
            0.25 * QueryScaler(shrinkage=1e4).fit_transform(X, groups=groups),
        ]
    )
    gain = ListMLERanker(stage_weights="gain", alpha="auto").fit(Z, y, groups)
    plain = ListMLERanker(alpha="auto").fit(Z, y, groups)
    ridge = RidgeCV(alphas=np.logspace(0, 4, 9)).fit(Z, y)
    expected = 0.0
    for weight, coef in ((0.4, gain.coef_), (0.2, plain.coef_), (0.4, ridge.coef_)):
        centred = QueryScaler("center").fit_transform(
            (Z @ coef)[:, None], groups=groups
        )
        expected += weight * coef / np.sqrt(np.mean(centred**2))
    np.testing.assert_allclose(pipeline[-1].coef_, expected, rtol=1e-9, atol=1e-12)
    # Alphas follow from the features, not from a default.
    assert 0.1 != pipeline[-1].named_estimators_["gain"].alpha_ == gain.alpha_


LABELS = {
    "0 and 1": lambda y: y > 1,
    "grades": lambda y: y,
    "real": lambda y: y + np.sin(np.arange(len(y))),
    "negative": lambda y: -0.3 * y - 5,
    "wide": lambda y: 100 * y,
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind_are_learned_without_a_warning(data, routing, kind):
    X, y, groups = data
    labels = np.asarray(LABELS[kind](y), dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline = ranking_pipeline().fit(X, labels, groups=groups)
    scores = pipeline.predict(X, groups=groups)
    assert pairwise_accuracy_score(labels, scores, groups) > 0.6


def framed(data):
    """Return a frame with numbers, gaps, categories and truth values."""
    X, y, groups = data
    frame = pd.DataFrame(X).add_prefix("x")
    frame["colour"] = np.array(["red", "blue", None], dtype=object)[y % 3]
    frame["kind"] = pd.Categorical(np.array(["a", "b"])[np.arange(len(y)) % 2])
    frame["flag"] = np.arange(len(y)) % 2 == 0
    frame.loc[::7, "x1"] = np.nan
    return frame, y, groups


def test_categories_and_gaps_of_a_frame_are_made_numbers(data, routing):
    frame, y, groups = framed(data)
    pipeline = ranking_pipeline().fit(frame, y, groups=groups)
    names = pipeline[0].get_feature_names_out().tolist()
    assert names[:7] == ["x0", "x1", "x2", "x3", "x4", "x5", "flag"]
    # pandas 3 has NaN where older versions have None.
    gap = "colour_nan" if "colour_nan" in names else "colour_None"
    assert set(names[7:]) == {
        "colour_blue",
        "colour_red",
        gap,
        "kind_a",
        "kind_b",
    }
    scores = pipeline.predict(frame, groups=groups)
    numbers = frame.select_dtypes("number").to_numpy()
    alone = ranking_pipeline().fit(numbers, y, groups=groups)
    # The colour tells the label.
    assert ndcg_score(y, scores, groups) > ndcg_score(
        y, alone.predict(numbers, groups=groups), groups
    )
    fresh = frame.copy()
    fresh["colour"] = "never seen"
    assert np.isfinite(pipeline.predict(fresh, groups=groups)).all()
    with pytest.raises(ValueError, match=r"could not convert string|Cannot use median"):
        ranking_pipeline(categorical=None).fit(frame, y, groups=groups)


def test_polars_frames_and_named_columns_give_the_same(data, routing):
    frame, y, groups = framed(data)
    expected = ranking_pipeline().fit(frame, y, groups=groups)
    expected = expected.predict(frame, groups=groups)
    for table, columns in [
        (pl.from_pandas(frame), "auto"),
        (frame, ["colour", "kind"]),
        (frame, [6, 7]),
    ]:
        pipeline = ranking_pipeline(categorical=columns)
        scores = pipeline.fit(table, y, groups=groups).predict(table, groups=groups)
        np.testing.assert_allclose(scores, expected, atol=1e-6)


@pytest.mark.parametrize(
    "columns",
    [
        [-3, -2],
        [6, -2],
        np.array([6, 7]),
        [False] * 6 + [True, True, False],
        np.arange(9) // 2 == 3,
        ("colour", -2),
        pd.Index(["colour", "kind"]),
        ["colour", "colour", "kind"],
    ],
    ids=str,
)
def test_columns_are_named_numbered_or_marked(data, routing, columns):
    frame, y, groups = framed(data)
    expected = ranking_pipeline().fit(frame, y, groups=groups)
    pipeline = ranking_pipeline(categorical=columns).fit(frame, y, groups=groups)
    np.testing.assert_array_equal(
        pipeline.predict(frame, groups=groups), expected.predict(frame, groups=groups)
    )


def test_numbers_of_columns_are_never_names(data, routing):
    X, y, groups = data
    table = np.column_stack((y % 2, X))
    frame = pd.DataFrame(table, columns=range(6, -1, -1))  # the first is called 6
    scores = [
        ranking_pipeline(categorical=columns)
        .fit(one, y, groups=groups)
        .predict(one, groups=groups)
        for one in (table, frame, table.tolist())
        for columns in ([0], [-7])
    ]
    for others in scores[1:]:
        np.testing.assert_array_equal(others, scores[0])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([9], r"column 9, X has 9 columns: numbers go from -9 to 8"),
        ([-10], r"column -10, X has 9 columns"),
        ([True, False], r"2 truth values, X has 9 columns"),
        (["color"], r"'color', X has columns 'x0', 'x1', .*'flag'\. Pass names"),
        ([0.5], r"column 0.5, X has columns"),
        ([None], r"column None, X has columns"),
    ],
)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_that_are_not_there_are_named(data, routing, columns, message, kind):
    frame, y, groups = framed(data)
    table = frame if kind == "pandas" else pl.from_pandas(frame)
    with pytest.raises(ValueError, match=message):
        ranking_pipeline(categorical=columns).fit(table, y, groups=groups)


def test_names_need_a_frame_and_lists_are_lists(data, routing):
    X, y, groups = data
    with pytest.raises(ValueError, match=r"no names of columns\. Pass a frame"):
        ranking_pipeline(categorical=["colour"]).fit(X, y, groups=groups)
    for wrong in ("colour", 3, True, 0.5):
        with pytest.raises(ValueError, match="categorical must be 'auto', None or a"):
            ranking_pipeline(categorical=wrong)


def test_without_scaling_by_list_rows_score_alone_and_export(data):
    X, y, groups = data
    pipeline = ranking_pipeline(per_list=False).fit(X, y, ranker__groups=groups)
    scores = pipeline.predict(X)
    np.testing.assert_allclose(pipeline.predict(X[3:4]), scores[3:4])
    formula = linear_formula(pipeline, [f"f{j}" for j in range(6)])
    np.testing.assert_allclose(formula.predict(X), scores, atol=1e-12)
    with (
        config_context(enable_metadata_routing=True),
        pytest.raises(TypeError, match=r"per_list=False|FeatureUnion|not linear"),
    ):
        linear_formula(ranking_pipeline().fit(X, y, groups=groups))


def test_groups_on_the_index_are_enough_without_routing(data):
    frame, y, groups = framed(data)
    frame.index = pd.Index(groups, name="groups")
    labels = with_groups(y, groups)
    scores = ranking_pipeline().fit(frame, labels).predict(frame)
    with config_context(enable_metadata_routing=True):
        routed = ranking_pipeline().fit(frame, y, groups=groups)
        np.testing.assert_array_equal(routed.predict(frame, groups=groups), scores)


@pytest.mark.parametrize("routed", [True, False])
def test_missing_groups_say_what_to_do(data, routed):
    X, y, groups = data
    with config_context(enable_metadata_routing=True):
        fitted = ranking_pipeline().fit(X, y, groups=groups)
    with config_context(enable_metadata_routing=routed):
        for call in (lambda: ranking_pipeline().fit(X, y), lambda: fitted.predict(X)):
            with pytest.raises(ValueError, match=r"needs to know.*index level"):
                call()


def test_searches_and_cross_val_predict_have_a_way_out(data, routing):
    X, y, groups = data
    frame = pd.DataFrame(X, index=pd.Index(groups, name="groups")).add_prefix("x")
    cv = GroupKFold(3)
    search = GridSearchCV(
        ranking_pipeline(),
        {"ranker__gain__alpha": ["auto", 1.0]},
        scoring=ndcg_scorer(k=5),
        cv=cv,
    )
    search.fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="put them on the index of a pandas X"):
        search.predict(X)
    scores = search.best_estimator_.predict(X, groups=groups)
    search.fit(frame, y, groups=groups)
    np.testing.assert_allclose(search.predict(frame), scores, atol=1e-9)
    params = {"groups": groups}
    with pytest.raises(ValueError, match="put them on the index of a pandas X"):
        cross_val_predict(ranking_pipeline(), X, y, cv=cv, params=params)
    predicted = cross_val_predict(ranking_pipeline(), frame, y, cv=cv, params=params)
    for train, test in cv.split(X, y, groups):
        model = ranking_pipeline().fit(X[train], y[train], groups=groups[train])
        expected = model.predict(X[test], groups=groups[test])
        np.testing.assert_allclose(predicted[test], expected, atol=1e-9)


def test_cross_validation_equals_the_loop(data, routing):
    X, y, groups = data
    cv = GroupKFold(3)
    values = cross_val_score(
        ranking_pipeline(),
        X,
        y,
        cv=cv,
        params={"groups": groups},
        scoring=ndcg_scorer(),
    )
    expected = []
    for train, test in cv.split(X, y, groups):
        model = ranking_pipeline().fit(X[train], y[train], groups=groups[train])
        scores = model.predict(X[test], groups=groups[test])
        expected.append(ndcg_score(y[test], scores, groups[test]))
    np.testing.assert_allclose(values, expected)


def test_a_new_list_is_scored_alone_and_one_row_gets_a_score(data, routing):
    X, y, groups = data
    pipeline = ranking_pipeline().fit(X, y, groups=groups)
    every = pipeline.predict(X, groups=groups)
    rows = groups == groups[0]
    alone = pipeline.predict(X[rows], groups=np.full(rows.sum(), "new"))
    np.testing.assert_allclose(alone, every[rows], atol=1e-12)
    with pytest.warns(UserWarning, match=r"at most 1 rows, those of the fit had"):
        one = pipeline.predict(X[:2], groups=["a", "b"])
    assert one[0] == one[1]
    gaps = X[rows].copy()
    gaps[0] = np.nan
    scores = pipeline.predict(gaps, groups=np.zeros(len(gaps)))
    assert np.isfinite(scores).all()


def test_much_shorter_lists_warn_and_others_do_not(data, routing):
    X, y, groups = make_ranking(30, list_size=20, n_features=3, random_state=0)
    pipeline = ranking_pipeline().fit(X, y, groups=groups)
    pairs = np.arange(len(y)) // 2
    with pytest.warns(UserWarning, match=r"at most 2 rows, those of the fit had 20"):
        pipeline.predict(X, groups=pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline.predict(X, groups=np.arange(len(y)) // 5)


def test_probabilities_are_not_offered(data, routing):
    X, y, groups = data
    pipeline = ranking_pipeline().fit(X, y, groups=groups)
    for name in ("predict_proba", "pairwise_proba", "summary", "log_likelihood"):
        assert not hasattr(pipeline, name)
        assert not hasattr(pipeline[-1], name)
    gain = pipeline[-1].named_estimators_["gain"]
    with pytest.raises(AttributeError, match="no log-likelihood; use 'uniform'"):
        gain.log_likelihood  # noqa: B018


def test_sparse_tables_are_refused_and_a_pipeline_for_them_works(data, routing):
    X, y, groups = data
    table = sparse.csr_array(np.where(X > 0, X, 0.0))
    with pytest.raises((ValueError, TypeError), match=r"[Ss]parse"):
        ranking_pipeline().fit(table, y, groups=groups)
    instead = make_pipeline(
        QueryScaler("deviation", shrinkage="auto"), ListMLERanker(alpha="auto")
    )
    scores = instead.fit(table, y, groups=groups).predict(table, groups=groups)
    assert ndcg_score(y, scores, groups) > 0.6


@pytest.mark.parametrize("family", ["heavy tails", "short lists"])
def test_it_beats_ridge_on_scaled_features_where_scaling_is_hard(family, routing):
    differences = []
    for seed in range(3):
        size = (2, 4) if family == "short lists" else (5, 20)
        X, y, groups = make_ranking(
            300 if size[1] == 4 else 100,
            list_size=size,
            n_features=10,
            n_informative=6,
            random_state=seed,
        )
        if family == "heavy tails":
            X = np.sign(X) * np.expm1(2 * np.abs(X))
        train = groups < groups.max() / 2
        scaler = QueryScaler()
        ridge = RidgeCV(np.logspace(-1, 4, 11)).fit(
            scaler.fit_transform(X[train], groups=groups[train]), y[train]
        )
        theirs = ridge.predict(scaler.transform(X[~train], groups[~train]))
        ours = ranking_pipeline().fit(X[train], y[train], groups=groups[train])
        ours = ours.predict(X[~train], groups=groups[~train])
        for sign, scores in ((1, ours), (-1, theirs)):
            values = ndcg_score(y[~train], scores, groups[~train], average=None)
            differences.append(sign * values)
    difference = np.concatenate(
        [a + b for a, b in zip(differences[::2], differences[1::2], strict=True)]
    )
    difference = difference[~np.isnan(difference)]
    assert difference.mean() > 2 * difference.std() / np.sqrt(len(difference))


def test_the_ranker_of_the_pipeline_is_linear(data, routing):
    X, y, groups = data
    pipeline = ranking_pipeline().fit(X, y, groups=groups)
    assert isinstance(pipeline[-1], FusionRanker)
    Z = pipeline[:-1].transform(X, groups=groups)
    expected = Z @ pipeline[-1].coef_ + pipeline[-1].intercept_
    np.testing.assert_allclose(pipeline.predict(X, groups=groups), expected)


def test_its_rankers_take_penalties_and_bounds(data, routing):
    X, y, groups = data
    pipeline = ranking_pipeline().set_params(
        ranker__gain__l1_ratio=1.0, ranker__gain__alpha=0.05
    )
    pipeline.fit(X, y, groups=groups)
    gain = pipeline[-1].estimators_[0]
    assert 0 < gain.n_features_active_ < len(gain.coef_)
    pipeline.set_params(ranker__gain__positive=True).fit(X, y, groups=groups)
    assert pipeline[-1].estimators_[0].coef_.min() == 0.0
