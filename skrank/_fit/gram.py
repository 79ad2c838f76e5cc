r"""The Hessian of an objective, approximated by a Gram matrix of its features.

Near some parameters the Hessian of the loss is about :math:`Z^T D Z`. D holds one
number a row: ``Loss.curvature_weights`` times the factor of the row's list. Z holds the
features less their D-weighted means inside lists, since only differences of scores
inside a list matter. Mixed and second derivatives in a loss's own parameters are
central differences of gradients. See doc/math/solver.md.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skrank._data.lists import Floats, Indices, Lists
from skrank._fit.blocks import Block
from skrank._fit.objective import LinearObjective

# With fewer, sampling error makes independent features look dependent.
ROWS_A_FEATURE = 256
LEAST_BLOCKS = 2
STEP = 1e-4  # for differences in a loss's own parameters, which are logarithms

# Nanoseconds on a current core, of which only ratios matter: for an entry of X in one
# evaluation; to centre and scale an entry; for a multiply-add in LAPACK.
READ, CENTRE, MULTIPLY = 0.6, 4.0, 0.04
# For a stored entry of a sparse X in an evaluation, and for each pair in its row.
READ_SPARSE, PAIR_SPARSE = 3.0, 5.0
DENSE = 1 / 16  # share of stored entries from which sparse rows are made dense
LARGEST_GRAM = 2**24  # entries, unless X has more


class Basis(NamedTuple):
    """Directions that span the rows of X, where features outnumber rows.

    Attributes
    ----------
    directions : ndarray of shape (n_free, n_directions)
        Orthonormal columns.
    rows : ndarray of shape (n_rows, n_directions)
        The rows of X less the means of their lists, along these directions.
    """

    directions: Floats
    rows: Floats


class Gram(NamedTuple):
    """Sums that approximate an objective's Hessian, without its penalty.

    Attributes
    ----------
    free : ndarray of shape (n_free,)
        Features that vary inside lists; the weights of others stay as they are.
    basis : Basis or None
        Directions that stand for the free features, n of them; None where n is n_free
        and each feature stands for itself.
    gram : ndarray of shape (n, n)
        :math:`Z^T D Z`.
    cross : ndarray of shape (n, n_extra)
        Mixed derivatives in weights and the loss's own parameters.
    extra : ndarray of shape (n_extra, n_extra)
        Second derivatives in the loss's own parameters.
    """

    free: Indices
    basis: Basis | None
    gram: Floats
    cross: Floats
    extra: Floats

    def mixed(self, other: Gram, share: float) -> Gram:
        """Return a weighted mean of these sums and others."""
        gram, cross, extra = (
            (1.0 - share) * first + share * second
            for first, second in zip(self[2:], other[2:], strict=True)
        )
        return Gram(self.free, self.basis, gram, cross, extra)


def free_features(objective: LinearObjective) -> Indices:
    """Return the features that vary inside lists."""
    if objective.data.constant is None:
        return np.arange(objective.n_features)
    return np.flatnonzero(~objective.data.constant)


@singledispatch
def needs_basis(objective: LinearObjective) -> bool:
    """Return whether features outnumber the rows of a dense X."""
    n_free = len(free_features(objective))
    return n_free > objective.data.lists.n_rows and not sparse.issparse(
        objective.data.X
    )


@singledispatch
def passes_of_gram(objective: LinearObjective) -> float:
    """Return the cost of one whitening, in evaluations of the objective.

    Infinite where the matrices would take far more memory than X.
    """
    X, n_free, n_rows = (
        objective.data.X,
        len(free_features(objective)),
        objective.data.lists.n_rows,
    )
    is_sparse = sparse.issparse(X)
    stored = max(X.nnz if is_sparse else n_rows * X.shape[1], 1)
    n = n_rows if needs_basis(objective) else n_free
    # A matrix that is larger than X would be the peak of memory.
    if n**2 > max(LARGEST_GRAM, stored):
        return np.inf
    blocks = sampled_blocks(objective)
    share = len(blocks) / len(objective.blocks)
    if is_sparse and stored < DENSE * n_rows * X.shape[1]:
        sums = share * PAIR_SPARSE * stored * (stored / n_rows)
    else:
        sums = share * n_rows * n * (CENTRE + MULTIPLY * n)
    # Then comes a Cholesky factor, and with a basis the QR decomposition of the rows.
    work = sums + MULTIPLY * n**3
    if needs_basis(objective):
        work += 4.0 * MULTIPLY * n_free * n**2
    return work / (stored * (READ_SPARSE if is_sparse else READ))


def sampled_blocks(objective: LinearObjective) -> list[Block]:
    """Return blocks of whole lists that suffice for a Gram matrix, spread over all."""
    blocks = objective.blocks
    needed = ROWS_A_FEATURE * objective.n_features / objective.data.lists.n_rows
    n_blocks = max(LEAST_BLOCKS, int(np.ceil(len(blocks) * needed)))
    if n_blocks >= len(blocks):
        return blocks
    return [blocks[i * len(blocks) // n_blocks] for i in range(n_blocks)]


def row_space(objective: LinearObjective, start: Floats) -> Basis:
    """Return a basis of the rows of X less the means of their lists, by thin QR.

    With a penalty the optimum lies in their space. If the start is outside, its part
    outside is one direction more.
    """
    free = free_features(objective)
    rows = [_dense(block, free, objective) for block in objective.blocks]
    centred = np.vstack(
        [
            part - block.lists.expand(_means(part, block.lists.sizes, block.lists))
            for part, block in zip(rows, objective.blocks, strict=True)
        ]
    )
    # With centred^T = Q R the columns of Q span the rows, whose coordinates are R^T.
    directions, triangle = linalg.qr(centred.T, mode="economic")
    outside = start[free]
    for _ in range(2):  # twice, since the first pass leaves rounding errors
        outside = outside - directions @ (directions.T @ outside)
    length = np.linalg.norm(outside)
    if length > 1e-12 * np.linalg.norm(start):
        directions = np.column_stack((directions, outside / length))
        triangle = np.vstack((triangle, np.zeros(len(centred))))
    return Basis(directions, np.ascontiguousarray(triangle.T))


@singledispatch
def weighted_gram(
    objective: LinearObjective,
    parameters: Floats,
    basis: Basis | None = None,
    parts: list[tuple[Indices, Lists]] | None = None,
) -> Gram:
    """Return the sums at some parameters, block after block.

    For many rows a sample of blocks is taken, scaled up by the factors of lists. For
    each of these ``parts`` has an order of its rows, and lists to take for its own.
    """
    n_features, n_extra = objective.n_features, len(objective.extra_start)
    free = free_features(objective)
    coef = np.ascontiguousarray(parameters[:n_features])
    extra = parameters[n_features:]
    n = len(free) if basis is None else basis.rows.shape[1]
    gram = np.zeros((n, n))
    cross, second = np.zeros((n, n_extra)), np.zeros((n_extra, n_extra))
    blocks = sampled_blocks(objective)
    for number, block in enumerate(blocks):
        X = block.features(None)[0]
        scores = block.scores(X, coef)
        weights = block.scale_rows(
            objective.loss.curvature_weights(scores, block.prepared, block.lists, extra)
        )
        if basis is not None:
            rows: Any = basis.rows[block.start : block.stop]
        elif sparse.issparse(X) and X.nnz < DENSE * X.shape[0] * X.shape[1]:
            rows = X[:, free]
        else:
            rows = _dense(block, free, objective)
        if parts is None:
            gram += _block_gram(rows, weights, block.lists)
        else:
            order, lists = parts[number]
            gram += _block_gram(rows[order], weights[order], lists)
        # The gradient in w is X^T r, so its derivative in e_k is X^T (dr / de_k).
        for k in range(n_extra):
            slopes, changes = _in_extra(objective, block, scores, extra, k)
            cross[:, k] += rows.T @ block.scale_rows(slopes)
            second[:, k] += block.factors @ changes
    # Scale a sample up to the factors of all lists.
    if len(blocks) < len(objective.blocks):
        counted = sum(block.factors.sum() for block in blocks)
        share = sum(block.factors.sum() for block in objective.blocks) / counted
        gram, cross, second = share * gram, share * cross, share * second
    return Gram(free, basis, gram, cross, (second + second.T) / 2)


def _dense(block: Block, free: Indices, objective: LinearObjective) -> Floats:
    """Return the free features of a block as a float64 array."""
    X = block.features(None)[0]
    rows = X.toarray() if sparse.issparse(X) else X
    if len(free) < objective.n_features:
        rows = rows[:, free]
    return np.asarray(rows, dtype=np.float64)


def _means(rows: Floats, total: Any, lists: Lists) -> Floats:
    """Return sums of rows in each list over a total of each list."""
    return np.add.reduceat(rows, lists.starts, axis=0) / total[:, np.newaxis]


def _block_gram(rows: Any, weights: Floats, lists: Lists) -> Floats:
    """Return the products of features about their weighted means inside lists."""
    total = lists.sum(weights)
    total[total == 0.0] = 1.0
    if sparse.issparse(rows):
        weighted = rows.multiply(weights[:, np.newaxis]).tocsr()
        of_list = sparse.csr_array(
            (np.ones(lists.n_rows), np.arange(lists.n_rows), lists.offsets),
            shape=(lists.n_lists, lists.n_rows),
        )
        # Z'DZ = X'DX - sum_q s_q s_q' / d_q, with s_q the weighted sum of the rows of
        # list q and d_q its weight: the features stay sparse.
        sums = (of_list @ weighted).tocsr()
        means = sums.multiply(1.0 / total[:, np.newaxis]).tocsr()
        return (rows.T @ weighted).toarray() - (sums.T @ means).toarray()
    means = _means(rows * weights[:, np.newaxis], total, lists)
    scaled = rows - lists.expand(means)
    # Roots of the weights on both sides make one symmetric product, which costs half.
    scaled *= np.sqrt(weights)[:, np.newaxis]
    # A Gram matrix that is not finite is found later, and not used to whiten.
    with np.errstate(over="ignore", invalid="ignore"):
        return scaled.T @ scaled


def _in_extra(
    objective: LinearObjective, block: Block, scores: Floats, extra: Floats, k: int
) -> tuple[Floats, Floats]:
    """Return derivatives of a block's gradients in one extra parameter.

    Those of the gradient in the scores, (n_rows,), and in extra parameters, (n_lists,
    n_extra).
    """
    change = np.zeros(len(extra))
    change[k] = STEP
    above, below = (
        objective.loss.value_and_gradient(scores, block.prepared, block.lists, at)
        for at in (extra + change, extra - change)
    )
    return (above[1] - below[1]) / (2 * STEP), (above[2] - below[2]) / (2 * STEP)
