"""The block of tied rows that ERR and the cascade click models share.
"""

cdef double cascade_block(
    const double* value,
    const double* passing,
    Py_ssize_t m,
    const double* rank_weight,
    Py_ssize_t n_seen,
    double* passed,
    double* gained,
    double* ahead,
) noexcept nogil
