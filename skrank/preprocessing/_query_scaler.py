"""Scale features inside each list."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from skrank._data.checks import refuse_masked
from skrank._data.grouping import group_rows
from skrank._data.groups import LEVEL, find_groups, takes_groups
from skrank._data.lists import Floats, Lists
from skrank.preprocessing._blocks import canonical, list_blocks


class QueryScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Scale each feature inside each list.

    With :math:`x` the values of one feature in one list, a row becomes ``scale`` times

    - "standard": :math:`(x_i - \bar x) / s`, with
      :math:`s^2 = \frac1n \sum_j (x_j - \bar x)^2`;
    - "minmax": :math:`(x_i - \min x) / (\max x - \min x)`;
    - "max": :math:`x_i / \max_j |x_j|`, which keeps zeros and signs;
    - "rank": :math:`(r_i - 1) / (n - 1)`, with :math:`r_i` the rank from the smallest
      value, 1, to the largest, and the mean of their ranks for equal values;
    - "center": :math:`x_i - \bar x`.

    A feature that is constant in a list, or a list of one row, becomes 0 ("rank":
    one half, the middle; "max": 1, -1 or 0 by its sign). Nothing is learned: each
    list is scaled by its own rows, in training and later.

    Parameters
    ----------
    method : {"standard", "minmax", "max", "rank", "center"}, default="standard"
        How to scale.
    scale : float, default=1.0
        Positive factor of the result: with "max" and "minmax" what the largest value
        becomes.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    Notes
    -----
    ``transform`` needs groups too, and a pipeline hands them to it only while metadata
    routing is on. Without routing put them on the index of a pandas ``X``, as a level
    named "groups"; transformers before this one must keep it
    (``set_output(transform="pandas")``). Groups on the index of ``y`` do not reach
    ``transform``. A search takes no groups in ``predict``: use
    ``search.best_estimator_.predict(X, groups=groups)``. Nor does
    ``cross_val_predict`` hand them on: there put them on the index of ``X``.

    Sparse ``X`` works with "max" only: the other methods move zeros.

    References
    ----------
    T. Qin, T.-Y. Liu, "Introducing LETOR 4.0 datasets", arXiv:1306.2597, 2013 (for
    "minmax").

    Examples
    --------
    >>> from skrank.preprocessing import QueryScaler
    >>> X = [[0.01], [0.02], [1.0], [3.0], [2.0]]
    >>> groups = ["a", "a", "b", "b", "b"]
    >>> QueryScaler("minmax").fit_transform(X, groups=groups)
    array([[0. ],
           [1. ],
           [0. ],
           [1. ],
           [0.5]])
    """

    __metadata_request__fit = {"groups": True}  # noqa: RUF012
    __metadata_request__transform = {"groups": True}  # noqa: RUF012

    _parameter_constraints: dict = {  # noqa: RUF012
        "method": [StrOptions({"standard", "minmax", "max", "rank", "center"})],
        "scale": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, method="standard", *, scale=1.0):
        self.method = method
        self.scale = scale

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.sparse = self.method == "max"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @takes_groups
    def fit(self, X, y=None, groups=None):
        """Check the input; there is nothing to learn.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,), default=None
            Not used.
        groups : array-like of shape (n_rows,), default=None
            Label of each row's list; None takes the index level "groups" of ``X``.

        Returns
        -------
        self : QueryScaler
            The transformer.

        Raises
        ------
        ValueError
            As :meth:`transform`.
        """
        self._checked(X, groups, "fit")
        return self

    @takes_groups
    def fit_transform(self, X, y=None, groups=None):
        """Check the input and scale it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,), default=None
            Not used.
        groups : array-like of shape (n_rows,), default=None
            Label of each row's list; None takes the index level "groups" of ``X``.

        Returns
        -------
        out : {ndarray, CSR} of shape (n_rows, n_features)
            As from :meth:`transform`.

        Raises
        ------
        ValueError
            As :meth:`transform`.
        """
        return self.fit(X, y, groups).transform(X, groups)

    @takes_groups
    def transform(self, X, groups=None):
        """Scale each feature inside each list.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.
        groups : array-like of shape (n_rows,), default=None
            Label of each row's list; None takes the index level "groups" of ``X``.

        Returns
        -------
        out : {ndarray, CSR} of shape (n_rows, n_features)
            Rows in the order of ``X``, in its data type if that is float64 or
            float32; CSR where ``X`` is sparse.

        Raises
        ------
        ValueError
            If groups are missing, differ from the index of ``X``, have another length
            or miss values; if ``X`` has another number or other names of features
            than in ``fit``, or holds NaN, infinity or masked entries; if ``X`` is
            sparse and the method is not "max"; if a result is too large for its type.
        """
        X, grouping = self._checked(X, groups, "transform")
        if sparse.issparse(X):
            return self._transform_sparse(X, grouping)
        out = np.empty(X.shape, dtype=X.dtype)
        scale_lists = METHODS[self.method]
        for place, lists in list_blocks(X, grouping.lists):
            rows = place if grouping.rows is None else grouping.rows[place]
            with np.errstate(over="ignore", invalid="ignore"):  # an error below
                scaled = scale_lists(X[rows].astype(np.float64), lists)
                scaled *= self.scale
                out[rows] = scaled
            self._refuse_overflow(out[rows])
        return out

    def _refuse_overflow(self, scaled):
        """Raise where results are too large for their type."""
        finite = np.isfinite(scaled).all(axis=0)
        if not finite.all():
            raise ValueError(
                f"{type(self).__name__}.transform: column {int(np.argmin(finite))} "
                f"becomes so large that it exceeds {scaled.dtype}. Divide it by a "
                "power of ten, or lower scale."
            )

    def _transform_sparse(self, X, grouping):
        """Divide by the largest absolute value of each feature in each list."""
        if grouping.rows is not None:
            X = X[grouping.rows]
        parts = []
        for place, lists in list_blocks(X, grouping.lists):
            block = canonical(X[place]).copy()
            with np.errstate(over="ignore"):  # an error below
                block.data = self.scale * _over_largest(block, lists)
                block = block.astype(X.dtype)
            if not np.isfinite(block.data).all():
                self._refuse_overflow(block.toarray())
            parts.append(block)
        out = sparse.vstack(parts, format="csr")
        if grouping.rows is None:
            return out
        return out[np.argsort(grouping.rows)]

    def _checked(self, X, groups, method):
        """Return ``X`` as an array and its lists."""
        self._validate_params()  # here, since transform needs no fit
        caller = f"{type(self).__name__}.{method}"
        groups = find_groups(
            X, groups, caller, name="X", explain=_missing_groups_message
        )
        refuse_masked(X, "X")
        if sparse.issparse(X) and self.method != "max":
            raise ValueError(
                f"{caller}: X is sparse and method={self.method!r} would fill its "
                "zeros. Use method='max', which keeps them, or pass X.toarray()."
            )
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            reset=method == "fit",
        )
        return X, group_rows(groups, X.shape[0])


def _missing_groups_message(caller: str) -> str:
    """Explain how groups reach a transformer, given how scikit-learn is set up."""
    if sklearn.get_config()["enable_metadata_routing"]:
        state = (
            "metadata routing is on, but nothing passed groups this far: pass groups= "
            "to the outer call, also to predict and score of a pipeline. predict of a "
            "search and cross_val_predict hand no groups on: put them on the index of "
            "a pandas X."
        )
    else:
        state = (
            "metadata routing is off, so they do not hand groups on: call "
            "sklearn.set_config(enable_metadata_routing=True) and pass groups= to the "
            "outer call."
        )
    return (
        f"{caller} needs to know which rows form a list, and no groups were given. "
        "Pass groups=, one label per row, or give a pandas X with an index level "
        f"named '{LEVEL}'; the index of y does not get here. Inside pipelines and "
        f"searches: {state} To scale all rows as one list pass "
        "groups=np.zeros(len(X))."
    )


def _center(x: Floats, lists: Lists) -> Floats:
    # Four times the rows of a list, as a power of two, which costs no digits.
    unit = _divided(x, lists, 2.0 ** (2 + int(lists.sizes.max()).bit_length()))
    x -= lists.expand(lists.min(x))  # so that constants and large means lose nothing
    x -= lists.expand(lists.sum(x) / lists.sizes[:, None])
    if unit is not None:
        x *= lists.expand(unit)
    return x


def _minmax(x: Floats, lists: Lists) -> Floats:
    _divided(x, lists, 2.0)  # or the largest less the smallest may overflow
    low = lists.min(x)
    span = lists.max(x) - low
    x -= lists.expand(low)
    x /= lists.expand(np.where(span == 0, 1.0, span))
    return x


def _divided(x: Floats, lists: Lists, parts: float) -> Floats | None:
    """Divide where the values of a list are so large that ``parts`` of them overflow.

    Returns the divisor of each list and column, or None where all are 1.
    """
    limit = np.finfo(np.float64).max / parts
    if max(-x.min(), x.max()) <= limit:
        return None
    large = np.maximum(-lists.min(x), lists.max(x)) > limit
    unit = np.where(large, parts, 1.0)
    x /= lists.expand(unit)
    return unit


def _standard(x: Floats, lists: Lists) -> Floats:
    x = _minmax(x, lists)  # whose standard scores are the same and cannot overflow
    x -= lists.expand(lists.sum(x) / lists.sizes[:, None])
    deviation = np.sqrt(lists.sum(x * x) / lists.sizes[:, None])
    x /= lists.expand(np.where(deviation == 0, 1.0, deviation))
    return x


def _max(x: Floats, lists: Lists) -> Floats:
    largest = lists.max(np.abs(x))
    x /= lists.expand(np.where(largest == 0, 1.0, largest))
    return x


def _rank(x: Floats, lists: Lists) -> Floats:
    n_rows = len(x)
    columns = np.ascontiguousarray(x.T)
    of_list = np.broadcast_to(lists.expand(np.arange(lists.n_lists)), columns.shape)
    order = np.lexsort((columns, of_list), axis=1)
    ordered = np.take_along_axis(columns, order, axis=1)
    is_first = np.ones(columns.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=is_first[:, 1:])
    is_first[:, lists.starts] = True
    begins = np.flatnonzero(is_first)
    sizes = np.diff(begins, append=columns.size)
    # Ranks from 0, less what comes before the list.
    middle = begins % n_rows + (sizes - 1) / 2.0
    ranks = np.repeat(middle, sizes).reshape(columns.shape)
    ranks -= lists.expand(lists.starts)
    ranks /= lists.expand(np.maximum(lists.sizes - 1, 1))
    ranks[:, lists.starts[lists.sizes == 1]] = 0.5
    out = np.empty(columns.shape)
    np.put_along_axis(out, order, ranks, axis=1)
    return out.T


METHODS = {
    "center": _center,
    "max": _max,
    "minmax": _minmax,
    "rank": _rank,
    "standard": _standard,
}


def _over_largest(block: Any, lists: Lists) -> Floats:
    """Return stored values over the largest absolute one of their list and column."""
    values = block.data.astype(np.float64)
    if not len(values):
        return values
    of_row = lists.expand(np.arange(lists.n_lists))
    cell = np.repeat(of_row, np.diff(block.indptr)) * block.shape[1] + block.indices
    order = np.argsort(cell, kind="stable")
    ordered = cell[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    largest = np.maximum.reduceat(np.abs(values)[order], starts)
    largest[largest == 0] = 1.0
    values[order] /= np.repeat(largest, np.diff(starts, append=len(values)))
    return values
