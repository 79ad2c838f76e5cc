"""Fits that sum over subsets say before they start what they will cost."""

import time

import numpy as np
import pytest

from skrank import DavidsonLuceRanker, LinearRanker, Lists, PMOPRanker
from skrank.losses import PMOP, DavidsonLuce


class StartedError(Exception):
    """Raised in place of a fit."""


@pytest.fixture
def no_start(monkeypatch):
    """Stop fits where they would start."""

    def start(self, objective, start):
        raise StartedError("the fit started")

    for ranker in (PMOPRanker, DavidsonLuceRanker, LinearRanker):
        monkeypatch.setattr(ranker, "_solve", start)


def one_list(n, n_grades=None):
    rng = np.random.default_rng(0)
    y = rng.permutation(n) if n_grades is None else rng.integers(0, n_grades, n)
    return rng.standard_normal((n, 1)), y, np.zeros(n)


@pytest.mark.parametrize(
    "ranker", [PMOPRanker("geometric"), LinearRanker(PMOP("geometric"))], ids=str
)
def test_one_long_list_of_different_labels_is_told_before_the_fit(ranker, no_start):
    message = r"each evaluation .* about 4.* s and .* max_tie_size.*arithmetic.*gibbs"
    with (
        pytest.warns(UserWarning, match=message),
        pytest.raises(StartedError, match="started"),
    ):
        ranker.fit(*one_list(2000))


def test_two_hundred_thousand_rows_would_take_the_memory_that_is_told(no_start):
    with (
        pytest.warns(UserWarning, match="and 149 GiB"),
        pytest.raises(StartedError, match="started"),
    ):
        LinearRanker(DavidsonLuce("slope")).fit(*one_list(200_000, n_grades=5))


def test_davidson_luce_with_thousands_of_tied_rows_is_told(no_start):
    message = "PMOPRanker.., whose potential='arithmetic' takes linear time"
    with (
        pytest.warns(UserWarning, match=message),
        pytest.raises(StartedError, match="started"),
    ):
        DavidsonLuceRanker().fit(*one_list(6000, n_grades=2))


@pytest.mark.parametrize(
    "ranker",
    [
        PMOPRanker(),
        PMOPRanker("geometric", max_tie_size=10),
        PMOPRanker("geometric", "gibbs"),
        DavidsonLuceRanker(),
    ],
    ids=str,
)
def test_what_helps_is_not_warned_of(ranker, no_start):
    with pytest.raises(StartedError, match="started"):  # warnings are errors
        ranker.fit(*one_list(2000))


@pytest.mark.parametrize("n", [300, 600])
def test_the_estimate_of_time_is_of_the_right_size(n):
    """Within a factor of 20: machines differ, and other work runs beside."""
    X, y, _ = one_list(n)
    loss, lists = PMOP("geometric"), Lists([n] * 4)
    prepared = loss.prepare(np.tile(y, 4) * 1.0, lists)
    scores = np.tile(X[:, 0], 4)
    start = time.process_time()
    loss.value_and_gradient(scores, prepared, lists)
    seconds = time.process_time() - start
    estimate = 4 * n * n * (5e-10 * n + 8e-8)
    assert estimate / 20 < seconds < 20 * estimate
