"""What the command found, as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np

from skrank._cli.tables import say
from skrank.model_selection import RankerComparison
from skrank.model_selection._result import sd_of_repeats


def print_json(found: Any) -> None:
    """Print an object; numbers that do not exist are null."""
    say(json.dumps(_plain(found), indent=1, allow_nan=False))


def comparison_as_json(comparison: RankerComparison) -> dict[str, Any]:
    """Return means, intervals, differences and times by metric and ranker."""
    metrics: dict[str, Any] = {}
    for metric in comparison.metrics:
        metrics[metric] = {
            name: {
                "interval": one.interval and asdict(one.interval),
                "mean_empty_as_zero": one.mean_empty_as_zero,
                "difference": one.difference and asdict(one.difference),
                "sd_of_repeats": sd_of_repeats(comparison.results[name], metric),
            }
            for name, one in comparison.statistics(metric).items()
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
    """Return what JSON can hold."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
