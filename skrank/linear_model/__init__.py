"""Linear rankers, one for each loss, and the generic one."""

from skrank.linear_model._davidson import DavidsonRanker as DavidsonRanker
from skrank.linear_model._davidsonluce import DavidsonLuceRanker as DavidsonLuceRanker
from skrank.linear_model._linear import LinearRanker as LinearRanker
from skrank.linear_model._listmle import ListMLERanker as ListMLERanker
from skrank.linear_model._listnet import ListNetRanker as ListNetRanker
from skrank.linear_model._pmop import PMOPRanker as PMOPRanker
from skrank.linear_model._ranknet import RankNetRanker as RankNetRanker
from skrank.linear_model._rankregression import (
    RankRegressionRanker as RankRegressionRanker,
)
from skrank.linear_model._ranksvm import RankSVMRanker as RankSVMRanker
from skrank.linear_model._raokupper import RaoKupperRanker as RaoKupperRanker

# All classes that are imported above are public, so that a new ranker is one line here.
__all__ = [name for name, thing in globals().items() if isinstance(thing, type)]
