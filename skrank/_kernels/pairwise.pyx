"""Logistic loss of pairs inside lists: a level against all lower ones, none stored.

Rows come in the order of their levels, best level first. With m the middle of a
list's scores and e = exp(s - m), a pair of a better row i and a worse row j has

    x = e_j / e_i = exp(-d),   f = 1 + x,   loss = log f,   slope = x / f

and a list's loss is one log of the product of its f, held as a fraction and a power of
two. All terms are positive, so nothing cancels. Ratios x of scores far apart are made by
``_ratios``, and beyond its range each from exp(-|d|). Lists of very many pairs go by
``_boxes``, which leaves only small parts to be done pair by pair. Where better rows weigh
their pairs, each has a product of its own. See doc/math/losses.md, section "Pairs of
rows".
"""

from libc.math cimport NAN, exp, fabs, log1p

from skrank._kernels._boxes cimport BoxedPairs, pairs_a_row
from skrank._kernels._lists cimport Shape, all_one, check_length, shape_of_levels
from skrank._kernels._products cimport (
    STRIP,
    Product,
    add_strip,
    log2,
    make_room,
    open_product,
    take_log,
    take_logs,
    widest,
)
from skrank._kernels._ratios cimport split_exponents, take_ratios, widest_ratios

import numpy as np


cdef enum Reach:  # of the scores of a list
    NEAR
    WIDE  # from where products hold few factors
    FAR


cdef enum:
    SMALL = 3  # rows a level below which a log for each weighted pair is faster


cdef double NEAREST = 700.0  # range of scores that are near
cdef double FURTHEST = 60.0  # power of 2 beyond which log(1 + x) is log x or 0


cdef double one_against(
    double inverse,
    double weight,
    const double* e,
    double* gradient,
    Py_ssize_t n,
    Product* product,
) noexcept nogil:
    """Add the pairs of a row with n worse rows; return the sum of their slopes.

    Element by element first, then sums in two lanes: compilers make vectors of both
    without leave to change the order of sums.
    """
    cdef double[STRIP] slopes, factors
    cdef double[2] totals = [0.0, 0.0]
    cdef double x, f
    cdef Py_ssize_t start = 0, count, j
    while start < n:
        count = make_room(product, n - start)
        for j in range(count):
            x = inverse * e[start + j]
            f = 1.0 + x
            x = x / f
            factors[j] = f
            slopes[j] = x
            gradient[start + j] += weight * x
        add_strip(slopes, NULL, factors, count, totals, NULL, product)
        start += count
    return totals[0] + totals[1]


cdef double one_against_curved(
    double inverse,
    double weight,
    double v_better,
    const double* e,
    const double* v,
    double* out,
    Py_ssize_t n,
) noexcept nogil:
    """Add second derivatives times a direction v; return the better row's sum."""
    cdef double total = 0.0, x, r, change
    cdef Py_ssize_t j
    for j in range(n):
        x = inverse * e[j]
        r = 1.0 / (1.0 + x)
        change = (x * r) * r * (v_better - v[j])  # r * r may underflow
        total += change
        out[j] -= weight * change
    return total


cdef double one_against_far(
    double score,
    double weight,
    const double* s,
    double* gradient,
    Py_ssize_t n,
    double* value,
) noexcept nogil:
    """Do as one_against with scores however far apart, adding to the value."""
    cdef double total = 0.0, distance, x, slope
    cdef Py_ssize_t j
    for j in range(n):
        distance = score - s[j]
        x = exp(-fabs(distance))
        slope = (x if distance > 0.0 else 1.0) / (1.0 + x)
        value[0] += weight * (log1p(x) - min(distance, 0.0))
        total += slope
        gradient[j] += weight * slope
    return total


cdef double one_against_far_curved(
    double score,
    double weight,
    double v_better,
    const double* s,
    const double* v,
    double* out,
    Py_ssize_t n,
) noexcept nogil:
    """Do as one_against_curved with scores however far apart."""
    cdef double total = 0.0, x, change
    cdef Py_ssize_t j
    for j in range(n):
        x = exp(-fabs(score - s[j]))
        change = x / ((1.0 + x) * (1.0 + x)) * (v_better - v[j])
        total += change
        out[j] -= weight * change
    return total


cdef double one_against_wide(
    double f_one,
    double p_one,
    double weight,
    double v_better,
    const double* f,
    const double* p,
    const double* v,  # NULL for the gradient
    double* out,
    Py_ssize_t n,
    Product* product,
    double* value,
) noexcept nogil:
    """Do as one_against, or one_against_curved, with ratios that cannot overflow."""
    cdef double[STRIP] ratios
    cdef double total = 0.0, over = 0.0
    cdef Py_ssize_t start = 0, count
    while start < n:
        count = min(n - start, STRIP)
        over += take_ratios(
            f_one, p_one, f + start, p + start, count, FURTHEST, ratios, NULL
        )
        if v == NULL:
            total += one_against(1.0, weight, ratios, out + start, count, product)
        else:
            total += one_against_curved(
                1.0, weight, v_better, ratios, v + start, out + start, count
            )
        start += count
    value[0] += weight * over
    return total


cdef inline Reach take_exponentials(
    double* s, Py_ssize_t n, double nearest, double* e, double* reach
) noexcept nogil:
    """Fill in exp(s - middle), its parts in e and s, or s where scores are too far."""
    cdef double low = s[0], high = low, middle
    cdef Py_ssize_t i
    for i in range(n):
        low = min(low, s[i])
        high = max(high, s[i])
    middle = 0.5 * low + 0.5 * high
    reach[0] = high - low
    if high - low <= nearest:
        for i in range(n):
            e[i] = exp(s[i] - middle)
        return NEAR
    if high - low <= widest_ratios():
        split_exponents(s, n, 1.0, middle, e, s)
        reach[0] = (FURTHEST + 1.0) * log2()
        return WIDE
    for i in range(n):
        e[i] = s[i]
    return FAR


cdef double visit_list(
    double* s,  # e if near, f if wide, or scores
    const double* p,  # used if wide
    const double* v,  # NULL for the gradient, else the direction
    double* out,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    const double* gains,  # NULL for pairs that weigh 1
    const double* shares,  # of the better row in the weight of a pair; NULL for 1
    Reach reach,
    Product* product,
) noexcept nogil:
    """Add all pairs of a list to its value, and to its gradient or product."""
    cdef Py_ssize_t origin = starts[0], level, lower, upper, i, first, n
    cdef double value = 0.0, gap = 1.0, weight = 1.0, total
    for level in range(n_levels - 1):
        lower = level + 1
        while lower < n_levels:
            upper = n_levels
            if gains != NULL:
                upper = lower + 1
                weight = gap = gains[level] - gains[lower]
            first = starts[lower] - origin
            n = starts[upper] - starts[lower]
            for i in range(starts[level] - origin, starts[level + 1] - origin):
                if shares != NULL:
                    weight = gap * shares[i]
                if reach == WIDE:
                    total = one_against_wide(
                        s[i], p[i], weight, v[i] if v != NULL else 0.0, s + first,
                        p + first, v + first if v != NULL else NULL, out + first, n,
                        product, &value,
                    )
                elif v == NULL and reach == NEAR:
                    total = one_against(
                        1.0 / s[i], weight, s + first, out + first, n, product
                    )
                elif v == NULL:
                    total = one_against_far(
                        s[i], weight, s + first, out + first, n, &value
                    )
                elif reach == NEAR:
                    total = one_against_curved(
                        1.0 / s[i], weight, v[i], s + first, v + first, out + first, n
                    )
                else:
                    total = one_against_far_curved(
                        s[i], weight, v[i], s + first, v + first, out + first, n
                    )
                out[i] += weight * (total if v != NULL else -total)
                if shares != NULL and v == NULL:
                    value += weight * take_log(product)
            if gains != NULL and v == NULL:
                value += weight * take_log(product)
            lower = upper
    return value + take_log(product)


def logistic(
    const double[::1] scores not None,
    const Py_ssize_t[::1] order not None,
    const Py_ssize_t[::1] level_starts not None,
    const Py_ssize_t[::1] level_offsets not None,
    const double[::1] level_gains,
    const double[::1] shares,
    double most_pairs_a_row,
    const double[:] direction,
):
    """Add up weight * log(1 + exp(s_j - s_i)) over pairs, and differentiate.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Scores of the rows.
    order, level_starts, level_offsets : arrays
        As in :class:`skrank._data.lists.Levels`.
    level_gains : array of shape (n_levels,) or None
        A pair weighs the difference of the gains of its two levels; None: 1.
    shares : array of shape (n_rows,) or None
        By which the pairs of a better row are multiplied, at least 0, by place in
        ``order``; None: 1.
    most_pairs_a_row : float
        Lists of more pairs a row are added up by boxes of scores.
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
    cdef Py_ssize_t q, i, first, n, level
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    if direction is not None:
        check_length("direction", direction.shape[0], shape.n_rows, "row")
    if level_gains is not None:
        check_length("level_gains", level_gains.shape[0], shape.n_levels, "level")
    if shares is not None:
        check_length("shares", shares.shape[0], shape.n_rows, "row")
    values_array, out_array = np.empty(shape.n_lists), np.empty(shape.n_rows)
    cdef double[::1] values = values_array, out = out_array
    cdef Py_ssize_t n_columns = 3 + (direction is not None) + (level_gains is not None)
    cdef double[:, ::1] scratch = np.empty((n_columns, shape.longest))
    cdef double* s = &scratch[0, 0]
    cdef double* e = &scratch[1, 0]
    cdef double* g = &scratch[2, 0]
    cdef double* v = NULL if direction is None else &scratch[3, 0]
    cdef double* row_gains = NULL if level_gains is None else &scratch[n_columns - 1, 0]
    cdef const double* gains = NULL
    cdef const double* u
    cdef BoxedPairs boxes = boxes_for(
        shape, level_starts, level_offsets, direction is not None,
        level_gains is not None, most_pairs_a_row,
    )
    with nogil:
        for q in range(shape.n_lists):
            level = level_offsets[q]
            first = level_starts[level]
            n = level_starts[level_offsets[q + 1]] - first
            for i in range(n):
                s[i] = scores[order[first + i]]
                g[i] = 0.0
            if v != NULL:
                for i in range(n):
                    v[i] = direction[order[first + i]]
            if level_gains is not None:
                gains = &level_gains[level]
            u = NULL
            if shares is not None and not all_one(&shares[first], n):
                u = &shares[first]
            if boxes is not None and most_pairs_a_row < pairs_a_row(
                &level_starts[level], level_offsets[q + 1] - level, False,
                level_gains is not None,
            ):
                values[q] = visit_boxes(
                    boxes, s, e, v, g, &level_starts[level],
                    level_offsets[q + 1] - level, gains, row_gains, u,
                )
            else:
                values[q] = visit_part(
                    s, e, v, g, &level_starts[level], level_offsets[q + 1] - level,
                    gains, row_gains, u,
                )
            for i in range(n):
                out[order[first + i]] = g[i]
    return values_array, out_array


cdef BoxedPairs boxes_for(
    Shape shape,
    const Py_ssize_t[::1] level_starts,
    const Py_ssize_t[::1] level_offsets,
    bint curved,
    bint weighted,
    double most_pairs_a_row,
):
    """Return what adds up lists of very many pairs, or None if there are none."""
    cdef Py_ssize_t q, level, longest = 0, n
    for q in range(shape.n_lists):
        level = level_offsets[q]
        if most_pairs_a_row < pairs_a_row(
            &level_starts[level], level_offsets[q + 1] - level, False, weighted
        ):
            n = level_starts[level_offsets[q + 1]] - level_starts[level]
            longest = max(longest, n)
    if longest == 0:
        return None
    return BoxedPairs(
        longest, 0.0, 1.0, 1.0, 0.0, -1.0, curved, weighted, most_pairs_a_row, 0
    )


cdef double visit_rows(
    const double* e,
    double* out,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    const double* gains,  # of rows
    const double* shares,
) noexcept nogil:
    """Add all pairs of a list of small levels, a log for each; return their value."""
    cdef double[STRIP] costs, slopes, weights
    cdef double value = 0.0, share = 1.0, total, inverse, x, f
    cdef Py_ssize_t n = starts[n_levels] - starts[0], level, i, j, start, count
    for level in range(n_levels - 1):
        for i in range(starts[level] - starts[0], starts[level + 1] - starts[0]):
            inverse, total = 1.0 / e[i], 0.0
            if shares != NULL:
                share = shares[i]
            start = starts[level + 1] - starts[0]
            while start < n:
                count = min(n - start, STRIP)
                for j in range(count):
                    x = inverse * e[start + j]
                    f = 1.0 + x
                    weights[j] = share * (gains[i] - gains[start + j])
                    costs[j] = f
                    slopes[j] = weights[j] * (x / f)
                    out[start + j] += slopes[j]
                take_logs(costs, count)
                for j in range(count):
                    total += slopes[j]
                    value += weights[j] * costs[j]
                start += count
            out[i] -= total
    return value


cdef double visit_part(
    double* s,
    double* e,
    const double* v,
    double* out,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    const double* gains,
    double* row_gains,
    const double* shares,
) noexcept nogil:
    """Add the pairs of some levels one by one; return their value."""
    cdef Product product
    cdef double reached
    cdef Py_ssize_t n = starts[n_levels] - starts[0], level, i
    cdef bint by_rows = gains != NULL and v == NULL and SMALL * n_levels > n
    cdef Reach reach = take_exponentials(
        s, n, NEAREST if v == NULL and not by_rows else widest(), e, &reached
    )
    if by_rows and reach == NEAR:
        for level in range(n_levels):
            for i in range(starts[level] - starts[0], starts[level + 1] - starts[0]):
                row_gains[i] = gains[level]
        return visit_rows(e, out, starts, n_levels, row_gains, shares)
    open_product(&product, reached + log2())
    return visit_list(
        e, s, v, out, starts, n_levels, gains, shares, reach, &product
    )


cdef double visit_boxes(
    BoxedPairs boxes,
    double* s,
    double* e,
    const double* v,
    double* out,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    const double* gains,
    double* row_gains,
    const double* shares,
) noexcept nogil:
    """Add the pairs of a list by boxes and by the parts these leave."""
    cdef Py_ssize_t level, part, first, i, n = starts[n_levels] - starts[0]
    cdef double value = 0.0
    if gains != NULL:
        for level in range(n_levels):
            for i in range(starts[level] - starts[0], starts[level + 1] - starts[0]):
                row_gains[i] = gains[level]
    if not boxes.visit(s, v, starts, n_levels, row_gains, shares, out):
        for i in range(n):
            out[i] = NAN
        return NAN
    for part in range(0, boxes.n_leaves, 2):
        level = boxes.leaves[part]
        first = starts[level] - starts[0]
        value += visit_part(
            s + first, e, v if v == NULL else v + first, out + first,
            starts + level, boxes.leaves[part + 1] - level,
            gains if gains == NULL else gains + level,
            row_gains if gains == NULL else row_gains + first,
            shares if shares == NULL else shares + first,
        )
    return value + boxes.sums.value
