"""Rank the rows of a list by score: a stable merge sort, and a selection of the best.

The sort counts the pairs that stood the other way, as Kendall's tau needs them: a merge
of the runs A before B adds, for each row of B that it takes,

    swapped <- swapped + (rows of A that are left)

Tied scores are averaged over their orders, or broken by label or by row, as ``tie`` says.
Only rows up to the cut-off are ever sorted. See doc/math/metrics.md, sections "Ties in
scores" and "Rank correlations".
"""

from libc.math cimport NAN
from libc.stdint cimport int64_t
from libc.string cimport memmove

cdef enum:
    SMALL_CUTOFF = 64  # largest cut-off for which selection by insertion is faster


cdef int64_t sort_rows(
    Row* rows, Row* scratch, Py_ssize_t n, int sign
) noexcept nogil:
    """Sort rows stably, best first; return how many pairs stood the other way."""
    cdef Py_ssize_t i, j, low, middle, high, width, at
    cdef int64_t swapped = 0
    cdef Row* source = rows
    cdef Row* target = scratch
    i = 1
    while i < n and not before(rows[i], rows[i - 1], sign):
        i += 1
    if i >= n:
        return 0
    low = 0
    while low < n:
        high = min(low + SHORT_RUN, n)
        swapped += sort_by_insertion(&rows[low], high - low, sign)
        low = high
    width = SHORT_RUN
    while width < n:
        low = 0
        while low < n:
            middle = min(low + width, n)
            high = min(middle + width, n)
            i = low
            j = middle
            at = low
            while i < middle and j < high:
                if before(source[j], source[i], sign):
                    target[at] = source[j]
                    j += 1
                    swapped += middle - i
                else:
                    target[at] = source[i]
                    i += 1
                at += 1
            while i < middle:
                target[at] = source[i]
                i += 1
                at += 1
            while j < high:
                target[at] = source[j]
                j += 1
                at += 1
            low = high
        source, target = target, source
        width *= 2
    if source != rows:
        memmove(rows, source, n * sizeof(Row))
    return swapped


cdef Py_ssize_t rank_rows(
    const double* scores,
    const double* labels,
    Py_ssize_t n,
    Py_ssize_t k,
    int tie,
    Row* rows,
    Row* scratch,
) noexcept nogil:
    """Write the best k rows in order, and return how many were written.

    Under AVERAGE rows tied with the k-th follow, since they share its rank.
    """
    cdef int sign = 1 if tie == BEST else (-1 if tie == WORST else 0)
    cdef Py_ssize_t i, j, size
    cdef Row row
    cdef double lost, cut
    if k > SMALL_CUTOFF or 2 * k > n:
        for i in range(n):
            rows[i].score = scores[i]
            rows[i].label = labels[i]
        sort_rows(rows, scratch, n, sign)
        if tie != AVERAGE:
            return min(k, n)
        size = min(k, n)
        while size < n and rows[size].score == rows[size - 1].score:
            size += 1
        return size
    for i in range(k):
        rows[i].score = scores[i]
        rows[i].label = labels[i]
    sort_rows(rows, scratch, k, sign)
    cut = rows[k - 1].score
    lost = NAN  # the score of the last row that was left out although tied with the k-th
    for i in range(k, n):
        if scores[i] < cut:
            continue
        row.score = scores[i]
        row.label = labels[i]
        if not before(row, rows[k - 1], sign):
            lost = cut
            continue
        j = k - 1
        while j > 0 and before(row, rows[j - 1], sign):
            rows[j] = rows[j - 1]
            j -= 1
        # The old k-th row has been overwritten; its score is still in cut.
        rows[j] = row
        if rows[k - 1].score == cut:
            lost = cut
        cut = rows[k - 1].score
    if tie != AVERAGE or lost != cut:
        return k
    size = k
    while size > 0 and rows[size - 1].score == cut:
        size -= 1
    for i in range(n):
        if scores[i] == cut:
            rows[size].score = cut
            rows[size].label = labels[i]
            size += 1
    return size
