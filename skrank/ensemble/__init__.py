"""Rankings fused from several rankers."""

from skrank.ensemble._fusion import FusionRanker

__all__ = ["FusionRanker"]
