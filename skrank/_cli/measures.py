"""Measures by name, with the highest grade of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank.metrics import RankingScorer
from skrank.metrics._registry import look_up, named_scorer
from skrank.model_selection._named_metrics import Metric, list_metric


def scorer_of(
    name: str, max_grade: float, empty_as_zero: bool = False
) -> RankingScorer:
    """Return a scorer whose highest grade is that of the data."""
    metric = look_up(name)[0]
    options: dict[str, Any] = {"max_grade": max_grade} if metric.name == "err" else {}
    if metric.name == "ndcg" and empty_as_zero:
        options["empty"] = 0.0
    return named_scorer(name, **options)


def measure_of(name: str, max_grade: float, empty_as_zero: bool = False) -> Metric:
    """Return the function that gives one value of the measure per list."""
    if look_up(name)[0].name == "err" and max_grade <= 0:
        return _no_grades
    return list_metric(scorer_of(name, max_grade, empty_as_zero))


def _no_grades(y: Any, scores: Any, groups: Any) -> Any:
    """Raise ValueError that explains why ERR does not apply."""
    raise ValueError("all labels are 0" if np.max(y) == 0 else "no label is above 0")
