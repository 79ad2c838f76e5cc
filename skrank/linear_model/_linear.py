"""The generic linear ranker: any loss, fitted by L-BFGS."""

from __future__ import annotations

from functools import partial
from numbers import Real

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank._data.checks import Integers, finite_column, refuse_masked
from skrank._data.grouping import group_rows, list_weights
from skrank._data.groups import find_groups, takes_groups
from skrank._data.lists import Lists
from skrank._data.warnings import in_cross_validation, warn
from skrank._fit.features import constant_features
from skrank._fit.lbfgs import LAST_DIGITS, minimize_by_smoothing, minimize_lbfgs
from skrank._fit.objective import LinearObjective, is_memory_mapped, linear_scores
from skrank._probability.covariance import estimate, score_range
from skrank.base import RankerMixin
from skrank.losses import ListMLE, Loss
from skrank.metrics import pairwise_accuracy_score

# Below it products lose digits, then all. Where a penalty holds weights to the size of
# gradients over alpha, scores are about spread squared over alpha.
SMALLEST_SCORE = np.finfo(np.float64).tiny / np.finfo(np.float64).eps

FEW_FEATURES = 50  # whose second derivatives cost less than any fit
LARGEST_BLOCK_BYTES = 2**24  # as float64, of which second derivatives hold copies
LARGE_SCORE = 3.0  # range inside a list, which weights that grow for ever reach first
FAR_OUT = 20.0  # beyond any margin, and logistic slopes are no rounding yet
INVOLVED = 1e-2  # share of the largest part in a direction
LISTED = 5  # names in a message


class LinearRanker(RankerMixin, BaseEstimator):
    r"""Linear ranker for any loss.

    Learns weights :math:`w` so that the scores :math:`Xw` rank the rows of each
    list, by minimising

    .. math::

        \sum_q \frac{v_q}{\sum_p v_p} \frac{\ell(X_q w, y_q)}{m_q}
        + \frac{\alpha}{2} \|w\|^2

    over lists :math:`q` with weights :math:`v_q`. ``alpha`` times the number of
    lists is the precision of the normal prior of which this is the mode. There is
    no intercept: only differences of scores inside a list matter.

    Parameters
    ----------
    loss : Loss, default=None
        The loss, such as ``ListNet()`` or one of your own; None means ``ListMLE()``.
    alpha : float, default=0.1
        Strength of the penalty, at least 0. Try ``np.logspace(-3, 1, 5)``.
    normalize : {None, "size", "terms"}, default=None
        Divide each list's loss by its number of rows or of terms (pairs, stages).
    max_iter : int, default=1000
        Largest number of iterations of L-BFGS.
    tol : float, default=1e-6
        Stop when the largest entry of the gradient is at most this share of the
        largest at zero weights.
    ftol : float, default=64 * eps
        Stop when an iteration lowers the objective by less than this share of the
        decrease so far.
    warm_start : bool, default=False
        Start from the last fit's weights instead of zero.
    n_jobs : int, default=None
        Number of threads; None means 1, -1 all cores. The result does not depend on
        it.
    verbose : int, default=0
        Print progress every ``verbose`` iterations.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weight of each feature, in units of score per unit of the feature.
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
        "loss": [Loss, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "normalize": [StrOptions({"size", "terms"}), None],
        "max_iter": [Integers(1)],
        "tol": [Interval(Real, 0, None, closed="left")],
        "ftol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [Integers(None), None],
        "verbose": ["verbose"],
    }
    # Settings that the command-line comparison shows, one row each.
    _compared: tuple = ()

    def __init__(
        self,
        loss=None,
        *,
        alpha=0.1,
        normalize=None,
        max_iter=1000,
        tol=1e-6,
        ftol=LAST_DIGITS,
        warm_start=False,
        n_jobs=None,
        verbose=0,
    ):
        self.loss = loss
        self.alpha = alpha
        self.normalize = normalize
        self.max_iter = max_iter
        self.tol = tol
        self.ftol = ftol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _loss(self):
        """Return the loss to fit."""
        return ListMLE() if self.loss is None else self.loss

    @takes_groups
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, groups=None, *, sample_weight=None):
        """Fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features. float64 and float32 arrays whose rows are together by list are
            not copied, nor are memory maps; sparse input stays sparse.
        y : array-like of shape (n_rows,)
            Labels, higher is better. A pandas object may carry the groups on an
            index level named "groups".
        groups : array-like of shape (n_rows,), default=None
            Label of each row's list: integers, strings or other hashable values, in
            any order.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row's list, constant inside a list.

        Returns
        -------
        self : LinearRanker
            The fitted ranker.

        Raises
        ------
        ValueError
            If groups are missing, differ from the index of ``y``, have another
            length than ``X`` or miss values; if ``X`` or ``y`` hold NaN, infinity or
            masked entries; if ``y`` holds strings or integers beyond 2**53;
            if ``sample_weight`` varies inside a list.

        Warns
        -----
        ConvergenceWarning
            If the solver stops early.
        UserWarning
            If lists or features cannot rank (of some features among others not in
            the parts of a cross-validation), or scores underflow; if ``alpha`` is 0
            and no finite weights are best, since all pairs are in order, or some are
            in a direction that puts none out of order. Such directions are looked for
            where features are at most 50 or fewer than iterations.
        """
        name = type(self).__name__
        groups = find_groups(y, groups, f"{name}.fit")
        refuse_masked(X, "X")
        refuse_masked(y, "y")
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
        )
        grouping = group_rows(groups, len(y))
        lists = grouping.lists
        weights = list_weights(sample_weight, grouping)
        y = grouping.gather(finite_column(y, "y"))
        rows = None
        if grouping.rows is not None:
            if not sparse.issparse(X) and is_memory_mapped(X):
                rows = grouping.rows
            else:
                X = X[grouping.rows]
        if lists.sizes.max() == 1:
            warn(
                f"{name}.fit: no list has two rows, so there is nothing to rank and "
                "all weights stay 0. Check groups.",
            )
        constant = constant_features(X, lists, rows)
        # Of some features a search tells once, in its fit to all data.
        told = constant.all() or not in_cross_validation()
        if constant.any() and lists.sizes.max() > 1 and told:
            warn(
                f"{name}.fit: {int(constant.sum())} of {len(constant)} features are "
                "constant inside every list, so they cannot rank: their weights "
                f"are 0. The first is column {int(np.argmax(constant))}.",
            )
        loss = self._loss()
        y = loss.check_labels(y, lists)
        objective_of = partial(
            LinearObjective,
            X,
            y,
            lists,
            alpha=self.alpha,
            weights=weights,
            normalize=self.normalize,
            rows=rows,
            constant=constant,
            n_jobs=effective_n_jobs(self.n_jobs),
        )
        objective = objective_of(loss)
        with objective.running():
            solution = self._solve(objective, objective_of)
        if solution.problem is not None:
            warn(solution.problem, ConvergenceWarning)
        self.coef_ = solution.parameters[: X.shape[1]].copy()
        self.extra_ = solution.parameters[X.shape[1] :].copy()
        self.objective_ = solution.value
        self.n_iter_ = max(solution.n_iter, 1)
        if np.any(np.abs(self.extra_) >= loss.extra_limit):
            warn(f"{name}.fit: {loss.at_limit(self.extra_)}")
        if np.max(objective.spread()) < np.sqrt(SMALLEST_SCORE * self.alpha):
            warn(
                f"{name}.fit: X is so small beside alpha={self.alpha:g} that scores "
                "underflow and rank no more. Scale X, for example with StandardScaler."
            )
        if (
            self.alpha == 0
            and self.coef_.any()
            and not self._warn_if_separated(objective, y, rows)
        ):
            self._warn_if_receding(objective, solution.parameters)
        return self

    def predict(self, X):
        """Return the score of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            ``X @ coef_``: larger is better inside a list. Scores of different lists
            do not compare.

        Raises
        ------
        NotFittedError
            If :meth:`fit` has not run.
        ValueError
            If ``X`` has another number or other names of features than in ``fit``, or
            holds NaN, infinity or masked entries.
        """
        check_is_fitted(self)
        refuse_masked(X, "X")
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            reset=False,
        )
        return linear_scores(X, self.coef_)

    def _solve(self, objective, objective_of):
        """Return the solution; ``objective_of(loss)`` is that of another loss."""
        return self._minimize(objective, self._start(objective))

    def _minimize(self, objective, start):
        """Return the optimum that L-BFGS finds from a start."""
        has_kinks = objective.loss.smoothed(1.0) is not None
        minimize = minimize_by_smoothing if has_kinks else minimize_lbfgs
        return minimize(
            objective,
            start,
            tol=self.tol,
            ftol=self.ftol,
            max_iter=self.max_iter,
            verbose=int(self.verbose),
            name=type(self).__name__,
        )

    def _start(self, objective):
        """Return where the solver starts."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return objective.start
        for last, now, what in [
            (self.coef_, objective.n_features, "features"),
            (self.extra_, len(objective.extra_start), "parameters of the loss"),
        ]:
            if len(last) != now:
                raise ValueError(
                    f"warm_start=True: the last fit had {len(last)} {what} and this "
                    f"one has {now}. Use warm_start=False."
                )
        coef = np.where(objective.constant, 0.0, self.coef_)
        return np.concatenate((coef, self.extra_))

    def _warn_if_separated(self, objective, y, rows):
        """Warn, and say so, if all pairs are in order and larger weights are better."""
        larger = np.concatenate((2.0 * self.coef_, self.extra_))
        value, gradient = objective(larger)
        # Some losses end at finite weights: there the value rises or the slope is 0.
        rises = value > self.objective_ + 1e-12 * abs(self.objective_)
        if rises or not gradient.any():
            return False
        lists = objective.lists
        scores = linear_scores(objective.X, self.coef_)
        if rows is not None:
            scores = scores[rows]
        of_list = lists.expand(np.arange(lists.n_lists))
        comparable = bool(np.any(lists.max(y) > lists.min(y)))
        separated = comparable and pairwise_accuracy_score(y, scores, of_list) == 1.0
        if separated:
            warn(
                f"{type(self).__name__}.fit: with alpha=0 the fit puts every pair of "
                "rows in order, so no finite weights are best: they grow until the "
                "solver stops. Set alpha above 0."
            )
        return separated

    def _warn_if_receding(self, objective, parameters):
        """Warn if the fit improves for ever along a direction of some features.

        Second derivatives cost as much as one iteration a feature, and some copies of
        the largest block, so many features and long lists are left to ``summary``.
        """
        if len(self.coef_) > max(FEW_FEATURES, self.n_iter_):
            return
        n_rows = max(block.stop - block.start for block in objective.blocks)
        if 8 * n_rows * len(self.coef_) > LARGEST_BLOCK_BYTES:
            return
        if _is_flat_far_out(objective.loss, self.extra_):
            return
        if score_range(objective, self.coef_) < LARGE_SCORE:
            return
        free = np.concatenate((np.ones(len(self.coef_), bool), self._free_extra()))
        try:
            separating = estimate(objective, parameters, free)[0].separating
        except (ValueError, np.linalg.LinAlgError):  # no second derivatives: no verdict
            return
        if separating is not None:
            direction = involved(separating, self._parameter_names(free))
            warn(
                f"{type(self).__name__}.fit: with alpha=0 the fit improves for ever as "
                f"weights grow along a direction of {direction}, so no finite weights "
                "are best: they grow until the solver stops. Set alpha above 0, or "
                "drop what tells the order with certainty."
            )

    def _parameter_names(self, which):
        """Return the names of some of the features and the loss's own parameters."""
        names = [*self._feature_names(), *self._extra_names()]
        return [name for name, kept in zip(names, which, strict=True) if kept]

    def _feature_names(self):
        """Return the names of the features, or x0, x1, ..."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{number}" for number in range(self.n_features_in_)]
        return list(map(str, names))

    def _extra_names(self):
        """Return names of the loss's own parameters."""
        return [f"extra {number}" for number in range(len(self.extra_))]

    def _free_extra(self):
        """Return which of the loss's own parameters are estimated, not at a limit."""
        return np.abs(self.extra_) < self._loss().extra_limit


def _is_flat_far_out(loss, extra):
    """Tell whether a pair far enough in order costs nothing more, as with hinges."""
    given = (extra,) if len(extra) else ()
    pair, order = Lists([2]), np.array([1.0, 0.0])
    prepared = loss.prepare(loss.check_labels(order, pair), pair)
    slope = loss.value_and_gradient(FAR_OUT * order, prepared, pair, *given)[1]
    return not np.any(slope)


def involved(parts, names):
    """Return the names of the largest parts of a direction as text."""
    order = np.argsort(-parts, kind="stable")
    return listing([names[j] for j in order if parts[j] > INVOLVED])


def listing(names):
    """Return names as text, the first few of many."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")
