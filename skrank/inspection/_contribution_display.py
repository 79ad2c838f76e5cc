"""Draw what each feature adds to the scores of one list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skrank._data.checks import check_count
from skrank._data.groups import suggests_groups
from skrank._data.lists import Floats
from skrank.inspection._drawing import (
    COLORS,
    DIVERGING,
    GREY,
    height_of,
    names_at_rows,
    new_axes,
    wrapped_names,
)
from skrank.inspection._explanation import ScoreExplanation, explain_scores
from skrank.inspection._pair_explanation import PairExplanation

FEW_CELLS = 150  # so many can have their numbers written in


class ContributionDisplay:
    """One list explained: what each feature adds to each row's score.

    A table of colours, a row of the list in each row, best first. Or, by
    :meth:`from_pair`, bars for the difference of two rows.

    Parameters
    ----------
    names : sequence of str
        Names of the features.
    rows : sequence
        Labels of the rows.
    contributions : ndarray of shape (n_rows, n_features)
        In units of score, relative to the list's mean score.
    title : str, default=""
        Title above the picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    image_ : AxesImage or None
        The table of colours.
    bars_ : BarContainer or None
        The bars of a pair.

    See Also
    --------
    explain_scores : The same numbers in a frame.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import load_mode_choice
    >>> from skrank.inspection import ContributionDisplay
    >>> X, y, groups = load_mode_choice()
    >>> ranker = ListMLERanker(alpha=0).fit(X, y, groups)
    >>> display = ContributionDisplay.from_estimator(ranker, X, groups, list_label=7)
    >>> display.contributions.shape
    (4, 8)
    """

    def __init__(
        self,
        names: Sequence[str],
        rows: Sequence[Any],
        contributions: Floats,
        *,
        title: str = "",
    ) -> None:
        self.names, self.rows = list(names), list(rows)
        self.contributions, self.title = contributions, title

    @classmethod
    @suggests_groups
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        groups: Any = None,
        *,
        list_label: Any = None,
        ax: Any = None,
        max_rows: int = 20,
        max_features: int = 12,
    ) -> ContributionDisplay:
        """Draw one list of a fitted linear ranker.

        Parameters
        ----------
        estimator : estimator
            As :func:`explain_scores` takes them.
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            Features of whole lists.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``X``.
        list_label : hashable, default=None
            Label of the list to draw; None takes that of the first row.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_rows, max_features : int
            See :meth:`plot`.

        Returns
        -------
        display : ContributionDisplay
            Drawn.
        """
        explanation = explain_scores(estimator, X, groups)
        display = cls._of_list(explanation, list_label)
        return display.plot(ax, max_rows=max_rows, max_features=max_features)

    @classmethod
    def from_explanation(
        cls,
        explanation: ScoreExplanation,
        *,
        list_label: Any = None,
        ax: Any = None,
        max_rows: int = 20,
        max_features: int = 12,
    ) -> ContributionDisplay:
        """Draw one list of an explanation.

        Parameters
        ----------
        explanation : ScoreExplanation
            What :func:`explain_scores` returned.
        list_label : hashable, default=None
            Label of the list to draw; None takes that of the first row.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_rows, max_features : int
            See :meth:`plot`.

        Returns
        -------
        display : ContributionDisplay
            Drawn.
        """
        display = cls._of_list(explanation, list_label)
        return display.plot(ax, max_rows=max_rows, max_features=max_features)

    @classmethod
    def from_pair(
        cls, pair: PairExplanation, *, ax: Any = None, max_features: int = 12
    ) -> ContributionDisplay:
        """Draw why one row is above another.

        Parameters
        ----------
        pair : PairExplanation
            What :meth:`ScoreExplanation.why` returned.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_features : int, default=12
            See :meth:`plot`.

        Returns
        -------
        display : ContributionDisplay
            Drawn.
        """
        title = pair._title()
        rows = [f"{pair.first} less {pair.second}"]
        display = cls(pair.feature_names, rows, pair.contributions[None], title=title)
        return display.plot(ax, max_features=max_features)

    @classmethod
    def _of_list(
        cls, explanation: ScoreExplanation, list_label: Any
    ) -> ContributionDisplay:
        """Return a display of one list, not drawn yet."""
        label = explanation.groups[0] if list_label is None else list_label
        one = explanation.of_list(label)
        rows = [
            f"{rank}. {row}  ({score:+.2f})"
            for rank, row, score in zip(
                one.ranks, one.rows, one.scores - one.baseline, strict=True
            )
        ]
        title = f"list {label} (in brackets: score less the list's mean)"
        return cls(one.feature_names, rows, one.contributions, title=title)

    def plot(
        self, ax: Any = None, *, max_rows: int = 20, max_features: int = 12
    ) -> ContributionDisplay:
        """Draw the contributions.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_rows : int, default=20
            Of a longer list, so many rows from the top are shown.
        max_features : int, default=12
            So many features, those that move the list most; the others are added up.

        Returns
        -------
        display : ContributionDisplay
            This display.
        """
        check_count(max_rows, "max_rows")
        check_count(max_features, "max_features")
        names, parts = self._largest(max_features)
        self.image_ = self.bars_ = None
        if len(parts) == 1:
            self._plot_bars(ax, names, parts[0])
        else:
            self._plot_table(ax, names, parts[:max_rows])
        title = self.title
        if len(parts) > max_rows:
            title += f", best {max_rows} of {len(parts)} rows"
        self.ax_.set_title(title)
        return self

    def _largest(self, most: int) -> tuple[list[str], Floats]:
        """Return features in order of their size, those beyond ``most`` as a sum."""
        size = np.abs(self.contributions).sum(axis=0)
        order = np.argsort(-size, kind="stable")
        order = order[size[order] > 0]
        if not len(order):
            order = np.arange(min(1, len(size)))
        parts = self.contributions[:, order]
        names = [self.names[j] for j in order]
        if len(order) <= most:
            return names, parts
        sum_of_others = parts[:, most:].sum(axis=1, keepdims=True)
        others = f"{len(order) - most} others"
        return [*names[:most], others], np.hstack((parts[:, :most], sum_of_others))

    def _plot_table(self, ax: Any, names: list[str], parts: Floats) -> None:
        width = 3.4 + 0.62 * len(names)
        size = (max(width, 5.0), height_of(self.rows[: len(parts)], 2.6) + 0.6)
        self.figure_, (self.ax_,) = new_axes(ax, 1, size)
        limit = float(np.max(np.abs(parts))) or 1.0
        self.image_ = self.ax_.imshow(
            parts, cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto"
        )
        self.ax_.set_xticks(range(len(names)), wrapped_names(names))
        self.ax_.tick_params(axis="x", labelrotation=45)
        for label in self.ax_.get_xticklabels():
            label.set(horizontalalignment="right", rotation_mode="anchor")
        names_at_rows(self.ax_, self.rows[: len(parts)])
        self.figure_.colorbar(self.image_, ax=self.ax_, label="contribution to score")
        if parts.size <= FEW_CELLS:
            for (row, column), value in np.ndenumerate(parts):
                strong = abs(value) > 0.6 * limit
                self.ax_.text(
                    column,
                    row,
                    f"{value:.2f}",
                    ha="center",
                    va="center",
                    fontsize="small",
                    color="white" if strong else "black",
                )

    def _plot_bars(self, ax: Any, names: list[str], parts: Floats) -> None:
        size = (6.4, height_of(names))
        self.figure_, (self.ax_,) = new_axes(ax, 1, size)
        colors = [COLORS[1] if value > 0 else COLORS[0] for value in parts]
        self.bars_ = self.ax_.barh(range(len(names)), parts, color=colors)
        names_at_rows(self.ax_, names)
        self.ax_.axvline(0.0, color=GREY, linewidth=1)
        self.ax_.set_xlabel(f"contribution to score: {self.rows[0]}")
