"""Pairs of rows inside lists: their weights and their number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank._data.lists import Floats, Indices, Levels, Lists

# For lists with more pairs a row, boxes of scores are faster than pair by pair.
MOST_PAIRS_A_ROW = 250.0


class Pairs(NamedTuple):
    """The pairs of each list: its levels, and the weights of pairs, if not 1.

    ``gains`` has one entry a level; a pair weighs the difference of two of them.
    ``shares`` has one entry a place; a pair weighs the share of its better row.
    """

    levels: Levels
    gains: Floats | None = None
    shares: Floats | None = None

    def weighed(self, shares: Floats) -> Pairs:
        """Return the pairs by shares of rows, in the order of the rows."""
        return self._replace(shares=shares[self.levels.order])


def n_different(levels: Levels, lists: Lists) -> Floats:
    """Return the number of pairs with different labels in each list."""
    return n_pairs(lists.sizes) - n_tied(levels)


def n_tied(levels: Levels) -> Floats:
    """Return the number of pairs with equal labels in each list."""
    return np.add.reduceat(n_pairs(levels.sizes), levels.offsets[:-1])


def n_pairs(sizes: Indices) -> Floats:
    """Return the number of pairs in sets of these sizes."""
    return sizes * (sizes - 1.0) / 2.0
