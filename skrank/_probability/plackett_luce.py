"""Rankings of lists under the Plackett-Luce model: draws and probabilities.

Functions whose first argument is the ranker are its methods, if its loss is a
likelihood of orders.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import check_random_state

from skrank._data.checks import check_count
from skrank._data.groups import suggests_groups
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank._fit.data import check_data, scores_of_lists
from skrank._kernels.race import among_first, n_nodes
from skrank._probability.results import TopKProba

# Multiplications for one list (some seconds); lists that need more are sampled.
EXACT_WORK = 2e9
DRAWN_AT_ONCE = 2**20  # noise values in memory at once


@suggests_groups
def stage_proba(
    ranker: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    full: bool = False,
    offset: Any = None,
) -> Any:
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
    full : bool, default=False
        Return the whole softmax of each stage: how likely each row that is left is
        picked next.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

    Returns
    -------
    proba : ndarray of shape (n_rows,) or list of ndarray
        NaN for rows that are not picked: those of stages beyond ``top_k``, and
        several rows of a lowest level that is not a stage. With ``full`` one array
        of shape (n_stages, n_rows of the list) for each list, in the order of
        ``list_labels(groups)``; its columns are the rows in the order of ``X``, and
        rows that are gone have 0.

    Raises
    ------
    ValueError
        If groups are missing or lengths differ.
    """
    loss = ranker._loss()
    data = check_data(ranker, X, y, groups, offset=offset, method="stage_proba")
    lists = data.lists
    stages = loss.prepare(loss.check_labels(data.y, lists), lists)
    scores, places = data.scores(ranker.coef_), stages.level_starts
    # The last row is picked with probability 1, whether or not it counts as a stage.
    number = np.arange(len(places) - 1)
    counted = number < np.repeat(
        stages.level_offsets[:-1] + stages.n_stages, np.diff(stages.level_offsets)
    )
    ends = np.isin(places[1:], lists.offsets) & (np.diff(places) == 1)
    if loss.top_k is None:
        counted |= ends
    if full:
        softmaxes = _softmax_of_stages(scores, stages, counted, lists)
        assert data.grouping is not None
        label_order = data.grouping.label_order()
        numbers = range(len(lists)) if label_order is None else label_order
        return [softmaxes[q] for q in numbers]
    proba = stage_probabilities(scores, stages.order, places, lists)
    proba[stages.order[~np.repeat(counted, np.diff(places))]] = np.nan
    return data.scatter(proba)


@suggests_groups
def sample_rankings(
    ranker: Any,
    X: Any,
    groups: Any = None,
    n_samples: int = 1,
    random_state: Any = None,
    *,
    offset: Any = None,
) -> NDArray[np.intp]:
    """Draw rankings of each list from the fitted model.

    Exact: scores plus independent standard Gumbel noise, sorted.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``X``.
    n_samples : int, default=1
        Number of draws.
    random_state : int, RandomState instance or None, default=None
        Draws the noise.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

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
    scores, grouping = scores_of_lists(ranker, X, groups, "sample_rankings", offset)
    rng = check_random_state(random_state)
    ranks = draw_ranks(scores, grouping.lists, n_samples, rng)
    if grouping.rows is None:
        return ranks
    out = np.empty_like(ranks)
    out[:, grouping.rows] = ranks
    return out


@suggests_groups
def top_k_proba(
    ranker: Any,
    X: Any,
    groups: Any = None,
    k: int = 1,
    *,
    n_samples: int = 10_000,
    random_state: Any = None,
    offset: Any = None,
) -> TopKProba:
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
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``X``.
    k : int, default=1
        How many rows count as first: 1 asks who comes first.
    n_samples : int, default=10_000
        Number of draws for lists that are too long.
    random_state : int, RandomState instance or None, default=None
        Draws for lists that are too long.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

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
    scores, grouping = scores_of_lists(ranker, X, groups, "top_k_proba", offset)
    rng = check_random_state(random_state)
    values = top_k_probabilities(scores, grouping.lists, int(k), n_samples, rng)
    proba = TopKProba(*map(grouping.scatter, values))
    return proba.labelled(X, groups=grouping.label_of_rows())


def draw_ranks(
    scores: Floats, lists: Lists, n_samples: int, rng: np.random.RandomState
) -> Indices:
    """Return ranks (n_samples, n_rows) of exact draws, 1 for the best of a list.

    Scores plus standard Gumbel noise, sorted, are a Plackett-Luce ranking.
    """
    ranks = np.empty((n_samples, lists.n_rows), dtype=np.intp)
    of_list = lists.expand(np.arange(lists.n_lists))
    place = np.arange(1, lists.n_rows + 1) - lists.expand(lists.starts)
    step = max(1, DRAWN_AT_ONCE // lists.n_rows)
    for first in range(0, n_samples, step):
        part = ranks[first : first + step]
        keys = scores + rng.gumbel(size=part.shape)
        order = np.lexsort((-keys, np.broadcast_to(of_list, keys.shape)), axis=-1)
        np.put_along_axis(part, order, np.broadcast_to(place, keys.shape), axis=-1)
    return ranks


def top_k_probabilities(
    scores: Floats,
    lists: Lists,
    k: int,
    n_samples: int,
    rng: np.random.RandomState,
) -> TopKProba:
    """Return the probability of each row to be among the first ``k`` of its list.

    Exact by quadrature where that takes at most ``EXACT_WORK`` multiplications for a
    list, else the share of ``n_samples`` draws.
    """
    standard_error = np.zeros(lists.n_rows)
    if k == 1:
        return TopKProba(lists.softmax(scores)[0], standard_error)
    levels = Levels(scores, lists)
    # The k-th best score of each list sets the unit of time of the quadrature.
    at = np.minimum(lists.starts + k, lists.offsets[1:]) - 1
    pivots = scores[levels.order[at]]
    too_long = which_too_long(lists, k)
    steps = np.where(too_long, 0.0, _step(k))
    probability = among_first(scores, lists.offsets, pivots, steps, k)
    np.clip(probability, 0.0, 1.0, out=probability)
    for q in np.flatnonzero(too_long):
        rows = slice(lists.offsets[q], lists.offsets[q + 1])
        n_first = _count_first(scores[rows], k, n_samples, rng)
        probability[rows] = n_first / n_samples
        # The error of (n_first + 1) / (n_samples + 2): a share of 0 is not certain.
        shrunk = (n_first + 1.0) / (n_samples + 2.0)
        standard_error[rows] = np.sqrt(shrunk * (1.0 - shrunk) / n_samples)
    return TopKProba(probability, standard_error)


def which_too_long(lists: Lists, k: int) -> NDArray[np.bool_]:
    """Return which lists take too much work to have exact probabilities, (n_lists,)."""
    counts = np.maximum(np.minimum(k, lists.sizes - k), 0)
    work = lists.sizes * counts * n_nodes(lists.sizes.max(), _step(k))
    return (work > EXACT_WORK) & (k > 1)


def _step(k: int) -> float:
    """Return the step of the quadrature.

    The log time of the k-th arrival has deviation 1 / sqrt(k), that of one row 1.
    """
    return float(min(0.2, 0.55 / np.sqrt(k)))


def _count_first(
    scores: Floats, k: int, n_samples: int, rng: np.random.RandomState
) -> Floats:
    """Return how often each row of one list is among the first k of some draws."""
    counts = np.zeros(len(scores))
    step = max(1, DRAWN_AT_ONCE // len(scores))
    for first in range(0, n_samples, step):
        shape = (min(step, n_samples - first), len(scores))
        keys = scores + rng.gumbel(size=shape)
        best = np.argpartition(-keys, k - 1, axis=1)[:, :k]
        counts += np.bincount(best.ravel(), minlength=len(scores))
    return counts


def _softmax_of_stages(
    scores: Floats, stages: Any, counted: NDArray[np.bool_], lists: Lists
) -> list[Floats]:
    """Return for each list the softmax (n_stages, n_rows) of its counted stages."""
    softmaxes = []
    for q, start in enumerate(lists.starts):
        rows = stages.order[start : lists.offsets[q + 1]]
        ordered = scores[rows]
        levels = slice(stages.level_offsets[q], stages.level_offsets[q + 1])
        begins = stages.level_starts[:-1][levels][counted[levels]] - start
        proba = np.zeros((len(begins), len(rows)))
        for stage, begin in enumerate(begins):
            proba[stage, rows[begin:] - start] = softmax(ordered[begin:])
        softmaxes.append(proba)
    return softmaxes


def stage_probabilities(
    scores: Floats, order: Indices, level_starts: Indices, lists: Lists
) -> Floats:
    """Return exp(s_i) over the sum of its level and all levels below, (n_rows,).

    ``order`` and ``level_starts`` as in :class:`~skrank._data.lists.Levels`.
    """
    out = np.empty(lists.n_rows)
    ordered = scores[order]
    first_place = np.repeat(level_starts[:-1], np.diff(level_starts))
    # Lists of one size make one table. Sums from the worst row up cancel nothing.
    for size in np.unique(lists.sizes):
        rows = lists.starts[lists.sizes == size][:, None] + np.arange(size)
        log_left = np.logaddexp.accumulate(ordered[rows][:, ::-1], axis=1)[:, ::-1]
        begins = first_place[rows] - rows[:, :1]
        log_left = np.take_along_axis(log_left, begins, axis=1)
        out[order[rows]] = np.exp(ordered[rows] - log_left)
    return out
