r"""The part of an objective that is not smooth: a penalty on absolute values, bounds.

A linear ranker minimises :math:`\Phi(x) = F(x) + \sum_j \lambda_j |x_j|` within
:math:`l \le x \le u`, with F smooth and x the weights and the loss's own parameters.
Along each parameter :math:`\Phi` has a slope to either side,

.. math::

    r_j = \partial_j F + \lambda_j \,(1 \text{ if } x_j \ge 0 \text{ else} -1), \qquad
    l_j = \partial_j F + \lambda_j \,(1 \text{ if } x_j > 0 \text{ else} -1),

and x is optimal if no step lowers :math:`\Phi`: there is no r < 0 below the upper
bound, and no l > 0 above the lower one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrank._data.lists import Floats


class Terms(NamedTuple):
    """The part of an objective that is not smooth, for all parameters.

    Attributes
    ----------
    l1 : ndarray of shape (n_parameters,)
        Strength of the penalty on each absolute value.
    low, high : ndarray of shape (n_parameters,)
        Bounds; equal where a parameter is held.
    """

    l1: Floats
    low: Floats
    high: Floats

    def value(self, parameters: Floats) -> float:
        """Return the sum of penalties."""
        return float(self.l1 @ np.abs(parameters))

    def nearest(self, parameters: Floats) -> Floats:
        """Return the nearest parameters within bounds."""
        return np.clip(parameters, self.low, self.high)

    def subgradient(self, parameters: Floats, gradient: Floats) -> Floats:
        """Return the least subgradient: the slope of the steepest way down, or 0."""
        # Slopes to either side: |x| has slope 1 to the right of 0 and -1 to its left,
        # so they differ only where a parameter is exactly 0.
        right = gradient + np.where(parameters >= 0, self.l1, -self.l1)
        left = gradient + np.where(parameters > 0, self.l1, -self.l1)
        least = np.zeros(len(parameters))
        # If the right slope is negative, a step to the right lowers the objective; if
        # the left slope is positive, a step to the left does. By convexity not both
        # hold at once.
        up = (right < 0) & (parameters < self.high)
        down = (left > 0) & (parameters > self.low)
        least[up] = right[up]
        least[down] = left[down]
        return least

    def take(self, chosen: NDArray[Any]) -> Terms:
        """Return the terms of some parameters."""
        return Terms(self.l1[chosen], self.low[chosen], self.high[chosen])


class Penalised:
    r"""Base of objectives: the penalty and the bounds of the weights.

    Attributes
    ----------
    alpha : float
        Strength of the penalty.
    l1_ratio : float
        Share :math:`\rho` of the penalty on absolute values.
    bounds : tuple of two ndarray of shape (n_features,), or None
        Least and largest weights.
    """

    alpha: float
    l1_ratio: float = 0.0
    bounds: tuple[Floats, Floats] | None = None
    data: Any
    loss: Any
    n_features: int
    extra_start: Floats

    @property
    def start(self) -> Floats:
        """Zero weights, and the start of the loss's own parameters."""
        return np.concatenate((np.zeros(self.n_features), self.extra_start))

    @property
    def ridge(self) -> float:
        """Strength of the penalty on squares."""
        return self.alpha * (1.0 - self.l1_ratio)

    @property
    def lasso(self) -> float:
        """Strength of the penalty on absolute values."""
        return self.alpha * self.l1_ratio

    @property
    def is_smooth(self) -> bool:
        """Return whether there is neither a penalty on absolute values nor a bound."""
        return self.lasso == 0.0 and self.bounds is None

    def terms(self) -> Terms:
        """Return the part that is not smooth.

        Weights that cannot rank are held where they are nearest to 0.
        """
        n_extra = len(self.extra_start)
        limit = np.full(n_extra, self.loss.extra_limit)
        low, high = -limit, limit
        if self.bounds is None:
            infinite = np.full(self.n_features, np.inf)
            low, high = np.append(-infinite, low), np.append(infinite, high)
        else:
            low, high = np.append(self.bounds[0], low), np.append(self.bounds[1], high)
        if self.data.constant is not None:
            # The data give no reason for any weight of these, so the penalty alone
            # decides.
            held = np.flatnonzero(self.data.constant)
            low[held] = high[held] = np.clip(0.0, low[held], high[held])
        l1 = np.append(np.full(self.n_features, self.lasso), np.zeros(n_extra))
        return Terms(l1, low, high)

    def at_bounds(self, coef: Floats) -> NDArray[np.bool_]:
        """Return which weights equal one of their bounds, if their feature can rank."""
        if self.bounds is None:
            return np.zeros(len(coef), dtype=bool)
        held = (coef == self.bounds[0]) | (coef == self.bounds[1])
        return held if self.data.constant is None else held & ~self.data.constant

    def unbounded(self, direction: Floats) -> Floats:
        """Return a direction without the parts along which weights meet a bound."""
        if self.bounds is None:
            return direction
        low, high = self.bounds
        # A direction of endless decrease needs infinite room along each of its entries.
        walled = np.where(
            direction[: len(low)] > 0, np.isfinite(high), np.isfinite(low)
        )
        kept = direction.copy()
        kept[: len(low)][walled] = 0.0
        return kept

    def penalty_with_kinks(self, parameters: Floats) -> float:
        """Return the penalty on absolute values."""
        if self.lasso == 0.0:
            return 0.0
        return self.lasso * float(np.abs(parameters[: self.n_features]).sum())
