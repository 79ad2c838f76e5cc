"""Paired comparisons, and choices of the best and the worst, as rows for a ranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skrank._data.checks import as_written, finite_column
from skrank.interop._items import ItemRows, item_rows


def from_pairs(
    winners: Any,
    losers: Any,
    *,
    tied: Any = None,
    weights: Any = None,
    items: Any = None,
    coding: str = "reference",
    reference: Any = None,
) -> ItemRows:
    """Return rows for a ranker from pairs of a winner and a loser.

    Parameters
    ----------
    winners, losers : sequence of shape (n_pairs,)
        The two items of each pair.
    tied : array-like of bool of shape (n_pairs,), default=None
        Pairs without a winner; None means none. Fit these by DavidsonRanker or
        RaoKupperRanker.
    weights : array-like of shape (n_pairs,), default=None
        How often each result was observed; None counts each once.
    items : sequence, default=None
        All items, in the order that is wanted; None sorts those that occur.
    coding : {"reference", "sum"}, default="reference"
        Whether one item has worth 0, or all worths sum to 0.
    reference : object, default=None
        The item with worth 0; None takes the first.

    Returns
    -------
    rows : ItemRows
        ``X, y, groups, sample_weight`` for ``fit``, and ``worths`` for what it learned.

    Raises
    ------
    ValueError
        If lengths differ, or an item meets itself.

    See Also
    --------
    from_pair_counts : From a table of how often each of two won.

    Examples
    --------
    >>> from skrank import RankNetRanker
    >>> from skrank.interop import from_pairs
    >>> rows = from_pairs(["a", "a", "b"], ["b", "c", "a"])
    >>> RankNetRanker(alpha=0.1).fit(rows.X, rows.y, rows.groups).coef_.shape
    (2,)
    """
    first, second = list(winners), list(losers)
    if len(first) != len(second):
        raise ValueError(
            f"winners has {len(first)} entries and losers {len(second)}; they must be "
            "as many."
        )
    ties = np.zeros(len(first), bool) if tied is None else np.asarray(tied)
    if ties.shape != (len(first),) or ties.dtype.kind != "b":
        raise ValueError(
            f"tied must hold True or False for each of {len(first)} pairs, got dtype "
            f"{ties.dtype} and shape {ties.shape}."
        )
    return item_rows(
        list(zip(first, second, strict=True)),
        [(0.0 if tie else 1.0, 0.0) for tie in ties],
        weights,
        items=items,
        coding=coding,
        reference=reference,
    )


def from_pair_counts(
    first: Any,
    second: Any,
    wins_first: Any,
    wins_second: Any,
    ties: Any = None,
    *,
    first_effect: str | None = None,
    items: Any = None,
    coding: str = "reference",
    reference: Any = None,
) -> ItemRows:
    """Return rows for a ranker from counts of how often each of two items won.

    Parameters
    ----------
    first, second : sequence of shape (n_pairs,)
        The two items of each pair, such as the home team and its guest.
    wins_first, wins_second : array-like of shape (n_pairs,)
        How often the first and the second item won.
    ties : array-like of shape (n_pairs,), default=None
        How often neither won; None means never.
    first_effect : str, default=None
        Name of a further feature: the advantage of standing first, such as
        "at home". None has none.
    items : sequence, default=None
        All items, in the order that is wanted; None sorts those that occur.
    coding : {"reference", "sum"}, default="reference"
        Whether one item has worth 0, or all worths sum to 0.
    reference : object, default=None
        The item with worth 0; None takes the first.

    Returns
    -------
    rows : ItemRows
        Results that were never observed are left out.

    Raises
    ------
    ValueError
        If lengths differ, counts are negative, or nothing was observed.

    References
    ----------
    .. [1] A. Agresti, "Categorical Data Analysis", section 10.6 (Bradley-Terry models,
       with a home-field advantage).

    Examples
    --------
    >>> from skrank.interop import from_pair_counts
    >>> rows = from_pair_counts(["a"], ["b"], [3], [1], [2])
    >>> rows.y.tolist(), rows.sample_weight.tolist()
    ([1.0, 0.0, 0.0, 1.0, 0.0, 0.0], [3.0, 3.0, 1.0, 1.0, 2.0, 2.0])
    """
    first, second = list(first), list(second)
    if len(first) != len(second):
        raise ValueError(
            f"first has {len(first)} entries and second {len(second)}; they must be as "
            "many."
        )
    pairs = list(zip(first, second, strict=True))
    columns = {
        "wins_first": (wins_first, (1.0, 0.0)),
        "wins_second": (wins_second, (0.0, 1.0)),
        "ties": (np.zeros(len(pairs)) if ties is None else ties, (0.0, 0.0)),
    }
    counts = []
    for name, (column, _) in columns.items():
        count = finite_column(column, name)
        if len(count) != len(pairs):
            raise ValueError(f"{name} has {len(count)} entries for {len(pairs)} pairs.")
        if count.min() < 0:
            raise ValueError(f"{name} must not be negative, got {count.min():g}.")
        counts.append(count)
    members, labels, weights = [], [], []
    for place, pair in enumerate(pairs):
        for count, (_, result) in zip(counts, columns.values(), strict=True):
            if count[place] > 0:
                members.append(pair)
                labels.append(result)
                weights.append(count[place])
    return item_rows(
        members,
        labels,
        weights,
        items=items,
        coding=coding,
        reference=reference,
        first_effect=first_effect,
    )


def from_best_worst(
    sets: Sequence[Sequence[Any]],
    best: Any,
    worst: Any = None,
    *,
    weights: Any = None,
    items: Any = None,
    coding: str = "reference",
    reference: Any = None,
) -> ItemRows:
    """Return rows for a ranker from choices of the best and the worst of a set.

    The best item gets label 2, the worst 0 and those between 1: they tie, and
    ``ListMLERanker(ties="marginal")`` sums over their orders exactly. Without
    ``worst`` this is a choice of one of several (conditional logit).

    Parameters
    ----------
    sets : sequence of sequence
        The items of each set.
    best : sequence of shape (n_sets,)
        The item that was chosen as the best.
    worst : sequence of shape (n_sets,), default=None
        The item chosen as the worst; None if the question was only for the best.
    weights : array-like of shape (n_sets,), default=None
        How often each choice was observed; None counts each once.
    items : sequence, default=None
        All items, in the order that is wanted; None sorts those that occur.
    coding : {"reference", "sum"}, default="reference"
        Whether one item has worth 0, or all worths sum to 0.
    reference : object, default=None
        The item with worth 0; None takes the first.

    Returns
    -------
    rows : ItemRows
        ``X, y, groups, sample_weight`` for ``fit``, and ``worths`` for what it learned.

    Raises
    ------
    ValueError
        If lengths differ, or a choice is not in its set, or the best is the worst.

    Examples
    --------
    >>> from skrank.interop import from_best_worst
    >>> from_best_worst([["a", "b", "c"]], ["b"], ["a"]).y.tolist()
    [0.0, 2.0, 1.0]
    """
    chosen = list(best)
    rejected = [None] * len(chosen) if worst is None else list(worst)
    members = [list(one) for one in sets]
    if not len(members) == len(chosen) == len(rejected):
        raise ValueError(
            f"sets, best and worst must be as many, got {len(members)}, {len(chosen)} "
            f"and {len(rejected)}."
        )
    labels = []
    for place, (one, high, low) in enumerate(
        zip(members, chosen, rejected, strict=True)
    ):
        for name, item in (("best", high), ("worst", low)):
            if item not in one and not (name == "worst" and worst is None):
                raise ValueError(
                    f"{name} item {as_written(item)} is not in set {place} (counted "
                    "from 0)."
                )
        if worst is not None and high == low:
            raise ValueError(
                f"the best item of set {place} (counted from 0) is its worst, too."
            )
        middle = 0.0 if worst is None else 1.0
        special = {high: middle + 1.0} if worst is None else {high: 2.0, low: 0.0}
        labels.append([special.get(item, middle) for item in one])
    return item_rows(
        members, labels, weights, items=items, coding=coding, reference=reference
    )
