"""Models to compare linear rankers with: ridge regression, boosted trees."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

from skrank._cli.tables import RANDOM_ORDER
from skrank.ensemble import ranking_pipeline
from skrank.interop import as_ranker
from skrank.metrics import ndcg_scorer
from skrank.model_selection import QueryKFold, RankerResult
from skrank.preprocessing import QueryScaler

POINTWISE = "Ridge() pointwise"
SCALED = "Ridge() on features scaled by list"
PIPELINE = "ranking_pipeline()"
BOOSTED = "LGBMRanker() of LightGBM"
TUNED = ", tuned"
# Rows that others are compared with: the first of them that has numbers. Ridge
# regression on scaled features has most of what rankers gain over ``Ridge()``.
REFERENCES = (SCALED + TUNED, SCALED, POINTWISE + TUNED, POINTWISE)
ALPHAS = 10.0 ** np.arange(5)
N_FOLDS = 5  # of whole training lists, by which alpha is chosen


def yardsticks(sparse: bool, n_lists: int, n_jobs: int, seed: int) -> dict[str, Any]:
    """Return the models to compare rankers with, as rows of the table.

    Scaling by list would fill the zeros of sparse features, so rows that need it are
    for dense ones. Alphas are tuned where ``n_lists`` training lists can be cut.
    """
    models: dict[str, Any] = {POINTWISE: make_pipeline(Ridge(random_state=seed))}
    if not sparse:
        models[SCALED] = make_pipeline(QueryScaler(), Ridge(random_state=seed))
    rows = dict(models)
    if n_lists >= N_FOLDS:
        rows |= {name + TUNED: _tuned(model) for name, model in models.items()}
    if not sparse:
        rows[PIPELINE] = ranking_pipeline()
    if find_spec("lightgbm"):
        from lightgbm import LGBMRanker

        booster = LGBMRanker(n_jobs=n_jobs, random_state=seed, verbose=-1)
        rows[BOOSTED] = as_ranker(booster)
    # A constant score ties all rows, so metrics return their mean over random orders.
    rows[RANDOM_ORDER] = DummyRegressor()
    return rows


def reference_of(results: Mapping[str, RankerResult]) -> str:
    """Return the name of the row that others are compared with."""
    names = (name for name in REFERENCES if results.get(name, RankerResult()).values)
    return next(names, POINTWISE)


def _tuned(model: Pipeline) -> GridSearchCV:
    """Return a search over alpha by whole-list folds."""
    return GridSearchCV(
        model,
        {"ridge__alpha": ALPHAS},
        scoring=ndcg_scorer(k=10),
        cv=QueryKFold(N_FOLDS, shuffle=True, random_state=0),
    )
