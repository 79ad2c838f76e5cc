"""Rankers inside scikit-learn: its own checks, containers, copies and processes."""

import copy
import pickle
import tracemalloc

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

import skrank.linear_model
from skrank import with_groups
from skrank.base import RankerMixin
from skrank.losses import ListNet
from skrank.model_selection import QueryKFold, RankerCV

RANKERS = [getattr(skrank.linear_model, name) for name in skrank.linear_model.__all__]
# Two fits of one problem in different arithmetic meet at the optimum, not on the way:
# the solver ends where the objective is flat to its last digit, eps, which leaves the
# root of that in the weights.
EXACT = {"tol": 1e-12, "ftol": 0.0}
NEAR = {"rtol": 0, "atol": 1e-7}


def one_list(ranker):
    """Return a subclass that takes all rows as one list where groups are missing."""

    def fit(self, X, y, groups=None, *, sample_weight=None):
        if groups is None:
            groups = np.zeros(_num_samples(X))
        return ranker.fit(self, X, y, groups, sample_weight=sample_weight)

    def score(self, X, y, groups=None, sample_weight=None):
        if groups is None:
            groups = np.zeros(_num_samples(X))
        return ranker.score(self, X, y, groups, sample_weight)

    name = f"OneList{ranker.__name__}"
    return type(name, (ranker,), {"__module__": __name__, "fit": fit, "score": score})


# Pickling looks for classes by name among what the module defines.
ONE_LIST = [one_list(ranker) for ranker in RANKERS]
globals().update({ranker.__name__: ranker for ranker in ONE_LIST})


# Their losses take weights that vary inside a list, so that these common checks pass:
# check_sample_weights_pandas_series, check_sample_weights_not_an_array,
# check_sample_weights_list, check_sample_weights_shape and, of weights that vary,
# check_sample_weights_not_overwritten.
WEIGHS_ROWS = {
    "LinearRanker",
    "ListMLERanker",
    "ListNetRanker",
    "RankNetRanker",
    "RankSVMRanker",
}


def excused(ranker):
    reason = "weights of rows are not repetitions of rows: a row twice is another list"
    checks = [
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ]
    if type(ranker).__name__.removeprefix("OneList") not in WEIGHS_ROWS:
        reason = "the loss has no terms of rows: sample_weight is the weight of a list"
        checks.append("check_sample_weights_not_overwritten")
    return dict.fromkeys(checks, reason)


@parametrize_with_checks(
    [ranker() for ranker in ONE_LIST], expected_failed_checks=excused
)
def test_scikit_learns_checks_pass_with_one_list(estimator, check):
    check(estimator)


# With kinks and bounds all of these pass but the weights of rows above, among them
# check_fit_idempotent, check_fit_score_takes_y, check_estimator_sparse_array,
# check_estimators_dtypes, check_estimators_pickle, check_methods_subset_invariance,
# check_dict_unchanged and check_positive_only_tag_during_fit.
PENALTIES = [
    {"l1_ratio": 0.5},
    {"positive": True},
    {"l1_ratio": 1.0, "bounds": (-0.5, 0.5)},
]


@parametrize_with_checks(
    [
        ranker(**settings)
        for ranker in ONE_LIST
        for settings in PENALTIES
        if ranker.__name__ in ("OneListListMLERanker", "OneListRaoKupperRanker")
    ],
    expected_failed_checks=excused,
)
def test_scikit_learns_checks_pass_with_penalties_and_bounds(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(30), 6)
    X = rng.normal(size=(180, 4))
    y = np.digitize(X[:, 0] - X[:, 2] + rng.normal(size=180), [0, 1])
    return X, y, groups


@pytest.fixture(params=RANKERS, ids=lambda ranker: ranker.__name__)
def ranker(request):
    return request.param


def frame(library, X, names="abcd"):
    return library.DataFrame(dict(zip(names, X.T, strict=True)))


def test_discovery_finds_the_named_rankers():
    assert {"LinearRanker", "ListMLERanker"} <= {r.__name__ for r in RANKERS}


def test_the_copy_of_a_ranker_is_unfitted_and_fits_alike(ranker, data):
    fitted = ranker(alpha=0.3).fit(*data)
    copied = clone(fitted)
    assert copied.alpha == 0.3
    assert not hasattr(copied, "coef_")
    np.testing.assert_array_equal(copied.fit(*data).coef_, fitted.coef_)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda fitted: pickle.loads(pickle.dumps(fitted))]
)
def test_a_pickled_or_deepcopied_ranker_predicts_the_same(ranker, data, copied):
    fitted = ranker().fit(*data)
    np.testing.assert_array_equal(
        copied(fitted).predict(data[0]), fitted.predict(data[0])
    )


def test_a_ranker_is_shown_with_its_parameters(ranker):
    assert repr(ranker(alpha=3)) == f"{ranker.__name__}(alpha=3)"
    html = ranker(alpha=3)._repr_html_()
    assert ranker.__name__ in html
    assert "alpha" in html


def test_the_html_of_a_generic_ranker_shows_its_loss():
    html = skrank.linear_model.LinearRanker(ListNet("softmax"))._repr_html_()
    assert "ListNet" in html


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_names_of_features_are_kept_and_their_order_is_held(ranker, data, library):
    X, y, groups = data
    named = frame(library, X)
    fitted = ranker().fit(named, y, groups)
    np.testing.assert_array_equal(fitted.feature_names_in_, list("abcd"))
    # Tables lie by column in memory.
    by_column = ranker().fit(np.asfortranarray(X), y, groups)
    np.testing.assert_array_equal(fitted.coef_, by_column.coef_)
    # Two orders of a sum differ by roundings of its terms, also where they cancel.
    rounding = 4 * np.finfo(float).eps * (np.abs(X) @ np.abs(fitted.coef_))
    assert np.all(np.abs(fitted.predict(named) - X @ fitted.coef_) <= rounding)
    with pytest.raises(ValueError, match="must be in the same order"):
        fitted.predict(named[["b", "a", "c", "d"]])
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame(library, X, "abcz"))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(X)


def test_polars_tables_labels_and_groups_fit_as_arrays_do(ranker, data):
    X, y, groups = data
    fitted = ranker(**EXACT).fit(frame(pl, X), pl.Series(y), pl.Series(groups))
    plain = ranker(**EXACT).fit(X, y, groups)
    np.testing.assert_allclose(fitted.coef_, plain.coef_, **NEAR)


def test_another_number_of_features_raises(ranker, data):
    fitted = ranker().fit(*data)
    with pytest.raises(ValueError, match="X has 3 features"):
        fitted.predict(data[0][:, :3])


def test_prediction_before_fit_raises(ranker, data):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ranker().predict(data[0])


def with_wide_indices(X):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


SPARSE = {
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "coo_array": sparse.coo_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
    "coo_matrix": sparse.coo_matrix,
    "int64 indices": with_wide_indices,
}


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("together", [True, False], ids=["together", "shuffled"])
def test_sparse_equals_dense(ranker, data, kind, together):
    X, y, groups = data
    X = np.where(X > 0.3, X, 0.0)
    if not together:
        groups = np.random.default_rng(0).permutation(groups)
    dense = ranker(**EXACT).fit(X, y, groups)
    fitted = ranker(**EXACT).fit(SPARSE[kind](X), y, groups)
    np.testing.assert_allclose(fitted.coef_, dense.coef_, **NEAR)
    np.testing.assert_allclose(fitted.predict(SPARSE[kind](X)), X @ fitted.coef_)


def test_a_hundred_thousand_sparse_columns_are_never_made_dense(ranker):
    rng = np.random.default_rng(0)
    n_rows, n_features = 3000, 100_000
    cells = rng.integers(n_rows, size=60_000), rng.integers(n_features, size=60_000)
    X = sparse.csr_array((rng.random(60_000), cells), shape=(n_rows, n_features))
    y, groups = rng.integers(0, 3, n_rows), np.repeat(np.arange(300), 10)
    tracemalloc.start()
    try:
        with pytest.warns(UserWarning, match="constant inside every list"):
            fitted = ranker(max_iter=100, tol=1e-2).fit(X, y, groups)
        scores = fitted.predict(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert scores.shape == (n_rows,)
    # L-BFGS keeps some 25 vectors of weights; the table would take 2.4 GB.
    assert peak < 100 * 8 * n_features


def test_float32_gives_the_weights_of_the_same_numbers_in_float64(ranker, data):
    X, y, groups = data
    single = X.astype(np.float32)
    fitted = ranker(**EXACT).fit(single, y, groups)
    double = ranker(**EXACT).fit(single.astype(np.float64), y, groups)
    np.testing.assert_allclose(fitted.coef_, double.coef_, **NEAR)
    assert fitted.coef_.dtype == fitted.predict(single).dtype == np.float64


def test_neither_row_order_nor_column_order_matters(ranker, data):
    X, y, groups = data
    plain = ranker(**EXACT).fit(X, y, groups)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    other = ranker(**EXACT).fit(X[rows][:, columns], y[rows], groups[rows])
    np.testing.assert_allclose(other.coef_, plain.coef_[columns], **NEAR)


def test_searches_in_two_processes_read_memory_maps(ranker, data, tmp_path):
    X, y, groups = data
    grid = {"alpha": [0.01, 1.0]}
    indexed = with_groups(y, groups)
    alone = GridSearchCV(ranker(), grid, cv=QueryKFold(3)).fit(X, indexed)
    # Arrays beyond this size reach the workers as read-only memory maps.
    with joblib.parallel_config("loky", max_nbytes=100, temp_folder=tmp_path):
        search = GridSearchCV(
            ranker(), grid, cv=QueryKFold(3), n_jobs=2, error_score="raise"
        ).fit(X, indexed)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_array_equal(search.cv_results_[name], alone.cv_results_[name])
    np.testing.assert_array_equal(
        search.best_estimator_.coef_, alone.best_estimator_.coef_
    )


def test_arrays_dumped_by_joblib_fit_read_only(ranker, data, tmp_path):
    joblib.dump(data, tmp_path / "data")
    mapped = joblib.load(tmp_path / "data", mmap_mode="r")
    assert not mapped[0].flags.writeable
    np.testing.assert_array_equal(
        ranker().fit(*mapped).coef_, ranker().fit(*data).coef_
    )


def test_scores_are_an_array_whatever_set_output_says(ranker, data):
    with config_context(transform_output="pandas"):
        scores = ranker().fit(*data).predict(frame(pd, data[0]).to_numpy())
    assert type(scores) is np.ndarray
    assert not hasattr(ranker(), "set_output")


def test_tags_leave_sparse_tables_to_the_other_bases():
    """HistGradientBoosting refuses sparse tables; linear models do not."""

    class Trees(RankerMixin, HistGradientBoostingRegressor):
        pass

    class Linear(RankerMixin, Ridge):
        pass

    assert get_tags(Trees()).estimator_type == "ranker"
    assert not get_tags(Trees()).input_tags.sparse
    assert get_tags(Linear()).input_tags.sparse
    assert get_tags(RankerCV()).input_tags.sparse


def test_tags_say_ranker_with_labels_and_sparse_tables(ranker):
    tags = get_tags(ranker())
    assert tags.estimator_type == "ranker"
    assert tags.target_tags.required
    assert tags.input_tags.sparse
