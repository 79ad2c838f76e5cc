"""Chebyshev series over rows of a box, strip by strip so that compilers make vectors.

Moments go up the recurrence T_{k+1} = 2 t T_k - T_{k-1}; a series is evaluated by
Clenshaw's, b_k = a_k + 2 t b_{k+1} - b_{k+2}. See doc/math/losses.md, section "Pairs by
boxes".
"""

from skrank._kernels._pair_models cimport Model
from skrank._kernels._products cimport STRIP

cdef enum:
    N_TERMS = 20  # of the series in one score


cdef struct Tables:  # a matrix for each offset of two boxes, from ``first`` on
    Py_ssize_t first, last
    double lowest, highest  # offsets at which a pair is neither a line nor 0
    const double* rows  # of the slope or the curvature
    const double* columns  # the same, transposed
    const double* costs  # of the cost, transposed
    const double* shares  # of the share, transposed


cdef Tables tables_of(
    const Model* model,
    bint tied,
    bint curved,
    double span,
    double below,
    double above,
    list arrays,
)


cdef inline void add_moments(
    const double* t, const double* weights, Py_ssize_t n, double* moments
) noexcept nogil:
    """Add sum_i weight_i T_k(t_i) for each k; no weights stand for 1."""
    cdef double[STRIP] now, before
    cdef double x, a, b
    cdef Py_ssize_t start = 0, count, j, k
    while start < n:
        count = min(n - start, STRIP)
        for j in range(count):
            before[j] = 1.0 if weights == NULL else weights[start + j]
            now[j] = before[j] * t[start + j]
        if count & 1:
            before[count] = now[count] = 0.0
        for k in range(N_TERMS):
            a = b = 0.0
            for j in range(0, count, 2):
                a += before[j]
                b += before[j + 1]
            moments[k] += a + b
            for j in range(count):
                x = (t[start + j] + t[start + j]) * now[j] - before[j]
                before[j] = now[j]
                now[j] = x
        start += count


cdef inline void evaluate(
    const double* terms, const double* t, Py_ssize_t n, double* out
) noexcept nogil:
    """Fill in sum_k terms_k T_k(t) of at most STRIP rows, by Clenshaw's recurrence."""
    cdef double[STRIP] above
    cdef double x
    cdef Py_ssize_t j, k
    for j in range(n):
        out[j] = above[j] = 0.0
    for k in range(N_TERMS - 1, 0, -1):
        for j in range(n):
            x = terms[k] + ((t[j] + t[j]) * out[j] - above[j])
            above[j] = out[j]
            out[j] = x
    for j in range(n):
        out[j] = terms[0] + (t[j] * out[j] - above[j])


cdef inline void apply(
    const double* matrix, const double* moments, double* out
) noexcept nogil:
    """Add a matrix times moments, the matrix being transposed in memory."""
    cdef Py_ssize_t k, l
    cdef double[N_TERMS] total
    for k in range(N_TERMS):
        total[k] = 0.0
    for l in range(N_TERMS):
        for k in range(N_TERMS):
            total[k] += matrix[l * N_TERMS + k] * moments[l]
    for k in range(N_TERMS):
        out[k] += total[k]


cdef inline double bilinear(
    const double* matrix, const double* left, const double* right
) noexcept nogil:
    cdef double[N_TERMS] product
    cdef double total = 0.0
    cdef Py_ssize_t k
    for k in range(N_TERMS):
        product[k] = 0.0
    apply(matrix, right, product)
    for k in range(N_TERMS):
        total += left[k] * product[k]
    return total
