"""Rank the rows of each list and score the order: DCG, ERR, pairs.

Scores are not NaN. Tied scores are averaged over their orders, or broken by label
or by row, as ``tie`` says. Only rows up to the cut-off are ever sorted.
"""

from libc.math cimport NAN, exp2, expm1, floor
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memmove

import numpy as np

TIES = {"average": AVERAGE, "best": BEST, "worst": WORST, "order": ORDER}

cdef enum:
    SHORT_RUN = 12  # rows that insertion sorts faster than merging
    SMALL_CUTOFF = 64  # selection by insertion pays up to here
    N_GRADES = 64  # whole labels below this are counted, their gains tabulated

cdef double LN2 = 0.6931471805599453
cdef double LARGE = 900.0  # sums of gains are scaled beyond 2**LARGE

cdef inline bint before(Row a, Row b, int sign) noexcept nogil:
    """Tell whether a ranks strictly before b; sign orders labels of tied scores."""
    if a.score != b.score:
        return a.score > b.score
    return sign * a.label > sign * b.label


cdef int64_t sort_rows(
    Row* rows, Row* scratch, Py_ssize_t n, int sign
) noexcept nogil:
    """Sort rows stably, best first; return how many pairs stood the other way."""
    cdef Py_ssize_t i, j, low, middle, high, width, at
    cdef int64_t swapped = 0
    cdef Row row
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
        for i in range(low + 1, high):
            row = rows[i]
            j = i
            while j > low and before(row, rows[j - 1], sign):
                rows[j] = rows[j - 1]
                j -= 1
            rows[j] = row
            swapped += i - j
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
    lost = NAN  # the score of the last row left out level with the k-th
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


def best_first(const double[::1] scores, const Py_ssize_t[::1] offsets):
    """Return the rows of each list by descending score, tied rows in their order.

    Metrics of rows that stand like this need not sort them again.

    Parameters
    ----------
    scores : contiguous float64 of shape (n_rows,)
        Without NaN.
    offsets : intp of shape (n_lists + 1,)
        First row of each list, and the number of rows.

    Returns
    -------
    order : intp of shape (n_rows,)
        Row numbers, those of a list together.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t q, start, n, i, longest = 1
    for q in range(n_lists):
        longest = max(longest, offsets[q + 1] - offsets[q])
    out = np.empty(scores.shape[0], dtype=np.intp)
    cdef Py_ssize_t[::1] order = out
    cdef Row* rows = <Row*>malloc(2 * longest * sizeof(Row))
    if rows == NULL:
        raise MemoryError
    with nogil:
        for q in range(n_lists):
            start = offsets[q]
            n = offsets[q + 1] - start
            for i in range(n):
                rows[i].score = scores[start + i]
                rows[i].label = i  # exact up to 2**53 rows
            sort_rows(rows, rows + longest, n, 0)
            for i in range(n):
                order[start + i] = start + <Py_ssize_t>rows[i].label
    free(rows)
    return out


cdef inline double gain_of(
    double label, double shift, bint linear, const double* table
) noexcept nogil:
    """Return (2**label - 1) / 2**shift, or label / 2**shift for linear gains."""
    cdef int grade
    if shift == 0:
        if linear:
            return label
        if label < N_GRADES:
            grade = <int>label
            if grade == label:
                return table[grade]
    elif linear:
        return label * exp2(-shift)
    # Without cancellation where the label is close to 0.
    return exp2(label - shift) * -expm1(-label * LN2)


cdef double ranked_gain(
    const Row* rows,
    Py_ssize_t n,
    Py_ssize_t k,
    int tie,
    const double* discount,
    double shift,
    bint linear,
    const double* table,
) noexcept nogil:
    """Return the discounted gain of ranked rows, over 2**shift."""
    cdef Py_ssize_t first = 0, last, i
    cdef double total = 0.0, gain
    while first < k:
        gain = gain_of(rows[first].label, shift, linear, table)
        last = first + 1
        if tie == AVERAGE:
            while last < n and rows[last].score == rows[first].score:
                gain += gain_of(rows[last].label, shift, linear, table)
                last += 1
            if last > first + 1:
                gain /= last - first
        for i in range(first, min(last, k)):
            total += gain * discount[i]
        first = last
    return total


cdef double best_gain(
    const double* labels,
    Py_ssize_t n,
    Py_ssize_t k,
    bint countable,
    const double* discount,
    double shift,
    bint linear,
    const double* table,
    Row* rows,
    Row* scratch,
) noexcept nogil:
    """Return the discounted gain of the order by label, over 2**shift."""
    cdef Py_ssize_t counts[N_GRADES]
    cdef Py_ssize_t i, rank = 0, last
    cdef int grade
    cdef double total = 0.0, gain
    if countable:
        for grade in range(N_GRADES):
            counts[grade] = 0
        for i in range(n):
            grade = <int>labels[i]
            if grade != labels[i]:
                countable = False
                break
            counts[grade] += 1
    if countable:
        grade = N_GRADES - 1
        while rank < k:
            last = min(rank + counts[grade], k)
            if rank < last:
                gain = gain_of(grade, shift, linear, table)
                for i in range(rank, last):
                    total += gain * discount[i]
                rank = last
            grade -= 1
        return total
    rank_rows(labels, labels, n, k, ORDER, rows, scratch)
    for i in range(k):
        total += gain_of(rows[i].label, shift, linear, table) * discount[i]
    return total


def discounted_gain(
    const double[::1] labels,
    const double[::1] scores,
    const Py_ssize_t[::1] offsets,
    const double[::1] discount,
    int tie,
    bint linear,
    bint normalize,
):
    """Return the DCG of each list, or over that of its best order.

    Parameters
    ----------
    labels, scores : contiguous float64 of shape (n_rows,)
        Labels of at least 0 (gains, if linear), and scores without NaN.
    offsets : intp of shape (n_lists + 1,)
        First row of each list, and the number of rows.
    discount : float64 of shape (k,)
        Factor of each rank; its length is the cut-off.
    tie : int
        One of ``TIES``.
    linear : bool
        Take labels as gains, not ``2**label - 1``.
    normalize : bool
        Divide by the best order's DCG; NaN where that is 0.

    Returns
    -------
    values : float64 of shape (n_lists,)
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t q, start, n, k, n_ranked, longest = 1
    cdef double table[N_GRADES]
    cdef double shift, value, best, top
    cdef bint countable
    for q in range(N_GRADES):
        table[q] = exp2(q) - 1.0
    for q in range(n_lists):
        longest = max(longest, offsets[q + 1] - offsets[q])
    out = np.empty(n_lists)
    cdef double[::1] values = out
    cdef Row* rows = <Row*>malloc(2 * longest * sizeof(Row))
    if rows == NULL:
        raise MemoryError
    cdef Row* scratch = rows + longest
    with nogil:
        for q in range(n_lists):
            start = offsets[q]
            n = offsets[q + 1] - start
            k = min(n, discount.shape[0])
            top = 0.0
            for n_ranked in range(start, start + n):
                top = max(top, labels[n_ranked])
            if normalize and top == 0:
                values[q] = NAN
                continue
            countable = top < N_GRADES
            shift = 0.0
            if linear:
                if top > exp2(LARGE):
                    shift = 128.0
            elif top > LARGE:
                # What a list's DCG holds is not known beforehand, its best is.
                shift = floor(top) if normalize else 128.0
            n_ranked = rank_rows(
                &scores[start], &labels[start], n, k, tie, rows, scratch
            )
            value = ranked_gain(
                rows, n_ranked, k, tie, &discount[0], shift, linear, table
            )
            if not normalize:
                values[q] = value * exp2(shift)
                continue
            best = best_gain(
                &labels[start], n, k, countable, &discount[0], shift, linear, table,
                rows, scratch,
            )
            # A mean of equal gains can exceed them by a rounding error.
            values[q] = min(value / best, 1.0) if best > 0 else NAN
    free(rows)
    return out


def count_pairs(
    const double[::1] labels,
    const double[::1] scores,
    const Py_ssize_t[::1] offsets,
):
    """Count the pairs of each list by how labels and scores order them.

    Sorts by label, then counts the exchanges of a merge sort by score: O(n log n).

    Parameters
    ----------
    labels, scores : contiguous float64 of shape (n_rows,)
    offsets : intp of shape (n_lists + 1,)
        First row of each list, and the number of rows.

    Returns
    -------
    counts : int64 of shape (4, n_lists)
        Pairs with different labels; those of them that scores put the wrong way;
        those of them with equal scores; and pairs with different scores.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t q, start, n, i, longest = 1, same_label, same_both, same_score
    cdef int64_t pairs, tied, apart
    for q in range(n_lists):
        longest = max(longest, offsets[q + 1] - offsets[q])
    out = np.empty((4, n_lists), dtype=np.int64)
    cdef int64_t[:, ::1] counts = out
    cdef Row* rows = <Row*>malloc(2 * longest * sizeof(Row))
    if rows == NULL:
        raise MemoryError
    cdef Row* scratch = rows + longest
    with nogil:
        for q in range(n_lists):
            start = offsets[q]
            n = offsets[q + 1] - start
            for i in range(n):
                rows[i].score = labels[start + i]
                rows[i].label = scores[start + i]
            sort_rows(rows, scratch, n, 1)
            apart = <int64_t>n * (n - 1) // 2
            pairs = apart
            tied = 0
            same_label = 0
            same_both = 0
            for i in range(1, n):
                if rows[i].score != rows[i - 1].score:
                    same_label = 0
                    same_both = 0
                    continue
                # Row i forms a pair with each earlier row of its run.
                same_label += 1
                same_both = same_both + 1 if rows[i].label == rows[i - 1].label else 0
                pairs -= same_label
                tied -= same_both
            for i in range(n):
                rows[i].score = rows[i].label
            counts[1, q] = sort_rows(rows, scratch, n, 0)
            same_score = 0
            for i in range(1, n):
                same_score = same_score + 1 if rows[i].score == rows[i - 1].score else 0
                tied += same_score
                apart -= same_score
            counts[0, q] = pairs
            counts[2, q] = tied
            counts[3, q] = apart
    free(rows)
    return out


cdef inline double stop_chance(double label, double max_grade) noexcept nogil:
    """Return (2**label - 1) / 2**max_grade."""
    return exp2(label - max_grade) * -expm1(-label * LN2)


cdef double cascade_block(
    const Row* rows,
    Py_ssize_t m,
    Py_ssize_t n_before,
    Py_ssize_t n_seen,
    double max_grade,
    double* passed,
    double* hits,
    double* surviving,
) noexcept nogil:
    """Return the mean of a tied block's ERR over its orders, as if all reached it.

    Rows that never stop the user only spread the q others over the m places. Let
    P_i be the mean chance to pass i of these, e_i(1 - V) / C(q, i), and h_j(i) the
    chance (hypergeometric) that i of them stand in the first j places. The mean is
    the sum over the n_seen places within the cut-off of

        (P_i - P_(i+1)) h_(j-1)(i) (q - i) / (m - j + 1) / (n_before + j).

    Both are built by recurrences whose steps are convex combinations.
    """
    cdef Py_ssize_t q = 0, i, j, last
    cdef double chance, total = 0.0, expected, next_here, mean = 0.0
    surviving[0] = 1.0
    for i in range(m):
        chance = stop_chance(rows[i].label, max_grade)
        if chance > 0:
            mean += chance
            q += 1
    if q == 0:
        return 0.0
    # P_i <= P_1**i (Maclaurin): beyond this i nothing is left to 1e-20.
    last = min(q, n_seen)
    mean = 1.0 - mean / q
    i = 0
    chance = 1.0
    while i < last and chance > 1e-20:
        chance *= mean
        i += 1
    last = i
    for i in range(last + 1):
        passed[i] = 0.0
        hits[i] = 0.0
    passed[0] = 1.0
    hits[0] = 1.0
    q = 0
    for j in range(m):
        chance = stop_chance(rows[j].label, max_grade)
        if chance > 0:
            q += 1
            surviving[0] *= 1.0 - chance
            i = min(q, last)
            while i > 0:
                passed[i] += (<double>i / q) * (
                    (1.0 - chance) * passed[i - 1] - passed[i]
                )
                i -= 1
    for j in range(1, n_seen + 1):
        expected = 0.0
        # hits[last] only collects: what stands behind it does not count.
        i = min(j, last) - 1
        while i >= 0:
            next_here = hits[i] * (<double>(q - i) / (m - j + 1))
            expected += next_here * (passed[i] - passed[i + 1])
            hits[i] -= next_here
            hits[i + 1] += next_here
            i -= 1
        total += expected / (n_before + j)
    return total


def expected_reciprocal_rank(
    const double[::1] labels,
    const double[::1] scores,
    const Py_ssize_t[::1] offsets,
    Py_ssize_t cutoff,
    int tie,
    double max_grade,
):
    """Return the expected reciprocal rank of each list.

    Parameters
    ----------
    labels, scores : contiguous float64 of shape (n_rows,)
        Labels from 0 to ``max_grade``, and scores without NaN.
    offsets : intp of shape (n_lists + 1,)
        First row of each list, and the number of rows.
    cutoff : int
        Last rank that counts, at least 1.
    tie : int
        One of ``TIES``.
    max_grade : float
        The label whose chance to stop the user is 1 - 2**-max_grade.

    Returns
    -------
    values : float64 of shape (n_lists,)
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t q, start, n, k, n_ranked, first, last, longest = 1
    cdef double total, reached, surviving, chance
    for q in range(n_lists):
        longest = max(longest, offsets[q + 1] - offsets[q])
    out = np.empty(n_lists)
    cdef double[::1] values = out
    cdef Row* rows = <Row*>malloc(2 * longest * sizeof(Row))
    cdef double* passed = <double*>malloc(2 * (longest + 1) * sizeof(double))
    if rows == NULL or passed == NULL:
        free(rows)
        free(passed)
        raise MemoryError
    cdef Row* scratch = rows + longest
    cdef double* hits = passed + longest + 1
    with nogil:
        for q in range(n_lists):
            start = offsets[q]
            n = offsets[q + 1] - start
            k = min(n, cutoff)
            n_ranked = rank_rows(
                &scores[start], &labels[start], n, k, tie, rows, scratch
            )
            total = 0.0
            reached = 1.0
            first = 0
            while first < k:
                last = first + 1
                if tie == AVERAGE:
                    while last < n_ranked and rows[last].score == rows[first].score:
                        last += 1
                if last == first + 1:
                    chance = stop_chance(rows[first].label, max_grade)
                    total += reached * chance / last
                    reached *= 1.0 - chance
                else:
                    total += reached * cascade_block(
                        rows + first, last - first, first, min(last, k) - first,
                        max_grade, passed, hits, &surviving,
                    )
                    reached *= surviving
                first = last
            values[q] = total
    free(rows)
    free(passed)
    return out
