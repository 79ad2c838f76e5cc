"""Weights of lists, and what each list's loss is divided by."""

import numpy as np
import pytest

from skrank import ListMLERanker, ListNetRanker, RankNetRanker, with_groups
from skrank._data.grouping import group_rows


@pytest.mark.parametrize("factor", [1e-300, 0.5, 7.0, 1e300])
def test_only_the_shares_of_weights_count(ranker, lists, exact, factor):
    X, y, groups = lists
    weights = 1.0 + groups % 3
    fitted = ranker(**exact).fit(X, y, groups, sample_weight=weights)
    other = ranker(**exact).fit(X, y, groups, sample_weight=factor * weights)
    np.testing.assert_allclose(other.coef_, fitted.coef_, rtol=0, atol=1e-7)


def test_equal_weights_are_no_weights(ranker, lists):
    X, y, groups = lists
    fitted = ranker().fit(X, y, groups, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(fitted.coef_, ranker().fit(X, y, groups).coef_)


@pytest.mark.parametrize("together", [True, False], ids=["together", "shuffled"])
def test_a_list_of_weight_zero_is_left_out(ranker, lists, exact, together):
    X, y, groups = lists
    if not together:
        rows = np.random.default_rng(0).permutation(len(y))
        X, y, groups = X[rows], y[rows], groups[rows]
    weights = np.where(groups < 15, 0.0, 1.0 + groups % 2)
    kept = weights > 0
    fitted = ranker(**exact).fit(X, y, groups, sample_weight=weights)
    less = ranker(**exact).fit(
        X[kept], y[kept], groups[kept], sample_weight=weights[kept]
    )
    np.testing.assert_allclose(fitted.coef_, less.coef_, rtol=0, atol=1e-7)


def test_weights_go_with_groups_on_the_index(ranker, lists):
    X, y, groups = lists
    weights = 1.0 + groups % 3
    fitted = ranker().fit(X, with_groups(y, groups), sample_weight=weights)
    expected = ranker().fit(X, y, groups, sample_weight=weights)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda w: -w, "must not be negative"),
        (lambda w: np.where(np.arange(len(w)) == 5, -1.0, w), "not be negative"),
        (lambda w: 0 * w, "zero for every list"),
        (lambda w: np.where(w == w[0], np.nan, w), "NaN and 0 infinite"),
        (lambda w: np.ma.masked_less(w, 2), "masked entries"),
        (lambda w: w.astype(str).astype(object), "strings"),
        (lambda w: w[:-1], "one entry per row"),
        (lambda w: 2.0, r"shape \(\)"),
        (lambda w: w.astype(str), "must hold real numbers"),
        (lambda w: w + 1j, "must hold real numbers"),
    ],
)
def test_weights_that_mean_nothing_raise(ranker, lists, spoil, message):
    X, y, groups = lists
    with pytest.raises(ValueError, match=f"sample_weight.*{message}"):
        ranker().fit(X, y, groups, sample_weight=spoil(1.0 + groups % 3))


def test_the_score_counts_weights_too(ranker, lists):
    X, y, groups = lists
    fitted = ranker().fit(X, y, groups)
    first = groups == groups[0]
    only_first = fitted.score(X, y, groups, sample_weight=first.astype(float))
    assert only_first == fitted.score(X[first], y[first], groups[first])


NORMALIZED = [
    ListMLERanker(),
    ListMLERanker("breslow", last_level="rank"),
    ListNetRanker("softmax"),
    RankNetRanker(),
]


@pytest.mark.parametrize("estimator", NORMALIZED, ids=repr)
@pytest.mark.parametrize("normalize", ["size", "terms"])
def test_division_equals_weights_by_hand(estimator, lists, exact, normalize):
    X, y, groups = lists
    partition = group_rows(groups).lists
    divide = partition.sizes.astype(float)
    if normalize == "terms":
        loss = estimator._loss()
        divide = np.maximum(loss.n_terms(loss.prepare(y, partition), partition), 1)
    weights = (1 / divide)[groups]
    # Shares are over the sum of weights, the mean over the number of lists.
    alpha = 0.2 * 40 / np.sum(1 / divide)
    estimator.set_params(**exact)
    divided = estimator.set_params(normalize=normalize, alpha=0.2).fit(X, y, groups)
    coef = divided.coef_
    estimator.set_params(normalize=None, alpha=alpha)
    by_hand = estimator.fit(X, y, groups, sample_weight=weights).coef_
    np.testing.assert_allclose(by_hand, coef, rtol=0, atol=1e-7)
    plain = estimator.set_params(alpha=0.2).fit(X, y, groups).coef_
    one_term = isinstance(estimator, ListNetRanker) and normalize == "terms"
    assert one_term == bool(np.allclose(plain, coef, rtol=0, atol=1e-7))


def test_pairs_are_the_terms_of_ranknet(lists, exact):
    X, y, groups = lists
    pairs = np.zeros(40)
    for group in range(40):
        labels = y[groups == group]
        pairs[group] = np.sum(labels[:, None] > labels)
    some = np.maximum(pairs, 1)
    fitted = RankNetRanker(normalize="terms", alpha=0.2, **exact).fit(X, y, groups)
    alpha = 0.2 * 40 / np.sum(1 / some)
    by_hand = RankNetRanker(normalize=None, alpha=alpha, **exact)
    by_hand.fit(X, y, groups, sample_weight=(1 / some)[groups])
    np.testing.assert_allclose(by_hand.coef_, fitted.coef_, rtol=0, atol=1e-7)
