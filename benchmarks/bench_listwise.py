"""Time of listwise kernels and objectives over that of two products with X."""

import sys
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits
from yardstick import (
    LENGTH,
    N_FEATURES,
    N_LISTS,
    SHARES,
    median_times,
    ratios,
    report,
    row_weights,
)

from skrank import Lists
from skrank._fit.data import FitData
from skrank._fit.objective import LinearObjective
from skrank.losses import ListMLE, ListNet, RankNet

MEASURED = [  # kernel and objective over the yardstick; growth with length
    (ListMLE("order"), None, 0.9, 1.2),
    (ListMLE("breslow"), None, 0.9, 1.2),
    (ListMLE("efron"), None, 0.9, 1.2),
    (ListNet(), None, 0.9, 1.2),
    (ListMLE("order", stage_weights="position"), None, 0.9, 1.2),
    (ListMLE("efron", stage_weights="gain"), None, 0.9, 1.2),
    (ListMLE("breslow", stage_weights="discount"), None, 0.9, 1.2),
    (ListMLE("marginal"), None, None, 1.2, None),
]


# Weights of rows cost at most 5 % more than those of lists.
MEASURED_BY_ROWS = [
    ListMLE("efron"),
    ListMLE("breslow"),
    ListMLE("order"),
    ListMLE("efron", stage_weights="gain"),
    ListMLE("marginal"),
    ListNet(),
]


def rows(repeats=11):
    """Return (name, ratio, target or None) of each measurement.

    Then float32 features, whose kernel's share comes on top of 0.8, and the marginal
    kernel as a multiple of Efron's.
    """
    measured = ratios(MEASURED, repeats)
    share = {name: ratio for name, ratio, _ in measured}
    efron = share[f"{ListMLE('efron')} kernel"]
    marginal = share[f"{ListMLE('marginal')} kernel"]
    single = ratios([(ListMLE("efron"), None, 0.8 + efron)], repeats, "float32")
    measured.append(single[1])
    measured.append(("marginal kernel over Efron's", marginal / efron, 30.0))
    return measured + threads(repeats) + row_weights(MEASURED_BY_ROWS, 2 * repeats)


def threads(repeats):
    """Return the time of one thread over that of two; at least 1.6 is asked.

    As the share of 1 / 1.6 that two threads take, so that less is better here too.
    """
    rng = np.random.default_rng(0)
    lists = Lists(np.full(N_LISTS, LENGTH))
    X = rng.standard_normal((lists.n_rows, N_FEATURES))
    y = rng.choice(len(SHARES), size=lists.n_rows, p=SHARES).astype(float)
    w = 0.05 * rng.standard_normal(N_FEATURES)
    measured = []
    for loss in (ListMLE("efron"), ListNet(), RankNet()):
        one, two = (
            LinearObjective(FitData(X, y, lists), loss, alpha=0.1, n_jobs=n)
            for n in (1, 2)
        )
        with threadpool_limits(1), two.running():
            times = median_times([partial(one, w), partial(two, w)], 2 * repeats)
        measured.append((f"{loss} two threads", times[1] / times[0], 1 / 1.6))
    return measured


if __name__ == "__main__":
    sys.exit(report(rows()))
