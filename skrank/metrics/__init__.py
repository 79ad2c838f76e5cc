"""Metrics of ranked lists, and scorers made of them."""

from skrank._groups import list_labels
from skrank.metrics._gain import ndcg_score
from skrank.metrics._pairs import pairwise_accuracy_score

__all__ = ["list_labels", "ndcg_score", "pairwise_accuracy_score"]
