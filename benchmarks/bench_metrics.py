"""Time the metrics against one sort of the same rows, and against other packages.

The yardstick is ``np.lexsort((-scores, groups))`` on 10,000 lists of 100 rows, in one
process and thread. Other packages, where installed, score fewer of these lists, with
the time to build their inputs counted and not counted.
"""

import argparse
import importlib
import time

import numpy as np

from skrank.interop import from_run
from skrank.metrics import (
    average_precision_score,
    bpref_score,
    dcg_score,
    err_score,
    expected_search_length_score,
    f_measure_at_k_score,
    hit_rate_score,
    kendall_tau_score,
    ndcg_score,
    pairwise_accuracy_score,
    precision_at_k_score,
    r_precision_score,
    rank_biased_precision_score,
    recall_at_k_score,
    reciprocal_rank_score,
    spearman_score,
)
from skrank.model_selection._comparison import Ranked, SharedSort
from skrank.model_selection._named_metrics import list_metrics

SHARED = [
    *("ndcg@1", "ndcg@5", "ndcg@10", "ndcg", "err@10", "err"),
    *("average_precision", "reciprocal_rank", "precision@10", "recall@10"),
]
SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]
CUT = [
    dcg_score,
    precision_at_k_score,
    recall_at_k_score,
    f_measure_at_k_score,
    hit_rate_score,
]
WHOLE = [
    r_precision_score,
    bpref_score,
    rank_biased_precision_score,
    expected_search_length_score,
    pairwise_accuracy_score,
    kendall_tau_score,
    spearman_score,
]


def fastest(function, repeats=7):
    """Return the least CPU time, which other programs change least."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def draw(n_lists, n_rows=100):
    """Return labels, scores and groups."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_lists), n_rows)
    return rng.choice(5, len(groups), p=SHARES), rng.normal(size=len(groups)), groups


def rows(n_lists=10_000):
    """Return (name, ratio to the yardstick, target or None)."""
    y, scores, groups = draw(n_lists)
    tied = np.round(scores, 1)
    shuffled = np.random.default_rng(1).permutation(len(groups))
    apart = y[shuffled], scores[shuffled], groups[shuffled]
    cases = []

    def add(metric, target=None, what="", columns=(y, scores, groups), **options):
        shown_options = ", ".join(f"{name}={value}" for name, value in options.items())
        name = f"{metric.__name__}({shown_options}){what}"
        cases.append((name, target, lambda: metric(*columns, **options)))

    for metric, options in [
        (ndcg_score, {"k": 10}),
        (ndcg_score, {}),
        (err_score, {"k": 10}),
        (average_precision_score, {}),
        (reciprocal_rank_score, {}),
    ]:
        add(metric, 0.3, **options)
        add(metric, 0.3, ", tied", (y, tied, groups), **options)
        add(metric, 0.3, ", constant scores", (y, 0 * tied, groups), **options)
    add(ndcg_score, 0.3, ", real labels", (y / 3, scores, groups), k=10)
    add(ndcg_score, None, ", shuffled rows", apart, k=10)
    add(err_score)
    add(average_precision_score, k=10, normalizer="found")
    for metric in CUT:
        add(metric, k=10)
    for metric in WHOLE:
        add(metric)

    test = SharedSort(Ranked(None, y.astype(float), groups))
    metrics = list_metrics(SHARED).values()

    def sorted_once():
        ranking = test.best_first(scores)
        return [metric(*ranking) for metric in metrics]

    def apart_from_each_other():
        return [metric(y, scores, groups) for metric in metrics]

    cases += [
        (f"{len(SHARED)} metrics of compare_rankers, one sort", None, sorted_once),
        (f"the same {len(SHARED)}, each with its own", None, apart_from_each_other),
    ]
    qrels, run = as_run(y, scores, groups)
    cases.append(("from_run, all documents judged", 1.0, lambda: from_run(qrels, run)))
    yardstick = fastest(lambda: np.lexsort((-scores, groups)))
    return [(name, fastest(run) / yardstick, target) for name, target, run in cases]


def as_run(y, scores, groups):
    """Return judgments and a run as dictionaries of strings."""
    qrels, run = {}, {}
    of_list = zip(y.tolist(), scores.tolist(), groups.tolist(), strict=True)
    for row, (grade, score, group) in enumerate(of_list):
        qrels.setdefault(str(group), {})[f"d{row}"] = grade
        run.setdefault(str(group), {})[f"d{row}"] = score
    return qrels, run


def scikit_learn(columns):
    from sklearn.metrics import ndcg_score as theirs

    y, scores, groups = columns
    n_lists = int(groups[-1]) + 1
    table = y.reshape(n_lists, -1), scores.reshape(n_lists, -1)
    tied = table[0], np.round(table[1], 1)
    yield "scikit-learn", "NDCG@10", lambda: table, lambda t: theirs(*t, k=10)
    yield "scikit-learn", "NDCG@10, tied", lambda: tied, lambda t: theirs(*t, k=10)


def pytrec_eval(columns):
    package = importlib.import_module("pytrec_eval")
    for name, measure in [
        ("NDCG@10", "ndcg_cut.10"),
        ("AP", "map"),
        ("RR", "recip_rank"),
    ]:

        def build(measure=measure):
            qrels, run = as_run(*columns)
            return package.RelevanceEvaluator(qrels, {measure}), run

        yield "pytrec_eval", name, build, lambda made: made[0].evaluate(made[1])


def ranx(columns):
    package = importlib.import_module("ranx")
    for name, measure in [("NDCG@10", "ndcg@10"), ("AP", "map"), ("RR", "mrr")]:

        def build():
            qrels, run = as_run(*columns)
            return package.Qrels(qrels), package.Run(run)

        def run_it(made, measure=measure):
            return package.evaluate(*made, measure, make_comparable=False)

        run_it(build())  # compiles
        yield "ranx", name, build, run_it


def ir_measures(columns):
    package = importlib.import_module("ir_measures")
    for name, text in [("NDCG@10", "nDCG@10"), ("AP", "AP"), ("RR", "RR")]:
        measure = package.parse_measure(text)

        def run_it(made, measure=measure):
            return package.calc_aggregate([measure], *made)

        yield "ir_measures", name, lambda: as_run(*columns), run_it


OURS = {
    "NDCG@10": lambda *rows: ndcg_score(*rows, k=10, gain="linear"),
    "NDCG@10, tied": lambda y, scores, groups: ndcg_score(
        y, np.round(scores, 1), groups, k=10, gain="linear"
    ),
    "AP": average_precision_score,
    "RR": reciprocal_rank_score,
}


def peer_rows(n_lists=500):
    """Return (package, metric, ratio to skrank with building inputs, and without)."""
    columns = draw(n_lists)
    measured = []
    for peer in (scikit_learn, pytrec_eval, ranx, ir_measures):
        try:
            for package, name, build, run in peer(columns):
                ours = fastest(lambda name=name: OURS[name](*columns))
                made = build()
                alone = fastest(lambda run=run, made=made: run(made), 3)
                built = fastest(build, 3)
                measured.append((package, name, (alone + built) / ours, alone / ours))
        except ModuleNotFoundError as error:
            print(f"{error.name} is not installed")
    qrels, run = as_run(*columns)
    ours = fastest(lambda: average_precision_score(*columns))
    built = fastest(lambda: from_run(qrels, run), 3)
    made = from_run(qrels, run)

    def trec():
        return made.score(average_precision_score, convention="trec_eval")

    alone = fastest(trec, 3)
    measured.append(("skrank from_run", "AP", (alone + built) / ours, alone / ours))
    return measured


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", action="store_true", help="compare with packages")
    if parser.parse_args().peers:
        print(f"{'':16} {'':14} times skrank: with inputs, without")
        for package, name, both, alone in peer_rows():
            print(f"{package:16} {name:14} {both:12.1f} {alone:12.1f}")
        return
    for name, ratio, target in rows():
        print(f"{name:50} {ratio:6.3f}  {'' if target is None else f'<= {target}'}")


if __name__ == "__main__":
    main()
