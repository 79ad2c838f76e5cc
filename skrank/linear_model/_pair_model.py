"""What a fitted model of pairs can tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from skrank._data.checks import equally_long
from skrank._data.groups import takes_groups
from skrank._data.lists import Floats
from skrank.linear_model._probability_model import ProbabilityModelMixin


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


class PairModelMixin(ProbabilityModelMixin):
    """Mixin for rankers that model pairs of rows: probabilities, and a summary."""

    _weighs_pairs = False

    def pairwise_proba(self, X_a, X_b):
        r"""Return the probability that each row of ``X_a`` beats that of ``X_b``.

        For rows of the same list. Models without ties have
        :math:`1 / (1 + e^{-(s_a - s_b)})`, those with ties their own formulas, with
        the fitted parameter of ties.

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

    @takes_groups
    def composite_log_likelihood(
        self, X, y, groups=None, *, average="sum", sample_weight=None
    ):
        """Return the log-likelihood of pairs, as if they were independent.

        Each pair of rows of a list has its own sample space: win or loss, and pairs
        of equal labels do not count; for models with ties win, tie or loss, and all
        pairs count. Each counts once, however the fit weighs pairs and lists. So it
        ranks models of the same data and of the same space. Pairs of one list are not
        independent, so it has no AIC, no deviance, and no likelihood ratio test;
        ``summary`` gives CLIC where pairs have no weights.

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
        seen = self._observed(X, y, groups, sample_weight, method)
        lists = seen.lists
        prepared = loss.prepare(loss.check_labels(seen.y, lists), lists)
        values = self._values(loss, seen.scores, prepared, lists)
        return seen.add_up(-values, average)

    def _pair_loss(self):
        """Return the loss whose values are minus log-likelihoods of pairs."""
        return self._loss()

    def _pair_proba(self, difference):
        """Return the probabilities of a win and of a tie, given s_a - s_b."""
        return special.expit(difference), np.zeros_like(difference)

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

    def _approximations(self, objective):
        if not self._weighs_pairs:
            return []
        return [
            "Pairs are weighted, so the fit is no likelihood of pairs and has no CLIC; "
            "composite_log_likelihood counts each pair once."
        ]

    def _criterion(self, objective, found, fit, total, divisor):
        """Return name and value of the fit, and name and value of its criterion.

        ``fit`` is minus the objective without its penalty, as a sum over lists.
        """
        if self._weighs_pairs:
            return "minus the sum of losses", fit, None, np.nan
        criterion = -2.0 * fit + 2.0 * total * found.optimism
        return "composite log-likelihood", fit, "CLIC", criterion
