"""Draw a metric against the depth at which lists are cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank._data.grouping import group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Floats
from skrank.inspection._drawing import (
    FEW_LINES,
    add_legend,
    new_axes,
    room_for_legend,
    style_of,
)
from skrank.inspection._models import scores_of
from skrank.metrics import bootstrap_interval, ndcg_score

DEPTHS = 24  # so many cut-offs are drawn
DEEPEST = 100  # default of the last cut-off


class MetricAtKDisplay:
    """A metric against the cut-off k, of several rankers, with bootstrap bands.

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    ks : ndarray of int of shape (n_cutoffs,)
        The cut-offs.
    values : dict of str to ndarray of shape (n_cutoffs, n_lists)
        By ranker, one value a cut-off and list, NaN where undefined.
    bands : dict of str to ndarray of shape (n_cutoffs, 2)
        By ranker the ends of the interval of the mean.
    metric_name : str
        Name of the metric.
    confidence : float, default=0.95
        Coverage of the bands.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of Line2D
        One line a ranker.
    bands_ : list of PolyCollection
        One band a ranker.

    Examples
    --------
    >>> from skrank import RankNetRanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import MetricAtKDisplay
    >>> X, y, groups = make_ranking(40, random_state=0)
    >>> ranker = RankNetRanker().fit(X, y, groups)
    >>> display = MetricAtKDisplay.from_estimator(ranker, X, y, groups, ks=[1, 5, 10])
    >>> display.values["RankNetRanker"].shape
    (3, 40)
    """

    def __init__(
        self,
        ks: Any,
        values: Mapping[str, Floats],
        bands: Mapping[str, Floats],
        *,
        metric_name: str,
        confidence: float = 0.95,
    ) -> None:
        self.ks, self.values, self.bands = np.asarray(ks), dict(values), dict(bands)
        self.metric_name, self.confidence = metric_name, confidence

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
    ) -> MetricAtKDisplay:
        """Draw the metric of fitted rankers.

        Parameters
        ----------
        estimator : estimator or mapping of str to estimator
            One fitted ranker, or several by name.
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            Features, best of lists that were not in the fit.
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
        display : MetricAtKDisplay
            Drawn.
        """
        groups = find_groups(y, groups, "MetricAtKDisplay.from_estimator", "y")
        models = estimator
        if not isinstance(estimator, Mapping):
            models = {type(estimator).__name__: estimator}
        scores = {name: scores_of(model, X, groups) for name, model in models.items()}
        return cls.from_predictions(np.asarray(y), scores, groups, ax=ax, **options)

    @classmethod
    @suggests_groups
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        groups: Any = None,
        *,
        metric: Callable = ndcg_score,
        ks: ArrayLike | None = None,
        confidence: float = 0.95,
        n_resamples: int = 1000,
        random_state: Any = 0,
        ax: Any = None,
        **options: Any,
    ) -> MetricAtKDisplay:
        """Draw the metric of scores.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            Labels, higher is better.
        y_score : array-like of shape (n_rows,) or mapping of str to array-like
            Scores of one ranker, or of several by name.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y_true``.
        metric : callable, default=ndcg_score
            A metric of ``skrank.metrics`` that takes ``k`` and ``average``.
        ks : array-like of int, default=None
            Cut-offs; None takes 1, 2, 3, ... with growing steps, to the longest list
            or 100.
        confidence : float, default=0.95
            Coverage of the bands.
        n_resamples : int, default=1000
            Samples of lists that are drawn for the bands.
        random_state : int, RandomState instance or None, default=0
            Seed of the bands.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **options
            Handed on to ``metric``, such as ``gain``.

        Returns
        -------
        display : MetricAtKDisplay
            Drawn.
        """
        groups = find_groups(
            y_true, groups, "MetricAtKDisplay.from_predictions", "y_true"
        )
        y_true = np.asarray(y_true)
        name = getattr(metric, "__name__", "metric").removesuffix("_score")
        all_scores = y_score if isinstance(y_score, Mapping) else {name: y_score}
        cutoffs = _cutoffs(groups) if ks is None else np.asarray(ks)
        values, bands = {}, {}
        for ranker, scores in all_scores.items():
            values[ranker] = np.array(
                [
                    metric(y_true, scores, groups, k=int(k), average=None, **options)
                    for k in cutoffs
                ]
            )
            bands[ranker] = np.array(
                [
                    _band(row, confidence, n_resamples, random_state)
                    for row in values[ranker]
                ]
            )
        display = cls(cutoffs, values, bands, metric_name=name, confidence=confidence)
        return display.plot(ax)

    def plot(self, ax: Any = None) -> MetricAtKDisplay:
        """Draw the means and their bands.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : MetricAtKDisplay
            This display.
        """
        few = len(self.values) <= FEW_LINES
        width, height = (0.0, 0.0) if few else room_for_legend(list(self.values))
        size = (6.4 + width, max(4.2, height))
        self.figure_, (self.ax_,) = new_axes(ax, 1, size)
        self.lines_, self.bands_ = [], []
        alpha = min(0.18, 1.0 / len(self.values))  # many bands add up to black
        for number, (name, values) in enumerate(self.values.items()):
            defined = ~np.isnan(values)
            count = np.maximum(defined.sum(axis=1), 1)
            means = np.where(defined, values, 0.0).sum(axis=1) / count
            means[~defined.any(axis=1)] = np.nan
            style = style_of(number)
            self.lines_ += self.ax_.plot(
                self.ks, means, label=name, markersize=4, linewidth=1.5, **style
            )
            low, high = self.bands[name].T
            self.bands_.append(
                self.ax_.fill_between(
                    self.ks, low, high, color=style["color"], alpha=alpha, linewidth=0
                )
            )
        n_lists = next(iter(self.values.values())).shape[1]
        self.ax_.set_xlabel("k (rows from the top of each list)")
        self.ax_.set_ylabel(
            f"mean {self.metric_name}@k, {self.confidence:.0%} band ({n_lists:,} lists)"
        )
        if self.ks.max() > 30:
            self.ax_.set_xscale("log")
            ticks = [
                k for k in (1, 2, 5, 10, 20, 50, 100, 200, 500) if k <= self.ks.max()
            ]
            self.ax_.set_xticks(ticks, [str(k) for k in ticks])
            self.ax_.minorticks_off()
        elif len(self.ks) <= 12:
            self.ax_.set_xticks(self.ks)
        self.ax_.grid(alpha=0.3)
        if len(self.values) > 1:
            add_legend(self.ax_, "best" if few else None)
        return self


def _cutoffs(groups: Any) -> np.ndarray:
    """Return cut-offs from 1 to the longest list, at first each, then in steps."""
    longest = min(int(group_rows(groups).lists.sizes.max()), DEEPEST)
    if longest <= DEPTHS:
        return np.arange(1, longest + 1)
    return np.unique(np.rint(np.geomspace(1, longest, DEPTHS)).astype(int))


def _band(
    values: Floats, confidence: float, n_resamples: int, random_state: Any
) -> tuple[float, float]:
    """Return the interval of one mean, NaN where there is no value."""
    if np.isnan(values).all():
        return np.nan, np.nan
    interval = bootstrap_interval(
        values,
        confidence=confidence,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    return interval.low, interval.high
