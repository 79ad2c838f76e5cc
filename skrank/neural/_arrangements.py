"""Arrangements of many lists in batches: the best one, drawn ones, and scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from skrank._data.grouping import Grouping
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank.neural._arranger import arrangement_loss
from skrank.neural._batches import MOST_ROWS, Batch
from skrank.neural._decoding import Decoder, arrange
from skrank.neural._fitting import NewLists
from skrank.neural._targets import Encoded, order_scores, padded_order
from skrank.neural._validation import place_rows

# List numbers, their batch, and the networks whose mean scores count.
Batches = Iterable[tuple[Indices, Batch, list[nn.ModuleDict]]]


def place_best(ranks: Indices, lists: Lists, batches: Batches) -> None:
    """Write the rank of each row in the best arrangement into ``ranks`` (n_rows,)."""
    for numbers, batch, networks in batches:
        order = arrange(decoders_of(networks, batch), batch.sizes)
        place_rows(ranks, ranks_of(order), batch, lists, numbers)


def place_drawn(
    ranks: Indices, lists: Lists, batches: Batches, generator: torch.Generator
) -> None:
    """Write ranks in drawn arrangements into ``ranks`` (n_samples, n_rows)."""
    for numbers, batch, networks in batches:
        at_once = max(MOST_ROWS // batch.valid.numel(), 1)
        for first in range(0, len(ranks), at_once):
            draws = ranks[first : first + at_once]
            decoders = decoders_of(networks, batch, len(draws))
            order = arrange(decoders, batch.sizes.repeat(len(draws)), generator)
            drawn = ranks_of(order).reshape(len(numbers), len(draws), -1)
            place_rows(draws, drawn.transpose(0, 1), batch, lists, numbers)


def scores_by_place(
    new: NewLists, ranks: Indices, batches: Batches
) -> Iterator[tuple[Any, Floats]]:
    """Yield the label of each list and its scores (n, n) by place and row.

    Batches hold one list each; a row that was placed before has -inf.
    """
    lists = new.lists
    order = np.argsort(ranks + lists.expand(lists.starts))
    order -= lists.expand(lists.starts)
    for numbers, batch, networks in batches:
        number = numbers[0]
        places = padded_order(order, lists, numbers)
        # Scores of all candidates at each place; those placed before become -inf below.
        table = order_scores(encoded_by(networks, batch), places, "previous")[0]
        rows_of_list = slice(lists.offsets[number], lists.offsets[number + 1])
        by_row = table.cpu().numpy()[:, ranks[rows_of_list] - 1]
        if new.first is not None:
            by_row = by_row[:, new.first[rows_of_list] - rows_of_list.start]
        place = np.arange(1, len(by_row) + 1)
        by_row[place[:, None] > ranks[rows_of_list]] = -np.inf
        assert new.grouping.rows is not None
        row_order = np.argsort(new.grouping.rows[rows_of_list])
        yield new.grouping.labels[number], by_row[:, row_order]


def strict_order(y: Floats, grouping: Grouping) -> Indices:
    """Return which row of its list stands at each place when y sorts the lists.

    Raises
    ------
    ValueError
        If ``y`` has another length, or two rows of a list are equal.
    """
    lists = grouping.lists
    if len(y) != lists.n_rows:
        raise ValueError(
            f"y has {len(y)} entries for {lists.n_rows} rows; it needs one entry per "
            "row."
        )
    levels = Levels(grouping.gather(y), lists)
    if levels.sizes.max() > 1:
        raise ValueError(
            "y must arrange each list, but some rows of a list are equal. Break ties "
            "first, as rank_within(y, groups, method='ordinal') does."
        )
    return levels.order - lists.expand(lists.starts)


def order_losses(
    order: Indices, lists: Lists, batches: Batches
) -> Iterator[tuple[Indices, Floats]]:
    """Yield list numbers, and minus the log-probability of their rows in an order."""
    for numbers, batch, networks in batches:
        places = padded_order(order, lists, numbers)
        scores = order_scores(encoded_by(networks, batch), places, "placed")
        yield numbers, arrangement_loss(scores, batch.valid, "placed").cpu().numpy()


def encoded_by(networks: list[nn.ModuleDict], batch: Batch) -> list[Encoded]:
    """Return the arranger, h and u of each network."""
    return [(network["head"], *network["encoder"](batch)) for network in networks]


def decoders_of(
    networks: list[nn.ModuleDict], batch: Batch, n_samples: int | None = None
) -> list[Decoder]:
    """Return the decoders of a batch, of which each list stands ``n_samples`` times.

    Draws compute all scores in the precision of the network.
    """
    decoders = []
    for arranger, h, user in encoded_by(networks, batch):
        exact = n_samples is not None or h.dtype == torch.float32
        if n_samples is not None:
            h = h.repeat_interleave(n_samples, 0)
            user = user.repeat_interleave(n_samples, 0)
        decoders.append(Decoder(arranger, h, user, exact))
    return decoders


def ranks_of(order: Tensor) -> Tensor:
    """Return the rank of each candidate, 1 for the first, of orders (..., longest)."""
    return order.argsort(-1) + 1
