"""Sizes of shards and parts in bytes, for dask's scheduler."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from skrank._fit.objective import LinearObjective
from skrank.dask._parts import Facts, Part


def register_sizes() -> None:
    """Register sizes of shards and parts with dask, so that it does not move them."""
    from dask.sizeof import sizeof

    def of_features(X: Any) -> int:
        if X is None:
            return 0
        if sparse.issparse(X):
            return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
        return int(X.nbytes)

    @sizeof.register(LinearObjective)
    def _of_shard(shard: LinearObjective) -> int:
        return of_features(shard.data.X) + 16 * shard.data.lists.n_rows

    @sizeof.register(Part)
    def _of_part(part: Part) -> int:
        return of_features(part.X) + part.y.nbytes

    @sizeof.register(Facts)
    def _of_facts(facts: Facts) -> int:
        return facts.y.nbytes + 32 * len(facts.sizes)
