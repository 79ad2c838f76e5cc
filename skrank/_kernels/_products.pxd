"""Logs of long products: one fraction and a power of two, taken once at the end."""

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
    # One factor at a time if the reach is NaN, which is no number of factors.
    product.room = <Py_ssize_t> (widest() / reach) if 0.0 < reach <= widest() else 1


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
