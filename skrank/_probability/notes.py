"""Notes and warnings of a summary, in words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skrank._data.checks import LISTED, count_of, listing
from skrank._data.lists import Floats
from skrank._fit.derivatives import Counts
from skrank._fit.diagnostics import involved
from skrank._fit.objective import LinearObjective
from skrank._probability.covariance import Estimate
from skrank._probability.likelihood import (
    constants_of,
    divisor_of,
    fit_without_penalty,
)
from skrank._probability.restraints import RIDGE

FEW_LISTS = 40
FEW_OF_ONE = 10  # lists that inform a single coefficient
FAR_FROM_OPTIMUM = 0.1  # standard errors
NEARER = "Pass the data and weights of fit, lower tol and ftol, or raise max_iter."


class SummaryContext(NamedTuple):
    """A fitted ranker, its objective on the data of the fit, and its estimate.

    ``names`` are those of the parameters of the estimate, ``covariance`` the one that
    z, p values and intervals use, ``why_no_errors`` why there are none.
    """

    ranker: Any
    objective: LinearObjective
    estimate: Estimate
    names: list[str]
    covariance: str
    why_no_errors: str | None = None

    def named(self, which: np.ndarray) -> str:
        """Return the names of some parameters as text."""
        return listing([self.names[j] for j in np.flatnonzero(which)])


def notes_of(
    context: SummaryContext, limited: list[str], no_model: str | None
) -> list[str]:
    """Return the notes of a summary.

    Parameters
    ----------
    context : SummaryContext
        The fit.
    limited : list of str
        Names of parameters that are left out.
    no_model : str or None
        Reason why there are no model-based errors.
    """
    ranker, estimate, notes = context.ranker, context.estimate, []
    if ranker.alpha_ > 0 and context.why_no_errors is None:
        notes.append(f"{RIDGE}; so no z and no p values.")
    if ranker.normalize is not None:
        part = {"size": "rows", "terms": "terms"}[ranker.normalize]
        notes.append(f"Each list counts divided by its number of {part}.")
    if estimate.counts.n_lists > 0 and estimate.constant.any():
        notes.append(f"Constant inside every list: {context.named(estimate.constant)}.")
    if estimate.collinear and ranker.alpha_ > 0:
        notes.append(f"{_collinear(context)}Only alpha separates their coefficients.")
    if np.isnan(estimate.df) and context.why_no_errors is None:
        notes.append(
            "Standard errors were found by solving for each coefficient: no degrees "
            "of freedom and no criterion; collinear features and separation were not "
            "looked for."
        )
    if limited:
        notes.append(
            "At a limit of the model, so left out, without an error: "
            f"{listing(limited)}."
        )
    notes += _loss_notes(context)
    if no_model is not None:
        notes.append(f"No model-based standard errors: {no_model}")
    return notes


def alarms_of(context: SummaryContext, no_model: str | None) -> list[str]:
    """Return the warnings of a summary.

    ``no_model`` is why there are no model-based errors, or None.
    """
    ranker, estimate, counts = context.ranker, context.estimate, context.estimate.counts
    if context.why_no_errors is not None:
        return [f"No standard errors: {context.why_no_errors}"]
    alarms = []
    if counts.n_lists == 0:
        alarms.append("No list has an order, so there are no standard errors.")
    if estimate.collinear and ranker.alpha_ == 0:
        alarms.append(
            f"{_collinear(context)}Their coefficients are not determined: no "
            "standard errors. Drop a feature of each, or set alpha above 0."
        )
    if estimate.separating is not None:
        alarms.append(
            "Separation: the fit improves for ever as weights grow along a direction "
            f"of {involved(estimate.separating, context.names)}, so no finite optimum "
            "and no standard errors exist. Set alpha above 0, or drop the feature that "
            "decides the order with certainty."
        )
    elif not estimate.curved:
        alarms.append(
            "The objective is not curved upwards at the coefficients: no standard "
            "errors. Lower tol, or set alpha above 0."
        )
    elif estimate.step > FAR_FROM_OPTIMUM:
        inexact = ranker._why_inexact()
        alarms.append(
            "The coefficients are not the optimum for these data: it is about "
            f"{estimate.step:.2g} standard errors away. "
            f"{NEARER if inexact is None else inexact.advice}"
        )
    better = "" if no_model is not None else " covariance='model' has them."
    if estimate.silent.any():
        why = (
            "at the coefficients the gradient of every single list is 0 in them, as "
            "where all rows are tied, so that lists do"
        )
        if counts.n_clusters == 1:
            why = f"one {_unit(counts)[:-1]} does"
        alarms.append(
            f"No clustered standard errors of {context.named(estimate.silent)}: {why} "
            f"not tell how much estimates would vary.{better}"
        )
    return alarms + _small_numbers(context, no_model)


def _small_numbers(context: SummaryContext, no_model: str | None) -> list[str]:
    """Return warnings about clustered errors that rest on few lists."""
    if context.covariance != "clustered":
        return []
    counts, alarms = context.estimate.counts, []
    unit = _unit(counts)
    enough = max(FEW_LISTS, len(context.names) + 1)
    if 1 < counts.n_clusters < enough:
        better = counts.n_clusters < FEW_OF_ONE and no_model is None
        alarms.append(
            f"Only {count_of(counts.n_clusters, unit[:-1])} for {len(context.names)} "
            "coefficients: clustered standard errors are too small, as a rule, below "
            f"{enough}." + " Use covariance='model'." * better
        )
    known = ~np.isnan(np.diag(context.estimate.clustered))
    few = known & (counts.of_parameters < FEW_OF_ONE)
    if few.any() and counts.n_clusters >= FEW_OF_ONE:
        advice = "Merge or drop these features, or do not use these errors."
        if no_model is None:
            advice = "Use covariance='model'."
        alarms.append(
            f"Fewer than {FEW_OF_ONE} {unit} inform each of {context.named(few)}: "
            f"their clustered standard errors are far too small. {advice}"
        )
    return alarms


def _unit(counts: Counts) -> str:
    """Return what clustered errors count."""
    return "lists" if counts.n_clusters == counts.n_lists else "clusters"


def _collinear(context: SummaryContext) -> str:
    """Return a sentence on the sums of features that are constant."""
    sums = [_formula(one, context.names) for one in context.estimate.collinear]
    return f"Collinear features: constant inside every list are {listing(sums)}. "


def _formula(direction: Floats, names: list[str]) -> str:
    """Return a sum of features as text."""
    used = np.flatnonzero(direction)
    terms = [f"{direction[j]:+.3g} {names[j]}" for j in used[:LISTED]]
    return " ".join([*terms, *(["..."] if len(used) > LISTED else [])])


def _loss_notes(context: SummaryContext) -> list[str]:
    """Return notes that depend on the loss and on the way of the fit."""
    loss = context.objective.loss
    if loss.model == "pairs" and loss.why_no_likelihood() is not None:
        return [
            "Pairs are weighted, so the fit is no likelihood of pairs and has no CLIC; "
            "composite_log_likelihood counts each pair once."
        ]
    inexact = context.ranker._why_inexact()
    if inexact is not None:
        return [inexact.note]
    blocks = [(block.prepared, block.lists) for block in context.objective.blocks]
    return loss.summary_notes(context.ranker.extra_, blocks)


def criterion_of(
    context: SummaryContext, value: float
) -> tuple[str, float, str | None, float]:
    """Return name and value of the fit, and name and value of its criterion.

    ``value`` is that of the objective at the coefficients.
    """
    ranker, objective, estimate = context.ranker, context.objective, context.estimate
    loss = objective.loss
    fit = fit_without_penalty(objective, ranker.coef_, value)
    settled = estimate.separating is None and not np.isnan(estimate.df)
    if loss.why_no_likelihood() is not None:
        return "minus the sum of losses", fit, None, np.nan
    if loss.model == "pairs":
        name = "composite log-likelihood"
        if not settled:
            return name, fit, None, np.nan
        total = float(objective.data.list_weights().sum())
        return name, fit, "CLIC", -2.0 * fit + 2.0 * total * estimate.optimism
    divisor = divisor_of(objective)
    if divisor is None:
        return "minus the sum of losses", fit, None, np.nan
    likelihood = divisor * (fit + constants_of(objective))
    if not settled or ranker._why_inexact() is not None:
        return "log-likelihood", likelihood, None, np.nan
    return "log-likelihood", likelihood, "AIC", -2.0 * likelihood + 2.0 * estimate.df
