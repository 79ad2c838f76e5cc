"""Warn in the name of the user's own line, however deep the reason was found."""

from __future__ import annotations

import sys
import warnings

# Pipelines, searches and scorers stand between a user and a ranker.
PASSED_OVER = ("skrank", "sklearn", "joblib")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the first line outside skrank and scikit-learn as the place.

    Parameters
    ----------
    message : str
        What the user should know.
    category : type of Warning, default=UserWarning
        The class of the warning.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _package(frame.f_globals) in PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package(names: dict[str, object]) -> str:
    """Return the top of the name of the module whose global names these are."""
    return str(names.get("__name__", "")).partition(".")[0]
