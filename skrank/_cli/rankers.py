"""Rankers of the package by their settings, as the command names and makes them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any


def shown(name: str, settings: Mapping[str, Any]) -> str:
    """Return how a ranker with these settings is written."""
    texts = (
        f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}"
        for key, value in settings.items()
    )
    return f"{name}({', '.join(texts)})"


def made(ranker: type, settings: Mapping[str, Any], **common: Any) -> Any:
    """Return a ranker with these settings, and those of ``common`` that it knows."""
    known = inspect.signature(ranker).parameters
    return ranker(**{k: v for k, v in common.items() if k in known} | settings)
