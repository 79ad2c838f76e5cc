"""Random subsets for models over ordered partitions: Markov chains, exact draws.

A stage picks a non-empty subset S of the N rows that remain, with probability
proportional to exp(weight[|S|] + mean score of S), or to exp(weight[|S|]) times the
mean of exp(score) over S. A chain proposes to put a row i into S or to take it out; with

    ratio = P(S after) / P(S before)

Gibbs moves with probability ratio / (1 + ratio), Metropolis with min(1, ratio). A chain
keeps the size and the sum of scores of S, so that a move costs the same for any N.

Every chain has its own stream of random numbers, a function of a seed, the number of
the step and the place of the list, so that neither threads nor blocks change a draw.
numpy's bit generators are Python objects behind a lock: one for each of a million
short chains would cost more than the chains. See doc/math/losses.md, section "Samplers".
"""

import numpy as np

from libc.math cimport exp, log
from libc.stdint cimport uint64_t

from skrank._kernels._lists cimport (
    Shape,
    check_length,
    shape_of_levels,
    shape_of_lists,
)

cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15ULL
# Symmetric sums of a stage start from here and only shrink, so that they can use the
# whole range of a double.
cdef double HIGHEST = 2.0 ** 1000
cdef double LOG_HIGHEST = log(HIGHEST)


cdef struct Stream:
    # xoshiro256++ of Blackman and Vigna (2021).
    uint64_t a, b, c, d


cdef inline uint64_t _mix(uint64_t z) noexcept nogil:
    """Return the output of splitmix64 for a state."""
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9ULL
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EBULL
    return z ^ (z >> 31)


cdef inline Stream _stream(uint64_t seed, uint64_t step, uint64_t place) noexcept nogil:
    """Return the stream of a list in a step: splitmix64 from a hash of the three."""
    cdef Stream stream
    cdef uint64_t state = _mix(seed + GOLDEN)
    state = _mix(state + step + GOLDEN)
    state = _mix(state + place + GOLDEN)
    stream.a = _mix(state + GOLDEN)
    stream.b = _mix(state + 2 * GOLDEN)
    stream.c = _mix(state + 3 * GOLDEN)
    stream.d = _mix(state + 4 * GOLDEN)
    return stream


cdef inline uint64_t _next(Stream *s) noexcept nogil:
    """Return the next 64 random bits."""
    cdef uint64_t total = s.a + s.d
    cdef uint64_t word = ((total << 23) | (total >> 41)) + s.a
    cdef uint64_t shifted = s.b << 17
    s.c ^= s.a
    s.d ^= s.b
    s.b ^= s.c
    s.a ^= s.d
    s.c ^= shifted
    s.d = (s.d << 45) | (s.d >> 19)
    return word


cdef inline double _uniform(Stream *s) noexcept nogil:
    """Return a number in [0, 1), a multiple of 2^-53."""
    return (_next(s) >> 11) * (1.0 / 9007199254740992.0)


cdef inline Py_ssize_t _below(Stream *s, Py_ssize_t n) noexcept nogil:
    """Return a whole number below n, uniform to n / 2^32."""
    return <Py_ssize_t> (((_next(s) >> 32) * <uint64_t> n) >> 32)


cdef inline double _threshold(double u, bint metropolis) noexcept nogil:
    """Return the log-odds, log P after less log P before, above which a move flips.

    Metropolis flips with probability min(1, ratio), Gibbs with ratio / (1 + ratio):
    the inverses of these, at a uniform number u. A logarithm of what is drawn can
    start before the last move is done; an exponential of the ratio could not.
    """
    return log(u) if metropolis else log(u / (1.0 - u))


cdef inline double _log_target(
    Py_ssize_t n, double total, const double *inverse, const double *log_weights
) noexcept nogil:
    """Return log P of a subset of n rows with a sum of scores, up to a constant."""
    return total * inverse[n] + log_weights[n]


cdef int check_sizes(str name, Py_ssize_t length, Py_ssize_t longest) except -1:
    """Refuse an array that has not one entry for each size of subset from 0."""
    if length <= longest:
        raise ValueError(
            f"{name} must have at least {longest + 1} entries, one for each size of "
            f"subset from 0, got {length}."
        )
    return 0


def contrast(
    const double[::1] scores not None,
    const Py_ssize_t[::1] order not None,
    const Py_ssize_t[::1] level_starts not None,
    const Py_ssize_t[::1] level_offsets not None,
    const double[::1] log_weights not None,
    bint metropolis,
    Py_ssize_t n_steps,
    uint64_t seed,
    uint64_t step,
    uint64_t first_place,
):
    """Return a draw of the gradient of minus log-likelihood in the scores, (n_rows,).

    Rows are taken in ``order``, list by list, best level first. Level ``k`` of all
    holds the places ``level_starts[k] : level_starts[k + 1]``; list ``q`` holds the
    levels ``level_offsets[q] : level_offsets[q + 1]``. ``log_weights[m]`` belongs to
    subsets of m rows, -inf to the empty one. For each level a chain over subsets of the
    rows of that level and below starts at the level itself and runs ``n_steps`` sweeps,
    a sweep being as many visits of random rows as there are rows. A row's gradient is
    the mean over sweeps of 1 / |S| if the subset S at the end of the sweep holds it,
    less 1 / |level| for its own level.
    """
    cdef Shape shape = shape_of_levels(order, level_starts, level_offsets)
    cdef Py_ssize_t q, k, i, begin, end, start, stop, longest = shape.longest
    cdef double top, share
    cdef Stream stream
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    check_sizes("log_weights", log_weights.shape[0], longest)
    gradient_array = np.zeros(shape.n_rows)
    cdef double[::1] gradient = gradient_array
    cdef Py_ssize_t[::1] rows_room = np.empty(longest, dtype=np.intp)
    cdef double[::1] room = np.empty(2 * longest + 1)
    cdef Py_ssize_t *rows = &rows_room[0]
    cdef double *x = &room[0]
    cdef double *inverse = x + longest
    with nogil:
        inverse[0] = 0.0
        for i in range(1, longest + 1):
            inverse[i] = 1.0 / i
        for q in range(shape.n_lists):
            begin = level_starts[level_offsets[q]]
            end = level_starts[level_offsets[q + 1]]
            stream = _stream(seed, step, first_place + begin)
            top = scores[order[begin]]
            for i in range(begin + 1, end):
                top = max(top, scores[order[i]])
            for k in range(level_offsets[q], level_offsets[q + 1]):
                start, stop = level_starts[k], level_starts[k + 1]
                if end - start == 1:
                    continue
                for i in range(start, end):
                    rows[i - start] = order[i]
                    x[i - start] = scores[order[i]] - top
                _run_chain(
                    end - start, stop - start, rows, x, inverse, &log_weights[0],
                    metropolis, n_steps, &stream, gradient,
                )
                share = inverse[stop - start]
                for i in range(start, stop):
                    gradient[order[i]] -= share
    return gradient_array


cdef void _run_chain(
    Py_ssize_t n_rows,
    Py_ssize_t n,
    Py_ssize_t *rows,
    double *changes,
    const double *inverse,
    const double *log_weights,
    bint metropolis,
    Py_ssize_t n_steps,
    Stream *stream,
    double[::1] gradient,
) noexcept nogil:
    """Run a chain from the first n rows; add the subsets of its sweeps to a gradient.

    The chosen rows are the first n of ``rows``: a move swaps a row with the one at the
    border, and moves the border. ``changes`` holds what flipping each of ``rows`` adds
    to the total of the chosen scores: the scores, negative for those chosen.
    """
    cdef Py_ssize_t _sweep, _move, i, step, flip, place, row
    cdef double change, share
    cdef double[2] totals, targets  # before a move and after
    for i in range(n):
        changes[i] = -changes[i]
    for _sweep in range(n_steps):
        # Add up again in each sweep, so that rounding errors do not accumulate.
        totals[0] = 0.0
        for i in range(n):
            totals[0] -= changes[i]
        targets[0] = _log_target(n, totals[0], inverse, log_weights)
        for _move in range(n_rows):
            # Use indices and masks: the processor would guess half of the branches on
            # random numbers wrong.
            i = _below(stream, n_rows)
            change, row = changes[i], rows[i]
            step = 1 - 2 * (i < n)
            totals[1] = totals[0] + change
            targets[1] = _log_target(n + step, totals[1], inverse, log_weights)
            flip = targets[1] - targets[0] > _threshold(_uniform(stream), metropolis)
            place = i + ((n - (i < n) - i) & -flip)
            changes[i], rows[i] = changes[place], rows[place]
            changes[place], rows[place] = change * (1 - 2 * flip), row
            n += step & -flip
            totals[0], targets[0] = totals[flip], targets[flip]
        share = inverse[n] / n_steps
        for i in range(n):
            gradient[rows[i]] += share


def ordered_partitions(
    const double[::1] scores not None,
    const Py_ssize_t[::1] offsets not None,
    const double[::1] log_weights not None,
    const double[::1] log_factorials not None,
    bint arithmetic,
    Py_ssize_t n_samples,
    uint64_t seed,
    uint64_t first_place,
):
    """Return exact draws of the level of each row, 1 the best, (n_samples, n_rows).

    List ``q`` holds the rows ``offsets[q] : offsets[q + 1]``. Draws depend on the seed
    and on the place of a list's first row, which is ``first_place`` for row 0.
    """
    cdef Shape shape = shape_of_lists(offsets)
    cdef Py_ssize_t q, sample, i, n, kept, m, level, begin, largest = 0
    cdef Py_ssize_t longest = shape.longest
    cdef Stream stream
    cdef Stage stage
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    check_sizes("log_weights", log_weights.shape[0], longest)
    check_sizes("log_factorials", log_factorials.shape[0], longest)
    levels_array = np.empty((n_samples, shape.n_rows), dtype=np.intp)
    cdef Py_ssize_t[:, ::1] levels = levels_array
    for m in range(1, longest + 1):
        if log_weights[m] > -1.0 / 0.0:
            largest = m
    rows_array = np.empty(longest, dtype=np.intp)
    chosen_array = np.empty(longest, dtype=np.uint8)
    x_array = np.empty(longest)
    sizes_array = np.empty((2, longest + 1))
    sums_array = np.empty(
        largest + 1 if arithmetic else (longest + 1) * (largest + 1)
    )
    cdef Py_ssize_t[::1] rows = rows_array
    cdef unsigned char[::1] chosen = chosen_array
    cdef double[::1] x = x_array, sums = sums_array
    cdef double[:, ::1] sizes = sizes_array
    stage.log_weights, stage.log_factorials = &log_weights[0], &log_factorials[0]
    stage.arithmetic, stage.largest = arithmetic, largest
    stage.x, stage.sums, stage.chosen = &x[0], &sums[0], &chosen[0]
    with nogil:
        for q in range(shape.n_lists):
            begin = offsets[q]
            for sample in range(n_samples):
                stream = _stream(seed, sample, first_place + begin)
                n = offsets[q + 1] - begin
                for i in range(n):
                    rows[i] = begin + i
                level = 1
                while n > 0:
                    stage.n = n
                    _centre(scores, rows, n, stage.x)
                    # All samples have the same first stage, so its sums are shared.
                    if level > 1 or sample == 0:
                        _size_probabilities(&stage, &sizes[level > 1, 0])
                    m = _draw_size(&sizes[level > 1, 0], min(n, largest), &stream)
                    if arithmetic:
                        _draw_arithmetic(&stage, m, &stream)
                    else:
                        _draw_geometric(&stage, m, &stream)
                    kept = 0
                    for i in range(n):
                        if chosen[i]:
                            levels[sample, rows[i]] = level
                        else:
                            rows[kept] = rows[i]
                            kept += 1
                    n = kept
                    level += 1
    return levels_array


cdef struct Stage:
    Py_ssize_t n  # rows that remain
    Py_ssize_t largest  # size that a subset may have
    bint arithmetic
    const double *log_weights
    const double *log_factorials
    double *x  # scores less their largest
    double *sums
    unsigned char *chosen


cdef void _centre(
    const double[::1] scores, const Py_ssize_t[::1] rows, Py_ssize_t n, double *x
) noexcept nogil:
    """Fill in the scores of rows, less the largest."""
    cdef Py_ssize_t i
    cdef double top = scores[rows[0]]
    for i in range(1, n):
        top = max(top, scores[rows[i]])
    for i in range(n):
        x[i] = scores[rows[i]] - top


cdef void _size_probabilities(Stage *stage, double *sizes) noexcept nogil:
    r"""Fill in the sums of P(|S| = j) over j = 1, ..., m, up to a common factor.

    Geometric: P(m) is proportional to delta_m e_m(exp(x / m)). Arithmetic: to
    delta_m C(n, m), whatever the scores, since each row lies in equally many subsets.
    """
    cdef Py_ssize_t m, n = stage.n, most = min(stage.n, stage.largest)
    cdef double top = -1.0 / 0.0, below = 0.0
    for m in range(1, most + 1):
        sizes[m] = stage.log_weights[m] + (
            stage.log_factorials[n]
            - stage.log_factorials[m]
            - stage.log_factorials[n - m]
        )
        if not stage.arithmetic and sizes[m] > -1.0 / 0.0:
            _symmetric_sums(stage, m, 0)
            sizes[m] += log(stage.sums[m]) - LOG_HIGHEST
        top = max(top, sizes[m])
    for m in range(1, most + 1):
        below += exp(sizes[m] - top)
        sizes[m] = below


cdef Py_ssize_t _draw_size(
    const double *sizes, Py_ssize_t most, Stream *stream
) noexcept nogil:
    """Return a size drawn from running sums of probabilities."""
    cdef Py_ssize_t m = 1
    cdef double u = _uniform(stream) * sizes[most]
    # Since u < 1, the last sum is larger by more than rounding.
    while m < most and not u < sizes[m]:
        m += 1
    return m


cdef void _symmetric_sums(Stage *stage, Py_ssize_t m, Py_ssize_t stride) noexcept nogil:
    r"""Fill in e_j(a) / C(i, j) for the first i rows, j = 0, ..., m, times HIGHEST.

    With a = exp(x / m) <= 1 each is a convex combination of the two before it. With a
    stride each i has its own row of ``sums``; without, the last overwrites all.
    """
    cdef Py_ssize_t i, j, n = stage.n
    cdef double a, inverse
    cdef const double *before = stage.sums
    cdef double *sums = stage.sums
    sums[0] = HIGHEST
    for i in range(1, n + 1):
        sums += stride
        a = exp(stage.x[i - 1] / m)
        inverse = 1.0 / i
        if i <= m:
            sums[i] = a * before[i - 1]
        for j in range(min(i - 1, m), 0, -1):
            sums[j] = ((i - j) * before[j] + j * a * before[j - 1]) * inverse
        sums[0] = HIGHEST
        before = sums


cdef void _draw_geometric(Stage *stage, Py_ssize_t m, Stream *stream) noexcept nogil:
    """Choose m rows with probability proportional to the product of exp(x / m).

    From the last row back: of the subsets of j of the first i rows, those with row i
    have the share (j / i) a_i E(i - 1, j - 1) / E(i, j).
    """
    cdef Py_ssize_t i, j = m, stride = m + 1
    cdef double share
    _symmetric_sums(stage, m, stride)
    for i in range(stage.n, 0, -1):
        stage.chosen[i - 1] = 0
        if j == 0:
            continue
        share = 1.0
        if j < i:
            share = (
                (j * exp(stage.x[i - 1] / m) / i)
                * (stage.sums[(i - 1) * stride + j - 1] / stage.sums[i * stride + j])
            )
        if _uniform(stream) < share:
            stage.chosen[i - 1] = 1
            j -= 1


cdef void _draw_arithmetic(Stage *stage, Py_ssize_t m, Stream *stream) noexcept nogil:
    r"""Choose m rows with probability proportional to the sum of their exp(x).

    One row i with probability phi_i / sum phi, the others as m - 1 of the rest at
    random: P(S) = sum_{i in S} (phi_i / sum phi) / C(n - 1, m - 1).
    """
    cdef Py_ssize_t i, first, n = stage.n, wanted = m - 1, left
    cdef double total = 0.0, u
    for i in range(n):
        total += exp(stage.x[i])
    u = _uniform(stream) * total
    first = n - 1
    total = 0.0
    for i in range(n):
        total += exp(stage.x[i])
        if u < total:
            first = i
            break
    left = n - 1
    for i in range(n):
        if i == first:
            stage.chosen[i] = 1
            continue
        stage.chosen[i] = _uniform(stream) * left < wanted
        wanted -= stage.chosen[i]
        left -= 1
