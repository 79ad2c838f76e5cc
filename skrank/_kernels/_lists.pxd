"""Check lengths and find the longest list, as every kernel of ranked lists does."""

cdef struct Shape:
    Py_ssize_t n_rows, n_lists
    Py_ssize_t longest  # rows of the longest list
    Py_ssize_t n_levels
    Py_ssize_t most_levels  # levels of the list that has most


cdef Shape shape_of_levels(
    const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] level_starts,
    const Py_ssize_t[::1] level_offsets,
) except *

cdef Shape shape_of_lists(const Py_ssize_t[::1] offsets) except *

cdef Shape shape_of_blocks(
    const Py_ssize_t[::1] starts, const Py_ssize_t[::1] offsets
) except *

cdef Py_ssize_t most_stages(
    const Py_ssize_t[::1] n_stages,
    const Py_ssize_t[::1] level_offsets,
    Py_ssize_t n_last,
) except -1

cdef int wrong_length(
    str name, Py_ssize_t length, Py_ssize_t wanted, str unit
) except -1


cdef inline int check_length(
    str name, Py_ssize_t length, Py_ssize_t wanted, str unit
) except -1:
    """Raise ValueError unless an array has one entry for each row, list or level."""
    if length != wanted:
        return wrong_length(name, length, wanted, unit)
    return 0


cdef inline bint all_one(const double* values, Py_ssize_t n) noexcept nogil:
    """Return whether all weights are 1, so that multiplications can be left out."""
    cdef Py_ssize_t i
    for i in range(n):
        if values[i] != 1.0:
            return False
    return True
