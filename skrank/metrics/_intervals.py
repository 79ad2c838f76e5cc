"""How sure a mean over lists is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils import check_random_state

from skrank._data.checks import check_choice, check_confidence, check_count
from skrank._data.lists import Floats

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

    def __str__(self) -> str:
        return (
            f"{self.mean:.4f} [{self.low:.4f}, {self.high:.4f}], "
            f"{basis(self.confidence, self.n_lists, self.n_dropped)}"
        )


def bootstrap_interval(
    values: Any,
    *,
    confidence: float = 0.95,
    method: str = "percentile",
    n_resamples: int = 10_000,
    random_state: Any = None,
) -> Interval:
    """Return a bootstrap confidence interval of the mean over lists.

    Lists are drawn with replacement, so the interval says how far the mean would
    move with other lists of the same kind; it takes the ranker as given and knows
    nothing of other training data [1]_. Rows of one list are never told apart.

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
        Seed of the draws; None draws anew at each call.

    Returns
    -------
    interval : Interval
        The mean, the ends ``low`` and ``high``, and how many lists they rest on.

    Raises
    ------
    ValueError
        If no value is left, values are infinite, or an option is unknown.

    References
    ----------
    .. [1] B. Efron, R. Tibshirani, "An introduction to the bootstrap", Chapman and
       Hall 1993; J. Savoy, "Statistical inference in retrieval effectiveness
       evaluation", Information Processing and Management 33 (1997).

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
    used = column[~np.isnan(column)]
    if used.size == 0:
        raise ValueError("values has no list with a value; all are NaN.")
    check_confidence(confidence)
    check_count(n_resamples, "n_resamples")
    low, high = interval_of_mean(
        used, confidence, method, n_resamples, generator_of(random_state)
    )
    n_dropped = len(column) - len(used)
    return Interval(
        float(used.mean()), low, high, float(confidence), len(used), n_dropped
    )


def basis(confidence: float, n_lists: int, n_dropped: int) -> str:
    """Say how sure an interval is, and on how many lists it rests."""
    text = f"{100 * confidence:g}% confidence, {n_lists} lists"
    if n_dropped:
        text += f", {n_dropped} without a value left out"
    return text


def interval_of_mean(
    values: Floats, confidence: float, method: Any, n_resamples: int, rng: Generator
) -> tuple[float, float]:
    """Return a bootstrap interval of the mean of values without NaN."""
    check_choice(method, "method", ("percentile", "bca"))
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    result = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=max(n_resamples, 2),  # SciPy takes a standard deviation of them
        batch=max(AT_ONCE // len(values), 1),
        confidence_level=confidence,
        method="percentile",
        random_state=rng,
    )
    low, high = result.confidence_interval
    if method == "bca":
        # SciPy's own BCa takes time in proportion to the square of the number of lists.
        means = np.sort(result.bootstrap_distribution)
        tails = np.array([0.5 - confidence / 2, 0.5 + confidence / 2])
        low, high = np.quantile(means, _corrected(tails, values, means))
    return float(low), float(high)


def _corrected(tails: Floats, values: Floats, means: Floats) -> Floats:
    """Return Efron's bias-corrected and accelerated tails of sorted means."""
    mean = values.mean()
    below = np.searchsorted(means, [mean, np.nextafter(mean, np.inf)]).mean()
    bias = stats.norm.ppf(np.clip(below, 0.5, len(means) - 0.5) / len(means))
    # Leaving out a value moves a mean in proportion to its distance.
    distance = values - mean
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
