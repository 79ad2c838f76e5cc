"""Trial fits to some lists, which show whether a fit to all would take too long."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from skrank._data.grouping import group_rows

SAMPLE = 50  # lists of the first trial fit
GROWTH = 4  # factor of lists from one trial fit to the next
ENOUGH = 1 / 20  # share of the budget that a trial must take to be believed


def too_slow(
    seconds_of_fit: Callable[[Any], float],
    train: Any,
    budget: float,
    n_fits: int,
    random_state: int,
) -> str | None:
    """Return why a ranker is expected to exceed the budget, or None.

    Fits some whole lists and multiplies by the ratio of rows or of pairs, whichever is
    larger. A trial beyond the budget is repeated, on more lists if it was short.
    """
    if not np.isfinite(budget):
        return None
    grouping = group_rows(train.groups)
    sizes = grouping.lists.sizes.astype(np.float64)
    n_lists = len(sizes)
    of_row = grouping.list_of_rows()
    order = np.random.RandomState(random_state).permutation(n_lists)
    n_sample = min(SAMPLE, -(-n_lists // 10))
    while n_sample < n_lists:
        chosen = np.zeros(n_lists, dtype=bool)
        chosen[order[:n_sample]] = True
        part = sizes[chosen]
        factor = sizes.sum() / part.sum()
        if (part > 1).any():
            factor = max(
                factor, (sizes * (sizes - 1)).sum() / (part * (part - 1)).sum()
            )
        part_of_train = train.take(chosen[of_row])
        problem, fastest = None, np.inf
        for _ in range(2):  # a first fit may include work that is done once
            start = time.perf_counter()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    seconds = seconds_of_fit(part_of_train)
            except Exception:
                # Some rankers need more lists than these. If the failed fit was fast
                # enough, the fit to all rows will show what happens.
                seconds = time.perf_counter() - start
            fastest = min(fastest, seconds)
            problem = over_budget(
                f"a fit to {n_sample} of {n_lists} lists",
                fastest,
                fastest * factor * n_fits,
                budget,
            )
            if problem is None:
                return None
        if fastest >= budget * ENOUGH:
            return problem
        n_sample *= GROWTH
    return None


def over_budget(
    trial: str, seconds: float, expected: float, budget: float
) -> str | None:
    """Return a text if all fits would exceed the budget, else None."""
    if expected <= budget:
        return None
    return (
        f"skipped: {trial} took {seconds:.3g} s, so the row could take up to about "
        f"{expected:.3g} s, over the budget of {budget:g} s"
    )
