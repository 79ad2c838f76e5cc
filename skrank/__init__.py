"""Learning to rank for scikit-learn users."""

from importlib.util import find_spec as _find_spec

if _find_spec("skrank._kernels.gemv") is None:
    raise ImportError(
        f"skrank is imported from {__path__[0]}, where its kernels are not compiled. "
        "This is so in the source folder, even after `pip install .`: use the command "
        "skrank, or change to another folder."
    )

from skrank._data.groups import with_groups
from skrank._data.lists import Lists
from skrank._data.ranks import rank_within
from skrank.ensemble import ranking_pipeline
from skrank.linear_model import (
    DavidsonLuceRanker,
    DavidsonRanker,
    LinearRanker,
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
    RaoKupperRanker,
)

__version__ = "0.1.0"

__all__ = [
    "DavidsonLuceRanker",
    "DavidsonRanker",
    "LinearRanker",
    "ListMLERanker",
    "ListNetRanker",
    "Lists",
    "PMOPRanker",
    "RankNetRanker",
    "RankRegressionRanker",
    "RankSVMRanker",
    "RaoKupperRanker",
    "rank_within",
    "ranking_pipeline",
    "with_groups",
]
