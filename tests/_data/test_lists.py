"""Lists and Levels (skrank/_data/lists.py)."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax

from skrank import Lists
from skrank._data.lists import Levels

SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=8)


def slices(lists):
    return [
        slice(a, b) for a, b in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)
    ]


@settings(max_examples=50, deadline=None)
@given(SIZES, st.integers(0, 99))
def test_sums_and_extremes_and_expansion_equal_a_loop_over_lists(sizes, seed):
    lists = Lists(sizes)
    values = np.random.default_rng(seed).integers(-9, 9, size=lists.n_rows)
    parts = [values[rows] for rows in slices(lists)]
    assert lists.sum(values).tolist() == [part.sum() for part in parts]
    assert lists.max(values).tolist() == [part.max() for part in parts]
    assert lists.min(values).tolist() == [part.min() for part in parts]
    expanded = [q for q, size in enumerate(sizes) for _ in range(size)]
    assert lists.expand(np.arange(lists.n_lists)).tolist() == expanded


@settings(max_examples=50, deadline=None)
@given(SIZES, st.sampled_from([1.0, 30.0, 1e3]), st.integers(0, 99))
def test_softmax_equals_scipys_list_by_list(sizes, scale, seed):
    lists = Lists(sizes)
    scores = scale * np.random.default_rng(seed).normal(size=lists.n_rows)
    probabilities, log_sum_exp = lists.softmax(scores)
    for q, rows in enumerate(slices(lists)):
        np.testing.assert_allclose(probabilities[rows], softmax(scores[rows]), 1e-13)
        # The largest score plus a logarithm, which may cancel.
        size = np.abs(scores[rows]).max() + np.log(len(scores))
        expected = logsumexp(scores[rows])
        assert abs(log_sum_exp[q] - expected) <= 8 * np.finfo(float).eps * size


def test_softmax_takes_integers_and_leaves_scores_alone():
    scores = np.array([0, 0, 5])
    probabilities, log_sum_exp = Lists([2, 1]).softmax(scores)
    assert probabilities.tolist() == [0.5, 0.5, 1.0]
    assert log_sum_exp.tolist() == [np.log(2), 5.0]
    assert scores.tolist() == [0, 0, 5]


def test_a_table_of_values_is_taken_row_by_row():
    lists = Lists([2, 1])
    table = np.array([[1, 2], [3, 4], [5, 6]])
    assert lists.sum(table).tolist() == [[4, 6], [5, 6]]
    assert lists.expand(table[:2]).tolist() == [[1, 2], [1, 2], [3, 4]]


def test_the_sum_of_a_mask_counts():
    assert Lists([2, 1]).sum(np.array([True, True, False])).tolist() == [2, 0]


def test_attributes_describe_the_partition():
    lists = Lists([2, 3])
    assert (lists.n_lists, len(lists), lists.n_rows) == (2, 2, 5)
    assert lists.starts.tolist() == [0, 2]
    assert lists.offsets.tolist() == [0, 2, 5]
    assert lists.sizes.dtype == lists.offsets.dtype == np.intp
    assert repr(lists) == "Lists(n_lists=2, n_rows=5)"


def test_a_part_is_a_partition_of_its_own():
    part = Lists([2, 3, 1, 4]).part(1, 3)
    assert part.sizes.tolist() == [3, 1]
    assert part.offsets.tolist() == [0, 3, 4]
    assert Lists([2, 3]).part(1, 9).sizes.tolist() == [3]


def test_lists_do_not_follow_later_changes_of_the_sizes_given():
    sizes = np.array([2, 3])
    lists = Lists(sizes)
    sizes[0] = 9
    assert lists.sizes.tolist() == [2, 3]


@pytest.mark.parametrize(
    "clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_lists_can_be_copied_and_pickled(clone):
    lists = clone(Lists([2, 1]))
    assert lists.sum([1, 2, 3]).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([], "at least one integer"),
        ([[2]], "one-dimensional"),
        (3, "one-dimensional"),
        ([1.5], "dtype float64"),
        ([True], "dtype bool"),
        (["a"], "dtype <U1"),
        ([2, 0], "at least 1, got 0"),
        ([2, -1], "at least 1, got -1"),
        ([2**62, 2**62], "add up to 9.22e"),
        (np.array([2**63], dtype=np.uint64), "add up to 9.22e"),
    ],
)
def test_sizes_that_are_no_partition_raise(sizes, message):
    with pytest.raises(ValueError, match=message):
        Lists(sizes)


@pytest.mark.parametrize("n_lists", [1, 2])
@pytest.mark.parametrize("method", ["sum", "max", "min", "softmax"])
@pytest.mark.parametrize("length", [3, 5])
def test_row_values_of_another_length_raise(method, length, n_lists):
    lists = Lists([4] if n_lists == 1 else [2, 2])
    with pytest.raises(ValueError, match=rf"each of 4 rows, got shape \({length},\)"):
        getattr(lists, method)(np.zeros(length))


@pytest.mark.parametrize("sizes", [[4], [2, 2]])
def test_list_values_of_another_length_raise(sizes):
    with pytest.raises(ValueError, match=r"lists, got shape \(3,\)"):
        Lists(sizes).expand(np.zeros(3))
    with pytest.raises(ValueError, match=r"lists, got shape \(\)"):
        Lists(sizes).expand(1.0)


def levels_by_hand(y, lists):
    """Return for each list its levels, best first, each with its rows in order."""
    return [
        [
            [row for row in range(rows.start, rows.stop) if y[row] == label]
            for label in sorted(set(y[rows].tolist()), reverse=True)
        ]
        for rows in slices(lists)
    ]


@settings(max_examples=100, deadline=None)
@given(SIZES, st.integers(1, 4), st.integers(0, 99))
def test_levels_equal_a_loop_over_lists_and_labels(sizes, n_labels, seed):
    lists = Lists(sizes)
    y = np.random.default_rng(seed).integers(n_labels, size=lists.n_rows) / 2 - 0.5
    levels = Levels(y, lists)
    rows = [
        levels.order[a:b].tolist()
        for a, b in zip(levels.starts[:-1], levels.starts[1:], strict=True)
    ]
    computed = [
        rows[a:b] for a, b in zip(levels.offsets[:-1], levels.offsets[1:], strict=True)
    ]
    expected = levels_by_hand(y, lists)
    assert computed == expected
    assert levels.n_levels.tolist() == [len(of_list) for of_list in expected]
    assert levels.sizes.tolist() == [len(level) for part in expected for level in part]


def test_levels_by_hand():
    levels = Levels([1, 2, 1, 0.0, -0.0, 7], Lists([3, 2, 1]))
    assert levels.order.tolist() == [1, 0, 2, 3, 4, 5]
    assert levels.starts.tolist() == [0, 1, 3, 5, 6]
    assert levels.offsets.tolist() == [0, 2, 3, 4]


def test_labels_of_another_length_raise():
    with pytest.raises(ValueError, match=r"each of 3 rows, got shape \(2,\)"):
        Levels([1, 0], Lists([3]))


def test_lists_of_offsets_are_those_of_their_sizes():
    for sizes in ([3], [1, 4, 2]):
        expected = Lists(sizes)
        lists = Lists.of_offsets(expected.offsets.copy())
        assert (lists.n_lists, lists.n_rows) == (expected.n_lists, expected.n_rows)
        for name in ("sizes", "starts", "offsets"):
            np.testing.assert_array_equal(getattr(lists, name), getattr(expected, name))
