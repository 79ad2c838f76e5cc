"""Summarise a pipeline that ends in a ranker, in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.groups import find_groups, suggests_groups
from skrank._probability.fit_summary import FitSummary
from skrank._probability.summary import summarize_fit
from skrank.inspection._models import transformed


@suggests_groups
def summarize(
    estimator: Any, X: Any, y: Any, groups: Any = None, **options: Any
) -> FitSummary:
    """Return the coefficients with standard errors of a ranker or of a pipeline.

    The steps before the ranker transform ``X``; coefficients belong to the transformed
    features, and standard errors take the fitted steps as fixed.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker that has ``summary``, a pipeline that ends in one, or a fitted
        search over such.
    X, y, groups : array-like
        The data of the fit, as ``fit`` of the estimator took them.
    **options
        Handed on to the ranker's ``summary``: ``sample_weight``, ``covariance``,
        ``confidence``, ``clusters``, ``features``, ``offset``.

    Returns
    -------
    summary : FitSummary
        Prints as a table; ``to_frame()`` gives a pandas DataFrame.

    Raises
    ------
    TypeError
        If the ranker has no ``summary``.
    ValueError
        As ``summary`` of the ranker.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import summarize
    >>> X, y, groups = make_ranking(
    ...     60, n_features=2, n_informative=2, random_state=0
    ... )
    >>> pipeline = make_pipeline(StandardScaler(), ListMLERanker(alpha=0))
    >>> pipeline = pipeline.fit(X, y, listmleranker__groups=groups)
    >>> summarize(pipeline, X, y, groups).informing
    array([60, 60])
    """
    groups = find_groups(y, groups, "summarize", "y")
    model, features, names = transformed(estimator, X, groups)
    if not hasattr(model, "summary"):
        raise TypeError(
            f"{type(model).__name__} has no summary, since its loss is no model of "
            "probabilities. ListMLERanker, RankNetRanker, PMOPRanker and the rankers "
            "for ties have one."
        )
    # Labels as an array: groups are known, and rows may have lost their index.
    return summarize_fit(
        model, features, np.asanyarray(y), groups, feature_names=names, **options
    )
