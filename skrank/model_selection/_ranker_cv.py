"""A linear ranker whose penalty is chosen by cross-validation along a path."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
import sklearn
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skrank._data.checks import Integers
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.parameters import checks_parameters
from skrank._data.rollback import keeps_old_state
from skrank._data.warnings import warn
from skrank._fit.bounds import read_bounds
from skrank._fit.data import check_data
from skrank.base import RankerMixin
from skrank.linear_model import ListMLERanker
from skrank.linear_model._base import BaseLinearRanker
from skrank.metrics import make_ranking_scorer
from skrank.model_selection._compare_rankers import whole_folds
from skrank.model_selection._comparison import Fold, Ranked
from skrank.model_selection._ranker_paths import (
    fold_path,
    penalties_to_try,
    with_offset,
)


class RankerCV(RankerMixin, BaseEstimator):
    r"""Linear ranker with the penalty that ranks best in cross-validation.

    In each fold the ranker is fitted for all ``alphas``, from the largest to the
    smallest. Each fit starts from the last solution, and all share one Gram matrix:
    this is two to three times faster than a grid search, with the same optima. Then the
    ranker is fitted to all data with the best penalty.

    Parameters
    ----------
    ranker : linear ranker, default=None
        The ranker, whose own ``alpha`` does not count; None means ``ListMLERanker()``.
    alphas : int or array-like of shape (n_alphas,), default=10
        Penalties to try, at least 0. A number means as many at equal ratios: from 1e-4
        to 10 or, where the ranker's ``l1_ratio`` is above 0, from 1e-3 of the largest
        to the largest, the least penalty that leaves all weights of a fit to all data
        at 0.
    cv : int, splitter, iterable of (train, test) or None, default=5
        Folds; a number means ``QueryKFold(cv)``, None ``QueryKFold(5)``. No list may be
        cut.
    scoring : str or callable, default="ndcg@10"
        Name of a metric, see :func:`~skrank.metrics.metric_names`, with a cut-off as in
        "ndcg@10"; "log_likelihood"; a scorer; or a function
        ``metric(y, scores, groups)`` that returns a number.
    rule : {"best", "one_standard_error"}, default="best"
        Which penalty to take. "best": that of the largest mean score, the larger of
        equal ones. "one_standard_error": the largest whose mean score is at most one
        standard error, over folds, below the best.
    n_jobs : int, default=None
        Number of folds at a time, in threads; None means 1, -1 all cores. The result
        does not depend on it.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen.
    alphas_ : ndarray of shape (n_alphas,)
        The penalties, from the largest to the smallest.
    cv_results_ : dict of ndarray
        For each of ``alphas_``: "param_alpha", "split0_test_score" and so on,
        "mean_test_score", "std_test_score" (over folds, as in scikit-learn's
        searches), "standard_error" of the mean and "rank_test_score".
    coef_path_ : ndarray of shape (n_folds, n_alphas, n_features)
        Weights of each fold along ``alphas_``.
    n_iter_ : ndarray of shape (n_folds, n_alphas)
        Numbers of iterations of the solver.
    ranker_ : linear ranker
        The ranker with ``alpha_``, fitted to all data.
    coef_ : ndarray of shape (n_features,)
        Its weights.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    See Also
    --------
    sklearn.linear_model.LogisticRegressionCV : The same for classifiers.

    Examples
    --------
    >>> from skrank import RankNetRanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.model_selection import RankerCV
    >>> X, y, groups = make_ranking(60, n_features=20, random_state=0)
    >>> search = RankerCV(RankNetRanker(), alphas=[1e-3, 1e-1, 1e1]).fit(X, y, groups)
    >>> search.coef_path_.shape
    (5, 3, 20)
    >>> bool(search.alpha_ in search.alphas_)
    True
    """

    __metadata_request__fit = {"offset": True}  # noqa: RUF012
    __metadata_request__predict = {"offset": True}  # noqa: RUF012
    __metadata_request__score = {"offset": True}  # noqa: RUF012

    _parameter_constraints: dict = {  # noqa: RUF012
        "ranker": [BaseLinearRanker, None],
        "alphas": [Interval(Real, 0, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [str, callable],
        "rule": [StrOptions({"best", "one_standard_error"})],
        "n_jobs": [Integers(None), None],
    }

    def __init__(
        self,
        ranker: Any = None,
        alphas: Any = 10,
        *,
        cv: Any = 5,
        scoring: Any = "ndcg@10",
        rule: str = "best",
        n_jobs: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @suggests_groups
    @checks_parameters(prefer_skip_nested_validation=True)
    @keeps_old_state
    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> Self:
        """Choose the penalty, and fit the ranker with it to all data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Labels, higher is better; where 1 is the best, as places in a race, pass
            :func:`~skrank.interop.from_ranks` of them. A pandas object may carry the
            groups on an index level named "groups".
        groups : array-like of shape (n_rows,), default=None
            Label of each row's list.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row, in fits as in ``fit`` of the ranker; scores, where the
            metric takes weights, count each list by the mean weight of its rows.
        offset : array-like of shape (n_rows,), default=None
            Known part of the score of each row, in fits and in the scores of folds.

        Returns
        -------
        self : RankerCV
            The fitted object.

        Raises
        ------
        ValueError
            If ``alphas`` or a setting of the ranker are out of range, if a fold cuts a
            list, or as documented in ``fit`` of the rankers.

        Warns
        -----
        ConvergenceWarning
            If fits stopped early.
        """
        ranker = ListMLERanker() if self.ranker is None else self.ranker
        ranker = clone(ranker).set_params(alpha=0.0)  # its own does not count
        ranker._validate_params()
        ranker._check_settings()
        name = f"{type(self).__name__}.fit"
        labels = find_groups(y, groups, name, "y")
        data = check_data(
            self, X, y, groups, sample_weight, offset=offset, method="fit", fitting=True
        )
        assert data.grouping is not None
        ranker.set_params(bounds=self._numbered_bounds(ranker, data.X.shape[1]))
        alphas = penalties_to_try(self.alphas, ranker, data)
        rows = Ranked(data.X, data.scatter(data.y), np.asarray(labels))
        folds = whole_folds(5 if self.cv is None else self.cv, rows, name)
        scorer = _scorer(self.scoring)
        weight = None
        if data.weights is not None:  # metrics know weights of lists alone
            weight = data.scatter(data.lists.expand(data.weights))
        settings = sklearn.get_config()

        def fitted(fold: Fold) -> tuple[list, list[float]]:
            with sklearn.config_context(**settings):
                return fold_path(ranker, data, fold, alphas, scorer, weight)

        # Threads share the data.
        paths = Parallel(n_jobs=effective_n_jobs(self.n_jobs), prefer="threads")(
            delayed(fitted)(fold) for fold in folds
        )
        n_features = data.X.shape[1]
        solutions = [path for path, _ in paths]
        self.alphas_ = alphas
        self.coef_path_ = np.array(
            [[one.parameters[:n_features] for one in path] for path in solutions]
        )
        self.n_iter_ = np.array([[one.n_iter for one in path] for path in solutions])
        self.cv_results_ = _results(alphas, np.array([scores for _, scores in paths]))
        self.alpha_ = float(alphas[self._chosen()])
        _warn_of_problems(name, solutions)
        unfitted = ListMLERanker() if self.ranker is None else self.ranker
        self.ranker_ = clone(unfitted).set_params(alpha=self.alpha_)
        self.ranker_.fit(X, y, groups, sample_weight=sample_weight, offset=offset)
        return self

    def predict(self, X: Any, offset: Any = None) -> NDArray[np.float64]:
        """Return the score of each row by ``ranker_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        offset : array-like of shape (n_rows,), default=None
            Known part of the score of each row; None adds nothing.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            Larger is better inside a list.
        """
        check_is_fitted(self)
        return self.ranker_.predict(X, offset)

    @suggests_groups
    def score(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> float:
        """Return the value of ``scoring`` for lists ranked by ``ranker_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Labels, higher is better.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row's list, constant inside a list.
        offset : array-like of shape (n_rows,), default=None
            Known part of the score of each row; None adds nothing.

        Returns
        -------
        score : float
            Higher is better.
        """
        scorer = _scorer(self.scoring)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        options.update(with_offset(scorer, offset))
        groups = find_groups(y, groups, f"{type(self).__name__}.score", "y")
        return float(scorer(self, X, y, groups=groups, **options))

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of ``ranker_``."""
        check_is_fitted(self)
        return self.ranker_.coef_

    def _numbered_bounds(self, ranker: BaseLinearRanker, n_features: int) -> Any:
        """Return bounds by number of the feature: folds do not know names."""
        names = getattr(self, "feature_names_in_", None)
        return read_bounds(ranker.bounds, ranker.positive, n_features, names)

    def _chosen(self) -> int:
        """Return the place of the chosen penalty in ``alphas_``, largest first."""
        means = self.cv_results_["mean_test_score"]
        if np.isnan(means).any():
            raise ValueError(
                f"{type(self).__name__}.fit: scoring={self.scoring!r} gives no number "
                "in some folds. Take a metric that is defined for all lists, or fewer "
                "folds."
            )
        best = int(np.argmax(means))
        if self.rule == "best":
            return best
        least = means[best] - self.cv_results_["standard_error"][best]
        return int(np.argmax(means >= least))


def _scorer(scoring: Any) -> Any:
    """Return a scorer for a name, a metric or a scorer."""
    if isinstance(scoring, str) or not hasattr(scoring, "get_metadata_routing"):
        return make_ranking_scorer(scoring)
    return scoring


def _results(alphas: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    """Return the scores, (n_folds, n_alphas), as searches of scikit-learn show them."""
    n_folds = len(scores)
    results = {"param_alpha": alphas}
    for number, row in enumerate(scores):
        results[f"split{number}_test_score"] = row
    means = scores.mean(axis=0)
    results["mean_test_score"] = means
    results["std_test_score"] = scores.std(axis=0)
    spread = scores.std(axis=0, ddof=1) if n_folds > 1 else np.zeros(len(alphas))
    results["standard_error"] = spread / np.sqrt(n_folds)
    results["rank_test_score"] = rankdata(-means, method="min").astype(np.int32)
    return results


def _warn_of_problems(name: str, solutions: list[list]) -> None:
    """Warn once if fits of folds stopped early."""
    problems = [one.problem for path in solutions for one in path if one.problem]
    if problems:
        n_fits = sum(map(len, solutions))
        warn(
            f"{name}: {len(problems)} of {n_fits} fits stopped early. The first: "
            f"{problems[0]}",
            ConvergenceWarning,
        )
