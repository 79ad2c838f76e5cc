"""Scorers that hand each row's group to the metric, and to predict where wanted."""

from __future__ import annotations

import inspect

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import UNUSED, get_routing_for_object

from skrank._groups import find_groups
from skrank.metrics._average_precision import average_precision_score
from skrank.metrics._cascade import err_score
from skrank.metrics._click_score import click_score
from skrank.metrics._correlation import kendall_tau_score, spearman_score
from skrank.metrics._first_hit import (
    expected_search_length_score,
    reciprocal_rank_score,
)
from skrank.metrics._gain import dcg_score, ndcg_score
from skrank.metrics._pairs import pairwise_accuracy_score
from skrank.metrics._precision import (
    f_measure_at_k_score,
    hit_rate_score,
    precision_at_k_score,
    r_precision_score,
    recall_at_k_score,
)
from skrank.metrics._preference import bpref_score
from skrank.metrics._rank_biased import rank_biased_precision_score


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
    __metadata_request__score = {"groups": True, "estimator": UNUSED}  # noqa: RUF012

    _doc_link_module = "skrank"

    def __init__(self, metric, *, greater_is_better=True, **kwargs):
        self.metric = metric
        self.greater_is_better = greater_is_better
        self.kwargs = kwargs

    def __call__(self, estimator, X, y, groups=None, sample_weight=None):
        """Return ``self.score`` of the same arguments."""
        return self.score(estimator, X, y, groups=groups, sample_weight=sample_weight)

    def score(self, estimator, X, y, groups=None, sample_weight=None):
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

        Returns
        -------
        score : float
            Higher is better.

        Raises
        ------
        ValueError
            If groups are missing, or the metric refuses what it gets.
        """
        groups = find_groups(y, groups, repr(self))
        options = dict(self.kwargs)
        if sample_weight is not None:
            options["sample_weight"] = sample_weight
        # As an array, so that the metric does not compare the index once more.
        scores = _predict(estimator, X, groups)
        value = self.metric(np.asarray(y), scores, groups, **options)
        return value if self.greater_is_better else -value

    def get_params(self, deep=True):
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

    def set_params(self, **params):
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
        own = {
            name: params.pop(name)
            for name in ("metric", "greater_is_better")
            if name in params
        }
        _check_options(own.get("metric", self.metric), params)
        for name, value in own.items():
            setattr(self, name, value)
        self.kwargs = {**self.kwargs, **params}
        return self

    def __repr__(self, N_CHAR_MAX=700):
        parts = [_name(self.metric)]
        if not self.greater_is_better:
            parts.append("greater_is_better=False")
        parts += [f"{name}={_name(value)}" for name, value in self.kwargs.items()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _accept_sample_weight(self):
        """Tell scikit-learn's searches whether weights can be passed on."""
        parameters = _parameters(self.metric)
        return parameters is None or "sample_weight" in parameters


def make_ranking_scorer(metric, *, greater_is_better=True, **kwargs):
    """Make a scorer of a metric of ranked lists.

    What to know inside scikit-learn's tools:

    - ``cv=5`` cuts lists, and nobody is told: pass ``GroupKFold`` or ``QueryKFold``.
    - With metadata routing on, pass ``groups=`` to the search's ``fit``, and
      ``params={"groups": groups}`` to ``cross_validate``. With routing off use
      ``skrank.with_groups(y, groups)``. Where neither reaches the scorer it raises,
      and never scores all rows as one list.
    - Routing is set for each thread: a thread that is started later has it off.
      With ``config_context`` around ``fit`` only, a later ``search.score`` raises;
      ``search.best_estimator_.score`` works.
    - Weights go through a pipeline only where each step says what it does with
      them: ``StandardScaler().set_fit_request(sample_weight=False)``.
    - ``sklearn.metrics.make_scorer`` of the same metric gets no groups with
      scikit-learn 1.8, and raises with 1.9.

    Parameters
    ----------
    metric : callable
        Called as ``metric(y, scores, groups, **kwargs)``, and with ``sample_weight``
        where weights are given; returns a number.
    greater_is_better : bool, default=True
        False for a loss: the score is then its negative.
    **kwargs
        Passed to ``metric``.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If ``metric`` is not callable or does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import dcg_score, make_ranking_scorer
    >>> make_ranking_scorer(dcg_score, k=5)
    RankingScorer(dcg_score, k=5)
    """
    if not callable(metric):
        raise TypeError(f"metric must be callable, got {metric!r}.")
    _check_options(metric, kwargs)
    return RankingScorer(metric, greater_is_better=greater_is_better, **kwargs)


def ndcg_scorer(*, k=None, **kwargs):
    """Make a scorer of :func:`ndcg_score`.

    Parameters
    ----------
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`ndcg_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`ndcg_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import ndcg_scorer
    >>> ndcg_scorer(k=10)
    RankingScorer(ndcg_score, k=10)
    """
    return make_ranking_scorer(ndcg_score, k=k, **kwargs)


def err_scorer(*, k=None, **kwargs):
    """Make a scorer of :func:`err_score`.

    Parameters
    ----------
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`err_score`, such as ``max_grade``.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`err_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import err_scorer
    >>> err_scorer(k=10, max_grade=2)
    RankingScorer(err_score, k=10, max_grade=2)
    """
    return make_ranking_scorer(err_score, k=k, **kwargs)


def pairwise_accuracy_scorer(**kwargs):
    """Make a scorer of :func:`pairwise_accuracy_score`.

    Parameters
    ----------
    **kwargs
        Arguments of :func:`pairwise_accuracy_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`pairwise_accuracy_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import pairwise_accuracy_scorer
    >>> pairwise_accuracy_scorer(empty=0.5)
    RankingScorer(pairwise_accuracy_score, empty=0.5)
    """
    return make_ranking_scorer(pairwise_accuracy_score, **kwargs)


def average_precision_scorer(*, k=None, **kwargs):
    """Make a scorer of :func:`average_precision_score`.

    Parameters
    ----------
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`average_precision_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`average_precision_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import average_precision_scorer
    >>> average_precision_scorer(k=10)
    RankingScorer(average_precision_score, k=10)
    """
    return make_ranking_scorer(average_precision_score, k=k, **kwargs)


def reciprocal_rank_scorer(*, k=None, **kwargs):
    """Make a scorer of :func:`reciprocal_rank_score`.

    Parameters
    ----------
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`reciprocal_rank_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`reciprocal_rank_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import reciprocal_rank_scorer
    >>> reciprocal_rank_scorer(k=10)
    RankingScorer(reciprocal_rank_score, k=10)
    """
    return make_ranking_scorer(reciprocal_rank_score, k=k, **kwargs)


def precision_at_k_scorer(*, k=None, **kwargs):
    """Make a scorer of :func:`precision_at_k_score`.

    Parameters
    ----------
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`precision_at_k_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`precision_at_k_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import precision_at_k_scorer
    >>> precision_at_k_scorer(k=10)
    RankingScorer(precision_at_k_score, k=10)
    """
    return make_ranking_scorer(precision_at_k_score, k=k, **kwargs)


def recall_at_k_scorer(*, k=None, **kwargs):
    """Make a scorer of :func:`recall_at_k_score`.

    Parameters
    ----------
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`recall_at_k_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`recall_at_k_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import recall_at_k_scorer
    >>> recall_at_k_scorer(k=10)
    RankingScorer(recall_at_k_score, k=10)
    """
    return make_ranking_scorer(recall_at_k_score, k=k, **kwargs)


def f_measure_at_k_scorer(*, k=None, **kwargs):
    """Make a scorer of :func:`f_measure_at_k_score`.

    Parameters
    ----------
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`f_measure_at_k_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`f_measure_at_k_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import f_measure_at_k_scorer
    >>> f_measure_at_k_scorer(k=10)
    RankingScorer(f_measure_at_k_score, k=10)
    """
    return make_ranking_scorer(f_measure_at_k_score, k=k, **kwargs)


def hit_rate_scorer(*, k=None, **kwargs):
    """Make a scorer of :func:`hit_rate_score`.

    Parameters
    ----------
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`hit_rate_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`hit_rate_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import hit_rate_scorer
    >>> hit_rate_scorer(k=10)
    RankingScorer(hit_rate_score, k=10)
    """
    return make_ranking_scorer(hit_rate_score, k=k, **kwargs)


def r_precision_scorer(**kwargs):
    """Make a scorer of :func:`r_precision_score`.

    Parameters
    ----------
    **kwargs
        Arguments of :func:`r_precision_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`r_precision_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import r_precision_scorer
    >>> r_precision_scorer(relevance_level=2)
    RankingScorer(r_precision_score, relevance_level=2)
    """
    return make_ranking_scorer(r_precision_score, **kwargs)


def bpref_scorer(**kwargs):
    """Make a scorer of :func:`bpref_score`.

    Parameters
    ----------
    **kwargs
        Arguments of :func:`bpref_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`bpref_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import bpref_scorer
    >>> bpref_scorer(empty=0.0)
    RankingScorer(bpref_score, empty=0.0)
    """
    return make_ranking_scorer(bpref_score, **kwargs)


def rank_biased_precision_scorer(*, k=None, **kwargs):
    """Make a scorer of :func:`rank_biased_precision_score`.

    Parameters
    ----------
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`rank_biased_precision_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`rank_biased_precision_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import rank_biased_precision_scorer
    >>> rank_biased_precision_scorer(k=10)
    RankingScorer(rank_biased_precision_score, k=10)
    """
    return make_ranking_scorer(rank_biased_precision_score, k=k, **kwargs)


def expected_search_length_scorer(**kwargs):
    """Make a scorer of minus :func:`expected_search_length_score`, as less is better.

    Parameters
    ----------
    **kwargs
        Arguments of :func:`expected_search_length_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`expected_search_length_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import expected_search_length_scorer
    >>> expected_search_length_scorer(n_wanted=2)
    RankingScorer(expected_search_length_score, greater_is_better=False, n_wanted=2)
    """
    return make_ranking_scorer(
        expected_search_length_score, greater_is_better=False, **kwargs
    )


def kendall_tau_scorer(**kwargs):
    """Make a scorer of :func:`kendall_tau_score`.

    Parameters
    ----------
    **kwargs
        Arguments of :func:`kendall_tau_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`kendall_tau_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import kendall_tau_scorer
    >>> kendall_tau_scorer(variant="a")
    RankingScorer(kendall_tau_score, variant='a')
    """
    return make_ranking_scorer(kendall_tau_score, **kwargs)


def spearman_scorer(**kwargs):
    """Make a scorer of :func:`spearman_score`.

    Parameters
    ----------
    **kwargs
        Arguments of :func:`spearman_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`spearman_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import spearman_scorer
    >>> spearman_scorer(empty=0.0)
    RankingScorer(spearman_score, empty=0.0)
    """
    return make_ranking_scorer(spearman_score, **kwargs)


def dcg_scorer(*, k=None, **kwargs):
    """Make a scorer of :func:`dcg_score`.

    Parameters
    ----------
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`dcg_score`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`dcg_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import dcg_scorer
    >>> dcg_scorer(k=10)
    RankingScorer(dcg_score, k=10)
    """
    return make_ranking_scorer(dcg_score, k=k, **kwargs)


def click_scorer(*, model, k=None, **kwargs):
    """Make a scorer of :func:`click_score`.

    Parameters
    ----------
    model : PositionBased, Cascade, DynamicBayesian or UserBrowsing
        How users go through a list.
    k : int, default=None
        Last rank that counts; None counts all.
    **kwargs
        Other arguments of :func:`click_score`, such as ``normalize``.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If :func:`click_score` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import UserBrowsing, click_scorer
    >>> click_scorer(model=UserBrowsing(tau=0.5), k=10)
    RankingScorer(click_score, model=UserBrowsing(tau=0.5), k=10)
    """
    return make_ranking_scorer(click_score, model=model, k=k, **kwargs)


def _predict(estimator, X, groups):
    """Return scores; groups go along where the model's routing asks for them."""
    model = _without_search(estimator)
    asks = model
    if isinstance(model, Pipeline) and not _routing_is_on():
        # Without routing a pipeline hands what it gets to its last step only.
        asks = model.steps[-1][1]
    if get_routing_for_object(asks).consumes("predict", ["groups"]):
        return model.predict(X, groups=groups)
    return estimator.predict(X)


def _without_search(estimator):
    """Return the model found by a search, since a search's predict takes X only."""
    if hasattr(estimator, "best_estimator_"):
        return _without_search(estimator.best_estimator_)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        model = _without_search(last)
        if model is not last:
            return Pipeline([*estimator.steps[:-1], (name, model)])
    return estimator


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


def _check_options(metric, options):
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
