"""Splitters that keep lists whole, comparisons of rankers and learning curves."""

from skrank.model_selection._compare_rankers import compare_rankers
from skrank.model_selection._learning_curve import learning_curve
from skrank.model_selection._ranker_comparison import RankerComparison
from skrank.model_selection._ranker_cv import RankerCV
from skrank.model_selection._result import RankerResult, RankerStatistics
from skrank.model_selection._split import group_train_test_split
from skrank.model_selection._splitters import QueryKFold, QueryShuffleSplit

__all__ = [
    "QueryKFold",
    "QueryShuffleSplit",
    "RankerCV",
    "RankerComparison",
    "RankerResult",
    "RankerStatistics",
    "compare_rankers",
    "group_train_test_split",
    "learning_curve",
]
