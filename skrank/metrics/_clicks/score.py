"""Expected clicks of a ranking under a click model, as a metric."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skrank._data.checks import as_written, check_count
from skrank._data.groups import suggests_groups
from skrank._data.lists import Floats, Lists
from skrank.metrics._average import (
    check_average,
    check_cutoff,
    check_ties,
    cutoff_of,
    scored_lists,
)
from skrank.metrics._clicks.base import ClickModel
from skrank.metrics._clicks.rows import (
    Ranking,
    Rows,
    attraction_of,
    rank_weights,
)
from skrank.metrics._registry import make_ranking_scorer
from skrank.metrics._scorers import RankingScorer


@suggests_groups
def click_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    model: ClickModel,
    kind: str = "clicks",
    k: int | None = None,
    attraction: Any = "graded",
    noise: float = 0.1,
    max_grade: float = 4,
    normalize: bool = False,
    ties: str = "average",
    empty: str | float = "skip",
    average: str | None = "mean",
    sample_weight: Any = None,
    n_samples: int = 1000,
    random_state: Any = 0,
    return_error: bool = False,
) -> Any:
    r"""Return the expected clicks under a click model, averaged over lists.

    .. math::

        \sum_{r \le k} P(C_r = 1), \qquad
        \sum_{r \le k} P(C_r = 1) \, s_r \qquad \text{or} \qquad
        \sum_{r \le k} \frac1r P(C_r = 1) \, s_r

    over the ranks of a list: expected clicks, expected satisfied clicks, and the
    effort form, the mean of one over the rank of a satisfied click [1]_. The model
    says how likely a row is read; a row that is read is clicked with the chance

    .. math:: a = \epsilon + (1 - \epsilon) \frac{2^y - 1}{2^{y_{\max}} - 1}

    and a click satisfies with chance s, a parameter of the model. DCG, rank-biased
    precision and the expected reciprocal rank are special cases, see
    :class:`PositionBased`, :class:`Cascade` and :class:`DynamicBayesian`.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels from 0 to ``max_grade``, higher is better; any real labels where
        functions make chances of them.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    model : PositionBased, Cascade, DynamicBayesian or UserBrowsing
        How users go through a list.
    kind : {"clicks", "satisfied", "effort"}, default="clicks"
        What to expect: clicks, satisfied clicks, or those over their ranks.
    k : int, default=None
        Last rank that counts; None counts all.
    attraction : {"graded", "err"} or callable, default="graded"
        Chance of a click on a row that is read: as above; with the divisor
        2**max_grade, as in the expected reciprocal rank; or what a function of all
        labels returns.
    noise : float, default=0.1
        Attraction of a row of label 0, epsilon above; not for a function. 0 has
        plain graded gains.
    max_grade : float, default=4
        The best grade there could be. It is never read from the data, since lists
        would then be measured differently.
    normalize : bool, default=False
        Divide by the value of the best order of the list, as :func:`best_order`
        finds it; undefined where that is 0.
    ties : {"average", "worst", "best", "order"}, default="average"
        How equal scores count: by the mean over their orders, by their worst or best
        order, or in row order. The mean is exact, except for blocks of tied rows under
        :class:`UserBrowsing` that have more than 4,096 different selections (12
        different rows, or more where labels are equal): these are sampled.
    empty : "skip" or float, default="skip"
        What an undefined list counts as in the mean. If all are skipped the mean
        is 0.0, with a warning.
    average : {"mean", None}, default="mean"
        None returns one value a list, NaN where undefined, in the order of
        ``list_labels(groups)``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    n_samples : int, default=1000
        Orders to draw of a list whose ties are sampled, at least 2.
    random_state : int, RandomState instance or None, default=0
        Seed of these draws. A list's draws do not depend on the other lists.
    return_error : bool, default=False
        Also return the standard error that comes from sampling, 0 where exact.

    Returns
    -------
    score : float or ndarray of shape (n_lists,)
        At least 0, higher is better; between 0 and 1 if ``normalize``.
    error : float or ndarray of shape (n_lists,)
        Only if ``return_error``.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ, values are not finite, labels are
        negative or above ``max_grade``, a chance is not between 0 and 1, or tied
        rows under :class:`UserBrowsing` have too many orders (see
        :func:`best_order`) and ``ties`` is "worst" or "best".

    Warns
    -----
    UndefinedMetricWarning
        If ``normalize`` and no list can get a click.

    References
    ----------
    .. [1] A. Chuklin, P. Serdyukov, M. de Rijke, "Click model-based information
       retrieval metrics", SIGIR 2013.

    Examples
    --------
    >>> from skrank.metrics import UserBrowsing, click_score
    >>> y, scores, groups = [1, 4, 0, 3, 2], [5.0, 4.0, 3.0, 2.0, 1.0], [7] * 5
    >>> round(click_score(y, scores, groups, model=UserBrowsing()), 4)
    1.8792
    >>> round(click_score(y, scores, groups, model=UserBrowsing(), normalize=True), 4)
    0.9336
    """
    check_average(average, empty)
    check_cutoff(k)
    check_ties(ties)
    check_count(n_samples, "n_samples", 2)
    data = scored_lists(y_true, y_score, groups, sample_weight, "click_score")
    lists = data.grouping.lists
    rows = click_rows(
        data.y, lists, model, kind, cutoff_of(k, data.grouping),
        attraction, noise, max_grade, "click_score",
    )  # fmt: skip
    ranking = Ranking.by_score(data.scores, lists)
    if ties == "order":
        ranking = Ranking.settled(ranking.order, lists)
    elif ties != "average":
        ranking, sure = model._arrange(rows, ranking, ties == "best")
        if not sure.all():
            label = data.grouping.labels[np.argmin(sure)]
            raise ValueError(
                f"ties={ties!r} goes through all orders of tied rows under "
                f"{model!r}, and the list {as_written(label)} has too many. Use "
                "ties='average', or a cut-off k."
            )
    seed = _seed(random_state)
    values, errors = model._worth(rows, ranking, n_samples, seed)
    if normalize:
        best_ranking, _ = model._arrange(rows, Ranking.open(lists), True)
        best, _ = model._worth(rows, best_ranking, n_samples, seed)
        # A searched order may be worse than the one to score, and a mean may exceed
        # the best value by rounding.
        best = np.where(best > 0, np.maximum(best, values), np.nan)
        values, errors = values / best, errors / best
    score = data.average(values, average, empty)
    if not return_error:
        return score
    if average is None:
        return score, data.average(errors, None, empty)
    counted = ~np.isnan(values) | (empty != "skip")
    return score, _error_of_mean(errors, counted, data.weights)


def _error_of_mean(
    errors: Floats, counted: NDArray[np.bool_], weights: Floats | None
) -> float:
    """Return the standard error of a weighted mean over the lists that count."""
    shares = counted * (np.ones(len(errors)) if weights is None else weights)
    total = shares.sum()
    error = np.sqrt(np.sum((shares * np.nan_to_num(errors)) ** 2))
    return float(error / total) if total > 0 else 0.0


def click_scorer(
    *, model: ClickModel, k: int | None = None, **kwargs: Any
) -> RankingScorer:
    """Make a scorer of :func:`click_score`.

    Parameters
    ----------
    model : PositionBased, Cascade, DynamicBayesian or UserBrowsing
        How users go through a list.
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`click_score`, such as ``normalize``.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`click_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import UserBrowsing, click_scorer
    >>> click_scorer(model=UserBrowsing(tau=0.5), k=10)
    RankingScorer(click_score, model=UserBrowsing(tau=0.5), k=10)
    """
    return make_ranking_scorer(click_score, model=model, k=k, **kwargs)


def click_rows(
    y: Floats,
    lists: Lists,
    model: Any,
    kind: Any,
    n_ranks: int,
    attraction: Any,
    noise: Any,
    max_grade: Any,
    metric: str,
) -> Rows:
    """Check a model and its labels, and return the rows as it sees them."""
    if not isinstance(model, ClickModel):
        raise ValueError(
            "model must be a click model such as PositionBased() or UserBrowsing(), "
            f"got {model!r}."
        )
    weights = rank_weights(kind, n_ranks)
    if kind == "clicks" and not model._satisfaction_ends:
        satisfaction = np.zeros(len(y))
    else:
        satisfaction = model._satisfaction(y, max_grade, metric)
    attractions = attraction_of(y, attraction, noise, max_grade, metric)
    return Rows(attractions, satisfaction, kind, weights, lists)


def _seed(random_state: Any) -> int:
    """Return a seed from what scikit-learn takes as ``random_state``."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
