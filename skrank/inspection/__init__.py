"""What a fitted ranker tells of itself: the results of its methods."""

from skrank._probability.partitions import ExpectedLevel, ListPairProba
from skrank._probability.plackett_luce import TopKProba
from skrank._probability.summary import FitSummary
from skrank.inspection._description import ListsDescription, describe_lists
from skrank.inspection._explanation import (
    PairExplanation,
    ScoreExplanation,
    explain_scores,
)
from skrank.inspection._findings import Finding
from skrank.linear_model._pair_model import PairProba

__all__ = [
    "describe_lists",
    "explain_scores",
    "Finding",
    "ListsDescription",
    "PairExplanation",
    "ScoreExplanation",
    "ExpectedLevel",
    "FitSummary",
    "ListPairProba",
    "PairProba",
    "TopKProba",
]
