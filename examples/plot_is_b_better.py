"""
Is B really better than A?
==========================

Two means do not tell. The same lists ranked by both do: differences list by list, an
interval, and a test that knows how many rankers were tried.
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
# One call: the same folds of whole lists for all, and a difference from the reference
# with its interval and p value, by Holm's correction.
comparison = compare_rankers(
    rankers, X, y, groups, metrics=["ndcg@10"], reference="ridge", random_state=0
)
print(comparison.to_frame()[["mean", "difference", "p_holm"]].round(4))
comparison

# %%
# The right picture shows what a mean hides: for how many lists B is worse.
RankerComparisonDisplay.from_comparison(comparison)
plt.show()

# %%
# Better at the top, or all the way down? The bands are of each ranker alone. The
# difference, list by list, is much surer than two bands that overlap suggest.
X_train, X_test, y_train, y_test, g_train, g_test = group_train_test_split(
    X, y, groups, test_size=0.5, random_state=0
)
fitted = {
    "ridge": Ridge().fit(X_train, y_train),
    "listmle": ListMLERanker().fit(X_train, y_train, g_train),
}
MetricAtKDisplay.from_estimator(fitted, X_test, y_test, g_test)
plt.show()
