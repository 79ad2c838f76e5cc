"""The experiment of the PMOP paper, on data at hand; doc/paper_experiment.md reads it.

T. Truyen, D. Phung, S. Venkatesh, "Probabilistic models over ordered partitions with
applications in document ranking and collaborative filtering", SDM 2011, compares
rankers of documents. This script does so with the public parts of skrank alone:

    python benchmarks/paper_experiment.py TRAIN --cv 5 --second-order
    python benchmarks/paper_experiment.py S1 S2 S3 S4 S5 --cv files --second-order
    python benchmarks/paper_experiment.py TRAIN --split 0.9

The rankers "in the paper" follow its words: pairs are summed and not divided by the
length of the list, Rank Regress takes tied pairs out, chains draw for one query,
update, and stop after 1,000 updates with the last weights, and nothing is penalised.
Where the words leave room, "other readings" stand beside them.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
import warnings

import numpy as np
from paper_fit import PaperFit
from paper_tables import print_names, print_tables, say
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import skrank
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
from skrank.datasets import load_letor, make_ranking
from skrank.metrics import err_scorer, make_ranking_scorer
from skrank.model_selection import (
    QueryKFold,
    QueryShuffleSplit,
    RankerComparison,
    RankerResult,
    compare_rankers,
)
from skrank.preprocessing import SecondOrderFeatures

TITLE = "the experiment of Truyen, Phung and Venkatesh (SDM 2011)"
FTOL = 1e-5
MAX_ITER = 100
FIRST, CENTRED, RAW = "first order", "+ centred", "+ raw"
COLUMNS = ("err", "ndcg@1", "ndcg@5", "ndcg@10")

# One query an update, 1,000 updates, the last weights.
BY_UPDATES = {"batch_size": 1, "max_updates": 1000, "average": 0.0}
GIBBS = {"potential": "geometric", "inference": "gibbs"}
METROPOLIS = {"potential": "geometric", "inference": "metropolis"}
OF_PAPER = {
    "Rank Regress": RankRegressionRanker("margin", normalize=None),
    "RankNet": RankNetRanker(normalize=None),
    "Ranking SVM": RankSVMRanker("linear", normalize=None),
    "ListMLE, file order": ListMLERanker("order"),
    "ListMLE, random order": ListMLERanker("random"),
    "PairTies-D": DavidsonRanker(normalize=None),
    "PairTies-RK": RaoKupperRanker(normalize=None),
    "PMOP-FD": PMOPRanker("arithmetic"),
    "PMOP-Gibbs": PMOPRanker(**GIBBS, **BY_UPDATES),
    "PMOP-MH": PMOPRanker(**METROPOLIS, **BY_UPDATES),
}
READINGS = {
    "Rank Regress, labels": RankRegressionRanker("labels", normalize=None),
    "Rank Regress, / size": RankRegressionRanker("margin", normalize="size"),
    "RankNet, / size": RankNetRanker(normalize="size"),
    "Ranking SVM, / size": RankSVMRanker("linear", normalize="size"),
    "PairTies-D, / size": DavidsonRanker(normalize="size"),
    "PairTies-RK, / size": RaoKupperRanker(normalize="size"),
    "PMOP-Gibbs, passes": PMOPRanker(**GIBBS),
    "PMOP-MH, passes": PMOPRanker(**METROPOLIS),
}
BASE = "ListMLE, Efron"  # what others are compared to
BESIDE = {
    BASE: ListMLERanker("efron"),
    "PMOP, exact": PMOPRanker("geometric"),
    "Ranking SVM, squared": RankSVMRanker("squared", normalize="size"),
    "ListNet": ListNetRanker(),
}
KINDS = {"in the paper": OF_PAPER, "other readings": READINGS, "beside it": BESIDE}


def rankers_of(args):
    """Return the rankers with the rules for stopping, by name."""
    every = OF_PAPER | READINGS | BESIDE
    names = list(every)
    if args.only:
        names = [name for name in every if name in {*args.only, BASE}]
    names = [name for name in names if name not in args.without]
    made = {}
    for name in names:
        ranker = every[name]
        known = ranker.get_params()
        settings = {"alpha": args.alpha, "n_jobs": args.n_jobs}
        if "random_state" in known:
            settings["random_state"] = args.seed
        if known.get("inference", "exact") == "exact":
            settings |= {"ftol": FTOL, "max_iter": MAX_ITER}
        ranker = clone(ranker).set_params(**settings)
        if args.ftol_of == "loss" and PaperFit.takes(ranker):
            ranker = PaperFit(ranker)
        made[name] = ranker
    return made


def feature_sets(args):
    """Return the transformers; without a threshold there are no products."""
    sets = {FIRST: StandardScaler(with_mean=not args.sparse)}
    if args.second_order is not None:
        sets[CENTRED] = SecondOrderFeatures(args.second_order)
        sets[RAW] = SecondOrderFeatures(args.second_order, center=False)
    return {name: one for name, one in sets.items() if name in args.features}


def data_and_folds(args):
    """Return X, y, groups, the folds, and what to say of them."""
    if not args.files:
        parts = [
            make_ranking(
                args.lists,
                list_size=(5, 40),
                n_features=40,
                n_informative=20,
                list_effect=1.0,
                random_state=args.seed,
            )
        ]
        names = "built in, drawn by skrank.datasets.make_ranking"
    else:
        paths = args.files + ([args.test] if args.test else [])
        parts = load_letor(paths, sparse=args.sparse)
        names = " + ".join(args.files)
    of_file = np.repeat(np.arange(len(parts)), [len(part[1]) for part in parts])
    X, y, groups = (
        sparse.vstack(arrays, format="csr")
        if sparse.issparse(arrays[0])
        else np.concatenate(arrays)
        for arrays in zip(*parts, strict=True)
    )
    if args.test or args.cv == "files":
        # The same id in two files is two lists.
        pairs = np.stack([of_file.astype(str), groups.astype(str)])
        groups = np.unique(pairs, axis=1, return_inverse=True)[1].ravel()
    text = {"Data": f"{names}: {sizes(X, groups)}"}
    if args.test:
        last = of_file == len(parts) - 1
        folds = [(np.flatnonzero(~last), np.flatnonzero(last))]
        text["Test"] = args.test
    elif args.cv == "files":
        folds = [
            (np.flatnonzero(of_file != i), np.flatnonzero(of_file == i))
            for i in range(len(parts))
        ]
        text["Test"] = f"{len(parts)} folds: each file by what the others taught"
    elif args.split is not None:
        splitter = QueryShuffleSplit(1, train_size=args.split, random_state=args.seed)
        folds = list(splitter.split(X, y, groups))
        text["Test"] = f"{1 - args.split:.0%} of the lists, drawn once"
    else:
        splitter = QueryKFold(args.cv, shuffle=True, random_state=args.seed)
        folds = list(splitter.split(X, y, groups))
        text["Test"] = f"{args.cv} folds of whole lists"
    return X, y, groups, folds, text


def sizes(X, groups):
    """Return the numbers of lists, rows and features as text."""
    n_lists = len(np.unique(groups))
    return f"{n_lists:,} lists, {X.shape[0]:,} rows, {X.shape[1]} features"


def run(rankers, transformer, data, folds, metrics, args, progress):
    """Compare the rankers on one set of features; return that and the transformers.

    Features are made once a fold, for all rankers; then the folds are joined.
    """
    X, y, groups = data
    results = {name: RankerResult() for name in rankers}
    values = {name: {} for name in rankers}
    fitted, lists, refused = [], [], {}
    for number, (train, test) in enumerate(folds):
        one = clone(transformer)
        with warnings.catch_warnings():
            # That no product is kept stands below the table.
            warnings.filterwarnings("ignore", message=".*no product of features")
            one.fit(X[train], y[train])
        fitted.append(one)
        made = one.transform(X)
        lists.append(np.unique(groups[test]))
        for name, ranker in rankers.items():
            result = results[name]
            if result.problem is not None:
                continue
            progress(number, name)
            comparison = compare_rankers(
                {name: ranker},
                made,
                y,
                groups,
                cv=[(train, test)],
                metrics=metrics,
                budget=args.budget / len(folds),
                n_resamples=1,
                random_state=args.seed,
            )
            refused |= comparison.refused
            add_fold(result, values[name], comparison.results[name])
    order = np.argsort(np.concatenate(lists), kind="stable")
    for name, result in results.items():
        if result.problem is None:
            result.values = {
                metric: np.concatenate(parts)[order]
                for metric, parts in values[name].items()
            }
    joined = RankerComparison(
        results, np.concatenate(lists)[order], refused, random_state=args.seed
    )
    return joined, fitted


def add_fold(result, values, of_fold):
    """Add what a ranker did in one fold."""
    result.problem = of_fold.problem
    result.seconds += of_fold.seconds
    # One note for texts that differ from fold to fold in their numbers alone.
    known = {without_numbers(text): text for text in result.warnings}
    for text, count in of_fold.warnings.items():
        text = neutral(text)
        text = known.setdefault(without_numbers(text), text)
        result.warnings[text] = result.warnings.get(text, 0) + count
    for metric, column in of_fold.values.items():
        values.setdefault(metric, []).append(column)


def without_numbers(text):
    """Return what stays the same where only the numbers differ."""
    return re.sub(r"[\d.]+", "#", text)


def neutral(text):
    """Replace warnings that the protocol causes by what they mean here."""
    if "stopped before it converged" in text or "kinks rounded" in text:
        return (
            f"Ended at the limit of {MAX_ITER} iterations, before its rule for "
            "stopping was met."
        )
    if "no finite weights are best" in text:
        return "No finite weights are best: they grow until the solver stops."
    return text


def numbers(text):
    """Return a count of folds, or "files"."""
    return text if text == "files" else int(text)


def options():
    """Return the parser of all options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", metavar="TRAIN", nargs="*", help="LETOR files")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--test", metavar="FILE", help="file with the lists to rank")
    how.add_argument("--cv", type=numbers, default=5, help='folds, or "files"')
    how.add_argument(
        "--split",
        type=float,
        metavar="SHARE",
        help="learn from this share, rank the rest",
    )
    parser.add_argument("--lists", type=int, default=200, help="built-in lists")
    parser.add_argument("--sparse", action="store_true", help="keep what is not zero")
    parser.add_argument(
        "--second-order",
        metavar="THRESHOLD",
        nargs="?",
        type=float,
        const=0.15,
        help="add products correlated with the label above it (default: %(const)s)",
    )
    parser.add_argument(
        "--features", nargs="+", default=[FIRST, CENTRED, RAW], help="sets to run"
    )
    parser.add_argument(
        "--ftol-of",
        choices=("loss", "decrease"),
        default="loss",
        help="what the improvement of an iteration is compared to: the loss, as in the "
        "paper, or skrank's rule, the decrease since zero weights",
    )
    parser.add_argument("--only", nargs="+", default=[], help="names of rankers")
    parser.add_argument("--without", nargs="+", default=[], help="names of rankers")
    parser.add_argument(
        "--metric", default="ndcg@10", help="of the differences; one of metric_names()"
    )
    parser.add_argument("--max-grade", type=float, help="highest grade, for ERR")
    parser.add_argument(
        "--empty-as-zero", action="store_true", help="NDCG of such lists"
    )
    parser.add_argument("--alpha", type=float, default=0.0, help="penalty")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds a row")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return parser


def main(argv=None):
    """Run the experiment and print its tables."""
    args = options().parse_args(argv)
    X, y, groups, folds, text = data_and_folds(args)
    max_grade = float(y.max()) if args.max_grade is None else args.max_grade
    empty = {"empty": 0.0} if args.empty_as_zero else {}
    metrics = {
        name: err_scorer(max_grade=max_grade, k=None)
        if name == "err"
        else make_ranking_scorer(name, **empty)
        for name in dict.fromkeys((*COLUMNS, args.metric))
    }
    rankers = rankers_of(args)
    rule = "of the loss" if args.ftol_of == "loss" else "of the decrease so far"
    text["Labels"] = f"{y.min():g} to {y.max():g}; ERR: highest grade {max_grade:g}"
    text["Fits"] = (
        f"alpha: {args.alpha:g}; L-BFGS stops at an improvement of {FTOL:g} {rule} or "
        f"after {MAX_ITER} iterations; budget: {args.budget:g} s a row"
    )
    say(f"skrank {skrank.__version__}: {TITLE}\n")
    for name, line in text.items():
        say(textwrap.fill(f"{name.ljust(10)}{line}", 88, subsequent_indent=" " * 10))
    print_names(KINDS, rankers)

    def progress(fold, name, features):
        if not args.quiet:
            print(f"fold {fold + 1}: {name}, {features}", file=sys.stderr, flush=True)

    comparisons, transformers = {}, {}
    for features, transformer in feature_sets(args).items():
        comparisons[features], transformers[features] = run(
            rankers,
            transformer,
            (X, y, groups),
            folds,
            metrics,
            args,
            lambda fold, name, features=features: progress(fold, name, features),
        )
    print_tables(comparisons, transformers, list(metrics), args.metric, BASE, FIRST)


if __name__ == "__main__":
    main()
