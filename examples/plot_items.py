"""
Which items differ from one another?
====================================

Compared items, such as teams, brands or modes of travel, become indicator features, and
one of them is the reference. Standard errors relative to the reference do not show how
certain all other comparisons are. Quasi standard errors, as in R's ``qvcalc``, show all
at once.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skrank import ListMLERanker
from skrank.inspection import CoefficientDisplay

# %%
# 120 tasters each rank four of seven puddings.
rng = np.random.default_rng(0)
names = np.array(["almond", "bread", "caramel", "date", "egg", "fig", "ginger"])
worth = np.array([0.0, 0.3, 1.2, 0.9, -0.5, 0.2, 1.0])
tasted = np.array([rng.choice(7, size=4, replace=False) for _ in range(120)])
taster = np.repeat(np.arange(120), 4)
liking = worth[tasted].ravel() + rng.gumbel(size=480)
X = pd.DataFrame(np.eye(7)[tasted.ravel()], columns=names).drop(columns="almond")

# %%
ranker = ListMLERanker(alpha=0).fit(X, liking, taster)
summary = ranker.summary(X, liking, taster)
print(summary)

# %%
# If the quasi intervals of two items do not overlap, the items differ, whichever item
# is the reference.
CoefficientDisplay.from_summary(summary, items=list(X.columns), reference="almond")
plt.show()
