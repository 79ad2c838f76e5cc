"""Sums over pairs of rows in boxes far from each other, by series of exponentials."""

from skrank._kernels._pair_models cimport Model
from skrank._kernels._sides cimport Side

cdef enum:
    MOST_POWERS = 18
    SOME_POWERS = 8
    FEW_POWERS = 4


cdef struct Series:  # the cost of a pair without its linear part, in powers of z
    Py_ssize_t n  # powers, an even number
    double cut  # the smallest offset of two boxes at which it is exact
    double shift  # z = exp(shift - c |d|), at most exp(-36 / (n + 1))
    double scale
    double[MOST_POWERS] cost
    double[MOST_POWERS] slope  # in log z
    double[MOST_POWERS] share
    double[MOST_POWERS] curvature


cdef void fill_series(
    Series* both, const Model* model, bint tied, bint above
) noexcept nogil
cdef double boxes_apart(const Model* model) noexcept nogil
cdef int choose_series(
    const Series* above,
    const Series* below,
    Side* one,
    Side* other,
    double lowest,
    double highest,
    int n_channels,
    Py_ssize_t most,
) noexcept nogil
cdef double add_far_pairs(
    const Series* series,
    Side* upper,
    Side* lower,
    double sign_above,
    double sign_below,
    bint curved,
    bint weighted,
    double* powers,
    double* shares,
) noexcept nogil
