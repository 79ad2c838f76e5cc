"""A score as an SQL expression."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import check_choice
from skrank.export._formula import linear_formula

QUOTES = {"ansi": '""', "mysql": "``", "bigquery": "``", "sqlserver": "[]"}


def to_sql(ranker: Any, *, feature_names: Any = None, quoting: str = "ansi") -> str:
    """Return the score of a row as an SQL expression of its columns.

    Weights are written with all their digits. Columns are not cast: integer columns
    give the same sum, since every weight is a double. Where the pipeline fills in
    missing values of a column, COALESCE does so here.

    Parameters
    ----------
    ranker : LinearRanker or Pipeline
        Fitted; see :func:`linear_formula` for what a pipeline may hold.
    feature_names : sequence of str, default=None
        Names of the columns; None takes those that ``fit`` saw.
    quoting : {"ansi", "mysql", "bigquery", "sqlserver"}, default="ansi"
        How column names are quoted.

    Returns
    -------
    expression : str
        To be used as in ``SELECT id, <expression> AS score FROM rows ORDER BY
        query_id, score DESC``.

    Raises
    ------
    TypeError
        If a step of the pipeline cannot be folded into weights.
    ValueError
        If names are missing, or hold the closing quote of a dialect that cannot
        double it.

    Examples
    --------
    >>> from skrank.export import LinearFormula, to_sql
    >>> from skrank import ListMLERanker
    >>> ranker = ListMLERanker(alpha=1.0).fit([[0.0], [1.0]], [0, 1], ["a", "a"])
    >>> ranker.coef_[:] = 0.5
    >>> to_sql(ranker, feature_names=["clicks"])
    '0.0 + 0.5E0 * "clicks"'
    """
    check_choice(quoting, "quoting", QUOTES)
    formula = linear_formula(ranker, feature_names)
    terms = [_number(formula.constant, exponent=False)]
    for place, (name, weight) in enumerate(
        zip(formula.feature_names, formula.weights, strict=True)
    ):
        column = _quoted(name, quoting)
        if formula.fill_values is not None:
            filled = _number(float(formula.fill_values[place]))
            column = f"COALESCE({column}, {filled})"
        terms.append(f"{_number(float(weight))} * {column}")
    return " + ".join(terms)


def _number(value: float, exponent: bool = True) -> str:
    """Return a double literal that reads back exactly; E makes it approximate-typed."""
    text = repr(float(np.float64(value)))
    if exponent and "e" not in text:
        text += "E0"
    text = text.replace("e", "E")
    return f"({text})" if text.startswith("-") else text


def _quoted(name: str, quoting: str) -> str:
    """Return a quoted column name."""
    quotes = QUOTES[quoting]
    opening, closing = quotes[0], quotes[1]
    if quoting == "bigquery" and (closing in name or "\\" in name):
        raise ValueError(
            f"feature name {name!r} cannot be quoted for BigQuery; rename the column."
        )
    return opening + name.replace(closing, 2 * closing) + closing
