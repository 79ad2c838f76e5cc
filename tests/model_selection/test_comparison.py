"""Comparing rankers: folds, groups, budget and failures."""

import types
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.datasets import make_ranking
from skrank.linear_model import RankNetRanker
from skrank.metrics import list_labels, ndcg_score
from skrank.model_selection import QueryKFold, _comparison, _trials
from skrank.model_selection._comparison import Fold, Ranked, compare, cut_folds
from skrank.preprocessing import SecondOrderFeatures


def ndcg(y, scores, groups):
    return ndcg_score(y, scores, groups, average=None)


@pytest.fixture
def data():
    X, y, groups = make_ranking(
        40, list_size=(1, 9), n_features=4, n_informative=2, random_state=3
    )
    return Ranked(2 * X + 5, y, groups)


class Costly(BaseEstimator):
    """Takes, on a clock of its own, some seconds a row and writes it down."""

    def __init__(self, seconds_a_row=1.0, log=None):
        self.seconds_a_row = seconds_a_row
        self.log = log

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y):
        self.log.now += self.seconds_a_row * len(y)
        self.log.rows.append(len(y))
        return self

    def predict(self, X):
        return X[:, 0]


@pytest.fixture
def clock(monkeypatch):
    clock = types.SimpleNamespace(now=0.0, rows=[])
    clock.perf_counter = lambda: clock.now
    for module in (_comparison, _trials):
        monkeypatch.setattr(module, "time", clock)
    return clock


def test_values_are_one_a_list_in_the_order_of_lists(data):
    folds = cut_folds(data, QueryKFold(4))
    comparison = compare({"ridge": Ridge()}, folds, {"ndcg": ndcg})
    expected = {}
    for train, test in QueryKFold(4).split(data.X, data.y, data.groups):
        scores = Ridge().fit(data.X[train], data.y[train]).predict(data.X[test])
        labels = list_labels(data.groups[test])
        values = ndcg(data.y[test], scores, data.groups[test])
        expected |= dict(zip(labels, values, strict=True))
    assert sorted(comparison.lists) == sorted(set(data.groups))
    np.testing.assert_array_equal(
        comparison.results["ridge"].values["ndcg"],
        [expected[label] for label in comparison.lists],
    )
    assert len(comparison.results["ridge"].seconds) == 4


def test_a_pipeline_is_given_groups_and_equals_the_shared_transformer(data):
    folds = cut_folds(data, QueryKFold(3))
    inside = {"a": make_pipeline(StandardScaler(), RankNetRanker())}
    shared = {"a": RankNetRanker()}
    one = compare(inside, folds, {"ndcg": ndcg})
    two = compare(shared, folds, {"ndcg": ndcg}, transformer=StandardScaler())
    assert one.results["a"].problem is None
    np.testing.assert_array_equal(
        one.results["a"].values["ndcg"], two.results["a"].values["ndcg"]
    )


def test_a_transformer_learns_from_labels_and_is_handed_out_fold_by_fold(data):
    folds = cut_folds(data, QueryKFold(3))
    inside = {"a": make_pipeline(SecondOrderFeatures(0.01), RankNetRanker())}
    one = compare(inside, folds, {"ndcg": ndcg})
    learned = []
    two = compare(
        {"a": RankNetRanker()},
        folds,
        {"ndcg": ndcg},
        transformer=SecondOrderFeatures(0.01),
        learned=learned.append,
    )
    np.testing.assert_array_equal(
        one.results["a"].values["ndcg"], two.results["a"].values["ndcg"]
    )
    for fold, fitted in zip(folds, learned, strict=True):
        train, _ = fold.parts()
        expected = SecondOrderFeatures(0.01).fit(train.X, train.y).pairs_
        np.testing.assert_array_equal(fitted.pairs_, expected)
    assert len(expected) > 0


def test_rankers_that_scale_themselves_get_features_as_they_are(data):
    folds = cut_folds(data, QueryKFold(3))
    pair = {"raw": Ridge(), "scaled": Ridge()}
    shared = compare(
        pair,
        folds,
        {"ndcg": ndcg},
        transformer=StandardScaler(),
        as_they_are=["raw"],
        budget=1e9,  # trial fits get them as they are, too
    )
    for name, transformer in (("raw", None), ("scaled", StandardScaler())):
        alone = compare({name: Ridge()}, folds, {"ndcg": ndcg}, transformer=transformer)
        np.testing.assert_array_equal(
            shared.results[name].values["ndcg"], alone.results[name].values["ndcg"]
        )
    raw, scaled = (shared.results[name].values["ndcg"] for name in pair)
    assert (raw != scaled).any()


def test_what_it_is_given_stays_unfitted(data):
    ranker, scaler = RankNetRanker(), StandardScaler()
    compare(
        {"a": ranker}, cut_folds(data, QueryKFold(2)), {"n": ndcg}, transformer=scaler
    )
    assert not hasattr(ranker, "coef_")
    assert not hasattr(scaler, "scale_")


def test_a_trial_on_few_lists_rules_out_a_ranker_over_the_budget(clock):
    X, y, groups = make_ranking(600, list_size=10, random_state=0)
    fold = Fold(*(Ranked(X, y, groups),) * 2)
    within = compare(
        {"a": Costly(1.0, clock)}, [fold], {"n": ndcg}, budget=6000
    ).results["a"]
    assert clock.rows == [500, 6000]
    assert within.seconds == [6000.0]
    clock.rows.clear()
    over = compare({"a": Costly(1.0, clock)}, [fold], {"n": ndcg}, budget=5999).results[
        "a"
    ]
    assert clock.rows == [500, 500]
    assert over.values == {}
    assert "50 of 600 lists took 500 s" in over.problem
    assert "6e+03 s, over the budget of 5999 s" in over.problem


def test_a_trial_is_scaled_by_pairs_where_lists_differ_in_length(clock):
    # One long list holds nearly all pairs: 20 lists of 2 rows, and one of 100.
    groups = np.repeat(np.arange(21), [2] * 20 + [100])
    X, y = np.zeros((140, 1)), np.zeros(140)
    fold = Fold(*(Ranked(X, y, groups),) * 2)
    seed = next(
        seed
        for seed in range(99)
        if 20 not in np.random.RandomState(seed).permutation(21)[:3]
    )
    options = {"budget": 70.0, "random_state": seed}
    result = compare({"a": Costly(1.0, clock)}, [fold], {}, **options).results["a"]
    assert clock.rows == [6, 6]
    # By rows 140 s, by pairs 6 s * (20 + 4950) / 3.
    assert f"{6 * 4970 / 3:.3g} s" in result.problem


def test_a_trial_on_thin_evidence_is_repeated_on_more_lists(clock):
    class Slow(Costly):
        def fit(self, X, y):
            self.log.now += 5.0  # of every fit, and so not in proportion to rows
            return super().fit(X, y)

    X, y, groups = make_ranking(4000, list_size=10, n_features=1, random_state=0)
    fold = Fold(*(Ranked(X, y, groups),) * 2)
    rankers = {"a": Slow(0.0, clock)}
    # 80 times 5 s are too much, but 5 s are not yet a twentieth of the budget.
    result = compare(rankers, [fold], {"n": ndcg}, budget=150.0).results["a"]
    assert clock.rows == [500, 500, 2000, 40000]
    assert result.problem is None
    clock.rows.clear()
    result = compare(rankers, [fold], {"n": ndcg}, budget=90.0).results["a"]
    assert clock.rows == [500, 500]
    assert "50 of 4000 lists took 5 s" in result.problem


def test_what_a_first_fit_sets_up_does_not_count_against_a_ranker(clock):
    class Imports(Costly):
        def fit(self, X, y):
            if not self.log.rows:
                self.log.now += 1000.0
            return super().fit(X, y)

    X, y, groups = make_ranking(600, list_size=10, random_state=0)
    fold = Fold(*(Ranked(X, y, groups),) * 2)
    rankers = {"a": Imports(1.0, clock)}
    result = compare(rankers, [fold], {"n": ndcg}, budget=6000.0).results["a"]
    assert clock.rows == [500, 500, 6000]
    assert result.seconds == [6000.0]


def test_a_first_fold_that_shows_the_budget_cannot_hold_is_the_last(clock, data):
    folds = cut_folds(data, QueryKFold(4))

    class Quadratic(Costly):
        def fit(self, X, y):
            self.log.now += len(y) ** 3
            return super().fit(X, y)

    n_train = len(folds[0].train_rows)
    budget = 4 * n_train**3 - 1.0
    result = compare(
        {"a": Quadratic(0.0, clock)}, folds, {"n": ndcg}, budget=budget
    ).results["a"]
    assert clock.rows[-1] == n_train
    assert "the first of 4 fits took" in result.problem
    assert result.values == {}


def test_a_failure_and_a_warning_concern_one_ranker_only(data):
    class Fails(Costly):
        def fit(self, X, y):
            raise ValueError("not\nthis")

    class Warns(Ridge):
        def fit(self, X, y):
            warnings.warn(f"{len(y)} rows are few", stacklevel=1)
            return super().fit(X, y)

    class Missing(Ridge):
        def predict(self, X):
            return np.full(len(X), np.nan)

    rankers = {"f": Fails(), "w": Warns(), "m": Missing(), "r": Ridge()}
    folds = cut_folds(data, QueryKFold(3))
    results = compare(rankers, folds, {"n": ndcg}).results
    assert results["f"].problem == "failed: not this"
    assert "NaN" in results["m"].problem
    assert results["f"].values == results["m"].values == {}
    n_rows = len(folds[0].train_rows)
    assert results["w"].warnings == {f"{n_rows} rows are few": 3}
    assert results["r"].warnings == {}
    np.testing.assert_array_equal(results["w"].values["n"], results["r"].values["n"])


def test_a_metric_that_refuses_the_labels_is_left_out_for_all(data):
    folds = cut_folds(data._replace(y=data.y - 1.0), QueryKFold(2))
    metrics = {"n": ndcg, "rows": lambda y, scores, groups: np.zeros(20)}
    comparison = compare({"r": Ridge()}, folds, metrics)
    assert list(comparison.refused) == ["n"]
    assert "labels of at least 0" in comparison.refused["n"]
    assert list(comparison.results["r"].values) == ["rows"]


def test_a_mean_skips_undefined_lists():
    data = Ranked(np.zeros((3, 1)), np.zeros(3), np.arange(3))
    values = np.array([1.0, np.nan, 0.0])
    fold = Fold(data, data)
    result = compare({"r": Ridge()}, [fold], {"v": lambda *_: values}).results["r"]
    assert result.mean("v") == 0.5
    assert np.isnan(result.mean("unknown"))
