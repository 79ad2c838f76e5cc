"""What a pair of rows costs, as a function of r = exp(-c (s_i - s_j)), as in paired_ties.

A better row i against a worse row j costs log(1 + k r + l r^2), two tied rows
log(r + 1/r + t).
"""

from libc.math cimport ceil, exp, fmax, log, log1p


cdef struct Model:  # of a pair, as in paired_ties
    double scale  # c
    double win  # k
    double square  # l, 0 or 1
    double tie  # t, or negative where tied rows are not a pair


cdef struct Sums:
    double value
    double wins  # k r / f over pairs with different labels
    double ties  # 1 / f over tied pairs


cdef enum Kind:
    COST
    SLOPE
    SHARE
    CURVATURE


cdef inline double of_pair(
    const Model* model, Kind kind, bint tied, double r
) noexcept nogil:
    """Return the cost of a pair, its slope in log r, its share or its curvature."""
    cdef double k = model.win, l = model.square, t = model.tie, f
    if tied:
        f = r + 1.0 / r + t
        if kind == COST:
            return log(f)
        if kind == SLOPE:
            return (r - 1.0 / r) / f
        return 1.0 / f if kind == SHARE else (4.0 + t * (r + 1.0 / r)) / (f * f)
    f = 1.0 + r * (k + l * r)
    if kind == COST:
        return log1p(r * (k + l * r))
    if kind == SLOPE:
        return r * (k + 2.0 * l * r) / f
    return k * r / f if kind == SHARE else r * (k + l * r * (4.0 + k * r)) / (f * f)


cdef inline Py_ssize_t reach(const Model* model, bint tied, bint better) noexcept nogil:
    """Return the largest offset of boxes at which a pair is neither line nor 0, to 1e-17.

    Of a better row above a worse one, or the other way.
    """
    cdef double gap = log(model.tie) if tied else log(model.win)
    if not tied and not better and model.square == 0.0:
        gap = -gap
    gap = (39.0 + fmax(gap, 0.0)) / model.scale
    return <Py_ssize_t> ceil(0.5 * gap) + 1 if gap < 1e6 else 500_000
