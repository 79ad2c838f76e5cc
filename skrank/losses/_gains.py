"""Gains of labels, safe for labels of thousands."""

from __future__ import annotations

import numpy as np

from skrank._data.lists import Floats, Lists


def relative_gains(y: Floats, lists: Lists) -> Floats:
    """Return ``(2**y - 1) / 2**best`` of each row, with the best label of its list."""
    return np.exp2(y - lists.expand(lists.max(y))) * -np.expm1(-y * np.log(2.0))
