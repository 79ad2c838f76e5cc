"""Try settings of the neural rankers on validation parts, beside a linear ranker.

    python benchmarks/neural_defaults.py DATA --cells CELLS.jsonl
    python benchmarks/neural_defaults.py DATA --cells CELLS.jsonl --table

DATA is a folder with ``mq2008/S1.txt.gz`` to ``S5``, ``lightgbm_lambdarank``,
``trec_news_2018`` and ``mslr_web10k_fold1_train5k``, as LETOR text. Only parts meant
for training and validation are read: MQ2008 trains on three parts of each of its five
folds and is measured on the fourth; the others are cut into five folds of whole lists.
Each run of a variant on a data set is one cell, appended to CELLS as it ends, so that a
run can be stopped and goes on where it was. Where a variant was run with several seeds,
their mean counts for each list. The table is in benchmarks/results.
"""

import argparse
import json
import sys
import time
import warnings
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import RankNetRanker
from skrank.datasets import load_letor, make_ranking
from skrank.losses import PMOP, ListMLE, ListNet, RankNet, RankSVM
from skrank.metrics import list_labels, ndcg_score
from skrank.model_selection import QueryKFold
from skrank.neural import MLPRanker, STARanker
from skrank.preprocessing import QueryScaler

STOP = {
    **{"standardize": "all", "dropout": 0.0, "batch_size": "auto", "max_epochs": 50},
    **{"early_stopping": True, "validation_fraction": 0.2, "validation_metric": None},
    **{"n_networks": 1, "hidden_size": 64, "set_encoder": "attention"},
}
OLD = {**STOP, "early_stopping": False, "batch_size": 32}
FEW = {**STOP, "early_stopping": False, "dropout": 0.5}
GAIN = RankNet("gain")


def linear(scaler):
    """Return the maker of a linear ranker on scaled features."""
    return lambda random_state: make_pipeline(scaler(), RankNetRanker("gain"))


def mlp(loss=GAIN, base=STOP, **options):
    """Return the maker of an MLPRanker."""
    return partial(MLPRanker, loss, **{**base, **options})


def star(base=STOP, **options):
    """Return the maker of a STARanker."""
    return partial(STARanker, **{**base, **options})


VARIANTS = {
    "linear": linear(StandardScaler),
    "linear, by list": linear(QueryScaler),
    # The first defaults, and one network that stops early, by loss.
    "mlp old defaults": mlp(ListMLE(), OLD),
    "mlp gain, stop": mlp(),
    "mlp RankNet, stop": mlp(RankNet()),
    "mlp ListMLE, stop": mlp(ListMLE()),
    "mlp ListNet, stop": mlp(ListNet()),
    "mlp PMOP, stop": mlp(PMOP()),
    "mlp RankSVM, stop": mlp(RankSVM()),
    # Sizes.
    "mlp gain, stop, size 8": mlp(hidden_size=8),
    "mlp gain, stop, size 16": mlp(hidden_size=16),
    "mlp gain, stop, size 32": mlp(hidden_size=32),
    "mlp gain, stop, size 128": mlp(hidden_size=128),
    "mlp gain, stop, size (64, 32)": mlp(hidden_size=(64, 32)),
    "mlp gain, stop, rows alone": mlp(set_encoder="mlp"),
    # Scaling, stopping and steps.
    "mlp gain, stop, list": mlp(standardize="list"),
    "mlp gain, stop, by ndcg@10": mlp(validation_metric="ndcg@10"),
    "mlp gain, stop, a tenth": mlp(validation_fraction=0.1),
    "mlp gain, stop, batch 32": mlp(batch_size=32),
    "mlp gain, stop, dropout .2": mlp(dropout=0.2),
    "mlp gain, stop, dropout .5": mlp(dropout=0.5),
    "mlp gain, stop, list, dropout .5": mlp(standardize="list", dropout=0.5),
    "mlp gain, stop, weight decay .01": mlp(weight_decay=0.01),
    # Few epochs.
    "mlp gain, 5 epochs, dropout .5": mlp(base=FEW, max_epochs=5),
    "mlp gain, 10 epochs, dropout .5": mlp(base=FEW, max_epochs=10),
    "mlp gain, 20 epochs, dropout .5": mlp(base=FEW, max_epochs=20),
    "mlp gain, 5 epochs, list, dropout .5": mlp(
        base=FEW, max_epochs=5, standardize="list"
    ),
    # Several networks.
    "mlp gain, stop, 3 networks": mlp(n_networks=3),
    "mlp gain, stop, 5 networks": mlp(n_networks=5),
    "mlp gain, stop, list, 3 networks": mlp(n_networks=3, standardize="list"),
    "mlp gain, stop, size 32, 3 networks": mlp(n_networks=3, hidden_size=32),
    "mlp gain, stop, dropout .5, 3 networks": mlp(n_networks=3, dropout=0.5),
    "mlp gain, stop, list, dropout .5, 3 networks": mlp(
        n_networks=3, standardize="list", dropout=0.5
    ),
    "mlp gain, 10 epochs, dropout .5, 3 networks": mlp(
        base=FEW, max_epochs=10, n_networks=3
    ),
    # The arranger.
    "star old defaults": star(OLD),
    "star stop": star(),
    "star stop, size 16": star(hidden_size=16),
    "star stop, size 32": star(hidden_size=32),
    "star stop, rows alone": star(set_encoder="mlp"),
    "star stop, list": star(standardize="list"),
    "star stop, by ndcg@10": star(validation_metric="ndcg@10"),
    "star stop, dropout .5": star(dropout=0.5),
    "star 10 epochs, dropout .5": star(FEW, max_epochs=10),
    "star stop, 3 networks": star(n_networks=3),
    "star stop, list, 3 networks": star(n_networks=3, standardize="list"),
    "star stop, dropout .5, 3 networks": star(n_networks=3, dropout=0.5),
}


# Run with three seeds each; the others with one.
FINALISTS = (
    "mlp gain, stop",
    "mlp gain, stop, 3 networks",
    "mlp gain, stop, 5 networks",
    "mlp gain, stop, size 32, 3 networks",
    "mlp gain, stop, dropout .5, 3 networks",
    "mlp gain, 10 epochs, dropout .5, 3 networks",
    "star stop, 3 networks",
    "star stop, dropout .5, 3 networks",
)


def letor_parts(paths):
    """Return rows, labels and groups of some files, groups told apart by file."""
    parts = [load_letor(path) for path in paths]
    X, y = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    groups = [[f"{i} {q}" for q in part[2]] for i, part in enumerate(parts)]
    return X, y, np.concatenate(groups)


def folds(X, y, groups, n_splits=5):
    """Yield training and validation parts of whole lists."""
    splitter = QueryKFold(n_splits, shuffle=True, random_state=0)
    for train, test in splitter.split(X, y, groups):
        yield tuple(
            (X[part], y[part], np.asarray(groups)[part]) for part in (train, test)
        )


@cache
def data_sets(folder):
    """Return the training and validation parts by name of the data set."""
    folder = Path(folder)
    mq = [folder / "mq2008" / f"S{number}.txt.gz" for number in range(1, 6)]
    sets = {"MQ2008": []}
    for first in range(5):
        train = letor_parts([mq[(first + k) % 5] for k in range(3)])
        sets["MQ2008"].append((train, letor_parts([mq[(first + 3) % 5]])))
    lightgbm = letor_parts([folder / "lightgbm_lambdarank" / "train.txt.gz"])
    sets["LightGBM"] = list(folds(*lightgbm))
    trec = letor_parts([folder / "trec_news_2018" / "train.txt"])
    sets["TREC News"] = list(folds(*trec))
    X, y, groups = letor_parts([folder / "mslr_web10k_fold1_train5k/train.5k.txt.gz"])
    labels = list(dict.fromkeys(groups))[:33]  # the rest are for tests
    kept = np.isin(groups, labels)
    sets["MSLR"] = list(folds(X[kept], y[kept], groups[kept]))
    drawn = partial(make_ranking, n_features=10, noise=1.0, random_state=0)
    sets["drawn, 10 to 30 rows"] = list(folds(*drawn(n_lists=150, list_size=(10, 30))))
    sets["drawn, 2 to 5 rows"] = list(folds(*drawn(n_lists=400, list_size=(2, 5))))
    return sets


def scores_of(ranker, X, groups):
    """Return scores; pipelines hand groups to a scaler of lists alone."""
    if isinstance(ranker, (MLPRanker, STARanker)):
        return ranker.predict(X, groups)
    scaler, linear = ranker[0], ranker[1]
    of_lists = {"groups": groups} if isinstance(scaler, QueryScaler) else {}
    return linear.predict(scaler.transform(X, **of_lists))


def fitted(ranker, X, y, groups):
    """Return the ranker, fitted."""
    if isinstance(ranker, (MLPRanker, STARanker)):
        return ranker.fit(X, y, groups)
    scaler, linear = ranker[0], ranker[1]
    if isinstance(scaler, QueryScaler):
        linear.fit(scaler.fit_transform(X, groups=groups), y, groups)
    else:
        linear.fit(scaler.fit_transform(X), y, groups)
    return ranker


def run_cell(variant, parts, run):
    """Return NDCG@10 of each validation list by label, epochs, and seconds."""
    start, ndcg, n_epochs = time.process_time(), {}, []
    for number, (train, validation) in enumerate(parts):
        ranker = VARIANTS[variant](random_state=number + 100 * run)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of columns that are constant in a part
            ranker = fitted(ranker, *train)
        X, y, groups = validation
        values = ndcg_score(y, scores_of(ranker, X, groups), groups, k=10, average=None)
        for label, value in zip(list_labels(groups), values, strict=True):
            ndcg[f"{number} {label}"] = value
        n_epochs.append(getattr(ranker, "n_epochs_", 0))
    kept = {label: value for label, value in ndcg.items() if not np.isnan(value)}
    return {"ndcg": kept, "epochs": n_epochs, "seconds": time.process_time() - start}


def read_cells(path):
    """Return the runs of each variant and data set."""
    cells = {}
    if path.exists():
        for line in path.read_text().splitlines():
            cell = json.loads(line)
            runs = cells.setdefault((cell["variant"], cell["data"]), {})
            runs[cell["run"]] = cell
    return cells


def mean_ndcg(runs, labels=None):
    """Return NDCG@10 of each list, the mean of some runs, and the lists' labels."""
    tables = [run["ndcg"] for run in runs.values()]
    labels = list(tables[0]) if labels is None else labels
    return np.mean([[table[k] for k in labels] for table in tables], axis=0), labels


def print_table(cells, baseline):
    """Print mean NDCG@10, and the paired difference to one variant +- its error."""
    names = list(dict.fromkeys(data for _, data in cells))
    print("| variant | runs | " + " | ".join(names) + " | worst z | seconds a run |")
    print("| --- " * (len(names) + 4) + "|")
    known = dict.fromkeys(variant for variant, _ in cells)
    for variant in [name for name in VARIANTS if name in known]:
        row, worst, spent, counts = [], np.inf, 0.0, []
        for name in names:
            runs, base = cells.get((variant, name)), cells.get((baseline, name))
            if runs is None or base is None:
                row.append("")
                continue
            values, labels = mean_ndcg(runs)
            counts.append(len(runs))
            spent += np.mean([run["seconds"] for run in runs.values()])
            text = f"{values.mean():.4f}"
            if variant != baseline:
                gain = values - mean_ndcg(base, labels)[0]
                error = gain.std(ddof=1) / np.sqrt(len(gain))
                text += f", {gain.mean():+.4f} +- {error:.4f}"
                if error > 0:  # else the settings came to the same
                    worst = min(worst, gain.mean() / error)
            row.append(text)
        shown = "" if np.isinf(worst) else f"{worst:+.1f}"
        n_runs = "-".join(map(str, sorted({min(counts), max(counts)})))
        cells_of_row = [variant, n_runs, *row, shown, f"{spent:.0f}"]
        print("| " + " | ".join(cells_of_row) + " |")


def main():
    """Run the cells that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--cells", type=Path, required=True)
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--sets", nargs="*", default=None, help="names of data sets")
    parser.add_argument("--runs", type=int, help="seeds; default 1, of FINALISTS 3")
    parser.add_argument("--table", action="store_true", help="run nothing")
    parser.add_argument("--baseline", default="linear", help="of the differences")
    options = parser.parse_args()
    cells = read_cells(options.cells)
    sets = {} if options.table else data_sets(options.data)
    for variant in options.variants:
        n_runs = options.runs or (3 if variant in FINALISTS else 1)
        for name, run in product(options.sets or sets, range(n_runs)):
            if run in cells.get((variant, name), {}):
                continue
            cell = {"variant": variant, "data": name, "run": run}
            cell |= run_cell(variant, sets[name], run)
            with options.cells.open("a") as out:
                out.write(json.dumps(cell) + "\n")
            print(f"{variant}: {name}, {cell['seconds']:.0f} s", file=sys.stderr)
    print_table(read_cells(options.cells), options.baseline)


if __name__ == "__main__":
    main()
