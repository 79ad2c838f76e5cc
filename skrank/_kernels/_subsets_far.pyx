"""Sums over all subsets of a list of any length, whatever its scores.

With a tilt x for each size, u_i = (s_i - t) / m + x from the m-th largest score t,
p_i = 1 / (1 + exp(-u_i)) and q_i = 1 - p_i, the recurrence

    E_j <- q_i E_j + p_i E_{j-1}

holds probabilities that j of the rows so far are taken, which cannot overflow, and,
with T_m the mean of the m largest scores,

    log e_m - T_m = log E_m + sum_i log(1 + exp(u_i)) - sum of the m largest u_i

With x such that sum_i p_i is about m, E_m is not small either, whatever the scores, and
rows of |u_i| > FURTHEST are taken always or never, so that both sums may take them as
being there. Hence no numbers as large as the scores are added and subtracted again: T_m and
the mean of the level are counted from the largest score of the stage, and no precision
is lost to scores of any size. One x mostly serves all stages; a stage whose E_m is too
small gets its own. See doc/math/losses.md, section "Ordered partitions".
"""

from libc.math cimport exp, fabs, fmax, fmin, log, log1p, sqrt

from skrank._kernels._subsets cimport (
    Data,
    load,
    minus_infinity,
    no_weight,
    store,
    take_stage,
)

# Probabilities below TINY count as 0, and a stage needs one of at least ENOUGH. So less
# than 1e-37 of E_m is left out. The smallest doubles are near 1e-308.
cdef double TINY = 1e-290
cdef double ENOUGH = 1e-250
cdef double CLOSE = 10.0  # range of u in which Newton's start uses all rows
cdef double FURTHEST = 745.0  # exp(-745) is the smallest double above 0
cdef double TOO_RARE = 1e-40  # sizes less likely than this do not change the gradient


cdef void far_list(const Far* far, const Data* data, Py_ssize_t q) noexcept nogil:
    """Fill in value and gradient of a list of any scores and length."""
    cdef const Py_ssize_t* starts = data.level_starts + data.level_offsets[q]
    cdef Py_ssize_t n_levels = data.level_offsets[q + 1] - data.level_offsets[q]
    cdef Py_ssize_t n = load(data, q, far.s, 1, False), cap = min(data.cap, n)
    cdef Py_ssize_t level, m, end = starts[n_levels]
    cdef double high, total, value = 0.0
    cdef double* log_e
    for level in range(n_levels * cap):
        far.log_e[level] = minus_infinity()
    far_top(far, starts, n_levels, cap)
    for m in range(1, cap + 1):
        if data.log_weights[m - 1] > no_weight():
            far_logs(far, starts, n_levels, cap, m)
    for level in range(n_levels):
        log_e = far.log_e + level * cap
        high = minus_infinity()
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
        # From here on this is the probability that the stage takes m rows.
        for m in range(cap):
            log_e[m] = exp(log_e[m] + data.log_weights[m] - high)
            if data.in_weights != NULL:
                data.in_weights[q * data.cap + m] += log_e[m]
    data.values[q] = value
    for m in range(1, cap + 1):
        if data.log_weights[m - 1] > no_weight():
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
            top[j] = minus_infinity() if level == n_levels - 1 else top[cap + j]
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
    if u > FURTHEST:  # by comparisons, since fmin would be a function call
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
            far.tilt[level * cap + m - 1] = x if level == first else minus_infinity()
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
            if n_left >= m and far.tilt[level * cap + m - 1] > minus_infinity():
                break  # the next level has its own tilt
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
