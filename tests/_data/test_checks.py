"""True and False are no numbers, wherever a number is asked for."""

import inspect
from functools import partial
from importlib import import_module
from numbers import Integral

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval

import skrank
from skrank import ListMLERanker, PMOPRanker, RankNetRanker
from skrank._data.checks import (
    LISTED,
    Integers,
    as_written,
    check_choice,
    check_confidence,
    check_count,
    check_positive,
    count_of,
    finite_column,
    listing,
)
from skrank.datasets import load_letor, make_ranking
from skrank.losses import PMOP, DavidsonLuce, ListMLE
from skrank.metrics import (
    PositionBased,
    best_order,
    bootstrap_interval,
    click_score,
    click_scorer,
    compare_scores,
    simulate_clicks,
)
from skrank.model_selection import QueryKFold, QueryShuffleSplit, compare_rankers
from skrank.preprocessing import SecondOrderFeatures

PARTS = "datasets interop linear_model losses metrics model_selection preprocessing"
PUBLIC = {
    name: value
    for part in PARTS.split()
    for name, value in vars(import_module(f"skrank.{part}")).items()
    if name in import_module(f"skrank.{part}").__all__
} | {name: getattr(skrank, name) for name in skrank.__all__}

X = np.random.default_rng(0).normal(size=(12, 2))
Y, GROUPS = np.tile([2, 1, 0], 4), np.repeat(np.arange(4), 3)
SCORES = X[:, 0]
RANKER = ListMLERanker().fit(X, Y, GROUPS)
PARTITIONS = PMOPRanker().fit(X, Y, GROUPS)
VALUES = np.array([0.1, 0.2, 0.4])
MODEL = PositionBased()


def metric(name):
    """Return a metric of fixed scores, given the rest."""
    return partial(PUBLIC[name], Y, SCORES, GROUPS)


def scorer(name):
    """Return the score of a ranker by a scorer of some options."""
    return lambda **options: PUBLIC[name](**options)(RANKER, X, Y, GROUPS)


def loss(kind):
    """Return the value of a loss of some options."""
    return lambda **options: kind(**options)(SCORES, Y, GROUPS)


def is_count(parameter):
    """Return whether a parameter of this name wants an integer."""
    return parameter.startswith("n_") or parameter in {"k", "top_k", "max_tie_size"}


# How each function and each class without declared constraints is called.
CALLS = {
    **{
        name: metric(name)
        for name in PUBLIC
        if name.endswith("_score") and name != "click_score"
    },
    **{
        name: scorer(name)
        for name in PUBLIC
        if name.endswith("_scorer") and name != "click_scorer"
    },
    "click_score": partial(click_score, Y, SCORES, GROUPS, model=MODEL),
    "click_scorer": lambda **k: click_scorer(model=MODEL, **k)(RANKER, X, Y, GROUPS),
    "best_order": partial(best_order, Y, GROUPS, model=MODEL),
    "simulate_clicks": partial(simulate_clicks, Y, SCORES, GROUPS, model=MODEL),
    "bootstrap_interval": partial(bootstrap_interval, VALUES),
    "compare_scores": partial(compare_scores, VALUES, VALUES[::-1]),
    "compare_rankers": partial(compare_rankers, RankNetRanker(), X, Y, GROUPS, cv=2),
    "load_letor": partial(load_letor, "nowhere.txt"),
    "make_ranking": make_ranking,
    "QueryKFold": lambda **k: next(QueryKFold(**k).split(X, Y, GROUPS)),
    "QueryShuffleSplit": lambda **k: next(QueryShuffleSplit(**k).split(X, Y, GROUPS)),
    "ListMLE": loss(ListMLE),
    "PMOP": loss(PMOP),
    "DavidsonLuce": loss(DavidsonLuce),
}


def call_of(door):
    """Return how a door is called; methods of rankers all alike."""
    if door in CALLS:
        return CALLS[door]
    kind, method = door.split(".")
    assert kind.endswith("Ranker")
    # All rankers of one model have the same methods.
    of_partitions = kind in ("PMOPRanker", "DavidsonLuceRanker")
    ranker = PARTITIONS if of_partitions or not hasattr(RANKER, method) else RANKER
    needed = {"k": 1} if method == "top_k_proba" else {}
    return lambda **options: getattr(ranker, method)(X, GROUPS, **needed | options)


# Results say what was counted; their constructors are for the package.
RESULTS = {"Interval", "ScoreComparison", "RankerComparison"}
# A loss's inner method, for flat arrays that have been checked.
INNER = {"DavidsonLuce.log_weights"}


def counts():
    """Return the integer parameters of all that is public and no estimator."""
    parameters_of_doors = []
    for name, value in PUBLIC.items():
        doors = {}
        if inspect.isclass(value):
            doors = {
                f"{name}.{method}": function
                for method, function in inspect.getmembers(value, inspect.isfunction)
                if not method.startswith("_")
            }
        if not hasattr(value, "_parameter_constraints") and name not in RESULTS:
            doors[name] = value
        for door, function in doors.items():
            if callable(function) and door not in INNER:
                parameters = inspect.signature(function).parameters
                # joblib takes n_jobs as it is, -1 and None too.
                names = [key for key in parameters if key != "n_jobs" and is_count(key)]
                parameters_of_doors += [(door, key) for key in names]
    return parameters_of_doors


@pytest.mark.parametrize("value", [True, False, np.True_, 1.5, "2"])
@pytest.mark.parametrize(("door", "parameter"), counts())
def test_what_is_no_integer_is_refused_where_one_is_wanted(door, parameter, value):
    with pytest.raises(ValueError, match=f"{parameter}|number of folds"):
        call_of(door)(**{parameter: value})


def estimators():
    """Return the public classes whose parameters scikit-learn checks."""
    return [
        value
        for value in PUBLIC.values()
        if inspect.isclass(value)
        and issubclass(value, BaseEstimator)
        and hasattr(value, "_parameter_constraints")
    ]


@pytest.mark.parametrize("estimator", estimators(), ids=lambda kind: kind.__name__)
def test_no_estimator_takes_true_for_an_integer(estimator):
    checked = 0
    parameters = inspect.signature(estimator).parameters
    needed = {"estimator": RANKER} if "estimator" in parameters else {}
    for name, allowed in estimator._parameter_constraints.items():
        if allowed == "no_validation":
            continue
        assert Integral not in allowed
        for constraint in allowed:
            if getattr(constraint, "type", None) is not Integral:
                continue
            assert isinstance(constraint, Integers)
            checked += 1
            with pytest.raises(ValueError, match=f"'{name}' parameter .* Got True"):
                estimator(**{**needed, name: True})._validate_params()
    assert checked == sum(map(is_integer_setting, parameters))


SETTINGS = {"max_iter", "max_features", "batch_size", "max_updates"}


def is_integer_setting(name):
    """Return whether an estimator's setting of this name is an integer."""
    return is_count(name) or name in SETTINGS


def test_a_random_state_and_progress_are_asked_for_as_everywhere_in_sklearn():
    ListMLERanker("random", random_state=0, verbose=False)._validate_params()


@pytest.mark.parametrize("size", [True, (True, 3), [2, True]])
def test_a_size_of_lists_is_no_truth_value(size):
    with pytest.raises(ValueError, match="list_size"):
        make_ranking(list_size=size)


def test_products_are_counted_by_integers():
    with pytest.raises(ValueError, match="max_features"):
        SecondOrderFeatures(max_features=True).fit(X, Y)


@pytest.mark.parametrize(
    ("constraint", "inside", "outside"),
    [
        (Integers(1), [1, 10**9, np.int8(1)], [0, True, 1.0, "1", np.True_]),
        (Integers(2, 7), [2, 7], [1, 8, False]),
        (Integers(None), [-1, 0, 1], [True, None, 0.5]),
        (Integers(None, 3), [-1, 3], [4, True]),
    ],
    ids=str,
)
def test_ranges_of_integers_hold_their_ends_and_no_truth_values(
    constraint, inside, outside
):
    assert all(map(constraint.is_satisfied_by, inside))
    assert not any(map(constraint.is_satisfied_by, outside))
    assert isinstance(constraint, Interval)  # as scikit-learn's own tools expect


@pytest.mark.parametrize("label", [7, 7.5, "seven", b"7", True, (7, "a"), None])
def test_messages_show_labels_as_their_user_writes_them(label):
    assert as_written(label) == repr(label)
    array = np.array([label])
    if array.ndim == 1:
        assert as_written(array[0]) == repr(label)


@pytest.mark.parametrize("value", [0, -1.0, np.inf, -np.inf, np.nan, True, "1", None])
def test_what_is_not_positive_and_finite_is_refused(value):
    with pytest.raises(
        ValueError, match=r"width must be a positive finite number, got"
    ):
        check_positive(value, "width")


def test_any_positive_finite_number_is_taken():
    for value in (5e-324, 1, np.float32(2.5), np.int8(3), 1.7e308):
        check_positive(value, "width")
    for value in (5e-324, 0.5, np.nextafter(1, 0)):
        check_confidence(value)


@pytest.mark.parametrize("value", [0, 1, -0.5, 1.5, np.nan, True, "0.9", None])
def test_a_confidence_lies_between_0_and_1(value):
    with pytest.raises(ValueError, match="confidence must be a number between 0 and 1"):
        check_confidence(value)


def test_counts_have_a_least_and_none_where_it_is_offered():
    check_count(2, "k", 2)
    check_count(None, "k", optional=True)
    with pytest.raises(ValueError, match="k must be an integer of at least 2, got 1"):
        check_count(1, "k", 2)
    with pytest.raises(
        ValueError, match="k must be an integer of at least 1, got None"
    ):
        check_count(None, "k")
    with pytest.raises(ValueError, match="k must be None or an integer of at least 1"):
        check_count(0, "k", optional=True)


def test_messages_count_and_list_as_people_do():
    assert count_of(1, "list") == "1 list"
    assert count_of(0, "list") == "0 lists"
    assert count_of(12345, "row") == "12,345 rows"
    names = [f"x{number}" for number in range(LISTED + 2)]
    first = ", ".join(names[:LISTED])
    assert listing(names[:1]) == "x0"
    assert listing(names[:LISTED]) == first
    assert listing(names[: LISTED + 1]) == f"{first} and 1 more"
    assert listing(names) == f"{first} and 2 more"


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind", [np.int64, object, list])
def test_integers_that_float64_merges_are_refused(sign, kind):
    def column(largest):
        values = [0, sign * largest]
        return values if kind is list else np.array(values, dtype=kind)

    assert finite_column(column(2**53), "y").tolist() == [0, sign * 2.0**53]
    with pytest.raises(ValueError, match=r"y holds integers beyond 2\*\*53 \(up to 9"):
        finite_column(column(2**53 + 1), "y")


def test_choices_may_be_booleans_but_not_the_numbers_that_equal_them():
    choices = ("auto", True, False)
    for choice in choices:
        check_choice(choice, "shuffle", choices)
    for other in (1, 0, None, "True"):
        with pytest.raises(ValueError, match="must be 'auto', True or False, got"):
            check_choice(other, "shuffle", choices)
