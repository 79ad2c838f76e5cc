"""Markov chains in place of the exact gradient of models over ordered partitions."""

from __future__ import annotations

from typing import NamedTuple

from sklearn.base import BaseEstimator

from skrank._data.lists import Floats, Lists
from skrank._kernels.sampling import contrast
from skrank.losses._partition import size_weights
from skrank.losses.pmop import Prepared


class Streams(NamedTuple):
    """The random numbers of one update: one stream for each list.

    A stream is a function of the seed of the fit, the number of the update and the
    place of the list's first row, so it does not depend on the thread that draws.

    Parameters
    ----------
    seed, step : int
        Seed of the fit and number of the update, below 2^64.
    place : int, default=0
        Place of the first row of the first list.
    """

    seed: int
    step: int
    place: int = 0


class PartitionSampler(BaseEstimator):
    r"""Draw the gradient of the geometric model over ordered partitions.

    At a stage k with the rows :math:`R_k` left a chain over non-empty subsets S, with
    probabilities proportional to :math:`\exp(\bar s_S)`, starts at the level
    :math:`X_k`. The draw of minus the log-likelihood's gradient is, with
    :math:`S^{(l)}` the subset after sweep l,

    .. math::

        g_i = \sum_k \frac1L \sum_{l=1}^{L} \frac{[i \in S^{(l)}]}{|S^{(l)}|}
        - \frac{1}{n_{k(i)}}

    A sweep has as many moves as rows remain. A move puts a row, drawn at random, into S
    or takes it out, by the rule of Gibbs or of Metropolis. With many sweeps the mean of
    draws is the exact gradient; with few it is the contrastive divergence.

    The text of [1]_ leaves two choices open. Here a "sample" is a sweep, so that a draw
    costs time in proportion to the rows of a list. And Metropolis proposes to put one
    row, drawn at random, in or out, which is a symmetric proposal. In trials with four
    rows it mixes as well as a choice between growing and shrinking.

    Parameters
    ----------
    rule : {"gibbs", "metropolis"}, default="gibbs"
        Chance that a move is made: r / (1 + r) or min(1, r), with r the ratio of the
        probabilities after and before. Metropolis moves more and mixes faster.
    n_steps : int, default=1
        Number of sweeps L.
    max_tie_size : int, default=None
        Largest number of rows of a subset, at least 2; None sets no limit.

    References
    ----------
    .. [1] T. Truyen, D. Phung, S. Venkatesh, "Probabilistic models over ordered
       partitions with applications in document ranking and collaborative filtering",
       SDM 2011, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import Lists
    >>> from skrank.losses import PMOP
    >>> lists = Lists([3])
    >>> prepared = PMOP("geometric").prepare(np.array([2.0, 1.0, 1.0]), lists)
    >>> sampler = PartitionSampler(n_steps=100_000)
    >>> gradient = sampler.draw(np.zeros(3), prepared, lists, Streams(seed=0, step=0))
    >>> gradient.round(1)  # 1/3 + 0 - 1, and 1/3 + 1/2 - 1/2 twice
    array([-0.7,  0.3,  0.3])
    """

    def __init__(self, rule="gibbs", n_steps=1, max_tie_size=None):
        self.rule = rule
        self.n_steps = n_steps
        self.max_tie_size = max_tie_size

    def draw(
        self, scores: Floats, prepared: Prepared, lists: Lists, rng: Streams
    ) -> Floats:
        """Return a draw of the gradient in the scores, (n_rows,).

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)
            Scores.
        prepared : Prepared
            What :meth:`~skrank.losses.PMOP.prepare` returned for these lists.
        lists : Lists
            The lists.
        rng : Streams
            The random numbers.

        Returns
        -------
        gradient : ndarray of shape (n_rows,)
            The draw; it sums to 0 in each list.
        """
        levels = prepared.partitions.levels
        return contrast(
            scores,
            levels.order,
            levels.starts,
            levels.offsets,
            size_weights(int(lists.sizes.max()), self.max_tie_size),
            self.rule == "metropolis",
            self.n_steps,
            *rng,
        )
