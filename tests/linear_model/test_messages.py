"""What a user reads where data or arguments are not what a ranker needs."""

import inspect
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.feature_selection import RFECV

from skrank import (
    DavidsonLuceRanker,
    LinearRanker,
    ListMLERanker,
    Lists,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
)
from skrank._fit.data import FitData
from skrank._fit.diagnostics import warn_if_stuck
from skrank._fit.lbfgs import Solution
from skrank._fit.objective import LinearObjective
from skrank.datasets import make_ranking
from skrank.losses import ListMLE
from skrank.model_selection import QueryKFold

SENTINEL = float(np.finfo(np.float32).max)


@pytest.fixture(scope="module")
def data():
    return make_ranking(30, n_features=4, n_informative=4, random_state=0)


def with_sentinels():
    """Return rows of which some hold +-3.4e38 in one column."""
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((180, 4)), np.repeat(np.arange(30), 6)
    y = np.digitize(X[:, 0] + rng.standard_normal(180), [-1, 0, 1])
    X[::7, 1], X[3::7, 1] = SENTINEL, -SENTINEL
    return X, y, groups


@pytest.mark.parametrize(
    "ranker", [ListMLERanker, RankNetRanker, RankSVMRanker, RankRegressionRanker]
)
def test_float32_sentinels_fit_as_well_as_the_same_values_in_float64(ranker):
    X, y, groups = with_sentinels()
    single = ranker().fit(X.astype(np.float32), y, groups)
    double = ranker().fit(X, y, groups)
    # The other features are rounded to float32.
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-7)
    np.testing.assert_allclose(single.coef_[0], double.coef_[0], rtol=1e-5)
    assert single.coef_[0] > 0.1


@pytest.mark.parametrize(
    "ranker",
    [
        ListMLERanker(),
        RankNetRanker(),
        RankSVMRanker(),
        RankSVMRanker("linear"),
        RankRegressionRanker(),
    ],
    ids=str,
)
def test_one_huge_value_is_never_a_silent_success(ranker):
    X, y, groups = with_sentinels()
    X[:, 1] = np.random.default_rng(1).standard_normal(180)
    X[5, 1] = 1e300
    error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ranker.fit(X, y, groups)
        except ValueError as raised:
            error = str(raised)
    if error is not None:
        assert "scale X" in error
        return
    column = re.compile(r"column 1 reaches .*e\+\d\d\d times.* scale X")
    if any(column.search(str(warning.message)) for warning in caught):
        return
    # Else it has learned: the least objective is below the one without the column,
    # and what the other rows of the column add to scores is nothing.
    objective, coef = ranker.objective_, ranker.coef_
    ranker.fit(np.delete(X, 1, axis=1), y, groups)
    assert objective < ranker.objective_
    np.testing.assert_allclose(np.delete(coef, 1), ranker.coef_, rtol=0, atol=0.03)
    assert 0 < abs(coef[1]) * 1e300 < 5


def test_one_huge_value_among_many_rows_is_found_wherever_it_is():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((60_000, 10)), np.repeat(np.arange(6000), 10)
    y = np.digitize(X[:, 0] + rng.standard_normal(60_000), [-1, 0, 1])
    X[44_444, 3] = 1e200
    with pytest.warns(ConvergenceWarning, match=r"column 3 reaches .*e\+\d\d\d times"):
        RankNetRanker().fit(X, y, groups)


def test_an_ordinary_feature_of_other_units_is_no_reason_to_warn(data):
    X, y, groups = data
    plain = ListMLERanker(alpha=0).fit(X, y, groups)
    units = np.array([1e-9, 1.0, 1.0, 1e9])
    scaled = ListMLERanker(alpha=0).fit(X * units, y, groups)
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-3)


def test_an_objective_above_its_start_is_told_however_many_iterations(data):
    X, y, groups = data
    lists = Lists(np.bincount(groups))
    objective = LinearObjective(FitData(X, y * 1.0, lists), ListMLE(), alpha=0.1)
    value = objective(objective.start)[0]

    def solution(share):
        return Solution(objective.start, share * value, 500, value_at_zero=value)

    with pytest.warns(ConvergenceWarning, match="me: the fit has learned little"):
        warn_if_stuck("me", objective, solution(1 + 1e-12))
    warn_if_stuck("me", objective, solution(1.0))  # warnings are errors


def test_lists_without_an_order_are_told(data):
    X, y, groups = data
    for ranker in (ListMLERanker(), DavidsonLuceRanker()):
        with pytest.warns(UserWarning, match="no order to learn. Check y"):
            ranker.fit(X, np.zeros(len(y)), groups)


def test_score_names_the_scorer_for_labels_below_zero(data):
    X, y, groups = data
    ranker = ListMLERanker().fit(X, -y, groups)
    with pytest.raises(ValueError, match="got -4: pass scoring=pairwise_accuracy_sc"):
        ranker.score(X, -y, groups)


def test_a_column_of_labels_counts_as_labels(data):
    X, y, groups = data
    with pytest.warns(DataConversionWarning, match="1d array was expected"):
        ranker = ListMLERanker().fit(X, y[:, None], groups)
    assert ranker.score(X, y[:, None], groups) == ranker.score(X, y, groups)


@pytest.mark.parametrize("ranker", [ListMLERanker(), RankNetRanker()], ids=str)
def test_groups_in_place_of_the_second_rows_of_pairs_are_told(ranker, data):
    X, y, groups = data
    ranker.fit(X, y, groups)
    for second in (groups, list(groups), pd.Series(groups)):
        with pytest.raises(ValueError, match="two tables, X_a and X_b"):
            ranker.pairwise_proba(X, second)


def test_tables_and_labels_of_other_kinds_say_what_to_pass(data):
    X, y, groups = data
    ranker = ListMLERanker().fit(X, y, groups)
    lazy = pl.DataFrame(X).lazy()
    for call in (
        lambda: ranker.fit(lazy, y, groups),
        lambda: ranker.predict(lazy),
        lambda: ranker.pairwise_proba(lazy, lazy),
    ):
        with pytest.raises(ValueError, match=r"collect\(\)"):
            call()
    grades = pd.Series(pd.Categorical.from_codes(y, list("abcde"), ordered=True))
    for method in (ranker.fit, ranker.score):
        with pytest.raises(ValueError, match=r"y\.cat\.codes"):
            method(X, grades, groups)
    from_codes = ListMLERanker().fit(X, grades.cat.codes, groups)
    np.testing.assert_array_equal(from_codes.coef_, ranker.coef_)


def test_buffers_are_taken_as_arrays(data):
    X, y, groups = data
    expected = ListMLERanker().fit(X, y, groups)
    views = [memoryview(np.ascontiguousarray(part)) for part in (X, y * 1.0, groups)]
    np.testing.assert_array_equal(ListMLERanker().fit(*views).coef_, expected.coef_)
    assert expected.score(*views) == expected.score(X, y, groups)


def test_a_warm_start_without_weights_starts_at_zero(data):
    X, y, groups = data
    ranker = ListMLERanker(warm_start=True)
    ranker.coef_ = None
    expected = ListMLERanker().fit(X, y, groups)
    np.testing.assert_array_equal(ranker.fit(X, y, groups).coef_, expected.coef_)


@pytest.mark.parametrize("ranker", [LinearRanker, ListMLERanker, RankSVMRanker])
def test_defaults_are_plain_numbers_in_signatures(ranker):
    assert "np." not in str(inspect.signature(ranker))
    assert type(ranker().ftol) is float


def test_the_text_of_random_state_says_what_is_drawn():
    assert "gibbs" not in inspect.getdoc(ListMLERanker)


def test_shap_reads_a_linear_ranker(data):
    shap = pytest.importorskip("shap", reason="shap explains linear models")
    X, y, groups = data
    ranker = ListMLERanker().fit(X, y, groups)
    assert ranker.intercept_ == 0.0
    explainer = shap.LinearExplainer(ranker, X)
    # With independent features: weight times the distance from the mean.
    expected = ranker.coef_ * (X - explainer.masker.data.mean(axis=0))
    values = explainer.shap_values(X)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        values.sum(axis=1) + explainer.expected_value, ranker.predict(X), atol=1e-10
    )


def test_a_tool_without_routing_is_said_to_keep_the_groups_that_it_was_given(data):
    X, y, groups = data
    search = RFECV(ListMLERanker(), cv=QueryKFold(3))
    with pytest.raises(ValueError, match="RFECV use groups for their splitter alone"):
        search.fit(X, y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, y, groups=groups)
    assert search.n_features_ >= 1
