"""
Why is A above B?
=================

The score of a linear ranker is a sum over features, so each feature's part is exact.
Only differences inside a list matter: :func:`~skrank.inspection.explain_scores` takes
the mean of the list as the origin, and ``why`` compares two rows.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import ListMLERanker
from skrank.datasets import load_mode_choice
from skrank.inspection import ContributionDisplay, explain_scores

travel, chosen, traveller = load_mode_choice(as_frame=True)
X = pd.get_dummies(travel["mode"], dtype=float).drop(columns="car")
X["waiting time"] = travel["ttme"]
X["cost"] = travel["gc"]
X["income, if air"] = travel["hinc"] * X["air"]
X.index = travel["mode"].astype(str) + " of " + traveller.astype(str)
model = make_pipeline(StandardScaler(), ListMLERanker(alpha=0.001))
model = model.fit(X, chosen, listmleranker__groups=traveller)

# %%
# The contribution of each feature for traveller 7, relative to the mean of the four
# modes.
ContributionDisplay.from_estimator(model, X, traveller, list_label=7)
plt.show()

# %%
# The same in numbers, with the labels of the rows kept.
explanation = explain_scores(model, X, traveller)
print(explanation.of_list(7).to_frame().round(2).T)

# %%
# Compare two modes.
best, second = explanation.of_list(7).rows[:2]
pair = explanation.why(best, second)
print(pair)
ContributionDisplay.from_pair(pair)
plt.show()
