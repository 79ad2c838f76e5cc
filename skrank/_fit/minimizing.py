"""Choose the solver for an objective whose loss is smooth."""

from __future__ import annotations

from typing import Any

from skrank._data.lists import Floats
from skrank._fit.gram import free_features
from skrank._fit.lbfgs import minimize_lbfgs
from skrank._fit.objective import LinearObjective
from skrank._fit.proximal import minimize_proximal
from skrank._fit.solution import Solution
from skrank._fit.split import minimize_split
from skrank._fit.working_set import LARGEST, minimize_on_working_sets

# Features from which a few hundred of them, with a penalty that leaves most at 0, are
# solved much faster than all at once.
WIDE = 1000


def minimize_smooth(
    objective: LinearObjective, start: Floats, **settings: Any
) -> Solution:
    """Minimise by L-BFGS, or with kinks or bounds by proximal Newton steps.

    With very many features: on working sets if a penalty leaves most weights at 0, else
    by L-BFGS-B. ``settings`` are those of :func:`~skrank._fit.lbfgs.minimize_lbfgs`.
    """
    if objective.is_smooth:
        return minimize_lbfgs(objective, start, **settings)
    n_free = len(free_features(objective))
    if n_free <= WIDE:
        return minimize_proximal(objective, start, **settings)
    if objective.lasso > 0.0 and isinstance(objective, LinearObjective):
        return minimize_on_working_sets(objective, start, **settings)
    if n_free <= LARGEST:
        return minimize_proximal(objective, start, **settings)
    return minimize_split(objective, start, **settings)
