"""Every number of trec_eval that skrank has, through from_run.

Of a run that is drawn, and of the test files of trec_eval.
"""

import numpy as np
import pytest

from skrank.interop import from_run
from skrank.metrics import (
    average_precision_score,
    bpref_score,
    hit_rate_score,
    list_labels,
    ndcg_score,
    precision_at_k_score,
    r_precision_score,
    recall_at_k_score,
    reciprocal_rank_score,
)

CUTOFFS = [5, 10, 15, 20, 30, 100, 200, 500, 1000]
METRICS = {
    "map": (average_precision_score, {}),
    "Rprec": (r_precision_score, {}),
    "bpref": (bpref_score, {}),
    "recip_rank": (reciprocal_rank_score, {}),
    "ndcg": (ndcg_score, {}),
}
for name, metric in [
    ("P", precision_at_k_score),
    ("recall", recall_at_k_score),
    ("ndcg_cut", ndcg_score),
    ("map_cut", average_precision_score),
]:
    METRICS |= {f"{name}_{k}": (metric, {"k": k}) for k in CUTOFFS}
METRICS |= {f"success_{k}": (hit_rate_score, {"k": k}) for k in (1, 5, 10)}
OVERALL = {
    "gm_map": (average_precision_score, {"average": "geometric"}),
    "gm_bpref": (bpref_score, {"average": "geometric"}),
}
LAST_DIGIT = 0.5e-4 + 1e-12


@pytest.fixture(scope="module", params=["drawn", "of trec_eval's own tests"])
def folder(request, reference):
    if request.param == "drawn":
        return reference / "trec_eval"
    return request.getfixturevalue("shared") / "data/trec_eval_test"


@pytest.fixture(scope="module")
def rows(folder):
    qrels, run = {}, {}
    for line in (folder / "qrels.test").read_text().splitlines():
        topic, _, document, grade = line.split()
        qrels.setdefault(topic, {})[document] = int(grade)
    for line in (folder / "results.test").read_text().splitlines():
        topic, _, document, _, score, _ = line.split()
        run.setdefault(topic, {})[document] = float(score)
    return from_run(qrels, run)


def read(path):
    """Return the numbers of trec_eval's output by name and topic."""
    numbers = {}
    for line in path.read_text().splitlines():
        name, topic, value = line.split()
        if name not in ("runid", "relstring"):  # which are no numbers
            numbers[name, topic] = float(value)
    return numbers


@pytest.mark.parametrize("name", METRICS)
def test_each_topic_has_trec_evals_number(folder, rows, name):
    metric, options = METRICS[name]
    expected = read(folder / "out.test.aq")
    values = rows.score(metric, convention="trec_eval", average=None, **options)
    for topic, value in zip(list_labels(rows.groups), values, strict=True):
        # Without a relevant row trec_eval has 0, which ours counts in the mean alone.
        value = np.nan_to_num(value)
        assert value == pytest.approx(expected[name, topic], abs=LAST_DIGIT), topic


@pytest.mark.parametrize("name", [*METRICS, *OVERALL])
def test_the_mean_is_trec_evals_number(folder, rows, name):
    metric, options = (METRICS | OVERALL)[name]
    expected = read(folder / "out.test.a")
    value = rows.score(metric, convention="trec_eval", **options)
    assert value == pytest.approx(expected[name, "all"], abs=LAST_DIGIT)


IR_MEASURES = {
    "AP": (average_precision_score, {}),
    "AP(rel=2)": (average_precision_score, {"relevance_level": 2}),
    "AP@100": (average_precision_score, {"k": 100}),
    "RR": (reciprocal_rank_score, {}),
    "P@5": (precision_at_k_score, {"k": 5}),
    "P@1000": (precision_at_k_score, {"k": 1000}),
    "R@100": (recall_at_k_score, {"k": 100}),
    "Success@1": (hit_rate_score, {"k": 1}),
    "Rprec": (r_precision_score, {}),
    "Bpref": (bpref_score, {}),
    "nDCG": (ndcg_score, {}),
    "nDCG@10": (ndcg_score, {"k": 10}),
}


@pytest.mark.parametrize("name", IR_MEASURES)
def test_each_topic_and_the_mean_have_the_number_of_ir_measures(folder, rows, name):
    ir_measures = pytest.importorskip("ir_measures")
    metric, options = IR_MEASURES[name]
    measure = ir_measures.parse_measure(name)
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.test")))
    run = list(ir_measures.read_trec_run(str(folder / "results.test")))
    expected = {
        number.query_id: number.value
        for number in ir_measures.iter_calc([measure], qrels, run)
    }
    values = rows.score(metric, convention="trec_eval", average=None, **options)
    labels = list_labels(rows.groups)
    assert set(labels) == set(expected)
    for topic, value in zip(labels, values, strict=True):
        assert np.nan_to_num(value) == pytest.approx(expected[topic], abs=1e-12)
    # The mean is over all topics that are judged and retrieved.
    mean = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    value = rows.score(metric, convention="trec_eval", **options)
    assert value == pytest.approx(mean, abs=1e-12)


def test_counts_are_trec_evals(folder, rows):
    overall = read(folder / "out.test.a")
    by_topic = read(folder / "out.test.aq")
    relevant = rows.judged & (rows.y_true >= 1)
    for topic in [*list_labels(rows.groups), "all"]:
        numbers = overall if topic == "all" else by_topic
        part = np.full(len(rows), True) if topic == "all" else rows.groups == topic
        assert (rows.retrieved & part).sum() == numbers["num_ret", topic]
        assert (relevant & part).sum() == numbers["num_rel", topic]
        hits = relevant & rows.retrieved & part
        assert hits.sum() == numbers["num_rel_ret", topic]


def test_ties_without_document_ids_raise(rows):
    with pytest.raises(ValueError, match="tied scores"):
        average_precision_score(
            *(rows.y_true, rows.y_score, rows.groups),
            retrieved=rows.retrieved,
            convention="trec_eval",
        )
