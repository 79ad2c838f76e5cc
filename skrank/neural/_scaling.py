"""Standardise columns over all rows or inside each list, at any scale of numbers."""

from __future__ import annotations

import numpy as np

from skrank._data.grouping import Grouping
from skrank._data.lists import Floats, Indices, Lists
from skrank.preprocessing._shrinkage import Shrinkage

# In standard deviations. Squares of larger values would overflow float32.
LARGEST = 1e15


class Standardizer:
    """Give columns mean 0 and variance about 1.

    Over all rows, the mean of the rows in ``fit`` is subtracted, and values are divided
    by their standard deviation. Inside lists, these are the mean and the deviation of
    each list. The deviation is shrunk towards that of the lists in ``fit``, as
    :class:`QueryScaler` does with ``shrinkage="auto"``, since that of a short list is
    mostly chance. Columns that are constant (inside every list) in ``fit`` become 0.

    Columns are first divided by a power of two about their largest size, so that
    squares neither overflow nor underflow.

    Parameters
    ----------
    name : str
        Name of the rows, for messages.
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
            lists = Lists(sizes)
            grouping = Grouping(lists, None, np.arange(lists.n_lists))
            self.shrinkage = Shrinkage.learn(scaled, grouping, None)
            return self
        self.mean = scaled.sum(axis=0) / n_rows
        variance = np.square(scaled - self.mean).sum(axis=0) / n_rows
        self.deviation = np.sqrt(np.where(variance == 0, 1.0, variance))
        return self

    def transform(self, rows: Floats, sizes: Indices) -> Floats:
        """Return rows (n_rows, n_columns) standardised, a copy."""
        if not len(rows):
            return rows.copy()
        with np.errstate(over="ignore", invalid="ignore"):  # an error below
            scaled = np.ldexp(rows, -self.exponent)
            scaled -= self.low
            if self.by_list:
                scaled = self.shrinkage.divide(scaled, Lists(sizes), centre=True)
                scaled[:, self.shrinkage.deviation == 0] = 0.0
            else:
                scaled -= self.mean
                scaled /= self.deviation
        # The comparison is negated, so that NaN is refused too.
        far = ~(np.abs(scaled).max(axis=0) <= LARGEST)
        if far.any():
            raise ValueError(
                f"column {int(np.argmax(far))} of {self.name} holds values more than "
                f"{LARGEST:g} standard deviations away from those in fit. Check its "
                "units."
            )
        return scaled
