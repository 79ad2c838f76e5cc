"""The strength of the penalty by rule."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from skrank import ListMLERanker
from skrank._data.lists import Lists
from skrank._fit import penalty
from skrank._fit.data import FitData
from skrank._fit.features import constant_features
from skrank._fit.penalty import penalty_by_rule
from skrank.datasets import make_ranking


def data_of(X, y, sizes, weights=None):
    lists = Lists(sizes)
    constant = constant_features(X, lists)
    return FitData(X, np.asarray(y, float), lists, weights, None, constant)


def by_hand(X, y, sizes):
    """Return the rule from the covariance inside lists."""
    starts = np.cumsum([0, *sizes])
    parts = [slice(a, b) for a, b in pairwise(starts)]
    Z = np.vstack([X[part] - X[part].mean(axis=0) for part in parts])
    C = Z.T @ Z / len(Z)
    n_lists = sum(len(set(y[part])) > 1 for part in parts)
    n_features = np.sum(np.diag(C) > 1e-20)
    effective = np.trace(C) ** 2 / np.sum(C**2)
    return np.trace(C) / n_features * effective / n_lists


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, 40)
    X = rng.normal(size=(sizes.sum(), 5)) @ rng.normal(size=(5, 5)) + 3.0
    X[:, 2] = np.repeat(rng.normal(size=40), sizes)  # constant in every list
    return X, rng.integers(0, 3, len(X)), sizes


def test_the_rule_equals_its_formula(drawn):
    X, y, sizes = drawn
    assert penalty_by_rule(data_of(X, y, sizes)) == pytest.approx(by_hand(X, y, sizes))


def test_sparse_equals_dense_and_many_features_are_sampled(drawn, monkeypatch):
    X, y, sizes = drawn
    X = np.where(X > 3.0, X, 0.0)
    expected = by_hand(X, y, sizes)
    table = sparse.csr_array(X)
    assert penalty_by_rule(data_of(table, y, sizes)) == pytest.approx(expected)
    monkeypatch.setattr(penalty, "WIDEST_EXACT", 3)
    for form in (X, table):
        assert penalty_by_rule(data_of(form, y, sizes)) == pytest.approx(
            expected, rel=0.3
        )


def test_independent_features_give_their_number_over_that_of_lists():
    X, y, groups = make_ranking(400, n_features=20, random_state=0)
    ranker = ListMLERanker(alpha="auto").fit(X, y, groups)
    variance = 1 - 400 / len(X)  # about the means of lists
    assert ranker.alpha_ == pytest.approx(variance * 20 / 400, rel=0.02)


def test_copies_of_a_feature_count_once():
    X, y, groups = make_ranking(200, n_features=1, n_informative=1, random_state=0)
    one = ListMLERanker(alpha="auto").fit(X, y, groups)
    four = ListMLERanker(alpha="auto").fit(np.tile(X, 4), y, groups)
    assert four.alpha_ == pytest.approx(one.alpha_)


def test_the_rule_follows_the_scale_of_features_and_ranks_alike(drawn):
    X, y, sizes = drawn
    groups = np.repeat(np.arange(len(sizes)), sizes)
    keep = [0, 1, 3, 4]
    plain = ListMLERanker(alpha="auto").fit(X[:, keep], y, groups)
    scaled = ListMLERanker(alpha="auto").fit(1e3 * X[:, keep], y, groups)
    assert scaled.alpha_ == pytest.approx(1e6 * plain.alpha_)
    np.testing.assert_allclose(1e3 * scaled.coef_, plain.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("factor", [1e-160, 1e160])
def test_numbers_of_any_size_give_a_finite_strength(drawn, factor):
    X, y, sizes = drawn
    value = penalty_by_rule(data_of(factor * X, y, sizes))
    assert 0 < value < np.inf


def test_lists_of_one_level_or_without_weight_do_not_count(drawn):
    X, y, sizes = drawn
    ordinary = penalty_by_rule(data_of(X, y, sizes))
    weights = np.ones(len(sizes))
    informative = [len(set(part)) > 1 for part in np.split(y, np.cumsum(sizes)[:-1])]
    weights[np.flatnonzero(informative)[: sum(informative) // 2]] = 0.0
    left = sum(informative) - sum(informative) // 2
    value = penalty_by_rule(data_of(X, y, sizes, weights))
    assert value == pytest.approx(ordinary * sum(informative) / left)


def test_where_nothing_varies_any_strength_does():
    assert penalty_by_rule(data_of(np.zeros((3, 2)), [0, 1, 2], [3])) == 1.0
    assert penalty_by_rule(data_of(np.eye(3), [1, 1, 1], [3])) == 1.0


def test_a_number_is_used_as_it_is_and_shown(drawn):
    X, y, sizes = drawn
    groups = np.repeat(np.arange(len(sizes)), sizes)
    X = X[:, [0, 1]]
    auto = ListMLERanker(alpha="auto").fit(X, y, groups)
    same = ListMLERanker(alpha=auto.alpha_).fit(X, y, groups)
    np.testing.assert_array_equal(auto.coef_, same.coef_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few lists
        summary = auto.summary(X, y, groups)
    assert summary.alpha == auto.alpha_
    with pytest.raises(ValueError, match="'alpha' parameter"):
        ListMLERanker(alpha="rule").fit(X, y, groups)


@pytest.mark.filterwarnings("ignore:.*constant inside every list")
@pytest.mark.parametrize("size", [1.7e16, 1.7e18, 1e100, 1e200])
def test_features_that_cannot_rank_do_not_count_however_large(size):
    X, y, groups = make_ranking(10, n_features=4, random_state=1)
    of_list = size * (1 + np.random.RandomState(0).rand(groups.max() + 1))[groups]
    alone = ListMLERanker(alpha="auto").fit(X, y, groups).alpha_
    beside = ListMLERanker(alpha="auto").fit(np.column_stack([X, of_list]), y, groups)
    assert beside.alpha_ == pytest.approx(alone, rel=1e-12)
