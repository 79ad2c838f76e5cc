"""
What do ties do to a fit?
=========================

Graded labels tie most rows of a list. If tied rows count in the order of the file, the
ranker learns that order. The exact sum over their orders ("marginal") finds the weights
that drew the data. Efron's approximation ranks as well and is fast.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skrank import DavidsonLuceRanker, ListMLERanker, PMOPRanker
from skrank.datasets import make_ranking
from skrank.inspection import ListsDisplay

X, y, groups, coef = make_ranking(
    400, list_size=10, n_features=5, n_informative=5, return_coef=True, random_state=0
)
ListsDisplay.from_data(y, groups)
plt.show()

# %%
# Most rows of a list tie. The labels were drawn from scores ``X @ coef / 0.5``, so a
# fit of the same model should find these weights.
rankers = {
    "marginal": ListMLERanker("marginal", alpha=1e-4),
    "efron": ListMLERanker("efron", alpha=1e-4),
    "breslow": ListMLERanker("breslow", alpha=1e-4),
    "file order": ListMLERanker("order", alpha=1e-4),
    "PMOP": PMOPRanker(alpha=1e-4),
    "Davidson-Luce": DavidsonLuceRanker(alpha=1e-4),
}
lengths, angles = {}, {}
for name, ranker in rankers.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "order" warns that it learns the file
        found = ranker.fit(X, y, groups).coef_
    lengths[name] = np.linalg.norm(found) / np.linalg.norm(coef / 0.5)
    angles[name] = found @ coef / np.linalg.norm(found) / np.linalg.norm(coef)
    print(f"{name:14} length {lengths[name]:.2f}, cosine {angles[name]:.4f}")

# %%
# All find the direction, so all give the same rankings. Only "marginal" has the right
# length, which matters for probabilities. PMOP and Davidson-Luce are other models,
# whose weights have other units.
figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
axes.barh(list(lengths), list(lengths.values()), color="#0072b2")
axes.axvline(1.0, color="#d55e00")
axes.invert_yaxis()
axes.set_xlabel("length of the weights over that of the weights that drew the data")
plt.show()
