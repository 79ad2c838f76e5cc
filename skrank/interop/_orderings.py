"""Orderings of items as rows for a ranker: tables, sequences and PrefLib files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from skrank._data.checks import as_written, check_choice, refuse_misread
from skrank.interop._items import ItemRows, is_missing, item_rows

UNRANKED = ("absent", "last")


def from_orderings(
    orderings: Any,
    *,
    weights: Any = None,
    items: Any = None,
    unranked: str = "absent",
    coding: str = "reference",
    reference: Any = None,
) -> ItemRows:
    """Return rows for a ranker from orderings: items from best to worst.

    Parameters
    ----------
    orderings : sequence of sequence, or dataframe
        The items of each ordering, best first. A set, list or tuple inside an ordering
        holds items that tie. A frame has one ordering a row and one place a column;
        missing entries are skipped.
    weights : array-like of shape (n_orderings,), default=None
        How often each ordering was observed; None counts each once.
    items : sequence, default=None
        All items, in the order that is wanted; None sorts those that occur.
    unranked : {"absent", "last"}, default="absent"
        What an item means that an ordering does not name: it was not there, or it
        comes below all that are named (a ranking of the best few).
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
        If there is nothing to compare, an item stands twice in an ordering, or
        arguments do not fit together.

    See Also
    --------
    from_rankings : From ranks instead of orders.

    Examples
    --------
    >>> from skrank.interop import from_orderings
    >>> rows = from_orderings([["b", "a"], ["b", ("a", "c")]], reference="a")
    >>> rows.columns, rows.y.tolist()
    (['b', 'c'], [2.0, 1.0, 2.0, 1.0, 1.0])
    """
    check_choice(unranked, "unranked", UNRANKED)
    members, labels = [], []
    for levels in (_levels(ordering) for ordering in _rows(orderings)):
        members.append([item for level in levels for item in level])
        labels.append(
            [
                float(len(levels) - number)
                for number, level in enumerate(levels)
                for _ in level
            ]
        )
    if unranked == "last":
        every = list(items) if items is not None else _occurring(members)
        for named, label in zip(members, labels, strict=True):
            remaining = [item for item in every if item not in set(named)]
            named += remaining
            label += [0.0] * len(remaining)
    return item_rows(
        members, labels, weights, items=items, coding=coding, reference=reference
    )


def from_rankings(
    ranks: Any,
    *,
    weights: Any = None,
    items: Any = None,
    unranked: str = "absent",
    coding: str = "reference",
    reference: Any = None,
) -> ItemRows:
    """Return rows for a ranker from a table of ranks: one column an item, 1 is best.

    Parameters
    ----------
    ranks : array-like or dataframe of shape (n_rankings, n_items)
        Rank of each item in each ranking; equal ranks tie, and missing ranks (NaN, or
        0 as in PlackettLuce) are not ranked.
    weights : array-like of shape (n_rankings,), default=None
        How often each ranking was observed; None counts each once.
    items : sequence, default=None
        Names of the columns; None takes those of a frame, else 0, 1, ...
    unranked : {"absent", "last"}, default="absent"
        What an item without a rank means: it was not there, or it comes last.
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
        If ranks are negative or infinite, or arguments do not fit together.

    See Also
    --------
    from_orderings : From orders instead of ranks.

    Examples
    --------
    >>> from skrank.interop import from_rankings
    >>> rows = from_rankings([[1, 2, 3], [2, 1, 1]], items=["a", "b", "c"])
    >>> rows.y.tolist()
    [3.0, 2.0, 1.0, 1.0, 2.0, 2.0]
    """
    check_choice(unranked, "unranked", UNRANKED)
    if items is None:
        columns = getattr(ranks, "columns", None)
        items = None if columns is None else list(columns)
    refuse_misread(ranks, "ranks")
    table = np.asarray(ranks, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ranks must be a table, got shape {table.shape}.")
    names = list(range(table.shape[1])) if items is None else list(items)
    if len(names) != table.shape[1]:
        raise ValueError(f"items has {len(names)} names for {table.shape[1]} columns.")
    wrong = np.isinf(table) | ((table != 0) & (table < 1))
    if wrong.any():
        raise ValueError(
            "ranks must be finite and 1 or more, or missing (NaN or 0), got "
            f"{table[wrong][0]:g}."
        )
    ranked = table > 0
    labels = np.where(
        ranked, table.max(axis=1, initial=0, where=ranked)[:, None] + 1, 0
    )
    labels = labels - np.where(ranked, table, 0)
    if unranked == "last":
        ranked = np.ones_like(ranked)
    members = [[names[j] for j in np.flatnonzero(row)] for row in ranked]
    values = [row[kept].tolist() for row, kept in zip(labels, ranked, strict=True)]
    return item_rows(
        members, values, weights, items=names, coding=coding, reference=reference
    )


def read_preflib(
    path: str | os.PathLike,
    *,
    unranked: str = "absent",
    coding: str = "reference",
    reference: Any = None,
) -> ItemRows:
    """Return rows for a ranker from a PrefLib file: .soc, .soi, .toc or .toi.

    Such files hold strict or tied orders, complete or incomplete, one a line, with the
    number of voters who gave it.

    Parameters
    ----------
    path : str or path
        The file, in PrefLib's format of 2022 or later (with ``#`` lines).
    unranked : {"absent", "last"}, default="absent"
        What an alternative means that a line does not name; see
        :func:`from_orderings`.
    coding : {"reference", "sum"}, default="reference"
        Whether one item has worth 0, or all worths sum to 0.
    reference : str, default=None
        The alternative with worth 0; None takes the first.

    Returns
    -------
    rows : ItemRows
        ``X, y, groups, sample_weight`` for ``fit``; ``items`` are the names of the
        alternatives that occur, in the file's order.

    Raises
    ------
    ValueError
        If a line is not of the format, naming its number.

    References
    ----------
    .. [1] N. Mattei, T. Walsh, "PrefLib: a library for preferences", ADT 2013.

    Examples
    --------
    >>> from skrank.interop import read_preflib
    >>> rows = read_preflib("netflix.soc")  # doctest: +SKIP
    """
    names: dict[int, str] = {}
    orderings: list[list[Any]] = []
    counts: list[float] = []
    text = Path(path).read_text(encoding="utf-8-sig")
    # Split at newlines alone, since names may contain other line ends of Unicode.
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        try:
            if line.startswith("# ALTERNATIVE NAME "):
                key, name = line[len("# ALTERNATIVE NAME ") :].split(":", 1)
                names[int(key)] = name.strip()
            elif line and not line.startswith("#"):
                count, order = line.split(":", 1)
                counts.append(float(count))
                orderings.append(_preflib_levels(order))
        except ValueError as error:
            raise ValueError(
                f"{path}, line {number}: not a PrefLib line: {line[:60]!r}."
            ) from error
    if not orderings:
        raise ValueError(
            f"{path} has no orders; a line of one is its count, a colon and the "
            "alternatives, such as 3: 1,2."
        )
    unknown = [item for order in orderings for level in order for item in level]
    unknown = [item for item in dict.fromkeys(unknown) if item not in names]
    if unknown:
        raise ValueError(
            f"{path}: alternative {unknown[0]} has no name; the head of the file needs "
            f"a line '# ALTERNATIVE NAME {unknown[0]}: ...'."
        )
    # Two alternatives with one name are still two.
    if len(set(names.values())) < len(names):
        names = {key: f"{name} ({key})" for key, name in names.items()}
    named = [
        [[names[item] for item in level] for level in order] for order in orderings
    ]
    occurring = {item for order in named for level in order for item in level}
    items = [name for name in names.values() if name in occurring or unranked == "last"]
    return from_orderings(
        named,
        weights=counts,
        items=items,
        unranked=unranked,
        coding=coding,
        reference=reference,
    )


def _preflib_levels(order: str) -> list[list[int]]:
    """Return the levels of a line such as ``3,{1,2},4``."""
    levels: list[list[int]] = []
    inside: list[int] | None = None
    for part in order.replace("{", "{,").replace("}", ",}").split(","):
        part = part.strip()
        if part == "{" and inside is None:
            inside = []
        elif part == "}" and inside is not None:
            levels += [inside] if inside else []
            inside = None
        elif part:
            (levels.append([int(part)]) if inside is None else inside.append(int(part)))
    if inside is not None or not levels:
        raise ValueError("braces do not match, or the line is empty")
    return levels


def _rows(orderings: Any) -> list[Sequence[Any]]:
    """Return orderings as sequences, those of a frame without missing entries."""
    if hasattr(orderings, "to_numpy"):
        table = np.asarray(orderings.to_numpy(), dtype=object)
    elif isinstance(orderings, np.ndarray) and orderings.ndim == 2:
        table = orderings.astype(object)
    else:
        return list(orderings)
    return [[item for item in row if not is_missing(item)] for row in table]


def _levels(ordering: Any) -> list[list[Any]]:
    """Return the levels of an ordering: one item each, or several that tie."""
    if isinstance(ordering, str) or not hasattr(ordering, "__iter__"):
        raise ValueError(
            f"each ordering must be a sequence of items, got {as_written(ordering)}."
        )
    levels = []
    for level in ordering:
        tied = isinstance(level, list | tuple | set | frozenset)
        levels.append(list(level) if tied else [level])
    return [level for level in levels if level]


def _occurring(members: list[list[Any]]) -> list[Any]:
    return list(dict.fromkeys(item for named in members for item in named))
