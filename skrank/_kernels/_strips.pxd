"""A row's pairs with a strip of at most STRIP others, one by one."""

from libc.math cimport exp

from skrank._kernels._pair_models cimport CURVATURE, Model, of_pair
from skrank._kernels._products cimport (
    MANY,
    STRIP,
    Product,
    log2,
    rescale,
    split_factors,
    split_powers,
    take_logs,
)
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
    cdef Py_ssize_t j, stop, room = MANY if product.split else product.room
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
    if product.split:
        split_factors(factors, n, product)
    j = 0
    while j < n:
        stop = min(j + (room & ~1), n)
        if product.used + stop - j > room:
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
    cdef double total = 0.0, change, inverse = decay * one.inverse[i]
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


cdef inline double product_strip(
    Side* one,
    Py_ssize_t i,
    Side* other,
    Py_ssize_t start,
    Py_ssize_t n,
    double decay,
) noexcept nogil:
    """Add RankNet's pairs of a row with a strip of worse ones, each with its weight.

    Costs are log f times u_i + u_j, so that their sum over pairs is that of u_i log
    prod_j f and of u_j log prod_i f: a log for each row.
    """
    cdef double[STRIP] slopes, factors
    cdef double u = one.u[i], inverse = decay * one.inverse[i], r, f
    cdef double total_a = 0.0, total_b = 0.0, product_a = 1.0, product_b = 1.0
    cdef const double* e = other.e + start
    cdef const double* weights = other.u + start
    cdef double* fractions = other.fraction + start
    cdef double* totals = other.total + start
    cdef Py_ssize_t j
    for j in range(n):
        r = inverse * e[j]
        f = 1.0 + r
        factors[j] = f
        slopes[j] = (u + weights[j]) * (r / f)
    for j in range(n):
        totals[j] += slopes[j]
        fractions[j] *= factors[j]
    if n & 1:
        slopes[n] = 0.0
        factors[n] = 1.0
    for j in range(0, n, 2):
        total_a += slopes[j]
        total_b += slopes[j + 1]
        product_a *= factors[j]
        product_b *= factors[j + 1]
    one.fraction[i] *= product_a * product_b
    split_powers(&one.fraction[i], &one.power[i], 1)
    return total_a + total_b


cdef inline void weigh_up(
    Side* one,
    Py_ssize_t a,
    Side* other,
    Py_ssize_t first,
    Py_ssize_t last,
    double scale,
    Py_ssize_t room,
) noexcept nogil:
    """Add RankNet's weighted pairs of a box with some others, one by one.

    ``room`` is how many costs a product can hold. Strips are as long as in ``pair_up``.
    """
    cdef Py_ssize_t begin = one.begin[a], end, start, count, box, i, n
    cdef double cell, decay
    while begin < one.begin[a + 1]:
        end = min(begin + room, one.begin[a + 1])
        for box in range(first, last):
            other.used[box] += end - begin
            if other.used[box] > room:
                start, n = other.begin[box], other.begin[box + 1] - other.begin[box]
                split_powers(other.fraction + start, other.power + start, n)
                other.used[box] = end - begin
        box = first
        while box < last:
            cell = other.cell[box]
            start = other.begin[box]
            box += 1
            while box < last and other.cell[box] == cell:
                box += 1
            decay = 1.0
            if cell != one.cell[a]:
                decay = exp(-scale * (one.cell[a] - cell))
            while start < other.begin[box]:
                count = min(min(other.begin[box] - start, STRIP), room)
                for i in range(begin, end):
                    one.total[i] += product_strip(one, i, other, start, count, decay)
                start += count
        begin = end


cdef inline double log_products(Side* side) noexcept nogil:
    """Return the sum over rows of u times the log of the product of costs."""
    cdef double[STRIP] logs
    cdef double total = 0.0
    cdef Py_ssize_t start = 0, n, i
    while start < side.n:
        n = min(side.n - start, STRIP)
        for i in range(n):
            logs[i] = side.fraction[start + i]
        take_logs(logs, n)
        for i in range(n):
            total += side.u[start + i] * (logs[i] + log2() * side.power[start + i])
        start += n
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
    cdef double total = 0.0, weight, r, inverse = decay * one.inverse[i]
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
