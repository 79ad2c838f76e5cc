"""Scorers that pass groups to the metric, and to ``predict`` of models that ask."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import UNUSED, get_routing_for_object

from skrank._data.groups import find_groups, suggests_groups
from skrank._data.pipelines import with_best_model


class RankingScorer(BaseEstimator):
    """Scorer of ranked lists: ``scorer(estimator, X, y, groups=groups)``.

    It takes the place of ``sklearn.metrics.make_scorer``: it asks metadata routing
    for ``groups``, finds them on the index of ``y`` where routing is off, and passes
    them to ``predict`` of models that look at whole lists.

    Parameters
    ----------
    metric : callable
        Called as ``metric(y, scores, groups, **kwargs)``, and with ``sample_weight``
        where weights are given; returns a number.
    greater_is_better : bool, default=True
        False for a loss: the score is then its negative.
    **kwargs
        Passed to ``metric``.

    Attributes
    ----------
    kwargs : dict
        What is passed to ``metric``.

    See Also
    --------
    make_ranking_scorer : Make one, with its arguments checked.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank.metrics import RankingScorer, ndcg_score
    >>> X, y, groups = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 2], [7, 7, 8, 8]
    >>> scorer = RankingScorer(ndcg_score, k=10)
    >>> scorer
    RankingScorer(ndcg_score, k=10)
    >>> scorer(Ridge().fit(X, y), X, y, groups=groups)
    1.0
    """

    # Which estimator is scored is an argument here, not metadata.
    __metadata_request__score = {  # noqa: RUF012
        **{"groups": True, "history": True, "profile": True, "offset": True},
        "estimator": UNUSED,
    }

    _doc_link_module = "skrank"

    def __init__(
        self, metric: Any, *, greater_is_better: bool = True, **kwargs: Any
    ) -> None:
        self.metric = metric
        self.greater_is_better = greater_is_better
        self.kwargs = kwargs

    @suggests_groups
    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
        **of_lists: Any,
    ) -> Any:
        """Return ``self.score`` of the same arguments."""
        return self.score(estimator, X, y, groups, sample_weight, **of_lists)

    @suggests_groups
    def score(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any = None,
        sample_weight: Any = None,
        *,
        history: Any = None,
        profile: Any = None,
        offset: Any = None,
    ) -> float:
        """Return the metric of the order in which an estimator puts the rows.

        Parameters
        ----------
        estimator : estimator
            Fitted, with a ``predict`` that returns one score a row.
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Labels, higher is better.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row's list, constant inside a list.
        history, profile : skrank.neural.ListData, default=None
            Data of each list, for models that ask for them in ``predict``.
        offset : array-like of shape (n_rows,), default=None
            Known part of the score of each row, for models that ask for it there.

        Returns
        -------
        score : float
            Higher is better.

        Raises
        ------
        ValueError
            If groups are missing, or the metric refuses what it gets.
        """
        groups = find_groups(y, groups, repr(self), "y")
        options = dict(self.kwargs)
        if sample_weight is not None:
            options["sample_weight"] = sample_weight
        known = {"history": history, "profile": profile, "offset": offset}
        scores = predicted(estimator, X, {"groups": groups, **known})
        # Without an index, so that the metric does not compare it once more.
        value = self.metric(np.asanyarray(y), scores, groups, **options)
        return value if self.greater_is_better else -value

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those of the metric included.

        Parameters
        ----------
        deep : bool, default=True
            Ignored; there are no nested estimators.

        Returns
        -------
        params : dict
            Parameter names and values.
        """
        return {
            "metric": self.metric,
            "greater_is_better": self.greater_is_better,
            **self.kwargs,
        }

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the metric included.

        Parameters
        ----------
        **params : dict
            Parameter names and values.

        Returns
        -------
        self : RankingScorer
            This scorer.

        Raises
        ------
        TypeError
            If the metric does not take a parameter.
        """
        own_parameters = {
            name: params.pop(name)
            for name in ("metric", "greater_is_better")
            if name in params
        }
        check_options(own_parameters.get("metric", self.metric), params)
        for name, value in own_parameters.items():
            setattr(self, name, value)
        self.kwargs = {**self.kwargs, **params}
        return self

    def __repr__(self, N_CHAR_MAX=700):
        parts = [_name(self.metric)]
        if not self.greater_is_better:
            parts.append("greater_is_better=False")
        parts += [f"{name}={_name(value)}" for name, value in self.kwargs.items()]
        return f"{type(self).__name__}({', '.join(parts)})"

    @property
    def __name__(self):
        """Name for tables and plots, such as "ndcg@10, gain='linear'"."""
        options = dict(self.kwargs)
        sign = "" if self.greater_is_better else "neg_"
        name = sign + name_of_metric(self.metric)
        cutoff = options.pop("k", None)
        if cutoff is not None:
            name += f"@{cutoff}"
        parts = [name, *(f"{key}={_name(value)}" for key, value in options.items())]
        return ", ".join(parts)

    def _accept_sample_weight(self):
        """Return whether the metric takes weights; scikit-learn's searches ask this."""
        parameters = _parameters(self.metric)
        return parameters is None or "sample_weight" in parameters


def predicted(estimator: Any, X: Any, of_lists: dict[str, Any]) -> Any:
    """Return what ``predict`` returns when given the data of lists that it requests."""
    model = with_best_model(estimator)
    requester = model
    if isinstance(model, Pipeline) and not _routing_is_on():
        # Without routing a pipeline passes all arguments to its last step, and to no
        # other, so only that step's requests count.
        requester = model.steps[-1][1]
    of_lists = {name: value for name, value in of_lists.items() if value is not None}
    requested = get_routing_for_object(requester).consumes("predict", of_lists)
    if requested:
        return model.predict(X, **{name: of_lists[name] for name in requested})
    return estimator.predict(X)


def _routing_is_on():
    return sklearn.get_config()["enable_metadata_routing"]


def _parameters(metric):
    """Return the parameters by name, or None where any name is taken or unknown."""
    try:
        parameters = inspect.signature(metric).parameters
    except (TypeError, ValueError):
        return None
    if any(value.kind is value.VAR_KEYWORD for value in parameters.values()):
        return None
    return parameters


def name_of_metric(metric: Any) -> str:
    """Return the short name of a metric's function: "precision" of precision_at_k."""
    name = getattr(metric, "__name__", repr(metric))
    return name.removesuffix("_score").removesuffix("_at_k")


def check_options(metric: Any, options: dict[str, Any]) -> None:
    """Raise TypeError for options that a metric does not take."""
    parameters = _parameters(metric)
    if parameters is None:
        return
    for name in options:
        if name not in parameters:
            raise TypeError(f"{_name(metric)} has no parameter {name!r}.")


def _name(value):
    """Return the name of a function, else the repr of a value."""
    return value.__name__ if inspect.isfunction(value) else repr(value)
