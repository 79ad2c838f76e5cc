"""Sums over pairs of rows in boxes far from each other, by series of exponentials.

With z = exp(shift - c |d|) small, what a pair costs is a line in d, and

    log(1 + p z + q z^2) = sum_m a_m z^m,   m a_m = slope_m,
    slope_1 = p,  slope_2 = 2 q - p slope_1,  slope_m = -p slope_(m-1) - q slope_(m-2)

where ``shift`` puts the root next to 0 at |z| = 1, so that no coefficient exceeds 2.
Powers of z are products of those of the two rows: a sum over rows of all boxes below,

    P_m = sum_j w_j exp(m c (s_j - centre)),

is about the centre of a cell of many boxes, moves from cell to cell by factors
exp(-m c (distance)), and serves all rows above. Steps are as many as rows times powers,
however many boxes there are. See doc/math/losses.md, section "Pairs by boxes".
"""

from libc.math cimport ceil, exp, fabs, fmax, log, sqrt

from skrank._kernels._pair_models cimport Model
from skrank._kernels._products cimport STRIP
from skrank._kernels._sides cimport Side

cdef enum:
    CHANNELS = 4  # sums with weights 1, u, v, uv


cdef void fill_series(
    Series* both, const Model* model, bint tied, bint above
) noexcept nogil:
    """Fill in the series of tied rows, or of a better row above or below a worse one.

    Two of them: one for boxes of many rows, and one of fewer powers that is exact only
    further away, for boxes so thin that pairs in between cost less than powers.
    """
    cdef bint short = model.scale >= 1.0
    fill_one(both, model, tied, above, SOME_POWERS if short else MOST_POWERS)
    fill_one(both + 1, model, tied, above, FEW_POWERS if short else SOME_POWERS)


cdef void fill_one(
    Series* series, const Model* model, bint tied, bint above, Py_ssize_t n
) noexcept nogil:
    cdef double p = model.tie if tied else model.win, root = 1.0, q = 1.0, before, now
    cdef double a, b, share
    cdef Py_ssize_t m
    if not tied and model.square == 0.0:
        q, root = 0.0, p if above else 1.0 / p
    elif p > 2.0:
        root = 0.5 * (p + sqrt(p * p - 4.0))
    series.scale, series.shift = model.scale, log(root)
    # z^(n + 1) < 2^-52 at the nearest, where each box is 2 wide.
    series.n = n
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


cdef double boxes_apart(const Model* model) noexcept nogil:
    """Return the largest offset, of tied rows or others, that series leave to others."""
    cdef Series[2] above, below, tied
    fill_series(above, model, False, True)
    fill_series(below, model, False, False)
    fill_series(tied, model, True, True)
    return fmax(fmax(above[0].cut, below[0].cut), tied[0].cut)


cdef void count_saved(
    const Series* both, Side* upper, Side* lower, double reach, Py_ssize_t most,
    double* saved,
) noexcept nogil:
    """Add how many pairs of a row above another need no visit with either series.

    Two boxes count ``most`` pairs at most, since moments cost no more.
    """
    cdef Py_ssize_t a, far = 0, i, n
    cdef Py_ssize_t[2] near = [0, 0]
    cdef double pairs
    for a in range(upper.n_boxes):
        n = upper.begin[a + 1] - upper.begin[a]
        while far < lower.n_boxes and upper.centre[a] - lower.centre[far] > 2.0 * reach:
            far += 1
        for i in range(2):
            while (
                near[i] < lower.n_boxes
                and upper.centre[a] - lower.centre[near[i]] >= 2.0 * both[i].cut
            ):
                near[i] += 1
            if near[i] > far:
                pairs = n * (lower.begin[near[i]] - lower.begin[far])
                saved[i] += min(pairs, <double> (most * (near[i] - far)))


cdef int choose_series(
    const Series* above, const Series* below, Side* one, Side* other, double lowest,
    double highest, int n_channels, Py_ssize_t most,
) noexcept nogil:
    """Return which series saves most more pairs than it costs; -1 for none.

    A power of a row costs half a pair, of a box a whole one. Pairs at offsets beyond
    ``lowest`` and ``highest`` cost nothing anyway.
    """
    cdef double n = one.n + other.n, boxes = one.n_boxes + other.n_boxes, best = 0.0
    cdef double[2] saved = [0.0, 0.0]
    cdef int k = -1, i
    count_saved(above, one, other, highest, most, saved)
    count_saved(below, other, one, -lowest, most, saved)
    for i in range(2):
        saved[i] -= n_channels * above[i].n * (0.5 * n + boxes)
        if saved[i] > best:
            best, k = saved[i], i
    return k


cdef inline void move_sums(
    const Series* series, double distance, const double* sums, double* out
) noexcept nogil:
    """Fill in sums of powers about a centre further on, by two steps of half the way.

    A power of the whole way can underflow where its product with a sum does not.
    """
    cdef double z = exp(-0.5 * series.scale * distance), z2 = z * z, a = z, b = z2
    cdef Py_ssize_t m
    for m in range(0, series.n, 2):
        out[m] = (sums[m] * a) * a
        out[m + 1] = (sums[m + 1] * b) * b
        a *= z2
        b *= z2


cdef inline void add_powers(
    const double* x, const double* weights, Py_ssize_t n_rows, Py_ssize_t n, double* sums
) noexcept nogil:
    """Fill in sums of powers of some rows; no weights stand for 1.

    Compilers unroll it where n is a constant.
    """
    cdef double[MOST_POWERS] total
    cdef double a, b, x2
    cdef Py_ssize_t i, m
    for m in range(n):
        total[m] = 0.0
    for i in range(n_rows):
        a = x[i]
        b = x2 = a * a
        if weights != NULL:
            a *= weights[i]
            b *= weights[i]
        for m in range(0, n, 2):
            total[m] += a
            total[m + 1] += b
            a *= x2
            b *= x2
    for m in range(n):
        sums[m] = total[m]


cdef inline const double* weights_of(Side* side, Py_ssize_t channel) noexcept nogil:
    """Return what multiplies rows in a channel; NULL for 1."""
    if channel == 0:
        return side.m if side.multiplied else NULL
    if channel == 1:
        return side.mu if side.multiplied else side.u
    if channel == 2:
        return side.mv if side.multiplied else side.v
    return side.uv


cdef void fill_powers(
    const Series* series, Side* side, Py_ssize_t box, bint invert, bint curved,
    bint weighted, double* sums,
) noexcept nogil:
    """Fill in sums of the powers of the rows of a box about its cell, by channel."""
    cdef Py_ssize_t start = side.begin[box], n_rows = side.begin[box + 1] - start
    cdef const double* x = (side.inverse if invert else side.e) + start
    cdef const double* weights
    cdef Py_ssize_t channel
    for channel in range(CHANNELS):
        if (channel & 1 and not weighted) or (channel & 2 and not curved):
            continue
        weights = weights_of(side, channel)
        if weights != NULL:
            weights += start
        if series.n == FEW_POWERS:
            add_powers(x, weights, n_rows, FEW_POWERS, sums)
        elif series.n == SOME_POWERS and weights == NULL:
            add_powers(x, NULL, n_rows, SOME_POWERS, sums)
        elif series.n == SOME_POWERS:
            add_powers(x, weights, n_rows, SOME_POWERS, sums)
        elif weights == NULL:
            add_powers(x, NULL, n_rows, MOST_POWERS, sums)
        else:
            add_powers(x, weights, n_rows, MOST_POWERS, sums)
        sums += series.n


cdef inline void evaluate_powers(
    const double* terms, const double* x, Py_ssize_t n_rows, Py_ssize_t n, double* out
) noexcept nogil:
    """Fill in the sum of terms_m x^m, m from 1, of some rows."""
    cdef double x2, odd, even
    cdef Py_ssize_t i, m
    for i in range(n_rows):
        x2 = x[i] * x[i]
        odd = even = 0.0
        for m in range(n - 2, -1, -2):
            odd = odd * x2 + terms[m]
            even = even * x2 + terms[m + 1]
        out[i] = x[i] * odd + x2 * even


cdef void spread(
    const Series* series, Side* side, Py_ssize_t box, bint invert, bint curved,
    bint weighted, const double* terms, double sign,
) noexcept nogil:
    """Add series in powers of each row of a box to the row's total."""
    cdef double[CHANNELS][STRIP] parts
    cdef const double* x = side.inverse if invert else side.e
    cdef Py_ssize_t start = side.begin[box], n_rows, channel, j, i
    cdef double total, z
    while start < side.begin[box + 1]:
        n_rows = min(side.begin[box + 1] - start, STRIP)
        for channel in range((1 + weighted) * (1 + curved)):
            if series.n == FEW_POWERS:
                evaluate_powers(
                    terms + channel * FEW_POWERS, x + start, n_rows, FEW_POWERS,
                    parts[channel],
                )
            elif series.n == SOME_POWERS:
                evaluate_powers(
                    terms + channel * SOME_POWERS, x + start, n_rows, SOME_POWERS,
                    parts[channel],
                )
            else:
                evaluate_powers(
                    terms + channel * MOST_POWERS, x + start, n_rows, MOST_POWERS,
                    parts[channel],
                )
        for j in range(n_rows):
            i = start + j
            total = parts[0][j]
            if weighted:
                total = side.u[i] * total + parts[1][j]
            if curved:
                z = parts[1 + weighted][j]
                if weighted:
                    z = side.u[i] * z + parts[3][j]
                total = side.v[i] * total - z
            side.total[i] += sign * total
        start += n_rows


cdef double add_far_pairs(
    const Series* series, Side* upper, Side* lower, double sign_above,
    double sign_below, bint curved, bint weighted, double* powers, double* shares,
) noexcept nogil:
    """Add all pairs of a row and one far below; return what they cost.

    Slopes are in log z, times a sign for rows above and one for rows below. ``powers``
    has room for the sums of each box above.
    """
    add_one_way(
        series, lower, upper, False, sign_below, curved, weighted, powers, NULL
    )
    return add_one_way(
        series, upper, lower, True, sign_above, curved, weighted, powers, shares
    )


cdef double add_one_way(
    const Series* series, Side* target, Side* source, bint above, double sign,
    bint curved, bint weighted, double* powers, double* shares,
) noexcept nogil:
    """Add the source's far rows to each row of the target, which is above or below.

    Sums of powers are about the centre of the last source's cell. Those of each box of a
    source above stay in ``powers``; with them the way back has what pairs cost.
    """
    cdef double[CHANNELS * MOST_POWERS] sums, terms, own
    cdef const double* factors = &series.slope[0]
    cdef double* now = own
    cdef Py_ssize_t step = 1 if above else -1, n = series.n, i, m, channel
    cdef Py_ssize_t n_channels = (1 + weighted) * (1 + curved), size = n * n_channels
    cdef Py_ssize_t a = 0 if above else target.n_boxes - 1
    cdef Py_ssize_t b = 0 if above else source.n_boxes - 1
    cdef double at = 0.0, z, value = 0.0, share = 0.0, shifted = exp(series.shift)
    cdef bint some = False
    if curved:
        factors = &series.curvature[0]
    for i in range(size):
        sums[i] = 0.0
    while 0 <= a < target.n_boxes:
        while (
            0 <= b < source.n_boxes
            and fabs(target.centre[a] - source.centre[b]) >= 2.0 * series.cut
            and (target.centre[a] > source.centre[b]) == above
        ):
            if some and source.cell[b] != at:
                for channel in range(n_channels):
                    move_sums(
                        series, fabs(source.cell[b] - at), sums + channel * n,
                        sums + channel * n,
                    )
            at, some = source.cell[b], True
            if not above and not curved:
                now = powers + b * size
            fill_powers(series, source, b, not above, curved, weighted, now)
            for i in range(size):
                sums[i] += now[i]
            b += step
        if not some:
            a += step
            continue
        for channel in range(n_channels):
            i = channel * n
            if target.cell[a] != at:
                move_sums(series, fabs(target.cell[a] - at), sums + i, terms + i)
            else:
                for m in range(n):
                    terms[i + m] = sums[i + m]
            if shifted != 1.0:
                z = shifted
                for m in range(n):
                    terms[i + m] *= z
                    z *= shifted
        if shares != NULL and not curved:
            now = powers + a * size
            for m in range(n):
                z = terms[m] * now[m]
                share += series.share[m] * z
                if weighted:
                    z = terms[m] * now[n + m] + terms[n + m] * now[m]
                value += series.cost[m] * z
            now = own
        for channel in range(n_channels):
            for m in range(n):
                terms[channel * n + m] *= factors[m]
        spread(series, target, a, above, curved, weighted, terms, sign)
        a += step
    if shares != NULL:
        shares[0] += share
    return value
