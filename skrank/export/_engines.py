"""Models for search engines: Elasticsearch, OpenSearch and Solr."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from skrank._data.checks import finite_column
from skrank._data.warnings import warn
from skrank.export._formula import LinearFormula, linear_formula

FLOAT32_EPS = float(np.finfo(np.float32).eps)
ALLOWED = 1e-5  # lost digits, as a share of the range of scores


def to_elasticsearch(
    ranker: Any,
    name: str,
    *,
    feature_names: Any = None,
    offset: float = 0.0,
    constant_feature: str | None = None,
) -> dict[str, Any]:
    """Return a model for the learning-to-rank plugins of Elasticsearch and OpenSearch.

    The type is ``model/linear``: the score is the sum of the feature set's values
    times the weights. Send it as the body of
    ``POST _ltr/_featureset/<set>/_createmodel``.

    Parameters
    ----------
    ranker : LinearRanker or Pipeline
        Fitted; see :func:`linear_formula` for what a pipeline may hold.
    name : str
        Name of the model.
    feature_names : sequence of str, default=None
        Names of the features in the engine's feature set, in the order of the columns
        of ``X``; None takes those that ``fit`` saw.
    offset : float, default=0.0
        Added to every score. Lucene refuses negative scores, and
        :func:`smallest_offset` says how much lifts those of known rows to 0. Needs
        ``constant_feature``.
    constant_feature : str, default=None
        Name of a feature of the set whose value is always 1, such as
        ``{"match_all": {}}`` with boost 1; its weight carries the formula's constant
        and ``offset``. Without it the constant is left out: the order stays, the
        scores move by the same amount.

    Returns
    -------
    body : dict
        ``{"model": {"name": ..., "model": {"type": "model/linear", "definition":
        <JSON text of name to weight>}}}``.

    Raises
    ------
    TypeError
        If a step of the pipeline cannot be folded into weights.
    ValueError
        If names are missing, ``offset`` has no ``constant_feature`` to carry it, or
        a weight is beyond single precision.

    Warns
    -----
    UserWarning
        If the pipeline fills in missing values, which the engine takes as 0, or the
        engine's single precision may lose more than 1e-5 of the range of scores.

    References
    ----------
    .. [1] Elasticsearch Learning to Rank, "Uploading a trained model".
    .. [2] OpenSearch, "Uploading trained models".

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.export import to_elasticsearch
    >>> ranker = ListMLERanker().fit([[0.0], [1.0]], [0, 1], ["a", "a"])
    >>> body = to_elasticsearch(ranker, "shop", feature_names=["title_match"])
    >>> body["model"]["model"]["type"]
    'model/linear'
    """
    weights = _engine_weights(
        ranker, feature_names, offset, constant_feature, "to_elasticsearch"
    )
    definition = json.dumps(weights, allow_nan=False)
    model = {"type": "model/linear", "definition": definition}
    return {"model": {"name": str(name), "model": model}}


def to_solr(
    ranker: Any,
    name: str,
    *,
    feature_names: Any = None,
    offset: float = 0.0,
    constant_feature: str | None = None,
    store: str | None = None,
) -> dict[str, Any]:
    """Return a model for Solr's learning-to-rank module (LinearModel).

    Upload it as JSON with ``PUT /solr/<collection>/schema/model-store``.

    Parameters
    ----------
    ranker : LinearRanker or Pipeline
        Fitted; see :func:`linear_formula` for what a pipeline may hold.
    name : str
        Name of the model.
    feature_names : sequence of str, default=None
        Names of the features in Solr's feature store, in the order of the columns of
        ``X``; None takes those that ``fit`` saw.
    offset : float, default=0.0
        Added to every score, see :func:`to_elasticsearch`. Needs
        ``constant_feature``.
    constant_feature : str, default=None
        Name of a ValueFeature with the value 1; its weight carries the formula's
        constant and ``offset``.
    store : str, default=None
        Name of the feature store; None leaves it out, which is Solr's default store.

    Returns
    -------
    model : dict
        "class", "name", "features", "params" with the weights, and "store".

    Raises
    ------
    TypeError
        If a step of the pipeline cannot be folded into weights.
    ValueError
        If names are missing, ``offset`` has no ``constant_feature`` to carry it, or
        a weight is beyond single precision.

    Warns
    -----
    UserWarning
        If the pipeline fills in missing values, which Solr takes as 0 unless the
        feature has a default, or its single precision may lose digits.

    References
    ----------
    .. [1] Apache Solr, javadoc of ``org.apache.solr.ltr.model.LinearModel``.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.export import to_solr
    >>> ranker = ListMLERanker().fit([[0.0], [1.0]], [0, 1], ["a", "a"])
    >>> to_solr(ranker, "shop", feature_names=["title_match"])["features"]
    [{'name': 'title_match'}]
    """
    weights = _engine_weights(
        ranker, feature_names, offset, constant_feature, "to_solr"
    )
    model: dict[str, Any] = {
        "class": "org.apache.solr.ltr.model.LinearModel",
        "name": str(name),
        "features": [{"name": feature} for feature in weights],
        "params": {"weights": weights},
    }
    return model if store is None else {"store": str(store), **model}


def smallest_offset(ranker: Any, X: Any) -> float:
    """Return the offset that lifts the lowest score of some rows to 0.

    Lucene refuses negative scores. A new row may score below the rows of ``X``, so
    take rows that are the worst that can come, or add a margin.

    Parameters
    ----------
    ranker : estimator
        Fitted.
    X : array-like of shape (n_rows, n_features)
        Rows whose scores shall not be negative.

    Returns
    -------
    offset : float
        At least 0, in units of score.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.export import smallest_offset
    >>> ranker = ListMLERanker().fit([[0.0], [1.0]], [0, 1], ["a", "a"])
    >>> smallest_offset(ranker, [[0.0], [1.0]])
    0.0
    """
    return max(0.0, -float(finite_column(ranker.predict(X), "scores").min()))


def _engine_weights(
    ranker: Any,
    feature_names: Any,
    offset: float,
    constant_feature: str | None,
    caller: str,
) -> dict[str, float]:
    """Return the weight of each feature of the engine, the constant one last."""
    (offset,) = finite_column([offset], "offset")
    formula = linear_formula(ranker, feature_names)
    weights = dict(zip(formula.feature_names, formula.weights.tolist(), strict=True))
    if constant_feature is not None:
        constant_feature = str(constant_feature)
        if constant_feature in weights:
            raise ValueError(
                f"constant_feature={constant_feature!r} is the name of a feature; give "
                "the constant one a name of its own."
            )
        weights[constant_feature] = formula.constant + float(offset)
    elif offset != 0:
        raise ValueError(
            f"offset={offset:g} needs constant_feature=, the name of a feature of the "
            "engine whose value is always 1."
        )
    largest = max(map(abs, weights.values()), default=0.0)
    if largest > float(np.finfo(np.float32).max):
        raise ValueError(
            f"a weight of {largest:.3g} is beyond the single precision of the engine. "
            "Scale that feature where it is made."
        )
    _warn_of_filling(formula, caller)
    _warn_of_digits(formula, ranker, caller)
    return weights


def _warn_of_filling(formula: LinearFormula, caller: str) -> None:
    """Warn if missing values were filled in by other values than 0."""
    if formula.fill_values is None or not np.any(formula.fill_values):
        return
    first = int(np.argmax(formula.fill_values != 0))
    warn(
        f"{caller}: the pipeline fills in missing values (such as "
        f"{formula.fill_values[first]:.6g} for {formula.feature_names[first]!r}), and "
        "search engines take 0. Give these features defaults in the engine; "
        "linear_formula(ranker).fill_values has them all."
    )


def _warn_of_digits(formula: LinearFormula, ranker: Any, caller: str) -> None:
    """Warn if sums in single precision may lose more than ``ALLOWED``.

    If a scaler has means m and scales d, scores vary by about the norm of the weights
    times d, while each term of a sum is as large as its weight times m.
    """
    steps = getattr(ranker, "steps", [])
    for _, step in steps:
        mean, scale = getattr(step, "mean_", None), getattr(step, "scale_", None)
        if mean is None or scale is None or len(mean) != len(formula.weights):
            continue
        spread = float(np.linalg.norm(formula.weights * scale))
        size = float(np.abs(formula.weights * mean).sum())
        if spread > 0 and FLOAT32_EPS * size > ALLOWED * spread:
            warn(
                f"{caller}: features lie far from 0 for how much they vary, so single "
                f"precision may lose {FLOAT32_EPS * size / spread:.1g} of the range of "
                "scores. Subtract a round number from them where they are made."
            )
