"""
Is B really better than A?
==========================

Two means are not enough to decide. Let both rankers rank the same lists, and look at
differences list by list, an interval, and a test that corrects for the number of
rankers.
"""

import matplotlib.pyplot as plt
from sklearn.linear_model import Ridge

from skrank import ListMLERanker, RankNetRanker
from skrank.datasets import make_ranking
from skrank.inspection import MetricAtKDisplay, RankerComparisonDisplay
from skrank.model_selection import compare_rankers, group_train_test_split

X, y, groups = make_ranking(150, list_effect=2.0, random_state=0)
rankers = {"ridge": Ridge(), "listmle": ListMLERanker(), "ranknet": RankNetRanker()}

# %%
# One call uses the same folds of whole lists for all rankers. It gives differences from
# the reference with intervals and p values, corrected by Holm's method.
comparison = compare_rankers(
    rankers, X, y, groups, metrics=["ndcg@10"], reference="ridge", random_state=0
)
print(comparison.to_frame()[["mean", "difference", "p_holm"]].round(4))
comparison

# %%
# A mean hides for how many lists B is worse. The right picture shows it.
RankerComparisonDisplay.from_comparison(comparison)
plt.show()

# %%
# Is B better at the top, or at all ranks? The bands belong to each ranker alone. The
# difference, list by list, is much more certain than two overlapping bands suggest.
X_train, X_test, y_train, y_test, g_train, g_test = group_train_test_split(
    X, y, groups, test_size=0.5, random_state=0
)
fitted = {
    "ridge": Ridge().fit(X_train, y_train),
    "listmle": ListMLERanker().fit(X_train, y_train, g_train),
}
MetricAtKDisplay.from_estimator(fitted, X_test, y_test, g_test)
plt.show()
