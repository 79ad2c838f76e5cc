"""Look at data, at fitted rankers and at their results, in words and pictures.

Pictures need matplotlib (the extra "plot"), which is imported when they are drawn.
"""

from skrank._probability.fit_summary import FitSummary
from skrank._probability.nested import NestedTest
from skrank._probability.quasi import quasi_standard_errors
from skrank._probability.results import (
    ExpectedLevel,
    ListPairIntervals,
    ListPairProba,
    PairIntervals,
    PairProba,
    TopKIntervals,
    TopKProba,
)
from skrank.inspection._calibration_display import RankCalibrationDisplay
from skrank.inspection._coefficient_display import CoefficientDisplay
from skrank.inspection._comparison_display import RankerComparisonDisplay
from skrank.inspection._contribution_display import ContributionDisplay
from skrank.inspection._describe import describe_lists
from skrank.inspection._description import ListsDescription
from skrank.inspection._explanation import ScoreExplanation, explain_scores
from skrank.inspection._finding import Finding
from skrank.inspection._lists_display import ListsDisplay
from skrank.inspection._metric_display import MetricAtKDisplay
from skrank.inspection._nested_tests import likelihood_ratio_test, wald_test
from skrank.inspection._pair_explanation import PairExplanation
from skrank.inspection._path_display import RegularizationPathDisplay
from skrank.inspection._proba import (
    pairwise_intervals,
    pairwise_proba,
    stage_proba,
    top_k_intervals,
    top_k_proba,
)
from skrank.inspection._stage_display import StageProbaDisplay
from skrank.inspection._summarize import summarize

__all__ = [
    "summarize",
    "describe_lists",
    "explain_scores",
    "likelihood_ratio_test",
    "wald_test",
    "pairwise_proba",
    "stage_proba",
    "top_k_proba",
    "pairwise_intervals",
    "top_k_intervals",
    "quasi_standard_errors",
    "CoefficientDisplay",
    "ContributionDisplay",
    "ListsDisplay",
    "MetricAtKDisplay",
    "RankCalibrationDisplay",
    "RankerComparisonDisplay",
    "RegularizationPathDisplay",
    "StageProbaDisplay",
    "ExpectedLevel",
    "Finding",
    "FitSummary",
    "ListPairIntervals",
    "ListPairProba",
    "ListsDescription",
    "NestedTest",
    "PairExplanation",
    "PairIntervals",
    "PairProba",
    "ScoreExplanation",
    "TopKIntervals",
    "TopKProba",
]
