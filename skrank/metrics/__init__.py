"""Metrics of ranked lists, and scorers made of them."""

from skrank._data.groups import list_labels as list_labels
from skrank.metrics._average_precision import *
from skrank.metrics._cascade import *
from skrank.metrics._clicks.browsing import UserBrowsing as UserBrowsing
from skrank.metrics._clicks.cascade import Cascade as Cascade
from skrank.metrics._clicks.cascade import DynamicBayesian as DynamicBayesian
from skrank.metrics._clicks.order import BestOrder as BestOrder
from skrank.metrics._clicks.order import best_order as best_order
from skrank.metrics._clicks.position import PositionBased as PositionBased
from skrank.metrics._clicks.score import click_score as click_score
from skrank.metrics._clicks.score import click_scorer as click_scorer
from skrank.metrics._clicks.simulation import simulate_clicks as simulate_clicks
from skrank.metrics._correlation import *
from skrank.metrics._explanation import MetricExplanation as MetricExplanation
from skrank.metrics._explanation import MetricStep as MetricStep
from skrank.metrics._explanation import explain_metric as explain_metric
from skrank.metrics._first_hit import *
from skrank.metrics._gain import *
from skrank.metrics._intervals import Interval as Interval
from skrank.metrics._intervals import bootstrap_interval as bootstrap_interval
from skrank.metrics._likelihood_scorer import LogLikelihoodScorer as LogLikelihoodScorer
from skrank.metrics._likelihood_scorer import (
    log_likelihood_scorer as log_likelihood_scorer,
)
from skrank.metrics._pairs import *
from skrank.metrics._precision import *
from skrank.metrics._preference import *
from skrank.metrics._rank_biased import *
from skrank.metrics._recall import *
from skrank.metrics._registry import make_ranking_scorer as make_ranking_scorer
from skrank.metrics._registry import metric_names as metric_names
from skrank.metrics._scorers import RankingScorer as RankingScorer
from skrank.metrics._significance import ScoreComparison as ScoreComparison
from skrank.metrics._significance import compare_scores as compare_scores
from skrank.metrics._significance import holm as holm

# All that is imported above is public, so that a new metric is one line here.
__all__ = [name for name in globals() if not name.startswith("_")]
