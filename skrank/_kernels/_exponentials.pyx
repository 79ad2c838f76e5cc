"""Sums over pairs of rows in boxes far from each other, by series of exponentials.

With z = exp(shift - c |d|) small, what a pair costs is a line in d, and

    log(1 + p z + q z^2) = sum_m a_m z^m,   m a_m = slope_m,
    slope_1 = p,  slope_2 = 2 q - p slope_1,  slope_m = -p slope_(m-1) - q slope_(m-2)

where ``shift`` puts the root next to 0 at |z| = 1, so that no coefficient exceeds 2.
Powers of z are products of those of the two rows: a sum over rows of all boxes below,

    P_m = sum_j w_j exp(m c (s_j - centre)),

moves from centre to centre by factors exp(-m c (distance)), all at most 1, and serves
all rows above. Steps are as many as rows times powers, however many boxes there are. See
doc/math/losses.md, section "Pairs by boxes".
"""

from libc.math cimport ceil, exp, fabs, fmax, log, sqrt

from skrank._kernels._pair_models cimport Model
from skrank._kernels._sides cimport Side

cdef enum:
    CHANNELS = 4  # sums with weights 1, u, v, uv


cdef void fill_series(
    Series* series, const Model* model, bint tied, bint above
) noexcept nogil:
    """Fill in the series of tied rows, or of a better row above or below a worse one."""
    cdef double p = model.tie if tied else model.win, root = 1.0, q = 1.0, before, now
    cdef double a, b, share
    cdef Py_ssize_t m
    if not tied and model.square == 0.0:
        q, root = 0.0, p if above else 1.0 / p
    elif p > 2.0:
        root = 0.5 * (p + sqrt(p * p - 4.0))
    series.scale, series.shift = model.scale, log(root)
    # z^(n + 1) < 2^-52 at the nearest, where each box is 2 wide.
    series.n = MOST_POWERS if model.scale < 1.0 else 8
    a = (36.0 / (series.n + 1.0) + series.shift) / model.scale
    series.cut = fmax(ceil(0.5 * a), 0.0) + 1.0
    if q == 0.0:
        p, share = 1.0, 1.0 if above else -1.0  # below, a share is 1 less the slope
    else:
        share = 1.0 / root if tied else p / root
        p, q = p / root, 1.0 / (root * root)
    before, now = 0.0, 1.0  # coefficients of 1 / (1 + p z + q z^2)
    for m in range(series.n):
        # slope = z (p + 2 q z) / (1 + p z + q z^2)
        series.slope[m] = p * now + 2.0 * q * before
        series.cost[m] = series.slope[m] / (m + 1.0)
        series.curvature[m] = series.slope[m] * (m + 1.0)
        series.share[m] = share * now
        b = -p * now - q * before
        before, now = now, b
    for m in range(BOXES_A_CELL):
        series.decay[m] = exp(-2.0 * m * model.scale)
        series.from_cell[m] = exp(model.scale * (BOXES_A_CELL - 1.0 - 2.0 * m))


cdef double boxes_apart(const Model* model) noexcept nogil:
    """Return the largest offset, of tied rows or others, that series leave to others."""
    cdef Series above, below, tied
    fill_series(&above, model, False, True)
    fill_series(&below, model, False, False)
    fill_series(&tied, model, True, True)
    return fmax(fmax(above.cut, below.cut), tied.cut)


cdef double saved_pairs(
    Side* upper, Side* lower, double cut, double reach, Py_ssize_t most
) noexcept nogil:
    """Return how many pairs of a row above another need no visit with a series.

    Two boxes count ``most`` pairs at most, since moments cost no more.
    """
    cdef Py_ssize_t a, near = 0, far = 0
    cdef double n, m, saved = 0.0
    for a in range(upper.n_boxes):
        while far < lower.n_boxes and upper.centre[a] - lower.centre[far] > 2.0 * reach:
            far += 1
        while (
            near < lower.n_boxes and upper.centre[a] - lower.centre[near] >= 2.0 * cut
        ):
            near += 1
        if near > far:
            n = upper.begin[a + 1] - upper.begin[a]
            m = lower.begin[near] - lower.begin[far]
            saved += min(n * m, <double> (most * (near - far)))
    return saved


cdef inline double decay_of(const Series* series, double distance) noexcept nogil:
    """Return exp(-c distance) of two centres."""
    cdef Py_ssize_t k
    if distance < 2.0 * BOXES_A_CELL:
        k = <Py_ssize_t> (0.5 * distance)
        return series.decay[k]
    return exp(-series.scale * distance)


cdef inline void scale_powers(
    const double* values, double z, Py_ssize_t n, double* out
) noexcept nogil:
    """Fill in values_m z^m, m from 1."""
    cdef double z2 = z * z, a = z, b = z2
    cdef Py_ssize_t m
    for m in range(0, n, 2):
        out[m] = a * values[m]
        out[m + 1] = b * values[m + 1]
        a *= z2
        b *= z2


cdef inline double row_factor(
    const Series* series, Side* side, Py_ssize_t box
) noexcept nogil:
    """Return what turns e about the centre of a cell into e about that of a box."""
    cdef double place = side.centre[box] - side.cell[box] + (CELL / 2 - 1)
    cdef Py_ssize_t k = <Py_ssize_t> (0.5 * place)
    return series.from_cell[k]


cdef inline double weight_of(
    Side* side, Py_ssize_t i, Py_ssize_t channel
) noexcept nogil:
    if channel == 0:
        return side.m[i] if side.multiplied else 1.0
    if channel == 1:
        return side.mu[i] if side.multiplied else side.u[i]
    if channel == 2:
        return side.mv[i] if side.multiplied else side.v[i]
    return side.uv[i]


cdef inline void add_plain_powers(
    const double* e, Py_ssize_t n_rows, double factor, bint invert, Py_ssize_t n,
    double* sums,
) noexcept nogil:
    """Add the powers of some rows; compilers unroll it where n is a constant."""
    cdef double[MOST_POWERS] total
    cdef double a, b, x2
    cdef Py_ssize_t i, m
    for m in range(n):
        total[m] = 0.0
    for i in range(n_rows):
        a = e[i] * factor
        if invert:
            a = 1.0 / a
        b = x2 = a * a
        for m in range(0, n, 2):
            total[m] += a
            total[m + 1] += b
            a *= x2
            b *= x2
    for m in range(n):
        sums[m] += total[m]


cdef void add_powers(
    const Series* series, Side* side, Py_ssize_t box, bint invert,
    const bint* used, double[MOST_POWERS]* sums,
) noexcept nogil:
    """Add the powers of the rows of a box, times each weight."""
    cdef double factor = row_factor(series, side, box), a, b, x, x2, w
    cdef const double* e = side.e + side.begin[box]
    cdef double* total
    cdef Py_ssize_t i, m, channel, n_rows = side.begin[box + 1] - side.begin[box]
    if not used[1] and not used[2] and not side.multiplied:
        if series.n == 8:
            add_plain_powers(e, n_rows, factor, invert, 8, &sums[0][0])
        else:
            add_plain_powers(e, n_rows, factor, invert, MOST_POWERS, &sums[0][0])
        return
    for i in range(side.begin[box], side.begin[box + 1]):
        x = side.e[i] * factor
        if invert:
            x = 1.0 / x
        x2 = x * x
        for channel in range(CHANNELS):
            if not used[channel]:
                continue
            w = weight_of(side, i, channel)
            a, b = w * x, w * x2
            total = &sums[channel][0]
            for m in range(0, series.n, 2):
                total[m] += a
                total[m + 1] += b
                a *= x2
                b *= x2


cdef inline double evaluate_powers(
    const double* terms, double x, Py_ssize_t n
) noexcept nogil:
    """Return the sum of terms_m x^m, m from 1."""
    cdef double x2 = x * x, odd = 0.0, even = 0.0
    cdef Py_ssize_t m
    for m in range(n - 2, -1, -2):
        odd = odd * x2 + terms[m]
        even = even * x2 + terms[m + 1]
    return x * odd + x2 * even


cdef double add_far_pairs(
    const Series* series, Side* upper, Side* lower, double sign_above,
    double sign_below, bint curved, bint weighted, double* shares,
) noexcept nogil:
    """Add all pairs of a row and one far below; return what they cost.

    Slopes are in log z, times a sign for rows above and one for rows below.
    """
    cdef double value
    value = add_one_way(
        series, upper, lower, True, sign_above, curved, weighted, shares
    )
    add_one_way(series, lower, upper, False, sign_below, curved, weighted, NULL)
    return value


cdef double add_one_way(
    const Series* series, Side* target, Side* source, bint above, double sign,
    bint curved, bint weighted, double* shares,
) noexcept nogil:
    """Add the source's far rows to each row of the target, which is above or below.

    Return what pairs cost where there are ``shares`` to add to.
    """
    cdef double[CHANNELS][MOST_POWERS] sums, terms, own
    cdef bint[CHANNELS] used
    cdef const double* factors = &series.slope[0]
    cdef Py_ssize_t step = 1 if above else -1, n = series.n
    cdef Py_ssize_t a = 0 if above else target.n_boxes - 1
    cdef Py_ssize_t b = 0 if above else source.n_boxes - 1, i, m, channel
    cdef double at = 0.0, x, z, factor, total, value = 0.0, share = 0.0
    cdef bint some = False
    if curved:
        factors = &series.curvature[0]
    used[0], used[1], used[2], used[3] = True, weighted, curved, curved and weighted
    for channel in range(CHANNELS):
        for m in range(n):
            sums[channel][m] = 0.0
    while 0 <= a < target.n_boxes:
        while (
            0 <= b < source.n_boxes
            and fabs(target.centre[a] - source.centre[b]) >= 2.0 * series.cut
            and (target.centre[a] > source.centre[b]) == above
        ):
            if some:
                z = decay_of(series, fabs(source.centre[b] - at))
                for channel in range(CHANNELS):
                    if used[channel]:
                        scale_powers(&sums[channel][0], z, n, &sums[channel][0])
            at, some = source.centre[b], True
            add_powers(series, source, b, not above, used, sums)
            b += step
        if not some:
            a += step
            continue
        z = exp(series.shift) * decay_of(series, fabs(target.centre[a] - at))
        for channel in range(CHANNELS):
            if used[channel]:
                scale_powers(&sums[channel][0], z, n, &terms[channel][0])
        if shares != NULL and not curved:
            for channel in range(1 + weighted):
                for m in range(n):
                    own[channel][m] = 0.0
            add_powers(series, target, a, above, used, own)
            for m in range(n):
                z = terms[0][m] * own[0][m]
                share += series.share[m] * z
                if weighted:
                    z = terms[0][m] * own[1][m] + terms[1][m] * own[0][m]
                value += series.cost[m] * z
        for channel in range(CHANNELS):
            if used[channel]:
                for m in range(n):
                    terms[channel][m] *= factors[m]
        factor = row_factor(series, target, a)
        for i in range(target.begin[a], target.begin[a + 1]):
            x = target.e[i] * factor
            if above:
                x = 1.0 / x
            total = evaluate_powers(&terms[0][0], x, n)
            if weighted:
                total = target.u[i] * total + evaluate_powers(&terms[1][0], x, n)
            if curved:
                z = evaluate_powers(&terms[2][0], x, n)
                if weighted:
                    z = target.u[i] * z + evaluate_powers(&terms[3][0], x, n)
                total = target.v[i] * total - z
            target.total[i] += sign * total
        a += step
    if shares != NULL:
        shares[0] += share
    return value
