"""A fitted linear pipeline as one formula: names, weights, a constant."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_array, check_is_fitted

from skrank._data.checks import count_of, finite_column
from skrank._data.lists import Floats
from skrank._data.pipelines import without_search

FORMAT = "skrank linear formula"
VERSION = 1


@dataclass(frozen=True, slots=True)
class LinearFormula:
    r"""A score as a weighted sum of raw features.

    .. math::

        s = c + \sum_j w_j x_j

    Attributes
    ----------
    feature_names : list of str
        Names of the features, in the order of the columns.
    weights : ndarray of shape (n_features,)
        Weight of each feature, in units of score per unit of the raw feature.
    constant : float
        Added to every score; it does not change the order.
    fill_values : ndarray of shape (n_features,) or None
        Value in place of missing ones of each feature; None if the pipeline had no
        imputer.

    Examples
    --------
    >>> from skrank.export import LinearFormula
    >>> formula = LinearFormula(["clicks", "age"], [2.0, -1.0], 0.5, None)
    >>> formula.predict([[1.0, 0.5], [3.0, 2.0]])
    array([2. , 4.5])
    """

    feature_names: list[str]
    weights: Floats
    constant: float
    fill_values: Floats | None

    def predict(self, X: Any) -> Floats:
        """Return the score of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Raw features: the columns of ``feature_names`` in this order, or a frame
            that has these columns.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
            Larger is better inside a list.

        Raises
        ------
        ValueError
            If a column is missing, or ``X`` has missing values and the formula no
            values to fill in.
        """
        columns = getattr(X, "columns", None)
        if columns is not None:
            missing = [name for name in self.feature_names if name not in columns]
            if missing:
                raise ValueError(
                    f"X has no column {missing[0]!r}, which the formula weighs; it "
                    "needs all of feature_names."
                )
            X = X[self.feature_names]
        table = check_array(
            X,
            dtype=np.float64,
            ensure_all_finite=True if self.fill_values is None else "allow-nan",
        )
        if table.shape[1] != len(self.feature_names):
            raise ValueError(
                f"X has {table.shape[1]} columns and the formula has "
                f"{count_of(len(self.feature_names), 'feature')}."
            )
        if self.fill_values is not None:
            table = np.where(np.isnan(table), self.fill_values, table)
        return table @ np.asarray(self.weights) + self.constant

    def to_json(self) -> str:
        """Return the formula as JSON text that :meth:`from_json` reads back exactly.

        Returns
        -------
        text : str
            An object with "format", "version", "feature_names", "weights",
            "constant" and "fill_values" (null without an imputer).
        """
        fill = self.fill_values
        return json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "feature_names": list(self.feature_names),
                "weights": np.asarray(self.weights, dtype=float).tolist(),
                "constant": float(self.constant),
                "fill_values": None if fill is None else np.asarray(fill).tolist(),
            },
            indent=1,
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> LinearFormula:
        """Return the formula that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str or bytes
            The JSON text; nothing in it is executed.

        Returns
        -------
        formula : LinearFormula
            The formula.

        Raises
        ------
        ValueError
            If the text is not such a formula, of a later version, or its parts do not
            fit together.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise ValueError(
                f"the text is not JSON: {error}. Pass what to_json wrote."
            ) from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(
                f'the text is JSON but not a "{FORMAT}". Pass what to_json wrote.'
            )
        if data.get("version") != VERSION:
            raise ValueError(
                f"the formula has version {data.get('version')!r}; this skrank reads "
                f"version {VERSION}."
            )
        names = data.get("feature_names")
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            raise ValueError("feature_names must be a list of strings.")
        weights = finite_column(data.get("weights"), "weights")
        (constant,) = finite_column([data.get("constant")], "constant")
        fill = data.get("fill_values")
        fill = None if fill is None else finite_column(fill, "fill_values")
        for column, name in ((weights, "weights"), (fill, "fill_values")):
            if column is not None and len(column) != len(names):
                raise ValueError(
                    f"{name} has {len(column)} entries for "
                    f"{count_of(len(names), 'feature')}; it needs one for each."
                )
        return cls(names, weights, float(constant), fill)


def linear_formula(ranker: Any, feature_names: Any = None) -> LinearFormula:
    """Fold a fitted ranker, and the scalers before it, into one formula.

    A scaler takes x to (x - center) / scale, so the weight of a raw feature is
    ``coef_ / scale``, and ``-sum(coef_ * center / scale)`` goes to the constant.

    Parameters
    ----------
    ranker : LinearRanker or Pipeline
        Fitted. Steps of a pipeline may be StandardScaler, MinMaxScaler (without
        ``clip``), MaxAbsScaler, RobustScaler, SimpleImputer (without indicators),
        any selection of features, and "passthrough".
    feature_names : sequence of str, default=None
        Names of the raw features; None takes those that ``fit`` saw.

    Returns
    -------
    formula : LinearFormula
        The same scores, to rounding, from raw features.

    Raises
    ------
    TypeError
        If ``ranker`` has no linear weights, or a step is not linear in each feature.
    ValueError
        If there are no names, or not one a feature, or one comes twice.
    NotFittedError
        If ``ranker`` is not fitted.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skrank import ListMLERanker
    >>> from skrank.export import linear_formula
    >>> X, y = [[0.0], [10.0], [20.0]], [0, 1, 2]
    >>> pipeline = make_pipeline(StandardScaler(), ListMLERanker())
    >>> _ = pipeline.fit(X, y, listmleranker__groups=["a", "a", "a"])
    >>> formula = linear_formula(pipeline, feature_names=["clicks"])
    >>> bool(abs(formula.predict([[20.0]]) - pipeline.predict([[20.0]])) < 1e-12)
    True
    """
    steps = pipeline_steps(ranker)
    last = steps[-1]
    weights = np.asarray(last.coef_, dtype=np.float64).ravel()
    constant = float(np.sum(getattr(last, "intercept_", 0.0)))
    fill: Floats | None = None
    for step in reversed(steps[:-1]):
        weights, constant, fill = _through(step, weights, constant, fill)
    if not (np.isfinite(weights).all() and np.isfinite(constant)):
        raise ValueError(
            "the weights of raw features are beyond double precision: a scaler divides "
            "by a tiny scale. Drop that feature or scale it before."
        )
    names = _names(steps[0], feature_names, weights)
    return LinearFormula(names, weights, constant, fill)


def pipeline_steps(ranker: Any) -> list[Any]:
    """Return the fitted steps of a pipeline, the last of which has linear weights."""
    steps = _steps(ranker)
    last = steps[-1]
    check_is_fitted(last)
    if not hasattr(last, "coef_"):
        raise TypeError(
            f"{type(last).__name__} has no linear weights coef_, so it is no formula. "
            "Export a linear ranker, or save the estimator with skops."
        )
    shape = np.shape(last.coef_)
    if len(shape) > 2 or (len(shape) == 2 and shape[0] != 1):
        raise TypeError(
            f"{type(last).__name__} has coefficients of shape {shape}, several scores "
            "a row; a formula has one."
        )
    return steps


def refuse_scaling_by_list(step: Any) -> None:
    """Raise TypeError for a step that scales inside lists."""
    if type(step).__name__ == "QueryScaler":
        raise TypeError(
            "QueryScaler scales inside each list, which no formula of one row can do. "
            "Fit ranking_pipeline(per_list=False), or scale by list where the features "
            "are made."
        )


def _steps(ranker: Any) -> list[Any]:
    """Return the steps of a pipeline, of pipelines in it too, or the ranker alone."""
    ranker = without_search(ranker)
    if not isinstance(ranker, Pipeline):
        return [ranker]
    steps = [
        part
        for _, step in ranker.steps
        if step is not None and not isinstance(step, str)
        for part in _steps(step)
    ]
    if not steps:
        raise TypeError("the pipeline has no steps, so there is nothing to export.")
    return steps


def _through(
    step: Any, weights: Floats, constant: float, fill: Floats | None
) -> tuple[Floats, float, Floats | None]:
    """Return weights, constant and fill values of the features before a step."""
    check_is_fitted(step)
    if isinstance(step, SelectorMixin):
        support = step.get_support()
        before = np.zeros(len(support))
        before[support] = weights
        if fill is not None:
            selected, fill = fill, np.zeros(len(support))
            fill[support] = selected
        return before, constant, fill
    if isinstance(step, SimpleImputer):
        return weights, constant, _fill_values(step, fill)
    center, scale = _center_and_scale(step)
    if fill is not None:  # in the units of the features before the step
        fill = fill * scale + center
    return weights / scale, constant - float(np.sum(weights / scale * center)), fill


def _center_and_scale(step: Any) -> tuple[Floats | float, Floats | float]:
    """Return c and d of a step that takes each feature x to (x - c) / d."""
    if isinstance(step, StandardScaler | RobustScaler):
        center = step.mean_ if isinstance(step, StandardScaler) else step.center_
        return (
            0.0 if center is None or not _centers(step) else center,
            1.0 if step.scale_ is None else step.scale_,
        )
    if isinstance(step, MinMaxScaler) and not step.clip:
        return -step.min_ / step.scale_, 1.0 / step.scale_
    if isinstance(step, MaxAbsScaler):
        return 0.0, step.scale_
    refuse_scaling_by_list(step)
    raise TypeError(
        f"{type(step).__name__} cannot be folded into weights of raw features. Steps "
        "before the ranker may be StandardScaler, MinMaxScaler(clip=False), "
        "MaxAbsScaler, RobustScaler, SimpleImputer and selections of features; make "
        "other features before the pipeline."
    )


def _centers(step: Any) -> bool:
    """Return whether a scaler subtracts its center."""
    return bool(getattr(step, "with_mean", getattr(step, "with_centering", False)))


def _fill_values(step: SimpleImputer, fill: Floats | None) -> Floats:
    """Return the values by which an imputer replaces missing numbers."""
    values = step.statistics_
    if not _is_nan(step.missing_values):
        raise TypeError(
            f"SimpleImputer(missing_values={step.missing_values!r}) replaces numbers, "
            "which is not linear in them; replace them by NaN before the pipeline."
        )
    if step.add_indicator or len(values) != step.n_features_in_:
        raise TypeError(
            "SimpleImputer(add_indicator=True) makes features that are not linear in "
            "the raw ones; use add_indicator=False to export."
        )
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "SimpleImputer fills in text, which has no weight; turn the column into "
            "numbers before the pipeline, for example by OneHotEncoder."
        ) from error
    if np.isnan(numbers).any():
        raise TypeError(
            "SimpleImputer drops a feature that had no values in fit; drop the column "
            "before, or use keep_empty_features=True."
        )
    return numbers  # an earlier imputer has left no missing values to this one


def _is_nan(value: Any) -> bool:
    """Return whether an imputer replaces NaN or pandas.NA."""
    return value is None or type(value).__name__ == "NAType" or value != value


def _names(first: Any, feature_names: Any, weights: NDArray) -> list[str]:
    """Return one name a feature: the argument, or what fit saw."""
    if feature_names is None:
        feature_names = getattr(first, "feature_names_in_", None)
    if feature_names is None:
        raise ValueError(
            "the fit saw no names of features (X was no frame). Pass feature_names=, "
            f"one for each of {len(weights)} columns."
        )
    names = [str(name) for name in feature_names]
    if len(names) != len(weights):
        raise ValueError(
            f"feature_names has {count_of(len(names), 'name')} for "
            f"{count_of(len(weights), 'feature')}."
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"feature_names has {twice!r} more than once.")
    return names
