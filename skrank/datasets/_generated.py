"""Draw ranking data from a Plackett-Luce model with ties."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from skrank._data.checks import Integers, is_integer
from skrank._data.lists import Lists
from skrank._data.parameters import checks_arguments


@checks_arguments(
    {
        "n_lists": [Integers(1)],
        "list_size": [Integers(1), tuple, list],
        "n_features": [Integers(1)],
        "n_informative": [Integers(0)],
        "grade_shares": ["array-like"],
        "noise": [Interval(Real, 0, None, closed="left")],
        "list_effect": [Interval(Real, 0, None, closed="left")],
        "shuffle": ["boolean"],
        "return_coef": ["boolean"],
        "random_state": ["random_state"],
    },
)
def make_ranking(
    n_lists: int = 100,
    *,
    list_size: int | tuple[int, int] = (5, 30),
    n_features: int = 20,
    n_informative: int = 10,
    grade_shares: Sequence[float] = (0.52, 0.32, 0.13, 0.02, 0.01),
    noise: float = 0.5,
    list_effect: float = 0.0,
    shuffle: bool = False,
    return_coef: bool = False,
    random_state: Any = None,
) -> Any:
    r"""Draw lists whose graded labels follow a Plackett-Luce model with ties.

    In each list the rows are ordered by noisy scores

    .. math::

        z_i = x_i^\top w + \sigma \epsilon_i, \qquad
        \epsilon_i \sim \mathrm{Gumbel}(0, 1)

    so that the order of the rows, best first, is a draw from the Plackett-Luce
    model with scores :math:`s = x^\top w / \sigma`,

    .. math::

        P(\pi) = \prod_{j=1}^{n}
            \frac{e^{s_{\pi_j}}}{\sum_{l \ge j} e^{s_{\pi_l}}} .

    The order is then cut into grades, and rows of one grade are tied: the row at
    place :math:`r = 0, \dots, n - 1` from the worst gets the grade g with
    :math:`c_g \le (r + u) / n < c_{g+1}`, where :math:`c` are the cumulative shares
    and :math:`u \sim U(0, 1)` is drawn once a list. The expected share of each
    grade is thus as given, for lists of any size.

    Parameters
    ----------
    n_lists : int, default=100
        Number of lists.
    list_size : int or (int, int), default=(5, 30)
        Number of rows of each list, or the smallest and the largest, drawn
        uniformly with both ends.
    n_features : int, default=20
        Number of features, standard normal inside a list.
    n_informative : int, default=10
        Number of features with a coefficient that is not zero, at random places; at
        most ``n_features``. The others are noise.
    grade_shares : array-like of shape (n_grades,), default=(.52, .32, .13, .02, .01)
        Expected share of the rows with label 0, 1, ...; not negative, with sum 1.
        The default is as usual among LETOR sets.
    noise : float, default=0.5
        :math:`\sigma`, in units of the standard deviation of :math:`x^\top w` inside
        a list. With 0 the order of labels is that of the scores.
    list_effect : float, default=0.0
        Standard deviation, in each feature, of the mean of a list. It has no effect on
        labels, which compare rows of one list, and misleads pointwise models.
    shuffle : bool, default=False
        Mix rows of different lists, instead of keeping each list's rows together.
    return_coef : bool, default=False
        Return :math:`w` too.
    random_state : int, RandomState instance or None, default=None
        Seed, for the same data again.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        Features.
    y : ndarray of int64 of shape (n_rows,)
        Grades, 0 to ``n_grades - 1``, higher is better.
    groups : ndarray of int64 of shape (n_rows,)
        The list of each row, 0 to ``n_lists - 1``.
    coef : ndarray of shape (n_features,)
        :math:`w`, of Euclidean length 1 (0 without informative features). Only if
        ``return_coef`` is True.

    Raises
    ------
    ValueError
        If a parameter is out of range or ``grade_shares`` do not add up to 1.

    References
    ----------
    J. I. Yellott, "The relationship between Luce's choice axiom, Thurstone's theory
    of comparative judgment, and the double exponential distribution", Journal of
    Mathematical Psychology 15 (1977).

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> X, y, groups = make_ranking(n_lists=3, list_size=4, random_state=0)
    >>> X.shape
    (12, 20)
    >>> groups
    array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    smallest, largest = _size_range(list_size)
    cumulative = _cumulative_shares(grade_shares)
    rng = check_random_state(random_state)

    lists = Lists(rng.randint(smallest, largest + 1, size=n_lists, dtype=np.int64))
    groups = lists.expand(np.arange(n_lists, dtype=np.int64))
    X = rng.standard_normal((lists.n_rows, n_features))

    coef = np.zeros(n_features)
    informative = rng.permutation(n_features)[:n_informative]
    if informative.size:
        drawn = rng.standard_normal(informative.size)
        coef[informative] = drawn / np.linalg.norm(drawn)
    utility = X @ coef + noise * rng.gumbel(size=lists.n_rows)

    worst_first = np.lexsort((utility, groups))
    place = np.arange(lists.n_rows) - lists.expand(lists.starts)
    shift = lists.expand(rng.uniform(size=n_lists))
    quantile = (place + shift) / lists.expand(lists.sizes)
    y = np.empty(lists.n_rows, dtype=np.int64)
    y[worst_first] = np.searchsorted(cumulative, quantile, side="right")

    if list_effect:
        means = list_effect * rng.standard_normal((n_lists, n_features))
        X += means[groups]
    if shuffle:
        rows = rng.permutation(lists.n_rows)
        X, y, groups = X[rows], y[rows], groups[rows]
    return (X, y, groups, coef) if return_coef else (X, y, groups)


def _size_range(list_size):
    """Return the smallest and the largest number of rows of a list."""
    sizes = (list_size,) * 2 if is_integer(list_size) else list_size
    if (
        len(sizes) != 2
        or not all(map(is_integer, sizes))
        or not 1 <= sizes[0] <= sizes[1]
    ):
        raise ValueError(
            "list_size must be an int of at least 1, or a smallest and a largest "
            f"such int, got {list_size!r}."
        )
    return sizes


def _cumulative_shares(grade_shares):
    """Return the share of rows below grade 1, 2, ..., shape (n_grades - 1,)."""
    shares = np.asarray(grade_shares, dtype=np.float64)
    if (
        shares.ndim != 1
        or shares.size == 0
        or not (shares >= 0).all()
        or not np.isclose(shares.sum(), 1.0)
    ):
        raise ValueError(
            "grade_shares must be a sequence of shares, not negative, with sum 1, "
            f"got {grade_shares!r}."
        )
    return np.cumsum(shares)[:-1]
