"""Tests whether differences on the same lists are 0 apart from chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy import stats

from skrank._data.lists import Floats, Indices
from skrank.metrics._intervals import AT_ONCE, Parts, parts_of

# Values of a metric that are equal in exact arithmetic differ by the rounding of sums
# over their lists: by far less than this share of them.
ROUNDING = 2.0**-40
# SciPy's limit: beyond it Wilcoxon's statistic is taken as normal.
MOST_EXACT = 50


class Differences(NamedTuple):
    """Differences of pairs, added up over lists that depend on each other.

    Attributes
    ----------
    parts : Parts
        Sums over lists of a cluster, or each list's own, and numbers of lists.
    rounding : ndarray of shape (n_parts,)
        Largest rounding error of each sum.
    """

    parts: Parts
    rounding: Floats


def settled_differences(
    first: Floats, second: Floats, codes: Indices | None
) -> Differences:
    """Return the differences of pairs, cleared of rounding errors.

    A difference within the rounding of its two values becomes 0, and differences whose
    sizes agree within it become equal, so that tests see the ties of exact arithmetic.
    ``codes`` are the numbers of clusters, None makes each list one.
    """
    allowed = ROUNDING * np.maximum(np.abs(first), np.abs(second))
    differences = settled(first - second, allowed)
    parts = parts_of(differences, codes)
    if codes is None:
        return Differences(parts, allowed)
    rounding = parts_of(allowed, codes).sums
    sums = np.where(np.abs(parts.sums) <= rounding, 0.0, parts.sums)
    return Differences(parts._replace(sums=sums), rounding)


def settled(values: Floats, allowed: Floats) -> Floats:
    """Make values 0, or equal in size, where they differ by rounding alone."""
    sizes = np.where(np.abs(values) <= allowed, 0.0, np.abs(values))
    order = np.argsort(sizes, kind="stable")
    ordered, reach = sizes[order], allowed[order]
    apart = np.diff(ordered) > np.maximum(reach[1:], reach[:-1])
    starts = np.append(True, apart)
    levels = np.empty_like(sizes)
    levels[order] = ordered[starts][np.cumsum(starts) - 1]  # the least of its level
    return np.copysign(levels, values)


def student_test(
    differences: Differences, confidence: float
) -> tuple[float, float, float]:
    r"""Return the p value of Student's test that the mean is 0, and its interval.

    With sums :math:`d_g` over the :math:`n_g` lists of G clusters and N lists in all,
    the variance of the mean :math:`\bar d` is

    .. math::

        \frac{G}{G - 1} \frac{1}{N^2} \sum_g (d_g - n_g \bar d)^2 ,

    with G - 1 degrees of freedom; Student's own where each list is a cluster.
    """
    sums, counts = differences.parts
    mean = float(sums.sum() / counts.sum())
    spread = sums - counts * mean
    if (counts == 1).all() and np.ptp(sums) == 0:
        spread = np.zeros(len(sums))
    error = np.sqrt(len(sums) / (len(sums) - 1) * (spread @ spread)) / counts.sum()
    if error == 0:
        return float(mean == 0), mean, mean
    reach = stats.t.ppf((1.0 + confidence) / 2.0, len(sums) - 1) * error
    p_value = 2.0 * stats.t.sf(abs(mean) / error, len(sums) - 1)
    return float(p_value), mean - float(reach), mean + float(reach)


def sign_test(differences: Differences, n_resamples: int, rng: Generator) -> float:
    """Return the share of signs, one a part, that put the sum as far from 0."""
    sums, rounding = differences.parts.sums, float(differences.rounding.sum())
    # The sign of a 0 does not matter.
    moved = sums[sums != 0]
    n = len(moved)
    if n == 0:
        return 1.0
    # Sums that differ by rounding alone count as equal.
    least = abs(moved.sum()) - 2.0 * rounding
    exact = n < 63 and 2**n <= n_resamples
    total = 2**n if exact else n_resamples
    batch = max(AT_ONCE // n, 1)
    as_far = 0
    for first in range(0, total, batch):
        size = min(batch, total - first)
        if exact:
            # The bits of a number are the signs: all numbers are all patterns.
            number = np.arange(first, first + size)
            flipped = (number[:, np.newaxis] >> np.arange(n)) & 1
        else:
            flipped = rng.integers(0, 2, size=(size, n), dtype=np.int8)
        sums = (1.0 - 2.0 * flipped) @ moved
        as_far += int(np.count_nonzero(np.abs(sums) >= least))
    # The observed signs count as one of the draws, so that p is never 0.
    return as_far / total if exact else (as_far + 1) / (total + 1)


def wilcoxon_test(differences: Differences) -> float:
    """Return the p value of Wilcoxon's signed rank test, of means over clusters.

    Lists without a difference are left out first. For at most 50 others the
    distribution over all signs of the ranks is exact, where tied sizes share their mean
    rank; for more the statistic is taken as normal.
    """
    sums, counts = differences.parts
    means = sums
    if (counts > 1).any():
        means = settled(sums / counts, differences.rounding / counts)
    moved = means[means != 0]
    if len(moved) == 0:
        return 1.0
    if len(moved) > MOST_EXACT:
        return float(stats.wilcoxon(moved, method="approx").pvalue)
    # Double the ranks, so that half ranks of ties become whole numbers.
    ranks = np.rint(2 * stats.rankdata(np.abs(moved))).astype(np.intp)
    chances = _chances_of_sums(ranks)
    observed = int(ranks[moved > 0].sum())
    # Both tails include the observed sum, as a p value does.
    tails = chances[: observed + 1].sum(), chances[observed:].sum()
    return float(min(1.0, 2.0 * min(tails)))


def _chances_of_sums(ranks: Indices) -> Floats:
    """Return the chance of each sum of ranks, if each rank joins with chance 1/2.

    One rank after the other: ``p(s) <- (p(s) + p(s - rank)) / 2``, from p(0) = 1.
    """
    chances = np.zeros(int(ranks.sum()) + 1)
    chances[0] = 1.0
    for rank in ranks:
        shifted = np.zeros_like(chances)
        shifted[rank:] = chances[:-rank]
        chances = 0.5 * (chances + shifted)
    return chances
