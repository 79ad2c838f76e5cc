r"""Confidence intervals of probabilities, from the covariance of the coefficients.

By the delta method on the scale of log-odds. With :math:`\theta` the coefficients, C
their covariance and g the gradient of :math:`\mathrm{logit}\, p`,

.. math::

    \mathrm{logit}\, p(\hat\theta) \pm z \sqrt{g^T C g}

is transformed back to probabilities, so that intervals stay between 0 and 1. For two
rows of a model without ties :math:`\mathrm{logit}\, p = (x_a - x_b) \cdot w` is linear,
and the interval is that of the coefficients themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special, stats

from skrank._data.checks import equally_long
from skrank._data.grouping import Grouping, group_rows
from skrank._data.lists import Floats, Lists
from skrank._fit.data import check_features, known_scores, refuse_missing_offset
from skrank._probability.fit_summary import FitSummary
from skrank._probability.partitions import SHORT, pair_probabilities
from skrank._probability.plackett_luce import top_k_probabilities, which_too_long
from skrank._probability.results import (
    ListPairIntervals,
    ListPairProba,
    PairIntervals,
    TopKIntervals,
)

# Differences of five points, whose error is of the fourth power of the step: with
# probabilities to about 1e-14, derivatives are good to about 1e-11.
STEP = 2e-3
STENCIL = ((-2, 1.0 / 12), (-1, -8.0 / 12), (1, 8.0 / 12), (2, -1.0 / 12))
SMALL = np.cbrt(np.finfo(np.float64).eps)  # step of differences of formulas


class Uncertain:
    """Coefficients that are as sure as a summary says.

    Parameters
    ----------
    ranker : estimator
        Fitted.
    summary : FitSummary
        Of that fit.

    Attributes
    ----------
    covariance : ndarray of shape (P, P)
        Of the coefficients and the loss's own parameters; 0 for those at a limit of the
        model, which are taken as known, and for those without errors.
    unknown : ndarray of bool of shape (P,)
        Those without errors.
    reach : float
        Half the width of an interval in standard errors.

    Raises
    ------
    ValueError
        If the summary is not that of the fit, or shows some coefficients only.
    """

    def __init__(self, ranker: Any, summary: FitSummary) -> None:
        n_features, n_extra = len(ranker.coef_), len(ranker.extra_)
        shown = len(summary.coef) - summary.n_extra
        if shown != n_features or not np.array_equal(
            summary.coef[:n_features], ranker.coef_
        ):
            raise ValueError(
                f"the summary has {shown} coefficients of a {summary.ranker}, which "
                f"are not the {n_features} of this {type(ranker).__name__}. Pass the "
                "summary of this fit, with all features."
            )
        extra_names = ranker._parameter_names()[n_features:]
        places = [
            *range(n_features),
            *(
                n_features + extra_names.index(name)
                for name in summary.names[n_features:]
            ),
        ]
        matrix = summary.covariance_matrix
        self.unknown = np.zeros(n_features + n_extra, dtype=bool)
        self.unknown[places] = np.isnan(np.diag(matrix))
        if self.unknown[:n_features].all():
            raise ValueError(
                "the summary has no standard errors, so there are no intervals: "
                f"{' '.join(summary.notes)}"
            )
        self.covariance = np.zeros((n_features + n_extra, n_features + n_extra))
        self.covariance[np.ix_(places, places)] = np.nan_to_num(matrix, nan=0.0)
        self.n_features = n_features
        self.reach = float(stats.norm.ppf((1.0 + summary.confidence) / 2.0))

    def errors(self, gradients: Floats) -> Floats:
        """Return standard errors of what has these gradients, (n, P) each a row."""
        variance = np.einsum("ij,jk,ik->i", gradients, self.covariance, gradients)
        errors = np.sqrt(np.maximum(variance, 0.0))
        errors[(gradients[:, self.unknown] != 0).any(axis=1)] = np.nan
        return errors

    def roots(self, p: int) -> Floats:
        """Return L, (p, r), with L L^T the covariance of the first p parameters."""
        values, vectors = np.linalg.eigh(self.covariance[:p, :p])
        known = values > 0
        return vectors[:, known] * np.sqrt(values[known])

    def interval(self, log_odds: Floats, error: Floats) -> tuple[Floats, Floats]:
        """Return the ends of intervals as probabilities."""
        reach = self.reach * error
        return special.expit(log_odds - reach), special.expit(log_odds + reach)


def pair_intervals(
    ranker: Any, summary: FitSummary, X_a: Any, X_b: Any
) -> PairIntervals:
    """Return the probabilities that rows win and tie, with intervals."""
    uncertain = Uncertain(ranker, summary)
    first, second = (_dense(check_features(ranker, X)) for X in (X_a, X_b))
    equally_long(first, second, ("X_a", "X_b"))
    difference = first - second
    scores, extra = difference @ ranker.coef_, ranker.extra_
    proba = ranker._loss().pair_proba(scores, extra)
    columns = []
    for number in range(2):
        log_odds, slope, of_extra = _log_odds(ranker._loss(), scores, extra, number)
        if np.all(log_odds == -np.inf):  # a model without ties
            columns += [proba[number], *np.zeros((2, len(scores)))]
            continue
        gradients = np.hstack((slope[:, None] * difference, of_extra))
        ends = uncertain.interval(log_odds, uncertain.errors(gradients))
        columns += [proba[number], *ends]
    return PairIntervals(*columns).labelled(X_a)


def _log_odds(
    loss: Any, scores: Floats, extra: Floats, number: int
) -> tuple[Floats, Floats, Floats]:
    """Return log-odds of a win (0) or a tie (1), and the derivatives.

    From probabilities that are all computed as such, never as 1 less another, and
    central differences of their logarithms.
    """

    def value(scores: Floats, extra: Floats) -> Floats:
        win, tie = loss.pair_proba(scores, extra)
        lose = loss.pair_proba(-scores, extra)[0]
        parts = (win, lose + tie) if number == 0 else (tie, win + lose)
        with np.errstate(divide="ignore"):
            return np.log(parts[0]) - np.log(parts[1])

    log_odds = value(scores, extra)
    if np.all(log_odds == -np.inf):
        return log_odds, scores, np.zeros((len(scores), len(extra)))
    step = SMALL * np.maximum(1.0, np.abs(scores))
    with np.errstate(invalid="ignore"):
        slope = (value(scores + step, extra) - value(scores - step, extra)) / (2 * step)
        of_extra = np.empty((len(scores), len(extra)))
        for place, size in enumerate(np.maximum(1.0, np.abs(extra))):
            move = np.zeros(len(extra))
            move[place] = SMALL * size
            above, below = value(scores, extra + move), value(scores, extra - move)
            of_extra[:, place] = (above - below) / (2.0 * move[place])
    return log_odds, slope, of_extra


def top_k_intervals(
    ranker: Any, summary: FitSummary, X: Any, groups: Any, k: int, offset: Any
) -> TopKIntervals:
    """Return the probabilities of rows to be among the first k, with intervals."""
    uncertain = Uncertain(ranker, summary)
    centred, grouping = _lists_of(ranker, X, groups)
    lists = grouping.lists
    scores = _scores(ranker, centred, grouping, offset, "top_k_intervals")
    too_long = which_too_long(lists, k)
    if too_long.any():
        raise ValueError(
            f"a list of {lists.sizes[too_long].max():,} rows is too long for exact "
            f"probabilities of the first {k}, whose derivatives intervals take. Take "
            "k=1, or shorter lists; top_k_proba draws such lists."
        )
    if k == 1:
        proba = lists.softmax(scores)[0]
        mean = np.add.reduceat(centred * proba[:, None], lists.starts, axis=0)
        others = lists.expand(lists.sum(proba)) - proba
        gradients = (centred - lists.expand(mean)) / np.maximum(
            others, np.finfo(np.float64).tiny
        )[:, None]
        gradients = np.pad(gradients, ((0, 0), (0, len(ranker.extra_))))
        error = uncertain.errors(gradients)
        error[proba == 1.0] = 0.0
        of_proba = error * proba * (1.0 - proba)
    else:
        proba = _first(scores, lists, k)
        of_proba = np.sqrt(
            sum(
                _slope(scores, centred @ root, lists, k) ** 2
                for root in uncertain.roots(uncertain.n_features).T
            )
        )
        of_proba[lists.expand(_unknown_lists(uncertain, centred, lists))] = np.nan
        sure = (proba == 0.0) | (proba == 1.0)
        of_proba[sure] = 0.0
        error = of_proba / np.where(sure, 1.0, proba * (1.0 - proba))
    low, high = uncertain.interval(special.logit(proba), error)
    columns = (proba, of_proba, low, high)
    result = TopKIntervals(*map(grouping.scatter, columns))
    return result.labelled(X, groups=grouping.label_of_rows())


def list_pair_intervals(
    ranker: Any, summary: FitSummary, X: Any, groups: Any, offset: Any
) -> ListPairIntervals:
    """Return probabilities of pairs of rows in models of partitions, with intervals."""
    uncertain = Uncertain(ranker, summary)
    centred, grouping = _lists_of(ranker, X, groups)
    lists, loss = grouping.lists, ranker._loss()
    longest = int(lists.sizes.max())
    if longest > SHORT:
        raise ValueError(
            f"a list of {longest:,} rows is too long for exact probabilities of pairs, "
            f"whose derivatives intervals take; lists may have {SHORT} rows. "
            "pairwise_proba draws such lists."
        )
    scores = _scores(ranker, centred, grouping, offset, "pairwise_intervals")

    def pairs(scores: Floats, extra: Floats) -> ListPairProba:
        model = loss.subset_model(extra, longest)
        return pair_probabilities(scores, lists, model, 1, 0)

    first, second, proba, _ = pairs(scores, ranker.extra_)
    variance = np.zeros_like(proba)
    p = uncertain.n_features
    for root in uncertain.roots(len(uncertain.unknown)).T:
        direction, of_extra = centred @ root[:p], root[p:]
        reach = max(np.max(np.abs(direction)), np.max(np.abs(of_extra), initial=0.0))
        step = STEP / reach if reach > 0 else 1.0
        slope = np.zeros_like(proba)
        for place, weight in STENCIL:
            moved = scores + place * step * direction
            extra = ranker.extra_ + place * step * of_extra
            slope += weight / step * pairs(moved, extra).proba
        variance += slope**2
    unknown = _unknown_lists(uncertain, centred, lists) | uncertain.unknown[p:].any()
    variance[lists.expand(unknown)[first]] = np.nan
    sure = (proba == 0.0) | (proba == 1.0)
    spread = np.where(sure, 1.0, proba * (1.0 - proba))
    error = np.where(sure, 0.0, np.sqrt(variance) / spread)
    ends = uncertain.interval(special.logit(proba), error)
    if grouping.rows is not None:
        first, second = grouping.rows[first], grouping.rows[second]
    result = ListPairIntervals(first, second, proba, *ends)
    return result.labelled(X, groups=grouping.label_of_rows()[first])


def _lists_of(ranker: Any, X: Any, groups: Any) -> tuple[Floats, Grouping]:
    """Return features about their means inside lists, in their order, and the lists."""
    features = check_features(ranker, X)
    grouping = group_rows(groups, features.shape[0])
    return _centred(grouping.gather(_dense(features)), grouping.lists), grouping


def _scores(
    ranker: Any, centred: Floats, grouping: Grouping, offset: Any, method: str
) -> Floats:
    """Return scores in the order of the lists, the offset included."""
    refuse_missing_offset(ranker, offset, method)
    known = known_scores(offset, grouping.lists.n_rows)
    scores = centred @ ranker.coef_
    return scores if known is None else scores + grouping.gather(known)


def _unknown_lists(
    uncertain: Uncertain, centred: Floats, lists: Lists
) -> NDArray[np.bool_]:
    """Return in which lists a feature varies whose coefficient has no error."""
    bad = centred[:, uncertain.unknown[: uncertain.n_features]]
    return lists.max(np.abs(bad).sum(axis=1)) > 0


def _first(scores: Floats, lists: Lists, k: int) -> Floats:
    """Return the probability of each row to be among the first k of its list."""
    return top_k_probabilities(scores, lists, k, 1, np.random.RandomState(0))[0]


def _slope(scores: Floats, direction: Floats, lists: Lists, k: int) -> Floats:
    """Return the derivative of :func:`_first` along a direction of scores."""
    reach = lists.max(np.abs(direction))
    step = STEP / np.where(reach > 0, reach, 1.0)
    change = lists.expand(step) * direction
    slope = sum(
        weight * _first(scores + place * change, lists, k) for place, weight in STENCIL
    )
    return np.asarray(slope) / lists.expand(step)


def _centred(X: Floats, lists: Lists) -> Floats:
    """Return features about their means inside lists; constants are exactly 0."""
    centred = X - lists.expand(X[lists.starts])
    means = np.add.reduceat(centred, lists.starts, axis=0) / lists.sizes[:, None]
    return centred - lists.expand(means)


def _dense(X: Any) -> Floats:
    """Return features as a float64 array."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
