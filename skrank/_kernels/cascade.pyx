"""Expected worth of ranked rows to a user who reads on from each with some chance.

With w_k the weight of rank k, v_k the worth of the row there and c_k the chance to read
on from it, a list is worth

    sum_k w_k v_k prod_{j < k} c_j

Rows come ranked, list by list; ``starts`` and ``offsets`` cut each list into blocks of
tied rows, over whose orders a value is the exact mean. Ranks behind the weights count
nothing. See doc/math/clicks.md, section "Cascades".
"""

from libc.math cimport INFINITY
from libc.string cimport memset

import numpy as np

from skrank._kernels._lists cimport (
    Shape,
    check_length,
    shape_of_blocks,
    shape_of_lists,
)


cdef double cascade_block(
    const double* value,
    const double* passing,
    Py_ssize_t m,
    const double* rank_weight,
    Py_ssize_t n_seen,
    double* passed,
    double* gained,
    double* ahead,
) noexcept nogil:
    """Return the mean worth of a tied block over its orders, as if all reached it.

    Rows that are worth nothing and always passed only spread the q others over the
    m places. Of these, passed[i] is the mean chance to pass i, e_i(passing) / C(q, i),
    and gained[i] the mean worth of the i-th. ahead[i] is the chance (hypergeometric)
    that i of them stand in front of a place. All are built by convex combinations.
    """
    cdef Py_ssize_t q = 0, n, i, j, last
    cdef double mean = 0.0, chance = 1.0, total = 0.0, expected, here, v, c
    for n in range(m):
        if value[n] != 0 or passing[n] != 1:
            mean += passing[n]
            q += 1
    if q == 0:
        return 0.0
    mean /= q
    # passed[i] <= mean**i (Maclaurin's inequality), so beyond this i it is below 1e-20.
    last = 1
    while last < min(q, n_seen) and chance > 1e-20:
        chance *= mean
        last += 1
    memset(passed, 0, (last + 1) * sizeof(double))
    memset(gained, 0, (last + 1) * sizeof(double))
    passed[0] = 1.0
    q = 0
    for n in range(m):
        v = value[n]
        c = passing[n]
        if v == 0 and c == 1:
            continue
        q += 1
        # Row number q joins: of all choices of i rows a share i / q holds it. Larger i
        # come first, since entry i - 1 must still be that without the new row.
        i = min(q, last)
        while i > 0:
            gained[i] = (
                (q - i) * gained[i] + (i - 1) * c * gained[i - 1] + v * passed[i - 1]
            ) / q
            passed[i] = ((q - i) * passed[i] + i * c * passed[i - 1]) / q
            i -= 1
    if q == m:
        for i in range(last):
            total += rank_weight[i] * gained[i + 1]
        return total
    memset(ahead, 0, (last + 1) * sizeof(double))
    ahead[0] = 1.0
    for j in range(n_seen):
        expected = 0.0
        # ahead[last] collects all later rows, which add nothing.
        for i in range(min(j, last - 1), -1, -1):
            # Of the m - j rows left, q - i are among the q.
            here = ahead[i] * (<double>(q - i) / (m - j))
            expected += here * gained[i + 1]
            ahead[i] -= here
            ahead[i + 1] += here
        total += rank_weight[j] * expected
    return total


def cascade_worth(
    const double[::1] value not None,
    const double[::1] passing not None,
    const double[::1] rank_weight not None,
    const Py_ssize_t[::1] starts not None,
    const Py_ssize_t[::1] offsets not None,
):
    """Return sum_k weight_k value_k prod_{j<k} passing_j of each list.

    Parameters
    ----------
    value, passing : float64 of shape (n_rows,)
        Worth of a row to who reads it, and the chance to read on.
    rank_weight : float64 of shape (k,)
        Factor of each rank; its length is the cut-off.
    starts, offsets : intp of shape (n_blocks + 1,) and (n_lists + 1,)
        First row of each block, and first block of each list.

    Returns
    -------
    worth : float64 of shape (n_lists,)
    """
    cdef Shape shape = shape_of_blocks(starts, offsets)
    cdef Py_ssize_t q, b, i, first, m, rank, cutoff = rank_weight.shape[0]
    cdef double total, reached
    check_length("value", value.shape[0], shape.n_rows, "row")
    check_length("passing", passing.shape[0], shape.n_rows, "row")
    out = np.empty(shape.n_lists)
    cdef double[::1] worth = out
    cdef double[:, ::1] work = np.empty((3, shape.longest + 1))
    with nogil:
        for q in range(shape.n_lists):
            total = 0.0
            reached = 1.0
            for b in range(offsets[q], offsets[q + 1]):
                first = starts[b]
                m = starts[b + 1] - first
                rank = first - starts[offsets[q]]
                if rank >= cutoff or reached == 0:
                    break
                if m == 1:
                    total += reached * rank_weight[rank] * value[first]
                else:
                    total += reached * cascade_block(
                        &value[first], &passing[first], m, &rank_weight[rank],
                        min(m, cutoff - rank),
                        &work[0, 0], &work[1, 0], &work[2, 0],
                    )
                for i in range(first, first + m):
                    reached *= passing[i]
            worth[q] = total
    return out


def choose_rows(
    const double[::1] value not None,
    const double[::1] passing not None,
    const Py_ssize_t[::1] starts not None,
    const Py_ssize_t[::1] slots not None,
    bint largest,
):
    """Choose the rows of each block that fill its slots, and keep their order.

    Reading backwards, W(i, t) = max(W(i + 1, t), value_i + passing_i W(i + 1, t - 1))
    is the best worth of t slots filled from rows i and on (the least, with min).

    Parameters
    ----------
    value, passing : float64 of shape (n_rows,)
        Worth of a row to who reads it, and the chance to read on.
    starts : intp of shape (n_blocks + 1,)
        First row of each block.
    slots : intp of shape (n_blocks,)
        Number of rows to choose from each.
    largest : bool
        Choose for the largest worth, else for the least.

    Returns
    -------
    chosen : uint8 of shape (n_rows,)
    """
    cdef Py_ssize_t n_blocks = slots.shape[0], b, i, t, first, m, k
    cdef Py_ssize_t most_slots = 0, most_choices = 0
    cdef double take
    check_length("starts", starts.shape[0], n_blocks + 1, "block and one more")
    cdef Shape shape = shape_of_lists(starts)
    check_length("value", value.shape[0], shape.n_rows, "row")
    check_length("passing", passing.shape[0], shape.n_rows, "row")
    for b in range(n_blocks):
        m = starts[b + 1] - starts[b]
        if 0 < slots[b] < m:
            most_slots = max(most_slots, slots[b])
            most_choices = max(most_choices, m * (slots[b] + 1))
    out = np.zeros(shape.n_rows, dtype=np.uint8)
    cdef unsigned char[::1] chosen = out
    cdef unsigned char[::1] taken = np.empty(most_choices, dtype=np.uint8)
    cdef double[::1] worth = np.empty(most_slots + 1)
    with nogil:
        for b in range(n_blocks):
            first = starts[b]
            m = starts[b + 1] - first
            k = min(slots[b], m)
            if k == m or k <= 0:
                for i in range(first, first + m):
                    chosen[i] = k == m
                continue
            # All slots must be filled, so states with fewer rows than slots are invalid.
            worth[0] = 0.0
            for t in range(1, k + 1):
                worth[t] = -INFINITY if largest else INFINITY
            for i in range(m - 1, -1, -1):
                for t in range(min(k, m - i), 0, -1):
                    take = value[first + i] + passing[first + i] * worth[t - 1]
                    taken[i * (k + 1) + t] = (
                        take > worth[t] if largest else take < worth[t]
                    )
                    if taken[i * (k + 1) + t]:
                        worth[t] = take
            t = k
            for i in range(m):
                if t > 0 and taken[i * (k + 1) + t]:
                    chosen[first + i] = 1
                    t -= 1
    return out
