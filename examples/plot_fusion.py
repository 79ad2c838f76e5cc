"""
Do trees and linear rankers add up?
===================================

Boosted trees learn how features act together; a linear ranker learns the order inside
lists. :class:`~skrank.ensemble.FusionRanker` adds up their scores, each in units of its
own spread, and is often better than either.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from skrank import ListMLERanker
from skrank.datasets import make_ranking
from skrank.ensemble import FusionRanker
from skrank.inspection import RankerComparisonDisplay
from skrank.model_selection import compare_rankers

# %%
# Relevance is partly linear, partly a product of two features.
X, _, groups, coef = make_ranking(
    250, n_features=10, n_informative=6, return_coef=True, random_state=0
)
rng = np.random.default_rng(0)
worth = X @ coef + 0.8 * X[:, 0] * X[:, 1] + 0.6 * rng.gumbel(size=len(X))
y = np.searchsorted(np.quantile(worth, [0.5, 0.8, 0.95]), worth)
X += 0.5 * rng.normal(size=(250, 10))[groups]

# %%
linear = ListMLERanker()
trees = HistGradientBoostingRegressor(max_iter=60, random_state=0)
rankers = {
    "linear": linear,
    "trees": trees,
    "both": FusionRanker([("linear", linear), ("trees", trees)]),
}
comparison = compare_rankers(
    rankers, X, y, groups, metrics=["ndcg@10"], n_resamples=2000, random_state=0
)
print(comparison.to_frame()[["mean", "difference", "p_holm"]].round(3))

# %%
# LightGBM's, XGBoost's and CatBoost's rankers fit in the same way, by
# :func:`skrank.interop.as_ranker`.
RankerComparisonDisplay.from_comparison(comparison)
plt.show()
