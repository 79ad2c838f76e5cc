"""Try settings of the neural rankers on validation parts, beside a linear ranker.

    python benchmarks/neural_defaults.py DATA --cells CELLS.jsonl --variants mlp star
    python benchmarks/neural_defaults.py DATA --cells CELLS.jsonl --table

DATA is a folder with ``mq2008/S1.txt.gz`` to ``S5``, ``lightgbm_lambdarank``,
``trec_news_2018`` and ``mslr_web10k_fold1_train5k``, as LETOR text. Only parts meant
for training and validation are read: MQ2008 trains on three parts of each of its five
folds and is measured on the fourth; the others are cut into five folds of whole lists.
Each variant and data set is one cell, appended to CELLS as it ends, so that a run can
be stopped and goes on where it was. The table is in benchmarks/results.
"""

import argparse
import json
import time
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import RankNetRanker
from skrank.datasets import load_letor, make_ranking
from skrank.losses import ListMLE, ListNet, RankNet
from skrank.metrics import list_labels, ndcg_score
from skrank.model_selection import QueryKFold
from skrank.neural import MLPRanker, STARanker
from skrank.preprocessing import QueryScaler

OLD = {
    **{"standardize": "all", "dropout": 0.0, "batch_size": 32, "max_epochs": 50},
    **{"early_stopping": False, "n_networks": 1, "validation_metric": None},
}
STOP = {**OLD, "early_stopping": True, "validation_fraction": 0.2, "batch_size": "auto"}
LIST = {**STOP, "standardize": "list"}
GAIN = RankNet("gain")


def mlp(loss, **options):
    """Return the maker of an MLPRanker."""
    return partial(MLPRanker, loss, **options)


def star(**options):
    """Return the maker of a STARanker."""
    return partial(STARanker, **options)


VARIANTS = {
    "linear": lambda random_state: make_pipeline(
        StandardScaler(), RankNetRanker("gain")
    ),
    "linear, by list": lambda random_state: make_pipeline(
        QueryScaler(), RankNetRanker("gain")
    ),
    "mlp old defaults": mlp(ListMLE(), **OLD),
    "mlp gain": mlp(GAIN, **OLD),
    "mlp gain, stop": mlp(GAIN, **STOP),
    "mlp gain, stop, list": mlp(GAIN, **LIST),
    "mlp gain, stop, list, batch 32": mlp(GAIN, **{**LIST, "batch_size": 32}),
    "mlp gain, stop, list, dropout .2": mlp(GAIN, **{**LIST, "dropout": 0.2}),
    "mlp gain, stop, list, dropout .5": mlp(GAIN, **{**LIST, "dropout": 0.5}),
    "mlp gain, stop, list, by ndcg@10": mlp(
        GAIN, **{**LIST, "validation_metric": "ndcg@10"}
    ),
    "mlp gain, stop, list, rows": mlp(GAIN, **{**LIST, "set_encoder": "mlp"}),
    "mlp gain, stop, list, size 16": mlp(GAIN, **{**LIST, "hidden_size": 16}),
    "mlp gain, stop, list, a tenth": mlp(GAIN, **{**LIST, "validation_fraction": 0.1}),
    "mlp ListMLE, stop, list": mlp(ListMLE(), **LIST),
    "mlp ListNet, stop, list": mlp(ListNet(), **LIST),
    "mlp gain, 5 epochs, list, dropout .5": mlp(
        GAIN, **{**LIST, "early_stopping": False, "max_epochs": 5, "dropout": 0.5}
    ),
    "mlp gain, 5 epochs, dropout .5": mlp(
        GAIN, **{**STOP, "early_stopping": False, "max_epochs": 5, "dropout": 0.5}
    ),
    "mlp gain, 10 epochs, dropout .5": mlp(
        GAIN, **{**STOP, "early_stopping": False, "max_epochs": 10, "dropout": 0.5}
    ),
    "mlp gain, stop, dropout .5": mlp(GAIN, **{**STOP, "dropout": 0.5}),
    "mlp gain, stop, 3 networks": mlp(GAIN, **{**STOP, "n_networks": 3}),
    "mlp gain, stop, dropout .5, 3 networks": mlp(
        GAIN, **{**STOP, "dropout": 0.5, "n_networks": 3}
    ),
    "mlp gain, stop, list, 3 networks": mlp(GAIN, **{**LIST, "n_networks": 3}),
    "mlp gain, stop, list, dropout .5, 3 networks": mlp(
        GAIN, **{**LIST, "dropout": 0.5, "n_networks": 3}
    ),
    "star old defaults": star(**OLD),
    "star stop": star(**STOP),
    "star stop, dropout .5": star(**{**STOP, "dropout": 0.5}),
    "star stop, list": star(**LIST),
    "star stop, list, dropout .5": star(**{**LIST, "dropout": 0.5}),
    "star stop, 3 networks": star(**{**STOP, "n_networks": 3}),
    "star stop, list, 3 networks": star(**{**LIST, "n_networks": 3}),
    "star stop, dropout .5, 3 networks": star(
        **{**STOP, "dropout": 0.5, "n_networks": 3}
    ),
    "star stop, list, dropout .5, 3 networks": star(
        **{**LIST, "dropout": 0.5, "n_networks": 3}
    ),
    "star stop, list, by ndcg@10": star(**{**LIST, "validation_metric": "ndcg@10"}),
}


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


def run_cell(variant, parts):
    """Return NDCG@10 of each validation list by label, epochs, and seconds."""
    start, ndcg, n_epochs = time.process_time(), {}, []
    for number, (train, validation) in enumerate(parts):
        ranker = VARIANTS[variant](random_state=number)
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
    """Return the cells that were run, by variant and data set."""
    cells = {}
    if path.exists():
        for line in path.read_text().splitlines():
            cell = json.loads(line)
            cells[cell["variant"], cell["data"]] = cell
    return cells


def print_table(cells, baseline="linear"):
    """Print mean NDCG@10, and the paired difference to the linear ranker +- error."""
    names = list(dict.fromkeys(data for _, data in cells))
    print("| variant | " + " | ".join(names) + " | worst z | seconds |")
    print("| --- " * (len(names) + 3) + "|")
    for variant in dict.fromkeys(variant for variant, _ in cells):
        row, worst, seconds = [], np.inf, 0.0
        for name in names:
            cell, base = cells.get((variant, name)), cells.get((baseline, name))
            if cell is None or base is None:
                row.append("")
                continue
            labels = list(cell["ndcg"])  # of fewer folds, perhaps
            values = np.array([cell["ndcg"][label] for label in labels])
            seconds += cell["seconds"]
            text = f"{values.mean():.4f}"
            if variant != baseline:
                gain = values - [base["ndcg"][label] for label in labels]
                error = gain.std(ddof=1) / np.sqrt(len(gain))
                text += f", {gain.mean():+.4f} +- {error:.4f}"
                worst = min(worst, gain.mean() / error)
            row.append(text)
        shown = "" if np.isinf(worst) else f"{worst:+.1f}"
        print(f"| {variant} | " + " | ".join(row) + f" | {shown} | {seconds:.0f} |")


def main():
    """Run the cells that are missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--cells", type=Path, required=True)
    parser.add_argument("--variants", nargs="*", default=[], help="starts of names")
    parser.add_argument("--exact", nargs="*", default=[], help="whole names")
    parser.add_argument("--folds", type=int, default=5, help="of each set, the first")
    parser.add_argument("--sets", nargs="*", default=None, help="names of data sets")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    cells = read_cells(options.cells)
    if options.table:
        print_table(cells)
        return
    sets = data_sets(options.data)
    wanted = tuple(options.variants)
    for variant in VARIANTS:
        if not (wanted and variant.startswith(wanted)) and variant not in options.exact:
            continue
        for name in options.sets or sets:
            if (variant, name) in cells:
                continue
            parts = sets[name][: options.folds]
            cell = {"variant": variant, "data": name, **run_cell(variant, parts)}
            with options.cells.open("a") as out:
                out.write(json.dumps(cell) + "\n")
            print(f"{variant}: {name}, {cell['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
