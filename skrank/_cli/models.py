"""Write models and read them back, without unpickling anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any, NoReturn

from sklearn.pipeline import Pipeline

from skrank import ensemble, linear_model, losses, preprocessing
from skrank.export import LinearFormula, linear_formula

ENDS = (".skops", ".json")
SAFE_ROOMS = (linear_model, losses, preprocessing, ensemble)


def check_end(path: str, error: Callable[[str], NoReturn]) -> None:
    """End the command if the name of a file does not show the format."""
    if PurePath(path).suffix not in ENDS:
        error(f"{path}: models are written as .skops or .json; end the name with one")


def write_model(model: Pipeline, names: list[str], path: str) -> None:
    """Write a pipeline of a scaler and a linear ranker."""
    if PurePath(path).suffix == ".json":
        Path(path).write_text(linear_formula(model, names).to_json() + "\n")
        return
    _skops().dump(model, path)


def read_model(path: str, error: Callable[[str], NoReturn]) -> Any:
    """Return a model that has ``predict``; files of other kinds end the command."""
    try:
        with open(path, "rb") as file:
            start = file.read(4)
        if start[:1] == b"{":
            return LinearFormula.from_json(Path(path).read_bytes())
        if start == b"PK\x03\x04":
            return _from_skops(path, error)
    except OSError as problem:
        error(f"cannot read {path}: {problem.strerror or problem}")
    except (ImportError, ValueError) as problem:
        error(f"{path}: {problem}")
    error(
        f"{path} is no model that skrank fit wrote (.skops or .json). Pickle and "
        "joblib files are not read, since reading them runs what they say"
    )


def _from_skops(path: str, error: Callable[[str], NoReturn]) -> Any:
    """Read a file of skops, if it holds classes of skrank and other safe ones alone."""
    skops = _skops()
    safe = {
        f"{one.__module__}.{one.__qualname__}"
        for room in SAFE_ROOMS
        for one in (getattr(room, name) for name in room.__all__)
        if isinstance(one, type)
    }
    unknown = skops.get_untrusted_types(file=path)
    unsafe = sorted(set(unknown) - safe)
    if unsafe:
        error(f"{path} is not read, since it holds {', '.join(unsafe)}")
    return skops.load(path, trusted=unknown)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ImportError(
            "models in .skops need skops (pip install skops); .json needs nothing"
        ) from None
    return skops.io
