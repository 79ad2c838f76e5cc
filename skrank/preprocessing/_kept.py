"""Keep products of features that correlate with the label, panel by panel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank._data.lists import Floats, Indices
from skrank.preprocessing._products import Products

EQUAL_DIGITS = 12  # to which correlations of equal products agree


class Kept(NamedTuple):
    """Products that are kept so far, sorted by the first feature, then the second.

    Attributes
    ----------
    pairs : ndarray of shape (n_kept, 2)
        The two features.
    correlation, mean, deviation : ndarray of shape (n_kept,)
        As in `Products`.
    strongest : float or None
        Largest absolute correlation of all products so far; None where all are
        constant.
    """

    pairs: Indices
    correlation: Floats
    mean: Floats
    deviation: Floats
    strongest: float | None

    @classmethod
    def nothing(cls) -> Kept:
        """Return an empty selection."""
        no = np.empty(0)
        return cls(np.empty((0, 2), dtype=np.intp), no, no, no, None)

    def joined(
        self, products: Products, first: int, threshold: float, squares: bool
    ) -> Kept:
        """Return these and those products of later features that pass a threshold."""
        shape = products.correlation.shape
        wanted = np.triu(np.ones(shape, dtype=bool), 0 if squares else 1)
        strength = np.abs(products.correlation)
        strength[~wanted | np.isnan(strength)] = -1.0
        before = -1.0 if self.strongest is None else self.strongest
        strongest = max(float(strength.max(initial=-1.0)), before)
        new = np.argwhere(strength > threshold)
        a, b = new.T
        return Kept(
            np.concatenate((self.pairs, new + first)),
            np.concatenate((self.correlation, products.correlation[a, b])),
            np.concatenate((self.mean, products.mean[a, b])),
            np.concatenate((self.deviation, products.deviation[a, b])),
            strongest if strongest >= 0 else None,
        )

    def strongest_of(self, most: int) -> Kept:
        """Return the strongest ones, at most so many; of equal ones the first.

        Round first: equal products, summed in another order, differ in their last
        digits.
        """
        if len(self.pairs) <= most:
            return self
        strength = np.round(np.abs(self.correlation), EQUAL_DIGITS)
        best_first = np.argsort(-strength, kind="stable")
        best = np.sort(best_first[:most])
        return Kept(
            self.pairs[best],
            self.correlation[best],
            self.mean[best],
            self.deviation[best],
            self.strongest,
        )
