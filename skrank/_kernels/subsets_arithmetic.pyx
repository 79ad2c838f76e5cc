"""Likelihoods of ordered partitions, a subset weighing the mean of its exp(s).

The mean factors over rows, so the sum over all subsets is a constant times a sum over
rows, and a stage with the rows R left that takes the level X costs

    log(W_R / W_X) + constant,   W = sum of exp(s)

Sums grow from the worst level up; gradients go back from the best level down, as exp(s)
times running sums of 1 / W_R. One log is taken of a product of ratios, which stays below
exp(LARGEST_LOG); scores too far apart for that go through logarithms of sums. See
doc/math/losses.md, section "Ordered partitions".
"""

import numpy as np

from libc.math cimport exp, fabs, fmax, fmin, log, log1p

from skrank._kernels._lists cimport Shape, check_length, shape_of_levels

cdef double LARGEST_LOG = 650.0  # doubles end near exp(709)
cdef double MINUS_INFINITY = -1.0 / 0.0


cdef inline double log_add(double a, double b) noexcept nogil:
    """Return log(exp(a) + exp(b)) of two numbers, one of them finite."""
    return fmax(a, b) + log1p(exp(-fabs(a - b)))


def arithmetic(
    const double[::1] scores not None,
    const Py_ssize_t[::1] order not None,
    const Py_ssize_t[::1] level_starts not None,
    const Py_ssize_t[::1] level_offsets not None,
    const double[::1] direction,
):
    """Add up log(sum over R of exp(s) / sum over X of exp(s)), and differentiate.

    X are the rows of a level and R those of this level and below.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Scores of the rows.
    order, level_starts, level_offsets : arrays
        As in :class:`skrank._data.lists.Levels`.
    direction : array of shape (n_rows,) or None
        None for values and gradient; else what to multiply the second derivative by.

    Returns
    -------
    values : array of shape (n_lists,)
        The loss of each list, without ``direction``.
    out : array of shape (n_rows,)
        The gradient, or the second derivative times ``direction``.
    """
    cdef Shape shape = shape_of_levels(order, level_starts, level_offsets)
    cdef Py_ssize_t q
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    if direction is not None:
        check_length("direction", direction.shape[0], shape.n_rows, "row")
    values_array, out_array = np.empty(shape.n_lists), np.empty(shape.n_rows)
    cdef double[::1] values = values_array, out = out_array
    cdef double[::1] work = np.empty(shape.longest + 4 * shape.most_levels)
    cdef const double* v = NULL if direction is None else &direction[0]
    with nogil:
        for q in range(shape.n_lists):
            values[q] = arithmetic_list(
                &scores[0], &order[0], &level_starts[level_offsets[q]],
                level_offsets[q + 1] - level_offsets[q], v, &work[0],
                &work[shape.longest], &out[0],
            )
    return values_array, out_array


cdef double arithmetic_list(
    const double* scores,
    const Py_ssize_t* order,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    const double* v,
    double* e,
    double* terms,
    double* out,
) noexcept nogil:
    """Fill in one list's gradient, or second derivative times v; return its value."""
    cdef Py_ssize_t n = starts[n_levels] - starts[0], i, k, n_factors = 0, most
    cdef double high, low, below = 0.0, level_sum, product = 1.0, value = 0.0, factor
    order += starts[0]
    high = low = scores[order[0]]
    for i in range(n):
        e[i] = scores[order[i]]
        high = fmax(high, e[i])
        low = fmin(low, e[i])
    for i in range(n):
        e[i] -= high
    if v != NULL:
        arithmetic_curvature(e, order, starts, n_levels, v, terms, out)
        return 0.0
    # Ratios of sums are at most n exp(high - low), which must be a number.
    if not high - low < LARGEST_LOG - log(<double> n):
        return arithmetic_far(e, order, starts, n_levels, terms, out)
    # So many ratios may join a product before it could overflow; one log is taken of
    # each product.
    most = <Py_ssize_t> fmin(64.0, LARGEST_LOG / (high - low + log(<double> n + 1.0)))
    for i in range(n):
        e[i] = exp(e[i])
    for k in range(n_levels - 1, -1, -1):
        level_sum = 0.0
        for i in range(starts[k] - starts[0], starts[k + 1] - starts[0]):
            level_sum += e[i]
        below += level_sum
        # From the worst level up: sums of exp(s) over the level and all below, and over
        # the level alone.
        terms[2 * k] = 1.0 / below
        terms[2 * k + 1] = 1.0 / level_sum
        product *= below / level_sum
        n_factors += 1
        if n_factors >= most:
            value += log(product)
            product = 1.0
            n_factors = 0
    value += log(product)
    # From the best level down: a row is in the sum over R of its own and all better
    # stages, and in the sum over X of its own stage.
    factor = 0.0
    for k in range(n_levels):
        factor += terms[2 * k]
        for i in range(starts[k] - starts[0], starts[k + 1] - starts[0]):
            out[order[i]] = e[i] * factor - e[i] * terms[2 * k + 1]
    return value


cdef double arithmetic_far(
    const double* s,
    const Py_ssize_t* order,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    double* terms,
    double* out,
) noexcept nogil:
    """Do the same for scores of any range, in logarithms."""
    cdef Py_ssize_t i, k
    cdef double below = MINUS_INFINITY, level_sum, value = 0.0
    for k in range(n_levels - 1, -1, -1):
        level_sum = MINUS_INFINITY
        for i in range(starts[k] - starts[0], starts[k + 1] - starts[0]):
            level_sum = log_add(s[i], level_sum)
        below = log_add(level_sum, below)
        terms[2 * k] = -below
        terms[2 * k + 1] = -level_sum
        value += below - level_sum
    below = MINUS_INFINITY
    for k in range(n_levels):
        below = log_add(terms[2 * k], below)
        for i in range(starts[k] - starts[0], starts[k + 1] - starts[0]):
            out[order[i]] = exp(s[i] + below) - exp(s[i] + terms[2 * k + 1])
    return value


cdef void arithmetic_curvature(
    const double* s,
    const Py_ssize_t* order,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    const double* v,
    double* terms,
    double* out,
) noexcept nogil:
    """Fill in second derivatives times v, from means of v weighted by exp(s).

    The product is, with p the share of row i in a sum and the mean that of the sum,
    the sum over R of p (v_i - mean) less that over its own X.
    """
    cdef Py_ssize_t i, k
    cdef double below = MINUS_INFINITY, mean_below = 0.0, level_sum, mean, total
    for k in range(n_levels - 1, -1, -1):
        level_sum = MINUS_INFINITY
        for i in range(starts[k] - starts[0], starts[k + 1] - starts[0]):
            level_sum = log_add(s[i], level_sum)
        mean = 0.0
        for i in range(starts[k] - starts[0], starts[k + 1] - starts[0]):
            mean += exp(s[i] - level_sum) * v[order[i]]
        total = log_add(level_sum, below)
        # The mean over R, as the mean of the means of the two parts: weights are
        # ratios, which cannot overflow.
        mean_below = (
            exp(below - total) * mean_below + exp(level_sum - total) * mean
        )
        below = total
        terms[4 * k], terms[4 * k + 1] = -below, mean_below
        terms[4 * k + 2], terms[4 * k + 3] = -level_sum, mean
    below = MINUS_INFINITY
    mean_below = 0.0
    for k in range(n_levels):
        total = log_add(terms[4 * k], below)
        mean_below = (
            exp(below - total) * mean_below
            + exp(terms[4 * k] - total) * terms[4 * k + 1]
        )
        below = total
        for i in range(starts[k] - starts[0], starts[k + 1] - starts[0]):
            out[order[i]] = (
                exp(s[i] + below) * (v[order[i]] - mean_below)
                - exp(s[i] + terms[4 * k + 2]) * (v[order[i]] - terms[4 * k + 3])
            )
