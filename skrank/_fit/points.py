"""Points of a search, and what searches with kinks or bounds share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank._data.lists import Floats
from skrank._fit.objective import LinearObjective


class Point(NamedTuple):
    """Parameters, the objective there, and its gradient."""

    parameters: Floats
    value: float
    gradient: Floats


def not_finite(name: str, where: str) -> str:
    """Return the message for an objective that is not finite somewhere."""
    return (
        f"The objective of {name} is not finite {where}. X holds values so large or so "
        "small that sums over them overflow or vanish: scale X, for example with "
        "StandardScaler. With a loss of your own, see that it returns numbers."
    )


def known_start(objective: LinearObjective, start: Floats) -> Point | None:
    """Return the smooth objective at a start where another penalty's fit ended.

    Only the penalty differs. Returns None for other starts.
    """
    last, ridge = objective.shared.get("last", (None, 0.0))
    if last is None or not np.array_equal(last.parameters, start):
        return None
    # With another ridge a', the value changes by (a' - a) |w|^2 / 2 and the gradient by
    # (a' - a) w; the data need not be read again.
    coef = start[: objective.n_features]
    pull = (objective.ridge - ridge) * coef
    gradient = last.gradient.copy()
    gradient[: len(coef)] += pull
    return Point(start, last.value + 0.5 * float(pull @ coef), gradient)


def why_stopped(reason: str) -> tuple[str, str]:
    """Return why a search stopped early, "limit" or else stuck, and advice."""
    if reason == "limit":
        return "it reached max_iter", "Raise max_iter, scale X, or raise alpha."
    return "no step lowers the objective", "Scale X, raise alpha, or raise tol."


class KinkedSearch:
    """Base of searches with a penalty on absolute values, or bounds.

    Values are those of the whole objective, the penalty on absolute values included;
    gradients are those of the smooth part.
    """

    at: Point

    def __init__(self, objective: LinearObjective, start: Floats, name: str) -> None:
        self.objective, self.terms = objective, objective.terms()
        self.start, self.name = self.terms.nearest(start), name
        self.n_iter = self.n_evaluations = 0

    def evaluate_zero(self) -> None:
        """Evaluate at zero weights, where no fit of a path has; take the unit there."""
        shared, p = self.objective.shared, self.objective.n_features
        if "zero" not in shared:
            shared["zero"] = self.evaluate(self.objective.start)
        self.zero: Point = shared["zero"]
        slopes = np.abs(self.zero.gradient)
        largest = float(np.max(slopes[:p], initial=0.0))
        if largest == 0.0:  # extra parameters alone matter
            largest = float(np.max(slopes, initial=0.0))
        if not np.isfinite(self.zero.value + largest):
            raise ValueError(not_finite(self.name, "at zero weights"))
        self.unit = largest or 1.0

    def evaluate_start(self, known: Point | None = None) -> None:
        """Evaluate at the start, unless the point there is known."""
        if np.array_equal(self.start, self.objective.start):
            self.at = self.zero
        else:
            self.at = known or self.evaluate(self.start)
        if not np.isfinite(self.at.value):
            raise ValueError(not_finite(self.name, "where the fit starts"))
        self.highest = max(self.zero.value, self.at.value)

    def evaluate(self, parameters: Floats) -> Point:
        """Evaluate the whole objective at some parameters."""
        self.n_evaluations += 1
        value, gradient = self.objective(parameters)
        return Point(parameters, value + self.terms.value(parameters), gradient)

    def subgradient(self, point: Point) -> Floats:
        """Return the least subgradient at a point."""
        return self.terms.subgradient(point.parameters, point.gradient)

    def size(self, slope: Floats) -> float:
        """Return the largest entry of a slope, in units of that at zero weights."""
        return float(np.max(np.abs(slope), initial=0.0)) / self.unit

    def smooth_point(self) -> Point:
        """Return the current point, with the value of the smooth part."""
        at = self.at
        return at._replace(value=at.value - self.terms.value(at.parameters))
