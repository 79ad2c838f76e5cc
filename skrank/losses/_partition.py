"""What the losses on ordered partitions share: levels, and limits on ties."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skrank._data.checks import check_count
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank._kernels.partitions import geometric


class Partitions(NamedTuple):
    """The levels of each list, and the lists in order of size."""

    levels: Levels
    by_size: Indices

    @classmethod
    def of(cls, y: Floats, lists: Lists) -> Partitions:
        """Return the ordered partitions that labels make of lists."""
        return cls(Levels(y, lists), np.argsort(lists.sizes, kind="stable"))


def check_tie_size(name: str, max_tie_size: Any, y: Floats, lists: Lists) -> None:
    """Refuse a ``max_tie_size`` that is no size, or less than that of a level."""
    check_count(max_tie_size, "max_tie_size", optional=True)
    if max_tie_size is None:
        return
    levels = Levels(y, lists)
    largest = int(np.argmax(levels.sizes))
    size = int(levels.sizes[largest])
    if size > int(max_tie_size):
        q = int(np.searchsorted(levels.offsets, largest, side="right")) - 1
        raise ValueError(
            f"{name}(max_tie_size={max_tie_size}): {size} rows of list {q} (counted "
            f"from 0) share the label {y[levels.order[levels.starts[largest]]]:g}. Set "
            f"max_tie_size to at least {size}, or to None."
        )


def geometric_likelihood(
    scores: Floats,
    partitions: Partitions,
    lists: Lists,
    log_weights: Floats,
    *,
    with_weights: bool,
) -> tuple[Floats, Floats, Floats | None]:
    """Return values, gradient in the scores, and in the log weights of all sizes."""
    levels, by_size = partitions
    values, gradient = np.empty(lists.n_lists), np.empty(lists.n_rows)
    in_weights = np.empty((lists.n_lists, len(log_weights))) if with_weights else None
    geometric(
        scores,
        levels.order,
        levels.starts,
        levels.offsets,
        by_size,
        log_weights,
        values,
        gradient,
        in_weights,
    )
    return values, gradient, in_weights
