"""Weights of members, chosen on lists that these were not fitted to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from skrank._data.grouping import Grouping
from skrank._data.lists import Floats, Indices
from skrank.ensemble._members import weighted_mean
from skrank.metrics import ndcg_score, pairwise_accuracy_score

N_FOLDS = 2
FEWEST_LISTS = 10  # with fewer all members count alike
N_STEPS = 20
N_RESAMPLES = 100
ROUNDING = 1e-12  # of sums over lists
IN_A_HALF = (
    "This happened in a fit to half of the lists, by which weights='auto' chooses how "
    "much members count. Members that cannot be fitted to halves need weights=None, or "
    "a list of numbers."
)
HIGHEST_GRADE = 31  # as for stages that weigh gains; larger labels are not grades


def weights_by_left_out_lists(
    ensemble: Any, X: Any, y: Any, grouping: Grouping, groups: Any, sample_weight: Any
) -> Floats:
    """Return what each member counts to rank lists of the other fold best."""
    n_members = len(ensemble.estimators)
    if n_members == 1 or len(grouping.labels) < FEWEST_LISTS:
        return np.full(n_members, 1.0 / n_members)
    columns = _left_out_columns(ensemble, X, y, grouping, groups, sample_weight)
    return bagged_weights(columns, np.asarray(y).ravel(), grouping, sample_weight)


def _left_out_columns(
    ensemble: Any, X: Any, y: Any, grouping: Grouping, groups: Any, sample_weight: Any
) -> Floats:
    """Return what members that were fitted to the other fold give each row."""
    fold_of_row = fold_of_rows(grouping)
    unweighted = clone(ensemble).set_params(weights=None)
    columns = np.empty((len(fold_of_row), len(ensemble.estimators)))
    for fold in range(N_FOLDS):
        test = np.flatnonzero(fold_of_row == fold)
        train = np.flatnonzero(fold_of_row != fold)
        parts = [_safe_indexing(part, train) for part in (X, y, groups)]
        weight = sample_weight
        if sample_weight is not None:
            weight = _safe_indexing(sample_weight, train)
        try:
            unweighted.fit(*parts, sample_weight=weight)
        except Exception as error:
            error.add_note(IN_A_HALF)
            raise
        columns[test] = unweighted._columns(
            _safe_indexing(X, test), _safe_indexing(groups, test)
        )
    return columns


def fold_of_rows(grouping: Grouping) -> Indices:
    """Return the fold of each row, whatever the order of rows; lists stay whole."""
    n_lists = len(grouping.labels)
    folds = np.empty(n_lists, dtype=np.intp)
    drawn = np.random.default_rng(0).permutation(n_lists) % N_FOLDS
    folds[_by_label(grouping)] = drawn
    return grouping.scatter(grouping.lists.expand(folds))


def bagged_weights(
    columns: Floats, y: Any, grouping: Grouping, sample_weight: Any = None
) -> Floats:
    """Return weights that rank lists well, the mean of what resampled lists choose.

    Ensemble selection names candidates: each member alone, then sums to which it adds
    one member after the other, each as often as it helps. Each resample of the lists
    chooses the best of them, by NDCG where labels are grades, else by pairs. With few
    lists their choices differ, so that the mean does not follow chance far.
    """
    grades = (y >= 0) & (y <= HIGHEST_GRADE) & (y == np.rint(y))
    metric = ndcg_score if grades.all() else pairwise_accuracy_score
    labels = grouping.label_of_rows()
    weight_of_list = _mean_of_lists(sample_weight, grouping)[_by_label(grouping)]

    def of_lists(weights: Floats) -> Floats:
        fused = weighted_mean(columns, weights)
        return weight_of_list * metric(y, fused, labels, average=None)

    tried, values = _candidates(of_lists, columns.shape[1])
    values = values[:, ~np.isnan(values[0])]  # lists that no order can change
    n_lists, rng = values.shape[1], np.random.default_rng(0)
    chosen = np.zeros(len(tried))
    for _ in range(N_RESAMPLES):
        drawn = rng.integers(max(n_lists, 1), size=n_lists)
        sums = values @ np.bincount(drawn, minlength=n_lists).astype(np.float64)
        # Candidates that rank all lists alike differ by rounding: take the first.
        chosen[np.argmax(sums >= sums.max() * (1 - ROUNDING))] += 1
    return chosen @ tried / N_RESAMPLES


def _candidates(
    of_lists: Callable[[Floats], Floats], n_members: int
) -> tuple[Floats, Floats]:
    """Return weights worth to try, equal ones first, and their value on each list."""
    tried = [np.full(n_members, 1.0 / n_members)]
    values = [of_lists(tried[0])]
    counts = np.zeros(n_members)
    for step in range(1, N_STEPS + 1):
        larger = counts + np.eye(n_members)
        computed = [of_lists(weights / step) for weights in larger]
        tried.extend(larger / step)
        values.extend(computed)
        counts = larger[int(np.argmax([np.nansum(value) for value in computed]))]
    return np.array(tried), np.array(values)


def _mean_of_lists(sample_weight: Any, grouping: Grouping) -> Floats:
    """Return the mean weight of each list, by which metrics weigh it."""
    if sample_weight is None:
        return np.ones(len(grouping.labels))
    weight = grouping.gather(np.asarray(sample_weight, dtype=np.float64).ravel())
    return grouping.lists.sum(weight) / grouping.lists.sizes


def _by_label(grouping: Grouping) -> Indices | slice:
    """Return the order of lists in which metrics return their values."""
    order = grouping.label_order()
    return slice(None) if order is None else order
