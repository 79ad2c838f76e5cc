"""Best orders: those of which a click model expects the most clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import finite_column
from skrank._data.grouping import group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Floats, Indices, Lists
from skrank.metrics._average import check_cutoff, cutoff_of
from skrank.metrics._clicks.base import ClickModel
from skrank.metrics._clicks.rows import Ranking, ranks_of
from skrank.metrics._clicks.score import click_rows


@dataclass(frozen=True)
class BestOrder:
    """The best order of each list under a click model.

    Attributes
    ----------
    ranks : ndarray of int of shape (n_rows,)
        Rank of each row in its list, 1 for the first.
    values : ndarray of shape (n_lists,)
        Value of the best order of each list, sorted as ``list_labels(groups)``.
    exact : ndarray of bool of shape (n_lists,)
        True where the order is proved to be the best; False where it was searched.

    Examples
    --------
    >>> from skrank.metrics import UserBrowsing, best_order
    >>> best = best_order([1, 4, 0, 3, 2], [7] * 5, model=UserBrowsing())
    >>> best.ranks, best.values.round(4), best.exact
    (array([4, 2, 5, 3, 1]), array([2.0128]), array([ True]))
    """

    ranks: Indices
    values: Floats
    exact: NDArray[np.bool_]


class FreeChoices(NamedTuple):
    """Rows and places that may be exchanged in best orders under a click model.

    Attributes
    ----------
    rows : ndarray of int of shape (n_rows,)
        Rows of one list with the same number may change places at no cost.
    places : ndarray of int of shape (n_rows,) or None
        So may the rows at places of one list with the same number; None if each place
        has a number of its own.
    """

    rows: Indices
    places: Indices | None


def free_choices(
    y: Floats, lists: Lists, model: ClickModel, max_grade: float
) -> FreeChoices:
    """Return which rows and places best orders may exchange, for expected clicks."""
    longest = int(lists.sizes.max())
    rows = click_rows(
        y, lists, model, "clicks", longest, "graded", 0.1, max_grade, "best_order"
    )
    of_rows, of_places = model._exchangeable(rows)
    return FreeChoices(
        np.unique(of_rows, return_inverse=True)[1],
        None if of_places is None else np.unique(of_places, return_inverse=True)[1],
    )


@suggests_groups
def best_order(
    y_true: Any,
    groups: Any = None,
    *,
    model: ClickModel,
    kind: str = "clicks",
    k: int | None = None,
    attraction: Any = "graded",
    noise: float = 0.1,
    max_grade: float = 4,
) -> BestOrder:
    """Return the order of each list from which a click model expects most.

    Under :class:`PositionBased` rows by attraction go to ranks by propensity. Under
    :class:`Cascade`, and for satisfied clicks and effort under
    :class:`DynamicBayesian`, rows go by the chance a s to end the search; for its
    clicks by a / (1 - gamma + gamma a s), and a cut-off k takes the best rows by
    dynamic programming. These are exact, by exchange of neighbours. Under
    :class:`UserBrowsing` sorting is almost never best: all orders are tried where at
    most 40,320 of them differ (8 different rows, or more where labels are equal; in
    lists of n > 50 rows at most 10**8 / n**2). Else the sorted order is improved by
    the best swap or move of one row among the first 20 ranks, until none helps. Such
    orders are the targets of STARank [1]_.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels from 0 to ``max_grade``, higher is better; any real labels where
        functions make chances of them.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    model : PositionBased, Cascade, DynamicBayesian or UserBrowsing
        How users go through a list.
    kind : {"clicks", "satisfied", "effort"}, default="clicks"
        What to expect: clicks, satisfied clicks, or those over their ranks.
    k : int, default=None
        Last rank that counts; None counts all.
    attraction : {"graded", "err"} or callable, default="graded"
        Chance of a click on a row that is read, as in :func:`click_score`.
    noise : float, default=0.1
        Attraction of a row of label 0; not for a function.
    max_grade : float, default=4
        The best grade there could be.

    Returns
    -------
    best : BestOrder
        The ``ranks`` (equal rows in row order; minus the rank is a score), the
        ``values`` of these orders, and whether they are ``exact``.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, values are not finite, labels are
        negative or above ``max_grade``, or a chance is not between 0 and 1.

    References
    ----------
    .. [1] J. Jin et al., "Replace scoring with arrangement: a contextual
       set-to-arrangement framework for learning-to-rank" (STARank), CIKM 2023,
       equations 18 and 21.

    Examples
    --------
    >>> from skrank.metrics import PositionBased, UserBrowsing, best_order
    >>> best_order([1, 4, 0, 3, 2], [7] * 5, model=PositionBased()).ranks
    array([4, 1, 5, 2, 3])
    >>> best = best_order([1, 4, 0, 3, 2], [7] * 5, model=UserBrowsing())
    >>> best.ranks, best.exact
    (array([4, 2, 5, 3, 1]), array([ True]))
    """
    check_cutoff(k)
    y = finite_column(y_true, "y_true")
    grouping = group_rows(find_groups(y_true, groups, "best_order", "y_true"), len(y))
    lists = grouping.lists
    rows = click_rows(
        grouping.gather(y), lists, model, kind, cutoff_of(k, grouping),
        attraction, noise, max_grade, "best_order",
    )  # fmt: skip
    ranking, exact = model._arrange(rows, Ranking.open(lists), True)
    values, _ = model._worth(rows, ranking, 0, 0)
    ranks = np.empty(lists.n_rows, dtype=np.intp)
    ranks[ranking.order] = ranks_of(lists) + 1
    by_label = grouping.label_order()
    if by_label is not None:
        values, exact = values[by_label], exact[by_label]
    return BestOrder(grouping.scatter(ranks), values, exact)
