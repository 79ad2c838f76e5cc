"""Summarise a fitted ranker: coefficients with standard errors, and notes on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import check_choice, check_confidence, is_integer
from skrank._data.clusters import clusters_of_lists
from skrank._data.groups import suggests_groups
from skrank._data.lists import Floats, Indices
from skrank._data.warnings import warn
from skrank._fit.data import FitData
from skrank._fit.diagnostics import free_parameters
from skrank._fit.objective import LinearObjective
from skrank._probability.covariance import (
    Estimate,
    estimate,
    fits_in_memory,
    refuse_too_many,
    refuse_too_many_solved,
    standard_errors,
)
from skrank._probability.fit_summary import FitSummary
from skrank._probability.likelihood import (
    divisor_of,
    objective_on,
    why_no_model_errors,
)
from skrank._probability.notes import SummaryContext, alarms_of, criterion_of, notes_of
from skrank._probability.restraints import why_no_errors
from skrank._probability.solving import estimate_some


@suggests_groups
def summary(
    ranker: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    sample_weight: Any = None,
    covariance: str = "clustered",
    confidence: float = 0.95,
    clusters: Any = None,
    features: Any = None,
    offset: Any = None,
) -> FitSummary:
    """Return the coefficients with standard errors, on the data of the fit.

    Standard errors are clustered by list (sandwich, Godambe): right where lists
    are independent, whatever the model. Where the objective is a log-likelihood
    of independent observations, model-based ones stand beside them. With
    ``alpha`` above 0 both describe variation around the penalised optimum, and there
    are no p values; with ``l1_ratio`` above 0 besides, or with coefficients at their
    bounds, there are no errors. :func:`skrank.inspection.summarize` does the same for
    a pipeline.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features, the data of the fit.
    y : array-like of shape (n_rows,)
        Labels, the data of the fit.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the fit. Clustered errors take the weight of one list,
        model-based ones a number of equal lists.
    covariance : {"clustered", "model"}, default="clustered"
        Which standard errors z, p values and intervals use.
    confidence : float, default=0.95
        Coverage of the intervals, between 0 and 1.
    clusters : array-like of shape (n_rows,), default=None
        Label of each row's cluster, constant inside a list: lists of one cluster
        (such as those of one user) may depend on each other. None makes each list
        a cluster.
    features : list of str or int, default=None
        Names or numbers of the features whose coefficients are shown, None all. Where
        matrices of all features would take more than 2 GiB, standard errors of these
        are found by solving for each; then there are no degrees of freedom and no
        criterion, and collinear features and separation are not looked for.
    offset : array-like of shape (n_rows,), default=None
        Offset of the fit.

    Returns
    -------
    summary : skrank.inspection.FitSummary
        Prints as a table; ``to_frame()`` gives a pandas DataFrame.

    Raises
    ------
    ValueError
        If there are no model-based standard errors and ``covariance`` asks for
        them, the data are not those of :meth:`fit` in kind, features are so
        large or small that their products are not numbers, ``clusters`` cut lists,
        or there are so many features that matrices of all would take more than
        2 GiB and ``features`` names none or too many.

    Warns
    -----
    UserWarning
        If fewer than 40 lists, or no more than coefficients, inform clustered
        errors, or fewer than 10 those of a single coefficient; if ``alpha`` is 0 and
        features are collinear inside lists or the fit separates rows, or a penalty on
        absolute values or a bound holds coefficients, which leaves NaN; if the
        coefficients are not the optimum for these data.

    Notes
    -----
    The loss's own parameters, such as those of ties, stand below the
    coefficients, in the scale in which they are learned and without a penalty.
    Those at a limit of the model, where the data allow no estimate, are left out.

    References
    ----------
    .. [1] C. Varin, N. Reid, D. Firth, "An overview of composite likelihood
       methods", Statistica Sinica 21 (2011), sections 2.3 and 3.2.
    """
    return summarize_fit(
        ranker,
        X,
        y,
        groups,
        sample_weight=sample_weight,
        covariance=covariance,
        confidence=confidence,
        clusters=clusters,
        features=features,
        offset=offset,
    )


def summarize_fit(
    ranker: Any,
    X: Any,
    y: Any,
    groups: Any,
    *,
    sample_weight: Any = None,
    covariance: str = "clustered",
    confidence: float = 0.95,
    clusters: Any = None,
    features: Any = None,
    feature_names: list[str] | None = None,
    offset: Any = None,
) -> FitSummary:
    """Do what :func:`summary` does; ``feature_names`` replace those of the ranker."""
    objective = objective_on(ranker, X, y, groups, sample_weight, "summary", offset)
    return summarize_objective(
        ranker,
        objective,
        covariance=covariance,
        confidence=confidence,
        codes=_codes(clusters, objective.data),
        features=features,
        feature_names=feature_names,
    )


def summarize_objective(
    ranker: Any,
    objective: LinearObjective,
    *,
    covariance: str,
    confidence: float,
    codes: Indices | None = None,
    features: Any = None,
    feature_names: list[str] | None = None,
) -> FitSummary:
    """Return the summary of a fit from its objective on the data of the fit.

    ``codes`` are the numbers of the clusters of lists; None makes each list one.
    """
    check_choice(covariance, "covariance", ("clustered", "model"))
    check_confidence(confidence)
    parameters = np.concatenate((ranker.coef_, ranker.extra_))
    names = [str(name) for name in ranker._parameter_names()]
    if feature_names is not None:
        names[: objective.n_features] = feature_names
    free = free_parameters(objective, ranker.extra_)
    shown = _shown(features, free, names, objective.n_features)
    estimated = _estimate(objective, parameters, free, shown, names, codes)
    why = why_no_errors(ranker, names)
    if why is not None:
        estimated = estimated.without_errors()
    reason = why_no_model_errors(ranker, objective)
    if covariance == "model" and reason is not None:
        raise ValueError(f"There are no model-based standard errors: {reason}")
    matrix, model = estimated.clustered, None
    if reason is None:
        total = objective.data.list_weights().sum()
        model = estimated.model / (total * divisor_of(objective))
        matrix = matrix if covariance == "clustered" else model
    shown_names = [names[j] for j in shown]
    context = SummaryContext(ranker, objective, estimated, shown_names, covariance, why)
    alarms = alarms_of(context, reason)
    for alarm in alarms:
        warn(f"{type(ranker).__name__}.summary: {alarm}")
    notes = notes_of(context, [names[j] for j in np.flatnonzero(~free)], reason)
    fit_name, value, name, criterion = criterion_of(context, objective(parameters)[0])
    return FitSummary(
        ranker=type(ranker).__name__,
        names=context.names,
        coef=parameters[shown],
        n_extra=int(np.sum(shown >= objective.n_features)),
        clustered=standard_errors(estimated.clustered),
        model=None if model is None else standard_errors(model),
        covariance=covariance,
        covariance_matrix=matrix,
        alpha=float(ranker.alpha_),
        confidence=float(confidence),
        n_lists=estimated.counts.n_lists,
        n_rows=objective.data.lists.n_rows,
        df=estimated.df,
        fit_name=fit_name,
        fit_value=value,
        criterion_name=name,
        criterion=criterion,
        notes=(*alarms, *notes),
        informing=estimated.counts.of_parameters,
        n_clusters=None if codes is None else estimated.counts.n_clusters,
    )


def _codes(clusters: Any, data: FitData) -> Indices | None:
    """Return the number of each list's cluster, None where each list is one."""
    if clusters is None:
        return None
    assert data.grouping is not None
    return clusters_of_lists(clusters, data.grouping)


def _shown(
    features: Any, free: NDArray[np.bool_], names: list[str], n_features: int
) -> Indices:
    """Return the numbers of the parameters to show: chosen features, free extra."""
    extra = n_features + np.flatnonzero(free[n_features:])
    if features is None:
        return np.concatenate((np.arange(n_features), extra))
    numbers = []
    known = {name: number for number, name in enumerate(names[:n_features])}
    for feature in np.atleast_1d(np.asarray(features, dtype=object)):
        if is_integer(feature) and -n_features <= feature < n_features:
            numbers.append(int(feature) % n_features)
        elif isinstance(feature, str) and feature in known:
            numbers.append(known[feature])
        else:
            raise ValueError(
                f"features holds {feature!r}, which is neither the name of a feature "
                f"nor a number of one, 0 to {n_features - 1}."
            )
    return np.concatenate((np.unique(np.array(numbers, dtype=np.intp)), extra))


def _estimate(
    objective: LinearObjective,
    parameters: Floats,
    free: NDArray[np.bool_],
    shown: Indices,
    names: list[str],
    clusters: Indices | None,
) -> Estimate:
    """Return the covariances of the shown parameters, by solving if there are many."""
    n_free = int(free.sum())
    if len(shown) < n_free and not fits_in_memory(objective, n_free):
        refuse_too_many_solved(n_free, len(shown))
        shown_names = [names[j] for j in shown]
        return estimate_some(objective, parameters, free, shown, shown_names, clusters)
    refuse_too_many(objective, n_free)
    estimated = estimate(objective, parameters, free, clusters)
    if len(shown) == n_free:
        return estimated
    places = np.flatnonzero(np.isin(np.flatnonzero(free), shown))
    return estimated.of(places, objective.n_features)
