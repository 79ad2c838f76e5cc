"""Standard errors of a fit to lists that are spread over workers."""

from __future__ import annotations

from typing import Any

from skrank._fit.data import refuse_missing_offset
from skrank._probability.summary import summarize_objective
from skrank.dask._client import check_shuffle, errors_in_words, find_client
from skrank.dask._fit import columns_of, distributed_objective, loaded, merged
from skrank.dask._sources import sources


def summary(
    ranker: Any,
    data: Any,
    *,
    label: str | None = None,
    group: str | None = None,
    features: Any = None,
    weight: str | None = None,
    covariance: str = "clustered",
    confidence: float = 0.95,
    client: Any = None,
    shuffle: Any = "auto",
) -> Any:
    """Return the coefficients with standard errors, on the data of the fit.

    Workers add up second derivatives and gradients of their own lists.

    Parameters
    ----------
    ranker : LinearRanker
        Fitted, by :func:`skrank.dask.fit` or on one machine.
    data, label, group, features, weight, client, shuffle
        The data of the fit, as for :func:`skrank.dask.fit`.
    covariance : {"clustered", "model"}, default="clustered"
        Which standard errors z, p values and intervals use.
    confidence : float, default=0.95
        Coverage of the intervals.

    Returns
    -------
    summary : skrank.inspection.FitSummary
        As the ranker's own ``summary`` returns it.

    Raises
    ------
    ValueError
        If the ranker's loss is not a model of probabilities, or the data are not whole
        lists.

    Examples
    --------
    >>> from skrank.dask import summary
    >>> print(summary(ranker, frame, label="label", group="group"))  # doctest: +SKIP
    """
    client = find_client(client, "summary")
    check_shuffle(shuffle)
    ranker = ranker._as_fitted()
    loss = ranker._loss()
    if loss.model is None:
        raise ValueError(
            f"{type(ranker).__name__} has no summary: {loss.why_no_likelihood()}"
        )
    refuse_missing_offset(ranker, None, "skrank.dask.summary")
    columns = columns_of(data, label, group, features, weight)
    with errors_in_words("summary"):
        parts, facts = loaded(sources(data, columns, client, shuffle), client)
        for one in facts:
            one.refuse_weights_of_rows("summary")
        objective = distributed_objective(
            client, parts, facts, merged(facts), loss, ranker.normalize
        )
        objective.alpha, objective.l1_ratio = ranker.alpha_, ranker.l1_ratio
        return summarize_objective(
            ranker, objective, covariance=covariance, confidence=confidence
        )
