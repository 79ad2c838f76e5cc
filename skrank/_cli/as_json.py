"""Results of the command as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np

from skrank._cli.tables import say
from skrank.model_selection import RankerComparison
from skrank.model_selection._result import sd_of_repeats


def print_json(value: Any) -> None:
    """Print an object; numbers that do not exist are null."""
    say(json.dumps(_plain(value), indent=1, allow_nan=False))


def comparison_as_json(comparison: RankerComparison) -> dict[str, Any]:
    """Return means, intervals, differences and times by metric and ranker."""
    metrics: dict[str, Any] = {}
    for metric in comparison.metrics:
        metrics[metric] = {
            name: {
                "interval": item.interval and asdict(item.interval),
                "mean_empty_as_zero": item.mean_empty_as_zero,
                "difference": item.difference and asdict(item.difference),
                "sd_of_repeats": sd_of_repeats(comparison.results[name], metric),
            }
            for name, item in comparison.statistics(metric).items()
        }
    return {
        "n_lists": len(comparison.lists),
        "reference": comparison.reference_name,
        "metrics": metrics,
        "fits": {
            name: {
                "seconds": result.seconds,
                "warnings": result.warnings,
                "problem": result.problem,
            }
            for name, result in comparison.results.items()
        },
        "refused": comparison.refused,
    }


def _plain(value: Any) -> Any:
    """Return a value as types that JSON can hold."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
