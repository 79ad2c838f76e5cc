"""
The PMOP paper's experiment on a small scale
============================================

Truyen, Phung and Venkatesh compare rankers on the Yahoo challenge, with and without
products of features. Its lists may not be passed on, so this page draws lists like
them: some 24 rows a list, features between 0 and 1, grades 0 to 4, mostly low.
Relevance depends partly on products of two features, which a linear ranker cannot use
unless they are features too. On your own files,
``python benchmarks/paper_experiment.py TRAIN --second-order`` runs the whole
experiment.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import (
    DavidsonRanker,
    ListMLERanker,
    PMOPRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
    RaoKupperRanker,
)
from skrank.metrics import compare_scores
from skrank.model_selection import compare_rankers
from skrank.preprocessing import SecondOrderFeatures

# %%
# Ten features matter by themselves, and four pairs by their products. The grades of
# all lists have the same limits, so some lists have more high grades than others.
rng = np.random.default_rng(0)
groups = np.repeat(np.arange(200), rng.integers(8, 41, size=200))
X = rng.uniform(size=(len(groups), 60))
centred = (X - 0.5) * np.sqrt(12)
relevance = 0.4 * centred[:, :10] @ rng.choice([-1.0, 1.0], size=10)
pairs = [(2, 20), (5, 21), (8, 22), (11, 23)]
relevance += 0.6 * sum(centred[:, a] * centred[:, b] for a, b in pairs)
relevance += 0.5 * rng.normal(size=200)[groups] + rng.normal(size=len(groups))
y = np.searchsorted(np.quantile(relevance, [0.26, 0.62, 0.9, 0.98]), relevance)
print(f"{len(y)} rows, share of each grade: {np.bincount(y) / len(y)}")

# %%
# The rankers have their names in the paper and no penalty. They stop at a relative
# improvement of 1e-5 or after 100 iterations. Everything else is skrank's default,
# which doc/paper_experiment.md calls "other readings": losses of pairs are divided by
# the size of the list, Rank Regress fits differences of labels, the improvement is
# measured by the decrease since zero weights, and chains make 1,000 passes.
rules = {"alpha": 0, "ftol": 1e-5, "max_iter": 100}
rankers = {
    "Rank Regress": RankRegressionRanker("labels", **rules),
    "RankNet": RankNetRanker(**rules),
    "Ranking SVM": RankSVMRanker("linear", **rules),
    "ListMLE, file order": ListMLERanker("order", **rules),
    "ListMLE, random order": ListMLERanker("random", random_state=0, **rules),
    "ListMLE, Efron (ours)": ListMLERanker(**rules),
    "PairTies-D": DavidsonRanker(**rules),
    "PairTies-RK": RaoKupperRanker(**rules),
    "PMOP-FD": PMOPRanker(**rules),
    "PMOP-Gibbs": PMOPRanker("geometric", "gibbs", alpha=0, random_state=0),
    "PMOP-MH": PMOPRanker("geometric", "metropolis", alpha=0, random_state=0),
    "PMOP, exact (ours)": PMOPRanker("geometric", **rules),
}
features = {
    "first order": StandardScaler(),
    "centred products": SecondOrderFeatures(0.15),
    "raw products": SecondOrderFeatures(0.15, center=False),
}
for name in ("centred products", "raw products"):
    products = features[name].fit(X, y)
    right = sum(tuple(pair) in pairs for pair in products.pairs_.tolist())
    n_kept = len(products.pairs_)
    print(f"{name}: {n_kept} of {products.n_candidates_} kept, {right} of them right")

# %%
# Every ranker runs on all three tables, in the same folds of whole lists.
metrics = ["err", "ndcg@1", "ndcg@5", "ndcg@10"]
found = {
    name: compare_rankers(
        {ranker: make_pipeline(made, model) for ranker, model in rankers.items()},
        X,
        y,
        groups,
        cv=3,
        metrics=metrics,
        n_resamples=1000,
        random_state=0,
    )
    for name, made in features.items()
}

# %%
# The first table of the paper has three columns under each measure: first order
# (first), centred products (centred), and raw products (raw).
print(" " * 22, *(f"{metric:>24}" for metric in metrics))
print(f"{'ranker':22}", *("   first centred     raw" for _ in metrics))
for ranker in rankers:
    cells = [
        "".join(f"{one.results[ranker].mean(metric):8.4f}" for one in found.values())
        for metric in metrics
    ]
    print(f"{ranker:22}", *cells)

# %%
# The second table has seconds of training for all folds together, with the time to make
# features.
print(f"{'ranker':22}", *(f"{name:>17}" for name in found))
for ranker in rankers:
    seconds = [sum(one.results[ranker].seconds) for one in found.values()]
    print(f"{ranker:22}", *(f"{value:17.2f}" for value in seconds))

# %%
# The last table shows the effect of products, list by list, with 95% intervals. They
# help because these data were drawn that way; for real lists see
# doc/paper_experiment.md. Centred products are few, and the right ones. Raw products of
# features that are never negative mostly repeat the information of the features: more
# of them pass the threshold, but few of the right ones, and they help less.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for shift, name in ((-0.15, "centred products"), (0.15, "raw products")):
    gains = [
        compare_scores(
            found[name].results[ranker].values["ndcg@10"],
            found["first order"].results[ranker].values["ndcg@10"],
            random_state=0,
        )
        for ranker in rankers
    ]
    middle = np.array([gain.difference for gain in gains])
    ends = np.abs(
        [[gain.low for gain in gains], [gain.high for gain in gains]] - middle
    )
    places = np.arange(len(rankers)) + shift
    axes.errorbar(middle, places, xerr=ends, fmt="o", label=name)
axes.axvline(0, color="grey", linewidth=1)
axes.set_yticks(range(len(rankers)), rankers)
axes.invert_yaxis()
axes.set_xlabel("NDCG@10, less that of the first order")
axes.legend()
plt.show()
