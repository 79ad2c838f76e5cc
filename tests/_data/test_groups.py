"""Finding, checking and coding groups (skrank/_data/groups.py)."""

import re
from datetime import date, datetime
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass, isroutine, signature
from pkgutil import walk_packages

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import skrank
from skrank import ListMLERanker, rank_within, with_groups
from skrank._data.grouping import group_rows, groups_on_index
from skrank._data.groups import (
    find_groups,
    list_labels,
    missing_groups_message,
    suggests_groups,
)
from skrank.inspection import explain_scores
from skrank.interop import from_ranks
from skrank.metrics import ndcg_score


def as_sets(groups, n_rows=None):
    """Return the partition as a dictionary from label to its rows in list order."""
    grouping = group_rows(groups, n_rows)
    rows = grouping.gather(np.arange(grouping.lists.n_rows))
    offsets = grouping.lists.offsets
    return {
        label: rows[start:stop].tolist()
        for label, start, stop in zip(
            grouping.labels.tolist(), offsets[:-1], offsets[1:], strict=True
        )
    }


def by_hand(labels):
    rows = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    return rows


# Labels of every kind: (what the caller passes, what each row's label is).
TZ = pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01"] * 2, utc=True))
DAYS = np.array(["2020-01-02", "2020-01-01", "2020-01-02"], dtype="datetime64[D]")
KINDS = {
    **{
        str(np.dtype(kind)): (np.array([3, 1, 3, 2, 1], dtype=kind), [3, 1, 3, 2, 1])
        for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
    },
    "int8 over its whole range": (np.int8([127, -128, 127]), [127, -128, 127]),
    "memoryview": (memoryview(b"\x03\x01\x03"), [3, 1, 3]),
    "uint64 above 2**63": (
        np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
        [2**64 - 1, 2**64 - 2, 2**64 - 1],
    ),
    "int64 that floats cannot tell apart": (
        np.array([2**62, 2**62 + 1, -(2**62), -(2**62) - 1, 2**62]),
        [2**62, 2**62 + 1, -(2**62), -(2**62) - 1, 2**62],
    ),
    "list of such integers": (
        [2**62, 2**62 + 1, 2**62],
        [2**62, 2**62 + 1, 2**62],
    ),
    "integers beyond 64 bits": ([2**70, 2**70 + 1, 2**70], [2**70, 2**70 + 1, 2**70]),
    "infinite floats": ([np.inf, -np.inf, 0.5, np.inf], [np.inf, -np.inf, 0.5, np.inf]),
    "bools": (np.array([True, False, True]), [True, False, True]),
    "list of bools": ([True, False, True], [True, False, True]),
    "complex": (np.array([1j, 0, 1j]), [1j, 0, 1j]),
    "list of strings": (["q2", "q1", "q2"], ["q2", "q1", "q2"]),
    "array of strings": (np.array(["q2", "q1", "q2"]), ["q2", "q1", "q2"]),
    "array of bytes": (np.array([b"q2", b"q1", b"q2"]), [b"q2", b"q1", b"q2"]),
    "array of variable strings": (
        np.array(["b", "a", "b"], dtype=np.dtypes.StringDType()),
        ["b", "a", "b"],
    ),
    "strings as objects": (np.array(["b", "a", "b"], dtype=object), ["b", "a", "b"]),
    "tuple of strings": (("b", "a", "b"), ["b", "a", "b"]),
    "range": (range(3), [0, 1, 2]),
    "tuples": (
        [("u", 1), ("u", 2), ("v", 1), ("u", 1)],
        [("u", 1), ("u", 2), ("v", 1), ("u", 1)],
    ),
    "records": (
        np.array([(1, 2), (1, 3), (1, 2)], dtype="i,i"),
        [(1, 2), (1, 3), (1, 2)],
    ),
    "mixed objects": ([1, "1", 1, "a"], [1, "1", 1, "a"]),
    "frozensets": (
        [frozenset("ab"), frozenset("a"), frozenset("ba")],
        [frozenset("ab"), frozenset("a"), frozenset("ab")],
    ),
    "dates": (
        [date(2020, 1, 2), date(2020, 1, 1), date(2020, 1, 2)],
        [date(2020, 1, 2), date(2020, 1, 1), date(2020, 1, 2)],
    ),
    "datetime64": (DAYS, DAYS.tolist()),
    "timedelta64": (DAYS - DAYS[1], (DAYS - DAYS[1]).tolist()),
    "pandas integers": (pd.Series([3, 1, 3], index=[9, 8, 7]), [3, 1, 3]),
    "pandas nullable integers": (pd.Series([3, 1, 3], dtype="Int64"), [3, 1, 3]),
    "pandas strings": (pd.Series(["b", "a", "b"]), ["b", "a", "b"]),
    "pandas object strings": (
        pd.Series(["b", "a", "b"], dtype=object),
        ["b", "a", "b"],
    ),
    "pandas index": (pd.Index(["b", "a", "b"]), ["b", "a", "b"]),
    "pandas multi-index": (
        pd.MultiIndex.from_arrays([[1, 1, 1], ["b", "a", "b"]]),
        [(1, "b"), (1, "a"), (1, "b")],
    ),
    "categorical": (pd.Categorical(["b", "a", "b"]), ["b", "a", "b"]),
    "categorical with unused categories": (
        pd.Series(pd.Categorical([30, 10, 30], categories=[10, 20, 30, 40])),
        [30, 10, 30],
    ),
    "dates with a time zone": (TZ, TZ.tolist()),
    "pandas periods": (
        pd.PeriodIndex(["2020-02", "2020-01", "2020-02"], freq="M"),
        list(pd.PeriodIndex(["2020-02", "2020-01", "2020-02"], freq="M")),
    ),
    "polars integers": (
        pl.Series([2**62 + 1, 2**62, 2**62 + 1]),
        [2**62 + 1, 2**62, 2**62 + 1],
    ),
    "polars strings": (pl.Series(["b", "a", "b"]), ["b", "a", "b"]),
    "polars categorical": (
        pl.Series(["b", "a", "b"], dtype=pl.Categorical),
        ["b", "a", "b"],
    ),
    "polars dates": (
        pl.Series([date(2020, 1, 2), date(2020, 1, 1)] * 2),
        [date(2020, 1, 2), date(2020, 1, 1)] * 2,
    ),
    "masked array without masked entries": (np.ma.array([3, 1, 3]), [3, 1, 3]),
}


@pytest.mark.parametrize(("given_labels", "labels"), KINDS.values(), ids=KINDS)
def test_labels_of_every_kind_give_the_lists_that_a_dictionary_gives(
    given_labels, labels
):
    assert as_sets(given_labels, len(labels)) == by_hand(labels)


def test_pyarrow_strings_and_integers_are_labels():
    pytest.importorskip("pyarrow")
    strings = pd.Series(["b", "a", "b"], dtype="string[pyarrow]")
    assert as_sets(strings) == {"b": [0, 2], "a": [1]}
    integers = pd.Series([2**62 + 1, 2**62, 2**62 + 1], dtype="int64[pyarrow]")
    assert as_sets(integers) == {2**62 + 1: [0, 2], 2**62: [1]}


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30),
        st.lists(st.integers(-3, 3), min_size=1, max_size=30),
        st.lists(st.sampled_from(["", "a", "b", "ab"]), min_size=1, max_size=30),
        st.lists(st.floats(allow_nan=False), min_size=1, max_size=30),
        st.lists(st.tuples(st.integers(0, 1), st.text(max_size=1)), min_size=1),
    )
)
def test_any_labels_in_any_order_give_the_lists_that_a_dictionary_gives(labels):
    assert as_sets(labels) == by_hand(labels)
    assert list_labels(labels).tolist() == sorted(set(labels))


@pytest.mark.parametrize("n_groups", [3, 70_000])
def test_rows_of_a_list_keep_their_order_however_many_lists_there_are(n_groups):
    labels = np.random.default_rng(0).integers(n_groups, size=200_000)
    grouping = group_rows(labels)
    expected = np.lexsort((np.arange(len(labels)), labels))
    np.testing.assert_array_equal(grouping.rows, expected)
    np.testing.assert_array_equal(grouping.labels, np.unique(labels))
    np.testing.assert_array_equal(grouping.lists.sizes, np.unique_counts(labels)[1])


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, "U3", object, np.float64])
def test_rows_that_are_together_stay_where_they_are(dtype):
    grouping = group_rows(np.array([3, 3, 1, 1, 1, 2]).astype(dtype))
    assert grouping.rows is None
    assert grouping.lists.sizes.tolist() == [2, 3, 1]
    assert grouping.labels.tolist() == np.array([3, 1, 2]).astype(dtype).tolist()


def test_relabelled_or_shuffled_groups_are_the_same_lists():
    labels = np.array([3, 3, 1, 1, 1, 2])
    lists = set(map(tuple, as_sets(labels).values()))
    assert lists == {(0, 1), (2, 3, 4), (5,)}
    for other in (labels * 10, -labels, labels.astype(str), labels.astype(float)):
        assert set(map(tuple, as_sets(other).values())) == lists
    order = np.random.default_rng(0).permutation(6)
    shuffled = {frozenset(order[rows]) for rows in as_sets(labels[order]).values()}
    assert shuffled == set(map(frozenset, lists))


@pytest.mark.parametrize(
    ("labels", "missing"),
    [
        ([1.0, np.nan], 1),
        (np.array([np.nan, np.nan, 1.0], dtype=np.float32), 2),
        (np.array([complex(0, np.nan), 1]), 1),
        (["a", None, None], 2),
        ([1, float("nan"), float("nan")], 2),
        (["a", pd.NA], 1),
        ([pd.Timestamp("2020-01-01"), pd.NaT], 1),
        (np.array(["NaT", "2020-01-01"], dtype="datetime64[s]"), 1),
        (np.array(["NaT", 1], dtype="timedelta64[s]"), 1),
        ([Decimal("NaN"), Decimal(1)], 1),
        ([("u", None), ("u", 1)], 1),
        ([("u", (float("nan"), 1)), ("u", 1)], 1),
        (np.array([(np.nan, 1), (2.0, 1)], dtype="f8,i4"), 1),
        (np.ma.array([1, 2, 3], mask=[False, True, True]), 2),
        (pd.Series([1, None], dtype="Int64"), 1),
        (pd.Series([1, None]), 1),
        (pd.Series(["a", None]), 1),
        (pd.Categorical(["a", None]), 1),
        (pd.Categorical([1, None]), 1),
        (pl.Series([1, None]), 1),
        (pl.Series(["a", None]), 1),
        (np.array(["a", None], dtype=np.dtypes.StringDType(na_object=None)), 1),
    ],
    ids=repr,
)
def test_missing_labels_raise_with_their_number(labels, missing):
    with pytest.raises(ValueError, match=f"groups has {missing} missing value"):
        group_rows(labels)


def test_missing_pyarrow_labels_raise():
    pytest.importorskip("pyarrow")
    for labels in (["a", None], [1, None]):
        dtype = "string[pyarrow]" if labels[0] == "a" else "int64[pyarrow]"
        with pytest.raises(ValueError, match="groups has 1 missing value"):
            group_rows(pd.Series(labels, dtype=dtype))


CATEGORIES = {
    "strings": ["b", "c", "a", "unused"],
    "integers": [30, 10, 20, 0],
    "floats": [2.5, -1.0, 0.0, 9.0],
    "bools": [True, False],
    "tuples": pd.Index([("b", 1), ("a", 2), ("a", 1)], tupleize_cols=False),
    "both strings and numbers": ["b", 1, "a"],
    "dates": pd.DatetimeIndex(["2020-01-02", "2020-01-01"]),
    "dates with a zone": pd.DatetimeIndex(["2020-01-02", "2020-01-01"], tz="CET"),
    "nullable integers": pd.array([3, 1, 2], dtype="Int64"),
    "intervals": pd.interval_range(0, 3)[::-1],
}


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_are_the_same_groups_as_their_labels(kind, ordered, together):
    rng = np.random.default_rng(0)
    categories = CATEGORIES[kind]
    codes = rng.integers(0, max(2, len(categories) - 1), size=40)
    codes = np.sort(codes)[::-1] if together else codes
    groups = pd.Categorical.from_codes(codes, categories=categories, ordered=ordered)
    expected = group_rows(np.asarray(groups))
    for same in (groups, pd.Series(groups, index=codes), pd.CategoricalIndex(groups)):
        grouping = group_rows(same, 40)
        assert grouping.labels.dtype == expected.labels.dtype
        assert grouping.labels.tolist() == expected.labels.tolist()
        np.testing.assert_array_equal(grouping.lists.sizes, expected.lists.sizes)
        assert (grouping.rows is None) == (expected.rows is None) == together
        np.testing.assert_array_equal(grouping.rows, expected.rows)
        assert list_labels(same).tolist() == list_labels(np.asarray(groups)).tolist()


def test_labels_of_categories_are_not_looked_at_row_by_row(monkeypatch):
    monkeypatch.setattr(skrank._data.grouping, "_code_objects", None)
    groups = pd.Categorical(["b", "a", "b", "c"])
    assert as_sets(groups) == {"a": [1], "b": [0, 2], "c": [3]}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (pd.Categorical([("a", 1), ("a", np.nan)]), "groups has 1 missing"),
        (pd.Categorical(["a", None, None]), "groups has 2 missing"),
        (pd.Categorical([]), "groups is empty"),
    ],
    ids=["in a tuple", "rows", "empty"],
)
def test_categories_that_miss_rows_raise(groups, message):
    with pytest.raises(ValueError, match=message):
        group_rows(groups)
    with pytest.raises(ValueError, match=f"{len(groups)} entries for 7 rows"):
        group_rows(groups, 7)


def test_strings_floats_dates_and_tuples_are_labels():
    assert as_sets(["q1", "q1", "q2"]) == {"q1": [0, 1], "q2": [2]}
    assert as_sets([1.0, 1.0, 2.0]) == {1.0: [0, 1], 2.0: [2]}
    days = [datetime(2020, 1, 1), datetime(2020, 1, 1), datetime(2020, 1, 2)]
    assert as_sets(days) == {days[0]: [0, 1], days[2]: [2]}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros((4, 1)), r"one-dimensional, got shape \(4, 1\).*groups\[:, 0\]"),
        (np.array(3), r"one-dimensional, got shape \(\)"),
        (pd.DataFrame({"a": [1, 2]}), r"one-dimensional, got shape \(2, 1\)"),
        (pl.DataFrame({"a": [1, 2]}), r"one-dimensional, got shape \(2, 1\)"),
        (sparse.csr_array(np.eye(4)), r"one-dimensional, got shape \(4, 4\)"),
        ([[1], [2]], "sequence of sequences.*must be tuples"),
        ([np.zeros(2), np.zeros(2)], "sequence of sequences"),
        (np.array([[1], [2, 3]], dtype=object), "hashable labels.*unhashable"),
        ([{1}, {2}], "hashable labels.*unhashable type: 'set'"),
        ([("a", [1]), ("b", [2])], "hashable labels"),
        (3, r"one label per row, got 3\..*np\.zeros\(len\(y\)\)"),
        (np.float64(3), "one label per row"),
        ("aab", "one label per row, got 'aab'"),
        (b"aab", "one label per row"),
        (None, "one label per row, got None"),
        ({1, 2}, "an array or a list.*got set"),
        ({1: 2}, "an array or a list.*got dict"),
        pytest.param(
            iter([1, 2]), "an array or a list.*got list_iterator", id="iterator"
        ),
        ([], "groups is empty"),
        (np.array([]), "groups is empty"),
    ],
    ids=lambda value: re.sub(r"\s+", " ", repr(value))[:40],
)
def test_what_is_not_one_label_a_row_raises_with_advice(groups, message):
    with pytest.raises(ValueError, match=message):
        group_rows(groups)


def test_a_wrong_length_names_both_lengths():
    with pytest.raises(
        ValueError, match=r"3 entries for 4 rows.*one group label"
    ) as info:
        group_rows(["a", "b", "c"], 4)
    assert "LightGBM" not in str(info.value)


@pytest.mark.parametrize(
    "sizes",
    [[2, 3], np.array([2, 3]), pl.Series([2, 3]), [2.0, 3.0], np.float32([2, 3])],
    ids=repr,
)
def test_list_sizes_raise_with_the_way_to_turn_them_into_labels(sizes):
    with pytest.raises(ValueError, match="as LightGBM takes them, use groups=") as info:
        group_rows(sizes, 5)
    advice = str(info.value).partition("use groups=")[2].removesuffix(".")
    labels = eval(advice, {"np": np, "sizes": sizes})
    assert as_sets(labels, 5) == {0: [0, 1], 1: [2, 3, 4]}


@pytest.mark.parametrize(
    "labels", [[2.5, 2.5], [2.0, 2.0], [5.0, np.nan], [np.inf, -np.inf], ["2", "3"]]
)
def test_labels_that_cannot_be_sizes_get_no_such_advice(labels):
    with pytest.raises(ValueError, match=r"one group label per row\.$"):
        group_rows(labels, 5)


def test_gather_brings_lists_together_and_scatter_undoes_it():
    values = np.arange(5.0)
    shuffled = group_rows(["b", "a", "b", "a", "c"])
    assert shuffled.gather(values).tolist() == [0, 2, 1, 3, 4]
    assert shuffled.scatter(shuffled.gather(values)).tolist() == values.tolist()
    together = group_rows(["b", "b", "a"])
    assert together.gather(values[:3]).tolist() == [0, 1, 2]
    assert together.scatter(values[:3]).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "labels",
    [
        [3, 3, 1, 2],
        [3, 1, 3, 2],
        ["b", "b", "a", "c"],
        [("b", 1), ("a", 2), ("b", 1)],
        np.array([0.5, -0.5, 0.5]),
        np.array(["b", "a", "c"]),
        [True, False, True],
        np.array(["2020-02", "2020-01"], dtype="datetime64[M]"),
    ],
    ids=repr,
)
def test_labels_of_lists_are_sorted_where_they_can_be(labels):
    rows = labels.tolist() if isinstance(labels, np.ndarray) else labels
    assert list_labels(labels).tolist() == sorted(set(rows))


@pytest.mark.parametrize("labels", [["b", 1, "a", 1, "b"], ["b", "b", 1, "a"]])
def test_labels_that_cannot_be_sorted_stay_as_they_first_appear(labels):
    assert list_labels(labels).tolist() == ["b", 1, "a"]
    assert group_rows(labels).label_order() is None


def test_label_order_brings_values_a_list_into_the_order_of_labels():
    grouping = group_rows(np.array([3, 3, 1, 1, 2]))
    order = grouping.label_order()
    assert grouping.labels[order].tolist() == [1, 2, 3]
    assert grouping.lists.sizes[order].tolist() == [2, 1, 2]
    assert group_rows(np.array([1, 1, 2])).label_order() is None


# Where groups are looked for.


def frame_y(labels):
    index = pd.MultiIndex.from_arrays(
        [range(len(labels)), labels], names=["doc", "groups"]
    )
    return pd.DataFrame({"relevance": np.zeros(len(labels))}, index=index)


Y_WITH_GROUPS = {
    "series": pd.Series([1, 0, 2], index=pd.Index(["a", "b", "a"], name="groups")),
    "one level of several": frame_y(["a", "b", "a"])["relevance"],
    "frame of one column": frame_y(["a", "b", "a"]),
    "with_groups": with_groups([1, 0, 2], ["a", "b", "a"]),
}


@pytest.mark.parametrize("y", Y_WITH_GROUPS.values(), ids=Y_WITH_GROUPS)
def test_groups_come_from_the_index_of_y(y):
    assert as_sets(find_groups(y, None, "f", "y")) == {"a": [0, 2], "b": [1]}
    assert find_groups(y, ["a", "b", "a"], "f", "y") == ["a", "b", "a"]


@pytest.mark.parametrize("y", Y_WITH_GROUPS.values(), ids=Y_WITH_GROUPS)
def test_groups_that_differ_from_the_index_raise(y):
    with pytest.raises(ValueError, match=r"f was given groups= that differ from"):
        find_groups(y, ["a", "a", "b"], "f", "y")
    with pytest.raises(ValueError, match=r"f was given groups= that differ from"):
        find_groups(y, [0, 1, 0], "f", "y")


def test_the_argument_is_used_where_the_index_has_no_groups():
    for y in (
        [1, 0],
        np.array([1, 0]),
        (1, 0),
        pd.Series([1, 0]),
        pd.Series([1, 0], index=pd.Index([1, 2], name=pd.NA)),
        pl.Series([1, 0]),
    ):
        assert groups_on_index(y) is None
        assert find_groups(y, ["a", "b"], "f", "y") == ["a", "b"]


def test_a_conflict_is_seen_between_integers_that_floats_cannot_tell_apart():
    y = with_groups([0, 1], np.array([2**62 + 1, 2**62 + 1]))
    with pytest.raises(ValueError, match="differ"):
        find_groups(y, np.array([2.0**62, 2.0**62]), "f", "y")
    with pytest.raises(ValueError, match="differ"):
        find_groups(y, np.array([2**62, 2**62]), "f", "y")
    find_groups(y, np.array([2**62 + 1, 2**62 + 1], dtype=np.uint64), "f", "y")


def test_the_same_groups_in_another_type_are_no_conflict():
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    for labels, same in [
        ([1, 2], [1.0, 2.0]),
        (["a", "b"], pd.Categorical(["a", "b"])),
        (["a", "b"], np.array(["a", "b"])),
        ([("a", 1), ("b", 1)], pd.MultiIndex.from_tuples([("a", 1), ("b", 1)])),
        (days, days.tolist()),
        (days, list(pd.DatetimeIndex(days))),
        (days, days.astype("datetime64[ns]")),
        (days - days[0], list(pd.TimedeltaIndex(days - days[0]))),
    ]:
        find_groups(with_groups([0, 1], labels), same, "f", "y")
        find_groups(with_groups([0, 1], same), labels, "f", "y")
    with pytest.raises(ValueError, match="differ"):
        find_groups(with_groups([0, 1], days), ["a", "b"], "f", "y")
    with pytest.raises(ValueError, match="differ"):
        find_groups(with_groups([0, 1], days), [1, 2], "f", "y")


def test_missing_and_miscounted_groups_beside_an_index_get_their_own_message():
    y = with_groups([0, 1], [1.0, 2.0])
    with pytest.raises(ValueError, match="groups has 1 missing"):
        find_groups(y, [1.0, np.nan], "f", "y")
    with pytest.raises(ValueError, match="3 entries for 2 rows"):
        find_groups(y, [1.0, 2.0, 2.0], "f", "y")
    y = pd.Series([0, 1], index=pd.Index([1.0, np.nan], name="groups"))
    with pytest.raises(ValueError, match="groups has 1 missing"):
        find_groups(y, [1.0, 2.0], "f", "y")


@pytest.mark.parametrize("y", [[1, 2, 3, 4, 5], np.arange(5), pd.Series(range(5))])
def test_missing_groups_raise_instead_of_making_one_list(y):
    with pytest.raises(ValueError, match=r"^ListNetRanker\.fit needs to know") as info:
        find_groups(y, None, "ListNetRanker.fit", "y")
    assert str(info.value) == missing_groups_message("ListNetRanker.fit", "y")
    assert "groups=np.zeros(len(y))" in str(info.value)
    assert "with_groups" in str(info.value)


def test_missing_groups_say_whether_routing_is_on():
    assert "metadata routing is off, so tools" in missing_groups_message("f", "y")
    with sklearn.config_context(enable_metadata_routing=True):
        assert "metadata routing is on, but nothing" in missing_groups_message("f", "y")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda ranker, X: ranker.predict_rank(X), "X"),
        (lambda ranker, X: ranker.top_k_proba(X), "X"),
        (lambda ranker, X: explain_scores(ranker, X), "X"),
        (lambda ranker, X: rank_within(ranker.predict(X)), "scores"),
        (lambda ranker, X: from_ranks([1, 2]), "ranks"),
        (lambda ranker, X: ndcg_score([1, 0], [2, 1]), "y_true"),
    ],
)
def test_missing_groups_name_the_argument_that_may_carry_them(call, name):
    X = np.arange(6.0).reshape(3, 2)
    ranker = ListMLERanker().fit(X, [2, 1, 0], [0, 0, 0])
    with pytest.raises(ValueError, match="needs to know which rows form") as info:
        call(ranker, X)
    message = str(info.value)
    assert f"give a pandas {name} with an index level" in message
    assert f"groups=np.zeros(len({name}))" in message
    assert ("with_groups" in message) == (name == "y_true")
    assert ("outer fit" in message) == (name == "y_true")


class Ranked:
    """A class of one method that takes groups."""

    @suggests_groups
    def rank(self, y, groups=None, *, k=1):
        """Return what was given."""
        return y, groups, k


class Better(Ranked):
    """Another name."""


@pytest.mark.parametrize("name", ["group", "qid", "query_id", "Qid", "queries"])
def test_other_names_of_groups_raise_with_the_right_one(name):
    message = rf"^Better\.rank\(\) got .* '{name}'\. Did you mean 'groups', one label"
    with pytest.raises(TypeError, match=message):
        Better().rank([1], **{name: [1, 2]})
    with pytest.raises(TypeError, match=r"^list_labels\(\) got.*Did you mean 'groups'"):
        list_labels(**{name: [1, 2]})


def test_all_else_of_a_function_stays_as_it_is():
    with pytest.raises(TypeError, match=r"rank\(\) got an unexpected.*'grups'"):
        Better().rank([1], grups=[1])
    assert Better().rank([1], groups=[7], k=2) == ([1], [7], 2)
    assert list(signature(Better.rank).parameters) == ["self", "y", "groups", "k"]
    assert Better.rank.__doc__ == "Return what was given."


def routines_of(name, thing):
    """Return a public function, or the public methods of a class, by name."""
    if not isclass(thing):
        return {name: thing}
    # A ranker's class lacks methods of models that its loss is not.
    methods = [
        name
        for name in dir(thing)
        if (name == "__call__" or not name.startswith("_")) and hasattr(thing, name)
    ]
    return {f"{name}.{method}": getattr(thing, method) for method in methods}


def public_routines():
    """Return what is public and takes groups, by name."""
    modules = [module.name for module in walk_packages(skrank.__path__, "skrank.")]
    routines = {}
    for module in map(import_module, ["skrank", *filter(is_public, modules)]):
        for name in getattr(module, "__all__", ()):
            routines |= routines_of(name, getattr(module, name))
    return {name: routines[name] for name in routines if needs_advice(routines[name])}


def needs_advice(thing):
    own = getattr(thing, "__module__", "").startswith("skrank")
    return own and isroutine(thing) and "groups" in signature(thing).parameters


def is_public(module):
    for room, package in (("skrank.neural", "torch"), ("skrank.dask", "dask")):
        if module.startswith(room) and find_spec(package) is None:
            return False
    return "._" not in module


@pytest.mark.parametrize("name", PUBLIC := public_routines())
def test_every_public_function_that_takes_groups_knows_their_other_names(name):
    with pytest.raises(TypeError, match=r"got .* 'qid'\. Did you mean 'groups'"):
        PUBLIC[name](None, None, qid=[1, 2])


def test_functions_and_methods_of_all_parts_are_among_these():
    assert {
        *("ndcg_score", "rank_within", "with_groups", "list_labels", "from_ranks"),
        *("group_train_test_split", "compare_rankers", "learning_curve", "best_order"),
        *("ListMLERanker.fit", "ListMLERanker.score", "ListMLERanker.log_likelihood"),
        *("PMOPRanker.summary", "PMOPRanker.expected_level", "QueryKFold.split"),
        *("RankingScorer.__call__", "ListMLE.__call__", "QueryScaler.transform"),
    } <= set(PUBLIC)


# with_groups.


def test_with_groups_matches_rows_by_position_never_by_index():
    y = pd.Series([5, 6, 7], index=[2, 0, 1])
    groups = pd.Series(["a", "b", "c"], index=[1, 2, 0])
    out = with_groups(y, groups)
    assert out.tolist() == [5, 6, 7]
    assert groups_on_index(out).tolist() == ["a", "b", "c"]
    assert list(out.index.names) == ["groups"]


@pytest.mark.parametrize(("groups", "labels"), KINDS.values(), ids=KINDS)
def test_with_groups_carries_labels_of_every_kind_through_slicing(groups, labels):
    def rows_of_lists(partition):  # pandas turns days into seconds, so not by label
        return set(map(tuple, partition.values()))

    y = with_groups(np.arange(len(labels)), groups)
    assert rows_of_lists(as_sets(groups_on_index(y))) == rows_of_lists(by_hand(labels))
    sliced = y.iloc[::-1]
    assert sliced.tolist() == list(range(len(labels)))[::-1]
    expected = rows_of_lists(by_hand(labels[::-1]))
    assert rows_of_lists(as_sets(groups_on_index(sliced))) == expected
    assert find_groups(y, groups, "f", "y") is groups


def test_with_groups_takes_polars_and_lists_and_leaves_its_input_alone():
    assert with_groups(pl.Series([1, 0]), pl.Series(["a", "b"])).tolist() == [1, 0]
    y = np.array([1.0, 0.0])
    assert with_groups(y, [7, 7]).dtype == np.float64
    assert y.tolist() == [1.0, 0.0]


def test_with_groups_keeps_one_and_its_string_apart():
    assert with_groups([1, 0], [1, "1"]).index.tolist() == [1, "1"]


@pytest.mark.parametrize(
    ("y", "groups", "message"),
    [
        ([1, 0], ["a"], "1 entries for 2 rows"),
        ([1, 0, 2, 1, 0], [2, 3], "LightGBM"),
        ([[1], [0]], ["a", "b"], r"y must be one-dimensional, got shape \(2, 1\)"),
        ([1, 0], [["a"], ["b"]], "groups must be one-dimensional"),
        ([1, 0], ["a", None], "groups has 1 missing"),
        ([1, 0], None, "one label per row, got None"),
        ([], [], "groups is empty"),
    ],
)
def test_with_groups_raises_on_what_does_not_fit(y, groups, message):
    with pytest.raises(ValueError, match=message):
        with_groups(y, groups)


def test_with_groups_without_pandas_says_what_to_do(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas.*routing"):
        with_groups([1, 0], ["a", "b"])


def test_groups_work_where_pandas_is_not_imported(monkeypatch):
    monkeypatch.delitem(__import__("sys").modules, "pandas")
    with pytest.raises(ValueError, match="groups has 1 missing"):
        group_rows(["a", None])


def test_with_groups_refuses_masked_labels():
    with pytest.raises(ValueError, match="y has 1 masked entries"):
        with_groups(np.ma.array([1, 0], mask=[False, True]), [7, 7])
