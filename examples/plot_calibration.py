"""
Do the probabilities come true?
===============================

A ranker may rank well and give probabilities that are much too extreme.
:class:`~skrank.inspection.RankCalibrationDisplay` compares predicted probabilities, of
pairs or of the first place, with observed shares, on lists that were not in the fit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold, cross_val_predict

from skrank import ListMLERanker, with_groups
from skrank.datasets import load_mode_choice
from skrank.inspection import RankCalibrationDisplay

X, y, groups = load_mode_choice()
scores = cross_val_predict(
    ListMLERanker(alpha=0), X, with_groups(y, groups), groups=groups, cv=GroupKFold(10)
)

# %%
# 210 choices are predicted, each by a fit to nine tenths of the others. Bands come from
# drawing whole lists, since pairs of one list depend on each other.
figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
RankCalibrationDisplay.from_predictions(
    y, scores, groups, kind="first", n_bins=6, ax=axes[0]
)
RankCalibrationDisplay.from_predictions(y, scores, groups, n_bins=6, ax=axes[1])
plt.show()

# %%
# Scores three times as large give the same ranking, but probabilities that are too
# extreme.
RankCalibrationDisplay.from_predictions(y, 3 * scores, groups, kind="first", n_bins=6)
sure = np.exp(3 * scores.reshape(210, 4))
sure /= sure.sum(axis=1, keepdims=True)
best = sure.argmax(axis=1)
right = y.reshape(210, 4)[np.arange(210), best].mean()
print(f"mean promise {sure.max(axis=1).mean():.2f}, right in {right:.2f}")
plt.show()
