# What other kernels of ranked lists share: how ties are told, and the sort.

from libc.stdint cimport int64_t


cdef enum Tie:
    AVERAGE = 0
    BEST = 1
    WORST = 2
    ORDER = 3


cdef struct Row:
    double score
    double label


cdef int64_t sort_rows(
    Row* rows, Row* scratch, Py_ssize_t n, int sign
) noexcept nogil

cdef Py_ssize_t rank_rows(
    const double* scores,
    const double* labels,
    Py_ssize_t n,
    Py_ssize_t k,
    int tie,
    Row* rows,
    Row* scratch,
) noexcept nogil
