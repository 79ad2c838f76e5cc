"""A scorer that asks a fitted ranker how likely new labels are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from skrank._data.groups import find_groups, suggests_groups
from skrank._data.pipelines import last_model


class LogLikelihoodScorer(BaseEstimator):
    r"""Scorer of probability models: mean log-likelihood of lists.

    .. math::

        \frac{1}{\sum_q v_q} \sum_q v_q \log P_q(\text{labels of list } q)

    with :math:`v` the weights of lists. Greater is better. On lists that were not in
    the fit it is the logarithmic score, which is best, on average, where probabilities
    are the true ones.

    Parameters
    ----------
    composite : bool, default=False
        Take ``composite_log_likelihood`` of the ranker: pairs as if they were
        independent, which ``RankNetRanker``, ``DavidsonRanker`` and
        ``RaoKupperRanker`` have, too.

    See Also
    --------
    log_likelihood_scorer : Make one.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.metrics import LogLikelihoodScorer
    >>> X, y, groups = [[1.0], [1.0], [2.0], [2.0]], [0, 1, 1, 0], [7, 7, 8, 8]
    >>> ranker = ListMLERanker().fit([[0.0], [1.0]], [0, 1], [1, 1])
    >>> round(LogLikelihoodScorer()(ranker, X, y, groups), 6)
    -0.693147
    """

    # Which estimator is scored is an argument here, not metadata.
    __metadata_request__score = {  # noqa: RUF012
        **{"groups": True, "offset": True},
        "estimator": UNUSED,
    }

    _doc_link_module = "skrank"

    def __init__(self, composite: bool = False) -> None:
        self.composite = composite

    @suggests_groups
    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
        **of_rows: Any,
    ) -> float:
        """Return ``self.score`` of the same arguments."""
        return self.score(estimator, X, y, groups, sample_weight, **of_rows)

    @suggests_groups
    def score(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
    ) -> float:
        """Return the mean log-likelihood of lists under a fitted ranker.

        Parameters
        ----------
        estimator : estimator
            A fitted ranker that has ``log_likelihood``, a pipeline that ends in one, or
            a fitted search over such.
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Labels, higher is better.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row's list, constant inside a list.
        offset : array-like of shape (n_rows,), default=None
            Known part of the score of each row; needed after a fit with one.

        Returns
        -------
        score : float
            At most 0; minus infinity where ties have a size that the model never
            makes.

        Raises
        ------
        TypeError
            If the ranker has no such likelihood.
        ValueError
            If groups are missing, or as the ranker's ``log_likelihood``.
        """
        groups = find_groups(y, groups, repr(self), "y")
        model, features = last_model(estimator, X, groups)
        name = "composite_log_likelihood" if self.composite else "log_likelihood"
        try:
            method = getattr(model, name)
        except AttributeError as error:
            kind = type(model).__name__
            advice = f"a ranker that has {name}, such as ListMLERanker"
            if not self.composite and hasattr(model, "composite_log_likelihood"):
                advice = f"another ranker; {kind} has that of pairs (composite=True)"
            raise TypeError(
                f"{self!r} needs {advice}: {kind} has none. {error}"
            ) from error
        # Without an index, so that the ranker does not compare it once more.
        labels = np.asanyarray(y)
        options = {"sample_weight": sample_weight, "offset": offset}
        return float(method(features, labels, groups, average="mean", **options))

    @property
    def __name__(self) -> str:
        """What a table or a plot calls the scorer."""
        return "composite_log_likelihood" if self.composite else "log_likelihood"

    def _accept_sample_weight(self) -> bool:
        """Return that weights can be passed on; scikit-learn's searches ask this."""
        return True


def log_likelihood_scorer(*, composite: bool = False) -> LogLikelihoodScorer:
    """Make a scorer of the mean log-likelihood of lists.

    For ``scoring=`` of searches and cross-validation of probability models, where
    probabilities matter and not the order alone. ``make_ranking_scorer
    ("log_likelihood")`` and ``RankerCV(scoring="log_likelihood")`` mean the same. It
    compares models of the same sample space alone: penalties and features of one
    ranker, not ``ListMLERanker`` with ``PMOPRanker``, nor exact with approximate ties.

    Parameters
    ----------
    composite : bool, default=False
        Take the log-likelihood of pairs as if they were independent. Models with and
        without ties are of different spaces here, too.

    Returns
    -------
    scorer : LogLikelihoodScorer
        Greater is better.

    See Also
    --------
    make_ranking_scorer : Scorers of metrics, which need scores alone.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import cross_val_score
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.metrics import log_likelihood_scorer
    >>> from skrank.model_selection import QueryKFold
    >>> X, y, groups = make_ranking(60, random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scores = cross_val_score(
    ...         ListMLERanker(), X, y, cv=QueryKFold(3),
    ...         scoring=log_likelihood_scorer(), params={"groups": groups},
    ...     )
    >>> bool((scores < 0).all())
    True
    """
    return LogLikelihoodScorer(composite)


# Names that make_ranking_scorer takes, which need the fitted ranker and not its scores.
OF_RANKERS = {
    "log_likelihood": LogLikelihoodScorer(),
    "composite_log_likelihood": LogLikelihoodScorer(composite=True),
}
