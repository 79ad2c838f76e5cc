"""Rows in the order of their scores, and the boxes of scores that hold them."""

from libc.math cimport floor

cdef enum:
    CELL = 128  # width, of which exp is a number


cdef struct Side:  # some rows by score, lowest first, and the boxes that hold them
    Py_ssize_t n, n_boxes
    bint multiplied
    Py_ssize_t* rows  # places
    double* t  # score from the centre of its box, from -1 to 1
    double* e  # exp(scale (score - centre of its cell))
    double* inverse  # of e
    double* u  # its part of the pairs' weight, where pairs weigh
    double* v  # direction, if there is one
    double* uv  # u times v
    double* m  # what multiplies all its pairs, if ``multiplied``
    double* mu  # m times u, and so on: what moments are of
    double* mv
    double* fraction  # product of the costs of its pairs, where pairs weigh
    double* power  # of two, by which that is multiplied
    double* total  # sums over pairs of each row, without its own m
    Py_ssize_t* begin  # (n_boxes + 1,)
    Py_ssize_t* slot  # (n_boxes,), where its moments are; -1 for none
    Py_ssize_t* used  # (n_boxes,), factors in the fractions of its rows
    double* centre  # (n_boxes,)
    double* cell  # (n_boxes,), the centre of its cell
    double* sums  # (n_boxes + 1, 4), up to each box: rows, u, score, u times score


cdef inline double centre_of(double score) noexcept nogil:
    """Return the centre of the box of a score, an odd whole number."""
    return 2.0 * floor(0.5 * score) + 1.0


cdef inline double cell_of(double score) noexcept nogil:
    """Return the centre of the cell of a score, which holds whole boxes."""
    return CELL * (floor(score / CELL) + 0.5)
