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
LONGEST_OF_LEGEND = 44  # characters of an entry in one line
FEW_LINES = 4  # so many lines leave room for a legend inside the axes


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


def wrapped_names(names: Sequence[Any], longest: int = LONGEST) -> list[str]:
    """Return names on several lines where they are long; none is cut."""
    return [
        "\n".join(
            textwrap.fill(line, longest, break_on_hyphens=False)
            for line in str(name).split("\n")
        )
        for name in names
    ]


def height_of(names: Sequence[Any], least: float = 2.0) -> float:
    """Return the height in inches of a figure with a row of text for each name."""
    # Rows are equally high, so the name of most lines decides.
    n_lines = 1 + max((name.count("\n") for name in wrapped_names(names)), default=0)
    return max(least, 1.0 + (0.12 + 0.16 * n_lines) * len(names))


def room_for_legend(names: Sequence[Any]) -> tuple[float, float]:
    """Return width and height in inches that a legend right of the axes takes."""
    lines = "\n".join(wrapped_names(names, LONGEST_OF_LEGEND)).split("\n")
    return 0.8 + 0.08 * max(map(len, lines)), 0.5 + 0.18 * len(lines)


def add_legend(axes: Any, place: str | None = None) -> None:
    """Add a legend at a place inside the axes, or right of them."""
    handles, labels = axes.get_legend_handles_labels()
    outside = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
    where = outside if place is None else {"loc": place}
    names = wrapped_names(labels, LONGEST_OF_LEGEND)
    axes.legend(handles, names, fontsize="small", **where)


def whole_ticks(axes: Any) -> None:
    """Write whole numbers at a vertical axis that counts."""
    if axes.get_yscale() == "linear":
        axes.locator_params(axis="y", integer=True)


def names_at_rows(axes: Any, names: Sequence[Any]) -> None:
    """Write names at rows 0, 1, ... of the vertical axis, the first at the top."""
    axes.set_yticks(range(len(names)), wrapped_names(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
