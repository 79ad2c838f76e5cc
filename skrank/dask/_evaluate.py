"""Scores and metrics of rows in dask collections."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank.dask._client import check_shuffle, errors_in_words, find_client
from skrank.dask._parts import load
from skrank.dask._sources import Columns, sources
from skrank.metrics import make_ranking_scorer


def predict(ranker: Any, data: Any, *, features: Any = None) -> Any:
    """Return the scores of rows that dask holds, as a dask collection.

    Parameters
    ----------
    ranker : estimator
        Fitted, by :func:`skrank.dask.fit` or on one machine.
    data : dask DataFrame or dask array of shape (n_rows, n_features)
        Features; a frame may have other columns.
    features : list of str, default=None
        Columns of a frame; None takes the names that ``fit`` saw.

    Returns
    -------
    scores : dask Series or dask array
        Not yet computed; the index and partitions of ``data``.

    Raises
    ------
    ValueError
        If a frame's features are not known.
    TypeError
        If ``data`` is not a dask collection.

    Examples
    --------
    >>> from skrank.dask import predict
    >>> frame["score"] = predict(ranker, frame)  # doctest: +SKIP
    """
    if hasattr(data, "map_partitions") and hasattr(data, "columns"):
        names = _feature_names(ranker, features)
        return data[names].map_partitions(
            _frame_scores, ranker, meta=("score", np.float64)
        )
    if hasattr(data, "map_blocks"):
        if data.ndim != 2:
            raise ValueError(
                f"X must have two dimensions, rows and features, got {data.ndim}."
            )
        X = data.rechunk({1: -1})
        return X.map_blocks(_block_scores, ranker, drop_axis=1, dtype=np.float64)
    raise TypeError(
        f"data must be a dask DataFrame or a dask array, got {type(data).__name__}."
    )


def evaluate(
    ranker: Any,
    data: Any,
    *,
    metrics: Any = ("ndcg@10",),
    label: str | None = None,
    group: str | None = None,
    features: Any = None,
    weight: str | None = None,
    client: Any = None,
    shuffle: Any = "auto",
) -> dict[str, float]:
    """Return the means of metrics over lists; each worker adds up its own lists.

    Parameters
    ----------
    ranker : estimator
        Fitted.
    data, label, group, features, weight, client, shuffle
        As for :func:`skrank.dask.fit`.
    metrics : str, scorer or sequence of these, default=("ndcg@10",)
        Names of the registry, or scorers of :mod:`skrank.metrics`.

    Returns
    -------
    means : dict of str to float
        Mean of each metric over the lists where it is defined; NaN where there is
        none.

    Raises
    ------
    ValueError
        If the data are not whole lists, or a metric does not apply to the labels.

    Examples
    --------
    >>> from skrank.dask import evaluate
    >>> evaluate(ranker, frame, label="label", group="group")  # doctest: +SKIP
    """
    from dask import delayed

    client = find_client(client, "evaluate")
    check_shuffle(shuffle)
    listed = [metrics] if isinstance(metrics, str) or callable(metrics) else metrics
    scorers = {str(one): _scorer(one) for one in listed}
    has_names = features is not None or hasattr(ranker, "feature_names_in_")
    names = _feature_names(ranker, features) if has_names else []
    columns = Columns(label, group or "", list(names), weight)
    with errors_in_words("evaluate"):
        source = sources(data, columns, client, shuffle)
        sums = client.gather(
            client.compute(
                [delayed(_sums)(raw, ranker, scorers) for raw in source.parts]
            )
        )
    totals = np.sum(np.array(sums), axis=0)  # (n_metrics, 2): weighted values, weights
    with np.errstate(invalid="ignore"):
        return dict(zip(scorers, (totals[:, 0] / totals[:, 1]).tolist(), strict=True))


def _scorer(metric: Any) -> Any:
    return make_ranking_scorer(metric) if isinstance(metric, str) else metric


def _sums(raw: Any, ranker: Any, scorers: dict[str, Any]) -> Any:
    """Return weighted sums of each metric over the lists of a part, and weights."""
    part, facts = load(raw)
    facts.refuse_weights_of_rows("evaluate")
    out = np.zeros((len(scorers), 2))
    if part.lists is None:
        return out
    X = part.X
    if hasattr(raw.X, "columns"):
        import pandas as pd

        X = pd.DataFrame(X, columns=list(raw.X.columns))
    scores = np.asarray(ranker.predict(X), dtype=np.float64)
    of_list = part.lists.expand(np.arange(part.lists.n_lists))
    weights = np.ones(part.lists.n_lists) if facts.weights is None else facts.weights
    for place, scorer in enumerate(scorers.values()):
        values = scorer.metric(
            part.y, scores, of_list, **{**scorer.kwargs, "average": None}
        )
        values = np.asarray(values, dtype=np.float64)
        defined = ~np.isnan(values)
        sign = 1.0 if scorer.greater_is_better else -1.0
        out[place] = sign * (values * weights)[defined].sum(), weights[defined].sum()
    return out


def _frame_scores(frame: Any, ranker: Any) -> Any:
    import pandas as pd

    values = ranker.predict(frame) if len(frame) else np.empty(0)
    return pd.Series(values, index=frame.index, name="score", dtype=np.float64)


def _block_scores(X: Any, ranker: Any) -> Any:
    return ranker.predict(X) if len(X) else np.empty(0)


def _feature_names(ranker: Any, features: Any) -> list[str]:
    names = (
        features if features is not None else getattr(ranker, "feature_names_in_", None)
    )
    if names is None:
        raise ValueError(
            "the ranker was fitted without names of features; pass features=, the "
            "columns in the order of fit."
        )
    return list(map(str, names))
