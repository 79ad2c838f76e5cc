"""Draw predicted against observed probabilities of pairs and of winners."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special
from sklearn.utils import check_random_state

from skrank._data.checks import (
    check_choice,
    check_confidence,
    check_count,
    equally_long,
    finite_column,
)
from skrank._data.grouping import group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Floats, Indices, Lists
from skrank.inspection._drawing import COLORS, GREY, new_axes
from skrank.inspection._models import refuse_other_scores, scores_of

AT_ONCE = 2**22  # numbers of the bootstrap in memory
PAIRS_OF_A_LIST = 2_000  # drawn where there are more


class RankCalibrationDisplay:
    """Predicted against observed probabilities of pairs, or of the first place.

    Probabilities are those of the Plackett-Luce and Bradley-Terry models: of a pair
    that has an order, the first row wins with :math:`1 / (1 + e^{s_b - s_a})`; a row
    is first with the softmax of its list's scores. On the diagonal predictions are
    right on average. Bands come from resampling whole lists, since pairs of one list
    depend on each other.

    Parameters
    ----------
    predicted, observed : ndarray of shape (n_bins,)
        Mean prediction and observed share of each bin.
    low, high : ndarray of shape (n_bins,)
        Ends of the interval of the observed share.
    counts : ndarray of shape (n_bins,)
        Pairs or rows of each bin.
    kind : {"pairs", "first"}
        What was predicted.
    confidence : float, default=0.95
        Coverage of the bands.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    points_ : ErrorbarContainer
        What was drawn of the bins.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import load_mode_choice
    >>> from skrank.inspection import RankCalibrationDisplay
    >>> X, y, groups = load_mode_choice()
    >>> ranker = ListMLERanker(alpha=0).fit(X, y, groups)
    >>> display = RankCalibrationDisplay.from_estimator(
    ...     ranker, X, y, groups, kind="first", n_bins=4
    ... )
    >>> int(display.counts.sum())
    840
    """

    def __init__(
        self,
        predicted: Floats,
        observed: Floats,
        low: Floats,
        high: Floats,
        counts: Indices,
        *,
        kind: str,
        confidence: float = 0.95,
    ) -> None:
        self.predicted, self.observed = predicted, observed
        self.low, self.high, self.counts = low, high, counts
        self.kind, self.confidence = kind, confidence

    @classmethod
    @suggests_groups
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        ax: Any = None,
        **options: Any,
    ) -> RankCalibrationDisplay:
        """Draw the calibration of a fitted ranker, best on lists not in the fit.

        Parameters
        ----------
        estimator : estimator
            A fitted ranker whose scores are those of a Plackett-Luce or Bradley-Terry
            model (in Davidson's model those of pairs without ties are), or a pipeline
            or search of one.
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Labels, higher is better.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **options
            As :meth:`from_predictions` takes them.

        Returns
        -------
        display : RankCalibrationDisplay
            Drawn.

        Raises
        ------
        TypeError
            If the ranker's loss is of another model, such as ``RaoKupperRanker``, or of
            none, such as ``ListNetRanker``.
        ValueError
            As :meth:`from_predictions`.
        """
        name = "RankCalibrationDisplay.from_estimator"
        refuse_other_scores(estimator, name, pairs=True)
        groups = find_groups(y, groups, name, "y")
        scores = scores_of(estimator, X, groups)
        return cls.from_predictions(np.asarray(y), scores, groups, ax=ax, **options)

    @classmethod
    @suggests_groups
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        groups: Any = None,
        *,
        kind: str = "pairs",
        n_bins: int = 10,
        strategy: str = "quantile",
        confidence: float = 0.95,
        n_resamples: int = 1000,
        random_state: Any = 0,
        ax: Any = None,
    ) -> RankCalibrationDisplay:
        """Draw the calibration of scores.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            Labels, higher is better.
        y_score : array-like of shape (n_rows,)
            Scores: logarithms of Plackett-Luce worths, up to a constant a list.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y_true``.
        kind : {"pairs", "first"}, default="pairs"
            "pairs": does the row that is expected to win do so? Over pairs of unlike
            labels, the better-scored row first, so predictions are at least 0.5; of
            longer lists 2,000 pairs are drawn. "first": is the row labelled best of
            its list? Rows that share the best label count as equal parts.
        n_bins : int, default=10
            Number of bins.
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins of equal counts or of equal widths.
        confidence : float, default=0.95
            Coverage of the bands.
        n_resamples : int, default=1000
            Samples of lists that are drawn for the bands.
        random_state : int, RandomState instance or None, default=0
            Seed of pairs and bands.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : RankCalibrationDisplay
            Drawn.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, an option is unknown, or no pair has
            an order.
        """
        check_choice(kind, "kind", ("pairs", "first"))
        check_choice(strategy, "strategy", ("quantile", "uniform"))
        check_count(n_bins, "n_bins")
        check_count(n_resamples, "n_resamples")
        check_confidence(confidence)
        groups = find_groups(
            y_true, groups, "RankCalibrationDisplay.from_predictions", "y_true"
        )
        labels = finite_column(y_true, "y_true")
        scores = finite_column(y_score, "y_score")
        equally_long(labels, scores, ("y_true", "y_score"))
        grouping = group_rows(groups, len(labels))
        labels, scores = grouping.gather(labels), grouping.gather(scores)
        rng = np.random.default_rng(
            check_random_state(random_state).randint(np.iinfo(np.int32).max)
        )
        events = _pairs if kind == "pairs" else _firsts
        proba, outcome, of_list = events(labels, scores, grouping.lists, rng)
        if not len(proba):
            raise ValueError(
                "all labels are equal inside each list, so there is no outcome to "
                "compare with. Check y and groups."
            )
        lowest = 0.5 if kind == "pairs" else 0.0
        bins = _bins(proba, n_bins, strategy, lowest)
        n_lists = grouping.lists.n_lists
        table = _by_list(bins, of_list, n_lists, proba, outcome)
        low, high = _bands(table, confidence, n_resamples, rng)
        total = table.sum(axis=0)
        display = cls(
            total[:, 1] / total[:, 0],
            total[:, 2] / total[:, 0],
            low,
            high,
            total[:, 0].astype(np.intp),
            kind=kind,
            confidence=confidence,
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> RankCalibrationDisplay:
        """Draw predictions against observed shares.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : RankCalibrationDisplay
            This display.
        """
        self.figure_, (self.ax_,) = new_axes(ax, 1, (5.0, 4.8))
        lowest = 0.5 if self.kind == "pairs" else 0.0
        self.ax_.plot([lowest, 1], [lowest, 1], color=GREY, linestyle="--", zorder=0)
        self.points_ = self.ax_.errorbar(
            self.predicted,
            self.observed,
            yerr=np.maximum(
                np.vstack((self.observed - self.low, self.high - self.observed)), 0.0
            ),
            fmt="o-",
            color=COLORS[0],
            capsize=3,
            linewidth=1,
        )
        what = {
            "pairs": "that the higher score wins",
            "first": "to be first of its list",
        }[self.kind]
        self.ax_.set_xlabel(f"predicted probability {what}")
        self.ax_.set_ylabel(f"observed share, {self.confidence:.0%} band over lists")
        noun = "pairs" if self.kind == "pairs" else "rows"
        self.ax_.set_title(f"{int(self.counts.sum()):,} {noun}")
        self.ax_.grid(alpha=0.3)
        return self


def _pairs(
    labels: Floats, scores: Floats, lists: Lists, rng: np.random.Generator
) -> tuple[Floats, Floats, Indices]:
    """Return prediction, outcome and list of pairs of unlike labels."""
    proba, outcome, of_list = [], [], []
    for q, (start, size) in enumerate(zip(lists.starts, lists.sizes, strict=True)):
        n_pairs = size * (size - 1) // 2
        if n_pairs <= PAIRS_OF_A_LIST:
            first, second = np.triu_indices(size, k=1)
        else:
            first = rng.integers(0, size, size=PAIRS_OF_A_LIST)
            second = (first + rng.integers(1, size, size=PAIRS_OF_A_LIST)) % size
        y, s = labels[start : start + size], scores[start : start + size]
        unlike = y[first] != y[second]
        first, second = first[unlike], second[unlike]
        swap = s[first] < s[second]
        first, second = np.where(swap, second, first), np.where(swap, first, second)
        difference = s[first] - s[second]
        proba.append(special.expit(difference))
        won = (y[first] > y[second]).astype(np.float64)
        # Of two rows with equal scores, either may be taken as the first.
        outcome.append(np.where(difference == 0, 0.5, won))
        of_list.append(np.full(len(first), q))
    return np.concatenate(proba), np.concatenate(outcome), np.concatenate(of_list)


def _firsts(
    labels: Floats, scores: Floats, lists: Lists, rng: np.random.Generator
) -> tuple[Floats, Floats, Indices]:
    """Return prediction, outcome and list of rows to be the first."""
    best = (labels == lists.expand(lists.max(labels))).astype(np.float64)
    outcome = best / lists.expand(lists.sum(best))
    return lists.softmax(scores)[0], outcome, lists.expand(np.arange(lists.n_lists))


def _bins(proba: Floats, n_bins: int, strategy: str, lowest: float) -> Indices:
    """Return the bin of each prediction, numbered without gaps."""
    shares = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    if strategy == "quantile":
        edges = np.unique(np.quantile(proba, shares))
    else:
        edges = lowest + (1.0 - lowest) * shares
    bins = np.searchsorted(edges, proba, side="right")
    return np.unique(bins, return_inverse=True)[1]


def _by_list(
    bins: Indices, of_list: Indices, n_lists: int, proba: Floats, outcome: Floats
) -> Floats:
    """Return counts, predictions and outcomes, (n_lists, n_bins, 3)."""
    n_bins = int(bins.max()) + 1
    place = of_list * n_bins + bins
    sums = [
        np.bincount(place, weights=values, minlength=n_lists * n_bins)
        for values in (np.ones(len(bins)), proba, outcome)
    ]
    result: Floats = np.stack(sums, axis=-1, dtype=float)
    return result.reshape(n_lists, n_bins, 3)


def _bands(
    table: Floats, confidence: float, n_resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the ends of the bootstrap interval of each bin's observed share."""
    n_lists = len(table)
    counts, outcomes = table[:, :, 0], table[:, :, 2]
    step = max(1, AT_ONCE // n_lists)
    shares = []
    for first in range(0, n_resamples, step):
        size = min(step, n_resamples - first)
        drawn = rng.multinomial(n_lists, np.full(n_lists, 1.0 / n_lists), size=size)
        n = drawn @ counts
        part = np.full(n.shape, np.nan)
        np.divide(drawn @ outcomes, n, out=part, where=n > 0)
        shares.append(part)
    tails = [0.5 - confidence / 2, 0.5 + confidence / 2]
    low, high = np.nanquantile(np.concatenate(shares), tails, axis=0)
    return low, high
