"""Fuse several rankers, and make the pipeline that ranks best without tuning."""

from skrank.ensemble._fusion import FusionRanker
from skrank.ensemble._pipeline import ranking_pipeline

__all__ = ["FusionRanker", "ranking_pipeline"]
