"""Rankers on real lists: how the defaults were chosen, and what they reach.

``python benchmarks/real_data.py choose`` tries settings on validation parts only;
``python benchmarks/real_data.py report`` fits the defaults and scores test parts. Both
print the tables of doc/defaults.md. ``python benchmarks/real_data.py partitions`` sets
models of ordered partitions beside ListMLE, for doc/partitions.md. The data lie in the
folder ``shared`` beside the repository, or where SKRANK_SHARED says.
"""

from __future__ import annotations

import argparse
import os
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from skrank import (
    DavidsonLuceRanker,
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
)
from skrank.datasets import load_letor
from skrank.metrics import err_score, ndcg_score
from skrank.model_selection import QueryKFold

SHARED = Path(
    os.environ.get("SKRANK_SHARED", Path(__file__).resolve().parents[2] / "shared")
)
ALPHAS = np.logspace(-3, 1, 5)


def join(parts):
    """Return parts one after the other; list labels do not repeat between parts."""
    X, y, groups = zip(*parts, strict=True)
    return np.concatenate(X), np.concatenate(y), np.concatenate(groups)


def mq2008():
    """Return the five parts."""
    return load_letor([SHARED / f"data/mq2008/S{i}.txt.gz" for i in range(1, 6)])


def lightgbm_example():
    """Return the training and the test file."""
    folder = SHARED / "data/lightgbm_lambdarank"
    return load_letor([folder / "train.txt.gz", folder / "test.txt.gz"])


def mslr_sample():
    """Return the first 33 lists and the last 10."""
    path = SHARED / "data/mslr_web10k_fold1_train5k/train.5k.txt.gz"
    X, y, groups = load_letor(path)
    late = np.isin(groups, list(dict.fromkeys(groups.tolist()))[33:])
    return [(X[rows], y[rows], groups[rows]) for rows in (~late, late)]


def trec_news():
    """Return the training and the test file."""
    folder = SHARED / "data/trec_news_2018"
    return load_letor([folder / "train.txt", folder / "test.txt"])


def folds_of(data, n_splits, seed=0):
    """Return (train, test) pairs by list, cut at random."""
    X, y, groups = data
    splitter = QueryKFold(n_splits, shuffle=True, random_state=seed)
    return [
        tuple((X[rows], y[rows], groups[rows]) for rows in pair)
        for pair in splitter.split(X, y, groups)
    ]


def validation_folds():
    """Return (train, validation) pairs of each set, none of which holds a test list."""
    parts = mq2008()
    rounds = [[parts[(f + i) % 5] for i in range(4)] for f in range(5)]
    return {
        "MQ2008": [(join(four[:3]), four[3]) for four in rounds],
        "LightGBM": folds_of(lightgbm_example()[0], 5),
        "MSLR": folds_of(mslr_sample()[0], 5),
        "TREC News": folds_of(trec_news()[0], 5),
    }


def test_folds():
    """Return (train, test) pairs of each set."""
    parts = mq2008()
    others = [[part for j, part in enumerate(parts) if j != i] for i in range(5)]
    return {
        "MQ2008": [
            (join(train), test) for train, test in zip(others, parts, strict=True)
        ],
        "LightGBM": folds_of(join(lightgbm_example()), 5),
        "MSLR": folds_of(join(mslr_sample()), 5),
        "TREC News": folds_of(join(trec_news()), 5),
    }


def values_of_lists(estimator, folds, metrics, at_limit=None):
    """Return metrics of each list, 0 where undefined, trained standardised.

    Appends to ``at_limit`` of each fold whether its fit stops at ``max_iter``.
    """
    values = {name: [] for name in metrics}
    for (X, y, groups), (X_test, y_test, groups_test) in folds:
        scaler = StandardScaler().fit(X)
        model = clone(estimator)
        routed = {} if isinstance(model, Ridge) else {"groups": groups}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*constant inside every list")
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(scaler.transform(X), y, **routed)
        if at_limit is not None:
            at_limit.append(model.n_iter_ >= model.max_iter)
        scores = model.predict(scaler.transform(X_test))
        for name, metric in metrics.items():
            of_list = metric(y_test, scores, groups_test, average=None)
            values[name].append(np.nan_to_num(of_list, nan=0.0))
    return {name: np.concatenate(parts) for name, parts in values.items()}


def ndcg_of_lists(estimator, folds, at_limit=None):
    """Return NDCG@10 of each list, 0 where none is relevant."""
    metrics = {"": partial(ndcg_score, k=10)}
    return values_of_lists(estimator, folds, metrics, at_limit)[""]


def settings():
    """Yield a name and an estimator for everything that is tried."""
    for ties, normalize in product(("efron", "breslow", "random"), (None, "size")):
        ranker = ListMLERanker(ties, normalize=normalize)
        if ties == "random":
            ranker.set_params(random_state=0)
        yield f"ListMLE {ties}, normalize {normalize}", ranker
    for weight, normalize in product((None, "gain"), (None, "size", "terms")):
        name = f"RankNet weight {weight}, normalize {normalize}"
        yield name, RankNetRanker(weight, normalize=normalize)
    for target, normalize in product(("gain", "softmax"), (None, "size")):
        name = f"ListNet {target}, normalize {normalize}"
        yield name, ListNetRanker(target, normalize=normalize)


def choose():
    """Print validation NDCG@10 of each setting, at alpha 0.1 and at the best alpha.

    A star marks a number with fits that stop at the limit of iterations; then all such
    fits are listed, those at other values of alpha too.
    """
    stopped = []
    sets = validation_folds()
    print("| setting |", " | ".join(f"{name}: 0.1, best (alpha)" for name in sets), "|")
    print("| --- |", " | ".join("---" for _ in sets), "|")
    for name, ranker in settings():
        cells = []
        for data, folds in sets.items():
            means, stars = [], []
            for alpha in ALPHAS:
                at_limit = []
                ranker.set_params(alpha=alpha)
                means.append(ndcg_of_lists(ranker, folds, at_limit).mean())
                stars.append("*" * any(at_limit))
                if any(at_limit):
                    stopped.append((name, data, alpha, sum(at_limit)))
            best = int(np.argmax(means))
            shown = [f"{means[i]:.4f}{stars[i]}" for i in (2, best)]
            cells.append(f"{', '.join(shown)} ({ALPHAS[best]:g})")
        print(f"| {name} |", " | ".join(cells), "|", flush=True)
    print("\n| stops at max_iter | set | alpha | folds of 5 |\n|", " --- |" * 4)
    for row in stopped:
        print("| {} | {} | {:g} | {} |".format(*row))


def report():
    """Print test NDCG@10 of the defaults, and the paired t against Ridge."""
    sets = test_folds()
    ridge = {name: ndcg_of_lists(Ridge(), folds) for name, folds in sets.items()}
    print("| ranker |", " | ".join(f"{name} (t)" for name in sets), "|")
    print("| --- |", " | ".join("---" for _ in sets), "|")
    print("| Ridge |", " | ".join(f"{v.mean():.4f}" for v in ridge.values()), "|")
    rankers = [ListMLERanker(), RankNetRanker(), ListNetRanker()]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*order of rows in the data")
        for ranker in [*rankers, ListMLERanker("order")]:
            cells = []
            for name, folds in sets.items():
                values = ndcg_of_lists(ranker, folds)
                t = stats.ttest_rel(values, ridge[name]).statistic
                cells.append(f"{values.mean():.4f} ({t:+.1f})")
            print(f"| {ranker} |", " | ".join(cells), "|", flush=True)


def partitions():
    """Print models of partitions beside ListMLE, with paired differences."""
    by_listmle = {
        "ListMLE by order": ListMLERanker("order"),
        "ListMLE at random": ListMLERanker("random", random_state=0),
        "ListMLE Efron": ListMLERanker(),
    }
    rankers = by_listmle | {
        "ListMLE marginal": ListMLERanker("marginal"),
        "PMOP-FD": PMOPRanker(),
        "PMOP exact": PMOPRanker("geometric"),
        "PMOP-Gibbs": PMOPRanker("geometric", "gibbs", random_state=0),
        "PMOP-MH": PMOPRanker("geometric", "metropolis", random_state=0),
        "Davidson-Luce, slope": DavidsonLuceRanker("slope"),
        "Davidson-Luce, sizes": DavidsonLuceRanker(),
    }
    warnings.filterwarnings("ignore", message=".*(order of rows|several optima)")
    for name, folds in test_folds().items():
        grade = max(test[1].max() for _, test in folds)
        metrics = {"ERR": partial(err_score, max_grade=grade)}
        metrics |= {f"NDCG@{k}": partial(ndcg_score, k=k) for k in (1, 5, 10)}
        head = [*metrics, *(f"NDCG@10 less {other}" for other in by_listmle)]
        print(f"\n## {name}\n\n| ranker |", " | ".join(head), "|")
        print("| --- |", " | ".join("---" for _ in head), "|")
        values_of_ranker = {}
        for label, ranker in rankers.items():
            values_of_ranker[label] = values_of_lists(ranker, folds, metrics)
            cells = [
                f"{values_of_ranker[label][metric].mean():.4f}" for metric in metrics
            ]
            for other in by_listmle if not label.startswith("ListMLE") else ():
                less = (
                    values_of_ranker[label]["NDCG@10"]
                    - values_of_ranker[other]["NDCG@10"]
                )
                error = less.std(ddof=1) / np.sqrt(len(less))
                cells.append(f"{less.mean():+.4f} ± {error:.4f}")
            cells += [""] * (len(head) - len(cells))
            print(f"| {label} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["choose", "report", "partitions"])
    run = {"choose": choose, "report": report, "partitions": partitions}
    run[parser.parse_args().what]()
