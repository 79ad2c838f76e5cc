"""Data at the edge: right weights, or a clear word."""

import numpy as np
import pytest

from skrank.linear_model import (
    DavidsonLuceRanker,
    DavidsonRanker,
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
    RaoKupperRanker,
)


def test_lists_of_one_row_have_nothing_to_rank_and_say_so(ranker):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.warns(UserWarning, match="no list has two rows") as caught:
        fitted = ranker().fit(X, np.arange(20), np.arange(20))
    np.testing.assert_array_equal(fitted.coef_, 0.0)
    assert [warning.filename for warning in caught] == [__file__]


def test_lists_of_one_row_among_others_change_no_order(ranker, lists, exact):
    X, y, groups = lists
    rows = np.r_[np.arange(len(y)), 0, 1, 2]
    names = np.r_[groups, 100, 101, 102]
    # The mean counts them as lists, so the penalty is as strong with 40 / 43 of it.
    more = ranker(alpha=0.1 * 40 / 43, **exact).fit(X[rows], y[rows], names)
    fitted = ranker(alpha=0.1, **exact).fit(X, y, groups)
    np.testing.assert_allclose(more.coef_, fitted.coef_, rtol=0, atol=1e-7)


# Models of ties say that nothing but ties, or none, tells them nothing.
TIES_AT_LIMIT = pytest.mark.filterwarnings("ignore:.*parameter of ties stops at its")


@pytest.mark.parametrize("label", [0, 1, 0.7, 4])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_equal_labels_give_no_weights_and_say_so(ranker, lists, label, alpha):
    X, y, groups = lists
    # Davidson's and Rao and Kupper's parameters say it by the limit that they reach.
    with pytest.warns(UserWarning, match="all rows of each list are"):
        fitted = ranker(alpha=alpha).fit(X, np.full(len(y), label), groups)
    # Targets of 1 / n have roundings of their own.
    np.testing.assert_allclose(fitted.coef_, 0.0, rtol=0, atol=1e-7)


def test_one_list_only(ranker):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 1] + rng.normal(size=200), [0, 1])
    fitted = ranker(alpha=1e-3).fit(X, y, np.zeros(200))
    assert fitted.coef_[1] > 3 * np.abs(fitted.coef_[[0, 2]]).max()


def test_features_that_are_all_constant_say_so_and_nothing_else(ranker):
    groups = np.repeat(np.arange(20), 5)
    X = np.column_stack((groups / 7, np.sin(groups), np.ones(100)))
    y = np.random.default_rng(0).integers(0, 3, 100)
    with pytest.warns(UserWarning, match="3 of 3 features are constant") as caught:
        fitted = ranker().fit(X, y, groups)
    assert len(caught) == 1
    np.testing.assert_array_equal(fitted.coef_, 0.0)


# Gradients that cancel leave rounding of some 1e-17, which is nothing to follow.
MIRRORED = [RankNetRanker(), ListNetRanker("softmax"), ListMLERanker()]


@pytest.mark.parametrize("estimator", MIRRORED, ids=repr)
@pytest.mark.parametrize("seed", range(25))
def test_features_without_signal_end_quietly(estimator, seed):
    rng = np.random.default_rng(seed)
    n_rows = rng.integers(2, 9)
    half = rng.normal(size=(n_rows, 3)) * 10.0 ** rng.integers(-4, 5)
    order = rng.permutation(n_rows)
    X, y = np.r_[half, half], np.r_[order, n_rows - 1 - order]
    fitted = estimator.fit(X, y, np.repeat([0, 1], n_rows))
    if isinstance(estimator, RankNetRanker):  # each pair is won once by either row
        assert np.abs(half @ fitted.coef_).max() < 1e-7


def test_noise_is_no_reason_for_large_weights(ranker):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), rng.integers(0, 3, 2000)
    fitted = ranker().fit(X, y, np.repeat(np.arange(200), 10))
    assert np.abs(fitted.coef_).max() < 0.2


@TIES_AT_LIMIT
def test_scores_of_eight_hundred_inside_a_list_are_fitted(ranker):
    # Weak penalty and features of size 800: scores reach +-800 on the way.
    rng = np.random.default_rng(0)
    X = rng.choice([-800.0, 800.0], size=(400, 2))
    X += rng.normal(size=X.shape)
    y = (X[:, 0] > 0).astype(int)
    fitted = ranker(alpha=1e-9, warm_start=True).fit(X, y, np.repeat(np.arange(40), 10))
    fitted.coef_ = np.array([-1.0, 0.5])  # starts with every pair lost by 1600
    refitted = fitted.fit(X, y, np.repeat(np.arange(40), 10))
    assert np.isfinite(refitted.coef_).all()
    assert refitted.coef_[0] > 0
    assert refitted.score(X, y, np.repeat(np.arange(40), 10)) == 1.0


# Pairs of tied rows count for two, and subsets of tied rows for the third.
SHORTER = {DavidsonRanker: 4000, RaoKupperRanker: 4000, DavidsonLuceRanker: 150}


@TIES_AT_LIMIT
def test_a_list_of_a_hundred_thousand_rows(ranker):
    rng = np.random.default_rng(0)
    n_rows = SHORTER.get(ranker, 100_000)
    X = rng.normal(size=(n_rows, 2))
    # Few relevant rows, since the time of pairwise losses grows with the pairs.
    latent = X[:, 0] + rng.normal(size=n_rows)
    y = latent > np.sort(latent)[-50]
    fitted = ranker().fit(X, y, np.zeros(n_rows))
    assert fitted.coef_[0] > 2 * abs(fitted.coef_[1])
    assert np.isfinite(fitted.objective_)


@pytest.mark.parametrize("scale", [1e-300, 1e-154, 1e-30, 1e30, 1e150, 1e300])
def test_features_of_any_size_rank_as_well(ranker, lists, scale):
    X, y, groups = lists
    fitted = ranker(alpha=0).fit(scale * X, y, groups)
    plain = ranker(alpha=0).fit(X, y, groups)
    np.testing.assert_allclose(fitted.coef_ * scale, plain.coef_, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "scales",
    [[1e150, 1, 1e-150], [1e150, 1e150, 1e-150], [1e150, 1e-150, 1e-150]],
    ids=str,
)
def test_features_of_all_sizes_beside_each_other_rank_as_well(ranker, scales):
    """Their squares are no numbers, and two of them are 1e300 apart."""
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((400, 3)), np.repeat(np.arange(40), 10)
    y = np.digitize(X @ [1.0, -0.5, 0.7] + rng.logistic(size=400), [-1.0, 0.0, 1.0])
    fitted = ranker(alpha=0).fit(X * scales, y, groups)
    plain = ranker(alpha=0).fit(X, y, groups)
    np.testing.assert_allclose(fitted.coef_ * scales, plain.coef_, rtol=0, atol=1e-5)


def test_one_feature_of_enormous_size_does_not_stop_the_others(ranker, lists):
    X, y, groups = lists
    enormous = np.c_[X, 1e200 * np.random.default_rng(0).normal(size=len(X))]
    large = np.c_[X, enormous[:, -1] / 1e190]
    fitted = ranker().fit(enormous, y, groups)
    expected = ranker().fit(large, y, groups)
    # The penalty weighs nothing on either; gradients end within 1e-6 of the first.
    np.testing.assert_allclose(fitted.coef_[:-1], expected.coef_[:-1], rtol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_raw_scales_of_features_reach_the_optimum(ranker, exact, alpha):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(300), 20)
    X = rng.normal(size=(6000, 5))
    y = np.digitize(X[:, 0] - X[:, 1] + rng.normal(size=6000), [0, 1])
    X *= 10.0 ** np.array([-6, -3, 0, 3, 6])
    fitted = ranker(alpha=alpha).fit(X, y, groups)
    best = ranker(alpha=alpha, **exact).fit(X, y, groups)
    nothing = ranker(alpha=1e9).fit(X, y, groups)
    # A gradient within 1e-6 of the first leaves the square of that.
    fall = nothing.objective_ - best.objective_
    if len(best.extra_):  # whose slope at the start is the larger by far
        fall = best.objective_
    assert fitted.objective_ - best.objective_ < 1e-10 * fall
    if alpha == 0:  # the scale of a feature then changes no score
        assert fitted.score(X, y, groups) > 0.93


@TIES_AT_LIMIT
@pytest.mark.parametrize("scale", [1e-300, 1e-154])
def test_features_so_small_that_a_penalty_leaves_no_scores_are_told(
    ranker, lists, scale
):
    X, y, groups = lists
    with pytest.warns(UserWarning, match="X is so small beside alpha=0.1") as caught:
        ranker().fit(scale * X, y, groups)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("scale", [1e150, 1e300])
def test_features_so_large_that_a_penalty_weighs_nothing_rank_as_without(
    ranker, lists, scale
):
    X, y, groups = lists
    fitted = ranker().fit(scale * X, y, groups)
    plain = ranker(alpha=0).fit(X, y, groups)
    scores = fitted.predict(scale * X)
    # Gradients end within 1e-6 of the first.
    np.testing.assert_allclose(scores, plain.predict(X), rtol=0, atol=1e-3)


WITHOUT_TIES = [
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
]


@pytest.mark.parametrize("ranker", WITHOUT_TIES)
@pytest.mark.parametrize("scale", [1e-20, 1e-100])
def test_small_features_rank_under_a_penalty_as_larger_ones_do(ranker, lists, scale):
    # A penalty that outweighs the loss leaves the gradient at zero, over alpha.
    X, y, groups = lists
    fitted = ranker().fit(scale * X, y, groups).coef_ / scale
    larger = ranker().fit(1e-8 * X, y, groups).coef_ / 1e-8
    assert fitted.any()
    np.testing.assert_allclose(fitted, larger, rtol=1e-5)
