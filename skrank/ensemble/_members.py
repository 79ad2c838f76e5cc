"""The members of an ensemble: their names, and the arguments of their methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from skrank._data.checks import finite_column
from skrank._data.lists import Floats


def member_names(estimators: Any) -> list[str]:
    """Return the names of the members, or raise ValueError for wrong ones."""
    if not estimators or not all(
        isinstance(pair, tuple | list) and len(pair) == 2 for pair in estimators
    ):
        raise ValueError(
            "estimators must be a list of at least one (name, estimator) pair, got "
            f"{estimators!r}."
        )
    for name, member in estimators:
        if not (hasattr(member, "fit") and hasattr(member, "predict")):
            raise ValueError(f"member {name!r} has no fit and predict, got {member!r}.")
    return [name for name, _ in estimators]


def member_arguments(
    ensemble: Any, method: str, groups: Any, sample_weight: Any = None
) -> dict[str, dict[str, Any]]:
    """Return the arguments of each member's method, by the member's name.

    Members whose routing asks for groups get them, whether or not routing is on.
    """
    metadata = {"groups": groups} if groups is not None else {}
    routed = sklearn.get_config()["enable_metadata_routing"]
    if routed and sample_weight is not None:
        metadata["sample_weight"] = sample_weight
    with config_context(enable_metadata_routing=True):
        routing = process_routing(ensemble, method, **metadata)
    members: Sequence[tuple[str, Any]] = ensemble.estimators
    arguments = {name: dict(routing[name][method]) for name, _ in members}
    if sample_weight is None or routed:
        return arguments
    for name, member in members:
        if not has_fit_parameter(member, "sample_weight"):
            raise ValueError(
                f"member {name!r} takes no sample_weight in fit. Leave it out, or say "
                "who gets it with metadata routing and set_fit_request."
            )
        arguments[name]["sample_weight"] = sample_weight
    return arguments


def fitted_member(member: Any, X: Any, y: Any, arguments: dict[str, Any]) -> Any:
    """Return a copy of a member, fitted."""
    return clone(member).fit(X, y, **arguments)


def missing_groups_of_predict(caller: str, name: str) -> str:
    """Explain how groups reach predict."""
    return (
        f"{caller} needs to know which rows form a list, and no groups were given. "
        "Pass groups=, one label per row, also to the predict of a pipeline with "
        f"metadata routing on, or give a pandas {name} with an index level named "
        "'groups', as searches and cross_val_predict need. method='scaled' needs no "
        "groups."
    )


def checked_weights(weights: Any, n_members: int) -> Floats:
    """Return weights of members as numbers; None counts all alike."""
    if weights is None:
        return np.ones(n_members)
    values = finite_column(weights, "weights")
    if len(values) != n_members or values.min() < 0 or not values.any():
        raise ValueError(
            f"weights must be {n_members} numbers, one a member, none below 0 and not "
            f"all 0, got {weights!r}."
        )
    return values


def weighted_mean(columns: Floats, weights: Floats) -> Floats:
    """Return the weighted mean of columns.

    The division comes last, so that ranks which have equal sums stay equal. Weights are
    scaled to near 1 by a power of two, which is exact and prevents overflow of sums.
    """
    shares = np.ldexp(weights, -int(np.frexp(weights.max())[1]))
    return columns @ shares / shares.sum()


def over_deviations(columns: Floats, deviations: Floats) -> Floats:
    """Return columns over the deviation of each; those of 0 do not count."""
    positive = deviations > 0
    return columns * np.where(positive, 1.0 / np.where(positive, deviations, 1.0), 0.0)
