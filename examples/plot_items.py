"""
Which items differ from one another?
====================================

Items that are compared, such as teams, brands or modes of travel, are indicator
features, and one of them is the reference. Errors from the reference hide how sure all
other comparisons are; quasi standard errors, as R's ``qvcalc`` has them, show all at
once.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skrank import ListMLERanker
from skrank.inspection import CoefficientDisplay

# %%
# 120 tasters rank four of seven puddings each.
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
# Two items whose quasi intervals do not overlap differ, whichever is the reference.
CoefficientDisplay.from_summary(summary, items=list(X.columns), reference="almond")
plt.show()
