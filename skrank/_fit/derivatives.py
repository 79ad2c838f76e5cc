"""First and second derivatives of an objective in its parameters."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skrank._data.checks import LARGEST_SQUARED
from skrank._data.lists import Floats, Indices, Lists
from skrank._fit.blocks import Block
from skrank._fit.objective import LinearObjective


class Derivatives(NamedTuple):
    """Sums from which covariances are computed; P parameters, p of them weights.

    Attributes
    ----------
    gradient : ndarray of shape (P,)
        Gradient of the whole objective, with the penalty.
    hessian, meat : ndarray of shape (P, P)
        H and J of :mod:`skrank._fit.curvature`, both without the penalty.
    gram : ndarray of shape (p, p)
        Products of the features about their means inside lists, over the lists that
        have a gradient.
    counts : Counts
        Numbers of lists and clusters that the sums contain.
    """

    gradient: Floats
    hessian: Floats
    meat: Floats
    gram: Floats
    counts: Counts


class Counts(NamedTuple):
    """Numbers of lists and clusters that inform the derivatives.

    Attributes
    ----------
    n_lists, n_clusters : int
        Number of lists that have a gradient, and of clusters of such lists.
    of_parameters : ndarray of shape (P,)
        Number of clusters that inform each parameter: those with a list that has a
        gradient and in which the feature varies.
    """

    n_lists: int
    n_clusters: int
    of_parameters: Indices


class ByCluster:
    """Add up gradients of lists by cluster, and count clusters that inform.

    Parameters
    ----------
    n_parameters : int
        Length of a gradient.
    clusters : ndarray of shape (n_lists,) or None
        Number of each list's cluster; None makes each list one cluster.
    """

    def __init__(self, n_parameters: int, clusters: Indices | None) -> None:
        self.clusters = clusters
        self.n_lists = self.n_informed = 0
        self.meat = np.zeros((n_parameters, n_parameters))
        self.of_parameters = np.zeros(n_parameters, dtype=np.intp)
        if clusters is not None:
            shape = (int(clusters.max()) + 1, n_parameters)
            self.sums, self.informing = np.zeros(shape), np.zeros(shape, dtype=bool)
            self.informed = np.zeros(len(self.sums), dtype=bool)

    def add(self, first: int, gradients: Floats, informing: NDArray[np.bool_]) -> None:
        """Add lists from the number ``first`` on, (n_lists, n_parameters) each."""
        informed = informing.any(axis=1)
        self.n_lists += int(informed.sum())
        if self.clusters is None:
            self.meat += gradients.T @ gradients
            self.of_parameters += informing.sum(axis=0)
            return
        codes = self.clusters[first : first + len(gradients)]
        np.add.at(self.sums, codes, gradients)
        np.logical_or.at(self.informing, codes, informing)
        self.informed[codes[informed]] = True

    def finish(self) -> tuple[Floats, Counts]:
        """Return J without the penalty, and the counts."""
        if self.clusters is None:
            return self.meat, Counts(self.n_lists, self.n_lists, self.of_parameters)
        counts = Counts(
            self.n_lists, int(self.informed.sum()), self.informing.sum(axis=0)
        )
        return self.sums.T @ self.sums, counts


@singledispatch
def derivatives(
    objective: LinearObjective, parameters: Floats, clusters: Indices | None = None
) -> Derivatives:
    """Return the first and second derivatives of an objective, block by block.

    The Hessian takes one product ``loss.hessian_product`` a feature, and central
    differences in each extra parameter; no matrix of n by n rows is ever made. Raises
    ValueError where products of features would leave the range of float64.
    """
    p, n_parameters = objective.n_features, len(parameters)
    gradient = np.zeros(n_parameters)
    hessian = np.zeros((n_parameters, n_parameters))
    gram = np.zeros((p, p))
    size = np.zeros(p)
    by_cluster = ByCluster(n_parameters, clusters)
    first, extra = 0, parameters[p:]
    loss = objective.loss
    for block in objective.blocks:
        scores, centred = _scores_and_features(block, parameters[:p])
        np.maximum(size, np.max(np.abs(centred), axis=0), out=size)
        if np.max(size) > LARGEST_SQUARED:
            _refuse_size(int(np.argmax(size)), "large")
        rows, lists = np.ascontiguousarray(centred.T), block.lists
        prepared = block.prepared
        result = loss.value_and_gradient(scores, prepared, lists, extra)
        # The gradient of list q is X_q^T times its gradient in the scores.
        gradients = np.add.reduceat(centred * result[1][:, None], lists.starts, axis=0)
        if len(extra):
            gradients = np.hstack((gradients, result[2]))
        gradients *= block.factors[:, None]
        gradient += gradients.sum(axis=0)
        informed = (lists.max(np.abs(result[1])) > 0) & (block.factors > 0)
        varied = np.logical_or.reduceat(centred != 0, lists.starts, axis=0)
        varied = np.pad(varied, ((0, 0), (0, len(extra))), constant_values=True)
        by_cluster.add(first, gradients, varied & informed[:, None])
        first += len(lists)
        gram += rows @ (centred * lists.expand(informed)[:, None])
        # Column j of the Hessian is X^T (second derivative in the scores) x_j.
        products = np.empty_like(rows)
        for column, direction in zip(products, rows, strict=True):
            column[:] = loss.hessian_product(scores, prepared, lists, direction, extra)
        products *= lists.expand(block.factors)
        hessian[:p, :p] += rows @ products.T
        for number in range(len(extra)):
            _add_extra(hessian, number, objective, block, scores, rows, extra)
    small = (size > 0) & (size < 1.0 / LARGEST_SQUARED)
    if small.any():
        _refuse_size(int(np.argmax(small)), "small")
    gradient[:p] += objective.ridge * parameters[:p]
    # Differences in extra parameters give columns; rows follow by symmetry.
    hessian[p:, :p] = hessian[:p, p:].T
    hessian = (hessian + hessian.T) / 2
    meat, counts = by_cluster.finish()
    return Derivatives(gradient, hessian, meat, gram, counts)


def _refuse_size(column: int, size: str) -> NoReturn:
    raise ValueError(
        f"X has a feature so {size} (column {column}) that products of features are "
        "no float64 numbers, and so there are no standard errors. Scale X, for example "
        "with StandardScaler."
    )


def _scores_and_features(block: Block, coef: Floats) -> tuple[Floats, Floats]:
    """Return a block's features less their means inside lists, and their scores.

    Losses do not depend on a list's mean score, but a large mean costs digits of
    differences.
    """
    X = block.features(None)[0]
    X = X.toarray() if sparse.issparse(X) else X
    X = np.asarray(X, dtype=np.float64)
    lists = block.lists
    # Subtract the first row first, so that constant features become exactly 0.
    centred = X - lists.expand(X[lists.starts])
    means = np.add.reduceat(centred, lists.starts, axis=0) / lists.sizes[:, None]
    centred -= lists.expand(means)
    scores = centred @ coef
    if block.offset is not None:
        scores += block.offset - lists.expand(block.offset[lists.starts])
    return scores, centred


def _add_extra(
    hessian: Floats,
    number: int,
    objective: LinearObjective,
    block: Block,
    scores: Floats,
    rows: Floats,
    extra: Floats,
) -> None:
    """Add a block's derivatives of the gradient in one extra parameter."""
    p = objective.n_features
    step = np.zeros(len(extra))
    # eps^(1/3) balances the errors of rounding and of the central difference.
    step[number] = np.cbrt(np.finfo(np.float64).eps) * max(1.0, abs(extra[number]))
    above, below = (
        objective.loss.value_and_gradient(scores, block.prepared, block.lists, moved)
        for moved in (extra + step, extra - step)
    )
    width = 2.0 * step[number]
    slope = (above[1] - below[1]) * block.lists.expand(block.factors)
    hessian[:p, p + number] += rows @ slope / width
    hessian[p:, p + number] += block.factors @ (above[2] - below[2]) / width


@singledispatch
def score_range(objective: Any, coef: Floats) -> float:
    """Return the largest range of ``X @ coef`` inside a list."""
    ranges = [0.0]
    for block in objective.blocks:
        scores = np.asarray(block.features(None)[0] @ coef, dtype=np.float64)
        lists: Lists = block.lists
        ranges.append(float(np.max(lists.max(scores) - lists.min(scores))))
    return max(ranges)
