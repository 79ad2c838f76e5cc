"""Time of the pairwise kernel and objective over that of two products with X."""

import sys
import time
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from skrank import Lists
from skrank._objective import LinearObjective
from skrank.losses import RankNet

N_LISTS, LENGTH, N_FEATURES = 3000, 100, 136
SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]  # of the labels 0 to 4


def median_time(function, repeats=9):
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:]))


def rows(repeats=9):
    """Return (name, ratio to the yardstick, target or None) of each measurement.

    The yardstick, one thread: ``X @ w`` then ``X.T @ r``, 300,000 x 136 float64.
    """
    rng = np.random.default_rng(0)
    lists = Lists(np.full(N_LISTS, LENGTH))
    X = rng.standard_normal((lists.n_rows, N_FEATURES))
    y = rng.choice(len(SHARES), size=lists.n_rows, p=SHARES).astype(float)
    w = 0.05 * rng.standard_normal(N_FEATURES)
    scores = X @ w

    def products():
        return X.T @ (X @ w)

    found = []
    with threadpool_limits(1):
        yardstick = median_time(products, repeats)
        for loss, target in [(RankNet(), 1.2), (RankNet("gain"), None)]:
            prepared = loss.prepare(y, lists)
            objective = LinearObjective(X, y, lists, loss, alpha=0.1)
            kernel = partial(loss.value_and_gradient, scores, prepared, lists)
            for name, function, limit in [
                ("kernel", kernel, 0.4),
                ("objective", partial(objective, w), target),
            ]:
                ratio = median_time(function, repeats) / yardstick
                found.append((f"{loss} {name}", ratio, limit))
    return found


if __name__ == "__main__":
    missed = False
    for name, ratio, target in rows():
        wanted = "" if target is None else f"   at most {target}"
        print(f"{name:<36} {ratio:6.2f}{wanted}")
        missed |= target is not None and ratio > target
    sys.exit(missed)
