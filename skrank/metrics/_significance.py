"""Test whether two means over lists differ, and correct p values of several tests.

The functions take one value a list, which metrics return with ``average=None``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skrank._data.checks import check_choice, check_confidence, check_count
from skrank._data.clusters import cluster_codes
from skrank._data.lists import Floats, Indices
from skrank.metrics._intervals import (
    basis,
    generator_of,
    interval_of_mean,
    one_a_list,
)
from skrank.metrics._paired_tests import (
    settled_differences,
    sign_test,
    student_test,
    wilcoxon_test,
)


@dataclass(frozen=True)
class ScoreComparison:
    """Difference of two rankers' values on the same lists.

    Attributes
    ----------
    mean_a, mean_b, difference : float
        Means over the lists that both have a value for, and ``mean_a - mean_b``.
    p_value : float
        Chance of a difference at least as large, either way, if there were none.
    low, high : float
        Confidence interval of the difference.
    confidence : float
        How often such intervals hold the difference over all lists there could be.
    n_lists, n_dropped : int
        Lists used, and lists left out because a value is NaN.
    method : str
        The test.
    p_holm : float or None
        The p value after Holm's correction over the rankers compared in one call.
    n_clusters : int or None
        Clusters of the lists used; None where each list is one.

    Examples
    --------
    >>> from skrank.metrics import compare_scores
    >>> print(compare_scores([0.75, 0.5, 0.5], [0.5, 0.25, 0.5], method="t"))
    0.5833 - 0.4167 = 0.1667 [-0.1919, 0.5252], p = 0.184 (t), 95% confidence, 3 lists
    """

    mean_a: float
    mean_b: float
    difference: float
    p_value: float
    low: float
    high: float
    confidence: float
    n_lists: int
    n_dropped: int
    method: str
    p_holm: float | None = None
    n_clusters: int | None = None

    def __str__(self) -> str:
        corrected = "" if self.p_holm is None else f", {self.p_holm:.3g} by Holm"
        return (
            f"{self.mean_a:.4f} - {self.mean_b:.4f} = {self.difference:.4f} "
            f"[{self.low:.4f}, {self.high:.4f}], p = {self.p_value:.3g} "
            f"({self.method}{corrected}), "
            f"{basis(self)}"
        )


def compare_scores(
    values_a: Any,
    values_b: Any,
    *,
    method: str = "randomization",
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: Any = None,
    clusters: Any = None,
) -> Any:
    r"""Test whether two rankers differ on the same lists.

    With d the differences of n lists, the randomization test [1]_ asks how often
    random signs give a mean as far from 0:

    .. math::

        p = \frac{1 + \#\{|\mathrm{mean}(\pm d)| \ge |\mathrm{mean}(d)|\}}
                 {1 + n_\mathrm{resamples}}

    or the exact share of all :math:`2^n` signs where these are no more than the
    resamples. It assumes nothing but that each difference is as likely to be of the
    other sign; so it is the default [2]_.

    Values that differ by rounding alone (by less than 1e-12 of themselves) count as
    equal, and so do differences of the same size: a metric's values times a number give
    the same p value. Wilcoxon's test leaves out lists without a difference, and takes
    all signs of the ranks, tied ones their mean, for up to 50 others, else a normal
    distribution.

    With ``clusters`` the lists of one cluster, such as those of one user, may depend on
    each other: all differences of a cluster get the same random sign; the t test takes
    the cluster-robust variance of the mean [3]_, with the number of clusters less one
    as degrees of freedom; Wilcoxon's test is that of the clusters' means, one number a
    cluster [4]_; and the bootstrap draws clusters.

    Parameters
    ----------
    values_a : array-like of shape (n_lists,), or mapping of str to these
        One value a list, as metrics return with ``average=None``; or those of several
        rankers by name, whose p values are then corrected by :func:`holm` too.
    values_b : array-like of shape (n_lists,)
        Those of the other ranker, or of the reference, in the same order of lists. A
        list where either is NaN is left out of both.
    method : {"randomization", "t", "wilcoxon"}, default="randomization"
        Random signs; Student's paired t test; or Wilcoxon's signed rank test, which
        asks for the median of differences, not the mean.
    confidence : float, default=0.95
        Confidence of the interval of the difference: Student's for "t", else the
        percentile bootstrap of :func:`bootstrap_interval`.
    n_resamples : int, default=10000
        Number of random signs and of resampled means.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; None draws again at each call.
    clusters : array-like of shape (n_lists,), default=None
        Label of each list's cluster, in the order of the values; None makes each list
        one.

    Returns
    -------
    comparison : ScoreComparison or dict of str to ScoreComparison
        Means, difference, p value and interval; ``print`` shows them in a line.

    Raises
    ------
    ValueError
        If lengths differ, fewer than two lists (or clusters) have both values, values
        are infinite or so large that sums overflow, or an option is unknown.

    See Also
    --------
    holm : Correct the p values of several comparisons.

    References
    ----------
    .. [1] R. A. Fisher, "The design of experiments", Oliver and Boyd 1935.
    .. [2] M. Smucker, J. Allan, B. Carterette, "A comparison of statistical
       significance tests for information retrieval evaluation", CIKM 2007.
    .. [3] K.-Y. Liang, S. L. Zeger, "Longitudinal data analysis using generalized
       linear models", Biometrika 73 (1986), with the factor G / (G - 1).
    .. [4] J. N. S. Matthews, D. G. Altman, M. J. Campbell, P. Royston, "Analysis of
       serial measurements in medical research", British Medical Journal 300 (1990).

    Examples
    --------
    >>> from skrank.metrics import compare_scores
    >>> a, b = [0.75, 0.5, 0.5, 1.0, 0.625], [0.5, 0.25, 0.375, 0.5, 0.5]
    >>> comparison = compare_scores(a, b, random_state=0)
    >>> comparison.difference, comparison.p_value
    (0.25, 0.0625)

    Several rankers against one:

    >>> several = compare_scores({"a": a, "c": [1.0, 1.0, 0.5, 1.0, 0.75]}, b)
    >>> several["a"].p_holm
    0.125
    """
    if isinstance(values_a, Mapping):
        options: dict[str, Any] = {"method": method, "confidence": confidence}
        options |= {"n_resamples": n_resamples, "random_state": random_state}
        options["clusters"] = clusters
        return _compare_several(values_a, values_b, options)
    check_choice(method, "method", ("randomization", "t", "wilcoxon"))
    check_confidence(confidence)
    check_count(n_resamples, "n_resamples")
    first, second, codes, n_dropped = _pairs(values_a, values_b, clusters)
    # Divide by about the largest value, so that no square over- or underflows.
    exponent = int(np.frexp(max(np.abs(first).max(), np.abs(second).max()))[1])
    first, second = np.ldexp(first, -exponent), np.ldexp(second, -exponent)
    differences = settled_differences(first, second, codes)
    parts, rng = differences.parts, generator_of(random_state)
    if method == "t":
        p_value, low, high = student_test(differences, confidence)
    else:
        p_value = (
            wilcoxon_test(differences)
            if method == "wilcoxon"
            else sign_test(differences, n_resamples, rng)
        )
        low, high = interval_of_mean(parts, confidence, "percentile", n_resamples, rng)
    difference = parts.sums.sum() / parts.counts.sum()
    ends = first.mean(), second.mean(), difference, low, high
    with np.errstate(over="ignore"):
        mean_a, mean_b, difference, low, high = np.ldexp(ends, exponent).tolist()
    if not np.isfinite(difference + low + high):
        raise ValueError(
            "values_a and values_b are so large that their difference overflows. "
            "Divide both by the same number."
        )
    return ScoreComparison(
        mean_a,
        mean_b,
        difference,
        p_value,
        low,
        high,
        float(confidence),
        len(first),
        n_dropped,
        method,
        n_clusters=None if codes is None else len(parts.sums),
    )


def _compare_several(
    values_a: Mapping[str, Any], values_b: Any, options: dict[str, Any]
) -> dict[str, ScoreComparison]:
    """Compare several rankers to one, with p values by Holm's correction too."""
    comparisons = {
        name: compare_scores(values, values_b, **options)
        for name, values in values_a.items()
    }
    corrected = holm({name: one.p_value for name, one in comparisons.items()})
    return {
        name: replace(one, p_holm=corrected[name]) for name, one in comparisons.items()
    }


def _pairs(
    values_a: Any, values_b: Any, clusters: Any
) -> tuple[Floats, Floats, Indices | None, int]:
    """Return values and clusters of lists with both values, and the number without."""
    first, second = one_a_list(values_a, "values_a"), one_a_list(values_b, "values_b")
    if len(first) != len(second):
        raise ValueError(
            f"values_a has {len(first)} lists and values_b has {len(second)}; they "
            "need the same lists in the same order."
        )
    codes = None if clusters is None else cluster_codes(clusters, len(first))
    both = ~(np.isnan(first) | np.isnan(second))
    n_both = int(np.count_nonzero(both))
    if n_both < 2:
        raise ValueError(
            f"compare_scores needs at least two lists with both values, got {n_both}."
        )
    codes = None if codes is None else codes[both]
    return first[both], second[both], codes, len(both) - n_both


def holm(p_values: Any) -> Any:
    r"""Correct the p values of several tests by Holm's step-down method.

    .. math::

        \tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1) p_{(j)})

    for the m p values in increasing order [1]_. If corrected p values of at most 0.05
    are called significant, at most 5 % of such families of tests contain an error,
    however the tests depend on each other.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,) or mapping
        One p value a test; or those by name.

    Returns
    -------
    corrected : ndarray of shape (n_tests,) or dict
        In the same order, or by the same names.

    Raises
    ------
    ValueError
        If a value is not between 0 and 1, or there is none.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure",
       Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    Several rankers against one:

    >>> from skrank.metrics import compare_scores, holm
    >>> values = {"a": [0.75, 0.5, 0.25, 1.0], "b": [0.5, 0.25, 0.5, 0.5]}
    >>> reference = [0.25, 0.125, 0.125, 0.25]
    >>> holm({
    ...     name: compare_scores(ranker, reference).p_value
    ...     for name, ranker in values.items()
    ... })
    {'a': 0.25, 'b': 0.25}
    """
    if isinstance(p_values, Mapping):
        corrected = holm(list(p_values.values()))
        return dict(zip(p_values, corrected.tolist(), strict=True))
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or p.size == 0:
        raise ValueError(
            f"p_values must hold one number per test, got shape {p.shape}."
        )
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"p_values must lie between 0 and 1, got {p}.")
    order = np.argsort(p, kind="stable")
    # The i-th smallest of m p values is multiplied by m - i + 1, and never corrected to
    # less than a smaller one is.
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected
