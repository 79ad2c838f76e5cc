"""Likelihoods of observed lists under a fitted ranker.

Functions whose first argument is the ranker are its methods, where its loss is a
likelihood of orders or of ordered partitions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import check_choice
from skrank._data.groups import suggests_groups
from skrank._data.lists import Floats, Levels, Lists
from skrank._data.warnings import warn
from skrank._fit.data import FitData, check_data
from skrank._fit.diagnostics import free_parameters
from skrank._fit.objective import LinearObjective
from skrank._probability.covariance import estimate, refuse_too_many
from skrank._probability.restraints import why_no_errors
from skrank.losses import Loss


@suggests_groups
def log_likelihood(
    ranker: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    average: Any = "sum",
    sample_weight: Any = None,
    offset: Any = None,
) -> Any:
    r"""Return the logarithm of the probability of the labels' order.

    Likelihoods compare only over the same sample space:

    - Plackett-Luce (``ListMLERanker``): all n! orders of the n rows of a list. The
      sizes of ties are taken as given; the probability is that tied rows share
      their places in any order among themselves. "marginal" sums over these
      orders exactly; "efron" and "breslow" approximate the sum, with the factor
      :math:`d!` of a level of d rows.
    - Ordered partitions (``PMOPRanker``, ``DavidsonLuceRanker``): all ways to part
      the rows into levels, ties and their sizes included; 3 for two rows, 13 for
      three. Sizes that the fitted model gives no weight have probability 0.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Labels, higher is better.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y``.
    average : {"sum", "mean", None}, default="sum"
        Sum or mean over lists; None returns one value a list, in the order of
        ``list_labels(groups)``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

    Returns
    -------
    log_likelihood : float or ndarray of shape (n_lists,)
        At most 0; minus infinity where ties have a size without weight.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, ``average`` is unknown, or the
        ranker's settings are no likelihood.

    Warns
    -----
    UserWarning
        If it is minus infinity for some lists.
    """
    loss = ranker._loss()
    reason = loss.why_no_likelihood()
    if reason is not None:
        raise ValueError(f"{type(ranker).__name__} has no likelihood: {reason}")
    method = "log_likelihood"
    data = check_data(ranker, X, y, groups, sample_weight, offset=offset, method=method)
    scores = data.scores(ranker.coef_)
    values = log_likelihoods(loss, ranker.extra_, scores, data.y, data.lists)
    n_impossible = int(np.sum(values == -np.inf))
    if n_impossible:
        warn(
            f"{type(ranker).__name__}: {n_impossible} of {len(values)} lists have a "
            "log-likelihood of minus infinity, because they contain ties larger than "
            "the fitted model allows: max_tie_size is smaller, or no level of this "
            "size was in the data of the fit.",
        )
    return add_up(values, data, average)


@suggests_groups
def deviance(
    ranker: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
) -> float:
    """Return -2 times the log-likelihood.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Labels, higher is better.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

    Returns
    -------
    deviance : float
        Less is better.

    Raises
    ------
    ValueError
        As :meth:`log_likelihood`.
    """
    known = {"sample_weight": sample_weight, "offset": offset}
    value = log_likelihood(ranker, X, y, groups, **known)
    return -2.0 * value


@suggests_groups
def aic(
    ranker: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
) -> float:
    r"""Return Akaike's criterion on the data of the fit: deviance plus 2 df.

    ``df`` is the number of coefficients that the data determine; with ``alpha``
    above 0 the effective number :math:`\mathrm{tr}\, H (H + \alpha I)^{-1}`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features, the data of the fit.
    y : array-like of shape (n_rows,)
        Labels, the data of the fit.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the fit.
    offset : array-like of shape (n_rows,), default=None
        Offset of the fit.

    Returns
    -------
    aic : float
        Less is better.

    Raises
    ------
    ValueError
        As :meth:`log_likelihood`, or if the likelihood has no maximum, or the fit
        did not look for it, since ``normalize`` weighs lists, a penalty on absolute
        values or a bound holds coefficients, or the fit came by chains.
    """
    known = {"sample_weight": sample_weight, "offset": offset}
    value = deviance(ranker, X, y, groups, **known)
    objective = objective_on(ranker, X, y, groups, sample_weight, "aic", offset)
    reason = why_no_errors(ranker, ranker._parameter_names())
    reason = reason or why_no_model_errors(ranker, objective)
    if reason is not None:
        raise ValueError(f"There is no AIC: {reason}")
    parameters = np.concatenate((ranker.coef_, ranker.extra_))
    free = free_parameters(objective, ranker.extra_)
    refuse_too_many(objective, int(free.sum()))
    estimated = estimate(objective, parameters, free)
    if estimated.separating is not None:
        raise ValueError(
            "There is no AIC: rows are separated, so that the likelihood has no "
            "maximum. Set alpha above 0."
        )
    return value + 2.0 * estimated.df


def log_likelihoods(
    loss: Loss, extra: Floats, scores: Floats, y: Floats, lists: Lists
) -> Floats:
    """Return the log-likelihood of each list, minus infinity if impossible."""
    impossible = are_impossible(loss, extra, y, lists)
    # Replace such lists by lists without ties, since the loss knows no such size.
    y = np.where(lists.expand(impossible), np.arange(lists.n_rows), y)
    prepared = loss.prepare(loss.check_labels(y, lists), lists)
    values = loss.value_and_gradient(scores, prepared, lists, extra)[0]
    values = loss.log_constant(prepared, lists) - values
    return np.where(impossible, -np.inf, values)


def are_impossible(loss: Loss, extra: Floats, y: Floats, lists: Lists) -> np.ndarray:
    """Return which lists have ties of a size with probability 0."""
    if loss.model != "partitions":
        return np.zeros(lists.n_lists, dtype=bool)
    levels = Levels(y, lists)
    weights = loss.subset_model(extra, int(lists.sizes.max())).log_weights
    return np.logical_or.reduceat(weights[levels.sizes] == -np.inf, levels.offsets[:-1])


def add_up(values: Floats, data: FitData, average: str | None) -> Any:
    """Return the sum or mean of one value a list, or the values by list label."""
    check_choice(average, "average", ("sum", "mean", None))
    if average is None:
        assert data.grouping is not None
        order = data.grouping.label_order()
        return values if order is None else values[order]
    weights = data.list_weights()
    counted = weights > 0  # 0 times minus infinity would be NaN
    total = float(values[counted] @ weights[counted])
    return total if average == "sum" else total / float(weights.sum())


def objective_on(
    ranker: Any,
    X: Any,
    y: Any,
    groups: Any,
    sample_weight: Any,
    method: str,
    offset: Any = None,
) -> LinearObjective:
    """Return the objective of a ranker, on the data of its fit."""
    data = check_data(ranker, X, y, groups, sample_weight, offset=offset, method=method)
    data, loss = ranker._with_checked_labels(data.gathered())
    n_impossible = int(are_impossible(loss, ranker.extra_, data.y, data.lists).sum())
    if n_impossible:
        raise ValueError(
            f"{type(ranker).__name__}: {n_impossible} lists have ties of a size that "
            "the fitted model never makes, so these are not the data of the fit."
        )
    return ranker._objective(data, loss)


def divisor_of(objective: LinearObjective) -> float | None:
    """Return the divisor of each list's loss in the fit, or None if divisors differ."""
    weights = objective.data.list_weights()
    factors = np.concatenate([block.factors for block in objective.blocks])
    used = (weights > 0) & (objective.data.lists.sizes > 1)
    if not used.any():
        return 1.0
    # The factor of a list is its share of the weights over its divisor. Lists of one
    # row cost 0, so their divisor does not matter.
    divisors = (weights / weights.sum())[used] / factors[used]
    same = np.ptp(divisors) <= 1e-12 * divisors[0]
    return float(divisors[0]) if same else None


def fit_without_penalty(
    objective: LinearObjective, coef: Floats, value: float
) -> float:
    """Return minus the value of an objective without penalty, summed over lists."""
    # The objective is a mean over lists plus the penalty: take the penalty out, and
    # turn the mean into a sum.
    penalty = 0.5 * objective.ridge * float(coef @ coef)
    return float(objective.data.list_weights().sum()) * (penalty - value)


def constants_of(objective: LinearObjective) -> float:
    """Return the constants that losses leave out of log-likelihoods, over all lists."""
    total = float(objective.data.list_weights().sum())
    return total * float(
        sum(
            objective.loss.log_constant(block.prepared, block.lists) @ block.factors
            for block in objective.blocks
        )
    )


def why_no_model_errors(ranker: Any, objective: LinearObjective) -> str | None:
    """Return why there are no model-based standard errors and no AIC, or None."""
    loss, data = objective.loss, objective.data
    divisor = divisor_of(objective)
    if loss.model == "pairs":
        if data.lists.sizes[data.list_weights() > 0].max() > 2:
            return (
                "pairs of one list depend on each other; only with lists of two rows "
                "are they independent observations."
            )
        reason = loss.why_no_likelihood()
        if reason is None and divisor is None:
            reason = "lists are weighted by normalize=."
        return reason
    if divisor is None:
        return (
            f"normalize={ranker.normalize!r} divides lists by different numbers, so "
            "that the fit did not maximise the likelihood; use normalize=None."
        )
    inexact = ranker._why_inexact()
    return loss.why_no_likelihood() or (None if inexact is None else inexact.reason)
