"""Time the models of ordered partitions against products with X and against sorting."""

import sys
import time
from functools import partial

import numpy as np
from yardstick import median_times, ratios, report

from skrank import Lists
from skrank.losses import PMOP, DavidsonLuce

YAHOO_SHARES = [0.26, 0.36, 0.28, 0.08, 0.02]  # of the labels 0 to 4
YAHOO_LISTS, YAHOO_LENGTH = 20_000, 24
LENGTHS = [5, 10, 25, 50, 100, 200, 500]
CAP = 8


def drawn(n_lists, length, shares, seed=0):
    """Return lists of one length, labels and standard normal scores."""
    rng = np.random.default_rng(seed)
    lists = Lists(np.full(n_lists, length))
    y = rng.choice(len(shares), size=lists.n_rows, p=shares).astype(float)
    return lists, y, rng.standard_normal(lists.n_rows)


def against_sorting(repeats=11):
    """Return (name, ratio, target) with one ``np.lexsort`` as the yardstick.

    20,000 lists of 24 rows, labels 0 to 4: sorted by list and label.
    """
    lists, y, scores = drawn(YAHOO_LISTS, YAHOO_LENGTH, YAHOO_SHARES)
    of_list = lists.expand(np.arange(lists.n_lists))
    functions, names, targets = [lambda: np.lexsort((-y, of_list))], [], []
    for loss, target in [(PMOP("geometric"), 5.0), (DavidsonLuce(), None)]:
        extra = loss.extra_parameters(y, lists)
        extra_arguments = (extra,) if len(extra) else ()
        prepared = loss.prepare(y, lists)
        functions.append(
            partial(loss.value_and_gradient, scores, prepared, lists, *extra_arguments)
        )
        names.append(f"{loss} kernel / lexsort")
        targets.append(target)
    yardstick, *times = median_times(functions, repeats)
    measured = [float(taken / yardstick) for taken in times]
    return list(zip(names, measured, targets, strict=True))


def rows(repeats=11):
    """Return (name, ratio to its yardstick, target or None) of each measurement."""
    return ratios([(PMOP(), None, 0.9)], repeats) + against_sorting(repeats)


def by_length(repeats=3):
    """Yield (length, milliseconds a list) for all sizes, a cap of 8, and far scores.

    Five labels, but with the cap at most 8 rows a label.
    """
    for length in LENGTHS:
        n_lists = 8 * max(1, min(500, 2_000_000 // length**3))
        lists, y, scores = drawn(n_lists, length, [0.2] * 5)
        few = np.tile(np.arange(length) // CAP, n_lists).astype(float)
        times = []
        for loss, labels, s in [
            (PMOP("geometric"), y, scores),
            (PMOP("geometric", max_tie_size=CAP), few, scores),
            (PMOP("geometric"), y, 1000.0 * scores),
        ]:
            prepared = loss.prepare(labels, lists)
            best = np.inf
            for _ in range(repeats):
                start = time.perf_counter()
                loss.value_and_gradient(s, prepared, lists)
                best = min(best, time.perf_counter() - start)
            times.append(1e3 * best / n_lists)
        yield length, *times


if __name__ == "__main__":
    missed = report(rows())
    print("\ngeometric, value and gradient, milliseconds a list")
    print(f"{'rows':>6}{'all sizes':>12}{f'at most {CAP}':>12}{'far apart':>12}")
    for length, *times in by_length():
        print(f"{length:>6}" + "".join(f"{taken:>12.4f}" for taken in times))
    sys.exit(missed)
