"""Metrics of ranked lists, and scorers made of them."""

from skrank._groups import list_labels
from skrank.metrics._cascade import err_score
from skrank.metrics._click_models import (
    Cascade,
    DynamicBayesian,
    PositionBased,
    UserBrowsing,
)
from skrank.metrics._click_order import BestOrder, best_order
from skrank.metrics._click_score import click_score
from skrank.metrics._click_simulation import simulate_clicks
from skrank.metrics._gain import dcg_score, ndcg_score
from skrank.metrics._pairs import pairwise_accuracy_score
from skrank.metrics._scorers import (
    RankingScorer,
    click_scorer,
    err_scorer,
    make_ranking_scorer,
    ndcg_scorer,
    pairwise_accuracy_scorer,
)
from skrank.metrics._significance import (
    Interval,
    ScoreComparison,
    bootstrap_interval,
    compare_scores,
    holm,
)

__all__ = [
    "dcg_score",
    "err_score",
    "ndcg_score",
    "pairwise_accuracy_score",
    "list_labels",
    "click_score",
    "PositionBased",
    "Cascade",
    "DynamicBayesian",
    "UserBrowsing",
    "best_order",
    "BestOrder",
    "simulate_clicks",
    "RankingScorer",
    "click_scorer",
    "err_scorer",
    "make_ranking_scorer",
    "ndcg_scorer",
    "pairwise_accuracy_scorer",
    "bootstrap_interval",
    "compare_scores",
    "holm",
    "Interval",
    "ScoreComparison",
]
