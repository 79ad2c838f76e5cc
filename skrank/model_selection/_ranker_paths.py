"""The fits of RankerCV: penalties to try, and the path of each fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from skrank._data.checks import is_integer
from skrank._fit.data import FitData, with_constant_features
from skrank._fit.objective import LinearObjective
from skrank._fit.path import largest_alpha, solve_path
from skrank.linear_model._base import BaseLinearRanker
from skrank.metrics import LogLikelihoodScorer, RankingScorer
from skrank.model_selection._comparison import Fold

SMALLEST = 1e-3  # penalty of a path, as a share of the largest

OWN = RankingScorer | LogLikelihoodScorer  # scorers that take weights and offsets


def penalties_to_try(
    alphas: Any, ranker: BaseLinearRanker, data: FitData
) -> np.ndarray:
    """Return the penalties to try, largest first, each once."""
    if np.asarray(alphas).dtype.kind == "b":
        raise ValueError(
            f"alphas must be a number of penalties or a list of them, got {alphas!r}."
        )
    if is_integer(alphas):
        if alphas < 1:
            raise ValueError(f"alphas must be at least 1, got {alphas}.")
        largest = _largest_alpha(ranker, data) if ranker.l1_ratio > 0 else 0.0
        if largest > 0.0:
            return largest * np.logspace(0, np.log10(SMALLEST), int(alphas))
        return np.logspace(1, -4, int(alphas))
    values = np.asarray(alphas, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(
            f"alphas must be a number of penalties or a list of them, got {alphas!r}."
        )
    if not (np.all(np.isfinite(values)) and values.min() >= 0):
        raise ValueError(f"alphas must be numbers of at least 0, got {alphas!r}.")
    return np.unique(values)[::-1]


def fold_path(
    ranker: BaseLinearRanker,
    data: FitData,
    fold: Fold,
    alphas: np.ndarray,
    scorer: Any,
    weight: Any,
) -> tuple[list, list[float]]:
    """Return the solutions of a fold for all penalties, and their scores."""
    assert data.grouping is not None
    number = data.grouping.list_of_rows()
    model, objective = _prepared(
        ranker, data.part(np.unique(number[fold.train_rows])), float(alphas[0])
    )
    with objective.running():
        solutions = solve_path(objective, alphas.tolist(), model._solve)
    assert fold.test_rows is not None
    test = fold.test.take(fold.test_rows)
    options = {"groups": test.groups}
    if data.offset is not None:
        offset = data.grouping.scatter(data.offset)[fold.test_rows]
        options.update(with_offset(scorer, offset))
    if weight is not None and _takes_weights(scorer):
        options["sample_weight"] = weight[fold.test_rows]
    model.n_features_in_ = data.X.shape[1]
    scores = []
    for alpha, solution in zip(alphas, solutions, strict=True):
        model.alpha_ = float(alpha)
        model._store(objective, solution)
        scores.append(float(scorer(model, test.X, test.y, **options)))
    return solutions, scores


def _prepared(
    ranker: BaseLinearRanker, data: FitData, alpha: float
) -> tuple[BaseLinearRanker, LinearObjective]:
    """Return a ranker and what it minimises on some data."""
    model = clone(ranker)
    model.alpha_ = alpha
    data, loss = model._with_checked_labels(with_constant_features(data))
    return model, model._objective(data, loss)


def _largest_alpha(ranker: BaseLinearRanker, data: FitData) -> float:
    """Return the least penalty that leaves all weights at 0 on all data."""
    model, objective = _prepared(ranker, data, 0.0)
    with objective.running():
        return largest_alpha(objective, model._solve)


def _takes_weights(scorer: Any) -> bool:
    """Return whether weights of lists can count in a score."""
    return isinstance(scorer, OWN) and scorer._accept_sample_weight()


def with_offset(scorer: Any, offset: Any) -> dict[str, Any]:
    """Return the offset for a scorer that passes it to ``predict``."""
    if offset is None:
        return {}
    if not isinstance(scorer, OWN):
        raise ValueError(
            f"scoring={scorer!r} passes no offset to predict. Use the name of a "
            "metric, or a scorer of skrank.metrics."
        )
    return {"offset": offset}
