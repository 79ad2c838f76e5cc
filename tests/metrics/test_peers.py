"""Conventions against the tools themselves, on random lists.

Lists have ties, single rows and no relevant row, and cut-offs go beyond them. Each
test runs where the tool is installed (extra ``test-peers``).
"""

import shutil
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

from skrank.interop import from_run, sizes_from_groups
from skrank.metrics import (
    average_precision_score,
    bpref_score,
    dcg_score,
    err_score,
    explain_metric,
    f_measure_at_k_score,
    hit_rate_score,
    list_labels,
    ndcg_score,
    precision_at_k_score,
    r_precision_score,
    rank_biased_precision_score,
    recall_at_k_score,
    reciprocal_rank_score,
)

TOL = 1e-9
CUTOFFS = [1, 3, 50]


def lists(seed, max_label=4, n_lists=40):
    """Return labels, scores and groups; a third of the lists has nothing relevant."""
    rng = np.random.default_rng(seed)
    sizes = np.concatenate(([1, 1, 2], rng.integers(1, 13, n_lists - 3)))
    groups = np.repeat(np.arange(n_lists), sizes)
    y = rng.integers(0, max_label + 1, len(groups)) * (rng.random(len(groups)) < 0.5)
    y[groups % 3 == 0] = 0
    scores = np.round(rng.normal(size=len(groups)), 1)
    # Ties in single precision only: tools differ in whether they see these.
    scores += rng.integers(0, 2, len(groups)) * 1e-9
    return y, scores, groups


def weights_of(groups, seed):
    rng = np.random.default_rng(seed)
    return rng.choice([0.25, 1.0, 2.0], groups.max() + 1)[groups]


def lightgbm_value(y, scores, groups, metric, k, weight=None):
    lightgbm = pytest.importorskip("lightgbm")
    quiet = {"verbosity": -1, "min_data_in_leaf": 1, "min_data_in_bin": 1}
    data = lightgbm.Dataset(
        np.arange(len(y), dtype=float).reshape(-1, 1),
        label=y,
        group=sizes_from_groups(groups),
        init_score=scores,
        weight=weight,
        params=quiet,
    )
    params = {"objective": "lambdarank", "metric": metric, "eval_at": [k], **quiet}
    booster = lightgbm.Booster({**params, "force_col_wise": True}, data)
    return booster.eval_train()[0][2]


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("metric", "name"), [(ndcg_score, "ndcg"), (average_precision_score, "map")]
)
def test_lightgbm(metric, name, k, weighted):
    y, scores, groups = lists(k)
    weight = weights_of(groups, k) if weighted else None
    expected = lightgbm_value(y, scores, groups, name, k, weight)
    value = metric(y, scores, groups, k=k, sample_weight=weight, convention="lightgbm")
    assert value == pytest.approx(expected, abs=TOL)


def xgboost_value(y, scores, groups, metric, k, weight=None):
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(np.zeros((len(y), 1)), label=y, base_margin=scores)
    sizes = sizes_from_groups(groups)
    data.set_group(sizes)
    if weight is not None:
        data.set_weight(weight[np.cumsum(sizes) - 1])
    params = {"objective": "rank:pairwise", "base_score": 0.0, "verbosity": 0}
    booster = xgboost.train({**params, "eval_metric": f"{metric}@{k}"}, data, 0)
    return float(booster.eval(data).split(":")[-1])


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("metric", "name", "max_label"),
    [
        (ndcg_score, "ndcg", 4),
        (average_precision_score, "map", 1),
        (precision_at_k_score, "pre", 1),
    ],
)
def test_xgboost(metric, name, max_label, k, weighted):
    y, scores, groups = lists(k, max_label)
    weight = None
    if weighted:
        # Light lists that have relevant rows: else XGBoost's NDCG passes 1, and aborts.
        weight = np.where(groups % 3 == 0, 1.0, weights_of(groups, k))
    expected = xgboost_value(y, scores, groups, name, k, weight)
    value = metric(y, scores, groups, k=k, sample_weight=weight, convention="xgboost")
    assert value == pytest.approx(expected, abs=TOL)


@pytest.mark.parametrize("k", [*CUTOFFS, None])
def test_scikit_learn(k):
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    y, scores, groups = lists(0)
    ndcg = ndcg_score(y, scores, groups, k=k, convention="sklearn", average=None)
    dcg = dcg_score(y, scores, groups, k=k, convention="sklearn", average=None)
    ap = average_precision_score(
        y, scores, groups, convention="sklearn", average=None, empty=0.0
    )
    for group in np.unique(groups):
        rows = groups == group
        one = y[rows][None], scores[rows][None]
        relevant = (y[rows] >= 1).astype(int)
        if relevant.any():
            expected = sklearn_metrics.average_precision_score(relevant, scores[rows])
            assert ap[group] == pytest.approx(expected, abs=TOL)
        else:
            assert np.isnan(ap[group])
        if rows.sum() > 1:  # scikit-learn refuses a single row
            expected = sklearn_metrics.dcg_score(*one, k=k)
            assert dcg[group] == pytest.approx(expected, abs=TOL)
            expected = sklearn_metrics.ndcg_score(*one, k=k)
            value = ndcg[group] if y[rows].any() else 0.0
            assert value == pytest.approx(expected, abs=TOL)


def test_scikit_learn_counts_lists_without_a_relevant_row_as_0():
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    y, scores = np.array([[0, 0, 0], [0, 2, 1]]), np.array([[1, 2, 3], [1, 1, 2]])
    groups = np.repeat([0, 1], 3)
    expected = sklearn_metrics.ndcg_score(y, scores)
    value = ndcg_score(y.ravel(), scores.ravel(), groups, convention="sklearn")
    assert value == pytest.approx(expected, abs=TOL)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No positive class found")
        each = [
            sklearn_metrics.average_precision_score(y[i] > 0, scores[i]) for i in (0, 1)
        ]
    value = average_precision_score(
        y.ravel(), scores.ravel(), groups, convention="sklearn"
    )
    assert value == pytest.approx(np.mean(each), abs=TOL)


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (ndcg_score, "NDCG"),
        (dcg_score, "DCG"),
        (average_precision_score, "MAP"),
        (reciprocal_rank_score, "MRR"),
        (precision_at_k_score, "PrecisionAt"),
        (recall_at_k_score, "RecallAt"),
        (err_score, "ERR"),
    ],
)
def test_catboost(metric, name, k):
    utils = pytest.importorskip("catboost.utils")
    y, scores, groups = lists(k)
    y = y / 4  # chances for ERR; other metrics take above one half as relevant
    (expected,) = utils.eval_metric(y, scores, f"{name}:top={k}", group_id=groups)
    value = metric(y, scores, groups, k=k, convention="catboost")
    assert value == pytest.approx(expected, abs=TOL)


def run_and_judgments(seed, tied=True, lowest=0):
    """Return judgments and a run, with rows that only one of the two has."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for topic in range(30):
        names = [f"d{i}" for i in rng.permutation(30)]
        judged = rng.choice(names, rng.integers(1, 20), replace=False)
        retrieved = rng.choice(names, rng.integers(1, 20), replace=False)
        grades = rng.integers(lowest, 4, len(judged)) * (topic % 4 > 0)
        scores = rng.normal(size=len(retrieved))
        if tied:
            scores = np.round(scores, 1) + rng.integers(0, 2, len(retrieved)) * 1e-9
        run[str(topic)] = dict(zip(retrieved.tolist(), scores.tolist(), strict=True))
        qrels[str(topic)] = dict(zip(judged.tolist(), grades.tolist(), strict=True))
    return qrels, run


TREC = {
    "map": (average_precision_score, {}),
    "map_cut_3": (average_precision_score, {"k": 3}),
    "map_cut_50": (average_precision_score, {"k": 50}),
    "recip_rank": (reciprocal_rank_score, {}),
    "P_3": (precision_at_k_score, {"k": 3}),
    "P_50": (precision_at_k_score, {"k": 50}),
    "recall_3": (recall_at_k_score, {"k": 3}),
    "success_3": (hit_rate_score, {"k": 3}),
    "Rprec": (r_precision_score, {}),
    "bpref": (bpref_score, {}),
    "ndcg": (ndcg_score, {}),
    "ndcg_cut_3": (ndcg_score, {"k": 3}),
    "ndcg_cut_50": (ndcg_score, {"k": 50}),
}


@pytest.mark.parametrize("name", TREC)
@pytest.mark.parametrize("seed", range(3))
def test_trec_eval(name, seed):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    metric, options = TREC[name]
    qrels, run = run_and_judgments(seed)
    measure, _, cut = name.partition("_cut_") if "_cut_" in name else (name, "", "")
    if not cut and name[-1].isdigit():
        measure, _, cut = name.rpartition("_")
    measure += f"{'_cut' if '_cut_' in name else ''}.{cut}" if cut else ""
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {measure}).evaluate(run)
    rows = from_run(qrels, run)
    values = rows.score(metric, **options, convention="trec_eval", average=None)
    values = np.nan_to_num(values, nan=0.0)
    for topic, value in zip(list_labels(rows.groups), values, strict=True):
        assert value == pytest.approx(theirs[topic][name], abs=TOL)
    mean = np.mean([numbers[name] for numbers in theirs.values()])
    value = rows.score(metric, **options, convention="trec_eval")
    assert value == pytest.approx(mean, abs=TOL)


def as_arrays(qrels, run):
    """Return the rows of a run and its judgments, negative grades as they are."""
    rows = from_run(qrels, run)
    pairs = zip(rows.groups, rows.doc_ids, strict=True)
    grades = [qrels[topic].get(document, 0) for topic, document in pairs]
    return rows, np.array(grades, dtype=float)


@pytest.mark.parametrize("name", TREC)
def test_trec_eval_takes_negative_labels_as_not_judged(name):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    metric, options = TREC[name]
    qrels, run = run_and_judgments(5, lowest=-2)
    measure = name
    for family in ("map_cut", "ndcg_cut", "P", "recall", "success"):
        if name.startswith(f"{family}_"):
            measure = f"{family}.{name.removeprefix(f'{family}_')}"
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {measure}).evaluate(run)
    rows, grades = as_arrays(qrels, run)
    assert grades.min() == -2
    rows = replace(rows, y_true=grades)
    values = rows.score(metric, convention="trec_eval", average=None, **options)
    for topic, value in zip(list_labels(rows.groups), values, strict=True):
        assert np.nan_to_num(value) == pytest.approx(theirs[topic][name], abs=TOL)


def test_negative_labels_are_refused_where_no_tool_takes_them():
    rows = [-1, 2, 0], [3.0, 2.0, 1.0], [7, 7, 7]
    for metric in (ndcg_score, err_score):
        with pytest.raises(ValueError, match=r"of at least 0, got -1|from 0 to"):
            metric(*rows)
    assert explain_metric(
        average_precision_score, *rows, None, "trec_eval"
    ).second_value == pytest.approx(0.5)


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize(
    ("metric", "name"), [(ndcg_score, "nDCG(dcg='exp-log2')"), (err_score, "ERR")]
)
def test_gdeval(metric, name, k):
    ir_measures = pytest.importorskip("ir_measures")
    if shutil.which("perl") is None:
        pytest.skip("gdeval is a Perl script")
    qrels, run = run_and_judgments(k, lowest=-2)
    measure = ir_measures.parse_measure(f"{name}@{k}")
    theirs = ir_measures.gdeval.iter_calc([measure], qrels, run)
    theirs = {number.query_id: number.value for number in theirs}
    rows, grades = as_arrays(qrels, run)
    assert grades.min() == -2
    rows = replace(rows, y_true=grades)
    values = rows.score(metric, k=k, convention="gdeval", average=None)
    relevant = [t for t in run if any(grade > 0 for grade in qrels[t].values())]
    for topic, value in zip(list_labels(rows.groups), values, strict=True):
        if topic in relevant:
            assert value == pytest.approx(
                theirs[topic], abs=0.5e-5 + 1e-12
            )  # as printed
        else:
            assert np.isnan(value)
    value = rows.score(metric, k=k, convention="gdeval")
    mean = np.mean([theirs[topic] for topic in relevant])
    assert value == pytest.approx(mean, abs=0.5e-5 + 1e-12)


@pytest.mark.parametrize(
    ("name", "metric", "options"),
    [
        ("AP", average_precision_score, {}),
        ("AP(rel=2)@3", average_precision_score, {"k": 3, "relevance_level": 2}),
        ("RR", reciprocal_rank_score, {}),
        ("P(rel=2)@50", precision_at_k_score, {"k": 50, "relevance_level": 2}),
        ("R@3", recall_at_k_score, {"k": 3}),
        ("Success@3", hit_rate_score, {"k": 3}),
        ("Rprec", r_precision_score, {}),
        ("Bpref(rel=2)", bpref_score, {"relevance_level": 2}),
        ("nDCG@3", ndcg_score, {"k": 3}),
    ],
)
def test_ir_measures(name, metric, options):
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = run_and_judgments(7)
    measure = ir_measures.parse_measure(name)
    expected = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    value = from_run(qrels, run).score(metric, **options, convention="trec_eval")
    assert value == pytest.approx(expected, abs=TOL)


@pytest.fixture(scope="module")
def ranx():
    """Return ranx uncompiled: compiling it takes longer than all tests here."""
    with pytest.MonkeyPatch.context() as patch:
        if "numba" not in sys.modules:  # which reads it once, when it is imported
            patch.setenv("NUMBA_DISABLE_JIT", "1")
        yield pytest.importorskip("ranx")


@pytest.mark.filterwarnings("ignore:unsafe cast from uint64")  # numba's own
@pytest.mark.parametrize(
    ("name", "metric", "options"),
    [
        ("map", average_precision_score, {"empty": 0.0}),
        ("mrr", reciprocal_rank_score, {}),
        ("ndcg@3", ndcg_score, {"k": 3, "gain": "linear", "empty": 0.0}),
        ("ndcg_burges", ndcg_score, {"empty": 0.0}),
        ("precision@3", precision_at_k_score, {"k": 3}),
        ("precision@50", precision_at_k_score, {"k": 50}),
        ("recall@3", recall_at_k_score, {"k": 3, "empty": 0.0}),
        ("f1@3", f_measure_at_k_score, {"k": 3, "empty": 0.0}),
        ("r-precision", r_precision_score, {"empty": 0.0}),
        ("hit_rate@3", hit_rate_score, {"k": 3}),
        ("rbp.80", rank_biased_precision_score, {"p": 0.8}),
    ],
)
def test_ranx(ranx, name, metric, options):
    """It breaks ties as its sort happens to, so these scores have none."""
    qrels, run = run_and_judgments(3, tied=False)
    if name.startswith("rbp"):  # it adds grades up
        qrels = {
            topic: {name: min(grade, 1) for name, grade in judgments.items()}
            for topic, judgments in qrels.items()
        }
    expected = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), name)
    value = from_run(qrels, run).score(metric, **options)
    assert value == pytest.approx(float(expected), abs=TOL)
