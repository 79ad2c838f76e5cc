"""Take over data laid out for other tools, and rank with their models.

Runs, ranks, sizes of lists; items in orderings and pairs; boosters.
"""

from skrank.interop._booster_loss import make_booster_objective
from skrank.interop._boosters import BoosterRanker, as_ranker
from skrank.interop._items import ItemRows
from skrank.interop._orderings import from_orderings, from_rankings, read_preflib
from skrank.interop._paired import from_best_worst, from_pair_counts, from_pairs
from skrank.interop._ranks import from_ranks
from skrank.interop._runs import RunRows, from_run
from skrank.interop._sizes import groups_from_sizes, sizes_from_groups
from skrank.interop._trec import (
    read_qrels,
    read_run,
    to_run,
    write_qrels,
    write_run,
)
from skrank.interop._worths import ItemWorths

__all__ = [
    "BoosterRanker",
    "ItemRows",
    "ItemWorths",
    "RunRows",
    "as_ranker",
    "from_best_worst",
    "from_orderings",
    "from_pair_counts",
    "from_pairs",
    "from_rankings",
    "from_ranks",
    "from_run",
    "groups_from_sizes",
    "make_booster_objective",
    "read_preflib",
    "read_qrels",
    "read_run",
    "sizes_from_groups",
    "to_run",
    "write_qrels",
    "write_run",
]
