"""Warnings that point at the user's line, not at a line inside the library."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

# Pipelines, searches and scorers, which call rankers for users.
PASSED_OVER = ("skrank", "sklearn", "joblib")
# Packages that run a function of skrank in another thread or process.
STARTERS = ("concurrent", "multiprocessing", "runpy", "threading")
# Decorators of public methods.
DECORATORS = (
    *("skrank._data.groups", "skrank._data.parameters", "skrank._data.rollback"),
    "skrank._fit.progress",
)
PARTS_OF_DATA = "sklearn.model_selection._validation"  # cross-validation's fits


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the first line outside skrank and scikit-learn as the place.

    Where there is none, as in a worker of joblib, the place is in the outermost
    function of skrank.

    Parameters
    ----------
    message : str
        What the user should know.
    category : type of Warning, default=UserWarning
        The class of the warning.
    """
    level, last_of_skrank, package = 1, 1, ""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        package = _package(frame, package)
        if package not in PASSED_OVER + STARTERS:
            break
        level += 1
        if package == "skrank" and frame.f_globals["__name__"] not in DECORATORS:
            last_of_skrank = level
        frame = frame.f_back
    warnings.warn(
        message,
        category,
        stacklevel=last_of_skrank if frame is None else level + 1,
    )


def in_cross_validation() -> bool:
    """Return whether this fit is one of many that a cross-validation makes."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == PARTS_OF_DATA:
            return True
        frame = frame.f_back
    return False


def locals_of_callers(package: str) -> Iterator[Mapping[str, Any]]:
    """Yield the local variables of the calls from a package, the innermost first.

    scikit-learn passes on a part of the data; the functions that call hold all of it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == package:
            yield frame.f_locals
        frame = frame.f_back


def _package(frame: FrameType, called: str) -> str:
    """Return the top of the name of the module whose code a frame runs.

    A worker's outermost frame belongs to no package if it was started by ``-m`` or
    ``-c``; then the module that it called counts.
    """
    name = str(frame.f_globals.get("__name__", ""))
    if name == "__main__":
        spec = frame.f_globals.get("__spec__")
        name = name if spec is None else spec.name
        if frame.f_code.co_filename == "<string>" and called == "multiprocessing":
            name = called
    return name.partition(".")[0]
