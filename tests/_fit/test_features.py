"""Features that are constant inside every list (skrank/_fit/features.py)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skrank import Lists
from skrank._fit import features
from skrank._fit.features import constant_features


def by_hand(X, lists):
    """Look at each feature of each list."""
    return [
        all(
            len(set(X[start:stop, feature].tolist())) == 1
            for start, stop in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)
        )
        for feature in range(X.shape[1])
    ]


@st.composite
def tables(draw):
    """Draw lists and a small table, many of whose cells are constant in a list."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    lists = Lists(rng.integers(1, 5, size=draw(st.integers(1, 90))))
    n_features = draw(st.integers(1, 6))
    X = lists.expand(rng.integers(-1, 2, size=(lists.n_lists, n_features)) * 1.0)
    for feature in range(n_features):
        for row in rng.integers(lists.n_rows, size=rng.integers(3)):
            X[row, feature] = rng.integers(-1, 2)
    return X, lists


def csr_with_all_stored(X):
    """Store every entry, zeros too."""
    n_rows, n_features = X.shape
    columns = np.tile(np.arange(n_features), n_rows)
    return sparse.csr_array((X.ravel(), columns, np.arange(n_rows + 1) * n_features))


def csr_with_duplicates(X):
    """Store each entry as the sum of two, columns unsorted."""
    n_rows, n_features = X.shape
    columns = np.tile(np.r_[np.arange(n_features)[::-1], np.arange(n_features)], n_rows)
    data = np.hstack([X[:, ::-1] - 3, np.full_like(X, 3.0)])
    return sparse.csr_array(
        (data.ravel(), columns, np.arange(n_rows + 1) * 2 * n_features), shape=X.shape
    )


FORMS = {
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "sparse": sparse.csr_array,
    "sparse matrix": sparse.csr_matrix,
    "sparse with explicit zeros": csr_with_all_stored,
    "sparse with duplicates": csr_with_duplicates,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@settings(max_examples=40, deadline=None)
@given(table=tables())
def test_constant_features_equal_a_loop_over_lists(form, table):
    X, lists = table
    given_X = form(X)
    assert constant_features(given_X, lists).tolist() == by_hand(X, lists)
    dense = given_X.toarray() if sparse.issparse(given_X) else given_X
    np.testing.assert_array_equal(dense, X)  # looked at, not changed


@settings(max_examples=40, deadline=None)
@given(table=tables(), seed=st.integers(0, 99))
def test_rows_are_gathered_where_they_are_not_together(table, seed):
    X, lists = table
    rows = np.random.default_rng(seed).permutation(lists.n_rows)
    scattered = np.empty_like(X)
    scattered[rows] = X
    assert constant_features(scattered, lists, rows).tolist() == by_hand(X, lists)


def test_read_only_memory_maps_work(tmp_path):
    rng = np.random.default_rng(0)
    lists = Lists(np.full(200, 3))
    X = rng.normal(size=(600, 4))
    X[:, 1] = lists.expand(rng.normal(size=200))
    rows = rng.permutation(600)
    np.save(tmp_path / "X.npy", X[np.argsort(rows)])
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert constant_features(mapped, lists, rows).tolist() == [
        False,
        True,
        False,
        False,
    ]


def test_a_feature_that_varies_in_the_last_list_only_is_not_constant():
    lists = Lists(np.full(500, 2))
    X = np.ones((1000, 3))
    X[-1, 1] = 2
    for form in FORMS.values():
        assert constant_features(form(X), lists).tolist() == [True, False, True]


def test_a_large_table_is_looked_at_in_small_steps(monkeypatch):
    monkeypatch.setattr(features, "STEP_BYTES", 64)
    lists = Lists(np.full(500, 2))
    X = np.ones((1000, 3))
    X[-1, 1] = 2
    for form in FORMS.values():
        assert constant_features(form(X), lists).tolist() == [True, False, True]


def test_lists_of_one_row_make_every_feature_constant():
    X = np.arange(6.0).reshape(3, 2)
    assert constant_features(X, Lists([1, 1, 1])).tolist() == [True, True]
    assert constant_features(sparse.csr_array(X), Lists([1, 1, 1])).all()


def test_sparse_features_are_constant_where_they_fill_lists_or_store_zeros_alone():
    dense = np.array([[1.0, 0, 0, 5], [1, 0, 2, 5], [0, 0, 0, 6], [0, 3, 0, 6]])
    X = sparse.csr_array(dense)
    lists = Lists([2, 2])
    assert constant_features(X, lists).tolist() == [True, False, False, True]
    with_zeros = X.copy()
    with_zeros.data[with_zeros.data == 3] = 0
    assert constant_features(with_zeros, lists).tolist() == [True, True, False, True]


def test_a_sparse_feature_of_few_values_is_decided_without_a_look_at_rows(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("rows were looked at")

    monkeypatch.setattr(features, "_varied_sparse", refuse)
    X = sparse.csr_array(np.eye(6))
    assert not constant_features(X, Lists([3, 3])).any()


def test_a_sparse_value_in_two_parts_counts_as_their_sum():
    parts = [1.0, -1.0, 2.0, 1.0, 1.0], [0, 0, 1, 1, 1], [0, 3, 5]
    X = sparse.csr_array(parts, shape=(2, 2))
    assert constant_features(X, Lists([2])).tolist() == [True, True]


def test_a_sparse_feature_without_entries_is_constant():
    X = sparse.csr_array((4, 3))
    assert constant_features(X, Lists([2, 2])).tolist() == [True, True, True]
