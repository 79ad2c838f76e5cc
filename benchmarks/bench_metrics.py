"""Time the metrics against one sort of the same rows, in one process and thread.

The yardstick is ``np.lexsort((-scores, groups))`` on 10,000 lists of 100 rows.
"""

import time

import numpy as np

from skrank.metrics import (
    dcg_score,
    err_score,
    ndcg_score,
    pairwise_accuracy_score,
)

SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]


def fastest(function, repeats=7):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def rows(n_lists=10_000, n_rows=100):
    """Return (name, ratio to the yardstick, target or None)."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_lists), n_rows)
    y = rng.choice(5, len(groups), p=SHARES)
    scores = rng.normal(size=len(groups))
    tied = np.round(scores, 1)
    shuffled = rng.permutation(len(groups))
    apart = y[shuffled], scores[shuffled], groups[shuffled]
    cases = [
        ("ndcg_score(k=10)", 0.3, lambda: ndcg_score(y, scores, groups, k=10)),
        ("ndcg_score(k=10), tied", 0.3, lambda: ndcg_score(y, tied, groups, k=10)),
        (
            "ndcg_score(k=10), constant scores",
            0.3,
            lambda: ndcg_score(y, 0 * tied, groups, k=10),
        ),
        (
            "ndcg_score(k=10), real labels",
            0.3,
            lambda: ndcg_score(y / 3, scores, groups, k=10),
        ),
        ("ndcg_score()", None, lambda: ndcg_score(y, scores, groups)),
        ("ndcg_score(k=10), shuffled rows", None, lambda: ndcg_score(*apart, k=10)),
        ("dcg_score(k=10)", None, lambda: dcg_score(y, scores, groups, k=10)),
        ("err_score(k=10)", None, lambda: err_score(y, scores, groups, k=10)),
        ("err_score()", None, lambda: err_score(y, scores, groups)),
        (
            "pairwise_accuracy_score()",
            None,
            lambda: pairwise_accuracy_score(y, scores, groups),
        ),
    ]
    yardstick = fastest(lambda: np.lexsort((-scores, groups)))
    return [(name, fastest(run) / yardstick, target) for name, target, run in cases]


if __name__ == "__main__":
    for name, ratio, target in rows():
        print(f"{name:36} {ratio:6.3f}  {'' if target is None else f'<= {target}'}")
