"""Pairwise accuracy against a double loop, and its speed on one long list."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score

from skrank.metrics import pairwise_accuracy_score


def double_loop(y, scores):
    right = pairs = 0
    for i in range(len(y)):
        for j in range(len(y)):
            if y[i] > y[j]:
                pairs += 1
                right += 1 if scores[i] > scores[j] else 0.5 * (scores[i] == scores[j])
    return right / pairs if pairs else np.nan


rows = st.lists(
    st.tuples(st.integers(-3, 3), st.sampled_from([-1.5, 0.0, -0.0, 0.1, 7.0])),
    min_size=1,
    max_size=60,
)


@settings(deadline=None)
@given(rows)
def test_it_equals_a_double_loop(pairs):
    y, scores = zip(*pairs, strict=True)
    value = pairwise_accuracy_score(y, scores, np.zeros(len(y)), average=None)
    np.testing.assert_array_equal(value, [double_loop(y, scores)])


@settings(deadline=None)
@given(rows)
def test_only_the_order_of_labels_and_scores_matters(pairs):
    y, scores = map(np.array, zip(*pairs, strict=True))
    groups = np.zeros(len(y))
    value = pairwise_accuracy_score(y, scores, groups, empty=0.5)
    again = pairwise_accuracy_score(y**3 - 50, scores * 8 + 1, groups, empty=0.5)
    assert again == value
    turned = pairwise_accuracy_score(y[::-1], -scores[::-1], groups, empty=0.5)
    assert turned == pytest.approx(1 - value, abs=2 * np.finfo(float).eps)


def test_long_list_equals_the_area_under_the_curve():
    rng = np.random.default_rng(0)
    n = 100_000
    y = rng.random(n) < 0.3
    scores = np.round(rng.normal(size=n) + y, 2)
    value = pairwise_accuracy_score(y, scores, np.zeros(n))
    assert value == pytest.approx(roc_auc_score(y, scores), rel=1e-12)


def test_many_lists_equal_one_by_one():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 30, 1000)
    y, scores = rng.normal(size=1000).round(1), rng.normal(size=1000).round(1)
    values = pairwise_accuracy_score(y, scores, groups, average=None)
    expected = [double_loop(y[groups == g], scores[groups == g]) for g in range(30)]
    np.testing.assert_array_equal(values, expected)


def test_constant_scores_have_one_half_and_constant_labels_nothing():
    groups = np.zeros(3)
    assert pairwise_accuracy_score([0, 1, 2], np.ones(3), groups) == 0.5
    value = pairwise_accuracy_score([1, 1, 1], [3, 2, 1], groups, average=None)
    assert np.isnan(value).all()
    with pytest.warns(UndefinedMetricWarning, match="labels that differ"):
        assert pairwise_accuracy_score([1, 1, 1], [3, 2, 1], groups) == 0.0
    assert pairwise_accuracy_score([1, 1, 1], [3, 2, 1], groups, empty=0.5) == 0.5
    assert pairwise_accuracy_score([1, 1, 0], [3, 2, 1], groups) == 1.0
