"""Sums over pairs of rows, by halves of the labels and boxes of scores."""

from skrank._kernels._chebyshev cimport Tables
from skrank._kernels._exponentials cimport Series
from skrank._kernels._pair_models cimport Model, Sums
from skrank._kernels._products cimport Product
from skrank._kernels._sides cimport Side


cdef enum:
    CELL = 128  # width, of which exp is a number


cdef class BoxedPairs:
    cdef Model model
    cdef bint curved, weighted, multiplied  # the last: by shares of better rows
    cdef double most_pairs_a_row
    cdef int n_channels
    cdef Tables win_tables, tie_tables
    cdef Series[2] above, below, tied  # a better row above or below a worse one, tied rows
    cdef list arrays  # what pointers of this object point into
    cdef double* e  # of each row, by place: exp(scale (score - centre of its cell))
    cdef double* inverse  # of these
    cdef double* centre  # that of its box
    cdef Py_ssize_t* places
    cdef Py_ssize_t* leaves
    cdef double* slots
    cdef void* sorting
    cdef Side better, worse
    cdef Py_ssize_t n_leaves, n_slots
    # Of the current list, by place:
    cdef const double* s
    cdef const double* v
    cdef const Py_ssize_t* starts
    cdef const double* gains  # of rows; NULL if pairs do not weigh
    cdef const double* shares  # of better rows; NULL for 1
    cdef double* out
    cdef double origin
    cdef Sums sums
    cdef Product product  # of the costs of pairs that are added one by one

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
    cdef int best_series(self, Side* one, Side* other, bint tied) noexcept nogil
    cdef void open_pairs(self, bint tied, double lowest) noexcept nogil
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
    cdef void finish(self, Side* side, double sign) noexcept nogil


cdef double pairs_a_row(
    const Py_ssize_t* starts, Py_ssize_t n_levels, bint tied, bint weighted
) noexcept nogil
