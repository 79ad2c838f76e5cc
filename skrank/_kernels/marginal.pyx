"""Plackett-Luce summed over all orders of tied rows: values and score derivatives.

The probability that all rows of a level D come before all rows A below it, with
p_i = exp(s_i) / sum_A exp(s_j), is that of a race of exponential clocks:

    P = int_0^inf e^-t prod_{i in D} (1 - exp(-p_i t)) dt

With t = e^x the integrand is analytic and log-concave, so that the trapezoid rule on
nodes x_n, a step h apart, is exact to rounding once h is small against the peak's
width. No exponential is needed at most (row, node) pairs: h is log 2 over a whole
number m, so that m nodes on z = p_i t is doubled, and v = 1 - exp(-z) obeys

    v(2 z) = v + v (1 - v)

whose relative errors shrink. One log of a product over rows is taken a node. See
doc/math/losses.md, section "All orders of tied rows".
"""

from libc.math cimport ceil, exp, fabs, ldexp, log, log1p, sqrt

import numpy as np

from skrank._kernels._lists cimport Shape, check_length, most_stages, shape_of_levels

cdef double LOG2 = 0.693147180559945309417
cdef double DROP = 40.0  # nodes reach until the integrand is exp(-40) of its peak
# Steps h so small that their error is rounding: for exp(-t); for a Gaussian peak of many
# rows; and for a cut-off as sharp as that of (1 - exp(-z))^d at large z, of width 1 / z.
cdef double WIDEST_STEP = 0.2
cdef double STEP_IN_WIDTHS = 0.6
cdef double STEP_IN_SCALES = 0.3
cdef double LARGE_Z = 4.0
cdef double FAR = 40.0  # for larger z, 1 - exp(-z) is 1 to rounding
cdef double NEAR = 1e-17  # for smaller z, 1 - exp(-z) is z to rounding
cdef double LARGEST_LOG_P = 100.0
cdef double SMALLEST_PRODUCT = 1e-100  # four more factors are above 1e-37 each
cdef enum:
    LANES = 4  # rows at a time
    MANY = 64  # nodes
    MOST_NODES = 4096  # twice the usual number, rounded up to whole octaves


cdef struct Work:
    double* s  # the list's scores by level, the largest being 0
    double* direction
    double* out
    double* p
    double* z  # of active rows, which are neither near nor far, at the first node
    Py_ssize_t* active  # which rows these are
    double* e  # mean of z / (exp(z) - 1) over the integrand
    double* change  # of e along a direction
    double* v
    double* product
    double* share  # of each node in the integral
    double* sums
    double* t  # of each node over that of the first
    double* node


cdef inline double twice(double v) noexcept nogil:
    """Return 1 - exp(-2 z) from 1 - exp(-z)."""
    return v + v * (1.0 - v)


cdef inline double one_minus_exp(double z) noexcept nogil:
    """Return 1 - exp(-z) for z from 0 to 80, without a branch: a series at z / 256."""
    cdef double y = z * 0.00390625, v
    v = 1.0 - y / 11.0
    v = 1.0 - y * v * 0.1
    v = 1.0 - y * v * (1.0 / 9.0)
    v = 1.0 - y * v * 0.125
    v = 1.0 - y * v * (1.0 / 7.0)
    v = 1.0 - y * v * (1.0 / 6.0)
    v = 1.0 - y * v * 0.2
    v = 1.0 - y * v * 0.25
    v = 1.0 - y * v * (1.0 / 3.0)
    v = y * (1.0 - y * v * 0.5)
    return twice(twice(twice(twice(twice(twice(twice(twice(v))))))))


cdef inline double slope(double t, const double* p, Py_ssize_t d, double* b, double* c,
                         double* curvature) noexcept nogil:
    """Return the first derivative of the log integrand in x, and minus the second."""
    cdef double total = 1.0 - t, bend = t, z, v
    cdef Py_ssize_t i
    for i in range(d):
        z = p[i] * t
        z = 1e-290 if z < 1e-290 else z
        z = 80.0 if z > 80.0 else z
        v = one_minus_exp(z)
        b[i] = z * (1.0 - v) / v
        c[i] = b[i] * (b[i] + z - 1.0)
    for i in range(d):
        total += b[i]
        bend += c[i]
    curvature[0] = bend
    return total


cdef double near_peak(
    const double* p, Py_ssize_t d, double* b, double* c, double* first,
    double* curvature,
) noexcept nogil:
    """Return t near the integrand's peak in x, and the derivatives there.

    The slope is convex and falling in t, and not below what d rows with the mean of p
    would give: Newton's method rises to the peak without overshooting.
    """
    cdef double t = 1.0, mean = 0.0, one_b, one_c, bend, rise
    cdef Py_ssize_t i, _turn
    for i in range(d):
        mean += p[i]
    mean /= d
    for _turn in range(100):
        slope(t, &mean, 1, &one_b, &one_c, &bend)
        rise = 1.0 - t + d * one_b
        bend = t + d * one_c
        t += rise * t / bend
        if rise <= 0.1 * sqrt(bend):
            break
    for _turn in range(100):
        first[0] = slope(t, p, d, b, c, curvature)
        if fabs(first[0]) <= 0.1 * sqrt(curvature[0]):
            break
        t += first[0] * t / curvature[0]
    return t


cdef inline void reach(
    double t, double first, double* left, double* right
) noexcept nogil:
    """Return an upper bound of the distance at which the log integrand fell by DROP.

    To the left it falls at least as t (x - 1 + e^-x), to the right as
    t (e^x - 1 - x) - first x; Newton's method comes from above, so any turn is a bound.
    """
    cdef double r, f
    cdef int _turn
    r = 1.0 + DROP / t + sqrt(2.0 * DROP / t)
    for _turn in range(3):
        f = exp(-r)
        r -= (t * (r - 1.0 + f) - DROP) / (t * (1.0 - f))
    left[0] = r
    r = (first + sqrt(first * first + 2.0 * DROP * t)) / t
    for _turn in range(6):
        f = exp(r) - 1.0
        r -= (t * (f - r) - first * r - DROP) / (t * f - first)
    right[0] = r


cdef inline double step(
    const double* p, const double* c, Py_ssize_t d, double t, double curvature
) noexcept nogil:
    """Return how far apart nodes may be; c is the rows' part of the curvature.

    A cut-off on a scale 1 / z is at the z of the rows that bend the peak, or left of
    the peak, where n rows of large z have n z exp(-z) = 1.
    """
    cdef double scale = 0.0, weight = 0.0, z
    cdef Py_ssize_t i, n = 0
    for i in range(d):
        z = p[i] * t
        if z > LARGE_Z:
            n += 1
        else:
            scale += c[i] * z
            weight += c[i]
    scale = scale / weight if weight > 0.0 else 0.0
    if n > 0:
        scale = max(scale, 1.0 + 1.2 * log(<double> n))
    return min(
        min(WIDEST_STEP, STEP_IN_WIDTHS / sqrt(curvature)),
        STEP_IN_SCALES / max(scale, 1.0),
    )


cdef inline void begin(
    const double* z, const double* t, Py_ssize_t phases, double* v
) noexcept nogil:
    """Fill in 1 - exp(-z t) of four rows at the first nodes, node by node."""
    cdef Py_ssize_t i, j
    for i in range(phases):
        for j in range(LANES):
            v[LANES * i + j] = z[j] * t[i]
    for i in range(LANES * phases):
        v[i] = one_minus_exp(80.0 if v[i] > 80.0 else v[i])


cdef inline void multiply(double* product, double* v, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        product[i] *= v[i]
        v[i] = v[i] + v[i] * (1.0 - v[i])


cdef inline void add_shares(
    double* sums, const double* share, double* v, Py_ssize_t n
) noexcept nogil:
    """Add share * (1 - v) / v."""
    cdef Py_ssize_t i
    cdef double u
    for i in range(n):
        u = 1.0 - v[i]
        sums[i] += share[i] * u / v[i]
        v[i] = v[i] + v[i] * u


cdef inline void take_logs(
    double* node, double* product, Py_ssize_t n
) noexcept nogil:
    """Add the log of each node's product, and start new products."""
    cdef Py_ssize_t i
    cdef double* four
    for i in range(n):
        four = product + LANES * i
        node[i] += log((four[0] * four[1]) * (four[2] * four[3]))
        four[0] = four[1] = four[2] = four[3] = 1.0


cdef double level(
    Work* w, const double* s, const double* along, Py_ssize_t d, double below
) noexcept nogil:
    """Return -log P of a level, with e and, given a direction, its change.

    ``below`` is the log of the sum over rows below the level; ``along`` a direction
    in s - below, or NULL.
    """
    cdef double t, first, curvature, left, right, h, z, top, total, near_sum = 0.0
    cdef double other
    cdef Py_ssize_t i, k, m, n_nodes, octaves, phases, n_left
    cdef Py_ssize_t n_active = 0, n_near = 0
    cdef Py_ssize_t low, high, start, block, n_blocks
    if d == 1:
        t = s[0] - below
        z = exp(-fabs(t))
        other = 1.0 / (1.0 + z)
        w.e[0] = z * other if t > 0.0 else other
        if along != NULL:
            w.change[0] = -z * other * other * along[0]
        return log1p(z) - (t if t < 0.0 else 0.0)
    for i in range(d):
        t = s[i] - below
        w.p[i] = exp(LARGEST_LOG_P if t > LARGEST_LOG_P else t)
    # z and e serve as buffers until active rows are known.
    t = near_peak(w.p, d, w.z, w.e, &first, &curvature)
    reach(t, first, &left, &right)
    m = <Py_ssize_t> ceil(LOG2 / step(w.p, w.e, d, t, curvature))
    h = LOG2 / m
    # Many nodes are needed for a sharp cut-off. Find it from slopes, which fall with x.
    while left > MANY * h:
        z = DROP / slope(t * exp(-left / 3.0), w.p, d, w.z, w.e, &curvature)
        if z > 0.6 * left:
            break
        left = left / 3.0 + z
    if left + right > MOST_NODES // 2 * h:
        # No cut-off is that near, so a coarser step is enough.
        m = max(1, <Py_ssize_t> (LOG2 * (MOST_NODES // 2) / (left + right)))
        h = LOG2 / m
    n_left = <Py_ssize_t> ceil(left / h)
    n_nodes = n_left + <Py_ssize_t> ceil(right / h) + 1
    phases = min(m, n_nodes)
    octaves = (n_nodes + phases - 1) // phases
    n_nodes = octaves * phases
    for i in range(phases):
        w.t[i] = exp(i * h)
    for i in range(phases, n_nodes):
        w.t[i] = 2.0 * w.t[i - phases]
    # Place nodes by octaves, so that t and x agree to rounding near the peak.
    left = t * ldexp(exp(-(n_left % m) * h), -(n_left // m))
    top = log(t)
    for i in range(d):
        z = w.p[i] * left
        w.e[i] = 0.0
        if along != NULL:
            w.change[i] = 0.0
        if z > FAR:
            continue
        if z * w.t[n_nodes - 1] < NEAR:
            w.e[i] = 1.0
            n_near += 1
            near_sum += s[i] - below
            continue
        w.active[n_active] = i
        w.z[n_active] = z
        n_active += 1
    n_blocks = (n_active + LANES - 1) // LANES
    for i in range(n_active, LANES * n_blocks):
        w.z[i] = 80.0
    for i in range(n_nodes):
        # The log integrand without the factors of active rows, or a constant.
        w.node[i] = (n_near + 1) * (top + (i - n_left) * h) - left * w.t[i]
    for i in range(LANES * n_nodes):
        w.product[i] = 1.0
    for block in range(n_blocks):
        start = LANES * block
        begin(w.z + start, w.t, phases, w.v)
        for k in range(octaves):
            multiply(w.product + LANES * phases * k, w.v, LANES * phases)
        if (w.product[0] * w.product[1]) * (w.product[2] * w.product[3]) < (
            SMALLEST_PRODUCT
        ):
            take_logs(w.node, w.product, n_nodes)
    take_logs(w.node, w.product, n_nodes)
    top = w.node[0]
    for i in range(1, n_nodes):
        top = w.node[i] if w.node[i] > top else top
    low = 0
    while w.node[low] < top - DROP:
        low += 1
    high = n_nodes
    while w.node[high - 1] < top - DROP:
        high -= 1
    total = 0.0
    for i in range(low, high):
        w.node[i] = exp(w.node[i] - top)
        total += w.node[i]
    fill_means(w, phases, low, high, total, n_active)
    if along != NULL:
        differentiate(w, along, n_active, low, high, total)
    z = -(top + log(total * h)) - near_sum
    return z if z > 0.0 else 0.0


cdef void fill_means(
    Work* w, Py_ssize_t phases, Py_ssize_t low, Py_ssize_t high, double total,
    Py_ssize_t n_active,
) noexcept nogil:
    """Fill in e, the mean of z / (exp(z) - 1) over the integrand, of active rows."""
    cdef Py_ssize_t i, j, k, block, start, octaves
    cdef double z
    phases = min(phases, high - low)
    octaves = (high - low + phases - 1) // phases
    for i in range(octaves * phases):
        z = w.t[low + i] * w.node[low + i] / total if low + i < high else 0.0
        for j in range(LANES):
            w.share[LANES * i + j] = z
    for block in range((n_active + LANES - 1) // LANES):
        start = LANES * block
        begin(w.z + start, w.t + low, phases, w.v)
        for i in range(LANES * phases):
            w.sums[i] = 0.0
        for k in range(octaves):
            add_shares(
                w.sums, w.share + LANES * phases * k, w.v, LANES * phases
            )
        for j in range(min(LANES, n_active - start)):
            z = 0.0
            for i in range(phases):
                z += w.sums[LANES * i + j]
            w.e[w.active[start + j]] = w.z[start + j] * z


cdef void differentiate(
    Work* w, const double* along, Py_ssize_t n_active, Py_ssize_t low, Py_ssize_t high,
    double total,
) noexcept nogil:
    """Fill in the change of e along a direction.

    With b = z / (exp(z) - 1) at each node and B = sum_i along_i b_i, it is the mean
    over the integrand of b (B - mean B) + b (1 - b - z) along.
    """
    cdef Py_ssize_t i, n
    cdef double z, v, b, mean = 0.0, change
    for n in range(low, high):
        w.sums[n] = 0.0
        for i in range(n_active):
            z = w.z[i] * w.t[n]
            z = 80.0 if z > 80.0 else z
            v = one_minus_exp(z)
            w.sums[n] += along[w.active[i]] * (z * (1.0 - v) / v)
        w.node[n] /= total
        mean += w.node[n] * w.sums[n]
    for i in range(n_active):
        change = 0.0
        for n in range(low, high):
            z = w.z[i] * w.t[n]
            z = 80.0 if z > 80.0 else z
            v = one_minus_exp(z)
            b = z * (1.0 - v) / v
            change += w.node[n] * b * (
                (w.sums[n] - mean) + (1.0 - b - z) * along[w.active[i]]
            )
        w.change[w.active[i]] = change


cdef inline double log_add(double a, double b) noexcept nogil:
    """Return log(exp(a) + exp(b)), b being finite."""
    return log1p(exp(-fabs(a - b))) + (a if a > b else b)


cdef inline double log_sum(const double* s, Py_ssize_t n) noexcept nogil:
    cdef double top = s[0], total = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        top = s[i] if s[i] > top else top
    for i in range(n):
        total += exp(s[i] - top)
    return top + log(total)


cdef inline double mean_under(
    const double* s, const double* values, double sum_, Py_ssize_t n
) noexcept nogil:
    """Return the mean of values with weights exp(s - sum_)."""
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        total += exp(s[i] - sum_) * values[i]
    return total


cdef double one_list(
    Work* w, const Py_ssize_t* starts, Py_ssize_t n_levels, Py_ssize_t n_stages,
    const double* weights, bint second, double* log_share, double* centre,
) noexcept nogil:
    """Return the value of a list, with its gradient or product in ``w.out``.

    ``weights`` has one entry a place of the list, of which the first of a level
    counts, or is NULL.
    """
    cdef Py_ssize_t origin = starts[0], i, k, first, d
    cdef Py_ssize_t end = starts[n_stages] - origin, n = starts[n_levels] - origin
    cdef double value = 0.0, below, own, mean = 0.0, total, change, part, before
    cdef double weight = 1.0
    for i in range(n):
        w.out[i] = 0.0
    if n_stages == 0:
        return 0.0
    below = log_sum(w.s + end, n - end)
    if second:
        mean = mean_under(w.s + end, w.direction + end, below, n - end)
    # From the worst level up: the rows of each level join those below the next.
    for k in range(n_stages - 1, -1, -1):
        first = starts[k] - origin
        d = starts[k + 1] - starts[k]
        if second:
            for i in range(first, first + d):
                w.out[i] = w.direction[i] - mean
        if weights != NULL:
            weight = weights[first]
        total = change = 0.0
        if weight > 0.0:
            value += weight * level(
                w, w.s + first, w.out + first if second else NULL, d, below
            )
            for i in range(d):
                total += w.e[i]
                w.out[first + i] = -weight * w.e[i]
                if second:
                    change += w.change[i]
                    w.out[first + i] = -weight * w.change[i]
        else:
            for i in range(d):
                w.out[first + i] = 0.0
        log_share[k] = log(weight * total) - below  # minus infinity for a sum of zero
        centre[k] = mean - change / total if second and total > 0.0 else 0.0
        own = log_sum(w.s + first, d)
        below = log_add(own, below)
        if second:
            part = mean_under(w.s + first, w.direction + first, own, d)
            mean += exp(own - below) * (part - mean)
    # From the best level down: add up the gradients of earlier stages for each row.
    before = log_share[0]
    mean = centre[0]
    for k in range(1, n_stages + 1):
        first = starts[k] - origin
        end = starts[k + 1] - origin if k < n_stages else n
        for i in range(first, end):
            part = exp(w.s[i] + before)
            w.out[i] += part * (w.direction[i] - mean) if second else part
        if k < n_stages and log_share[k] > -1e300:
            part = log_share[k]
            before = log_add(before, part)
            mean += exp(part - before) * (centre[k] - mean)
    return value


def marginal(
    const double[::1] scores not None,
    const Py_ssize_t[::1] order not None,
    const Py_ssize_t[::1] level_starts not None,
    const Py_ssize_t[::1] level_offsets not None,
    const Py_ssize_t[::1] n_stages not None,
    const double[::1] weights,
    const double[:] direction,
):
    """Return minus log-likelihoods (n_lists,) and their score gradient (n_rows,).

    Rows, levels, stages and weights are as in ``plackett_luce``; a list's last level
    is never a stage. With a ``direction`` (n_rows,), not None, the second result is
    the second derivative times it.
    """
    cdef Shape shape = shape_of_levels(order, level_starts, level_offsets)
    cdef Py_ssize_t most = most_stages(n_stages, level_offsets, 1) + 1
    cdef Py_ssize_t q, i, k, first, n, longest = shape.longest, widest = 1
    cdef bint second = direction is not None
    cdef double high, finite
    cdef Work w
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    if second:
        check_length("direction", direction.shape[0], shape.n_rows, "row")
    if weights is not None:
        check_length("weights", weights.shape[0], shape.n_rows, "row")
    values_array, out_array = np.empty(shape.n_lists), np.empty(shape.n_rows)
    cdef double[::1] values = values_array, out = out_array
    for q in range(shape.n_lists):
        k = level_offsets[q]
        for i in range(k, k + n_stages[q]):
            widest = max(widest, level_starts[i + 1] - level_starts[i])
    cdef double[::1] memory = np.empty(
        3 * longest + 4 * (widest + LANES) + 2 * most + (4 * LANES + 2) * MOST_NODES
    )
    cdef Py_ssize_t[::1] active = np.empty(widest + LANES, dtype=np.intp)
    w.active = &active[0]
    w.s = &memory[0]
    w.direction = w.s + longest
    w.out = w.direction + longest
    w.p = w.out + longest
    w.z = w.p + widest + LANES
    w.e = w.z + widest + LANES
    w.change = w.e + widest + LANES
    w.v = w.change + widest + LANES
    w.product = w.v + LANES * MOST_NODES
    w.share = w.product + LANES * MOST_NODES
    w.sums = w.share + LANES * MOST_NODES
    w.t = w.sums + LANES * MOST_NODES
    w.node = w.t + MOST_NODES
    cdef double* log_share = w.node + MOST_NODES
    cdef double* centre = log_share + most
    with nogil:
        for q in range(shape.n_lists):
            k = level_offsets[q]
            first = level_starts[k]
            n = level_starts[level_offsets[q + 1]] - first
            high = scores[order[first]]
            for i in range(n):
                w.s[i] = scores[order[first + i]]
                high = w.s[i] if w.s[i] > high else high
            finite = 0.0
            for i in range(n):
                w.s[i] -= high
                finite += 0.0 * w.s[i]
                if second:
                    w.direction[i] = direction[order[first + i]]
            if finite != 0.0:  # NaN: the number of nodes would not be a number
                values[q] = finite
                for i in range(n):
                    out[order[first + i]] = finite
                continue
            values[q] = one_list(
                &w, &level_starts[k], level_offsets[q + 1] - k, n_stages[q],
                NULL if weights is None else &weights[first], second, log_share,
                centre,
            )
            for i in range(n):
                out[order[first + i]] = w.out[i]
    return values_array, out_array
