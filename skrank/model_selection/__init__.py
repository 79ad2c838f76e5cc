"""Splitters that keep lists whole."""

from skrank.model_selection._split import group_train_test_split
from skrank.model_selection._splitters import QueryKFold, QueryShuffleSplit

__all__ = ["QueryKFold", "QueryShuffleSplit", "group_train_test_split"]
