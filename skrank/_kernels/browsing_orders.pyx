"""Orders of tied rows that get the most clicks, or the fewest, of a browsing user.

The state q of a user, the table and the worth of a click are those of ``browsing.pyx``.
Rows are tried place by place, and each place keeps the state and the worth V so far:

    V <- V + weight * utility * click,    q <- the state after the row is read

so that another row at a place costs only the places after it. Longer lists are searched:
the best swap or move of one row is made, until none is an improvement. See
doc/math/clicks.md, section "User browsing".
"""

from libc.math cimport INFINITY
from libc.string cimport memcpy, memset

import numpy as np

from skrank._kernels._browsing cimport check_rows_and_table, read_row, same
from skrank._kernels._lists cimport (
    Shape,
    check_length,
    shape_of_blocks,
    shape_of_lists,
)

cdef enum:
    SEARCHED = 20  # ranks among which rows are moved


def browsing_extreme_order(
    const double[::1] attraction not None,
    const double[::1] utility not None,
    const double[::1] rank_weight not None,
    const double[:, ::1] table not None,
    const Py_ssize_t[::1] starts not None,
    const Py_ssize_t[::1] offsets not None,
    const unsigned char[::1] wanted not None,
    bint largest,
):
    """Go through all orders of tied rows for the largest or the least worth.

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
    wanted : uint8 of shape (n_lists,)
        Lists to do; rows of the others stay where they are.
    largest : bool
        Look for the largest worth, else for the least.

    Returns
    -------
    order : intp of shape (n_rows,)
        The row at each place.
    """
    cdef Shape shape = shape_of_blocks(starts, offsets)
    cdef Py_ssize_t width = table.shape[0]
    cdef Py_ssize_t list_number, start, n, k, i, at, b
    cdef double best, gain
    cdef bint alike
    check_rows_and_table(shape.n_rows, attraction, utility, table)
    check_length("wanted", wanted.shape[0], shape.n_lists, "list")
    out = np.arange(shape.n_rows)
    cdef Py_ssize_t[::1] order = out
    # For each place: the state, the worth so far, the row now tried, and the first and
    # the last row to try.
    cdef double[:, ::1] states = np.empty((shape.longest + 1, width))
    cdef double[::1] worth = np.empty(shape.longest + 1)
    cdef Py_ssize_t[:, ::1] tried = np.empty((3, shape.longest + 1), dtype=np.intp)
    cdef unsigned char[::1] used = np.empty(shape.longest, dtype=np.uint8)
    cdef double* q = &states[0, 0]
    cdef Py_ssize_t* row = &tried[0, 0]
    cdef Py_ssize_t* first = &tried[1, 0]
    cdef Py_ssize_t* last = &tried[2, 0]
    with nogil:
        for list_number in range(shape.n_lists):
            if not wanted[list_number]:
                continue
            start = starts[offsets[list_number]]
            n = starts[offsets[list_number + 1]] - start
            k = min(n, rank_weight.shape[0])
            for b in range(offsets[list_number], offsets[list_number + 1]):
                alike = same(&attraction[0], &utility[0], starts[b], starts[b + 1] - 1)
                for i in range(starts[b] - start, starts[b + 1] - start):
                    first[i] = i if alike else starts[b] - start
                    last[i] = i + 1 if alike else starts[b + 1] - start
            memset(q, 0, width * sizeof(double))
            memset(&used[0], 0, n)
            q[0] = 1.0
            worth[0] = 0.0
            best = -INFINITY
            row[0] = first[0]
            at = 0
            while at >= 0:
                if at == k:
                    gain = worth[k] if largest else -worth[k]
                    if gain > best:
                        best = gain
                        for i in range(k):
                            order[start + i] = start + row[i]
                    i = -1
                else:
                    i = row[at]
                    # Of equal rows only the first free one is tried.
                    while i < last[at] and (
                        used[i]
                        or (
                            i > first[at]
                            and not used[i - 1]
                            and same(&attraction[start], &utility[start], i - 1, i)
                        )
                    ):
                        i += 1
                    if i == last[at]:
                        i = -1
                if i < 0:
                    at -= 1
                    if at >= 0:
                        used[row[at]] = 0
                        row[at] += 1
                    continue
                used[i] = 1
                row[at] = i
                memcpy(q + (at + 1) * width, q + at * width, width * sizeof(double))
                worth[at + 1] = worth[at] + rank_weight[at] * utility[
                    start + i
                ] * read_row(
                    q + (at + 1) * width, &table[min(at, width - 1), 0], width,
                    attraction[start + i],
                )
                at += 1
                if at < k:
                    row[at] = first[at]
            for i in range(k):
                used[order[start + i] - start] = 1
            at = k
            for i in range(n):
                if not used[i]:
                    order[start + at] = start + i
                    at += 1
    return out


cdef inline void move_row(Py_ssize_t* order, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """Take the row out of place i and put it in at place j."""
    cdef Py_ssize_t row = order[i]
    while i < j:
        order[i] = order[i + 1]
        i += 1
    while i > j:
        order[i] = order[i - 1]
        i -= 1
    order[j] = row


cdef inline void change(
    Py_ssize_t* order, Py_ssize_t i, Py_ssize_t j, bint swap
) noexcept nogil:
    """Swap the rows at places i and j, or move the one to the other place."""
    cdef Py_ssize_t row
    if swap:
        row = order[i]
        order[i] = order[j]
        order[j] = row
    else:
        move_row(order, i, j)


cdef void fill_behind(
    const double* attraction,
    const double* utility,
    const double* rank_weight,
    const double* table,
    Py_ssize_t width,
    Py_ssize_t first,
    Py_ssize_t last,
    double* behind,
) noexcept nogil:
    """Fill in what ranks from ``first`` to ``last`` add for each state before them."""
    cdef const double* row
    cdef double gain, clicked
    cdef Py_ssize_t i, d
    memset(behind, 0, width * sizeof(double))
    for i in range(last - 1, first - 1, -1):
        row = table + min(i, width - 1) * width
        gain = rank_weight[i] * utility[i] + behind[1]
        clicked = attraction[i] * row[0]
        behind[0] = clicked * gain + (1.0 - clicked) * behind[0]
        for d in range(1, width):
            clicked = attraction[i] * row[d]
            behind[d] = clicked * gain + (1.0 - clicked) * behind[
                min(d + 1, width - 1)
            ]


def browsing_search(
    const double[::1] attraction not None,
    const double[::1] utility not None,
    const double[::1] rank_weight not None,
    const double[:, ::1] table not None,
    const Py_ssize_t[::1] offsets not None,
    const unsigned char[::1] wanted not None,
):
    """Improve the order of each list's first 20 rows, one best step at a time.

    A step swaps two rows or moves one; the search ends where no step helps. What
    rows behind these add is linear in the state, so it is computed once.

    Parameters
    ----------
    attraction, utility : float64 of shape (n_rows,)
        Chance of a click on a row that is read, and worth of a click.
    rank_weight : float64 of shape (k,)
        Factor of each rank; its length is the cut-off.
    table : float64 of shape (width, width)
        Chances to read, by rank and last click.
    offsets : intp of shape (n_lists + 1,)
        First row of each list, and the number of rows.
    wanted : uint8 of shape (n_lists,)
        Lists to do; rows of the others stay where they are.

    Returns
    -------
    order : intp of shape (n_rows,)
        The row at each place.
    """
    cdef Shape shape = shape_of_lists(offsets)
    cdef Py_ssize_t width = table.shape[0]
    cdef Py_ssize_t list_number, start, n, k, m, i, j, d, from_i, from_j, low
    cdef bint swap, from_swap
    cdef double best, gain, clicked, highest
    check_rows_and_table(shape.n_rows, attraction, utility, table)
    check_length("wanted", wanted.shape[0], shape.n_lists, "list")
    out = np.arange(shape.n_rows)
    cdef Py_ssize_t[::1] all_rows = out
    cdef Py_ssize_t* order
    cdef double[:, ::1] states = np.empty((SEARCHED + 3, width))
    cdef double[::1] worth = np.empty(SEARCHED + 1)
    cdef double* q = &states[0, 0]
    cdef double* trial = &states[SEARCHED + 1, 0]
    cdef double* behind = &states[SEARCHED + 2, 0]
    with nogil:
        for list_number in range(shape.n_lists):
            if not wanted[list_number]:
                continue
            start = offsets[list_number]
            n = offsets[list_number + 1] - start
            k = min(n, rank_weight.shape[0])
            m = min(n, SEARCHED)
            order = &all_rows[start]
            fill_behind(
                &attraction[start], &utility[start], &rank_weight[0], &table[0, 0],
                width, m, k, behind,
            )
            memset(q, 0, width * sizeof(double))
            q[0] = 1.0
            worth[0] = 0.0
            low = 0
            while True:
                # States and worth before each place, from the first changed place on.
                for i in range(low, m):
                    memcpy(q + (i + 1) * width, q + i * width, width * sizeof(double))
                    clicked = read_row(
                        q + (i + 1) * width, &table[min(i, width - 1), 0], width,
                        attraction[order[i]],
                    )
                    worth[i + 1] = worth[i]
                    if i < k:
                        worth[i + 1] += rank_weight[i] * utility[order[i]] * clicked
                best = worth[m]
                for d in range(width):
                    best += q[m * width + d] * behind[d]
                best += 1e-13 * best  # a smaller improvement is rounding
                highest = best
                from_i = from_j = 0
                from_swap = False
                for i in range(m):
                    for j in range(m):
                        low = min(i, j)
                        if i == j or low >= k or same(
                            &attraction[0], &utility[0], order[i], order[j]
                        ):
                            continue
                        for swap in range(2):
                            # Swaps are symmetric, and a move by one place is a swap.
                            if (swap and j < i) or (not swap and -2 < j - i < 2):
                                continue
                            change(order, i, j, swap)
                            memcpy(trial, q + low * width, width * sizeof(double))
                            gain = worth[low]
                            for d in range(low, min(m, k)):
                                gain += rank_weight[d] * utility[order[d]] * read_row(
                                    trial, &table[min(d, width - 1), 0], width,
                                    attraction[order[d]],
                                )
                            if k > m:
                                for d in range(width):
                                    gain += trial[d] * behind[d]
                            if swap:
                                change(order, i, j, True)
                            else:
                                change(order, j, i, False)
                            if gain > highest:
                                highest = gain
                                from_i = i
                                from_j = j
                                from_swap = swap
                if highest <= best:
                    break
                low = min(from_i, from_j)
                change(order, from_i, from_j, from_swap)
    return out
