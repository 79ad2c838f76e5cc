"""What every ranker shares: its score, its tags and its requests for groups."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from skrank._data.checks import finite_column, refuse_misread
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.ranks import rank_within
from skrank.metrics import ndcg_score


class RankerMixin:
    """Mixin for rankers: estimators whose rows come in lists.

    Stands left of ``BaseEstimator`` in the list of bases. Asks scikit-learn's
    metadata routing for ``groups`` in ``fit`` and ``score``.

    Examples
    --------
    A regressor as a ranker, which ignores the lists when it is fitted. With routing on
    it may stand beside other rankers among the values of a search's grid, where
    ``Ridge`` itself would refuse the groups:

    >>> import sklearn
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.pipeline import Pipeline
    >>> from skrank import ListMLERanker
    >>> from skrank.base import RankerMixin
    >>> from skrank.datasets import make_ranking
    >>> from skrank.model_selection import QueryKFold
    >>> class RidgeRanker(RankerMixin, Ridge):
    ...     def fit(self, X, y, groups=None):
    ...         return super().fit(X, y)
    >>> X, y, groups = make_ranking(40, random_state=0)
    >>> grid = {"ranker": [ListMLERanker(), RidgeRanker()]}
    >>> pipeline = Pipeline([("ranker", ListMLERanker())])
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(pipeline, grid, cv=QueryKFold(3))
    ...     search = search.fit(X, y, groups=groups)
    >>> search.cv_results_["mean_test_score"].round(2)
    array([0.8, 0.8])
    """

    if TYPE_CHECKING:
        predict: Any  # of the ranker itself

    __metadata_request__fit = {"groups": True}  # noqa: RUF012
    __metadata_request__score = {"groups": True}  # noqa: RUF012

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.target_tags.required = True
        return tags

    @suggests_groups
    def score(
        self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the mean NDCG of the lists, ranked by ``predict``.

        Lists without a relevant row do not count; see
        :func:`~skrank.metrics.ndcg_score`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Labels of at least 0, higher is better.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row's list, constant inside a list.

        Returns
        -------
        score : float
            Mean NDCG, between 0 and 1.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or labels are negative or masked.
        """
        return self._ndcg(X, y, groups, sample_weight)

    @suggests_groups
    def predict_rank(
        self,
        X: Any,
        groups: Any = None,
        *,
        method: str = "min",
        **of_lists: Any,
    ) -> NDArray[Any]:
        """Return the rank of each row in its list, 1 for the best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features of whole lists.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``X``.
        method : {"min", "max", "average", "dense", "ordinal"}, default="min"
            Rank of rows with equal scores, as in :func:`~skrank.rank_within`.
        **of_lists
            What else ``predict`` takes, such as ``history``.

        Returns
        -------
        ranks : ndarray of shape (n_rows,)
            In the order of the rows, so ``frame["rank"] = ranker.predict_rank(...)``
            adds a column; integers, float64 for "average".

        Raises
        ------
        ValueError
            If groups are missing, lengths differ or ``method`` is unknown.

        See Also
        --------
        skrank.rank_within : The same from scores, as those of a pipeline.
        """
        groups = find_groups(X, groups, f"{type(self).__name__}.predict_rank", "X")
        return rank_within(self._scores(X, groups, **of_lists), groups, method=method)

    def _ndcg(self, X, y, groups, sample_weight, **of_lists):
        """Return the score; ``of_lists`` is what else ``predict`` takes."""
        name = f"{type(self).__name__}.score"
        groups = find_groups(y, groups, name, "y")
        refuse_misread(y, "y")
        # Without an index, so that the metric does not compare it once more; and of
        # shape (n_rows, 1) where fit takes that, too.
        labels = finite_column(column_or_1d(y), "y")
        if labels.min() < 0:
            raise ValueError(
                f"{name} (NDCG) needs labels of at least 0, got {labels.min():g}: pass "
                "scoring=pairwise_accuracy_scorer(), which takes any labels, to "
                "searches and cross-validation; it is in skrank.metrics."
            )
        scores = self._scores(X, groups, **of_lists)
        return ndcg_score(labels, scores, groups, sample_weight=sample_weight)

    def _scores(self, X, groups, **of_lists):
        """Return what ``predict`` returns, giving it the groups if it takes them."""
        if "groups" in signature(self.predict).parameters:
            of_lists["groups"] = groups
        return self.predict(X, **of_lists)
