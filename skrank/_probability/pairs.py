"""Methods of rankers with a model of pairs: functions whose first argument they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import equally_long
from skrank._data.groups import suggests_groups
from skrank._fit.data import check_data
from skrank._probability.likelihood import add_up
from skrank._probability.results import PairProba


def pairwise_proba(ranker: Any, X_a: Any, X_b: Any) -> PairProba:
    r"""Return the probability that each row of ``X_a`` beats that of ``X_b``.

    For rows of the same list. Models without ties have
    :math:`1 / (1 + e^{-(s_a - s_b)})`, those with ties their own formulas, with
    the fitted parameter of ties.

    Parameters
    ----------
    X_a, X_b : {array-like, sparse matrix} of shape (n_pairs, n_features)
        Features of the first and of the second row of each pair. Offsets of a fit
        do not count: these are the probabilities of rows that have none.

    Returns
    -------
    proba : skrank.inspection.PairProba
        Named tuple of ``win`` and ``tie``, each of shape (n_pairs,).

    Raises
    ------
    ValueError
        If the number of rows differs.
    """
    if np.ndim(X_b) == 1 and np.ndim(X_a) == 2:
        raise ValueError(
            f"{type(ranker).__name__}.pairwise_proba takes two tables, X_a and X_b, "
            "with the first and the second row of each pair; X_b is one-dimensional. "
            "For groups of rows, pass the rows of the pairs: X[first], X[second]."
        )
    first, second = ranker.predict(X_a), ranker.predict(X_b)
    equally_long(first, second, ("X_a", "X_b"))
    proba = PairProba(*ranker._loss().pair_proba(first - second, ranker.extra_))
    return proba.labelled(X_a)


@suggests_groups
def composite_log_likelihood(
    ranker: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    average: Any = "sum",
    sample_weight: Any = None,
    offset: Any = None,
) -> Any:
    """Return the log-likelihood of pairs, as if they were independent.

    Each pair of rows of a list has its own sample space: win or loss, and pairs
    of equal labels do not count; for models with ties win, tie or loss, and all
    pairs count. Each counts once, however the fit weighs pairs and lists. So it
    ranks models of the same data and of the same space. Pairs of one list are not
    independent, so it has no AIC, no deviance, and no likelihood ratio test;
    ``summary`` gives CLIC where pairs have no weights.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        Features.
    y : array-like of shape (n_rows,)
        Labels, higher is better.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y``.
    average : {"sum", "mean", None}, default="sum"
        Sum or mean over lists; None returns one value a list, in the order of
        ``list_labels(groups)``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    offset : array-like of shape (n_rows,), default=None
        Known part of the score of each row; needed after a fit with one.

    Returns
    -------
    log_likelihood : float or ndarray of shape (n_lists,)
        At most 0; a list without pairs has 0.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ or ``average`` is unknown.
    """
    loss = ranker._loss().pair_loss()
    method = "composite_log_likelihood"
    data = check_data(ranker, X, y, groups, sample_weight, offset=offset, method=method)
    lists = data.lists
    prepared = loss.prepare(loss.check_labels(data.y, lists), lists)
    scores = data.scores(ranker.coef_)
    values = loss.value_and_gradient(scores, prepared, lists, ranker.extra_)[0]
    return add_up(-values, data, average)
