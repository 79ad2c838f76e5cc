"""Which labels rankers take, and what they say of the others."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skrank.linear_model import (
    LinearRanker,
    ListMLERanker,
    ListNetRanker,
    RankNetRanker,
    RankSVMRanker,
)
from skrank.losses import ListMLE, RankNet, RankSVM
from skrank.metrics import pairwise_accuracy_score

ANY_LABELS = [
    LinearRanker(),
    ListMLERanker(),
    ListMLERanker("breslow"),
    ListMLERanker("random", random_state=0),
    ListNetRanker("softmax"),
    RankNetRanker(),
]
GAINS = [ListNetRanker(), RankNetRanker("gain")]


@pytest.mark.parametrize("kind", ["uint8", "uint64", "int8", "float16", "float32"])
def test_labels_of_every_kind_of_number_fit_alike(ranker, lists, kind):
    X, y, groups = lists
    fitted = ranker().fit(X, y.astype(kind), groups)
    np.testing.assert_array_equal(fitted.coef_, ranker().fit(X, y, groups).coef_)


@pytest.mark.parametrize(
    "hold",
    [
        list,
        lambda y: y.astype(object),
        lambda y: pd.Series(y, dtype="Int64"),
        lambda y: pd.Series(y).astype("category"),
    ],
    ids=["list", "objects", "Int64", "category"],
)
def test_labels_in_every_container_fit_alike(ranker, lists, hold):
    X, y, groups = lists
    fitted = ranker().fit(X, hold(y), groups)
    np.testing.assert_array_equal(fitted.coef_, ranker().fit(X, y, groups).coef_)


def test_true_and_false_are_one_and_zero(ranker, lists):
    X, y, groups = lists
    fitted = ranker().fit(X, y > 1, groups)
    expected = ranker().fit(X, (y > 1).astype(float), groups)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)
    assert fitted.coef_.any()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda y: np.where(y == 3, np.nan, y), "Input y contains NaN"),
        (lambda y: np.where(y == 3, np.inf, y), "Input y contains infinity"),
        (lambda y: np.where(y == 3, None, y), "y has .* NaN"),
        (lambda y: pd.Series(y, dtype="Int64").where(y != 3), "y contains NaN"),
        (lambda y: np.ma.array(y, mask=y == 3), "y has .* masked entries"),
        (lambda y: np.column_stack((y, y)), "y should be a 1d array"),
        (lambda y: y.astype(str), "y must hold real numbers, got dtype <U"),
        (lambda y: y.astype(str).astype(object), "y must hold real numbers, got str"),
        (lambda y: np.array(["bad", "good"])[y // 2], "y must hold real numbers"),
        (lambda y: y.astype(complex), "Complex data not supported"),
        (lambda y: y.astype("M8[D]"), "y must hold real numbers, got dtype datetime"),
        (lambda y: y + 2**53, "y holds integers beyond 2"),
        (lambda y: (y + 2**53).astype(object), "y holds integers beyond 2"),
        (lambda y: y.astype(np.uint64) + np.uint64(2**63), "y holds integers beyond 2"),
        (lambda y: y[:-1], "inconsistent numbers of samples"),
        (lambda y: None, "requires y to be passed"),
    ],
)
def test_labels_that_cannot_rank_raise(ranker, lists, spoil, message):
    X, y, groups = lists
    with pytest.raises(ValueError, match=message):
        ranker().fit(X, spoil(y), groups)


@pytest.mark.parametrize("top", [72, 5000])
def test_labels_up_to_thousands_fit_and_score(ranker, top):
    rng = np.random.default_rng(top)
    groups = np.repeat(np.arange(50), 8)
    X = rng.normal(size=(400, 3))
    y = np.clip(np.round(top / 2 * (1 + X[:, 0] / 2)), 0, top)
    assert y.min() == 0
    assert y.max() == top
    fitted = ranker().fit(X, y, groups)
    assert np.isfinite(fitted.coef_).all()
    assert fitted.coef_[0] > 5 * np.abs(fitted.coef_[1:]).max()
    assert 0 < fitted.score(X, y, groups) <= 1


@pytest.mark.parametrize("estimator", ANY_LABELS, ids=repr)
@pytest.mark.parametrize("shift", [lambda y: y - 2, lambda y: y / 3 - 0.4])
def test_negative_and_real_labels_fit_and_pairs_can_be_counted(estimator, lists, shift):
    X, y, groups = lists
    y = shift(y)
    fitted = estimator.fit(X, y, groups)
    assert pairwise_accuracy_score(y, fitted.predict(X), groups) > 0.75
    with pytest.raises(ValueError, match="pairwise_accuracy_score"):
        fitted.score(X, y, groups)


@pytest.mark.parametrize("estimator", GAINS, ids=repr)
def test_negative_labels_have_no_gain_and_the_error_says_what_has(estimator, lists):
    X, y, groups = lists
    with pytest.raises(ValueError, match=r"labels of at least 0, got -2.0.*takes any"):
        estimator.fit(X, y - 2, groups)


@pytest.mark.parametrize(
    ("estimator", "loss"),
    [
        (LinearRanker(), ListMLE()),
        (ListMLERanker(), ListMLE()),
        (RankNetRanker(), RankNet()),
        (RankSVMRanker(), RankSVM()),
        (RankSVMRanker("linear"), RankSVM("linear")),
    ],
    ids=repr,
)
def test_only_the_order_of_labels_counts(estimator, loss, lists):
    X, y, groups = lists
    fitted = clone(estimator).fit(X, y, groups)
    scores = fitted.predict(X)
    for same in (100 * y, y**2, y - 7.5, np.exp(y)):
        again = clone(estimator).fit(X, same, groups)
        np.testing.assert_array_equal(again.coef_, fitted.coef_)
        assert loss(scores, same, groups) == loss(scores, y, groups) > 0


def test_labels_between_zero_and_one_are_labels(ranker, lists):
    X, y, groups = lists
    fitted = ranker().fit(X, y / 4, groups)
    assert fitted.coef_[0] > 0.1
    assert fitted.coef_[1] < -0.1
    as_floats = ranker().fit(X, y.astype(float), groups)
    np.testing.assert_array_equal(as_floats.coef_, ranker().fit(X, y, groups).coef_)


def test_masked_labels_have_no_score(ranker, lists):
    X, y, groups = lists
    fitted = ranker().fit(X, y, groups)
    with pytest.raises(ValueError, match="masked entries"):
        fitted.score(X, np.ma.masked_equal(y, y[0]), groups)
