"""
What does the penalty do?
=========================

``alpha`` shrinks weights towards 0, those of useless features first. ``alpha`` times
the number of lists is the precision of a normal prior; the fit is the mode of the
posterior.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from skrank import ListMLERanker, with_groups
from skrank.datasets import make_ranking
from skrank.inspection import CoefficientDisplay, RegularizationPathDisplay
from skrank.model_selection import QueryKFold

X, y, groups, coef = make_ranking(
    80, n_features=15, n_informative=4, noise=1.0, return_coef=True, random_state=3
)
print("features with a weight:", np.flatnonzero(coef))

# %%
# Choose alpha by cross-validation over whole lists, then look at the path around it.
search = GridSearchCV(
    ListMLERanker(), {"alpha": np.logspace(-3, 1, 9)}, cv=QueryKFold(5)
).fit(X, with_groups(y, groups))
chosen = search.best_params_["alpha"]
print(f"alpha {chosen:g}")
RegularizationPathDisplay.from_estimator(
    ListMLERanker(), X, y, groups, chosen=chosen, max_labels=5
)
plt.show()

# %%
# Which weights differ from 0? A fit without a penalty has confidence intervals,
# computed from the scatter between lists.
fit = ListMLERanker(alpha=0).fit(X, y, groups)
CoefficientDisplay.from_estimator(fit, X, y, groups)
plt.show()
