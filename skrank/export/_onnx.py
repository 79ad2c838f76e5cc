"""A score as an ONNX model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline

from skrank.ensemble._columns import plain_step
from skrank.export._formula import pipeline_steps, refuse_scaling_by_list


def to_onnx(ranker: Any, X: Any) -> Any:
    """Return an ONNX model of a fitted ranker, or of a pipeline that ends in one.

    skl2onnx converts the steps before the ranker, so they may be any that it knows:
    scalers, imputers, encoders, a ColumnTransformer. The ranker becomes a
    linear regressor without an intercept. ONNX-ML holds numbers in single precision:
    scores are right to about 1e-7 of the largest feature in units of its scale.

    Parameters
    ----------
    ranker : LinearRanker or Pipeline
        Fitted.
    X : {array-like, dataframe} of shape (n_rows, n_features)
        Some rows as ``predict`` takes them; only their kind matters. Numbers become
        one input "X" of float32; of a frame that also holds text each column becomes
        an input of its own.

    Returns
    -------
    model : onnx.ModelProto
        Its output "variable" has shape (n_rows, 1). Write it with
        ``model.SerializeToString()``.

    Raises
    ------
    ImportError
        If skl2onnx is not installed (extra "onnx").
    TypeError
        If the ranker has no linear weights, or features are scaled inside each list.
    NotFittedError
        If ``ranker`` is not fitted.

    References
    ----------
    .. [1] ONNX, "ai.onnx.ml: LinearRegressor".

    Examples
    --------
    >>> from skrank.export import to_onnx
    >>> model = to_onnx(ranker, X)  # doctest: +SKIP
    >>> open("ranker.onnx", "wb").write(model.SerializeToString())  # doctest: +SKIP
    """
    try:
        import skl2onnx
    except ImportError as error:
        raise ImportError(
            'to_onnx needs skl2onnx: pip install "skrank[onnx]".'
        ) from error
    *before, last = pipeline_steps(ranker)
    for step in before:
        refuse_scaling_by_list(step)
    model = LinearRegression()
    model.coef_ = np.asarray(last.coef_, dtype=np.float64).ravel()
    model.intercept_ = np.float64(np.sum(getattr(last, "intercept_", 0.0)))
    model.n_features_in_ = len(model.coef_)
    steps = [*map(plain_step, before), model]
    pipeline = Pipeline([(f"step{place}", step) for place, step in enumerate(steps)])
    return skl2onnx.to_onnx(pipeline, _sample(X))


def _sample(X: Any) -> Any:
    """Return one row: numbers in single precision, or a frame as it is."""
    dtypes = getattr(X, "dtypes", None)
    if dtypes is not None and not all(
        getattr(dtype, "kind", "O") in "biuf" for dtype in np.ravel(dtypes)
    ):
        return X[:1]
    return np.asarray(X[:1], dtype=np.float32)
