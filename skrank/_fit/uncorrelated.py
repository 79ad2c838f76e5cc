r"""Features that are uncorrelated inside lists: a diagonal whitens them best.

The Gram matrix of a sample of rows has errors of about :math:`\sqrt{p / n}` along each
of its p axes, though nothing but its diagonal may be needed. Two halves of a few lists
tell, since their errors are independent: the products of their correlations,
:math:`\sum_{i \ne j} a_{ij} b_{ij}`, are on average :math:`\sum_{i \ne j} c_{ij}^2` of
the correlations c themselves, and :math:`\frac14 \sum_{ij} (a_{ij} - b_{ij})^2` is the
expected square of the error of their mean.
"""

from __future__ import annotations

import numpy as np

from skrank._data.lists import Floats, Indices
from skrank._fit.gram import (
    ROWS_A_FEATURE,
    Gram,
    free_features,
    needs_basis,
    sampled_blocks,
    weighted_gram,
)
from skrank._fit.objective import LinearObjective

FEW_ROWS_A_FEATURE, LEAST_ROWS, LEAST_LISTS = 32, 2048, 8
# Look only if the Gram matrix would read at least 4 times as many rows.
PAYS = 4.0
# Sum of squares of the errors of a diagonal, at most. One pair of features may then
# have a correlation of .5, so that no direction curves less than half as much as it
# seems: the estimate of what is left of a fit stays good.
MOST_ERROR = 0.5


def diagonal_of_few(objective: LinearObjective, parameters: Floats) -> Gram | None:
    """Return sums of a few lists without products of features, or None.

    None where features are correlated, so that a Gram matrix of more rows is nearer to
    the Hessian than its diagonal, or where that matrix would cost little more.
    """
    if not isinstance(objective, LinearObjective) or needs_basis(objective):
        return None  # rows are elsewhere, or fewer than features
    halves = _two_halves(objective)
    if halves is None:
        return None
    first, second = (_sums_of(objective, half, parameters) for half in halves)
    pooled = first.mixed(second, 0.5)
    diagonal = np.diag(pooled.gram)
    if not (np.all(np.isfinite(pooled.gram)) and np.all(diagonal > 0.0)):
        return None
    n_rows = sum(objective.data.lists.sizes[half].sum() for half in halves)
    scale = np.sqrt(diagonal)
    corr_first, corr_second = (
        half.gram / scale / scale[:, np.newaxis] for half in (first, second)
    )
    squared_error = 0.25 * (corr_first - corr_second) ** 2
    n_rows_of_gram = ROWS_A_FEATURE * objective.n_features
    gram_error = squared_error.sum() * n_rows / n_rows_of_gram
    # Curvatures that differ by no more than their errors are better taken as equal.
    logs = np.log(diagonal)
    differences = logs - logs.mean()
    of_diagonal = np.trace(squared_error)
    shrinkage = max(1.0 - of_diagonal / (differences @ differences or 1.0), 0.0)
    squared_correlations = np.sum(corr_first * corr_second) - (
        np.diag(corr_first) @ np.diag(corr_second)
    )
    diagonal_error = squared_correlations + shrinkage * of_diagonal
    if not diagonal_error <= min(gram_error, MOST_ERROR):
        return None
    return pooled._replace(gram=np.diag(np.exp(logs.mean() + shrinkage * differences)))


def _two_halves(objective: LinearObjective) -> tuple[Indices, Indices] | None:
    """Return two disjoint samples of lists, spread over all; None if few are not."""
    data = objective.data
    n_free = len(free_features(objective))
    n_rows = max(FEW_ROWS_A_FEATURE * n_free, LEAST_ROWS)
    sampled = sum(block.stop - block.start for block in sampled_blocks(objective))
    counted = np.flatnonzero(data.list_weights())
    n_few = int(np.ceil(n_rows / data.lists.sizes[counted].mean()))
    if (
        n_free == 0
        or not LEAST_LISTS <= n_few <= len(counted)
        or PAYS * n_rows > sampled
    ):
        return None
    few = counted[np.arange(n_few) * len(counted) // n_few]
    return few[::2], few[1::2]


def _sums_of(objective: LinearObjective, chosen: Indices, parameters: Floats) -> Gram:
    """Return the sums of some lists, scaled up to all."""
    part = objective.remade(objective.data.part(chosen), objective.loss)
    part.extra_start = objective.extra_start  # which may depend on all labels
    return weighted_gram(part, parameters)
