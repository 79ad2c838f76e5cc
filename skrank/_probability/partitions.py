"""Models over ordered partitions: draws, levels, pairs and stages of lists.

Functions whose first argument is the ranker are its methods, if its loss is a
likelihood of ordered partitions. The sample space of a list of n rows is all ordered
partitions of the rows into levels, ties included: 3 for two rows, 13 for three. Compare
probabilities of models only over the same space: Plackett-Luce likelihoods take the
sizes of ties as given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skrank._data.checks import check_count
from skrank._data.grouping import Grouping
from skrank._data.groups import suggests_groups
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank._fit.data import check_data, scores_of_lists
from skrank._kernels.subsets_enumerated import enumerate_stages
from skrank._probability.likelihood import log_likelihood, log_likelihoods
from skrank._probability.results import ExpectedLevel, ListPairProba
from skrank.losses._partition import SubsetModel

SHORT = 12  # largest number of rows for which 3^n stages and subsets are enumerated
DRAWN_AT_ONCE = 2**22  # levels in memory at once


@suggests_groups
def partition_proba(
    ranker: Any, X: Any, y: Any, groups: Any = None, *, offset: Any = None
) -> NDArray[np.float64]:
    """Return the probability of each list's labels, as an ordered partition.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Labels, higher is better; only their order inside a list counts.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y``.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

    Returns
    -------
    proba : ndarray of shape (n_lists,)
        In the order of ``skrank.metrics.list_labels(groups)``; tiny for long
        lists, whose :meth:`log_likelihood` says more.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, or ``X`` or ``y`` are not finite.
    """
    return np.exp(log_likelihood(ranker, X, y, groups, average=None, offset=offset))


@suggests_groups
def stage_proba(
    ranker: Any, X: Any, y: Any, groups: Any = None, *, offset: Any = None
) -> Any:
    """Return the probability of each level, once the better ones are taken.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Labels, higher is better; only their order inside a list counts.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y``.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

    Returns
    -------
    proba : ndarray of shape (n_rows,)
        How likely the next stage takes just the rows of this row's level, given
        that all better rows are gone. Equal for the rows of a level; the product
        over levels is :meth:`partition_proba`.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, or ``X`` or ``y`` are not finite.
    """
    data = check_data(ranker, X, y, groups, offset=offset, method="stage_proba")
    proba = stage_probabilities(
        partial(log_likelihoods, ranker._loss(), ranker.extra_),
        data.scores(ranker.coef_),
        data.y,
        data.lists,
    )
    return data.scatter(proba)


@suggests_groups
def sample_partitions(
    ranker: Any,
    X: Any,
    groups: Any = None,
    n_samples: int = 1,
    random_state: Any = None,
    *,
    offset: Any = None,
) -> NDArray[np.intp]:
    """Draw ordered partitions from the fitted model, exactly.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``X``.
    n_samples : int, default=1
        Number of draws.
    random_state : int, RandomState instance or None, default=None
        Where the random numbers come from.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

    Returns
    -------
    levels : ndarray of shape (n_samples, n_rows)
        Level of each row inside its list, 1 the best. ``-levels[0]`` are labels
        that can be fitted.

    Raises
    ------
    ValueError
        If groups are missing or of another length than ``X``, ``X`` is not
        finite, or ``n_samples`` is below 1.
    """
    scores, grouping, model, seed = _to_draw(
        ranker, X, groups, n_samples, 1, random_state, "sample_partitions", offset
    )
    levels = model.draw(scores, grouping.lists, n_samples, seed)
    return grouping.scatter(levels.T).T


@suggests_groups
def expected_level(
    ranker: Any,
    X: Any,
    groups: Any = None,
    n_samples: int = 1000,
    random_state: Any = None,
    *,
    offset: Any = None,
) -> ExpectedLevel:
    """Return the expected level of each row inside its list, 1 the best.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``X``.
    n_samples : int, default=1000
        Number of draws for lists of more than 12 rows; others are exact.
    random_state : int, RandomState instance or None, default=None
        Where the random numbers come from.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

    Returns
    -------
    level : skrank.inspection.ExpectedLevel
        Named tuple of ``value`` and ``standard_error``, each of shape (n_rows,);
        errors are 0 where levels are exact.

    Raises
    ------
    ValueError
        If groups are missing or of another length than ``X``, ``X`` is not
        finite, or ``n_samples`` is below 2.
    """
    scores, grouping, model, seed = _to_draw(
        ranker, X, groups, n_samples, 2, random_state, "expected_level", offset
    )
    levels = expected_levels(scores, grouping.lists, model, n_samples, seed)
    result = ExpectedLevel(*map(grouping.scatter, levels))
    return result.labelled(X, groups=grouping.label_of_rows())


@suggests_groups
def pairwise_proba(
    ranker: Any,
    X: Any,
    groups: Any = None,
    n_samples: int = 1000,
    random_state: Any = None,
    *,
    offset: Any = None,
) -> ListPairProba:
    """Return the probabilities that rows win, tie or lose against other rows of a list.

    It takes whole lists, not two rows as in pairwise models and Plackett-Luce: a stage
    takes one of all subsets of the remaining rows, so that the chance that one row
    beats another depends on the other rows of their list.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``X``.
    n_samples : int, default=1000
        Number of draws for lists of more than 12 rows; others are exact.
    random_state : int, RandomState instance or None, default=None
        Where the random numbers come from.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

    Returns
    -------
    pairs : skrank.inspection.ListPairProba
        Named tuple of ``first`` and ``second``, the row numbers of each pair, once,
        of shape (n_pairs,); of ``proba``, that the first row's level is better, the
        same, or worse, and of ``standard_error``, each of shape (n_pairs, 3).

    Raises
    ------
    ValueError
        If groups are missing or of another length than ``X``, ``X`` is not
        finite, or ``n_samples`` is below 2.
    """
    scores, grouping, model, seed = _to_draw(
        ranker, X, groups, n_samples, 2, random_state, "pairwise_proba", offset
    )
    pairs = pair_probabilities(scores, grouping.lists, model, n_samples, seed)
    first, second, *numbers = pairs
    if grouping.rows is not None:
        first, second = grouping.rows[first], grouping.rows[second]
    result = ListPairProba(first, second, *numbers)
    return result.labelled(X, groups=grouping.label_of_rows()[first])


def _to_draw(
    ranker: Any,
    X: Any,
    groups: Any,
    n_samples: int,
    fewest: int,
    random_state: Any,
    method: str,
    offset: Any,
) -> tuple[Floats, Grouping, SubsetModel, int]:
    """Return scores in the order of the lists, the lists, the model, and a seed."""
    check_count(n_samples, "n_samples", fewest)
    scores, grouping = scores_of_lists(ranker, X, groups, method, offset)
    longest = int(grouping.lists.sizes.max())
    model = ranker._loss().subset_model(ranker.extra_, longest)
    seed = check_random_state(random_state).randint(2**63 - 1, dtype=np.int64)
    return scores, grouping, model, int(seed)


def expected_levels(
    scores: Floats, lists: Lists, model: SubsetModel, n_samples: int, seed: int
) -> ExpectedLevel:
    """Return the expected level of each row, 1 the best.

    Exact for lists of up to 12 rows, the mean of draws for others.
    """
    value, error = np.empty(lists.n_rows), np.zeros(lists.n_rows)
    short = np.flatnonzero(lists.sizes <= SHORT)
    starts, sizes = lists.starts[short], lists.sizes[short]
    value[_ranges(starts, sizes)] = enumerate_stages(
        scores, starts, sizes, model.log_weights, model.arithmetic
    )[0]
    for _, rows, _, levels in _draws_of_long_lists(
        scores, lists, model, n_samples, seed
    ):
        value[rows] = levels.mean(axis=0)
        error[rows] = levels.std(axis=0, ddof=1) / np.sqrt(n_samples)
    return ExpectedLevel(value, error)


def pair_probabilities(
    scores: Floats, lists: Lists, model: SubsetModel, n_samples: int, seed: int
) -> ListPairProba:
    """Return the probabilities that each row of a list beats or ties each later row.

    Exact for lists of up to 12 rows, shares of draws for others. The standard error of
    a share k / n is that of (k + 1) / (n + 2), so that it is never 0.
    """
    first, second = _pairs_of(lists)
    n_pairs = lists.sizes * (lists.sizes - 1) // 2
    offsets = np.cumsum(n_pairs) - n_pairs
    proba, error = np.empty((len(first), 3)), np.zeros((len(first), 3))
    short = np.flatnonzero(lists.sizes <= SHORT)
    starts, sizes = lists.starts[short], lists.sizes[short]
    _, wins, ties = enumerate_stages(
        scores, starts, sizes, model.log_weights, model.arithmetic
    )
    exact = _ranges(offsets[short], n_pairs[short])
    # Matrices of all pairs, one for each list, are stored one after another.
    begin, size = (
        np.repeat(values, n_pairs[short])
        for values in (np.cumsum(sizes**2) - sizes**2, sizes)
    )
    start = np.repeat(starts, n_pairs[short])
    i, j = first[exact] - start, second[exact] - start
    above, below = begin + i * size + j, begin + j * size + i
    proba[exact] = np.column_stack((wins[above], ties[above], wins[below]))
    for chosen, _, part, levels in _draws_of_long_lists(
        scores, lists, model, n_samples, seed
    ):
        one, other = _pairs_of(part)
        count = np.zeros((len(one), 3))
        for level in levels:
            count[:, 0] += level[one] < level[other]
            count[:, 1] += level[one] == level[other]
        count[:, 2] = n_samples - count[:, 0] - count[:, 1]
        places = _ranges(offsets[chosen], n_pairs[chosen])
        proba[places] = count / n_samples
        likely = (count + 1) / (n_samples + 2)
        error[places] = np.sqrt(likely * (1 - likely) / n_samples)
    return ListPairProba(first, second, proba, error)


def stage_probabilities(
    log_likelihoods: Callable[[Floats, Floats, Lists], Floats],
    scores: Floats,
    y: Floats,
    lists: Lists,
) -> Floats:
    r"""Return the probability of each row's level, given the better levels, (n_rows,).

    :math:`P(X_k | R_k)` does not depend on the rest of the partition. So take the
    likelihood of :math:`X_k` followed by the other rows one by one, and divide it by
    the likelihood of these alone.
    """
    levels = Levels(y, lists)
    sizes, starts, stops = levels.sizes, levels.starts[:-1], levels.starts[1:]
    ends = np.repeat(lists.offsets[1:], levels.n_levels)
    others = stops < ends
    logs = log_likelihoods(*_one_by_one(scores, levels.order, starts, ends, sizes))
    if others.any():
        ones = np.ones_like(sizes[others])
        logs[others] -= log_likelihoods(
            *_one_by_one(scores, levels.order, stops[others], ends[others], ones)
        )
    proba = np.empty(lists.n_rows)
    proba[levels.order] = np.repeat(np.exp(np.minimum(logs, 0.0)), sizes)
    return proba


def _one_by_one(
    scores: Floats, order: Indices, starts: Indices, ends: Indices, n_tied: Indices
) -> tuple[Floats, Floats, Lists]:
    """Return scores, labels and lists of rows: some tied at the top, then no ties."""
    lists = Lists(ends - starts)
    place = np.arange(lists.n_rows) - lists.expand(lists.starts)
    y = -np.maximum(place, lists.expand(n_tied) - 1).astype(np.float64)
    return scores[order[_ranges(starts, lists.sizes)]], y, lists


def _ranges(starts: Indices, sizes: Indices) -> Indices:
    """Return start, start + 1, ... of some ranges, one range after another."""
    before = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes)


def _pairs_of(lists: Lists) -> tuple[Indices, Indices]:
    """Return the rows of each pair inside a list, each pair once."""
    rows = np.arange(lists.n_rows)
    later = lists.expand(lists.offsets[1:]) - rows - 1
    return np.repeat(rows, later), _ranges(rows + 1, later)


def _draws_of_long_lists(
    scores: Floats, lists: Lists, model: SubsetModel, n_samples: int, seed: int
) -> Iterator[tuple[Indices, Indices, Lists, NDArray]]:
    """Yield numbers of long lists, their rows, these as lists, and drawn levels.

    The lists come in parts whose draws fit in memory.
    """
    numbers = np.flatnonzero(lists.sizes > SHORT)
    if not len(numbers):
        return
    drawn = np.cumsum(lists.sizes[numbers]) * float(n_samples)
    cuts = np.flatnonzero(np.diff(drawn // DRAWN_AT_ONCE)) + 1
    for chosen in np.split(numbers, cuts):
        rows = _ranges(lists.starts[chosen], lists.sizes[chosen])
        part = Lists(lists.sizes[chosen])
        # Random numbers are counted from the first row, so that the draws of a list do
        # not depend on where lists are cut into parts.
        levels = model.draw(scores[rows], part, n_samples, seed, int(rows[0]))
        yield chosen, rows, part, levels
