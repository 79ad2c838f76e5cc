"""Check lengths and find the longest list, as every kernel of ranked lists does first.

Kernels index without bounds checks. So that a wrong length never reads or writes outside
an array, each entry gets the shape of its lists here, and then compares the length of
every other array with it. That costs a comparison for each array and a pass over the
lists, which is needed anyway to find the longest list for the buffers.

There are two ways to cut rows into lists:

- losses take rows in ``order``, list by list, best level first. Level ``k`` holds the
  places ``level_starts[k] : level_starts[k + 1]`` of ``order``, list ``q`` the levels
  ``level_offsets[q] : level_offsets[q + 1]``;
- metrics take rows as they are. List ``q`` holds the rows
  ``offsets[q] : offsets[q + 1]``, or the blocks of tied rows of these numbers.

So the rows of list q, the longest list and the rows of level k are

    n_q = level_starts[level_offsets[q + 1]] - level_starts[level_offsets[q]]
    longest = max over q of n_q
    d_k = level_starts[k + 1] - level_starts[k]

See doc/math/computing.md, section "Lists as arrays".
"""

cdef int wrong_length(
    str name, Py_ssize_t length, Py_ssize_t wanted, str unit
) except -1:
    raise ValueError(
        f"{name} must have {wanted} entries, one for each {unit}, got {length}. Pass "
        "arrays that belong to the same lists."
    )


cdef Py_ssize_t check_offsets(
    str name, const Py_ssize_t[::1] offsets, Py_ssize_t end
) except -1:
    """Check that offsets rise from 0 to ``end``, and return their largest step.

    A negative ``end`` stands for any.
    """
    cdef Py_ssize_t q, last = offsets.shape[0] - 1, largest = 0
    if last < 1 or offsets[0] != 0 or (end >= 0 and offsets[last] != end):
        raise ValueError(
            f"{name} must rise from 0 to {end if end >= 0 else 'the number of rows'}, "
            f"with at least two entries, got {list(offsets[:3])}... of length "
            f"{offsets.shape[0]}, ending with {list(offsets[max(last, 0):])}."
        )
    for q in range(last):
        if not offsets[q] < offsets[q + 1] <= offsets[last]:
            raise ValueError(
                f"{name} must rise from entry to entry, got {offsets[q]} and then "
                f"{offsets[q + 1]} at entry {q}."
            )
        largest = max(largest, offsets[q + 1] - offsets[q])
    return largest


cdef Shape shape_of_levels(
    const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] level_starts,
    const Py_ssize_t[::1] level_offsets,
) except *:
    """Return the shape of lists of levels, once their three arrays fit each other."""
    cdef Shape shape
    cdef Py_ssize_t q, first, last
    shape.n_rows = order.shape[0]
    shape.n_levels = level_starts.shape[0] - 1
    shape.n_lists = level_offsets.shape[0] - 1
    if shape.n_levels < 1:
        raise ValueError("level_starts must have at least two entries.")
    shape.most_levels = check_offsets("level_offsets", level_offsets, shape.n_levels)
    if level_starts[0] != 0 or level_starts[shape.n_levels] != shape.n_rows:
        raise ValueError(
            f"level_starts must rise from 0 to the {shape.n_rows} rows of order, got "
            f"{level_starts[0]} to {level_starts[shape.n_levels]}."
        )
    shape.longest = 0
    for q in range(shape.n_lists):
        first = level_starts[level_offsets[q]]
        last = level_starts[level_offsets[q + 1]]
        if not 0 <= first < last <= shape.n_rows:
            raise ValueError(
                f"level_starts must rise from entry to entry: list {q} would hold the "
                f"places {first} to {last} of {shape.n_rows}."
            )
        shape.longest = max(shape.longest, last - first)
    return shape


cdef Shape shape_of_lists(const Py_ssize_t[::1] offsets) except *:
    """Return the shape of lists of rows, each row a level of its own."""
    cdef Shape shape
    shape.longest = shape.most_levels = check_offsets("offsets", offsets, -1)
    shape.n_lists = offsets.shape[0] - 1
    shape.n_rows = shape.n_levels = offsets[shape.n_lists]
    return shape


cdef Shape shape_of_blocks(
    const Py_ssize_t[::1] starts, const Py_ssize_t[::1] offsets
) except *:
    """Return the shape of lists of blocks of tied rows, which are their levels."""
    cdef Shape shape
    cdef Py_ssize_t q
    check_offsets("starts", starts, -1)
    shape.n_levels = starts.shape[0] - 1
    shape.n_rows = starts[shape.n_levels]
    shape.most_levels = check_offsets("offsets", offsets, shape.n_levels)
    shape.n_lists = offsets.shape[0] - 1
    shape.longest = 0
    for q in range(shape.n_lists):
        shape.longest = max(
            shape.longest, starts[offsets[q + 1]] - starts[offsets[q]]
        )
    return shape


cdef Py_ssize_t most_stages(
    const Py_ssize_t[::1] n_stages,
    const Py_ssize_t[::1] level_offsets,
    Py_ssize_t n_last,
) except -1:
    """Check that lists have enough levels for their stages; return the most stages.

    The last ``n_last`` levels of a list cannot be stages.
    """
    cdef Py_ssize_t q, n_lists = level_offsets.shape[0] - 1, most = 0
    check_length("n_stages", n_stages.shape[0], n_lists, "list")
    for q in range(n_lists):
        if not 0 <= n_stages[q] <= level_offsets[q + 1] - level_offsets[q] - n_last:
            raise ValueError(
                f"n_stages: list {q} has {level_offsets[q + 1] - level_offsets[q]} "
                f"levels, too few for {n_stages[q]} stages."
            )
        most = max(most, n_stages[q])
    return most
