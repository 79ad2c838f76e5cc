"""Arguments of a kind that is not an array of numbers work, or say what to pass."""

import array

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skrank import ListMLERanker, inspection, rank_within, with_groups
from skrank.ensemble import FusionRanker
from skrank.interop import from_ranks, groups_from_sizes, sizes_from_groups
from skrank.metrics import (
    list_labels,
    log_likelihood_scorer,
    ndcg_score,
    ndcg_scorer,
    pairwise_accuracy_score,
)
from skrank.model_selection import (
    QueryKFold,
    RankerCV,
    compare_rankers,
    group_train_test_split,
    learning_curve,
)
from skrank.preprocessing import QueryScaler, SecondOrderFeatures

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.tile([0, 2, 1, 1], 3)
GROUPS = np.repeat([0, 1, 2], 4)

# Every public door that takes X, y, scores, ranks or groups, as a function of these.
DOORS = {
    "fit": lambda X, y, groups: ListMLERanker().fit(X, y, groups).coef_,
    "weights": lambda X, y, groups: (
        ListMLERanker().fit(X, y, groups, sample_weight=groups).coef_
    ),
    "predict": lambda X, y, groups: ListMLERanker().fit(X, y, groups).predict(X),
    "score": lambda X, y, groups: ListMLERanker().fit(X, y, groups).score(X, y, groups),
    "metric": lambda _, y, groups: ndcg_score(y, y, groups, average=None),
    "rank_within": lambda _, y, groups: rank_within(y, groups),
    "list_labels": lambda _, __, groups: list_labels(groups),
    "with_groups": lambda _, y, groups: with_groups(y, groups).to_numpy(),
    "splitter": lambda X, y, groups: next(QueryKFold(2).split(X, y, groups))[0],
    "scaler": lambda X, _, groups: QueryScaler().fit_transform(X, groups=groups),
    "products": lambda X, y, _: SecondOrderFeatures(0.0).fit_transform(X, y),
    "sizes": lambda _, __, groups: sizes_from_groups(groups),
}


@pytest.mark.parametrize("door", DOORS)
def test_memory_views_and_arrays_of_the_standard_library_work(door):
    expected = DOORS[door](X, Y, GROUPS)
    np.testing.assert_array_equal(
        DOORS[door](memoryview(X), memoryview(Y), memoryview(GROUPS)), expected
    )
    np.testing.assert_array_equal(
        DOORS[door](X, array.array("d", Y), array.array("q", GROUPS)), expected
    )


def test_memory_views_of_ranks_and_sizes_work():
    ranks, groups = memoryview(np.array([1, 3, 1])), memoryview(b"aab")
    assert from_ranks(ranks, groups).tolist() == [3, 1, 1]
    assert groups_from_sizes(memoryview(np.array([2, 1]))).tolist() == [0, 0, 1]


FITTED = ListMLERanker(alpha=0.1).fit(X, Y, GROUPS)
LAZY = pl.DataFrame({"a": Y}).lazy()


@pytest.mark.parametrize("lazy", [LAZY, pl.col("a")])
@pytest.mark.parametrize("door", sorted(set(DOORS) - {"products", "sizes"}))
def test_lazy_groups_are_refused_with_what_to_pass(door, lazy):
    name = "sample_weight" if door == "weights" else "groups"
    groups = GROUPS
    calls = DOORS[door]
    if door == "weights":
        calls = lambda X, y, lazy: (  # noqa: E731
            ListMLERanker().fit(X, y, groups, sample_weight=lazy)
        )
    message = f"{name} is a polars {type(lazy).__name__}, which has no rows yet; pass"
    with pytest.raises(ValueError, match=message):
        calls(X, Y, lazy)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda lazy: ListMLERanker().fit(lazy, Y, GROUPS), "X"),
        (lambda lazy: ListMLERanker().fit(X, Y, GROUPS).predict(lazy), "X"),
        (lambda lazy: SecondOrderFeatures().fit(lazy, Y), "X"),
        (lambda lazy: QueryScaler().fit(lazy, groups=GROUPS), "X"),
        (lambda lazy: ListMLERanker().fit(X, lazy, GROUPS), "y"),
        (lambda lazy: ndcg_score(lazy, Y, GROUPS), "y_true"),
        (lambda lazy: ndcg_score(Y, lazy, GROUPS), "y_score"),
        (lambda lazy: rank_within(lazy, GROUPS), "scores"),
        (lambda lazy: from_ranks(lazy, GROUPS), "ranks"),
        (lambda lazy: with_groups(lazy, GROUPS), "y"),
        (lambda lazy: compare_rankers([FITTED], lazy, Y, GROUPS), "X"),
        (lambda lazy: compare_rankers([FITTED], X, lazy, GROUPS), "y"),
        (
            lambda lazy: compare_rankers([FITTED], X, Y, GROUPS, clusters=lazy),
            "clusters",
        ),
        (lambda lazy: learning_curve(FITTED, lazy, Y, GROUPS), "X"),
        (lambda lazy: RankerCV().fit(lazy, Y, GROUPS), "X"),
        (lambda lazy: list(QueryKFold(2).split(lazy, Y, GROUPS)), "X"),
        (lambda lazy: group_train_test_split(lazy, Y, GROUPS), "X"),
        (lambda lazy: group_train_test_split(X, lazy, GROUPS), "y"),
        (lambda lazy: FusionRanker([("a", FITTED)]).fit(lazy, Y, GROUPS), "X"),
        (lambda lazy: FITTED.predict_rank(lazy, GROUPS), "X"),
        (lambda lazy: FITTED.summary(lazy, Y, GROUPS), "X"),
        (lambda lazy: FITTED.summary(X, Y, GROUPS, clusters=lazy), "clusters"),
        (lambda lazy: inspection.summarize(FITTED, lazy, Y, GROUPS), "X"),
        (lambda lazy: inspection.explain_scores(FITTED, lazy, GROUPS), "X"),
        (lambda lazy: inspection.describe_lists(lazy, Y, GROUPS), "X"),
        (lambda lazy: inspection.top_k_proba(FITTED, lazy, GROUPS), "X"),
        (lambda lazy: inspection.pairwise_proba(FITTED, lazy, X), "X"),
        (lambda lazy: inspection.wald_test(FITTED, lazy, Y, GROUPS), "X"),
        (lambda lazy: ndcg_scorer()(FITTED, lazy, Y, GROUPS), "X"),
        (lambda lazy: log_likelihood_scorer()(FITTED, lazy, Y, GROUPS), "X"),
    ],
)
def test_lazy_frames_are_refused_with_what_to_pass(call, name):
    what = "what" if name == "X" else "a column of what"
    with pytest.raises(
        ValueError, match=rf"^{name} is a polars LazyFrame.*; pass {what} its collect"
    ):
        call(LAZY)


ORDERED = pd.Categorical.from_codes(Y, ["bad", "fair", "good"], ordered=True)


@pytest.mark.parametrize("kind", [pd.Series, pd.Index, lambda values: values])
def test_ordered_categories_are_refused_and_their_codes_are_labels(kind):
    message = r"holds ordered categories; pass their codes, y.*\.cat\.codes of a Series"
    with pytest.raises(ValueError, match=f"^y {message}"):
        ListMLERanker().fit(X, kind(ORDERED), GROUPS)
    with pytest.raises(ValueError, match=f"^y_true {message}"):
        pairwise_accuracy_score(kind(ORDERED), Y, GROUPS)
    codes = pd.Series(ORDERED).cat.codes
    assert pairwise_accuracy_score(codes, Y, GROUPS) == 1.0
    np.testing.assert_array_equal(ORDERED.codes, Y)


def test_categories_without_an_order_are_refused():
    with pytest.raises(ValueError, match="y_true holds categories without an order"):
        ndcg_score(ORDERED.as_unordered(), Y, GROUPS)


@pytest.mark.parametrize("dtype", [pl.Enum(["bad", "fair", "good"]), pl.Categorical])
def test_categories_of_polars_are_refused(dtype):
    y = pl.Series(ORDERED.tolist(), dtype=dtype)
    with pytest.raises(ValueError, match=r"y_true holds categories.*y_true\.to_phys"):
        ndcg_score(y, Y, GROUPS)
    enum = pl.Series(ORDERED.tolist(), dtype=pl.Enum(["bad", "fair", "good"]))
    assert ndcg_score(enum.to_physical(), Y, GROUPS) == 1.0


@pytest.mark.parametrize("kind", [int, float])
def test_categories_that_are_numbers_are_labels(kind):
    y = pd.Series(pd.Categorical(Y.astype(kind)))
    assert ndcg_score(y, Y, GROUPS) == 1.0
    np.testing.assert_array_equal(
        DOORS["fit"](X, y, GROUPS), DOORS["fit"](X, Y, GROUPS)
    )


@pytest.mark.parametrize(
    ("names", "level"),
    [(["qid"], "qid"), (["day", "query"], "query"), (["race", None], "race")],
)
def test_groups_on_a_level_of_another_name_are_named_with_two_ways_out(names, level):
    index = pd.MultiIndex.from_arrays([GROUPS] * len(names), names=names)
    if len(names) == 1:
        index = index.get_level_values(0)
    y = pd.Series(Y, index=index)
    message = rf"needs to know which .* The index of y has the level {level!r}: if"
    with pytest.raises(ValueError, match=message) as caught:
        ListMLERanker().fit(X, y)
    expected = DOORS["fit"](X, Y, GROUPS)
    for recipe in (
        f"groups=y.index.get_level_values({level!r})",
        f"y.rename_axis(index={{{level!r}: 'groups'}})",
    ):
        assert recipe in str(caught.value)
    with_argument = ListMLERanker().fit(X, y, groups=y.index.get_level_values(level))
    np.testing.assert_array_equal(with_argument.coef_, expected)
    renamed = ListMLERanker().fit(X, y.rename_axis(index={level: "groups"}))
    np.testing.assert_array_equal(renamed.coef_, expected)


@pytest.mark.parametrize("name", [None, 7])
def test_an_index_without_names_gets_no_such_advice(name):
    y = pd.Series(Y, index=pd.Index(GROUPS, name=name))
    with pytest.raises(ValueError, match=r"groups=np\.zeros\(len\(y_true\)\)\.$"):
        ndcg_score(y, Y)
