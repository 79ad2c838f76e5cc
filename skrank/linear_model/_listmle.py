"""Linear ranker for the Plackett-Luce likelihood (ListMLE)."""

from __future__ import annotations

from typing import Any

from sklearn.utils._param_validation import StrOptions

from skrank._data.checks import Integers
from skrank._fit.lbfgs import LAST_DIGITS
from skrank.linear_model._base import BaseLinearRanker
from skrank.losses import ListMLE


class ListMLERanker(BaseLinearRanker):
    r"""Linear ranker that maximises the Plackett-Luce likelihood of each list's order.

    Minimises, with :math:`\ell` the loss :class:`~skrank.losses.ListMLE`,

    .. math::

        \sum_q \frac{v_q}{\sum_p v_p} \frac{\ell(X_q w, y_q)}{m_q}
        + \alpha \left(\rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2\right)

    Only the order of labels counts. With lists of two rows it is logistic regression
    on differences of features, and :class:`RankNetRanker`.

    Parameters
    ----------
    ties : {"efron", "breslow", "order", "random", "marginal"}, default="efron"
        What tied rows mean. "marginal" sums over all orders of tied rows, exactly, at
        some 15 times the cost of "efron". "efron" and "breslow" approximate the sum;
        "efron" is much the closer, and ranks about as well. On data of graded labels
        that do follow the model, "marginal" alone recovers the scale of the weights;
        the others shrink it, by half where most rows are tied. "order" takes tied
        rows as ranked by their place in the data, so that the fit learns the order of
        the file, and warns. "random" breaks ties at random, once a fit.
    last_level : {"skip", "rank"}, default="skip"
        Whether "efron" and "breslow" count the lowest level as a stage, which carries
        no information; "rank" does, as Cox regression without censoring.
    top_k : int, default=None
        Count only stages whose level begins among the first ``top_k`` rows of a
        list; None counts all.
    stage_weights : {"uniform", "position", "discount", "gain", "auto"}, \
            default="uniform"
        What the pick at place p of n counts: 1, or as p-ListMLE
        :math:`2^{1-p} - 2^{1-n}`, or :math:`1 / \log_2(1 + p)`, or the gain of its
        label, :math:`2^y - 2^{y_{\min}}`, over the list's ideal DCG. "auto" is "gain",
        without its warning about labels that are not grades.
        :class:`~skrank.losses.ListMLE` says more. Only "uniform" is a log-likelihood.
    random_state : int, RandomState instance or None, default=None
        Draws the order of tied rows for ``ties="random"``.
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
        Value of what was minimised, at the end.
    n_iter_ : int
        Number of iterations of the solver, at least 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    References
    ----------
    .. [1] F. Xia, T.-Y. Liu, J. Wang, W. Zhang, H. Li, "Listwise approach to learning
       to rank: theory and algorithm", ICML 2008, section 4.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> X = [[0.0], [1.0], [2.0], [5.0], [4.0]]
    >>> y = [0, 1, 2, 1, 0]
    >>> groups = ["a", "a", "a", "b", "b"]
    >>> ranker = ListMLERanker(alpha=0.01).fit(X, y, groups)
    >>> ranker.score(X, y, groups)
    1.0
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **BaseLinearRanker._parameter_constraints,
        "ties": [StrOptions({"efron", "breslow", "order", "random", "marginal"})],
        "last_level": [StrOptions({"skip", "rank"})],
        "top_k": [Integers(1), None],
        "stage_weights": [
            StrOptions({"uniform", "position", "discount", "gain", "auto"})
        ],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        ties: str = "efron",
        last_level: str = "skip",
        top_k: int | None = None,
        stage_weights: Any = "uniform",
        random_state: Any = None,
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
        self.ties = ties
        self.last_level = last_level
        self.top_k = top_k
        self.stage_weights = stage_weights
        self.random_state = random_state

    def _loss(self):
        return ListMLE(
            self.ties,
            self.last_level,
            self.top_k,
            self.stage_weights,
            self.random_state,
        )
