"""Learning to rank for scikit-learn users."""

from skrank._groups import with_groups
from skrank._lists import Lists
from skrank._ranks import rank_within
from skrank.linear_model import (
    LinearRanker,
    ListMLERanker,
    ListNetRanker,
    RankNetRanker,
)

__version__ = "0.1.0"

__all__ = [
    "LinearRanker",
    "ListMLERanker",
    "ListNetRanker",
    "Lists",
    "RankNetRanker",
    "rank_within",
    "with_groups",
]
