"""QueryKFold, QueryShuffleSplit and group_train_test_split keep lists whole."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    cross_val_predict,
    cross_val_score,
)

from skrank import with_groups
from skrank.model_selection import (
    QueryKFold,
    QueryShuffleSplit,
    group_train_test_split,
)

RNG = np.random.default_rng(0)
N_LISTS = 12
LISTS = RNG.permutation(np.repeat(np.arange(N_LISTS), RNG.integers(1, 9, N_LISTS)))
N_ROWS = len(LISTS)
X = RNG.normal(size=(N_ROWS, 3))
Y = RNG.integers(3, size=N_ROWS)
PAIRS = [  # ours, scikit-learn's
    (QueryKFold(3), GroupKFold(3)),
    (
        QueryKFold(3, shuffle=True, random_state=0),
        GroupKFold(3, shuffle=True, random_state=0),
    ),
    (
        QueryShuffleSplit(4, test_size=0.3, random_state=0),
        GroupShuffleSplit(4, test_size=0.3, random_state=0),
    ),
]
SPLITTERS = [ours for ours, _ in PAIRS]


def as_lists(splits):
    return [(train.tolist(), test.tolist()) for train, test in splits]


def assert_lists_are_whole(splits, labels):
    for train, test in splits:
        sides = [{labels[row] for row in rows} for rows in (train, test)]
        assert all(sides)
        assert not sides[0] & sides[1]


LABELS = {
    "integers": LISTS,
    "integers that floats cannot tell apart": LISTS + 2**62,
    "unsigned beyond 2**63": LISTS.astype(np.uint64) + np.uint64(2**63),
    "floats": LISTS / 7,
    "strings": LISTS.astype(str),
    "dates": np.datetime64("2020-01-01") + LISTS,
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=str)
def test_splits_are_those_of_scikit_learn_for_labels_that_sort(ours, theirs, labels):
    # numpy 2.0's isin, in scikit-learn's splitter, fails for unsigned labels.
    codes = np.unique(labels, return_inverse=True)[1]
    expected = as_lists(theirs.split(X, Y, codes))
    assert as_lists(ours.split(X, Y, labels)) == expected
    assert as_lists(ours.split(X, with_groups(Y, labels))) == expected
    assert as_lists(ours.split(X, Y, labels.tolist())) == expected
    assert_lists_are_whole(expected, LISTS)


ODD_LABELS = {
    "tuples": [("user", int(label)) for label in LISTS],
    "mixed objects": [str(x) if x % 2 else int(x) for x in LISTS],
    "categories": pd.Categorical(LISTS.astype(str)),
    "polars": pl.Series(LISTS),
    "bytes": LISTS.astype("S"),
    "a series with an index of its own": pd.Series(
        LISTS, index=RNG.permutation(N_ROWS)
    ),
}


@pytest.mark.parametrize("labels", ODD_LABELS.values(), ids=ODD_LABELS)
@pytest.mark.parametrize("splitter", SPLITTERS, ids=str)
def test_lists_with_any_hashable_labels_are_never_cut(splitter, labels):
    splits = as_lists(splitter.split(X, Y, labels))
    assert len(splits) == splitter.get_n_splits()
    assert_lists_are_whole(splits, LISTS)
    assert splits == as_lists(splitter.split(X, with_groups(Y, labels)))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=6, max_size=40).filter(
        lambda labels: len(set(labels)) > 2
    ),
    st.booleans(),
)
def test_each_row_is_tested_once_and_row_order_does_not_matter(labels, shuffle):
    splitter = QueryKFold(2, shuffle=shuffle, random_state=0 if shuffle else None)
    rows = np.arange(len(labels))
    splits = list(splitter.split(rows, groups=labels))
    assert_lists_are_whole(splits, labels)
    assert sorted(np.concatenate([test for _, test in splits])) == rows.tolist()
    order = np.random.default_rng(len(labels)).permutation(rows)
    permuted = splitter.split(rows, groups=[labels[row] for row in order])
    for (_, test), (_, other) in zip(splits, permuted, strict=True):
        assert sorted(order[other]) == test.tolist()


def test_number_and_string_labels_that_sort_alike_give_the_same_folds():
    names = [f"q{label:02d}" for label in LISTS]
    for splitter in SPLITTERS:
        numbers = as_lists(splitter.split(X, Y, LISTS))
        assert as_lists(splitter.split(X, Y, names)) == numbers


@pytest.mark.parametrize("splitter", SPLITTERS, ids=str)
def test_groups_coarser_than_the_lists_win_over_the_index(splitter):
    users = LISTS // 2
    splits = as_lists(splitter.split(X, with_groups(Y, LISTS), users))
    assert splits == as_lists(splitter.split(X, Y, users))
    assert_lists_are_whole(splits, users)


@pytest.mark.parametrize("splitter", SPLITTERS, ids=str)
def test_groups_that_cut_a_list_of_y_raise_and_name_one(splitter):
    y = with_groups([1, 0, 2, 0, 1, 0], ["a", "a", "b", "b", "c", "c"])
    pattern = rf"{type(splitter).__name__}\.split: groups= would cut 1 of 3 .*list 'b'"
    with pytest.raises(ValueError, match=pattern):
        splitter.split(np.zeros((6, 1)), y, [1, 1, 1, 2, 3, 3])


@pytest.mark.parametrize("splitter", SPLITTERS, ids=str)
def test_missing_or_broken_groups_raise_at_the_call(splitter):
    name = f"{type(splitter).__name__}.split"
    with pytest.raises(ValueError, match=rf"^{name} needs to know which rows form"):
        splitter.split(X, Y)
    with pytest.raises(ValueError, match="groups has 1 missing"):
        splitter.split(X[:2], Y[:2], [1.0, np.nan])
    with pytest.raises(ValueError, match="LightGBM"):
        splitter.split(X[:5], Y[:5], [2, 3])
    with pytest.raises(ValueError, match="2 entries for 3 rows"):
        splitter.split(X[:3], with_groups([0, 1], [1, 2]))


def test_fewer_lists_than_folds_raise():
    with pytest.raises(ValueError, match="greater than the number of groups: 2"):
        list(QueryKFold(3).split(X[:4], Y[:4], ["a", "a", "b", "b"]))


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=str)
def test_splitters_are_scikit_learns_in_every_other_way(ours, theirs):
    assert ours.get_n_splits() == theirs.get_n_splits()
    assert repr(ours) == repr(theirs).replace("Group", "Query")
    again = pickle.loads(pickle.dumps(clone(ours, safe=False)))
    expected = as_lists(ours.split(X, Y, LISTS))
    assert as_lists(again.split(X, Y, LISTS)) == expected
    default, other = type(ours)(), type(theirs)()
    assert vars(default) == vars(other)


# Inside scikit-learn's tools.

GRID = {"alpha": [0.1, 10.0, 1000.0]}


def scores_by_hand(alpha, splits):
    return [
        Ridge(alpha=alpha).fit(X[train], Y[train]).score(X[test], Y[test])
        for train, test in splits
    ]


def assert_search_equals_a_loop(search, splits):
    splits = list(splits)
    for number, alpha in enumerate(GRID["alpha"]):
        by_hand = scores_by_hand(alpha, splits)
        for fold, score in enumerate(by_hand):
            test_score = search.cv_results_[f"split{fold}_test_score"][number]
            np.testing.assert_allclose(test_score, score, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=str)
def test_a_search_without_routing_splits_by_the_index_of_y(ours, theirs):
    search = GridSearchCV(Ridge(), GRID, cv=ours).fit(X, with_groups(Y, LISTS))
    assert_search_equals_a_loop(search, theirs.split(X, Y, LISTS))


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=str)
def test_a_search_without_routing_splits_by_the_argument(ours, theirs):
    users = LISTS // 2
    search = GridSearchCV(Ridge(), GRID, cv=ours)
    search.fit(X, with_groups(Y, LISTS), groups=users)
    assert_search_equals_a_loop(search, theirs.split(X, Y, users))


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=str)
def test_a_search_with_routing_hands_groups_to_the_splitter(ours, theirs):
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(Ridge(), GRID, cv=ours)
        search.fit(X, Y, groups=[("q", label) for label in LISTS.tolist()])
        assert_search_equals_a_loop(search, theirs.split(X, Y, LISTS))
        search.fit(X, with_groups(Y, LISTS))
        assert_search_equals_a_loop(search, theirs.split(X, Y, LISTS))


def test_a_split_request_may_take_another_name():
    users = LISTS // 2
    with sklearn.config_context(enable_metadata_routing=True):
        splitter = QueryKFold(3).set_split_request(groups="users")
        search = GridSearchCV(Ridge(), GRID, cv=splitter)
        search.fit(X, with_groups(Y, LISTS), users=users)
    assert_search_equals_a_loop(search, GroupKFold(3).split(X, Y, users))


def test_cross_validation_takes_the_splitter_in_other_processes_too():
    y = with_groups(Y, LISTS)
    scores = cross_val_score(Ridge(0.1), X, y, cv=QueryKFold(3), n_jobs=2)
    by_hand = scores_by_hand(0.1, GroupKFold(3).split(X, Y, LISTS))
    np.testing.assert_allclose(scores, by_hand, rtol=1e-12, atol=1e-12)
    assert cross_val_predict(Ridge(), X, y, cv=QueryKFold(3)).shape == (N_ROWS,)


def test_a_search_without_groups_says_what_is_missing():
    with pytest.raises(ValueError, match=r"QueryKFold\.split.*routing is off"):
        GridSearchCV(Ridge(), GRID, cv=QueryKFold(3)).fit(X, Y)
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match=r"QueryKFold\.split.*routing is on"),
    ):
        GridSearchCV(Ridge(), GRID, cv=QueryKFold(3)).fit(X, Y)


# group_train_test_split.


def test_a_split_puts_whole_lists_on_each_side_in_row_order():
    parts = group_train_test_split(X, Y, LISTS, random_state=0)
    X_train, X_test, y_train, y_test, groups_train, groups_test = parts
    assert len(set(groups_test)) == N_LISTS // 4
    assert not set(groups_train) & set(groups_test)
    is_test = np.isin(LISTS, groups_test)
    for (train, test), whole in [
        ((X_train, X_test), X),
        ((y_train, y_test), Y),
        ((groups_train, groups_test), LISTS),
    ]:
        np.testing.assert_array_equal(train, whole[~is_test])
        np.testing.assert_array_equal(test, whole[is_test])


def test_sizes_count_lists_and_seeds_decide():
    def tested(**sizes):
        return set(group_train_test_split(X, Y, LISTS, **sizes)[5].tolist())

    assert len(tested(test_size=5, random_state=0)) == 5
    assert len(tested(test_size=0.5, random_state=0)) == 6
    assert len(tested(train_size=0.75, random_state=0)) == 3
    assert tested(random_state=1) == tested(random_state=1)
    assert len({frozenset(tested(random_state=seed)) for seed in range(9)}) > 1
    with pytest.raises(ValueError, match="test_size=12"):
        tested(test_size=12)


def test_groups_on_the_index_of_y_are_enough_and_stay_there():
    names = [("q", label) for label in LISTS.tolist()]
    y = with_groups(Y, names)
    parts = group_train_test_split(X, y, random_state=0)
    _, _, y_train, y_test, groups_train, groups_test = parts
    assert isinstance(groups_test, np.ndarray)
    assert y_train.index.tolist() == groups_train.tolist()
    assert y_test.index.tolist() == groups_test.tolist()
    assert set(groups_test.tolist()) <= set(names)
    by_argument = group_train_test_split(X, Y, names, random_state=0)
    assert by_argument[5] == groups_test.tolist()


def test_a_split_by_users_keeps_the_lists_of_y_on_its_index():
    users = LISTS // 3
    parts = group_train_test_split(X, with_groups(Y, LISTS), users, random_state=0)
    _, _, y_train, y_test, users_train, users_test = parts
    assert not set(users_train) & set(users_test)
    assert (y_test.index.to_numpy() // 3).tolist() == users_test.tolist()
    assert len(y_train) + len(y_test) == N_ROWS


def test_a_split_by_users_that_cuts_a_list_raises():
    y = with_groups([1, 0, 2, 0], ["a", "a", "b", "b"])
    with pytest.raises(
        ValueError, match=r"^group_train_test_split: .*such as list 'b'"
    ):
        group_train_test_split(np.zeros((4, 1)), y, [1, 1, 1, 2])


def test_a_split_without_groups_raises():
    with pytest.raises(ValueError, match=r"^group_train_test_split needs to know"):
        group_train_test_split(X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        group_train_test_split(X, Y[:-1], LISTS)


CONTAINERS = {
    "pandas": (pd.DataFrame(X), pd.Series(Y), pd.Series(LISTS)),
    "pandas categories": (X, Y, pd.Categorical(LISTS)),
    "pandas index": (X, Y, pd.Index(LISTS)),
    "polars": (pl.DataFrame(X), pl.Series(Y), pl.Series(LISTS)),
    "lists": (X.tolist(), Y.tolist(), LISTS.tolist()),
    "tuple": (X, Y, tuple(LISTS.tolist())),
    "CSR": (sparse.csr_array(X), Y, LISTS),
    "COO": (sparse.coo_array(X), Y, LISTS),
    "CSC": (sparse.csc_matrix(X), Y, LISTS),
}


@pytest.mark.parametrize(("X_", "y_", "groups_"), CONTAINERS.values(), ids=CONTAINERS)
def test_containers_of_every_kind_are_split_alike(X_, y_, groups_):
    parts = group_train_test_split(X_, y_, groups_, random_state=0)
    expected = group_train_test_split(X, Y, LISTS, random_state=0)
    for part, array in zip(parts, expected, strict=True):
        dense = part.toarray() if sparse.issparse(part) else np.asarray(part)
        np.testing.assert_array_equal(dense, array)
    for part, whole in zip(parts[::2], (X_, y_, groups_), strict=True):
        if hasattr(whole, "columns") or isinstance(whole, pd.Series | pl.Series | list):
            assert type(part) is type(whole)


def test_memory_maps_are_split(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    parts = group_train_test_split(mapped, Y, LISTS, random_state=0)
    expected = group_train_test_split(X, Y, LISTS, random_state=0)
    np.testing.assert_array_equal(parts[0], expected[0])
