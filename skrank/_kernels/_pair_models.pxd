"""What a pair of rows costs, as a function of r = exp(-c (s_i - s_j)), as in paired_ties.

A better row i against a worse row j costs log(1 + k r + l r^2), two tied rows
log(r + 1/r + t).
"""

from libc.math cimport ceil, exp, fmax, log, log1p

from skrank._kernels._products cimport STRIP, Product, rescale


cdef struct Model:  # of a pair, as in paired_ties
    double scale  # c
    double win  # k
    double square  # l, 0 or 1
    double tie  # t, or negative where tied rows are no pair


cdef struct Sums:
    double value
    double wins  # k r / f over pairs with different labels
    double ties  # 1 / f over tied pairs


cdef enum Kind:
    COST
    SLOPE
    SHARE
    CURVATURE


cdef inline double of_pair(
    const Model* model, Kind kind, bint tied, double r
) noexcept nogil:
    """Return the cost of a pair, its slope in log r, its share or its curvature."""
    cdef double k = model.win, l = model.square, t = model.tie, f
    if tied:
        f = r + 1.0 / r + t
        if kind == COST:
            return log(f)
        if kind == SLOPE:
            return (r - 1.0 / r) / f
        return 1.0 / f if kind == SHARE else (4.0 + t * (r + 1.0 / r)) / (f * f)
    f = 1.0 + r * (k + l * r)
    if kind == COST:
        return log1p(r * (k + l * r))
    if kind == SLOPE:
        return r * (k + 2.0 * l * r) / f
    return k * r / f if kind == SHARE else r * (k + l * r * (4.0 + k * r)) / (f * f)


cdef inline Py_ssize_t reach(const Model* model, bint tied, bint better) noexcept nogil:
    """Return the largest offset of boxes at which a pair is no line nor 0, to 1e-17.

    Of a better row above a worse one, or the other way.
    """
    cdef double gap = log(model.tie) if tied else log(model.win)
    if not tied and not better and model.square == 0.0:
        gap = -gap
    gap = (39.0 + fmax(gap, 0.0)) / model.scale
    return <Py_ssize_t> ceil(0.5 * gap) + 1 if gap < 1e6 else 500_000


cdef inline double plain_strip(
    const Model* model,
    bint tied,
    double inverse,
    const double* e,
    double* totals,  # of the other rows; NULL for none
    double weight,  # of the pairs in these
    Py_ssize_t n,
    Product* product,
    double* shares,
) noexcept nogil:
    """Add a row's pairs with a strip of others; return the sum of its slopes.

    Element by element first, then sums in two lanes, as in ``paired_ties``.
    """
    cdef double[STRIP] slopes, factors, parts
    cdef double k = model.win, l = model.square, t = model.tie, r, f, y
    cdef double total_a = 0.0, total_b = 0.0, share_a = 0.0, share_b = 0.0
    cdef double product_a, product_b
    cdef Py_ssize_t j, stop
    if tied:
        for j in range(n):
            r = inverse * e[j]
            y = 1.0 / r
            f = r + y + t
            factors[j] = f
            parts[j] = 1.0 / f
            slopes[j] = (r - y) / f
    elif l == 0.0:  # slopes are shares
        inverse *= k
        for j in range(n):
            r = inverse * e[j]
            f = 1.0 + r
            factors[j] = f
            slopes[j] = r / f
    else:
        for j in range(n):
            r = inverse * e[j]
            f = 1.0 + r * (k + l * r)
            factors[j] = f
            r = r / f
            parts[j] = k * r
            slopes[j] = r * (k + 2.0 * l * inverse * e[j])
    if totals != NULL:
        for j in range(n):
            totals[j] += weight * slopes[j]
    if n & 1:
        slopes[n] = parts[n] = 0.0
        factors[n] = 1.0
    for j in range(0, n, 2):
        total_a += slopes[j]
        total_b += slopes[j + 1]
    if tied or l != 0.0:
        for j in range(0, n, 2):
            share_a += parts[j]
            share_b += parts[j + 1]
    else:
        share_a, share_b = total_a, total_b
    j = 0
    while j < n:
        stop = min(j + (product.room & ~1), n)
        if product.used + stop - j > product.room:
            rescale(product)
        product.used += stop - j
        product_a = product_b = 1.0
        while j < stop:
            product_a *= factors[j]
            product_b *= factors[j + 1]
            j += 2
        product.fraction *= product_a * product_b
    shares[0] += share_a + share_b
    return total_a + total_b
