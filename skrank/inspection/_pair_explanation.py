"""Why one row of a list is above another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.html import Table, number_text, page_html, table_html
from skrank._data.lists import Floats


@dataclass(frozen=True, eq=False)
class PairExplanation:
    """Why one row is ranked above another: the difference of scores by feature.

    Attributes
    ----------
    first, second : hashable
        Labels of the two rows.
    contributions : ndarray of shape (n_features,)
        What each feature adds to the difference, in units of score.
    difference : float
        Score of the first row minus that of the second: the sum of contributions.
    feature_names : list of str
        Names of the features.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.inspection import explain_scores
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [0.0, 2.0]], [2, 1, 0]
    >>> ranker = ListMLERanker().fit(X, y, [7, 7, 7])
    >>> print(explain_scores(ranker, X, [7, 7, 7]).why(0, 1))
    row 0 above row 1 by 2.59
      x0  +2.153
      x1  +0.4372
    """

    first: Any
    second: Any
    contributions: Floats
    difference: float
    feature_names: list[str]

    def to_frame(self) -> Any:
        """Return contributions to the difference as a pandas frame, largest first.

        Returns
        -------
        frame : DataFrame
            Indexed by feature, with the column "contribution".

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        import pandas as pd

        order = self._order()
        index = pd.Index([self.feature_names[j] for j in order], name="feature")
        return pd.DataFrame({"contribution": self.contributions[order]}, index=index)

    def _order(self) -> NDArray[np.intp]:
        """Return the features by the size of their contribution, largest first."""
        return np.argsort(-np.abs(self.contributions), kind="stable")

    def _title(self) -> str:
        where = "above" if self.difference >= 0 else "below"
        size = number_text(abs(self.difference))
        return f"row {self.first} {where} row {self.second} by {size}"

    def _rows(self) -> list[tuple[str, str]]:
        """Return names and contributions of the features that differ."""
        return [
            (self.feature_names[j], f"{self.contributions[j]:+.4g}")
            for j in self._order()
            if self.contributions[j]
        ]

    def __str__(self) -> str:
        rows = self._rows()
        width = max((len(name) for name, _ in rows), default=0)
        lines = [f"  {name.ljust(width)}  {value}" for name, value in rows]
        return "\n".join([self._title(), *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = Table(("feature", "adds"), self._rows(), 1, self._title().capitalize())
        return page_html(table_html(table))
