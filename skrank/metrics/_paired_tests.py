"""Tests whether differences on the same lists are 0 but for chance."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy import stats

from skrank._data.lists import Floats, Indices
from skrank.metrics._intervals import AT_ONCE

# Values of a metric that are equal in exact arithmetic differ by the rounding of sums
# over their lists: by far less than this share of them.
ROUNDING = 2.0**-40
# SciPy's limit: beyond it Wilcoxon's statistic is taken as normal.
MOST_EXACT = 50


def settled_differences(first: Floats, second: Floats) -> tuple[Floats, float]:
    """Return the differences of pairs without what rounding alone put there.

    A difference within the rounding of its two values becomes 0, and differences whose
    sizes agree within it become equal, so that tests see the ties of exact arithmetic.

    Returns
    -------
    differences : ndarray of shape (n_lists,)
        What is left of ``first - second``.
    rounding : float
        By how much their sum may be off.
    """
    differences = first - second
    allowed = ROUNDING * np.maximum(np.abs(first), np.abs(second))
    sizes = np.where(np.abs(differences) <= allowed, 0.0, np.abs(differences))
    order = np.argsort(sizes, kind="stable")
    ordered, reach = sizes[order], allowed[order]
    apart = np.diff(ordered) > np.maximum(reach[1:], reach[:-1])
    starts = np.append(True, apart)
    settled = np.empty_like(sizes)
    settled[order] = ordered[starts][np.cumsum(starts) - 1]  # the least of its level
    return np.copysign(settled, differences), float(allowed.sum())


def student_test(differences: Floats, confidence: float) -> tuple[float, float, float]:
    """Return the p value of Student's test that the mean is 0, and its interval."""
    if np.ptp(differences) == 0:
        mean = float(differences.mean())
        return float(mean == 0), mean, mean
    result = stats.ttest_1samp(differences, 0.0)
    low, high = result.confidence_interval(confidence)
    return float(result.pvalue), float(low), float(high)


def sign_test(
    differences: Floats, rounding: float, n_resamples: int, rng: Generator
) -> float:
    """Return the share of signs that put the sum as far from 0."""
    # The sign of what is 0 does not matter.
    moved = differences[differences != 0]
    n = len(moved)
    if n == 0:
        return 1.0
    # Sums that are equal but for rounding count as equal.
    least = abs(moved.sum()) - 2.0 * rounding
    exact = n < 63 and 2**n <= n_resamples
    total = 2**n if exact else n_resamples
    batch = max(AT_ONCE // n, 1)
    as_far = 0
    for first in range(0, total, batch):
        size = min(batch, total - first)
        if exact:
            number = np.arange(first, first + size)
            flipped = (number[:, np.newaxis] >> np.arange(n)) & 1
        else:
            flipped = rng.integers(0, 2, size=(size, n), dtype=np.int8)
        sums = (1.0 - 2.0 * flipped) @ moved
        as_far += int(np.count_nonzero(np.abs(sums) >= least))
    return as_far / total if exact else (as_far + 1) / (total + 1)


def wilcoxon_test(differences: Floats) -> float:
    """Return the p value of Wilcoxon's signed rank test.

    Lists without a difference are left out first. The distribution over all signs of
    the ranks, tied ones their mean, is exact for at most 50 lists; else it is normal.
    """
    moved = differences[differences != 0]
    if len(moved) == 0:
        return 1.0
    if len(moved) > MOST_EXACT:
        return float(stats.wilcoxon(moved, method="approx").pvalue)
    # Twice the ranks, which are whole numbers where ranks are tied.
    ranks = np.rint(2 * stats.rankdata(np.abs(moved))).astype(np.intp)
    chances = _chances_of_sums(ranks)
    observed = int(ranks[moved > 0].sum())
    tails = chances[: observed + 1].sum(), chances[observed:].sum()
    return float(min(1.0, 2.0 * min(tails)))


def _chances_of_sums(ranks: Indices) -> Floats:
    """Return the chance of each sum of ranks, each of which is in it or not.

    One rank after the other: ``p(s) <- (p(s) + p(s - rank)) / 2``, from p(0) = 1.
    """
    chances = np.zeros(int(ranks.sum()) + 1)
    chances[0] = 1.0
    for rank in ranks:
        shifted = np.zeros_like(chances)
        shifted[rank:] = chances[:-rank]
        chances = 0.5 * (chances + shifted)
    return chances
