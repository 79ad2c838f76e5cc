"""Learning to rank for scikit-learn users."""

import sys as _sys
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
        __file__ = _spec.origin
        _sys.modules.pop("skrank._kernels", None)
    if _spec is None or _find_spec("skrank._kernels.gemv") is None:
        raise ImportError(
            f"skrank is imported from {_clone}, where its kernels are not compiled, "
            "and no skrank is installed. Run `pip install .` in the folder above first."
        )

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

# All that is imported above is public, so that a new ranker is one line here.
__all__ = [
    name
    for name, thing in globals().items()
    if not (name.startswith("_") or isinstance(thing, type(_sys)))
]
