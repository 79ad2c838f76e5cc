"""Models over ordered partitions of short lists, by all subsets of what remains.

A set R of rows is what remains at some stage with probability r(R). From the whole list,
where r = 1, down to no rows,

    r(R without S) <- r(R without S) + r(R) P(S | R),    S a non-empty subset of R

Each row is in S, in the rest of R or outside R, so a list of n rows costs 3^n. See
doc/math/losses.md, section "Ordered partitions".
"""

import numpy as np

from libc.math cimport exp, fabs, fmax, log, log1p

from skrank._kernels._lists cimport check_length


def enumerate_stages(
    const double[::1] scores not None,
    const Py_ssize_t[::1] starts not None,
    const Py_ssize_t[::1] sizes not None,
    const double[::1] log_weights not None,
    bint arithmetic,
):
    """Return expected levels, and the chances that each row beats or ties each other.

    Some lists have the rows ``starts[q] : starts[q] + sizes[q]``. Returns levels (sum of
    sizes,), and wins and ties, a matrix of n x n a list, flat, one after another.
    """
    cdef Py_ssize_t n_lists = sizes.shape[0], q, n, n_rows = 0, n_pairs = 0, longest = 0
    check_length("starts", starts.shape[0], n_lists, "list")
    for q in range(n_lists):
        if not 0 <= starts[q] <= starts[q] + sizes[q] <= scores.shape[0]:
            raise ValueError(
                f"scores must have an entry for each of the rows {starts[q]} to "
                f"{starts[q] + sizes[q]} of list {q}, got {scores.shape[0]} entries."
            )
        n_rows += sizes[q]
        n_pairs += sizes[q] * sizes[q]
        longest = max(longest, sizes[q])
    levels_array = np.zeros(n_rows)
    wins_array, ties_array = np.zeros(n_pairs), np.zeros(n_pairs)
    if n_lists == 0:
        return levels_array, wins_array, ties_array
    if longest > 20 or log_weights.shape[0] <= longest:
        raise ValueError(
            f"log_weights must have more than {longest} entries, one for each size "
            f"from 0 to that of the longest list, got {log_weights.shape[0]}; and "
            "lists of more than 20 rows have too many subsets."
        )
    log_phi_array = np.empty(1 << longest)
    reach_array, weight_array = np.empty(1 << longest), np.empty(1 << longest)
    both_array = np.empty((longest, longest))
    cdef double[::1] levels = levels_array, wins = wins_array, ties = ties_array
    cdef double[::1] log_phi = log_phi_array, reach = reach_array
    cdef double[::1] weight = weight_array
    cdef double[:, ::1] both = both_array
    cdef Py_ssize_t row = 0, pair = 0
    with nogil:
        for q in range(n_lists):
            n = sizes[q]
            _log_potentials(
                &scores[starts[q]], n, &log_weights[0], arithmetic, &log_phi[0]
            )
            _one_list(
                n, &log_phi[0], &reach[0], &weight[0], both,
                &levels[row], &wins[pair], &ties[pair],
            )
            row += n
            pair += n * n
    return levels_array, wins_array, ties_array


cdef void _log_potentials(
    const double *scores,
    Py_ssize_t n,
    const double *log_weights,
    bint arithmetic,
    double *log_phi,
) noexcept nogil:
    """Fill in the log-potential of each subset, a subset being the bits of a number."""
    cdef Py_ssize_t subset, rest, i, size
    cdef double low
    # First compute sums of scores, or logs of sums of exponentials, each from the sum of
    # a smaller subset.
    log_phi[0] = -1.0 / 0.0 if arithmetic else 0.0
    for i in range(n):
        for rest in range(<Py_ssize_t> 1 << i):
            subset = rest | (<Py_ssize_t> 1 << i)
            if arithmetic:
                low = log_phi[rest]
                log_phi[subset] = (
                    fmax(low, scores[i]) + log1p(exp(-fabs(low - scores[i])))
                )
            else:
                log_phi[subset] = log_phi[rest] + scores[i]
    for subset in range(1, <Py_ssize_t> 1 << n):
        size = _count(subset)
        if arithmetic:
            log_phi[subset] += log_weights[size] - log(<double> size)
        else:
            log_phi[subset] = log_phi[subset] / size + log_weights[size]


cdef inline Py_ssize_t _count(Py_ssize_t bits) noexcept nogil:
    """Return the number of bits that are set."""
    cdef Py_ssize_t n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


cdef void _one_list(
    Py_ssize_t n,
    const double *log_phi,
    double *reach,
    double *weight,
    double[:, ::1] both,
    double *levels,
    double *wins,
    double *ties,
) noexcept nogil:
    """Add up one list's levels, wins and ties."""
    cdef Py_ssize_t whole = (<Py_ssize_t> 1 << n) - 1, remaining, subset, i, j, size
    cdef Py_ssize_t[20] members
    cdef double top, total, p
    for remaining in range(whole):
        reach[remaining] = 0.0
    reach[whole] = 1.0
    for remaining in range(whole, 0, -1):
        top = -1.0 / 0.0
        subset = remaining
        while subset:
            top = fmax(top, log_phi[subset])
            # The next smaller subset of the same bits; 0 ends the loop.
            subset = (subset - 1) & remaining
        total = 0.0
        subset = remaining
        while subset:
            weight[subset] = exp(log_phi[subset] - top)
            total += weight[subset]
            subset = (subset - 1) & remaining
        for i in range(n):
            for j in range(n):
                both[i, j] = 0.0
        subset = remaining
        while subset:
            p = weight[subset] * (reach[remaining] / total)
            reach[remaining & ~subset] += p
            size = 0
            for i in range(n):
                if subset >> i & 1:
                    members[size] = i
                    size += 1
            for i in range(size):
                for j in range(i + 1):
                    # Both rows picked at this stage; for i = j, the chance that the row
                    # is picked.
                    both[members[i], members[j]] += p
            subset = (subset - 1) & remaining
        for i in range(n):
            if not remaining >> i & 1:
                continue
            # The level of a row is the number of stages at which it still remains.
            levels[i] += reach[remaining]
            for j in range(n):
                if i != j and remaining >> j & 1:
                    p = both[i, j] if i > j else both[j, i]
                    ties[i * n + j] += p
                    # Picked while j remains: i wins, unless j is picked at the same
                    # stage.
                    wins[i * n + j] += both[i, i] - p
