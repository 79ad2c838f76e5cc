"""Take over data laid out for other tools: runs, ranks, sizes of lists."""

from skrank.interop._boosters import BoosterRanker, as_ranker
from skrank.interop._ranks import from_ranks
from skrank.interop._runs import RunRows, from_run
from skrank.interop._sizes import groups_from_sizes, sizes_from_groups

__all__ = [
    "BoosterRanker",
    "RunRows",
    "as_ranker",
    "from_ranks",
    "from_run",
    "groups_from_sizes",
    "sizes_from_groups",
]
