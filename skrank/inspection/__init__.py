"""What a fitted ranker tells of itself: the results of its methods."""

from skrank._partitions import ExpectedLevel, ListPairProba
from skrank._plackett_luce import TopKProba
from skrank.linear_model._pair_model import PairProba
from skrank.linear_model._summary import FitSummary

__all__ = [
    "ExpectedLevel",
    "FitSummary",
    "ListPairProba",
    "PairProba",
    "TopKProba",
]
