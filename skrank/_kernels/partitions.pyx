"""Likelihoods of ordered partitions (PMOP, Davidson-Luce): values and gradients.

``arithmetic``: subsets weigh the mean of exp(s), which factors, so lists take linear
time. ``geometric``: a stage with the rows R left takes the subset S with weight
delta_|S| exp(mean of s over S), so that, with a_i = exp(s_i / m) for the subsets of m rows,

    Z(R) = sum_m delta_m e_m(a),   e_m = sum of the products of m different a_i

Rows are added from the worst level up, so one pass of the recurrence of e_m meets the
R of every stage. Gradients run backwards through the same recurrence. All terms are
positive: nothing cancels. Two ways of evaluation:

- near: short lists with scores not far apart. The plain recurrence
  e_j <- e_j + a_i e_{j-1}, a few lists of similar length side by side, so that the
  innermost loop is over lists and compilers make vectors of it.
- far: everything else. With a tilt x for each size, u_i = (s_i - t) / m + x from the
  m-th largest score t, p_i = 1 / (1 + exp(-u_i)) and q_i = 1 - p_i, the recurrence
  E_j <- q_i E_j + p_i E_{j-1} holds probabilities that j of the rows so far are taken,
  which cannot overflow, and, with T_m the mean of the m largest scores,

      log e_m - T_m = log E_m + sum_i log(1 + exp(u_i)) - sum of the m largest u_i

  With x such that sum_i p_i is about m, E_m is not small either, whatever the scores,
  and rows of |u_i| > FURTHEST are taken always or never, so that both sums may take
  them as being there. Hence nothing of the size of the scores is added and taken away:
  T_m and the mean of the level are counted from the largest score of the stage, and no
  precision is lost to scores of any size. One x mostly serves all stages; a stage whose
  E_m is too small gets its own.
"""

import numpy as np

from libc.math cimport exp, fabs, fmax, fmin, log, log1p, sqrt

cdef enum:
    LANES = 8  # lists side by side
    LONGEST_NEAR = 128  # rows; in longer lists the rows alone fill vectors
    LONGEST_KEPT = 32  # rows; in longer lists recomputing is faster than memory
cdef double LARGEST_LOG = 650.0  # doubles end near exp(709)
cdef double LOG2 = 0.693147180559945309417
cdef double NO_WEIGHT = -1e300
cdef double MINUS_INFINITY = -1.0 / 0.0
# Far: probabilities below TINY count as 0, and stages need one of at least ENOUGH. The
# part of E_m that is left out is below 1e-37 of it; doubles end near 1e-308.
cdef double TINY = 1e-290
cdef double ENOUGH = 1e-250
cdef double CLOSE = 10.0  # range of u in which the start of Newton minds all rows
cdef double FURTHEST = 745.0  # exp(-745) is the smallest double above 0
cdef double TOO_RARE = 1e-40  # sizes of this probability move no gradient

IMPOSSIBLE = NO_WEIGHT


# Arithmetic. Products of ratios of sums stay below exp(LARGEST_LOG).

cdef inline double log_add(double a, double b) noexcept nogil:
    """Return log(exp(a) + exp(b)) of two numbers, one of them finite."""
    return fmax(a, b) + log1p(exp(-fabs(a - b)))


def arithmetic(
    const double[::1] scores,
    const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] level_starts,
    const Py_ssize_t[::1] level_offsets,
    const double[::1] direction,
    double[::1] values,
    double[::1] out,
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
    values : array of shape (n_lists,)
        Filled with the loss of each list.
    out : array of shape (n_rows,)
        Filled with the gradient, or with the second derivative times ``direction``.
    """
    cdef Py_ssize_t q, n_lists = values.shape[0], longest = 1, most = 1, n
    for q in range(n_lists):
        n = level_offsets[q + 1] - level_offsets[q]
        most = max(most, n)
        n = level_starts[level_offsets[q + 1]] - level_starts[level_offsets[q]]
        longest = max(longest, n)
    cdef double[::1] work = np.empty(longest + 4 * most)
    cdef const double* v = NULL if direction is None else &direction[0]
    with nogil:
        for q in range(n_lists):
            values[q] = arithmetic_list(
                &scores[0], &order[0], &level_starts[level_offsets[q]],
                level_offsets[q + 1] - level_offsets[q], v, &work[0], &work[longest],
                &out[0],
            )


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
    if not high - low < LARGEST_LOG - log(<double> n):
        return arithmetic_far(e, order, starts, n_levels, terms, out)
    most = <Py_ssize_t> fmin(64.0, LARGEST_LOG / (high - low + log(<double> n + 1.0)))
    for i in range(n):
        e[i] = exp(e[i])
    for k in range(n_levels - 1, -1, -1):
        level_sum = 0.0
        for i in range(starts[k] - starts[0], starts[k + 1] - starts[0]):
            level_sum += e[i]
        below += level_sum
        terms[2 * k] = 1.0 / below
        terms[2 * k + 1] = 1.0 / level_sum
        product *= below / level_sum
        n_factors += 1
        if n_factors >= most:
            value += log(product)
            product = 1.0
            n_factors = 0
    value += log(product)
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


# Geometric.

cdef struct Data:
    const double* scores
    const Py_ssize_t* order
    const Py_ssize_t* level_starts
    const Py_ssize_t* level_offsets
    const double* log_weights
    Py_ssize_t cap
    double* values
    double* gradient
    double* in_weights  # NULL if not wanted


def geometric(
    const double[::1] scores,
    const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] level_starts,
    const Py_ssize_t[::1] level_offsets,
    const Py_ssize_t[::1] by_size,
    const double[::1] log_weights,
    double[::1] values,
    double[::1] gradient,
    double[:, ::1] in_weights,
):
    """Fill in minus log-likelihoods and their gradients.

    Takes time n D min(n, D) for a list of n rows. Memory beside the arguments: 3 MB for
    short lists; for the longest other list, the sums of one size of subsets at a time,
    8 n min(D, n / 2) bytes, and 24 bytes a size and stage.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Scores of the rows.
    order, level_starts, level_offsets : arrays
        As in :class:`skrank._data.lists.Levels`; no level is larger than D.
    by_size : array of shape (n_lists,)
        Lists, those of similar size next to each other.
    log_weights : array of shape (D,)
        Log of the weight of subsets of 1 to D rows, ``IMPOSSIBLE`` for a weight of 0.
        Larger subsets are impossible.
    values : array of shape (n_lists,)
        Filled with the loss of each list.
    gradient : array of shape (n_rows,)
        Filled with the gradient in the scores.
    in_weights : array of shape (n_lists, D) or None
        Filled with the gradient in ``log_weights``.
    """
    cdef Py_ssize_t n_lists = values.shape[0], cap = log_weights.shape[0]
    cdef Py_ssize_t k, q, n, size, longest_near = 0, longest_far = 0, n_filled = 0
    cdef Py_ssize_t most_results = 0, most_cells = 0
    cdef Py_ssize_t[LANES] lanes
    cdef double largest_weight = 0.0
    cdef unsigned char[::1] is_far = np.zeros(n_lists, dtype=np.uint8)
    cdef Data data
    data.scores, data.order = &scores[0], &order[0]
    data.level_starts, data.level_offsets = &level_starts[0], &level_offsets[0]
    data.log_weights, data.cap = &log_weights[0], cap
    data.values, data.gradient, data.in_weights = &values[0], &gradient[0], NULL
    if in_weights is not None:
        in_weights[:, :] = 0.0
        data.in_weights = &in_weights[0, 0]
    with nogil:
        for k in range(cap):
            largest_weight = fmax(largest_weight, log_weights[k])
        for q in range(n_lists):
            n = level_starts[level_offsets[q + 1]] - level_starts[level_offsets[q]]
            if (
                n <= LONGEST_NEAR
                and n * LOG2 + score_range(&data, q) + largest_weight < LARGEST_LOG
            ):
                longest_near = max(longest_near, n)
                continue
            is_far[q] = True
            longest_far = max(longest_far, n)
            size = min(cap, n)
            most_results = max(
                most_results, size * (level_offsets[q + 1] - level_offsets[q])
            )
            most_cells = max(most_cells, (n + 1) * (min(size, n // 2) + 3))

    cdef Near near
    n, size = longest_near, min(longest_near, cap)
    cdef double[:, ::1] near_work = np.empty(
        (
            2 * n + 2 * (n + 1) + 2 * (size + 2)
            + max(
                near_cells(n, size),
                near_cells(min(n, LONGEST_KEPT), min(size, LONGEST_KEPT)),
            ),
            LANES,
        )
    )
    a_array = np.empty(LANES * n * size)
    cdef double[::1] a = a_array
    cdef double[::1] weights = np.exp(np.minimum(log_weights, LARGEST_LOG))
    near.weights = &weights[0]
    near.shifted = &near_work[0, 0]
    near.in_shifted = near.shifted + LANES * n
    near.a = &a[0]
    near.total = near.in_shifted + LANES * n
    near.inverse = near.total + LANES * (n + 1)
    near.adjoint = near.inverse + LANES * (n + 1)
    near.e = near.adjoint + 2 * LANES * (size + 2)

    cdef Far far
    n, size = longest_far, min(longest_far, cap)
    cdef double[::1] far_work = np.empty(
        7 * (n + 1) + size + 2 + 3 * most_results + most_cells
    )
    cdef Py_ssize_t[:, ::1] far_bounds = np.empty((2, n + 1), dtype=np.intp)
    far.s = &far_work[0]
    far.p = far.s + n + 1
    far.q = far.p + n + 1
    far.at_end = far.q + n + 1
    far.in_end = far.at_end + n + 1
    far.log_scale = far.in_end + n + 1
    far.in_s = far.log_scale + n + 1
    far.adjoint = far.in_s + n + 1
    far.log_e = far.adjoint + size + 2
    far.tilt = far.log_e + most_results
    far.top = far.tilt + most_results
    far.e = far.top + most_results
    far.low, far.high = &far_bounds[0, 0], &far_bounds[1, 0]

    for k in range(n_lists):
        q = by_size[k]
        if is_far[q]:
            with nogil:
                far_list(&far, &data, q)
        else:
            lanes[n_filled] = q
            n_filled += 1
        if n_filled == LANES or (k == n_lists - 1 and n_filled > 0):
            with nogil:
                near_load(&near, &data, lanes, n_filled)
            # NumPy has vectors of exponentials, compilers have not.
            powers = a_array[: LANES * near.n * near.cap]
            np.exp(powers, out=powers)
            with nogil:
                near_lists(&near, &data, lanes, n_filled)
            n_filled = 0


cdef double score_range(const Data* data, Py_ssize_t q) noexcept nogil:
    """Return the largest less the smallest score of a list."""
    cdef Py_ssize_t first = data.level_starts[data.level_offsets[q]]
    cdef Py_ssize_t last = data.level_starts[data.level_offsets[q + 1]], i
    cdef double low = data.scores[data.order[first]], high = low
    for i in range(first + 1, last):
        low = fmin(low, data.scores[data.order[i]])
        high = fmax(high, data.scores[data.order[i]])
    return high - low


cdef Py_ssize_t load(
    const Data* data, Py_ssize_t q, double* s, Py_ssize_t stride, bint shift
) noexcept nogil:
    """Copy a list's scores, less the largest if wanted, worst level first."""
    cdef Py_ssize_t first = data.level_starts[data.level_offsets[q]]
    cdef Py_ssize_t last = data.level_starts[data.level_offsets[q + 1]], i
    cdef double high = 0.0
    if shift:
        high = data.scores[data.order[first]]
        for i in range(first + 1, last):
            high = fmax(high, data.scores[data.order[i]])
    for i in range(first, last):
        s[(last - 1 - i) * stride] = data.scores[data.order[i]] - high
    return last - first


cdef void store(
    const Data* data, Py_ssize_t q, const double* in_s, Py_ssize_t stride
) noexcept nogil:
    """Copy a list's gradient to its rows."""
    cdef Py_ssize_t first = data.level_starts[data.level_offsets[q]]
    cdef Py_ssize_t last = data.level_starts[data.level_offsets[q + 1]], i
    for i in range(first, last):
        data.gradient[data.order[i]] = in_s[(last - 1 - i) * stride]


cdef double take_stage(
    const Data* data,
    Py_ssize_t q,
    Py_ssize_t n_left,
    Py_ssize_t size,
    double log_total,
    double zero,
    const double* s,
    double* in_s,
    Py_ssize_t stride,
) noexcept nogil:
    """Return the loss of a stage that takes the last ``size`` of ``n_left`` rows.

    ``log_total`` counts scores from ``zero``. Starts the gradient with what the subset
    taken adds to it.
    """
    cdef double mean = 0.0
    cdef Py_ssize_t i
    for i in range(n_left - size, n_left):
        mean += s[i * stride] - zero
        in_s[i * stride] = -1.0 / size
    if data.in_weights != NULL:
        data.in_weights[q * data.cap + size - 1] -= 1.0
    return log_total - mean / size - data.log_weights[size - 1]


# Near. Arrays hold LANES numbers at each place, one of each list; rows worst first.

cdef struct Near:
    Py_ssize_t n  # rows of the longest of the lists
    Py_ssize_t cap  # largest size of their subsets
    const double* weights  # (D,), weight of each size
    double* shifted  # (n,), scores less the largest
    double* in_shifted  # (n,), gradient
    double* a  # (D, n), exp(shifted / m)
    double* total  # (n + 1,), Z of the first rows
    double* inverse  # (n + 1,), 1 / Z where a stage ends, else 0
    double* adjoint  # (2, m + 2), derivative in e_j, before and after a row
    double* e  # (n + 1, m + 2), e_j of the first rows, of one size m or of each


cdef inline Py_ssize_t near_cells(Py_ssize_t n, Py_ssize_t cap) noexcept nogil:
    """Return the number of e_j that are held at once, for sizes up to cap."""
    if n > LONGEST_KEPT:
        return (n + 1) * (cap + 2)
    return (n + 1) * (cap * (cap + 5) // 2)


cdef inline double* near_e(const Near* near, Py_ssize_t m) noexcept nogil:
    """Return where the e_j of a size are."""
    if near.n > LONGEST_KEPT:
        return near.e
    return near.e + LANES * near_cells(near.n, m - 1)


cdef void near_load(
    Near* near, const Data* data, const Py_ssize_t* lanes, Py_ssize_t n_lanes
) noexcept nogil:
    """Fill in shifted scores, and their shares in ``a``, of which to take exp."""
    cdef Py_ssize_t n = 0, i, l, m, first, last
    cdef double share
    for l in range(n_lanes):
        first = data.level_offsets[lanes[l]]
        last = data.level_offsets[lanes[l] + 1]
        n = max(n, data.level_starts[last] - data.level_starts[first])
    near.n, near.cap = n, min(data.cap, n)
    for i in range(n * LANES):
        near.shifted[i] = MINUS_INFINITY  # rows that a lane lacks weigh 0
    for l in range(n_lanes):
        load(data, lanes[l], near.shifted + l, LANES, True)
    for m in range(1, near.cap + 1):
        share = 1.0 / m
        for i in range(n * LANES):
            near.a[(m - 1) * n * LANES + i] = share * near.shifted[i]


cdef void near_lists(
    const Near* near, const Data* data, const Py_ssize_t* lanes, Py_ssize_t n_lanes
) noexcept nogil:
    """Fill in values and gradients of a few lists."""
    cdef Py_ssize_t n = near.n, i, l, m, q, level, last, size
    cdef double value, total
    cdef const double* e
    for i in range(n * LANES):
        near.in_shifted[i] = 0.0
    for i in range((n + 1) * LANES):
        near.total[i] = near.inverse[i] = 0.0
    for m in range(1, near.cap + 1):
        if near.weights[m - 1] > 0.0:
            near_forward(near, m)
            e = near_e(near, m) + m * LANES
            for i in range(m, n + 1):
                for l in range(LANES):
                    near.total[i * LANES + l] += (
                        near.weights[m - 1] * e[i * (m + 2) * LANES + l]
                    )
    for l in range(n_lanes):
        q = lanes[l]
        last = data.level_starts[data.level_offsets[q + 1]]
        value = 0.0
        for level in range(data.level_offsets[q], data.level_offsets[q + 1]):
            i = last - data.level_starts[level]
            size = data.level_starts[level + 1] - data.level_starts[level]
            total = near.total[i * LANES + l]
            near.inverse[i * LANES + l] = 1.0 / total
            value += take_stage(
                data, q, i, size, log(total), 0.0, near.shifted + l,
                near.in_shifted + l, LANES,
            )
        data.values[q] = value
    for m in range(1, near.cap + 1):
        if near.weights[m - 1] > 0.0:
            if n > LONGEST_KEPT:
                near_forward(near, m)
            near_backward(near, m)
            if data.in_weights != NULL:
                e = near_e(near, m) + m * LANES
                for l in range(n_lanes):
                    total = 0.0
                    for i in range(m, n + 1):
                        total += (
                            near.inverse[i * LANES + l] * e[i * (m + 2) * LANES + l]
                        )
                    data.in_weights[lanes[l] * data.cap + m - 1] += (
                        near.weights[m - 1] * total
                    )
    for l in range(n_lanes):
        store(data, lanes[l], near.in_shifted + l, LANES)


cdef void near_forward(const Near* near, Py_ssize_t m) noexcept nogil:
    """Fill in e_j of the first rows, for the j from which m can still be reached."""
    cdef Py_ssize_t n = near.n, width = (m + 2) * LANES, i, j, l
    cdef const double* a = near.a + (m - 1) * n * LANES
    cdef double* before = near_e(near, m)
    cdef double* after
    cdef double[LANES] a_i
    for l in range(LANES):
        before[l] = 1.0
    for i in range(n):
        after = before + width
        for l in range(LANES):
            a_i[l] = a[i * LANES + l]
            after[l] = 1.0
            before[min(i + 1, m + 1) * LANES + l] = 0.0
        for j in range(max(1, m - (n - 1 - i)), min(i + 1, m) + 1):
            for l in range(LANES):
                after[j * LANES + l] = (
                    before[j * LANES + l] + a_i[l] * before[(j - 1) * LANES + l]
                )
        before = after


cdef void near_backward(const Near* near, Py_ssize_t m) noexcept nogil:
    """Add the gradient of what the stages take from e_m."""
    cdef Py_ssize_t n = near.n, width = (m + 2) * LANES, i, j, l, low, high
    cdef const double* a = near.a + (m - 1) * n * LANES
    cdef const double* e = near_e(near, m)
    cdef const double* before
    cdef double* after = near.adjoint
    cdef double* adjoint = near.adjoint + width
    cdef double[LANES] a_i, total
    cdef double weight = near.weights[m - 1], share = 1.0 / m
    for i in range(2 * width):
        after[i] = 0.0
    for i in range(n - 1, -1, -1):
        before = e + i * width
        if i + 1 >= m:
            for l in range(LANES):
                after[m * LANES + l] += weight * near.inverse[(i + 1) * LANES + l]
        low, high = max(1, m - (n - 1 - i)), min(i + 1, m)
        for l in range(LANES):
            a_i[l] = a[i * LANES + l]
            total[l] = 0.0
        for j in range(low, high + 1):
            for l in range(LANES):
                total[l] = (
                    total[l] + after[j * LANES + l] * before[(j - 1) * LANES + l]
                )
        for j in range(low - 1, high):
            for l in range(LANES):
                adjoint[j * LANES + l] = (
                    after[j * LANES + l] + a_i[l] * after[(j + 1) * LANES + l]
                )
        if high == m:
            for l in range(LANES):
                adjoint[m * LANES + l] = after[m * LANES + l]
        after, adjoint = adjoint, after
        for l in range(LANES):
            near.in_shifted[i * LANES + l] += share * a_i[l] * total[l]


# Far. One list; rows worst first.

cdef struct Far:
    double* s  # (n,), scores
    double* p  # (n,), probability that a row is taken
    double* q  # (n,), that it is not
    double* at_end  # (n + 1,), E_m of the first rows
    double* in_end  # (n + 1,), derivative in E_m of the first rows
    double* log_scale  # (n + 1,), sum of log(1 + exp(u)) over the first rows
    double* in_s  # (n,), gradient
    double* adjoint  # (D + 2,), derivative in E_j
    double* log_e  # (n_levels, D), log of e_m, scores less the largest of the stage
    double* tilt  # (n_levels, D), x, where a level is the first that x serves
    double* top  # (n_levels, D), largest scores of each stage, from the largest down
    double* e  # (n + 1, width), E_j of the first rows, j from base - 1
    Py_ssize_t* low  # (n + 1,), range of j whose E_j count
    Py_ssize_t* high


cdef void far_list(const Far* far, const Data* data, Py_ssize_t q) noexcept nogil:
    """Fill in value and gradient of a list, whatever its scores and length."""
    cdef const Py_ssize_t* starts = data.level_starts + data.level_offsets[q]
    cdef Py_ssize_t n_levels = data.level_offsets[q + 1] - data.level_offsets[q]
    cdef Py_ssize_t n = load(data, q, far.s, 1, False), cap = min(data.cap, n)
    cdef Py_ssize_t level, m, end = starts[n_levels]
    cdef double high, total, value = 0.0
    cdef double* log_e
    for level in range(n_levels * cap):
        far.log_e[level] = MINUS_INFINITY
    far_top(far, starts, n_levels, cap)
    for m in range(1, cap + 1):
        if data.log_weights[m - 1] > NO_WEIGHT:
            far_logs(far, starts, n_levels, cap, m)
    for level in range(n_levels):
        log_e = far.log_e + level * cap
        high = MINUS_INFINITY
        for m in range(cap):
            high = fmax(high, log_e[m] + data.log_weights[m])
        total = 0.0
        for m in range(cap):
            total += exp(log_e[m] + data.log_weights[m] - high)
        high += log(total)
        value += take_stage(
            data, q, end - starts[level], starts[level + 1] - starts[level], high,
            far.top[level * cap], far.s, far.in_s, 1,
        )
        # From here on the probability that the stage takes m rows.
        for m in range(cap):
            log_e[m] = exp(log_e[m] + data.log_weights[m] - high)
            if data.in_weights != NULL:
                data.in_weights[q * data.cap + m] += log_e[m]
    data.values[q] = value
    for m in range(1, cap + 1):
        if data.log_weights[m - 1] > NO_WEIGHT:
            far_gradient(far, starts, n_levels, cap, m)
    store(data, q, far.in_s, 1)


cdef void far_top(
    const Far* far, const Py_ssize_t* starts, Py_ssize_t n_levels, Py_ssize_t cap
) noexcept nogil:
    """Sort the largest scores of each stage; a stage has those of the next and more."""
    cdef Py_ssize_t level, i, j, end = starts[n_levels]
    cdef double* top
    for level in range(n_levels - 1, -1, -1):
        top = far.top + level * cap
        for j in range(cap):
            top[j] = MINUS_INFINITY if level == n_levels - 1 else top[cap + j]
        for i in range(end - starts[level + 1], end - starts[level]):
            j = cap
            while j > 0 and far.s[i] > top[j - 1]:
                if j < cap:
                    top[j] = top[j - 1]
                j -= 1
            if j < cap:
                top[j] = far.s[i]


cdef inline double tilted(double s, double t, Py_ssize_t m, double x) noexcept nogil:
    """Return u, or the nearest number that is not further than where p is 0 or 1."""
    cdef double u = (s - t) / m + x
    if u > FURTHEST:  # comparisons, since fmin is a call
        return FURTHEST
    return u if u > -FURTHEST else -FURTHEST


cdef void far_logs(
    const Far* far,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    Py_ssize_t cap,
    Py_ssize_t m,
) noexcept nogil:
    """Fill in log e_m at each level that has m rows left, and the tilts used."""
    cdef Py_ssize_t level = 0, first, n, j
    cdef double x, t, below, taken
    cdef const double* top
    while level < n_levels and starts[n_levels] - starts[level] >= m:
        first = level
        n = starts[n_levels] - starts[level]
        t = far.top[level * cap + m - 1]
        x = find_tilt(far.s, n, m, t)
        far_forward(far, n, m, t, x, False)
        while n >= m and (level == first or far.at_end[n] >= ENOUGH):
            top = far.top + level * cap
            below = taken = 0.0
            for j in range(m):
                below += top[0] - top[j]
                taken += tilted(top[j], t, m, x)
            far.log_e[level * cap + m - 1] = (
                log(far.at_end[n]) + (far.log_scale[n] - taken) - below / m
            )
            far.tilt[level * cap + m - 1] = x if level == first else MINUS_INFINITY
            level += 1
            n = starts[n_levels] - starts[level]


cdef void far_gradient(
    const Far* far,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    Py_ssize_t cap,
    Py_ssize_t m,
) noexcept nogil:
    """Add the gradient of all stages' subsets of m rows."""
    cdef Py_ssize_t level = 0, first, n, n_left, i
    cdef double most, share
    while level < n_levels and starts[n_levels] - starts[level] >= m:
        first = level
        most = 0.0
        n = n_left = starts[n_levels] - starts[first]
        for i in range(n + 1):
            far.in_end[i] = 0.0
        while n_left >= m:
            share = far.log_e[level * cap + m - 1]
            far.in_end[n_left] = share
            most = fmax(most, share)
            level += 1
            n_left = starts[n_levels] - starts[level]
            if n_left >= m and far.tilt[level * cap + m - 1] > MINUS_INFINITY:
                break  # the next level has a tilt of its own
        if most < TOO_RARE:
            continue
        far_forward(
            far, n, m, far.top[first * cap + m - 1], far.tilt[first * cap + m - 1], True
        )
        for i in range(m, n + 1):
            if far.in_end[i] > 0.0:
                far.in_end[i] /= far.at_end[i]
        far_backward(far, n, m)


cdef double find_tilt(
    const double* s, Py_ssize_t n, Py_ssize_t m, double t
) noexcept nogil:
    """Return x such that about m of the first n rows are taken, on average.

    Newton's method, with bisection after each step that does not halve the error. The
    m-th largest score is t: at most m - 1 rows are above and at least m not below, so
    that at the ends of the interval all but 1e-17 of one more or of one less is taken.
    """
    cdef double target = fmin(m, n - 0.5), mean, variance, error, z, p, u
    cdef double below = -40.0 - log(<double> n), above = 40.0, x = 0.0
    cdef double last_error = n, low = t, high = t
    cdef Py_ssize_t i
    for i in range(n):
        low = s[i] if s[i] < low else low
        high = s[i] if s[i] > high else high
    if high / m - low / m < CLOSE:  # else about half of the row at t is taken at 0
        x = log(target / (n - target)) + (t - (0.5 * low + 0.5 * high)) / m
    while below < x < above:
        mean = variance = 0.0
        for i in range(n):
            u = tilted(s[i], t, m, x)
            z = exp(-fabs(u))
            p = 1.0 / (1.0 + z)
            variance += z * p * p
            mean += p if u > 0.0 else z * p
        error = mean - target
        if fabs(error) <= fmax(0.25, 0.5 * sqrt(variance)):
            break
        if error > 0.0:
            above = x
        else:
            below = x
        x -= error / variance
        if fabs(error) > 0.5 * last_error or not below < x < above:
            x = 0.5 * below + 0.5 * above
        last_error = fabs(error)
    return x


cdef void far_forward(
    const Far* far, Py_ssize_t n, Py_ssize_t m, double t, double x, bint keep
) noexcept nogil:
    """Fill in E_m of the first 0 to n rows; keep all E_j, or two rows of them.

    After i rows only the j from ``base`` on can reach m with the n - i others.
    """
    cdef Py_ssize_t width = min(m, n - m) + 3, i, j, low = 0, high = 0, base
    cdef double u, z, p, q
    cdef double* before = far.e + 1
    cdef double* after
    before[0] = 1.0
    far.low[0] = far.high[0] = 0
    far.at_end[0] = far.log_scale[0] = 0.0
    for i in range(n):
        u = tilted(far.s[i], t, m, x)
        z = exp(-fabs(u))
        p = 1.0 / (1.0 + z)
        q = z * p
        far.log_scale[i + 1] = far.log_scale[i] + log1p(z)
        if u < 0.0:
            p, q = q, p
        else:
            far.log_scale[i + 1] += u
        far.p[i], far.q[i] = p, q
        base = max(0, m - (n - 1 - i))
        after = far.e + ((i + 1) if keep else (i + 1) % 2) * width + 1 - base
        before[low - 1] = before[high + 1] = 0.0
        low, high = max(low, base), min(high + 1, m)
        for j in range(low, high + 1):
            after[j] = q * before[j] + p * before[j - 1]
        while high > low and after[high] < TINY:
            high -= 1
        while high > low and after[low] < TINY:
            low += 1
        if high < low:
            high = low
            after[low] = 0.0
        far.low[i + 1], far.high[i + 1] = low, high
        far.at_end[i + 1] = after[m] if high == m else 0.0
        before = after


cdef void far_backward(const Far* far, Py_ssize_t n, Py_ssize_t m) noexcept nogil:
    """Add the gradient of all E_m, given the derivatives in them.

    Derivatives in E_j outside ``low`` to ``high`` are 0 in ``adjoint``.
    """
    cdef Py_ssize_t width = min(m, n - m) + 3, i, j, low = m, high = m - 1, start, stop
    cdef double* before
    cdef double* adjoint = far.adjoint
    cdef double p, q
    cdef double[4] sums
    for j in range(m + 2):
        adjoint[j] = 0.0
    for i in range(n - 1, -1, -1):
        if far.in_end[i + 1] > 0.0:
            adjoint[m] += far.in_end[i + 1]
            high = m
        before = far.e + i * width + 1 - max(0, m - (n - i))
        p, q = far.p[i], far.q[i]
        start, stop = max(low, far.low[i + 1]), min(high, far.high[i + 1]) + 1
        sums[0] = sums[1] = sums[2] = sums[3] = 0.0
        for j in range(start, stop - 3, 4):
            sums[0] += adjoint[j] * before[j - 1]
            sums[1] += adjoint[j + 1] * before[j]
            sums[2] += adjoint[j + 2] * before[j + 1]
            sums[3] += adjoint[j + 3] * before[j + 2]
        for j in range(max(start, stop - (stop - start) % 4), stop):
            sums[0] += adjoint[j] * before[j - 1]
        far.in_s[i] += p * ((sums[0] + sums[1]) + (sums[2] + sums[3])) / m
        low = max(low - 1, 0)
        for j in range(low, high + 1):
            adjoint[j] = q * adjoint[j] + p * adjoint[j + 1]
        while high >= low and (high > far.high[i] or adjoint[high] < TINY):
            adjoint[high] = 0.0
            high -= 1
        while high >= low and (low < far.low[i] or adjoint[low] < TINY):
            adjoint[low] = 0.0
            low += 1
        if high < low:
            low = m
            high = m - 1
