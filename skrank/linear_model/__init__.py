"""Linear rankers, one for each loss, and the generic one."""

from skrank.linear_model._linear import LinearRanker
from skrank.linear_model._listmle import ListMLERanker
from skrank.linear_model._listnet import ListNetRanker
from skrank.linear_model._ranknet import RankNetRanker

__all__ = ["LinearRanker", "ListMLERanker", "ListNetRanker", "RankNetRanker"]
