"""Rankers of the package in the settings that the command compares."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

# Settings that the comparison shows, one row each, by the name of the ranker. A ranker
# that is not named here is shown with its defaults, if it has a loss of its own.
COMPARED: dict[str, tuple[dict[str, Any], ...]] = {
    "ListMLERanker": (
        {"ties": "efron"},
        {"ties": "breslow"},
        {"ties": "marginal"},
        {"ties": "random"},
        {"ties": "order"},
        {"ties": "order", "stage_weights": "position"},
    ),
    "ListNetRanker": ({"target": "gain"}, {"target": "softmax"}),
    "PMOPRanker": (
        {"potential": "arithmetic"},
        {"potential": "geometric"},
        {"potential": "geometric", "inference": "gibbs"},
        {"potential": "geometric", "inference": "metropolis"},
    ),
    "RankNetRanker": ({}, {"pair_weight": "gain"}),
    "RankRegressionRanker": ({"differences": "margin"}, {"differences": "labels"}),
    "RankSVMRanker": ({"hinge": "squared"}, {"hinge": "linear"}),
}


def compared(name: str, ranker: type) -> tuple[dict[str, Any], ...]:
    """Return the settings of a ranker that the comparison shows."""
    takes_a_loss = "loss" in inspect.signature(ranker).parameters
    return COMPARED.get(name, () if takes_a_loss else ({},))


def shown(name: str, settings: Mapping[str, Any]) -> str:
    """Return the text of a ranker with these settings."""
    texts = (
        f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}"
        for key, value in settings.items()
    )
    return f"{name}({', '.join(texts)})"


def made(ranker: type, settings: Mapping[str, Any], **common: Any) -> Any:
    """Return a ranker with these settings, and those of ``common`` that it has."""
    known = inspect.signature(ranker).parameters
    return ranker(**{k: v for k, v in common.items() if k in known} | dict(settings))
