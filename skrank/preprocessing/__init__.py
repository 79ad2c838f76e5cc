"""Make and scale features."""

from skrank.preprocessing._query_scaler import QueryScaler
from skrank.preprocessing._second_order import SecondOrderFeatures

__all__ = ["QueryScaler", "SecondOrderFeatures"]
