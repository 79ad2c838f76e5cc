"""The worths of items that a fitted ranker has learned, with their errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skrank._data.checks import as_written
from skrank._data.lists import Floats
from skrank._probability.quasi import quasi_standard_errors


@dataclass(frozen=True, slots=True, eq=False)
class ItemWorths:
    """Log worths of items with standard errors and quasi standard errors.

    Attributes
    ----------
    items : list
        The items.
    worth : ndarray of shape (n_items,)
        Log worth; 0 for a reference item, or 0 on average.
    covariance_matrix : ndarray of shape (n_items, n_items)
        Covariance of the worths.
    summary : skrank.inspection.FitSummary
        The summary that it was made from, with the parameters of ties.

    Examples
    --------
    >>> from skrank import RankNetRanker
    >>> from skrank.interop import from_pair_counts
    >>> rows = from_pair_counts(["a", "a", "b"], ["b", "c", "c"], [4, 7, 5], [3, 2, 4])
    >>> ranker = RankNetRanker(alpha=0.01)
    >>> _ = ranker.fit(rows.X, rows.y, rows.groups, sample_weight=rows.sample_weight)
    >>> int(rows.worths(ranker).worth.argmax())
    0
    """

    items: list[Any]
    worth: Floats
    covariance_matrix: Floats
    summary: Any = field(repr=False)

    @property
    def standard_error(self) -> Floats:
        """Standard error of each worth, about the reference or the mean."""
        return np.sqrt(np.maximum(np.diag(self.covariance_matrix), 0.0))

    @property
    def quasi_standard_error(self) -> Floats:
        """Root of the quasi variances, so that any two items can be compared.

        The standard error of a difference is about the root of the sum of two squares
        (Firth and de Menezes 2004). NaN for a negative quasi variance, and with fewer
        than three items.
        """
        if len(self.items) < 3 or not np.isfinite(self.covariance_matrix).all():
            return np.full(len(self.items), np.nan)
        return quasi_standard_errors(self.covariance_matrix)

    def to_frame(self) -> Any:
        """Return one row an item as a pandas DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
            Columns "worth", "standard_error" and "quasi_standard_error".
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "worth": self.worth,
                "standard_error": self.standard_error,
                "quasi_standard_error": self.quasi_standard_error,
            },
            index=pd.Index(self.items, name="item", tupleize_cols=False),
        )

    def __str__(self) -> str:
        heads = ["item", "worth", "std error", "quasi std error"]
        names = [
            as_written(item) if not isinstance(item, str) else item
            for item in self.items
        ]
        columns = [self.worth, self.standard_error, self.quasi_standard_error]
        rows = [
            [name, *(f"{column[place]:.4f}" for column in columns)]
            for place, name in enumerate(names)
        ]
        widths = [max(len(row[j]) for row in [heads, *rows]) for j in range(len(heads))]
        lines = [
            "  ".join(
                cell.ljust(width) if j == 0 else cell.rjust(width)
                for j, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in [heads, *rows]
        ]
        return "\n".join(lines)
