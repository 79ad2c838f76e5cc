"""Draw a small run with judgments, and write trec_eval's numbers for it.

Needs pytrec_eval-terrier, which holds trec_eval's own C code. Run it in this folder:
``python make_trec_eval.py`` writes the files of ``trec_eval/``.
"""

from pathlib import Path

import numpy as np
import pytrec_eval

FOLDER = Path(__file__).resolve().parent / "trec_eval"
COUNTED = ("num_ret", "num_rel", "num_rel_ret", "num_q")
GEOMETRIC = ("gm_map", "gm_bpref")  # which trec_eval gives for all topics alone
MEASURES = {
    *("map", "Rprec", "bpref", "recip_rank", "ndcg", *GEOMETRIC, *COUNTED),
    *("P", "recall", "ndcg_cut", "map_cut", "success"),
}


def draw():
    """Return judgments and a run with what makes tools differ.

    Ties of scores, grades above 1, documents without a judgment, judged documents
    that are not retrieved, a topic without a relevant document, one of a few rows,
    and one with more than 1,000.
    """
    rng = np.random.default_rng(0)
    qrels, run = {}, {}
    for topic, n_retrieved in enumerate((60, 35, 7, 1, 25, 1100)):
        documents = [f"D{number:05d}" for number in rng.permutation(2 * n_retrieved)]
        ranked = documents[:n_retrieved]
        judged = rng.choice(documents, max(2, n_retrieved // 2), replace=False)
        grades = rng.choice(4, len(judged), p=(0.6, 0.2, 0.1, 0.1))
        if topic == 4:
            grades[:] = 0
        scores = np.round(rng.normal(size=n_retrieved), 1 if topic % 2 else 6)
        name = str(401 + topic)
        qrels[name] = dict(zip(judged.tolist(), grades.tolist(), strict=True))
        run[name] = dict(zip(ranked, scores.tolist(), strict=True))
    return qrels, run


def main():
    """Write the four files."""
    qrels, run = draw()
    FOLDER.mkdir(exist_ok=True)
    with open(FOLDER / "qrels.test", "w", encoding="utf-8") as file:
        for topic, grades in qrels.items():
            for document, grade in grades.items():
                file.write(f"{topic} 0 {document} {grade}\n")
    with open(FOLDER / "results.test", "w", encoding="utf-8") as file:
        for topic, scores in run.items():
            for rank, (document, score) in enumerate(scores.items(), start=1):
                file.write(f"{topic} Q0 {document} {rank} {score!r} drawn\n")
    numbers = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    names = sorted(next(iter(numbers.values())))
    with open(FOLDER / "out.test.aq", "w", encoding="utf-8") as file:
        for topic, values in numbers.items():
            for name in names:
                if name not in GEOMETRIC:
                    file.write(f"{name}\t{topic}\t{values[name]:.10f}\n")
    with open(FOLDER / "out.test.a", "w", encoding="utf-8") as file:
        for name in names:
            values = [of_topic[name] for of_topic in numbers.values()]
            total = pytrec_eval.compute_aggregated_measure(name, values)
            file.write(f"{name}\tall\t{total:.10f}\n")


if __name__ == "__main__":
    main()
