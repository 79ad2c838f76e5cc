"""Register metrics by name: scorers, tables and the command look them up here.

A metric is registered by one call of :func:`registered` in its own file.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from skrank.metrics._likelihood_scorer import OF_RANKERS
from skrank.metrics._scorers import RankingScorer, check_options, name_of_metric


@dataclass(frozen=True, slots=True)
class NamedMetric:
    """A metric that people can ask for by name.

    Attributes
    ----------
    name : str
        Its name in tables; it begins with "neg_" where the scorer returns the negative.
    metric : callable
        ``metric(y, scores, groups, ...)``.
    scorer : callable
        Makes a scorer of the metric.
    aliases : tuple of str
        Other names that users may type.
    """

    name: str
    metric: Callable[..., Any]
    scorer: Callable[..., RankingScorer]
    aliases: tuple[str, ...]

    @property
    def takes_cutoff(self) -> bool:
        """Whether "@10" may follow the name."""
        return "k" in inspect.signature(self.metric).parameters


METRICS: dict[str, NamedMetric] = {}
# "ndcg@10", and as trec_eval writes it, "ndcg_cut_10".
WITH_CUTOFF = re.compile(r"(.+?)(?:[@_]([1-9]\d*))?")

# Arguments that a scorer fills in itself, or that belong to the rows of one data set.
OF_ROWS = {"average", "sample_weight", "doc_ids", "retrieved", "judged"}
SCORER_DOC = """Make a scorer of {minus}:func:`{metric}`.

    Parameters
    ----------
    **kwargs
        Arguments of :func:`{metric}`.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools; see :func:`make_ranking_scorer`.

    Raises
    ------
    TypeError
        If :func:`{metric}` does not take one of ``kwargs``.

    Examples
    --------
    >>> from skrank.metrics import {name}
    >>> {name}({shown})
    {made}
    """


def registered(
    metric: Callable[..., Any],
    *aliases: str,
    greater_is_better: bool = True,
    **example: Any,
) -> Callable[..., RankingScorer]:
    """Register a metric, and return the function that makes scorers of it.

    Parameters
    ----------
    metric : callable
        Function named ``..._score``; its name in the registry is the part before that.
    *aliases : str
        Other names that people type, in lower case.
    greater_is_better : bool, default=True
        False for a loss, whose scorer returns its negative.
    **example
        Arguments that the scorer's example shows.

    Raises
    ------
    ValueError
        If the function's name does not end in "_score", an alias is not in lower case,
        or a name stands for another metric already.
    """
    if not metric.__name__.endswith("_score"):
        raise ValueError(
            f"the name of a metric's function must end in '_score', got "
            f"{metric.__name__!r}."
        )
    name = name_of_metric(metric)
    if not greater_is_better:
        name = f"neg_{name}"
    scorer = _scorer_maker(metric, greater_is_better, example)
    entry = NamedMetric(name, metric, scorer, aliases)
    known = _names()
    for text in (name, *aliases):
        if text != text.strip().lower():
            raise ValueError(f"aliases must be in lower case, got {text!r}.")
        if text in known:
            raise ValueError(
                f"the name {text!r} of {metric.__name__} stands for "
                f"{known[text].metric.__name__} already."
            )
    METRICS[name] = entry
    return scorer


def _scorer_maker(
    metric: Callable[..., Any], greater_is_better: bool, example: dict[str, Any]
) -> Callable[..., RankingScorer]:
    """Return the function that makes scorers of a metric, with its documentation."""
    name = metric.__name__.removesuffix("_score") + "_scorer"
    parameters = inspect.signature(metric).parameters
    options = [
        parameter
        for parameter in parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in OF_ROWS
    ]

    def make(**kwargs: Any) -> RankingScorer:
        if "k" in parameters:
            kwargs = {"k": None, **kwargs}
        return make_ranking_scorer(
            metric, greater_is_better=greater_is_better, **kwargs
        )

    make.__name__ = make.__qualname__ = name
    make.__module__ = metric.__module__
    make.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    shown = ", ".join(f"{key}={value!r}" for key, value in example.items())
    make.__doc__ = SCORER_DOC.format(
        name=name,
        metric=metric.__name__,
        minus="" if greater_is_better else "minus ",
        shown=shown,
        made=make(**example),
    )
    return make


def metric_names() -> list[str]:
    """Return the names of metrics that ``scoring=`` and ``metrics=`` accept.

    A name may be in capitals. A cut-off may follow, as in "ndcg@10", where the function
    of the metric takes ``k``.

    Returns
    -------
    names : list of str
        The name of each metric, followed by its aliases.

    See Also
    --------
    make_ranking_scorer : Make a scorer of a name.

    Examples
    --------
    >>> from skrank.metrics import metric_names
    >>> [name for name in metric_names() if name.startswith("m")]
    ['map', 'map_cut', 'mrr']
    """
    return list(_names())


def _names() -> dict[str, NamedMetric]:
    """Return the entries by name and by alias."""
    return {
        text: entry
        for entry in METRICS.values()
        for text in (entry.name, *entry.aliases)
    }


def look_up(name: str) -> tuple[NamedMetric, int | None]:
    """Return the metric that a name stands for, and its cut-off.

    Parameters
    ----------
    name : str
        Such as "ndcg", "nDCG@10", "map" or "P_5".

    Raises
    ------
    ValueError
        If there is no such metric, or it takes no cut-off.
    """
    names = _names()
    text = name.strip().lower()
    if text in names:
        return names[text], None
    match = WITH_CUTOFF.fullmatch(text)
    base, cutoff = match.groups() if match else ("", None)
    if text in OF_RANKERS:
        raise ValueError(
            f"{text} asks the fitted ranker, not its scores, so it is no metric of a "
            "comparison: pass scoring=log_likelihood_scorer() to searches and "
            "cross-validation."
        )
    if base not in names or cutoff is None:
        known = ", ".join(sorted(METRICS))
        meant = f" Did you mean 'neg_{text}'?" if f"neg_{text}" in names else ""
        raise ValueError(
            f"there is no metric {name!r}; known are {known}, and with a cut-off as in "
            f"'ndcg@10'. For others give a scorer or a function.{meant}"
        )
    entry = names[base]
    if not entry.takes_cutoff:
        raise ValueError(f"metric {entry.name!r} takes no cut-off, got {name!r}.")
    return entry, int(cutoff)


def plain_name(name: str) -> str:
    """Return the name that tables use for what a user typed: "ndcg@10"."""
    entry, cutoff = look_up(name)
    return entry.name if cutoff is None else f"{entry.name}@{cutoff}"


def named_scorer(name: str, **options: Any) -> RankingScorer:
    """Return the scorer that a name stands for.

    Parameters
    ----------
    name : str
        As :func:`look_up` takes it.
    **options
        Arguments of the metric.

    Raises
    ------
    ValueError
        If there is no such metric, or it takes no cut-off.
    """
    entry, cutoff = look_up(name)
    if cutoff is not None:
        options["k"] = cutoff
    return entry.scorer(**options)


def make_ranking_scorer(
    metric: Any, *, greater_is_better: bool = True, **kwargs: Any
) -> Any:
    """Make a scorer of a metric of ranked lists.

    What to know inside scikit-learn's tools:

    - ``cv=5`` cuts lists without a warning: pass ``GroupKFold`` or ``QueryKFold``.
    - With metadata routing on, pass ``groups=`` to the search's ``fit``, and
      ``params={"groups": groups}`` to ``cross_validate``. With routing off use
      ``skrank.with_groups(y, groups)``. Where neither reaches the scorer it raises,
      and never scores all rows as one list.
    - Routing is set for each thread: a thread that is started later has it off.
      With ``config_context`` around ``fit`` only, a later ``search.score`` raises;
      ``search.best_estimator_.score`` works.
    - Weights pass through a pipeline only if each step says what it does with
      them: ``StandardScaler().set_fit_request(sample_weight=False)``.
    - ``sklearn.metrics.make_scorer`` of the same metric gets no groups with
      scikit-learn 1.8, and raises with 1.9.

    Parameters
    ----------
    metric : str or callable
        Name of a metric, see :func:`metric_names`, with a cut-off as in "ndcg@10";
        "log_likelihood", for which see :func:`log_likelihood_scorer`; or a function,
        called as ``metric(y, scores, groups, **kwargs)``, and with
        ``sample_weight`` where weights are given, which returns a number.
    greater_is_better : bool, default=True
        False for a loss: the score is then its negative. A name has its own sign.
    **kwargs
        Passed to ``metric``.

    Returns
    -------
    scorer : RankingScorer
        For ``scoring=`` of scikit-learn's tools.

    Raises
    ------
    TypeError
        If ``metric`` is not a name and not callable, or does not take one of
        ``kwargs``.
    ValueError
        If there is no metric of that name.

    Examples
    --------
    >>> from skrank.metrics import dcg_score, make_ranking_scorer
    >>> make_ranking_scorer(dcg_score, k=5)
    RankingScorer(dcg_score, k=5)
    >>> make_ranking_scorer("map@10")
    RankingScorer(average_precision_score, k=10)
    """
    if isinstance(metric, str):
        of_rankers = OF_RANKERS.get(metric.strip().lower())
        if of_rankers is not None:
            return clone(of_rankers).set_params(**kwargs)
        return named_scorer(metric, **kwargs)
    if not callable(metric):
        raise TypeError(
            f"metric must be a name such as 'ndcg@10' or callable, got {metric!r}."
        )
    check_options(metric, kwargs)
    return RankingScorer(metric, greater_is_better=greater_is_better, **kwargs)
