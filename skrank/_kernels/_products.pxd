"""Logs of long products: one fraction and a power of two, taken once at the end.

Factors f_1, f_2, ... join a fraction; before it could overflow, its power of two moves to
the exponent:

    fraction <- fraction f_i,    (fraction, exponent) <- (fraction / 2^e, exponent + e)
    log of the product = log(fraction) + exponent log 2

Where few factors could overflow, each gives its power of two to the exponent beforehand.
See doc/math/computing.md, section "Long products".
"""

from libc.math cimport frexp, log
from libc.stdint cimport uint64_t

cdef enum:
    STRIP = 64  # rows at a time: buffers that stay in the first-level cache
    FEW = 8  # factors, for which it is not worth while to look whether there is room
    MANY = 1000  # factors below 2


cdef inline double widest() noexcept nogil:
    """Return the range of logs for which every factor is a number."""
    return 700.0


cdef inline double log2() noexcept nogil:
    return 0.693147180559945309417


cdef struct Product:
    double fraction
    long long exponent
    Py_ssize_t used  # factors in the fraction
    Py_ssize_t room  # factors that it can hold without overflow
    bint split  # whether these are few, so that factors lose their powers of two first


cdef inline void open_product(Product* product, double reach) noexcept nogil:
    """Start a product of factors between 1 and exp(reach)."""
    product.fraction = 1.0
    product.exponent = product.used = 0
    # Never cast a number beyond the range of integers: take one factor at a time if the
    # reach is NaN, and a fixed large number if factors are nearly 1.
    if reach > 1e-3:
        product.room = max(1, <Py_ssize_t> (widest() / reach))
    else:
        product.room = <Py_ssize_t> (1e3 * widest()) if reach >= 0.0 else 1
    product.split = product.room < FEW


cdef inline void rescale(Product* product) noexcept nogil:
    cdef int power
    product.fraction = frexp(product.fraction, &power)
    product.exponent += power
    product.used = 0


cdef union Bits:
    double number
    uint64_t bits


cdef inline void split_powers(double* f, double* powers, Py_ssize_t n) noexcept nogil:
    """Move powers of two from positive numbers to others, which leaves 1 to 2 of each."""
    cdef Bits whole, part
    cdef Py_ssize_t j
    for j in range(n):
        part.number = f[j]
        whole.bits = (part.bits >> 52) | 0x4330000000000000ULL
        part.bits = (part.bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL
        powers[j] += whole.number - 4503599627371519.0  # 2^52 and the exponent's bias
        f[j] = part.number


cdef inline void split_factors(
    double* factors, Py_ssize_t n, Product* product
) noexcept nogil:
    """Move powers of two of at most STRIP factors to the product's exponent."""
    cdef Bits* parts = <Bits*> factors
    cdef uint64_t total = 0
    cdef Py_ssize_t j
    for j in range(n):
        total += parts[j].bits >> 52
        parts[j].bits = (parts[j].bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL
    product.exponent += <long long> total - 1023 * n


cdef inline Py_ssize_t make_room(Product* product, Py_ssize_t n) noexcept nogil:
    """Return how many of n factors ``add_strip`` takes next."""
    cdef Py_ssize_t count = min(n, STRIP)
    if not product.split:
        count = min(count, product.room)
    if product.used + count > (MANY if product.split else product.room):
        rescale(product)
    return count


cdef inline void add_strip(
    const double* slopes,
    const double* shares,  # NULL for none
    double* factors,
    Py_ssize_t n,
    double* slope_sums,  # two lanes
    double* share_sums,
    Product* product,
) noexcept nogil:
    """Add up slopes and shares, and multiply factors, of a strip of pairs.

    In two lanes, since compilers make vectors of them without leave to change the order
    of sums. The four or six chains of operations run side by side in the processor.
    """
    cdef double slope_a = slope_sums[0], slope_b = slope_sums[1]
    cdef double share_a = 0.0, share_b = 0.0, product_a = 1.0, product_b = 1.0
    cdef Py_ssize_t j
    if product.split:
        split_factors(factors, n, product)
    if shares != NULL:
        share_a, share_b = share_sums[0], share_sums[1]
    for j in range(0, n - 1, 2):
        slope_a += slopes[j]
        slope_b += slopes[j + 1]
        if shares != NULL:
            share_a += shares[j]
            share_b += shares[j + 1]
        product_a *= factors[j]
        product_b *= factors[j + 1]
    if n & 1:
        slope_a += slopes[n - 1]
        if shares != NULL:
            share_a += shares[n - 1]
        product_a *= factors[n - 1]
    slope_sums[0], slope_sums[1] = slope_a, slope_b
    if shares != NULL:
        share_sums[0], share_sums[1] = share_a, share_b
    product.fraction *= product_a * product_b
    product.used += n


cdef inline double take_log(Product* product) noexcept nogil:
    """Return the log of the product, and start a new one."""
    cdef double value = log(product.fraction) + log2() * <double> product.exponent
    product.fraction = 1.0
    product.exponent = 0
    product.used = 0
    return value


cdef inline void take_logs(double* f, Py_ssize_t n) noexcept nogil:
    """Replace at most STRIP numbers, at least 1 and finite, by their logs.

    log f = p log 2 + log m with 1 <= m < 2, halved if above the root of 2, and log m =
    2 artanh(u) with u = (m - 1) / (m + 1), by its series: vectors without a table.
    """
    cdef Bits[STRIP] parts, powers
    cdef double m, u, square, total, half
    cdef Py_ssize_t j
    for j in range(n):
        parts[j].number = f[j]
        powers[j].bits = (parts[j].bits >> 52) | 0x4330000000000000ULL
        parts[j].bits = (parts[j].bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL
    for j in range(n):
        m = parts[j].number
        half = 0.5 if m > 1.4142135623730951 else 0.0
        m -= half * m
        u = (m - 1.0) / (m + 1.0)
        square = u * u
        total = 2.0 / 21.0
        total = total * square + 2.0 / 19.0
        total = total * square + 2.0 / 17.0
        total = total * square + 2.0 / 15.0
        total = total * square + 2.0 / 13.0
        total = total * square + 2.0 / 11.0
        total = total * square + 2.0 / 9.0
        total = total * square + 2.0 / 7.0
        total = total * square + 2.0 / 5.0
        total = total * square + 2.0 / 3.0
        total = total * square * u + (u + u)
        # 2^52 and the exponent's bias leave the exponent.
        f[j] = (powers[j].number - 4503599627371519.0 + (half + half)) * log2() + total
