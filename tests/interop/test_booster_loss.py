"""Losses as objectives of boosters: derivatives, and that boosters learn by them."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from skrank import Lists
from skrank.datasets import make_ranking
from skrank.interop import BoosterRanker, make_booster_objective
from skrank.losses import PMOP, Davidson, ListMLE, ListNet, Loss, RankNet, RankSVM

LOSSES = [ListNet(), ListMLE(), RankNet(), RankNet("gain"), PMOP(), RankSVM()]
CONVEX = [ListNet(), ListMLE(), RankNet(), PMOP("geometric")]


def data(n_lists=12, seed=0):
    X, y, groups = make_ranking(n_lists, list_size=(3, 7), random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order].astype(float), groups[order]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_gradient_is_that_of_the_sum_over_lists(loss):
    _, y, groups = data()
    scores = np.random.default_rng(1).normal(size=len(y))
    objective = make_booster_objective(loss, y, groups, library="xgboost")
    gradient, _ = objective(scores, None)
    n_lists = len(np.unique(groups))
    for row in range(0, len(y), 7):
        step = np.zeros(len(y))
        step[row] = 1e-6
        change = loss(scores + step, y, groups) - loss(scores - step, y, groups)
        assert gradient[row] == pytest.approx(n_lists * change / 2e-6, abs=1e-6)


@pytest.mark.parametrize("loss", CONVEX, ids=repr)
def test_the_curvature_is_the_diagonal_of_the_hessian(loss):
    _, y, groups = data()
    scores = np.random.default_rng(1).normal(size=len(y))
    objective = make_booster_objective(loss, y, groups, library="xgboost")
    _, curvature = objective(scores, None)
    assert (curvature > 0).all()
    for row in range(0, len(y), 7):
        step = np.zeros(len(y))
        step[row] = 1e-5
        above, below = (objective(scores + s, None)[0][row] for s in (step, -step))
        floor = 1e-6 * curvature.mean()
        expected = max((above - below) / 2e-5, floor)
        assert curvature[row] == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_curvature_is_positive_where_a_loss_is_not_convex():
    loss, y = PMOP(), np.array([1.0, 1.0, 0.0])
    objective = make_booster_objective(loss, y, [0, 0, 0], library="xgboost")
    _, curvature = objective(np.array([0.0, 0.0, 0.0]), None)
    assert (curvature > 0).all()


def test_long_lists_have_a_curvature_no_smaller_than_a_thousandth_of_the_exact_one():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600).astype(float)
    scores = rng.normal(size=600)
    whole = make_booster_objective(ListNet(), y, np.zeros(600), library="xgboost")
    softmax = np.exp(scores) / np.exp(scores).sum()
    _, curvature = whole(scores, None)
    exact = softmax * (1 - softmax)
    assert (curvature >= exact * (1 - 1e-9)).all()
    assert (curvature <= exact * 1.1 + 1e-6 * curvature.mean()).all()


def test_lightgbm_and_xgboost_conventions_agree():
    _, y, groups = data()
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    scores = np.random.default_rng(1).normal(size=len(y))
    by_sizes = make_booster_objective(RankNet(), library="lightgbm")
    by_rows = make_booster_objective(RankNet(), y, groups, library="xgboost")
    for a, b in zip(
        by_sizes(y[order], scores[order], None, sizes),
        by_rows(scores, None),
        strict=True,
    ):
        np.testing.assert_allclose(a, b[order], rtol=1e-12, atol=1e-15)
    weight = np.repeat(np.arange(1.0, len(sizes) + 1), sizes)
    weighted = by_sizes(y[order], scores[order], weight, sizes)
    plain = by_sizes(y[order], scores[order], None, sizes)
    np.testing.assert_array_equal(weighted[0], weight * plain[0])
    np.testing.assert_array_equal(weighted[1], weight * plain[1])


@pytest.mark.parametrize("loss", [RankNet("gain"), ListNet()])
def test_weights_of_rows_count_as_in_the_loss(loss):
    _, y, groups = data()
    order = np.argsort(groups, kind="stable")
    lists = Lists(np.bincount(groups))
    rng = np.random.default_rng(1)
    scores, weight = rng.normal(size=len(y)), rng.uniform(0.0, 3.0, len(y))
    means = lists.expand(lists.sum(weight) / lists.sizes)
    prepared = loss.weigh_rows(loss.prepare(y[order], lists), weight / means, lists)
    expected = means * loss.value_and_gradient(scores, prepared, lists)[1]
    objective = make_booster_objective(loss, library="lightgbm")
    derivatives = objective(y[order], scores, weight, lists.sizes)
    np.testing.assert_allclose(derivatives[0], expected, rtol=1e-12, atol=1e-14)
    matrix = SimpleNamespace(get_weight=lambda: weight)
    by_rows = make_booster_objective(loss, y[order], groups[order], library="xgboost")
    for one, other in zip(by_rows(scores, matrix), derivatives, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match="PMOP has no terms that belong to single"):
        make_booster_objective(PMOP(), library="lightgbm")(
            y[order], scores, weight, lists.sizes
        )


def test_other_labels_of_the_same_sizes_are_prepared_anew():
    objective = make_booster_objective(RankNet(), library="lightgbm")
    scores, sizes = np.zeros(2), [2]
    first = objective(np.array([1.0, 0.0]), scores, None, sizes)[0]
    second = objective(np.array([0.0, 1.0]), scores, None, sizes)[0]
    np.testing.assert_array_equal(first, -second)


@pytest.mark.parametrize("loss", [PMOP(), ListNet()], ids=repr)
def test_lightgbm_learns_by_a_loss_and_lowers_it(loss):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, groups = data(60)
    model = lightgbm.LGBMRanker(
        objective=make_booster_objective(loss, library="lightgbm"),
        n_estimators=30,
        num_leaves=4,
        min_child_samples=5,
        verbose=-1,
    )
    ranker = BoosterRanker(model).fit(X, y, groups)
    assert loss(ranker.predict(X), y, groups) < loss(0.0 * y, y, groups) - 0.3
    assert ranker.score(X, y, groups) > 0.9
    again = clone(ranker).fit(X, y, groups)
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    copy = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(copy.predict(X), ranker.predict(X))
    # Without LightGBM's own metric labels need not be whole.
    any_labels = BoosterRanker(clone(model).set_params(metric="None"))
    half = any_labels.fit(X, y + 0.5, groups)
    assert np.isfinite(half.predict(X)).all()


def test_xgboost_learns_by_a_loss_and_lowers_it():
    xgboost = pytest.importorskip("xgboost")
    X, y, groups = data(60)
    loss = PMOP()
    objective = make_booster_objective(loss, y, groups, library="xgboost")
    matrix = xgboost.DMatrix(X, y)
    model = xgboost.train(
        {"max_depth": 2, "base_score": 0.0}, matrix, 30, obj=objective
    )
    scores = model.predict(matrix)
    assert loss(scores, y, groups) < loss(0.0 * y, y, groups) - 0.3


def test_a_loss_of_ones_own_trains_a_booster():
    class Centred(Loss):
        def prepare(self, y, lists):
            return y

        def value_and_gradient(self, scores, prepared, lists):
            error = scores - prepared
            error = error - lists.expand(lists.sum(error) / lists.sizes)
            return lists.sum(error**2) / 2, error

    _, y, groups = data()
    objective = make_booster_objective(Centred(), y, groups, library="xgboost")
    gradient, curvature = objective(0.0 * y, None)
    sizes = np.bincount(groups)[groups]
    np.testing.assert_allclose(curvature, 1 - 1 / sizes, rtol=1e-4)
    means = np.bincount(groups, y) / np.bincount(groups)
    np.testing.assert_allclose(gradient, means[groups] - y, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: make_booster_objective(ListNet(), library="catboost"),
            ValueError,
            "library must be",
        ),
        (
            lambda: make_booster_objective("listnet", library="lightgbm"),
            TypeError,
            "must be a skrank.losses.Loss",
        ),
        (
            lambda: make_booster_objective(ListNet(), library="xgboost"),
            ValueError,
            "XGBoost passes no groups to its objective",
        ),
        (
            lambda: make_booster_objective(ListNet(), [1], [0], library="lightgbm"),
            ValueError,
            "leave out y and groups",
        ),
        (
            lambda: make_booster_objective(
                Davidson(), [1, 1], [0, 0], library="xgboost"
            ),
            ValueError,
            "learns parameters of its own",
        ),
        (
            lambda: make_booster_objective(
                ListNet(), [-1, 0], [0, 0], library="xgboost"
            ),
            ValueError,
            "at least 0, got -1",
        ),
        (
            lambda: make_booster_objective(
                ListNet(), [1, 0], [0, 0], library="xgboost"
            )(np.zeros(3), None),
            ValueError,
            "made for 2 rows and got 3 scores",
        ),
        (
            lambda: make_booster_objective(ListNet(), library="lightgbm")([1], [0.0]),
            ValueError,
            "train it by LGBMRanker",
        ),
    ],
)
def test_what_cannot_train_a_booster_says_why(call, error, message):
    with pytest.raises(error, match=message):
        call()
