"""Linear rankers, one for each loss, and the generic one."""

from skrank._plackett_luce import TopKProba
from skrank.linear_model._likelihood import PairProba
from skrank.linear_model._linear import LinearRanker
from skrank.linear_model._listmle import ListMLERanker
from skrank.linear_model._listnet import ListNetRanker
from skrank.linear_model._ranknet import RankNetRanker
from skrank.linear_model._summary import FitSummary

__all__ = [
    "LinearRanker",
    "ListMLERanker",
    "ListNetRanker",
    "RankNetRanker",
    "FitSummary",
    "PairProba",
    "TopKProba",
]
