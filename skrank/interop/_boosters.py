"""Gradient boosters of other packages as rankers that take groups."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import (
    _num_samples,
    check_is_fitted,
    validate_data,
)

from skrank._data.checks import finite_column
from skrank._data.grouping import Grouping, group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Lists
from skrank._data.parameters import checks_parameters
from skrank._data.weights import list_weights
from skrank.base import RankerMixin
from skrank.interop._booster_libraries import Part, adapter_of

# Arguments of the boosters' fit methods that BoosterRanker makes from groups itself.
GROUP_ARGUMENTS = ("group", "qid", "group_id")
OWN_ARGUMENTS = {
    *GROUP_ARGUMENTS,
    *("eval_group", "eval_qid", "eval_sample_weight", "sample_weight_eval_set"),
    *("group_weight", "pairs"),
}


class BoosterRanker(MetaEstimatorMixin, RankerMixin, BaseEstimator):
    """Fit a ranker of LightGBM, XGBoost or CatBoost to rows with group labels.

    The three libraries want rows sorted by list and groups in forms of their own: sizes
    (LightGBM), non-decreasing numbers (XGBoost), ids of which each comes in one run
    (CatBoost). This wrapper takes what skrank's rankers take, in any row order, passes
    each library the arguments it needs, and returns scores in the caller's order.
    Inside a list the rows keep their order.

    Parameters
    ----------
    estimator : LGBMRanker, XGBRanker or CatBoostRanker
        What to fit; it is cloned, so its settings are searched as
        ``estimator__n_estimators`` and the like.
    validation_fraction : float, default=None
        Share of the lists that is kept out of the fit and given to the library as its
        evaluation set, for an ``estimator`` with ``early_stopping_rounds``. None keeps
        none.
    random_state : int, RandomState instance or None, default=None
        Draws the lists that are kept out.

    Attributes
    ----------
    estimator_ : estimator
        The fitted booster, with all that its library offers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    See Also
    --------
    make_booster_objective : Train a booster by any loss of skrank.

    Notes
    -----
    What a library cannot take raises before the fit: LightGBM needs whole labels from
    0 to 30, or ``label_gain``; XGBoost whole labels from 0 to 31 for its gains
    ``2^y - 1`` (``ndcg_exp_gain=False`` lifts that) and 0 or 1 for "rank:map".
    ``sample_weight`` has one entry a row, constant inside a list: XGBoost gets the
    weight of each list, CatBoost ``group_weight``, LightGBM the weight of each row.

    References
    ----------
    .. [1] Burges, "From RankNet to LambdaRank to LambdaMART", MSR-TR-2010-82, 2010.

    Examples
    --------
    >>> from lightgbm import LGBMRanker  # doctest: +SKIP
    >>> from skrank.interop import BoosterRanker
    >>> ranker = BoosterRanker(LGBMRanker(n_estimators=50))  # doctest: +SKIP
    >>> ranker.fit(X, y, groups).score(X, y, groups)  # doctest: +SKIP
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"])],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        validation_fraction: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    @suggests_groups
    @checks_parameters(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        sample_weight: Any = None,
        eval_set: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the booster.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            Features, as the library takes them: with missing values and categories
            where it knows them.
        y : array-like of shape (n_rows,)
            Labels, higher is better; where 1 is the best, as places in a race, pass
            :func:`~skrank.interop.from_ranks` of them. A pandas object may carry the
            groups on an index level named "groups".
        groups : array-like of shape (n_rows,), default=None
            Label of each row's list, of any hashable kind and in any order.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row's list, constant inside a list.
        eval_set : tuple (X, y, groups) or list of these, default=None
            Lists that the library watches, for early stopping. ``groups`` may be None
            where ``y`` carries them.
        **fit_params
            Other arguments of the library's ``fit``, such as ``callbacks``.

        Returns
        -------
        self : BoosterRanker
            The fitted ranker.

        Raises
        ------
        TypeError
            If ``estimator`` is not a ranker of these libraries, or ``fit_params`` hold
            groups in the form of a library.
        ValueError
            If groups are missing, lengths differ, labels are not finite or none that
            the library takes, or a validation part would have no list.
        """
        adapter = adapter_of(self.estimator)
        conflicts = sorted(OWN_ARGUMENTS & set(fit_params))
        if conflicts:
            raise TypeError(
                f"BoosterRanker.fit() takes groups=, sample_weight= and eval_set= and "
                f"makes {conflicts[0]}= of them itself; leave {conflicts[0]} out."
            )
        part = _checked(X, y, groups, sample_weight, "BoosterRanker.fit")
        watched = [
            _checked(*_three(entry), None, "BoosterRanker.fit, eval_set")
            for entry in _entries(eval_set)
        ]
        if self.validation_fraction is not None:
            part, kept_out = self._split(part)
            watched.append(kept_out)
        booster = clone(self.estimator)
        for one in (part, *watched):
            adapter.check_labels(booster, one.y)
        adapter.fit(booster, part, watched, fit_params)
        validate_data(self, X, skip_check_array=True)
        self.estimator_ = booster
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            Features.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            Larger is better inside a list, in the order of the rows of ``X``.

        Raises
        ------
        NotFittedError
            If :meth:`fit` has not run.
        ValueError
            If ``X`` has another number or other names of features than in ``fit``.
        """
        check_is_fitted(self)
        validate_data(self, X, skip_check_array=True, reset=False)
        return np.asarray(self.estimator_.predict(X), dtype=np.float64)

    def _split(self, part: Part) -> tuple[Part, Part]:
        """Return the part to fit and a part of whole lists to watch."""
        assert self.validation_fraction is not None
        n_lists = part.lists.n_lists
        n_kept_out = int(np.ceil(self.validation_fraction * n_lists))
        if n_kept_out >= n_lists:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {n_lists} lists "
                "leaves none to fit. Pass more lists, or eval_set=."
            )
        drawn = check_random_state(self.random_state).permutation(n_lists)
        watched = np.zeros(n_lists, dtype=bool)
        watched[drawn[:n_kept_out]] = True
        return _lists_of(part, ~watched), _lists_of(part, watched)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags


def as_ranker(estimator: Any) -> Any:
    """Return an estimator that takes groups; wrap boosters, also inside pipelines.

    Parameters
    ----------
    estimator : estimator
        Anything with ``fit``. One whose ``fit`` takes ``group``, ``qid`` or
        ``group_id`` but no ``groups`` is wrapped in :class:`BoosterRanker`; of a
        pipeline its last step. All else is returned as it is.

    Returns
    -------
    ranker : estimator
        Not fitted if it is a new object.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank.interop import as_ranker
    >>> as_ranker(Ridge())
    Ridge()
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        wrapped = as_ranker(last)
        if wrapped is last:
            return estimator
        return clone(estimator).set_params(**{name: wrapped})
    if isinstance(estimator, RankerMixin) or not hasattr(estimator, "fit"):
        return estimator
    try:
        arguments = inspect.signature(estimator.fit).parameters
    except (TypeError, ValueError):
        return estimator
    if "groups" in arguments or not set(GROUP_ARGUMENTS) & set(arguments):
        return estimator
    return BoosterRanker(estimator)


def _checked(X: Any, y: Any, groups: Any, sample_weight: Any, caller: str) -> Part:
    """Check rows, and sort them by list."""
    groups = find_groups(y, groups, caller, "y")
    labels = finite_column(y, "y")
    if _num_samples(X) != len(labels):
        raise ValueError(
            f"{caller}: X has {_num_samples(X)} rows and y has {len(labels)}; they "
            "must be as many."
        )
    grouping = group_rows(groups, len(labels))
    weights = list_weights(sample_weight, grouping)
    return Part(
        _gathered(X, grouping), grouping.gather(labels), grouping.lists, weights
    )


def _gathered(X: Any, grouping: Grouping) -> Any:
    """Return the rows of a table, of any kind, in the order of the lists."""
    return X if grouping.rows is None else _safe_indexing(X, grouping.rows)


def _lists_of(part: Part, chosen: NDArray[np.bool_]) -> Part:
    """Return some of the lists of a part."""
    rows = np.flatnonzero(part.lists.expand(chosen))
    return Part(
        _safe_indexing(part.X, rows),
        part.y[rows],
        Lists(part.lists.sizes[chosen]),
        None if part.weights is None else part.weights[chosen],
    )


def _entries(eval_set: Any) -> Iterable[Any]:
    """Return the evaluation sets as a list."""
    if eval_set is None:
        return []
    return [eval_set] if isinstance(eval_set, tuple) else eval_set


def _three(entry: Any) -> tuple[Any, Any, Any]:
    """Return features, labels and groups of an evaluation set."""
    if len(entry) == 2:
        return (*entry, None)
    if len(entry) != 3:
        raise ValueError(
            "eval_set must hold (X, y, groups), or (X, y) with groups on the index of "
            f"y; got {len(entry)} entries."
        )
    return tuple(entry)
