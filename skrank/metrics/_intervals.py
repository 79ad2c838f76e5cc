"""Confidence intervals of means over lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils import check_random_state

from skrank._data.checks import check_choice, check_confidence, check_count
from skrank._data.clusters import cluster_codes
from skrank._data.lists import Floats, Indices

AT_ONCE = 2_000_000  # numbers held at a time while resampling


@dataclass(frozen=True)
class Interval:
    """Mean of one value a list with its confidence interval.

    Attributes
    ----------
    mean, low, high : float
        Mean over lists, and the ends of the interval.
    confidence : float
        How often such intervals hold the mean over all lists there could be.
    n_lists, n_dropped : int
        Lists used, and lists left out because their value is NaN.
    n_clusters : int or None
        Clusters of the lists used; None where each list is one.

    Examples
    --------
    >>> from skrank.metrics import bootstrap_interval
    >>> print(bootstrap_interval([0.5, 0.5, float("nan")]))
    0.5000 [0.5000, 0.5000], 95% confidence, 2 lists, 1 without a value left out
    """

    mean: float
    low: float
    high: float
    confidence: float
    n_lists: int
    n_dropped: int
    n_clusters: int | None = None

    def __str__(self) -> str:
        return f"{self.mean:.4f} [{self.low:.4f}, {self.high:.4f}], {basis(self)}"


def bootstrap_interval(
    values: Any,
    *,
    confidence: float = 0.95,
    method: str = "percentile",
    n_resamples: int = 10_000,
    random_state: Any = None,
    clusters: Any = None,
) -> Interval:
    r"""Return a bootstrap confidence interval of the mean over lists.

    Lists are drawn with replacement, so the interval shows how far the mean would move
    with other lists of the same kind. The ranker stays the same: the interval does not
    cover other training data [1]_. A list is drawn as a whole, never some of its rows.

    With ``clusters`` whole clusters are drawn with replacement [2]_, :math:`c_1, c_2,
    \ldots` among G, and the mean is that over the lists drawn:

    .. math::

        \bar x^* = \frac{\sum_{g=1}^G \sum_{q \in c_g} x_q}{\sum_{g=1}^G |c_g|}.

    Parameters
    ----------
    values : array-like of shape (n_lists,)
        One value a list, as metrics return with ``average=None``. NaN is left out,
        as a mean with ``empty="skip"`` does.
    confidence : float, default=0.95
        How often such intervals hold the mean over all lists there could be.
    method : {"percentile", "bca"}, default="percentile"
        Quantiles of the resampled means, or these corrected for bias and skewness,
        which is worth it below some 50 lists.
    n_resamples : int, default=10000
        Number of resampled means.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; None draws again at each call.
    clusters : array-like of shape (n_lists,), default=None
        Label of each list's cluster, such as its user, in the order of ``values``:
        lists of one cluster may depend on each other. None makes each list one.

    Returns
    -------
    interval : Interval
        The mean, the ends ``low`` and ``high``, and how many lists they rest on.

    Raises
    ------
    ValueError
        If no value is left, values are infinite, an option is unknown, or there is
        one cluster alone.

    References
    ----------
    .. [1] B. Efron, R. Tibshirani, "An introduction to the bootstrap", Chapman and
       Hall 1993; J. Savoy, "Statistical inference in retrieval effectiveness
       evaluation", Information Processing and Management 33 (1997).
    .. [2] A. C. Davison, D. V. Hinkley, "Bootstrap methods and their application",
       Cambridge 1997, section 3.8.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.metrics import bootstrap_interval
    >>> values = np.random.default_rng(0).uniform(size=100)
    >>> interval = bootstrap_interval(values, random_state=0)
    >>> bool(interval.low < values.mean() < interval.high)
    True
    """
    column = one_a_list(values, "values")
    codes = None if clusters is None else cluster_codes(clusters, len(column))
    known = ~np.isnan(column)
    used = column[known]
    if used.size == 0:
        raise ValueError("values has no list with a value; all are NaN.")
    check_confidence(confidence)
    check_count(n_resamples, "n_resamples")
    parts = parts_of(used, None if codes is None else codes[known])
    low, high = interval_of_mean(
        parts, confidence, method, n_resamples, generator_of(random_state)
    )
    return Interval(
        float(used.mean()),
        low,
        high,
        float(confidence),
        len(used),
        len(column) - len(used),
        None if codes is None else len(parts.sums),
    )


class Parts(NamedTuple):
    """Sums of values that are drawn together, and how many values each sum has."""

    sums: Floats
    counts: Floats


def parts_of(values: Floats, codes: Indices | None) -> Parts:
    """Return each value as a part of its own, or sums over clusters that have any.

    Raises ValueError if there is one cluster alone.
    """
    if codes is None:
        return Parts(values, np.ones(len(values)))
    numbers = np.unique(codes, return_inverse=True)[1]
    parts = Parts(
        np.bincount(numbers, values).astype(np.float64),
        np.bincount(numbers).astype(np.float64),
    )
    if len(parts.sums) < 2:
        raise ValueError(
            "only one cluster has lists with values, so how clusters differ cannot be "
            "estimated; there must be at least two."
        )
    return parts


class Basis(Protocol):
    """Fields that an interval is based on; see `basis`."""

    @property
    def confidence(self) -> float:
        """Share of such intervals that contain the true mean."""

    @property
    def n_lists(self) -> int:
        """Lists used."""

    @property
    def n_dropped(self) -> int:
        """Lists left out."""

    @property
    def n_clusters(self) -> int | None:
        """Clusters of the lists used, None where each list is one."""


def basis(result: Basis) -> str:
    """Return a text on the confidence of an interval and the number of its lists."""
    text = f"{100 * result.confidence:g}% confidence, {result.n_lists} lists"
    if result.n_clusters is not None:
        text += f" in {result.n_clusters} clusters"
    if result.n_dropped:
        text += f", {result.n_dropped} without a value left out"
    return text


def interval_of_mean(
    parts: Parts, confidence: float, method: Any, n_resamples: int, rng: Generator
) -> tuple[float, float]:
    """Return a bootstrap interval of the mean of values, drawn by parts."""
    check_choice(method, "method", ("percentile", "bca"))
    sums, counts = parts
    single = bool((counts == 1).all())
    means = sums if single else sums / counts
    if np.ptp(means) == 0:
        return float(means[0]), float(means[0])
    result = stats.bootstrap(
        (sums,) if single else (sums, counts),
        np.mean if single else _ratio,
        n_resamples=max(n_resamples, 2),  # SciPy takes a standard deviation of them
        batch=max(AT_ONCE // len(sums), 1),
        paired=not single,
        confidence_level=confidence,
        method="percentile",
        random_state=rng,
    )
    low, high = result.confidence_interval
    if method == "bca":
        # SciPy's own BCa takes time in proportion to the square of the number of lists.
        means = np.sort(result.bootstrap_distribution)
        tails = np.array([0.5 - confidence / 2, 0.5 + confidence / 2])
        low, high = np.quantile(means, _corrected(tails, parts, means))
    return float(low), float(high)


def _ratio(sums: Floats, counts: Floats, axis: int = -1) -> Any:
    """Return means over all lists of the clusters that were drawn."""
    return sums.sum(axis=axis) / counts.sum(axis=axis)


def _corrected(tails: Floats, parts: Parts, means: Floats) -> Floats:
    """Return Efron's bias-corrected and accelerated tails of sorted means."""
    sums, counts = parts
    mean = sums.sum() / counts.sum()
    below = np.searchsorted(means, [mean, np.nextafter(mean, np.inf)]).mean()
    bias = stats.norm.ppf(np.clip(below, 0.5, len(means) - 0.5) / len(means))
    # Jackknife: the fall of the mean if a part is left out, up to a factor, which
    # cancels in the acceleration.
    without = (sums.sum() - sums) / (counts.sum() - counts)
    distance = without.mean() - without
    distance /= np.abs(distance).max()
    acceleration = np.sum(distance**3) / (6 * np.sum(distance**2) ** 1.5)
    z = bias + stats.norm.ppf(tails)
    return stats.norm.cdf(bias + z / (1 - acceleration * z))


def generator_of(random_state: Any) -> Generator:
    """Return a generator from what scikit-learn takes as ``random_state``."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed)


def one_a_list(values: Any, name: str) -> NDArray[np.float64]:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or column.size == 0:
        raise ValueError(
            f"{name} must hold one number per list, got shape {column.shape}. Metrics "
            "return them with average=None."
        )
    if np.isinf(column).any():
        raise ValueError(
            f"{name} has {np.isinf(column).sum()} infinite values. Use NaN for lists "
            "that have no value."
        )
    with np.errstate(over="ignore"):
        total = np.nansum(np.abs(column))
    if not np.isfinite(total):
        raise ValueError(
            f"{name} holds values up to {np.nanmax(np.abs(column)):g}, whose sum "
            "overflows. Divide all values by the same number."
        )
    return column
