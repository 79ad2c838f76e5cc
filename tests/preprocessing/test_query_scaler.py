"""Scaling inside lists: equal to pandas' groupby, wherever groups come from."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

from skrank import ListMLERanker
from skrank.metrics import ndcg_score, ndcg_scorer
from skrank.preprocessing import QueryScaler, _blocks

METHODS = ["standard", "minmax", "max", "rank", "center"]
ALPHAS = [0.01, 0.3, 10.0]


def by_pandas(X, groups, method):
    """Return what pandas makes of each list, constants as documented."""
    lists = pd.DataFrame(X).groupby(np.asarray(groups))
    frame = pd.DataFrame(X)
    if method == "center":
        return (frame - lists.transform("mean")).to_numpy()
    if method == "standard":
        deviation = lists.transform("std", ddof=0)
        varies = lists.transform("min") != lists.transform("max")
        scores = (frame - lists.transform("mean")) / deviation.where(varies, np.inf)
        return scores.to_numpy()
    if method == "minmax":
        low, high = lists.transform("min"), lists.transform("max")
        return ((frame - low) / (high - low).replace(0, 1)).to_numpy()
    if method == "max":
        largest = frame.abs().groupby(np.asarray(groups)).transform("max")
        return (frame / largest.replace(0, 1)).to_numpy()
    size = lists.transform("size").to_numpy()[:, None]
    ranks = (lists.rank(method="average").to_numpy() - 1) / np.maximum(size - 1, 1)
    return np.where(size == 1, 0.5, ranks)


def drawn(n_rows=120, seed=0):
    """Return features of several kinds and unsorted lists of 1 to some 20 rows."""
    rng = np.random.default_rng(seed)
    groups = rng.geometric(0.12, size=n_rows)
    X = np.column_stack(
        (
            rng.normal(size=n_rows) + 100 * rng.normal(size=200)[groups],
            rng.integers(0, 3, n_rows),
            np.full(n_rows, 0.1),
            rng.normal(size=200)[groups],  # constant in each list
            -rng.exponential(size=n_rows),
        )
    )
    return X, groups


@pytest.fixture(params=[None, 40], ids=["one block", "blocks"])
def _blocks_of_two_sizes(request, monkeypatch):
    """Run a test with all rows in one block, and with few."""
    if request.param:
        monkeypatch.setattr(_blocks, "BLOCK_ENTRIES", request.param)


@pytest.mark.usefixtures("_blocks_of_two_sizes")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("labels", ["unsorted", "sorted", "strings", "mixed"])
def test_each_method_equals_groupby(method, labels):
    X, groups = drawn()
    if labels == "sorted":
        groups = np.sort(groups)
    out = QueryScaler(method).fit_transform(X, None, given_as(labels, groups))
    expected = by_pandas(X, groups, method)
    # Values of 100 leave 1e-14 of a deviation of 1.
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-11)


def given_as(labels, groups):
    if labels == "strings":
        return [f"query {group}" for group in groups]
    if labels == "mixed":
        return [int(g) if g % 2 else (int(g), "even") for g in groups]
    return groups


def test_lists_of_any_scale_constants_and_single_rows():
    X = np.array([[0.01], [0.02], [0.03], [1.0], [2.0], [3.0], [7.0], [7.0], [5.0]])
    groups = [1, 1, 1, 2, 2, 2, 3, 3, 4]
    scores = [-1.22474487139159, 0.0, 1.22474487139159]
    out = QueryScaler("standard").fit_transform(X, groups=groups).ravel()
    np.testing.assert_allclose(out, [*scores, *scores, 0, 0, 0], atol=1e-13)
    largest = QueryScaler("max", scale=50.0)
    out = largest.fit_transform([[50.0], [0.0], [100.0]], groups=[1, 1, 1])
    assert out.ravel().tolist() == [25.0, 0.0, 50.0]


@pytest.mark.parametrize(
    ("method", "of_constant"),
    [("standard", 0), ("minmax", 0), ("center", 0), ("rank", 0.5), ("max", 1)],
)
def test_constants_and_single_rows_have_one_value_exactly(method, of_constant):
    X = np.array([[0.1], [0.1], [0.1], [1e300], [1e-320]])
    out = QueryScaler(method).fit_transform(X, groups=[0, 0, 0, 1, 2])
    assert out.ravel().tolist() == [of_constant] * 5
    zeros = QueryScaler("max").fit_transform(np.zeros((3, 1)), groups=[0, 0, 1])
    assert not zeros.any()


@pytest.mark.parametrize("method", ["standard", "minmax", "rank"])
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1e-100, 1e100), st.booleans())
def test_shift_and_scale_of_a_list_do_not_matter(method, seed, factor, large):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 5, 30)
    X = rng.integers(-1000, 1000, (30, 2)).astype(float)
    # Powers of two and whole numbers, so that the input itself has no errors.
    factor = 2.0 ** np.round(np.log2(factor))
    shifts = rng.integers(0, 2**40 if large else 2, 5)[groups][:, None]
    scaler = QueryScaler(method)
    out = scaler.fit_transform(X, groups=groups)
    moved = scaler.fit_transform((X + shifts) * factor, groups=groups)
    np.testing.assert_allclose(moved, out, rtol=0, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_float32_stays_float32(method):
    X, groups = drawn()
    X = X.astype(np.float32)
    out = QueryScaler(method).fit_transform(X, groups=groups)
    assert out.dtype == np.float32
    exact = QueryScaler(method).fit_transform(X.astype(float), groups=groups)
    np.testing.assert_array_equal(out, exact.astype(np.float32))


@pytest.mark.usefixtures("_blocks_of_two_sizes")
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_max_keeps_zeros_of_sparse_input(container, dtype):
    X, groups = drawn()
    X = (X * (np.random.default_rng(1).random(X.shape) < 0.3)).astype(dtype)
    rows = container(X)
    rows.data[0] = X[X != 0][0] if rows.format == "csr" else rows.data[0]
    out = QueryScaler("max", scale=2.0).fit_transform(rows, groups=groups)
    assert sparse.issparse(out)
    assert out.format == "csr"
    assert out.dtype == dtype
    expected = QueryScaler("max", scale=2.0).fit_transform(X, groups=groups)
    np.testing.assert_array_equal(out.toarray(), expected)
    assert out.nnz <= rows.nnz
    np.testing.assert_array_equal(rows.toarray(), X)  # the input is not changed


def test_stored_zeros_and_entries_in_parts_count_as_their_sum():
    parts = sparse.csr_array(
        ([1.0, 1.0, 0.0, -4.0], [0, 0, 1, 0], [0, 3, 4]), shape=(2, 2)
    )
    out = QueryScaler("max").fit_transform(parts, groups=["a", "a"])
    np.testing.assert_array_equal(out.toarray(), [[0.5, 0.0], [-1.0, 0.0]])
    empty = QueryScaler("max").fit_transform(sparse.csr_array((2, 2)), groups=[0, 1])
    assert empty.nnz == 0


@pytest.mark.parametrize("method", ["standard", "minmax", "rank", "center"])
def test_methods_that_fill_zeros_refuse_sparse_input(method):
    with pytest.raises(ValueError, match=rf"'{method}' would fill.*method='max'"):
        QueryScaler(method).fit(sparse.csr_array(np.eye(2)), groups=[0, 0])


def frame_of(X, groups):
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.index = pd.MultiIndex.from_arrays(
        [groups, np.arange(len(X))], names=["groups", "document"]
    )
    return frame


def test_groups_may_be_on_the_index_of_x():
    X, groups = drawn()
    frame = frame_of(X, groups)
    scaler = QueryScaler().set_output(transform="pandas")
    out = scaler.fit_transform(frame)
    assert out.columns.tolist() == list("abcde")
    assert out.index.equals(frame.index)
    expected = QueryScaler().fit_transform(X, groups=groups)
    np.testing.assert_array_equal(out.to_numpy(), expected)
    same = scaler.transform(frame, groups)
    pd.testing.assert_frame_equal(same, out)
    with pytest.raises(ValueError, match="differ from the index level 'groups' of X"):
        scaler.transform(frame, groups[::-1])


@pytest.mark.parametrize(
    ("routing", "advice"),
    [(False, "routing is off.*set_config"), (True, "routing is on.*outer call")],
)
def test_missing_groups_raise_and_say_what_to_do(routing, advice):
    X, _ = drawn()
    scaler = QueryScaler()
    with config_context(enable_metadata_routing=routing):
        for method in (scaler.fit, scaler.transform, scaler.fit_transform):
            with pytest.raises(ValueError, match=f"groups=.*index.*{advice}"):
                method(X)


def test_other_wrong_input_is_refused():
    X, groups = drawn()
    with pytest.raises(ValueError, match="119 entries for 120 rows"):
        QueryScaler().fit(X, groups=groups[1:])
    with pytest.raises(ValueError, match="masked"):
        QueryScaler().fit(np.ma.masked_less(X, 0), groups=groups)
    with pytest.raises(ValueError, match="NaN"):
        QueryScaler().fit(np.where(X < 0, np.nan, X), groups=groups)
    for wrong in ({"method": "mean"}, {"scale": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            QueryScaler(**wrong).transform(X, groups=groups)
    fitted = QueryScaler().fit(X, groups=groups)
    with pytest.raises(ValueError, match="expecting 5 features"):
        fitted.transform(X[:, :3], groups=groups)


@pytest.fixture(scope="module")
def ranking():
    """Return lists in which the level and the scale of features hide the order."""
    rng = np.random.default_rng(3)
    groups = rng.permutation(np.repeat(np.arange(30), 8))
    X = rng.normal(size=(240, 3))
    y = np.digitize(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=240), [0, 1])
    X *= np.exp(2 * rng.normal(size=(30, 3)))[groups]
    X += 5 * rng.normal(size=(30, 3))[groups]
    return X, y, groups


def by_hand(X, y, groups, train, test, alpha):
    """Return NDCG of one fold, each step done apart."""
    scaler = QueryScaler()
    ranker = ListMLERanker(alpha=alpha).fit(
        scaler.fit_transform(X[train], groups=groups[train]), y[train], groups[train]
    )
    scores = ranker.predict(scaler.transform(X[test], groups[test]))
    return ndcg_score(y[test], scores, groups[test])


@pytest.mark.parametrize("scoring", [ndcg_scorer(), None], ids=["scorer", "score"])
def test_a_search_over_a_pipeline_hands_groups_to_it(ranking, scoring):
    X, y, groups = ranking
    cv = GroupKFold(3)
    expected = np.array(
        [
            [by_hand(X, y, groups, *fold, alpha) for fold in cv.split(X, y, groups)]
            for alpha in ALPHAS
        ]
    )
    model = make_pipeline(QueryScaler(), ListMLERanker())
    search = GridSearchCV(
        model, {"listmleranker__alpha": ALPHAS}, scoring=scoring, cv=cv
    )
    with config_context(enable_metadata_routing=True):
        search.fit(X, y, groups=groups)
        test_scores = [search.cv_results_[f"split{i}_test_score"] for i in range(3)]
        np.testing.assert_allclose(
            np.transpose(test_scores), expected, rtol=0, atol=1e-12
        )
        best = search.best_estimator_
        scores = best.predict(X, groups=groups)
        value = ndcg_score(y, scores, groups)
        assert search.score(X, y, groups=groups) == pytest.approx(value, abs=1e-12)
        assert best.score(X, y, groups=groups) == pytest.approx(value, abs=1e-12)
        with pytest.raises(ValueError, match=r"QueryScaler\.transform needs to know"):
            best.predict(X)
    global_scaling = make_pipeline(StandardScaler(), ListMLERanker())
    with config_context(enable_metadata_routing=True):
        other = global_scaling.fit(X, y, groups=groups).score(X, y, groups=groups)
    assert value > other


def test_nested_searches_and_several_processes_hand_groups_on(ranking):
    X, y, groups = ranking
    search = GridSearchCV(
        make_pipeline(QueryScaler(), ListMLERanker()),
        {"queryscaler__method": ["rank", "center"]},
        scoring=ndcg_scorer(k=5),
        cv=GroupKFold(2),
        n_jobs=2,
    )
    with config_context(enable_metadata_routing=True):
        scores = cross_validate(
            search,
            X,
            y,
            params={"groups": groups},
            cv=GroupKFold(2),
            scoring=ndcg_scorer(k=5),
            error_score="raise",
        )
    assert np.isfinite(scores["test_score"]).all()


def test_cross_val_predict_needs_groups_on_the_index_of_x(ranking):
    X, y, groups = ranking
    model = make_pipeline(QueryScaler(), ListMLERanker())
    options = {"params": {"groups": groups}, "cv": GroupKFold(3)}
    frame = pd.DataFrame(X, index=pd.Index(groups, name="groups"))
    expected = np.empty(len(y))
    with config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match=r"cross_val_predict pass no groups on"):
            cross_val_predict(model, X, y, **options)
        predicted = cross_val_predict(model, frame, y, **options)
        for train, test in GroupKFold(3).split(X, y, groups):
            model.fit(X[train], y[train], groups=groups[train])
            expected[test] = model.predict(X[test], groups=groups[test])
    np.testing.assert_array_equal(predicted, expected)


def test_without_routing_the_index_of_x_is_enough(ranking):
    X, y, groups = ranking
    frame = pd.DataFrame(X, index=pd.Index(groups, name="groups")).add_prefix("x")
    labels = pd.Series(y, index=frame.index)
    first = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(first, QueryScaler(), ListMLERanker())
    search = GridSearchCV(
        model,
        {"listmleranker__alpha": [0.1]},
        scoring=ndcg_scorer(),
        cv=GroupKFold(3),
    ).fit(frame, labels, groups=groups)
    expected = [
        by_hand(X, y, groups, *fold, 0.1) for fold in GroupKFold(3).split(X, y, groups)
    ]
    scores = [search.cv_results_[f"split{i}_test_score"][0] for i in range(3)]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-6)
    assert search.predict(frame).shape == (len(X),)
    lost = make_pipeline(StandardScaler(), QueryScaler(), ListMLERanker())
    with pytest.raises(ValueError, match=r"QueryScaler\.fit needs.*routing is off"):
        lost.fit(frame, labels)


@pytest.mark.parametrize("method", [*METHODS, "deviation"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_largest_numbers_are_scaled_as_small_ones(method, kind):
    largest = np.finfo(kind).max
    shape = np.array([1.0, -1.0, 0.0, 0.5, -0.5, 1.0, 1.0])
    groups = ["a", "a", "a", "b", "b", "c", "c"]
    X = kind([largest * shape, shape]).T
    out = QueryScaler(method).fit_transform(X, groups=groups)
    assert out.dtype == kind
    factor = largest if method == "center" else 1.0
    np.testing.assert_allclose(
        out[:, 0] / factor,
        out[:, 1],
        rtol=8 * np.finfo(kind).eps,
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("method", ["center", "minmax", "standard", "deviation"])
def test_large_numbers_of_one_sign_are_scaled_as_small_ones(method, sign):
    shape = sign * np.array([-0.4, 1.0, 1.0, 0.75])
    X = np.column_stack((np.finfo(np.float64).max * shape, shape))
    out = QueryScaler(method).fit_transform(X, groups=[0, 0, 0, 0])
    factor = np.finfo(np.float64).max if method == "center" else 1.0
    np.testing.assert_allclose(out[:, 0] / factor, out[:, 1], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_result_beyond_its_type_names_the_column(kind):
    largest = np.finfo(kind).max
    X = kind([[1, largest], [2, -largest], [3, -largest]])  # mean -largest / 3
    message = f"column 1 becomes so large that it exceeds {np.dtype(kind)}"
    with pytest.raises(ValueError, match=message):
        QueryScaler("center").fit_transform(X, groups=[0, 0, 0])
    scaler = QueryScaler("max", scale=1e307)
    for table in (X, sparse.csr_array(X)):
        if kind == np.float64:
            assert np.isfinite(scaler.fit_transform(X, groups=[0, 0, 0])).all()
        else:
            with pytest.raises(ValueError, match=r"column 0 .* float32.*lower scale"):
                scaler.fit_transform(table, groups=[0, 0, 0])


class OneListScaler(QueryScaler):
    """Takes all rows as one list where groups are missing, as the checks do."""

    def _checked(self, X, groups, method):
        if groups is None:
            groups = np.zeros(_num_samples(X))
        return super()._checked(X, groups, method)


def excused(scaler):
    return {
        "check_methods_subset_invariance": "each list is scaled by its own rows",
    }


@parametrize_with_checks(
    [OneListScaler(method) for method in METHODS], expected_failed_checks=excused
)
def test_scikit_learns_checks_pass_with_one_list(estimator, check):
    check(estimator)


def test_repeated_fits_and_copies_give_the_same():
    X, groups = drawn()
    scaler = QueryScaler("rank")
    before = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = scaler.fit_transform(X, groups=groups)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(clone(scaler).transform(X, groups), first)
    names = scaler.fit(X, groups=groups).get_feature_names_out()
    assert names.tolist() == ["x0", "x1", "x2", "x3", "x4"]
