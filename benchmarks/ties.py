"""What models of ties recover from ties of different origins, for doc/ties.md.

Prints tables: the weights that each model learns from data that another drew, with
the log-likelihood of other lists; the length of the weights as lists grow; and how
often the arithmetic model of ordered partitions has several optima, on random lists
and on real ones.

    python benchmarks/ties.py
"""

from __future__ import annotations

import warnings

import numpy as np
from real_data import mslr_sample

from skrank import DavidsonLuceRanker, LinearRanker, ListMLERanker, PMOPRanker
from skrank.losses import PMOP
from skrank.metrics import pairwise_accuracy_score

COEF = np.array([1.0, -0.7, 0.4, 0.0])
MODELS = {
    "Efron": ListMLERanker("efron"),
    "marginal": ListMLERanker("marginal"),
    "arithmetic": PMOPRanker(),
    "geometric": PMOPRanker("geometric"),
    "Davidson-Luce": DavidsonLuceRanker(),
}


def lists_of(n_lists: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal features and the groups of their rows."""
    X = np.random.default_rng(seed).standard_normal((n_lists * size, len(COEF)))
    return X, np.repeat(np.arange(n_lists), size)


def draw(name: str, X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return labels that a model with weights COEF draws, or orders cut to grades."""
    size = int(np.sum(groups == 0))
    if name == "grades":
        noise = np.random.default_rng(1).gumbel(size=len(X))
        return np.digitize(X @ COEF + noise, [0.0, 1.0, 2.0, 3.0])
    ranker = MODELS[name].__class__(**MODELS[name].get_params())
    ranker.coef_, ranker.n_features_in_ = COEF, len(COEF)
    ranker.extra_ = np.empty(0)
    if name == "Davidson-Luce":
        ranker.extra_ = -0.7 * np.arange(1.0, size)
    return -ranker.sample_partitions(X, groups, random_state=2)[0]


def recovery(size: int = 8) -> None:
    """Print direction and length of the weights, and fit to 1,000 other lists."""
    X, groups = lists_of(3000, size, 0)
    train = groups < 2000
    print(f"## 2,000 lists of {size} rows; 1,000 others: pairs in order, likelihood\n")
    print("| drawn from | fitted | cosine | length | pairs | log-likelihood |")
    print("| --- | --- | --- | --- | --- | --- |")
    for truth in ("grades", "arithmetic", "geometric", "Davidson-Luce"):
        y = draw(truth, X, groups)
        values = {}
        for name, ranker in MODELS.items():
            ranker.set_params(alpha=1e-4).fit(X[train], y[train], groups[train])
            w = ranker.coef_
            cosine = w @ COEF / np.linalg.norm(w) / np.linalg.norm(COEF)
            length = np.linalg.norm(w) / np.linalg.norm(COEF)
            test = X[~train], y[~train], groups[~train]
            pairs = pairwise_accuracy_score(test[1], ranker.predict(test[0]), test[2])
            cell = ""
            if hasattr(ranker, "partition_proba"):
                values[name] = ranker.log_likelihood(*test, average=None)
                cell = f"{values[name].mean():.4f}"
                if len(values) > 1:
                    gap = values[name] - values["arithmetic"]
                    error = gap.std(ddof=1) / np.sqrt(len(gap))
                    cell += f" ({gap.mean():+.4f} +- {error:.4f})"
            print(
                f"| {truth} | {name} | {cosine:.4f} | {length:.2f} | {pairs:.4f} "
                f"| {cell} |"
            )


def lengths() -> None:
    """Print the length of the weights for data of one process as lists grow."""
    print("\n## Length of the weights, over that of the utilities' weights\n")
    print("| alpha | rows | " + " | ".join(MODELS) + " |")
    print("| --- | --- |" + " --- |" * len(MODELS))
    for alpha in (1e-4, 0.1):
        for size in (5, 10, 25, 50):
            X, groups = lists_of(6000 // size, size, 3)
            y = draw("grades", X, groups)
            cells = []
            for ranker in MODELS.values():
                w = ranker.set_params(alpha=alpha).fit(X, y, groups).coef_
                cells.append(f"{np.linalg.norm(w) / np.linalg.norm(COEF):.2f}")
            print(f"| {alpha:g} | {size} | " + " | ".join(cells) + " |")


def optima(n_problems: int = 100) -> None:
    """Print how often starts at zero, at ListMLE and at random end elsewhere."""
    print("\n## Several optima of the arithmetic model\n")
    print(
        "| lists | scale of X | alpha | the two starts differ | 10 others are better |"
    )
    print("| --- | --- | --- | --- | --- |")
    for n_lists, scale in ((3, 3.0), (10, 3.0), (100, 1.0)):
        for alpha in (1e-3, 1e-2, 1e-1):
            warned = better = 0
            for seed in range(n_problems):
                rng = np.random.default_rng(seed)
                X = scale * rng.standard_normal((6 * n_lists, 2))
                y = rng.integers(0, 2, size=len(X))
                groups = np.repeat(np.arange(n_lists), 6)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    ranker = PMOPRanker(alpha=alpha).fit(X, y, groups)
                    warned += any("several optima" in str(w.message) for w in caught)
                    other = LinearRanker(PMOP(), alpha=alpha, warm_start=True)
                    best = np.inf
                    for _ in range(10):
                        other.coef_ = 3.0 / scale * rng.standard_normal(2)
                        other.extra_ = np.empty(0)
                        best = min(best, other.fit(X, y, groups).objective_)
                better += best < ranker.objective_ - 1e-4 * abs(ranker.objective_)
            print(
                f"| {n_lists} | {scale:g} | {alpha:g} | {warned} of {n_problems} "
                f"| {better} of {n_problems} |"
            )


def real_optima() -> None:
    """Print where fits of the arithmetic model end on the 43 lists of MSLR's sample."""
    X, y, groups = (np.concatenate(parts) for parts in zip(*mslr_sample(), strict=True))
    X = X[:, np.ptp(X, axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    print("\n## Where fits end on 43 real lists\n")
    print("| alpha | from zero | kept of two starts | five random starts |")
    print("| --- | --- | --- | --- |")
    for alpha in (1e-3, 1e-2, 1e-1, 1.0):
        other = LinearRanker(PMOP(), alpha=alpha, warm_start=True)
        zero = LinearRanker(PMOP(), alpha=alpha).fit(X, y, groups).objective_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept = PMOPRanker(alpha=alpha).fit(X, y, groups).objective_
        ends = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            other.coef_, other.extra_ = 0.3 * rng.standard_normal(X.shape[1]), []
            ends.append(other.fit(X, y, groups).objective_)
        text = ", ".join(f"{end:.3f}" for end in sorted(ends))
        print(f"| {alpha:g} | {zero:.3f} | {kept:.3f} | {text} |")


if __name__ == "__main__":
    recovery()
    lengths()
    optima()
    real_optima()
