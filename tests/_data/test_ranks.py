"""Ranks inside lists, against scipy.stats.rankdata list by list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from skrank import rank_within, with_groups

METHODS = ["min", "max", "average", "dense", "ordinal"]


@pytest.mark.parametrize("method", METHODS)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.integers(-2, 2)), min_size=1, max_size=20
    )
)
def test_ranks_are_those_of_scipy_in_each_list(method, rows):
    groups, scores = map(np.array, zip(*rows, strict=True))
    ranks = rank_within(scores, groups, method=method)
    assert ranks.dtype == (np.float64 if method == "average" else np.intp)
    for group in set(groups):
        of_list = groups == group
        expected = rankdata(-scores[of_list], method=method)
        np.testing.assert_array_equal(ranks[of_list], expected)


def test_the_best_score_has_rank_one_by_default():
    ranks = rank_within([0.5, 2.0, 0.5, -1.0, 7.0], list("aaaab"))
    np.testing.assert_array_equal(ranks, [2, 1, 2, 4, 1])


def test_groups_on_the_index_are_enough():
    scores = with_groups([0.1, 0.3, 0.2], ["b", "a", "b"])
    np.testing.assert_array_equal(rank_within(scores), [2, 1, 1])


@pytest.mark.parametrize(
    ("scores", "groups", "method", "message"),
    [
        ([1.0, 2.0], None, "min", "rank_within needs to know which rows form a list"),
        ([1.0, 2.0], [0], "min", "groups has 1 entries for 2 rows"),
        ([1.0, np.nan], [0, 0], "min", "scores has 1 NaN"),
        ([[1.0, 2.0]], [0], "min", "scores must be one-dimensional"),
        ([1.0, 2.0], [0, 0], "first", "method must be .*'first'"),
    ],
)
def test_what_cannot_be_ranked_raises(scores, groups, method, message):
    with pytest.raises(ValueError, match=message):
        rank_within(scores, groups, method=method)
