"""What arranging gains over scoring: simulated browsing, real lists, and its cost.

    python benchmarks/bench_neural.py simulated
    python benchmarks/bench_neural.py real TRAIN... --test TEST
    python benchmarks/bench_neural.py speed
    python benchmarks/bench_neural.py curve [TRAIN... --test TEST]

Tables as in doc/neural.md.
"""

import argparse
import math
import multiprocessing
import re
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from skrank import ListMLERanker, RankNetRanker
from skrank.datasets import load_letor
from skrank.losses import PMOP, ListMLE, RankNet
from skrank.metrics import PositionBased, UserBrowsing, err_score, ndcg_score
from skrank.neural import ListData, MLPRanker, STARanker, make_browsing
from skrank.neural._batches import drawn_batches

N_ROWS = 8000  # of the tables of growth
ONE_NETWORK = {"n_networks": 1, "early_stopping": False, "random_state": 0}
SEEDS = range(5)
SCORERS = {
    "MLPRanker(ListMLE())": MLPRanker(ListMLE()),
    "MLPRanker(RankNet())": MLPRanker(RankNet()),
    "MLPRanker(PMOP())": MLPRanker(PMOP()),
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
# target=PositionBased() has the best order by label but behind the tenth rank.
TARGETS = {
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
            lists_of_test = (test.X, test.groups, test.history, test.profile)
            for name, ranker in {**SCORERS, **ARRANGERS, **HISTORIES}.items():
                ranker.set_params(**ONE_NETWORK, max_epochs=40, batch_size=32)
                ranker.set_params(random_state=seed)
                ranker.fit(train.X, train.y, train.groups, train.history, train.profile)
                share = test.worth(ranker.predict(*lists_of_test)) / best
                shares.setdefault(name, []).append(share)
            linear = ListMLERanker(alpha=0.01).fit(train.X, train.y, train.groups)
            share = test.worth(linear.predict(test.X)) / best
            shares.setdefault("ListMLERanker", []).append(share)
            share = test.worth(test.appeal) / best
            shares.setdefault("sorted by true appeal", []).append(share)
        base = np.array(shares["MLPRanker(ListMLE())"])
        for name, values in shares.items():
            gain = np.array(values) - base
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            mean = np.mean(values)
            print(f"| {name} | {mean:.4f} | {gain.mean():+.4f} +- {error:.4f} |")


def real(files, test):
    """Print NDCG@10 and ERR of one test file, of the defaults on raw features."""
    X, y, groups = letor_parts(files)
    X_test, y_test, groups_test = letor_parts([test])
    grade = max(y.max(), y_test.max())
    linear = {
        "ListMLERanker": Linear(ListMLERanker()),
        "RankNetRanker('gain')": Linear(),
    }
    neural = {"MLPRanker()": MLPRanker(), **SCORERS, **ARRANGERS, **TARGETS}
    for name, ranker in {**linear, **neural}.items():
        if name not in linear:
            ranker.set_params(random_state=0)
        if name.endswith("M)"):
            ranker.set_params(max_grade=grade)
        spent = seconds(ranker.fit, X, y, groups)
        scores = ranker.predict(X_test, groups_test)
        ndcg = ndcg_score(y_test, scores, groups_test, k=10)
        err = err_score(y_test, scores, groups_test, max_grade=grade)
        print(f"| {name} | {ndcg:.4f} | {err:.4f} | {spent:.0f} s |", flush=True)


def curved_lists(n_lists, seed):
    """Return lists whose worth is no weighted sum: waves and products of features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20 * n_lists, 10))
    worth = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    noisy = (worth + 0.5 * rng.standard_normal(len(X))).reshape(n_lists, 20)
    grades = np.argsort(np.argsort(noisy, axis=1), axis=1) // 4  # 0 to 4
    return X, grades.ravel().astype(float), np.repeat(np.arange(n_lists), 20)


class Trees:
    """LightGBM's LambdaMART, 100 trees of 15 leaves, as a ranker."""

    def fit(self, X, y, groups):
        """Grow the trees."""
        from lightgbm import LGBMRanker

        self.trees = LGBMRanker(
            n_estimators=100, num_leaves=15, n_jobs=1, verbose=-1, random_state=0
        )
        order = np.argsort(groups, kind="stable")
        sizes = np.unique(np.asarray(groups), return_counts=True)[1]
        self.trees.fit(X[order], y[order].astype(int), group=sizes)
        return self

    def predict(self, X, groups):
        """Return scores."""
        return self.trees.predict(X)


class Linear:
    """A linear ranker on features of mean 0 and variance 1."""

    def __init__(self, ranker=None):
        self.ranker = RankNetRanker("gain") if ranker is None else ranker

    def fit(self, X, y, groups):
        """Fit the weights."""
        self.pipeline = make_pipeline(StandardScaler(), self.ranker)
        scaled = self.pipeline[0].fit_transform(X)
        self.pipeline[1].fit(scaled, y, groups)
        return self

    def predict(self, X, groups):
        """Return scores."""
        return self.pipeline.predict(X)


LEARNERS = {
    "RankNetRanker('gain'), linear": Linear,
    "LightGBM": Trees,
    "MLPRanker()": lambda: MLPRanker(random_state=0),
}


def part_of(X, y, groups, n_lists):
    """Return the first lists of a random order."""
    labels = np.random.default_rng(0).permutation(np.unique(groups))[:n_lists]
    kept = np.isin(groups, labels)
    return X[kept], y[kept], groups[kept]


def curve(name, train, test, numbers):
    """Print NDCG@10 of test lists by number of training lists."""
    print(f"\n| {name} | " + " | ".join(f"{n} lists" for n in numbers) + " |")
    print("| --- " * (len(numbers) + 1) + "|")
    X, y, groups = test
    for learner, make in LEARNERS.items():
        row, errors = [], []
        for n_lists in numbers:
            ranker = make().fit(*part_of(*train, n_lists))
            values = ndcg_score(
                y, ranker.predict(X, groups), groups, k=10, average=None
            )
            values = values[~np.isnan(values)]
            row.append(f"{values.mean():.3f}")
            errors.append(values.std(ddof=1) / np.sqrt(len(values)))
        error = f" (+- {max(errors):.3f})"
        print(f"| {learner}{error} | " + " | ".join(row) + " |", flush=True)


def curves(files, test):
    """Print learning curves of drawn lists, and of real ones if there are files."""
    curve(
        "drawn, waves and products", curved_lists(800, 0), curved_lists(200, 1),
        [25, 50, 100, 200, 400, 800],
    )  # fmt: skip
    if files:
        train = letor_parts(files)
        n_lists = len(np.unique(train[2]))
        numbers = [n for n in (25, 50, 100, 200, 400) if n < 0.8 * n_lists]
        curve("real", train, letor_parts([test]), [*numbers, n_lists])


def letor_parts(paths):
    """Return rows, labels and groups of some files, groups told apart by file."""
    parts = [load_letor(path) for path in paths]
    X, y = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    groups = [[f"{i} {q}" for q in part[2]] for i, part in enumerate(parts)]
    return X, y, np.concatenate(groups)


class HandWritten(nn.Module):
    """The layers of MLPRanker without a user, as one writes them in torch."""

    def __init__(self, n_features, size):
        super().__init__()
        self.message = nn.Linear(n_features, size)
        self.query = nn.Linear(size, size, bias=False)
        self.key = nn.Linear(size, size, bias=False)
        self.output = nn.Linear(n_features + size, size)
        self.hidden = nn.Linear(size, size)
        self.v = nn.Linear(size, 1, bias=False)

    def forward(self, x, valid):
        """Return the scores of padded lists."""
        m = torch.tanh(self.message(x))
        match = self.query(m) @ self.key(m).transpose(1, 2) / math.sqrt(m.shape[-1])
        match = match.masked_fill(~valid[:, None], -torch.inf)
        h = torch.cat((x, torch.softmax(match, -1) @ m), -1)
        return self.v(torch.tanh(self.hidden(torch.relu(self.output(h)))))[..., 0]


def listmle(scores, valid, order):
    """Return the loss of ListMLE of padded lists."""
    ordered = scores.gather(1, order).masked_fill(~valid, -1e30)
    tails = torch.logcumsumexp(ordered.flip(1), 1).flip(1)
    return ((tails - ordered) * valid).sum(1)


def drawn_lists(n_lists, shortest, longest, n_features=46):
    """Return rows, labels without ties, groups and sizes of some lists."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(shortest, longest + 1, size=n_lists)
    groups = np.repeat(np.arange(n_lists), sizes)
    X = rng.standard_normal((len(groups), n_features))
    return X, rng.random(len(groups)), groups, sizes


def hand_written_epoch(X, y, sizes, batch_size=32):
    """Return a function that trains for an epoch, its batches cut beforehand."""
    starts, rows = np.cumsum(sizes) - sizes, torch.tensor(X, dtype=torch.float32)
    model, batches = HandWritten(X.shape[1], 64), []
    steps = torch.optim.Adam(model.parameters(), 1e-3, weight_decay=1e-4)
    numbers, rng = np.arange(len(sizes)), np.random.RandomState(0)
    for batch in drawn_batches(numbers, sizes, batch_size, rng):
        place = np.arange(sizes[batch].max())
        valid = place < sizes[batch][:, None]
        index = np.where(valid, starts[batch][:, None] + place, 0)
        order = np.argsort(np.where(valid, -y[index], np.inf), axis=1, kind="stable")
        batches.append(
            (rows[torch.tensor(index)], torch.tensor(valid), torch.tensor(order))
        )

    def epoch():
        for x, valid, order in batches:
            steps.zero_grad()
            listmle(model(x, valid), valid, order).mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 20.0)
            steps.step()

    return epoch


def seconds(function, *arguments, **named):
    """Return the CPU time of a call."""
    start = time.process_time()
    function(*arguments, **named)
    return time.process_time() - start


def epoch_seconds(ranker, *data, n_epochs=4):
    """Return the CPU time of an epoch, without what a fit does once."""
    ends = [
        seconds(ranker.set_params(max_epochs=number).fit, *data)
        for number in (1, 1 + n_epochs)
    ]
    return (ends[1] - ends[0]) / n_epochs


def beside_hand_written(repeats=5):
    """Print the time of an epoch of MLPRanker over that of a hand-written module."""
    print("\n| lists | MLPRanker's epoch over a hand-written one | at most |")
    print("| --- | --- | --- |")
    for n_lists, shortest, longest in ((400, 10, 30), (40, 100, 160)):
        X, y, groups, sizes = drawn_lists(n_lists, shortest, longest)
        epoch = hand_written_epoch(X, y, sizes)
        epoch()
        ranker = MLPRanker(ListMLE("order"), **ONE_NETWORK, batch_size=32)
        both = [
            (epoch_seconds(ranker, X, y, groups), seconds(epoch))
            for _ in range(repeats)
        ]
        ours, theirs = np.median(both, axis=0)
        print(
            f"| {n_lists} of {shortest} to {longest} rows | {ours / theirs:.2f} | 1.1 |"
        )


def grown(ranker, length, out):
    """Send the times of an epoch and a prediction, and the growth of memory in MB."""
    torch.set_num_threads(1)
    X, y, groups, _ = drawn_lists(N_ROWS // length, length, length)
    small = drawn_lists(8, 5, 5)[:3]
    ranker.set_params(max_epochs=1).fit(*small).predict(small[0], small[2])
    before = peak()
    spent = [seconds(ranker.fit, X, y, groups)]
    after_fit = peak()
    spent.append(seconds(ranker.predict, X, groups))
    out.put((*spent, after_fit - before, peak() - before))


def peak():
    """Return the largest memory of the process so far, in MB; on Linux."""
    # Not ru_maxrss, which a process inherits from the one that started it.
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def growth():
    """Print times and memory by length of lists, for the same number of rows."""
    print(f"\n{N_ROWS:,} rows x 46, one epoch; memory is the growth of the process.\n")
    print("| ranker | rows a list | fit, s | predict, s | fit, MB | both, MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    spawning = multiprocessing.get_context("spawn")
    for ranker in (MLPRanker(**ONE_NETWORK), STARanker(**ONE_NETWORK)):
        for length in (10, 100, 1000):
            out = spawning.Queue()
            child = spawning.Process(target=grown, args=(ranker, length, out))
            child.start()
            fit, predict, in_fit, in_both = out.get()
            child.join()
            name = type(ranker).__name__
            print(
                f"| {name} | {length} | {fit:.2f} | {predict:.2f} | {in_fit:.0f} | "
                f"{in_both:.0f} |",
                flush=True,
            )


def histories_and_draws():
    """Print what one long history costs, and draws beside one arrangement."""
    X, y, groups, _ = drawn_lists(200, 5, 10)
    rng, spent = np.random.default_rng(0), []
    browsed = {label: rng.standard_normal((12, 8)) for label in np.unique(groups)}
    ranker = STARanker(**ONE_NETWORK, max_epochs=3, batch_size=32)
    ranker.fit(X, y, groups, ListData(browsed))
    for longest in (12, 5000):
        browsed[3] = rng.standard_normal((longest, 8))
        spent.append(seconds(ranker.fit, X, y, groups, ListData(browsed)))
    print("\n| measurement | ratio |\n| --- | --- |")
    print(
        f"| fit with one history of 5,000 rows, over 12 | {spent[1] / spent[0]:.2f} |"
    )
    X, y, groups, _ = drawn_lists(20, 10, 20)
    ranker = STARanker(**ONE_NETWORK, max_epochs=1).fit(X, y, groups)
    once = min(seconds(ranker.arrange, X, groups) for _ in range(5))
    drawn = seconds(ranker.sample_arrangements, X, groups, n_samples=200)
    print(f"| 200 draws of 20 lists, over one arrangement | {drawn / once:.1f} |")


def speed():
    """Print all that is measured of time and memory."""
    torch.set_num_threads(1)
    beside_hand_written()
    growth()
    histories_and_draws()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["simulated", "real", "speed", "curve"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--test")
    options = parser.parse_args()
    if options.what == "simulated":
        simulated()
    elif options.what == "curve":
        curves(options.files, options.test)
    elif options.what == "speed":
        speed()
    else:
        real(options.files, options.test)
