"""Methods of a fitted ranker belong to its fit, whatever parameters are set later."""

import pickle

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from skrank import (
    DavidsonRanker,
    LinearRanker,
    ListMLERanker,
    PMOPRanker,
)
from skrank.ensemble import FusionRanker
from skrank.inspection import (
    pairwise_intervals,
    summarize,
    top_k_intervals,
    wald_test,
)
from skrank.losses import Davidson, ListMLE, ListNet, RaoKupper
from skrank.metrics import log_likelihood_scorer
from skrank.model_selection import RankerCV


@pytest.fixture(scope="module")
def data():
    """Return lists of 3 to 6 rows with ties."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), rng.integers(3, 7, size=60))
    X = rng.standard_normal((len(groups), 2))
    y = np.digitize(X @ [0.8, -0.6] + rng.gumbel(size=len(X)), [0.0, 1.0])
    return X, y, groups


@pytest.mark.parametrize(
    ("ranker", "later"),
    [
        (ListMLERanker("efron"), {"ties": "breslow"}),
        (ListMLERanker(alpha=0), {"top_k": 1}),
        (PMOPRanker(alpha=0.01), {"potential": "geometric"}),
        (LinearRanker(ListMLE("efron")), {"loss__ties": "breslow"}),
        (LinearRanker(ListMLE("efron")), {"loss": ListNet()}),
    ],
    ids=str,
)
def test_likelihoods_are_those_of_the_fit(ranker, later, data):
    ranker.fit(*data)
    before = ranker.log_likelihood(*data), ranker.deviance(*data), ranker.aic(*data)
    of_scorer = log_likelihood_scorer()(ranker, *data)
    ranker.set_params(**later)
    after = ranker.log_likelihood(*data), ranker.deviance(*data), ranker.aic(*data)
    assert after == before
    assert log_likelihood_scorer()(ranker, *data) == of_scorer
    assert pickle.loads(pickle.dumps(ranker)).log_likelihood(*data) == before[0]
    assert ranker.get_params()[next(iter(later))] == next(iter(later.values()))


@pytest.mark.parametrize(
    "later",
    [
        {"normalize": "size"},
        {"ties": "breslow"},
        {"l1_ratio": 0.5},
        {"bounds": (-9.0, 9.0)},
        {"n_jobs": 2},
    ],
    ids=str,
)
def test_summaries_are_those_of_the_fit(later, data):
    ranker = ListMLERanker("efron", alpha=0.01).fit(*data)
    before = str(ranker.summary(*data))
    ranker.set_params(**later)
    assert str(ranker.summary(*data)) == before
    assert str(summarize(ranker, *data)) == before


def test_doors_of_inspection_take_the_fit_apart(data):
    X, _, groups = data
    ranker = LinearRanker(Davidson(), alpha=0).fit(*data)
    model = make_pipeline(ranker)
    summary = summarize(model, *data)

    def pairs():
        return pairwise_intervals(model, summary, X[:9], X[9:18]).win_low

    pairs_before, wald_before = pairs(), wald_test(model, *data, features=[0])
    proba_before = ranker.pairwise_proba(X[:9], X[9:18])
    ranker.set_params(loss=RaoKupper())
    np.testing.assert_array_equal(pairs(), pairs_before)
    assert wald_test(model, *data, features=[0]).statistic == wald_before.statistic
    np.testing.assert_array_equal(
        ranker.pairwise_proba(X[:9], X[9:18]).tie, proba_before.tie
    )
    best = ListMLERanker(alpha=0).fit(*data)
    summary = best.summary(*data)
    intervals = top_k_intervals(best, summary, X, groups, k=2)
    best.set_params(stage_weights="position")
    again = top_k_intervals(best, summary, X, groups, k=2)
    np.testing.assert_array_equal(again.low, intervals.low)


def test_searches_and_members_keep_the_parameters_of_their_fits(data):
    search = RankerCV(ListMLERanker("efron"), alphas=[0.1, 1.0]).fit(*data)
    fusion = FusionRanker([("mle", ListMLERanker("efron"))]).fit(*data)
    for ranker in (search.ranker_, fusion.estimators_[0]):
        expected = ranker.log_likelihood(*data)
        ranker.set_params(ties="breslow", normalize="terms")
        assert ranker.log_likelihood(*data) == expected


def test_another_fit_has_the_parameters_that_were_set(data):
    ranker = DavidsonRanker().fit(*data)
    ranker.set_params(normalize="size").fit(*data)
    expected = DavidsonRanker(normalize="size").fit(*data)
    assert str(ranker.summary(*data)) == str(expected.summary(*data))
    ranker = LinearRanker(ListNet()).fit(*data)
    assert not hasattr(ranker.set_params(loss=ListMLE()), "log_likelihood")
    assert hasattr(ranker.fit(*data), "log_likelihood")
    with pytest.raises(AttributeError, match=r"ListNet\(\) is no probability model"):
        LinearRanker(ListNet()).log_likelihood  # noqa: B018
