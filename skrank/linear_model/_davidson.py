"""Linear ranker for pairs with ties as a third alternative (Davidson)."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._fit.lbfgs import LAST_DIGITS
from skrank.linear_model._base import BaseLinearRanker
from skrank.losses import Davidson


class DavidsonRanker(BaseLinearRanker):
    r"""Linear ranker that maximises the likelihood of pairs and ties by Davidson.

    Minimises, with :math:`\ell` the loss :class:`~skrank.losses.Davidson`,

    .. math::

        \sum_q \frac{v_q}{\sum_p v_p} \frac{\ell(X_q w, y_q)}{m_q}
        + \alpha \left(\rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2\right)

    All pairs of rows of a list count, tied ones too. The parameter of ties is learned
    with the weights, without a penalty, as :math:`b` of :math:`\nu = e^b`. That this is
    PairTies-D of the PMOP paper is our reading: its text has the name alone. The time
    of a fit grows with n log n for lists of n rows; pairs are never stored.

    Parameters
    ----------
    alpha : float or "auto", default=0.1
        Strength of the penalty, at least 0. Try ``np.logspace(-3, 1, 5)``. "auto"
        divides the effective number of features by that of lists that rank anything;
        it needs features on one scale.
    normalize : {None, "size", "terms"}, default="size"
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
    tie_parameter_ : float
        The nu of the model, at least 0, where ties do not happen: equal scores tie
        with probability nu / (2 + nu).
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
    .. [1] R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in
       paired comparison experiments", JASA 65 (1970), section 2.

    Examples
    --------
    >>> from skrank import DavidsonRanker
    >>> X = [[0.0], [1.0], [1.5], [5.0], [4.0]]
    >>> y = [0, 1, 1, 1, 0]
    >>> groups = ["a", "a", "a", "b", "b"]
    >>> ranker = DavidsonRanker(alpha=0.01).fit(X, y, groups)
    >>> ranker.score(X, y, groups)
    1.0
    """

    def __init__(
        self,
        *,
        alpha: float | str = 0.1,
        normalize: str | None = "size",
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

    def _loss(self):
        return Davidson()

    @property
    def tie_parameter_(self) -> float:
        """Parameter of ties in its natural scale."""
        return float(np.exp(self.extra_[0]))
