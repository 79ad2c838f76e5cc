"""Find weights of ties without a finite best value."""

from __future__ import annotations

import numpy as np

from skrank._data.lists import Indices, Levels


def rows_of_stages(levels: Levels) -> Indices:
    """Return the number of rows at each stage: those of its level and below."""
    ends = np.repeat(levels.starts[levels.offsets[1:]], levels.n_levels)
    return ends - levels.starts[:-1]


def sizes_that_grow(taken: Indices, rows: Indices) -> Indices:
    """Return the sizes of ties whose weights have no finite best value.

    A weight has a finite best value if a stage with at least so many rows takes another
    size whose weight has one, as the weight of one row has. So this holds for all sizes
    up to some number; all stages with more rows than that take more rows than that.

    Parameters
    ----------
    taken, rows : ndarray of int of shape (n_stages,)
        Number of rows that each stage takes, and that remain at it.

    Returns
    -------
    sizes : ndarray of int
        Sizes that occur without a finite best weight, increasing.
    """
    longest = np.zeros(int(rows.max()) + 1, dtype=np.intp)
    np.maximum.at(longest, taken, rows)
    longest = np.maximum.accumulate(longest)
    held = 1
    while longest[held] > held:
        held = int(longest[held])
    return np.unique(taken[taken > held])
