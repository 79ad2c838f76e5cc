"""Plackett-Luce over lists with levels of ties: values and score derivatives.

Level k has d rows. With V_k the sum of exp(s) over these and W_k = V_k + W_{k+1} the sum
over the level and all below, a stage of weight w_k costs

    w_k [ sum_{l<d} log(W_{k+1} + c_l V_k) - sum_{i in k} s_i ]

with c_l = (d - l) / d (Efron) or 1 (Breslow). Stage k adds exp(s_i) times

    sum_{l<d} w_k / (W_{k+1} + c_l V_k)         to the gradient of each row i below it,
    sum_{l<d} w_k c_l / (W_{k+1} + c_l V_k)     to that of each row of its own,

which also lose w_k. The first sum is ``all_`` here, and ``terms[2 * k]``; the second is
``own``, and ``terms[2 * k + 1]``; ``e`` holds exp(s) in units of exp(largest s). W is
summed from the worst level up, the gradient from the best level down. One log is taken
of a product of many sums. Scores too far apart for that go through logarithms of sums.
See doc/math/losses.md, section "Plackett-Luce with levels of ties".
"""

import numpy as np

from libc.math cimport exp, fabs, fmax, fmin, log, log1p

from skrank._kernels._lists cimport Shape, check_length, most_stages
from skrank._kernels._lists cimport shape_of_levels

# If scores of a list differ by more, sums of exponentials lose their small terms.
cdef double WIDEST = 600.0
# Products of sums stay below exp(690); the largest double is near exp(709).
cdef double LARGEST_LOG = 690.0
cdef double LONGEST_PRODUCT = 32.0


def plackett_luce(
    const double[::1] scores not None,
    const Py_ssize_t[::1] order not None,
    const Py_ssize_t[::1] level_starts not None,
    const Py_ssize_t[::1] level_offsets not None,
    const Py_ssize_t[::1] n_stages not None,
    const double[::1] weights,
    bint efron,
):
    """Return minus log-likelihoods (n_lists,) and their score gradient (n_rows,).

    Rows and levels are as in ``_lists``. The first ``n_stages[q]`` levels of list q are
    stages. Ties follow Efron, else Breslow. ``weights``, one a place in ``order`` and
    at least 0, may be None; a level has the weight of its first place.

    The formulas of the value and of the gradient are at the top of this file.
    """
    cdef Shape shape = shape_of_levels(order, level_starts, level_offsets)
    cdef Py_ssize_t q, most = most_stages(n_stages, level_offsets, 0)
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    if weights is not None:
        check_length("weights", weights.shape[0], shape.n_rows, "row")
    values_array, gradient_array = np.empty(shape.n_lists), np.empty(shape.n_rows)
    cdef double[::1] values = values_array, gradient = gradient_array
    cdef double[::1] work = np.empty(shape.longest + 2 * most + 1)
    with nogil:
        for q in range(shape.n_lists):
            values[q] = _one_list(
                scores, order, level_starts, level_offsets[q], level_offsets[q + 1],
                n_stages[q], weights, efron, &work[0], &work[shape.longest], gradient,
            )
    return values_array, gradient_array


cdef double _one_list(
    const double[::1] scores,
    const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] level_starts,
    Py_ssize_t first_level,
    Py_ssize_t last_level,
    Py_ssize_t n_stages,
    const double[::1] weights,
    bint efron,
    double *e,
    double *terms,
    double[::1] gradient,
) noexcept nogil:
    """Fill in the gradient of one list and return its value."""
    cdef Py_ssize_t begin = level_starts[first_level], end = level_starts[last_level]
    cdef Py_ssize_t end_of_stages = level_starts[first_level + n_stages]
    cdef Py_ssize_t i, k, l, start, stop, d
    cdef double high, low, total, below, level_sum, factor, share, inverse, all_, own
    cdef double value = 0.0, product = 1.0, weight = 1.0
    # One log is taken of the product of all factors with the same weight.
    cdef double weight_of_product = 1.0
    cdef Py_ssize_t n_factors = 0, longest_product
    if n_stages == 0 or end - begin == 1:
        for i in range(begin, end):
            gradient[order[i]] = 0.0
        return 0.0
    high = low = scores[order[begin]]
    for i in range(begin, end):
        e[i - begin] = scores[order[i]]
        high = fmax(high, e[i - begin])
        low = fmin(low, e[i - begin])
    if not high - low < WIDEST:
        return _one_wide_list(
            order, level_starts, first_level, last_level, n_stages, weights, efron, e,
            terms, gradient,
        )
    # A factor lies between exp(low - high) and the number of rows.
    longest_product = <Py_ssize_t> fmin(
        LONGEST_PRODUCT, LARGEST_LOG / (high - low + log(<double> (end - begin)))
    )
    for k in range(n_stages):
        start = level_starts[first_level + k]
        stop = level_starts[first_level + k + 1]
        if weights is not None:
            weight = weights[start]
        for i in range(start - begin, stop - begin):
            # Scores of the picked rows. Sums of exp(s) below are in units of exp(high),
            # too.
            value -= weight * (e[i] - high)
    for i in range(end - begin):
        e[i] = exp(e[i] - high)
    # From the worst level up, add up the denominators of the stages.
    below = 0.0
    for i in range(end - 1, end_of_stages - 1, -1):
        below += e[i - begin]
    for k in range(n_stages - 1, -1, -1):
        start = level_starts[first_level + k]
        stop = level_starts[first_level + k + 1]
        d = stop - start
        level_sum = 0.0
        for i in range(start - begin, stop - begin):
            level_sum += e[i]
        total = below + level_sum
        if weights is not None:
            weight = weights[start]
            # A product can only be shared by factors whose logs have the same weight.
            if weight != weight_of_product:
                value += weight_of_product * log(product)
                product = 1.0
                n_factors = 0
                weight_of_product = weight
        if d == 1:
            product *= total
            n_factors += 1
            all_ = own = weight / total
            if n_factors >= longest_product:
                value += weight * log(product)
                product = 1.0
                n_factors = 0
        elif not efron:
            value += weight * (d * log(total))
            all_ = own = weight * d / total
        else:
            all_ = own = 0.0
            share = 1.0 / d
            for l in range(d):
                # Add a share of the level to the sum below it. W - (l/d) V would cancel.
                factor = (d - l) * share
                total = below + factor * level_sum
                inverse = weight / total
                all_ += inverse
                own += factor * inverse
                product *= total
                n_factors += 1
                if n_factors >= longest_product:
                    value += weight * log(product)
                    product = 1.0
                    n_factors = 0
            total = below + level_sum
        # What stage k adds to each row below it, and to each of its own rows.
        terms[2 * k] = all_
        terms[2 * k + 1] = own
        below = total
    value += weight_of_product * log(product)
    _fill_gradient(
        order, level_starts, first_level, last_level, n_stages, weights, e, terms,
        gradient,
    )
    return value


cdef void _fill_gradient(
    const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] level_starts,
    Py_ssize_t first_level,
    Py_ssize_t last_level,
    Py_ssize_t n_stages,
    const double[::1] weights,
    const double *e,
    const double *terms,
    double[::1] gradient,
) noexcept nogil:
    """Add up from the best level down what earlier stages add to each row."""
    cdef Py_ssize_t begin = level_starts[first_level], end = level_starts[last_level]
    cdef Py_ssize_t end_of_stages = level_starts[first_level + n_stages]
    cdef Py_ssize_t i, k, start, stop
    cdef double factor, before = 0.0, weight = 1.0
    for k in range(n_stages):
        factor = before + terms[2 * k + 1]
        start = level_starts[first_level + k]
        stop = level_starts[first_level + k + 1]
        if weights is not None:
            weight = weights[start]
        for i in range(start, stop):
            # The probability of being picked, summed over stages, less the pick.
            gradient[order[i]] = e[i - begin] * factor - weight
        before += terms[2 * k]
    for i in range(end_of_stages, end):
        gradient[order[i]] = e[i - begin] * before


cdef inline double _log_add(double a, double b) noexcept nogil:
    """Return log(exp(a) + exp(b)) of two numbers, one of them finite."""
    return fmax(a, b) + log1p(exp(-fabs(a - b)))


cdef double _one_wide_list(
    const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] level_starts,
    Py_ssize_t first_level,
    Py_ssize_t last_level,
    Py_ssize_t n_stages,
    const double[::1] weights,
    bint efron,
    const double *s,
    double *terms,
    double[::1] gradient,
) noexcept nogil:
    """Do the same for scores of any range, in logarithms throughout."""
    cdef Py_ssize_t begin = level_starts[first_level], end = level_starts[last_level]
    cdef Py_ssize_t end_of_stages = level_starts[first_level + n_stages]
    cdef Py_ssize_t i, k, l, start, stop, d
    cdef double minus_infinity = -1.0 / 0.0
    cdef double below = minus_infinity, before = minus_infinity
    cdef double level_sum, total, log_factor, all_, own, value = 0.0
    cdef double weight = 1.0, log_weight = 0.0
    for i in range(end - 1, end_of_stages - 1, -1):
        below = _log_add(s[i - begin], below)
    for k in range(n_stages - 1, -1, -1):
        start = level_starts[first_level + k]
        stop = level_starts[first_level + k + 1]
        d = stop - start
        level_sum = minus_infinity
        for i in range(start - begin, stop - begin):
            level_sum = _log_add(s[i], level_sum)
        all_ = own = minus_infinity
        if weights is not None:
            weight = weights[start]
            log_weight = log(weight) if weight > 0.0 else minus_infinity
        for l in range(d):
            if not weight > 0.0:
                break
            log_factor = log((d - l) / <double> d) if efron else 0.0
            total = _log_add(log_factor + level_sum, below)
            all_ = _log_add(log_weight - total, all_)
            own = _log_add(log_weight + log_factor - total, own)
            # Add term by term, since sums of large scores would cancel.
            value += weight * (total - s[start - begin + l])
        terms[2 * k] = all_
        terms[2 * k + 1] = own
        below = _log_add(level_sum, below)
    for k in range(n_stages):
        start = level_starts[first_level + k]
        stop = level_starts[first_level + k + 1]
        if weights is not None:
            weight = weights[start]
        own = before
        if weight > 0.0:
            own = _log_add(terms[2 * k + 1], before)
        for i in range(start, stop):
            gradient[order[i]] = exp(s[i - begin] + own) - weight
        if weight > 0.0:
            before = _log_add(terms[2 * k], before)
    for i in range(end_of_stages, end):
        gradient[order[i]] = exp(s[i - begin] + before)
    return value


cdef struct Mean:
    double log_weight
    double value


cdef inline void _include(Mean* mean, double log_weight, double value) noexcept nogil:
    """Add a value to a mean with weights given by their logarithms, one finite."""
    mean.log_weight = _log_add(log_weight, mean.log_weight)
    mean.value += exp(log_weight - mean.log_weight) * (value - mean.value)


cdef inline Mean _no_mean() noexcept nogil:
    cdef Mean mean
    mean.log_weight = -1.0 / 0.0
    mean.value = 0.0
    return mean


def plackett_luce_curvature(
    const double[::1] scores not None,
    const Py_ssize_t[::1] order not None,
    const Py_ssize_t[::1] level_starts not None,
    const Py_ssize_t[::1] level_offsets not None,
    const Py_ssize_t[::1] n_stages not None,
    const double[::1] weights,
    bint efron,
    const double[:] direction not None,
):
    """Return the second derivative in the scores times a direction, (n_rows,).

    Rows, levels and stages are as in ``plackett_luce``; ``weights``, one a place, may
    be None. A stage with the sum T = sum_i c_i exp(s_i) adds, with u the direction,

        exp(s_i) c_i / T (u_i - m),    m = sum_i c_i exp(s_i) u_i / T

    The sums over stages are held as means of m and logarithms of their weights, so
    that nothing overflows and a constant direction gives zero.
    """
    cdef Shape shape = shape_of_levels(order, level_starts, level_offsets)
    cdef Py_ssize_t most = most_stages(n_stages, level_offsets, 0)
    cdef Py_ssize_t q, k, l, i, first, start, stop, d, end, n_levels
    cdef double log_factor, log_inverse, centre
    cdef Mean below, level, stage, before, both
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    check_length("direction", direction.shape[0], shape.n_rows, "row")
    if weights is not None:
        check_length("weights", weights.shape[0], shape.n_rows, "row")
    product_array = np.zeros(shape.n_rows)
    cdef double[::1] product = product_array
    cdef double[:, ::1] room = np.empty((2 * most + 1, 2))
    cdef Mean* terms = <Mean*> &room[0, 0]
    with nogil:
        for q in range(shape.n_lists):
            first = level_offsets[q]
            n_levels = level_offsets[q + 1] - first
            start = level_starts[first]
            end = level_starts[first + n_levels]
            if n_stages[q] == 0 or end - start == 1:
                continue
            below = _no_mean()
            for i in range(level_starts[first + n_stages[q]], end):
                _include(&below, scores[order[i]], direction[order[i]])
            for k in range(n_stages[q] - 1, -1, -1):
                start = level_starts[first + k]
                stop = level_starts[first + k + 1]
                d = stop - start
                level = _no_mean()
                for i in range(start, stop):
                    _include(&level, scores[order[i]], direction[order[i]])
                terms[2 * k] = terms[2 * k + 1] = _no_mean()
                for l in range(d):
                    log_factor = log((d - l) / <double> d) if efron else 0.0
                    stage = below
                    _include(&stage, log_factor + level.log_weight, level.value)
                    log_inverse = -stage.log_weight
                    if weights is not None:
                        if not weights[start] > 0.0:
                            continue
                        log_inverse += log(weights[start])
                    _include(&terms[2 * k], log_inverse, stage.value)
                    _include(&terms[2 * k + 1], log_inverse + log_factor, stage.value)
                _include(&below, level.log_weight, level.value)
            before = _no_mean()
            for k in range(n_stages[q] + 1):
                start = level_starts[first + k]
                # Rows of level k are in the sums of all earlier stages in full, and in
                # those of stage k with their share.
                both = before
                stop = end
                if k < n_stages[q]:
                    stop = level_starts[first + k + 1]
                    if terms[2 * k].log_weight > -1.0 / 0.0:
                        _include(
                            &both, terms[2 * k + 1].log_weight, terms[2 * k + 1].value
                        )
                        _include(
                            &before, terms[2 * k].log_weight, terms[2 * k].value
                        )
                for i in range(start, stop):
                    centre = direction[order[i]] - both.value
                    product[order[i]] = exp(scores[order[i]] + both.log_weight) * centre
    return product_array
