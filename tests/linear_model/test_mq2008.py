"""The gate: five folds of MQ2008, default settings, against pointwise regression."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import (
    DavidsonRanker,
    ListMLERanker,
    ListNetRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
    RaoKupperRanker,
)
from skrank.datasets import load_letor
from skrank.metrics import ndcg_score

# Five of the 46 columns are constant in every list, and the rankers say so.
pytestmark = pytest.mark.filterwarnings("ignore:.*constant inside every list")


@pytest.fixture(scope="module")
def parts(shared):
    paths = [shared / f"data/mq2008/S{i}.txt.gz" for i in range(1, 6)]
    return load_letor(paths)


def ndcg_of_lists(estimator, parts):
    """Return NDCG@10 of each list of the five test parts, 0 where none is relevant."""
    values = []
    for i, (X, y, groups) in enumerate(parts):
        train = [part for j, part in enumerate(parts) if j != i]
        X_train, y_train, groups_train = map(np.concatenate, zip(*train, strict=True))
        last = estimator.__class__.__name__.lower()
        fit_params = {} if last == "ridge" else {f"{last}__groups": groups_train}
        model = make_pipeline(StandardScaler(), estimator)
        model.fit(X_train, y_train, **fit_params)
        values.append(ndcg_score(y, model.predict(X), groups, k=10, average=None))
    return np.nan_to_num(np.concatenate(values), nan=0.0)


@pytest.fixture(scope="module")
def ridge(parts):
    return ndcg_of_lists(Ridge(), parts)


def test_ridge_is_where_it_was_measured(ridge):
    assert len(ridge) == 784
    assert ridge.mean() == pytest.approx(0.4873, abs=1e-3)


@pytest.mark.parametrize(
    ("ranker", "least"),
    [
        (ListMLERanker(), 0.500),
        (RankNetRanker(), 0.500),
        (ListNetRanker(), 0.497),
        (RankSVMRanker(), 0.500),
        (RankSVMRanker("linear"), 0.500),
        (RankRegressionRanker(), 0.500),
        (RankRegressionRanker("labels"), 0.500),
        (RaoKupperRanker(), 0.500),
        (DavidsonRanker(), 0.500),
    ],
)
def test_defaults_beat_ridge(parts, ridge, ranker, least):
    values = ndcg_of_lists(ranker, parts)
    assert values.mean() >= least
    assert stats.ttest_rel(values, ridge).statistic >= 2
