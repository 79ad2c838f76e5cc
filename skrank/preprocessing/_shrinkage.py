"""Variances inside lists, shrunk towards the common variance of training lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import polygamma

from skrank._data.grouping import Grouping
from skrank._data.lists import Floats, Indices, Lists
from skrank.preprocessing._blocks import canonical, list_blocks
from skrank.preprocessing._list_scales import (
    Cells,
    centred_in_spans,
    over_deviation,
    squares_of_cells,
)

# Rows; a common variance that counts more leaves a list's own no say.
MOST = 1e4
FEWEST = 3  # lists below which a spread of variances cannot be estimated


@dataclass(frozen=True, slots=True)
class Shrinkage:
    r"""The deviation :math:`\sigma` of each feature inside lists, and its strength k.

    A list of n rows with the sum of squares Q about its mean has the variance
    :math:`(Q + k \sigma^2) / (n - 1 + k)`.

    If variances of lists follow a scaled inverse chi-squared law with k degrees of
    freedom, then :math:`z = \log(Q / d) - \psi(d / 2) + \log(d / 2)`, with d = n - 1,
    has the variance :math:`\psi'(d / 2) + \psi'(k / 2)` about the same mean for all
    lists; k follows from the spread of z, weighted by d, as in Smyth (2004).
    """

    deviation: Floats
    strength: Floats

    @classmethod
    def learn(cls, X: Any, grouping: Grouping, strength: float | None) -> Shrinkage:
        """Return the deviations of a table's features; None estimates the strength."""
        n_features = X.shape[1]
        n_lists, weight, first, second, noise = np.zeros((5, n_features))
        for log_squares, column, degrees in _variances(X, grouping):
            # Chance gives log(Q / d) the mean psi(d / 2) - log(d / 2), which is
            # subtracted here, and the variance psi'(d / 2), which is summed as noise.
            z = log_squares - np.log(degrees)
            z += np.log(degrees / 2.0) - polygamma(0, degrees / 2.0)
            n_lists += np.bincount(column, minlength=n_features)
            for total, values in [
                (weight, degrees),
                (first, degrees * z),
                (second, degrees * z * z),
                (noise, degrees * polygamma(1, degrees / 2.0)),
            ]:
                total += np.bincount(column, values, n_features)
        divisor = np.where(weight > 0, weight, 1.0)
        centre = first / divisor
        # Features with values beyond float64 overflow here, and are left as they are.
        with np.errstate(over="ignore"):
            deviation = np.where(weight > 0, np.exp(centre / 2.0), 0.0)
        if strength is not None:
            return cls(deviation, np.full(n_features, float(strength)))
        # What the spread of z exceeds that of chance by is psi'(k / 2).
        excess = (second / divisor - centre**2) - noise / divisor
        excess[n_lists < FEWEST] = 0.0
        return cls(deviation, _degrees_of(excess))

    def divide(self, X: Floats, lists: Lists, *, centre: bool) -> Floats:
        """Divide rows by the deviation of their list, after centring or without."""
        values = X if centre else X.copy()
        z, squares, span = centred_in_spans(values, lists)
        share = self._share(
            squares, span, lists.sizes[:, None], self.deviation, self.strength
        )
        if not centre:
            return over_deviation(X, share, span, lists)
        z /= lists.expand(np.where(share > 0, share, 1.0))
        return z

    def divide_sparse(self, block: Any, lists: Lists, *, sample: bool) -> Floats:
        """Divide the stored values of CSR rows by the deviation of their list.

        With ``sample`` variances are over one less than the number of rows.
        """
        values = block.data.astype(np.float64)
        if not len(values):
            return values
        cells = Cells(block, lists)
        squares, unit = squares_of_cells(values, cells, lists)
        deviation, strength = self.deviation[cells.column], self.strength[cells.column]
        n = lists.sizes[cells.list_of] + (0 if sample else 1)
        share = self._share(squares, unit, n, deviation, strength)
        share[squares == 0] = np.inf  # constants become 0
        return cells.divide(cells.divide(values, unit), share)

    @staticmethod
    def _share(
        squares: Floats, unit: Floats, n: Any, deviation: Floats, strength: Floats
    ) -> Floats:
        """Return the deviation of lists in units, from sums of squares in units."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            common = np.where(unit > 0, deviation / unit, 0.0)
            share = np.sqrt((squares + strength * common**2) / (n - 1 + strength))
        return np.where(np.isnan(share), 0.0, share)


def _degrees_of(excess: Floats) -> Floats:
    """Return k with trigamma(k / 2) equal to the excess variance, at most ``MOST``.

    Newton's method on 1 / trigamma, which is nearly straight (Smyth 2004, appendix).
    """
    least = float(polygamma(1, MOST / 2.0))
    target = np.clip(excess, least, 1e6)
    # The start is above the root, and Newton's steps fall to it.
    half = 0.5 + 1.0 / target
    for _ in range(50):
        slope = polygamma(1, half)
        step = slope * (1.0 - slope / target) / polygamma(2, half)
        half += step
        if np.max(-step / half) < 1e-10:
            break
    return 2.0 * half


def _variances(X: Any, grouping: Grouping) -> Iterator[tuple[Floats, Indices, Floats]]:
    """Yield log sums of squares about the mean, for lists and features that vary.

    Each comes with its column and its degrees of freedom: the rows of the list less
    one.
    """
    is_sparse = sparse.issparse(X)
    if is_sparse and grouping.rows is not None:
        X = X[grouping.rows]
    for place, lists in list_blocks(X, grouping.lists):
        if is_sparse:
            block = canonical(X[place])
            if not block.nnz:
                continue
            cells = Cells(block, lists)
            squares, unit = squares_of_cells(
                block.data.astype(np.float64), cells, lists
            )
            list_of, column = cells.list_of, cells.column
        else:
            rows = place if grouping.rows is None else grouping.rows[place]
            _, squares, unit = centred_in_spans(X[rows].astype(np.float64), lists)
            list_of, column = (axis.ravel() for axis in np.indices(squares.shape))
            squares, unit = squares.ravel(), unit.ravel()
        varies = (squares > 0) & np.isfinite(unit)
        squares, unit = squares[varies], unit[varies]
        degrees = lists.sizes[list_of[varies]] - 1.0
        yield np.log(squares) + 2.0 * np.log(unit), column[varies], degrees
