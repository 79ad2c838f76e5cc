"""Logs of long products: one fraction and a power of two, taken once at the end.

Factors f_1, f_2, ... join a fraction; before it could overflow, its power of two moves to
the exponent:

    fraction <- fraction f_i,    (fraction, exponent) <- (fraction / 2^e, exponent + e)
    log of the product = log(fraction) + exponent log 2

See doc/math/computing.md, section "Long products".
"""

from libc.math cimport frexp, log

cdef enum:
    STRIP = 64  # rows at a time: buffers that stay in the first-level cache


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


cdef inline void open_product(Product* product, double reach) noexcept nogil:
    """Start a product of factors between 1 and exp(reach)."""
    product.fraction = 1.0
    product.exponent = product.used = 0
    # No cast of what is no whole number: one factor at a time where the reach is NaN,
    # and no more than there is need for where factors are nearly 1.
    if reach > 1e-3:
        product.room = max(1, <Py_ssize_t> (widest() / reach))
    else:
        product.room = <Py_ssize_t> (1e3 * widest()) if reach >= 0.0 else 1


cdef inline void rescale(Product* product) noexcept nogil:
    cdef int power
    product.fraction = frexp(product.fraction, &power)
    product.exponent += power
    product.used = 0


cdef inline double take_log(Product* product) noexcept nogil:
    """Return the log of the product, and start a new one."""
    cdef double value = log(product.fraction) + log2() * <double> product.exponent
    product.fraction = 1.0
    product.exponent = 0
    product.used = 0
    return value
