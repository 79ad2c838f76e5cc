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


LOSSES = [  # kernel and objective, over the yardstick; growth with the length of lists
    (RankNet(), 0.4, 1.2, 2.3),
    (RankNet("gain"), None, None, 2.3),
    (RankSVM(), None, 1.2, 1.2),
    (RankSVM("linear"), None, 1.2, 1.2),
    (RankRegression(), None, 0.9, 1.2),
    (RankRegression("labels"), None, 0.9, 1.2),
    (RaoKupper(), None, 1.6, 2.3),
    (Davidson(), None, 1.6, 2.3),
]


def evaluations(X, y, length, loss, w):
    """Return functions that evaluate the kernel and the objective once."""
    lists = Lists(np.full(len(y) // length, length))
    objective = LinearObjective(X, y, lists, loss, alpha=0.1)
    prepared, extra = loss.prepare(y, lists), objective.extra_start
    given = (extra,) if len(extra) else ()
    kernel = partial(loss.value_and_gradient, X @ w, prepared, lists, *given)
    return kernel, partial(objective, np.append(w, extra))


def rows(repeats=11):
    """Return (name, ratio, target or None) of each measurement, on one thread.

    The yardstick: ``X @ w`` then ``X.T @ r``, 300,000 x 136 float64. Growth: the time
    of the objective with the same rows in lists twice as long, over that before.
    """
    rng = np.random.default_rng(0)
    n_rows = N_LISTS * LENGTH
    X = rng.standard_normal((n_rows, N_FEATURES))
    y = rng.choice(len(SHARES), size=n_rows, p=SHARES).astype(float)
    w = 0.05 * rng.standard_normal(N_FEATURES)
    functions = [lambda: X.T @ (X @ w)]
    for loss, *_ in LOSSES:
        functions += evaluations(X, y, LENGTH, loss, w)
        functions.append(evaluations(X, y, 2 * LENGTH, loss, w)[1])
    with threadpool_limits(1):
        yardstick, *times = median_times(functions, repeats).tolist()
    found = []
    for number, (loss, *targets) in enumerate(LOSSES):
        kernel, objective, longer = times[3 * number : 3 * number + 3]
        ratios = kernel / yardstick, objective / yardstick, longer / objective
        names = f"{loss} kernel", f"{loss} objective", f"{loss} growth"
        found += zip(names, ratios, targets, strict=True)
    return found


if __name__ == "__main__":
    missed = False
    for name, ratio, target in rows():
        wanted = "" if target is None else f"   at most {target}"
        print(f"{name:<46} {ratio:5.2f}{wanted}")
        missed |= target is not None and ratio > target
    sys.exit(missed)
