"""What kernels of ranked lists share: how ties are broken, and the sort."""

from libc.stdint cimport int64_t


cdef enum Tie:
    AVERAGE = 0
    BEST = 1
    WORST = 2
    ORDER = 3


cdef enum:
    SHORT_RUN = 12  # rows that insertion sorts faster than merging


cdef struct Row:
    double score
    double label


cdef inline bint before(Row a, Row b, int sign) noexcept nogil:
    """Return whether a ranks strictly before b; sign orders labels of tied scores."""
    # Scores seldom tie, so the first comparison is the only one where a is before b.
    return a.score > b.score or (
        a.score == b.score and sign * a.label > sign * b.label
    )


cdef inline int64_t sort_by_insertion(
    Row* rows, Py_ssize_t n, int sign
) noexcept nogil:
    """Do what `sort_rows` does, in time that grows with the square of n.

    It is inline, since a call would cost more than the sort of two or three rows.
    """
    cdef Py_ssize_t i, j
    cdef int64_t swapped = 0
    cdef Row row
    for i in range(1, n):
        row = rows[i]
        j = i
        while j > 0 and before(row, rows[j - 1], sign):
            rows[j] = rows[j - 1]
            j -= 1
        rows[j] = row
        swapped += i - j
    return swapped


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
