"""Compare rankers: the same lists, one value a list, time and warnings of each."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank._data.checks import equally_long, finite_column
from skrank._data.grouping import Grouping, group_rows
from skrank._data.lists import Floats
from skrank._kernels.metrics import best_first
from skrank.metrics import list_labels
from skrank.metrics._scorers import predicted
from skrank.model_selection._named_metrics import Metric
from skrank.model_selection._ranker_comparison import RankerComparison
from skrank.model_selection._result import RankerResult, mean_of_defined
from skrank.model_selection._trials import over_budget, too_slow


class Ranked(NamedTuple):
    """Features, labels and groups of the same rows."""

    X: Any
    y: NDArray
    groups: NDArray

    def take(self, rows: NDArray) -> Ranked:
        """Return some of the rows, copied."""
        return Ranked(_safe_indexing(self.X, rows), self.y[rows], self.groups[rows])


@dataclass(frozen=True)
class Fold:
    """A training and a test part, not copied before ``parts`` is called.

    Attributes
    ----------
    train, test : Ranked
        Data that hold the rows of the fold.
    train_rows, test_rows : ndarray of int or None
        The rows that belong to it; None takes all.
    """

    train: Ranked
    test: Ranked
    train_rows: NDArray | None = None
    test_rows: NDArray | None = None

    def parts(self) -> tuple[Ranked, Ranked]:
        """Return the training and the test part."""
        train, test = self.train, self.test
        if self.train_rows is not None:
            train = train.take(self.train_rows)
        if self.test_rows is not None:
            test = test.take(self.test_rows)
        return train, test


class SharedSort:
    """Test lists, sorted once for each ranking, so that all metrics share the sort.

    Every metric sorts the rows of each list, which takes hardly any time if they are
    sorted already. Tied rows keep their order.

    Parameters
    ----------
    test : Ranked
        Labels and groups of the rows.

    Attributes
    ----------
    labels : ndarray of shape (n_lists,)
        Group labels, in the order of values that metrics return.
    y, groups : ndarray of shape (n_rows,)
        Labels and groups, the rows of each list together.
    """

    def __init__(self, test: Ranked) -> None:
        self._grouping = group_rows(test.groups, len(test.y))
        self.labels = list_labels(test.groups)
        self.y = self._grouping.gather(test.y)
        self.groups = self._grouping.gather(test.groups)

    def best_first(self, scores: Any) -> tuple[NDArray, Floats, NDArray]:
        """Return labels, scores and groups, the rows of each list by score."""
        column = finite_column(scores, "the scores of predict")
        equally_long(self.y, column, ("y", "the scores of predict"))
        column = self._grouping.gather(column)
        order = best_first(column, self._grouping.lists.offsets)
        return self.y[order], column[order], self.groups


def cut_folds(data: Ranked, splitter: Any) -> list[Fold]:
    """Return the folds that a splitter of scikit-learn makes of the data."""
    splits = splitter.split(data.X, data.y, data.groups)
    return [Fold(data, data, train, test) for train, test in splits]


def compare(
    rankers: Mapping[str, Any],
    folds: Sequence[Fold],
    metrics: Mapping[str, Metric],
    *,
    transformer: Any = None,
    as_they_are: Collection[str] = (),
    learned: Callable[[Any], None] | None = None,
    budget: float = np.inf,
    progress: Callable[[int, str], None] | None = None,
    random_state: int = 0,
    n_repeats: int = 1,
) -> RankerComparison:
    """Fit every ranker to every fold and return one value a test list.

    A ranker that raises has no values; the others go on.

    Parameters
    ----------
    rankers : mapping of str to estimator
        Anything with ``fit`` and ``predict``: rankers, regressors, pipelines,
        searches. Groups go to those whose routing asks for them. Not changed.
    folds : sequence of Fold
        Training and test parts.
    metrics : mapping of str to callable
        ``metric(y, scores, groups)`` returns one value a list, in the order of
        :func:`~skrank.metrics.list_labels`, and raises ValueError for labels to
        which it does not apply.
    transformer : transformer, default=None
        Fitted to features and labels of each training part, for all rankers alike;
        not timed. It must not change the features in place if there are rankers in
        ``as_they_are``.
    as_they_are : collection of str, default=()
        Names of rankers that get features as they are, without the transformer.
    learned : callable, default=None
        Called with the fitted transformer of each fold.
    budget : float, default=inf
        Seconds of fitting, all folds together, that a ranker may be expected to
        take; those expected to take more are left out.
    progress : callable, default=None
        Called with the number of the fold and the name of the ranker before a fit.
    random_state : int, default=0
        Draws the lists of trial fits.
    n_repeats : int, default=1
        Number of cuts into folds; the folds of a cut stand together, and each
        has as many.

    Returns
    -------
    comparison : RankerComparison
        Values, times and warnings of each ranker.
    """
    results = {name: RankerResult() for name in rankers}
    values: dict[str, dict[str, list[Floats]]] = {name: {} for name in rankers}
    lists: list[NDArray] = []
    refused: dict[str, str] = {}
    # Pipelines and searches pass groups on only while routing is on.
    with sklearn.config_context(enable_metadata_routing=True):
        for number, fold in enumerate(folds):
            train, test = raw = fold.parts()
            if transformer is not None:
                fitted = clone(transformer)
                train = train._replace(X=fitted.fit_transform(train.X, train.y))
                test = test._replace(X=fitted.transform(test.X))
                if learned is not None:
                    learned(fitted)
            shared = SharedSort(test)
            lists.append(shared.labels)
            refused |= _refusals(metrics, shared)
            applicable = {
                name: metrics[name] for name in metrics if name not in refused
            }
            for name, ranker in rankers.items():
                result = results[name]
                if result.problem is not None:
                    continue
                if progress is not None:
                    progress(number, name)
                data_of_fit = raw if name in as_they_are else (train, test)
                if number == 0:
                    result.problem = too_slow(
                        partial(_seconds_of_fit, ranker),
                        data_of_fit[0],
                        budget,
                        len(folds),
                        random_state,
                    )
                if result.problem is None:
                    scores = _scores(ranker, *data_of_fit, result)
                if result.problem is None:
                    _measure(applicable, shared, scores, values[name], result)
                if number == 0 and len(folds) > 1 and result.problem is None:
                    result.problem = over_budget(
                        f"the first of {len(folds)} fits",
                        result.seconds[0],
                        result.seconds[0] * len(folds),
                        budget,
                    )
    return _joined(results, values, lists, refused, n_repeats)


def _joined(
    results: dict[str, RankerResult],
    values: Mapping[str, Mapping[str, list[Floats]]],
    lists: list[NDArray],
    refused: dict[str, str],
    n_repeats: int,
) -> RankerComparison:
    """Join the values of all folds to one value a list.

    ``values`` has one array a fold, by ranker and metric, and ``lists`` the labels of
    their lists; the folds of a repeat stand together.
    """
    tests = group_rows(np.concatenate(lists))
    of_test = np.concatenate(
        [np.full(len(part), number) for number, part in enumerate(lists)]
    )
    repeat = of_test // max(len(lists) // n_repeats, 1)
    for name, result in results.items():
        if result.problem is not None:
            continue
        for metric, parts in values[name].items():
            if metric not in refused:
                column = np.concatenate(parts)
                result.values[metric] = _mean_of_tests(column, tests)
                result.repeat_means[metric] = [
                    mean_of_defined(column[repeat == number])
                    for number in range(n_repeats)
                ]
    return RankerComparison(results, _sorted_labels(tests), refused)


def _mean_of_tests(values: Floats, tests: Grouping) -> Floats:
    """Return one value a list, the mean of those of each test where it is defined."""
    ordered = tests.gather(values)
    defined = ~np.isnan(ordered)
    total = tests.lists.sum(np.where(defined, ordered, 0.0))
    count = tests.lists.sum(defined.astype(np.float64))
    means = np.full(len(count), np.nan)
    np.divide(total, count, out=means, where=count > 0)
    order = tests.label_order()
    return means if order is None else means[order]


def _sorted_labels(tests: Grouping) -> NDArray:
    order = tests.label_order()
    return tests.labels if order is None else tests.labels[order]


def _refusals(metrics: Mapping[str, Metric], test: SharedSort) -> dict[str, str]:
    """Return why metrics do not apply to these labels, whatever the scores."""
    refused = {}
    scores = np.zeros(len(test.y))
    for name, function in metrics.items():
        try:
            _one_a_list(function(test.y, scores, test.groups), name, test)
        except ValueError as error:
            refused[name] = one_line(error)
    return refused


def _scores(ranker: Any, train: Ranked, test: Ranked, result: RankerResult) -> Any:
    """Fit a ranker and return its scores; add time and warnings to ``result``."""
    scores = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted, seconds = _timed_fit(ranker, train)
            result.seconds.append(seconds)
            scores = predicted(fitted, test.X, {"groups": test.groups})
        except Exception as error:
            result.problem = f"failed: {one_line(error)}"
    _note_warnings(caught, result.warnings)
    return scores


def _measure(
    metrics: Mapping[str, Metric],
    test: SharedSort,
    scores: Any,
    values: dict[str, list[Floats]],
    result: RankerResult,
) -> None:
    """Add the values of all metrics; scores that are not numbers are a failure."""
    try:
        ranking = test.best_first(scores)
        for name, metric in metrics.items():
            column = _one_a_list(metric(*ranking), name, test)
            values.setdefault(name, []).append(column)
    except ValueError as error:
        result.problem = f"failed: {one_line(error)}"


def _one_a_list(values: Any, metric: str, test: SharedSort) -> Floats:
    """Check that a metric returned one value a list, and return these as a column."""
    column = np.asarray(values, dtype=np.float64)
    if column.shape != test.labels.shape:
        raise ValueError(
            f"metric {metric!r} must return one value per list, got shape "
            f"{column.shape} for {len(test.labels)} lists."
        )
    return column


def _timed_fit(ranker: Any, train: Ranked) -> tuple[Any, float]:
    """Return a fitted copy and the seconds that ``fit`` took."""
    ranker = clone(ranker)
    groups = groups_for(ranker, "fit", train)
    start = time.perf_counter()
    ranker.fit(train.X, train.y, **groups)
    return ranker, time.perf_counter() - start


def _seconds_of_fit(ranker: Any, train: Ranked) -> float:
    return _timed_fit(ranker, train)[1]


def groups_for(ranker: Any, method: str, data: Ranked) -> dict[str, Any]:
    """Return the groups as a keyword if the ranker's method asks for them."""
    asked = get_routing_for_object(ranker).consumes(method, ["groups"])
    return {"groups": data.groups} if asked else {}


def _note_warnings(caught: list[warnings.WarningMessage], notes: dict[str, int]):
    """Count the fits that gave each kind of warning; numbers in it do not matter."""
    kinds = {re.sub(r"[\d.]+", "#", text): text for text in notes}
    for kind, text in {
        re.sub(r"[\d.]+", "#", text): text
        for text in (one_line(entry.message) for entry in caught)
    }.items():
        text = kinds.get(kind, text)
        notes[text] = notes.get(text, 0) + 1


def one_line(message: Any) -> str:
    """Return the text of an error or a warning on one line."""
    return " ".join(str(message).split()) or type(message).__name__
