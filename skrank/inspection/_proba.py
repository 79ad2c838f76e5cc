"""Probabilities of pipelines and searches in one call, and intervals around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import check_count
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.warnings import warn
from skrank._probability.fit_summary import FitSummary
from skrank._probability.intervals import list_pair_intervals, pair_intervals
from skrank._probability.intervals import top_k_intervals as intervals_of_first
from skrank._probability.restraints import RIDGE
from skrank._probability.results import (
    ListPairIntervals,
    ListPairProba,
    PairIntervals,
    PairProba,
    TopKIntervals,
    TopKProba,
)
from skrank.inspection._models import transformed


@suggests_groups
def top_k_proba(
    estimator: Any, X: Any, groups: Any = None, k: int = 1, **options: Any
) -> TopKProba:
    """Return the probability of each row to be among the first k of its list.

    As ``top_k_proba`` of the ranker, also for a pipeline: the steps before the ranker
    transform ``X``, and groups go to those that ask for them.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker that has ``top_k_proba``, a pipeline that ends in one, or a
        fitted search over such.
    X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
        Features of whole lists, as the estimator takes them.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``X``.
    k : int, default=1
        How many rows count as first: 1 asks who comes first.
    **options
        Handed on: ``n_samples``, ``random_state``, ``offset``.

    Returns
    -------
    proba : TopKProba
        ``to_frame()`` has the index of ``X`` and the groups.

    Raises
    ------
    TypeError
        If the ranker has no ``top_k_proba``.
    ValueError
        As ``top_k_proba`` of the ranker.

    See Also
    --------
    top_k_intervals : The same with confidence intervals.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import top_k_proba
    >>> X, y, groups = make_ranking(20, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), ListMLERanker())
    >>> pipeline = pipeline.fit(X, y, listmleranker__groups=groups)
    >>> proba = top_k_proba(pipeline, X, groups, k=3)
    >>> float(proba.probability[groups == groups[0]].sum().round(9))
    3.0
    """
    groups = find_groups(X, groups, "top_k_proba", "X")
    model, features = _model_and_features(estimator, X, groups, "top_k_proba")
    proba = model.top_k_proba(features, groups, k, **options)
    return _indexed(proba, X)


@suggests_groups
def stage_proba(
    estimator: Any, X: Any, y: Any, groups: Any = None, **options: Any
) -> Any:
    """Return the probability of each row's pick, at the stage when it was picked.

    As ``stage_proba`` of the ranker, also for a pipeline.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker that has ``stage_proba``, a pipeline that ends in one, or a
        fitted search over such.
    X, y, groups : array-like
        Features, labels and groups of whole lists, as the estimator takes them.
    **options
        Handed on: ``full``, ``offset``.

    Returns
    -------
    proba : ndarray of shape (n_rows,) or list of ndarray
        As the ranker returns them.

    Raises
    ------
    TypeError
        If the ranker has no ``stage_proba``.
    ValueError
        As ``stage_proba`` of the ranker.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import stage_proba
    >>> X, y, groups = make_ranking(20, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), ListMLERanker())
    >>> pipeline = pipeline.fit(X, y, listmleranker__groups=groups)
    >>> stage_proba(pipeline, X, y, groups).shape == y.shape
    True
    """
    groups = find_groups(y, groups, "stage_proba", "y")
    model, features = _model_and_features(estimator, X, groups, "stage_proba")
    return model.stage_proba(features, np.asanyarray(y), groups, **options)


@suggests_groups
def pairwise_proba(
    estimator: Any, X_a: Any, X_b: Any = None, *, groups: Any = None, **options: Any
) -> PairProba | ListPairProba:
    """Return the probability that rows beat other rows.

    As ``pairwise_proba`` of the ranker, also for a pipeline.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker that has ``pairwise_proba``, a pipeline that ends in one, or a
        fitted search over such.
    X_a, X_b : {array-like, sparse matrix, dataframe} of shape (n_pairs, n_features)
        Features of the first and of the second row of each pair, as the estimator
        takes them. Models of partitions, such as ``PMOPRanker``, take whole lists:
        ``X_a`` alone, with ``groups``.
    groups : array-like of shape (n_rows,), default=None
        Group labels of whole lists, for models of partitions.
    **options
        Handed on to models of partitions: ``n_samples``, ``random_state``, ``offset``.

    Returns
    -------
    proba : PairProba or ListPairProba
        ``to_frame()`` has the index of ``X_a``.

    Raises
    ------
    TypeError
        If the ranker has no ``pairwise_proba``, or steps need groups of pairs.
    ValueError
        As ``pairwise_proba`` of the ranker.

    See Also
    --------
    pairwise_intervals : The same with confidence intervals.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import pairwise_proba
    >>> X, y, groups = make_ranking(20, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), ListMLERanker())
    >>> pipeline = pipeline.fit(X, y, listmleranker__groups=groups)
    >>> pairwise_proba(pipeline, X[:1], X[:1]).win
    array([0.5])
    """
    model, features = _model_and_features(estimator, X_a, groups, "pairwise_proba")
    if X_b is None:
        proba = model.pairwise_proba(features, groups, **options)
    else:
        _, second = _model_and_features(estimator, X_b, groups, "pairwise_proba")
        proba = model.pairwise_proba(features, second, **options)
    return _indexed(proba, X_a)


@suggests_groups
def top_k_intervals(
    estimator: Any,
    summary: FitSummary,
    X: Any,
    groups: Any = None,
    k: int = 1,
    *,
    offset: Any = None,
) -> TopKIntervals:
    r"""Return the probability of each row to be among the first k, with an interval.

    The interval says how sure the probability is, given that coefficients are
    estimates. With C their covariance and g the gradient of :math:`\mathrm{logit}\,
    p` in them it is

    .. math::

        \mathrm{logit}\, p \pm z \sqrt{g^T C g}

    transformed back to probabilities (the delta method; on the scale of log-odds, on
    which estimates are nearer to normal, and intervals stay between 0 and 1). For k = 1
    the gradient is a formula, else it is found by differences, in about four times the
    time of ``top_k_proba`` for each feature.

    Parameters
    ----------
    estimator : estimator
        A fitted Plackett-Luce ranker such as ``ListMLERanker``, a pipeline that ends
        in one, or a fitted search over such.
    summary : FitSummary
        What ``summarize(estimator, ...)`` returned for the data of the fit. Its
        covariance (clustered or model) and its confidence are those of the intervals.
    X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
        Features of whole lists, of the fit or new ones.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``X``.
    k : int, default=1
        How many rows count as first.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

    Returns
    -------
    intervals : TopKIntervals
        ``to_frame()`` has the index of ``X`` and the groups.

    Raises
    ------
    TypeError
        If the ranker has no ``top_k_proba``.
    ValueError
        If the summary is of another fit or has no standard errors, groups are missing,
        or a list is so long that its probabilities would be drawn.

    Warns
    -----
    UserWarning
        If ``alpha`` is above 0: intervals are around what the penalised optimum says.

    See Also
    --------
    summarize : Makes the summary.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import summarize, top_k_intervals
    >>> X, y, groups = make_ranking(60, n_features=2, n_informative=2, random_state=0)
    >>> ranker = ListMLERanker(alpha=0).fit(X, y, groups)
    >>> summary = summarize(ranker, X, y, groups)
    >>> top_k_intervals(ranker, summary, X[:5], groups[:5], k=1).low.shape
    (5,)
    """
    groups = find_groups(X, groups, "top_k_intervals", "X")
    check_count(k, "k")
    model, features = _model_and_features(estimator, X, groups, "top_k_proba")
    result = intervals_of_first(model, summary, features, groups, int(k), offset)
    _warn_of_penalty(summary, "top_k_intervals")
    return _indexed(result, X)


@suggests_groups
def pairwise_intervals(
    estimator: Any,
    summary: FitSummary,
    X_a: Any,
    X_b: Any = None,
    *,
    groups: Any = None,
    offset: Any = None,
) -> PairIntervals | ListPairIntervals:
    r"""Return the probability that rows beat other rows, with an interval.

    For models without ties :math:`\mathrm{logit}\, p = (x_a - x_b) \cdot w` is linear
    in the coefficients, and the interval is theirs. With ties it is by the delta
    method on the scale of log-odds, as in :func:`top_k_intervals`, also in the fitted
    parameter of ties.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker that has ``pairwise_proba`` of two rows, a pipeline that ends in
        one, or a fitted search over such.
    summary : FitSummary
        What ``summarize(estimator, ...)`` returned for the data of the fit. Its
        covariance (clustered or model) and its confidence are those of the intervals.
    X_a, X_b : {array-like, sparse matrix, dataframe} of shape (n_pairs, n_features)
        Features of the first and of the second row of each pair. Offsets of a fit
        do not count, as in ``pairwise_proba``. Models of partitions, such as
        ``PMOPRanker``, take whole lists of at most 12 rows: ``X_a`` alone, with
        ``groups``.
    groups : array-like of shape (n_rows,), default=None
        Group labels of whole lists, for models of partitions.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row, for models of partitions.

    Returns
    -------
    intervals : PairIntervals or ListPairIntervals
        ``to_frame()`` has the index of ``X_a``.

    Raises
    ------
    TypeError
        If the ranker has no ``pairwise_proba``, or is a model of partitions and gets
        pairs of rows, or none and gets whole lists.
    ValueError
        If the summary is of another fit or has no standard errors, the numbers of
        rows differ, or a list of a model of partitions has more than 12 rows.

    Warns
    -----
    UserWarning
        If ``alpha`` is above 0: intervals are around what the penalised optimum says.

    Examples
    --------
    >>> from skrank import DavidsonRanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import pairwise_intervals, summarize
    >>> X, y, groups = make_ranking(60, n_features=2, n_informative=2, random_state=0)
    >>> ranker = DavidsonRanker(alpha=0).fit(X, y, groups)
    >>> summary = summarize(ranker, X, y, groups)
    >>> pairwise_intervals(ranker, summary, X[:2], X[2:4]).to_frame().shape
    (2, 6)
    """
    model, first = _model_and_features(estimator, X_a, groups, "pairwise_proba")
    takes_lists = model._loss().model == "partitions"
    if takes_lists != (X_b is None):
        raise TypeError(
            f"{type(model).__name__} is a model of partitions, whose probabilities of "
            "two rows depend on the others of their list: pass X_a with whole lists, "
            "and groups=, without X_b."
            if takes_lists
            else f"{type(model).__name__} takes two tables, X_a and X_b, with the "
            "first and the second row of each pair."
        )
    result: PairIntervals | ListPairIntervals
    if takes_lists:
        labels = find_groups(X_a, groups, "pairwise_intervals", "X_a")
        result = list_pair_intervals(model, summary, first, labels, offset)
    else:
        _, second = _model_and_features(estimator, X_b, groups, "pairwise_proba")
        result = pair_intervals(model, summary, first, second)
    _warn_of_penalty(summary, "pairwise_intervals")
    return _indexed(result, X_a)


def _model_and_features(
    estimator: Any, X: Any, groups: Any, method: str
) -> tuple[Any, Any]:
    """Return the ranker of a pipeline, and X as it sees it."""
    model, features, _ = transformed(estimator, X, groups)
    try:
        getattr(model, method)
    except AttributeError as error:
        raise TypeError(f"{type(model).__name__} has no {method}: {error}") from error
    return model, features


def _indexed(result: Any, X: Any) -> Any:
    """Return a result with the index of ``X``, which steps before the ranker lose."""
    return result.labelled(X, **result._labels)


def _warn_of_penalty(summary: FitSummary, function: str) -> None:
    """Warn where coefficients are pulled towards 0."""
    if summary.alpha > 0:
        warn(
            f"{function}: {RIDGE}; so are the probabilities, and intervals need not "
            "hold the true ones. Fit with alpha=0."
        )
