"""Turn dask collections into delayed parts of whole lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from skrank._data.checks import as_written
from skrank._data.grouping import group_rows

NUMBER = "__skrank_row_number"  # a column that travels through a shuffle


class Columns(NamedTuple):
    """The names of a frame's columns that a fit reads.

    Attributes
    ----------
    label, group : str
        Names of the labels and the groups.
    features : list of str
        Names of the features.
    weight : str or None
        Name of the weights of lists.
    """

    label: str | None
    group: str
    features: list[str]
    weight: str | None


class RawPart(NamedTuple):
    """Some rows as they were loaded: no checks, in the order of the file.

    Attributes
    ----------
    X, y, groups, weights : array-like or None
        Rows, labels, groups and weights.
    numbers : ndarray of int
        Number of each row in the whole data.
    """

    X: Any
    y: Any
    groups: Any
    weights: Any
    numbers: Any


class Source(NamedTuple):
    """Delayed raw parts, and the names of their features.

    Attributes
    ----------
    parts : list of Delayed
        Each computes to a :class:`RawPart`.
    feature_names : list of str or None
        Names of the features; None if they have none.
    """

    parts: list[Any]
    feature_names: list[str] | None


def sources(data: Any, columns: Columns, client: Any, shuffle: Any) -> Source:
    """Return delayed parts of whole lists from a user's collection.

    Parameters
    ----------
    data : dask DataFrame, tuple of dask arrays, or sequence of Delayed
        See :func:`skrank.dask.fit`.
    columns : Columns
        Names of a frame's columns; features may be empty for all others.
    client : distributed.Client
        Runs the computations.
    shuffle : {"auto", True, False}
        Whether to move rows of a frame so that lists are whole.
    """
    if hasattr(data, "to_delayed") and hasattr(data, "map_partitions"):
        return _of_frame(data, columns, client, shuffle)
    if shuffle is True:
        raise ValueError(
            "shuffle=True moves the rows of a dask DataFrame; arrays and delayed parts "
            "must hold whole lists as they are."
        )
    if isinstance(data, tuple) and all(hasattr(part, "dask") for part in data):
        return Source(_of_arrays(data, client), None)
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _of_delayed(list(data), columns)
    raise TypeError(
        "data must be a dask DataFrame, a tuple of dask arrays (X, y, groups), or a "
        f"list of delayed parts; got {type(data).__name__}."
    )


def _of_frame(frame: Any, columns: Columns, client: Any, shuffle: Any) -> Source:
    """Return the partitions of a frame, shuffled by group where lists are cut."""
    from dask import delayed

    names = list(map(str, frame.columns))
    for role, name in (
        ("label", columns.label),
        ("group", columns.group),
        ("weight", columns.weight),
    ):
        if name is not None and name not in names:
            raise ValueError(
                f"{role}={name!r} is no column of the data frame, which has "
                f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}."
            )
    taken = {columns.label, columns.group, columns.weight}
    features = columns.features or [name for name in names if name not in taken]
    unknown = [name for name in features if name not in names]
    if unknown:
        raise ValueError(
            f"features has {unknown[0]!r}, which is no column of the data frame."
        )
    columns = columns._replace(features=features)
    kept = [columns.group, *features]
    kept += [name for name in (columns.label, columns.weight) if name is not None]
    facts = client.gather(
        client.compute(
            [delayed(_groups_of)(part) for part in frame[columns.group].to_delayed()]
        )
    )
    n_rows = np.array([n for n, _ in facts], dtype=np.int64)
    first = np.concatenate(([0], np.cumsum(n_rows)))
    cut = _cut_group([labels for _, labels in facts])
    parts = frame[list(dict.fromkeys(kept))].to_delayed()
    if cut is None and shuffle is not True:
        raw = [
            delayed(raw_from_frame)(part, columns, int(start))
            for part, start in zip(parts, first, strict=False)
        ]
        return Source(raw, features)
    if shuffle is False:
        label, one, other = cut
        raise ValueError(
            f"list {as_written(label)} has rows in partitions {one} and {other}, and "
            "shuffle=False. Shuffle the frame by group, or write partitions of whole "
            "lists."
        )
    return Source(_shuffled(frame, parts, first, columns, kept), features)


def _shuffled(
    frame: Any, parts: list[Any], first: Any, columns: Columns, kept: list[str]
) -> list[Any]:
    """Return the parts after one shuffle by a hash of the group."""
    import dask
    import dask.dataframe as dd
    from dask import delayed

    numbered = [
        delayed(_numbered)(part, int(start))
        for part, start in zip(parts, first, strict=False)
    ]
    meta = frame._meta[list(dict.fromkeys(kept))].assign(**{NUMBER: np.int64(0)})
    # Shuffle by tasks, not p2p, so that partitions of a lost worker can be made again.
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        whole = dd.from_delayed(numbered, meta=meta, verify_meta=False).shuffle(
            on=columns.group, npartitions=len(parts)
        )
    return [delayed(raw_from_frame)(part, columns, None) for part in whole.to_delayed()]


def _of_arrays(arrays: tuple, client: Any) -> list[Any]:
    """Return the chunks of dask arrays X, y, groups and perhaps weights."""
    from dask import delayed

    if len(arrays) not in (3, 4):
        raise ValueError(
            "a tuple of dask arrays is (X, y, groups) or (X, y, groups, weights), got "
            f"{len(arrays)} arrays."
        )
    X, *columns = arrays
    if X.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, rows and features, got {X.ndim}."
        )
    X = X.rechunk({1: -1})
    for name, column in zip(("y", "groups", "weights"), columns, strict=False):
        if column.ndim != 1:
            raise ValueError(
                f"{name} must have one dimension, one entry per row, got {column.ndim}."
            )
        if column.chunks[0] != X.chunks[0]:
            raise ValueError(
                f"{name} is cut into chunks of other rows than X: rechunk it as "
                f"{name}.rechunk(X.chunks[0])."
            )
    sizes = X.chunks[0]
    if any(np.isnan(size) for size in sizes):
        raise ValueError("X has chunks of unknown size: call compute_chunk_sizes().")
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    blocks = [X.to_delayed().ravel()]
    blocks += [column.to_delayed().ravel() for column in columns]
    if len(columns) == 2:
        blocks.append([None] * len(sizes))
    return [
        delayed(_raw_from_arrays)(*block, int(start))
        for *block, start in zip(*blocks, first, strict=False)
    ]


def _of_delayed(parts: list[Any], columns: Columns) -> Source:
    """Return delayed parts that compute to frames, or to tuples of arrays."""
    from dask import delayed

    if not parts:
        raise ValueError("data is an empty list; give at least one part.")
    if not all(hasattr(part, "dask") for part in parts):
        raise TypeError("a list must hold dask.delayed parts.")
    raw = [
        delayed(_raw_from_any)(part, columns, number)
        for number, part in enumerate(parts)
    ]
    return Source(raw, columns.features or None)


def raw_from_frame(frame: Any, columns: Columns, start: int | None) -> RawPart:
    """Return the columns of a partition; ``start`` numbers rows not yet numbered."""
    numbers = (
        frame[NUMBER].to_numpy()
        if start is None
        else np.arange(start, start + len(frame), dtype=np.int64)
    )
    return RawPart(
        frame[columns.features],
        None if columns.label is None else frame[columns.label].to_numpy(),
        frame[columns.group].to_numpy(),
        None if columns.weight is None else frame[columns.weight].to_numpy(),
        numbers,
    )


def _raw_from_arrays(X: Any, y: Any, groups: Any, weights: Any, start: int) -> RawPart:
    numbers = np.arange(start, start + X.shape[0], dtype=np.int64)
    return RawPart(X, y, groups, weights, numbers)


def _raw_from_any(part: Any, columns: Columns, number: int) -> RawPart:
    """Return a user's delayed part, once computed, as a `RawPart`."""
    if hasattr(part, "columns"):
        taken = {columns.label, columns.group, columns.weight}
        features = columns.features or [
            name for name in part.columns if name not in taken
        ]
        start = number << 40  # parts keep their order; rows keep theirs inside a part
        return raw_from_frame(part, columns._replace(features=list(features)), start)
    if not isinstance(part, tuple | list) or len(part) not in (3, 4):
        raise TypeError(
            f"delayed part {number} must compute to a data frame, (X, y, groups) or "
            f"(X, y, groups, weights); got {type(part).__name__}."
        )
    X, y, groups, *weights = part
    weight = weights[0] if weights else None
    return _raw_from_arrays(X, y, groups, weight, number << 40)


def _numbered(frame: Any, start: int) -> Any:
    return frame.assign(
        **{NUMBER: np.arange(start, start + len(frame), dtype=np.int64)}
    )


def _groups_of(column: Any) -> tuple[int, Any]:
    """Return the number of rows and the different groups of a partition."""
    values = column.to_numpy()
    if len(values) == 0:
        return 0, values
    return len(values), group_rows(values).labels


def _cut_group(labels: list[Any]) -> tuple[Any, int, int] | None:
    """Return a group with rows in two partitions, and these; None without one."""
    where: dict[Any, int] = {}
    for number, part in enumerate(labels):
        for label in part.tolist():
            if where.setdefault(label, number) != number:
                return label, where[label], number
    return None
