"""Take fitted pipelines and searches apart: the last model, and what it sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank._data.checks import refuse_lazy


def without_search(
    estimator: Any, names: Sequence[str] = ("best_estimator_", "ranker_")
) -> Any:
    """Return the model that a search keeps under one of the names, or the estimator."""
    for name in names:
        if hasattr(estimator, name):
            return without_search(getattr(estimator, name), names)
    return estimator


def last_step(estimator: Any) -> Any:
    """Return the last model of a pipeline or search, which need not see any data."""
    model = without_search(estimator)
    return last_step(model.steps[-1][1]) if hasattr(model, "steps") else model


def with_best_model(estimator: Any) -> Any:
    """Replace a search, also as the last step of pipelines, by its best model.

    A search's ``predict`` takes X alone; that of ``RankerCV``, which stays, takes what
    its ranker takes.
    """
    estimator = without_search(estimator, ["best_estimator_"])
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        model = with_best_model(last)
        if model is not last:
            return Pipeline([*estimator.steps[:-1], (name, model)])
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
