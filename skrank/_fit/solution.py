"""The result of a solver."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank._data.lists import Floats
from skrank._fit.gram import Gram


class Solution(NamedTuple):
    """The result of a solver, and its cost.

    Attributes
    ----------
    parameters : ndarray of shape (n_parameters,)
        Weights, then the loss's own parameters.
    value : float
        The objective there.
    n_iter : int
        Number of iterations.
    problem : str or None
        Why the solver stopped early, for the ranker to warn of.
    gap : float
        Estimate of how far the value is above the least possible.
    n_evaluations, n_whitenings : int
        Numbers of evaluations of the objective, and of Gram matrices.
    sums : Gram or None
        The last Gram matrix.
    value_at_zero : float
        The objective at zero weights; with bounds that exclude these, that at the
        start where it is larger.
    """

    parameters: Floats
    value: float
    n_iter: int
    problem: str | None = None
    gap: float = np.nan
    n_evaluations: int = 0
    n_whitenings: int = 0
    sums: Gram | None = None
    value_at_zero: float = np.nan
