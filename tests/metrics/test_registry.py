"""Metrics by name: one registry for scorers, comparisons, curves and the command."""

import re

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    LearningCurveDisplay,
    ValidationCurveDisplay,
)

from skrank import metrics, with_groups
from skrank.datasets import make_ranking
from skrank.metrics import (
    average_precision_score,
    make_ranking_scorer,
    metric_names,
    ndcg_score,
    ndcg_scorer,
    precision_at_k_score,
    reciprocal_rank_score,
)
from skrank.metrics._average import scored_lists
from skrank.metrics._registry import METRICS, look_up, plain_name, registered
from skrank.model_selection import QueryKFold, compare_rankers, learning_curve

ALIASES = {
    "map": (average_precision_score, None),
    "MAP@10": (average_precision_score, 10),
    "mrr": (reciprocal_rank_score, None),
    "ndcg@10": (ndcg_score, 10),
    "nDCG@10": (ndcg_score, 10),
    "ndcg_cut_10": (ndcg_score, 10),
    "p@5": (precision_at_k_score, 5),
    "P_5": (precision_at_k_score, 5),
}


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, n_features=3, n_informative=2, random_state=0)


@pytest.fixture
def own_metric(monkeypatch):
    """Enter a new metric, in the way in which the package's own are entered."""
    monkeypatch.setattr(
        "skrank.metrics._registry.METRICS", dict(METRICS)
    )  # nothing stays in the registry

    def rows_score(y_true, y_score, groups=None, *, average="mean", sample_weight=None):
        data = scored_lists(y_true, y_score, groups, sample_weight, "rows_score")
        sizes = data.grouping.lists.sizes.astype(float)
        return data.average(sizes, average, "skip")

    return registered(rows_score, "n_rows")


@pytest.mark.parametrize("name", ALIASES)
def test_what_people_type_is_the_metric_everywhere(name, data, run):
    X, y, groups = data
    metric, k = ALIASES[name]
    scores = Ridge().fit(X, y).predict(X)
    expected = metric(y, scores, groups, k=k, average=None)

    scorer = make_ranking_scorer(name)
    assert scorer.metric is metric
    assert scorer(Ridge().fit(X, y), X, y, groups=groups) == np.nanmean(expected)

    half = groups < 20
    folds = [(np.flatnonzero(half), np.flatnonzero(~half))]
    scores = Ridge().fit(X[half], y[half]).predict(X[~half])
    expected = metric(y[~half], scores, groups[~half], k=k, average=None)
    comparison = compare_rankers(
        {"ridge": Ridge()}, X, y, groups, metrics=name, cv=folds
    )
    values = comparison.results["ridge"].values[name]
    np.testing.assert_allclose(values, expected, rtol=1e-15)
    _, _, test_scores = learning_curve(
        Ridge(), X, y, groups, cv=folds, scoring=name, train_sizes=[20]
    )
    assert test_scores[0, 0] == pytest.approx(np.nanmean(expected), rel=1e-14)

    assert plain_name(name).upper() in run("--lists", 10, "--metric", name)


def test_every_public_score_of_a_list_has_a_name_and_a_scorer():
    scores = {name for name in metrics.__all__ if name.endswith("_score")}
    assert {entry.metric.__name__ for entry in METRICS.values()} == scores - {
        "click_score"  # which needs a model of users
    }
    for entry in METRICS.values():
        name = entry.metric.__name__.replace("_score", "_scorer")
        assert getattr(metrics, name) is entry.scorer
        assert look_up(entry.name)[0] is entry


def test_names_are_listed_with_their_aliases_and_none_stands_for_two():
    names = metric_names()
    assert len(set(names)) == len(names)
    assert {"ndcg", "map", "mrr", "p", "neg_esl"} <= set(names)
    for name in names:
        assert look_up(name)[0] in METRICS.values()


def test_a_new_metric_is_known_everywhere_at_once(own_metric, data, run):
    X, y, groups = data
    sizes = np.bincount(groups)
    assert own_metric()(Ridge().fit(X, y), X, y, groups=groups) == sizes.mean()
    assert "n_rows" in metric_names()
    comparison = compare_rankers(
        {"ridge": Ridge()}, X, y, groups, metrics=["n_rows", "rows"]
    )
    for name in ("n_rows", "rows"):
        values = comparison.results["ridge"].values[name]
        np.testing.assert_array_equal(values, sizes)
    _, _, scores = learning_curve(Ridge(), X, y, groups, scoring="rows", cv=2)
    assert scores.mean() == pytest.approx(sizes.mean())
    out = run("--lists", 10, "--metric", "n_rows")
    assert "Sorted by ROWS" in out


def test_a_name_is_given_once(own_metric):
    def other_score(y_true, y_score, groups=None):
        return 0.0

    with pytest.raises(ValueError, match="'n_rows' of other_score stands for rows_sc"):
        registered(other_score, "n_rows")


def test_what_cannot_be_typed_is_no_name(own_metric):
    def other_score(y_true, y_score, groups=None):
        return 0.0

    def depth(y_true, y_score, groups=None):
        return 0.0

    with pytest.raises(ValueError, match="aliases must be in lower case, got 'Depth'"):
        registered(other_score, "Depth")
    with pytest.raises(ValueError, match="must end in '_score', got 'depth'"):
        registered(depth)


@pytest.mark.parametrize("greater_is_better", [True, False])
@pytest.mark.parametrize("example", [{}, {"k": 3}])
def test_the_example_of_a_scorer_runs(own_metric, greater_is_better, example):
    def first_score(y_true, y_score, groups=None, *, k=None):
        return 0.0

    make = registered(first_score, greater_is_better=greater_is_better, **example)
    line, shown = re.search(
        r">>> (first_scorer\(.*\))\n +(.*)\n", make.__doc__
    ).groups()
    assert repr(eval(line, {"first_scorer": make})) == shown


@pytest.mark.parametrize("name", ["esl", "expected_search_length"])
def test_the_name_of_a_loss_without_its_sign_gets_a_hint(name):
    with pytest.raises(ValueError, match=f"Did you mean 'neg_{name}'"):
        make_ranking_scorer(name)


@pytest.mark.parametrize("name", ["ndgc", "ndcg@0", "ndcg@", "@10", "", "ndcg@1.5"])
def test_unknown_names_are_refused_with_the_known_ones(name):
    with pytest.raises(ValueError, match=r"there is no metric .*; known are .*ndcg, "):
        make_ranking_scorer(name)


def test_a_cut_off_is_refused_where_the_metric_has_none():
    with pytest.raises(ValueError, match="metric 'bpref' takes no cut-off, got 'bpre"):
        make_ranking_scorer("bpref@10")


def test_a_scorer_is_called_what_tables_call_it():
    assert ndcg_scorer(k=10, gain="linear").__name__ == "ndcg@10, gain='linear'"
    assert make_ranking_scorer("p@5").__name__ == "precision@5"
    loss = metrics.expected_search_length_scorer()
    assert loss.__name__ == "neg_expected_search_length"


@pytest.mark.parametrize(
    ("display", "options"),
    [
        (LearningCurveDisplay, {"train_sizes": [0.5, 1.0]}),
        (ValidationCurveDisplay, {"param_name": "alpha", "param_range": [0.1, 1.0]}),
    ],
)
# scikit-learn's learning curve takes rows, as the warning says.
@pytest.mark.filterwarnings("ignore:Lists lose rows here")
def test_scikit_learn_s_displays_take_a_scorer(display, options, data):
    pytest.importorskip("matplotlib", reason="displays draw").use("Agg")
    X, y, groups = data
    shown = display.from_estimator(
        Ridge(),
        X,
        with_groups(y, groups),
        scoring=ndcg_scorer(k=5),
        cv=QueryKFold(3),
        **options,
    )
    assert shown.ax_.get_ylabel() == "Ndcg@5"
