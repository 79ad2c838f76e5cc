"""Likelihoods of ordered partitions, a subset weighing the geometric mean of its exp(s).

A stage with the rows R left takes the subset S with weight
delta_|S| exp(mean of s over S) (PMOP, Davidson-Luce), so that, with a_i = exp(s_i / m)
for the subsets of m rows,

    Z(R) = sum_m delta_m e_m(a),   e_m = sum of the products of m different a_i

Rows are added from the worst level up, so one pass of the recurrence of e_m meets the
R of every stage. Gradients run backwards through the same recurrence. All terms are
positive: nothing cancels. Two ways of evaluation:

- near: short lists with scores not far apart. The plain recurrence
  e_j <- e_j + a_i e_{j-1}, a few lists of similar length side by side, so that the
  innermost loop is over lists and compilers make vectors of it;
- far: everything else, in ``_subsets_far``.

See doc/math/losses.md, section "Ordered partitions".
"""

import numpy as np

from libc.math cimport fmax, log

from skrank._kernels._lists cimport Shape, check_length, shape_of_levels
from skrank._kernels._subsets cimport (
    Data,
    load,
    minus_infinity,
    no_weight,
    score_range,
    store,
    take_stage,
)
from skrank._kernels._subsets_far cimport Far, far_list

cdef enum:
    LANES = 8  # lists side by side
    LONGEST_NEAR = 128  # rows; longer lists fill vectors by themselves
    LONGEST_KEPT = 32  # rows; in longer lists recomputing is faster than memory
cdef double LARGEST_LOG = 650.0  # doubles end near exp(709)
cdef double LOG2 = 0.693147180559945309417

IMPOSSIBLE = no_weight()  # the log weight of an impossible size


# Arrays of the near way hold LANES numbers at each place, one of each list, rows worst
# first.

cdef struct Near:
    Py_ssize_t n  # rows of the longest of the lists
    Py_ssize_t cap  # largest size of their subsets
    const double* weights  # (D,), weight of each size
    double* shifted  # (n,), scores less the largest
    double* in_shifted  # (n,), gradient
    double* a  # (D, n), exp(shifted / m)
    double* total  # (n + 1,), Z of the first rows
    double* inverse  # (n + 1,), 1 / Z where a stage ends, else 0
    double* adjoint  # (2, m + 2), derivative in e_j, before and after a row
    double* e  # (n + 1, m + 2), e_j of the first rows, of one size m or of each


def geometric(
    const double[::1] scores not None,
    const Py_ssize_t[::1] order not None,
    const Py_ssize_t[::1] level_starts not None,
    const Py_ssize_t[::1] level_offsets not None,
    const Py_ssize_t[::1] by_size not None,
    const double[::1] log_weights not None,
    bint with_weights,
):
    """Return minus log-likelihoods and their gradients.

    Takes time n D min(n, D) for a list of n rows. Memory beside the arguments: 3 MB for
    short lists; for the longest other list, the sums of one size of subsets at a time,
    8 n min(D, n / 2) bytes, and 24 bytes a size and stage.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Scores of the rows.
    order, level_starts, level_offsets : arrays
        As in :class:`skrank._data.lists.Levels`; no level is larger than D.
    by_size : array of shape (n_lists,)
        Lists, those of similar size next to each other.
    log_weights : array of shape (D,)
        Log of the weight of subsets of 1 to D rows, ``IMPOSSIBLE`` for a weight of 0.
        Larger subsets are impossible.
    with_weights : bool
        Differentiate in ``log_weights`` too.

    Returns
    -------
    values : array of shape (n_lists,)
        The loss of each list.
    gradient : array of shape (n_rows,)
        The gradient in the scores.
    in_weights : array of shape (n_lists, D) or None
        The gradient in ``log_weights``, if wanted.
    """
    cdef Shape shape = shape_of_levels(order, level_starts, level_offsets)
    cdef Py_ssize_t k, q, n, n_lists = shape.n_lists, n_filled = 0
    cdef Py_ssize_t[LANES] lanes
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    check_length("by_size", by_size.shape[0], n_lists, "list")
    check_sizes(level_starts, log_weights)
    values_array, gradient_array = np.empty(n_lists), np.empty(shape.n_rows)
    cdef double[::1] values = values_array, gradient = gradient_array
    cdef Data data
    data.scores, data.order = &scores[0], &order[0]
    data.level_starts, data.level_offsets = &level_starts[0], &level_offsets[0]
    data.log_weights, data.cap = &log_weights[0], log_weights.shape[0]
    data.values, data.gradient, data.in_weights = &values[0], &gradient[0], NULL
    in_weights_array = np.zeros((n_lists, data.cap)) if with_weights else None
    cdef double[:, ::1] in_weights = in_weights_array
    if with_weights:
        data.in_weights = &in_weights[0, 0]

    cdef unsigned char[::1] is_far = np.empty(n_lists, dtype=np.uint8)
    cdef Sizes sizes = choose_ways(&data, n_lists, &is_far[0])
    n, k = sizes.longest_near, min(sizes.longest_near, data.cap)
    near_array = np.empty((near_room(n, k), LANES))
    powers_array = np.empty(LANES * n * k + 1)
    cdef double[:, ::1] near_work = near_array
    cdef double[::1] powers = powers_array
    cdef double[::1] weights = np.exp(np.minimum(log_weights, LARGEST_LOG))
    cdef Near near = lay_out_near(n, k, &near_work[0, 0], &powers[0], &weights[0])
    n, k = sizes.longest_far, min(sizes.longest_far, data.cap)
    cdef double[::1] far_work = np.empty(
        7 * (n + 1) + k + 2 + 3 * sizes.most_results + sizes.most_cells
    )
    cdef Py_ssize_t[:, ::1] bounds = np.empty((2, n + 1), dtype=np.intp)
    cdef Far far = lay_out_far(n, k, sizes.most_results, &far_work[0])
    far.low, far.high = &bounds[0, 0], &bounds[1, 0]

    for k in range(n_lists):
        q = by_size[k]
        if not 0 <= q < n_lists:
            raise ValueError(f"by_size must have numbers of lists, got {q}.")
        if is_far[q]:
            with nogil:
                far_list(&far, &data, q)
        else:
            lanes[n_filled] = q
            n_filled += 1
        if n_filled == LANES or (k == n_lists - 1 and n_filled > 0):
            with nogil:
                near_load(&near, &data, lanes, n_filled)
            # NumPy computes exponentials in vectors, which compilers do not.
            exponents = powers_array[: LANES * near.n * near.cap]
            np.exp(exponents, out=exponents)
            with nogil:
                near_lists(&near, &data, lanes, n_filled)
            n_filled = 0
    return values_array, gradient_array, in_weights_array


cdef int check_sizes(
    const Py_ssize_t[::1] level_starts, const double[::1] log_weights
) except -1:
    """Refuse levels of more rows than there are weights of sizes."""
    cdef Py_ssize_t k, largest = 1
    for k in range(level_starts.shape[0] - 1):
        largest = max(largest, level_starts[k + 1] - level_starts[k])
    if log_weights.shape[0] < largest:
        raise ValueError(
            f"log_weights must have at least {largest} entries, one for each size of "
            f"level, got {log_weights.shape[0]}."
        )
    return 0


cdef struct Sizes:
    Py_ssize_t longest_near, longest_far  # rows
    Py_ssize_t most_results, most_cells  # of a far list


cdef Sizes choose_ways(
    const Data* data, Py_ssize_t n_lists, unsigned char* is_far
) noexcept nogil:
    """Find which lists are far, and the sizes of buffers for both ways."""
    cdef Sizes sizes
    cdef Py_ssize_t k, q, n, size, n_levels
    cdef double largest_weight = 0.0
    sizes.longest_near = sizes.longest_far = 0
    sizes.most_results = sizes.most_cells = 0
    for k in range(data.cap):
        largest_weight = fmax(largest_weight, data.log_weights[k])
    for q in range(n_lists):
        n_levels = data.level_offsets[q + 1] - data.level_offsets[q]
        n = data.level_starts[data.level_offsets[q + 1]]
        n -= data.level_starts[data.level_offsets[q]]
        is_far[q] = not (
            n <= LONGEST_NEAR
            and n * LOG2 + score_range(data, q) + largest_weight < LARGEST_LOG
        )
        if not is_far[q]:
            sizes.longest_near = max(sizes.longest_near, n)
            continue
        size = min(data.cap, n)
        sizes.longest_far = max(sizes.longest_far, n)
        sizes.most_results = max(sizes.most_results, size * n_levels)
        sizes.most_cells = max(
            sizes.most_cells, (n + 1) * (min(size, n // 2) + 3)
        )
    return sizes


cdef Far lay_out_far(
    Py_ssize_t n, Py_ssize_t cap, Py_ssize_t most_results, double* room
) noexcept nogil:
    """Cut up the room of the far way, all but its bounds."""
    cdef Far far
    far.s = room
    far.p = far.s + n + 1
    far.q = far.p + n + 1
    far.at_end = far.q + n + 1
    far.in_end = far.at_end + n + 1
    far.log_scale = far.in_end + n + 1
    far.in_s = far.log_scale + n + 1
    far.adjoint = far.in_s + n + 1
    far.log_e = far.adjoint + cap + 2
    far.tilt = far.log_e + most_results
    far.top = far.tilt + most_results
    far.e = far.top + most_results
    far.low = far.high = NULL
    return far


cdef Py_ssize_t near_room(Py_ssize_t n, Py_ssize_t cap) noexcept nogil:
    """Return how many groups of lanes the near way needs, at least one."""
    return 1 + 2 * n + 2 * (n + 1) + 2 * (cap + 2) + max(
        near_cells(n, cap),
        near_cells(min(n, LONGEST_KEPT), min(cap, LONGEST_KEPT)),
    )


cdef Near lay_out_near(
    Py_ssize_t n, Py_ssize_t cap, double* room, double* powers, const double* weights
) noexcept nogil:
    """Cut up the room of the near way."""
    cdef Near near
    near.n, near.cap, near.weights, near.a = n, cap, weights, powers
    near.shifted = room
    near.in_shifted = near.shifted + LANES * n
    near.total = near.in_shifted + LANES * n
    near.inverse = near.total + LANES * (n + 1)
    near.adjoint = near.inverse + LANES * (n + 1)
    near.e = near.adjoint + 2 * LANES * (cap + 2)
    return near


cdef inline Py_ssize_t near_cells(Py_ssize_t n, Py_ssize_t cap) noexcept nogil:
    """Return the number of e_j that are held at once, for sizes up to cap."""
    if n > LONGEST_KEPT:
        return (n + 1) * (cap + 2)
    return (n + 1) * (cap * (cap + 5) // 2)


cdef inline double* near_e(const Near* near, Py_ssize_t m) noexcept nogil:
    """Return where the e_j of a size are."""
    if near.n > LONGEST_KEPT:
        return near.e
    return near.e + LANES * near_cells(near.n, m - 1)


cdef void near_load(
    Near* near, const Data* data, const Py_ssize_t* lanes, Py_ssize_t n_lanes
) noexcept nogil:
    """Fill in shifted scores, and their shares in ``a``, of which to take exp."""
    cdef Py_ssize_t n = 0, i, l, m, first, last
    cdef double share
    for l in range(n_lanes):
        first = data.level_offsets[lanes[l]]
        last = data.level_offsets[lanes[l] + 1]
        n = max(n, data.level_starts[last] - data.level_starts[first])
    near.n, near.cap = n, min(data.cap, n)
    for i in range(n * LANES):
        near.shifted[i] = minus_infinity()  # missing rows of a lane have weight 0
    for l in range(n_lanes):
        load(data, lanes[l], near.shifted + l, LANES, True)
    for m in range(1, near.cap + 1):
        share = 1.0 / m
        for i in range(n * LANES):
            near.a[(m - 1) * n * LANES + i] = share * near.shifted[i]


cdef void near_lists(
    const Near* near, const Data* data, const Py_ssize_t* lanes, Py_ssize_t n_lanes
) noexcept nogil:
    """Fill in values and gradients of a few lists."""
    cdef Py_ssize_t n = near.n, i, l, m, q, level, last, size
    cdef double value, total
    cdef const double* e
    for i in range(n * LANES):
        near.in_shifted[i] = 0.0
    for i in range((n + 1) * LANES):
        near.total[i] = near.inverse[i] = 0.0
    for m in range(1, near.cap + 1):
        if near.weights[m - 1] > 0.0:
            near_forward(near, m)
            e = near_e(near, m) + m * LANES
            for i in range(m, n + 1):
                for l in range(LANES):
                    near.total[i * LANES + l] += (
                        near.weights[m - 1] * e[i * (m + 2) * LANES + l]
                    )
    for l in range(n_lanes):
        q = lanes[l]
        last = data.level_starts[data.level_offsets[q + 1]]
        value = 0.0
        for level in range(data.level_offsets[q], data.level_offsets[q + 1]):
            i = last - data.level_starts[level]
            size = data.level_starts[level + 1] - data.level_starts[level]
            total = near.total[i * LANES + l]
            near.inverse[i * LANES + l] = 1.0 / total
            value += take_stage(
                data, q, i, size, log(total), 0.0, near.shifted + l,
                near.in_shifted + l, LANES,
            )
        data.values[q] = value
    for m in range(1, near.cap + 1):
        if near.weights[m - 1] > 0.0:
            if n > LONGEST_KEPT:
                near_forward(near, m)
            near_backward(near, m)
            if data.in_weights != NULL:
                e = near_e(near, m) + m * LANES
                for l in range(n_lanes):
                    total = 0.0
                    for i in range(m, n + 1):
                        total += (
                            near.inverse[i * LANES + l] * e[i * (m + 2) * LANES + l]
                        )
                    data.in_weights[lanes[l] * data.cap + m - 1] += (
                        near.weights[m - 1] * total
                    )
    for l in range(n_lanes):
        store(data, lanes[l], near.in_shifted + l, LANES)


cdef void near_forward(const Near* near, Py_ssize_t m) noexcept nogil:
    """Fill in e_j of the first rows, for the j from which m can still be reached."""
    cdef Py_ssize_t n = near.n, width = (m + 2) * LANES, i, j, l
    cdef const double* a = near.a + (m - 1) * n * LANES
    cdef double* before = near_e(near, m)
    cdef double* after
    cdef double[LANES] a_i
    for l in range(LANES):
        before[l] = 1.0
    for i in range(n):
        after = before + width
        for l in range(LANES):
            a_i[l] = a[i * LANES + l]
            after[l] = 1.0
            before[min(i + 1, m + 1) * LANES + l] = 0.0
        for j in range(max(1, m - (n - 1 - i)), min(i + 1, m) + 1):
            for l in range(LANES):
                after[j * LANES + l] = (
                    before[j * LANES + l] + a_i[l] * before[(j - 1) * LANES + l]
                )
        before = after


cdef void near_backward(const Near* near, Py_ssize_t m) noexcept nogil:
    """Add the gradient of what the stages take from e_m."""
    cdef Py_ssize_t n = near.n, width = (m + 2) * LANES, i, j, l, low, high
    cdef const double* a = near.a + (m - 1) * n * LANES
    cdef const double* e = near_e(near, m)
    cdef const double* before
    cdef double* after = near.adjoint
    cdef double* adjoint = near.adjoint + width
    cdef double[LANES] a_i, total
    cdef double weight = near.weights[m - 1], share = 1.0 / m
    for i in range(2 * width):
        after[i] = 0.0
    for i in range(n - 1, -1, -1):
        before = e + i * width
        if i + 1 >= m:
            for l in range(LANES):
                after[m * LANES + l] += weight * near.inverse[(i + 1) * LANES + l]
        low, high = max(1, m - (n - 1 - i)), min(i + 1, m)
        for l in range(LANES):
            a_i[l] = a[i * LANES + l]
            total[l] = 0.0
        for j in range(low, high + 1):
            for l in range(LANES):
                total[l] = (
                    total[l] + after[j * LANES + l] * before[(j - 1) * LANES + l]
                )
        for j in range(low - 1, high):
            for l in range(LANES):
                adjoint[j * LANES + l] = (
                    after[j * LANES + l] + a_i[l] * after[(j + 1) * LANES + l]
                )
        if high == m:
            for l in range(LANES):
                adjoint[m * LANES + l] = after[m * LANES + l]
        after, adjoint = adjoint, after
        for l in range(LANES):
            near.in_shifted[i * LANES + l] += share * a_i[l] * total[l]
