"""Compare several rankers in one call: which is best, and how sure that is."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, column_or_1d, indexable

from skrank._data.checks import (
    as_written,
    check_count,
    count_of,
    finite_column,
    is_integer,
    refuse_lazy,
    refuse_misread,
)
from skrank._data.clusters import clusters_of_lists
from skrank._data.grouping import Grouping, group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Indices
from skrank.interop import as_ranker
from skrank.model_selection._comparison import Fold, Ranked, compare
from skrank.model_selection._named_metrics import list_metrics
from skrank.model_selection._ranker_comparison import RankerComparison
from skrank.model_selection._splitters import QueryKFold

DRAWN_BELOW = 2**31 - 1


@suggests_groups
def compare_rankers(
    rankers: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    cv: Any = 5,
    metrics: Any = ("ndcg@10", "err@10"),
    reference: str | None = None,
    n_repeats: int = 1,
    method: str = "randomization",
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    budget: float = np.inf,
    random_state: Any = None,
    clusters: Any = None,
) -> RankerComparison:
    """Fit rankers to the same folds of whole lists, and compare their metrics.

    The result prints as a table: mean over lists with its bootstrap interval, the
    difference from a reference list by list with interval and p value (Holm's
    correction over the rankers), and the time of the fits. Intervals and p values are
    conditional on the trained models: they hold for other test lists, not for other
    training data; ``n_repeats`` shows how much other folds change.

    Rankers whose routing asks for groups get them, also inside pipelines and searches.
    If a ranker raises or warns, the table says so, and the comparison goes on. All
    metrics of a ranker share one sort of its scores.

    Parameters
    ----------
    rankers : mapping of str to estimator, or sequence of estimator
        Anything with ``fit`` and ``predict``: rankers, regressors, pipelines,
        searches, and the rankers of LightGBM, XGBoost and CatBoost (see
        :class:`~skrank.interop.BoosterRanker`). Not changed. A sequence takes what
        they print as for names.
    X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Labels, higher is better; where 1 is the best, as places in a race, pass
        :func:`~skrank.interop.from_ranks` of them. A pandas object may have an index
        level named "groups".
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y``.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; a number means ``QueryKFold(cv, shuffle=True)``. No list may be cut. A
        splitter is given ``clusters`` in the place of groups where there are any.
    metrics : str, scorer, callable, or sequence or mapping of these, \
default=("ndcg@10", "err@10")
        Names of :func:`~skrank.metrics.metric_names`, such as "ndcg", "map" or
        "mrr", with a cut-off as in "ndcg@10"; scorers such as
        ``err_scorer(k=10, max_grade=2)``, for options ("err" takes grades up to 4);
        and functions ``metric(y, scores, groups)`` of one value a list, in the order
        of ``list_labels(groups)``, NaN where undefined.
    reference : str, default=None
        Name of the ranker that others are compared to; None takes the first.
    n_repeats : int, default=1
        How often to cut the data, by the seeds ``random_state``,
        ``random_state + 1``, ...; a list's value is then its mean.
    method : {"randomization", "t", "wilcoxon"}, default="randomization"
        Test of the differences, see :func:`~skrank.metrics.compare_scores`.
    confidence : float, default=0.95
        Confidence of the intervals.
    n_resamples : int, default=10000
        Number of random signs and of resampled means.
    budget : float, default=inf
        Seconds of fitting, all folds together, that a ranker may be expected to take
        by a trial on few lists; those expected to take more are left out.
    random_state : int, RandomState instance or None, default=None
        Seed of folds and resamples; None draws one.
    clusters : array-like of shape (n_rows,), default=None
        Label of each row's cluster, constant inside a list, where lists of one cluster
        depend on each other, as those of one user. Folds then keep clusters whole, and
        intervals and p values are by cluster, as in
        :func:`~skrank.metrics.compare_scores`. None makes each list one.

    Returns
    -------
    comparison : RankerComparison
        ``print(comparison)`` shows the table, ``to_frame()`` returns it, and
        ``results[name].values[metric]`` has one value a list.

    Raises
    ------
    ValueError
        If groups are missing or cut by ``cv``, clusters cut lists or are one alone,
        lengths differ, an argument is unknown, ``cv`` has nothing to repeat, or no
        metric applies to the labels.
    TypeError
        If ``cv`` or a metric is of a wrong type.

    See Also
    --------
    learning_curve : How much more lists help.
    skrank.metrics.compare_scores : The test.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank import RankNetRanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.model_selection import compare_rankers
    >>> X, y, groups = make_ranking(60, list_effect=3.0, random_state=0)
    >>> comparison = compare_rankers(
    ...     {"ridge": Ridge(), "ranknet": RankNetRanker()},
    ...     X, y, groups, metrics="ndcg@10", random_state=0,
    ... )
    >>> comparison.statistics("ndcg@10")["ranknet"].difference.p_holm < 0.01
    True
    """
    named = _named(rankers)
    if reference is not None and reference not in named:
        raise ValueError(
            f"reference must be one of {', '.join(named)}, got {reference!r}."
        )
    list_metric = list_metrics(metrics)
    check_count(n_repeats, "n_repeats")
    data = ranked_data(X, y, groups, "compare_rankers")
    seed = _seed_of(random_state)
    grouping = group_rows(data.groups)
    codes = None if clusters is None else clusters_of_lists(clusters, grouping)
    row_codes = (
        None if codes is None else grouping.scatter(grouping.lists.expand(codes))
    )
    folds = _repeated_folds(cv, data, int(n_repeats), seed, row_codes)
    comparison = compare(
        named,
        folds,
        list_metric,
        budget=budget,
        random_state=seed % 2**32,
        n_repeats=int(n_repeats),
    )
    if len(comparison.refused) == len(list_metric):
        raise ValueError(_no_metric(comparison.refused, data.y))
    comparison = replace(
        comparison,
        reference=reference,
        method=method,
        confidence=confidence,
        n_resamples=n_resamples,
        random_state=seed,
        clusters=None if codes is None else _of(comparison.lists, grouping, codes),
    )
    for metric in comparison.metrics:  # wrong options raise here
        comparison.statistics(metric)
    return comparison


def _seed_of(random_state: Any) -> int:
    """Return a seed from what scikit-learn takes as ``random_state``."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(DRAWN_BELOW))


def _repeated_folds(
    cv: Any, data: Ranked, n_repeats: int, seed: int, clusters: NDArray | None
) -> list[Fold]:
    """Return the folds of each repeat, which has a seed of its own."""
    folds = []
    for repeat in range(n_repeats):
        splitter = cv
        if is_integer(cv) or n_repeats > 1:
            splitter = _shuffled(cv, seed + repeat)
        folds += whole_folds(splitter, data, "compare_rankers", clusters)
    return folds


def ranked_data(X: Any, y: Any, groups: Any, function: str) -> Ranked:
    """Return features as they are, and checked labels and groups as arrays."""
    labels = find_groups(y, groups, function, "y")
    refuse_lazy(X, "X")
    refuse_misread(y, "y")
    X, column = indexable(X, column_or_1d(y))
    finite_column(column, "y")
    group_rows(labels, len(column))
    names, list_of_row = numbered_lists(labels)
    return Ranked(X, column, names[list_of_row])


def numbered_lists(groups: Any) -> tuple[NDArray, NDArray]:
    """Return the labels of lists, and each row's place among them."""
    grouping = group_rows(groups)
    return grouping.labels, grouping.list_of_rows()


def _of(lists: NDArray, grouping: Grouping, codes: Indices) -> Indices:
    """Return the clusters of lists that are given by their labels."""
    by_label = dict(zip(grouping.labels.tolist(), codes.tolist(), strict=True))
    return np.array([by_label[label] for label in lists.tolist()])


def whole_folds(
    cv: Any, data: Ranked, function: str, clusters: Indices | None = None
) -> list[Fold]:
    """Return the folds of a splitter or of pairs, none of which cuts a list.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        A number of folds is not shuffled.
    data : Ranked
        Data to cut.
    function : str
        The caller's name, for messages.
    clusters : ndarray of shape (n_rows,), default=None
        Clusters that a splitter keeps whole, instead of lists.
    """
    if is_integer(cv):
        cv = QueryKFold(int(cv))
    whole = data.groups if clusters is None else clusters
    if hasattr(cv, "split") and not isinstance(cv, str):
        with warnings.catch_warnings():
            # A splitter may ignore groups; whether it cuts lists is checked below.
            warnings.filterwarnings("ignore", "The groups parameter is ignored")
            splits = list(cv.split(data.X, data.y, whole))
    elif hasattr(cv, "__iter__") and not isinstance(cv, str):
        splits = cv
    else:
        raise TypeError(
            f"cv must be a number, a splitter or pairs of row numbers, got {cv!r}."
        )
    folds = []
    labels, of_row = numbered_lists(data.groups)
    for train, test in splits:
        fold = Fold(data, data, _rows(train), _rows(test))
        learned = np.zeros(len(labels), dtype=bool)
        learned[of_row[fold.train_rows]] = True
        tested = np.unique(of_row[fold.test_rows])
        both = tested[learned[tested]]
        if both.size:
            raise ValueError(
                f"{function}: cv puts rows of {count_of(both.size, 'list')} into "
                "training and test part alike, such as list "
                f"{as_written(labels[both[0]])}. Use QueryKFold or GroupKFold, which "
                "keep lists whole."
            )
        folds.append(fold)
    if not folds:
        raise ValueError(f"{function}: cv makes no folds.")
    return folds


def _rows(rows: Any) -> NDArray:
    """Return row numbers, also for a mask."""
    array = np.asarray(rows)
    return np.flatnonzero(array) if array.dtype.kind == "b" else array


def _shuffled(cv: Any, seed: int) -> Any:
    """Return a copy of a splitter with this seed."""
    if is_integer(cv):
        return QueryKFold(int(cv), shuffle=True, random_state=seed)
    if not hasattr(cv, "random_state") or not getattr(cv, "shuffle", True):
        raise ValueError(
            f"n_repeats needs a cv that draws its folds, got {cv!r}. Give a number, or "
            "a splitter such as QueryKFold(5, shuffle=True)."
        )
    cv = copy.copy(cv)
    cv.random_state = seed
    return cv


def _no_metric(refused: Mapping[str, str], y: NDArray) -> str:
    """Return the message for labels that no metric takes."""
    reasons = "; ".join(f"{name}: {why}" for name, why in refused.items())
    message = f"no metric applies to the labels. {reasons}"
    if y.min() < 0:
        message += ' For labels below 0 pass metrics=["pairwise_accuracy"].'
    return message


def _named(rankers: Any) -> dict[str, Any]:
    """Return rankers by name."""
    if not isinstance(rankers, Mapping):
        if hasattr(rankers, "fit"):
            rankers = [rankers]
        rankers = list(rankers)
        names = [" ".join(str(ranker).split()) for ranker in rankers]
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ValueError(
                f"rankers must have different names, but there are several "
                f"{twice[0]}. Pass a mapping from names to rankers."
            )
        rankers = dict(zip(names, rankers, strict=True))
    if not rankers:
        raise ValueError("rankers is empty; give at least one.")
    return {str(name): as_ranker(ranker) for name, ranker in rankers.items()}
