"""Levels, limits on ties and costs, which the losses on ordered partitions share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from skrank._data.checks import check_count
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank._kernels.sampling import ordered_partitions
from skrank._kernels.subsets_geometric import geometric

# About the time of the exact sums over subsets, for each row and each size (or pair of
# sizes) of subsets; and the costs above which to warn before a fit.
SECONDS_A_CELL, SECONDS_A_SIZE = 5e-10, 8e-8
SLOW_SECONDS, LARGE_BYTES = 2.0, 2**30


class Partitions(NamedTuple):
    """The levels of each list, and the lists in order of size."""

    levels: Levels
    by_size: Indices

    @classmethod
    def of(cls, y: Floats, lists: Lists) -> Partitions:
        """Return the ordered partitions that labels make of lists."""
        return cls(Levels(y, lists), np.argsort(lists.sizes, kind="stable"))


class SubsetModel(NamedTuple):
    r"""The probability that a stage takes a subset S of the remaining rows.

    It is proportional to :math:`\delta_{|S|} \exp(\bar s_S)`, or if "arithmetic" to
    :math:`\delta_{|S|}` times the mean of :math:`e^{s_i}` over S.

    Parameters
    ----------
    arithmetic : bool
        Whether to take the second form.
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
            Seed of the random numbers.
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


def size_weights(longest: int, max_tie_size: int | None = None) -> Floats:
    """Return log weights of subsets by size: 0, or -inf for impossible sizes."""
    weights = np.zeros(longest + 1)
    weights[0] = -np.inf
    if max_tie_size is not None:
        weights[max_tie_size + 1 :] = -np.inf
    return weights


def why_slow(levels: Levels, lists: Lists, largest: int, advice: str) -> str | None:
    """Return a warning if sums over subsets of up to ``largest`` rows are expensive.

    Parameters
    ----------
    levels : Levels
        The levels of the lists.
    lists : Lists
        The lists.
    largest : int
        Largest number of rows that a stage can take.
    advice : str
        What users can do.

    Returns
    -------
    message : str or None
        None if an evaluation takes about a second or less, and moderate memory.
    """
    n = lists.sizes.astype(np.float64)
    size = np.minimum(n, largest)
    seconds = float(np.sum(n * size * (SECONDS_A_CELL * size + SECONDS_A_SIZE)))
    cells = 3.0 * size * levels.n_levels + (n + 1.0) * (np.minimum(size, n / 2) + 3.0)
    n_bytes = 8.0 * float(cells.max())
    if seconds < SLOW_SECONDS and n_bytes < LARGE_BYTES:
        return None
    return (
        f"each evaluation of the objective takes about {_plain(seconds)} s and "
        f"{_plain(n_bytes / 2**30)} GiB, and a fit takes some tens of them: the sums "
        f"over subsets of up to {int(size.max()):,} of {int(n.max()):,} rows need time "
        f"in proportion to n D min(n, D). {advice}"
    )


def _plain(number: float) -> str:
    """Return a number of at least 10 without decimals, else with two digits."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def check_tie_size(name: str, max_tie_size: Any, y: Floats, lists: Lists) -> None:
    """Raise ValueError if ``max_tie_size`` is invalid, or smaller than a level."""
    check_count(max_tie_size, "max_tie_size", optional=True)
    if max_tie_size is None:
        return
    levels = Levels(y, lists)
    largest = int(np.argmax(levels.sizes))
    size = int(levels.sizes[largest])
    if size > int(max_tie_size):
        q = int(np.searchsorted(levels.offsets, largest, side="right")) - 1
        raise ValueError(
            f"{name}(max_tie_size={max_tie_size}): {size} rows of list {q} (counted "
            f"from 0) share the label {y[levels.order[levels.starts[largest]]]:g}. Set "
            f"max_tie_size to at least {size}, or to None."
        )


def geometric_likelihood(
    scores: Floats,
    partitions: Partitions,
    log_weights: Floats,
    *,
    with_weights: bool,
) -> tuple[Floats, Floats, Floats | None]:
    """Return values, gradient in the scores, and in the log weights of all sizes."""
    levels, by_size = partitions
    return geometric(
        scores,
        levels.order,
        levels.starts,
        levels.offsets,
        by_size,
        log_weights,
        with_weights,
    )
