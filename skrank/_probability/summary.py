"""Summarise a fitted ranker: coefficients with standard errors, and what they mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import LISTED, check_choice, check_confidence, listing
from skrank._data.groups import takes_groups
from skrank._data.lists import Floats
from skrank._data.warnings import warn
from skrank._fit.diagnostics import free_parameters, involved
from skrank._fit.objective import LinearObjective
from skrank._probability.covariance import Estimate, estimate, standard_errors
from skrank._probability.fit_summary import FitSummary
from skrank._probability.likelihood import (
    divisor_of,
    objective_on,
    why_no_model_errors,
)

FEW_LISTS = 40
FAR_FROM_OPTIMUM = 0.1  # standard errors
NEARER = "Pass the data and weights of fit, lower tol and ftol, or raise max_iter."


@takes_groups
def summary(
    ranker,
    X,
    y,
    groups=None,
    *,
    sample_weight=None,
    covariance="clustered",
    confidence=0.95,
):
    """Return the coefficients with standard errors, on the data of the fit.

    Standard errors are clustered by list (sandwich, Godambe): right where lists
    are independent, whatever the model. Where the objective is a log-likelihood
    of independent observations, model-based ones stand beside them. With
    ``alpha`` above 0 both are about the penalised optimum, and there are no p
    values.

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

    Returns
    -------
    summary : skrank.inspection.FitSummary
        Prints as a table; ``to_frame()`` gives a pandas DataFrame.

    Raises
    ------
    ValueError
        If there are no model-based standard errors and ``covariance`` asks for
        them, the data are not those of :meth:`fit` in kind, or features are so
        large or small that their products are no numbers.

    Warns
    -----
    UserWarning
        If fewer than 40 lists, or no more than coefficients, inform clustered
        errors; if ``alpha`` is 0 and features are collinear inside lists or the
        fit separates rows, which leaves NaN; if the coefficients are no optimum
        for these data.

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
    check_choice(covariance, "covariance", ("clustered", "model"))
    check_confidence(confidence)
    objective = objective_on(ranker, X, y, groups, sample_weight, "summary")
    parameters = np.concatenate((ranker.coef_, ranker.extra_))
    free = free_parameters(objective, ranker.extra_)
    found, n_lists = estimate(objective, parameters, free)
    all_names = np.array(ranker._parameter_names(), dtype=object)
    names = all_names[free].tolist()
    reason = why_no_model_errors(ranker, objective)
    if covariance == "model" and reason is not None:
        raise ValueError(f"There are no model-based standard errors: {reason}")
    matrix = found.clustered
    model = None
    if reason is None:
        total = objective.data.list_weights().sum()
        model = found.model / (total * divisor_of(objective))
        matrix = matrix if covariance == "clustered" else model
    alarms = _alarms(ranker, found, n_lists, names, covariance)
    for alarm in alarms:
        warn(f"{type(ranker).__name__}.summary: {alarm}")
    notes = _notes(ranker, objective, found, n_lists, names)
    if not free.all():
        notes.append(
            "At a limit of the model, so left out, without an error: "
            f"{listing(all_names[~free].tolist())}."
        )
    notes += _loss_notes(ranker, objective)
    if reason is not None:
        notes.append(f"No model-based standard errors: {reason}")
    fit_name, value, name, criterion = _criterion(
        ranker, objective, found, objective(parameters)[0]
    )
    return FitSummary(
        ranker=type(ranker).__name__,
        names=names,
        coef=parameters[free],
        n_extra=int(free[objective.n_features :].sum()),
        clustered=standard_errors(found.clustered),
        model=None if model is None else standard_errors(model),
        covariance=covariance,
        covariance_matrix=matrix,
        alpha=float(ranker.alpha_),
        confidence=float(confidence),
        n_lists=n_lists,
        n_rows=objective.data.lists.n_rows,
        df=found.df,
        fit_name=fit_name,
        fit_value=value,
        criterion_name=name,
        criterion=criterion,
        notes=(*alarms, *notes),
    )


def _notes(
    ranker: Any,
    objective: LinearObjective,
    found: Estimate,
    n_lists: int,
    names: list[str],
) -> list[str]:
    """Return what a summary's reader must know, without a warning."""
    notes = []
    if objective.alpha > 0:
        notes.append(
            "alpha > 0: standard errors are around the penalised optimum, which "
            "is pulled towards 0; so no z and no p values."
        )
    if ranker.normalize is not None:
        part = {"size": "rows", "terms": "terms"}[ranker.normalize]
        notes.append(f"Each list counts divided by its number of {part}.")
    constant = [names[j] for j in np.flatnonzero(found.constant)]
    if n_lists > 0 and constant:
        notes.append(f"Constant inside every list: {listing(constant)}.")
    if found.collinear and objective.alpha > 0:
        notes.append(
            f"{_collinear(found, names)}Only alpha tells their coefficients apart."
        )
    return notes


def _alarms(
    ranker: Any, found: Estimate, n_lists: int, names: list[str], covariance: str
) -> list[str]:
    """Return what a summary's reader must be warned of."""
    alarms = []
    if n_lists == 0:
        alarms.append("No list tells an order, so there are no standard errors.")
    if found.collinear and ranker.alpha_ == 0:
        alarms.append(
            f"{_collinear(found, names)}Their coefficients are not determined: no "
            "standard errors. Drop a feature of each, or set alpha above 0."
        )
    if found.separating is not None:
        alarms.append(
            "Separation: the fit improves for ever as weights grow along a "
            f"direction of {involved(found.separating, names)}, so no finite optimum "
            "and no standard errors exist. Set alpha above 0, or drop what tells the "
            "order with certainty."
        )
    elif not found.curved:
        alarms.append(
            "The objective is not curved upwards at the coefficients: no standard "
            "errors. Lower tol, or set alpha above 0."
        )
    elif found.step > FAR_FROM_OPTIMUM:
        inexact = ranker._why_inexact()
        alarms.append(
            "The coefficients are not the optimum for these data: it is about "
            f"{found.step:.2g} standard errors away. "
            f"{NEARER if inexact is None else inexact.advice}"
        )
    if found.silent.any():
        silent = listing([names[j] for j in np.flatnonzero(found.silent)])
        alarms.append(
            f"No clustered standard errors of {silent}: at the coefficients the "
            "gradient of every single list is 0 in them, as where all rows are "
            "tied, so that lists do not tell how much estimates would vary."
        )
    enough = max(FEW_LISTS, len(names) + 1)
    if covariance == "clustered" and 0 < n_lists < enough:
        alarms.append(
            f"Only {n_lists} lists for {len(names)} coefficients: clustered "
            f"standard errors are too small, as a rule, below {enough}."
        )
    return alarms


def _collinear(found: Estimate, names: list[str]) -> str:
    """Return a sentence on the sums of features that are constant."""
    sums = [_formula(direction, names) for direction in found.collinear]
    return f"Collinear features: constant inside every list are {listing(sums)}. "


def _formula(direction: Floats, names: list[str]) -> str:
    """Return a sum of features as text."""
    used = np.flatnonzero(direction)
    terms = [f"{direction[j]:+.3g} {names[j]}" for j in used[:LISTED]]
    return " ".join([*terms, *(["..."] if len(used) > LISTED else [])])


def _loss_notes(ranker: Any, objective: LinearObjective) -> list[str]:
    """Return what the loss and the way of the fit say about the numbers."""
    loss = objective.loss
    if loss.model == "pairs" and loss.why_no_likelihood() is not None:
        return [
            "Pairs are weighted, so the fit is no likelihood of pairs and has no CLIC; "
            "composite_log_likelihood counts each pair once."
        ]
    inexact = ranker._why_inexact()
    if inexact is not None:
        return [inexact.note]
    blocks = [(block.prepared, block.lists) for block in objective.blocks]
    return loss.summary_notes(ranker.extra_, blocks)


def _criterion(
    ranker: Any, objective: LinearObjective, found: Estimate, value: float
) -> tuple[str, float, str | None, float]:
    """Return name and value of the fit, and name and value of its criterion.

    ``value`` is that of the objective at the coefficients.
    """
    loss, coef = objective.loss, ranker.coef_
    total = float(objective.data.list_weights().sum())
    # Minus the objective without its penalty, as a sum over lists.
    fit = total * (0.5 * float((objective.alpha * coef) @ coef) - value)
    divisor = divisor_of(objective)
    settled = found.separating is None
    if loss.model == "pairs":
        if loss.why_no_likelihood() is not None:
            return "minus the sum of losses", fit, None, np.nan
        name = "composite log-likelihood"
        if not settled:
            return name, fit, None, np.nan
        return name, fit, "CLIC", -2.0 * fit + 2.0 * total * found.optimism
    if divisor is None or loss.why_no_likelihood() is not None:
        return "minus the sum of losses", fit, None, np.nan
    constants = (
        loss.log_constant(block.prepared, block.lists) @ block.factors
        for block in objective.blocks
    )
    likelihood = float(divisor * (fit + total * sum(constants)))
    if not settled or ranker._why_inexact() is not None:
        return "log-likelihood", likelihood, None, np.nan
    return "log-likelihood", likelihood, "AIC", -2.0 * likelihood + 2.0 * found.df
