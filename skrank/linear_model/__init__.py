"""Linear rankers, one for each loss, and the generic one."""

from skrank.linear_model._davidson import DavidsonRanker
from skrank.linear_model._davidsonluce import DavidsonLuceRanker
from skrank.linear_model._linear import LinearRanker
from skrank.linear_model._listmle import ListMLERanker
from skrank.linear_model._listnet import ListNetRanker
from skrank.linear_model._pmop import PMOPRanker
from skrank.linear_model._ranknet import RankNetRanker
from skrank.linear_model._rankregression import RankRegressionRanker
from skrank.linear_model._ranksvm import RankSVMRanker
from skrank.linear_model._raokupper import RaoKupperRanker

__all__ = [
    "DavidsonLuceRanker",
    "DavidsonRanker",
    "LinearRanker",
    "ListMLERanker",
    "ListNetRanker",
    "PMOPRanker",
    "RankNetRanker",
    "RankRegressionRanker",
    "RankSVMRanker",
    "RaoKupperRanker",
]
