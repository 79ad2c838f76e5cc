"""Axes, colours and names on axes, which all displays share."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

# Okabe and Ito's palette, without yellow, which is too light for lines on white:
# colour-blind people can tell these apart. Markers differ too.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#7f7f7f"
DIVERGING = "PuOr_r"  # orange above, purple below: safe for the colour-blind
LONGEST = 28  # characters of a name in one line


def new_axes(ax: Any, n_axes: int, size: tuple[float, float], **options: Any) -> Any:
    """Return a figure and an array of its axes, new ones where none are given.

    Parameters
    ----------
    ax : matplotlib Axes, sequence of Axes or None
        Where to draw.
    n_axes : int
        How many are needed.
    size : tuple of float
        Width and height in inches of a new figure.
    **options
        Handed on to ``matplotlib.pyplot.subplots``.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If another number of axes is given.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            "displays need matplotlib: pip install 'skrank[plot]'."
        ) from error
    if ax is None:
        figure, axes = plt.subplots(
            1, n_axes, figsize=size, layout="constrained", squeeze=False, **options
        )
        return figure, axes[0]
    axes = np.array(ax, dtype=object, ndmin=1).ravel()
    if len(axes) != n_axes:
        raise ValueError(
            f"ax must be {'one Axes' if n_axes == 1 else f'{n_axes} Axes'}, or None, "
            f"got {len(axes)}."
        )
    return axes[0].get_figure(), axes


def style_of(number: int) -> dict[str, str]:
    """Return colour and marker of a ranker, feature or item by its number."""
    return {
        "color": COLORS[number % len(COLORS)],
        "marker": MARKERS[(number + number // len(COLORS)) % len(MARKERS)],
    }


def wrapped_names(names: Sequence[Any]) -> list[str]:
    """Return names on several lines where they are long; none is cut."""
    return [
        "\n".join(
            textwrap.fill(line, LONGEST, break_on_hyphens=False)
            for line in str(name).split("\n")
        )
        for name in names
    ]


def height_of(n_rows: int, least: float = 2.0) -> float:
    """Return the height in inches of a figure with so many rows of text."""
    return max(least, 1.0 + 0.28 * n_rows)


def names_at_rows(axes: Any, names: Sequence[Any]) -> None:
    """Write names at rows 0, 1, ... of the vertical axis, the first at the top."""
    axes.set_yticks(range(len(names)), wrapped_names(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
