"""Time of the pairwise kernel and objective over that of two products with X."""

import sys
import time
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from skrank import Lists
from skrank._objective import LinearObjective
from skrank.losses import Davidson, RankNet, RankRegression, RankSVM, RaoKupper

N_LISTS, LENGTH, N_FEATURES = 3000, 100, 136
SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]  # of the labels 0 to 4


def median_times(functions, repeats):
    """Return median seconds, all functions taking turns so that noise is shared."""
    times = np.empty((repeats + 1, len(functions)))
    for turn in times:
        for number, function in enumerate(functions):
            start = time.perf_counter()
            function()
            turn[number] = time.perf_counter() - start
    return np.median(times[1:], axis=0)


def rows(repeats=11):
    """Return (name, ratio to the yardstick, target or None) of each measurement.

    The yardstick, one thread: ``X @ w`` then ``X.T @ r``, 300,000 x 136 float64.
    """
    rng = np.random.default_rng(0)
    lists = Lists(np.full(N_LISTS, LENGTH))
    X = rng.standard_normal((lists.n_rows, N_FEATURES))
    y = rng.choice(len(SHARES), size=lists.n_rows, p=SHARES).astype(float)
    w = 0.05 * rng.standard_normal(N_FEATURES)
    scores = X @ w
    functions, names, targets = [lambda: X.T @ (X @ w)], [], []
    for loss, kernel_target, target in [
        (RankNet(), 0.4, 1.2),
        (RankNet("gain"), None, None),
        (RankSVM(), None, 1.2),
        (RankSVM("linear"), None, 1.2),
        (RankRegression(), None, 0.9),
        (RankRegression("labels"), None, 0.9),
        (RaoKupper(), None, 1.6),
        (Davidson(), None, 1.6),
    ]:
        prepared = loss.prepare(y, lists)
        objective = LinearObjective(X, y, lists, loss, alpha=0.1)
        extra = objective.extra_start
        given = (extra,) if len(extra) else ()
        kernel = partial(loss.value_and_gradient, scores, prepared, lists, *given)
        functions += [kernel, partial(objective, np.append(w, extra))]
        names += [f"{loss} kernel", f"{loss} objective"]
        targets += [kernel_target, target]
    with threadpool_limits(1):
        yardstick, *times = median_times(functions, repeats)
    ratios = [float(taken / yardstick) for taken in times]
    return list(zip(names, ratios, targets, strict=True))


if __name__ == "__main__":
    missed = False
    for name, ratio, target in rows():
        wanted = "" if target is None else f"   at most {target}"
        print(f"{name:<40} {ratio:5.2f}{wanted}")
        missed |= target is not None and ratio > target
    sys.exit(missed)
