"""Hinge losses of pairs inside lists: short lists pair by pair, long ones sorted.

With t = max(0, 1 - s_i + s_j) for a better row i and a worse row j, a pair costs

    step: t, of slope 1 where t > 0        ramp: r (t - r/2), of slope r = min(t, width)

A ramp is the difference of two halved squares, t and max(0, t - width), so a long list
needs only sums over pairs with s_j > s_i - margin. Rows sorted by score enter one by
one, best first, a Fenwick tree over levels that holds what has passed the margin:
n log n a list, however many levels.
"""

from libc.math cimport isinf
from libc.string cimport memcpy

import numpy as np

cdef enum:
    STRIP = 64  # worse rows at a time: buffers that stay in the first-level cache
    RUN = 8  # rows sorted by insertion


cdef double one_against(
    double lead,
    double width,
    const double* s,
    double* gradient,
    Py_ssize_t n,
    double* value,
) noexcept nogil:
    """Add the pairs of a row with n worse rows; return the sum of their slopes.

    ``lead`` is 1 - s_i; a width of 0 means the step.
    """
    cdef double[STRIP] slopes, costs
    cdef double t, r, total_a = 0.0, total_b = 0.0, value_a = 0.0, value_b = 0.0
    cdef Py_ssize_t start = 0, count, j
    while start < n:
        count = min(n - start, STRIP)
        if width == 0.0:
            for j in range(count):
                t = lead + s[start + j]
                t = t if t > 0.0 else 0.0
                r = 1.0 if t > 0.0 else 0.0
                costs[j] = t
                slopes[j] = r
                gradient[start + j] += r
        elif isinf(width):
            for j in range(count):
                t = lead + s[start + j]
                t = t if t > 0.0 else 0.0
                costs[j] = 0.5 * (t * t)
                slopes[j] = t
                gradient[start + j] += t
        else:
            for j in range(count):
                t = lead + s[start + j]
                t = t if t > 0.0 else 0.0
                r = t if t < width else width
                costs[j] = r * (t - 0.5 * r)
                slopes[j] = r
                gradient[start + j] += r
        for j in range(0, count - 1, 2):
            total_a += slopes[j]
            total_b += slopes[j + 1]
            value_a += costs[j]
            value_b += costs[j + 1]
        if count & 1:
            total_a += slopes[count - 1]
            value_a += costs[count - 1]
        start += count
    value[0] += value_a + value_b
    return total_a + total_b


cdef double visit_pairs(
    const double* s,
    double* g,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    double width,
) noexcept nogil:
    """Add all pairs of a list to its gradient; return its value."""
    cdef double value = 0.0
    cdef Py_ssize_t level, i, lower, n = starts[n_levels] - starts[0]
    for level in range(n_levels - 1):
        lower = starts[level + 1] - starts[0]
        for i in range(starts[level] - starts[0], lower):
            g[i] -= one_against(
                1.0 - s[i], width, s + lower, g + lower, n - lower, &value
            )
    return value


cdef struct Row:
    double score
    Py_ssize_t place  # in the order of levels


cdef Row* sort_rows(Row* rows, Row* spare, Py_ssize_t n) noexcept nogil:
    """Sort by score, lowest first, and return which of the two arrays has the result.

    Runs sorted by insertion, then merged in pairs.
    """
    cdef Py_ssize_t start, middle, stop, i, j, k, second, run = RUN
    cdef Row row
    for i in range(n):
        row = rows[i]
        j = i
        while j % RUN and rows[j - 1].score > row.score:
            rows[j] = rows[j - 1]
            j -= 1
        rows[j] = row
    while run < n:
        start = 0
        while start < n:
            middle = min(start + run, n)
            stop = min(middle + run, n)
            i = k = start
            j = middle
            while i < middle and j < stop:  # no branch on what is smaller
                second = rows[j].score < rows[i].score
                spare[k] = rows[j if second else i]
                j += second
                i += 1 - second
                k += 1
            memcpy(&spare[k], &rows[i], (middle - i) * sizeof(Row))
            k += middle - i
            memcpy(&spare[k], &rows[j], (stop - j) * sizeof(Row))
            start = stop
        rows, spare = spare, rows
        run *= 2
    return rows


cdef struct Entry:
    double count, total


cdef inline void enter(
    Entry* tree, Py_ssize_t at, Py_ssize_t size, double value
) noexcept nogil:
    """Count a row in a Fenwick tree."""
    while at <= size:
        tree[at].count += 1.0
        tree[at].total += value
        at += at & -at


cdef inline Entry sum_to(const Entry* tree, Py_ssize_t at) noexcept nogil:
    """Return what was entered at or before a place."""
    cdef Entry found
    found.count = found.total = 0.0
    while at > 0:
        found.count += tree[at].count
        found.total += tree[at].total
        at -= at & -at
    return found


cdef double sweep(
    const Row* rows,
    const Py_ssize_t* level_of,  # of each place
    const double* z,  # of each place; NULL to count pairs only
    Entry* tree,
    Py_ssize_t n,
    Py_ssize_t n_levels,
    double margin,
    double constant,
    double sign,
    double* g,
) noexcept nogil:
    """Add slopes constant - z_i + z_j over pairs with margin - s_i + s_j > 0.

    Return the sum over these pairs of the constant plus (z_j - z_i), times the slope;
    without z each slope is 1, and the sum is that of 1.
    """
    cdef Py_ssize_t k, entered, place, level
    cdef double slope, total = 0.0, value = 0.0
    cdef Entry found
    # Rows as the better of a pair: what is not too far below has been entered.
    for k in range(n_levels + 1):
        tree[k].count = tree[k].total = 0.0
    entered = n - 1
    for k in range(n - 1, -1, -1):
        while entered >= 0 and margin - rows[k].score + rows[entered].score > 0.0:
            place = rows[entered].place
            enter(
                tree, n_levels - level_of[place], n_levels,
                0.0 if z == NULL else z[place],
            )
            entered -= 1
        place = rows[k].place
        found = sum_to(tree, n_levels - 1 - level_of[place])
        slope = found.count
        if z != NULL:
            slope = found.count * (constant - z[place]) + found.total
            value -= slope * z[place]
        total += slope
        g[place] -= sign * slope
    # Rows as the worse.
    for k in range(n_levels + 1):
        tree[k].count = tree[k].total = 0.0
    entered = 0
    for k in range(n):
        while entered < n and margin - rows[entered].score + rows[k].score > 0.0:
            place = rows[entered].place
            enter(
                tree, level_of[place] + 1, n_levels, 0.0 if z == NULL else z[place]
            )
            entered += 1
        place = rows[k].place
        found = sum_to(tree, level_of[place])
        slope = found.count
        if z != NULL:
            slope = found.count * (constant + z[place]) - found.total
            value += slope * z[place]
        g[place] += sign * slope
    return value + constant * total


cdef double sum_sorted(
    const Row* rows,
    const Py_ssize_t* levels,
    const double* s,
    const double* v,
    Entry* tree,
    Py_ssize_t n,
    Py_ssize_t n_levels,
    double width,
    double* g,
) noexcept nogil:
    """Add all pairs of a sorted list to its gradient or product; return its value."""
    cdef double value
    cdef Py_ssize_t i
    if v != NULL:
        return sweep(rows, levels, v, tree, n, n_levels, 1.0, 0.0, 1.0, g)
    if width == 0.0:
        value = sweep(rows, levels, NULL, tree, n, n_levels, 1.0, 1.0, 1.0, g)
        for i in range(n):
            value += s[i] * g[i]
        return value
    value = sweep(rows, levels, s, tree, n, n_levels, 1.0, 1.0, 1.0, g)
    if not isinf(width):
        value -= sweep(
            rows, levels, s, tree, n, n_levels, 1.0 - width, 1.0 - width, -1.0, g
        )
    return 0.5 * value


def hinge(
    const double[::1] scores,
    const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] level_starts,
    const Py_ssize_t[::1] level_offsets,
    double width,
    Py_ssize_t longest_by_pairs,
    const double[:] direction,
    double[::1] values,
    double[::1] out,
):
    """Add up hinges over pairs, and differentiate.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Scores of the rows.
    order, level_starts, level_offsets : arrays
        As in :class:`skrank._lists.Levels`.
    width : float
        Of the ramp: 0 for the hinge, infinity for half the squared hinge.
    longest_by_pairs : int
        Lists of more rows are sorted.
    direction : array of shape (n_rows,) or None
        None for values and gradient; else what to multiply the second derivative of
        half the squared hinge by.
    values : array of shape (n_lists,)
        Filled with the loss of each list, without ``direction``.
    out : array of shape (n_rows,)
        Filled with the gradient, or with the second derivative times ``direction``.
    """
    cdef Py_ssize_t n_lists = level_offsets.shape[0] - 1
    cdef Py_ssize_t q, i, first, n, level, n_levels, longest = 1
    for q in range(n_lists):
        first = level_starts[level_offsets[q]]
        longest = max(longest, level_starts[level_offsets[q + 1]] - first)
    cdef double[:, ::1] scratch = np.empty((3, longest))
    cdef double* s = &scratch[0, 0]
    cdef double* g = &scratch[1, 0]
    cdef double* v = NULL if direction is None else &scratch[2, 0]
    cdef bint sorting = v != NULL or longest > longest_by_pairs
    cdef Py_ssize_t room = longest if sorting else 1
    cdef Py_ssize_t[::1] levels = np.empty(room, dtype=np.intp)
    # A row and an entry of the tree are two numbers of eight bytes each.
    cdef double[:, ::1] numbers = np.empty((3, 2 * room + 2))
    cdef Row* unsorted = <Row*> &numbers[0, 0]
    cdef Row* spare = <Row*> &numbers[1, 0]
    cdef Entry* tree = <Entry*> &numbers[2, 0]
    cdef Row* rows
    cdef double low, high, value
    with nogil:
        for q in range(n_lists):
            first = level_starts[level_offsets[q]]
            n_levels = level_offsets[q + 1] - level_offsets[q]
            n = level_starts[level_offsets[q + 1]] - first
            low = high = scores[order[first]]
            for i in range(n):
                s[i] = scores[order[first + i]]
                low = min(low, s[i])
                high = max(high, s[i])
                g[i] = 0.0
                if v != NULL:
                    v[i] = direction[order[first + i]]
            for i in range(n):
                s[i] -= 0.5 * low + 0.5 * high
            if v == NULL and n <= longest_by_pairs:
                value = visit_pairs(
                    s, g, &level_starts[level_offsets[q]], n_levels, width
                )
            else:
                for level in range(n_levels):
                    for i in range(
                        level_starts[level_offsets[q] + level] - first,
                        level_starts[level_offsets[q] + level + 1] - first,
                    ):
                        levels[i] = level
                        unsorted[i].score = s[i]
                        unsorted[i].place = i
                rows = sort_rows(unsorted, spare, n)
                value = sum_sorted(
                    rows, &levels[0], s, v, tree, n, n_levels, width, g
                )
            # Comparisons take what is not a number for "no pair"; a sum does not.
            for i in range(n):
                value += 0.0 * s[i]
                out[order[first + i]] = g[i]
            if v == NULL:
                values[q] = value
