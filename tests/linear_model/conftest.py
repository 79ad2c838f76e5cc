"""Rankers and lists that the tests of this folder share."""

import numpy as np
import pytest

import skrank.linear_model

RANKERS = [getattr(skrank.linear_model, name) for name in skrank.linear_model.__all__]


@pytest.fixture(params=RANKERS, ids=lambda ranker: ranker.__name__)
def ranker(request):
    """Return the class of each public ranker."""
    return request.param


HINGES = {"RankSVMRanker", "RankRegressionRanker"}
LOGISTIC = [ranker for ranker in RANKERS if ranker.__name__ not in HINGES]


@pytest.fixture(params=LOGISTIC, ids=lambda ranker: ranker.__name__)
def logistic_ranker(request):
    """Return the class of each ranker whose loss on two rows is the logistic one."""
    return request.param


@pytest.fixture(scope="session")
def exact():
    """Return settings with which two fits meet at the optimum, not on the way."""
    return {"tol": 1e-12, "ftol": 0.0}


@pytest.fixture(scope="session")
def lists():
    """Return X, y and groups of 40 lists of 2 to 8 rows, rows of a list together."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(40), rng.integers(2, 9, size=40))
    X = rng.normal(size=(len(groups), 5))
    noise = rng.normal(size=len(groups))
    return X, np.digitize(X[:, 0] - X[:, 1] + noise, [0, 1, 2]), groups
