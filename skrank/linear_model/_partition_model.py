"""What rankers over ordered partitions can tell besides scores."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from skrank._data.checks import check_count
from skrank._data.groups import takes_groups
from skrank._data.lists import Levels
from skrank._probability.partitions import (
    ExpectedLevel,
    ListPairProba,
    SubsetModel,
    expected_levels,
    pair_probabilities,
    stage_probabilities,
)
from skrank.linear_model._likelihood import LikelihoodMixin


class PartitionModelMixin(LikelihoodMixin):
    """Mixin for fitted rankers whose loss is a likelihood of ordered partitions.

    The sample space of a list of n rows is all ordered partitions of the rows into
    levels, ties included: 3 for two rows, 13 for three. Probabilities of other models
    are comparable only where they are over the same space; Plackett-Luce likelihoods
    take the sizes of ties as given.
    """

    def _subset_model(self, longest: int) -> SubsetModel:
        """Return the fitted model of a stage of at most ``longest`` rows."""
        raise NotImplementedError

    @takes_groups
    def partition_proba(self, X, y, groups=None):
        """Return the probability of each list's labels, as an ordered partition.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Labels, higher is better; only their order inside a list counts.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.

        Returns
        -------
        proba : ndarray of shape (n_lists,)
            In the order of ``skrank.metrics.list_labels(groups)``; tiny for long
            lists, whose :meth:`log_likelihood` says more.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or ``X`` or ``y`` are not finite.
        """
        return np.exp(self.log_likelihood(X, y, groups, average=None))

    @takes_groups
    def stage_proba(self, X, y, groups=None):
        """Return the probability of each level, once the better ones are taken.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Labels, higher is better; only their order inside a list counts.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.

        Returns
        -------
        proba : ndarray of shape (n_rows,)
            How likely the next stage takes just the rows of this row's level, given
            that all better rows are gone. Equal for the rows of a level; the product
            over levels is :meth:`partition_proba`.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or ``X`` or ``y`` are not finite.
        """
        seen = self._observed(X, y, groups, None, "stage_proba")
        proba = stage_probabilities(
            self._log_likelihoods, seen.scores, seen.y, seen.lists
        )
        return seen.grouping.scatter(proba)

    @takes_groups
    def sample_partitions(self, X, groups, n_samples=1, random_state=None):
        """Draw ordered partitions from the fitted model, exactly.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        groups : array-like of shape (n_rows,)
            One group label a row; None takes the index level "groups" of ``X``.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Where the random numbers come from.

        Returns
        -------
        levels : ndarray of shape (n_samples, n_rows)
            Level of each row inside its list, 1 the best. ``-levels[0]`` are labels
            that can be fitted.

        Raises
        ------
        ValueError
            If groups are missing or of another length than ``X``, ``X`` is not
            finite, or ``n_samples`` is below 1.
        """
        scores, grouping, seed = self._to_draw(
            X, groups, n_samples, 1, random_state, "sample_partitions"
        )
        model = self._subset_model(int(grouping.lists.sizes.max()))
        levels = model.draw(scores, grouping.lists, n_samples, seed)
        return grouping.scatter(levels.T).T

    @takes_groups
    def expected_level(self, X, groups, n_samples=1000, random_state=None):
        """Return the expected level of each row inside its list, 1 the best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        groups : array-like of shape (n_rows,)
            One group label a row; None takes the index level "groups" of ``X``.
        n_samples : int, default=1000
            Number of draws for lists of more than 12 rows; others are exact.
        random_state : int, RandomState instance or None, default=None
            Where the random numbers come from.

        Returns
        -------
        level : skrank.inspection.ExpectedLevel
            Named tuple of ``value`` and ``standard_error``, each of shape (n_rows,);
            errors are 0 where levels are exact.

        Raises
        ------
        ValueError
            If groups are missing or of another length than ``X``, ``X`` is not
            finite, or ``n_samples`` is below 2.
        """
        scores, grouping, seed = self._to_draw(
            X, groups, n_samples, 2, random_state, "expected_level"
        )
        model = self._subset_model(int(grouping.lists.sizes.max()))
        found = expected_levels(scores, grouping.lists, model, n_samples, seed)
        return ExpectedLevel(*(grouping.scatter(values) for values in found))

    @takes_groups
    def pairwise_proba(self, X, groups, n_samples=1000, random_state=None):
        """Return how likely rows win, tie or lose against each other row of a list.

        It takes whole lists, not two rows as the method of pairwise models and of
        Plackett-Luce does: a stage takes one of all subsets of the rows left, so that
        how likely one row beats another depends on the other rows of their list.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        groups : array-like of shape (n_rows,)
            One group label a row; None takes the index level "groups" of ``X``.
        n_samples : int, default=1000
            Number of draws for lists of more than 12 rows; others are exact.
        random_state : int, RandomState instance or None, default=None
            Where the random numbers come from.

        Returns
        -------
        pairs : skrank.inspection.ListPairProba
            Named tuple of ``first`` and ``second``, the row numbers of each pair, once,
            of shape (n_pairs,); of ``proba``, that the first row's level is better, the
            same, or worse, and of ``standard_error``, each of shape (n_pairs, 3).

        Raises
        ------
        ValueError
            If groups are missing or of another length than ``X``, ``X`` is not
            finite, or ``n_samples`` is below 2.
        """
        scores, grouping, seed = self._to_draw(
            X, groups, n_samples, 2, random_state, "pairwise_proba"
        )
        model = self._subset_model(int(grouping.lists.sizes.max()))
        found = pair_probabilities(scores, grouping.lists, model, n_samples, seed)
        if grouping.rows is None:
            return found
        first, second = grouping.rows[found.first], grouping.rows[found.second]
        return ListPairProba(first, second, found.proba, found.standard_error)

    def _log_likelihoods(self, scores, y, lists):
        """Return the log-likelihood of each list, minus infinity if impossible."""
        impossible = self._impossible(y, lists)
        # Such a list without ties, so that the loss sees only sizes it knows.
        y = np.where(lists.expand(impossible), np.arange(lists.n_rows), y)
        values = super()._log_likelihoods(scores, y, lists)
        return np.where(impossible, -np.inf, values)

    def _impossible(self, y, lists):
        """Return which lists have a level of a size that the model never takes."""
        levels = Levels(y, lists)
        weights = self._subset_model(int(lists.sizes.max())).log_weights
        none = weights[levels.sizes] == -np.inf
        return np.logical_or.reduceat(none, levels.offsets[:-1])

    def _check_labels_of_fit(self, y, lists):
        n_impossible = int(self._impossible(y, lists).sum())
        if n_impossible:
            raise ValueError(
                f"{type(self).__name__}: {n_impossible} lists have ties of a size that "
                "the fitted model never makes, so these are not the data of the fit."
            )

    def _to_draw(self, X, groups, n_samples, fewest, random_state, method):
        """Return scores in the order of the lists, the grouping, and a seed."""
        check_count(n_samples, "n_samples", fewest)
        scores, grouping = self._scores_of_lists(X, groups, method)
        seed = check_random_state(random_state).randint(2**63 - 1, dtype=np.int64)
        return scores, grouping, int(seed)
