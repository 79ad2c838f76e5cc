"""What arranging gains over scoring: simulated browsing, real lists, and its cost.

    python benchmarks/bench_neural.py simulated
    python benchmarks/bench_neural.py real TRAIN... --test TEST
    python benchmarks/bench_neural.py speed
    python benchmarks/bench_neural.py curve [TRAIN... --test TEST]

Tables as in doc/neural.md.
"""

import argparse

import numpy as np
from neural_speed import ONE_NETWORK, seconds, speed
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import ListMLERanker, RankNetRanker
from skrank.datasets import load_letor
from skrank.losses import PMOP, ListMLE, RankNet
from skrank.metrics import PositionBased, UserBrowsing, err_score, ndcg_score
from skrank.neural import MLPRanker, STARanker, make_browsing

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
