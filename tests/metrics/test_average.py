"""What every metric checks, and how it averages over lists."""

from fractions import Fraction
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skrank import metrics, with_groups
from skrank.metrics import (
    list_labels,
    ndcg_score,
)

METRICS = [  # click_score needs a model, and has tests of its own
    getattr(metrics, name)
    for name in metrics.__all__
    if name.endswith("_score") and name != "click_score"
]
PARAMETERS = {metric: signature(metric).parameters for metric in METRICS}
CUT = [metric for metric in METRICS if "k" in PARAMETERS[metric]]
TIED = [metric for metric in METRICS if "ties" in PARAMETERS[metric]]
UNDEFINED = [metric for metric in METRICS if "empty" in PARAMETERS[metric]]
DIVIDED_BY_K = [metrics.precision_at_k_score, metrics.f_measure_at_k_score]

Y = [2, 0, 1, 0, 3, 1]
SCORES = [0.1, 0.4, 0.2, 0.3, 0.0, 0.9]
GROUPS = ["b", "a", "b", "a", "b", "a"]


@pytest.mark.parametrize("metric", METRICS)
def test_values_come_in_the_order_of_list_labels(metric):
    values = metric(Y, SCORES, GROUPS, average=None)
    assert list_labels(GROUPS).tolist() == ["a", "b"]
    for label, value in zip(list_labels(GROUPS), values, strict=True):
        rows = [i for i, group in enumerate(GROUPS) if group == label]
        part = [[values[i] for i in rows] for values in (Y, SCORES, GROUPS)]
        assert metric(*part) == value
    assert metric(Y, SCORES, GROUPS) == values.mean()
    assert isinstance(metric(Y, SCORES, GROUPS), float)


@pytest.mark.parametrize("metric", METRICS)
def test_the_mean_weighs_lists(metric):
    weight = {"a": 1.0, "b": 3.0}
    values = metric(Y, SCORES, GROUPS, average=None)
    mean = metric(Y, SCORES, GROUPS, sample_weight=[weight[g] for g in GROUPS])
    assert mean == pytest.approx((values[0] + 3 * values[1]) / 4, rel=1e-15)


@pytest.mark.parametrize("metric", METRICS)
def test_weights_come_one_a_row_and_constant_in_a_list(metric):
    with pytest.raises(ValueError, match=r"shape \(2,\) for 6 rows in 2 lists"):
        metric(Y, SCORES, GROUPS, sample_weight=[1, 2])
    with pytest.raises(ValueError, match="constant inside each list"):
        metric(Y, SCORES, GROUPS, sample_weight=[1, 2, 3, 4, 5, 6])


def test_lists_of_no_weight_leave_nothing_to_average():
    weight = [0, 0, 1, 1]
    with pytest.warns(UserWarning, match="undefined"):
        assert (
            ndcg_score([1, 0, 0, 0], [2, 1, 2, 1], [1, 1, 2, 2], sample_weight=weight)
            == 0.0
        )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "make",
    [list, tuple, np.array, pd.Series, pl.Series, lambda v: np.array(v, dtype="O")],
    ids=["list", "tuple", "array", "pandas", "polars", "object"],
)
def test_any_container_gives_the_same(metric, make):
    expected = metric(Y, SCORES, GROUPS)
    assert metric(make(Y), make(SCORES), make(GROUPS)) == expected


@pytest.mark.parametrize("metric", METRICS)
def test_inputs_are_read_not_written(metric):
    y, scores = np.array(Y, dtype=float), np.array(SCORES)
    before = y.copy(), scores.copy()
    for array in (y, scores):
        array.flags.writeable = False
    groups = np.array([0, 0, 0, 1, 1, 1])
    metric(y, scores, groups)
    np.testing.assert_array_equal((y, scores), before)
    strided = np.repeat(y, 2)[::2], np.repeat(scores, 2)[::2]
    assert metric(*strided, groups) == metric(y, scores, groups)


@pytest.mark.parametrize("metric", METRICS)
def test_groups_ride_on_the_index_and_conflicts_raise(metric):
    y = with_groups(Y, GROUPS)
    assert metric(y, SCORES) == metric(Y, SCORES, GROUPS)
    assert metric(y, SCORES, GROUPS) == metric(Y, SCORES, GROUPS)
    with pytest.raises(ValueError, match=f"{metric.__name__} was given groups="):
        metric(y, SCORES, GROUPS[::-1])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("y", "scores", "groups", "message"),
    [
        ([0, np.nan, 1], [1, 2, 3], [0] * 3, "y_true has 1 NaN"),
        ([0, np.inf, 1], [1, 2, 3], [0] * 3, "y_true has 0 NaN and 1 infinite"),
        ([0, 2, 1], [1, np.nan, 3], [0] * 3, "y_score has 1 NaN"),
        ([0, 2, 1], [1, -np.inf, 3], [0] * 3, "y_score has 0 NaN and 1 infinite"),
        ([0, None, 1], [1, 2, 3], [0] * 3, "y_true has 1 NaN"),
        ([0, 2, 1], [1, 2], [0] * 3, "y_true has 3 entries and y_score has 2"),
        ([0, 2, 1], [1, 2, 3], [0] * 2, "groups has 2 entries for 3 rows"),
        ([[0, 2, 1]], [[1, 2, 3]], [0], r"y_true must be one-dim.*\(1, 3\)"),
        ([0, 2, 1], [[1], [2], [3]], [0] * 3, r"y_score must be one-dim.*\(3, 1\)"),
        (["a", "b", "c"], [1, 2, 3], [0] * 3, "y_true must hold real numbers"),
        ([0, 2, 1], [1, 2j, 3], [0] * 3, "y_score must hold real numbers"),
        (np.array([0, "b", 1], "O"), [1, 2, 3], [0] * 3, "y_true must hold real"),
        ([], [], [], "y_true is empty"),
        ([0, 2, 1], [1, 2, 3], [0, np.nan, 1], "groups has 1 missing"),
        ([0, 2, 1], [1, 2, 3], [2, 1], "list sizes, as LightGBM"),
    ],
)
def test_bad_input_is_named(metric, y, scores, groups, message):
    with pytest.raises(ValueError, match=message):
        metric(y, scores, groups)


@pytest.mark.parametrize("metric", METRICS)
def test_an_unknown_average_is_named(metric):
    with pytest.raises(ValueError, match=r"average must be 'mean'.* or None, got"):
        metric(Y, SCORES, GROUPS, average="sum")


@pytest.mark.parametrize("empty", ["zero", None, np.nan, np.inf, True, [0]])
@pytest.mark.parametrize("metric", UNDEFINED)
def test_an_unknown_empty_is_named(metric, empty):
    with pytest.raises(ValueError, match="empty must be 'skip' or a finite number"):
        metric(Y, SCORES, GROUPS, empty=empty)


@pytest.mark.parametrize("metric", CUT)
@pytest.mark.parametrize("k", [0, -1, 2.0, "10", True, [1]])
def test_a_cutoff_that_is_no_positive_integer_is_named(metric, k):
    with pytest.raises(ValueError, match="k must be None or an integer of at least 1"):
        metric(Y, SCORES, GROUPS, k=k)


@pytest.mark.parametrize("metric", CUT)
def test_a_numpy_integer_is_a_cutoff(metric):
    assert metric(Y, SCORES, GROUPS, k=np.int64(2)) == metric(Y, SCORES, GROUPS, k=2)
    beyond = metric(Y, SCORES, GROUPS, k=10**30)
    if metric in DIVIDED_BY_K:
        assert 0 < beyond < 1e-29
    else:
        assert beyond == metric(Y, SCORES, GROUPS)


@pytest.mark.parametrize("metric", TIED)
@pytest.mark.parametrize("ties", ["random", None, 0])
def test_unknown_ties_are_named(metric, ties):
    with pytest.raises(ValueError, match="ties must be 'average'"):
        metric(Y, SCORES, GROUPS, ties=ties)


def test_fractions_are_labels():
    y = [Fraction(1, 2), Fraction(0), Fraction(1, 4)]
    assert ndcg_score(y, [3, 1, 2], np.zeros(3)) == 1.0


def test_rows_that_are_not_retrieved_come_after_all_others():
    y, scores, groups = [3, 1, 2], [9.0, 1.0, 2.0], ["a"] * 3
    retrieved = [False, True, True]
    # Rank 1 has label 2 and rank 2 label 1; label 3 is only there to be found.
    first = metrics.dcg_score(
        y, scores, groups, k=1, gain="linear", retrieved=retrieved
    )
    assert first == 2.0
    assert (
        metrics.reciprocal_rank_score(
            y, scores, groups, relevance_level=2, retrieved=retrieved
        )
        == 1.0
    )


@pytest.mark.parametrize(
    ("scores", "retrieved", "is_tied"),
    [
        ([3, 2, 1, 3, 2, 1], None, False),  # equal scores of two lists are no ties
        ([3, 2, 1, 2, 2, 1], None, True),
        ([1, 1, 2, 3, 2, 1], None, True),  # at the end of the first list
        ([3, 2, 1, 3, 1, 1], [True] * 4 + [False] * 2, False),
        ([3, 3, 1, 3, 1, 1], [True] * 4 + [False] * 2, True),
    ],
)
def test_ties_inside_a_list_of_retrieved_rows_need_document_ids(
    scores, retrieved, is_tied
):
    options = {"convention": "trec_eval", "retrieved": retrieved}
    arguments = [1, 0, 0, 0, 1, 0], scores, list("aaabbb")
    if is_tied:
        with pytest.raises(ValueError, match="ndcg_score has tied scores"):
            ndcg_score(*arguments, **options)
    else:
        with_ids = ndcg_score(*arguments, doc_ids=list("pqrpqr"), **options)
        assert ndcg_score(*arguments, **options) == with_ids


@pytest.mark.parametrize(
    ("retrieved", "text"),
    [
        ([1, 0, 1, 0, 1, 1], r"dtype int64 and shape \(6,\)"),
        ([True, False], r"dtype bool and shape \(2,\) for 6 rows"),
    ],
)
def test_flags_are_truth_values_one_a_row(retrieved, text):
    with pytest.raises(
        ValueError, match=f"retrieved needs one bool per row, got {text}"
    ):
        ndcg_score(Y, SCORES, GROUPS, retrieved=retrieved)
