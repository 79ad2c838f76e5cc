"""Rankings of lists under the Plackett-Luce model: draws and probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank._kernels.race import among_first, n_nodes

# Multiplications that one list may take (seconds); longer ones are sampled.
EXACT_WORK = 2e9
DRAWN_AT_ONCE = 2**20  # noise values in memory


class TopKProba(NamedTuple):
    """Probability of each row to be among the first k, with its standard error.

    Attributes
    ----------
    probability : ndarray of shape (n_rows,)
        Sums to min(k, n) in a list of n rows.
    standard_error : ndarray of shape (n_rows,)
        0 where the probability is exact to rounding (about 1e-14), positive where it
        is a share of draws.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> X, y, groups = [[1.0], [0.0], [2.0], [1.0]], [0, 0, 1, 0], ["a", "a", "b", "b"]
    >>> ranker = ListMLERanker(alpha=0.1).fit(X, y, groups)
    >>> ranker.top_k_proba(X, groups, k=1).standard_error
    array([0., 0., 0., 0.])
    """

    probability: Floats
    standard_error: Floats


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
    probability = np.empty(lists.n_rows)
    standard_error = np.zeros(lists.n_rows)
    if k == 1:
        return TopKProba(lists.softmax(scores)[0], standard_error)
    levels = Levels(scores, lists)
    at = np.minimum(lists.starts + k, lists.offsets[1:]) - 1
    pivots = scores[levels.order[at]]
    # The time of the k-th arrival varies by 1 / sqrt(k), that of one row by 1.
    step = min(0.2, 0.55 / np.sqrt(k))
    counts = np.maximum(np.minimum(k, lists.sizes - k), 0)
    too_long = lists.sizes * counts * n_nodes(lists.sizes.max(), step) > EXACT_WORK
    steps = np.where(too_long, 0.0, step)
    among_first(scores, lists.offsets, pivots, steps, k, probability)
    np.clip(probability, 0.0, 1.0, out=probability)
    for q in np.flatnonzero(too_long):
        rows = slice(lists.offsets[q], lists.offsets[q + 1])
        found = _count_first(scores[rows], k, n_samples, rng)
        probability[rows] = found / n_samples
        # Of (found + 1) / (n_samples + 2), so that none of the draws is not certainty.
        shrunk = (found + 1.0) / (n_samples + 2.0)
        standard_error[rows] = np.sqrt(shrunk * (1.0 - shrunk) / n_samples)
    return TopKProba(probability, standard_error)


def _count_first(
    scores: Floats, k: int, n_samples: int, rng: np.random.RandomState
) -> Floats:
    """Return how often each row of one list is among the first k of some draws."""
    found = np.zeros(len(scores))
    step = max(1, DRAWN_AT_ONCE // len(scores))
    for first in range(0, n_samples, step):
        shape = (min(step, n_samples - first), len(scores))
        keys = scores + rng.gumbel(size=shape)
        best = np.argpartition(-keys, k - 1, axis=1)[:, :k]
        found += np.bincount(best.ravel(), minlength=len(scores))
    return found


def stage_probabilities(
    scores: Floats, order: Indices, level_starts: Indices, lists: Lists
) -> Floats:
    """Return exp(s_i) over the sum of its level and all levels below, (n_rows,).

    ``order`` and ``level_starts`` as in :class:`~skrank._data.lists.Levels`.
    """
    out = np.empty(lists.n_rows)
    ordered = scores[order]
    first_place = np.repeat(level_starts[:-1], np.diff(level_starts))
    # Lists of one size as one table; a sum from the worst row up has no cancellation.
    for size in np.unique(lists.sizes):
        rows = lists.starts[lists.sizes == size][:, None] + np.arange(size)
        log_left = np.logaddexp.accumulate(ordered[rows][:, ::-1], axis=1)[:, ::-1]
        begins = first_place[rows] - rows[:, :1]
        log_left = np.take_along_axis(log_left, begins, axis=1)
        out[order[rows]] = np.exp(ordered[rows] - log_left)
    return out
