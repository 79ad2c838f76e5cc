"""The user browsing model: reading depends on the rank and on the last click."""

from __future__ import annotations

import hashlib

import numpy as np

from skrank._kernels.browsing import browsing_worth, count_orders
from skrank._kernels.browsing_orders import browsing_extreme_order, browsing_search
from skrank.metrics._clicks.base import ClickModel, power_of, table_of
from skrank.metrics._clicks.rows import Ranking, check_chances, ranks_of

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
        table = table_of(self.table, {"dupret": BROWSING}, "table")
        rows = [np.array(row, dtype=np.float64) for row in table]
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
        return square ** power_of(self.tau)

    def _worth(self, rows, ranking, n_samples, seed):
        table = self._square()
        # Sort first, so that equal rows stand together and draws do not depend on the
        # order of the input.
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
        # The search starts from the order by worth, in which equal rows stand together.
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

    def _exchangeable(self, rows):
        table = self._square()
        value = rows.attraction * rows.utility
        if any(np.ptp(table[rank, : rank + 1]) > 0 for rank in range(len(table))):
            return value, None
        # If the last click does not matter, ranks alone decide what is read.
        ranks = ranks_of(rows.lists)
        chances = table[np.minimum(ranks, len(table) - 1), 0]
        return value, chances * rows.rank_weight[ranks]

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
    """Return orders of a list's places, drawn independently inside each block.

    The seed mixes in the list itself: draws of lists are independent, and a list's
    draws do not depend on the lists around it.
    """
    content = np.concatenate([blocks.astype(np.float64), attraction, utility])
    digest = int.from_bytes(hashlib.sha256(content.tobytes()).digest(), "little")
    rng = np.random.default_rng([seed, digest])
    keys = rng.random((n_samples, len(blocks)))
    return np.lexsort((keys, np.broadcast_to(blocks, keys.shape)), axis=1)
