"""Weights of lists and of rows from ``sample_weight`` (skrank/_data/weights.py)."""

import numpy as np
import pytest

from skrank._data.grouping import group_rows
from skrank._data.weights import list_weights, split_weights


def test_weights_of_rows_become_weights_of_lists():
    grouping = group_rows(["b", "a", "b"])
    weights = list_weights([2, 3, 2], grouping)
    assert dict(zip(grouping.labels, weights, strict=True)) == {"b": 2, "a": 3}
    assert list_weights(None, grouping) is None


def test_weights_of_lists_raise_and_name_both_lengths_and_the_way_out():
    groups = np.random.default_rng(0).permutation(np.arange(1000) % 33)
    grouping = group_rows(groups)
    with pytest.raises(
        ValueError, match=r"\(33,\) for 1000 rows in 33 lists.*np\.uniq"
    ):
        list_weights(np.arange(33.0), grouping)
    spread = np.arange(33.0)[np.unique(groups, return_inverse=True)[1]]
    by_list = list_weights(spread, grouping)  # the advice, followed
    assert by_list[grouping.label_order() or slice(None)].tolist() == list(range(33))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2, 3], "varies in 1 list, such as 'b'"),
        ([1, -1, 1], "not be negative, got -1"),
        ([1, np.nan, 1], "1 NaN and 0 infinite"),
        ([1, np.inf, 1], "0 NaN and 1 infinite"),
        ([0, 0, 0], "zero for every list"),
        ([[1], [1], [1]], r"shape \(3, 1\)"),
        (2.0, r"shape \(\)"),
    ],
)
def test_weights_that_mean_nothing_raise(weights, message):
    with pytest.raises(ValueError, match=message):
        list_weights(weights, group_rows(["b", "a", "b"]))


def test_weights_that_vary_become_means_and_shares():
    grouping = group_rows(["b", "a", "b", "c", "a", "b", "c"])
    weights, shares = split_weights([1, 0.1, 2, 0, 0.1, 6, 0], grouping)
    lists = grouping.lists
    by_label = dict(zip(grouping.labels, weights, strict=True))
    assert by_label == {"a": 0.1, "b": 3.0, "c": 0.0}
    expected = {"a": [1.0, 1.0], "b": [1 / 3, 2 / 3, 2.0], "c": [1.0, 1.0]}
    for label, start, stop in zip(
        grouping.labels, lists.starts, lists.offsets[1:], strict=True
    ):
        np.testing.assert_allclose(shares[start:stop], expected[label], rtol=1e-15)
    np.testing.assert_allclose(lists.sum(shares), lists.sizes, rtol=1e-15)


def test_weights_that_do_not_vary_have_no_shares_and_keep_their_bits():
    groups = np.repeat(np.arange(200), 7)
    by_list = np.random.default_rng(0).random(200)
    weights, shares = split_weights(by_list[groups], group_rows(groups))
    assert shares is None
    np.testing.assert_array_equal(weights, by_list)
    # Beside a list that varies, too; a mean of equal numbers may round.
    rows = by_list[groups]
    rows[0] += 1.0
    weights, shares = split_weights(rows, group_rows(groups))
    np.testing.assert_array_equal(weights[1:], by_list[1:])
    np.testing.assert_array_equal(shares[7:], 1.0)
    assert weights[0] == pytest.approx(by_list[0] + 1 / 7, rel=1e-14)
    assert split_weights(None, group_rows(groups)) == (None, None)


@pytest.mark.parametrize("factor", [1e308, 1e-320])
def test_huge_and_tiny_weights_have_the_shares_of_others(factor):
    grouping = group_rows([0, 0, 0, 0])
    weights, shares = split_weights(factor * np.array([1.0, 0.5, 0.0, 0.5]), grouping)
    assert weights[0] == pytest.approx(0.5 * factor, rel=1e-3)
    np.testing.assert_allclose(shares, [2.0, 1.0, 0.0, 1.0], rtol=1e-3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1, 1], "not be negative, got -1"),
        ([1, np.nan, 2], "1 NaN and 0 infinite"),
        ([1, 2], r"shape \(2,\) for 3 rows.*one entry per row"),
        ([0, 0, 0], "zero for every list"),
        (np.ma.masked_equal([1, 2, 3], 2), "masked"),
    ],
)
def test_weights_of_rows_that_mean_nothing_raise(weights, message):
    with pytest.raises(ValueError, match=message):
        split_weights(weights, group_rows(["b", "a", "b"]))


def test_weights_that_vary_are_no_weights_of_lists_and_the_way_out_is_named():
    message = "such as 'b'.*mean of its list.*sample_weight=False"
    with pytest.raises(ValueError, match=message):
        list_weights([1, 2, 3], group_rows(["b", "a", "b"]))
