"""Lists of levels as the sums over subsets of rows see them: worst row first."""

from libc.math cimport fmax, fmin


cdef inline double no_weight() noexcept nogil:
    """Return the log weight of a size that cannot be."""
    return -1e300


cdef inline double minus_infinity() noexcept nogil:
    return -1.0 / 0.0


cdef struct Data:
    const double* scores
    const Py_ssize_t* order
    const Py_ssize_t* level_starts
    const Py_ssize_t* level_offsets
    const double* log_weights
    Py_ssize_t cap
    double* values
    double* gradient
    double* in_weights  # NULL if not wanted


cdef inline double score_range(const Data* data, Py_ssize_t q) noexcept nogil:
    """Return the largest less the smallest score of a list."""
    cdef Py_ssize_t first = data.level_starts[data.level_offsets[q]]
    cdef Py_ssize_t last = data.level_starts[data.level_offsets[q + 1]], i
    cdef double low = data.scores[data.order[first]], high = low
    for i in range(first + 1, last):
        low = fmin(low, data.scores[data.order[i]])
        high = fmax(high, data.scores[data.order[i]])
    return high - low


cdef inline Py_ssize_t load(
    const Data* data, Py_ssize_t q, double* s, Py_ssize_t stride, bint shift
) noexcept nogil:
    """Copy a list's scores, less the largest if wanted, worst level first."""
    cdef Py_ssize_t first = data.level_starts[data.level_offsets[q]]
    cdef Py_ssize_t last = data.level_starts[data.level_offsets[q + 1]], i
    cdef double high = 0.0
    if shift:
        high = data.scores[data.order[first]]
        for i in range(first + 1, last):
            high = fmax(high, data.scores[data.order[i]])
    for i in range(first, last):
        s[(last - 1 - i) * stride] = data.scores[data.order[i]] - high
    return last - first


cdef inline void store(
    const Data* data, Py_ssize_t q, const double* in_s, Py_ssize_t stride
) noexcept nogil:
    """Copy a list's gradient to its rows."""
    cdef Py_ssize_t first = data.level_starts[data.level_offsets[q]]
    cdef Py_ssize_t last = data.level_starts[data.level_offsets[q + 1]], i
    for i in range(first, last):
        data.gradient[data.order[i]] = in_s[(last - 1 - i) * stride]


cdef inline double take_stage(
    const Data* data,
    Py_ssize_t q,
    Py_ssize_t n_left,
    Py_ssize_t size,
    double log_total,
    double zero,
    const double* s,
    double* in_s,
    Py_ssize_t stride,
) noexcept nogil:
    """Return the loss of a stage that takes the last ``size`` of ``n_left`` rows.

    ``log_total`` counts scores from ``zero``. Starts the gradient with what the subset
    taken adds to it.
    """
    cdef double mean = 0.0
    cdef Py_ssize_t i
    for i in range(n_left - size, n_left):
        mean += s[i * stride] - zero
        in_s[i * stride] = -1.0 / size
    if data.in_weights != NULL:
        data.in_weights[q * data.cap + size - 1] -= 1.0
    return log_total - mean / size - data.log_weights[size - 1]
