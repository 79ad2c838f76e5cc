"""Every public door that takes X says what to pass for a polars LazyFrame."""

import inspect

import polars as pl
import pytest
from sklearn import config_context

import skrank
from skrank import ListMLERanker, ranking_pipeline
from skrank.datasets import make_ranking
from skrank.ensemble import FusionRanker
from skrank.linear_model._base import BaseLinearRanker
from skrank.model_selection import RankerCV
from skrank.preprocessing import QueryScaler, SecondOrderFeatures

X, Y, GROUPS = make_ranking(12, n_features=3, random_state=0)
LAZY = pl.DataFrame(X).lazy()
MODULES = [
    skrank.inspection,
    skrank.interop,
    skrank.metrics,
    skrank.model_selection,
    skrank.preprocessing,
]
RANKERS = [getattr(skrank, name) for name in skrank.__all__ if name.endswith("Ranker")]


def functions():
    """Yield the public functions and constructors of displays that take X."""
    for module in MODULES:
        for name in module.__all__:
            door = getattr(module, name)
            if isinstance(door, type):  # of classes, displays alone
                door = getattr(door, "from_estimator", None)
            if callable(door) and "X" in inspect.signature(door).parameters:
                yield pytest.param(door, id=f"{module.__name__}.{name}")


def arguments_of(door, ranker=None):
    """Return what a door takes: X is the lazy frame, what else it needs is right."""
    known = {"X": LAZY, "y": Y, "groups": GROUPS, "k": 2}
    known |= {"estimator": ranker, "ranker": ranker}
    known |= {"estimators": [ranker], "rankers": [ranker]}
    return {
        name: known.get(name, 0)
        for name, parameter in inspect.signature(door).parameters.items()
        if name in known
        or (
            parameter.default is parameter.empty
            and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        )
    }


def refused():
    return pytest.raises(
        ValueError, match=r"^X is a polars LazyFrame.*; pass what its collect\(\) ret"
    )


@pytest.mark.parametrize("door", list(functions()))
def test_functions_and_displays_refuse_lazy_frames(door):
    ranker = ListMLERanker().fit(X, Y, GROUPS)
    with refused():
        door(**arguments_of(door, ranker))


@pytest.mark.parametrize(
    "estimator",
    [
        *(kind() for kind in RANKERS if issubclass(kind, BaseLinearRanker)),
        QueryScaler(),
        SecondOrderFeatures(),
        RankerCV(),
        FusionRanker([("one", ListMLERanker()), ("two", ListMLERanker(alpha=1.0))]),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_methods_of_estimators_refuse_lazy_frames(estimator):
    needs_groups = "groups" in inspect.signature(estimator.fit).parameters
    estimator.fit(X, Y, groups=GROUPS) if needs_groups else estimator.fit(X, Y)
    doors = [name for name in dir(estimator) if not name.startswith("_")]
    n_doors = 0
    for name in doors:
        door = getattr(estimator, name, None)
        if not callable(door) or "X" not in inspect.signature(door).parameters:
            continue
        n_doors += 1
        arguments = arguments_of(door)
        if name == "fit_transform" and needs_groups:
            arguments["groups"] = GROUPS
        with refused():
            door(**arguments)
    assert n_doors >= 2


@pytest.mark.parametrize("per_list", [True, False])
@pytest.mark.parametrize("categorical", ["auto", None, [0]])
def test_the_pipeline_refuses_lazy_frames(per_list, categorical):
    pipeline = ranking_pipeline(per_list=per_list, categorical=categorical)
    with config_context(enable_metadata_routing=True):
        with refused():
            pipeline.fit(LAZY, Y, groups=GROUPS)
        pipeline.fit(X, Y, groups=GROUPS)
        groups = {"groups": GROUPS} if per_list else {}
        with refused():
            pipeline.predict(LAZY, **groups)
        with refused():
            pipeline.score(LAZY, Y, groups=GROUPS)
