"""Tests whether differences on the same lists are 0 but for chance."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy import stats

from skrank._data.lists import Floats
from skrank.metrics._intervals import AT_ONCE


def student_test(differences: Floats, confidence: float) -> tuple[float, float, float]:
    """Return the p value of Student's test that the mean is 0, and its interval."""
    mean, n = differences.mean(), len(differences)
    if np.ptp(differences) == 0:
        return float(mean == 0), float(mean), float(mean)
    error = differences.std(ddof=1) / np.sqrt(n)
    half = stats.t.ppf(0.5 + confidence / 2, n - 1) * error
    p_value = 2 * stats.t.sf(abs(mean / error), n - 1)
    return float(p_value), float(mean - half), float(mean + half)


def sign_test(differences: Floats, n_resamples: int, rng: Generator) -> float:
    """Return the share of signs that put the sum as far from 0."""
    # The sign of what is 0 does not matter.
    moved = differences[differences != 0]
    n = len(moved)
    if n == 0:
        return 1.0
    # Sums that are equal but for rounding count as equal.
    least = abs(moved.sum()) - 4 * n * np.finfo(float).eps * np.abs(moved).sum()
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
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences).pvalue)
