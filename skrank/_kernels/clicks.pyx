"""Expected clicks on ranked rows, and orders of rows that get the most of them.

Rows come ranked, list by list; ``starts`` and ``offsets`` cut each list into blocks
of tied rows, over whose orders a value is the exact mean. A row is worth
``rank_weight[rank] * utility`` when clicked; ranks behind the weights count nothing.

Cascades: the user reads on from a row with chance ``passing``. User browsing: a row
is read with a chance that depends on its rank and on the distance d to the last
click, of which the state ``q`` keeps the chances: q[0] no click yet, q[d] a click d
ranks above, q[width - 1] that far or farther. The table, of shape (width, width),
has one row a rank in the same columns, its last row for all ranks behind.
"""

from libc.math cimport INFINITY, NAN
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

cdef enum:
    SEARCHED = 20  # ranks among which rows are moved
    MANY = 600  # places for rows of two kinds or more that have too many orders


cdef Py_ssize_t longest_list(
    const Py_ssize_t[::1] starts, const Py_ssize_t[::1] offsets
) noexcept nogil:
    cdef Py_ssize_t q, longest = 1
    for q in range(offsets.shape[0] - 1):
        longest = max(longest, starts[offsets[q + 1]] - starts[offsets[q]])
    return longest


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
    # passed[i] <= mean**i (Maclaurin): behind this i nothing is left to 1e-20.
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
        # ahead[last] only collects: what stands behind it adds nothing.
        for i in range(min(j, last - 1), -1, -1):
            here = ahead[i] * (<double>(q - i) / (m - j))
            expected += here * gained[i + 1]
            ahead[i] -= here
            ahead[i + 1] += here
        total += rank_weight[j] * expected
    return total


def cascade_worth(
    const double[::1] value,
    const double[::1] passing,
    const double[::1] rank_weight,
    const Py_ssize_t[::1] starts,
    const Py_ssize_t[::1] offsets,
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
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1, cutoff = rank_weight.shape[0]
    cdef Py_ssize_t q, b, i, first, m, rank
    cdef double total, reached
    out = np.empty(n_lists)
    cdef double[::1] worth = out
    cdef Py_ssize_t room = longest_list(starts, offsets) + 1
    cdef double* passed = <double*>malloc(3 * room * sizeof(double))
    if passed == NULL:
        raise MemoryError
    with nogil:
        for q in range(n_lists):
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
                        passed, passed + room, passed + 2 * room,
                    )
                for i in range(first, first + m):
                    reached *= passing[i]
            worth[q] = total
    free(passed)
    return out


def choose_rows(
    const double[::1] value,
    const double[::1] passing,
    const Py_ssize_t[::1] starts,
    const Py_ssize_t[::1] slots,
    bint largest,
):
    """Tell which rows of each block fill its slots, in the order given.

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
    cdef double take
    out = np.zeros(value.shape[0], dtype=np.uint8)
    cdef unsigned char[::1] chosen = out
    cdef unsigned char* taken
    cdef double* worth
    for b in range(n_blocks):
        first = starts[b]
        m = starts[b + 1] - first
        k = min(slots[b], m)
        if k == m or k <= 0:
            for i in range(first, first + m):
                chosen[i] = k == m
            continue
        worth = <double*>malloc((k + 1) * sizeof(double))
        taken = <unsigned char*>malloc(m * (k + 1))
        if worth == NULL or taken == NULL:
            free(worth)
            free(taken)
            raise MemoryError
        with nogil:
            # As many slots as rows must be filled: fewer rows than slots are no way.
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
        free(worth)
        free(taken)
    return out


cdef inline double read_row(
    double* q, const double* row, Py_ssize_t width, double attraction
) noexcept nogil:
    """Move the state past a row, and return the chance that the row is clicked."""
    cdef Py_ssize_t d = width - 1
    cdef double read = q[d] * row[d]
    cdef double clicked = read
    cdef double far = q[d] - attraction * read  # stays as far or farther
    d -= 1
    while d > 0:
        read = q[d] * row[d]
        clicked += read
        q[d + 1] = far + q[d] - attraction * read
        far = 0.0
        d -= 1
    read = q[0] * row[0]
    clicked = attraction * (clicked + read)
    q[0] -= attraction * read
    q[1] = far + clicked
    return clicked


cdef inline bint same(
    const double* attraction, const double* utility, Py_ssize_t i, Py_ssize_t j
) noexcept nogil:
    return attraction[i] == attraction[j] and utility[i] == utility[j]


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
    for s in range(n_states - 1):
        placed = 0
        for g in range(n_kinds):
            placed += (s // stride[g]) % (kinds[g + 1] - kinds[g] + 1)
        if placed >= n_seen:
            continue
        for g in range(n_kinds):
            count = kinds[g + 1] - kinds[g]
            left = count - (s // stride[g]) % (count + 1)
            if left == 0:
                continue
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
    const double[::1] attraction,
    const double[::1] utility,
    const double[::1] rank_weight,
    const double[:, ::1] table,
    const Py_ssize_t[::1] starts,
    const Py_ssize_t[::1] offsets,
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
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1, cutoff = rank_weight.shape[0]
    cdef Py_ssize_t width = table.shape[0]
    cdef Py_ssize_t list_number, b, first, m, rank
    cdef double total
    out = np.empty(n_lists)
    cdef double[::1] worth = out
    cdef Py_ssize_t longest = longest_list(starts, offsets)
    cdef double* q = <double*>malloc((limit + 3) * width * sizeof(double))
    cdef Py_ssize_t* kinds = <Py_ssize_t*>malloc(
        2 * (longest + 1) * sizeof(Py_ssize_t)
    )
    if q == NULL or kinds == NULL:
        free(q)
        free(kinds)
        raise MemoryError
    with nogil:
        for list_number in range(n_lists):
            total = 0.0
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
                    &rank_weight[0], rank, min(m, cutoff - rank), q + width, kinds,
                )
            worth[list_number] = total
    free(q)
    free(kinds)
    return out


def count_orders(
    const double[::1] attraction,
    const double[::1] utility,
    Py_ssize_t cutoff,
    const Py_ssize_t[::1] starts,
    const Py_ssize_t[::1] offsets,
):
    """Return in how many ways that differ each list's tied rows can be ordered.

    Only ranks up to the cut-off are told apart. A block's ways to fill t places
    with rows of one more kind are A'(t) = sum_j C(t, j) A(t - j).

    Parameters
    ----------
    attraction, utility : float64 of shape (n_rows,)
        What tells rows apart. Equal rows of a block stand together.
    cutoff : int
        Last rank that counts.
    starts, offsets : intp of shape (n_blocks + 1,) and (n_lists + 1,)
        First row of each block, and first block of each list.

    Returns
    -------
    n_orders : float64 of shape (n_lists,)
        Infinite where there are more than can be gone through.
    """
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1
    cdef Py_ssize_t q, b, i, j, t, first, kind, places
    cdef double total, choose
    out = np.ones(n_lists)
    cdef double[::1] n_orders = out
    cdef double* ways = <double*>malloc(
        (longest_list(starts, offsets) + 1) * sizeof(double)
    )
    if ways == NULL:
        raise MemoryError
    with nogil:
        for q in range(n_lists):
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
                memset(ways, 0, (places + 1) * sizeof(double))
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
    free(ways)
    return out


def browsing_extreme_order(
    const double[::1] attraction,
    const double[::1] utility,
    const double[::1] rank_weight,
    const double[:, ::1] table,
    const Py_ssize_t[::1] starts,
    const Py_ssize_t[::1] offsets,
    const unsigned char[::1] wanted,
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
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1, width = table.shape[0]
    cdef Py_ssize_t list_number, start, n, k, i, at, b
    cdef double best, gain
    cdef bint alike
    out = np.arange(attraction.shape[0])
    cdef Py_ssize_t[::1] order = out
    cdef Py_ssize_t longest = longest_list(starts, offsets)
    cdef double* q = <double*>malloc((longest + 1) * (width + 1) * sizeof(double))
    cdef Py_ssize_t* row = <Py_ssize_t*>malloc(3 * (longest + 1) * sizeof(Py_ssize_t))
    cdef char* used = <char*>malloc(longest)
    if q == NULL or row == NULL or used == NULL:
        free(q)
        free(row)
        free(used)
        raise MemoryError
    # Per place: the worth so far, the row tried, the first and the last row to try.
    cdef double* worth = q + (longest + 1) * width
    cdef Py_ssize_t* first = row + longest + 1
    cdef Py_ssize_t* last = first + longest + 1
    with nogil:
        for list_number in range(n_lists):
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
            memset(used, 0, n)
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
                    # Of equal rows the first that is free stands for all.
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
    free(q)
    free(row)
    free(used)
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


def browsing_search(
    const double[::1] attraction,
    const double[::1] utility,
    const double[::1] rank_weight,
    const double[:, ::1] table,
    const Py_ssize_t[::1] offsets,
    const unsigned char[::1] wanted,
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
    cdef Py_ssize_t n_lists = offsets.shape[0] - 1, width = table.shape[0]
    cdef Py_ssize_t list_number, start, n, k, m, i, j, d, from_i, from_j, low
    cdef bint swap, from_swap
    cdef double best, gain, clicked, found
    cdef const double* row
    out = np.arange(attraction.shape[0])
    cdef Py_ssize_t[::1] all_rows = out
    cdef Py_ssize_t* order
    cdef double* q = <double*>malloc(
        ((SEARCHED + 3) * width + SEARCHED + 1) * sizeof(double)
    )
    if q == NULL:
        raise MemoryError
    cdef double* trial = q + (SEARCHED + 1) * width
    cdef double* behind = trial + width
    cdef double* worth = behind + width
    with nogil:
        for list_number in range(n_lists):
            if not wanted[list_number]:
                continue
            start = offsets[list_number]
            n = offsets[list_number + 1] - start
            k = min(n, rank_weight.shape[0])
            m = min(n, SEARCHED)
            order = &all_rows[start]
            memset(behind, 0, width * sizeof(double))
            for i in range(k - 1, m - 1, -1):
                row = &table[min(i, width - 1), 0]
                gain = rank_weight[i] * utility[start + i] + behind[1]
                clicked = attraction[start + i] * row[0]
                behind[0] = clicked * gain + (1.0 - clicked) * behind[0]
                for d in range(1, width):
                    clicked = attraction[start + i] * row[d]
                    behind[d] = clicked * gain + (1.0 - clicked) * behind[
                        min(d + 1, width - 1)
                    ]
            memset(q, 0, width * sizeof(double))
            q[0] = 1.0
            worth[0] = 0.0
            low = 0
            while True:
                # States and worth in front of each place, from the change on.
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
                best += 1e-13 * best  # less is rounding
                found = best
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
                            # Swaps are symmetric, and as good as moves by one place.
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
                            if gain > found:
                                found = gain
                                from_i = i
                                from_j = j
                                from_swap = swap
                if found <= best:
                    break
                low = min(from_i, from_j)
                change(order, from_i, from_j, from_swap)
    free(q)
    return out
