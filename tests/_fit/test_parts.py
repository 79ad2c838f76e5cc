"""Lists whose scores lie in parts far from each other: where losses curve there."""

import numpy as np
import pytest

from skrank import Lists
from skrank._fit.data import FitData
from skrank._fit.gram import weighted_gram
from skrank._fit.objective import LinearObjective
from skrank._fit.parts import gram_inside_parts
from skrank.losses import ListMLE, ListNet, RankNet, RankSVM

UP = 1e4 * (np.arange(200) % 20 < 10)  # half of each list far above the other


def objective_of(loss, y):
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[:, 0] += UP
    return LinearObjective(FitData(X, y, Lists(np.full(10, 20))), loss, alpha=0.1)


def along_the_gap(objective, coef):
    """Return the second derivative in the first weight, by differences of slopes."""
    step = np.array([1e-7, 0.0, 0.0])
    above, below = (objective(at)[1][0] for at in (coef + step, coef - step))
    return (above - below) / 2e-7 - objective.ridge


@pytest.mark.parametrize("loss", [ListMLE(), RankNet()])
def test_far_parts_do_not_curve_against_each_other(loss):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 200) + np.where(UP > 0, 3.0, 0.0)
    objective, coef = objective_of(loss, y), np.array([0.1, 0.2, -0.3])
    exact = along_the_gap(objective, coef)
    inside = gram_inside_parts(objective, coef, None).gram[0, 0]
    assert 0.3 < inside / exact < 3.0
    assert weighted_gram(objective, coef).gram[0, 0] > 1e5 * exact


def test_pairs_that_curve_however_far_they_are_make_no_parts():
    y = np.where(UP > 0, 0.0, 1.0)  # all in the wrong order, where hinges are squares
    objective = objective_of(RankSVM(), y)
    assert gram_inside_parts(objective, np.array([0.1, 0.0, 0.0]), None) is None


def test_scores_near_each_other_have_no_parts():
    y = np.arange(200) % 3.0
    for loss in (ListMLE(), ListNet()):
        objective = objective_of(loss, y)
        assert gram_inside_parts(objective, np.array([1e-4, 1.0, 1.0]), None) is None
        assert gram_inside_parts(objective, np.zeros(3), None) is None
