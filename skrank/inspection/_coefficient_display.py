"""Draw coefficients with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from skrank._data.checks import check_count
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Floats
from skrank._probability.quasi import quasi_standard_errors
from skrank._probability.summary import FitSummary
from skrank.inspection._describe import describe_lists
from skrank.inspection._drawing import (
    COLORS,
    GREY,
    height_of,
    names_at_rows,
    new_axes,
)
from skrank.inspection._models import transformed
from skrank.inspection._summarize import summarize

PER_UNIT = "score per unit of the feature"


class CoefficientDisplay:
    """Coefficients of a fit with intervals, one row a feature or item.

    Use :meth:`from_estimator` or :meth:`from_summary`.

    Parameters
    ----------
    names : list of str
        Names of the features or items.
    coef, low, high : ndarray of shape (n_names,)
        Estimates and the ends of their intervals; NaN where there is none.
    confidence : float
        Coverage of the intervals.
    quasi : bool, default=False
        Whether intervals are quasi intervals of items, to be compared to one another
        and not to 0.
    unit : str, default=None
        Unit of the coefficients, on the axis. None means "score" for quasi intervals,
        else "score per unit of the feature".

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    points_ : ErrorbarContainer
        Estimates and intervals that were drawn.

    See Also
    --------
    FitSummary : The same numbers as a table.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import load_mode_choice
    >>> from skrank.inspection import CoefficientDisplay
    >>> X, y, groups = load_mode_choice()
    >>> ranker = ListMLERanker(alpha=0).fit(X[:, 3:7], y, groups)
    >>> display = CoefficientDisplay.from_estimator(ranker, X[:, 3:7], y, groups)
    >>> display.names
    ['x0', 'x1', 'x2', 'x3']
    """

    def __init__(
        self,
        names: Sequence[str],
        coef: Floats,
        low: Floats,
        high: Floats,
        *,
        confidence: float,
        quasi: bool = False,
        unit: str | None = None,
    ) -> None:
        self.names = list(names)
        self.coef, self.low, self.high = coef, low, high
        self.confidence, self.quasi = confidence, quasi
        self.unit = ("score" if quasi else PER_UNIT) if unit is None else unit

    @classmethod
    @suggests_groups
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        standardize: bool = False,
        items: Sequence[str] | None = None,
        reference: str | None = None,
        ax: Any = None,
        max_shown: int = 30,
        **options: Any,
    ) -> CoefficientDisplay:
        """Draw the coefficients of a fitted ranker, on the data of the fit.

        Parameters
        ----------
        estimator : estimator
            A fitted ranker that has ``summary``, a pipeline that ends in one, or a
            search over either.
        X, y, groups : array-like
            The data of the fit, as ``summary`` takes them.
        standardize : bool, default=False
            Multiply each coefficient by its feature's deviation from the means of
            lists, so that features of different units compare.
        items, reference : sequence of str, str, default=None
            See :meth:`from_summary`.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_shown : int, default=30
            See :meth:`plot`.
        **options
            Handed on to :func:`summarize`: ``covariance``, ``confidence``,
            ``sample_weight``, ``clusters``, ``features``, ``offset``.

        Returns
        -------
        display : CoefficientDisplay
            Drawn.

        Raises
        ------
        TypeError
            If the ranker has no ``summary``.
        ValueError
            As :func:`summarize`, or if ``standardize`` goes with ``features``.
        """
        groups = find_groups(y, groups, "CoefficientDisplay.from_estimator", "y")
        if standardize and options.get("features") is not None:
            raise ValueError(
                "standardize=True takes the deviations of all features: leave out "
                "features=, and show fewer by max_shown."
            )
        summary = summarize(estimator, X, y, groups, **options)
        unit = PER_UNIT
        if standardize:
            features = transformed(estimator, X, groups).X
            summary = _standardized(summary, features, np.asanyarray(y), groups)
            unit = "score per deviation of the feature inside lists"
        display = cls._of_summary(summary, items, reference, unit)
        return display.plot(ax, max_shown=max_shown)

    @classmethod
    def from_summary(
        cls,
        summary: FitSummary,
        *,
        items: Sequence[str] | None = None,
        reference: str | None = None,
        ax: Any = None,
        max_shown: int = 30,
    ) -> CoefficientDisplay:
        """Draw the coefficients of a summary.

        Parameters
        ----------
        summary : FitSummary
            What a ranker's ``summary`` returned.
        items : sequence of str, default=None
            Names of features that are indicators of items; only these are shown, with
            quasi standard errors, so that any two can be compared.
        reference : str, default=None
            The item without an indicator, shown at 0. None if all have one.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_shown : int, default=30
            See :meth:`plot`.

        Returns
        -------
        display : CoefficientDisplay
            Drawn.

        Raises
        ------
        ValueError
            If an item is not among the names of the summary.
        """
        return cls._of_summary(summary, items, reference).plot(ax, max_shown=max_shown)

    @classmethod
    def _of_summary(
        cls,
        summary: FitSummary,
        items: Sequence[str] | None,
        reference: str | None,
        unit: str | None = None,
    ) -> CoefficientDisplay:
        """Return a display of a summary, not drawn yet."""
        names, coef = list(summary.names), summary.coef
        interval = summary.interval
        if items is not None:
            names, coef, errors = _items(summary, list(items), reference)
            z = stats.norm.ppf((1.0 + summary.confidence) / 2.0)
            interval = np.column_stack((coef - z * errors, coef + z * errors))
        return cls(
            names,
            coef,
            *interval.T,
            confidence=summary.confidence,
            quasi=items is not None,
            unit=unit if items is None else None,
        )

    def plot(self, ax: Any = None, *, max_shown: int = 30) -> CoefficientDisplay:
        """Draw the coefficients.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_shown : int, default=30
            Of more features, those with the largest ratio of coefficient to interval
            are shown; of more items, the best and the worst.

        Returns
        -------
        display : CoefficientDisplay
            This display.
        """
        check_count(max_shown, "max_shown")
        shown = self._shown(max_shown)
        names = [
            self.names[j] if np.isfinite(self.low[j]) else f"{self.names[j]} (no error)"
            for j in shown
        ]
        self.figure_, (self.ax_,) = new_axes(ax, 1, (6.4, height_of(names)))
        coef = self.coef[shown]
        below, above = coef - self.low[shown], self.high[shown] - coef
        self.points_ = self.ax_.errorbar(
            coef,
            np.arange(len(shown)),
            xerr=np.nan_to_num(np.vstack((below, above)), nan=0.0),
            fmt="o",
            color=COLORS[0],
            capsize=3,
        )
        names_at_rows(self.ax_, names)
        kind = "quasi interval" if self.quasi else "interval"
        self.ax_.set_xlabel(f"coefficient ({self.unit}), {self.confidence:.0%} {kind}")
        if not self.quasi:
            self.ax_.axvline(0.0, color=GREY, linewidth=1, zorder=0)
        self.ax_.grid(axis="x", alpha=0.3)
        if len(shown) < len(self.names):
            self.ax_.set_title(f"{len(shown)} of {len(self.names)}")
        return self

    def _shown(self, most: int) -> Any:
        """Return which rows to draw, from the top."""
        if self.quasi:
            order = np.argsort(-self.coef, kind="stable")
            if len(order) <= most:
                return order
            return np.concatenate((order[: most - most // 2], order[-(most // 2) :]))
        if len(self.coef) <= most:
            return np.arange(len(self.coef))
        half = (self.high - self.low) / 2.0
        ratio = np.abs(self.coef) / np.where(half > 0, half, np.inf)
        return np.argsort(-ratio, kind="stable")[:most]


def _standardized(summary: FitSummary, X: Any, y: Any, groups: Any) -> FitSummary:
    """Return a summary in units of each feature's deviation inside lists."""
    within = describe_lists(X, y, groups).features["sd_within"]
    scale = np.append(within, np.ones(len(summary.coef) - len(within)))
    return replace(
        summary,
        coef=summary.coef * scale,
        covariance_matrix=summary.covariance_matrix * np.outer(scale, scale),
    )


def _items(
    summary: FitSummary, items: list[str], reference: str | None
) -> tuple[list[str], Floats, Floats]:
    """Return names, coefficients and quasi standard errors of items."""
    unknown = [name for name in items if name not in summary.names]
    if unknown:
        raise ValueError(
            f"items has {unknown[0]!r}, which is no name of the summary "
            f"({', '.join(summary.names[:5])}, ...)."
        )
    at = [summary.names.index(name) for name in items]
    coef = summary.coef[at]
    covariance = summary.covariance_matrix[np.ix_(at, at)]
    if reference is not None:
        items = [reference, *items]
        coef = np.concatenate(([0.0], coef))
        covariance = np.pad(covariance, ((1, 0), (1, 0)))
    return items, coef, quasi_standard_errors(covariance)
