"""Rank the rows of each list and score the order: DCG, ERR, pairs.

With g_r the gain of the row at rank r and d_r the discount there, a list's DCG is

    sum_{r <= k} d_r g_r,    g = 2^label - 1

and its ERR, with p_r the chance that the user stops at the row at rank r,

    sum_{r <= k} (1 / r) p_r prod_{j < r} (1 - p_j),    p = (2^label - 1) / 2^max_grade

Scores are not NaN. Tied scores are averaged over their orders, or broken by label
or by row, as ``tie`` says. See doc/math/metrics.md, sections "Gains" and "Cascades".
"""

from libc.math cimport NAN, exp2, expm1, floor
from libc.stdint cimport int64_t

import numpy as np

from skrank._kernels._lists cimport Shape, check_length, shape_of_lists
from skrank._kernels._sorting cimport (
    AVERAGE,
    BEST,
    ORDER,
    WORST,
    Row,
    rank_rows,
    sort_rows,
)
from skrank._kernels.cascade cimport cascade_block

TIES = {"average": AVERAGE, "best": BEST, "worst": WORST, "order": ORDER}

cdef enum:
    N_GRADES = 64  # whole labels below this are counted, their gains tabulated

cdef double LN2 = 0.6931471805599453
cdef double LARGE = 900.0  # sums of gains are scaled beyond 2**LARGE


def best_first(
    const double[::1] scores not None, const Py_ssize_t[::1] offsets not None
):
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
    cdef Shape shape = shape_of_lists(offsets)
    cdef Py_ssize_t q, start, n, i
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    out = np.empty(shape.n_rows, dtype=np.intp)
    cdef Py_ssize_t[::1] order = out
    cdef double[:, ::1] room = np.empty((2 * shape.longest, 2))
    cdef Row* rows = <Row*> &room[0, 0]
    with nogil:
        for q in range(shape.n_lists):
            start = offsets[q]
            n = offsets[q + 1] - start
            for i in range(n):
                rows[i].score = scores[start + i]
                rows[i].label = i  # exact up to 2**53 rows
            sort_rows(rows, rows + shape.longest, n, 0)
            for i in range(n):
                order[start + i] = start + <Py_ssize_t>rows[i].label
    return out


cdef inline double gain_of(
    double label, double shift, bint linear, const double* table
) noexcept nogil:
    """Return (2**label - 1) / 2**shift, or label / 2**shift for linear gains."""
    cdef int grade
    if shift == 0:
        if linear:
            return label
        if 0.0 <= label < N_GRADES:
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
            if not 0.0 <= labels[i] < N_GRADES or floor(labels[i]) != labels[i]:
                countable = False
                break
            grade = <int>labels[i]
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
    const double[::1] labels not None,
    const double[::1] scores not None,
    const Py_ssize_t[::1] offsets not None,
    const double[::1] discount not None,
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
    cdef Shape shape = shape_of_lists(offsets)
    cdef Py_ssize_t q, start, n, k, n_ranked
    cdef double table[N_GRADES]
    cdef double shift, value, best, top
    cdef bint countable
    check_length("labels", labels.shape[0], shape.n_rows, "row")
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    if discount.shape[0] < 1:
        raise ValueError("discount must have an entry for at least one rank.")
    for q in range(N_GRADES):
        table[q] = exp2(q) - 1.0
    out = np.empty(shape.n_lists)
    cdef double[::1] values = out
    cdef double[:, ::1] room = np.empty((2 * shape.longest, 2))
    cdef Row* rows = <Row*> &room[0, 0]
    cdef Row* scratch = rows + shape.longest
    with nogil:
        for q in range(shape.n_lists):
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
                # Scale by the best DCG, since that of the order is not known in advance.
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
            # Rounding may raise a mean of equal gains above them.
            values[q] = min(value / best, 1.0) if best > 0 else NAN
    return out


def count_pairs(
    const double[::1] labels not None,
    const double[::1] scores not None,
    const Py_ssize_t[::1] offsets not None,
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
    cdef Shape shape = shape_of_lists(offsets)
    cdef Py_ssize_t q, start, n, i, same_label, same_both, same_score
    cdef int64_t pairs, tied, apart
    check_length("labels", labels.shape[0], shape.n_rows, "row")
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    out = np.empty((4, shape.n_lists), dtype=np.int64)
    cdef int64_t[:, ::1] counts = out
    cdef double[:, ::1] room = np.empty((2 * shape.longest, 2))
    cdef Row* rows = <Row*> &room[0, 0]
    cdef Row* scratch = rows + shape.longest
    with nogil:
        for q in range(shape.n_lists):
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
    return out


cdef inline double stop_chance(double label, double max_grade) noexcept nogil:
    """Return (2**label - 1) / 2**max_grade."""
    return exp2(label - max_grade) * -expm1(-label * LN2)


def expected_reciprocal_rank(
    const double[::1] labels not None,
    const double[::1] scores not None,
    const Py_ssize_t[::1] offsets not None,
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
    cdef Shape shape = shape_of_lists(offsets)
    cdef Py_ssize_t q, start, n, k, n_ranked, first, last, i, room = shape.longest + 1
    cdef double total, reached, chance
    check_length("labels", labels.shape[0], shape.n_rows, "row")
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    if cutoff < 1:
        raise ValueError(f"cutoff must be at least 1, got {cutoff}.")
    out = np.empty(shape.n_lists)
    cdef double[::1] values = out
    cdef double[:, ::1] row_room = np.empty((2 * shape.longest, 2))
    cdef double[:, ::1] work = np.empty((6, room))
    cdef Row* rows = <Row*> &row_room[0, 0]
    cdef Row* scratch = rows + shape.longest
    cdef double* stopping = &work[0, 0]
    cdef double* passing = &work[1, 0]
    cdef double* rank_weight = &work[2, 0]
    with nogil:
        for i in range(room):
            rank_weight[i] = 1.0 / (i + 1)
        for q in range(shape.n_lists):
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
                    for i in range(first, last):
                        stopping[i] = stop_chance(rows[i].label, max_grade)
                        passing[i] = 1.0 - stopping[i]
                    total += reached * cascade_block(
                        stopping + first, passing + first, last - first,
                        rank_weight + first, min(last, k) - first,
                        &work[3, 0], &work[4, 0], &work[5, 0],
                    )
                    for i in range(first, last):
                        reached *= passing[i]
                first = last
            values[q] = total
    return out
