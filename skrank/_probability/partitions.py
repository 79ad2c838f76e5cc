"""What a model over ordered partitions says of lists: draws, levels, pairs, stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank._kernels.sampling import ordered_partitions
from skrank._kernels.stages import enumerate_stages

SHORT = 12  # rows of a list whose 3^n stages and subsets are enumerated
DRAWN_AT_ONCE = 2**22  # levels in memory


class SubsetModel(NamedTuple):
    r"""How likely a stage takes a subset S of the rows that are left.

    Proportional to :math:`\delta_{|S|} \exp(\bar s_S)`, or "arithmetic"
    :math:`\delta_{|S|}` times the mean of :math:`e^{s_i}` over S.

    Parameters
    ----------
    arithmetic : bool
        Which of the two.
    log_weights : ndarray of shape (n_sizes + 1,)
        :math:`\log \delta_m` of subsets of m = 0, 1, ... rows, up to the longest
        list; -inf for sizes that do not occur, such as 0.
    """

    arithmetic: bool
    log_weights: Floats

    def draw(
        self, scores: Floats, lists: Lists, n_samples: int, seed: int, place: int = 0
    ) -> Indices:
        """Return exact draws of the level of each row, 1 the best.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)
            Scores.
        lists : Lists
            The lists.
        n_samples : int
            Number of draws.
        seed : int
            Where the random numbers come from.
        place : int, default=0
            Place of the first row: lists at other places have other random numbers.

        Returns
        -------
        levels : ndarray of shape (n_samples, n_rows)
            The stage at which each row is taken.
        """
        longest = int(lists.sizes.max())
        return ordered_partitions(
            scores,
            lists.offsets,
            self.log_weights,
            gammaln(np.arange(longest + 1) + 1.0),
            self.arithmetic,
            n_samples,
            seed,
            place,
        )


class ExpectedLevel(NamedTuple):
    """Expected level of each row inside its list, 1 the best, with its standard error.

    Attributes
    ----------
    value : ndarray of shape (n_rows,)
        Expected levels.
    standard_error : ndarray of shape (n_rows,)
        0 where the value is exact, positive where it is a mean of draws.

    Examples
    --------
    >>> from skrank import PMOPRanker
    >>> X, y, groups = [[1.0], [0.0], [2.0], [1.0]], [1, 0, 1, 0], ["a", "a", "b", "b"]
    >>> level = PMOPRanker().fit(X, y, groups).expected_level(X, groups)
    >>> bool(level.value[0] < level.value[1])
    True
    """

    value: Floats
    standard_error: Floats


class ListPairProba(NamedTuple):
    """Probabilities that rows win, tie or lose against each other row of their list.

    Attributes
    ----------
    first, second : ndarray of shape (n_pairs,)
        Row numbers of each pair, each pair once.
    proba : ndarray of shape (n_pairs, 3)
        Probabilities that the first wins, that they tie, and that the second wins.
    standard_error : ndarray of shape (n_pairs, 3)
        0 where the probabilities are exact, else of a share of draws.

    Examples
    --------
    >>> from skrank import PMOPRanker
    >>> X, y, groups = [[1.0], [0.0], [2.0], [1.0]], [1, 0, 1, 0], ["a", "a", "b", "b"]
    >>> pairs = PMOPRanker().fit(X, y, groups).pairwise_proba(X, groups)
    >>> pairs.first, pairs.second
    (array([0, 2]), array([1, 3]))
    >>> bool(pairs.proba[0, 0] > pairs.proba[0, 2])
    True
    """

    first: Indices
    second: Indices
    proba: Floats
    standard_error: Floats


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
    for chosen in _long_parts(lists, n_samples):
        rows = _ranges(lists.starts[chosen], lists.sizes[chosen])
        part = Lists(lists.sizes[chosen])
        levels = model.draw(scores[rows], part, n_samples, seed, int(rows[0]))
        value[rows] = levels.mean(axis=0)
        error[rows] = levels.std(axis=0, ddof=1) / np.sqrt(n_samples)
    return ExpectedLevel(value, error)


def pair_probabilities(
    scores: Floats, lists: Lists, model: SubsetModel, n_samples: int, seed: int
) -> ListPairProba:
    """Return how likely each row of a list wins from or ties each later row.

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
    # Each list has a matrix of all pairs, one after another.
    begin, size = (
        np.repeat(values, n_pairs[short])
        for values in (np.cumsum(sizes**2) - sizes**2, sizes)
    )
    start = np.repeat(starts, n_pairs[short])
    i, j = first[exact] - start, second[exact] - start
    above, below = begin + i * size + j, begin + j * size + i
    proba[exact] = np.column_stack((wins[above], ties[above], wins[below]))
    for chosen in _long_parts(lists, n_samples):
        rows = _ranges(lists.starts[chosen], lists.sizes[chosen])
        part = Lists(lists.sizes[chosen])
        levels = model.draw(scores[rows], part, n_samples, seed, int(rows[0]))
        one, other = _pairs_of(part)
        count = np.zeros((len(one), 3))
        for level in levels:
            count[:, 0] += level[one] < level[other]
            count[:, 1] += level[one] == level[other]
        count[:, 2] = n_samples - count[:, 0] - count[:, 1]
        here = _ranges(offsets[chosen], n_pairs[chosen])
        proba[here] = count / n_samples
        likely = (count + 1) / (n_samples + 2)
        error[here] = np.sqrt(likely * (1 - likely) / n_samples)
    return ListPairProba(first, second, proba, error)


def stage_probabilities(
    log_likelihoods: Callable[[Floats, Floats, Lists], Floats],
    scores: Floats,
    y: Floats,
    lists: Lists,
) -> Floats:
    r"""Return how likely each row's level is, given the better levels, (n_rows,).

    The probability :math:`P(X_k | R_k)` does not depend on the rest of the partition.
    So it is the likelihood of :math:`X_k` followed by the other rows one by one, over
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


def _long_parts(lists: Lists, n_samples: int) -> Iterator[Indices]:
    """Yield numbers of the lists that are not short, few enough to be drawn at once."""
    numbers = np.flatnonzero(lists.sizes > SHORT)
    drawn = np.cumsum(lists.sizes[numbers]) * float(n_samples)
    yield from (
        np.split(numbers, np.flatnonzero(np.diff(drawn // DRAWN_AT_ONCE)) + 1)
        if len(numbers)
        else ()
    )
