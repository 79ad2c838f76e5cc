"""Who is among the first k under the Plackett-Luce model: a race of exponentials.

Row i arrives at a time of rate exp(s_i), so that arrivals come in the order of a
Plackett-Luce ranking. With x the logarithm of time and u = x + s_i, it is among the
first k with probability

    P_i = integral over x of e^(u - e^u) P(at most k - 1 others have arrived by x)

by the trapezoidal rule. At a node, rows have arrived independently of each other, row i
with probability p_i = 1 - e^(-e^u), and the chance B_c that c of the rows so far have
arrived follows

    B_c <- (1 - p_i) B_c + p_i B_{c-1}

See doc/math/losses.md, section "The first k".
"""

from libc.math cimport exp, expm1, floor, log

import numpy as np

from skrank._kernels._lists cimport Shape, check_length, shape_of_lists

# Nodes lie from e^-37 / n to e^4, in units of the pivot's mean time. Times outside add
# less than 1e-16.
cdef double BEFORE = 37.0
cdef double AFTER = 4.0
# Chances below e^-40 count as 0.
cdef double NEGLIGIBLE = -40.0


def n_nodes(Py_ssize_t n_rows, double step):
    """Return the number of nodes that a list of ``n_rows`` takes."""
    return <Py_ssize_t> floor((BEFORE + log(<double> n_rows) + AFTER) / step) + 2


def among_first(
    const double[::1] scores not None,
    const Py_ssize_t[::1] offsets not None,
    const double[::1] pivots not None,
    const double[::1] steps not None,
    Py_ssize_t k,
):
    """Return the probability of each row to be among the first ``k`` of its list.

    The head of this file has the integral. Counts of the rows before and after row i are
    built up row by row from both ends, since taking row i out of a count of all rows
    would cancel.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Scores of the rows.
    offsets : array of shape (n_lists + 1,)
        First row of each list, and the number of rows at the end.
    pivots : array of shape (n_lists,)
        The k-th largest score of each list; unused where a list has at most k rows.
    steps : array of shape (n_lists,)
        Distance of nodes in x; 0 leaves a list out.
    k : int
        How many count as first, at least 1.

    Returns
    -------
    out : array of shape (n_rows,)
        The probabilities; 0 in lists that are left out.
    """
    cdef Shape shape = shape_of_lists(offsets)
    cdef Py_ssize_t q, i, n, most_rows = 1, most_cells = 1
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    check_length("pivots", pivots.shape[0], shape.n_lists, "list")
    check_length("steps", steps.shape[0], shape.n_lists, "list")
    out_array = np.zeros(shape.n_rows)
    cdef double[::1] out = out_array
    for q in range(shape.n_lists):
        n = offsets[q + 1] - offsets[q]
        if n > k and steps[q] > 0.0:
            most_rows = max(most_rows, n)
            most_cells = max(most_cells, n * min(k, n - k))
    cdef double[::1] work = np.empty(most_cells + 3 * most_rows)
    with nogil:
        for q in range(shape.n_lists):
            n = offsets[q + 1] - offsets[q]
            if n <= k:
                for i in range(offsets[q], offsets[q + 1]):
                    out[i] = 1.0
            elif steps[q] > 0.0:
                _one_list(
                    &scores[offsets[q]], n, k, pivots[q], steps[q],
                    &work[0], &work[0] + 3 * n, &out[offsets[q]],
                )
    return out_array


cdef void _one_list(
    const double* s,
    Py_ssize_t n,
    Py_ssize_t k,
    double pivot,
    double step,
    double* work,
    double* before,
    double* out,
) noexcept nogil:
    """Fill in the probabilities of one list of more than k rows."""
    # Count the smaller set: earlier rows, at most k - 1, or later, at most n - k - 1.
    cdef bint later = 2 * k > n
    cdef Py_ssize_t count = n - k if later else k
    cdef double* hit = work
    cdef double* density = work + n
    cdef double* after = work + 2 * n
    cdef double* row
    cdef double x, rate, tail, p, mean
    cdef Py_ssize_t node, i, c
    cdef Py_ssize_t number = (
        <Py_ssize_t> floor((BEFORE + log(<double> n) + AFTER) / step) + 2
    )
    # For rows from the pivot up, integrate the chance of being late, so that the
    # integrand vanishes at both ends, however far apart scores are.
    for i in range(n):
        out[i] = 1.0 if s[i] >= pivot else 0.0
    for node in range(number):
        x = node * step - BEFORE - log(<double> n)
        mean = 0.0
        for i in range(n):
            # At e^7 all rows have arrived, at e^-800 none.
            rate = exp(min(x + (s[i] - pivot), 7.0))
            p = exp(-rate)
            hit[i] = p if later else -expm1(-rate)
            mean -= expm1(-rate)
            density[i] = step * rate * p
        # Chernoff's bound: at this node it is certain whether k rows have arrived.
        if k - mean + k * log(mean / k) < NEGLIGIBLE:
            for i in range(n):
                if mean < k and s[i] < pivot:
                    out[i] += density[i]
                elif mean > k and s[i] >= pivot:
                    out[i] -= density[i]
            continue
        for c in range(count):
            before[c] = 0.0
            after[c] = 1.0  # distribution function of a count of none
        before[0] = 1.0
        for i in range(n - 1):
            p = hit[i]
            row = before + i * count
            row[count] = (1.0 - p) * row[0]
            for c in range(1, count):
                row[count + c] = (1.0 - p) * row[c] + p * row[c - 1]
        for i in range(n - 1, -1, -1):
            row = before + i * count
            tail = 0.0
            for c in range(count):
                tail += row[c] * after[count - 1 - c]
            if s[i] >= pivot:
                out[i] -= density[i] * (tail if later else 1.0 - tail)
            else:
                out[i] += density[i] * (1.0 - tail if later else tail)
            p = hit[i]
            for c in range(count - 1, 0, -1):
                after[c] = (1.0 - p) * after[c] + p * after[c - 1]
            after[0] *= 1.0 - p
