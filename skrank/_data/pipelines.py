"""Take fitted pipelines and searches apart: the last model, and what it sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sklearn
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank._data.checks import refuse_lazy


def without_search(estimator: Any) -> Any:
    """Return the model that a search found, or the estimator itself."""
    for name in ("best_estimator_", "ranker_"):
        if hasattr(estimator, name):
            return without_search(getattr(estimator, name))
    return estimator


def last_model(
    estimator: Any, X: Any, groups: Any, visit: Callable[[Any, Any], None] | None = None
) -> tuple[Any, Any]:
    """Return the last model of a pipeline or search, and X as it sees it.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like of shape (n_rows, n_features)
        Features, as the estimator takes them.
    groups : array-like of shape (n_rows,) or None
        Passed to the steps that request them.
    visit : callable, default=None
        Called with each step and its output.
    """
    refuse_lazy(X, "X")
    model = without_search(estimator)
    if not hasattr(model, "steps"):
        return model, X
    with sklearn.config_context(enable_metadata_routing=True):
        for _, step in model.steps[:-1]:
            if step is None or (isinstance(step, str) and step == "passthrough"):
                continue
            wanted = get_routing_for_object(step).consumes("transform", ["groups"])
            X = step.transform(X, **dict.fromkeys(wanted, groups))
            if visit is not None:
                visit(step, X)
    return last_model(model.steps[-1][1], X, groups, visit)
