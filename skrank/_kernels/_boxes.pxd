"""Sums over pairs of rows, by halves of the labels and boxes of scores."""

from libc.math cimport floor

from skrank._kernels._pair_models cimport Model, Sums
from skrank._kernels._products cimport Product


cdef enum:
    CELL = 128  # width, of which exp is a number


cdef struct Tables:  # a matrix for each offset of two boxes, from ``first`` on
    Py_ssize_t first, last
    const double* rows  # of the slope or the curvature
    const double* columns  # the same, transposed
    const double* costs  # of the cost, transposed
    const double* shares  # of the share, transposed


cdef struct Side:  # some rows by score, lowest first, and the boxes that hold them
    Py_ssize_t n, n_boxes
    bint multiplied
    Py_ssize_t* rows  # places
    double* t  # score from the centre of its box, from -1 to 1
    double* e  # exp(scale t)
    double* u  # its part of the pairs' weight, where pairs weigh
    double* v  # direction, if there is one
    double* uv  # u times v
    double* m  # what multiplies all its pairs, if ``multiplied``
    double* mu  # m times u, and so on: what moments are of
    double* mv
    double* total  # sums over pairs of each row, without its own m
    Py_ssize_t* begin  # (n_boxes + 1,)
    Py_ssize_t* slot  # (n_boxes,), where its moments are; -1 for none
    double* centre  # (n_boxes,)
    double* sums  # (n_boxes + 1, 4), up to each box: rows, u, score, u times score


cdef class BoxedPairs:
    cdef Model model
    cdef bint curved, weighted, multiplied  # the last: by shares of better rows
    cdef double most_pairs_a_row
    cdef int n_channels
    cdef Tables win_tables, tie_tables
    cdef list arrays  # what pointers of this object point into
    cdef double* room  # ten numbers a row
    cdef Py_ssize_t* places
    cdef Py_ssize_t* leaves
    cdef double* slots
    cdef void* sorting
    cdef Side better, worse
    cdef Py_ssize_t n_leaves, n_slots
    # Of the list at hand, by place:
    cdef const double* s
    cdef const double* v
    cdef const Py_ssize_t* starts
    cdef const double* gains  # of rows; NULL if pairs do not weigh
    cdef const double* shares  # of better rows; NULL for 1
    cdef double* out
    cdef double origin
    cdef Sums sums
    cdef Product product  # of the costs of pairs that are added one by one

    cdef Tables tables(self, bint tied, double span)
    cdef bint visit(
        self,
        const double* s,
        const double* v,
        const Py_ssize_t* starts,
        Py_ssize_t n_levels,
        const double* gains,
        const double* shares,
        double* out,
    ) noexcept nogil
    cdef double limit(self, double span) noexcept nogil
    cdef void divide(
        self,
        Py_ssize_t first,
        Py_ssize_t last,
        Py_ssize_t* rows,
        Py_ssize_t* spare,
    ) noexcept nogil
    cdef void load(
        self,
        Side* side,
        Py_ssize_t* rows,
        Py_ssize_t n,
        double gain,
        double sign,
        bint multiplied,
    ) noexcept nogil
    cdef double* moments_of(self, Side* side, Py_ssize_t box) noexcept nogil
    cdef void cross(self) noexcept nogil
    cdef void tie_level(self) noexcept nogil
    cdef double largest_log(self, bint tied) noexcept nogil
    cdef void meet(
        self,
        Side* one,
        Py_ssize_t a,
        Side* other,
        Py_ssize_t first,
        Py_ssize_t last,
        bint tied,
    ) noexcept nogil
    cdef void exchange(
        self, double* one, double* other, Py_ssize_t offset, bint tied
    ) noexcept nogil
    cdef void pair_up(
        self,
        Side* one,
        Py_ssize_t a,
        Side* other,
        Py_ssize_t first,
        Py_ssize_t last,
        bint tied,
    ) noexcept nogil
    cdef void add_line(
        self,
        Side* side,
        Py_ssize_t box,
        Side* other,
        Py_ssize_t first,
        Py_ssize_t last,
        bint with_cost,
    ) noexcept nogil
    cdef double curve_strip(
        self,
        Side* one,
        Py_ssize_t i,
        Side* other,
        Py_ssize_t start,
        Py_ssize_t n,
        double decay,
        double m,
        bint tied,
    ) noexcept nogil
    cdef double weighted_strip(
        self,
        Side* one,
        Py_ssize_t i,
        Side* other,
        Py_ssize_t start,
        Py_ssize_t n,
        double decay,
        double m,
    ) noexcept nogil
    cdef void finish(self, Side* side, double sign) noexcept nogil


cdef inline double pairs_a_row(
    const Py_ssize_t* starts, Py_ssize_t n_levels, bint tied
) noexcept nogil:
    """Return the number of pairs of some levels over that of their rows."""
    cdef double n = starts[n_levels] - starts[0], total = n * n, size
    cdef Py_ssize_t level
    if tied:
        return 0.5 * (n - 1.0)
    for level in range(n_levels):
        size = starts[level + 1] - starts[level]
        total -= size * size
    return 0.5 * total / n


cdef inline double centre_of(double score) noexcept nogil:
    """Return the centre of the box of a score, an odd whole number."""
    return 2.0 * floor(0.5 * score) + 1.0


cdef inline double cell_of(double score) noexcept nogil:
    """Return the centre of the cell of a score, which holds whole boxes."""
    return CELL * (floor(score / <double> CELL) + 0.5)
