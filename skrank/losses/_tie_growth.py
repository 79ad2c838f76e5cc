"""Which weights of ties the data leave without a finite best value."""

from __future__ import annotations

import numpy as np

from skrank._data.lists import Indices, Levels


def rows_of_stages(levels: Levels) -> Indices:
    """Return the number of rows that each level was taken from: its own and below."""
    ends = np.repeat(levels.starts[levels.offsets[1:]], levels.n_levels)
    return ends - levels.starts[:-1]


def sizes_that_grow(taken: Indices, rows: Indices) -> Indices:
    """Return the sizes of ties whose weights have no finite best value.

    A weight is held where a stage of at least its size takes another size whose
    weight is held, as that of one row is. So all sizes up to some number are, and all
    stages of more rows take more rows than that.

    Parameters
    ----------
    taken, rows : ndarray of int of shape (n_stages,)
        Number of rows that each stage takes, and takes them from.

    Returns
    -------
    sizes : ndarray of int
        Sizes that are taken and not held, increasing.
    """
    longest = np.zeros(int(rows.max()) + 1, dtype=np.intp)
    np.maximum.at(longest, taken, rows)
    longest = np.maximum.accumulate(longest)
    held = 1
    while longest[held] > held:
        held = int(longest[held])
    return np.unique(taken[taken > held])
