"""Coordinate descent on a quadratic with a penalty on absolute values, within bounds.

Minimises, over z from low to high,

    g' (z - x) + (z - x)' B (z - x) / 2 + sum_j l1_j |z_j|

one coordinate after the other. With r the slope at z of the part without |z|,

    a = B_jj z_j - r_j
    z_j <- clip(sign(a) max(|a| - l1_j, 0) / B_jj, low_j, high_j)
    r <- r + (change of z_j) B_j

Along one coordinate the objective is convex, so that the nearest value within bounds to
its minimum is its minimum there. See doc/math/solver.md, section "Kinks and bounds".
"""

from libc.math cimport fabs


def descend(
    const double[:, ::1] matrix not None,
    double[::1] slope not None,
    double[::1] point not None,
    const double[::1] l1 not None,
    const double[::1] low not None,
    const double[::1] high not None,
    int n_sweeps,
    double share,
):
    """Sweep over all coordinates, in place; return the last sweep's largest fall.

    Parameters
    ----------
    matrix : array of shape (n, n)
        B, symmetric. Coordinates whose diagonal is not positive stay as they are.
    slope : array of shape (n,)
        r at ``point``; kept up to date.
    point : array of shape (n,)
        z; changed.
    l1, low, high : array of shape (n,)
        Penalties and bounds.
    n_sweeps : int
        Most sweeps.
    share : float
        Stop when no coordinate of a sweep falls by more than this share of the largest
        fall so far, in units of twice the quadratic: :math:`B_{jj} \\delta_j^2`.

    Returns
    -------
    fall : float
        The largest fall of the last sweep, in these units.
    largest : float
        That of all sweeps.

    Raises
    ------
    ValueError
        If shapes do not fit.
    """
    cdef Py_ssize_t n = point.shape[0], j, k
    cdef int _sweep
    cdef double fall = 0.0, largest = 0.0, curve, a, b, change
    if (
        slope.shape[0] != n or l1.shape[0] != n
        or low.shape[0] != n or high.shape[0] != n
    ):
        raise ValueError(
            f"slope, penalties and bounds must have {n} entries, as the point has."
        )
    if matrix.shape[0] != n or matrix.shape[1] != n:
        raise ValueError(
            f"the matrix must have {n} rows and columns, got "
            f"{(matrix.shape[0], matrix.shape[1])}."
        )
    with nogil:
        for _sweep in range(n_sweeps):
            fall = 0.0
            for j in range(n):
                curve = matrix[j, j]
                if not curve > 0.0:
                    continue
                # Along coordinate j the quadratic is least at a / curve. The penalty
                # pulls that point towards 0 by l1 / curve, and no further than 0.
                a = curve * point[j] - slope[j]
                b = fabs(a) - l1[j]
                if b <= 0.0:
                    b = 0.0
                elif a < 0.0:
                    b = -b / curve
                else:
                    b = b / curve
                if b < low[j]:
                    b = low[j]
                if b > high[j]:
                    b = high[j]
                change = b - point[j]
                if change == 0.0:
                    continue
                point[j] = b
                # A row of the matrix serves as its column, since the matrix is
                # symmetric, and is contiguous in memory.
                for k in range(n):
                    slope[k] += change * matrix[j, k]
                fall = max(fall, curve * change * change)
            largest = max(largest, fall)
            if fall <= share * largest:
                break
    return fall, largest
