"""Variances of lists drawn towards what all lists have in common."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import digamma, polygamma
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

from skrank import Lists
from skrank.datasets import make_ranking
from skrank.metrics import pairwise_accuracy_score
from skrank.preprocessing import QueryScaler, _blocks
from skrank.preprocessing._list_scales import centred_in_spans


def drawn(n_lists=30, largest=9, seed=0):
    """Return lists of 1 to 8 rows, mixed, whose features have scales of their own."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(
        np.repeat(np.arange(n_lists), rng.integers(1, largest, n_lists))
    )
    X = rng.normal(size=(len(groups), 4)) * [1.0, 10.0, 1e-3, 1.0]
    X[:, 3] *= np.exp(rng.normal(size=n_lists))[groups]
    return X + 5.0, groups


def by_hand(X, groups, strength):
    """Return the scaled table and the common deviations, list by list."""
    out, sums = np.zeros_like(X), []
    for group in np.unique(groups):
        rows = groups == group
        centred = X[rows] - X[rows].mean(axis=0)
        sums.append((np.sum(rows) - 1, np.sum(centred**2, axis=0)))
    deviation = np.empty(X.shape[1])
    for j in range(X.shape[1]):
        z = [
            (d, np.log(q[j] / d) + np.log(d / 2) - digamma(d / 2))
            for d, q in sums
            if q[j] > 1e-20
        ]
        deviation[j] = np.exp(
            np.average([v for _, v in z], weights=[d for d, _ in z]) / 2
        )
    for group in np.unique(groups):
        rows = groups == group
        centred = X[rows] - X[rows].mean(axis=0)
        n, q = np.sum(rows), np.sum(centred**2, axis=0)
        out[rows] = centred / np.sqrt(
            (q + strength * deviation**2) / (n - 1 + strength)
        )
    return out, deviation


@pytest.mark.parametrize("entries", [50, 2**20])
@pytest.mark.parametrize("strength", [0.5, 3.0, 1e9])
def test_variances_are_shrunk_as_the_formula_says(strength, entries, monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK_ENTRIES", entries)
    X, groups = drawn()
    scaler = QueryScaler(shrinkage=strength).fit(X, groups=groups)
    expected, deviation = by_hand(X, groups, strength)
    np.testing.assert_allclose(scaler.deviation_, deviation, rtol=1e-9)
    np.testing.assert_array_equal(scaler.shrinkage_, [strength] * 4)
    out = scaler.transform(X, groups)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-12)
    # A list alone is scaled as among others: what is common was learned in fit.
    rows = groups == groups[0]
    np.testing.assert_array_equal(scaler.transform(X[rows], groups[rows]), out[rows])


def test_strong_shrinkage_divides_all_lists_by_one_deviation():
    X, groups = drawn()
    out = QueryScaler(shrinkage=1e12).fit_transform(X, groups=groups)
    scaler = QueryScaler(shrinkage=1e12).fit(X, groups=groups)
    centred = QueryScaler("center").fit_transform(X, groups=groups)
    np.testing.assert_allclose(out, centred / scaler.deviation_, rtol=1e-9, atol=1e-12)


def test_evidence_decides_how_strong_shrinkage_is():
    rng = np.random.default_rng(0)
    n_lists, size = 400, 6
    groups = np.repeat(np.arange(n_lists), size)
    freedom = 4.0  # of the variance of the second feature
    own = np.sqrt(freedom / rng.chisquare(freedom, n_lists))[groups]
    X = rng.normal(size=(len(groups), 3))
    X[:, 1] *= own
    X[:, 2] *= np.exp(3 * rng.normal(size=n_lists))[groups]
    alike, four, apart = QueryScaler(shrinkage="auto").fit(X, groups=groups).shrinkage_
    assert alike > 40
    assert 3.0 < four < 5.5
    assert apart < 1.0


def test_the_estimate_solves_the_equation_of_the_excess_variance():
    X, groups = drawn(200)
    strength = QueryScaler(shrinkage="auto").fit(X, groups=groups).shrinkage_[3]
    d, z = [], []
    for group in np.unique(groups):
        values = X[groups == group, 3]
        if len(values) > 1:
            d.append(len(values) - 1.0)
            q = np.sum((values - values.mean()) ** 2)
            z.append(np.log(q / d[-1]) + np.log(d[-1] / 2) - digamma(d[-1] / 2))
    d, z = np.array(d), np.array(z)
    spread = np.average((z - np.average(z, weights=d)) ** 2, weights=d)
    excess = spread - np.average(polygamma(1, d / 2), weights=d)
    assert polygamma(1, strength / 2) == pytest.approx(excess, rel=1e-8)


@pytest.mark.parametrize("size", [2, 3])
def test_short_lists_rank_better_with_shrinkage(size):
    accuracy = {0.0: [], "auto": []}
    for seed in range(4):
        X, y, groups = make_ranking(
            600,
            list_size=size,
            n_features=8,
            grade_shares=(0.5, 0.5),
            random_state=seed,
        )
        train = groups < 300
        for shrinkage, values in accuracy.items():
            scaler = QueryScaler(shrinkage=shrinkage).fit(
                X[train], groups=groups[train]
            )
            Z = scaler.transform(X, groups)
            scores = Ridge().fit(Z[train], y[train]).predict(Z[~train])
            values += pairwise_accuracy_score(
                y[~train], scores, groups[~train], average=None, empty=0.5
            ).tolist()
    better = np.array(accuracy["auto"]) - accuracy[0.0]
    assert better.mean() > 3 * better.std() / np.sqrt(len(better))


@pytest.mark.parametrize("shrinkage", [0.0, 2.0, "auto"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_sparse_equals_dense(shrinkage, shuffled, monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK_ENTRIES", 60)
    X, groups = drawn()
    if not shuffled:
        groups = np.sort(groups)
    X = np.where(X > 5.5, X, 0.0)
    X[groups == groups[0]] = 3.0  # constant
    scaler = QueryScaler("deviation", shrinkage=shrinkage)
    dense = scaler.fit_transform(X, groups=groups)
    table = sparse.csr_array(X)
    out = scaler.fit_transform(table, groups=groups)
    assert sparse.issparse(out)
    np.testing.assert_allclose(out.toarray(), dense, rtol=1e-9, atol=1e-14)
    assert not dense[X[:, 0] == 3.0].any()


@pytest.mark.parametrize("shrinkage", [0.0, 3.0])
def test_deviation_differs_from_standard_by_a_constant_of_each_list(shrinkage):
    X, groups = drawn()
    standard = QueryScaler(shrinkage=shrinkage).fit_transform(X, groups=groups)
    kept = QueryScaler("deviation", shrinkage=shrinkage).fit_transform(X, groups=groups)
    again = QueryScaler("center").fit_transform(kept, groups=groups)
    np.testing.assert_allclose(again, standard, rtol=1e-7, atol=1e-9)


def test_a_hundred_thousand_sparse_columns_are_never_made_dense():
    rng = np.random.default_rng(0)
    n_rows, n_features, stored = 3000, 100_000, 60_000
    cells = rng.integers(n_rows, size=stored), rng.integers(n_features, size=stored)
    X = sparse.csr_array((rng.random(stored), cells), shape=(n_rows, n_features))
    groups = np.repeat(np.arange(300), 10)
    scaler = QueryScaler("deviation", shrinkage="auto")
    tracemalloc.start()
    try:
        out = scaler.fit_transform(X, groups=groups)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert out.nnz == X.nnz
    assert peak < 40 * 8 * n_features  # the table would take 2.4 GB


def test_lists_of_one_row_and_constant_features_become_zero():
    groups = np.array([0, 1, 1, 1, 2, 2])
    X = np.array([[1.0, 7], [2, 7], [3, 7], [5, 7], [4, 7], [4, 7]])
    for method in ("standard", "deviation"):
        out = QueryScaler(method, shrinkage=2.0).fit_transform(X, groups=groups)
        assert not out[0].any()
        assert not out[:, 1].any()
        assert not out[4:].any()
        assert out[1:4, 0].any()
        # Nothing varies: there is no common deviation, and nothing to scale.
        alone = QueryScaler(method, shrinkage="auto").fit_transform(
            X[:1], groups=groups[:1]
        )
        assert not alone.any()


def test_a_feature_that_varied_in_no_training_list_is_scaled_by_its_own():
    scaler = QueryScaler(shrinkage=3.0).fit([[1.0], [1.0]], groups=[0, 0])
    assert scaler.deviation_[0] == 0.0
    assert np.isfinite(scaler.transform([[1.0], [2.0]], groups=[0, 0])).all()


@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_neither_large_nor_small_numbers_lose_digits(factor):
    X, groups = drawn()
    X = X[:, [0, 3]]
    for method in ("standard", "deviation"):
        scaler = QueryScaler(method, shrinkage="auto")
        expected = scaler.fit_transform(X, groups=groups)
        out = scaler.fit_transform(X * factor, groups=groups)
        np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-9)


def test_wrong_use_says_what_to_do():
    X, groups = drawn()
    with pytest.raises(ValueError, match=r"needs method='standard' or 'deviation'"):
        QueryScaler("rank", shrinkage=1.0).fit(X, groups=groups)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        QueryScaler(shrinkage=1.0).transform(X, groups)
    with pytest.raises(ValueError, match="shrinkage"):
        QueryScaler(shrinkage=-1.0).fit(X, groups=groups)
    with pytest.raises(ValueError, match="NaN"):
        QueryScaler(shrinkage=1.0).fit(np.where(X > 5, np.nan, X), groups=groups)
    with pytest.raises(ValueError, match=r"sparse.*'max' or 'deviation'"):
        QueryScaler(shrinkage=1.0).fit(sparse.csr_array(X), groups=groups)


@pytest.mark.parametrize("method", ["standard", "max", "rank"])
def test_signed_logs_are_taken_first(method):
    X, groups = drawn()
    X = X - 5.0
    logs = np.sign(X) * np.log1p(np.abs(X))
    out = QueryScaler(method, signed_log=True).fit_transform(X, groups=groups)
    expected = QueryScaler(method).fit_transform(logs, groups=groups)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-14)
    if method == "max":
        table = sparse.csr_array(np.where(X > 0, X, 0.0))
        scaler = QueryScaler(method, signed_log=True)
        kept = scaler.fit_transform(table, groups=groups)
        dense = scaler.fit_transform(table.toarray(), groups=groups)
        np.testing.assert_allclose(kept.toarray(), dense, rtol=1e-14)


class OneListScaler(QueryScaler):
    """Takes all rows as one list where groups are missing, as the checks do."""

    def _checked(self, X, groups, method):
        if groups is None:
            groups = np.zeros(_num_samples(X))
        return super()._checked(X, groups, method)


def excused(scaler):
    return {"check_methods_subset_invariance": "each list is scaled by its own rows"}


@parametrize_with_checks(
    [
        OneListScaler("deviation"),
        OneListScaler(shrinkage="auto", signed_log=True),
        OneListScaler("deviation", shrinkage=1.0),
    ],
    expected_failed_checks=excused,
)
def test_scikit_learns_checks_pass_with_one_list(estimator, check):
    check(estimator)


def test_lists_of_a_fifth_of_the_rows_in_the_fit_are_warned_of():
    X = np.random.default_rng(0).normal(size=(100, 2))
    scaler = QueryScaler(shrinkage=1.0).fit(X, groups=np.repeat(np.arange(10), 10))
    scaler.transform(X[:9], np.repeat([0, 1, 2], 3))
    message = r"at most 2 rows, those of the fit had 10 \(medians\)"
    with pytest.warns(UserWarning, match=message):
        scaler.transform(X[:6], np.repeat([0, 1, 2], 2))
    # Without shrinkage nothing is learned of the length of lists.
    QueryScaler().fit(X, groups=np.repeat(np.arange(10), 10)).transform(
        X[:6], np.repeat([0, 1, 2], 2)
    )


def test_spans_of_values_near_the_largest_number_are_their_differences():
    x = np.array([[1.2e308], [0.4e308], [0.8e308], [3.0], [1.0]])
    centred, squares, span = centred_in_spans(x, Lists([3, 2]))
    np.testing.assert_allclose(span, [[0.8e308], [2.0]], rtol=1e-15)
    np.testing.assert_allclose(centred.ravel(), [0.5, -0.5, 0, 0.5, -0.5], atol=1e-15)
    np.testing.assert_allclose(squares, [[0.5], [0.5]], rtol=1e-15)


def drawn_lists(seed=0):
    X, _, groups = make_ranking(20, n_features=3, n_informative=3, random_state=seed)
    return X, groups


def learned(scaler):
    return {
        name: getattr(value, "tolist", lambda value=value: value)()
        for name, value in vars(scaler).items()
    }


@pytest.mark.parametrize("call", ["fit", "fit_transform"])
def test_a_failed_refit_leaves_the_scaler_as_it_was(call):
    X, groups = drawn_lists()
    frame = pd.DataFrame(X, columns=list("abc"))
    scaler = QueryScaler(shrinkage="auto").fit(frame, groups=groups)
    before, out = learned(scaler), scaler.transform(frame, groups)
    bad = X.copy()
    bad[0, 0] = np.nan
    other = make_ranking(20, n_features=5, random_state=1)[0]
    for table, of_rows, message in [
        (bad, groups, "NaN"),
        (other, groups[:-1], "entries for"),
        (frame[["b", "a"]], groups[:-1], "entries for"),
    ]:
        with pytest.raises(ValueError, match=message):
            getattr(scaler, call)(table, groups=of_rows)
        assert learned(scaler) == before
    np.testing.assert_array_equal(scaler.transform(frame, groups), out)


def test_results_too_large_leave_the_scaler_as_it_was():
    X, groups = drawn_lists()
    scaler = QueryScaler(shrinkage="auto").fit(X, groups=groups)
    before = learned(scaler)
    scaler.set_params(scale=1e308)
    with pytest.raises(ValueError, match="becomes so large"):
        scaler.fit_transform(1e3 * X, groups=groups)
    assert learned(scaler) == before | {"scale": 1e308}


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_array])
def test_without_shrinkage_an_earlier_fit_does_not_count(table):
    X, groups = drawn_lists()
    X = table(X)
    expected = QueryScaler("deviation").fit_transform(X, groups=groups)
    scaler = QueryScaler("deviation", shrinkage=5.0).fit(X, groups=groups)
    scaler.set_params(shrinkage=0.0)
    dense = sparse.csr_array(expected).toarray()
    for computed in (
        scaler.transform(X, groups),
        scaler.fit(X, groups=groups).transform(X, groups),
    ):
        np.testing.assert_array_equal(sparse.csr_array(computed).toarray(), dense)
    assert not hasattr(scaler, "deviation_")
    scaler.set_params(shrinkage="auto")
    with pytest.raises(NotFittedError, match="with shrinkage is not fitted yet"):
        scaler.transform(X, groups)
