"""The summary of a fitted ranker: its fields, and how it prints."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from skrank._data.checks import count_of
from skrank._data.html import (
    Table,
    list_html,
    page_html,
    paragraph_html,
    table_html,
)
from skrank._data.lists import Floats, Indices
from skrank._probability.covariance import standard_errors

PAGE = 88


@dataclass(frozen=True, eq=False)
class FitSummary:
    """Coefficients of a fit with standard errors; prints as a table.

    Rankers return it from ``summary``. One entry a coefficient, in the order of the
    features, then of the loss's own parameters.

    Parameters
    ----------
    ranker : str
        Name of the ranker's class.
    names : list of str
        Names of the features and of the loss's own parameters.
    coef : ndarray of shape (n_parameters,)
        Coefficients.
    n_extra : int
        Number of the loss's own parameters, at the end. They have no z and no p value,
        since 0 is not a hypothesis about them.
    clustered : ndarray of shape (n_parameters,)
        Standard errors with each list as one cluster (sandwich, Godambe).
    model : ndarray of shape (n_parameters,) or None
        Standard errors from the second derivative of the log-likelihood; None where
        the objective is not a log-likelihood of independent lists.
    covariance : {"clustered", "model"}
        Which of the two z, p values and intervals use.
    covariance_matrix : ndarray of shape (n_parameters, n_parameters)
        The whole matrix of that covariance.
    alpha : float
        Penalty of the fit. Above 0 there are no z and p values, since standard errors
        are then about the penalised optimum, not about the truth.
    confidence : float
        Coverage of the intervals.
    n_lists, n_rows : int
        Number of lists with a gradient, and of all rows.
    df : float
        Effective number of parameters: trace of H (H + alpha I)^-1.
    fit_name : {"log-likelihood", "composite log-likelihood", \
"minus the sum of losses"}
        Name of ``fit_value``; the last if the fit is not a likelihood.
    fit_value : float
        At the coefficients; composite: as the fit weighs lists.
    criterion_name : {"AIC", "CLIC"} or None
        Name of ``criterion``; None if the fit has none.
    criterion : float
        -2 ``fit_value`` plus twice ``df`` (AIC), or plus twice the trace of
        (H + alpha I)^-1 J (CLIC), which is ``df`` where pairs are independent. Less
        is better.
    notes : tuple of str
        Other things that a reader must know.
    informing : ndarray of int of shape (n_parameters,)
        Number of lists, or of ``clusters``, that inform each coefficient: those in
        which its feature varies and which have a gradient.
    n_clusters : int or None
        Number of clusters with a gradient; None if each list is one.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import make_ranking
    >>> X, y, groups = make_ranking(
    ...     60, n_features=2, n_informative=2, random_state=0
    ... )
    >>> summary = ListMLERanker(alpha=0).fit(X, y, groups).summary(X, y, groups)
    >>> summary.covariance, summary.clustered.shape
    ('clustered', (2,))
    >>> list(summary.to_frame().columns)[:3]
    ['coef', 'lists', 'clustered']
    """

    ranker: str
    names: list[str]
    coef: Floats
    n_extra: int
    clustered: Floats
    model: Floats | None
    covariance: str
    covariance_matrix: Floats = field(repr=False)
    alpha: float
    confidence: float
    n_lists: int
    n_rows: int
    df: float
    fit_name: str
    fit_value: float
    criterion_name: str | None
    criterion: float
    notes: tuple[str, ...]
    informing: Indices | None = None
    n_clusters: int | None = None

    @property
    def standard_error(self) -> Floats:
        """Standard errors of the covariance in use, shape (n_parameters,)."""
        return standard_errors(self.covariance_matrix)

    @property
    def z(self) -> Floats:
        """Coefficients over their standard errors; NaN where alpha > 0."""
        if self.alpha > 0:
            return np.full(len(self.coef), np.nan)
        error = self.standard_error
        z = np.divide(
            self.coef, error, out=np.full_like(error, np.nan), where=error > 0
        )
        z[len(z) - self.n_extra :] = np.nan
        return z

    @property
    def p_value(self) -> Floats:
        """Two-sided p values of z under a normal distribution; NaN where alpha > 0."""
        return 2.0 * stats.norm.sf(np.abs(self.z))

    @property
    def interval(self) -> Floats:
        """Normal intervals of the coefficients, shape (n_parameters, 2)."""
        reach = stats.norm.ppf((1.0 + self.confidence) / 2.0) * self.standard_error
        return np.column_stack((self.coef - reach, self.coef + reach))

    def _columns(self) -> dict[str, Floats]:
        """Return the columns of the table."""
        columns: dict[str, Any] = {"coef": self.coef}
        if self.informing is not None:
            columns["lists" if self.n_clusters is None else "clusters"] = self.informing
        columns["clustered"] = self.clustered
        if self.model is not None:
            columns["model"] = self.model
        columns["z"], columns["p"] = self.z, self.p_value
        columns["low"], columns["high"] = self.interval.T
        return columns

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, one row a coefficient.

        Columns, as printed: ``coef``; ``lists`` or ``clusters`` (how many inform it);
        ``clustered`` and ``model`` (standard errors); ``z``, ``p``; ``low`` and
        ``high`` (the interval).

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "FitSummary.to_frame needs pandas (pip install pandas); print the "
                "summary, or read its arrays."
            ) from error
        return pd.DataFrame(self._columns(), index=self.names)

    def _head(self) -> list[str]:
        """Return the lines above the table."""
        head = [
            f"{self.ranker}: {self.n_lists} lists, {self.n_rows} rows, "
            f"alpha={self.alpha:g}",
            f"{self.fit_name} {self.fit_value:.8g}",
        ]
        if not np.isnan(self.df):
            head[0] += f", {self.df:.6g} degrees of freedom"
        if self.criterion_name is not None:
            head[1] += f", {self.criterion_name} {self.criterion:.8g}"
        kind = {
            "clustered": f"clustered by {self._clusters()} (sandwich)",
            "model": "model-based (inverse second derivative)",
        }[self.covariance]
        tested = "z, p and intervals" if self.alpha == 0 else "intervals"
        head.append(f"covariance of {tested}: {kind}, {self.confidence:.0%}")
        return head

    def __str__(self) -> str:
        head = self._head()
        columns = self._columns()
        if self.alpha > 0:
            del columns["z"], columns["p"]
        names = shortened(self.names, PAGE - sum(map(_width, columns)))
        width = max(map(len, names), default=0)
        lines = [
            " " * width + "".join(f"{name:>{_width(name)}}" for name in columns),
        ]
        for number, name in enumerate(names):
            cells = (
                _cell(column, values[number]) for column, values in columns.items()
            )
            lines.append(f"{name:<{width}}" + "".join(cells))
        notes = [
            textwrap.fill(f"- {note}", PAGE, subsequent_indent="  ")
            for note in self.notes
        ]
        return "\n".join([*head, "", *lines, *([""] if notes else []), *notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns = self._columns()
        if self.alpha > 0:
            del columns["z"], columns["p"]
        rows = [
            [name, *(_cell(key, values[j]).strip() for key, values in columns.items())]
            for j, name in enumerate(self.names)
        ]
        title, *more = self._head()
        parts = [table_html(Table(["", *columns], rows, 1, title))]
        parts += [paragraph_html(text) for text in more]
        return page_html(*parts, list_html(self.notes))

    def _clusters(self) -> str:
        """Return a text that names the clusters."""
        if self.n_clusters is None:
            return "list"
        return f"clusters=, {count_of(self.n_clusters, 'cluster')}"


def shortened(names: list[str], longest: int) -> list[str]:
    """Shorten names to so many characters, but keep them different.

    A long name keeps its beginning and its end.
    """
    for width in range(longest, max(map(len, names), default=0)):
        tail = width // 3
        short = [
            name
            if len(name) <= width
            else f"{name[: width - tail - 1]}~{name[len(name) - tail :]}"
            for name in names
        ]
        if len(set(short)) == len(set(names)):
            return short
    return names


def _width(column: str) -> int:
    """Return the width of a column of the printed table."""
    widths = {"lists": 7, "clusters": 9, "clustered": 10, "model": 10, "z": 8, "p": 7}
    return widths.get(column, 11)


def _cell(column: str, value: float) -> str:
    """Return a number as the printed table shows it."""
    width = _width(column)
    if column in ("lists", "clusters"):
        return f"{value:>{width}}"
    if np.isnan(value):
        return f"{'-':>{width}}"
    if column == "p":
        return f"{'<1e-4' if value < 1e-4 else f'{value:.4f}':>{width}}"
    if column == "z":
        return f"{value:>{width}.2f}"
    return f"{value:>{width}.4g}"
