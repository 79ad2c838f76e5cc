"""Look into pipelines and searches: the ranker, and the features that it sees."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import sklearn
from scipy import special

from skrank._data.checks import refuse_lazy
from skrank._data.lists import Floats
from skrank._data.pipelines import last_model, last_step
from skrank.losses import Loss
from skrank.metrics._scorers import predicted

DIFFERENCES = np.array([-2.0, -0.5, 0.0, 1.0, 3.0])  # of scores, to tell models apart


class Transformed(NamedTuple):
    """A fitted model without the steps before it, and ``X`` after these steps.

    Attributes
    ----------
    model : estimator
        The last step of a pipeline, the best model of a search, or the model itself;
        a linear ranker has the parameters of its fit, whatever was set since.
    X : array-like of shape (n_rows, n_features)
        The features that it sees.
    names : list of str
        Their names: those of the fit where the model knows them.
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
    known = getattr(model, "feature_names_in_", None)
    of_fit = names[-1] if known is None else [str(name) for name in known]
    if hasattr(model, "_as_fitted"):
        model = model._as_fitted()
    return Transformed(model, features, of_fit)


def scores_of(estimator: Any, X: Any, groups: Any) -> Floats:
    """Return the scores of a fitted model; pass groups if it requests them."""
    with sklearn.config_context(enable_metadata_routing=True):
        scores = predicted(estimator, X, {"groups": groups})
    return np.asarray(scores, dtype=np.float64)


def refuse_other_scores(estimator: Any, display: str, *, pairs: bool) -> None:
    """Raise TypeError unless scores are logarithms of worths, where a loss tells.

    They are in Plackett and Luce's model of orders, and in models of pairs that have a
    winner with the logistic function of the difference, which ``pairs`` allows, too.
    """
    model = last_step(estimator)
    loss = getattr(model, "loss", None)
    if hasattr(model, "_as_fitted"):
        model = model._as_fitted()
        loss = model._loss()
    if not isinstance(loss, Loss) or loss.model == "orders":
        return
    if pairs and loss.model == "pairs":
        # Given that there is a winner, as the display draws such pairs alone.
        win, tie = loss.pair_proba(DIFFERENCES, getattr(model, "extra_", np.empty(0)))
        if np.allclose(win / (1.0 - tie), special.expit(DIFFERENCES), rtol=1e-9):
            return
    wanted = "Plackett-Luce or Bradley-Terry" if pairs else "Plackett-Luce"
    raise TypeError(
        f"{display} draws probabilities of the {wanted} model, and scores of "
        f"{type(model).__name__} with the loss {loss} are of another: fit "
        "ListMLERanker, or one whose scores are."
    )


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
