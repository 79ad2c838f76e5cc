"""Learning curves add whole lists."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.model_selection import learning_curve as sklearn_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import RankNetRanker, with_groups
from skrank.datasets import make_ranking
from skrank.metrics import ndcg_score, ndcg_scorer
from skrank.model_selection import QueryKFold, learning_curve


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(
        30, list_size=(2, 8), n_features=4, n_informative=2, random_state=1
    )
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order], groups[order]


def ndcg_at_10(y, scores, groups):
    return ndcg_score(y, scores, groups, k=10)


class Spy(BaseEstimator):
    """Writes down which rows it learns from."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        Spy.seen.append(X[:, 0].astype(int))
        return self

    def predict(self, X):
        return X[:, 0]


@pytest.mark.parametrize("shuffle", [False, True])
def test_each_size_adds_whole_lists_to_those_before(data, shuffle):
    _, y, groups = data
    rows = np.arange(len(y), dtype=float).reshape(-1, 1)
    Spy.seen.clear()
    sizes, _, _ = learning_curve(
        Spy(),
        rows,
        y,
        groups,
        train_sizes=[2, 5, 20],
        cv=3,
        scoring="ndcg",
        shuffle=shuffle,
        random_state=0,
    )
    assert sizes.tolist() == [2, 5, 20]
    assert len(Spy.seen) == 9
    for fold, (train, _) in enumerate(QueryKFold(3).split(rows, y, groups)):
        fits_of_fold = Spy.seen[3 * fold : 3 * fold + 3]
        for size, learned in zip(sizes, fits_of_fold, strict=True):
            lists = set(groups[learned])
            assert len(lists) == size
            assert sorted(learned) == [row for row in train if groups[row] in lists]
        assert set(fits_of_fold[0]) < set(fits_of_fold[1]) < set(fits_of_fold[2])
        appearing = list(dict.fromkeys(groups[train]))
        assert (set(groups[fits_of_fold[1]]) == set(appearing[:5])) == (not shuffle)


def test_scores_equal_a_hand_written_loop(data):
    X, y, groups = data
    sizes, train_scores, test_scores = learning_curve(
        RankNetRanker(), X, y, groups, train_sizes=[1.0], cv=3, scoring="ndcg@5"
    )
    assert sizes.tolist() == [20]
    assert train_scores.shape == test_scores.shape == (1, 3)
    for fold, (train, test) in enumerate(QueryKFold(3).split(X, y, groups)):
        ranker = RankNetRanker().fit(X[train], y[train], groups[train])
        for part, scores in ((train, train_scores), (test, test_scores)):
            expected = ndcg_score(y[part], ranker.predict(X[part]), groups[part], k=5)
            assert scores[0, fold] == pytest.approx(expected, rel=1e-12)


def test_it_equals_that_of_scikit_learn_for_lists_of_one_row():
    X, y, groups = make_ranking(40, list_size=1, n_features=3, random_state=0)
    options = {"train_sizes": [4, 12], "cv": KFold(4)}
    ours = learning_curve(Ridge(), X, y, groups, shuffle=False, **options)
    for scores, expected in zip(
        ours, sklearn_curve(Ridge(), X, y, **options), strict=True
    ):
        np.testing.assert_allclose(scores, expected, rtol=1e-9)


def test_scorers_metrics_and_own_scores_are_handed_groups(data):
    X, y, groups = data
    rankers = [
        RankNetRanker(),
        make_pipeline(StandardScaler(), RankNetRanker()),
        GridSearchCV(RankNetRanker(), {"alpha": [0.1]}, cv=QueryKFold(2)),
    ]
    options = {"cv": 2, "train_sizes": [10]}
    options |= {"random_state": 0}
    for ranker in rankers:
        expected = learning_curve(ranker, X, y, groups, scoring="ndcg@10", **options)
        for scoring in (None, ndcg_scorer(k=10), ndcg_at_10):
            scores = learning_curve(
                ranker, X, with_groups(y, groups), scoring=scoring, **options
            )
            np.testing.assert_array_equal(scores[1], expected[1])
            np.testing.assert_array_equal(scores[2], expected[2])


def test_the_seed_draws_the_lists(data):
    def curve(seed):
        return learning_curve(
            RankNetRanker(), *data, train_sizes=[3], scoring="err", random_state=seed
        )[2]

    np.testing.assert_array_equal(curve(1), curve(1))
    assert not np.array_equal(curve(1), curve(2))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"train_sizes": [0.0]}, ValueError, "shares above 0"),
        ({"train_sizes": [1.5]}, ValueError, "at most 1"),
        ({"train_sizes": [0]}, ValueError, "from 1 to 24 lists"),
        ({"train_sizes": [25]}, ValueError, "from 1 to 24 lists"),
        ({"train_sizes": []}, ValueError, "numbers of lists or shares"),
        ({"scoring": 3}, TypeError, "scoring must be a name or a scorer"),
        ({"scoring": "mapp"}, ValueError, "no metric 'mapp'"),
        ({"cv": KFold(3)}, ValueError, "learning_curve: cv puts rows"),
    ],
)
def test_wrong_arguments_are_named(data, options, error, message):
    with pytest.raises(error, match=message):
        learning_curve(RankNetRanker(), *data, **options)
