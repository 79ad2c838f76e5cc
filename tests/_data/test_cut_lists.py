"""Lists cut or thinned by scikit-learn's tools are warned of, once a run."""

import warnings

import numpy as np
import pytest
import sklearn
from joblib import Parallel, parallel_config
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import _rfe
from sklearn.inspection import _permutation_importance, permutation_importance
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    _validation,
    cross_val_predict,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import RankNetRanker, with_groups
from skrank._data import cut_lists
from skrank._data.warnings import PARTS_OF_DATA
from skrank.datasets import make_ranking
from skrank.metrics import ndcg_scorer
from skrank.model_selection import QueryKFold, QueryShuffleSplit

X, y, groups = make_ranking(60, n_features=4, n_informative=2, random_state=0)
Y = with_groups(y, [f"q{group}" for group in groups])
ALPHAS = {"alpha": [0.1, 1.0]}
CUT = "cv puts rows of one list into the training and the test part alike"
THINNED = "Lists lose rows here, since rows are drawn without regard to lists"
SAMPLED = "max_samples draws rows without regard to lists"
FITTED = RankNetRanker().fit(X, Y)

# What is read of frames and modules of scikit-learn and joblib, by function.
PARTS = {"train", "test", "X", "y"}
READ = {
    _validation._fit_and_score: PARTS | {"fit_params", "score_params"},
    _validation._fit_and_predict: PARTS | {"fit_params"},
    _rfe._rfe_single_fit: PARTS | {"routed_params"},
    _permutation_importance._calculate_permutation_scores: {
        *("X", "y", "max_samples", "n_repeats"),
    },
    Parallel.__call__: {"self"},
}

RUNS = {
    "cross-validation": (CUT, lambda: cross_validate(RankNetRanker(), X, Y, cv=5)),
    "a pipeline": (
        CUT,
        lambda: cross_validate(
            make_pipeline(StandardScaler(), RankNetRanker()), X, Y, cv=5
        ),
    ),
    "shuffled rows": (
        CUT,
        lambda: cross_validate(
            RankNetRanker(), X, Y, cv=KFold(3, shuffle=True, random_state=0)
        ),
    ),
    "a scorer of another model": (
        CUT,
        lambda: cross_validate(Ridge(), X, Y, cv=5, scoring=ndcg_scorer(k=3)),
    ),
    "predictions": (CUT, lambda: cross_val_predict(RankNetRanker(), X, Y, cv=5)),
    "a search": (CUT, lambda: GridSearchCV(RankNetRanker(), ALPHAS, cv=5).fit(X, Y)),
    "halving by rows": (
        THINNED,
        lambda: HalvingGridSearchCV(
            RankNetRanker(), {"alpha": np.logspace(-2, 2, 4)}, cv=QueryKFold(3)
        ).fit(X, Y),
    ),
    "scikit-learn's learning curve": (
        THINNED,
        lambda: learning_curve(RankNetRanker(), X, Y, cv=QueryKFold(3)),
    ),
    "a sample of rows": (
        SAMPLED,
        lambda: permutation_importance(FITTED, X, Y, max_samples=0.5, n_repeats=2),
    ),
}
WHOLE = {
    "folds of whole lists": lambda: cross_validate(
        RankNetRanker(), X, Y, cv=QueryKFold(5)
    ),
    "some whole lists": lambda: cross_validate(
        RankNetRanker(), X, Y, cv=QueryShuffleSplit(2, train_size=0.3, test_size=0.3)
    ),
    "a search": lambda: GridSearchCV(RankNetRanker(), ALPHAS, cv=QueryKFold(3)).fit(
        X, Y
    ),
    "halving by iterations": lambda: HalvingGridSearchCV(
        RankNetRanker(),
        ALPHAS,
        cv=QueryKFold(3),
        resource="max_iter",
        min_resources=200,
        max_resources=400,
    ).fit(X, Y),
    "all rows": lambda: permutation_importance(FITTED, X, Y, n_repeats=2),
    "a search in each fold": lambda: cross_validate(
        GridSearchCV(RankNetRanker(), ALPHAS, cv=QueryKFold(2)), X, Y, cv=QueryKFold(2)
    ),
}


def warned(run):
    """Return the warnings of lists that were cut, and where they point."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return [one for one in caught if "list" in str(one.message).lower()]


@pytest.mark.parametrize("name", RUNS)
def test_lists_cut_by_a_tool_are_one_warning_at_the_users_line(name):
    text, run = RUNS[name]
    for _ in range(2):  # each run by itself
        (warning,) = warned(run)
        assert str(warning.message).startswith(text)
        assert warning.filename == __file__
    if text == CUT:
        assert "skrank.model_selection.QueryKFold(5)" in str(warning.message)


@pytest.mark.parametrize("name", WHOLE)
def test_whole_lists_are_not_warned_of(name):
    assert warned(WHOLE[name]) == []


@pytest.mark.parametrize(("cv", "n_warnings"), [(5, 1), (QueryKFold(5), 0)])
@pytest.mark.parametrize("scoring", [None, {"a": ndcg_scorer(), "b": ndcg_scorer(k=2)}])
def test_groups_that_are_routed_are_compared_too(cv, n_warnings, scoring):
    search = GridSearchCV(
        RankNetRanker(), ALPHAS, cv=cv, scoring=scoring, refit=scoring is None
    )
    with sklearn.config_context(enable_metadata_routing=True):
        computed = warned(lambda: search.fit(X, y, groups=groups))
        many = warned(
            lambda: cross_validate(
                RankNetRanker(), X, y, cv=cv, params={"groups": groups}
            )
        )
    assert len(computed) == len(many) == n_warnings


def test_a_search_inside_honest_folds_is_looked_at_by_itself():
    inner = GridSearchCV(RankNetRanker(), ALPHAS, cv=3)
    (warning,) = warned(lambda: cross_validate(inner, X, Y, cv=QueryKFold(2)))
    assert str(warning.message).startswith(CUT)


def test_threads_warn_once_of_the_same_data():
    search = GridSearchCV(RankNetRanker(), ALPHAS, cv=5)
    labels = with_groups(y + (groups == 0), groups)  # data of its own
    with parallel_config("threading", n_jobs=2):
        (warning,) = warned(lambda: search.fit(X, labels))
    assert str(warning.message).startswith(CUT)


def test_other_variables_of_the_names_of_row_numbers_are_left_alone():
    frame = {"X": X, "y": y, "fit_params": {"groups": groups}}
    rows, shares = np.arange(3), np.array([0.5, 0.25])
    for train, test in [(rows, shares), (shares, rows), (shares, shares)]:
        parts = frame | {"train": train, "test": test}
        assert cut_lists._of_split(parts, groups) is None


def test_missing_labels_of_other_rows_are_left_to_the_fits_that_have_them():
    of_all = np.array([*groups.astype(float), np.nan])
    train, test = np.arange(0, len(groups), 2), np.arange(1, len(groups), 2)
    frame = {"X": X, "y": y, "train": train, "test": test}
    for column, message in ((of_all, None), (of_all[:-1], cut_lists.IN_BOTH)):
        parts = frame | {"fit_params": {"groups": column}}
        assert cut_lists._of_split(parts, column[train]) == message


def test_cut_lists_are_found_among_labels_of_any_kind():
    """Labels of which numpy sorts none: tuples beside numbers and text."""
    names = [("a", 1), ("b", 2), 3, "c"]
    of_all = np.fromiter((names[i // 2] for i in range(8)), dtype=object, count=8)
    even, odd = np.arange(0, 8, 2), np.arange(1, 8, 2)
    parts = {"X": X[:8], "y": y[:8], "fit_params": {"groups": of_all}}
    cut = parts | {"train": even, "test": odd}
    assert cut_lists._of_split(cut, of_all[even]) == cut_lists.IN_BOTH
    whole = parts | {"train": np.arange(4), "test": np.arange(4, 8)}
    assert cut_lists._of_split(whole, of_all[:4]) is None


@pytest.mark.parametrize(
    ("function", "name"),
    [(function, name) for function, names in READ.items() for name in sorted(names)],
    ids=lambda value: getattr(value, "__qualname__", value),
)
def test_names_that_are_read_are_those_of_the_installed_version(function, name):
    code = function.__code__
    assert name in code.co_varnames + code.co_cellvars
    assert f"``{name}``" in cut_lists.__doc__
    assert function.__name__ in cut_lists.__doc__ or function is Parallel.__call__


def test_the_module_of_fits_to_parts_has_its_name():
    assert _validation._fit_and_score.__module__ == PARTS_OF_DATA
