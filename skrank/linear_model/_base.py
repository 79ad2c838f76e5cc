"""The base of all linear rankers: fit, predict, and methods of probability models."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from skrank._data.checks import Integers
from skrank._data.groups import suggests_groups
from skrank._data.parameters import checks_parameters
from skrank._data.rollback import keeps_old_state
from skrank._fit.bounds import read_bounds
from skrank._fit.data import FitData, check_data, with_constant_features
from skrank._fit.diagnostics import (
    warn_of_cost,
    warn_of_data,
    warn_of_growth,
    warn_of_solution,
)
from skrank._fit.minimizing import minimize_smooth
from skrank._fit.objective import LinearObjective
from skrank._fit.penalty import penalty_by_rule
from skrank._fit.progress import CallbackSupportMixin, reports_progress
from skrank._fit.smoothing import minimize_by_smoothing
from skrank._probability import likelihood, pairs, partitions, plackett_luce, summary
from skrank.linear_model._by_model import ByModel
from skrank.linear_model._scores import LinearScores

FREE_PARAMETERS = ("n_jobs", "verbose")  # which change no result


class Inexact(NamedTuple):
    """A reason why a fit does not end at the optimum.

    Attributes
    ----------
    reason : str
        Why numbers that hold only at the optimum cannot be given.
    note : str
        Consequence for standard errors.
    advice : str
        How to get weights nearer to the optimum.
    """

    reason: str
    note: str
    advice: str


class BaseLinearRanker(CallbackSupportMixin, LinearScores, BaseEstimator):
    """Base of the linear rankers.

    A subclass defines ``_loss()``, which returns its loss. Its parameters are its own
    and those named below.
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "normalize": [StrOptions({"size", "terms"}), None],
        "max_iter": [Integers(1)],
        "tol": [Interval(Real, 0, None, closed="left")],
        "ftol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [Integers(None), None],
        "verbose": ["verbose"],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "positive": ["boolean"],
        "bounds": "no_validation",  # read_bounds says what to do
    }

    def __init__(
        self,
        *,
        alpha: float | str,
        normalize: str | None,
        max_iter: int,
        tol: float,
        ftol: float,
        warm_start: bool,
        n_jobs: int | None,
        verbose: int,
        l1_ratio: float,
        positive: bool,
        bounds: Any,
    ) -> None:
        self.alpha = alpha
        self.normalize = normalize
        self.max_iter = max_iter
        self.tol = tol
        self.ftol = ftol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.l1_ratio = l1_ratio
        self.positive = positive
        self.bounds = bounds

    def _loss(self):
        """Return the loss to fit."""
        raise NotImplementedError(
            f"{type(self).__name__} must define _loss(self), which returns its loss."
        )

    @suggests_groups
    @checks_parameters(prefer_skip_nested_validation=True)
    @reports_progress
    @keeps_old_state
    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> Self:
        """Fit the weights.

        An error leaves the ranker as it was before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features. float64 and float32 arrays whose rows are together by list are
            not copied, nor are memory maps; sparse input stays sparse.
        y : array-like of shape (n_rows,)
            Labels, higher is better; where 1 is the best, as places in a race, pass
            :func:`~skrank.interop.from_ranks` of them. A pandas object may carry the
            groups on an index level named "groups".
        groups : array-like of shape (n_rows,), default=None
            Label of each row's list: integers, strings or other hashable values, in
            any order.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row. Constant inside a list it is the weight of the list.
            RankNet, RankSVM, ListMLE and ListNet also take weights that vary, such as
            click propensities: the list counts their mean, and the terms of each row
            its weight over that, as the loss says. They do not repeat rows.
        offset : array-like of shape (n_rows,), default=None
            Known part of the score of each row, such as the log of its exposure or of
            its prior odds: scores are ``X @ coef_ + offset``. Metadata routing passes
            it here, and to ``predict`` and ``score``, without a request.

        Returns
        -------
        self : estimator
            The fitted ranker.

        Raises
        ------
        ValueError
            If groups are missing, differ from the index of ``y``, have another
            length than ``X`` or miss values; if ``X`` or ``y`` hold NaN, infinity or
            masked entries; if ``y`` holds strings or integers beyond 2**53;
            if ``sample_weight`` varies inside a list and the loss takes no such
            weights; if ``bounds`` are not numbers, name unknown columns or leave no
            room; if ``offset`` has another length or is beyond 2**26 (6.7e7).

        Warns
        -----
        ConvergenceWarning
            If the solver stops early, or values of very different size keep it from
            learning.
        UserWarning
            If the fit will take long or much memory, said before it starts; if lists
            cannot rank, all rows of each list are tied, features are constant in every
            list, or scores underflow. If only some features are constant, this warning
            is left out inside cross-validation. If ``alpha`` is 0 and no finite weights
            are best, since all pairs are in order, or a change of the weights improves
            some pairs and harms none. Such changes are looked for where features are at
            most 50 or fewer than iterations.
        """
        self._check_settings()
        name = f"{type(self).__name__}.fit"
        data = self._fit_data(X, y, groups, sample_weight, offset)
        warn_of_data(name, data)
        self.alpha_ = (
            penalty_by_rule(data) if isinstance(self.alpha, str) else self.alpha
        )
        data, loss = self._with_checked_labels(data)
        if self._why_inexact() is None:
            warn_of_cost(name, data, loss)
        self._fit_objective(name, self._objective(data, loss))
        return self

    def _fit_objective(self, name, objective):
        """Minimise an objective, store the result, and warn about problems."""
        with objective.running():
            solution = self._solve(objective, self._start(objective))
        self._store(objective, solution)
        self._has_offset = objective.data.offset is not None
        warn_of_solution(name, objective, solution)
        warn_of_growth(name, objective, solution, self._parameter_names)

    # Methods of probability models, which a ranker has if its loss is such a model.
    summary = ByModel(
        pairs=summary.summary, orders=summary.summary, partitions=summary.summary
    )
    log_likelihood = ByModel(
        orders=likelihood.log_likelihood, partitions=likelihood.log_likelihood
    )
    deviance = ByModel(orders=likelihood.deviance, partitions=likelihood.deviance)
    aic = ByModel(orders=likelihood.aic, partitions=likelihood.aic)
    composite_log_likelihood = ByModel(
        pairs=pairs.composite_log_likelihood, orders=pairs.composite_log_likelihood
    )
    pairwise_proba: ByModel[Any] = ByModel(
        pairs=pairs.pairwise_proba,
        orders=pairs.pairwise_proba,
        partitions=partitions.pairwise_proba,
    )
    stage_proba = ByModel(
        orders=plackett_luce.stage_proba, partitions=partitions.stage_proba
    )
    sample_rankings = ByModel(orders=plackett_luce.sample_rankings)
    top_k_proba = ByModel(orders=plackett_luce.top_k_proba)
    partition_proba = ByModel(partitions=partitions.partition_proba)
    sample_partitions = ByModel(partitions=partitions.sample_partitions)
    expected_level = ByModel(partitions=partitions.expected_level)

    def _check_settings(self):
        """Raise ValueError for parameters that contradict each other."""
        if self.alpha == "auto" and self.l1_ratio > 0:
            raise ValueError(
                f"{type(self).__name__}(alpha='auto', l1_ratio={self.l1_ratio:g}): the "
                "rule suits the squared penalty alone. Choose alpha with RankerCV, or "
                "set l1_ratio=0."
            )

    def _bounds(self, n_features):
        """Return the least and the largest weights, or None without bounds."""
        names = getattr(self, "feature_names_in_", None)
        return read_bounds(self.bounds, self.positive, n_features, names)

    def _fit_data(self, X, y, groups, sample_weight, offset=None):
        """Return the checked data of a fit, its constant features marked."""
        return with_constant_features(
            check_data(
                self,
                X,
                y,
                groups,
                sample_weight,
                offset=offset,
                method="fit",
                fitting=True,
            )
        )

    def _with_checked_labels(self, data: FitData) -> tuple[FitData, Any]:
        """Return data with the labels that the loss takes, and the loss."""
        loss = self._loss()
        return replace(data, y=loss.check_labels(data.y, data.lists)), loss

    def _objective(self, data: FitData, loss: Any) -> LinearObjective:
        """Return the objective of the ranker on some data."""
        return LinearObjective(
            data,
            loss,
            alpha=self.alpha_,
            l1_ratio=self.l1_ratio,
            bounds=self._bounds(data.X.shape[1]),
            normalize=self.normalize,
            n_jobs=effective_n_jobs(self.n_jobs),
        )

    def _start(self, objective):
        """Return the start of the solver."""
        if not self.warm_start or getattr(self, "coef_", None) is None:
            return objective.start
        if len(self.coef_) != objective.n_features:
            raise ValueError(
                f"warm_start=True: the last fit had {len(self.coef_)} features and "
                f"this one has {objective.n_features}. Use warm_start=False."
            )
        coef = np.where(objective.data.constant, 0.0, self.coef_)
        extra = objective.loss.extra_from(self.extra_, objective.extra_start)
        return np.concatenate((coef, extra))

    def _solve(self, objective, start):
        """Return the solution, from a start."""
        solution = self._minimize(objective, start)
        if solution.problem is None:
            return solution
        prepared = [block.prepared for block in objective.blocks]
        reason = objective.loss.why_unbounded(prepared)
        if reason is None:
            return solution
        return solution._replace(problem=f"{solution.problem} {reason}")

    def _minimize(self, objective, start):
        """Return the optimum that the solver finds from a start."""
        has_kinks = objective.loss.smoothed(1.0) is not None
        minimize = minimize_by_smoothing if has_kinks else minimize_smooth
        return minimize(
            objective,
            start,
            tol=self.tol,
            ftol=self.ftol,
            max_iter=self.max_iter,
            verbose=int(self.verbose),
            name=type(self).__name__,
        )

    def _store(self, objective, solution):
        """Set the fitted attributes, and keep the parameters that they belong to."""
        n_features = objective.n_features
        self.coef_ = solution.parameters[:n_features].copy()
        self.extra_ = solution.parameters[n_features:].copy()
        self.n_features_active_ = int(np.count_nonzero(self.coef_))
        self.at_bounds_ = objective.at_bounds(self.coef_)
        self.intercept_ = 0.0  # for tools that read linear models
        self.objective_ = solution.value
        self.n_iter_ = max(solution.n_iter, 1)
        self._fitted_with = deepcopy(self.get_params(deep=False))

    def _as_fitted(self) -> Self:
        """Return the ranker with the parameters of its fit, whatever was set since.

        A fit with another loss has other coefficients, so all methods of the fitted
        model read parameters here. Before a fit, return the ranker itself.
        """
        known = getattr(self, "_fitted_with", None)
        if known is None:
            return self
        fitted = copy(self)
        now = {name: getattr(self, name) for name in FREE_PARAMETERS}
        fitted.__dict__.update(known | now)
        return fitted

    def _parameter_names(self):
        """Return the names of the features, or x0, x1, ..., and of the loss's own."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{number}" for number in range(self.n_features_in_)]
        return [*map(str, names), *self._loss().extra_names(self.extra_)]

    def _why_inexact(self) -> Inexact | None:
        """Return why the fit does not end at the optimum, or None."""
        return None
