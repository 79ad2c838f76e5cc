"""
Why does my NDCG differ from LightGBM's?
========================================

NDCG has no single definition. :func:`~skrank.metrics.explain_metric` takes two tools'
conventions apart on your own scores: gains, ties, and lists without a relevant row.
"""

import matplotlib.pyplot as plt
import numpy as np

from skrank import RankNetRanker
from skrank.datasets import make_ranking
from skrank.metrics import explain_metric, ndcg_score

X, y, groups = make_ranking(
    200, list_size=(3, 20), grade_shares=(0.85, 0.1, 0.03, 0.02), random_state=0
)
# Scores are rounded to halves, so that many tie.
scores = np.round(2 * RankNetRanker().fit(X, y, groups).predict(X)) / 2

# %%
# Each step changes one convention, and the steps add up to the whole difference.
explanation = explain_metric(ndcg_score, y, scores, groups, None, "lightgbm", k=10)
explanation

# %%
for tool in (None, "sklearn", "lightgbm", "xgboost", "catboost"):
    value = ndcg_score(y, scores, groups, k=10, convention=tool)
    print(f"{tool or 'skrank':10}{value:.4f}")

# %%
steps = explanation.to_frame()
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
start = np.concatenate(([explanation.first_value], steps["value"][:-1]))
rows = range(len(steps))
bars = axes.barh(rows, steps["change"], left=start, color="#0072b2")
axes.bar_label(bars, [f"{change:+.4f}" for change in steps["change"]], padding=4)
axes.set_yticks(rows, steps["what"])
axes.invert_yaxis()
low = min(start.min(), steps["value"].min())
axes.set_xlim(low - 0.02, max(start.max(), steps["value"].max()) + 0.02)
axes.set_xlabel("NDCG@10, from skrank's convention (top) to LightGBM's")
axes.grid(axis="x", alpha=0.3)
plt.show()
