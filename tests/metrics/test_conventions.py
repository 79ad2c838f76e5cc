"""Conventions of other tools, without the tools: rules, refusals, explanations."""

import inspect
from dataclasses import fields

import numpy as np
import pytest

from skrank import metrics
from skrank.metrics import (
    average_precision_score,
    bpref_score,
    err_score,
    explain_metric,
    kendall_tau_score,
    ndcg_score,
    precision_at_k_score,
    recall_at_k_score,
    reciprocal_rank_score,
)
from skrank.metrics._conventions import CONVENTIONS, Rule

EPS = np.finfo(float).eps
PAIRS = [(tool, name) for tool, named in CONVENTIONS.items() for name in named]


@pytest.mark.parametrize(("tool", "name"), PAIRS)
def test_the_table_names_metrics_that_take_a_convention_and_say_which(tool, name):
    metric = getattr(metrics, name)
    assert "convention" in inspect.signature(metric).parameters
    assert f'"{tool}"' in metric.__doc__
    assert set(CONVENTIONS[tool][name]) <= {field.name for field in fields(Rule)}


@pytest.mark.parametrize(("tool", "name"), PAIRS)
def test_every_convention_runs_and_is_explained(tool, name):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 6)
    y, scores = rng.integers(0, 2, 120), np.round(rng.normal(size=120), 1)
    ids = rng.permutation(120).astype(str)
    metric = getattr(metrics, name)
    value = metric(y, scores, groups, convention=tool, doc_ids=ids)
    explanation = explain_metric(metric, y, scores, groups, None, tool, doc_ids=ids)
    assert explanation.second_value == value
    assert explanation.first_value == metric(y, scores, groups)
    total = sum(step.change for step in explanation.steps)
    assert explanation.first_value + total == pytest.approx(value, abs=32 * EPS)
    back = explain_metric(metric, y, scores, groups, tool, None, doc_ids=ids)
    assert [step.what for step in back.steps] == [
        step.what for step in explanation.steps
    ]
    assert len(str(explanation).splitlines()) == len(explanation.steps) + 2
    same = explain_metric(metric, y, scores, groups, tool, tool, doc_ids=ids)
    assert same.steps == ()
    assert "nothing differs" in str(same)


def test_a_metric_that_a_tool_lacks_names_the_tools_that_have_it():
    rows = [0, 1], [0, 1], [0, 0]
    with pytest.raises(ValueError, match="no convention 'xgboost'; it has 'trec_eval'"):
        recall_at_k_score(*rows, convention="xgboost")
    with pytest.raises(ValueError, match="no convention 7"):
        ndcg_score(*rows, convention=7)


def test_an_option_that_contradicts_a_convention_is_refused():
    rows = [0, 1], [0, 1], [0, 0]
    with pytest.raises(ValueError, match="sets ties='worst', but ties='best'"):
        ndcg_score(*rows, convention="catboost", ties="best")
    with pytest.raises(ValueError, match=r"sets empty=1.0, but empty=0.5"):
        ndcg_score(*rows, convention="lightgbm", empty=0.5)
    same = ndcg_score(*rows, convention="catboost", ties="worst", gain="linear")
    assert same == ndcg_score(*rows, convention="catboost")


@pytest.mark.parametrize("tool", ["trec_eval", "gdeval"])
def test_tied_scores_need_document_ids_where_a_tool_breaks_ties_by_them(tool):
    y, groups = [1, 0, 1], ["a", "a", "b"]
    with pytest.raises(ValueError, match=r"tied scores.*Pass doc_ids="):
        ndcg_score(y, [1, 1, 0], groups, convention=tool)
    # Equal scores of different lists are no ties, nor are rows without a rank.
    assert ndcg_score(y, [1, 0, 1], groups, convention=tool) == 1.0
    assert ndcg_score(y, [1, 1, 1], groups, convention=tool, doc_ids=list("cba")) == 1
    below = ndcg_score(y, [1, 1, 1], groups, convention=tool, doc_ids=list("bca"))
    assert below == pytest.approx((1 / np.log2(3) + 1) / 2, rel=4 * EPS)
    kept = {"retrieved": [True, False, True]}
    assert ndcg_score(y, [1, 1, 1], groups, convention=tool, **kept) == 1.0
    with pytest.raises(ValueError, match=r"doc_ids needs one id per row.*\(2,\)"):
        ndcg_score(y, [1, 1, 1], groups, convention=tool, doc_ids=["a", "b"])


def test_document_ids_break_ties_whatever_the_order_of_rows_and_lists():
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 9, 100)
    y, scores = rng.integers(0, 3, 100), rng.integers(0, 3, 100)
    ids = np.array([f"doc{i}" for i in rng.permutation(100)])
    expected = ndcg_score(
        y, scores, groups, convention="trec_eval", doc_ids=ids, average=None
    )
    order = rng.permutation(100)
    rows = (column[order] for column in (y, scores, groups))
    value = ndcg_score(*rows, convention="trec_eval", doc_ids=ids[order], average=None)
    np.testing.assert_array_equal(value, expected)


def test_trec_eval_rounds_scores_to_single_precision():
    y, scores, groups = [1, 0], [1.0 + 1e-9, 1.0], [0, 0]
    assert reciprocal_rank_score(y, scores, groups) == 1.0
    rank = reciprocal_rank_score(
        y, scores, groups, convention="trec_eval", doc_ids=["a", "b"]
    )
    assert rank == 0.5
    beyond = reciprocal_rank_score(
        [1, 0, 0],
        [-1e300, 1e300, 0],
        [0, 0, 0],
        convention="trec_eval",
        retrieved=[True, True, False],
        doc_ids=["a", "b", "c"],
    )
    assert beyond == 0.5


def test_empty_lists_count_unweighted_where_a_tool_forgets_their_weight():
    y, scores, groups = [1, 0, 0], [2, 1, 1], [0, 0, 1]
    weights = [1, 1, 0.25]
    value = ndcg_score(y, scores, groups, convention="lightgbm", sample_weight=weights)
    assert value == pytest.approx(1.6, rel=2 * EPS)  # LightGBM's own number, above 1
    assert ndcg_score(y, scores, groups, empty=1, sample_weight=weights) == 1.0


def test_catboost_takes_labels_as_chances_for_err():
    value = err_score([0.25, 0.5, 0.5], [3, 2, 1], [0] * 3, k=2, convention="catboost")
    assert value == pytest.approx(0.4375, rel=4 * EPS)
    with pytest.raises(ValueError, match=r"a label of 2.0 above 1\. This convention"):
        err_score([2, 1], [2, 1], [0, 0], convention="catboost")


def test_gdeval_leaves_lists_without_a_relevant_row_out_of_err():
    rows = [4, 0, 0, 0], [2, 1, 2, 1], [0, 0, 1, 1]
    assert err_score(*rows) == 0.9375 / 2
    assert err_score(*rows, convention="gdeval") == 0.9375


def test_scikit_learns_average_precision_has_no_cutoff():
    rows = [1, 0], [2, 1], [0, 0]
    with pytest.raises(ValueError, match="has no cut-off"):
        average_precision_score(*rows, k=1, convention="sklearn")


def test_explanations_say_what_moves_the_number():
    y, scores, groups = [1, 1, 1, 0, 0], [4, 3, 2, 1, 1], [0, 0, 0, 0, 1]
    explanation = explain_metric(
        average_precision_score, y, scores, groups, None, "lightgbm", k=2
    )
    steps = {step.what: step for step in explanation.steps}
    assert steps["divisor"].change == pytest.approx(1 / 3, rel=8 * EPS)
    assert steps["divisor"].before == "all relevant rows"
    assert steps["lists with nothing relevant"].after == "1.0"
    assert steps["relevant labels"].change == 0.0
    text = str(explanation)
    assert text.startswith("average_precision_score: skrank 0.666667\n")
    assert text.endswith("average_precision_score: lightgbm 1.000000")
    assert "weight" not in text  # without weights there is no such difference


def test_explanations_take_options_that_a_convention_does_not_fix():
    rows = [2, 1, 0, 3], [4, 3, 2, 1], [0] * 4
    explanation = explain_metric(
        precision_at_k_score, *rows, None, "xgboost", k=10, relevance_level=2
    )
    assert (explanation.first_value, explanation.second_value) == pytest.approx(
        (0.2, 0.5)
    )
    explanation = explain_metric(ndcg_score, *rows, None, "sklearn", gain=np.sqrt)
    assert explanation.steps[0].before == "sqrt"
    weighted = explain_metric(
        *(ndcg_score, [1, 0, 0], [2, 1, 1], [0, 0, 1], "sklearn", "lightgbm"),
        sample_weight=[1, 1, 0.25],
    )
    assert weighted.steps[-1].what == "weight of these"
    assert weighted.steps[-1].change == pytest.approx(0.6, rel=8 * EPS)


def test_explanations_refuse_what_they_cannot_hand_on():
    rows = [0, 1], [0, 1], [0, 0]
    with pytest.raises(TypeError, match="kendall_tau_score has no conventions"):
        explain_metric(kendall_tau_score, *rows)
    with pytest.raises(TypeError, match="cannot pass 'average' on to ndcg_score"):
        explain_metric(ndcg_score, *rows, average=None)
    with pytest.raises(TypeError, match="cannot pass 'cutoff' on to ndcg_score"):
        explain_metric(ndcg_score, *rows, cutoff=3)
    with pytest.raises(ValueError, match="bpref_score has no convention 'sklearn'"):
        explain_metric(bpref_score, *rows, None, "sklearn")


def test_retrieved_rows_with_labels_too_large_for_a_sum_raise():
    with pytest.raises(ValueError, match="exceeds the largest float"):
        ndcg_score([2000, 0], [1, 0], [0, 0], retrieved=[True, False])


def test_negative_labels_are_worth_nothing_to_trec_eval_and_zero_is_not_relevant():
    y, scores = [2, -2, 0, 1], [0.5, 4.0, 3.0, 2.0]
    # Gains 0, 0, 1, 2 at ranks 1 to 4; the best order has 2 and 1 first.
    expected = (1 / np.log2(4) + 2 / np.log2(5)) / (2 + 1 / np.log2(3))
    value = metrics.ndcg_score(y, scores, [0] * 4, convention="trec_eval")
    assert value == pytest.approx(expected, rel=1e-14)
    precision = metrics.average_precision_score(
        y, scores, [0] * 4, convention="trec_eval"
    )
    assert precision == pytest.approx((1 / 3 + 2 / 4) / 2, rel=1e-14)
