"""Models of pairs with ties: all pairs of a list in one pass, none stored.

With m the middle of a list's scores and r = exp(-c (s_i - s_j)), a better row i against
a worse row j, and two tied rows, cost

    win: log f,  f = 1 + k r + l r^2         tie: log f,  f = r + 1/r + t

up to a constant a tie: l = 0 is Rao-Kupper's model, l = 1 and c = 1/2 Davidson's. Their
slopes in -c (s_i - s_j) are r (k + 2 l r) / f and (r - 1/r) / f. A list's loss is one
log of the product of its f; all terms are positive, so nothing cancels. Ratios r of
scores far apart are made by ``_ratios``, and beyond its range go pair by pair through R
= exp(-c |s_i - s_j|). Lists of very many pairs go by ``_boxes``, which leaves only
small parts to be done pair by pair. See doc/math/losses.md, section "Pairs with ties".
"""

from libc.math cimport NAN, ceil, exp, fabs, log, log1p

from skrank._kernels._boxes cimport BoxedPairs, pairs_a_row
from skrank._kernels._exponentials cimport boxes_apart
from skrank._kernels._lists cimport Shape, check_length, shape_of_levels
from skrank._kernels._pair_models cimport CURVATURE, Model, Sums, of_pair
from skrank._kernels._products cimport (
    STRIP,
    Product,
    add_strip,
    log2,
    make_room,
    open_product,
    take_log,
)
from skrank._kernels._ratios cimport split_exponents, take_ratios, widest_ratios

import numpy as np


cdef enum:
    # Cost of the tables of an offset, in rows that each have as many pairs as are cheap.
    PAIRS_AN_OFFSET = 360
    PAIRS_A_PRODUCT = 16  # the same for products with a direction


cdef double NEAREST = 700.0  # range of logs of costs whose products hold many factors


cdef double beat(
    double inverse,
    const Model* model,
    const double* e,
    double* gradient,
    Py_ssize_t n,
    Product* product,
    Sums* sums,
) noexcept nogil:
    """Add the pairs of a row with n worse rows; return the sum of their slopes.

    Element by element first, then sums in two lanes: compilers make vectors of both
    without leave to change the order of sums.
    """
    cdef double[STRIP] slopes, factors, shares
    cdef double k = model.win, l = model.square, x, lx, f
    cdef double[2] totals = [0.0, 0.0]
    cdef double share_a = 0.0, share_b = 0.0
    cdef Py_ssize_t start = 0, count, j
    while start < n:
        count = make_room(product, n - start)
        if l == 0.0:  # a share is a slope
            for j in range(count):
                x = k * inverse * e[start + j]
                f = 1.0 + x
                factors[j] = f
                x = x / f
                slopes[j] = x
                gradient[start + j] += x
        else:
            for j in range(count):
                x = inverse * e[start + j]
                lx = l * x
                f = 1.0 + x * (k + lx)
                x = x / f
                factors[j] = f
                shares[j] = x
                x = x * (k + (lx + lx))
                slopes[j] = x
                gradient[start + j] += x
            for j in range(0, count - 1, 2):
                share_a += shares[j]
                share_b += shares[j + 1]
            if count & 1:
                share_a += shares[count - 1]
        add_strip(slopes, NULL, factors, count, totals, NULL, product)
        start += count
    sums.wins += totals[0] + totals[1] if l == 0.0 else k * (share_a + share_b)
    return totals[0] + totals[1]


cdef double tie_with(
    double e_one,
    double inverse,
    const Model* model,
    const double* e,
    const double* inverses,
    double* gradient,
    Py_ssize_t n,
    Product* product,
    Sums* sums,
) noexcept nogil:
    """Add the pairs of a row with n tied rows; return the sum of their slopes."""
    cdef double[STRIP] slopes, factors, shares
    cdef double t = model.tie, x, y, f
    cdef double[2] totals = [0.0, 0.0]
    cdef double[2] share_totals = [0.0, 0.0]
    cdef Py_ssize_t start = 0, count, j
    while start < n:
        count = make_room(product, n - start)
        for j in range(count):
            x = inverse * e[start + j]
            y = e_one * inverses[start + j]
            f = x + y + t
            factors[j] = f
            f = 1.0 / f
            shares[j] = f
            x = (x - y) * f
            slopes[j] = x
            gradient[start + j] += x
        add_strip(slopes, shares, factors, count, totals, share_totals, product)
        start += count
    sums.ties += share_totals[0] + share_totals[1]
    return totals[0] + totals[1]


cdef double beat_far(
    double score,
    const Model* model,
    const double* s,
    double* gradient,
    Py_ssize_t n,
    Sums* sums,
) noexcept nogil:
    """Do as beat with scores however far apart."""
    cdef double k = model.win, l = model.square, total = 0.0, gap, R, f, slope, share
    cdef Py_ssize_t j
    for j in range(n):
        gap = model.scale * (score - s[j])
        R = exp(-fabs(gap))
        if gap > 0.0:
            f = 1.0 + R * (k + l * R)
            sums.value += log1p(R * (k + l * R))
            share = R / f
            slope = share * (k + 2.0 * l * R)
        elif l == 0.0:
            f = R + k
            sums.value += log(f) - gap
            share = 1.0 / f
            slope = k / f
        else:  # f is l r^2 times this
            f = 1.0 + R * (k + R)
            sums.value += log1p(R * (k + R)) - 2.0 * gap
            share = R / f
            slope = (2.0 + k * R) / f
        sums.wins += k * share
        gradient[j] += slope
        total += slope
    return total


cdef double tie_with_far(
    double score,
    const Model* model,
    const double* s,
    double* gradient,
    Py_ssize_t n,
    Sums* sums,
) noexcept nogil:
    """Do as tie_with with scores however far apart."""
    cdef double t = model.tie, total = 0.0, gap, R, f, slope
    cdef Py_ssize_t j
    for j in range(n):
        gap = model.scale * (score - s[j])
        R = exp(-fabs(gap))
        f = 1.0 + R * (t + R)
        sums.value += log1p(R * (t + R)) + fabs(gap)
        sums.ties += R / f
        slope = (1.0 - R * R) / f
        if gap > 0.0:
            slope = -slope
        gradient[j] += slope
        total += slope
    return total


cdef double meet_wide(
    Py_ssize_t i,
    const Model* model,
    bint tied,
    double furthest,
    const double* f,
    const double* p,
    const double* v,  # NULL for the gradient
    double* out,
    Py_ssize_t first,
    Py_ssize_t last,
    Product* product,
    Sums* sums,
) noexcept nogil:
    """Add the pairs of a row with some worse or tied ones by ratios; return its sum."""
    cdef double[STRIP] ratios, inverses
    cdef double total = 0.0, above = 0.0, below = 0.0, change
    cdef Py_ssize_t start = first, n, j
    while start < last:
        n = min(last - start, STRIP)
        above += take_ratios(
            f[i], p[i], f + start, p + start, n, furthest, ratios,
            &below if tied else NULL,
        )
        if v != NULL:
            for j in range(n):
                change = of_pair(model, CURVATURE, tied, ratios[j]) * (v[i] - v[start + j])
                out[start + j] -= change
                total -= change
        elif tied:
            for j in range(n):
                inverses[j] = 1.0 / ratios[j]
            total += tie_with(
                1.0, 1.0, model, ratios, inverses, out + start, n, product, sums
            )
        else:
            total += beat(1.0, model, ratios, out + start, n, product, sums)
        start += n
    sums.value += above + below if tied else (1.0 + model.square) * above
    return total


cdef double curve(
    double score,
    double v_one,
    const Model* model,
    bint tied,
    const double* s,
    const double* v,
    double* out,
    Py_ssize_t n,
) noexcept nogil:
    """Add second derivatives times a direction v; return the one row's sum."""
    cdef double k = model.tie if tied else model.win, c = model.scale, total = 0.0
    cdef double R, f, change, shift = log(k)
    cdef bint threefold = tied or model.square != 0.0
    cdef Py_ssize_t j
    for j in range(n):
        if threefold:
            R = exp(-fabs(c * (score - s[j])))
            f = 1.0 + R * (k + R)
            change = R * (k * (1.0 + R * R) + 4.0 * R) / (f * f)
        else:
            R = exp(-fabs(c * (score - s[j]) - shift))
            change = R / ((1.0 + R) * (1.0 + R))
        change *= v_one - v[j]
        total += change
        out[j] -= change
    return total


def paired_ties(
    const double[::1] scores not None,
    const Py_ssize_t[::1] order not None,
    const Py_ssize_t[::1] level_starts not None,
    const Py_ssize_t[::1] level_offsets not None,
    double scale,
    double win,
    double square,
    double tie,
    double most_pairs_a_row,
    const double[:] direction,
):
    """Add up log f over all pairs of each list, and differentiate.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Scores of the rows.
    order, level_starts, level_offsets : arrays
        As in :class:`skrank._data.lists.Levels`.
    scale, win, square, tie : float
        c, k, l and t of the model, as above.
    most_pairs_a_row : float
        Lists of more pairs a row are added up by boxes of scores.
    direction : array of shape (n_rows,) or None
        None for values and gradient; else what to multiply the second derivative by.

    Returns
    -------
    sums : array of shape (3, n_lists)
        Without ``direction`` the sums over pairs of log f, of k r / f over wins (the
        derivative in log k), and of 1 / f over ties (that in t).
    out : array of shape (n_rows,)
        The gradient, or the second derivative times ``direction``.
    """
    cdef Shape shape = shape_of_levels(order, level_starts, level_offsets)
    cdef Py_ssize_t q, i, first, n, level
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    if direction is not None:
        check_length("direction", direction.shape[0], shape.n_rows, "row")
    sums_array, out_array = np.zeros((3, shape.n_lists)), np.empty(shape.n_rows)
    cdef double[:, ::1] all_sums = sums_array
    cdef double[::1] out = out_array
    cdef double[:, ::1] scratch = np.empty((4 + (direction is not None), shape.longest))
    cdef double* s = &scratch[0, 0]
    cdef double* g = &scratch[1, 0]
    cdef double* e = &scratch[2, 0]
    cdef double* inverses = &scratch[3, 0]
    cdef double* v = NULL if direction is None else &scratch[4, 0]
    cdef Model model
    cdef Sums sums
    model.scale, model.win, model.square, model.tie = scale, win, square, tie
    cdef double units = scale if direction is None else scale * scale
    cdef BoxedPairs boxes = boxes_for(
        scores, order, level_starts, level_offsets, &model, direction is not None,
        most_pairs_a_row,
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
                    v[i] = direction[order[first + i]]
            sums.value = sums.wins = sums.ties = 0.0
            if boxes is not None and most_pairs_a_row < pairs_a_row(
                &level_starts[level], level_offsets[q + 1] - level, True, False
            ):
                visit_boxes(
                    boxes, s, e, inverses, v, g, &level_starts[level],
                    level_offsets[q + 1] - level, &model, &sums,
                )
            else:
                visit_part(
                    s, e, inverses, v, g, &level_starts[level],
                    level_offsets[q + 1] - level, &model, &sums,
                )
            for i in range(n):
                out[order[first + i]] = units * g[i]
            if v == NULL:
                all_sums[0, q] = sums.value
                all_sums[1, q] = sums.wins
                all_sums[2, q] = sums.ties
    return sums_array, out_array


cdef BoxedPairs boxes_for(
    const double[::1] scores,
    const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] level_starts,
    const Py_ssize_t[::1] level_offsets,
    const Model* model,
    bint curved,
    double most_pairs_a_row,
):
    """Return what adds up lists of very many pairs, or None if there are none."""
    cdef Py_ssize_t q, level, i, longest = 0, longest_level = 0, first, last
    cdef double low, high, span = 0.0, n_pairs = 0.0, n_offsets
    for q in range(level_offsets.shape[0] - 1):
        level = level_offsets[q]
        if not most_pairs_a_row < pairs_a_row(
            &level_starts[level], level_offsets[q + 1] - level, True, False
        ):
            continue
        first, last = level_starts[level], level_starts[level_offsets[q + 1]]
        longest = max(longest, last - first)
        for i in range(level, level_offsets[q + 1]):
            longest_level = max(longest_level, level_starts[i + 1] - level_starts[i])
        n_pairs += 0.5 * (last - first) * (last - first - 1.0)
        low = high = scores[order[first]]
        for i in range(first, last):
            low = min(low, scores[order[i]])
            high = max(high, scores[order[i]])
        span = max(span, high - low)
    if longest == 0:
        return None
    # Tables, one for each offset of two boxes, hold for this parameter alone.
    n_offsets = min(span + 5.0, 2.0 * boxes_apart(model))
    n_offsets *= PAIRS_A_PRODUCT if curved else PAIRS_AN_OFFSET
    if n_pairs < n_offsets * most_pairs_a_row:
        return None
    return BoxedPairs(
        longest, span, model.scale, model.win, model.square, model.tie, curved, False,
        most_pairs_a_row, longest_level,
    )


cdef void visit_boxes(
    BoxedPairs boxes,
    const double* s,
    double* e,
    double* inverses,
    const double* v,
    double* out,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    const Model* model,
    Sums* sums,
) noexcept nogil:
    """Add the pairs of a list by boxes and by the parts these leave."""
    cdef Py_ssize_t level, part, first, i
    if not boxes.visit(s, v, starts, n_levels, NULL, NULL, out):
        for i in range(starts[n_levels] - starts[0]):
            out[i] = NAN
        sums.value = sums.wins = sums.ties = NAN
        return
    sums[0] = boxes.sums
    for part in range(0, boxes.n_leaves, 2):
        level = boxes.leaves[part]
        first = starts[level] - starts[0]
        visit_part(
            s + first, e, inverses, v if v == NULL else v + first, out + first,
            starts + level, boxes.leaves[part + 1] - level, model, sums,
        )


cdef void visit_part(
    const double* s,
    double* e,
    double* inverses,
    const double* v,
    double* out,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    const Model* model,
    Sums* sums,
) noexcept nogil:
    """Add the pairs of some levels one by one."""
    cdef Py_ssize_t n = starts[n_levels] - starts[0], i, level, stop
    cdef bint curved = v != NULL, near, wide
    cdef double low = s[0], high = s[0], reach, total, furthest
    cdef double largest = log(max(max(model.win, model.tie), 1.0))
    cdef Product product
    for i in range(n):
        low = min(low, s[i])
        high = max(high, s[i])
    # With r at most e^(c range), f is at most 4 max(k, t, 1) r^(1 + l).
    reach = (1.0 + model.square) * model.scale * (high - low) + 2.0 * log2() + largest
    near = not curved and reach <= NEAREST
    wide = not near and model.scale * (high - low) <= widest_ratios()
    # Beyond it f is 1, or its largest term, to rounding.
    furthest = 60.0 + ceil(max(largest, -log(model.win)) / log2())
    if wide:
        reach = (2.0 + furthest * (1.0 + model.square)) * log2() + largest
    open_product(&product, reach)
    if near:
        for i in range(n):
            e[i] = exp(model.scale * (s[i] - (0.5 * low + 0.5 * high)))
            inverses[i] = 1.0 / e[i]
    elif wide:
        split_exponents(s, n, model.scale, 0.5 * low + 0.5 * high, e, inverses)
    for level in range(n_levels):
        stop = starts[level + 1] - starts[0]
        for i in range(starts[level] - starts[0], stop):
            if near:
                total = tie_with(
                    e[i], inverses[i], model, e + i + 1, inverses + i + 1,
                    out + i + 1, stop - i - 1, &product, sums,
                )
                total += beat(
                    inverses[i], model, e + stop, out + stop, n - stop, &product, sums
                )
            elif wide:
                total = meet_wide(
                    i, model, True, furthest, e, inverses, v, out, i + 1, stop,
                    &product, sums,
                )
                total += meet_wide(
                    i, model, False, furthest, e, inverses, v, out, stop, n,
                    &product, sums,
                )
            elif not curved:
                total = tie_with_far(
                    s[i], model, s + i + 1, out + i + 1, stop - i - 1, sums
                )
                total += beat_far(s[i], model, s + stop, out + stop, n - stop, sums)
            else:
                total = -curve(
                    s[i], v[i], model, True, s + i + 1, v + i + 1, out + i + 1,
                    stop - i - 1,
                )
                total -= curve(
                    s[i], v[i], model, False, s + stop, v + stop, out + stop, n - stop
                )
            out[i] -= total
    sums.value += take_log(&product)
