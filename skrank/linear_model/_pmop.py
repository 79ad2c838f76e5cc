"""Linear ranker for the probabilistic model over ordered partitions (PMOP)."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from skrank._data.checks import Integers
from skrank._data.warnings import warn
from skrank._fit.lbfgs import LAST_DIGITS
from skrank._fit.stochastic import AVERAGED, SampledObjective, ascend
from skrank.linear_model._base import BaseLinearRanker, Inexact
from skrank.losses import PMOP, ListMLE
from skrank.losses._samplers import PartitionSampler

# Two ends are different optima if their values differ by more than this share of the
# decrease of the objective from zero weights.
OTHER_OPTIMUM = 1e-4


class PMOPRanker(BaseLinearRanker):
    r"""Linear ranker that maximises the likelihood of each list's levels of ties.

    Minimises, with :math:`\ell` the loss :class:`~skrank.losses.PMOP`,

    .. math::

        \sum_q \frac{v_q}{\sum_p v_p} \frac{\ell(X_q w, y_q)}{m_q}
        + \alpha \left(\rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2\right)

    Only the order of labels counts, and which are equal: rows that share a label were
    taken together, among all subsets of the rows left.

    "arithmetic" is not convex and can have several optima if ``alpha`` is small. The
    fit starts at zero weights and again at those of ``ListMLERanker``, keeps the better
    end, and warns if they differ. With ``warm_start`` it only goes on from the last.

    Parameters
    ----------
    potential : {"arithmetic", "geometric"}, default="arithmetic"
        Weight of a subset of rows. "arithmetic": the mean of ``exp(score)``, so that
        one strong row is enough (PMOP-FD); linear time. "geometric": ``exp`` of the
        mean score, which is our reading of [1]_. The same ``alpha`` is much stronger
        for it in long lists.
    inference : {"exact", "gibbs", "metropolis"}, default="exact"
        How the sum over subsets is done. "exact": all of them. With "geometric" also
        by Markov chains that start at the levels, in time linear in a list's length:
        "gibbs" (PMOP-Gibbs of [1]_) or "metropolis" (PMOP-MH, whose proposal to take
        one row in or out is our reading). These climb by drawn
        gradients for ``max_iter`` passes over the data, without a look at ``tol`` and
        ``ftol``, and take the mean of the weights over the last quarter of the updates.
    max_tie_size : int, default=None
        Largest number of rows that a stage can take; data with more rows tied are
        refused. None: as many as there are or, where each size has a learned weight,
        as are tied in the data.
    n_steps : int, default=1
        Sweeps of a chain for one draw of the gradient, each of as many moves as rows
        are left. More make the bias of short chains smaller; [1]_ takes 1 to 3
        samples, each of which we read as a sweep.
    learning_rate : float, default=0.1
        Length of the steps along drawn gradients, as in [1]_. Suits features of unit
        variance.
    batch_size : int, default=None
        Number of lists that a drawn gradient is the mean of; None means all. Smaller
        batches need fewer passes.
    random_state : int, RandomState instance or None, default=None
        Draws the chains and the batches for ``inference="gibbs"`` and "metropolis".
    max_updates : int, default=None
        With chains: number of updates after which to stop, in the middle of a pass if
        need be; None makes ``max_iter`` passes.
    average : float, default=0.25
        With chains: share of the updates, at the end, whose weights are averaged; 0
        takes the last.
    alpha : float or "auto", default=0.1
        Strength of the penalty, at least 0. Try ``np.logspace(-3, 1, 5)``. "auto"
        divides the effective number of features by that of lists that rank anything;
        it needs features on one scale.
    normalize : {None, "size", "terms"}, default=None
        Divide each list's loss by its number of rows or of terms (pairs, stages).
    max_iter : int, default=1000
        Largest number of iterations of the solver.
    tol : float, default=1e-6
        Stop when the objective F is estimated to lie within ``tol**2 * (F(0) - F)`` of
        its minimum. The estimate is half the square of Newton's decrement, with the
        curvature that the solver whitens features by. With ``l1_ratio``, ``positive``
        or ``bounds``, the largest entry of the least subgradient must also be at most
        ``tol`` times that of the gradient at zero weights.
    ftol : float, default=64 * eps
        Stop when an iteration lowers the objective by less than this share of its
        decrease since zero weights.
    warm_start : bool, default=False
        Start from the last fit's weights instead of zero.
    n_jobs : int, default=None
        Number of threads; None means 1, -1 all cores. The result does not depend on
        it.
    verbose : int, default=0
        Print progress every ``verbose`` iterations.
    l1_ratio : float, default=0.0
        Share :math:`\rho` of the penalty on absolute weights, from 0 to 1. More of it
        sets more weights to exactly 0.
    positive : bool, default=False
        Keep all weights at 0 or above, so that no score falls as a feature rises.
    bounds : tuple or dict, default=None
        Least and largest weights. ``(low, high)``, each a number, an array of shape
        (n_features,) or None for no bound; or a dict from columns, by name or number,
        to such pairs of numbers. Weights that cannot rank are as near to 0 as their
        bounds allow.

    Attributes
    ----------
    alpha_ : float
        Strength of the penalty that was used.
    coef_ : ndarray of shape (n_features,)
        Weight of each feature, in units of score per unit of the feature.
    n_features_active_ : int
        Number of weights that are not 0.
    at_bounds_ : ndarray of bool of shape (n_features,)
        Which weights a bound holds: they equal it, and the feature can rank.
    intercept_ : float
        0.0, since only differences of scores inside a list matter.
    objective_ : float
        Value of what was minimised, at the end; NaN with chains, which never need it.
    n_iter_ : int
        Number of iterations of the solver, at least 1; of passes with chains.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    References
    ----------
    .. [1] T. Truyen, D. Phung, S. Venkatesh, "Probabilistic models over ordered
       partitions with applications in document ranking and collaborative filtering",
       SDM 2011.

    Examples
    --------
    >>> from skrank import PMOPRanker
    >>> X = [[0.0], [1.0], [2.0], [5.0], [4.0]]
    >>> y = [0, 1, 2, 1, 0]
    >>> groups = ["a", "a", "a", "b", "b"]
    >>> ranker = PMOPRanker(alpha=0.01).fit(X, y, groups)
    >>> ranker.score(X, y, groups)
    1.0

    With chains [1]_ draws for one list, updates, and stops after 1,000 updates (and has
    no penalty, so ``alpha=0``); here those are 500 passes over two lists:

    >>> ranker = PMOPRanker(
    ...     "geometric", "gibbs", batch_size=1, max_updates=1000, average=0.0,
    ...     random_state=0,
    ... ).fit(X, y, groups)
    >>> ranker.n_iter_
    500
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **BaseLinearRanker._parameter_constraints,
        "potential": [StrOptions({"arithmetic", "geometric"})],
        "inference": [StrOptions({"exact", "gibbs", "metropolis"})],
        "max_tie_size": [Integers(1), None],
        "n_steps": [Integers(1)],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Integers(1), None],
        "max_updates": [Integers(1), None],
        "average": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        potential: str = "arithmetic",
        inference: str = "exact",
        max_tie_size: int | None = None,
        n_steps: int = 1,
        learning_rate: float = 0.1,
        batch_size: int | None = None,
        random_state: Any = None,
        *,
        max_updates: int | None = None,
        average: float = AVERAGED,
        alpha: float | str = 0.1,
        normalize: str | None = None,
        max_iter: int = 1000,
        tol: float = 1e-6,
        ftol: float = LAST_DIGITS,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        l1_ratio: float = 0.0,
        positive: bool = False,
        bounds: Any = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            normalize=normalize,
            max_iter=max_iter,
            tol=tol,
            ftol=ftol,
            warm_start=warm_start,
            n_jobs=n_jobs,
            verbose=verbose,
            l1_ratio=l1_ratio,
            positive=positive,
            bounds=bounds,
        )
        self.potential = potential
        self.inference = inference
        self.max_tie_size = max_tie_size
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_updates = max_updates
        self.average = average
        self.random_state = random_state

    def _loss(self):
        return PMOP(self.potential, self.max_tie_size)

    def _check_settings(self):
        """Raise ValueError for chains that are useless or cannot move."""
        super()._check_settings()
        if self.inference == "exact":
            return
        if self.l1_ratio > 0 or self.positive or self.bounds is not None:
            raise ValueError(
                f"PMOPRanker(inference={self.inference!r}) climbs by drawn gradients, "
                "which end near the optimum: weights would not be exactly 0 or at a "
                "bound. Use l1_ratio=0, positive=False and bounds=None, or "
                "inference='exact'."
            )
        if self.potential == "arithmetic":
            raise ValueError(
                f"PMOPRanker(inference={self.inference!r}) needs potential="
                "'geometric'. With 'arithmetic' the exact sum over subsets takes "
                "linear time already: use inference='exact'."
            )
        if self.max_tie_size == 1:
            raise ValueError(
                f"PMOPRanker(inference={self.inference!r}, max_tie_size=1): chains "
                "move by way of ties, so they cannot move at all. Without ties the "
                "model is ListMLERanker's: use that, or inference='exact'."
            )

    def _solve(self, objective, start):
        """Minimise from zero, and from ListMLE too if there may be several optima."""
        if self.inference != "exact":
            return self._climb(objective, start)
        first = super()._solve(objective, start)
        warm = self.warm_start and getattr(self, "coef_", None) is not None
        if self.potential == "geometric" or warm:
            return first
        convex = objective.remade(objective.data, ListMLE())
        with convex.running():
            near = self._minimize(convex, convex.start)  # it need not converge
        second = super()._solve(objective, near.parameters)
        self._warn_of_optima(objective, first, second)
        return min(first, second, key=lambda solution: solution.value)

    def _warn_of_optima(self, objective, first, second):
        """Warn if two solutions are different optima."""
        apart = abs(first.value - second.value)
        least = min(first.value, second.value)
        decrease = objective(objective.start)[0] - least
        ended = first.problem is None and second.problem is None
        # A solver that stops by ftol may be this far from the optimum.
        unsure = max(OTHER_OPTIMUM * decrease, self.ftol * abs(least))
        if ended and apart > unsure:
            # Show enough decimals for the difference to be visible.
            n_decimals = max(0, 1 - math.floor(math.log10(apart)))
            warn(
                "PMOPRanker.fit: the objective has several optima: it ends at "
                f"{first.value:.{n_decimals}f} from zero weights and at "
                f"{second.value:.{n_decimals}f} from those of ListMLERanker. The lower "
                "is kept; there may be lower ones. A larger alpha, or "
                "potential='geometric', makes it one.",
            )

    def _climb(self, objective, start):
        """Maximise by drawn gradients."""
        rng = check_random_state(self.random_state)
        sampler = PartitionSampler(self.inference, self.n_steps, self.max_tie_size)
        seed = int(rng.randint(2**63 - 1, dtype=np.int64))
        return ascend(
            SampledObjective(objective, sampler, seed),
            start,
            learning_rate=self.learning_rate,
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            max_updates=self.max_updates,
            average=self.average,
            random_state=rng,
            verbose=int(self.verbose),
            name="PMOPRanker",
        )

    def _why_inexact(self):
        if self.inference == "exact":
            return None
        return Inexact(
            f"the weights come from chains (inference={self.inference!r}), which end "
            "near the optimum, not at it; use inference='exact'.",
            "The errors do not include how far the chains end from the optimum.",
            "Raise n_steps or max_iter, or use inference='exact'.",
        )
