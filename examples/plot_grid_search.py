"""
How do I search a grid without cutting lists?
=============================================

``cv=5`` and ``train_test_split`` cut lists in two: rows of one query are in both parts,
and the score is too good. Two lines give folds of whole lists, and pass groups to every
step that needs them.
"""

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import ListMLERanker
from skrank.datasets import make_ranking
from skrank.metrics import ndcg_scorer
from skrank.model_selection import QueryKFold

X, y, groups = make_ranking(20, n_features=50, n_informative=5, random_state=0)

# %%
# With metadata routing on, groups that are passed to ``fit`` reach the ranker, the
# scorer and the splitter. (Without routing, ``with_groups(y, groups)`` does it.)
alphas = np.logspace(-3, 3, 13)
with sklearn.config_context(enable_metadata_routing=True):
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ListMLERanker()),
        {"listmleranker__alpha": alphas},
        scoring=ndcg_scorer(k=10),
        cv=QueryKFold(5),
    ).fit(X, y, groups=groups)
print(search.best_params_, f"{search.best_score_:.3f}")

# %%
# The best penalty is in the middle of the grid. If it is at an end, widen the grid.
means = search.cv_results_["mean_test_score"]
errors = search.cv_results_["std_test_score"] / np.sqrt(5)
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.errorbar(alphas, means, yerr=errors, fmt="o-", capsize=3, color="#0072b2")
axes.axvline(search.best_params_["listmleranker__alpha"], color="grey", linestyle=":")
axes.set(xscale="log", xlabel="alpha", ylabel="mean NDCG@10 of 5 folds, standard error")
axes.grid(alpha=0.3)
plt.show()
