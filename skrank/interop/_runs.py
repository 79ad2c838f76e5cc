"""Make rows for metrics from TREC runs and judgments."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, filterfalse, repeat
from operator import methodcaller, pos
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import finite_column
from skrank._data.grouping import group_rows
from skrank._data.lists import Floats, Lists
from skrank.interop._trec import nested_numbers

UNJUDGED = -1  # a grade of trec_eval's for documents that nobody looked at


@dataclass(frozen=True, slots=True)
class RunRows:
    """The rows of a run and its judgments: what is retrieved, judged, or both.

    Attributes
    ----------
    y_true : ndarray of shape (n_rows,)
        Grades; 0 for rows that nobody judged.
    y_score : ndarray of shape (n_rows,)
        Scores; rows that are not retrieved have lower ones than the others of the list.
    groups : ndarray of shape (n_rows,)
        Topic of each row.
    retrieved, judged : ndarray of bool of shape (n_rows,)
        Whether the run has the row, and whether the judgments do.
    doc_ids : ndarray of shape (n_rows,)
        Document ids.

    Examples
    --------
    >>> from skrank.interop import from_run
    >>> from skrank.metrics import average_precision_score
    >>> rows = from_run({"t": {"a": 1, "b": 1}}, {"t": {"a": 2.0, "c": 1.0}})
    >>> rows.score(average_precision_score, convention="trec_eval")
    0.5
    """

    y_true: Floats
    y_score: Floats
    groups: NDArray
    retrieved: NDArray
    judged: NDArray
    doc_ids: NDArray

    def __len__(self) -> int:
        return len(self.y_true)

    def score(self, metric: Callable, **options: Any) -> Any:
        """Return a metric of these rows.

        Parameters
        ----------
        metric : callable
            A metric of ``skrank.metrics``. It gets ``retrieved``, ``judged`` and
            ``doc_ids``, as far as it takes them.
        **options
            Its other arguments, such as ``convention="trec_eval"``.

        Returns
        -------
        score : float or ndarray of shape (n_lists,)
            Value of the metric.

        Raises
        ------
        TypeError
            If the metric cannot leave out the rows that are not retrieved.
        ValueError
            If the metric refuses the rows.
        """
        taken = inspect.signature(metric).parameters
        if "retrieved" not in taken and not self.retrieved.all():
            name = getattr(metric, "__name__", repr(metric))
            raise TypeError(
                f"{name} takes no retrieved=, and the run lacks rows that are judged. "
                "Use a metric that has this argument, such as ndcg_score."
            )
        rows = {
            name: getattr(self, name)
            for name in ("retrieved", "judged", "doc_ids")
            if name in taken
        }
        return metric(self.y_true, self.y_score, self.groups, **rows, **options)

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame, a column for each attribute.

        Returns
        -------
        frame : pandas.DataFrame of shape (n_rows, 6)
            ``groups`` and ``doc_ids`` come first.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        import pandas as pd

        names = ("groups", "doc_ids", "y_true", "y_score", "retrieved", "judged")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def from_run(
    qrels: Any,
    run: Any,
    *,
    complete: bool = False,
) -> RunRows:
    """Return the rows of a run and its judgments, as trec_eval needs them.

    A topic's list has a row for each document that is retrieved or judged. Topics
    without judgments are left out, as trec_eval does. Negative grades mean not judged.

    Parameters
    ----------
    qrels : mapping of mappings, path, dataframe, or object of ranx or ir_measures
        ``qrels[topic][document]`` is a grade. A path is a file of TREC's format (see
        :func:`read_qrels`); a frame has the columns "query_id", "doc_id" and
        "relevance", or what PyTerrier and ranx call them.
    run : mapping of mappings, path, dataframe, or object of ranx or ir_measures
        ``run[topic][document]`` is a score; a frame has "query_id", "doc_id" and
        "score".
    complete : bool, default=False
        Keep judged topics for which the run has nothing, as trec_eval's option -c.

    Returns
    -------
    rows : RunRows
        Labels, scores, groups, ``retrieved``, ``judged`` and ``doc_ids``.

    Raises
    ------
    TypeError
        If ``qrels`` or ``run`` are of none of these kinds.
    ValueError
        If no topic is left, or grades or scores are not finite.

    References
    ----------
    .. [1] trec_eval 10.0, https://github.com/usnistgov/trec_eval.

    Examples
    --------
    >>> from skrank.interop import from_run
    >>> rows = from_run({"t": {"a": 1, "b": 1}}, {"t": {"a": 2.0, "c": 1.0}})
    >>> rows.doc_ids
    array(['a', 'c', 'b'], dtype=object)
    >>> rows.retrieved
    array([ True,  True, False])
    >>> rows.judged
    array([ True, False,  True])
    """
    qrels, run = nested_numbers(qrels, "qrels"), nested_numbers(run, "run")
    topics = [topic for topic, grades in qrels.items() if grades]
    if not complete:
        topics = [topic for topic in topics if run.get(topic)]
    if not topics:
        raise ValueError(
            "qrels and run have no topic in common. Topics are compared as they are: "
            "301 is not '301'."
        )
    judgments = [qrels[topic] for topic in topics]
    rankings = [run.get(topic, {}) for topic in topics]
    sizes = np.zeros((len(topics), 2), dtype=np.intp)  # retrieved, judged alone
    sizes[:, 0] = list(map(len, rankings))
    # All topics in one go, since lists of their rows would cost as much as the rest.
    n = int(sizes.sum())
    score = _numbers(lambda: map(methodcaller("values"), rankings), n, "run")
    grade = _numbers(lambda: map(_grades, judgments, rankings), n, "qrels")
    documents = np.fromiter(chain.from_iterable(rankings), object, n)
    others = _not_retrieved(judgments, rankings, sizes[:, 0], grade)
    sizes[list(others), 1] = list(map(len, others.values()))
    retrieved = np.repeat(np.tile([True, False], len(topics)), sizes.ravel())
    if others:
        left = _numbers(
            lambda: (map(judgments[i].get, others[i]) for i in others),
            int(sizes[:, 1].sum()),
            "qrels",
        )
        grade = _merged(retrieved, grade, left)
        score = _merged(retrieved, score, np.full(len(left), np.inf))
        names = np.fromiter(chain.from_iterable(others.values()), object, len(left))
        documents = _merged(retrieved, documents, names)
    lists = Lists(sizes.sum(axis=1))
    if others:
        lowest = lists.min(score)
        below = np.nextafter(np.where(np.isfinite(lowest), lowest, 0.0), -np.inf)
        score = np.where(retrieved, score, lists.expand(below))
    labels = group_rows(np.fromiter(topics, object)).labels
    return RunRows(
        np.maximum(grade, 0.0),
        score,
        lists.expand(labels),
        retrieved,
        grade >= 0,
        documents,
    )


def _grades(judgments: Mapping, ranking: Mapping) -> Iterator:
    """Return the grades of a topic's documents, by rank."""
    return map(judgments.get, ranking, repeat(UNJUDGED))


def _numbers(topics: Callable[[], Iterable], n: int, name: str) -> Floats:
    """Return the n numbers of all topics, which each call of ``topics`` hands out."""
    # The plus refuses strings, which numpy would read as numbers.
    values = map(pos, chain.from_iterable(topics()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            numbers = np.fromiter(values, np.float64, n)
    except (TypeError, ValueError, OverflowError, np.exceptions.ComplexWarning):
        numbers = None
    # Integers beyond may not be exact; "less" is false for what is no number, too.
    if numbers is None or not np.abs(numbers).max(initial=0.0) < 2.0**53:
        return finite_column(list(chain.from_iterable(topics())), name)
    return numbers


def _not_retrieved(
    judgments: Sequence[Mapping],
    rankings: Sequence[Mapping],
    lengths: NDArray,
    grade: Floats,
) -> dict[int, list]:
    """Return documents that are judged and not ranked, by the number of the topic."""
    ends, unjudged = np.cumsum(lengths), np.flatnonzero(grade == UNJUDGED)
    first, last = np.searchsorted(unjudged, [ends - lengths, ends])
    n_found = lengths - (last - first)
    others = {}
    for i in np.flatnonzero(n_found < list(map(len, judgments))).tolist():
        others[i] = list(filterfalse(rankings[i].__contains__, judgments[i]))
    return others


def _merged(first: NDArray, one: NDArray, other: NDArray) -> NDArray:
    """Return values of rows of two kinds in the order of the rows."""
    values = np.empty(len(first), dtype=one.dtype)
    values[first], values[~first] = one, other
    return values
