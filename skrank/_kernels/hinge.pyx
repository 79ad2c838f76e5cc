"""Hinge losses of pairs inside lists: pair by pair, or sorted where pairs are many.

With t = max(0, 1 - s_i + s_j) for a better row i and a worse row j, a pair costs

    step: t, of slope 1 where t > 0        ramp: r (t - r/2), of slope r = min(t, width)

A ramp is half the square of t less half that of max(0, t - width), so a list needs only
sums over pairs with s_j > s_i - margin. With n_i, S_i and Q_i the number, the sum and the
sum of squares of such s_j - s_i below row i, its pairs cost

    step: n_i + S_i        half a square: (n_i margin^2 + 2 margin S_i + Q_i) / 2

Rows sorted by score enter, best first, a tree over levels that holds n, S and Q of those
that have passed the margin: n log n a list, however many levels. No step of the tree
depends on a comparison, since a wrong guess of a branch costs more than the step. Sums are
of scores about an anchor near the row at hand, since sums about 0 would cancel. A ramp
still loses digits where it is sorted: about as many as its width is smaller than the cost
of a pair. See doc/math/losses.md, section "Pairs of rows".
"""

from libc.math cimport isfinite, isinf
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

import numpy as np

from skrank._kernels._lists cimport Shape, all_one, check_length, shape_of_levels
from skrank._kernels._sorting cimport SHORT_RUN, Row, sort_by_insertion, sort_rows

cdef enum:
    STRIP = 64  # worse rows at a time: buffers that stay in the first-level cache
    FAN_BITS = 3
    FAN = 8  # children of a node
    ROW_BITS = 26  # two of these numbers in the 52 bits of a double behind its exponent
    MOST_ROWS = 1 << 26
    NEAR = 8  # largest distance of the anchor, in margins


cdef int64_t ONE = 0x3FF0000000000000  # the bits of 1.0


cdef double one_against(
    double better,
    bint weighed,
    double share,
    double width,
    const double* s,
    double* gradient,
    Py_ssize_t n,
    double* value,
) noexcept nogil:
    """Add the pairs of a row with n worse rows; return the sum of their slopes.

    ``better`` is its score, and ``share`` multiplies what is added to others and to
    the value; a width of 0 means the step.
    """
    cdef double[STRIP] slopes, costs
    cdef double t, r, total_a = 0.0, total_b = 0.0, value_a = 0.0, value_b = 0.0
    cdef Py_ssize_t start = 0, count, j
    while start < n:
        count = min(n - start, STRIP)
        if width == 0.0:
            for j in range(count):
                t = 1.0 - (better - s[start + j])
                t = t if t > 0.0 else 0.0
                r = 1.0 if t > 0.0 else 0.0
                costs[j] = t
                slopes[j] = r
                gradient[start + j] += share * r if weighed else r
        elif isinf(width):
            for j in range(count):
                t = 1.0 - (better - s[start + j])
                t = t if t > 0.0 else 0.0
                costs[j] = 0.5 * (t * t)
                slopes[j] = t
                gradient[start + j] += share * t if weighed else t
        else:
            for j in range(count):
                t = 1.0 - (better - s[start + j])
                t = t if t > 0.0 else 0.0
                r = t if t < width else width
                costs[j] = r * (t - 0.5 * r)
                slopes[j] = r
                gradient[start + j] += share * r if weighed else r
        for j in range(0, count - 1, 2):
            total_a += slopes[j]
            total_b += slopes[j + 1]
            value_a += costs[j]
            value_b += costs[j + 1]
        if count & 1:
            total_a += slopes[count - 1]
            value_a += costs[count - 1]
        start += count
    value[0] += share * (value_a + value_b)
    return total_a + total_b


cdef double visit_pairs(
    const double* s,
    const double* shares,  # of the better row in what a pair counts; NULL for 1
    double* g,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    double width,
) noexcept nogil:
    """Add all pairs of a list to its gradient; return its value."""
    cdef double value = 0.0, share = 1.0
    cdef Py_ssize_t level, i, lower, n = starts[n_levels] - starts[0]
    for level in range(n_levels - 1):
        lower = starts[level + 1] - starts[0]
        for i in range(starts[level] - starts[0], lower):
            if shares != NULL:
                share = shares[i]
            g[i] -= share * one_against(
                s[i], shares != NULL, share, width, s + lower, g + lower, n - lower,
                &value,
            )
    return value


cdef double pairs_a_row(const Py_ssize_t* starts, Py_ssize_t n_levels) noexcept nogil:
    """Return the number of pairs of a list over that of its rows."""
    cdef Py_ssize_t level
    cdef double n = starts[n_levels] - starts[0], total = 0.0
    for level in range(n_levels - 1):
        total += (starts[level + 1] - starts[level]) * (
            (starts[n_levels] - starts[level + 1]) / n
        )
    return total


cdef inline double label_of(int64_t level, int64_t place) noexcept nogil:
    """Return a number whose lower bits are the level and the place of a row.

    It is between 1 and 2, since arithmetic with smaller numbers would be slow.
    """
    cdef int64_t bits = ONE | level << ROW_BITS | place
    cdef double label
    memcpy(&label, &bits, sizeof(double))
    return label


cdef inline int64_t bits_of(const Row* row) noexcept nogil:
    """Return the bits of a row's label."""
    cdef int64_t bits
    memcpy(&bits, &row.label, sizeof(double))
    return bits


cdef inline Py_ssize_t place_of(int64_t label) noexcept nogil:
    """Return the place of a row in the order of levels, from the bits of its label."""
    return label & (MOST_ROWS - 1)


cdef inline Py_ssize_t level_of(int64_t label) noexcept nogil:
    return (label >> ROW_BITS) & (MOST_ROWS - 1)


cdef void sort_places(
    const double* s,
    const Py_ssize_t* starts,
    Py_ssize_t n_levels,
    double low,
    double high,
    Row* rows,
    Row* spare,
    unsigned int* bins,
    unsigned int* ends,
) noexcept nogil:
    """Fill rows with scores and labels, best score first.

    A label holds the place and the level of its row, since to look levels up by place
    would miss the cache. They are bits of a double, since the sort takes labels of
    that type and a mask costs less than a conversion.

    As many bins as rows divide the range of the scores, so that most bins hold a row or
    two: the sort inside each bin then takes time in proportion to the rows.
    """
    cdef Py_ssize_t i, bin, level, start, n = starts[n_levels] - starts[0]
    cdef double at, scale = n / (high - low)
    cdef Row* row
    if not isfinite(scale):  # a range of 0, or scores that are not finite
        scale = 0.0
    for i in range(n):
        ends[i] = 0
    for i in range(n):
        at = (high - s[i]) * scale
        bins[i] = <unsigned int> at if 0.0 <= at < n else <unsigned int> (n - 1)
        ends[bins[i]] += 1
    start = 0
    for bin in range(n):
        start += ends[bin]
        ends[bin] = start - ends[bin]
    for level in range(n_levels):
        for i in range(starts[level] - starts[0], starts[level + 1] - starts[0]):
            row = &rows[ends[bins[i]]]
            row.score = s[i]
            row.label = label_of(level, i)
            ends[bins[i]] += 1
    start = 0
    for bin in range(n):
        if ends[bin] - start > SHORT_RUN:
            sort_rows(&rows[start], spare, ends[bin] - start, 0)
        elif ends[bin] - start > 1:
            sort_by_insertion(&rows[start], ends[bin] - start, 0)
        start = ends[bin]


cdef struct Sums:
    double count, total, squares


cdef struct Node:  # sums over the children before each, of values about the anchor
    double[FAN] counts, totals, squares
    double anchor


cdef struct Tree:
    Node* nodes  # all leaves, then what is above them, and so on
    Py_ssize_t n_leaves, n_nodes


cdef double[FAN][FAN] BEHIND  # 1 for the children behind one
for _child in range(FAN):
    for _other in range(FAN):
        BEHIND[_child][_other] = _other > _child


cdef void move(Node* node, double anchor) noexcept nogil:
    """Let sums be of values about another anchor."""
    cdef double shift = node.anchor - anchor
    cdef Py_ssize_t child
    for child in range(FAN):
        if node.counts[child] > 0.0:  # else an infinite shift times 0 would be NaN
            node.squares[child] += shift * (
                2.0 * node.totals[child] + shift * node.counts[child]
            )
            node.totals[child] += shift * node.counts[child]
    node.anchor = anchor


cdef inline void enter(
    Tree tree, Py_ssize_t at, double value, double anchor, double share, bint squares
) noexcept nogil:
    """Count a row's share at a place, its square too if that is wanted."""
    cdef Node* nodes = tree.nodes
    cdef Node* node
    cdef Py_ssize_t width = tree.n_leaves, child, other
    value -= anchor
    cdef double total = share * value
    while True:
        child = at & (FAN - 1)
        at >>= FAN_BITS
        node = &nodes[at]
        if node.anchor != anchor:
            move(node, anchor)
        for other in range(FAN):
            node.counts[other] += BEHIND[child][other] * share
            node.totals[other] += BEHIND[child][other] * total
        if squares:
            for other in range(FAN):
                node.squares[other] += BEHIND[child][other] * (value * total)
        if width == 1:
            return
        nodes += width
        width = (width + FAN - 1) >> FAN_BITS


cdef inline Sums sum_before(Tree tree, Py_ssize_t at, double anchor) noexcept nogil:
    """Return what was entered before a place."""
    cdef Node* nodes = tree.nodes
    cdef Node* node
    cdef Py_ssize_t width = tree.n_leaves, child
    cdef Sums sums
    sums.count = sums.total = sums.squares = 0.0
    while True:
        child = at & (FAN - 1)
        at >>= FAN_BITS
        node = &nodes[at]
        if node.anchor != anchor:
            move(node, anchor)
        sums.count += node.counts[child]
        sums.total += node.totals[child]
        sums.squares += node.squares[child]
        if width == 1:
            return sums
        nodes += width
        width = (width + FAN - 1) >> FAN_BITS


cdef void clear(Tree tree, double anchor) noexcept nogil:
    """Forget all rows."""
    cdef Py_ssize_t number
    memset(tree.nodes, 0, tree.n_nodes * sizeof(Node))
    for number in range(tree.n_nodes):
        tree.nodes[number].anchor = anchor


cdef Py_ssize_t n_nodes(Py_ssize_t n_places) noexcept nogil:
    """Return how many nodes a tree of so many places has."""
    cdef Py_ssize_t total = 0
    while True:
        n_places = (n_places + FAN - 1) >> FAN_BITS
        total += n_places
        if n_places <= 1:
            return total


cdef double sweep(
    const Row* rows,  # as `sort_places` leaves them
    const double* v,  # of each place; NULL to sum what pairs cost
    const double* shares,  # of the better row in what a pair counts; NULL for 1
    bint counting,
    Tree tree,
    Py_ssize_t n,
    Py_ssize_t n_levels,
    double margin,
    double sign,
    double* g,
) noexcept nogil:
    """Add slopes t = margin - s_i + s_j over pairs where it is positive.

    Return the sum of t squared. Counting pairs, slopes are 1, and it is the sum of t;
    with v they are v_j - v_i, and it is no use.
    """
    cdef bint costs = v == NULL, squares = costs and not counting
    cdef Py_ssize_t k, entered, place, last = n_levels - 1
    cdef int64_t label, other
    cdef double z, z_other, c, slope, anchor, share = 1.0, value = 0.0
    cdef double flat = 1.0 if counting else 0.0, bend = 1.0 - flat
    cdef Sums sums
    # Each row as the better of its pairs: worse rows within the margin were entered.
    anchor = rows[0].score if costs else 0.0
    clear(tree, anchor)
    entered = 0
    for k in range(n):
        label = bits_of(&rows[k])
        place = place_of(label)
        z = rows[k].score if costs else v[place]
        if costs and anchor - z > NEAR:
            anchor = z
        while entered < n and margin - (rows[k].score - rows[entered].score) > 0.0:
            other = bits_of(&rows[entered])
            enter(
                tree, last - level_of(other),
                rows[entered].score if costs else v[place_of(other)], anchor, 1.0,
                squares,
            )
            entered += 1
        sums = sum_before(tree, last - level_of(label), anchor)
        c = (margin if costs else 0.0) - (z - anchor)
        slope = sums.count * c + sums.total
        if shares != NULL:
            share = shares[place]
        value += share * (
            bend * (c * slope + (c * sums.total + sums.squares)) + flat * slope
        )
        g[place] -= sign * share * (bend * slope + flat * sums.count)
    # Each row as the worse of its pairs.
    anchor = rows[n - 1].score if costs else 0.0
    clear(tree, anchor)
    entered = n - 1
    for k in range(n - 1, -1, -1):
        label = bits_of(&rows[k])
        place = place_of(label)
        z = rows[k].score if costs else v[place]
        if costs and z - anchor > NEAR:
            anchor = z
        while entered >= 0 and margin - (rows[entered].score - rows[k].score) > 0.0:
            other = bits_of(&rows[entered])
            z_other = rows[entered].score if costs else v[place_of(other)]
            if shares == NULL:
                enter(tree, level_of(other), z_other, anchor, 1.0, False)
            else:
                enter(
                    tree, level_of(other), z_other, anchor, shares[place_of(other)],
                    False,
                )
            entered -= 1
        sums = sum_before(tree, level_of(label), anchor)
        c = (margin if costs else 0.0) + (z - anchor)
        slope = sums.count * c - sums.total
        g[place] += sign * (bend * slope + flat * sums.count)
    return value


cdef double sum_sorted(
    const Row* rows,
    const double* v,
    const double* shares,
    Tree tree,
    Py_ssize_t n,
    Py_ssize_t n_levels,
    double width,
    double* g,
) noexcept nogil:
    """Add all pairs of a sorted list to its gradient or product; return its value."""
    cdef bint counting = width == 0.0
    cdef double value = sweep(
        rows, v, shares, counting, tree, n, n_levels, 1.0, 1.0, g
    )
    if counting:
        return value
    if not isinf(width):
        value -= sweep(
            rows, v, shares, False, tree, n, n_levels, 1.0 - width, -1.0, g
        )
    return 0.5 * value


def hinge(
    const double[::1] scores not None,
    const Py_ssize_t[::1] order not None,
    const Py_ssize_t[::1] level_starts not None,
    const Py_ssize_t[::1] level_offsets not None,
    const double[::1] shares,
    double width,
    double most_pairs_a_row,
    const double[:] direction,
):
    """Add up hinges over pairs, and differentiate.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Scores of the rows.
    order, level_starts, level_offsets : arrays
        As in :class:`skrank._data.lists.Levels`.
    shares : array of shape (n_rows,) or None
        By which the pairs of a better row are multiplied, at least 0, by place in
        ``order``; None: 1.
    width : float
        Of the ramp: 0 for the hinge, infinity for half the squared hinge.
    most_pairs_a_row : float
        Lists of more pairs a row are sorted.
    direction : array of shape (n_rows,) or None
        None for values and gradient; else what to multiply the second derivative of
        half the squared hinge by.

    Returns
    -------
    values : array of shape (n_lists,)
        The loss of each list, without ``direction``.
    out : array of shape (n_rows,)
        The gradient, or the second derivative times ``direction``.
    """
    cdef Shape shape = shape_of_levels(order, level_starts, level_offsets)
    cdef Py_ssize_t q, i, n, n_levels, room = 1, most_levels = 1
    cdef const Py_ssize_t* starts
    cdef const Py_ssize_t* rows_of
    cdef const double* u
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    if direction is not None:
        check_length("direction", direction.shape[0], shape.n_rows, "row")
    if shares is not None:
        check_length("shares", shares.shape[0], shape.n_rows, "row")
    values_array, out_array = np.zeros(shape.n_lists), np.empty(shape.n_rows)
    cdef double[::1] values = values_array, out = out_array
    cdef char[::1] sorting = np.zeros(shape.n_lists, dtype=np.int8)
    for q in range(shape.n_lists):
        starts = &level_starts[level_offsets[q]]
        n_levels = level_offsets[q + 1] - level_offsets[q]
        n = starts[n_levels] - starts[0]
        sorting[q] = (
            direction is not None or pairs_a_row(starts, n_levels) > most_pairs_a_row
        )
        if sorting[q]:
            room = max(room, n)
            most_levels = max(most_levels, n_levels)
    if room > MOST_ROWS:
        raise OverflowError(f"a list has {room} rows, more than {MOST_ROWS}.")
    cdef double[:, ::1] scratch = np.empty((3, shape.longest))
    cdef double* s = &scratch[0, 0]
    cdef double* g = &scratch[1, 0]
    cdef double* v = NULL if direction is None else &scratch[2, 0]
    cdef double[:, ::1] room_of_rows = np.empty((2, 2 * room))
    cdef Row* rows = <Row*> &room_of_rows[0, 0]
    cdef Row* spare = <Row*> &room_of_rows[1, 0]
    cdef unsigned int[:, ::1] bins = np.empty((2, room), dtype=np.uintc)
    cdef double[:, ::1] room_of_nodes = np.empty((n_nodes(most_levels), 3 * FAN + 1))
    cdef Tree tree
    tree.nodes = <Node*> &room_of_nodes[0, 0]
    cdef double low, high, value
    with nogil:
        for q in range(shape.n_lists):
            starts = &level_starts[level_offsets[q]]
            n_levels = level_offsets[q + 1] - level_offsets[q]
            n = starts[n_levels] - starts[0]
            rows_of = &order[starts[0]]
            u = NULL
            if shares is not None and not all_one(&shares[starts[0]], n):
                u = &shares[starts[0]]
            low = high = scores[rows_of[0]]
            for i in range(n):
                s[i] = scores[rows_of[i]]
                low = min(low, s[i])
                high = max(high, s[i])
                g[i] = 0.0
                if v != NULL:
                    v[i] = direction[rows_of[i]]
            if sorting[q]:
                sort_places(
                    s, starts, n_levels, low, high, rows, spare, &bins[0, 0],
                    &bins[1, 0],
                )
                tree.n_leaves = (n_levels + FAN - 1) >> FAN_BITS
                tree.n_nodes = n_nodes(n_levels)
                value = sum_sorted(rows, v, u, tree, n, n_levels, width, g)
            else:
                value = visit_pairs(s, u, g, starts, n_levels, width)
            if value < 0.0:  # by rounding, where sums of squares cancel
                value = 0.0
            # Comparisons with NaN would mean "no pair", so add NaN scores to the value.
            for i in range(n):
                value += 0.0 * s[i]
                out[rows_of[i]] = g[i]
            if v == NULL:
                values[q] = value
    return values_array, out_array
