"""Compare rankers: the same lists, one value a list, time and warnings of each."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank._groups import group_rows
from skrank._lists import Floats
from skrank.metrics import list_labels

Metric = Callable[[Any, Floats, Any], Floats]
SAMPLE = 50  # lists of the first trial fit
GROWTH = 4  # lists of the next trial fit, in those of the last
ENOUGH = 1 / 20  # share of the budget that a trial must take to be believed


class Ranked(NamedTuple):
    """Features, labels and groups of the same rows."""

    X: Any
    y: NDArray
    groups: NDArray

    def take(self, rows: NDArray) -> Ranked:
        """Return some of the rows, copied."""
        return Ranked(self.X[rows], self.y[rows], self.groups[rows])


@dataclass(frozen=True)
class Fold:
    """What to learn from and what to rank, not cut out before ``parts`` is called.

    Attributes
    ----------
    train, test : Ranked
        Data of which the fold is made.
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


@dataclass
class RankerResult:
    """How one ranker did.

    Attributes
    ----------
    values : dict of str to ndarray of shape (n_test_lists,)
        Per metric one value a test list, NaN where undefined, in the order of
        ``Comparison.lists``. Empty where ``problem`` says why.
    seconds : list of float
        Time of each fit.
    warnings : dict of str to int
        Text of each kind of warning, and the number of fits that gave it.
    problem : str or None
        Why the ranker has no values.
    """

    values: dict[str, Any] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    warnings: dict[str, int] = field(default_factory=dict)
    problem: str | None = None

    def mean(self, metric: str) -> float:
        """Return the mean over the lists where the metric is defined, else NaN."""
        values = self.values.get(metric, np.empty(0))
        values = values[~np.isnan(values)]
        return float(values.mean()) if values.size else float("nan")


@dataclass
class Comparison:
    """How several rankers did on the same lists.

    Attributes
    ----------
    results : dict of str to RankerResult
        By name, in the order given.
    lists : ndarray of shape (n_test_lists,)
        Label of each test list, fold after fold.
    refused : dict of str to str
        Metrics that do not apply to the labels, and why.
    """

    results: dict[str, RankerResult]
    lists: NDArray
    refused: dict[str, str]


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
    budget: float = np.inf,
    progress: Callable[[int, str], None] | None = None,
    random_state: int = 0,
) -> Comparison:
    """Fit every ranker to every fold and return one value a test list.

    A ranker that raises has no values; the others go on.

    Parameters
    ----------
    rankers : mapping of str to estimator
        Anything with ``fit`` and ``predict``: rankers, regressors, pipelines,
        searches. Groups go to those whose routing asks for them. Not changed.
    folds : sequence of Fold
        What to learn from and what to rank.
    metrics : mapping of str to callable
        ``metric(y, scores, groups)`` returns one value a list, in the order of
        :func:`~skrank.metrics.list_labels`, and raises ValueError for labels to
        which it does not apply.
    transformer : transformer, default=None
        Fitted to each training part, for all rankers alike; not timed.
    budget : float, default=inf
        Seconds of fitting, all folds together, that a ranker may be expected to
        take; those expected to take more are left out.
    progress : callable, default=None
        Called with the number of the fold and the name of the ranker before a fit.
    random_state : int, default=0
        Draws the lists of trial fits.

    Returns
    -------
    comparison : Comparison
        Values, times and warnings of each ranker.
    """
    results = {name: RankerResult() for name in rankers}
    lists: list[NDArray] = []
    refused: dict[str, str] = {}
    # Pipelines and searches hand groups on only while routing is on.
    with sklearn.config_context(enable_metadata_routing=True):
        for number, fold in enumerate(folds):
            train, test = _transformed(transformer, *fold.parts())
            lists.append(list_labels(test.groups))
            refused |= _refusals(metrics, test)
            applicable = {
                name: metrics[name] for name in metrics if name not in refused
            }
            for name, ranker in rankers.items():
                result = results[name]
                if result.problem is not None:
                    continue
                if progress is not None:
                    progress(number, name)
                if number == 0:
                    result.problem = _too_slow(
                        ranker, train, budget, len(folds), random_state
                    )
                if result.problem is None:
                    _run(ranker, train, test, applicable, result)
                if number == 0 and len(folds) > 1 and result.problem is None:
                    result.problem = _over_budget(
                        f"the first of {len(folds)} fits",
                        result.seconds[0],
                        result.seconds[0] * len(folds),
                        budget,
                    )
    for result in results.values():
        complete = result.problem is None
        result.values = {
            metric: np.concatenate(parts)
            for metric, parts in result.values.items()
            if complete and metric not in refused
        }
    return Comparison(results, np.concatenate(lists), refused)


def _transformed(
    transformer: Any, train: Ranked, test: Ranked
) -> tuple[Ranked, Ranked]:
    """Return both parts with features transformed as the training part teaches."""
    if transformer is None:
        return train, test
    fitted = clone(transformer).fit(train.X)
    return (
        train._replace(X=fitted.transform(train.X)),
        test._replace(X=fitted.transform(test.X)),
    )


def _refusals(metrics: Mapping[str, Metric], test: Ranked) -> dict[str, str]:
    """Return why metrics do not apply to these labels, whatever the scores."""
    refused = {}
    scores = np.zeros(len(test.y))
    for name, function in metrics.items():
        try:
            function(test.y, scores, test.groups)
        except ValueError as error:
            refused[name] = _one_line(error)
    return refused


def _run(
    ranker: Any,
    train: Ranked,
    test: Ranked,
    metrics: Mapping[str, Metric],
    result: RankerResult,
) -> None:
    """Fit and score one ranker; what comes of it goes to ``result``."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted, seconds = _timed_fit(ranker, train)
            result.seconds.append(seconds)
            scores = fitted.predict(test.X, **_groups_for(fitted, "predict", test))
            for name, metric in metrics.items():
                values = metric(test.y, scores, test.groups)
                result.values.setdefault(name, []).append(values)
        except Exception as error:
            result.problem = f"failed: {_one_line(error)}"
    _note_warnings(caught, result.warnings)


def _timed_fit(ranker: Any, train: Ranked) -> tuple[Any, float]:
    """Return a fitted copy and the seconds that ``fit`` took."""
    ranker = clone(ranker)
    groups = _groups_for(ranker, "fit", train)
    start = time.perf_counter()
    ranker.fit(train.X, train.y, **groups)
    return ranker, time.perf_counter() - start


def _groups_for(ranker: Any, method: str, data: Ranked) -> dict[str, Any]:
    """Return the groups as a keyword if the ranker's method asks for them."""
    asked = get_routing_for_object(ranker).consumes(method, ["groups"])
    return {"groups": data.groups} if asked else {}


def _note_warnings(caught: list[warnings.WarningMessage], notes: dict[str, int]):
    """Count the fits that gave each kind of warning, whatever its numbers."""
    kinds = {re.sub(r"[\d.]+", "#", text): text for text in notes}
    for kind, text in {
        re.sub(r"[\d.]+", "#", text): text
        for text in (_one_line(entry.message) for entry in caught)
    }.items():
        text = kinds.get(kind, text)
        notes[text] = notes.get(text, 0) + 1


def _too_slow(
    ranker: Any, train: Ranked, budget: float, n_fits: int, random_state: int
) -> str | None:
    """Say why a ranker is expected to take longer than the budget, if it is.

    Fits some whole lists and multiplies by the ratio of rows or of pairs, whichever
    is larger. A trial that says no is repeated; if it was short, on more lists too.
    """
    if not np.isfinite(budget):
        return None
    grouping = group_rows(train.groups)
    sizes = grouping.lists.sizes.astype(np.float64)
    n_lists = len(sizes)
    of_row = grouping.scatter(grouping.lists.expand(np.arange(n_lists)))
    order = np.random.RandomState(random_state).permutation(n_lists)
    n_sample = min(SAMPLE, -(-n_lists // 10))
    while n_sample < n_lists:
        chosen = np.zeros(n_lists, dtype=bool)
        chosen[order[:n_sample]] = True
        part = sizes[chosen]
        factor = sizes.sum() / part.sum()
        if (part > 1).any():
            factor = max(
                factor, (sizes * (sizes - 1)).sum() / (part * (part - 1)).sum()
            )
        part_of_train = train.take(chosen[of_row])
        problem, fastest = None, np.inf
        for _ in range(2):  # a first fit may pay for what is set up once
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    seconds = _timed_fit(ranker, part_of_train)[1]
            except Exception:
                return None  # the fit to all rows will tell
            fastest = min(fastest, seconds)
            problem = _over_budget(
                f"a fit to {n_sample} of {n_lists} lists",
                fastest,
                fastest * factor * n_fits,
                budget,
            )
            if problem is None:
                return None
        if fastest >= budget * ENOUGH:
            return problem
        n_sample *= GROWTH
    return None


def _over_budget(
    trial: str, seconds: float, expected: float, budget: float
) -> str | None:
    """Say that all fits would take longer than the budget, if so."""
    if expected <= budget:
        return None
    return (
        f"skipped: {trial} took {seconds:.3g} s, so the row could take up to about "
        f"{expected:.3g} s, over the budget of {budget:g} s"
    )


def _one_line(message: Any) -> str:
    """Return the text of an error or a warning on one line."""
    return " ".join(str(message).split()) or type(message).__name__
