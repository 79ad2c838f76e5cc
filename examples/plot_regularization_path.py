"""
What does the penalty do?
=========================

``alpha`` pulls weights towards 0: features without use first. Times the number of lists
it is the precision of the prior whose mode the fit is.
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
# Choose alpha by whole lists, then look at the path around it.
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
# Which weights differ from 0? Without a penalty there are intervals for that, from the
# spread between lists.
fit = ListMLERanker(alpha=0).fit(X, y, groups)
CoefficientDisplay.from_estimator(fit, X, y, groups)
plt.show()
