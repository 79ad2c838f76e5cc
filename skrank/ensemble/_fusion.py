"""Fuse the rankings of several rankers, fitted to the same lists."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils import Bunch, get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
)
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _num_samples,
    check_is_fitted,
)

from skrank._data.checks import Integers, finite_column, refuse_lazy
from skrank._data.grouping import group_rows, groups_on_index
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.parameters import checks_parameters
from skrank._data.ranks import rank_within
from skrank._data.rollback import keeps_old_state
from skrank.base import RankerMixin
from skrank.ensemble._members import (
    checked_weights,
    fitted_member,
    member_arguments,
    member_names,
    missing_groups_of_predict,
    over_deviations,
    weighted_mean,
)
from skrank.ensemble._weights import weights_by_left_out_lists
from skrank.preprocessing import QueryScaler

METHODS = ("scores", "ranks", "rrf", "scaled")


class FusionRanker(RankerMixin, _BaseComposition):
    r"""Fit several rankers to the same lists, and fuse their rankings of each list.

    With :math:`s_{ki}` the score that member k gives row i, and :math:`r_{ki}` its rank
    in its list of n rows, 1 for the best and the mean of their ranks for equal scores,
    the fused score is the mean over members of

    - "scores": :math:`(s_{ki} - \bar s_k) / \sigma_k`, with the mean and the deviation
      of the list's scores (0 where these are all equal);
    - "ranks": :math:`n - r_{ki}`, the points of Borda's count;
    - "rrf": :math:`1 / (c + r_{ki})`, reciprocal rank fusion [1]_;
    - "scaled": :math:`s_{ki} / \sigma_k`, with :math:`\sigma_k` the deviation of the
      member's scores inside the training lists. Scores of single rows do not depend on
      their list, and linear members make a linear ranker, with ``coef_``.

    To fuse finished runs use the package ranx.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Names and members: rankers, or any estimators with ``fit`` and ``predict``.
        Members whose routing asks for ``groups`` get them, also where metadata routing
        is off; so do steps of a pipeline.
    method : {"scores", "ranks", "rrf", "scaled"}, default="scores"
        How to fuse.
    weights : "auto", None or array-like of shape (n_members,), default="auto"
        What each member counts in the mean, at least 0. "auto" chooses by ensemble
        selection, bagged over lists [2]_, what ranks best (by NDCG, or pairs where
        labels are not grades) lists that members were not fitted to: each half of the
        lists by members fitted to the other half, which takes as much time again. With
        fewer than ten lists all count alike. None counts all alike: faster, and worse
        where one member is far better than the others.
    rrf_constant : float, default=60.0
        The constant c of "rrf": the larger it is, the less first places count.
    n_jobs : int, default=None
        Number of processes or threads that fit members; None means 1 unless in a
        ``joblib.parallel_config``, -1 all cores.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    named_estimators_ : Bunch
        The fitted members by name.
    weights_ : ndarray of shape (n_members,)
        What each member counts: as given, or with "auto" shares whose sum is 1.
    deviations_ : ndarray of shape (n_members,)
        With "scaled": deviation of each member's scores inside the training lists. A
        member whose scores are all equal has 0 and does not count.
    coef_ : ndarray of shape (n_features,)
        With "scaled" and linear members: weight of each feature in the fused score.
    intercept_ : float
        With these: the score of a row of zeros, the same for all rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    Notes
    -----
    ``predict`` needs groups, except with ``method="scaled"``.
    As with :class:`~skrank.preprocessing.QueryScaler`, they may be on the index of a
    pandas ``X``, which a search's ``predict`` and ``cross_val_predict`` need.

    With ``weights="auto"`` members are fitted to halves of the lists, too. Members that
    are fitted already (``FrozenEstimator``) are judged by what they give these lists,
    so fuse them on lists that they have not seen; members whose ``cv`` is a list of
    rows, and features on disk that do not fit in memory, need other ``weights``.

    References
    ----------
    .. [1] G. V. Cormack, C. L. A. Clarke, S. Buettcher, "Reciprocal rank fusion
       outperforms Condorcet and individual rank learning methods", SIGIR 2009.
    .. [2] R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes, "Ensemble selection
       from libraries of models", ICML 2004.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank import ListNetRanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.ensemble import FusionRanker
    >>> X, y, groups = make_ranking(n_lists=50, random_state=0)
    >>> fusion = FusionRanker([("listnet", ListNetRanker()), ("ridge", Ridge())])
    >>> fusion.fit(X, y, groups).predict(X, groups).shape
    (907,)
    """

    __metadata_request__predict = {"groups": True}  # noqa: RUF012

    _parameter_constraints: dict = {  # noqa: RUF012
        "estimators": [list, tuple],
        "method": [StrOptions(set(METHODS))],
        "weights": ["array-like", StrOptions({"auto"}), None],
        "rrf_constant": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integers(None), None],
    }

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        method: str = "scores",
        *,
        weights: Any = "auto",
        rrf_constant: float = 60.0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.method = method
        self.weights = weights
        self.rrf_constant = rrf_constant
        self.n_jobs = n_jobs

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and those of members by name and double underscore.

        Parameters
        ----------
        deep : bool, default=True
            Include the members and their parameters.

        Returns
        -------
        params : dict
            Values by name.
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members by name, or members' parameters.

        Parameters
        ----------
        **params : dict
            Values by name, such as ``listnet__alpha=1.0``.

        Returns
        -------
        self : FusionRanker
            The ranker.
        """
        self._set_params("estimators", **params)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what is routed to members.

        Returns
        -------
        routing : MetadataRouter
            The router.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for caller in ("predict", "score"):
            mapping.add(caller=caller, callee="predict")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(**dict(self.estimators), method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            members = [get_tags(member).input_tags for _, member in self.estimators]
            tags.input_tags.sparse = all(member.sparse for member in members)
            tags.input_tags.allow_nan = all(member.allow_nan for member in members)
        except (AttributeError, TypeError, ValueError):
            pass  # fit raises the error about wrong members
        return tags

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        check_is_fitted(self)
        return self.estimators_[0].n_features_in_

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weight of each feature in the fused score."""
        check_is_fitted(self)
        self._check_linear()
        rows = [np.ravel(member.coef_) for member in self.estimators_]
        columns = over_deviations(np.array(rows).T, self.deviations_)
        return weighted_mean(columns, self.weights_)

    @property
    def intercept_(self) -> float:
        """Score of a row of zeros."""
        check_is_fitted(self)
        self._check_linear()
        values = [getattr(member, "intercept_", 0.0) for member in self.estimators_]
        row = np.array([np.mean(value) for value in values])
        return float(
            weighted_mean(over_deviations(row, self.deviations_), self.weights_)
        )

    def _check_scaled(self):
        """Raise where the fit was by another method."""
        check_is_fitted(
            self,
            "deviations_",
            msg="%(name)s was fitted with another method than 'scaled', which needs "
            "the deviations of members' scores in training: fit it again.",
        )

    def _check_linear(self):
        """Raise AttributeError unless the fused score is linear in the features."""
        linear = all(hasattr(member, "coef_") for member in self.estimators_)
        if self.method != "scaled" or not linear:
            raise AttributeError(
                "coef_ needs method='scaled' and members that all have coef_."
            )
        self._check_scaled()

    @suggests_groups
    @checks_parameters(prefer_skip_nested_validation=False)
    @keeps_old_state
    def fit(
        self, X: Any, y: Any, groups: Any = None, *, sample_weight: Any = None
    ) -> Self:
        """Fit every member.

        An error leaves the ranker as it was before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features, handed on to members as they are.
        y : array-like of shape (n_rows,)
            Labels, higher is better; where 1 is the best, as places in a race, pass
            :func:`~skrank.interop.from_ranks` of them.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row, as the members take it: all of them weights that are
            constant inside a list, some losses others. With metadata routing for
            members that ask for it, else for all.

        Returns
        -------
        self : FusionRanker
            The fitted ranker.

        Raises
        ------
        ValueError
            If there are no members, names repeat or clash with parameters, groups are
            missing or do not fit, a member takes no ``sample_weight`` that is given,
            or what members raise.
        """
        self._validate_names(member_names(self.estimators))
        groups = find_groups(y, groups, f"{type(self).__name__}.fit", "y")
        refuse_lazy(X, "X")
        grouping = group_rows(groups, _num_samples(X))
        if isinstance(self.weights, str):
            self.weights_ = weights_by_left_out_lists(
                self, X, y, grouping, groups, sample_weight
            )
        else:
            self.weights_ = checked_weights(self.weights, len(self.estimators))
        arguments = member_arguments(self, "fit", groups, sample_weight)
        for name in ("feature_names_in_", "deviations_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        with config_context(enable_metadata_routing=True):
            self.estimators_ = Parallel(n_jobs=self.n_jobs)(
                delayed(fitted_member)(member, X, y, arguments[name])
                for name, member in self.estimators
            )
        names = [name for name, _ in self.estimators]
        self.named_estimators_ = Bunch(
            **dict(zip(names, self.estimators_, strict=True))
        )
        if hasattr(self.estimators_[0], "feature_names_in_"):
            self.feature_names_in_ = self.estimators_[0].feature_names_in_
        if self.method == "scaled":
            scores = self._scores_of_members(X, groups)
            centred = QueryScaler("center").fit_transform(scores, groups=groups)
            # Divide by the largest, so that squares neither overflow nor underflow.
            unit = np.abs(centred).max(axis=0)
            shares = centred / np.where(unit > 0, unit, 1.0)
            self.deviations_ = unit * np.sqrt(np.mean(shares**2, axis=0))
        return self

    @suggests_groups
    def predict(self, X: Any, groups: Any = None) -> NDArray[np.float64]:
        """Return the fused score of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``X``. With
            "scaled" only members may need them.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            Larger is better inside a list. Scores of different lists do not compare.

        Raises
        ------
        NotFittedError
            If :meth:`fit` has not run.
        ValueError
            If groups are missing or do not fit, or a member gives no finite scores.
        """
        check_is_fitted(self)
        return weighted_mean(self._columns(X, groups), self.weights_)

    def _columns(self, X, groups):
        """Return what is fused, (n_rows, n_members)."""
        if self.method == "scaled":
            self._check_scaled()
            groups = groups_on_index(X) if groups is None else groups
            return over_deviations(self._scores_of_members(X, groups), self.deviations_)
        name = f"{type(self).__name__}.predict"
        groups = find_groups(X, groups, name, "X", explain=missing_groups_of_predict)
        refuse_lazy(X, "X")
        grouping = group_rows(groups, _num_samples(X))
        scores = self._scores_of_members(X, groups)
        if self.method == "scores":
            return QueryScaler().fit_transform(scores, groups=groups)
        ranks = np.column_stack(
            [rank_within(column, groups, method="average") for column in scores.T]
        )
        if self.method == "rrf":
            return 1.0 / (self.rrf_constant + ranks)
        sizes = grouping.scatter(grouping.lists.expand(grouping.lists.sizes))
        return sizes[:, None] - ranks

    def _scores_of_members(self, X, groups):
        """Return what members predict, (n_rows, n_members)."""
        arguments = member_arguments(self, "predict", groups)
        columns = []
        with config_context(enable_metadata_routing=True):
            for (name, _), member in zip(
                self.estimators, self.estimators_, strict=True
            ):
                scores = member.predict(X, **arguments[name])
                columns.append(finite_column(scores, f"scores of member {name!r}"))
        return np.column_stack(columns)
