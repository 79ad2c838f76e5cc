"""
Should features be scaled by query?
===================================

A feature such as BM25 has another range for each query. If these ranges have nothing to
do with relevance, scaling inside each list helps. If they do not differ, it costs
little.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import ListMLERanker
from skrank.datasets import make_ranking
from skrank.inspection import RankerComparisonDisplay
from skrank.model_selection import compare_rankers
from skrank.preprocessing import QueryScaler

# %%
# The features of each list are stretched, by a factor of up to ten, and shifted.
X, y, groups = make_ranking(150, n_features=10, random_state=0)
rng = np.random.default_rng(0)
stretched = X * 10 ** rng.uniform(-0.5, 0.5, size=(150, 10))[groups]
stretched += 5 * rng.normal(size=(150, 10))[groups]
rankers = {
    "over all rows": make_pipeline(StandardScaler(), ListMLERanker()),
    "by query, standard": make_pipeline(QueryScaler(), ListMLERanker()),
    "by query, rank": make_pipeline(QueryScaler("rank"), ListMLERanker()),
}

# %%
# With stretched features, scaling by query gains much.
options = {"metrics": ["ndcg@10"], "random_state": 0, "n_resamples": 2000}
worse = compare_rankers(rankers, stretched, y, groups, **options)
RankerComparisonDisplay.from_comparison(worse)
plt.show()

# %%
# Without stretching it gains little.
plain = compare_rankers(rankers, X, y, groups, **options)
print(plain.to_frame()[["mean", "low", "high", "difference"]].round(3))
