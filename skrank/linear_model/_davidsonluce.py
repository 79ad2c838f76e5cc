"""Linear ranker for levels of ties whose sizes have weights (Davidson-Luce)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from skrank._data.checks import Integers
from skrank._fit.lbfgs import LAST_DIGITS
from skrank.linear_model._base import BaseLinearRanker
from skrank.losses import DavidsonLuce


class DavidsonLuceRanker(BaseLinearRanker):
    r"""Linear ranker for lists with ties, which learns how likely ties of a size are.

    Minimises, with :math:`\ell` the loss :class:`~skrank.losses.DavidsonLuce`,

    .. math::

        \sum_q \frac{v_q}{\sum_p v_p} \frac{\ell(X_q w, y_q; \delta)}{m_q}
        + \alpha \left(\rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2\right)

    over the weights w and the weight :math:`\delta_m` of each size of tie, which has
    no penalty. Only the order of labels counts, and which are equal.

    Parameters
    ----------
    tie_weights : {"sizes", "slope"}, default="sizes"
        "sizes": one weight for each number of rows that are tied somewhere in the
        data; other numbers are impossible. "slope": ``exp(b * (m - 1))`` for m rows,
        with one number b.
    max_tie_size : int, default=None
        Largest number of rows that a stage can take; data with more rows tied are
        refused. None: as many as there are or, where each size has a learned weight,
        as are tied in the data.
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
    tie_weights_ : ndarray of shape (largest_size,)
        Learned weight of a stage that takes 1, 2, ... rows; 1.0 for one row, 0.0 for
        sizes that do not occur in the data. Where all stages of some number of rows or
        more take so many, their weights have no finite best value, and those here are
        just large, or infinite; ``summary`` leaves them out.
    objective_ : float
        Value of what was minimised, at the end.
    n_iter_ : int
        Number of iterations of the solver, at least 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    References
    ----------
    .. [1] D. Firth, I. Kosmidis, H. Turner, "Davidson-Luce model for multi-item choice
       with ties", arXiv:1909.07123, 2019.

    Examples
    --------
    >>> from skrank import DavidsonLuceRanker
    >>> X = [[0.0], [1.0], [2.0], [5.0], [4.0]]
    >>> y = [0, 1, 2, 1, 0]
    >>> groups = ["a", "a", "a", "b", "b"]
    >>> ranker = DavidsonLuceRanker(alpha=0.01).fit(X, y, groups)
    >>> ranker.score(X, y, groups)
    1.0
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **BaseLinearRanker._parameter_constraints,
        "tie_weights": [StrOptions({"sizes", "slope"})],
        "max_tie_size": [Integers(1), None],
    }

    def __init__(
        self,
        tie_weights: str = "sizes",
        max_tie_size: int | None = None,
        *,
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
        self.tie_weights = tie_weights
        self.max_tie_size = max_tie_size

    def _loss(self):
        return DavidsonLuce(self.tie_weights, self.max_tie_size)

    def _store(self, objective, solution):
        """Set the fitted attributes, the weights of sizes in natural units too."""
        super()._store(objective, solution)
        longest = int(objective.data.lists.sizes.max())
        with np.errstate(over="ignore"):
            self.tie_weights_ = np.exp(objective.loss.log_weights(self.extra_, longest))
