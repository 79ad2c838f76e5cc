"""Results of fitted models: named tuples of probabilities that are also tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import count_of
from skrank._data.html import Table, number_text, page_html, paragraph_html, table_html
from skrank._data.lists import Floats, Indices

SHOWN = 12  # rows shown in a notebook


class ProbaTable:
    """Mixin for named tuples of columns, which remember the labels of their rows."""

    _index: Any = None
    _labels: Mapping[str, Any] = {}
    _one_a_row = True  # not one entry a pair of rows

    def labelled(self, X: Any, **labels: Any) -> Self:
        """Return the result with row labels from the index of ``X``, if it has one.

        Other labels, such as groups, become columns in front.
        """
        self._index = X.index if hasattr(X, "iloc") else None
        self._labels = labels
        return self

    def _columns(self) -> dict[str, NDArray]:
        """Return the columns by name."""
        return self._asdict()  # type: ignore[attr-defined]

    def to_frame(self) -> Any:
        """Return the columns as a pandas frame, rows and groups labelled as in ``X``.

        Returns
        -------
        frame : DataFrame
            Indexed as ``X`` where that is a pandas frame.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        import pandas as pd

        labels = {name: list(column) for name, column in self._labels.items()}
        index = self._index if self._one_a_row else None
        return pd.DataFrame({**labels, **self._columns()}, index=index)

    def _repr_html_(self) -> str:
        columns = {**self._labels, **self._columns()}
        n_rows = len(self[0])  # type: ignore[index]
        rows = []
        for number in range(min(n_rows, SHOWN)):
            named = self._one_a_row and self._index is not None
            label = self._index[number] if named else number
            cells = [_cell(np.asarray(column)[number]) for column in columns.values()]
            rows.append([str(label), *cells])
        n_text = 1 + len(self._labels)
        table = Table(["", *columns], rows, n_text, type(self).__name__)
        more = ""
        if n_rows > SHOWN:
            more = f"{count_of(n_rows - SHOWN, 'more row')}: to_frame() has all."
        return page_html(table_html(table), paragraph_html(more))


def _cell(value: Any) -> str:
    """Return a number with four digits, anything else as text."""
    is_float = isinstance(value, float | np.floating)
    return number_text(float(value)) if is_float else str(value)


class _PairProba(NamedTuple):
    win: Floats
    tie: Floats


class PairProba(ProbaTable, _PairProba):
    """Probability that the first of two rows wins, and that they tie.

    Attributes
    ----------
    win : ndarray of shape (n_pairs,)
        The first row is ranked above the second.
    tie : ndarray of shape (n_pairs,)
        They tie; 0 in models without ties. The second row wins with the remaining
        probability.

    Examples
    --------
    >>> from skrank import RankNetRanker
    >>> X, y, groups = [[1.0], [0.0], [2.0], [1.0]], [1, 0, 0, 1], ["a", "a", "b", "b"]
    >>> ranker = RankNetRanker().fit(X, y, groups)
    >>> ranker.pairwise_proba([[1.0]], [[1.0]])
    PairProba(win=array([0.5]), tie=array([0.]))
    """


class _TopKProba(NamedTuple):
    probability: Floats
    standard_error: Floats


class TopKProba(ProbaTable, _TopKProba):
    """Probability of each row to be among the first k, with its standard error.

    Attributes
    ----------
    probability : ndarray of shape (n_rows,)
        Sums to min(k, n) in a list of n rows.
    standard_error : ndarray of shape (n_rows,)
        0 where the probability is exact to rounding (about 1e-14), positive where it
        is a share of draws.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> X, y, groups = [[1.0], [0.0], [2.0], [1.0]], [0, 0, 1, 0], ["a", "a", "b", "b"]
    >>> ranker = ListMLERanker(alpha=0.1).fit(X, y, groups)
    >>> ranker.top_k_proba(X, groups, k=1).standard_error
    array([0., 0., 0., 0.])
    """


class _TopKIntervals(NamedTuple):
    probability: Floats
    standard_error: Floats
    low: Floats
    high: Floats


class TopKIntervals(ProbaTable, _TopKIntervals):
    """Probability of each row to be among the first k, with its confidence interval.

    Attributes
    ----------
    probability : ndarray of shape (n_rows,)
        As ``top_k_proba`` gives it.
    standard_error : ndarray of shape (n_rows,)
        Of the probability, because coefficients are estimates; NaN where that of a
        coefficient in question is not known.
    low, high : ndarray of shape (n_rows,)
        Ends of the interval, between 0 and 1.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import summarize, top_k_intervals
    >>> X, y, groups = make_ranking(60, n_features=2, n_informative=2, random_state=0)
    >>> ranker = ListMLERanker(alpha=0).fit(X, y, groups)
    >>> summary = summarize(ranker, X, y, groups)
    >>> first = top_k_intervals(ranker, summary, X, groups)
    >>> bool((first.low < first.probability).all())
    True
    """


class _PairIntervals(NamedTuple):
    win: Floats
    win_low: Floats
    win_high: Floats
    tie: Floats
    tie_low: Floats
    tie_high: Floats


class PairIntervals(ProbaTable, _PairIntervals):
    """Probability that the first of two rows wins, and that they tie, with intervals.

    Attributes
    ----------
    win, tie : ndarray of shape (n_pairs,)
        As ``pairwise_proba`` gives them.
    win_low, win_high, tie_low, tie_high : ndarray of shape (n_pairs,)
        Ends of the intervals, between 0 and 1; NaN where the error of a coefficient in
        question is not known.

    Examples
    --------
    >>> from skrank import RankNetRanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import pairwise_intervals, summarize
    >>> X, y, groups = make_ranking(60, n_features=2, n_informative=2, random_state=0)
    >>> ranker = RankNetRanker(alpha=0).fit(X, y, groups)
    >>> summary = summarize(ranker, X, y, groups)
    >>> pairs = pairwise_intervals(ranker, summary, X[:5], X[5:10])
    >>> bool((pairs.win_low < pairs.win).all())
    True
    """


class _ExpectedLevel(NamedTuple):
    value: Floats
    standard_error: Floats


class ExpectedLevel(ProbaTable, _ExpectedLevel):
    """Expected level of each row inside its list, 1 the best, with its standard error.

    Attributes
    ----------
    value : ndarray of shape (n_rows,)
        Expected levels.
    standard_error : ndarray of shape (n_rows,)
        0 where the value is exact, positive where it is a mean of draws.

    Examples
    --------
    >>> from skrank import PMOPRanker
    >>> X, y, groups = [[1.0], [0.0], [2.0], [1.0]], [1, 0, 1, 0], ["a", "a", "b", "b"]
    >>> level = PMOPRanker().fit(X, y, groups).expected_level(X, groups)
    >>> bool(level.value[0] < level.value[1])
    True
    """


def _labels_of_pairs(pairs: Any) -> dict[str, NDArray]:
    """Return the two rows of each pair, by their labels if there are some."""
    first, second = pairs.first, pairs.second
    if pairs._index is not None:
        first, second = pairs._index[first], pairs._index[second]
    return {"first": first, "second": second}


def _columns_of_outcomes(numbers: dict[str, Floats]) -> dict[str, NDArray]:
    """Return columns for each outcome of pairs, named by outcome and kind of number."""
    return {
        f"{outcome}{kind}": values[:, place]
        for place, outcome in enumerate(("win", "tie", "lose"))
        for kind, values in numbers.items()
    }


class _ListPairProba(NamedTuple):
    first: Indices
    second: Indices
    proba: Floats
    standard_error: Floats


class ListPairProba(ProbaTable, _ListPairProba):
    """Probabilities that rows win, tie or lose against each other row of their list.

    Attributes
    ----------
    first, second : ndarray of shape (n_pairs,)
        Row numbers of each pair, each pair once.
    proba : ndarray of shape (n_pairs, 3)
        Probabilities that the first wins, that they tie, and that the second wins.
    standard_error : ndarray of shape (n_pairs, 3)
        0 where the probabilities are exact, else of a share of draws.

    Examples
    --------
    >>> from skrank import PMOPRanker
    >>> X, y, groups = [[1.0], [0.0], [2.0], [1.0]], [1, 0, 1, 0], ["a", "a", "b", "b"]
    >>> pairs = PMOPRanker().fit(X, y, groups).pairwise_proba(X, groups)
    >>> pairs.first, pairs.second
    (array([0, 2]), array([1, 3]))
    >>> bool(pairs.proba[0, 0] > pairs.proba[0, 2])
    True
    """

    _one_a_row = False

    def _columns(self) -> dict[str, NDArray]:
        """Return one column a number, and rows by their labels."""
        return {
            **_labels_of_pairs(self),
            **_columns_of_outcomes({"": self.proba}),
            **_columns_of_outcomes({"_error": self.standard_error}),
        }


class _ListPairIntervals(NamedTuple):
    first: Indices
    second: Indices
    proba: Floats
    low: Floats
    high: Floats


class ListPairIntervals(ProbaTable, _ListPairIntervals):
    """Probabilities of rows against each other row of their list, with intervals.

    Attributes
    ----------
    first, second : ndarray of shape (n_pairs,)
        Row numbers of each pair, each pair once.
    proba : ndarray of shape (n_pairs, 3)
        Probabilities that the first wins, that they tie, and that the second wins.
    low, high : ndarray of shape (n_pairs, 3)
        Ends of the intervals, between 0 and 1; NaN where the error of a coefficient in
        question is not known.

    Examples
    --------
    >>> from skrank import PMOPRanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import pairwise_intervals, summarize
    >>> X, y, groups = make_ranking(60, n_features=2, n_informative=2, random_state=0)
    >>> ranker = PMOPRanker(alpha=0).fit(X, y, groups)
    >>> summary = summarize(ranker, X, y, groups)
    >>> pairs = pairwise_intervals(ranker, summary, X[:3], groups=[7, 7, 7])
    >>> pairs.low.shape
    (3, 3)
    """

    _one_a_row = False

    def _columns(self) -> dict[str, NDArray]:
        """Return one column a number, and rows by their labels."""
        numbers = {"": self.proba, "_low": self.low, "_high": self.high}
        return {**_labels_of_pairs(self), **_columns_of_outcomes(numbers)}
