"""Fit a linear ranker to lists that are spread over workers."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from skrank._data.checks import as_written
from skrank._data.lists import Floats, Indices, Lists
from skrank._fit.data import FitData
from skrank._fit.diagnostics import warn_of_cost, warn_of_data
from skrank.dask._client import check_shuffle, errors_in_words, find_client
from skrank.dask._objective import (
    DistributedObjective,
    Shape,
    make_shard,
    penalty_on_shards,
)
from skrank.dask._parts import Facts, load
from skrank.dask._sources import Columns, Source, sources
from skrank.linear_model._base import BaseLinearRanker


class MergedFacts(NamedTuple):
    """Labels and lists of all parts, which the client holds.

    Attributes
    ----------
    data : FitData
        Labels, lists and weights of all data, in an order that no partitioning
        changes; no features.
    rows : list of ndarray
        Places of the rows of each part in this order.
    lists : list of ndarray
        Places of the lists of each part in this order.
    """

    data: FitData
    rows: list[Indices]
    lists: list[Indices]


def fit(
    ranker: Any,
    data: Any,
    *,
    label: str | None = None,
    group: str | None = None,
    features: Any = None,
    weight: str | None = None,
    client: Any = None,
    shuffle: Any = "auto",
) -> Any:
    r"""Fit a linear ranker to data that dask holds, and return it.

    The objective is a sum over lists: workers hold whole lists and return values and
    gradients, the client runs the same solver as on one machine. Value and gradient
    agree with one machine's to rounding (1e-12), so weights agree within what ``tol``
    allows. Only weights and gradients travel while it runs; before that labels and
    groups do, about 10 bytes a row.

    Parameters
    ----------
    ranker : LinearRanker
        Any linear ranker of skrank with an exact gradient; it is copied.
    data : dask DataFrame, tuple of dask arrays, or list of Delayed
        A frame with columns of labels, groups and features; arrays (X, y, groups) or
        (X, y, groups, weights) in the same chunks of rows; or delayed parts that
        compute to such tuples or to data frames.
    label, group : str, default=None
        Columns of labels and groups, for frames.
    features : list of str, default=None
        Columns of features; None takes all others.
    weight : str, default=None
        Column of weights of rows, as in ``fit`` on one machine; None counts lists
        alike.
    client : distributed.Client, default=None
        The cluster; None takes the current one.
    shuffle : {"auto", True, False}, default="auto"
        Rows of a list must be in one partition. "auto" looks for lists that are not
        and, if there are any, shuffles a frame once by a hash of the group; False
        makes them an error, True shuffles in any case. Arrays and delayed parts are
        never shuffled.

    Returns
    -------
    ranker : LinearRanker
        Fitted like any other: ``predict``, ``summary`` and export work on it.

    Raises
    ------
    ImportError
        If dask is not installed.
    TypeError
        If the ranker is not a linear one of skrank, or ``data`` of another kind.
    ValueError
        If there is no cluster, lists are cut and cannot be shuffled, parts differ in
        their number of features, or for any reason of ``fit`` on one machine.
    RuntimeError
        If the cluster is lost, or a part kills its workers.

    Warns
    -----
    UserWarning, ConvergenceWarning
        As ``fit`` on one machine, once.

    See Also
    --------
    predict : Scores of dask collections.
    evaluate : Means of metrics.

    Notes
    -----
    If a worker is lost, its parts are loaded again, and the fit goes on.
    Rows of a list keep the order of the file through the shuffle, so that
    ``ties="order"`` means the same; random ties do not depend on the partitioning.

    Examples
    --------
    >>> import dask.dataframe as dd  # doctest: +SKIP
    >>> from distributed import Client
    >>> from skrank import ListMLERanker
    >>> import skrank.dask
    >>> client = Client()  # doctest: +SKIP
    >>> frame = dd.read_parquet("train")  # doctest: +SKIP
    >>> ranker = skrank.dask.fit(
    ...     ListMLERanker(), frame, label="label", group="group"
    ... )  # doctest: +SKIP
    """
    if not isinstance(ranker, BaseLinearRanker):
        raise TypeError(
            "ranker must be a linear ranker of skrank, got "
            f"{type(ranker).__name__}. Fit a pipeline's scaler first, on a sample or "
            "with dask-ml, and pass its last step."
        )
    if getattr(ranker, "inference", "exact") != "exact":
        raise ValueError(
            f"inference={ranker.inference!r} draws its gradient, which is not spread "
            "over workers; use inference='exact'."
        )
    check_shuffle(shuffle)
    fitted = copy.deepcopy(ranker)
    fitted._validate_params()
    fitted._check_settings()
    client = find_client(client, "fit")
    name = f"{type(ranker).__name__}.fit"
    columns = columns_of(data, label, group, features, weight)
    with errors_in_words("fit"):
        source = sources(data, columns, client, shuffle)
        parts, facts = loaded(source, client)
        merged_facts = merged(facts)
        warn_of_data(name, merged_facts.data)
        loss = fitted._loss()
        objective = distributed_objective(
            client, parts, facts, merged_facts, loss, fitted.normalize
        )
        del parts
        fitted.alpha_ = (
            penalty_on_shards(objective) if fitted.alpha == "auto" else fitted.alpha
        )
        objective.alpha = fitted.alpha_
        warn_of_cost(name, objective.data, loss)
        _set_names(fitted, source, merged_facts.data.X.shape[1])
        objective.l1_ratio = fitted.l1_ratio
        objective.bounds = fitted._bounds(merged_facts.data.X.shape[1])
        try:
            fitted._fit_objective(name, objective)
        except BaseException:  # also after Ctrl-C the workers must forget their parts
            client.cancel(objective.shards)
            raise
    return fitted


def columns_of(
    data: Any, label: str | None, group: str | None, features: Any, weight: str | None
) -> Columns:
    """Return the names of columns; a frame needs those of labels and groups."""
    if hasattr(data, "map_partitions") and (label is None or group is None):
        raise ValueError(
            "a data frame needs label= and group=, the names of two of its columns."
        )
    return Columns(label, group or "", list(features or []), weight)


def loaded(source: Source, client: Any) -> tuple[list[Any], list[Facts]]:
    """Return futures of the checked parts, and facts about them for the client."""
    from dask import delayed

    loading = [delayed(load, nout=2)(raw) for raw in source.parts]
    parts = client.compute([pair[0] for pair in loading])
    facts = client.gather(client.compute([pair[1] for pair in loading]))
    return parts, facts


def merged(facts: list[Facts]) -> MergedFacts:
    """Put the facts about all parts together.

    Lists are in the order of their first rows. Where rows of a list are apart, and
    labels can be sorted, lists are in the order of labels, as on one machine.
    """
    filled = [part for part in facts if len(part.sizes)]
    if not filled:
        raise ValueError("data has no rows; pass at least one list.")
    widths = {part.n_features for part in filled}
    if len(widths) > 1:
        raise ValueError(
            f"parts have {', '.join(map(str, sorted(widths)))} features; all "
            "parts must have the same number."
        )
    _refuse_cut_lists(facts)
    if len({part.weights is None for part in filled}) > 1:
        raise ValueError(
            "some parts have weights and others none; give weights to all or to none."
        )
    sizes = np.concatenate([part.sizes for part in filled]).astype(np.intp)
    first = np.concatenate([part.first for part in filled])
    if all(part.together for part in filled) or any(
        part.labels.dtype.kind == "O" for part in filled
    ):
        order = np.argsort(first, kind="stable")
    else:
        labels = np.concatenate([part.labels for part in filled])
        order = np.argsort(labels, kind="stable")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    lists = Lists(sizes[order])
    y: Floats = np.empty(lists.n_rows)
    weights = None if filled[0].weights is None else np.empty(len(order))
    rows_of, lists_of, start = [], [], 0
    for part in facts:
        places = place[start : start + len(part.sizes)]
        start += len(part.sizes)
        rows = np.zeros(0, dtype=np.intp)
        if len(part.sizes):
            lists_of_part = Lists(part.sizes)
            offset = lists.starts[places] - lists_of_part.starts
            rows = np.arange(lists_of_part.n_rows) + lists_of_part.expand(offset)
            y[rows] = part.y
            if weights is not None:
                weights[places] = part.weights
        rows_of.append(rows)
        lists_of.append(places)
    if weights is not None and weights.max() == 0:
        raise ValueError(
            "weights are zero for every list; at least one must be above zero."
        )
    constant = np.logical_and.reduce([part.constant for part in filled])
    shape = Shape((lists.n_rows, filled[0].n_features))
    data = FitData(shape, y, lists, weights=weights, constant=constant)
    return MergedFacts(data, rows_of, lists_of)


def _refuse_cut_lists(facts: list[Facts]) -> None:
    where: dict[Any, int] = {}
    for number, part in enumerate(facts):
        for label in part.labels.tolist():
            if where.setdefault(label, number) != number:
                raise ValueError(
                    f"list {as_written(label)} has rows in parts {where[label]} and "
                    f"{number} (counted from 0). Each list must be in one part."
                )


def distributed_objective(
    client: Any,
    parts: list[Any],
    facts: list[Facts],
    merged_facts: MergedFacts,
    loss: Any,
    normalize: str | None,
) -> DistributedObjective:
    """Return the objective, without a penalty so far, after the labels are checked."""
    data = merged_facts.data
    checked = loss.check_labels(data.y, data.lists)
    changed = checked is not data.y
    extra_start = loss.extra_parameters(checked, data.lists)
    weights = data.list_weights()
    total = float(weights.sum())
    shards, shares = [], []
    for part, rows, at in zip(
        parts, merged_facts.rows, merged_facts.lists, strict=True
    ):
        share = float(weights[at].sum()) / total if len(at) else 0.0
        if share == 0.0:
            continue
        shards.append(
            client.submit(
                make_shard,
                part,
                data.constant,
                checked[rows] if changed else None,
                None if data.weights is None else weights[at],
                loss,
                normalize,
                extra_start,
                pure=False,
            )
        )
        shares.append(share)
    return DistributedObjective(
        client,
        shards,
        np.array(shares),
        replace(data, y=checked),
        loss,
        alpha=0.0,
        normalize=normalize,
        extra_start=extra_start,
    )


def _set_names(ranker: Any, source: Source, n_features: int) -> None:
    """Set what ``validate_data`` sets on one machine."""
    ranker.n_features_in_ = n_features
    if source.feature_names is not None:
        ranker.feature_names_in_ = np.array(source.feature_names, dtype=object)
    elif hasattr(ranker, "feature_names_in_"):
        del ranker.feature_names_in_
