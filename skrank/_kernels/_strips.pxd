"""A row's pairs with a strip of at most STRIP others, one by one."""

from skrank._kernels._pair_models cimport CURVATURE, Model, of_pair
from skrank._kernels._products cimport STRIP, Product, rescale, take_logs
from skrank._kernels._sides cimport Side


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
    else:  # l = 1
        for j in range(n):
            r = inverse * e[j]
            f = 1.0 + r * (k + r)
            factors[j] = f
            y = r / f
            parts[j] = k * y
            slopes[j] = y * (k + r + r)
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


cdef inline double curve_strip(
    const Model* model,
    bint tied,
    bint weighted,
    Side* one,
    Py_ssize_t i,
    Side* other,
    Py_ssize_t start,
    Py_ssize_t n,
    double decay,
    double m,
) noexcept nogil:
    """Add a row's second derivatives with a strip of others; return its own sum."""
    cdef double total = 0.0, change, inverse = decay / one.e[i]
    cdef Py_ssize_t j
    for j in range(start, start + n):
        change = of_pair(model, CURVATURE, tied, inverse * other.e[j])
        change *= one.v[i] - other.v[j]
        if weighted:
            change *= one.u[i] + other.u[j]
        total += change
        if not tied:
            other.total[j] -= m * change
    return total


cdef inline double weighted_strip(
    Side* one,
    Py_ssize_t i,
    Side* other,
    Py_ssize_t start,
    Py_ssize_t n,
    double decay,
    double m,
    double* value,
) noexcept nogil:
    """Add RankNet's pairs of a row with a strip of worse ones, each with its weight."""
    cdef double total = 0.0, weight, r, inverse = decay / one.e[i]
    cdef double[STRIP] costs
    cdef Py_ssize_t j
    for j in range(n):
        r = inverse * other.e[start + j]
        costs[j] = 1.0 + r
        weight = one.u[i] + other.u[start + j]
        r = weight * (r / (1.0 + r))
        other.total[start + j] += m * r
        total += r
    take_logs(costs, n)
    for j in range(n):
        value[0] += m * ((one.u[i] + other.u[start + j]) * costs[j])
    return total
