"""Scale the values of a table inside each list: numerical parts of QueryScaler."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.lists import Floats, Indices, Lists


def _center(x: Floats, lists: Lists) -> Floats:
    # Divide by a power of two above four times the rows: it rounds no digits away.
    unit = _divided(x, lists, 2.0 ** (2 + int(lists.sizes.max()).bit_length()))
    x -= lists.expand(lists.min(x))  # so that constants and large means lose nothing
    x -= lists.expand(lists.sum(x) / lists.sizes[:, None])
    if unit is not None:
        x *= lists.expand(unit)
    return x


def _minmax(x: Floats, lists: Lists) -> Floats:
    return _with_spans(x, lists)[0]


def _with_spans(x: Floats, lists: Lists) -> tuple[Floats, Floats]:
    """Return values scaled to 0..1 in each list, and the span that divided them.

    The span is infinite where it exceeds float64.
    """
    unit = _divided(x, lists, 2.0)  # or the largest less the smallest may overflow
    low = lists.min(x)
    span = lists.max(x) - low
    x -= lists.expand(low)
    x /= lists.expand(np.where(span == 0, 1.0, span))
    with np.errstate(over="ignore"):
        return x, span if unit is None else span * unit


def centred_in_spans(x: Floats, lists: Lists) -> tuple[Floats, Floats, Floats]:
    """Return values less the mean of their list, in units of its span.

    Also returns each list's sum of their squares, and the span: the largest value less
    the smallest. Changes ``x``.
    """
    x, span = _with_spans(x, lists)
    x -= lists.expand(lists.sum(x) / lists.sizes[:, None])
    return x, lists.sum(x * x), span


def _divided(x: Floats, lists: Lists, parts: float) -> Floats | None:
    """Divide lists whose values are so large that ``parts`` of them would overflow.

    Returns the divisor of each list and column, or None where all are 1.
    """
    limit = np.finfo(np.float64).max / parts
    if max(-x.min(), x.max()) <= limit:
        return None
    large = np.maximum(-lists.min(x), lists.max(x)) > limit
    unit = np.where(large, parts, 1.0)
    x /= lists.expand(unit)
    return unit


def _standard(x: Floats, lists: Lists) -> Floats:
    # Values in units of the span have the same standard scores, and cannot overflow.
    x, squares, _ = centred_in_spans(x, lists)
    deviation = np.sqrt(squares / lists.sizes[:, None])
    x /= lists.expand(np.where(deviation == 0, 1.0, deviation))
    return x


def _max(x: Floats, lists: Lists) -> Floats:
    largest = lists.max(np.abs(x))
    x /= lists.expand(np.where(largest == 0, 1.0, largest))
    return x


def _rank(x: Floats, lists: Lists) -> Floats:
    n_rows = len(x)
    columns = np.ascontiguousarray(x.T)
    of_list = np.broadcast_to(lists.expand(np.arange(lists.n_lists)), columns.shape)
    order = np.lexsort((columns, of_list), axis=1)
    ordered = np.take_along_axis(columns, order, axis=1)
    is_first = np.ones(columns.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=is_first[:, 1:])
    is_first[:, lists.starts] = True
    begins = np.flatnonzero(is_first)
    sizes = np.diff(begins, append=columns.size)
    # Subtract the places of earlier lists, so that ranks of each list start from 0.
    middle = begins % n_rows + (sizes - 1) / 2.0
    ranks = np.repeat(middle, sizes).reshape(columns.shape)
    ranks -= lists.expand(lists.starts)
    ranks /= lists.expand(np.maximum(lists.sizes - 1, 1))
    ranks[:, lists.starts[lists.sizes == 1]] = 0.5
    out = np.empty(columns.shape)
    np.put_along_axis(out, order, ranks, axis=1)
    return out.T


def _deviation(x: Floats, lists: Lists) -> Floats:
    centred, squares, span = centred_in_spans(x.copy(), lists)
    del centred
    return over_deviation(x, np.sqrt(squares / lists.sizes[:, None]), span, lists)


def over_deviation(x: Floats, share: Floats, span: Floats, lists: Lists) -> Floats:
    """Divide values by ``share`` of the span of their list; constants become 0."""
    varies = share > 0  # where the span is 0, so are the values
    # Divide in two steps, since the span may be close to the largest number.
    inverse = np.where(varies, 1.0 / np.where(varies, share, 1.0), 0.0)
    beyond = np.isinf(span)
    if beyond.any():  # half of it is a number
        half = lists.max(x) / 2.0 - lists.min(x) / 2.0
        span = np.where(beyond, half, span)
        inverse = np.where(beyond, inverse / 2.0, inverse)
    x /= lists.expand(np.where(span > 0, span, 1.0))
    x *= lists.expand(inverse)
    return x


METHODS = {
    "center": _center,
    "deviation": _deviation,
    "max": _max,
    "minmax": _minmax,
    "rank": _rank,
    "standard": _standard,
}


class Cells:
    """Stored values of CSR rows by cell: one list and one column.

    Attributes
    ----------
    order : ndarray of shape (n_stored,)
        Permutation of the stored values that sorts them by cell.
    starts, sizes : ndarray of shape (n_cells,)
        First place in ``order`` of each cell with a stored value, and their number.
    list_of, column : ndarray of shape (n_cells,)
        The list and the column of each cell.
    """

    def __init__(self, block: Any, lists: Lists) -> None:
        n_columns = block.shape[1]
        of_row = lists.expand(np.arange(lists.n_lists))
        cell = np.repeat(of_row, np.diff(block.indptr)) * n_columns + block.indices
        self.order: Indices = np.argsort(cell, kind="stable")
        ordered = cell[self.order]
        self.starts: Indices = np.flatnonzero(np.diff(ordered, prepend=-1))
        self.sizes: Indices = np.diff(self.starts, append=len(ordered))
        first = ordered[self.starts]
        self.list_of, self.column = first // n_columns, first % n_columns

    def divide(self, values: Floats, divisor: Floats) -> Floats:
        """Return values over the divisor of their cell."""
        out = np.empty(len(values))
        out[self.order] = values[self.order] / np.repeat(divisor, self.sizes)
        return out


def over_largest(block: Any, lists: Lists) -> Floats:
    """Return stored values over the largest absolute one of their list and column."""
    values = block.data.astype(np.float64)
    if not len(values):
        return values
    cells = Cells(block, lists)
    largest = np.maximum.reduceat(np.abs(values)[cells.order], cells.starts)
    largest[largest == 0] = 1.0
    return cells.divide(values, largest)


def squares_of_cells(
    values: Floats, cells: Cells, lists: Lists
) -> tuple[Floats, Floats]:
    """Return each cell's sum of squares about its mean, with zeros, and a unit.

    Sums are in squares of the unit, which is the largest absolute value of the cell.
    """
    ordered = values[cells.order]
    unit = np.maximum.reduceat(np.abs(ordered), cells.starts)
    unit[unit == 0] = 1.0
    ordered = ordered / np.repeat(unit, cells.sizes)
    n = lists.sizes[cells.list_of]
    mean = np.add.reduceat(ordered, cells.starts) / n
    squares = np.add.reduceat(
        (ordered - np.repeat(mean, cells.sizes)) ** 2, cells.starts
    )
    squares += (n - cells.sizes) * mean**2
    # Where all values of a cell are the same, rounding must not look like variance.
    lowest = np.minimum.reduceat(ordered, cells.starts)
    highest = np.maximum.reduceat(ordered, cells.starts)
    squares[(lowest == highest) & (cells.sizes == n)] = 0.0
    return squares, unit
