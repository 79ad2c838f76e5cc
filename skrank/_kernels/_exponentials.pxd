"""Sums over pairs of rows in boxes far from each other, by series of exponentials."""

from skrank._kernels._pair_models cimport Model
from skrank._kernels._sides cimport CELL, Side

cdef enum:
    MOST_POWERS = 18
    BOXES_A_CELL = 64


cdef struct Series:  # the cost of a pair without its linear part, in powers of z
    Py_ssize_t n  # powers, an even number
    double cut  # the smallest offset of two boxes at which it is exact
    double shift  # z = exp(shift - c |d|), at most exp(-36 / (n + 1))
    double scale
    double[MOST_POWERS] cost
    double[MOST_POWERS] slope  # in log z
    double[MOST_POWERS] share
    double[MOST_POWERS] curvature
    double[BOXES_A_CELL] decay  # exp(-2 k c)
    double[BOXES_A_CELL] from_cell  # to e from the box's centre, by box of a cell


cdef void fill_series(
    Series* series, const Model* model, bint tied, bint above
) noexcept nogil
cdef double boxes_apart(const Model* model) noexcept nogil
cdef double saved_pairs(
    Side* upper, Side* lower, double cut, double reach, Py_ssize_t most
) noexcept nogil
cdef double add_far_pairs(
    const Series* series,
    Side* upper,
    Side* lower,
    double sign_above,
    double sign_below,
    bint curved,
    bint weighted,
    double* shares,
) noexcept nogil
