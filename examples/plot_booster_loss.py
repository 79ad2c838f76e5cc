"""
Does another loss train boosted trees better?
=============================================

:func:`~skrank.interop.make_booster_objective` passes the gradient and the curvature of
any loss of skrank to LightGBM or XGBoost. Here the trees of ``LGBMRanker`` learn by the
likelihood of ordered partitions (PMOP), and by lambdarank with its default settings,
each with two numbers of trees. LightGBM is no part of skrank (``pip install
lightgbm``); without it, this page says so and draws nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

from skrank.inspection import RankerComparisonDisplay
from skrank.interop import BoosterRanker, make_booster_objective
from skrank.losses import PMOP
from skrank.model_selection import compare_rankers

try:
    from lightgbm import LGBMRanker
except ImportError:
    LGBMRanker = None
    print("LightGBM is not installed: pip install lightgbm")

# %%
# Trees can gain in these lists: the worth of a row is partly a product of two features
# and partly a step. Grades are 0 to 3, most of them 0.
rng = np.random.default_rng(0)
groups = np.repeat(np.arange(300), rng.integers(6, 25, size=300))
X = rng.normal(size=(len(groups), 10))
worth = X[:, 0] + 0.8 * X[:, 1] * X[:, 2] + 1.2 * (X[:, 3] > 0.5)
worth += 0.8 * rng.gumbel(size=len(worth))
y = np.searchsorted(np.quantile(worth, [0.5, 0.8, 0.95]), worth)

# %%
# Every ranker ranks each list once, after a fit to the other lists. Differences are
# from the first ranker, lambdarank with 50 trees.
if LGBMRanker is not None:
    trees = {"num_leaves": 15, "n_jobs": 1, "verbose": -1, "random_state": 0}
    objective = make_booster_objective(PMOP(), library="lightgbm")
    rankers = {}
    for n_trees in (50, 100):
        rankers[f"lambdarank, {n_trees}"] = BoosterRanker(
            LGBMRanker(n_estimators=n_trees, **trees)
        )
        rankers[f"PMOP, {n_trees}"] = BoosterRanker(
            LGBMRanker(objective=objective, n_estimators=n_trees, **trees)
        )
    comparison = compare_rankers(
        rankers, X, y, groups, metrics=["ndcg@10"], n_resamples=2000, random_state=0
    )
    print(comparison.to_frame()[["mean", "difference", "p_holm"]].round(4))

# %%
# Here the answer is no: lambdarank weighs each pair by its effect on NDCG, which this
# page measures, while PMOP's likelihood depends on the whole order. The picture
# shows the means with intervals, and the paired differences list by list. On other data
# the answer may differ, so compare on yours.
if LGBMRanker is not None:
    RankerComparisonDisplay.from_comparison(comparison)
plt.show()
