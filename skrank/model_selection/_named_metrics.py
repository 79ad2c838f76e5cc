"""Metrics by name, as scorers or as functions: one value a list."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from skrank._data.lists import Floats
from skrank.metrics import RankingScorer, make_ranking_scorer
from skrank.metrics._conventions import fixed_by
from skrank.metrics._registry import named_scorer

Metric = Callable[[Any, Floats, Any], Floats]


def list_metrics(metrics: Any) -> dict[str, Metric]:
    """Return functions of one value a list, by the name of the metric.

    Parameters
    ----------
    metrics : str, RankingScorer, callable, or a sequence or mapping of these
        As :func:`compare_rankers` takes them.

    Raises
    ------
    ValueError
        If there is no metric, a name is unknown or stands for two.
    TypeError
        If something is not a metric.
    """
    if isinstance(metrics, str) or callable(metrics):
        metrics = [metrics]
    if not isinstance(metrics, Mapping):
        named = [(_name(metric), metric) for metric in metrics]
        metrics = dict(named)
        if len(metrics) < len(named):
            names = ", ".join(name for name, _ in named)
            raise ValueError(
                f"metrics must have different names, got {names}. Pass a mapping from "
                "names to metrics."
            )
    if not metrics:
        raise ValueError("metrics is empty; give at least one.")
    return {name: list_metric(metric) for name, metric in metrics.items()}


def list_metric(metric: Any) -> Metric:
    """Return a function that gives one value a list, NaN where undefined."""
    metric = _understood(metric)
    return _values_of(metric) if isinstance(metric, RankingScorer) else metric


def _understood(metric: Any) -> Any:
    """Return a scorer for a name or a metric of skrank's kind, else the function."""
    if isinstance(metric, str):
        return named_scorer(metric)
    if isinstance(metric, RankingScorer):
        return metric
    # A scorer of scikit-learn has no value of each list.
    if not callable(metric) or hasattr(metric, "get_metadata_routing"):
        raise TypeError(
            "metrics must hold names, functions, or scorers of "
            f"skrank.metrics.make_ranking_scorer, got {metric!r}."
        )
    return make_ranking_scorer(metric) if _averages(metric) else metric


def _values_of(scorer: RankingScorer) -> Metric:
    """Return the values by list that a scorer averages, with its sign and options."""
    options = dict(scorer.kwargs)
    if options.setdefault("average", None) is not None or not _averages(scorer.metric):
        raise ValueError(
            f"{scorer!r} has no value of its own for each list; its metric must take "
            "average=None."
        )
    empty = options.get("empty", "skip")
    if options.get("convention") is not None:
        fixed = fixed_by(scorer.metric.__name__, options["convention"])
        empty = fixed.get("empty", empty)
    sign = 1.0 if scorer.greater_is_better else -1.0

    def values(y: Any, scores: Floats, groups: Any) -> Floats:
        column = scorer.metric(y, scores, groups, **options)
        if empty != "skip":
            column = np.where(np.isnan(column), empty, column)
        return sign * column

    return values


def _averages(metric: Any) -> bool:
    """Return whether a metric gives one value a list with ``average=None``."""
    try:
        return "average" in inspect.signature(metric).parameters
    except ValueError:
        return False


def _name(metric: Any) -> str:
    """Return the name of a metric for tables, such as "ndcg@10, gain='linear'"."""
    if isinstance(metric, str):
        return metric
    metric = _understood(metric)
    if not isinstance(metric, RankingScorer):
        return str(getattr(metric, "__name__", None) or repr(metric))
    return metric.__name__
