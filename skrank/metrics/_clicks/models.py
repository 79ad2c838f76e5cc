"""Click models: how likely a user reads, clicks and is satisfied at each rank.

A model holds parameters only. Its private methods work on flat arrays:

- ``_satisfaction(y, ...)``: chance that a click ends the search, of each row;
- ``_worth(rows, ranking, ...)``: expected worth of each list, the mean over open
  orders, and its standard error;
- ``_arrange(rows, ranking, largest)``: the order inside open blocks with the largest
  (least) worth, and for which lists it surely is that;
- ``_start``, ``_reads``, ``_after``: one user's way down the ranks, many at a time.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from skrank._data.checks import is_number
from skrank._data.lists import Floats
from skrank._kernels.clicks import (
    browsing_extreme_order,
    browsing_search,
    browsing_worth,
    cascade_worth,
    choose_rows,
    count_orders,
)
from skrank.metrics._clicks.rows import (
    Ranking,
    Rows,
    check_chance,
    check_chances,
    ranks_of,
    satisfaction_of,
)

PROPENSITIES = {
    "joachims": (0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06),
    "starank": (1.0, 1.0, 0.95, 0.82, 0.69, 0.54, 0.47, 0.43, 0.41, 0.43),
}
# Row i: the last click 1, 2, ... ranks above, and, last, no click above.
BROWSING = (
    (1.0,),
    (0.98, 1.0),
    (1.0, 0.62, 0.95),
    (1.0, 0.77, 0.42, 0.82),
    (1.0, 0.92, 0.55, 0.31, 0.69),
    (1.0, 0.96, 0.63, 0.40, 0.22, 0.54),
    (1.0, 0.99, 0.73, 0.46, 0.29, 0.17, 0.47),
    (1.0, 1.0, 0.89, 0.52, 0.35, 0.24, 0.14, 0.43),
    (1.0, 1.0, 0.95, 0.68, 0.40, 0.29, 0.19, 0.12, 0.41),
    (1.0, 1.0, 1.0, 0.96, 0.52, 0.36, 0.27, 0.18, 0.12, 0.43),
)
MOST_STATES = 4096  # choices of a block's rows up to which its orders are averaged
MOST_ORDERS = 40_320  # 8!: orders of a list up to which all are tried
MOST_STEPS = 1e8  # and orders times squared rows, which takes about 0.05 s


class ClickModel(BaseEstimator):
    """Base class of the click models."""

    _doc_link_module = "skrank"
    # Whether a satisfied user reads on no further, so that clicks depend on it.
    _satisfaction_ends = False

    def _satisfaction(self, y: Floats, max_grade: Any, metric: str) -> Floats:
        """Return the chance that a click on each row ends the search."""
        return satisfaction_of(y, self.satisfaction, max_grade, metric)

    @abstractmethod
    def _worth(
        self, rows: Rows, ranking: Ranking, n_samples: int, seed: int
    ) -> tuple[Floats, Floats]:
        """Return the expected worth of each list, and its standard error."""

    @abstractmethod
    def _arrange(
        self, rows: Rows, ranking: Ranking, largest: bool
    ) -> tuple[Ranking, NDArray[np.bool_]]:
        """Return the order of largest (least) worth, and for which lists surely.

        Other lists that are open as a whole are searched; blocks of the rest stay.
        """

    @abstractmethod
    def _start(self, shape: tuple[int, int]) -> NDArray:
        """Return the state of users who have read nothing."""

    @abstractmethod
    def _reads(self, rank: int, state: NDArray) -> Any:
        """Return the chance that each user reads the row at a rank, from 0."""

    @abstractmethod
    def _after(
        self,
        rank: int,
        state: NDArray,
        clicked: NDArray[np.bool_],
        satisfaction: Floats,
        rng: Generator,
    ) -> NDArray:
        """Return the users' state behind a rank."""


class PositionBased(ClickModel):
    r"""Position based model: a row is read with a chance that its rank decides.

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
            given = np.array(self.propensity(ranks), dtype=np.float64)
            if given.shape != ranks.shape:
                raise ValueError(
                    "propensity must return one number per rank, got shape "
                    f"{given.shape} for {n_ranks} ranks."
                )
        else:
            given = _named(self.propensity, PROPENSITIES, "propensity")
            given = np.array(given, dtype=np.float64)
            if given.ndim != 1 or given.size == 0:
                raise ValueError(
                    "propensity must be a name, a function of the ranks or one number "
                    f"per rank, got {self.propensity!r}."
                )
            given = given[np.minimum(ranks, given.size) - 1]
        check_chances(given, "propensity")
        return given ** _power(self.tau)

    def _weights(self, rows):
        """Return what each place adds per attraction and utility, 0 where cut off."""
        longest = int(rows.lists.sizes.max())
        weights = np.zeros(longest)
        n_ranks = len(rows.rank_weight)
        weights[:n_ranks] = self._propensities(n_ranks) * rows.rank_weight
        return weights[ranks_of(rows.lists)]

    def _worth(self, rows, ranking, n_samples, seed):
        value = (rows.attraction * rows.utility)[ranking.order]
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
        return Ranking.settled(order, rows.lists), _surely(rows)

    def _start(self, shape):
        return np.empty(0)

    def _reads(self, rank, state):
        return self._propensities(rank + 1)[rank]

    def _after(self, rank, state, clicked, satisfaction, rng):
        return state


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
        """Return the worth of each row to who reads it, and the chance to read on."""
        check_chance(self.gamma, "gamma")
        stops = rows.attraction * rows.satisfaction
        return rows.attraction * rows.utility, self.gamma * (1.0 - stops)

    def _index(self, rows, value):
        """Return by what to sort, and whether a cut-off takes the first rows of it."""
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
            # Of the rows that a cut-off leaves out, the best are not always last.
            ranks = ranks_of(rows.lists)[ranking.starts[:-1]]
            slots = np.clip(len(rows.rank_weight) - ranks, 0, ranking.sizes)
            order = ranking.order
            chosen = choose_rows(
                value[order], passing[order], ranking.starts, slots, largest
            )
            places = np.lexsort((1 - chosen, ranking.blocks))
            return Ranking.settled(order[places], rows.lists), _surely(rows)
        return Ranking.settled(ranking.order, rows.lists), _surely(rows)

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


class UserBrowsing(ClickModel):
    r"""User browsing model: reading depends on the rank and on the last click.

    .. math::

        P(C_k = 1) = \sum_l q_k(l) \, \gamma_{k, k - l}^\tau \, a_k

    where q_k(l) is the chance that the last click above rank k was at rank l (none:
    l = 0), carried from rank to rank, and a the attraction [1]_.

    Parameters
    ----------
    table : "dupret" or sequence of sequences, default="dupret"
        Chances to read: row i, for rank i, has i entries, for the last click 1, ...,
        i - 1 ranks above and, last, for none. Ranks behind the last row have that
        row, and a click farther above than it knows counts as the farthest. "dupret"
        has the ten rows of [1]_ as ULTRA and STARank have them.
    tau : float, default=1.0
        How much the rank matters: the table is raised to this power. 0 has every
        rank read.
    satisfaction : "err", float or callable, default="err"
        Chance that a click satisfies: (2**y - 1) / 2**max_grade, a number, or what a
        function of all labels returns. Counts only for kinds "satisfied" and
        "effort".

    References
    ----------
    .. [1] G. Dupret, B. Piwowarski, "A user browsing model to predict search engine
       click data from past observations", SIGIR 2008.

    Examples
    --------
    >>> from skrank.metrics import UserBrowsing, click_score
    >>> y, scores, groups = [4, 0, 2], [3.0, 2.0, 1.0], [7, 7, 7]
    >>> round(click_score(y, scores, groups, model=UserBrowsing()), 4)
    1.282
    """

    def __init__(self, table="dupret", tau=1.0, satisfaction="err"):
        self.table = table
        self.tau = tau
        self.satisfaction = satisfaction

    def _square(self):
        """Return the table by rank and distance; column 0 is for no click above."""
        given = _named(self.table, {"dupret": BROWSING}, "table")
        rows = [np.array(row, dtype=np.float64) for row in given]
        if not rows or any(row.shape != (i + 1,) for i, row in enumerate(rows)):
            raise ValueError(
                "table must have 1, 2, 3, ... chances in its rows, got shapes "
                f"{[row.shape for row in rows]}."
            )
        if len(rows) == 1:
            rows.append(np.repeat(rows[0], 2))  # the same chance at all ranks
        square = np.zeros((len(rows), len(rows)))
        for i, row in enumerate(rows):
            check_chances(row, f"row {i + 1} of table")
            square[i, 0] = row[-1]
            square[i, 1 : i + 1] = row[:-1]
        return square ** _power(self.tau)

    def _worth(self, rows, ranking, n_samples, seed):
        table = self._square()
        # Equal rows side by side, and the same draws whatever the order of rows.
        ranking = ranking.sort_blocks(-rows.utility, -rows.attraction)
        order = ranking.order
        attraction, utility = rows.attraction[order], rows.utility[order]
        weights = rows.rank_weight
        worth = browsing_worth(
            attraction, utility, weights, table,
            ranking.starts, ranking.offsets, MOST_STATES,
        )  # fmt: skip
        errors = np.zeros(len(worth))
        for q in np.flatnonzero(np.isnan(worth)):
            places = slice(*rows.lists.offsets[q : q + 2])
            blocks = ranking.blocks[places] - ranking.offsets[q]
            drawn = _draw_orders(
                blocks, attraction[places], utility[places], n_samples, seed
            )
            every = np.arange(drawn.size + 1)
            offsets = np.arange(n_samples + 1) * drawn.shape[1]
            values = browsing_worth(
                attraction[places][drawn].ravel(), utility[places][drawn].ravel(),
                weights, table, every, offsets, 1,
            )  # fmt: skip
            worth[q] = values.mean()
            errors[q] = values.std(ddof=1) / np.sqrt(n_samples)
        return worth, errors

    def _arrange(self, rows, ranking, largest):
        table = self._square()
        utility = rows.utility
        # By worth, where the search starts, and equal rows side by side.
        ranking = ranking.sort_blocks(-rows.attraction * utility, -utility)
        order = ranking.order
        attraction, utility = rows.attraction[order], utility[order]
        weights = rows.rank_weight
        n_orders = count_orders(
            attraction, utility, len(weights), ranking.starts, ranking.offsets
        )
        steps = n_orders * rows.lists.sizes.astype(np.float64) ** 2
        few = (n_orders <= MOST_ORDERS) & (steps <= MOST_STEPS) | (n_orders == 1)
        places = browsing_extreme_order(
            attraction, utility, weights, table,
            ranking.starts, ranking.offsets, few.astype(np.uint8), largest,
        )  # fmt: skip
        if largest and not few.all():
            whole = np.diff(ranking.offsets) == 1
            searched = browsing_search(
                attraction, utility, weights, table,
                rows.lists.offsets, (whole & ~few).astype(np.uint8),
            )  # fmt: skip
            places = np.where(rows.lists.expand(few), places, searched)
        return Ranking.settled(order[places], rows.lists), few

    def _start(self, shape):
        return np.zeros(shape, dtype=np.intp)  # the column of the table

    def _reads(self, rank, state):
        table = self._square()
        return table[min(rank, len(table) - 1)][state]

    def _after(self, rank, state, clicked, satisfaction, rng):
        farthest = len(self._square()) - 1
        farther = np.where(state > 0, np.minimum(state + 1, farthest), 0)
        return np.where(clicked, 1, farther)


def _draw_orders(blocks, attraction, utility, n_samples, seed):
    """Return orders of a list's places, drawn anew inside each block.

    The seed mixes in the list itself: draws of lists are independent, and a list's
    draws do not depend on the lists around it.
    """
    content = np.concatenate([blocks.astype(np.float64), attraction, utility])
    digest = int.from_bytes(hashlib.sha256(content.tobytes()).digest(), "little")
    rng = np.random.default_rng([seed, digest])
    keys = rng.random((n_samples, len(blocks)))
    return np.lexsort((keys, np.broadcast_to(blocks, keys.shape)), axis=1)


def _surely(rows):
    return np.ones(rows.lists.n_lists, dtype=bool)


def _named(value, names, argument):
    """Return the table of that name, or the value if it is no name."""
    if not isinstance(value, str):
        return value
    if value not in names:
        raise ValueError(f"{argument} must be one of {list(names)}, got {value!r}.")
    return names[value]


def _power(tau):
    if not is_number(tau) or not 0 <= tau < np.inf:
        raise ValueError(f"tau must be a number of at least 0, got {tau!r}.")
    return tau
