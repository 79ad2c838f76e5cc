"""Standardise columns over all rows or inside each list, at any scale of numbers."""

from __future__ import annotations

import numpy as np

from skrank._data.lists import Floats, Indices, Lists

# Rows that the spread over all lists counts for, beside the rows of a list.
SHRINKAGE = 5.0
# In standard deviations. Beyond, squares would overflow the float32 of training.
LARGEST = 1e15


class Standardizer:
    r"""Give columns mean 0 and variance about 1.

    Over all rows, a value becomes :math:`(x - \bar x) / s` with the mean and the
    standard deviation of the rows in ``fit``. Inside lists it becomes

    .. math:: \frac{x_i - \bar x_l}{s_l}, \qquad
        s_l^2 = \frac{\sum_{j \in l} (x_j - \bar x_l)^2 + k s^2}{n_l + k}

    with the mean of its own list l of n rows, k = 5, and s the standard deviation
    inside lists over all lists of ``fit``: the spread of a short list says little.
    Columns that are constant (inside every list) in ``fit`` become 0.

    Columns are first divided by a power of two about their largest size, so that
    squares neither overflow nor vanish.

    Parameters
    ----------
    name : str
        What the rows are, for messages.
    by_list : bool
        Whether lists are standardised each by itself.
    """

    def __init__(self, name: str, by_list: bool) -> None:
        self.name, self.by_list = name, by_list

    def fit(self, rows: Floats, sizes: Indices) -> Standardizer:
        """Learn from rows (n_rows, n_columns), together by list; there may be none."""
        self.n_columns = rows.shape[1]
        largest = np.abs(rows).max(axis=0, initial=0.0)
        self.exponent = np.frexp(largest)[1]
        scaled = np.ldexp(rows, -self.exponent)
        self.low = scaled.min(axis=0, initial=1.0) if len(rows) else np.zeros(1)
        scaled -= self.low  # constants become exactly 0
        n_rows = max(len(rows), 1)
        if self.by_list:
            squares = _centred(scaled, Lists(sizes))[1]
            self.mean = np.zeros(self.n_columns)
            variance = squares.sum(axis=0) / n_rows
        else:
            self.mean = scaled.sum(axis=0) / n_rows
            variance = np.square(scaled - self.mean).sum(axis=0) / n_rows
        self.deviation = np.sqrt(variance)
        return self

    def transform(self, rows: Floats, sizes: Indices) -> Floats:
        """Return rows (n_rows, n_columns) standardised, a copy."""
        if not len(rows):
            return rows.copy()
        with np.errstate(over="ignore", invalid="ignore"):  # an error below
            scaled = np.ldexp(rows, -self.exponent)
            scaled -= self.low
            scaled -= self.mean
            if self.by_list:
                scaled = self._inside_lists(scaled, Lists(sizes))
            else:
                scaled /= np.where(self.deviation == 0, 1.0, self.deviation)
        # Negated, so that NaN is refused too.
        far = ~(np.abs(scaled).max(axis=0) <= LARGEST)
        if far.any():
            raise ValueError(
                f"column {int(np.argmax(far))} of {self.name} holds values more than "
                f"{LARGEST:g} standard deviations away from those in fit. Check its "
                "units."
            )
        return scaled

    def _inside_lists(self, scaled: Floats, lists: Lists) -> Floats:
        """Return values less the mean of their list, over its shrunk deviation."""
        centred, squares = _centred(scaled, lists)
        # In units of the deviation over all lists, which makes it 1.
        unit = np.where(self.deviation == 0, np.inf, self.deviation)
        centred /= unit
        shrunk = squares / np.square(unit) + SHRINKAGE
        shrunk /= lists.sizes[:, None] + SHRINKAGE
        centred /= lists.expand(np.sqrt(shrunk))
        return centred


def _centred(rows: Floats, lists: Lists) -> tuple[Floats, Floats]:
    """Return rows less the mean of their list, and sums of squares by list."""
    rows = rows - lists.expand(lists.min(rows))  # equal values become exactly 0
    rows -= lists.expand(lists.sum(rows) / lists.sizes[:, None])
    return rows, lists.sum(np.square(rows))
