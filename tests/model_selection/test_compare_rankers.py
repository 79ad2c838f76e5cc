"""One call, one table: values, statistics, repeats, failures and what is printed."""

import sys
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import RankNetRanker, with_groups
from skrank.datasets import make_ranking
from skrank.metrics import (
    average_precision_score,
    bootstrap_interval,
    compare_scores,
    err_score,
    expected_search_length_scorer,
    holm,
    list_labels,
    make_ranking_scorer,
    ndcg_score,
    ndcg_scorer,
)
from skrank.metrics._registry import METRICS, named_scorer
from skrank.model_selection import (
    QueryKFold,
    RankerComparison,
    RankerResult,
    compare_rankers,
)
from skrank.model_selection._comparison import Ranked, SharedSort
from skrank.model_selection._report import marked_names, numbered_notes
from skrank.model_selection._result import sd_of_repeats
from skrank.preprocessing import QueryScaler

FEW = {"n_resamples": 99, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    """Lists with labels out of order, some rows apart, two without a relevant row."""
    X, y, groups = make_ranking(
        40, list_size=(1, 9), n_features=4, n_informative=2, random_state=3
    )
    y[np.isin(groups, [3, 8])] = 0
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order], (90 - groups)[order]


class Fails(BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no\nluck")


class Constant(BaseEstimator):
    """Ranks nothing, or gives scores of one's own."""

    def __init__(self, score=0.0):
        self.score = score

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), self.score)


def by_hand(ranker, data, splitter, metric, **groups):
    """Return one value a list, by label."""
    X, y, labels = data
    values = {}
    for train, test in splitter.split(X, y, labels):
        fit_groups = {"groups": labels[train]} if groups.get("learns", True) else {}
        scores = ranker.fit(X[train], y[train], **fit_groups).predict(X[test])
        of_lists = metric(y[test], scores, labels[test], average=None)
        values |= dict(zip(list_labels(labels[test]), of_lists, strict=True))
    return np.array([values[label] for label in sorted(values)])


def test_values_equal_a_hand_written_loop(data):
    rankers = {"net": RankNetRanker(), "ridge": Ridge()}
    comparison = compare_rankers(
        rankers, *data, cv=4, metrics=["ndcg@3", "err"], random_state=7
    )
    np.testing.assert_array_equal(comparison.lists, np.unique(data[2]))
    splitter = QueryKFold(4, shuffle=True, random_state=7)

    def ndcg(*arguments, **options):
        return ndcg_score(*arguments, k=3, **options)

    for name, learns in (("net", True), ("ridge", False)):
        for metric, function in (("ndcg@3", ndcg), ("err", err_score)):
            expected = by_hand(rankers[name], data, splitter, function, learns=learns)
            np.testing.assert_array_equal(
                comparison.results[name].values[metric], expected
            )
        assert len(comparison.results[name].seconds) == 4
    assert (
        np.isnan(comparison.results["net"].values["ndcg@3"]).sum()
        == np.isnan(by_hand(RankNetRanker(), data, splitter, ndcg)).sum()
    )


def test_statistics_are_those_of_the_metrics_package(data):
    rankers = {"a": Constant(), "b": RankNetRanker(), "c": Ridge()}
    comparison = compare_rankers(rankers, *data, metrics="ndcg", reference="b", **FEW)
    values = {name: comparison.results[name].values["ndcg"] for name in rankers}
    statistics = comparison.statistics("ndcg")
    raw = {}
    for name in ("a", "c"):
        alone = compare_scores(values[name], values["b"], **FEW)
        several = statistics[name].difference
        assert (several.difference, several.low, several.high, several.p_value) == (
            alone.difference,
            alone.low,
            alone.high,
            alone.p_value,
        )
        raw[name] = alone.p_value
    corrected = holm(raw)
    for name in rankers:
        assert statistics[name].interval == bootstrap_interval(values[name], **FEW)
        zeros = np.nan_to_num(values[name])
        assert statistics[name].mean_empty_as_zero == pytest.approx(zeros.mean())
        assert zeros.mean() < statistics[name].interval.mean
    assert statistics["b"].difference is None
    assert {n: statistics[n].difference.p_holm for n in raw} == corrected


@pytest.mark.parametrize("method", ["t", "wilcoxon"])
def test_p_values_are_those_of_the_method(data, method):
    rankers = {"a": RankNetRanker(), "b": Constant()}
    comparison = compare_rankers(rankers, *data, metrics="err@5", method=method, **FEW)
    a, b = (comparison.results[name].values["err@5"] for name in rankers)
    p_value = comparison.statistics("err@5")["b"].difference.p_value
    assert p_value == compare_scores(b, a, method=method).p_value
    if method == "t":
        assert p_value == pytest.approx(stats.ttest_rel(b, a).pvalue, rel=1e-9)


def test_repeats_shuffle_by_the_seeds_that_follow(data):
    comparison = compare_rankers(
        [RankNetRanker()], *data, cv=3, metrics="ndcg", n_repeats=3, random_state=5
    )
    (result,) = comparison.results.values()
    each = [
        by_hand(
            RankNetRanker(),
            data,
            QueryKFold(3, shuffle=True, random_state=seed),
            ndcg_score,
        )
        for seed in (5, 6, 7)
    ]
    np.testing.assert_allclose(
        result.values["ndcg"], np.mean(each, axis=0), rtol=1e-15, atol=0
    )
    means = [np.nanmean(values) for values in each]
    np.testing.assert_allclose(result.repeat_means["ndcg"], means, rtol=1e-14)
    assert len(set(means)) == 3
    assert len(result.seconds) == 9
    (sd,) = comparison.to_frame()["sd_of_repeats"]
    assert sd == pytest.approx(np.std(means, ddof=1))
    assert "9 fits a ranker in 3 repeats" in str(comparison)
    of_two = RankerResult(repeat_means={"ndcg": [0.25, 0.75]})
    assert sd_of_repeats(of_two, "ndcg") == pytest.approx(0.125**0.5)
    # Lists, not lists times repeats, are what the statistics rest on.
    assert comparison.statistics("ndcg")["RankNetRanker()"].interval.n_lists == (
        np.count_nonzero(~np.isnan(each[0]))
    )


def test_lists_tested_more_than_once_or_never_count_once_or_not_at_all(data):
    splitter = GroupShuffleSplit(3, test_size=0.3, random_state=2)
    comparison = compare_rankers([Ridge()], *data, cv=splitter, metrics="err", **FEW)
    tested = [data[2][test] for _, test in splitter.split(data[0], data[1], data[2])]
    np.testing.assert_array_equal(comparison.lists, np.unique(np.concatenate(tested)))
    assert len(comparison.lists) < len(np.unique(data[2]))


def test_the_seed_decides_everything(data):
    one, two, other = (
        compare_rankers([Constant(), RankNetRanker()], *data, random_state=seed)
        .to_frame()
        .drop(columns="fit_seconds")
        for seed in (1, np.int64(1), 2)
    )
    assert one.equals(two)
    assert not one.equals(other)


def test_groups_come_from_the_argument_or_the_index_of_y(data):
    X, y, groups = data
    options = {"metrics": "ndcg@5", **FEW}
    expected = compare_rankers([RankNetRanker()], X, y, groups, **options)
    comparison = compare_rankers(
        [RankNetRanker()], X, with_groups(y, groups), **options
    )
    for name, result in expected.results.items():
        np.testing.assert_array_equal(
            result.values["ndcg@5"], comparison.results[name].values["ndcg@5"]
        )
    with pytest.raises(ValueError, match="no groups were given"):
        compare_rankers([RankNetRanker()], X, y)
    with pytest.raises(ValueError, match="differ from the index"):
        compare_rankers([RankNetRanker()], X, with_groups(y, groups), groups + 1)


def test_pipelines_searches_and_frames_learn_from_groups(data):
    X, y, groups = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    names = groups.astype(str).astype(object)
    rankers = {
        "pipeline": make_pipeline(StandardScaler(), RankNetRanker()),
        "search": GridSearchCV(
            make_pipeline(StandardScaler(), RankNetRanker()),
            {"ranknetranker__alpha": [0.1]},
            cv=GroupKFold(2),
        ),
    }
    comparison = compare_rankers(rankers, frame, y, names, cv=2, metrics="ndcg", **FEW)
    assert [result.problem for result in comparison.results.values()] == [None, None]
    values = [result.values["ndcg"] for result in comparison.results.values()]
    np.testing.assert_array_equal(*values)
    assert comparison.lists.tolist() == sorted(set(names))


def test_a_search_hands_groups_to_what_scales_by_list(data):
    pipe = make_pipeline(QueryScaler(), RankNetRanker(alpha=0.1))
    search = GridSearchCV(pipe, {"ranknetranker__alpha": [0.1]}, cv=GroupKFold(2))
    rankers = {"pipeline": pipe, "search": search}
    comparison = compare_rankers(rankers, *data, cv=2, metrics="ndcg", **FEW)
    assert [result.problem for result in comparison.results.values()] == [None, None]
    values = [result.values["ndcg"] for result in comparison.results.values()]
    np.testing.assert_array_equal(*values)


def test_a_ranker_that_fails_is_noted_and_the_others_go_on(data):
    rankers = {"good": Ridge(), "bad": Fails(), "nan": Constant(np.nan)}
    comparison = compare_rankers(rankers, *data, metrics="ndcg", **FEW)
    assert comparison.results["bad"].problem == "failed: no luck"
    assert "NaN" in comparison.results["nan"].problem
    assert list(comparison.statistics("ndcg")) == ["good"]
    text = str(comparison)
    assert "bad [1]" in text
    assert "[1] failed: no luck" in text
    frame = comparison.to_frame()
    assert frame.loc[("ndcg", "bad"), "problem"] == "failed: no luck"
    assert np.isnan(frame.loc[("ndcg", "bad"), "mean"])


def test_without_a_reference_there_are_means_and_no_differences(data):
    comparison = compare_rankers([Fails(), Ridge()], *data, metrics="ndcg", **FEW)
    assert comparison.statistics("ndcg")["Ridge()"].difference is None
    assert not np.isnan(comparison.statistics("ndcg")["Ridge()"].interval.mean)
    alone = compare_rankers([Fails()], *data, metrics="ndcg", **FEW)
    assert "No ranker has values" in str(alone)
    assert "failed: no luck" in str(alone)
    with pytest.raises(ValueError, match="no ranker has values of 'ndcg'"):
        alone.statistics("ndcg")
    assert len(alone.to_frame()) == 0


def test_lists_without_a_value_are_left_out_and_counted_as_zero(data):
    comparison = compare_rankers([Ridge(), Constant()], *data, metrics="ndcg", **FEW)
    n_empty = sum(not data[1][data[2] == label].any() for label in np.unique(data[2]))
    assert n_empty >= 2
    text = str(comparison)
    assert f"ndcg has no value in {n_empty} lists" in text
    assert "as 0" in text.splitlines()[0]
    filled = compare_rankers(
        [Ridge(), Constant()], *data, metrics={"ndcg": ndcg_scorer(empty=0.0)}, **FEW
    )
    for name, statistics in filled.statistics("ndcg").items():
        assert statistics.interval.mean == pytest.approx(
            comparison.statistics("ndcg")[name].mean_empty_as_zero, rel=1e-14
        )
    assert "as 0" not in str(filled).splitlines()[0]


def test_a_metric_that_is_defined_for_one_list_only_has_no_difference():
    X, y, groups = np.arange(6.0).reshape(6, 1), [0, 1, 0, 0, 0, 0], [1, 1, 2, 2, 3, 3]
    comparison = compare_rankers(
        [Ridge(), Constant()], X, y, groups, cv=3, metrics="ndcg"
    )
    statistics = comparison.statistics("ndcg")
    assert statistics["Constant()"].difference is None
    assert statistics["Constant()"].interval.n_lists == 1
    nothing = compare_rankers([Ridge()], X, np.zeros(6), groups, cv=3, metrics="ndcg")
    assert nothing.statistics("ndcg")["Ridge()"].interval is None
    assert "ndcg has no value in 3 lists" in str(nothing)


def test_lines_are_at_most_88_characters_and_say_what_is_conditional(data):
    rankers = {
        "a name that is long, " * 6: Ridge(),
        "RankRegressionRanker(differences='margin', tol=1e-09)": Constant(),
        "fails": Fails(),
    }
    long_gain = make_ranking_scorer(ndcg_score, k=10, gain="linear")
    dcg = ["dcg", "ndcg@10", long_gain, expected_search_length_scorer()]
    X, y, groups = data
    comparison = compare_rankers(
        rankers, X, y * 100, groups, metrics=dcg, n_repeats=2, **FEW
    )
    lines = str(comparison).splitlines()
    assert max(map(len, lines)) <= 88
    flat = " ".join(str(comparison).split())
    assert "conditional on the trained models" in flat
    assert "randomization test, by Holm's correction" in flat
    assert "RankRegressionRanker(differences='margin', tol=1e-09)" in lines


def test_the_best_stands_first(data):
    rankers = {"bad": Constant(), "good": RankNetRanker()}
    lines = str(compare_rankers(rankers, *data, metrics="ndcg", **FEW)).splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["good", "bad"]
    assert "reference" in lines[3]


def test_the_frame_holds_what_the_table_shows(data):
    rankers = {"a": Constant(), "b": RankNetRanker()}
    comparison = compare_rankers(rankers, *data, metrics=["ndcg", "err"], **FEW)
    frame = comparison.to_frame()
    assert list(frame.index) == [
        (metric, name) for metric in ("ndcg", "err") for name in "ab"
    ]
    for (metric, name), row in frame.iterrows():
        statistics = comparison.statistics(metric)[name]
        assert row["mean"] == statistics.interval.mean
        assert (row["low"], row["high"]) == (
            statistics.interval.low,
            statistics.interval.high,
        )
        assert row["n_lists"] + row["n_empty"] == len(comparison.lists)
        if name == "b":
            assert row["difference"] == statistics.difference.difference
            assert row["p_holm"] == statistics.difference.p_holm
            assert row["fit_seconds"] == sum(comparison.results["b"].seconds)


def test_pandas_is_imported_for_a_frame_only(data, monkeypatch):
    comparison = compare_rankers([Ridge()], *data, metrics="err", **FEW)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert str(comparison).startswith("err")
    with pytest.raises(ImportError, match="pandas"):
        comparison.to_frame()


@pytest.mark.parametrize("name", METRICS)
def test_every_name_is_a_metric_of_whole_lists(data, name):
    X, y, groups = data
    (result,) = compare_rankers(
        [Ridge()], X, y, groups, metrics=name, **FEW
    ).results.values()
    scorer = named_scorer(name)
    expected = by_hand(
        Ridge(),
        data,
        QueryKFold(5, shuffle=True, random_state=0),
        lambda *arguments, average: (
            (1 if scorer.greater_is_better else -1)
            * scorer.metric(*arguments, average=average, **scorer.kwargs)
        ),
        learns=False,
    )
    np.testing.assert_array_equal(result.values[name], expected)


def test_functions_scorers_and_losses_are_metrics(data):
    def longest(y, scores, groups):
        return np.array([np.sum(groups == label) for label in list_labels(groups)])

    metrics = [longest, average_precision_score, expected_search_length_scorer()]
    comparison = compare_rankers([Ridge()], *data, metrics=metrics, **FEW)
    values = comparison.results["Ridge()"].values
    assert list(values) == [
        "longest",
        "average_precision",
        "neg_expected_search_length",
    ]
    sizes = np.unique(data[2], return_counts=True)[1]
    np.testing.assert_array_equal(values["longest"], sizes)
    # A loss has the sign of its scorer, so that larger is better.
    assert np.nanmax(values["neg_expected_search_length"]) <= 0


def test_a_convention_decides_what_empty_lists_count_as(data):
    metrics = {"lightgbm": ndcg_scorer(k=5, convention="lightgbm")}
    comparison = compare_rankers([Ridge()], *data, metrics=metrics, **FEW)
    values = comparison.results["Ridge()"].values["lightgbm"]
    empty = [not data[1][data[2] == label].any() for label in comparison.lists]
    assert (values[empty] == 1.0).all()


def test_all_metrics_share_one_sort_and_give_the_same_values():
    rng = np.random.default_rng(1)
    groups = rng.permutation(np.repeat([5, "b", 2, "a"], [40, 1, 13, 30]))
    y = rng.integers(0, 4, size=84).astype(float)
    scores = rng.integers(0, 9, size=84) / 8
    test = SharedSort(Ranked(np.zeros((84, 1)), y, groups))
    sorted_rows = test.best_first(scores)
    _, ranked, labels = sorted_rows
    same = labels[1:] == labels[:-1]
    assert np.count_nonzero(~same) == 3
    assert (np.diff(ranked)[same] <= 0).all()
    for name in METRICS:
        for ties in ("average", "order", "worst"):
            scorer = named_scorer(name)
            options = {"average": None, **scorer.kwargs}
            if "ties" in signature(scorer.metric).parameters:
                options["ties"] = ties
            np.testing.assert_allclose(
                scorer.metric(*sorted_rows, **options),
                scorer.metric(y, scores, groups, **options),
                rtol=1e-14,
            )


def test_the_first_ranker_is_the_reference_unless_named(data):
    rankers = {"a": Ridge(), "b": Constant(), "c": RankNetRanker()}
    first = compare_rankers(rankers, *data, metrics="err", **FEW)
    named = compare_rankers(rankers, *data, metrics="err", reference="c", **FEW)
    assert first.reference_name == "a"
    assert named.reference_name == "c"
    a, c = (first.results[name].values["err"] for name in "ac")
    assert named.statistics("err")["a"].difference.difference == pytest.approx(
        np.mean(a - c)
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"metrics": "mapp"},
            ValueError,
            "no metric 'mapp'; known are average_precision, bpref",
        ),
        ({"metrics": "ndcg@0"}, ValueError, "no metric 'ndcg@0'"),
        ({"metrics": "bpref@3"}, ValueError, "'bpref' takes no cut-off"),
        ({"metrics": []}, ValueError, "metrics is empty"),
        ({"metrics": [3]}, TypeError, "names, functions, or scorers .* got 3"),
        ({"metrics": ["err", "err"]}, ValueError, "different names, got err, err"),
        ({"metrics": make_scorer(ndcg_score)}, TypeError, "make_ranking_scorer, got"),
        ({"metrics": lambda y, scores, groups: 0.5}, ValueError, "one value per list"),
        ({"reference": "x"}, ValueError, "reference must be one of Ridge"),
        ({"n_repeats": 0}, ValueError, "n_repeats must be an integer of at least 1"),
        ({"n_repeats": 1.5}, ValueError, "n_repeats must be an integer"),
        ({"n_repeats": 2, "cv": QueryKFold(2)}, ValueError, "n_repeats needs a cv"),
        ({"n_repeats": 2, "cv": []}, ValueError, "n_repeats needs a cv"),
        ({"cv": KFold(3)}, ValueError, r"rows of \d+ lists into .* such as list \d+\."),
        ({"cv": [([0], [0])]}, ValueError, r"rows of 1 list into .* as list \d+\. "),
        ({"cv": []}, ValueError, "cv makes no folds"),
        ({"cv": "five"}, TypeError, "cv must be a number"),
        ({"method": "z"}, ValueError, "method must be"),
        ({"confidence": 95}, ValueError, "confidence"),
    ],
)
def test_wrong_arguments_are_named(data, options, error, message):
    with pytest.raises(error, match=message):
        compare_rankers([Ridge(), Constant()], *data, **{**FEW, **options})


def test_labels_and_rows_are_checked_before_anything_is_fitted(data):
    X, y, groups = data
    y = y.astype(float)
    y[3] = np.nan
    with pytest.raises(ValueError, match=r"y .*NaN"):
        compare_rankers([Ridge()], X, y, groups)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        compare_rankers([Ridge()], X[1:], data[1], groups)
    with pytest.raises(ValueError, match=r"groups has .* entries"):
        compare_rankers([Ridge()], X, data[1], groups[1:])


def test_it_is_short_where_it_is_not_printed(data):
    comparison = compare_rankers([Ridge()], *data, metrics="err", **FEW)
    assert (
        repr(comparison)
        == "<RankerComparison: rankers: 1, lists: 40; print it for the table>"
    )


def test_rankers_need_names_of_their_own(data):
    with pytest.raises(ValueError, match=r"several Ridge\(\)"):
        compare_rankers([Ridge(), Ridge()], *data)
    with pytest.raises(ValueError, match="rankers is empty"):
        compare_rankers({}, *data)


def test_labels_that_no_metric_takes_are_an_error_and_some_a_note(data):
    X, y, groups = data
    words = r'no metric applies.*labels of at least 0.* pass metrics=\["pairwise_acc'
    with pytest.raises(ValueError, match=words):
        compare_rankers([Ridge()], X, y - 9, groups, metrics="ndcg")
    metrics = ["ndcg", "pairwise_accuracy"]
    comparison = compare_rankers([Ridge()], X, y - 9, groups, metrics=metrics, **FEW)
    assert comparison.metrics == ["pairwise_accuracy"]
    assert "ndcg not shown: ndcg_score needs labels of at least 0" in str(comparison)


def test_marks_stand_in_order_and_notes_begin_with_a_capital():
    one, two = "R.fit: the first.", "S.fit: the second."
    results = {
        "a": RankerResult(warnings={one: 1, two: 1}),
        "b": RankerResult(warnings={two: 1, one: 1}, problem="failed: R.fit: no luck"),
    }
    comparison = RankerComparison(results, lists=[])
    assert marked_names(comparison) == {"a": "a [1] [2]", "b": "b [1] [2] [3]"}
    assert list(numbered_notes(comparison)) == [
        "[1] The first.",
        "[2] The second.",
        "[3] failed: no luck",
    ]


def test_a_budget_leaves_out_what_is_expected_to_exceed_it(data):
    comparison = compare_rankers([Ridge()], *data, metrics="err", budget=0.0, **FEW)
    assert isinstance(comparison, RankerComparison)
    assert "over the budget of 0 s" in comparison.results["Ridge()"].problem
