"""What a fitted Plackett-Luce model can tell."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from skrank._data.checks import check_count
from skrank._data.groups import takes_groups
from skrank._probability.plackett_luce import (
    TopKProba,
    draw_ranks,
    stage_probabilities,
    top_k_probabilities,
)
from skrank.linear_model._likelihood import LikelihoodMixin
from skrank.linear_model._pair_model import PairModelMixin
from skrank.losses import RankNet


class PlackettLuceMixin(LikelihoodMixin, PairModelMixin):
    """Mixin for rankers whose rankings follow the Plackett-Luce model."""

    @takes_groups
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
        seen = self._observed(X, y, groups, None, "stage_proba")
        lists = seen.lists
        stages = loss.prepare(loss.check_labels(seen.y, lists), lists)
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

    @takes_groups
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
        check_count(n_samples, "n_samples")
        scores, grouping = self._scores_of_lists(X, groups, "sample_rankings")
        rng = check_random_state(random_state)
        ranks = draw_ranks(scores, grouping.lists, n_samples, rng)
        if grouping.rows is None:
            return ranks
        out = np.empty_like(ranks)
        out[:, grouping.rows] = ranks
        return out

    @takes_groups
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
        check_count(k, "k")
        check_count(n_samples, "n_samples")
        scores, grouping = self._scores_of_lists(X, groups, "top_k_proba")
        rng = check_random_state(random_state)
        found = top_k_probabilities(scores, grouping.lists, int(k), n_samples, rng)
        return TopKProba(*map(grouping.scatter, found))

    def _pair_loss(self):
        # Of two rows the better comes first as in the model of Bradley and Terry.
        return RankNet()
