"""Metrics of ranked lists, and scorers made of them."""

from skrank._data.groups import list_labels
from skrank.metrics._average_precision import average_precision_score
from skrank.metrics._cascade import err_score
from skrank.metrics._clicks.models import (
    Cascade,
    DynamicBayesian,
    PositionBased,
    UserBrowsing,
)
from skrank.metrics._clicks.order import BestOrder, best_order
from skrank.metrics._clicks.score import click_score
from skrank.metrics._clicks.simulation import simulate_clicks
from skrank.metrics._correlation import kendall_tau_score, spearman_score
from skrank.metrics._explanation import (
    MetricExplanation,
    MetricStep,
    explain_metric,
)
from skrank.metrics._first_hit import (
    expected_search_length_score,
    reciprocal_rank_score,
)
from skrank.metrics._gain import dcg_score, ndcg_score
from skrank.metrics._pairs import pairwise_accuracy_score
from skrank.metrics._precision import (
    f_measure_at_k_score,
    hit_rate_score,
    precision_at_k_score,
    r_precision_score,
    recall_at_k_score,
)
from skrank.metrics._preference import bpref_score
from skrank.metrics._rank_biased import rank_biased_precision_score
from skrank.metrics._scorers import (
    RankingScorer,
    average_precision_scorer,
    bpref_scorer,
    click_scorer,
    dcg_scorer,
    err_scorer,
    expected_search_length_scorer,
    f_measure_at_k_scorer,
    hit_rate_scorer,
    kendall_tau_scorer,
    make_ranking_scorer,
    ndcg_scorer,
    pairwise_accuracy_scorer,
    precision_at_k_scorer,
    r_precision_scorer,
    rank_biased_precision_scorer,
    recall_at_k_scorer,
    reciprocal_rank_scorer,
    spearman_scorer,
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
    "average_precision_score",
    "reciprocal_rank_score",
    "precision_at_k_score",
    "recall_at_k_score",
    "f_measure_at_k_score",
    "hit_rate_score",
    "r_precision_score",
    "bpref_score",
    "rank_biased_precision_score",
    "expected_search_length_score",
    "kendall_tau_score",
    "spearman_score",
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
    "average_precision_scorer",
    "reciprocal_rank_scorer",
    "precision_at_k_scorer",
    "recall_at_k_scorer",
    "f_measure_at_k_scorer",
    "hit_rate_scorer",
    "r_precision_scorer",
    "bpref_scorer",
    "rank_biased_precision_scorer",
    "expected_search_length_scorer",
    "kendall_tau_scorer",
    "spearman_scorer",
    "dcg_scorer",
    "explain_metric",
    "MetricExplanation",
    "MetricStep",
]
