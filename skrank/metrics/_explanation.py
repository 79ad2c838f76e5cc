"""Explain why two tools give different numbers for one metric."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from skrank._data.groups import suggests_groups
from skrank._data.html import Table, page_html, table_html
from skrank.metrics._conventions import HALF, Rule, differences, fixed_by, rule_of

WORDS: dict[str, dict[Any, str]] = {
    "gain": {"exponential": "2**y - 1", "linear": "y", "chance": "y is a chance"},
    "discount": {"log2": "1 / log2(1 + rank)"},
    "relevance_level": {HALF: "above 0.5"},
    "normalizer": {
        "all": "all relevant rows",
        "min": "relevant rows, at most k",
        "found": "relevant rows within k",
    },
    "cutoff": {"k": "k", "shorter": "k or the list's size"},
    "ties": {
        "average": "mean over orders",
        "worst": "worst order",
        "best": "best order",
        "order": "row order",
        "doc_ids": "document id, descending",
        "level": "at the end of the tied rows",
    },
    "empty": {"skip": "left out"},
    "negative": {"given": "as they are", "unjudged": "0, not judged"},
    "empty_weight": {"list": "that of the list", "one": "1, unlike the divisor"},
}
TITLES = {
    "relevance_level": "relevant labels",
    "max_grade": "best grade",
    "normalizer": "divisor",
    "cutoff": "divisor",
    "empty": "lists with nothing relevant",
    "empty_weight": "weight of these",
    "scores": "type of scores",
    "negative": "labels below 0",
}


@dataclass(frozen=True, slots=True)
class MetricStep:
    """One difference between two conventions, and what it does to the number.

    Attributes
    ----------
    what : str
        What differs: gain, discount, ties and so on.
    before, after : str
        The setting of the first and of the second convention.
    value : float
        The metric after this difference and all earlier ones are applied.
    change : float
        The change of the metric by this step.

    Examples
    --------
    >>> from skrank.metrics import average_precision_score, explain_metric
    >>> y, scores, groups = [1, 1, 1, 0], [4.0, 3.0, 2.0, 1.0], [7, 7, 7, 7]
    >>> found = explain_metric(
    ...     average_precision_score, y, scores, groups, None, "lightgbm", k=2
    ... )
    >>> [(step.what, round(step.change, 4)) for step in found.steps][1]
    ('divisor', 0.3333)
    """

    what: str
    before: str
    after: str
    value: float
    change: float


@dataclass(frozen=True, slots=True)
class MetricExplanation:
    """How one metric moves from a convention to another; prints as a short table.

    Attributes
    ----------
    metric : str
        Name of the metric.
    first, second : str
        Names of the conventions.
    first_value, second_value : float
        The metric under each.
    steps : tuple of MetricStep
        The differences, in the order in which they are applied.

    Examples
    --------
    >>> from skrank.metrics import explain_metric, precision_at_k_score
    >>> rows = [1, 0], [2, 1], [7, 7]
    >>> explain_metric(precision_at_k_score, *rows, None, "xgboost", k=4)
    precision_at_k_score: skrank 0.250000
      type of scores: float64 -> float32  +0.000000
      divisor: k -> k or the list's size  +0.250000
      ties: mean over orders -> row order  +0.000000
    precision_at_k_score: xgboost 0.500000
    """

    metric: str
    first: str
    second: str
    first_value: float
    second_value: float
    steps: tuple[MetricStep, ...]

    def __str__(self) -> str:
        lines = [f"{self.metric}: {self.first} {self.first_value:.6f}"]
        lines += [
            f"  {step.what}: {step.before} -> {step.after}  {step.change:+.6f}"
            for step in self.steps
        ]
        if not self.steps:
            lines.append("  nothing differs")
        lines.append(f"{self.metric}: {self.second} {self.second_value:.6f}")
        return "\n".join(lines)

    __repr__ = __str__

    def to_frame(self) -> Any:
        """Return the steps as a pandas frame, one row a difference.

        Returns
        -------
        frame : DataFrame
            Columns "what", "before", "after", "value" and "change".

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        import pandas as pd

        columns = [field.name for field in fields(MetricStep)]
        rows = [[getattr(step, name) for name in columns] for step in self.steps]
        return pd.DataFrame(rows, columns=columns)

    def _repr_html_(self) -> str:
        rows = [[self.first, "", "", f"{self.first_value:.6f}", ""]]
        for step in self.steps:
            numbers = [f"{step.value:.6f}", f"{step.change:+.6f}"]
            rows.append([step.what, step.before, step.after, *numbers])
        rows.append([self.second, "", "", f"{self.second_value:.6f}", ""])
        heads = ["difference", "before", "after", "value", "change"]
        return page_html(table_html(Table(heads, rows, 3, self.metric)))


@suggests_groups
def explain_metric(
    metric: Callable,
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    convention_a: str | None = None,
    convention_b: str | None = None,
    **options: Any,
) -> MetricExplanation:
    """Explain what two conventions do differently, and by how much, on given data.

    The differences are applied one after the other: rounding of scores, gain, discount,
    relevant labels, best grade, divisors, ties, empty lists. The change by a step
    depends on the steps before it. The sum of all changes is the whole difference.

    Parameters
    ----------
    metric : callable
        A metric of ``skrank.metrics`` that has conventions.
    y_true : array-like of shape (n_rows,)
        Labels, higher is better.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    convention_a, convention_b : str, default=None
        Names of conventions; None is skrank's own. ``options`` hold for both, except
        where a convention fixes them.
    **options
        Other arguments of ``metric``, such as ``k``, ``sample_weight``, ``doc_ids``.

    Returns
    -------
    explanation : MetricExplanation
        Prints as a table with a line for each difference.

    Raises
    ------
    TypeError
        If the metric has no conventions or does not take an option.
    ValueError
        If the metric does not have a convention, or refuses the data.

    Examples
    --------
    >>> from skrank.metrics import explain_metric, ndcg_score
    >>> y, scores, groups = [2, 1, 0, 0], [1.0, 1.0, 0.0, 0.0], [7, 7, 7, 8]
    >>> explain_metric(ndcg_score, y, scores, groups, "sklearn", "lightgbm")
    ndcg_score: sklearn 0.464930
      gain: y -> 2**y - 1  -0.015753
      ties: mean over orders -> row order  +0.050823
      lists with nothing relevant: 0.0 -> 1.0  +0.500000
    ndcg_score: lightgbm 1.000000
    """
    name = getattr(metric, "__name__", repr(metric))
    parameters = inspect.signature(metric).parameters
    if "convention" not in parameters:
        raise TypeError(f"{name} has no conventions to explain.")
    for option in options:
        if option not in parameters or option in ("convention", "average"):
            raise TypeError(f"explain_metric cannot pass {option!r} on to {name}.")
    rule_options = {field.name for field in fields(Rule)} & set(parameters)

    def rule_under(convention: str | None) -> Rule:
        free = rule_options - set(fixed_by(name, convention))
        defaults = {field: parameters[field].default for field in rule_options}
        chosen = {field: options[field] for field in free & set(options)}
        return rule_of(name, convention, {**defaults, **chosen})

    def value_of(rule: Rule) -> float:
        return metric(y_true, y_score, groups, **options, convention=rule)

    first, second = rule_under(convention_a), rule_under(convention_b)
    if options.get("sample_weight") is None:
        # Without weights all lists weigh the same, so this rule cannot differ.
        first = replace(first, empty_weight=second.empty_weight)
    if not np.any(np.asarray(y_true) < 0):
        first = replace(first, negative=second.negative)
    start = value = value_of(first)
    rule = first
    steps = []
    for field in differences(first, second):
        rule = replace(rule, **{field: getattr(second, field)})
        next_value = value_of(rule)
        steps.append(
            MetricStep(
                TITLES.get(field, field),
                _words(field, getattr(first, field)),
                _words(field, getattr(second, field)),
                next_value,
                next_value - value,
            )
        )
        value = next_value
    return MetricExplanation(
        name,
        convention_a or "skrank",
        convention_b or "skrank",
        start,
        value,
        tuple(steps),
    )


def _words(field: str, value: Any) -> str:
    """Return a setting in words."""
    if not isinstance(value, str | float | int):
        return getattr(value, "__name__", repr(value))
    return WORDS.get(field, {}).get(value, str(value))
