"""Every kernel compares the lengths of its arrays before it reads any of them."""

import importlib

import numpy as np
import pytest

from skrank import Lists
from skrank._data.lists import Levels
from skrank.linear_model import LinearRanker
from skrank.losses import ListMLE

LISTS = Lists([5, 4, 3])
LEVELS = Levels(np.array([2.0, 1, 1, 0, 0, 3, 1, 1, 0, 2, 2, 1]), LISTS)
SCORES = np.array([0.3, -0.2, 0.8, 0.0, 0.0, 1.0, 0.5, -1.0, 0.1, 0.4, -0.3, 0.9])
DIRECTION = np.array([1.0, -0.5, 0.2, 0.0, 0.7, -0.1, 0.3, 0.6, -0.9, 0.4, 0.8, -0.2])


def levels(**others):
    """Return the arguments of a kernel that takes rows by level."""
    return {
        "scores": SCORES,
        "order": LEVELS.order,
        "level_starts": LEVELS.starts,
        "level_offsets": LEVELS.offsets,
        **others,
    }


STAGES = LEVELS.n_levels - 1

# Each kernel with arguments that fit, by module and name.
CALLS = {
    "listwise.plackett_luce": levels(
        n_stages=STAGES, weights=np.ones(LISTS.n_rows), efron=True
    ),
    "listwise.plackett_luce_curvature": levels(
        n_stages=STAGES,
        weights=np.ones(LISTS.n_rows),
        efron=True,
        direction=DIRECTION,
    ),
    "marginal.marginal": levels(
        n_stages=STAGES, weights=np.ones(LISTS.n_rows), direction=DIRECTION
    ),
}
# Arrays whose length is free, as long as it is at least 1.
FREE = set()
ARRAYS = [
    (call, name)
    for call, arguments in CALLS.items()
    for name, argument in arguments.items()
    if isinstance(argument, np.ndarray) and (call, name) not in FREE
]


def run(call, arguments):
    module, name = call.split(".")
    module = importlib.import_module(f"skrank._kernels.{module}")
    return getattr(module, name)(**arguments)


@pytest.mark.parametrize("call", CALLS)
def test_arguments_that_fit_are_taken(call):
    run(call, CALLS[call])


@pytest.mark.parametrize("change", ["too short", "too long", "empty"])
@pytest.mark.parametrize(("call", "name"), ARRAYS)
def test_an_array_of_another_length_is_refused(call, name, change):
    array = CALLS[call][name]
    wrong = {
        "too short": array[:-1],
        "too long": np.concatenate((array, array[-1:])),
        "empty": array[:0],
    }[change]
    wrong = np.ascontiguousarray(wrong)
    with pytest.raises(ValueError, match=r"must (have|rise)|too few"):
        run(call, {**CALLS[call], name: wrong})


class Half(ListMLE):
    """A loss of a user who passes on fewer scores than there are rows."""

    def value_and_gradient(self, scores, prepared, lists):
        scores = scores[: len(scores) // 8].copy()
        return super().value_and_gradient(scores, prepared, lists)


def test_a_loss_that_drops_scores_raises_instead_of_writing_elsewhere():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 3)), rng.integers(0, 3, 6000)
    with pytest.raises(
        ValueError,
        match=r"scores must have [0-9]+ entries, one for each row, got [0-9]+",
    ):
        LinearRanker(Half()).fit(X, y, np.arange(6000) // 6)
