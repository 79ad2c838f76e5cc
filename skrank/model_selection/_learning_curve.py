"""Learning curves: scores of a ranker by the number of its training lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from skrank._data.groups import suggests_groups
from skrank._data.lists import Floats, Indices
from skrank.metrics import RankingScorer, make_ranking_scorer
from skrank.metrics._registry import named_scorer
from skrank.model_selection._compare_rankers import (
    numbered_lists,
    ranked_data,
    whole_folds,
)
from skrank.model_selection._comparison import Ranked, groups_for


@suggests_groups
def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    train_sizes: ArrayLike = (0.1, 0.325, 0.55, 0.775, 1.0),
    cv: Any = 5,
    scoring: Any = None,
    shuffle: bool = True,
    random_state: Any = None,
) -> tuple[Indices, Floats, Floats]:
    """Score a ranker that learns from more and more whole lists.

    scikit-learn's function of this name takes the first rows of a training part, and
    so thins or cuts lists. Here each size adds whole lists to those of the size
    before.

    Parameters
    ----------
    estimator : estimator
        A ranker, regressor, pipeline or search. Not changed.
    X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Labels; a pandas object may have an index level named "groups".
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y``.
    train_sizes : array-like of shape (n_sizes,), \
default=(0.1, 0.325, 0.55, 0.775, 1.0)
        Numbers of lists, or shares of those of the smallest training part.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; a number means ``QueryKFold(cv)``. No list may be cut.
    scoring : str or callable, default=None
        Name of a metric, see :func:`~skrank.metrics.metric_names`, with a cut-off as
        in "ndcg@10"; a scorer; or a function ``metric(y, scores, groups)`` that
        returns a number; None takes the estimator's ``score``.
    shuffle : bool, default=True
        Add lists in random order; otherwise as they stand in the data.
    random_state : int, RandomState instance or None, default=None
        Seed for ``shuffle=True``.

    Returns
    -------
    train_sizes_abs : ndarray of int of shape (n_sizes,)
        Numbers of lists, increasing, each once.
    train_scores, test_scores : ndarray of shape (n_sizes, n_folds)
        Scores on the lists learned from, and on the lists of the test part.

    Raises
    ------
    ValueError
        If groups are missing or cut by ``cv``, lengths differ, or ``train_sizes`` are
        not between 1 list and those of the smallest training part.
    TypeError
        If ``cv`` or ``scoring`` is of a wrong type.

    See Also
    --------
    compare_rankers : Which of several rankers does best.

    Examples
    --------
    >>> from skrank import RankNetRanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.model_selection import learning_curve
    >>> X, y, groups = make_ranking(60, n_features=20, random_state=0)
    >>> sizes, train_scores, test_scores = learning_curve(
    ...     RankNetRanker(), X, y, groups, train_sizes=[5, 45], cv=4, random_state=0
    ... )
    >>> sizes
    array([ 5, 45])
    >>> bool(test_scores[1].mean() > test_scores[0].mean())
    True
    """
    scorer = _scorer(scoring)
    data = ranked_data(X, y, groups, "learning_curve")
    folds = whole_folds(cv, data, "learning_curve")
    rng = check_random_state(random_state)
    _, of_row = numbered_lists(data.groups)
    added = []
    for fold in folds:
        lists, first = np.unique(of_row[fold.train_rows], return_index=True)
        lists = lists[np.argsort(first)]
        added.append(rng.permutation(lists) if shuffle else lists)
    sizes = _sizes(train_sizes, min(map(len, added)))
    scores = np.empty((2, len(sizes), len(folds)))
    # Pipelines and searches pass groups on only while routing is on.
    with sklearn.config_context(enable_metadata_routing=True):
        for column, (fold, lists) in enumerate(zip(folds, added, strict=True)):
            whole, test = fold.parts()
            of_whole = of_row[fold.train_rows]
            for row, size in enumerate(sizes):
                train = whole.take(np.isin(of_whole, lists[:size]))
                model = clone(estimator)
                model.fit(train.X, train.y, **groups_for(model, "fit", train))
                scores[:, row, column] = [
                    _score(scorer, model, part) for part in (train, test)
                ]
    return sizes, scores[0], scores[1]


def _score(scorer: Any, model: Any, data: Ranked) -> float:
    """Return the score of a fitted model; pass groups if it requests them."""
    if scorer is None:
        return model.score(data.X, data.y, **groups_for(model, "score", data))
    return scorer(model, data.X, data.y, **groups_for(scorer, "score", data))


def _scorer(scoring: Any) -> Any:
    """Return a scorer, or None for the estimator's own."""
    if scoring is None or isinstance(scoring, RankingScorer):
        return scoring
    if isinstance(scoring, str):
        return named_scorer(scoring)
    if not callable(scoring):
        raise TypeError(f"scoring must be a name or a scorer, got {scoring!r}.")
    return (
        scoring
        if hasattr(scoring, "get_metadata_routing")
        else make_ranking_scorer(scoring)
    )


def _sizes(train_sizes: ArrayLike, largest: int) -> NDArray:
    """Return numbers of lists, increasing."""
    sizes = np.asarray(train_sizes)
    if sizes.ndim != 1 or sizes.size == 0 or sizes.dtype.kind not in "iuf":
        raise ValueError(
            f"train_sizes must be numbers of lists or shares, got {train_sizes!r}."
        )
    if sizes.dtype.kind == "f":
        if not (sizes.min() > 0 and sizes.max() <= 1):
            raise ValueError(
                "train_sizes must be shares above 0 and at most 1, or integers, got "
                f"{sizes}."
            )
        sizes = np.maximum((sizes * largest + 1e-9).astype(np.intp), 1)
    if sizes.min() < 1 or sizes.max() > largest:
        raise ValueError(
            f"train_sizes must be from 1 to {largest} lists, those of the smallest "
            f"training part, got {sizes}."
        )
    return np.unique(sizes).astype(np.intp)
