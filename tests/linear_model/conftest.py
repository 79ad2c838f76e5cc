"""Rankers and lists that the tests of this folder share."""

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
