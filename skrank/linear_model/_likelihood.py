"""Likelihoods of what is observed in a list; and how fitted models plug in.

Each mixin stands left of ``LinearRanker`` and needs only a fitted ranker with
``_loss()``, ``coef_`` and ``extra_``:

``ProbabilityModelMixin``
    What all have: ``summary``. Names of extra parameters: ``_extra_names()``; which of
    them are estimated: ``_free_extra()``; notes on what the numbers approximate:
    ``_approximations(objective)``.
``PairModelMixin``
    For a model of pairs (Bradley-Terry, Rao-Kupper, Davidson): ``pairwise_proba`` and
    ``composite_log_likelihood``. A model with ties overrides
    ``_pair_proba(difference)``, which returns the probabilities of a win and of a tie
    given the scores' difference; one whose values are not pair log-likelihoods
    overrides ``_pair_loss()``, whose loss must share the fit's extra parameters. A
    loss that weighs pairs sets ``_weighs_pairs`` to True.
``LikelihoodMixin``
    For a distribution over what is observed in a list: ``log_likelihood``,
    ``deviance``, ``aic``. Where the loss drops a constant, override
    ``_log_constant(prepared, lists)``, (n_lists,); where some settings are no
    likelihood, ``_no_likelihood()`` says why, else None; where some do not end at its
    maximum, ``_no_maximum()``.
``PlackettLuceMixin``
    A likelihood and a model of pairs: ``stage_proba``, ``sample_rankings``,
    ``top_k_proba``.
``PartitionModelMixin``
    A likelihood of ordered partitions: ``partition_proba``, ``stage_proba``,
    ``sample_partitions``, ``expected_level``, and ``pairwise_proba`` of rows among all
    rows of their list. It needs ``_subset_model(longest)``.
"""

from __future__ import annotations

import numpy as np

from skrank._data.groups import takes_groups
from skrank._data.warnings import warn
from skrank._probability.covariance import estimate
from skrank.linear_model._probability_model import ProbabilityModelMixin, divisor_of


class LikelihoodMixin(ProbabilityModelMixin):
    """Mixin for rankers that are a distribution over what is observed in a list."""

    @takes_groups
    def log_likelihood(self, X, y, groups=None, *, average="sum", sample_weight=None):
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
        reason = self._no_likelihood()
        if reason is not None:
            raise ValueError(f"{type(self).__name__} has no likelihood: {reason}")
        seen = self._observed(X, y, groups, sample_weight, "log_likelihood")
        values = self._log_likelihoods(seen.scores, seen.y, seen.lists)
        n_impossible = int(np.sum(values == -np.inf))
        if n_impossible:
            warn(
                f"{type(self).__name__}: {n_impossible} of {len(values)} lists have a "
                "log-likelihood of minus infinity, since so many rows are tied in them "
                "as the fitted model never ties: max_tie_size is smaller, or no level "
                "of this size was in the data of the fit.",
            )
        return seen.add_up(values, average)

    @takes_groups
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

    @takes_groups
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
            did not look for it, since ``normalize`` weighs lists, or came by chains.
        """
        deviance = self.deviance(X, y, groups, sample_weight=sample_weight)
        objective, grouping, weights = self._objective(X, y, groups, sample_weight)
        reason = self._no_model(grouping.lists, weights, divisor_of(objective, weights))
        if reason is not None:
            raise ValueError(f"There is no AIC: {reason}")
        parameters = np.concatenate((self.coef_, self.extra_))
        free = np.concatenate((np.ones(len(self.coef_), bool), self._free_extra()))
        found = estimate(objective, parameters, free)[0]
        if found.separating is not None:
            raise ValueError(
                "There is no AIC: rows are separated, so that the likelihood has no "
                "maximum. Set alpha above 0."
            )
        return deviance + 2.0 * found.df

    def _no_likelihood(self):
        """Return why the ranker's settings are no likelihood, or None."""
        return None

    def _no_maximum(self):
        """Return why the fit does not end at the optimum, or None."""
        return None

    def _log_likelihoods(self, scores, y, lists):
        """Return the log-likelihood of each list."""
        loss = self._loss()
        prepared = loss.prepare(loss.check_labels(y, lists), lists)
        values = self._values(loss, scores, prepared, lists)
        return self._log_constant(prepared, lists) - values

    def _log_constant(self, prepared, lists):
        """Return what the loss leaves out of each list's log-likelihood."""
        return np.zeros(lists.n_lists)

    def _no_model(self, lists, weights, divisor):
        if divisor is None:
            return (
                f"normalize={self.normalize!r} divides lists by different numbers, so "
                "that the fit did not maximise the likelihood; use normalize=None."
            )
        return self._no_likelihood() or self._no_maximum()

    def _criterion(self, objective, found, fit, total, divisor):
        if divisor is None or self._no_likelihood() is not None:
            return "minus the sum of losses", fit, None, np.nan
        constants = (
            self._log_constant(block.prepared, block.lists) @ block.factors
            for block in objective.blocks
        )
        value = float(divisor * (fit + total * sum(constants)))
        if self._no_maximum() is not None:
            return "log-likelihood", value, None, np.nan
        return "log-likelihood", value, "AIC", -2.0 * value + 2.0 * found.df
