"""Discounted cumulative gain, as it is and over that of the best order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skrank._kernels.metrics import discounted_gain
from skrank._lists import Floats
from skrank.metrics._average import (
    ScoredLists,
    check_average,
    check_cutoff,
    check_ties,
    cutoff_of,
    scored_lists,
)


def ndcg_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    k: int | None = None,
    gain: str | Callable = "exponential",
    discount: str | Callable = "log2",
    ties: str = "average",
    empty: Any = "skip",
    average: Any = "mean",
    sample_weight: Any = None,
) -> Any:
    """Return the normalised discounted cumulative gain, averaged over lists."""
    check_average(average, empty)
    _check_options(k, gain, discount)
    tie = check_ties(ties)
    data = scored_lists(y_true, y_score, groups, sample_weight, "ndcg_score")
    values = _discounted_gain(data, k, gain, discount, tie, "ndcg_score")
    return data.average(values, average, empty)


def _check_options(k: Any, gain: Any, discount: Any) -> None:
    """Raise ValueError for an unknown cut-off, gain or discount."""
    check_cutoff(k)
    if not callable(gain) and gain not in ("exponential", "linear"):
        raise ValueError(
            f"gain must be 'exponential', 'linear' or callable, got {gain!r}."
        )
    if not callable(discount) and discount != "log2":
        raise ValueError(f"discount must be 'log2' or callable, got {discount!r}.")


def _discounted_gain(
    data: ScoredLists, k: Any, gain: Any, discount: Any, tie: int, metric: str
) -> Floats:
    """Return the DCG of each list, over that of its best order for NDCG."""
    labels = _gains(data.y, gain, metric)
    factors = _factors(cutoff_of(k, data.grouping), discount)
    return discounted_gain(
        labels,
        data.scores,
        data.grouping.lists.offsets,
        factors,
        tie,
        gain != "exponential",
        metric == "ndcg_score",
    )


def _gains(y: Floats, gain: Any, metric: str) -> Floats:
    """Return labels for a named gain, checked, and gains for a callable."""
    if callable(gain):
        gains = np.ascontiguousarray(gain(y), dtype=np.float64)
        if gains.shape != y.shape:
            raise ValueError(
                f"gain must return one number per label, got shape {gains.shape} "
                f"for {y.shape[0]} labels."
            )
        if not (gains.min() >= 0 and np.isfinite(gains.max())):
            raise ValueError(
                "gain must return finite numbers of at least 0, got values from "
                f"{gains.min()} to {gains.max()}."
            )
        return gains
    if y.min() < 0:
        raise ValueError(
            f"{metric} needs labels of at least 0, got {y.min()}: gains would be "
            "negative. pairwise_accuracy_score takes any real labels; or give "
            "gain= a function that maps yours to gains."
        )
    return y


def _factors(n_ranks: int, discount: Any) -> Floats:
    """Return the factor of each rank."""
    ranks = np.arange(1, n_ranks + 1, dtype=np.float64)
    if not callable(discount):
        return 1.0 / np.log2(1.0 + ranks)
    factors = np.ascontiguousarray(discount(ranks), dtype=np.float64)
    if factors.shape != ranks.shape:
        raise ValueError(
            f"discount must return one factor per rank, got shape {factors.shape} "
            f"for {n_ranks} ranks."
        )
    if not (
        np.isfinite(factors).all() and factors[-1] >= 0 and factors[0] > 0
    ) or np.any(factors[1:] > factors[:-1]):
        raise ValueError(
            "discount must return finite factors of at least 0 that never grow with "
            f"the rank and start above 0, got {factors[:5]}..."
        )
    return factors
