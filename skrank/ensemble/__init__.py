"""Rankings fused from several rankers, and the pipeline that ranks best untuned."""

from skrank.ensemble._fusion import FusionRanker
from skrank.ensemble._pipeline import ranking_pipeline

__all__ = ["FusionRanker", "ranking_pipeline"]
