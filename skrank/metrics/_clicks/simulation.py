"""Clicks drawn from a click model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skrank._data.checks import check_count
from skrank._data.groups import suggests_groups
from skrank.metrics._average import check_cutoff, cutoff_of, scored_lists
from skrank.metrics._clicks.base import ClickModel
from skrank.metrics._clicks.score import click_rows


@suggests_groups
def simulate_clicks(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    model: ClickModel,
    n_samples: int = 1,
    k: int | None = None,
    attraction: Any = "graded",
    noise: float = 0.1,
    max_grade: float = 4,
    random_state: Any = None,
) -> NDArray[np.bool_]:
    """Draw clicks of users who go through ranked lists as a click model says.

    Each sample is one user of each list. The mean over users of the number of clicks
    in a list is what :func:`click_score` expects.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels from 0 to ``max_grade``, higher is better; any real labels where
        functions make chances of them.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first, equal ones in an order drawn
        for each user.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    model : PositionBased, Cascade, DynamicBayesian or UserBrowsing
        How users go through a list.
    n_samples : int, default=1
        Number of users of each list.
    k : int, default=None
        Last rank that is shown; None shows all.
    attraction : {"graded", "err"} or callable, default="graded"
        Chance of a click on a row that is read, as in :func:`click_score`.
    noise : float, default=0.1
        Attraction of a row of label 0; not for a function.
    max_grade : float, default=4
        The best grade there could be.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; None draws again at each call.

    Returns
    -------
    clicks : ndarray of bool of shape (n_samples, n_rows)
        Whether each user clicked each row.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, values are not finite, labels are
        negative or above ``max_grade``, a chance is not between 0 and 1, or
        ``n_samples`` is not a positive integer.

    References
    ----------
    .. [1] A. Chuklin, I. Markov, M. de Rijke, "Click models for web search",
       Morgan & Claypool 2015.

    Examples
    --------
    >>> from skrank.metrics import PositionBased, simulate_clicks
    >>> y, scores, groups = [4, 0, 2], [3.0, 2.0, 1.0], [7, 7, 7]
    >>> clicks = simulate_clicks(
    ...     y, scores, groups, model=PositionBased(), n_samples=1000, random_state=0
    ... )
    >>> clicks.shape, bool(abs(clicks[:, 0].mean() - 0.68) < 0.06)
    ((1000, 3), True)
    """
    check_cutoff(k)
    check_count(n_samples, "n_samples", 1)
    data = scored_lists(y_true, y_score, groups, None, "simulate_clicks")
    grouping, lists = data.grouping, data.grouping.lists
    n_ranks = cutoff_of(k, grouping)
    rows = click_rows(
        data.y, lists, model, "clicks", n_ranks,
        attraction, noise, max_grade, "simulate_clicks",
    )  # fmt: skip
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    rng = np.random.default_rng(seed)
    order = _draw_rankings(data.scores, lists, n_samples, rng)

    clicks = np.zeros((n_samples, lists.n_rows), dtype=bool)
    user = np.arange(n_samples)[:, np.newaxis]
    # Longest lists first: the lists that still have rows are then a leading slice.
    by_size = np.argsort(-lists.sizes, kind="stable")
    state = model._start((n_samples, lists.n_lists))
    for rank in range(n_ranks):
        going = int(np.count_nonzero(lists.sizes > rank))
        shown = order[:, lists.starts[by_size[:going]] + rank]
        state = state[:, :going] if state.ndim == 2 else state
        chance = model._reads(rank, state) * rows.attraction[shown]
        clicked = rng.random(chance.shape) < chance
        clicks[user, shown] = clicked
        state = model._after(rank, state, clicked, rows.satisfaction[shown], rng)
    if grouping.rows is None:
        return clicks
    out = np.empty_like(clicks)
    out[:, grouping.rows] = clicks
    return out


def _draw_rankings(scores, lists, n_samples, rng):
    """Return the row at each place for each user, equal scores in drawn orders."""
    of_list = lists.expand(np.arange(lists.n_lists))
    order = np.lexsort((-scores, of_list))
    ranked, list_ranked = scores[order], of_list[order]
    tied = (ranked[1:] == ranked[:-1]) & (list_ranked[1:] == list_ranked[:-1])
    if not tied.any():
        return np.broadcast_to(order, (n_samples, len(order)))
    block = np.concatenate([[0], np.cumsum(~tied)])
    keys = rng.random((n_samples, len(order)))
    drawn = np.lexsort((keys, np.broadcast_to(block, keys.shape)), axis=1)
    return order[drawn]
