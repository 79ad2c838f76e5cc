"""Expected clicks of a user whose next click depends on the last one.

A row is read with a chance that depends on its rank and on the distance d to the last
click. The state q keeps the chances of these: reading the row at rank r, of attraction
a, with the row T of the table for that rank,

    click = a sum_d q[d] T[d],    q'[1] = click,    q'[d + 1] = q[d] (1 - a T[d])

with q[0] for no click yet, and q[width - 1] for as far or farther. The table, of shape
(width, width), has one row a rank in the same columns, its last row for all ranks
behind. A row is worth ``rank_weight[rank] * utility`` when clicked; ranks behind the
weights count nothing. See doc/math/clicks.md, section "User browsing".
"""

from libc.math cimport INFINITY, NAN
from libc.string cimport memcpy, memset

import numpy as np

from skrank._kernels._browsing cimport check_rows_and_table, read_row, same
from skrank._kernels._lists cimport Shape, check_length, shape_of_blocks

cdef enum:
    MANY = 600  # tied places with at least two kinds of rows: too many orders


cdef Py_ssize_t count_states(
    const double* attraction, const double* utility, Py_ssize_t m, Py_ssize_t limit
) noexcept nogil:
    """Return how many choices of a block's rows differ, or more than the limit."""
    cdef Py_ssize_t states = 1, i = 0, first
    while i < m and states <= limit:
        first = i
        while i < m and same(attraction, utility, first, i):
            i += 1
        states *= i - first + 1
    return states


cdef double browse_block(
    double* q,
    const double* attraction,
    const double* utility,
    Py_ssize_t m,
    const double* table,
    Py_ssize_t width,
    const double* rank_weight,
    Py_ssize_t rank,
    Py_ssize_t n_seen,
    double* states,
    Py_ssize_t* kinds,
) noexcept nogil:
    """Return the mean worth of a tied block over its orders, and move the state.

    The next row is any of those left with the same chance, and reading is linear in
    the state. So rows placed in another order share one state, which is numbered by
    how many of each kind of equal rows are placed.
    """
    cdef Py_ssize_t n_kinds = 0, n_states = 1, i = 0, s, g, placed, left, count
    cdef Py_ssize_t* stride = kinds + m + 1
    cdef double* moved
    cdef double* here
    cdef double share, clicked, total = 0.0
    while i < m:
        # The number of a state is a number in mixed radix: digit g counts the placed
        # rows of kind g, from 0 to all of them.
        kinds[n_kinds] = i
        stride[n_kinds] = n_states
        while i < m and same(attraction, utility, kinds[n_kinds], i):
            i += 1
        n_states *= i - kinds[n_kinds] + 1
        n_kinds += 1
    kinds[n_kinds] = m
    memset(states, 0, (n_states + 1) * width * sizeof(double))
    memcpy(states, q, width * sizeof(double))
    moved = states + n_states * width
    # Placing a row raises the number of the state, so that each state is complete
    # before it is read. The last state has all rows placed.
    for s in range(n_states - 1):
        placed = 0
        for g in range(n_kinds):
            placed += (s // stride[g]) % (kinds[g + 1] - kinds[g] + 1)
        # Ranks behind the cut-off are worth nothing.
        if placed >= n_seen:
            continue
        for g in range(n_kinds):
            count = kinds[g + 1] - kinds[g]
            left = count - (s // stride[g]) % (count + 1)
            if left == 0:
                continue
            # The next row is of kind g with the share of kind g among the rows left.
            share = <double>left / (m - placed)
            memcpy(moved, states + s * width, width * sizeof(double))
            clicked = read_row(
                moved,
                table + min(rank + placed, width - 1) * width,
                width,
                attraction[kinds[g]],
            )
            total += share * clicked * utility[kinds[g]] * rank_weight[rank + placed]
            here = states + (s + stride[g]) * width
            for i in range(width):
                here[i] += share * moved[i]
    memcpy(q, states + (n_states - 1) * width, width * sizeof(double))
    return total


def browsing_worth(
    const double[::1] attraction not None,
    const double[::1] utility not None,
    const double[::1] rank_weight not None,
    const double[:, ::1] table not None,
    const Py_ssize_t[::1] starts not None,
    const Py_ssize_t[::1] offsets not None,
    Py_ssize_t limit,
):
    """Return the sum of weight, utility and chance of a click of each list.

    Parameters
    ----------
    attraction, utility : float64 of shape (n_rows,)
        Chance of a click on a row that is read, and worth of a click. Equal rows of
        a block stand together.
    rank_weight : float64 of shape (k,)
        Factor of each rank; its length is the cut-off.
    table : float64 of shape (width, width)
        Chances to read, by rank and last click.
    starts, offsets : intp of shape (n_blocks + 1,) and (n_lists + 1,)
        First row of each block, and first block of each list.
    limit : int
        Choices of a block's rows up to which its orders are gone through.

    Returns
    -------
    worth : float64 of shape (n_lists,)
        NaN for a list with a block beyond the limit.
    """
    cdef Shape shape = shape_of_blocks(starts, offsets)
    cdef Py_ssize_t width = table.shape[0], cutoff = rank_weight.shape[0]
    cdef Py_ssize_t list_number, b, first, m, rank
    cdef double total
    check_rows_and_table(shape.n_rows, attraction, utility, table)
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}.")
    out = np.empty(shape.n_lists)
    cdef double[::1] worth = out
    cdef double[:, ::1] states = np.empty((limit + 3, width))
    cdef double* q = &states[0, 0]
    cdef Py_ssize_t[::1] kinds = np.empty(2 * (shape.longest + 1), dtype=np.intp)
    with nogil:
        for list_number in range(shape.n_lists):
            total = 0.0
            # At the top of a list no row has been clicked, for certain.
            memset(q, 0, width * sizeof(double))
            q[0] = 1.0
            for b in range(offsets[list_number], offsets[list_number + 1]):
                first = starts[b]
                m = starts[b + 1] - first
                rank = first - starts[offsets[list_number]]
                if rank >= cutoff:
                    break
                if m == 1:
                    total += rank_weight[rank] * utility[first] * read_row(
                        q, &table[min(rank, width - 1), 0], width, attraction[first]
                    )
                    continue
                if count_states(&attraction[first], &utility[first], m, limit) > limit:
                    total = NAN
                    break
                total += browse_block(
                    q, &attraction[first], &utility[first], m, &table[0, 0], width,
                    &rank_weight[0], rank, min(m, cutoff - rank), q + width,
                    &kinds[0],
                )
            worth[list_number] = total
    return out


def count_orders(
    const double[::1] attraction not None,
    const double[::1] utility not None,
    Py_ssize_t cutoff,
    const Py_ssize_t[::1] starts not None,
    const Py_ssize_t[::1] offsets not None,
):
    """Return the number of different orders of each list's tied rows.

    Orders that differ only behind the cut-off count once. With rows of one more kind, a
    block has A'(t) = sum_j C(t, j) A(t - j) ways to fill t places.

    Parameters
    ----------
    attraction, utility : float64 of shape (n_rows,)
        What distinguishes rows. Equal rows of a block stand together.
    cutoff : int
        Last rank that counts.
    starts, offsets : intp of shape (n_blocks + 1,) and (n_lists + 1,)
        First row of each block, and first block of each list.

    Returns
    -------
    n_orders : float64 of shape (n_lists,)
        Infinite where there are more than can be gone through.
    """
    cdef Shape shape = shape_of_blocks(starts, offsets)
    cdef Py_ssize_t q, b, i, j, t, first, kind, places
    cdef double total, choose
    check_length("attraction", attraction.shape[0], shape.n_rows, "row")
    check_length("utility", utility.shape[0], shape.n_rows, "row")
    out = np.ones(shape.n_lists)
    cdef double[::1] n_orders = out
    cdef double[::1] ways = np.empty(shape.longest + 1)
    with nogil:
        for q in range(shape.n_lists):
            for b in range(offsets[q], offsets[q + 1]):
                first = starts[b]
                places = cutoff - (first - starts[offsets[q]])
                places = min(places, starts[b + 1] - first)
                if places <= 0:
                    break
                if same(&attraction[0], &utility[0], first, starts[b + 1] - 1):
                    continue
                if places > MANY:
                    n_orders[q] = INFINITY
                    break
                memset(&ways[0], 0, (places + 1) * sizeof(double))
                ways[0] = 1.0
                i = first
                while i < starts[b + 1]:
                    kind = i
                    while i < starts[b + 1] and same(
                        &attraction[0], &utility[0], kind, i
                    ):
                        i += 1
                    for t in range(places, 0, -1):
                        total = 0.0
                        choose = 1.0
                        for j in range(min(t, i - kind) + 1):
                            if ways[t - j] > 0:
                                total += choose * ways[t - j]
                            choose = choose * (t - j) / (j + 1)
                        ways[t] = total
                n_orders[q] *= ways[places]
    return out
