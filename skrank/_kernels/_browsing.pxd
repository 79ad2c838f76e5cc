"""One row read by a user whose chance to read depends on rank and last click.

Of the state, q[0] is the chance of no click yet, q[d] that of the last click d ranks
above, and q[width - 1] that of one as far or farther.
"""

from skrank._kernels._lists cimport check_length


cdef inline int check_rows_and_table(
    Py_ssize_t n_rows,
    const double[::1] attraction,
    const double[::1] utility,
    const double[:, ::1] table,
) except -1:
    """Raise ValueError unless each row has its numbers and the table is square."""
    cdef Py_ssize_t width = table.shape[0]
    check_length("attraction", attraction.shape[0], n_rows, "row")
    check_length("utility", utility.shape[0], n_rows, "row")
    check_length("table", table.shape[1], width, "rank in each row")
    if width < 2:
        raise ValueError(f"table must have at least 2 rows and columns, got {width}.")
    return 0


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
