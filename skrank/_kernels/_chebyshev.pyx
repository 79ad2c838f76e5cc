"""Chebyshev coefficients of what pairs cost between two boxes of scores.

For boxes centred at c and c', the cost of two rows at c + t and c' + u is the series

    F(c - c' + t - u) = sum_kl C_kl T_k(t) T_l(u),    C = B V B'

where V_ij = F(c - c' + x_i - x_j) holds values at the Chebyshev nodes
x_i = cos(pi (i + 1/2) / n), and B, the cosine transform from values to coefficients, has
the entries cos(pi k (i + 1/2) / n) (2 / n), halved for k = 0. See doc/math/losses.md,
section "Pairs by boxes".
"""

import numpy as np

from libc.math cimport exp

from skrank._kernels._pair_models cimport (
    COST,
    CURVATURE,
    SHARE,
    SLOPE,
    Kind,
    Model,
    of_pair,
    reach,
)

kept = {}  # the tables of RankNet, which has no parameter


cdef object series(
    const Model* model, Kind kind, bint tied, Py_ssize_t first, Py_ssize_t last
):
    """Return the coefficients C of each offset of two boxes, (n_offsets, k, l)."""
    cdef Py_ssize_t n = N_TERMS, offset, i, j
    values_array = np.empty((last - first + 1, n, n))
    cdef double[:, :, ::1] values = values_array
    nodes_array = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    cdef double[::1] nodes = np.exp(-model.scale * nodes_array)
    cdef double middle
    for offset in range(first, last + 1):
        middle = exp(-model.scale * (2.0 * offset))
        for i in range(n):
            for j in range(n):
                values[offset - first, i, j] = of_pair(
                    model, kind, tied, middle * nodes[i] / nodes[j]
                )
    return np.ascontiguousarray(TRANSFORM @ values_array @ TRANSFORM.T)


cdef Tables tables_of(
    const Model* model, bint tied, bint curved, double span, double below, double above,
    list arrays,
):
    """Return the matrices of all offsets of boxes that meet, held by ``arrays``.

    Those of a model with a parameter are computed again for each: of boxes nearer than
    ``below`` and ``above`` alone, since series take the others.
    """
    cdef Tables tables
    cdef Py_ssize_t furthest = <Py_ssize_t> min(0.5 * span + 2.0, 1e6)
    cdef double[:, :, ::1] matrix
    tables.rows = tables.columns = tables.costs = tables.shares = NULL
    tables.first, tables.last = -reach(model, tied, False), reach(model, tied, True)
    tables.lowest, tables.highest = tables.first, tables.last
    simple = model.tie < 0.0
    if not simple:
        tables.first = -min(furthest, <Py_ssize_t> below - 1)
        tables.last = min(furthest, <Py_ssize_t> above - 1)
    if simple and curved in kept:
        matrices = kept[curved]
    else:
        matrices = []
        kinds = [CURVATURE] if curved else [SLOPE, COST, SHARE]
        if simple and not curved:
            kinds.remove(SHARE)
        for kind in kinds:
            terms = series(model, kind, tied, tables.first, tables.last)
            if kind == SLOPE or kind == CURVATURE:
                matrices.append(terms)
            matrices.append(np.ascontiguousarray(terms.swapaxes(1, 2)))
        if simple:
            kept[curved] = matrices
    arrays += matrices
    matrix = matrices[0]
    tables.rows = &matrix[0, 0, 0]
    matrix = matrices[1]
    tables.columns = &matrix[0, 0, 0]
    if len(matrices) > 2:
        matrix = matrices[2]
        tables.costs = &matrix[0, 0, 0]
    if len(matrices) > 3:
        matrix = matrices[3]
        tables.shares = &matrix[0, 0, 0]
    return tables


cdef object transform_matrix():
    """Return the matrix from values at the nodes to coefficients."""
    n = N_TERMS
    matrix = np.cos(np.pi * np.outer(np.arange(n), np.arange(n) + 0.5) / n) * (2.0 / n)
    matrix[0] /= 2.0
    return matrix


TRANSFORM = transform_matrix()
