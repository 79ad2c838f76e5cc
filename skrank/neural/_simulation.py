"""Draw users who browse, and lists in which neighbours take clicks from each other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, validate_params

from skrank._data.checks import Integers, equally_long, finite_column
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank.metrics import (
    PositionBased,
    UserBrowsing,
    click_score,
    simulate_clicks,
)
from skrank.neural._list_data import ListData

ROWS_AT_ONCE = 2**20  # of all orders of some lists, in memory


@dataclass(frozen=True, slots=True)
class Browsing:
    """Lists drawn by :func:`make_browsing`, and the users who click in them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_topics + 1)
        The topic of each row as a one-hot vector, and its quality.
    y : ndarray of shape (n_rows,)
        Labels that sort each list into its best arrangement: n - 1 for the first.
    groups : ndarray of int of shape (n_rows,)
        The list of each row, in order.
    history : ListData
        Rows that the user of each list browsed, the latest last, as in ``X``.
    profile : ListData
        One row of ``n_topics`` for each user.
    appeal : ndarray of shape (n_rows,)
        Chance of a click on a row that is read and follows one of another topic.
    topic : ndarray of int of shape (n_rows,)
        Topic of each row.
    dependence : float
        Share of its appeal that a row loses right behind one of its topic.
    model : PositionBased or UserBrowsing
        How users go through a list.

    Examples
    --------
    >>> from skrank.neural import make_browsing
    >>> data = make_browsing(n_lists=10, random_state=0)
    >>> bool(data.worth(data.y) > data.worth(data.appeal))
    True
    """

    X: Floats
    y: Floats
    groups: Indices
    history: ListData
    profile: ListData
    appeal: Floats
    topic: Indices
    dependence: float
    model: Any

    def attraction(self, scores: Any) -> Floats:
        """Return the chance of a click on each row that is read, ranked by scores.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            The largest of a list is ranked first, equal ones in row order.

        Returns
        -------
        attraction : ndarray of shape (n_rows,)
            The appeal, less where the row above has the same topic.

        Raises
        ------
        ValueError
            If scores are not one finite number a row.
        """
        scores = finite_column(scores, "scores")
        equally_long(scores, self.y, ("scores", "the data"))
        order = Levels(scores, Lists(np.bincount(self.groups))).order
        topic, of_list = self.topic[order], self.groups[order]
        repeats = (topic[1:] == topic[:-1]) & (of_list[1:] == of_list[:-1])
        attraction = self.appeal.copy()
        attraction[order[1:][repeats]] *= 1.0 - self.dependence
        return attraction

    def worth(self, scores: Any, average: str | None = "mean") -> Any:
        """Return the expected number of clicks in lists ranked by scores.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            The largest of a list is ranked first, equal ones in row order.
        average : {"mean", None}, default="mean"
            None returns one value a list.

        Returns
        -------
        worth : float or ndarray of shape (n_lists,)
            Expected clicks.

        Raises
        ------
        ValueError
            If scores are not one finite number a row.
        """
        return click_score(
            self.attraction(scores),
            _row_order(scores, self.groups),
            self.groups,
            model=self.model,
            attraction=_itself,
            average=average,
        )

    def clicks(
        self, scores: Any, n_samples: int = 1, random_state: Any = None
    ) -> NDArray[np.bool_]:
        """Draw clicks of users in lists ranked by scores.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            The largest of a list is ranked first, equal ones in row order.
        n_samples : int, default=1
            Number of times that each user goes through the list.
        random_state : int, RandomState instance or None, default=None
            Seed.

        Returns
        -------
        clicks : ndarray of bool of shape (n_samples, n_rows)
            Whether each row was clicked.

        Raises
        ------
        ValueError
            If scores are not one finite number a row.
        """
        return simulate_clicks(
            self.attraction(scores),
            _row_order(scores, self.groups),
            self.groups,
            model=self.model,
            n_samples=n_samples,
            attraction=_itself,
            random_state=random_state,
        )


@validate_params(
    {
        "n_lists": [Integers(1)],
        "list_size": [Integers(2, 7)],
        "n_topics": [Integers(1)],
        "dependence": [Interval(Real, 0, 1, closed="both")],
        "model": [PositionBased, UserBrowsing, None],
        "n_browsed": [Integers(0)],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_browsing(
    n_lists=200,
    *,
    list_size=6,
    n_topics=3,
    dependence=0.8,
    model=None,
    n_browsed=8,
    random_state=None,
):
    r"""Draw browsing users, and lists whose best arrangement no score gives.

    A user has an interest :math:`v_t \sim N(0, 1)` in each topic, which replaced an
    older one in the middle of the history: a topic is browsed with a chance in
    proportion to :math:`e^{2 v_t}` of the interest of its time. The profile is the
    present interest with noise of variance 1. A row of topic t and quality
    :math:`z \sim N(0, 1)` is clicked, where it is read, with the chance

    .. math:: a = (0.1 + 0.9\, \sigma(2 v_t + z)) (1 - \delta\, r)

    with r = 1 where the row right above has the same topic, else 0, and
    :math:`\delta` the ``dependence``. The click model decides which rows are read. The
    labels sort each list into the arrangement with the most expected clicks of all.

    With :math:`\delta > 0` no score of single rows gives these arrangements, whatever
    it knows of the user. Let A and A' be rows of one topic and B of another, with
    appeals .9, .8 and .6, and :math:`\delta = 0.8`. Under ``PositionBased()``, A' is
    best placed above B where these two are the list, so that A' needs the larger
    score; but among the three A, B, A' is best, so that B needs it. With
    :math:`\delta = 0` sorting by appeal is best under ``PositionBased()``.

    Parameters
    ----------
    n_lists : int, default=200
        Number of lists, of a user each.
    list_size : int, default=6
        Number of rows of a list, 2 to 7, so that all orders can be tried.
    n_topics : int, default=3
        Number of topics.
    dependence : float, default=0.8
        Share of its appeal that a row loses behind one of its topic, 0 to 1.
    model : PositionBased or UserBrowsing, default=None
        How users go through a list; None means ``PositionBased()``.
    n_browsed : int, default=8
        Largest number of rows in a history; each user draws from 0 to that many.
    random_state : int, RandomState instance or None, default=None
        Seed, for the same data again.

    Returns
    -------
    data : Browsing
        The lists, and what users do in them.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    .. [1] J. Jin et al., "Replace scoring with arrangement: a contextual
       set-to-arrangement framework for learning-to-rank" (STARank), CIKM 2023,
       section on simulation-based metrics.

    Examples
    --------
    >>> from skrank.neural import make_browsing
    >>> data = make_browsing(n_lists=3, list_size=4, random_state=0)
    >>> data.X.shape, data.history
    ((12, 4), ListData(n_lists=3, n_features=4))
    """
    model = PositionBased() if model is None else model
    rng = check_random_state(random_state)
    interest = rng.standard_normal((n_lists, n_topics))
    older = rng.standard_normal((n_lists, n_topics))
    profile = interest + rng.standard_normal((n_lists, n_topics))
    topic = rng.randint(n_topics, size=(n_lists, list_size))
    quality = rng.standard_normal((n_lists, list_size))
    liking = 2.0 * np.take_along_axis(interest, topic, 1) + quality
    appeal = 0.1 + 0.9 / (1.0 + np.exp(-liking))

    history = {}
    for user in range(n_lists):
        size = rng.randint(n_browsed + 1)
        # The latest rows are those of the present interest.
        of_time = np.where(
            np.arange(size)[:, None] < size // 2, older[user], interest[user]
        )
        noise = rng.gumbel(size=(size, n_topics))
        browsed = np.argmax(2.0 * of_time + noise, axis=1)
        history[user] = _features(browsed, rng.standard_normal(size), n_topics)
    ranks = best_arrangements(appeal, topic, dependence, model)
    return Browsing(
        X=_features(topic.ravel(), quality.ravel(), n_topics),
        y=(list_size - 1.0 - ranks).ravel(),
        groups=np.repeat(np.arange(n_lists), list_size),
        history=ListData(history),
        profile=ListData(dict(enumerate(profile))),
        appeal=appeal.ravel(),
        topic=topic.ravel(),
        dependence=float(dependence),
        model=model,
    )


def best_arrangements(
    appeal: Floats, topic: Indices, dependence: float, model: Any
) -> Indices:
    """Return the rank from 0 of each row in its list's best order, among all orders.

    Parameters
    ----------
    appeal, topic : ndarray of shape (n_lists, n)
        Appeal and topic of each row.
    dependence : float
        Share of its appeal that a row loses behind one of its topic.
    model : PositionBased or UserBrowsing
        How users go through a list.

    Returns
    -------
    ranks : ndarray of shape (n_lists, n)
        The first of the best orders, in lexical order, where several are.
    """
    n_lists, size = appeal.shape
    orders = np.array(list(permutations(range(size))))
    ranks = np.empty((n_lists, size), dtype=np.intp)
    step = max(1, ROWS_AT_ONCE // orders.size)
    for first in range(0, n_lists, step):
        part = slice(first, first + step)
        attraction = appeal[part][:, orders]  # by list, order and place
        topics = topic[part][:, orders]
        repeats = topics[..., 1:] == topics[..., :-1]
        attraction[..., 1:] *= 1.0 - dependence * repeats
        n_orders = len(attraction) * len(orders)
        worth = click_score(
            attraction.ravel(),
            np.tile(-np.arange(size), n_orders),
            np.repeat(np.arange(n_orders), size),
            model=model,
            attraction=_itself,
            average=None,
        )
        best = worth.reshape(len(attraction), -1).argmax(1)
        ranks[part] = orders[best].argsort(1)
    return ranks


def _features(topic: Indices, quality: Floats, n_topics: int) -> Floats:
    return np.column_stack((np.eye(n_topics)[topic], quality))


def _row_order(scores: Any, groups: Indices) -> Floats:
    """Return scores without ties that rank as ``scores`` and, if equal, row order."""
    order = np.lexsort((-finite_column(scores, "scores"), groups))
    out = np.empty(len(order))
    out[order] = -np.arange(len(order))
    return out


def _itself(attraction: Floats) -> Floats:
    return attraction
