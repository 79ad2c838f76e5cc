"""What arranging gains over scoring: simulated browsing, real lists, and its cost.

    python benchmarks/bench_neural.py simulated
    python benchmarks/bench_neural.py real TRAIN... --test TEST
    python benchmarks/bench_neural.py step

Tables as in doc/neural.md.
"""

import argparse
import time

import numpy as np
import torch

from skrank import ListMLERanker
from skrank.datasets import load_letor
from skrank.losses import PMOP, RankNet
from skrank.metrics import PositionBased, UserBrowsing, err_score, ndcg_score
from skrank.neural import MLPRanker, STARanker, make_browsing
from skrank.neural._arranger import Arranger, arrangement_loss
from skrank.neural._batches import Batch
from skrank.neural._encoders import Encoder
from skrank.neural._scorers import Scorer

SEEDS = range(5)
SCORERS = {
    "MLPRanker(ListMLE)": MLPRanker(),
    "MLPRanker(RankNet)": MLPRanker(RankNet()),
    "MLPRanker(PMOP)": MLPRanker(PMOP()),
}
ARRANGERS = {
    "STARanker": STARanker(),
    "STARanker, loss='previous'": STARanker("previous"),
    "STARanker, set_encoder='mlp' (-PI)": STARanker(set_encoder="mlp"),
}
HISTORIES = {
    "STARanker, history_encoder='mlp' (-PS)": STARanker(history_encoder="mlp"),
    "STARanker, history_encoder=None": STARanker(history_encoder=None),
}
TARGETS = {
    "STARanker, target=PositionBased() (+PBM)": STARanker(target=PositionBased()),
    "STARanker, target=UserBrowsing() (+UBM)": STARanker(target=UserBrowsing()),
}


def simulated():
    """Print clicks over those of the best arrangement, and the paired difference."""
    worlds = [(0.8, PositionBased()), (0.8, UserBrowsing()), (0.0, PositionBased())]
    for dependence, model in worlds:
        print(f"\ndependence={dependence}, {model}")
        shares = {}
        for seed in SEEDS:
            train, test = (
                make_browsing(
                    400, dependence=dependence, model=model, random_state=drawn
                )
                for drawn in (seed, 1000 + seed)
            )
            best = test.worth(test.y)
            seen = (test.X, test.groups, test.history, test.profile)
            for name, ranker in {**SCORERS, **ARRANGERS, **HISTORIES}.items():
                ranker.set_params(max_epochs=40, random_state=seed)
                ranker.fit(train.X, train.y, train.groups, train.history, train.profile)
                share = test.worth(ranker.predict(*seen)) / best
                shares.setdefault(name, []).append(share)
            linear = ListMLERanker(alpha=0.01).fit(train.X, train.y, train.groups)
            share = test.worth(linear.predict(test.X)) / best
            shares.setdefault("ListMLERanker", []).append(share)
            share = test.worth(test.appeal) / best
            shares.setdefault("sorted by true appeal", []).append(share)
        base = np.array(shares["MLPRanker(ListMLE)"])
        for name, values in shares.items():
            gain = np.array(values) - base
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            mean = np.mean(values)
            print(f"| {name} | {mean:.4f} | {gain.mean():+.4f} +- {error:.4f} |")


def real(files, test, max_epochs):
    """Print NDCG@10 and ERR of one test file."""
    parts = [load_letor(path) for path in files]
    X, y = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    groups = np.concatenate(
        [[f"{i} {q}" for q in parts[i][2]] for i in range(len(parts))]
    )
    X_test, y_test, groups_test = load_letor(test)
    mean, scale = X.mean(0), np.where(X.std(0) > 0, X.std(0), 1.0)
    X, X_test = (X - mean) / scale, (X_test - mean) / scale
    grade = max(y.max(), y_test.max())
    for name, ranker in {
        "ListMLERanker": ListMLERanker(), **SCORERS, **ARRANGERS, **TARGETS
    }.items():  # fmt: skip
        neural = not isinstance(ranker, ListMLERanker)
        if neural:
            ranker.set_params(
                max_epochs=max_epochs, early_stopping=True, n_epochs_no_change=5,
                validation_fraction=0.2, dropout=0.2, random_state=0,
            )  # fmt: skip
        if name.endswith("M)"):
            ranker.set_params(max_grade=grade)
        start = time.perf_counter()
        ranker.fit(X, y, groups)
        spent = time.perf_counter() - start
        scores = (
            ranker.predict(X_test, groups_test) if neural else ranker.predict(X_test)
        )
        ndcg = ndcg_score(y_test, scores, groups_test, k=10)
        err = err_score(y_test, scores, groups_test, max_grade=grade)
        print(f"| {name} | {ndcg:.4f} | {err:.4f} | {spent:.0f} s |", flush=True)


def step(n_lists=32, n=20, n_features=46, size=64, repeats=60):
    """Print the time of a training step over that with a pointwise loss."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    valid = torch.ones(n_lists, n, dtype=torch.bool)
    sizes = np.full(n_lists, n)
    batch = Batch(torch.randn(n_lists, n, n_features), valid, sizes)
    labels = torch.randn(n_lists, n)
    encoder = Encoder(n_features, None, None, size, "attention", None, 0.0)
    heads = {
        "arranger": Arranger(size, size, n),
        "pointwise": Scorer([size, size], np.empty(0)),
    }
    times = {name: [] for name in heads}
    steps = {
        name: torch.optim.Adam([*encoder.parameters(), *head.parameters()])
        for name, head in heads.items()
    }
    for _ in range(repeats):
        for name, head in heads.items():
            start = time.perf_counter()
            steps[name].zero_grad()
            h, user = encoder(batch)
            if name == "arranger":
                loss = arrangement_loss(head(h, user), valid).mean()
            else:
                loss = ((head(h) - labels) ** 2).sum(1).mean()
            loss.backward()
            steps[name].step()
            times[name].append(time.perf_counter() - start)
    fastest = {name: 1e3 * min(spent) for name, spent in times.items()}
    print(", ".join(f"{name} {spent:.2f} ms" for name, spent in fastest.items()))
    print(f"ratio {fastest['arranger'] / fastest['pointwise']:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["simulated", "real", "step"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--test")
    parser.add_argument("--max-epochs", type=int, default=40)
    asked = parser.parse_args()
    if asked.what == "simulated":
        simulated()
    elif asked.what == "step":
        step()
    else:
        real(asked.files, asked.test, asked.max_epochs)
