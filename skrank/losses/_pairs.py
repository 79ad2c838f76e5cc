"""Numbers of pairs of rows inside lists."""

from __future__ import annotations

import numpy as np

from skrank._data.lists import Floats, Indices, Levels, Lists

# A list with more of them costs less by boxes of scores than pair by pair.
MOST_PAIRS_A_ROW = 250.0


def n_different(levels: Levels, lists: Lists) -> Floats:
    """Return the number of pairs with different labels in each list."""
    return n_pairs(lists.sizes) - n_tied(levels)


def n_tied(levels: Levels) -> Floats:
    """Return the number of pairs with equal labels in each list."""
    return np.add.reduceat(n_pairs(levels.sizes), levels.offsets[:-1])


def n_pairs(sizes: Indices) -> Floats:
    """Return the number of pairs in sets of some sizes."""
    return sizes * (sizes - 1.0) / 2.0
