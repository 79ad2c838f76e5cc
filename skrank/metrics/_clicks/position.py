"""The position based click model: the rank alone decides the chance to be read."""

from __future__ import annotations

import numpy as np

from skrank.metrics._clicks.base import ClickModel, all_lists, power_of, table_of
from skrank.metrics._clicks.rows import Ranking, check_chances, ranks_of

PROPENSITIES = {
    "joachims": (0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06),
    "starank": (1.0, 1.0, 0.95, 0.82, 0.69, 0.54, 0.47, 0.43, 0.41, 0.43),
}


class PositionBased(ClickModel):
    r"""Position based model: the rank alone decides the chance that a row is read.

    .. math:: P(C_k = 1) = \rho_k^\tau \, a_k

    where a row of attraction a stands at rank k. DCG is its expected number of
    clicks with rho = 1 / log2(1 + k) and attraction 2**y - 1 over a constant, and
    rank-biased precision that with rho = (1 - p) p**(k - 1).

    Parameters
    ----------
    propensity : {"joachims", "starank"}, array-like or callable, default="joachims"
        Chance to read each rank; behind the last of an array it stays as it is.
        "joachims" is 0.68, 0.61, 0.48, 0.34, 0.28, 0.2, 0.11, 0.1, 0.08, 0.06, from
        the eye tracking of [1]_ as ULTRA [2]_ has it. "starank" is 1, 1, 0.95, 0.82,
        0.69, 0.54, 0.47, 0.43, 0.41, 0.43, as in the code of [3]_. A function gets
        the ranks 1, 2, ...
    tau : float, default=1.0
        How much the rank matters: propensities are raised to this power. 0 has
        every rank read.
    satisfaction : "err", float or callable, default="err"
        Chance that a click satisfies: (2**y - 1) / 2**max_grade, a number, or what a
        function of all labels returns. Counts only for kinds "satisfied" and
        "effort".

    References
    ----------
    .. [1] T. Joachims, L. Granka, B. Pan, H. Hembrooke, G. Gay, "Accurately
       interpreting clickthrough data as implicit feedback", SIGIR 2005.
    .. [2] Q. Ai et al., "ULTRA: an unbiased learning to rank algorithm toolbox",
       CIKM 2021.
    .. [3] J. Jin et al., "Replace scoring with arrangement: a contextual
       set-to-arrangement framework for learning-to-rank" (STARank), CIKM 2023,
       https://github.com/Jinjiarui/STARank.

    Examples
    --------
    >>> from skrank.metrics import PositionBased, click_score
    >>> y, scores, groups = [4, 0, 2], [3.0, 2.0, 1.0], [7, 7, 7]
    >>> round(click_score(y, scores, groups, model=PositionBased()), 4)
    0.8754
    """

    def __init__(self, propensity="joachims", tau=1.0, satisfaction="err"):
        self.propensity = propensity
        self.tau = tau
        self.satisfaction = satisfaction

    def _propensities(self, n_ranks):
        ranks = np.arange(1, n_ranks + 1)
        if callable(self.propensity):
            propensities = np.array(self.propensity(ranks), dtype=np.float64)
            if propensities.shape != ranks.shape:
                raise ValueError(
                    "propensity must return one number per rank, got shape "
                    f"{propensities.shape} for {n_ranks} ranks."
                )
        else:
            propensities = table_of(self.propensity, PROPENSITIES, "propensity")
            propensities = np.array(propensities, dtype=np.float64)
            if propensities.ndim != 1 or propensities.size == 0:
                raise ValueError(
                    "propensity must be a name, a function of the ranks or one number "
                    f"per rank, got {self.propensity!r}."
                )
            propensities = propensities[np.minimum(ranks, propensities.size) - 1]
        check_chances(propensities, "propensity")
        return propensities ** power_of(self.tau)

    def _weights(self, rows):
        """Return the factor of attraction times utility at each place, 0 if cut off."""
        longest = int(rows.lists.sizes.max())
        weights = np.zeros(longest)
        n_ranks = len(rows.rank_weight)
        weights[:n_ranks] = self._propensities(n_ranks) * rows.rank_weight
        return weights[ranks_of(rows.lists)]

    def _worth(self, rows, ranking, n_samples, seed):
        value = (rows.attraction * rows.utility)[ranking.order]
        # In a random order of a block each row is equally likely at each place, so
        # every place has the mean value of the block.
        means = np.add.reduceat(value, ranking.starts[:-1]) / ranking.sizes
        weights = self._weights(rows)
        worth = rows.lists.sum(np.repeat(means, ranking.sizes) * weights)
        return worth, np.zeros(len(worth))

    def _arrange(self, rows, ranking, largest):
        value = rows.attraction * rows.utility
        ranking = ranking.sort_blocks(-value if largest else value)
        # The i-th largest value belongs at the i-th largest weight of its block.
        places = np.lexsort((-self._weights(rows), ranking.blocks))
        order = np.empty_like(ranking.order)
        order[places] = ranking.order
        return Ranking.settled(order, rows.lists), all_lists(rows)

    def _exchangeable(self, rows):
        return rows.attraction * rows.utility, self._weights(rows)

    def _start(self, shape):
        return np.empty(0)

    def _reads(self, rank, state):
        return self._propensities(rank + 1)[rank]

    def _after(self, rank, state, clicked, satisfaction, rng):
        return state
