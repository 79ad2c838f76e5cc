"""Data laid out for other tools, taken over and given back."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank import with_groups
from skrank.interop import (
    from_ranks,
    from_run,
    groups_from_sizes,
    sizes_from_groups,
)
from skrank.metrics import (
    average_precision_score,
    bpref_score,
    kendall_tau_score,
    ndcg_score,
)

QRELS = {"q1": {"a": 2, "b": 0, "c": 1, "d": -1}, "q2": {"x": 1}, "q3": {"y": 1}}
RUN = {"q1": {"b": 3.0, "e": 2.0, "a": 1.0, "d": 0.5}, "q2": {"x": 1.0}, "q9": {"z": 1}}


def test_a_run_has_a_row_for_what_is_retrieved_or_judged():
    rows = from_run(QRELS, RUN)
    assert rows.groups.tolist() == ["q1"] * 5 + ["q2"]
    assert rows.doc_ids.tolist() == ["b", "e", "a", "d", "c", "x"]
    assert rows.y_true.tolist() == [0, 0, 2, 0, 1, 1]
    assert rows.retrieved.tolist() == [True, True, True, True, False, True]
    assert rows.judged.tolist() == [True, False, True, False, True, True]
    assert rows.y_score[:4].tolist() == [3, 2, 1, 0.5]
    assert rows.y_score[4] < 0.5
    assert len(rows) == 6


def test_complete_keeps_topics_for_which_nothing_is_retrieved():
    rows = from_run(QRELS, RUN, complete=True)
    assert rows.groups.tolist()[-1] == "q3"
    assert not rows.retrieved[-1]
    values = rows.score(average_precision_score, average=None)
    assert values[2] == 0.0
    assert rows.score(ndcg_score, average=None)[2] == 0.0


def test_a_metric_gets_the_rows_it_takes():
    rows = from_run(QRELS, RUN)
    # q1: b is the one judged row before a; c is not retrieved. N = 1, R = 2.
    assert rows.score(bpref_score, average=None).tolist() == [0.0, 1.0]
    assert rows.score(average_precision_score, average=None)[0] == pytest.approx(1 / 6)
    with pytest.raises(TypeError, match="kendall_tau_score takes no retrieved="):
        rows.score(kendall_tau_score)
    whole = from_run({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 0.0}})
    assert whole.score(kendall_tau_score) == 1.0


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        ({"301": {"a": 1}}, {301: {"a": 1.0}}, "no topic in common.*301 is not '301'"),
        ({}, {"q": {"a": 1.0}}, "no topic in common"),
        ({"q": {"a": 1}}, {"q": {"a": np.nan}}, "run has 1 NaN"),
        ({"q": {"a": np.inf}}, {"q": {"a": 1.0}}, "qrels has 0 NaN and 1 infinite"),
        ({"q": {"a": "1"}}, {"q": {"a": 1.0}}, "qrels must hold real numbers.*U1"),
        ({"q": {"b": "1"}}, {"q": {"a": 1.0}}, "qrels must hold real numbers.*U1"),
        ({"q": {"a": 1}}, {"q": {"a": 1.0, "b": "2"}}, "run must hold real numbers"),
        ({"q": {"a": 1}}, {"q": {"a": np.complex128(1)}}, "got dtype complex128"),
        ({"q": {"a": 1}}, {"q": {"a": None}}, "run has 1 NaN"),
        ({"q": {"a": 1}}, {"q": {"a": 2**53 + 1}}, "run holds integers beyond"),
    ],
)
def test_a_run_that_cannot_be_scored_is_refused(qrels, run, message):
    with pytest.raises(ValueError, match=message):
        from_run(qrels, run)


@pytest.mark.parametrize(
    "ranks",
    [
        [1, 2, np.nan, 3, 1, np.nan],
        [1, 2, None, 3, 1, None],
        ["1", "2", "DNF", "3", "1", ""],
        [1, 2, "DQ", 3, 1.0, b"ret"],
        np.array([1, 2, np.nan, 3, 1, np.nan], dtype=np.float32),
        np.array(["1", "2", "nan", "3", "1", "inf"]),
        pd.Series([1, 2, pd.NA, 3, 1, pd.NA], dtype="Int64"),
        pd.Series(["1", "2", None, "3", "1", "DNS"], dtype="string"),
        pl.Series([1, 2, None, 3, 1, None]),
        pl.Series(["1", "2", "DNF", "3", "1", None]),
    ],
)
def test_rows_without_a_rank_tie_behind_all_others_with_label_0(ranks):
    labels = from_ranks(ranks, list("abaaba"))
    # List a: ranks 1, none, 3, none; list b: ranks 2, 1.
    assert labels.tolist() == [3, 1, 0, 1, 2, 0]
    assert from_ranks(["DNF", np.nan, "1"], [0, 0, 1]).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (["1", "3rd"], "ranks must hold numbers, or text without a digit .*got '3rd'"),
        (["1", "T2"], "got 'T2'"),
        ([1, np.inf], "ranks has 0 NaN and 1 infinite values"),
        ([np.nan, 0], "ranks must be at least 1, the best, got 0. For ranks from 0"),
        (np.ma.masked_equal([1.0, 9.0], 9), "ranks has 1 masked"),
        ([[1.0], [2.0]], "ranks must be one-dimensional"),
        ([], "ranks is empty"),
    ],
)
def test_ranks_that_could_mean_something_else_are_refused(ranks, message):
    with pytest.raises(ValueError, match=message):
        from_ranks(ranks, [0] * len(ranks))


def test_ranks_become_labels_of_which_larger_is_better():
    assert from_ranks([1, 2, 3], [0, 0, 0]).tolist() == [3, 2, 1]
    assert from_ranks([2, 1, 1, 3, 2], list("abaaa")).tolist() == [2, 1, 3, 1, 2]
    indexed = with_groups([1, 2, 1], ["a", "a", "b"])
    assert from_ranks(indexed).tolist() == [2, 1, 1]
    with pytest.raises(ValueError, match="ranks must be at least 1"):
        from_ranks([0, 1], [0, 0])
    with pytest.raises(ValueError, match="from_ranks needs to know which rows"):
        from_ranks([1, 2])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_sizes_and_groups_say_the_same(sizes):
    groups = groups_from_sizes(sizes)
    assert len(groups) == sum(sizes)
    assert sizes_from_groups(groups).tolist() == sizes
    assert sizes_from_groups(groups[::-1]).tolist() == sizes[::-1]
    assert sizes_from_groups(pd.Series(groups).astype(str)).tolist() == sizes


def test_sizes_cannot_say_what_is_apart():
    with pytest.raises(ValueError, match=r"rows are apart.*Sort all rows by group"):
        sizes_from_groups(["a", "b", "a"])
    with pytest.raises(ValueError, match="sizes must be at least 1, got 0"):
        groups_from_sizes([2, 0])
