"""Adapters of the booster libraries: how to fit them, and which labels they take."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import as_written
from skrank._data.lists import Floats, Lists

LARGEST_LABEL_LIGHTGBM = 30  # of the 31 gains that it knows without label_gain=
LARGEST_LABEL_XGBOOST = 31  # of the gains 2^y - 1 that it takes


class Part(NamedTuple):
    """Rows of whole lists, the rows of each list together."""

    X: Any
    y: Floats
    lists: Lists
    weights: Floats | None  # one a list

    @property
    def row_weights(self) -> Floats | None:
        """The weight of each row's list."""
        return None if self.weights is None else self.lists.expand(self.weights)


class Adapter(NamedTuple):
    """How one library is fitted, and which labels it takes."""

    check_labels: Callable[[Any, Floats], None]
    fit: Callable[[Any, Part, list[Part], dict[str, Any]], None]


def adapter_of(estimator: Any) -> Adapter:
    """Return the adapter of the library that an estimator comes from."""
    for kind in type(estimator).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in ADAPTERS and kind.__name__.endswith("Ranker"):
            return ADAPTERS[library]
    raise TypeError(
        "BoosterRanker takes LGBMRanker, XGBRanker and CatBoostRanker as estimator, "
        f"got {type(estimator).__name__}."
    )


def _fit_lightgbm(
    booster: Any, part: Part, watched: list[Part], fit_params: dict[str, Any]
) -> None:
    if watched:
        features = tuple(one.X for one in watched)
        labels = tuple(one.y for one in watched)
        # LightGBM 4.7 renamed the argument and warns about the old one.
        evaluation: dict[str, Any]
        if "eval_X" in inspect.signature(booster.fit).parameters:
            evaluation = {"eval_X": features, "eval_y": labels}
        else:
            evaluation = {"eval_set": list(zip(features, labels, strict=True))}
        fit_params = dict(
            fit_params,
            **evaluation,
            eval_group=[one.lists.sizes for one in watched],
            eval_sample_weight=[one.row_weights for one in watched],
        )
    booster.fit(
        part.X,
        part.y,
        group=part.lists.sizes,
        sample_weight=part.row_weights,
        **fit_params,
    )


def _fit_xgboost(
    booster: Any, part: Part, watched: list[Part], fit_params: dict[str, Any]
) -> None:
    if watched:
        fit_params = dict(
            fit_params,
            eval_set=[(one.X, one.y) for one in watched],
            eval_qid=[_numbers(one.lists) for one in watched],
        )
        if any(one.weights is not None for one in watched):
            fit_params["sample_weight_eval_set"] = [
                np.ones(one.lists.n_lists) if one.weights is None else one.weights
                for one in watched
            ]
    booster.fit(
        part.X,
        part.y,
        qid=_numbers(part.lists),
        sample_weight=part.weights,
        **fit_params,
    )


def _fit_catboost(
    booster: Any, part: Part, watched: list[Part], fit_params: dict[str, Any]
) -> None:
    if watched:
        from catboost import Pool

        categories = fit_params.get(
            "cat_features", booster.get_params().get("cat_features")
        )
        fit_params = dict(
            fit_params,
            eval_set=[
                Pool(
                    one.X,
                    one.y,
                    cat_features=categories,
                    group_id=_numbers(one.lists),
                    group_weight=one.row_weights,
                )
                for one in watched
            ],
        )
    booster.fit(
        part.X,
        part.y,
        group_id=_numbers(part.lists),
        group_weight=part.row_weights,
        **fit_params,
    )


def _check_lightgbm(booster: Any, y: Floats) -> None:
    settings = booster.get_params()
    without_metric = str(settings.get("metric")).lower() in ("none", "na", "null")
    if callable(settings.get("objective")) and "metric" in settings and without_metric:
        return
    gains = settings.get("label_gain")
    largest = LARGEST_LABEL_LIGHTGBM if gains is None else len(gains) - 1
    _refuse_labels(
        y,
        largest,
        "LightGBM",
        "Give it label_gain=, one gain a label from 0 on, or train it by "
        'make_booster_objective and metric="None", which take any labels.',
    )


def _check_xgboost(booster: Any, y: Floats) -> None:
    settings = booster.get_params()
    objective = settings.get("objective") or "rank:ndcg"
    if objective == "rank:map":
        _refuse_labels(y, 1, "XGBoost's rank:map", 'Use objective="rank:ndcg".')
    elif objective == "rank:pairwise" or callable(objective):
        return  # only the order of labels counts
    elif settings.get("ndcg_exp_gain") in (None, True, 1):
        _refuse_labels(
            y,
            LARGEST_LABEL_XGBOOST,
            "XGBoost",
            "Give it ndcg_exp_gain=False, which takes any labels of at least 0.",
        )
    elif y.min() < 0:
        _refuse_labels(y, np.inf, "XGBoost", "Add a number to all labels.")


def _check_catboost(booster: Any, y: Floats) -> None:
    """Accept all labels, as CatBoost's ranking losses do."""


ADAPTERS = {
    "lightgbm": Adapter(_check_lightgbm, _fit_lightgbm),
    "xgboost": Adapter(_check_xgboost, _fit_xgboost),
    "catboost": Adapter(_check_catboost, _fit_catboost),
}


def _refuse_labels(y: Floats, largest: float, library: str, advice: str) -> None:
    """Raise ValueError unless labels are whole numbers from 0 to the largest."""
    wrong = (y < 0) | (y > largest) | ((y != np.floor(y)) & np.isfinite(largest))
    if wrong.any():
        raise ValueError(
            f"{library} takes labels that are whole numbers from 0 to {largest:g}, got "
            f"{as_written(y[np.argmax(wrong)])}. {advice}"
        )


def _numbers(lists: Lists) -> NDArray:
    """Return the number of each row's list: 0, 0, ..., 1, ..."""
    return lists.expand(np.arange(lists.n_lists))
