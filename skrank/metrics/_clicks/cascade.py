"""Click models of a user who reads from the top until a click satisfies."""

from __future__ import annotations

import numpy as np

from skrank._kernels.cascade import cascade_worth, choose_rows
from skrank.metrics._clicks.base import ClickModel, all_lists
from skrank.metrics._clicks.rows import Ranking, check_chance, ranks_of


class DynamicBayesian(ClickModel):
    r"""Dynamic Bayesian network: the user reads on unless a click satisfies.

    .. math::

        P(C_k = 1) = a_k \epsilon_k, \qquad
        \epsilon_{k+1} = \epsilon_k \gamma (1 - a_k s_k), \qquad \epsilon_1 = 1

    for rows of attraction a and satisfaction s [1]_. With gamma = 1 and a s =
    (2**y - 1) / 2**max_grade its effort is the expected reciprocal rank [2]_.

    Parameters
    ----------
    gamma : float, default=0.9
        Chance to read on where no click satisfied.
    satisfaction : "err", float or callable, default="err"
        Chance that a click satisfies: (2**y - 1) / 2**max_grade, a number, or what a
        function of all labels returns.

    References
    ----------
    .. [1] O. Chapelle, Y. Zhang, "A dynamic Bayesian network click model for web
       search ranking", WWW 2009.
    .. [2] A. Chuklin, P. Serdyukov, M. de Rijke, "Click model-based information
       retrieval metrics", SIGIR 2013.

    Examples
    --------
    >>> from skrank.metrics import DynamicBayesian, click_score
    >>> y, scores, groups = [4, 0, 2], [3.0, 2.0, 1.0], [7, 7, 7]
    >>> model = DynamicBayesian(gamma=0.9, satisfaction=0.5)
    >>> round(click_score(y, scores, groups, model=model), 4)
    1.1527
    """

    _satisfaction_ends = True

    def __init__(self, gamma=0.9, satisfaction="err"):
        self.gamma = gamma
        self.satisfaction = satisfaction

    def _steps(self, rows):
        """Return the worth of each row to its reader, and the chance to read on."""
        check_chance(self.gamma, "gamma")
        stops = rows.attraction * rows.satisfaction
        return rows.attraction * rows.utility, self.gamma * (1.0 - stops)

    def _index(self, rows, value):
        """Return the sort keys, and whether a cut-off keeps the first rows by them."""
        if rows.kind != "clicks":
            return value, True
        stops = rows.attraction * rows.satisfaction
        ends = 1.0 - self.gamma + self.gamma * stops
        index = np.where(value > 0, np.inf, 0.0)
        return np.divide(value, ends, out=index, where=ends > 0), False

    def _worth(self, rows, ranking, n_samples, seed):
        value, passing = self._steps(rows)
        worth = cascade_worth(
            value[ranking.order],
            passing[ranking.order],
            rows.rank_weight,
            ranking.starts,
            ranking.offsets,
        )
        return worth, np.zeros(len(worth))

    def _arrange(self, rows, ranking, largest):
        value, passing = self._steps(rows)
        index, takes_first = self._index(rows, value)
        index = -index if largest else index
        ranking = ranking.sort_blocks(index)
        if not takes_first:
            # The rows to leave out at a cut-off are not always the last by the index,
            # so they are chosen by dynamic programming.
            ranks = ranks_of(rows.lists)[ranking.starts[:-1]]
            slots = np.clip(len(rows.rank_weight) - ranks, 0, ranking.sizes)
            order = ranking.order
            chosen = choose_rows(
                value[order], passing[order], ranking.starts, slots, largest
            )
            places = np.lexsort((1 - chosen, ranking.blocks))
            return Ranking.settled(order[places], rows.lists), all_lists(rows)
        return Ranking.settled(ranking.order, rows.lists), all_lists(rows)

    def _exchangeable(self, rows):
        if rows.kind == "satisfied" and self.gamma == 1.0:
            # The chance that some row satisfies does not depend on the order of rows.
            return np.zeros_like(rows.attraction), None
        index, _ = self._index(rows, self._steps(rows)[0])
        with np.errstate(divide="ignore"):
            return np.round(
                np.log(index), 10
            ), None  # so that rounding makes no difference

    def _start(self, shape):
        check_chance(self.gamma, "gamma")
        return np.ones(shape, dtype=bool)

    def _reads(self, rank, state):
        return state.astype(np.float64)

    def _after(self, rank, state, clicked, satisfaction, rng):
        satisfied = clicked & (rng.random(clicked.shape) < satisfaction)
        return state & ~satisfied & (rng.random(clicked.shape) < self.gamma)


class Cascade(DynamicBayesian):
    r"""Cascade model: the user reads from the top and stops at the first click.

    .. math:: P(C_k = 1) = a_k \prod_{j < k} (1 - a_j)

    for rows of attraction a [1]_. A click satisfies, so that expected clicks and
    expected satisfied clicks are the same, and the effort is the expected reciprocal
    rank [2]_ where a = (2**y - 1) / 2**max_grade.

    References
    ----------
    .. [1] N. Craswell, O. Zoeter, M. Taylor, B. Ramsey, "An experimental comparison
       of click position-bias models", WSDM 2008.
    .. [2] O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan, "Expected reciprocal rank
       for graded relevance", CIKM 2009.

    Examples
    --------
    >>> from skrank.metrics import Cascade, click_score, err_score
    >>> y, scores, groups = [3, 0, 2], [3.0, 2.0, 1.0], [7, 7, 7]
    >>> click_score(
    ...     y, scores, groups, model=Cascade(), kind="effort",
    ...     attraction="err", noise=0,
    ... )
    0.47265625
    >>> err_score(y, scores, groups)
    0.47265625
    """

    # Fixed, since a click ends the search; parameters are those of __init__ only.
    gamma = 1.0
    satisfaction = 1.0

    def __init__(self):
        pass

    def _index(self, rows, value):
        return value, True

    def _exchangeable(self, rows):
        if rows.kind == "clicks":
            # The chance that some row is clicked does not depend on the order of rows.
            return np.zeros_like(rows.attraction), None
        return super()._exchangeable(rows)
