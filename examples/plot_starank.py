"""
Arrange a set instead of scoring its rows
=========================================

In these lists a row loses most of its appeal right behind a row of the same topic. The
best place of a row then depends on the rows above it, and no score of single rows gives
the best arrangements. :class:`~skrank.neural.STARanker` places one
row after the other; :class:`~skrank.neural.MLPRanker` has the same encoders of the
history and of the set, but gives scores.
"""

import matplotlib.pyplot as plt

from skrank import ListMLERanker
from skrank.neural import MLPRanker, STARanker, make_browsing

# %%
# Labels sort each list into the arrangement from which most clicks are expected.
# Histories and profiles come by list.
train, test = (make_browsing(n_lists=200, random_state=seed) for seed in (0, 1))
of_lists = {"history": train.history, "profile": train.profile}
seen = {"groups": test.groups, "history": test.history, "profile": test.profile}
train.history, train.X.shape

# %%
# Three rankers learn the same arrangements.
linear = ListMLERanker(alpha=0.01).fit(train.X, train.y, train.groups)
options = {"max_epochs": 40, "learning_rate": 0.003, "random_state": 0}
scorer = MLPRanker(**options).fit(train.X, train.y, train.groups, **of_lists)
arranger = STARanker(**options).fit(train.X, train.y, train.groups, **of_lists)

# %%
# The result is the number of clicks as a share of the clicks in the best arrangement.
# Even the true appeal of each row for each user, used as a score, gains fewer clicks
# than an arrangement.
best = test.worth(test.y)
shares = {
    "true appeal": test.worth(test.appeal) / best,
    "ListMLERanker": test.worth(linear.predict(test.X)) / best,
    "MLPRanker": test.worth(scorer.predict(test.X, **seen)) / best,
    "STARanker": test.worth(arranger.predict(test.X, **seen)) / best,
}
for name, share in shares.items():
    print(f"{name:15}{share:.3f}")

figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
axes.plot(list(shares.values()), list(shares), "o")
axes.set(xlim=(0.7, 1.0), xlabel="expected clicks over those of the best arrangement")
axes.margins(y=0.2)
axes.grid(axis="x", alpha=0.3)
plt.show()
