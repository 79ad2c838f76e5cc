"""Learning to rank for scikit-learn users."""

from skrank._groups import with_groups
from skrank._lists import Lists
from skrank._ranks import rank_within
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
    "with_groups",
]
