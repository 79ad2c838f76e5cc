"""Weights of members, chosen on lists that these were not fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from skrank._data.grouping import Grouping
from skrank._data.lists import Floats, Indices
from skrank.ensemble._members import weighted_mean
from skrank.metrics import ndcg_score, pairwise_accuracy_score

N_FOLDS = 5
N_STEPS = 20


def weights_by_left_out_lists(
    ensemble: Any, X: Any, y: Any, grouping: Grouping, groups: Any, sample_weight: Any
) -> Floats:
    """Return how often each member counts to rank lists of other folds best.

    Members are added one after the other, each as often as it helps, as in ensemble
    selection. The first is the best alone, so that the weights are no worse than its
    on these lists.
    """
    fold_of_row = _folds(grouping)
    unweighted = clone(ensemble).set_params(weights=None)
    columns = np.empty((len(fold_of_row), len(ensemble.estimators)))
    for fold in range(N_FOLDS):
        test = np.flatnonzero(fold_of_row == fold)
        train = np.flatnonzero(fold_of_row != fold)
        parts = [_safe_indexing(part, train) for part in (X, y, groups)]
        weight = sample_weight
        if sample_weight is not None:
            weight = _safe_indexing(sample_weight, train)
        unweighted.fit(*parts, sample_weight=weight)
        columns[test] = unweighted._columns(
            _safe_indexing(X, test), _safe_indexing(groups, test)
        )
    labels = np.asanyarray(y)
    # NDCG has no gain for negative labels.
    score = pairwise_accuracy_score if np.min(labels) < 0 else ndcg_score

    def value(weights: Floats) -> float:
        fused = weighted_mean(columns, weights)
        return score(labels, fused, groups, sample_weight=sample_weight)

    return _selected(value, columns.shape[1])


def _folds(grouping: Grouping) -> Indices:
    """Return the fold of each row, whatever the order of rows; lists stay whole."""
    n_lists = len(grouping.labels)
    if n_lists < N_FOLDS:
        raise ValueError(
            f"weights='auto' needs at least {N_FOLDS} lists, to choose weights on "
            f"lists left out of fits, got {n_lists}. Give weights, or None for equal "
            "ones."
        )
    order = grouping.label_order()
    folds = np.empty(n_lists, dtype=np.intp)
    drawn = np.random.default_rng(0).permutation(n_lists) % N_FOLDS
    folds[slice(None) if order is None else order] = drawn
    return grouping.scatter(grouping.lists.expand(folds))


def _selected(value: Any, n_members: int) -> Floats:
    """Return the best of the weights that members added one by one lead to."""
    counts, best, highest = np.zeros(n_members), np.zeros(n_members), -np.inf
    for _ in range(N_STEPS):
        tried = counts + np.eye(n_members)
        values = [value(weights) for weights in tried]
        counts = tried[int(np.argmax(values))]
        if max(values) > highest:
            highest, best = max(values), counts
    return best
