"""What README says to use in place of tools that take regressors alone."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.ensemble import StackingRegressor, VotingRegressor
from sklearn.inspection import partial_dependence
from sklearn.model_selection import cross_val_predict

from skrank import ListMLERanker, RankNetRanker
from skrank.datasets import make_ranking
from skrank.model_selection import QueryKFold

BASE = [("orders", ListMLERanker()), ("pairs", RankNetRanker())]


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_lists=40, random_state=0)


@pytest.mark.parametrize("kind", [StackingRegressor, VotingRegressor])
def test_stacking_and_voting_take_regressors_alone(kind, data):
    X, y, groups = data
    with (
        config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="ListMLERanker should be a regressor"),
    ):
        kind(BASE).fit(X, y, groups=groups)


def test_partial_dependence_takes_regressors_and_classifiers_alone(data):
    X, y, groups = data
    ranker = ListMLERanker().fit(X, y, groups)
    with pytest.raises(ValueError, match="must be a fitted regressor or classifier"):
        partial_dependence(ranker, X, [0])


def test_scores_from_held_out_folds_stack_rankers(data):
    X, y, groups = data
    with config_context(enable_metadata_routing=True):
        scores = np.column_stack(
            [
                cross_val_predict(
                    ranker, X, y, cv=QueryKFold(4), params={"groups": groups}
                )
                for _, ranker in BASE
            ]
        )
    # Each row was scored by a ranker that never saw its list.
    for train, test in QueryKFold(4).split(X, y, groups):
        ranker = ListMLERanker().fit(X[train], y[train], groups[train])
        np.testing.assert_array_equal(scores[test, 0], ranker.predict(X[test]))
    stacked = ListMLERanker(alpha=0.1).fit(scores, y, groups)
    assert stacked.score(scores, y, groups) > 0.75


def test_the_dependence_on_one_feature_is_a_line_with_its_weight(data):
    X, y, groups = data
    ranker = RankNetRanker().fit(X, y, groups)
    values = np.array([-1.0, 0.0, 2.0])
    means = []
    for value in values:
        changed = X.copy()
        changed[:, 1] = value
        means.append(ranker.predict(changed).mean())
    # One rounding error of each of some hundred terms.
    np.testing.assert_allclose(
        np.diff(means), ranker.coef_[1] * np.diff(values), rtol=1e-12
    )
