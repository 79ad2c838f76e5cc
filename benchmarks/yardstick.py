"""Times of losses over that of two products with X, in one process and thread."""

import time
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from skrank import Lists
from skrank._objective import LinearObjective

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


def ratios(measured, repeats):
    """Return (name, ratio to the yardstick, target or None) of each measurement.

    The yardstick, one thread: ``X @ w`` then ``X.T @ r``, 300,000 x 136 float64.
    ``measured`` holds (loss, target of the kernel, of the objective, dtype of X).
    """
    rng = np.random.default_rng(0)
    lists = Lists(np.full(N_LISTS, LENGTH))
    X = rng.standard_normal((lists.n_rows, N_FEATURES))
    y = rng.choice(len(SHARES), size=lists.n_rows, p=SHARES).astype(float)
    w = 0.05 * rng.standard_normal(N_FEATURES)
    scores = X @ w
    functions, names, targets = [lambda: X.T @ (X @ w)], [], []
    features = {"float64": X, "float32": X.astype(np.float32)}
    for loss, kernel_target, target, dtype in measured:
        prepared = loss.prepare(y, lists)
        objective = LinearObjective(features[dtype], y, lists, loss, alpha=0.1)
        functions.append(partial(loss.value_and_gradient, scores, prepared, lists))
        functions.append(partial(objective, w))
        names += [f"{loss} kernel", f"{loss} objective, {dtype}"]
        targets += [kernel_target, target]
    with threadpool_limits(1):
        yardstick, *times = median_times(functions, repeats)
    found = [float(taken / yardstick) for taken in times]
    return list(zip(names, found, targets, strict=True))


def report(rows):
    """Print the rows; return whether a target was missed."""
    missed = False
    for name, ratio, target in rows:
        wanted = "" if target is None else f"   at most {target:.2f}"
        print(f"{name:<60} {ratio:5.2f}{wanted}")
        missed |= target is not None and ratio > target
    return missed
