"""What a fitted ranker's probabilities can tell, as mixins.

Each mixin stands left of ``LinearRanker`` and needs only a fitted ranker with
``_loss()``, ``coef_`` and ``extra_``:

``PairModelMixin``
    For a model of pairs (Bradley-Terry, Rao-Kupper, Davidson): ``pairwise_proba``,
    ``composite_log_likelihood`` and ``summary``. A model with ties overrides
    ``_pair_proba(difference)``, which returns the probabilities of a win and of a tie
    given the scores' difference; one whose values are not pair log-likelihoods
    overrides ``_pair_loss()``, whose loss must share the fit's extra parameters.
    Names of extra parameters: ``_extra_names``. A loss that weighs pairs sets
    ``_weighs_pairs`` to True.
``LikelihoodMixin``
    On top of it, for a distribution over what is observed in a list (Plackett-Luce,
    PMOP, Davidson-Luce): ``log_likelihood``, ``deviance``, ``aic``. Where the loss
    drops a constant, override ``_log_constant(prepared, lists)``, (n_lists,); where
    some settings are no likelihood, ``_no_likelihood()`` says why, else None; where
    some approximate, ``_approximations(objective)`` says so.
``PlackettLuceMixin``
    On top of that: ``stage_proba``, ``sample_rankings``, ``top_k_proba``.

So Davidson's ranker is ``class DavidsonRanker(PairModelMixin, LinearRanker)`` with
``_pair_proba`` and ``_extra_names``; ListMLE's marginal ties need nothing, since
``_log_constant`` concerns "efron" and "breslow" alone; stage weights are a reason in
``_no_likelihood``; PMOP's ranker is a ``LikelihoodMixin`` with its ``_pair_proba``.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, special
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank._checks import equally_long, finite_column, refuse_masked
from skrank._groups import Grouping, find_groups, group_rows, list_weights
from skrank._inference import estimate, standard_errors
from skrank._lists import Floats, Lists
from skrank._objective import LinearObjective, is_memory_mapped
from skrank._plackett_luce import (
    TopKProba,
    draw_ranks,
    stage_probabilities,
    top_k_probabilities,
)
from skrank.linear_model._summary import FitSummary
from skrank.losses import RankNet

FEW_LISTS = 40
FAR_FROM_OPTIMUM = 0.1  # standard errors
INVOLVED = 1e-2  # share of the largest part in a separating direction
LISTED = 5  # names in a message


class PairProba(NamedTuple):
    """Probability that the first of two rows wins, and that they tie.

    Attributes
    ----------
    win : ndarray of shape (n_pairs,)
        The first row is ranked above the second.
    tie : ndarray of shape (n_pairs,)
        Neither is; 0 where the model has no ties. The second row wins with what is
        left.

    Examples
    --------
    >>> from skrank import RankNetRanker
    >>> X, y, groups = [[1.0], [0.0], [2.0], [1.0]], [1, 0, 0, 1], ["a", "a", "b", "b"]
    >>> ranker = RankNetRanker().fit(X, y, groups)
    >>> ranker.pairwise_proba([[1.0]], [[1.0]])
    PairProba(win=array([0.5]), tie=array([0.]))
    """

    win: Floats
    tie: Floats


class Observed(NamedTuple):
    """Checked scores and labels of some lists, their rows together."""

    scores: Floats
    y: Floats
    prepared: Any
    grouping: Grouping
    weights: Floats | None

    @property
    def lists(self) -> Lists:
        """The lists."""
        return self.grouping.lists

    def add_up(self, values: Floats, average: str | None) -> Any:
        """Return the sum or mean of one value a list, or the values by list label."""
        if average is None:
            order = self.grouping.label_order()
            return values if order is None else values[order]
        if average not in ("sum", "mean"):
            raise ValueError(f"average must be 'sum', 'mean' or None, got {average!r}.")
        weights = np.ones(len(values)) if self.weights is None else self.weights
        total = float(values @ weights)
        return total if average == "sum" else total / float(weights.sum())


class PairModelMixin:
    """Mixin for rankers that model pairs of rows: probabilities, and a summary."""

    _weighs_pairs = False

    def pairwise_proba(self, X_a, X_b):
        r"""Return the probability that each row of ``X_a`` beats that of ``X_b``.

        Without ties :math:`1 / (1 + e^{-(s_a - s_b)})`, for rows of the same list.

        Parameters
        ----------
        X_a, X_b : {array-like, sparse matrix} of shape (n_pairs, n_features)
            Features of the first and of the second row of each pair.

        Returns
        -------
        proba : skrank.inspection.PairProba
            Named tuple of ``win`` and ``tie``, each of shape (n_pairs,).

        Raises
        ------
        ValueError
            If the number of rows differs.
        """
        first, second = self.predict(X_a), self.predict(X_b)
        equally_long(first, second, ("X_a", "X_b"))
        return PairProba(*self._pair_proba(first - second))

    def composite_log_likelihood(
        self, X, y, groups=None, *, average="sum", sample_weight=None
    ):
        """Return the log-likelihood of pairs, as if they were independent.

        It ranks models of the same data. Pairs of one list are not independent, so
        it has no AIC, no deviance, and no likelihood ratio test; ``summary`` gives
        CLIC.

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

        Returns
        -------
        log_likelihood : float or ndarray of shape (n_lists,)
            At most 0; a list without pairs has 0.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ or ``average`` is unknown.
        """
        method = "composite_log_likelihood"
        loss = self._pair_loss()
        seen = self._observed(X, y, groups, sample_weight, method, loss)
        return seen.add_up(-self._values(loss, seen), average)

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
            them, or the data are not those of :meth:`fit` in kind.

        Warns
        -----
        UserWarning
            If fewer than 40 lists, or no more than coefficients, inform clustered
            errors; if ``alpha`` is 0 and features are collinear inside lists or the
            fit separates rows, which leaves NaN; if the coefficients are no optimum
            for these data.

        References
        ----------
        .. [1] C. Varin, N. Reid, D. Firth, "An overview of composite likelihood
           methods", Statistica Sinica 21 (2011), sections 2.3 and 3.2.
        """
        if covariance not in ("clustered", "model"):
            raise ValueError(
                f"covariance must be 'clustered' or 'model', got {covariance!r}."
            )
        if not (isinstance(confidence, Real) and 0 < confidence < 1):
            raise ValueError(f"confidence must be in (0, 1), got {confidence!r}.")
        objective, grouping, weights = self._objective(X, y, groups, sample_weight)
        parameters = np.concatenate((self.coef_, self.extra_))
        found, n_lists = estimate(objective, parameters)
        names = [*self._feature_names(), *self._extra_names()]
        divisor = _divisor(objective, weights)
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
        notes += self._approximations(objective)
        for alarm in alarms:
            warnings.warn(f"{type(self).__name__}.summary: {alarm}", stacklevel=2)
        if reason is not None:
            notes.append(f"No model-based standard errors: {reason}")
        penalty = 0.5 * objective.alpha * float(self.coef_ @ self.coef_)
        fit = total * (penalty - objective(parameters)[0])
        fit_name, value, name, criterion = self._criterion(
            objective, found, fit, total, divisor
        )
        if found.separating is not None:
            name, criterion = None, np.nan
        return FitSummary(
            ranker=type(self).__name__,
            names=names,
            coef=parameters,
            n_extra=len(self.extra_),
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

    def _pair_loss(self):
        """Return the loss whose values are minus log-likelihoods of pairs."""
        return self._loss()

    def _pair_proba(self, difference):
        """Return the probabilities of a win and of a tie, given s_a - s_b."""
        return special.expit(difference), np.zeros_like(difference)

    def _approximations(self, objective):
        """Return notes on what the summary's numbers approximate."""
        return []

    def _extra_names(self):
        """Return names of the loss's own parameters."""
        return [f"extra {number}" for number in range(len(self.extra_))]

    def _feature_names(self):
        """Return the names of the features, or x0, x1, ..."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{number}" for number in range(self.n_features_in_)]
        return list(map(str, names))

    def _no_model(self, lists, weights, divisor):
        """Return why the fit has no model-based standard errors, or None."""
        if lists.sizes[weights > 0].max() > 2:
            return (
                "pairs of one list depend on each other; only with lists of two rows "
                "are they independent observations."
            )
        if self._weighs_pairs:
            return "pairs are weighted."
        return None if divisor is not None else "lists are weighted by normalize=."

    def _criterion(self, objective, found, fit, total, divisor):
        """Return name and value of the fit, and name and value of its criterion.

        ``fit`` is minus the objective without its penalty, as a sum over lists.
        """
        criterion = -2.0 * fit + 2.0 * total * found.optimism
        return "composite log-likelihood", fit, "CLIC", criterion

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
            notes.append(f"Constant inside every list: {_listing(constant)}.")
        sums = [_formula(direction, names) for direction in found.collinear]
        if sums:
            text = (
                f"Collinear features: constant inside every list are {_listing(sums)}. "
            )
            if free:
                alarms.append(
                    text + "Their coefficients are not determined: no standard "
                    "errors. Drop a feature of each, or set alpha above 0."
                )
            else:
                notes.append(text + "Only alpha tells their coefficients apart.")
        if found.separating is not None:
            order = np.argsort(-found.separating, kind="stable")
            involved = [names[j] for j in order if found.separating[j] > INVOLVED]
            alarms.append(
                "Separation: the fit improves for ever as weights grow along a "
                f"direction of {_listing(involved)}, so no finite optimum and no "
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
                f"{found.step:.2g} standard errors away. Pass the data and weights of "
                "fit, or lower tol and ftol."
            )
        enough = max(FEW_LISTS, len(names) + 1)
        if covariance == "clustered" and 0 < n_lists < enough:
            alarms.append(
                f"Only {n_lists} lists for {len(names)} coefficients: clustered "
                f"standard errors are too small, as a rule, below {enough}."
            )
        return notes, alarms

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

    def _observed(self, X, y, groups, sample_weight, method, loss):
        """Check some data and return their scores and labels, lists together."""
        groups = find_groups(y, groups, f"{type(self).__name__}.{method}")
        scores = self.predict(X)
        labels = finite_column(y, "y")
        equally_long(scores, labels, ("X", "y"))
        grouping = group_rows(groups, len(labels))
        weights = list_weights(sample_weight, grouping)
        labels = loss.check_labels(grouping.gather(labels), grouping.lists)
        prepared = loss.prepare(labels, grouping.lists)
        return Observed(grouping.gather(scores), labels, prepared, grouping, weights)

    def _values(self, loss, seen):
        """Return the loss of each list at the fitted extra parameters."""
        given = (self.extra_,) if len(self.extra_) else ()
        return loss.value_and_gradient(seen.scores, seen.prepared, seen.lists, *given)[
            0
        ]


class LikelihoodMixin(PairModelMixin):
    """Mixin for rankers that are a distribution over what is observed in a list."""

    def log_likelihood(self, X, y, groups=None, *, average="sum", sample_weight=None):
        r"""Return the logarithm of the probability of the labels' order.

        Where tied rows share a stage, the probability that they come first in any of
        their orders; "efron" and "breslow" approximate it, with the factor
        :math:`d!` of a level of d rows.

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

        Returns
        -------
        log_likelihood : float or ndarray of shape (n_lists,)
            0 for a list with nothing to rank.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, ``average`` is unknown, or the
            ranker's settings are no likelihood.
        """
        reason = self._no_likelihood()
        if reason is not None:
            raise ValueError(f"{type(self).__name__} has no likelihood: {reason}")
        loss = self._loss()
        seen = self._observed(X, y, groups, sample_weight, "log_likelihood", loss)
        values = self._log_constant(seen.prepared, seen.lists)
        return seen.add_up(values - self._values(loss, seen), average)

    def deviance(self, X, y, groups=None, *, sample_weight=None):
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

        Returns
        -------
        deviance : float
            Less is better.

        Raises
        ------
        ValueError
            As :meth:`log_likelihood`.
        """
        value = self.log_likelihood(X, y, groups, sample_weight=sample_weight)
        return -2.0 * value

    def aic(self, X, y, groups=None, *, sample_weight=None):
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

        Returns
        -------
        aic : float
            Less is better.

        Raises
        ------
        ValueError
            As :meth:`log_likelihood`, or if the likelihood has no maximum, or the fit
            did not look for it, since ``normalize`` weighs lists.
        """
        deviance = self.deviance(X, y, groups, sample_weight=sample_weight)
        objective, grouping, weights = self._objective(X, y, groups, sample_weight)
        reason = self._no_model(grouping.lists, weights, _divisor(objective, weights))
        if reason is not None:
            raise ValueError(f"There is no AIC: {reason}")
        parameters = np.concatenate((self.coef_, self.extra_))
        found = estimate(objective, parameters)[0]
        if found.separating is not None:
            raise ValueError(
                "There is no AIC: rows are separated, so that the likelihood has no "
                "maximum. Set alpha above 0."
            )
        return deviance + 2.0 * found.df

    def _no_likelihood(self):
        """Return why the ranker's settings are no likelihood, or None."""
        return None

    def _log_constant(self, prepared, lists):
        """Return what the loss leaves out of each list's log-likelihood."""
        return np.zeros(lists.n_lists)

    def _no_model(self, lists, weights, divisor):
        if divisor is None:
            return (
                f"normalize={self.normalize!r} divides lists by different numbers, so "
                "that the fit did not maximise the likelihood; use normalize=None."
            )
        return self._no_likelihood()

    def _criterion(self, objective, found, fit, total, divisor):
        if divisor is None or self._no_likelihood() is not None:
            return "minus the sum of losses", fit, None, np.nan
        constants = (
            self._log_constant(block.prepared, block.lists) @ block.factors
            for block in objective.blocks
        )
        value = float(divisor * (fit + total * sum(constants)))
        return "log-likelihood", value, "AIC", -2.0 * value + 2.0 * found.df


class PlackettLuceMixin(LikelihoodMixin):
    """Mixin for rankers whose rankings follow the Plackett-Luce model."""

    def stage_proba(self, X, y, groups=None):
        r"""Return the probability of each row's pick, at the stage when it was picked.

        .. math::

            \frac{e^{s_i}}{\sum_{j: y_j \le y_i} e^{s_j}}

        over the rows of i's list. Without ties the product over a list is the
        probability of its order. Tied rows share a stage: each has the probability to
        come first among what was left.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Labels, higher is better.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.

        Returns
        -------
        proba : ndarray of shape (n_rows,)
            NaN for rows that are not picked: those of stages beyond ``top_k``, and
            several rows of a lowest level that is not a stage.

        Raises
        ------
        ValueError
            If groups are missing or lengths differ.
        """
        loss = self._loss()
        seen = self._observed(X, y, groups, None, "stage_proba", loss)
        stages, lists = seen.prepared, seen.lists
        places = stages.level_starts
        proba = stage_probabilities(seen.scores, stages.order, places, lists)
        # A single row that is left is picked, whether or not that is a stage.
        number = np.arange(len(places) - 1)
        counted = number < np.repeat(
            stages.level_offsets[:-1] + stages.n_stages, np.diff(stages.level_offsets)
        )
        ends = np.isin(places[1:], lists.offsets) & (np.diff(places) == 1)
        if self.top_k is None:
            counted |= ends
        proba[stages.order[~np.repeat(counted, np.diff(places))]] = np.nan
        return seen.grouping.scatter(proba)

    def sample_rankings(self, X, groups, n_samples=1, random_state=None):
        """Draw rankings of each list from the fitted model.

        Exact: scores plus independent standard Gumbel noise, sorted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        groups : array-like of shape (n_rows,)
            One group label a row; None takes the index level "groups" of ``X``.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Draws the noise.

        Returns
        -------
        ranks : ndarray of int of shape (n_samples, n_rows)
            Rank of each row in its list, 1 for the best: one row a draw.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ or ``n_samples`` is below 1.
        """
        _check_count(n_samples, "n_samples")
        scores, grouping = self._scores_of_lists(X, groups, "sample_rankings")
        rng = check_random_state(random_state)
        ranks = draw_ranks(scores, grouping.lists, n_samples, rng)
        if grouping.rows is None:
            return ranks
        out = np.empty_like(ranks)
        out[:, grouping.rows] = ranks
        return out

    def top_k_proba(self, X, groups, k, *, n_samples=10_000, random_state=None):
        r"""Return the probability of each row to be among the first k of its list.

        Exact: softmax for k = 1, else by quadrature over the race of exponentials,

        .. math::

            P_i = \int_0^\infty e^{s_i - e^{s_i} t}\,
            P(\text{at most } k - 1 \text{ other rows arrive by } t)\, dt

        to about 1e-14, in time of order n min(k, n - k) :math:`\sqrt k`. Only lists
        for which that is more than 2e9 (seconds) are drawn instead.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        groups : array-like of shape (n_rows,)
            One group label a row; None takes the index level "groups" of ``X``.
        k : int
            How many rows count as first, at least 1.
        n_samples : int, default=10_000
            Number of draws for lists that are too long.
        random_state : int, RandomState instance or None, default=None
            Draws for lists that are too long.

        Returns
        -------
        proba : skrank.inspection.TopKProba
            Named tuple of ``probability`` and ``standard_error``, each of shape
            (n_rows,); the second is 0 where the first is exact.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or ``k`` or ``n_samples`` is below
            1.
        """
        _check_count(k, "k")
        _check_count(n_samples, "n_samples")
        scores, grouping = self._scores_of_lists(X, groups, "top_k_proba")
        rng = check_random_state(random_state)
        found = top_k_probabilities(scores, grouping.lists, int(k), n_samples, rng)
        return TopKProba(*map(grouping.scatter, found))

    def _scores_of_lists(self, X, groups, method):
        """Return scores, the rows of each list together, and the grouping."""
        groups = find_groups(X, groups, f"{type(self).__name__}.{method}")
        scores = self.predict(X)
        grouping = group_rows(groups, len(scores))
        return grouping.gather(scores), grouping

    def _pair_loss(self):
        # Of two rows the better comes first as in the model of Bradley and Terry.
        return RankNet()


def _check_count(value: Any, name: str) -> None:
    """Raise ValueError for what is no integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")


def _divisor(objective: LinearObjective, weights: Floats) -> float | None:
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


def _listing(names: list[str]) -> str:
    """Return names as text, the first few of many."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")
