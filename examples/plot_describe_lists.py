"""
What is wrong with my data?
===========================

A score that is too good to be true usually is.
:func:`~skrank.inspection.describe_lists` looks for leaks, copies, ties, scales and more
before anything is fitted.
"""

import matplotlib.pyplot as plt
import numpy as np

from skrank.datasets import make_ranking
from skrank.inspection import ListsDisplay, describe_lists

# %%
# Data with four faults: a feature that was made from the label, another in other units,
# a file sorted by label, and lists that occur twice.
X, y, groups = make_ranking(80, n_features=6, random_state=0)
X[:, 2] = y + 0.01 * X[:, 2]
X[:, 4] *= 1000
order = np.lexsort((-y, groups))
X, y = X[order], y[order]
copied = groups < 5
X = np.vstack((X, X[copied]))
y = np.append(y, y[copied])
groups = np.append(groups, groups[copied] + 1000)
description = describe_lists(X, y, groups)
description

# %%
print(description.to_frame("features")[["label_order", "sd_within"]].round(2))

# %%
ListsDisplay.from_description(description)
plt.show()
