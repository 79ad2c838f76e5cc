"""Draw sizes, labels and ties of lists at a glance."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import finite_column
from skrank._data.groups import find_groups, suggests_groups
from skrank.inspection._describe import describe_lists
from skrank.inspection._description import ListsDescription
from skrank.inspection._drawing import COLORS, new_axes, whole_ticks

FEW_VALUES = 12  # of labels that have a bar each


class ListsDisplay:
    """Sizes of lists, labels, and how many pairs of rows have an order.

    Use :meth:`from_data` or :meth:`from_description`.

    Parameters
    ----------
    description : ListsDescription
        What :func:`describe_lists` returned.

    Attributes
    ----------
    axes_ : ndarray of three matplotlib Axes
        Sizes, labels, and pairs.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from skrank.datasets import load_mode_choice
    >>> from skrank.inspection import ListsDisplay
    >>> X, y, groups = load_mode_choice()
    >>> display = ListsDisplay.from_data(y, groups)
    >>> len(display.axes_)
    3
    """

    def __init__(self, description: ListsDescription) -> None:
        self.description = description

    @classmethod
    @suggests_groups
    def from_data(cls, y: Any, groups: Any = None, *, ax: Any = None) -> ListsDisplay:
        """Draw labels and groups; features do not matter.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Labels, higher is better.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.
        ax : sequence of three matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : ListsDisplay
            Drawn.
        """
        groups = find_groups(y, groups, "ListsDisplay.from_data", "y")
        labels = finite_column(y, "y")
        return cls(describe_lists(np.empty((len(labels), 0)), labels, groups)).plot(ax)

    @classmethod
    def from_description(
        cls, description: ListsDescription, *, ax: Any = None
    ) -> ListsDisplay:
        """Draw a description.

        Parameters
        ----------
        description : ListsDescription
            What :func:`describe_lists` returned.
        ax : sequence of three matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : ListsDisplay
            Drawn.
        """
        return cls(description).plot(ax)

    def plot(self, ax: Any = None) -> ListsDisplay:
        """Draw the three pictures.

        Parameters
        ----------
        ax : sequence of three matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : ListsDisplay
            This display.
        """
        self.figure_, self.axes_ = new_axes(ax, 3, (10.0, 3.2))
        self.ax_ = self.axes_[0]
        self._plot_sizes()
        self._plot_labels()
        self._plot_pairs()
        for axes in self.axes_:
            axes.grid(axis="y", alpha=0.3)
            axes.set_axisbelow(True)
        return self

    def _plot_sizes(self) -> None:
        sizes, axes = self.description.sizes, self.axes_[0]
        n_bins = min(30, int(sizes.max() - sizes.min()) + 1)
        edges = np.linspace(sizes.min() - 0.5, sizes.max() + 0.5, n_bins + 1)
        axes.hist(sizes, bins=edges, color=COLORS[0], rwidth=0.9)
        if sizes.max() - sizes.min() < 8:
            axes.set_xticks(np.arange(sizes.min(), sizes.max() + 1))
            middle = (sizes.min() + sizes.max()) / 2
            axes.set_xlim(middle - 4.5, middle + 4.5)
        axes.set_xlabel("rows of a list")
        axes.set_ylabel("lists")
        whole_ticks(axes)
        noun = "list" if len(sizes) == 1 else "lists"
        axes.set_title(f"{len(sizes):,} {noun}, {int(sizes.sum()):,} rows")

    def _plot_labels(self) -> None:
        values, counts = self.description.label_values, self.description.label_counts
        axes = self.axes_[1]
        if len(values) <= FEW_VALUES:
            names = [f"{value:g}" for value in values]
            axes.bar(names, counts / counts.sum(), color=COLORS[0], width=0.8)
        else:
            shares = counts / counts.sum()
            axes.hist(values, bins=30, weights=shares, color=COLORS[0], rwidth=0.9)
        axes.set_xlabel("label")
        axes.set_ylabel("share of rows")
        axes.set_title(f"{len(values):,} different labels")

    def _plot_pairs(self) -> None:
        description, axes = self.description, self.axes_[2]
        shares = description.pairs_decided
        shares = shares[~np.isnan(shares)]
        axes.hist(
            shares,
            bins=np.linspace(0, 1, 21),
            color=COLORS[2],
            rwidth=0.9,
            range=(0, 1),
        )
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("share of a list's pairs with an order")
        axes.set_ylabel("lists")
        n_flat = int(np.sum(shares == 0))
        noun = "list" if n_flat == 1 else "lists"
        axes.set_title(f"{n_flat:,} {noun} without an order")
        whole_ticks(axes)
