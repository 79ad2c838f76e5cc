"""Draw a Plackett-Luce ranking step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from skrank._data.checks import as_written, check_count, equally_long, finite_column
from skrank._data.grouping import group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Floats
from skrank.inspection._drawing import (
    COLORS,
    height_of,
    names_at_rows,
    new_axes,
)
from skrank.inspection._models import (
    refuse_other_scores,
    row_labels,
    scores_of,
)

WIDTH = 0.9  # of a bar of probability 1, in stages


class StageProbaDisplay:
    """One list, stage by stage: the softmax over the rows that are left.

    At each stage of the Plackett-Luce model one of the rows left is picked, with
    probability proportional to the exponential of its score. A column is a stage, a
    bar the probability of a row; the row picked stands out and leaves.

    Parameters
    ----------
    rows : sequence
        Labels of the rows, in the order of the picks.
    scores : ndarray of shape (n_rows,)
        Their scores.
    title : str, default=""
        Title above the picture.

    Attributes
    ----------
    proba_ : ndarray of shape (n_stages, n_rows)
        Probability of each row at each stage, NaN for rows that have left.
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    bars_ : list of BarContainer
        The bars of each stage.

    Examples
    --------
    >>> from skrank.inspection import StageProbaDisplay
    >>> display = StageProbaDisplay(["a", "b", "c"], [2.0, 1.0, 0.0]).plot()
    >>> display.proba_.round(2)
    array([[0.67, 0.24, 0.09],
           [ nan, 0.73, 0.27]])
    """

    def __init__(self, rows: Any, scores: Any, *, title: str = "") -> None:
        self.rows = list(rows)
        self.scores = finite_column(scores, "scores")
        if len(self.rows) != len(self.scores):
            raise ValueError(
                f"rows has {len(self.rows)} labels for {len(self.scores)} scores."
            )
        self.title = title

    @classmethod
    @suggests_groups
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        list_label: Any = None,
        ax: Any = None,
        max_stages: int = 6,
        max_rows: int = 15,
    ) -> StageProbaDisplay:
        """Draw one list of a fitted ranker, picked in the order of its labels.

        Parameters
        ----------
        estimator : estimator
            A fitted ranker whose scores are those of a Plackett-Luce model, such as
            ``ListMLERanker``, or a pipeline or search of one.
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            Features of whole lists.
        y : array-like of shape (n_rows,)
            Labels, higher is better. Tied rows are picked in the order of scores.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.
        list_label : hashable, default=None
            Label of the list to draw; None takes that of the first row.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_stages, max_rows : int
            See :meth:`plot`.

        Returns
        -------
        display : StageProbaDisplay
            Drawn.

        Raises
        ------
        TypeError
            If the ranker's loss is of another model, such as ``RankSVMRanker``'s.
        ValueError
            If groups are missing, lengths differ or there is no such list.
        """
        name = "StageProbaDisplay.from_estimator"
        refuse_other_scores(estimator, name, pairs=False)
        groups = find_groups(y, groups, name, "y")
        scores = scores_of(estimator, X, groups)
        labels = finite_column(y, "y")
        equally_long(scores, labels, ("X", "y"))
        grouping = group_rows(groups, len(labels))
        codes = grouping.list_of_rows()
        names = grouping.labels.tolist()
        if list_label is not None and list_label not in names:
            raise ValueError(
                f"there is no list {list_label!r} among groups, which has "
                f"{as_written(names[0])} and so on."
            )
        code = codes[0] if list_label is None else names.index(list_label)
        rows = np.flatnonzero(codes == code)
        rows = rows[np.lexsort((-scores[rows], -labels[rows]))]
        index = row_labels(X)
        shown = rows if index is None else index[rows]
        display = cls(shown, scores[rows], title=f"list {names[code]}")
        return display.plot(ax, max_stages=max_stages, max_rows=max_rows)

    def plot(
        self, ax: Any = None, *, max_stages: int = 6, max_rows: int = 15
    ) -> StageProbaDisplay:
        """Draw the stages.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_stages : int, default=6
            So many stages are drawn, from the first.
        max_rows : int, default=15
            So many rows have bars, at least one more than the stages; the others are
            added up.

        Returns
        -------
        display : StageProbaDisplay
            This display.
        """
        check_count(max_stages, "max_stages")
        check_count(max_rows, "max_rows", 2)
        n_rows = len(self.rows)
        n_stages = max(min(max_stages, n_rows - 1), 1)
        self.proba_ = stage_softmax(self.scores, n_stages)
        n_shown = min(n_rows, max(max_rows, n_stages + 1))
        bars, names = self._shown(n_shown)
        size = (max(2.0 + 1.35 * n_stages, 4.5), height_of(names, 2.4))
        self.figure_, (self.ax_,) = new_axes(ax, 1, size)
        self.bars_: list[Any] = []
        for stage, proba in enumerate(bars):
            self._plot_stage(stage, proba)
        names_at_rows(self.ax_, names)
        self.ax_.set_xticks(
            np.arange(n_stages) + WIDTH / 2, [str(k + 1) for k in range(n_stages)]
        )
        self.ax_.set_xlim(-0.02, n_stages + 0.1)
        self.ax_.set_xlabel("stage; bars: probability of each row left")
        title = f"{self.title}: " if self.title else ""
        self.ax_.set_title(f"{title}rows in the order of the picks")
        return self

    def _shown(self, n_shown: int) -> tuple[Floats, list[str]]:
        """Return probabilities and names of the rows drawn, the others as a sum."""
        names = [str(row) for row in self.rows[:n_shown]]
        if n_shown == len(self.rows):
            return self.proba_, names
        sum_of_others = self.proba_[:, n_shown:].sum(axis=1, keepdims=True)
        names.append(f"{len(self.rows) - n_shown} others together")
        return np.hstack((self.proba_[:, :n_shown], sum_of_others)), names

    def _plot_stage(self, stage: int, proba: Floats) -> None:
        """Draw the bars of one stage, whose pick is the row of the same number."""
        remaining = np.flatnonzero(~np.isnan(proba))
        colors = [COLORS[1] if row == stage else COLORS[5] for row in remaining]
        widths = WIDTH * proba[remaining]
        self.bars_.append(
            self.ax_.barh(remaining, widths, left=stage, color=colors, height=0.75)
        )
        self.ax_.axvline(stage, color="black", linewidth=0.6)
        for row in remaining:
            # The next stage begins right of here, however long the bar is.
            place = stage + min(WIDTH * proba[row] + 0.03, 0.66)
            weight = "bold" if row == stage else "normal"
            text = f"{proba[row]:.2f}" if proba[row] >= 0.005 else "< 0.01"
            self.ax_.text(
                place, row, text, va="center", fontsize="small", fontweight=weight
            )


def stage_softmax(scores: Floats, n_stages: int) -> Floats:
    """Return the probabilities (n_stages, n_rows) of rows that leave in their order."""
    proba = np.full((n_stages, len(scores)), np.nan)
    for stage in range(n_stages):
        proba[stage, stage:] = special.softmax(scores[stage:])
    return proba
