"""Ratios of exponentials of scores however far apart, at the cost of a multiplication.

With c s = p log 2 + t, p whole and |t| <= log(2) / 2, and f = exp(t),

    exp(c s_j - c s_i) = (f_j / f_i) 2^(p_j - p_i),

where the power's exponent stops at +-``furthest``, beyond which a pair's cost is a line.
The power is made from its bits, so that compilers make vectors of it.
"""

from libc.math cimport exp, floor

from skrank._kernels._products cimport STRIP, Bits, log2


cdef inline double widest_ratios() noexcept nogil:
    """Return the range of c s up to which p log 2 is exact to rounding."""
    return 1e6


cdef inline void split_exponents(
    const double* s, Py_ssize_t n, double scale, double middle, double* f, double* p
) noexcept nogil:
    """Fill in f and p of each score, from the middle of all."""
    cdef double high = 6.93147180369123816490e-01  # 32 bits of log 2, and the rest
    cdef double low = 1.90821492927058770002e-10, x
    cdef Py_ssize_t i
    for i in range(n):
        x = scale * (s[i] - middle)
        p[i] = floor(x / log2() + 0.5)
        f[i] = exp((x - p[i] * high) - p[i] * low)


cdef inline double take_ratios(
    double f_one,
    double p_one,
    const double* f,
    const double* p,
    Py_ssize_t n,
    double furthest,
    double* ratios,
    double* below,  # or NULL
) noexcept nogil:
    """Fill in the ratios of at most STRIP rows to one; return what was cut off.

    In sums of logs above +furthest; ``below`` receives those below -furthest.
    """
    cdef Bits[STRIP] powers
    cdef double[STRIP] over
    cdef double k, inverse = 1.0 / f_one, above_a = 0.0, below_a = 0.0
    cdef double above_b = 0.0, below_b = 0.0
    cdef Py_ssize_t j
    for j in range(n):
        k = p[j] - p_one
        over[j] = k
        k = k if k < furthest else furthest
        k = k if k > -furthest else -furthest
        over[j] -= k
        # The low bits of 2^52 + 1023 + k, moved to where an exponent stands.
        powers[j].number = k + (4503599627370496.0 + 1023.0)
    for j in range(n):
        powers[j].bits <<= 52
        ratios[j] = inverse * f[j] * powers[j].number
    if n & 1:
        over[n] = 0.0
    for j in range(0, n, 2):
        above_a += over[j] if over[j] > 0.0 else 0.0
        above_b += over[j + 1] if over[j + 1] > 0.0 else 0.0
    if below != NULL:
        for j in range(0, n, 2):
            below_a += over[j] if over[j] < 0.0 else 0.0
            below_b += over[j + 1] if over[j + 1] < 0.0 else 0.0
        below[0] -= (below_a + below_b) * log2()
    return (above_a + above_b) * log2()
