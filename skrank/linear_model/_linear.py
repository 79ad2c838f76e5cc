"""The generic linear ranker: any loss, fitted by L-BFGS."""

from __future__ import annotations

from typing import Any

from skrank._fit.lbfgs import LAST_DIGITS
from skrank.linear_model._base import BaseLinearRanker
from skrank.losses import ListMLE, Loss


class LinearRanker(BaseLinearRanker):
    r"""Linear ranker for any loss.

    Learns weights :math:`w` so that the scores :math:`Xw` rank the rows of each
    list, by minimising

    .. math::

        \sum_q \frac{v_q}{\sum_p v_p} \frac{\ell(X_q w, y_q)}{m_q}
        + \alpha \left(\rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2\right)

    over lists :math:`q` with weights :math:`v_q`. ``alpha`` times the number of
    lists is the precision of the normal prior of which this is the mode. There is
    no intercept: only differences of scores inside a list matter.

    If the loss is a likelihood, as its ``model`` says, the ranker has ``summary`` and
    the probabilities of that model: ``LinearRanker(ListMLE())`` has the methods of
    :class:`ListMLERanker`.

    Parameters
    ----------
    loss : Loss, default=None
        The loss, such as ``ListNet()`` or one of your own; None means ``ListMLE()``.
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
    extra_ : ndarray of shape (n_extra,)
        Learned parameters of the loss itself; empty for most losses.
    objective_ : float
        Value of what was minimised, at the end.
    n_iter_ : int
        Number of iterations of the solver, at least 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    Examples
    --------
    >>> from skrank import LinearRanker
    >>> from skrank.losses import ListNet
    >>> X = [[0.0], [1.0], [2.0], [5.0], [4.0]]
    >>> y = [0, 1, 2, 1, 0]
    >>> groups = ["a", "a", "a", "b", "b"]
    >>> ranker = LinearRanker(ListNet(), alpha=0.01).fit(X, y, groups)
    >>> ranker.score(X, y, groups)
    1.0
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **BaseLinearRanker._parameter_constraints,
        "loss": [Loss, None],
    }

    def __init__(
        self,
        loss: Loss | None = None,
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
        self.loss = loss

    def _loss(self):
        """Return the loss to fit."""
        return ListMLE() if self.loss is None else self.loss
