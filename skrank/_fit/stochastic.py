"""Stochastic ascent, for likelihoods whose gradient is drawn by Markov chains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skrank._data.lists import Floats, Indices, Lists
from skrank._fit.lbfgs import Solution
from skrank._fit.objective import Block, LinearObjective
from skrank.losses import Loss
from skrank.losses._samplers import PartitionSampler, Streams

AVERAGED = 0.25  # the share of the updates, at the end, that an average takes in
# Mean cosine of gradients that follow each other, and the fewest to judge by. With
# noise alone and a step of share c of the curvature's inverse it is -c / 2.
OVERSHOOT = -0.5
FEWEST_TURNS = 10


class SampledObjective(LinearObjective):
    """A linear objective whose loss is known by draws of its gradient alone.

    Takes the parameters of :class:`~skrank._fit.objective.LinearObjective`, and:

    Parameters
    ----------
    sampler : PartitionSampler
        Draws the gradient in the scores from what ``loss.prepare`` returned.
    seed : int
        Where all random numbers come from.
    """

    def __init__(
        self,
        X: Any,
        y: Floats,
        lists: Lists,
        loss: Loss,
        *,
        sampler: PartitionSampler,
        seed: int,
        alpha: float,
        weights: Floats | None = None,
        normalize: str | None = None,
        rows: Indices | None = None,
        constant: NDArray[np.bool_] | None = None,
        n_jobs: int = 1,
    ) -> None:
        # The penalty is no part of the draws: `ascend` takes it exactly.
        super().__init__(
            X,
            y,
            lists,
            loss,
            alpha=0.0,
            weights=weights,
            normalize=normalize,
            rows=rows,
            constant=constant,
            n_jobs=n_jobs,
        )
        self.penalty, self.sampler, self.seed = alpha, sampler, seed
        self.y, self.weights = y, weights
        self.normalize, self.rows = normalize, rows
        self.step = 0

    def draw(self, coef: Floats, step: int) -> Floats:
        """Return a draw of the gradient, without the penalty; same for same steps."""
        self.step = step
        return self(coef)[1]

    def _of_block(self, block: Block, scores: Floats, *given: Floats) -> Any:
        """Return no value, and a draw of the gradient at a block's scores."""
        streams = Streams(self.seed, self.step, block.start)
        gradient = self.sampler.draw(scores, block.prepared, block.lists, streams)
        return np.zeros(len(block.lists)), gradient

    def batches(self, size: int, rng: np.random.RandomState) -> list[_Batch]:
        """Return the lists dealt out at random into batches of about equal number."""
        weights = self.weights
        if weights is None:
            weights = np.ones(len(self.lists))
        weights = weights / weights.max()  # the sum of huge weights overflows
        counted = rng.permutation(np.flatnonzero(weights > 0))
        n_batches = -(-len(counted) // size)
        dealt = np.array_split(counted, n_batches)
        return [
            _Batch(self._part(batch), n_batches * weights[batch].sum() / weights.sum())
            for batch in dealt
        ]

    def _part(self, chosen: Indices) -> SampledObjective:
        """Return the objective over some lists."""
        lists = Lists(self.lists.sizes[chosen])
        places = np.arange(lists.n_rows) + lists.expand(
            self.lists.starts[chosen] - lists.starts
        )
        X, rows = self.X, places if self.rows is None else self.rows[places]
        if sparse.issparse(X):
            X, rows = X[rows], None
        return SampledObjective(
            X,
            self.y[places],
            lists,
            self.loss,
            sampler=self.sampler,
            seed=self.seed,
            alpha=self.penalty,
            weights=None if self.weights is None else self.weights[chosen],
            normalize=self.normalize,
            rows=rows,
            constant=self.constant,
            n_jobs=self.n_jobs,
        )


class _Batch:
    """Some lists, and what their mean counts beside those of other batches."""

    __slots__ = ("factor", "objective")

    def __init__(self, objective: SampledObjective, factor: float) -> None:
        self.objective, self.factor = objective, factor


def ascend(
    objective: SampledObjective,
    start: Floats,
    *,
    learning_rate: float,
    max_iter: int,
    batch_size: int | None = None,
    random_state: np.random.RandomState,
    verbose: int = 0,
    name: str = "skrank",
) -> Solution:
    r"""Climb a penalised mean log-likelihood by draws of its gradient.

    .. math::

        w \leftarrow \frac{w - \eta\, g(w)}{1 + \eta \alpha}

    with g a draw of the gradient of the mean loss over all lists or over a batch. The
    penalty is taken at the new weights, which is stable for every alpha.

    Parameters
    ----------
    objective : SampledObjective
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
    random_state : RandomState
        Deals out and shuffles.
    verbose : int, default=0
        Print a line every ``verbose`` passes, where positive.
    name : str, default="skrank"
        Who speaks in messages.

    Returns
    -------
    solution : Solution
        Mean of the weights over the last quarter of the updates; NaN for the
        objective, which is not evaluated; the number of passes; a problem if
        gradients that follow each other point in opposite directions.

    Raises
    ------
    ValueError
        If a gradient is not finite.

    """
    whole = _Batch(objective, 1.0)
    batches = [whole]
    if batch_size is not None and batch_size < len(objective.lists):
        batches = objective.batches(batch_size, random_state)
    n_updates = max_iter * len(batches)
    n_averaged = max(int(AVERAGED * n_updates), 1)
    shrink = 1.0 / (1.0 + learning_rate * objective.penalty)
    coef, mean = start.copy(), np.zeros(len(start))
    before, turns, update = np.zeros(len(start)), 0.0, 0
    with objective.running():
        for batch in batches:
            batch.objective._pool = objective._pool
        for number in range(1, max_iter + 1):
            size = 0.0
            for place in random_state.permutation(len(batches)):
                batch = batches[place]
                gradient = batch.factor * batch.objective.draw(coef, update)
                slope = gradient + objective.penalty * coef
                coef = shrink * (coef - learning_rate * gradient)
                update += 1
                length = float(np.linalg.norm(slope))
                size += length / len(batches)
                direction = slope / length if length > 0.0 else slope
                if update > n_updates - n_averaged:
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
    problem = None
    if n_averaged >= FEWEST_TURNS and turns < OVERSHOOT:
        problem = (
            f"{name}: steps overshoot, since gradients that follow each other point in "
            f"opposite directions. Lower learning_rate (now {learning_rate:g}) or "
            "scale X, for example with StandardScaler."
        )
    return Solution(mean, np.nan, max_iter, problem)
