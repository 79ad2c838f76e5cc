"""Warnings of a fit: useless data, solvers that stop early, weights without limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skrank._data.checks import listing
from skrank._data.lists import Floats, Lists
from skrank._data.warnings import in_cross_validation, warn
from skrank._fit.curvature import curvature
from skrank._fit.data import FitData
from skrank._fit.derivatives import score_range
from skrank._fit.lbfgs import LAST_DIGITS, Solution
from skrank._fit.objective import LinearObjective
from skrank.losses import Loss
from skrank.metrics import pairwise_accuracy_score

# Products of smaller numbers lose digits, then all of them. If a penalty keeps weights
# at about gradient / alpha, scores are about spread^2 / alpha.
SMALLEST_SCORE = np.finfo(np.float64).tiny / np.finfo(np.float64).eps

FEW_FEATURES = 50  # for so few, second derivatives cost less than the fit
LARGEST_BLOCK_BYTES = 2**24  # as float64; second derivatives hold copies of a block
LARGE_SCORE = 3.0  # range inside a list; weights without limit give larger ones
FAR_OUT = 20.0  # beyond all margins, where logistic slopes are still above rounding
# A fit with fewer iterations and a smaller share of decrease has ended too soon.
FEW_ITERATIONS, LITTLE = 4, 0.02
LARGE_RATIO = 1e6  # of ranges of features
STEEP = 100.0  # ratio of slopes at zero weights above which all of X is looked at
FALLS = 1e-2  # share of the objective by which changed scores should lower it
INVOLVED = 1e-2  # share of the largest part in a direction


def warn_of_data(name: str, data: FitData) -> None:
    """Warn of lists and features that cannot rank.

    Parameters
    ----------
    name : str
        Name of the method, for the warning.
    data : FitData
        The data, with its constant features.
    """
    constant = data.constant
    assert constant is not None
    if data.lists.sizes.max() == 1:
        warn(
            f"{name}: no list has two rows, so there is nothing to rank and "
            "all weights stay 0. Check groups.",
        )
    # Inside a search, warn about constant features only in the final refit.
    elif constant.any() and (constant.all() or not in_cross_validation()):
        warn(
            f"{name}: {int(constant.sum())} of {len(constant)} features are "
            "constant inside every list, so they cannot rank: their weights "
            f"are 0. The first is column {int(np.argmax(constant))}.",
        )


def warn_of_cost(name: str, data: FitData, loss: Loss) -> None:
    """Warn before a fit that takes long or needs much memory."""
    cost = loss.why_slow(data.y, data.lists)
    if cost is not None:
        warn(f"{name}: {cost}")


def warn_of_solution(name: str, objective: LinearObjective, solution: Solution) -> None:
    """Warn if the solver stopped early, or if numbers underflow."""
    if solution.problem is not None:
        warn(solution.problem, ConvergenceWarning)
    loss = objective.loss
    extra = solution.parameters[objective.n_features :]
    if np.any(np.abs(extra) >= loss.extra_limit):
        warn(f"{name}: {loss.at_limit(extra)}")
    if np.max(objective.spread()) < np.sqrt(SMALLEST_SCORE * objective.ridge):
        warn(
            f"{name}: X is so small beside alpha={objective.alpha:g} that scores "
            "underflow and rank no more. Scale X, for example with StandardScaler."
        )
    warn_if_stuck(name, objective, solution)
    lists, y = objective.data.lists, objective.data.y
    if (
        lists.sizes.max() > 1
        and np.array_equal(lists.max(y), lists.min(y))
        # At a limit there has been a warning already.
        and not np.any(np.abs(extra) >= loss.extra_limit)
    ):
        warn(
            f"{name}: all rows of each list are tied, so there is no order to "
            "learn. Check y."
        )


def warn_if_stuck(name: str, objective: LinearObjective, solution: Solution) -> None:
    """Warn if features of very different size kept the solver from moving.

    Any step along the largest feature is too long then, and steps along the others are
    below rounding. So the solver ends where it began, and reports success.
    """
    start = solution.value_at_zero
    # The check costs some evaluations, so it is made only after a short fit.
    is_short = solution.n_iter <= FEW_ITERATIONS and (
        start - solution.value <= LITTLE * abs(start)
    )
    ranges = objective.sampled_ranges()
    if is_short and not _are_alike(objective, ranges):
        ranges = objective.ranges(sampled=False)
    known = (ranges > 0) & np.isfinite(ranges)
    if np.isnan(start) or not known.any():
        return
    ratio = float(np.max(ranges) / np.median(ranges[known]))
    if solution.value <= start + LAST_DIGITS * abs(start):
        if ratio < LARGE_RATIO:
            return
        gradient = objective(solution.parameters)[1]
        if not objective.is_smooth:
            gradient = objective.terms().subgradient(solution.parameters, gradient)
        gradient = gradient[: objective.n_features]
        # Decrease of the objective, to first order, if scores change by 1.
        falls = np.abs(gradient[known]) / ranges[known]
        if np.max(falls) < FALLS * abs(start):
            return
    warn(
        f"{name}: the fit has learned little or nothing, since features differ too "
        f"much in size: inside lists column {int(np.argmax(ranges))} reaches "
        f"{ratio:.2g} times as far as the median feature. Replace placeholders such as "
        "1e300, and scale X, for example with StandardScaler.",
        ConvergenceWarning,
    )


def _are_alike(objective: LinearObjective, ranges: Floats) -> bool:
    """Return whether no feature reaches so far that the fit had to end too soon.

    Such a feature is far steeper at zero weights than the others, in units of the
    sampled ranges. If one is, extremes of X tell: a list's range of a feature is at
    most that of all values of a block.
    """
    known = ranges > 0
    if not known.any():
        return False
    zero = objective.shared.get("zero")
    if zero is not None:
        with np.errstate(over="ignore"):
            slopes = np.abs(zero.gradient[: objective.n_features]) / objective.spread()
        if np.max(slopes) <= STEEP * np.median(slopes):
            return True
    usual = float(np.median(ranges[known])) / objective.n_sampled_blocks
    return objective.largest_range() < LARGE_RATIO * usual


def is_separated(objective: LinearObjective, solution: Solution) -> bool:
    """Return whether all pairs are in order and larger weights lower the objective."""
    p = objective.n_features
    coef, extra = solution.parameters[:p], solution.parameters[p:]
    growth = objective.unbounded(coef)
    if not growth.any():
        return False
    value, gradient = objective(np.concatenate((coef + growth, extra)))
    # Some losses have finite optima: beyond them the value rises or has slope 0.
    rises = value > solution.value + 1e-12 * abs(solution.value)
    if rises or not gradient.any():
        return False
    lists, y = objective.data.lists, objective.data.y
    if not np.any(lists.max(y) > lists.min(y)):
        return False
    return all_in_order(objective, growth)


@singledispatch
def all_in_order(objective: LinearObjective, coef: Floats) -> bool:
    """Return whether some weights put every pair of rows in order.

    Without the offset, beside which weights may grow without end.
    """
    data = replace(objective.data, offset=None)
    of_list = data.lists.expand(np.arange(data.lists.n_lists))
    return pairwise_accuracy_score(data.y, data.scores(coef), of_list) == 1.0


def receding_direction(
    objective: LinearObjective, solution: Solution, names: list[str]
) -> str | None:
    """Return a direction in which the objective falls for ever, or None.

    Second derivatives cost one iteration for each feature, and some copies of the
    largest block. So for many features or long lists only ``summary`` makes this check.

    Parameters
    ----------
    objective : LinearObjective
        The objective, without a penalty.
    solution : Solution
        Where the solver ended.
    names : list of str
        Names of all parameters.
    """
    p = objective.n_features
    coef, extra = solution.parameters[:p], solution.parameters[p:]
    n_rows = max(block.stop - block.start for block in objective.blocks)
    if (
        p > max(FEW_FEATURES, solution.n_iter)
        or 8 * n_rows * p > LARGEST_BLOCK_BYTES
        or _is_flat_far_out(objective.loss, extra)
        or score_range(objective, coef) < LARGE_SCORE
    ):
        return None
    free = free_parameters(objective, extra)
    try:
        separating = curvature(objective, solution.parameters, free).separating
    except (ValueError, np.linalg.LinAlgError):  # the check needs second derivatives
        return None
    if separating is None:
        return None
    kept = [name for name, is_free in zip(names, free, strict=True) if is_free]
    return involved(separating, kept)


def warn_of_growth(
    name: str,
    objective: LinearObjective,
    solution: Solution,
    names: Callable[[], list[str]],
) -> None:
    """Warn if without a penalty no finite weights are best.

    ``names`` returns those of all parameters, which takes long where there are many.
    """
    if objective.alpha > 0 or not solution.parameters[: objective.n_features].any():
        return
    if is_separated(objective, solution):
        warn(
            f"{name}: with alpha=0 the fit puts every pair of "
            "rows in order, so no finite weights are best: they grow until the "
            "solver stops. Set alpha above 0."
        )
        return
    # Chains are used where exact sums cost too much; second derivatives would too.
    is_drawn = np.isnan(solution.value)
    direction = None if is_drawn else receding_direction(objective, solution, names())
    if direction is not None:
        warn(
            f"{name}: with alpha=0 the fit improves for ever as "
            f"weights grow along a direction of {direction}, so no finite weights "
            "are best: they grow until the solver stops. Set alpha above 0, or "
            "drop the features that decide the order with certainty."
        )


def free_parameters(objective: LinearObjective, extra: Floats) -> np.ndarray:
    """Return which parameters are free: weights, and others that are at no limit."""
    prepared = [block.prepared for block in objective.blocks]
    determined = objective.loss.estimated(extra, prepared)
    return np.concatenate((np.ones(objective.n_features, dtype=bool), determined))


def involved(parts: Floats, names: list[str]) -> str:
    """Return the names of the largest parts of a direction as text."""
    order = np.argsort(-parts, kind="stable")
    return listing([names[j] for j in order if parts[j] > INVOLVED])


def _is_flat_far_out(loss: Loss, extra: Floats) -> bool:
    """Return whether the loss of pairs far in order is constant, as with hinges."""
    pair, order = Lists([2]), np.array([1.0, 0.0])
    prepared = loss.prepare(loss.check_labels(order, pair), pair)
    slope = loss.value_and_gradient(FAR_OUT * order, prepared, pair, extra)[1]
    return not np.any(slope)
