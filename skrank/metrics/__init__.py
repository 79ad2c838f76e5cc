"""Metrics of ranked lists, and scorers made of them."""

from skrank._groups import list_labels
from skrank.metrics._cascade import err_score
from skrank.metrics._gain import dcg_score, ndcg_score
from skrank.metrics._pairs import pairwise_accuracy_score
from skrank.metrics._scorers import (
    RankingScorer,
    err_scorer,
    make_ranking_scorer,
    ndcg_scorer,
    pairwise_accuracy_scorer,
)

__all__ = [
    "dcg_score",
    "err_score",
    "ndcg_score",
    "pairwise_accuracy_score",
    "list_labels",
    "RankingScorer",
    "err_scorer",
    "make_ranking_scorer",
    "ndcg_scorer",
    "pairwise_accuracy_scorer",
]
