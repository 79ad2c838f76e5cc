"""Stochastic ascent, for likelihoods whose gradient is drawn by Markov chains."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.lists import Floats, Indices
from skrank._fit.blocks import Block
from skrank._fit.lbfgs import Solution
from skrank._fit.objective import LinearObjective
from skrank.losses._samplers import PartitionSampler, Streams

AVERAGED = 0.25  # share of the updates, at the end, whose weights are averaged
# Mean cosine of successive gradients, and the least number of them to judge by. With w
# the distance from the optimum along a direction of curvature h, a draw is g = h w + e
# with noise e of variance v. The step w <- w - (c / h) g takes x = h w to
# (1 - c) x - c e. So x comes to the variance c v / (2 - c), g to 2 v / (2 - c), and
# successive g to the covariance -c v / (2 - c), which is a correlation of -c / 2. At
# c = 1 steps are Newton's; longer ones overshoot.
OVERSHOOT = -0.5
FEWEST_TURNS = 10


class SampledObjective:
    """Draws of the gradient of an objective, in place of its values and gradients.

    The penalty is not part of the draws: :func:`ascend` takes it exactly.

    Parameters
    ----------
    objective : LinearObjective
        Lists, features and penalty, and the loss that prepared the labels.
    sampler : PartitionSampler
        Draws the gradient in the scores from what ``loss.prepare`` returned.
    seed : int
        Seed of all random numbers.
    """

    def __init__(
        self, objective: LinearObjective, sampler: PartitionSampler, seed: int
    ) -> None:
        self.objective, self.sampler, self.seed = objective, sampler, seed

    def draw(self, coef: Floats, step: int) -> Floats:
        """Return a draw of the gradient, without the penalty; equal for equal steps."""

        def of_block(block: Block, scores: Floats, extra: Floats) -> Any:
            streams = Streams(self.seed, step, block.start)
            gradient = self.sampler.draw(scores, block.prepared, block.lists, streams)
            return np.zeros(len(block.lists)), gradient

        return self.objective.data_term(coef, of_block)[1]

    def batches(self, size: int, rng: np.random.RandomState) -> list[_Batch]:
        """Return the lists dealt out at random into batches of about equal number."""
        data = self.objective.data
        weights = data.list_weights()
        weights = weights / weights.max()  # the sum of huge weights overflows
        counted = rng.permutation(np.flatnonzero(weights > 0))
        n_batches = -(-len(counted) // size)
        dealt = np.array_split(counted, n_batches)
        return [
            _Batch(self._part(batch), n_batches * weights[batch].sum() / weights.sum())
            for batch in dealt
        ]

    def _part(self, chosen: Indices) -> SampledObjective:
        """Return the draws over some lists."""
        whole = self.objective
        part = whole.remade(whole.data.part(chosen), whole.loss)
        return SampledObjective(part, self.sampler, self.seed)


class _Batch:
    """Some lists, and the weight of their mean among batches."""

    __slots__ = ("draws", "factor")

    def __init__(self, draws: SampledObjective, factor: float) -> None:
        self.draws, self.factor = draws, factor


def ascend(
    draws: SampledObjective,
    start: Floats,
    *,
    learning_rate: float,
    max_iter: int,
    batch_size: int | None = None,
    max_updates: int | None = None,
    average: float = AVERAGED,
    random_state: np.random.RandomState,
    verbose: int = 0,
    name: str = "skrank",
) -> Solution:
    r"""Maximise a penalised mean log-likelihood by draws of its gradient.

    .. math::

        w \leftarrow \frac{w - \eta\, g(w)}{1 + \eta \alpha}

    with g a draw of the gradient of the mean loss over all lists or over a batch. The
    penalty is taken at the new weights, which is stable for every alpha.

    Parameters
    ----------
    draws : SampledObjective
        Draws gradients; the same for the same number of the update.
    start : ndarray of shape (n_features,)
        Where to start.
    learning_rate : float
        Step length eta. 0.1 suits features of unit variance.
    max_iter : int
        Number of passes over all lists.
    batch_size : int, default=None
        Number of lists of an update. Lists are dealt out at random once; each pass
        takes the batches in a new order. None takes all lists.
    max_updates : int, default=None
        Number of updates after which to stop, in the middle of a pass if need be.
    average : float, default=0.25
        Share of the updates, at the end, whose weights are averaged; 0 takes the last.
    random_state : RandomState
        Deals out and shuffles.
    verbose : int, default=0
        Print a line every ``verbose`` passes, where positive.
    name : str, default="skrank"
        Name of the method, for messages.

    Returns
    -------
    solution : Solution
        Mean of the weights over the last updates; NaN for the objective, which is not
        evaluated; the number of passes, the last one begun included; a problem if
        gradients that follow each other point in opposite directions.

    Raises
    ------
    ValueError
        If a gradient is not finite.

    """
    objective = draws.objective
    alpha = objective.alpha
    batches = [_Batch(draws, 1.0)]
    if batch_size is not None and batch_size < len(objective.data.lists):
        batches = draws.batches(batch_size, random_state)
    n_updates = max_iter * len(batches)
    if max_updates is not None:
        n_updates = min(n_updates, max_updates)
        max_iter = -(-n_updates // len(batches))
    n_averaged = max(int(average * n_updates), 1)
    # The penalty is applied by a proximal step, which is stable for any alpha.
    shrink = 1.0 / (1.0 + learning_rate * alpha)
    coef, mean = start.copy(), np.zeros(len(start))
    before, turns, update = np.zeros(len(start)), 0.0, 0
    with objective.running():
        for batch in batches:
            batch.draws.objective.share_threads(objective)
        for number in range(1, max_iter + 1):
            size = 0.0
            for place in random_state.permutation(len(batches))[: n_updates - update]:
                batch = batches[place]
                gradient = batch.factor * batch.draws.draw(coef, update)
                slope = gradient + alpha * coef
                # The draw is a gradient of the loss, so descend.
                coef = shrink * (coef - learning_rate * gradient)
                update += 1
                length = float(np.linalg.norm(slope))
                size += length / len(batches)
                direction = slope / length if length > 0.0 else slope
                if update > n_updates - n_averaged:
                    # The mean of the last weights has much less noise than the last
                    # ones alone.
                    mean += coef / n_averaged
                    turns += float(before @ direction) / n_averaged
                before = direction
            if not np.isfinite(size):
                raise ValueError(
                    f"The gradient of {name} is not finite in pass {number}. X holds "
                    "values so large that sums over them overflow; scale X, for "
                    "example with StandardScaler."
                )
            if verbose > 0 and number % verbose == 0:
                print(
                    f"[{name}] pass {number}: gradient {size:.3g}, "
                    f"weights {np.linalg.norm(coef):.6g}"
                )
    overshoots = n_averaged >= FEWEST_TURNS and turns < OVERSHOOT
    problem = _overshooting(name, learning_rate) if overshoots else None
    return Solution(mean, np.nan, max_iter, problem)


def _overshooting(name: str, learning_rate: float) -> str:
    return (
        f"{name}: steps overshoot, since gradients that follow each other point in "
        f"opposite directions. Lower learning_rate (now {learning_rate:g}) or "
        "scale X, for example with StandardScaler."
    )
