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

import numpy as np

from skrank._inference import estimate
from skrank.linear_model._probability_model import ProbabilityModelMixin, divisor_of


class LikelihoodMixin(ProbabilityModelMixin):
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
        reason = self._no_model(grouping.lists, weights, divisor_of(objective, weights))
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
