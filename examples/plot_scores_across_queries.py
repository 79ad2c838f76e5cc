"""
Are scores comparable across queries?
=====================================

No. A ranker learns from pairs of rows of one list, so any number may be added to all
scores of a list. A threshold on scores, or a histogram over all queries, means nothing.
Only ranks and probabilities inside a list have a meaning.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

from skrank import ListMLERanker, rank_within
from skrank.datasets import make_ranking
from skrank.metrics import ndcg_score

# %%
# These features differ between lists for reasons that have nothing to do with
# relevance, such as the length of a query.
X, y, groups = make_ranking(200, list_size=15, list_effect=3.0, random_state=0)
ranker = ListMLERanker().fit(X, y, groups)
scores = ranker.predict(X)
means = scores.reshape(200, 15).mean(axis=1)
relevant = y.reshape(200, 15).mean(axis=1)
print(f"NDCG {ndcg_score(y, scores, groups):.3f}")
print(f"mean score against mean label of a list: {spearmanr(means, relevant)[0]:+.3f}")

# %%
# Adding a number to each list changes every score and no ranking.
shifted = scores + np.random.default_rng(0).normal(0, 50, size=200)[groups]
print(f"NDCG {ndcg_score(y, shifted, groups):.3f}")

# %%
# Scores vary more between lists than inside them. But you can compare ranks inside
# lists, and probabilities to be the first.
first = ranker.top_k_proba(X, groups, 1).probability
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
ranks = rank_within(scores, groups)
kinds = [
    ("label 0 or 1", y < 2, "#56b4e9", "o"),
    ("label 2 or more", y >= 2, "#d55e00", "^"),
]
for name, rows, color, marker in kinds:
    some = rows & (groups < 12)
    style = {"color": color, "marker": marker, "s": 18, "label": name}
    axes[0].scatter(groups[some], scores[some], **style)
    axes[1].scatter(ranks[some], first[some], **style)
axes[0].set(xlabel="list", ylabel="score")
axes[1].set(xlabel="rank in the list", ylabel="probability to be the first")
axes[1].legend()
plt.show()
