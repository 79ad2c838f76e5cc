"""Time of chains over subsets, and of exact draws of partitions, against np.exp."""

import sys
import time
from functools import partial

import numpy as np
from scipy.special import gammaln
from skrank._kernels.sampling import ordered_partitions
from skrank._kernels.subsets_enumerated import enumerate_stages
from yardstick import report

from skrank import Lists
from skrank.losses import PMOP
from skrank.losses._samplers import PartitionSampler, Streams, size_weights

N_ROWS = 120_000
LENGTHS = [10, 24, 100, 500]
SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]  # of the labels 0 to 4
MOST = 30  # times np.exp a move
GROWTH = 1.5  # of the time a move, from the shortest lists to the longest
ENUMERATED = 12


def best_times(functions, repeats):
    """Return least seconds, all functions taking turns so that noise is shared."""
    times = np.empty((repeats + 1, len(functions)))
    for turn in times:
        for number, function in enumerate(functions):
            start = time.perf_counter()
            function()
            turn[number] = time.perf_counter() - start
    return times[1:].min(axis=0)


def n_moves(levels, lists):
    """Return the moves of a sweep: the rows left at each stage with more than one."""
    left = np.repeat(lists.offsets[1:], levels.n_levels) - levels.starts[:-1]
    return left[left > 1].sum()


def rows(repeats=7):
    """Return (name, times one np.exp, at most) of each measurement, on one thread.

    Chains are timed a move, exact draws a row, enumeration a list.
    """
    rng = np.random.default_rng(0)
    x, out = rng.standard_normal(N_ROWS), np.empty(N_ROWS)
    names, functions, counts, targets = (
        ["np.exp"],
        [partial(np.exp, x, out)],
        [x.size],
        [],
    )
    for length in LENGTHS:
        lists = Lists(np.full(N_ROWS // length, length))
        scores = rng.standard_normal(lists.n_rows)
        y = rng.choice(len(SHARES), size=lists.n_rows, p=SHARES)
        prepared = PMOP("geometric").prepare(y.astype(float), lists)
        for rule in ("gibbs", "metropolis"):
            draw = PartitionSampler(rule).draw
            functions.append(partial(draw, scores, prepared, lists, Streams(0, 0)))
            names.append(f"{rule}, a move, lists of {length}")
            counts.append(n_moves(prepared.partitions.levels, lists))
            targets.append(MOST)
    for length in LENGTHS:
        for arithmetic in (False, True):
            part = Lists(np.full(max(2000 // length**2, 1), length))
            functions.append(
                partial(
                    ordered_partitions,
                    rng.standard_normal(part.n_rows),
                    part.offsets,
                    size_weights(length),
                    gammaln(np.arange(length + 1) + 1.0),
                    arithmetic,
                    20,
                    0,
                    0,
                )
            )
            mean = "arithmetic" if arithmetic else "geometric"
            names.append(f"exact draws, {mean}, a row, lists of {length}")
            counts.append(20 * part.n_rows)
            targets.append(None)
    functions.append(
        partial(
            enumerate_stages,
            rng.standard_normal(ENUMERATED),
            np.array([0]),
            np.array([ENUMERATED]),
            size_weights(ENUMERATED),
            False,
        )
    )
    names.append(f"enumeration, a list of {ENUMERATED}")
    counts.append(1)
    targets.append(None)
    times = best_times(functions, repeats) / counts * 1e9
    measured = [
        (f"{name}, {taken:.1f} ns", float(taken / times[0]), target)
        for name, taken, target in zip(names, times, [None, *targets], strict=True)
    ]
    taken = dict(zip(names, times, strict=True))
    for rule in ("gibbs", "metropolis"):
        short, *_, long = (taken[f"{rule}, a move, lists of {n}"] for n in LENGTHS)
        measured.append((f"{rule}, longest lists over shortest", long / short, GROWTH))
    return measured


if __name__ == "__main__":
    sys.exit(report(rows()))
