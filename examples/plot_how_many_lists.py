"""
How many lists do I need?
=========================

Should you label more lists, or improve the ranker?
:func:`skrank.model_selection.learning_curve` adds whole lists. (scikit-learn's
function of the same name adds rows, so that lists are incomplete.) scikit-learn's own
display draws the curve.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import LearningCurveDisplay

from skrank import RankNetRanker
from skrank.datasets import make_ranking
from skrank.model_selection import learning_curve

X, y, groups = make_ranking(250, n_features=40, noise=1.0, random_state=0)
sizes, train_scores, test_scores = learning_curve(
    RankNetRanker(),
    X,
    y,
    groups,
    train_sizes=[5, 10, 20, 40, 80, 160],
    scoring="ndcg@10",
    random_state=0,
)
for size, score in zip(sizes, test_scores.mean(axis=1), strict=True):
    print(f"{size:4} lists: NDCG@10 {score:.3f}")

# %%
# Each doubling gains less, and at 160 lists the two curves meet: more lists would
# gain little, but better features might help.
display = LearningCurveDisplay(
    train_sizes=sizes,
    train_scores=train_scores,
    test_scores=test_scores,
    score_name="NDCG@10",
).plot()
display.ax_.set(xscale="log", xlabel="lists learned from")
display.ax_.set_xticks(sizes, [str(size) for size in sizes])
display.ax_.minorticks_off()
plt.show()
