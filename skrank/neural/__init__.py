"""Neural rankers on PyTorch: STARank, and scorers trained by any loss.

Needs the extra "neural": ``pip install "skrank[neural]"``.
"""

from skrank.neural import _torch  # noqa: F401  (first, for its message)
from skrank.neural._list_data import ListData
from skrank.neural._mlp import MLPRanker
from skrank.neural._simulation import Browsing, make_browsing
from skrank.neural._starank import STARanker

__all__ = ["STARanker", "MLPRanker", "ListData", "make_browsing", "Browsing"]
