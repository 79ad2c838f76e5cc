"""Write results as HTML for notebooks, in colours that fit light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

# Text and lines take the page's own colour, and no background is set, so that a dark
# page stays dark. The three marks are from the palette of Okabe and Ito, which
# colour-blind people can tell apart; each is also named in words.
STYLE = """<style>
.skrank {color: inherit; background: transparent; max-width: 100%; margin: .5em 0;}
.skrank .skrank-scroll {overflow-x: auto;}
.skrank table {border-collapse: collapse; background: transparent; margin: .3em 0;
  width: auto; color: inherit; font-size: .9em;}
.skrank .skrank-caption {font-weight: bold; margin-top: .5em;}
.skrank th, .skrank td {border: 0; border-bottom: 1px solid rgba(128, 128, 128, .35);
  padding: .25em .7em; text-align: right; vertical-align: top; background: transparent;
  color: inherit; white-space: nowrap; font-variant-numeric: tabular-nums;}
.skrank th {font-weight: bold;}
.skrank .skrank-text {text-align: left; white-space: normal;}
.skrank p, .skrank li {margin: .2em 0; max-width: 50em;}
.skrank .skrank-error {border-left: 4px solid #d55e00; padding-left: .6em;}
.skrank .skrank-warning {border-left: 4px solid #e69f00; padding-left: .6em;}
.skrank .skrank-note {border-left: 4px solid #56b4e9; padding-left: .6em;}
</style>"""


class Table(NamedTuple):
    """Cells of a table, as text.

    Attributes
    ----------
    heads : sequence of str
        The head of each column.
    rows : sequence of sequence of str
        One sequence of cells a row.
    n_text : int
        How many columns at the left hold text, not numbers.
    caption : str
        Title above the table.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_text: int = 1
    caption: str = ""


def table_html(table: Table) -> str:
    """Return a table, every cell escaped and no name cut."""
    lines = []
    if table.caption:
        # Above the box that scrolls, so that a long title breaks at the page's width.
        lines.append(f'<p class="skrank-caption">{escape(table.caption)}</p>')
    lines.append('<div class="skrank-scroll"><table>')
    lines.append(f"<thead>{_row(table.heads, 'th', table.n_text)}</thead><tbody>")
    lines += [_row(cells, "td", table.n_text) for cells in table.rows]
    return "".join([*lines, "</tbody></table></div>"])


def _row(cells: Sequence[str], tag: str, n_text: int) -> str:
    """Return one row, its first cells as text."""
    columns = []
    for number, cell in enumerate(cells):
        kind = ' class="skrank-text"' if number < n_text else ""
        columns.append(f"<{tag}{kind}>{escape(cell)}</{tag}>")
    return f"<tr>{''.join(columns)}</tr>"


def paragraph_html(text: str, mark: str = "") -> str:
    """Return a paragraph; ``mark`` "error", "warning" or "note" puts a line at it."""
    kind = f' class="skrank-{mark}"' if mark else ""
    return f"<p{kind}>{escape(text)}</p>"


def list_html(texts: Iterable[str]) -> str:
    """Return a list of points, nothing where there are none."""
    points = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{points}</ul>" if points else ""


def page_html(*parts: str) -> str:
    """Return parts as one text for ``_repr_html_``, with the style sheet."""
    return f'<div class="skrank">{STYLE}{"".join(parts)}</div>'


def number_text(value: float, digits: int = 4) -> str:
    """Return a number with some significant digits, "-" for NaN."""
    return "-" if value != value else f"{value:.{digits}g}"
