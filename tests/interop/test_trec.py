"""Runs and judgments in files, frames and other packages' objects."""

from collections import OrderedDict

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skrank.interop import (
    from_run,
    read_qrels,
    read_run,
    to_run,
    write_qrels,
    write_run,
)
from skrank.metrics import average_precision_score, ndcg_score

QRELS = {"q1": {"a": 2.0, "b": 0.0, "c": 1.0}, "q2": {"a": 1.0}}
RUN = {"q1": {"b": 3.5, "a": 1.0, "d": 1.0}, "q2": {"c": 0.1, "a": -2.0}}


def rows(nested, number):
    return pd.DataFrame(
        [(t, d, x) for t, inner in nested.items() for d, x in inner.items()],
        columns=["query_id", "doc_id", number],
    )


def same(built):
    expected = from_run(QRELS, RUN)
    for name in ("y_true", "y_score", "groups", "retrieved", "judged", "doc_ids"):
        np.testing.assert_array_equal(getattr(built, name), getattr(expected, name))


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_files_read_back_to_what_was_written(tmp_path, suffix):
    run, qrels = tmp_path / f"run{suffix}", tmp_path / f"qrels{suffix}"
    third = {"q1": {"a": 1 / 3, "b": 1e-300, "c": -1e300}}
    write_run(run, third)
    write_qrels(qrels, QRELS)
    assert read_run(run) == third
    assert read_qrels(qrels) == QRELS
    write_run(run, RUN)
    expected = from_run(read_qrels(qrels), read_run(run))
    for built in (from_run(qrels, run), from_run(str(qrels), str(run))):
        np.testing.assert_array_equal(built.doc_ids, expected.doc_ids)
        np.testing.assert_array_equal(built.y_true, expected.y_true)


def test_a_run_is_written_in_trec_evals_order(tmp_path):
    write_run(tmp_path / "run", RUN, tag="mine")
    lines = (tmp_path / "run").read_text().splitlines()
    assert lines == [
        "q1 Q0 b 1 3.5 mine",
        "q1 Q0 d 2 1.0 mine",  # equal scores: falling names
        "q1 Q0 a 3 1.0 mine",
        "q2 Q0 c 1 0.1 mine",
        "q2 Q0 a 2 -2.0 mine",
    ]


@pytest.mark.parametrize(
    "names",
    [
        ("query_id", "doc_id", "relevance", "score"),
        ("qid", "docno", "label", "score"),  # PyTerrier
        ("q_id", "doc_id", "score", "score"),  # ranx
        ("topic", "document", "grade", "sim"),
    ],
)
@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy"])
def test_frames_of_other_packages_are_taken_as_they_are(names, kind):
    query, document, grade, score = names
    qrels = rows(QRELS, grade).rename(columns={"query_id": query, "doc_id": document})
    run = rows(RUN, score).rename(columns={"query_id": query, "doc_id": document})
    if kind != "pandas":
        qrels, run = pl.from_pandas(qrels), pl.from_pandas(run)
    if kind == "lazy":
        qrels, run = qrels.lazy(), run.lazy()
    same(from_run(qrels, run))


def test_rows_of_a_run_can_be_a_frame():
    built = from_run(QRELS, RUN)
    frame = built.to_frame()
    assert frame.shape == (6, 6)
    for name in frame:
        np.testing.assert_array_equal(frame[name], getattr(built, name))
    judged = frame[frame["judged"]].set_index(["groups", "doc_ids"])["y_true"]
    for topic, grades in QRELS.items():
        assert judged[topic].to_dict() == grades


def test_objects_of_ir_measures_and_ranx_are_taken_as_they_are():
    ir_measures = pytest.importorskip("ir_measures")
    ranx = pytest.importorskip("ranx")
    qrels = [
        ir_measures.Qrel(t, d, int(x))
        for t, inner in QRELS.items()
        for d, x in inner.items()
    ]
    run = [
        ir_measures.ScoredDoc(t, d, x)
        for t, inner in RUN.items()
        for d, x in inner.items()
    ]
    same(from_run(qrels, iter(run)))
    whole = {t: {d: int(x) for d, x in inner.items()} for t, inner in QRELS.items()}
    built = from_run(ranx.Qrels(whole), ranx.Run(RUN))
    for metric in (average_precision_score, ndcg_score):
        assert built.score(metric, convention="trec_eval") == from_run(
            QRELS, RUN
        ).score(metric, convention="trec_eval")


def test_mappings_of_any_kind_hold_the_documents():
    ordered = {topic: OrderedDict(inner) for topic, inner in QRELS.items()}
    assert from_run(ordered, RUN).score(ndcg_score) == from_run(QRELS, RUN).score(
        ndcg_score
    )


def test_scores_of_rows_become_a_run():
    groups, documents = ["q1", "q2", "q1"], ["a", "a", "b"]
    assert to_run([3.0, 2.0, 1.0], groups, documents) == {
        "q1": {"a": 3.0, "b": 1.0},
        "q2": {"a": 2.0},
    }


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: to_run([1.0], ["q"], ["a", "b"]), ValueError, "doc_ids"),
        (lambda: to_run([1.0, 2.0], ["q", "q"], ["a", "a"]), ValueError, "'a' twice"),
        (lambda: to_run([np.nan], ["q"], ["a"]), ValueError, "scores"),
        (lambda: to_run([1.0], [None], ["a"]), ValueError, "groups"),
        (lambda: from_run(3, RUN), TypeError, "qrels must be a mapping of mappings"),
        (lambda: from_run([1], RUN), TypeError, "holds int, which has no query_id"),
        (lambda: from_run({"q": [1]}, RUN), TypeError, r"qrels\['q'\] must be a map"),
        (
            lambda: from_run({"q": pd.Series([1])}, RUN),
            TypeError,
            r"qrels\['q'\] must be a mapping from documents to numbers, got Series",
        ),
        (
            lambda: from_run(pd.DataFrame({"qid": [1]}), RUN),
            ValueError,
            "without a column 'doc_id'",
        ),
        (
            lambda: from_run(QRELS, pd.concat([rows(RUN, "score")] * 2)),
            ValueError,
            "run: topic 'q1' has document 'b' twice",
        ),
    ],
)
def test_what_cannot_be_taken_says_what_to_pass(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("read", "line", "message"),
    [
        (read_run, "q Q0 a 1 2.0", "line 2: a line has 6 fields, got 5"),
        (read_run, "q Q0 a 1 x tag", "line 2: score 'x' is no finite number"),
        (read_run, "q Q0 a 1 nan tag", "line 2: score 'nan' is no finite number"),
        (read_run, "p Q0 a 1 2 tag", "line 2: topic 'p' has document 'a' twice"),
        (read_qrels, "q 0 a", "line 2: a line has 4 fields, got 3"),
        (read_qrels, "q 0 a good", "line 2: grade 'good' is no finite number"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, read, line, message):
    path = tmp_path / "file"
    first = "p Q0 a 1 1.0 tag" if read is read_run else "p 0 a 1"
    path.write_text(f"{first}\n{line}\n")
    with pytest.raises(ValueError, match=message):
        read(path)


@pytest.mark.parametrize(
    ("write", "content", "message"),
    [
        (write_run, {"q 1": {"a": 1.0}}, "topic 'q 1' must be one word"),
        (write_run, {"q": {"": 1.0}}, "document '' must be one word"),
        (write_run, {"q": {"a": np.inf}}, "score of document 'a' of topic 'q' is inf"),
        (write_run, {1: {"a": 1.0}, "1": {"a": 2.0}}, "two topics are written alike"),
        (write_run, {"q": {1: 1.0, "1": 2.0}}, "two documents are written alike"),
        (write_qrels, {1: {"a": 1}, "1": {"a": 2}}, "two topics are written alike"),
        (write_qrels, {"q": {1: 1, "1": 2}}, "two documents are written alike"),
        (write_qrels, {"q": {"a": 0.5}}, "grade 0.5 of document 'a' is no whole"),
    ],
)
def test_what_the_format_cannot_hold_raises(tmp_path, write, content, message):
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "file", content)


def test_a_tag_of_two_words_raises(tmp_path):
    with pytest.raises(ValueError, match="tag 'my run' must be one word"):
        write_run(tmp_path / "file", RUN, tag="my run")
