"""What linear rankers make of features: scores, with an offset where one is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.groups import suggests_groups
from skrank._fit.blocks import linear_scores
from skrank._fit.data import check_features, known_scores
from skrank.base import RankerMixin


class LinearScores(RankerMixin):
    """Scores of rows, and how well they rank. Metadata routing passes the offset."""

    if TYPE_CHECKING:
        coef_: NDArray[np.float64]  # of the ranker itself

    __metadata_request__fit = {"offset": True}  # noqa: RUF012
    __metadata_request__predict = {"offset": True}  # noqa: RUF012
    __metadata_request__score = {"offset": True}  # noqa: RUF012

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def predict(self, X: Any, offset: Any = None) -> NDArray[np.float64]:
        """Return the score of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        offset : array-like of shape (n_rows,), default=None
            Known part of the score of each row. None adds nothing, also after a fit
            with an offset: then scores are those of the features alone, for example
            scores that ignore the exposure used in the fit.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            ``X @ coef_ + offset``: larger is better inside a list. Scores of different
            lists do not compare.

        Raises
        ------
        NotFittedError
            If :meth:`fit` has not run.
        ValueError
            If ``X`` has another number or other names of features than in ``fit``, or
            holds NaN, infinity or masked entries; if ``offset`` has another length or
            is beyond 2**26 (6.7e7).
        """
        X = check_features(self, X)
        known = known_scores(offset, X.shape[0])
        scores = linear_scores(X, self.coef_)
        return scores if known is None else scores + known

    @suggests_groups
    def score(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
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
        offset : array-like of shape (n_rows,), default=None
            Known part of the score of each row; None adds nothing, as in ``predict``.

        Returns
        -------
        score : float
            Mean NDCG, between 0 and 1.

        Raises
        ------
        ValueError
            If groups are missing, lengths differ, or labels are negative or masked.
        """
        known = {} if offset is None else {"offset": offset}
        return self._ndcg(X, y, groups, sample_weight, **known)
