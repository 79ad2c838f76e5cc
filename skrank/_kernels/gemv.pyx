"""Two BLAS products in one call: they share the cache and do not hold Python's lock.

After the loss of one block of rows X, with r its derivatives in the scores, and before
that of the next block X',

    gradient <- gradient + factor X^T r,    scores' = X' coef

A thread that returned to Python after each product would wait for the other threads
there. Blocks small enough for the cache would then spend most of their time waiting. See
doc/math/computing.md, section "A block at a time".
"""

from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer

from scipy.linalg import cython_blas

cdef enum:
    PIECE_BYTES = 1 << 18  # pieces read last are multiplied first, while in the cache

# Start of the signature, which differs in a SciPy that is built for long integers.
cdef bytes SIGNATURE = b"void (char *, int *, int *, "

ctypedef void (*Gemv)(
    char*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*
) noexcept nogil

cdef object _capsule = cython_blas.__pyx_capi__["dgemv"]
cdef const char* _name = PyCapsule_GetName(_capsule)
cdef Gemv gemv = <Gemv> PyCapsule_GetPointer(_capsule, _name)
available = (<bytes> _name).startswith(SIGNATURE)


def gradient_then_scores(
    const double[:, ::1] X,
    const double[::1] slope,
    double factor,
    double[::1] gradient,
    const double[:, ::1] following,
    const double[::1] coef,
    double[::1] scores,
):
    """Add ``factor * X.T @ slope`` to a gradient, then find ``following @ coef``.

    Parameters
    ----------
    X : array of shape (n_rows, n_features) or None
        Features of a block; None for the scores alone.
    slope : array of shape (n_rows,) or None
        Derivative of the loss in the scores of its rows.
    factor : float
        Multiplies the product.
    gradient : array of shape (n_features,)
        Added to.
    following : array of shape (n_following, n_features) or None
        Features of the next block; None for the gradient alone.
    coef : array of shape (n_features,)
        Weights.
    scores : array of shape (n_following,) or None
        Filled with the scores of its rows.

    Raises
    ------
    ValueError
        If shapes do not fit.
    """
    cdef int width = <int> gradient.shape[0], n, start, piece, place, one = 1
    cdef double unit = 1.0
    cdef char plain = b"N", transposed = b"T"
    if X is not None and (X.shape[0] != slope.shape[0] or X.shape[1] != width):
        raise ValueError(
            f"a slope of {slope.shape[0]} rows for features of shape "
            f"{(X.shape[0], X.shape[1])}."
        )
    if following is not None and (
        following.shape[0] != scores.shape[0]
        or following.shape[1] != width
        or coef.shape[0] != width
    ):
        raise ValueError("features, weights and scores do not fit each other.")
    with nogil:
        if X is not None:
            piece = max(1, PIECE_BYTES // (8 * width))
            start = <int> X.shape[0]
            while start > 0:
                n = min(piece, start)
                start -= n
                gemv(
                    &plain, &width, &n, &factor, <double*> &X[start, 0], &width,
                    <double*> &slope[start], &one, &unit, &gradient[0], &one,
                )
        if following is not None:
            n = <int> following.shape[0]
            for place in range(n):  # some BLAS multiply old values by a beta of 0
                scores[place] = 0.0
            gemv(
                &transposed, &width, &n, &unit, <double*> &following[0, 0], &width,
                <double*> &coef[0], &one, &unit, &scores[0], &one,
            )
