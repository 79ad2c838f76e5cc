"""The experiment of the PMOP paper (Truyen, Phung, Venkatesh, SDM 2011) on LETOR files.

``python benchmarks/paper_experiment.py FILE ... [--parts] [--folds 5] [--budget 60]``
prints two tables in Markdown. Features are standardised on the training part, alone or
with products of two that correlate with the label by more than 0.15: products of
centred features, as the paper's, and of raw ones. Rankers have no penalty and stop at
a relative improvement below 1e-5 or after 100 iterations; chains run 1,000 passes.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from skrank import (
    DavidsonRanker,
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
    RaoKupperRanker,
)
from skrank.datasets import load_letor
from skrank.metrics import compare_scores, err_score, ndcg_score
from skrank.model_selection import QueryKFold
from skrank.model_selection._comparison import Fold, Ranked, compare, cut_folds
from skrank.preprocessing import SecondOrderFeatures

BASE = "ListMLE Efron (ours)"
# The name in the paper, and what it is here.
RANKERS = {
    "Rank Regress": RankRegressionRanker("labels"),
    "Rank Regress, margin (ours)": RankRegressionRanker("margin"),
    "RankNet": RankNetRanker(),
    "Ranking SVM": RankSVMRanker("linear"),
    "Ranking SVM, squared (ours)": RankSVMRanker("squared"),
    "ListMLE, ties by order": ListMLERanker("order"),
    "ListMLE, ties at random": ListMLERanker("random", random_state=0),
    BASE: ListMLERanker("efron"),
    "ListNet (ours)": ListNetRanker(),
    "PairTies-D": DavidsonRanker(),
    "PairTies-RK": RaoKupperRanker(),
    "PMOP-FD": PMOPRanker("arithmetic"),
    "PMOP-Gibbs": PMOPRanker("geometric", "gibbs", random_state=0),
    "PMOP-MH": PMOPRanker("geometric", "metropolis", random_state=0),
    "PMOP exact (ours)": PMOPRanker("geometric"),
}
FEATURES = {
    "first": StandardScaler(),
    "centred": SecondOrderFeatures(0.15, center=True),
    "raw": SecondOrderFeatures(0.15, center=False),
}


def rankers(alpha):
    """Return the rankers with the paper's rules for stopping."""
    for ranker in RANKERS.values():
        ranker.set_params(alpha=alpha, ftol=1e-5)
        if getattr(ranker, "inference", "exact") == "exact":
            ranker.set_params(max_iter=100)
    return RANKERS


def folds_of(paths, parts, n_folds):
    """Return the folds: each file in turn is the test part, or lists at random."""
    tables = [Ranked(*table) for table in load_letor(list(paths))]
    if not parts:
        splitter = QueryKFold(n_folds, shuffle=True, random_state=0)
        return cut_folds(join(tables), splitter)
    rest = [[other for other in tables if other is not one] for one in tables]
    return [Fold(join(r), one) for r, one in zip(rest, tables, strict=True)]


def join(tables):
    """Return rows one after the other."""
    return Ranked(*(np.concatenate(column) for column in zip(*tables, strict=True)))


def transformed(folds, transformer):
    """Return folds of transformed features, and the number of columns of each."""
    found = []
    for fold in folds:
        train, test = fold.parts()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*products of features is")
            X = transformer.fit_transform(train.X, train.y)
        found.append(
            Fold(train._replace(X=X), test._replace(X=transformer.transform(test.X)))
        )
    return found, [fold.train.X.shape[1] for fold in found]


def difference(values, others):
    """Return the mean difference over lists and its 95% interval in thousandths."""
    if values is None or others is None:
        return ""
    defined = ~(np.isnan(values) | np.isnan(others))
    result = compare_scores(values[defined], others[defined], random_state=0)
    low, high = result.low, result.high
    return f"{1e3 * result.difference:+.1f} [{1e3 * low:+.1f}, {1e3 * high:+.1f}]"


def report(folds, alpha, budget):
    """Print both tables."""
    grade = max(float(fold.train.y.max()) for fold in folds)
    metrics = {"ERR": partial(err_score, max_grade=grade, average=None)}
    for k in (1, 5, 10):
        metrics[f"NDCG@{k}"] = partial(ndcg_score, k=k, average=None)
    found, widths = {}, {}
    for name, transformer in FEATURES.items():
        changed, widths[name] = transformed(folds, transformer)
        found[name] = compare(
            rankers(alpha),
            changed,
            metrics,
            budget=budget,
            progress=lambda fold, ranker, n=name: print(
                n, fold, ranker, file=sys.stderr
            ),
        ).results
    n_first = widths["first"][0]
    for name in ("centred", "raw"):
        kept = [width - n_first for width in widths[name]]
        print(f"Products kept, {name}: {', '.join(map(str, kept))} (fold by fold).")
    print(f"\nGrades 0 to {grade:g}; each cell: first / centred / raw.\n")
    print("| ranker |", " | ".join(metrics), "| seconds a fit |")
    print("| --- |" + " --- |" * (len(metrics) + 1))
    for ranker in RANKERS:
        of_all = [found[name][ranker] for name in FEATURES]
        cells = [
            " / ".join(
                "-" if one.problem else f"{one.mean(metric):.4f}" for one in of_all
            )
            for metric in metrics
        ]
        seconds = [
            "-" if one.problem else f"{np.median(one.seconds):.3g}" for one in of_all
        ]
        print(f"| {ranker} |", " | ".join(cells), "|", " / ".join(seconds), "|")
    print(
        "\nDifferences of NDCG@10 in thousandths, paired over lists, with 95% "
        "intervals.\n"
    )
    print(f"| ranker | centred - first | raw - first | first - {BASE} |")
    print("| --- | --- | --- | --- |")
    for ranker in RANKERS:
        first, centred, raw = (
            found[name][ranker].values.get("NDCG@10") for name in FEATURES
        )
        base = found["first"][BASE].values.get("NDCG@10")
        cells = [difference(centred, first), difference(raw, first)]
        cells.append("" if ranker == BASE else difference(first, base))
        print(f"| {ranker} |", " | ".join(cells), "|")
    print()
    for name in FEATURES:
        for ranker, one in found[name].items():
            if one.problem:
                print(f"{name}, {ranker}: {one.problem}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--parts", action="store_true", help="each file is a test part")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--alpha", type=float, default=0.0)
    parser.add_argument("--budget", type=float, default=np.inf, help="seconds a row")
    args = parser.parse_args()
    report(folds_of(args.files, args.parts, args.folds), args.alpha, args.budget)


if __name__ == "__main__":
    main()
