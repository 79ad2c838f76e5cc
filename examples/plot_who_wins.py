"""
Who wins, and with what probability?
====================================

The Plackett-Luce model picks the winner with probability proportional to the
exponential of the score, then the second among the remaining rows, and so on.
:class:`~skrank.inspection.StageProbaDisplay` draws it stage by stage.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skrank import ListMLERanker
from skrank.inspection import StageProbaDisplay

# %%
# 150 races of 8 runners, and one more. Finishing times follow strength and luck.
rng = np.random.default_rng(1)
names = ["Ada", "Bo", "Cleo", "Dot", "Eli", "Fay", "Gus", "Hal"]
runners = pd.DataFrame(rng.normal(size=(8 * 151, 2)), columns=["speed", "age"])
runners.index = names * 151
race = np.repeat(np.arange(151), 8)
strength = runners["speed"] - 0.5 * runners["age"]
result = strength + rng.gumbel(size=len(race))  # larger is better

past = race < 150
ranker = ListMLERanker(alpha=0).fit(runners[past], result[past], race[past])

# %%
# The race of tomorrow: who wins, and who is among the first three?
tomorrow, its_race = runners[~past], race[~past]
card = tomorrow.round(2).assign(
    rank=ranker.predict_rank(tomorrow, its_race),
    win=ranker.top_k_proba(tomorrow, its_race, 1).probability.round(3),
    first_three=ranker.top_k_proba(tomorrow, its_race, 3).probability.round(3),
)
print(card.sort_values("rank"))

# %%
# The actual race, stage by stage: each picked row is highlighted, and then leaves.
StageProbaDisplay.from_estimator(ranker, tomorrow, result[~past], its_race)
plt.show()
