"""Learning to rank for scikit-learn users."""

import importlib as _importlib
import sys as _sys
import typing as _typing
from importlib.machinery import PathFinder as _PathFinder
from importlib.metadata import version as _version
from importlib.util import find_spec as _find_spec
from pathlib import Path as _Path

if _find_spec("skrank._kernels.gemv") is None:
    # This is the source folder of a clone, which shadows the installed package but has
    # no compiled kernels. Take all modules from the installed package, so that sources
    # and kernels fit together.
    _clone = _Path(__path__[0]).resolve()
    _elsewhere = [path for path in _sys.path if _Path(path).resolve() != _clone.parent]
    _spec = _PathFinder.find_spec("skrank", _elsewhere)
    if _spec is not None and _spec.submodule_search_locations:
        __path__ = list(_spec.submodule_search_locations)
        __file__ = str(_spec.origin)
        _sys.modules.pop("skrank._kernels", None)
    if _spec is None or _find_spec("skrank._kernels.gemv") is None:
        raise ImportError(
            f"skrank is imported from {_clone}, where its kernels are not compiled, "
            "and no skrank is installed. Run `pip install .` in the folder above first."
        )

if _typing.TYPE_CHECKING:
    # For type checkers and editors, which do not run `__getattr__` below.
    from skrank import base as base
    from skrank import datasets as datasets
    from skrank import ensemble as ensemble
    from skrank import export as export
    from skrank import inspection as inspection
    from skrank import interop as interop
    from skrank import linear_model as linear_model
    from skrank import losses as losses
    from skrank import metrics as metrics
    from skrank import model_selection as model_selection
    from skrank import neural as neural
    from skrank import preprocessing as preprocessing
    from skrank._data.groups import with_groups as with_groups
    from skrank._data.lists import Lists as Lists
    from skrank._data.ranks import rank_within as rank_within
    from skrank.ensemble import ranking_pipeline as ranking_pipeline
    from skrank.linear_model import DavidsonLuceRanker as DavidsonLuceRanker
    from skrank.linear_model import DavidsonRanker as DavidsonRanker
    from skrank.linear_model import LinearRanker as LinearRanker
    from skrank.linear_model import ListMLERanker as ListMLERanker
    from skrank.linear_model import ListNetRanker as ListNetRanker
    from skrank.linear_model import PMOPRanker as PMOPRanker
    from skrank.linear_model import RankNetRanker as RankNetRanker
    from skrank.linear_model import RankRegressionRanker as RankRegressionRanker
    from skrank.linear_model import RankSVMRanker as RankSVMRanker
    from skrank.linear_model import RaoKupperRanker as RaoKupperRanker

__version__ = _version("skrank")

# Where public names come from; rankers come from linear_model. All are loaded when they
# are first used, so that `import skrank; skrank.model_selection` works and Ctrl-C stops
# the command while it imports NumPy.
_HOMES = {
    "Lists": "_data.lists",
    "rank_within": "_data.ranks",
    "ranking_pipeline": "ensemble",
    "with_groups": "_data.groups",
}
_ROOMS = (
    "base",
    "datasets",
    "ensemble",
    "export",
    "inspection",
    "interop",
    "linear_model",
    "losses",
    "metrics",
    "model_selection",
    "neural",
    "preprocessing",
)


def _rankers() -> list[str]:
    from skrank import linear_model

    return [name for name in linear_model.__all__ if name.endswith("Ranker")]


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_rankers(), *_ROOMS})


if not _typing.TYPE_CHECKING:  # a checker would take any name for a public one

    def __getattr__(name: str) -> _typing.Any:
        if name in _ROOMS:
            return _importlib.import_module(f"skrank.{name}")
        if name == "__all__":
            value = sorted([*_HOMES, *_rankers()])
        elif name in _HOMES or (name.endswith("Ranker") and name in _rankers()):
            home = _importlib.import_module(
                f"skrank.{_HOMES.get(name, 'linear_model')}"
            )
            value = getattr(home, name)
        else:
            raise AttributeError(f"module 'skrank' has no attribute {name!r}")
        globals()[name] = value
        return value
