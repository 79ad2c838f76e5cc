"""Metrics by name, as scorers or as functions: one value a list."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from skrank._data.lists import Floats
from skrank.metrics import (
    RankingScorer,
    average_precision_scorer,
    bpref_scorer,
    dcg_scorer,
    err_scorer,
    f_measure_at_k_scorer,
    hit_rate_scorer,
    kendall_tau_scorer,
    make_ranking_scorer,
    ndcg_scorer,
    pairwise_accuracy_scorer,
    precision_at_k_scorer,
    r_precision_scorer,
    rank_biased_precision_scorer,
    recall_at_k_scorer,
    reciprocal_rank_scorer,
    spearman_scorer,
)
from skrank.metrics._conventions import fixed_by

Metric = Callable[[Any, Floats, Any], Floats]

SCORERS: dict[str, Any] = {
    "ndcg": ndcg_scorer,
    "dcg": dcg_scorer,
    "err": err_scorer,
    "average_precision": average_precision_scorer,
    "reciprocal_rank": reciprocal_rank_scorer,
    "precision": precision_at_k_scorer,
    "recall": recall_at_k_scorer,
    "f_measure": f_measure_at_k_scorer,
    "hit_rate": hit_rate_scorer,
    "r_precision": r_precision_scorer,
    "bpref": bpref_scorer,
    "rank_biased_precision": rank_biased_precision_scorer,
    "pairwise_accuracy": pairwise_accuracy_scorer,
    "kendall_tau": kendall_tau_scorer,
    "spearman": spearman_scorer,
}


def named_scorer(name: str, **options: Any) -> RankingScorer:
    """Return the scorer that a name such as "ndcg" or "ndcg@10" stands for.

    Parameters
    ----------
    name : str
        One of ``SCORERS``, and after "@" the last rank that counts.
    **options
        Arguments of the metric.

    Raises
    ------
    ValueError
        If there is no such metric, or it takes no cut-off.
    """
    base, at, cutoff = name.partition("@")
    if base not in SCORERS or (at and not (cutoff.isdecimal() and int(cutoff) > 0)):
        raise ValueError(
            f"there is no metric {name!r}; known are {', '.join(SCORERS)}, and with a "
            "cut-off as in 'ndcg@10'. For others give a scorer or a function."
        )
    if at:
        if "k" not in inspect.signature(SCORERS[base]).parameters:
            raise ValueError(f"metric {base!r} takes no cut-off, got {name!r}.")
        options["k"] = int(cutoff)
    return SCORERS[base](**options)


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
        If something is no metric.
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
    """Return a scorer for a name or a metric of the package's kind, or the function."""
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
    """Return what a scorer averages, its sign and its idea of empty lists kept."""
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
    """Tell whether a metric gives one value a list when asked by ``average=None``."""
    try:
        return "average" in inspect.signature(metric).parameters
    except ValueError:
        return False


def _name(metric: Any) -> str:
    """Return what a metric is called in a table: "ndcg@10, gain='linear'"."""
    if isinstance(metric, str):
        return metric
    metric = _understood(metric)
    if not isinstance(metric, RankingScorer):
        return str(getattr(metric, "__name__", None) or repr(metric))
    options = dict(metric.kwargs)
    name = getattr(metric.metric, "__name__", repr(metric.metric))
    name = name.removesuffix("_score").removesuffix("_at_k")
    cutoff = options.pop("k", None)
    if cutoff is not None:
        name += f"@{cutoff}"
    parts = [name, *(f"{key}={value!r}" for key, value in options.items())]
    return ", ".join(parts)
