r"""Covariances of some parameters of a wide fit, without matrices of all parameters.

With the columns C of :math:`(H + A)^{-1}` that belong to the chosen parameters S, in
the notation of :mod:`skrank._probability.covariance`, their covariances are

.. math::

    C_\mathrm{clustered} = C^T J C, \qquad
    C_\mathrm{model} = \frac{1}{V m}\, C^T H C.

Each column solves :math:`(H + A)\, c = e_j` by conjugate gradients, which needs only
products of H with vectors. For each block these are the scores of a direction, the
loss's ``hessian_product`` of them, and the transpose of the block times that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from skrank._data.lists import Floats, Indices
from skrank._fit.derivatives import Counts
from skrank._fit.objective import LinearObjective
from skrank._probability.covariance import SILENT, Estimate, standard_errors

RESIDUAL = 1e-9  # relative; covariances are quadratic in the columns, and more exact
MOST_PRODUCTS = 2000  # for one parameter
# Random vectors for the diagonal of H, by which the solver scales parameters.
N_PROBES = 16
LEAST = 1e-8  # least entry of the diagonal, as a share of the largest


class Products:
    """Products of the second derivative of an objective with vectors.

    Parameters
    ----------
    objective : LinearObjective
        The objective.
    parameters : ndarray of shape (n_parameters,)
        Where.
    free : ndarray of bool of shape (n_parameters,)
        Parameters that may move.
    """

    def __init__(
        self, objective: LinearObjective, parameters: Floats, free: NDArray[np.bool_]
    ) -> None:
        self.objective, self.free = objective, free
        self.coef = parameters[: objective.n_features]
        self.extra = parameters[objective.n_features :]
        self.in_extra = self._columns_of_extra()

    def _blocks(self, coef: Floats) -> Any:
        """Yield each block with its rows and their scores, less means of lists."""
        for block in self.objective.blocks:
            X, _ = block.features(None)
            scores = block.scores(X, coef)
            mean = block.lists.sum(scores) / block.lists.sizes
            yield block, X, scores - block.lists.expand(mean)

    def _gradients(self, extra: Floats) -> Floats:
        """Return the gradient without the penalty at other extra parameters."""
        whole = np.concatenate((self.coef, extra))
        gradient = self.objective(whole)[1]
        gradient[: len(self.coef)] -= self.objective.alpha * self.coef
        return gradient

    def _columns_of_extra(self) -> Floats:
        """Return the columns of H of the extra parameters, by differences."""
        columns = np.empty((len(self.free), len(self.extra)))
        for number, value in enumerate(self.extra):
            step = np.zeros(len(self.extra))
            step[number] = np.cbrt(np.finfo(np.float64).eps) * max(1.0, abs(value))
            above, below = (
                self._gradients(self.extra + way * step) for way in (1.0, -1.0)
            )
            columns[:, number] = (above - below) / (2.0 * step[number])
        return columns

    def hessian(self, direction: Floats) -> Floats:
        """Return H times a direction, without the penalty."""
        p = len(self.coef)
        direction = np.where(self.free, direction, 0.0)
        product = self.in_extra @ direction[p:]
        product[p:] += self.in_extra[:p].T @ direction[:p]
        loss = self.objective.loss
        if direction[:p].any():
            moves = self._blocks(direction[:p])
            for (block, X, scores), (_, _, move) in zip(
                self._blocks(self.coef), moves, strict=True
            ):
                slope = loss.hessian_product(
                    scores, block.prepared, block.lists, move, self.extra
                )
                product[:p] += X.T @ block.scale_rows(slope)
        return np.where(self.free, product, 0.0)

    def bread(self, direction: Floats) -> Floats:
        """Return H + A times a direction."""
        p = len(self.coef)
        product = self.hessian(direction)
        product[:p] += self.objective.alpha * direction[:p]
        return product

    def diagonal(self) -> Floats:
        """Estimate the diagonal of H + A by the mean of v (H v) over random signs v."""
        random = np.random.default_rng(0)
        total = np.zeros(len(self.free))
        for _ in range(N_PROBES):
            signs = random.choice([-1.0, 1.0], len(total))
            total += signs * self.bread(signs) / N_PROBES
        return np.maximum(np.abs(total), LEAST * np.max(np.abs(total), initial=0.0))

    def gradients_along(
        self, directions: Floats, chosen: Indices
    ) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return gradients of lists along directions, and which parameters they inform.

        Both of shape (n_lists, n_chosen); and which lists have a gradient, (n_lists,).
        """
        p = len(self.coef)
        along, informing, informed = [], [], []
        features = chosen[chosen < p]
        for block, X, scores in self._blocks(self.coef):
            lists = block.lists
            result = self.objective.loss.value_and_gradient(
                scores, block.prepared, lists, self.extra
            )
            slope = np.asarray(result[1], dtype=np.float64)
            moves = np.asarray(X @ directions[:p], dtype=np.float64)
            by_list = np.add.reduceat(slope[:, None] * moves, lists.starts, axis=0)
            if len(self.extra):
                by_list += result[2] @ directions[p:]
            along.append(by_list * block.factors[:, None])
            columns = X[:, features]
            columns = columns.toarray() if sparse.issparse(columns) else columns
            low = np.minimum.reduceat(columns, lists.starts, axis=0)
            high = np.maximum.reduceat(columns, lists.starts, axis=0)
            varied = np.ones((len(lists), len(chosen)), dtype=bool)
            varied[:, chosen < p] = low != high
            informed.append((lists.max(np.abs(slope)) > 0) & (block.factors > 0))
            informing.append(varied & informed[-1][:, None])
        return (
            np.concatenate(along),
            np.concatenate(informing),
            np.concatenate(informed),
        )


def estimate_some(
    objective: LinearObjective,
    parameters: Floats,
    free: NDArray[np.bool_],
    chosen: Indices,
    names: list[str],
    clusters: Indices | None = None,
) -> Estimate:
    """Return the covariances of some parameters of a fit, by solving for each.

    Parameters
    ----------
    objective : LinearObjective
        What was minimised, on the data of the fit.
    parameters : ndarray of shape (P,)
        Where the fit ended.
    free : ndarray of bool of shape (P,)
        Parameters that are estimated.
    chosen : ndarray of int of shape (n_chosen,)
        Free parameters whose covariances are asked for.
    names : list of str
        Their names, for messages.
    clusters : ndarray of int of shape (n_lists,), default=None
        Numbers of the clusters of lists; None makes each list one.

    Returns
    -------
    estimate : Estimate
        ``df`` and ``optimism`` are NaN: they are sums over all parameters.

    Raises
    ------
    ValueError
        If a parameter's equation has no solution, as with collinear features and no
        penalty.
    """
    with objective.running():
        products = Products(objective, parameters, free)
        directions = _solve(products, chosen, names)
        along, informing, informed = products.gradients_along(directions, chosen)
        curved = np.column_stack([products.hessian(c) for c in directions.T])
        gradient = objective(parameters)[1]
    n_lists = n_clusters = int(informed.sum())
    if clusters is not None:
        along, informing = _by_cluster(along, informing, clusters)
        n_clusters = len(np.unique(clusters[informed]))
    of_parameters = informing.sum(axis=0)
    clustered, model = along.T @ along, directions.T @ curved
    is_weight = chosen < objective.n_features
    constant = is_weight & (of_parameters == 0)
    for covariance in (clustered, model):
        covariance[constant] = covariance[:, constant] = np.nan
    silent = ~constant & (
        (np.diag(clustered) * max(n_lists, 1) < SILENT**2 * np.diag(model))
        | (n_clusters == 1)
    )
    clustered[silent] = clustered[:, silent] = np.nan
    errors = standard_errors(clustered)
    known = errors > 0
    moves = np.abs(directions.T @ gradient)[known] / errors[known]
    return Estimate(
        clustered,
        model,
        np.nan,
        np.nan,
        constant[is_weight],
        [],
        None,
        silent,
        True,
        float(np.max(moves, initial=0.0)),
        Counts(n_lists, n_clusters, of_parameters),
    )


def _solve(products: Products, chosen: Indices, names: list[str]) -> Floats:
    """Return the columns (P, n_chosen) of the inverse of H + A."""
    n_parameters = len(products.free)
    # Conjugate gradients, preconditioned by the diagonal: raw scales of features
    # differ.
    diagonal = products.diagonal()
    scale = np.where(diagonal > 0, diagonal, 1.0)
    shape = (n_parameters, n_parameters)
    bread = LinearOperator(shape, matvec=products.bread, dtype=np.float64)
    scaled = LinearOperator(shape, matvec=lambda v: v / scale, dtype=np.float64)
    columns = np.zeros((n_parameters, len(chosen)))
    for place, number in enumerate(chosen):
        unit = np.zeros(n_parameters)
        unit[number] = 1.0
        if not products.bread(unit).any():
            continue  # a constant feature, which has no error
        columns[:, place], failed = cg(
            bread, unit, rtol=RESIDUAL, maxiter=MOST_PRODUCTS, M=scaled
        )
        if failed or not np.isfinite(columns[:, place]).all():
            raise ValueError(
                f"The standard error of {names[place]} was not found by "
                f"{MOST_PRODUCTS} products with the second derivative: it is collinear "
                "with other features inside lists, or rows are separated. Set alpha "
                "above 0, or drop features."
            )
    return columns


def _by_cluster(
    along: Floats, informing: NDArray[np.bool_], clusters: Indices
) -> tuple[Floats, NDArray[np.bool_]]:
    """Add up gradients, and join what lists inform, by cluster."""
    n_clusters = int(clusters.max()) + 1
    sums = np.zeros((n_clusters, along.shape[1]))
    of_clusters = np.zeros(sums.shape, dtype=bool)
    np.add.at(sums, clusters, along)
    np.logical_or.at(of_clusters, clusters, informing)
    return sums, of_clusters
