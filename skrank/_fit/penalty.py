"""Choose the strength of the penalty by a rule, for ``alpha="auto"``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from skrank._data.lists import Floats, Lists
from skrank._fit.blocks import block_bounds
from skrank._fit.data import FitData

WIDEST_EXACT = 1000  # features up to which the covariance is formed, not sampled
N_PROBES = 64  # random directions; they give an error of at most a fifth
NOTHING_VARIES = 1.0  # the strength where no feature varies, so any will do


def penalty_by_rule(data: FitData) -> float:
    r"""Return the strength of the penalty that suits a number of lists and features.

    With C the covariance of features inside lists, pooled over all, p the number of
    features that vary and n of lists with two levels or more (and a weight),

    .. math::

        \alpha = \frac{\operatorname{tr} C}{p} \, \frac{p_e}{n}, \qquad
        p_e = \frac{(\operatorname{tr} C)^2}{\|C\|_F^2}

    where :math:`p_e` counts features as principal components do: p where they are
    independent and of one scale, 1 where all are copies. Then alpha times n is the
    precision of a prior under which the score of independent standardised features
    has variance 1.
    """
    return penalty_from(data, largest_value(data), partial(moments, data))


def penalty_from(
    data: FitData, unit: float, moments_in: Callable[[float], tuple[float, Floats]]
) -> float:
    """Return the strength from the largest value of a feature and the sums of moments.

    ``moments_in`` returns the sums of :func:`moments`, the features divided by a unit.
    """
    lists = data.lists
    counted = (lists.max(data.y) > lists.min(data.y)) & (data.list_weights() > 0)
    if unit == 0.0 or not counted.any():
        return NOTHING_VARIES
    trace, total = moments_in(unit)
    n_varying = _n_varying(data)
    exact = n_varying <= WIDEST_EXACT
    # |Z'Z v|^2 has the mean |Z'Z|_F^2 over random signs v.
    square = float(np.vdot(total, total)) / (1.0 if exact else N_PROBES)
    trace, square = trace / lists.n_rows, square / lists.n_rows**2
    if trace == 0.0 or n_varying == 0:
        return NOTHING_VARIES
    # (tr C)^2 / |C|_F^2, divided first, since the square of the trace may overflow.
    effective = trace / square * trace
    alpha = float(trace / n_varying * effective / np.count_nonzero(counted))
    with np.errstate(over="ignore", under="ignore"):
        alpha = alpha * unit * unit
    return min(max(alpha, np.finfo(np.float64).tiny), 1e300)


def largest_value(data: FitData) -> float:
    """Return the largest absolute value of the features that vary."""
    if sparse.issparse(data.X):
        return float(
            max(np.abs(rows.data).max(initial=0.0) for rows, _ in _parts(data))
        )
    return float(max((np.abs(rows).max(initial=0.0) for rows, _ in _parts(data))))


def _n_varying(data: FitData) -> int:
    """Return the number of features that vary inside a list."""
    n_features = data.X.shape[1]
    return (
        n_features
        if data.constant is None
        else n_features - int(np.count_nonzero(data.constant))
    )


def _parts(data: FitData) -> Iterator[tuple[Any, Lists]]:
    """Yield runs of whole lists, and their rows of X."""
    bounds = block_bounds(data.X, data.lists)
    for first, last in pairwise(bounds):
        start, stop = data.lists.offsets[first], data.lists.offsets[last]
        rows = slice(start, stop) if data.rows is None else data.rows[start:stop]
        part = data.X[rows]
        # Leave out constant features, whose rounding errors would count.
        if data.constant is not None and data.constant.any():
            part = part[:, ~data.constant]
        yield part, data.lists.part(first, last)


def moments(data: FitData, unit: float) -> tuple[float, Floats]:
    """Return the trace of Z'Z and Z'Z itself, or its product with random directions.

    Z is the features, divided by a unit, less the means of their lists. Both add up
    over parts of the data.
    """
    n_features = _n_varying(data)
    exact = n_features <= WIDEST_EXACT
    probes = np.random.RandomState(0).choice([-1.0, 1.0], (n_features, N_PROBES))
    total = np.zeros((n_features, n_features if exact else N_PROBES))
    trace = 0.0
    for rows, lists in _parts(data):
        if exact and sparse.issparse(rows):
            rows = rows.toarray()
        if not sparse.issparse(rows):
            rows = (
                rows / unit if rows.dtype == np.float64 else rows.astype(float) / unit
            )
            # Subtract the first row first: far from 0 subtracting the mean would lose
            # digits.
            rows -= lists.expand(rows[lists.starts])
            rows -= lists.expand(lists.sum(rows) / lists.sizes[:, None])
            trace += float(np.vdot(rows, rows))
            total += rows.T @ (rows if exact else rows @ probes)
            continue
        part, squares = _sparse_product(rows / unit, lists, probes)
        trace += squares
        total += part
    return trace, total


def _sparse_product(rows: Any, lists: Lists, probes: Floats) -> tuple[Floats, float]:
    """Return Z'Z times directions, and the sum of squares of Z, without forming Z.

    Z holds the rows less the means of their lists, so Z'Z is X'X less the same product
    of the means.
    """
    of_list = lists.expand(np.arange(lists.n_lists))
    ones = np.ones(lists.n_rows)
    shape = (lists.n_lists, lists.n_rows)
    sums = sparse.csr_array((ones, (of_list, np.arange(lists.n_rows))), shape) @ rows
    means = sparse.diags_array(1.0 / lists.sizes) @ sums
    product = rows.T @ (rows @ probes) - sums.T @ (means @ probes)
    squares = float(np.sum(rows.data**2) - np.sum(sums.multiply(means)))
    return product, max(squares, 0.0)
