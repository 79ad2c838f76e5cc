"""Exported models, each read by the rules of its format and compared with predict."""

import json
import math
import sqlite3
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

from skrank import (
    LinearRanker,
    ListMLERanker,
    RankNetRanker,
    ranking_pipeline,
    with_groups,
)
from skrank.datasets import make_ranking
from skrank.export import (
    LinearFormula,
    linear_formula,
    smallest_offset,
    to_elasticsearch,
    to_onnx,
    to_solr,
    to_sql,
)
from skrank.losses import ListNet
from skrank.preprocessing import QueryScaler

NAMES = ["title match", "bm25", 'quo"te', "age", "price", "größe"]
ALLOWED = 1e-5  # of the range of scores, in single precision

SCALERS = {
    "none": [],
    "standard": [StandardScaler()],
    "no mean": [StandardScaler(with_mean=False)],
    "no scale": [StandardScaler(with_std=False)],
    "minmax": [MinMaxScaler((-2, 3))],
    "maxabs": [MaxAbsScaler()],
    "robust": [RobustScaler()],
    "robust, no center": [RobustScaler(with_centering=False)],
    "two scalers": [MinMaxScaler(), StandardScaler()],
    "nested, passthrough": [make_pipeline("passthrough", StandardScaler())],
    "selection": [SelectKBest(k=3), StandardScaler()],
    "selection after scaling": [StandardScaler(), VarianceThreshold(0.5)],
    "imputer": [SimpleImputer(strategy="median"), StandardScaler()],
    "scaling, then imputer": [StandardScaler(), SimpleImputer(strategy="mean")],
}


@pytest.fixture(scope="module")
def rows():
    """Return a frame of features on several scales, labels that carry groups."""
    rng = np.random.default_rng(0)
    X, y, groups = make_ranking(60, n_features=6, random_state=1)
    X = X * [1, 10, 0.01, 5, 100, 1] + [0, 3, 0, -2, 50, 0] + rng.normal(size=X.shape)
    return pd.DataFrame(X, columns=NAMES), with_groups(y, groups)


@pytest.fixture(params=SCALERS)
def fitted(request, rows):
    X, y = rows
    if "imputer" in request.param:
        X = X.mask(np.random.default_rng(2).random(X.shape) < 0.1)
    steps = SCALERS[request.param]
    pipeline = make_pipeline(*steps, RankNetRanker(alpha=0.001)).fit(X, y)
    return pipeline, X


def near(scores, expected):
    """Return whether scores are within what single precision is allowed, order too."""
    size = np.ptp(expected)
    assert np.abs(scores - expected).max() <= ALLOWED * size
    order = np.argsort(expected, kind="stable")
    assert np.diff(scores[order]).min() >= -2 * ALLOWED * size


def test_a_formula_scores_raw_rows_as_the_pipeline_does(fitted):
    pipeline, X = fitted
    formula = linear_formula(pipeline)
    assert formula.feature_names == NAMES
    expected = pipeline.predict(X)
    np.testing.assert_allclose(
        formula.predict(X), expected, rtol=0, atol=1e-12 * np.abs(expected).max()
    )
    by_name = formula.predict(X[X.columns[::-1]])
    np.testing.assert_array_equal(by_name, formula.predict(X))


def test_json_reads_back_to_the_last_bit(fitted):
    pipeline, X = fitted
    formula = linear_formula(pipeline)
    again = LinearFormula.from_json(formula.to_json())
    np.testing.assert_array_equal(again.predict(X), formula.predict(X))
    assert json.loads(formula.to_json())["format"] == "skrank linear formula"


def test_sql_gives_the_same_scores_in_a_data_base(fitted):
    pipeline, X = fitted
    connection = sqlite3.connect(":memory:")
    X.to_sql("rows", connection, index=False)
    query = f"SELECT {to_sql(pipeline)} FROM rows"
    scores = np.array(connection.execute(query).fetchall(), dtype=float)[:, 0]
    expected = pipeline.predict(X)
    np.testing.assert_allclose(
        scores, expected, rtol=0, atol=1e-12 * np.abs(expected).max()
    )
    connection.close()


def dot_in_single_precision(weights, X):
    """Return sums of weight times value, all in float32, as the engines' Java does."""
    scores = np.zeros(len(X), dtype=np.float32)
    for name, weight in weights.items():
        column = np.ones(len(X)) if name == "one" else X[name].to_numpy()
        scores += np.float32(weight) * column.astype(np.float32)
    return scores.astype(float)


@pytest.mark.filterwarnings("ignore:.*fills in missing values")
def test_elasticsearch_and_opensearch_rank_the_same(fitted):
    pipeline, X = fitted
    X = X.dropna()
    expected = pipeline.predict(X)
    lift = smallest_offset(pipeline, X)
    body = to_elasticsearch(pipeline, "m", offset=lift, constant_feature="one")
    model = json.loads(json.dumps(body))["model"]
    assert model["name"] == "m"
    assert model["model"]["type"] == "model/linear"
    assert isinstance(model["model"]["definition"], str)
    scores = dot_in_single_precision(json.loads(model["model"]["definition"]), X)
    near(scores, expected + lift)
    assert scores.min() >= -ALLOWED * np.ptp(expected)


@pytest.mark.filterwarnings("ignore:.*fills in missing values")
def test_solr_ranks_the_same_up_to_a_constant(fitted):
    pipeline, X = fitted
    X = X.dropna()
    model = json.loads(json.dumps(to_solr(pipeline, "m", store="s")))
    assert model["class"] == "org.apache.solr.ltr.model.LinearModel"
    assert model["store"] == "s"
    names = [feature["name"] for feature in model["features"]]
    assert names == NAMES == list(model["params"]["weights"])
    scores = dot_in_single_precision(model["params"]["weights"], X)
    near(scores, pipeline.predict(X) - linear_formula(pipeline).constant)


def run_onnx(model, inputs):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (scores,) = session.run(None, inputs)
    return scores[:, 0].astype(float)


@pytest.mark.parametrize("as_array", [False, True])
def test_onnx_gives_the_same_scores(fitted, as_array):
    pytest.importorskip("skl2onnx")
    pipeline, X = fitted
    model = to_onnx(pipeline, X.to_numpy() if as_array else X)
    scores = run_onnx(model, {"X": X.to_numpy(np.float32)})
    near(scores, pipeline.predict(X))


def test_onnx_takes_encoded_columns_of_a_frame(rows):
    pytest.importorskip("skl2onnx")
    X, y = rows
    X = X.rename(columns={'quo"te': "quote", "größe": "size", "title match": "match"})
    kinds = np.random.default_rng(0).choice(["a", "b", "c"], len(X))
    X = X.assign(kind=kinds).astype({"kind": object})
    encode = ColumnTransformer(
        [("kind", OneHotEncoder(sparse_output=False), ["kind"])],
        remainder=StandardScaler(),
    )
    pipeline = make_pipeline(encode, ListMLERanker()).fit(X, y)
    model = to_onnx(pipeline, X)
    inputs = {
        name: X[[name]].to_numpy(object if name == "kind" else np.float64)
        for name in X.columns
    }
    near(run_onnx(model, inputs), pipeline.predict(X))


@pytest.mark.parametrize("categorical", [None, [0]])
def test_onnx_takes_the_pipeline_that_needs_no_lists(rows, categorical):
    pytest.importorskip("skl2onnx")
    X, y = rows
    X = X.to_numpy(copy=True)
    X[:, 0] = np.round(X[:, 0])
    with config_context(enable_metadata_routing=True):
        pipeline = ranking_pipeline(per_list=False, categorical=categorical)
        pipeline.fit(X, y.to_numpy(), groups=y.index.get_level_values("groups"))
    scores = run_onnx(to_onnx(pipeline, X), {"X": X.astype(np.float32)})
    near(scores, pipeline.predict(X))


def test_onnx_refuses_scaling_by_list(rows):
    pytest.importorskip("skl2onnx")
    X, y = rows
    scaler = QueryScaler().fit(X, groups=y.index.get_level_values("groups"))
    ranker = ListMLERanker().fit(X, y)
    with pytest.raises(TypeError, match="inside each list"):
        to_onnx(Pipeline([("scaler", scaler), ("ranker", ranker)]), X)


@pytest.mark.parametrize(
    "ranker",
    [
        ListMLERanker(),
        LinearRanker(ListNet()),
        Ridge(),
        RankNetRanker(l1_ratio=1.0, alpha=0.3, bounds={"price": (None, 0)}),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_any_linear_estimator_has_a_formula(rows, ranker):
    X, y = rows
    ranker.fit(X, y)
    np.testing.assert_allclose(
        linear_formula(ranker).predict(X), ranker.predict(X), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([QueryScaler()], r"inside each list.*ranking_pipeline\(per_list=False\)"),
        ([QuantileTransformer(n_quantiles=10)], "QuantileTransformer cannot be folded"),
        ([FunctionTransformer(np.log1p)], "FunctionTransformer cannot be folded"),
        ([MinMaxScaler(clip=True)], "MinMaxScaler cannot be folded"),
        ([SimpleImputer(add_indicator=True)], "add_indicator=False"),
    ],
)
def test_what_cannot_be_folded_is_refused_with_the_reason(rows, steps, message):
    X, y = rows
    X = X.abs()
    X.iloc[0, 0] = np.nan if isinstance(steps[0], SimpleImputer) else 0.0
    pipeline = make_pipeline(*steps, ListMLERanker())
    with config_context(enable_metadata_routing=True):
        groups = y.index.get_level_values("groups")
        for _, step in pipeline.steps:
            if isinstance(step, QueryScaler):
                step.set_fit_request(groups=True).set_transform_request(groups=True)
        pipeline.fit(X, y.to_numpy(), groups=groups)
    with pytest.raises(TypeError, match=message):
        to_sql(pipeline)


def test_a_model_without_weights_is_refused():
    tree = DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="DecisionTreeRegressor has no linear weights"):
        linear_formula(tree)


def test_imputers_of_numbers_and_several_scores_a_row_are_refused(rows):
    X, y = rows
    pipeline = make_pipeline(SimpleImputer(missing_values=-1), ListMLERanker())
    with pytest.raises(TypeError, match=r"missing_values=-1\) replaces numbers"):
        linear_formula(pipeline.fit(X, y))
    two = Ridge().fit(X, np.column_stack([y, y]))
    with pytest.raises(TypeError, match="several scores a row"):
        linear_formula(two)


def test_names_are_needed_one_a_feature_and_no_two_alike(rows):
    X, y = rows
    ranker = ListMLERanker().fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match="Pass feature_names=, one for each of 6"):
        to_sql(ranker)
    with pytest.raises(ValueError, match="2 names for 6 features"):
        to_sql(ranker, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="'a' more than once"):
        to_sql(ranker, feature_names=["a", "b", "c", "d", "e", "a"])
    assert to_sql(ranker, feature_names=list("abcdef")).count('"') == 12


def test_an_offset_needs_a_feature_to_carry_it(rows):
    X, y = rows
    ranker = ListMLERanker().fit(X, y)
    with pytest.raises(ValueError, match=r"offset=2 needs constant_feature="):
        to_solr(ranker, "m", offset=2.0)
    with pytest.raises(ValueError, match="'age' is the name of a feature"):
        to_solr(ranker, "m", constant_feature="age")
    with pytest.raises(ValueError, match="offset"):
        to_solr(ranker, "m", offset=np.nan, constant_feature="one")


def test_filling_in_and_lost_digits_are_warned_of(rows):
    X, y = rows
    filled = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    pipeline = make_pipeline(SimpleImputer(), ListMLERanker()).fit(filled, y)
    with pytest.warns(UserWarning, match="Give these features defaults in the engine"):
        to_solr(pipeline, "m")
    far = make_pipeline(StandardScaler(), ListMLERanker()).fit(X + 1e6, y)
    with pytest.warns(UserWarning, match="Subtract a round number"):
        to_elasticsearch(far, "m")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        to_solr(Pipeline([("r", ListMLERanker())]).fit(X, y), "m")


def test_weights_beyond_a_precision_raise():
    y = with_groups([0, 1], [0, 0])
    ranker = ListMLERanker().fit(pd.DataFrame({"a": [0.0, 1.0]}), y)
    ranker.coef_ = np.array([1e39])
    with pytest.raises(ValueError, match="single precision of the engine"):
        to_solr(ranker, "m")
    ranker.coef_ = np.array([np.inf])
    with pytest.raises(ValueError, match="beyond double precision"):
        to_sql(ranker)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", 'not a "skrank linear formula"'),
        ('{"format": "other"}', 'not a "skrank linear formula"'),
        ({"version": 2}, "version 2; this skrank reads version 1"),
        ({"feature_names": [1]}, "list of strings"),
        ({"weights": [1.0, 2.0]}, "weights has 2 entries for 1 feature"),
        ({"weights": ["a"]}, "weights"),
        ({"constant": None}, "constant"),
        ({"fill_values": []}, "fill_values"),
    ],
)
def test_json_that_is_no_formula_raises(text, message):
    if isinstance(text, dict):
        good = json.loads(LinearFormula(["a"], np.ones(1), 0.0, None).to_json())
        text = json.dumps({**good, **text})
    with pytest.raises(ValueError, match=message):
        LinearFormula.from_json(text)


def test_missing_values_need_something_to_fill_in():
    formula = LinearFormula(["a"], np.array([2.0]), 1.0, None)
    with pytest.raises(ValueError, match="NaN"):
        formula.predict([[math.nan]])
    filled = LinearFormula(["a"], np.array([2.0]), 1.0, np.array([3.0]))
    assert filled.predict([[math.nan]]) == [7.0]
    with pytest.raises(ValueError, match="no column 'a'"):
        formula.predict(pd.DataFrame({"b": [1.0]}))
    with pytest.raises(ValueError, match="2 columns and the formula has 1 feature"):
        formula.predict([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("quoting", "expected"),
    [("ansi", '"a""b`]"'), ("mysql", '`a"b``]`'), ("sqlserver", '[a"b`]]]')],
)
def test_column_names_are_quoted_by_dialect(quoting, expected):
    y = with_groups([0, 1], [0, 0])
    ranker = ListMLERanker().fit(pd.DataFrame({'a"b`]': [0.0, 1.0]}), y)
    assert to_sql(ranker, quoting=quoting).endswith(f" * {expected}")
    with pytest.raises(ValueError, match="cannot be quoted for BigQuery"):
        to_sql(ranker, quoting="bigquery")
    with pytest.raises(ValueError, match="quoting must be"):
        to_sql(ranker, quoting="oracle")
