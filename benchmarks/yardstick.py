"""Times of losses over that of two products with X, in one process and thread."""

import time
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from skrank import Lists
from skrank._fit.data import FitData
from skrank._fit.objective import LinearObjective

N_LISTS, LENGTH, N_FEATURES = 3000, 100, 136
GROWN = [2 * LENGTH, 4 * LENGTH, 8 * LENGTH]  # of which 300,000 rows are a multiple
SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]  # of the labels 0 to 4


def median_times(functions, repeats, clock=time.perf_counter):
    """Return median seconds, all functions taking turns so that noise is shared."""
    times = np.empty((repeats + 1, len(functions)))
    for turn in times:
        for number, function in enumerate(functions):
            start = clock()
            function()
            turn[number] = clock() - start
    return np.median(times[1:], axis=0)


def evaluations(X, y, length, loss, w):
    """Return functions that evaluate the kernel and the objective once."""
    lists = Lists(np.full(len(y) // length, length))
    objective = LinearObjective(FitData(X, y, lists), loss, alpha=0.1)
    prepared, extra = loss.prepare(y, lists), objective.extra_start
    extra_arguments = (extra,) if len(extra) else ()
    scores = X @ w.astype(X.dtype)
    kernel = partial(
        loss.value_and_gradient,
        scores.astype(np.float64),
        prepared,
        lists,
        *extra_arguments,
    )
    return kernel, partial(objective, np.append(w, extra))


def ratios(measured, repeats, dtype="float64"):
    """Return (name, ratio, target or None) of each measurement, on one thread.

    The yardstick: ``X @ w`` then ``X.T @ r``, 300,000 x 136 float64. Growth: the time
    of the objective with the same rows in lists twice as long, over that before, the
    larger of those from 100 to 200 rows and from 200 to 400. Of the kernel alone, which
    is a small part of it, from 400 to 800.

    Parameters
    ----------
    measured : list of tuple
        Loss, and the targets of its kernel, its objective and its growth, and of its
        kernel's growth if that is another; without these, growth is not measured.
    repeats : int
        Times that each is measured; the median counts.
    dtype : str, default="float64"
        Of the X of the objectives.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_LISTS * LENGTH, N_FEATURES))
    y = rng.choice(len(SHARES), size=len(X), p=SHARES).astype(float)
    w = 0.05 * rng.standard_normal(N_FEATURES)
    features = X.astype(dtype)
    functions = [lambda: X.T @ (X @ w)]
    for loss, _, _, *growth in measured:
        for length in [LENGTH, *(GROWN if growth else [])]:
            functions += evaluations(features, y, length, loss, w)
    with threadpool_limits(1):
        yardstick, *times = median_times(functions, repeats).tolist()
    measured_rows = []
    left = iter(times)
    for loss, kernel_target, target, *growth in measured:
        kernel, objective = next(left), next(left)
        measured_rows.append((f"{loss} kernel", kernel / yardstick, kernel_target))
        measured_rows.append(
            (f"{loss} objective, {dtype}", objective / yardstick, target)
        )
        if growth:
            kernels, objectives = np.reshape([next(left) for _ in 2 * GROWN], (-1, 2)).T
            twice, four_times, _ = objectives
            worst = max(twice / objective, four_times / twice)
            measured_rows.append((f"{loss} growth", worst, growth[0]))
            measured_rows.append(
                (f"{loss} growth, kernel", kernels[-1] / kernels[-2], growth[-1])
            )
    return measured_rows


def row_weights(losses, repeats, lengths=(20, LENGTH)):
    """Return (name, ratio, target) of weights of rows over weights of lists.

    CPU times of the objective, 100,000 x 136 float64, and of its kernel alone; both
    kinds of weights take turns.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, N_FEATURES))
    y = rng.choice(len(SHARES), size=len(X), p=SHARES).astype(float)
    w = 0.05 * rng.standard_normal(N_FEATURES)
    rows = rng.uniform(0.2, 2.0, len(X))
    measured = []
    for loss in losses:
        for length in lengths:
            lists = Lists(np.full(len(X) // length, length))
            means = lists.sum(rows) / length
            shares = rows / lists.expand(means)
            prepared = loss.prepare(y, lists)
            functions = []
            for one in (None, shares):
                data = FitData(X, y, lists, means, shares=one)
                labels = prepared
                if one is not None:
                    labels = loss.weigh_rows(prepared, one, lists)
                functions += [
                    partial(LinearObjective(data, loss, alpha=0.1), w),
                    partial(loss.value_and_gradient, X @ w, labels, lists),
                ]
            with threadpool_limits(1):
                times = median_times(functions, repeats, time.process_time)
            name = f"{loss} weights of rows, lists of {length}"
            measured.append((f"{name}: objective", times[2] / times[0], 1.05))
            measured.append((f"{name}: kernel", times[3] / times[1], None))
    return measured


def report(rows):
    """Print the rows; return whether a target was missed."""
    missed = False
    for name, ratio, target in rows:
        wanted = "" if target is None else f"   at most {target:.2f}"
        print(f"{name:<60} {ratio:5.2f}{wanted}")
        missed |= target is not None and ratio > target
    return missed
