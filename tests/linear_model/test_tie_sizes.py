"""Weights of sizes of ties that no data hold back are named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank import DavidsonLuceRanker
from skrank.linear_model._davidsonluce import sizes_that_grow

X = np.random.default_rng(0).normal(size=(60, 2))


@st.composite
def stages(draw):
    """Draw the rows and the taken rows of some stages."""
    rows = draw(st.lists(st.integers(1, 9), min_size=1, max_size=12))
    return [(draw(st.integers(1, n_rows)), n_rows) for n_rows in rows]


def free_sizes(pairs):
    """Return the taken sizes from which no chain of stages leads to size 1."""
    sizes = {taken for taken, _ in pairs} | {1}
    held = {1}
    for _ in sizes:
        for taken, n_rows in pairs:
            if taken in held:
                held |= {size for size in sizes if size <= n_rows}
    return sorted(sizes - held)


@given(stages())
def test_sizes_grow_that_no_chain_of_stages_ties_to_one_row(pairs):
    taken, rows = np.array(pairs).T
    assert sizes_that_grow(taken, rows).tolist() == free_sizes(pairs)


@pytest.mark.parametrize("tie_weights", ["sizes", "slope"])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_lists_all_tied_have_no_best_weights_of_ties(tie_weights, alpha):
    ranker = DavidsonLuceRanker(tie_weights, alpha=alpha)
    with pytest.warns(UserWarning, match="weights of ties of 3 rows are best") as told:
        ranker.fit(X, np.zeros(60), np.repeat(np.arange(20), 3))
    assert [warning.filename for warning in told] == [__file__]
    assert ranker.tie_weights_[-1] > 1e6


def test_a_longest_list_all_tied_is_named_by_its_size():
    y = np.r_[np.tile([1, 0, 0], 18), np.zeros(6)]
    groups = np.r_[np.repeat(np.arange(18), 3), np.full(6, 99)]
    with pytest.warns(UserWarning, match=r"ties of 6 rows .* of 6 rows or more take 6"):
        DavidsonLuceRanker().fit(X, y, groups)
    # One number for all sizes is held by the other lists.
    assert DavidsonLuceRanker("slope").fit(X, y, groups).tie_weights_[1] < 2


def test_a_large_size_that_occurs_once_at_the_end_of_a_longer_list_is_held():
    y = np.r_[np.tile([1, 0, 0], 10), 1, np.zeros(29)]
    groups = np.r_[np.repeat(np.arange(10), 3), np.full(30, 99)]
    weights = DavidsonLuceRanker().fit(X, y, groups).tie_weights_
    exact = DavidsonLuceRanker(tol=1e-10, ftol=0.0).fit(X, y, groups).tie_weights_
    # Those that grow do by the logarithm of tol.
    np.testing.assert_allclose(weights, exact, rtol=1e-3)


def test_stages_that_all_take_the_most_they_may_hold_no_slope():
    y, groups = np.tile([1, 1, 0, 0], 15), np.repeat(np.arange(15), 4)
    with pytest.warns(UserWarning, match="ties of 2 rows are best"):
        DavidsonLuceRanker("slope", max_tie_size=2).fit(X, y, groups)
    free = DavidsonLuceRanker("slope").fit(X, y, groups)
    assert free.tie_weights_[1] < 1e3
