"""Quadratic loss of pairs inside lists, in one pass over levels each way.

For a row i above n rows of mean M and sum of squares Q about it,

    sum_j (1 - s_i + s_j)^2 = n (1 - s_i + M)^2 + Q

so the mean and Q of all lower levels are enough. A level of d rows of mean m and sum of
squares p joins them by

    Q <- Q + p + (m - M)^2 n d / (n + d),    M <- M + (m - M) d / (n + d),    n <- n + d

No term of Q is negative, so nothing cancels. See doc/math/losses.md, section "Pairs of
rows".
"""

import numpy as np

from skrank._kernels._lists cimport Shape, check_length, shape_of_levels


cdef struct Summary:
    double n, mean, squares  # squares: their sum about the mean


cdef inline void add_level(Summary* all, const double* s, Py_ssize_t n) noexcept nogil:
    """Add a level's rows to a summary."""
    cdef double mean = 0.0, squares = 0.0, gap
    cdef Py_ssize_t i
    for i in range(n):
        mean += s[i]
    mean /= n
    for i in range(n):
        squares += (s[i] - mean) * (s[i] - mean)
    gap = mean - all.mean
    all.squares += squares + gap * gap * (all.n * n / (all.n + n))
    all.n += n
    all.mean += gap * (n / all.n)


def margin_squares(
    const double[::1] scores not None,
    const Py_ssize_t[::1] order not None,
    const Py_ssize_t[::1] level_starts not None,
    const Py_ssize_t[::1] level_offsets not None,
    double margin,
):
    """Add up (margin - s_i + s_j)^2 over pairs, and differentiate.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Scores of the rows.
    order, level_starts, level_offsets : arrays
        As in :class:`skrank._data.lists.Levels`.
    margin : float
        The difference of scores to be met. With 0 the gradient is the second
        derivative times ``scores``.

    Returns
    -------
    values : array of shape (n_lists,)
        The loss of each list.
    gradient : array of shape (n_rows,)
        The gradient.
    """
    cdef Shape shape = shape_of_levels(order, level_starts, level_offsets)
    cdef Py_ssize_t q, i, first, n, level, start
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    values_array, out_array = np.empty(shape.n_lists), np.empty(shape.n_rows)
    cdef double[::1] values = values_array, out = out_array
    cdef double[:, ::1] scratch = np.empty((2, shape.longest))
    cdef double* s = &scratch[0, 0]
    cdef double* g = &scratch[1, 0]
    cdef double low, high, gap, value
    cdef Summary other
    with nogil:
        for q in range(shape.n_lists):
            first = level_starts[level_offsets[q]]
            n = level_starts[level_offsets[q + 1]] - first
            low = high = scores[order[first]]
            for i in range(n):
                s[i] = scores[order[first + i]]
                low = min(low, s[i])
                high = max(high, s[i])
            for i in range(n):
                # About the middle, so that squares lose no digits to a large common
                # score. Halves first, since low + high may overflow.
                s[i] -= 0.5 * low + 0.5 * high
            # From the best level down: pairs in which a row is the worse one, against
            # the summary of all better rows.
            other.n = other.mean = other.squares = 0.0
            for level in range(level_offsets[q], level_offsets[q + 1]):
                start = level_starts[level] - first
                n = level_starts[level + 1] - level_starts[level]
                for i in range(start, start + n):
                    g[i] = 2.0 * other.n * (margin + s[i] - other.mean)
                add_level(&other, s + start, n)
            value = 0.0
            # From the worst level up: pairs in which it is the better one. Their costs
            # sum to n times the squared gap to the mean, plus the squares about the
            # mean.
            other.n = other.mean = other.squares = 0.0
            for level in range(level_offsets[q + 1] - 1, level_offsets[q] - 1, -1):
                start = level_starts[level] - first
                n = level_starts[level + 1] - level_starts[level]
                for i in range(start, start + n):
                    gap = margin - s[i] + other.mean
                    value += other.n * (gap * gap) + other.squares
                    out[order[first + i]] = g[i] - 2.0 * other.n * gap
                add_level(&other, s + start, n)
            values[q] = value
    return values_array, out_array
