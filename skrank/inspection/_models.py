"""Look into pipelines and searches: the ranker, and the features that it sees."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import sklearn

from skrank._data.checks import refuse_lazy
from skrank._data.lists import Floats
from skrank._data.pipelines import last_model
from skrank.metrics._scorers import predicted


class Transformed(NamedTuple):
    """A fitted model without the steps before it, and ``X`` after these steps.

    Attributes
    ----------
    model : estimator
        The last step of a pipeline, the best model of a search, or the model itself.
    X : array-like of shape (n_rows, n_features)
        The features that it sees.
    names : list of str
        Their names.
    """

    model: Any
    X: Any
    names: list[str]


def transformed(estimator: Any, X: Any, groups: Any) -> Transformed:
    """Take a pipeline apart; groups go to the steps that ask for them."""
    refuse_lazy(X, "X")
    names = [feature_names_of(X)]
    model, features = last_model(
        estimator,
        X,
        groups,
        lambda step, made: names.append(_names_after(step, names[-1], made)),
    )
    return Transformed(model, features, names[-1])


def scores_of(estimator: Any, X: Any, groups: Any) -> Floats:
    """Return the scores of a fitted model; pass groups if it requests them."""
    with sklearn.config_context(enable_metadata_routing=True):
        scores = predicted(estimator, X, {"groups": groups})
    return np.asarray(scores, dtype=np.float64)


def row_labels(X: Any) -> Any:
    """Return the index of a pandas object, None where there is none."""
    return X.index if hasattr(X, "iloc") else None


def feature_names_of(X: Any) -> list[str]:
    """Return the names of the columns, x0, x1, ... where they have none."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    return [f"x{j}" for j in range(np.shape(X)[1])]


def _names_after(step: Any, names: list[str], X: Any) -> list[str]:
    """Return the names of a transformer's output."""
    try:
        made = [str(name) for name in step.get_feature_names_out()]
    except (AttributeError, ValueError, TypeError):
        made = []
    n_columns = X.shape[1]
    if len(made) == n_columns:
        # If the step was fitted without names, use those of the caller.
        plain = made == [f"x{j}" for j in range(n_columns)]
        return names if plain and len(names) == n_columns else made
    return names if len(names) == n_columns else feature_names_of(X)
