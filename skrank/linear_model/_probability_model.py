"""What every fitted model of probabilities tells: coefficients with errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank._data.checks import (
    check_choice,
    check_confidence,
    equally_long,
    finite_column,
    refuse_masked,
)
from skrank._data.grouping import Grouping, group_rows, list_weights
from skrank._data.groups import find_groups, takes_groups
from skrank._data.lists import Floats, Lists
from skrank._data.warnings import warn
from skrank._fit.objective import LinearObjective, is_memory_mapped
from skrank._probability.covariance import estimate, standard_errors
from skrank._probability.summary import FitSummary
from skrank.linear_model._linear import LISTED, involved, listing

FEW_LISTS = 40
FAR_FROM_OPTIMUM = 0.1  # standard errors


class Observed(NamedTuple):
    """Checked scores and labels of some lists, their rows together."""

    scores: Floats
    y: Floats
    grouping: Grouping
    weights: Floats | None

    @property
    def lists(self) -> Lists:
        """The lists."""
        return self.grouping.lists

    def add_up(self, values: Floats, average: str | None) -> Any:
        """Return the sum or mean of one value a list, or the values by list label."""
        check_choice(average, "average", ("sum", "mean", None))
        if average is None:
            order = self.grouping.label_order()
            return values if order is None else values[order]
        weights = np.ones(len(values)) if self.weights is None else self.weights
        counted = weights > 0  # 0 times minus infinity is no number
        total = float(values[counted] @ weights[counted])
        return total if average == "sum" else total / float(weights.sum())


class ProbabilityModelMixin:
    """Mixin for rankers whose loss is a log-likelihood: their summary."""

    @takes_groups
    def summary(
        self,
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
        objective, grouping, weights = self._objective(X, y, groups, sample_weight)
        parameters = np.concatenate((self.coef_, self.extra_))
        free = np.concatenate((np.ones(len(self.coef_), bool), self._free_extra()))
        found, n_lists = estimate(objective, parameters, free)
        names, left_out = self._parameter_names(free), self._parameter_names(~free)
        divisor = divisor_of(objective, weights)
        total = weights.sum()
        reason = self._no_model(grouping.lists, weights, divisor)
        if covariance == "model" and reason is not None:
            raise ValueError(f"There are no model-based standard errors: {reason}")
        matrix = found.clustered
        model = None
        if reason is None:
            model = found.model / (total * divisor)
            matrix = matrix if covariance == "clustered" else model
        notes, alarms = self._notes(found, n_lists, names, covariance)
        if left_out:
            notes.append(
                "At a limit of the model, so left out, without an error: "
                f"{listing(left_out)}."
            )
        notes += self._approximations(objective)
        for alarm in alarms:
            warn(f"{type(self).__name__}.summary: {alarm}")
        if reason is not None:
            notes.append(f"No model-based standard errors: {reason}")
        penalty = 0.5 * float((objective.alpha * self.coef_) @ self.coef_)
        fit = total * (penalty - objective(parameters)[0])
        fit_name, value, name, criterion = self._criterion(
            objective, found, fit, total, divisor
        )
        if found.separating is not None:
            name, criterion = None, np.nan
        return FitSummary(
            ranker=type(self).__name__,
            names=names,
            coef=parameters[free],
            n_extra=int(self._free_extra().sum()),
            clustered=standard_errors(found.clustered),
            model=None if model is None else standard_errors(model),
            covariance=covariance,
            covariance_matrix=matrix,
            alpha=float(self.alpha),
            confidence=float(confidence),
            n_lists=n_lists,
            n_rows=grouping.lists.n_rows,
            df=found.df,
            fit_name=fit_name,
            fit_value=value,
            criterion_name=name,
            criterion=criterion,
            notes=(*alarms, *notes),
        )

    def _approximations(self, objective):
        """Return notes on what the summary's numbers approximate."""
        return []

    def _notes(self, found, n_lists, names, covariance):
        """Return what a summary's reader must know, and what they must be warned of."""
        notes, alarms = [], []
        free = self.alpha == 0
        if not free:
            notes.append(
                "alpha > 0: standard errors are around the penalised optimum, which "
                "is pulled towards 0; so no z and no p values."
            )
        if self.normalize is not None:
            part = {"size": "rows", "terms": "terms"}[self.normalize]
            notes.append(f"Each list counts divided by its number of {part}.")
        constant = [names[j] for j in np.flatnonzero(found.constant)]
        if n_lists == 0:
            alarms.append("No list tells an order, so there are no standard errors.")
        elif constant:
            notes.append(f"Constant inside every list: {listing(constant)}.")
        sums = [_formula(direction, names) for direction in found.collinear]
        if sums:
            text = (
                f"Collinear features: constant inside every list are {listing(sums)}. "
            )
            if free:
                alarms.append(
                    text + "Their coefficients are not determined: no standard "
                    "errors. Drop a feature of each, or set alpha above 0."
                )
            else:
                notes.append(text + "Only alpha tells their coefficients apart.")
        if found.separating is not None:
            direction = involved(found.separating, names)
            alarms.append(
                "Separation: the fit improves for ever as weights grow along a "
                f"direction of {direction}, so no finite optimum and no "
                "standard errors exist. Set alpha above 0, or drop what tells the "
                "order with certainty."
            )
        elif not found.curved:
            alarms.append(
                "The objective is not curved upwards at the coefficients: no standard "
                "errors. Lower tol, or set alpha above 0."
            )
        elif found.step > FAR_FROM_OPTIMUM:
            alarms.append(
                "The coefficients are not the optimum for these data: it is about "
                f"{found.step:.2g} standard errors away. {self._nearer()}"
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
        return notes, alarms

    def _check_labels_of_fit(self, y, lists):
        """Refuse labels that cannot be those of the fit."""

    def _nearer(self):
        """Return what brings the coefficients to the optimum."""
        return (
            "Pass the data and weights of fit, lower tol and ftol, or raise max_iter."
        )

    def _objective(self, X, y, groups, sample_weight):
        """Return the fit's objective on some data, its grouping and list weights."""
        check_is_fitted(self)
        groups = find_groups(y, groups, f"{type(self).__name__}.summary")
        refuse_masked(X, "X")
        refuse_masked(y, "y")
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            reset=False,
        )
        grouping = group_rows(groups, len(y))
        rows = grouping.rows
        if rows is not None and (sparse.issparse(X) or not is_memory_mapped(X)):
            X, rows = X[rows], None
        weights = list_weights(sample_weight, grouping)
        loss = self._loss()
        labels = loss.check_labels(
            grouping.gather(finite_column(y, "y")), grouping.lists
        )
        self._check_labels_of_fit(labels, grouping.lists)
        objective = LinearObjective(
            X,
            labels,
            grouping.lists,
            loss,
            alpha=self.alpha,
            weights=weights,
            normalize=self.normalize,
            rows=rows,
        )
        if weights is None:
            weights = np.ones(grouping.lists.n_lists)
        return objective, grouping, weights

    def _observed(self, X, y, groups, sample_weight, method):
        """Check some data and return their scores and labels, lists together."""
        groups = find_groups(y, groups, f"{type(self).__name__}.{method}")
        scores = self.predict(X)
        labels = finite_column(y, "y")
        equally_long(scores, labels, ("X", "y"))
        grouping = group_rows(groups, len(labels))
        weights = list_weights(sample_weight, grouping)
        return Observed(
            grouping.gather(scores), grouping.gather(labels), grouping, weights
        )

    def _scores_of_lists(self, X, groups, method):
        """Return scores, the rows of each list together, and the grouping."""
        groups = find_groups(X, groups, f"{type(self).__name__}.{method}")
        scores = self.predict(X)
        grouping = group_rows(groups, len(scores))
        return grouping.gather(scores), grouping

    def _values(self, loss, scores, prepared, lists):
        """Return the loss of each list at the fitted extra parameters."""
        given = (self.extra_,) if len(self.extra_) else ()
        return loss.value_and_gradient(scores, prepared, lists, *given)[0]


def divisor_of(objective: LinearObjective, weights: Floats) -> float | None:
    """Return what the fit divides each list's loss by, None where that differs."""
    factors = np.concatenate([block.factors for block in objective.blocks])
    sizes = np.concatenate([block.lists.sizes for block in objective.blocks])
    used = (weights > 0) & (sizes > 1)
    if not used.any():
        return 1.0
    divisors = (weights / weights.sum())[used] / factors[used]
    same = np.ptp(divisors) <= 1e-12 * divisors[0]
    return float(divisors[0]) if same else None


def _formula(direction: Floats, names: list[str]) -> str:
    """Return a sum of features as text."""
    used = np.flatnonzero(direction)
    terms = [f"{direction[j]:+.3g} {names[j]}" for j in used[:LISTED]]
    return " ".join([*terms, *(["..."] if len(used) > LISTED else [])])
