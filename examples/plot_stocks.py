"""
Which stocks do better tomorrow?
================================

Each day is a list, each stock a row, and its return the label. Movements of the whole
market cancel, since only the order inside a day counts. The ranker learns from the past
and is tested on the future.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from skrank import RankNetRanker, rank_within
from skrank.metrics import bootstrap_interval, pairwise_accuracy_score
from skrank.preprocessing import QueryScaler

# %%
# This is a year of 50 stocks. The market moves all of them, more than the factor that
# works. On bad days people trade more, so turnover distinguishes days, not stocks.
rng = np.random.default_rng(0)
day = np.repeat(np.arange(250), 50)
market = rng.normal(0, 0.02, size=250)[day]
stocks = pd.DataFrame(rng.normal(size=(12_500, 2)), columns=["momentum", "turnover"])
stocks["turnover"] -= 50 * market
noise = rng.standard_t(3, size=12_500) * 0.01
returns = market * rng.normal(1, 0.3, size=12_500) + 0.003 * stocks["momentum"] + noise
past = day < 180

# %%
# The ranker uses ranks of features inside the day. A regression on raw returns, beside
# it, wrongly gives turnover a weight.
scaler = QueryScaler("rank")
scaled = scaler.fit_transform(stocks, groups=day)
ranker = RankNetRanker(alpha=0.01).fit(scaled[past], returns[past], day[past])
ridge = Ridge().fit(stocks[past], returns[past])
scores = {
    "ranknet, ranks by day": ranker.predict(scaled[~past]),
    "ridge, raw returns": ridge.predict(stocks[~past]),
}
for name, column in scores.items():
    by_day = pairwise_accuracy_score(returns[~past], column, day[~past], average=None)
    print(f"{name:24}", bootstrap_interval(by_day, random_state=0))

# %%
# The return of the ten stocks at the top, less that of the ten at the bottom, day by
# day.
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for (name, column), color in zip(scores.items(), ["#0072b2", "#d55e00"], strict=True):
    rank = rank_within(column, day[~past])
    future = pd.DataFrame({"day": day[~past], "return": returns[~past], "rank": rank})
    top = future[rank <= 10].groupby("day")["return"].mean()
    bottom = future[rank > 40].groupby("day")["return"].mean()
    axes.plot(100 * (top - bottom).cumsum(), label=name, color=color)
axes.set(xlabel="day", ylabel="top ten less bottom ten, sum in %")
axes.axhline(0, color="grey", linewidth=1)
axes.legend()
plt.show()
