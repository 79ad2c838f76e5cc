"""Check whether the features of one model are sums of those of another, by list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from skrank._data.lists import Floats, Lists
from skrank._fit.data import FitData
from skrank._fit.objective import LinearObjective

SMALLEST = 1e-10  # eigenvalue of correlations below which features are dependent
OUTSIDE = 1e-7  # part of a feature's length, beyond which it is another feature


def features_outside(small: FitData, large: LinearObjective) -> np.ndarray:
    """Return which features of a model are not sums of features of another, (p_small,).

    The means of lists are subtracted first, since constants of lists rank nothing. Both
    models have the same rows in the same lists.
    """
    p, q = large.n_features, small.X.shape[1]
    gram, cross, squares = np.zeros((p, p)), np.zeros((p, q)), np.zeros(q)
    for first, second in _blocks(small, large):
        gram += first.T @ first
        cross += first.T @ second
        squares += np.sum(second**2, axis=0)
    length = np.sqrt(np.diag(gram))
    scale = np.divide(1.0, length, out=np.zeros(p), where=length > 0)
    correlations = gram * np.outer(scale, scale)
    sums = (
        scale[:, None]
        * np.linalg.lstsq(correlations, scale[:, None] * cross, rcond=SMALLEST)[0]
    )
    # Add up the squares of residuals: a difference of squares would lose digits.
    residuals = np.zeros(q)
    for first, second in _blocks(small, large):
        residuals += np.sum((second - first @ sums) ** 2, axis=0)
    return residuals > OUTSIDE**2 * squares


def _blocks(small: FitData, large: LinearObjective) -> Iterator[tuple[Floats, Floats]]:
    """Yield the features of the large and of the small model, block by block."""
    for block in large.blocks:
        rows: Any = slice(block.start, block.stop)
        if small.rows is not None:
            rows = small.rows[rows]
        first = _centred(block.features(None)[0], block.lists)
        yield first, _centred(small.X[rows], block.lists)


def _centred(X: Any, lists: Lists) -> Floats:
    """Return features less their means inside lists."""
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    centred = dense - lists.expand(dense[lists.starts])  # constants are exactly 0 then
    return centred - lists.expand(
        np.add.reduceat(centred, lists.starts, axis=0) / lists.sizes[:, None]
    )
