"""Weights of sizes of ties that no data hold back are no estimates."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from skrank import DavidsonLuceRanker
from skrank.losses._tie_growth import sizes_that_grow

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


def left_out(ranker, *data):
    """Return what a summary says that it leaves out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notes = ranker.fit(*data).summary(*data).notes
    limit_notes = [note for note in notes if note.startswith("At a limit of the model")]
    return limit_notes[0].partition("error: ")[2] if limit_notes else ""


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_lists_all_tied_have_no_best_weights_of_ties(alpha):
    data = X, np.zeros(60), np.repeat(np.arange(20), 3)
    ranker = DavidsonLuceRanker(alpha=alpha)
    assert left_out(ranker, *data) == "log delta_2, log delta_3."
    assert ranker.tie_weights_[-1] > 1e6
    slope = DavidsonLuceRanker("slope", alpha=alpha)
    assert left_out(slope, *data) == "log delta slope."


def test_a_longest_list_all_tied_says_nothing_of_its_size():
    y = np.r_[np.tile([1, 0, 0], 18), np.zeros(6)]
    data = X, y, np.r_[np.repeat(np.arange(18), 3), np.full(6, 99)]
    ranker = DavidsonLuceRanker()
    # Sizes 3 to 5 do not occur.
    names = ", ".join(f"log delta_{size}" for size in (3, 4, 5, 6))
    assert left_out(ranker, *data) == f"{names}."
    # One number for all sizes is held by the other lists.
    assert left_out(DavidsonLuceRanker("slope"), *data) == ""


def test_a_fit_that_stops_early_names_sizes_without_end():
    y = np.r_[np.tile([1, 0, 0], 18), np.zeros(6)]
    groups = np.r_[np.repeat(np.arange(18), 3), np.full(6, 99)]
    message = "ties of 6 rows grow without end: all stages of 6 rows or more take 6"
    with pytest.warns(ConvergenceWarning, match=message):
        DavidsonLuceRanker(max_iter=1).fit(X, y, groups)


def test_a_large_size_that_occurs_once_at_the_end_of_a_longer_list_is_held():
    y = np.r_[np.tile([1, 0, 0], 10), 1, np.zeros(29)]
    groups = np.r_[np.repeat(np.arange(10), 3), np.full(30, 99)]
    weights = DavidsonLuceRanker().fit(X, y, groups).tie_weights_
    exact = DavidsonLuceRanker(tol=1e-10, ftol=0.0).fit(X, y, groups).tie_weights_
    # Those that grow do by the logarithm of tol.
    np.testing.assert_allclose(weights, exact, rtol=1e-3)


def test_stages_that_all_take_the_most_they_may_hold_no_slope():
    data = X, np.tile([1, 1, 0, 0], 15), np.repeat(np.arange(15), 4)
    capped = DavidsonLuceRanker("slope", max_tie_size=2)
    assert left_out(capped, *data) == "log delta slope."
    assert left_out(DavidsonLuceRanker("slope"), *data) == ""


def test_a_warm_start_survives_scores_of_a_hundred_million():
    """The last weights make scores of 1e8 here, of which stages are no matter."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(240, 3)), np.repeat(np.arange(40), 6)
    y = rng.integers(0, 3, 240).astype(float)
    larger = X * [1.0, 1e8, 1.0]
    cold = DavidsonLuceRanker().fit(larger, y, groups)
    warm = DavidsonLuceRanker(warm_start=True).fit(X, y, groups)
    warm.fit(larger, y, groups)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-9)


def test_weights_without_end_may_leave_the_range_of_numbers():
    """Gaps of 1e7 inside lists; labels follow them, and no stage takes one row."""
    rng = np.random.default_rng(0)
    relevant, noise = np.tile(np.repeat([1, 0], 20), 5), rng.normal(size=(200, 2))
    y = 2 * relevant + (noise[:, 0] > 0)
    groups = np.repeat(np.arange(5), 40)
    objectives = []
    for gap in (10.0, 1e7):
        Z = noise + np.outer(relevant, [gap, 0.0])
        ranker = DavidsonLuceRanker(alpha=1e-4, normalize="terms").fit(Z, y, groups)
        assert not np.isnan(ranker.tie_weights_).any()
        objectives.append(ranker.objective_)
    # Either gap is wide enough for its two levels to be as good as apart.
    assert objectives[1] == pytest.approx(objectives[0], rel=0.01)
