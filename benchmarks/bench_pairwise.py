"""Time of pairwise kernels and objectives over that of two products with X."""

import sys
import time

import numpy as np
from yardstick import ratios, report, row_weights

from skrank import Lists
from skrank.losses import Davidson, RankNet, RankRegression, RankSVM, RaoKupper

MEASURED = [  # kernel and objective over the yardstick; growth with length
    (RankNet(), 0.4, 1.2, 2.3),
    (RankNet("gain"), None, None, 2.3),
    (RankSVM(), None, 1.2, 1.2),
    (RankSVM("linear"), None, 1.2, 1.2),
    (RankRegression(), None, 0.9, 1.2),
    (RankRegression("labels"), None, 0.9, 1.2),
    (RaoKupper(), None, 1.6, 2.3),
    (Davidson(), None, 1.6, 2.3),
]


# Weights of rows cost at most 5 % more than those of lists.
MEASURED_BY_ROWS = [RankNet(), RankNet("gain"), RankSVM(), RankSVM("linear")]

# Lists of different labels alone, of which all pairs count: the time of value and
# gradient over 1.4 ns a pair at 5,000 rows, that of 100,000 rows in seconds, and the
# largest growth with twice the rows from 5,000 on.
LONG_LISTS = [
    (loss, spread)
    for loss in (RankNet(), RankNet("gain"), RaoKupper(), Davidson())
    for spread in (1.0, 3.0, 10.0, 30.0, 100.0)
]
NANOSECONDS_A_PAIR = 1.4


def seconds(loss, n_rows, spread, repeats):
    """Return the median CPU time of a value and gradient in one list."""
    rng = np.random.default_rng(0)
    lists, scores = Lists([n_rows]), spread * rng.standard_normal(n_rows)
    # Labels below 60, so that gains of 2^label are numbers.
    y = rng.permutation(n_rows) * (60.0 / n_rows)
    prepared, extra = loss.prepare(y, lists), np.zeros(1)
    extra_arguments = () if isinstance(loss, RankNet) else (extra,)
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        loss.value_and_gradient(scores, prepared, lists, *extra_arguments)
        times.append(time.process_time() - start)
    return float(np.median(times[1:]))


def long_lists():
    """Return (name, ratio or seconds, target) of lists of very many pairs."""
    measured = []
    for loss, spread in LONG_LISTS:
        sizes = [5000, 10_000, 20_000, 100_000]
        times = [seconds(loss, n, spread, 3 if n > 5000 else 7) for n in sizes]
        pairs = sizes[0] * (sizes[0] - 1) / 2
        name = f"{loss}, scores of deviation {spread:g}"
        ratio = times[0] / (pairs * NANOSECONDS_A_PAIR * 1e-9)
        growth = max(times[i + 1] / times[i] for i in range(2))
        measured.append((f"{name}: 5,000 rows over 1.4 ns a pair", ratio, 0.2))
        measured.append((f"{name}: 100,000 rows, seconds", times[-1], 0.5))
        measured.append((f"{name}: growth, twice the rows", growth, 2.4))
    return measured


def rows(repeats=11):
    """Return (name, ratio, target or None) of each measurement."""
    measured = ratios(MEASURED, repeats) + long_lists()
    return measured + row_weights(MEASURED_BY_ROWS, 2 * repeats)


if __name__ == "__main__":
    sys.exit(report(rows()))
