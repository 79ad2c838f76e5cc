"""What methods of fitted rankers return can be named in annotations."""

import numpy as np
import pytest

import skrank.inspection
from skrank import ListMLERanker, PMOPRanker

X = np.random.default_rng(0).normal(size=(120, 2))
Y, GROUPS = np.tile([2, 1, 0], 40), np.repeat(np.arange(40), 3)
PARTITIONS = PMOPRanker().fit(X, Y, GROUPS)
ORDERS = ListMLERanker().fit(X, Y, GROUPS)


@pytest.mark.parametrize(
    ("name", "result", "fields"),
    [
        ("FitSummary", lambda: ORDERS.summary(X, Y, GROUPS), ["coef", "clustered"]),
        (
            "TopKProba",
            lambda: ORDERS.top_k_proba(X, GROUPS, 2),
            ["probability", "standard_error"],
        ),
        ("PairProba", lambda: ORDERS.pairwise_proba(X, X), ["win", "tie"]),
        (
            "ExpectedLevel",
            lambda: PARTITIONS.expected_level(X, GROUPS),
            ["value", "standard_error"],
        ),
        (
            "ListPairProba",
            lambda: PARTITIONS.pairwise_proba(X, GROUPS),
            ["first", "second", "proba", "standard_error"],
        ),
    ],
)
def test_results_are_of_public_types(name, result, fields):
    computed = result()
    assert type(computed) is getattr(skrank.inspection, name)
    assert all(isinstance(getattr(computed, field), np.ndarray) for field in fields)
    assert name in skrank.inspection.__all__
