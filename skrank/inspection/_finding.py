"""A finding: one fact about ranking data, and advice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One fact about ranking data that users should know.

    Attributes
    ----------
    name : str
        Short name of the kind of finding, for filters.
    severity : {"error", "warning", "note"}
        "error": a fit or a metric will fail or learn nothing; "warning": numbers may
        be wrong or too good; "note": worth knowing.
    text : str
        The fact, with numbers.
    advice : str
        What to do.

    Examples
    --------
    >>> from skrank.inspection import describe_lists
    >>> found = describe_lists([[1.0], [2.0]], [0, 1], ["a", "b"]).findings[0]
    >>> found.name, found.severity
    ('single rows', 'error')
    """

    name: str
    severity: str
    text: str
    advice: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.text} {self.advice}"


def percent(share: float) -> str:
    """Return a share in percent, never rounded to 0 or 100 where it is neither."""
    text = f"{100 * share:.3g} %"
    if text in ("0 %", "100 %") and share not in (0.0, 1.0):
        return "less than 0.1 %" if share < 0.5 else "more than 99.9 %"
    return text
