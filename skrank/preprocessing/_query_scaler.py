"""Scale features inside each list."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skrank._data.features import validate_features
from skrank._data.grouping import LEVEL, group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.rollback import keeps_old_state
from skrank._data.warnings import warn
from skrank.preprocessing._blocks import canonical, list_blocks
from skrank.preprocessing._list_scales import METHODS, over_largest
from skrank.preprocessing._shrinkage import Shrinkage

SPARSE = ("max", "deviation")  # methods that keep zeros
SHORT = 5  # times shorter than in the fit is much shorter


class QueryScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Scale each feature inside each list.

    With :math:`x` the values of one feature in one list, a row becomes ``scale`` times

    - "standard": :math:`(x_i - \bar x) / s`, with
      :math:`s^2 = \frac1n \sum_j (x_j - \bar x)^2`;
    - "minmax": :math:`(x_i - \min x) / (\max x - \min x)`;
    - "max": :math:`x_i / \max_j |x_j|`, which keeps zeros and signs;
    - "rank": :math:`(r_i - 1) / (n - 1)`, with :math:`r_i` the rank from the smallest
      value, 1, to the largest, and the mean of their ranks for equal values;
    - "center": :math:`x_i - \bar x`;
    - "deviation": :math:`x_i / s`, which keeps zeros. A linear ranker ranks as with
      "standard", since a list's mean moves all its scores by the same amount.

    A feature that is constant in a list, or a list of one row, becomes 0 ("rank":
    one half, the middle; "max": 1, -1 or 0 by its sign). Without ``shrinkage`` nothing
    is learned: each list is scaled by its own rows, in training and later.

    Parameters
    ----------
    method : {"standard", "minmax", "max", "rank", "center", "deviation"}, \
            default="standard"
        How to scale.
    scale : float, default=1.0
        Positive factor of the result: with "max" and "minmax" what the largest value
        becomes.
    shrinkage : float or "auto", default=0.0
        Draw each list's variance towards that which training lists have in common
        (see Notes), with "standard" and "deviation": the common variance counts as so
        many rows. "auto" estimates the number for each feature from the training lists:
        large where their variances are similar, small where each list has its own
        scale. With 0 each list has its own variance. In lists of two or three rows that
        is mostly chance, and in a list of two every feature becomes 1 or -1.
    signed_log : bool, default=False
        Take :math:`\operatorname{sign}(x) \log(1 + |x|)` first, which shortens the long
        tails of counts and amounts and keeps zeros and signs. Scale such features to
        units in which 1 is small, or it changes little.

    Attributes
    ----------
    deviation_ : ndarray of shape (n_features_in_,)
        With ``shrinkage``: deviation of each feature inside training lists, the root
        of the geometric mean of variances; 0 where it varies in none.
    shrinkage_ : ndarray of shape (n_features_in_,)
        With ``shrinkage``: how many rows the common variance counts, at most 10,000.
    list_size_ : float
        With ``shrinkage``: median number of rows of the training lists.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    Notes
    -----
    ``transform`` needs groups too, and a pipeline passes them to it only while metadata
    routing is on. Without routing put them on the index of a pandas ``X``, as a level
    named "groups"; transformers before this one must keep it
    (``set_output(transform="pandas")``). Groups on the index of ``y`` do not reach
    ``transform``. A search takes no groups in ``predict``: use
    ``search.best_estimator_.predict(X, groups=groups)``. Nor does
    ``cross_val_predict`` pass them on: there put them on the index of ``X``.

    Sparse ``X`` works with "max" and "deviation": the other methods move zeros.

    With ``shrinkage`` k a list of n rows has, in place of :math:`s^2`,

    .. math::

        \frac{\sum_j (x_j - \bar x)^2 + k \sigma^2}{n - 1 + k}

    with :math:`\sigma` the common deviation. "auto" takes variances of lists to follow
    a scaled inverse chi-squared law with k degrees of freedom, and finds k from how
    much more log variances differ than those of lists of their sizes would by chance
    [1]_.

    NaN is an error: put ``SimpleImputer`` before.

    References
    ----------
    .. [1] G. K. Smyth, "Linear models and empirical Bayes methods for assessing
       differential expression in microarray experiments", Statistical Applications
       in Genetics and Molecular Biology 3 (2004), section 6.

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
        "method": [
            StrOptions({"standard", "minmax", "max", "rank", "center", "deviation"})
        ],
        "scale": [Interval(Real, 0, None, closed="neither")],
        "shrinkage": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "signed_log": ["boolean"],
    }

    def __init__(
        self,
        method: str = "standard",
        *,
        scale: float = 1.0,
        shrinkage: float | str = 0.0,
        signed_log: bool = False,
    ) -> None:
        self.method = method
        self.scale = scale
        self.shrinkage = shrinkage
        self.signed_log = signed_log

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = self._learns
        tags.input_tags.sparse = self.method in SPARSE
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @suggests_groups
    @keeps_old_state
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Learn the common deviations if there is shrinkage, else check the input.

        An error leaves the transformer as it was before.

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
        X, grouping = self._checked(X, groups, "fit")
        for name in ("deviation_", "shrinkage_", "list_size_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self._learns:
            strength = None if isinstance(self.shrinkage, str) else self.shrinkage
            learned = Shrinkage.learn(self._logs(X), grouping, strength)
            self.deviation_, self.shrinkage_ = learned.deviation, learned.strength
            self.list_size_ = float(np.median(grouping.lists.sizes))
        return self

    @suggests_groups
    @keeps_old_state
    def fit_transform(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        """Fit to the input and scale it.

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

    @suggests_groups
    def transform(self, X: Any, groups: Any = None) -> Any:
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
            sparse and the method is neither "max" nor "deviation"; if a result is too
            large for its type.
        NotFittedError
            If there is shrinkage and :meth:`fit` has not run.

        Warns
        -----
        UserWarning
            If there is shrinkage, and the median list has a fifth of the rows of that
            in the fit, or fewer.
        """
        if self._learns:
            check_is_fitted(
                self,
                "deviation_",
                msg="%(name)s with shrinkage is not fitted yet: call fit first.",
            )
        X, grouping = self._checked(X, groups, "transform")
        self._warn_of_short_lists(grouping)
        X = self._logs(X)
        if sparse.issparse(X):
            return self._transform_sparse(X, grouping)
        out = np.empty(X.shape, dtype=X.dtype)
        scale_lists = METHODS[self.method]
        if self._learns:
            centre = self.method == "standard"
            scale_lists = partial(self._shrinkage(X).divide, centre=centre)
        for place, lists in list_blocks(X, grouping.lists):
            rows = place if grouping.rows is None else grouping.rows[place]
            with np.errstate(over="ignore", invalid="ignore"):  # an error below
                scaled = scale_lists(X[rows].astype(np.float64), lists)
                scaled *= self.scale
                out[rows] = scaled
            self._refuse_overflow(out[rows])
        return out

    def _warn_of_short_lists(self, grouping):
        """Warn if lists are much shorter than those of the fit."""
        size = float(np.median(grouping.lists.sizes))
        if self._learns and SHORT * size <= self.list_size_:
            warn(
                f"{type(self).__name__}.transform: half of the lists have at most "
                f"{size:g} rows, those of the fit had {self.list_size_:g} (medians). "
                "Means and variances of so few rows are mostly chance, so that scores "
                "mean less. Pass all rows of a list at once, or train on lists as "
                "short as these."
            )

    def _refuse_overflow(self, scaled):
        """Raise ValueError if results are too large for their type."""
        finite = np.isfinite(scaled).all(axis=0)
        if not finite.all():
            raise ValueError(
                f"{type(self).__name__}.transform: column {int(np.argmin(finite))} "
                f"becomes so large that it exceeds {scaled.dtype}. Divide it by a "
                "power of ten, or lower scale."
            )

    def _transform_sparse(self, X, grouping):
        """Divide each feature by its largest absolute value or deviation in a list."""
        if grouping.rows is not None:
            X = X[grouping.rows]
        parts = []
        scale_lists = over_largest
        if self.method == "deviation":
            scale_lists = partial(self._shrinkage(X).divide_sparse, sample=self._learns)
        for place, lists in list_blocks(X, grouping.lists):
            block = canonical(X[place]).copy()
            with np.errstate(over="ignore"):  # an error below
                block.data = self.scale * scale_lists(block, lists)
                block = block.astype(X.dtype)
            if not np.isfinite(block.data).all():
                self._refuse_overflow(block.toarray())
            parts.append(block)
        out = sparse.vstack(parts, format="csr")
        if grouping.rows is None:
            return out
        return out[np.argsort(grouping.rows)]

    def _shrinkage(self, X):
        """Return what the fit learned, or that nothing is shrunk."""
        if self._learns:
            return Shrinkage(self.deviation_, self.shrinkage_)
        return Shrinkage(*np.zeros((2, X.shape[1])))

    @property
    def _learns(self):
        """Whether ``fit`` learns anything."""
        return self.shrinkage != 0

    def _logs(self, X):
        """Return signed logs of a table, or the table."""
        if not self.signed_log:
            return X
        if sparse.issparse(X):
            X = X.copy()
            X.data = np.copysign(np.log1p(np.abs(X.data)), X.data)
            return X
        return np.copysign(np.log1p(np.abs(X)), X)

    def _checked(self, X, groups, method):
        """Return ``X`` as an array and its lists."""
        self._validate_params()  # here, since transform may need no fit
        if self._learns and self.method not in ("standard", "deviation"):
            raise ValueError(
                f"shrinkage={self.shrinkage!r} needs method='standard' or 'deviation', "
                f"which divide by a deviation, got method={self.method!r}."
            )
        caller = f"{type(self).__name__}.{method}"
        groups = find_groups(X, groups, caller, "X", explain=_missing_groups_message)
        if sparse.issparse(X) and self.method not in SPARSE:
            raise ValueError(
                f"{caller}: X is sparse and method={self.method!r} would fill its "
                "zeros. Use method='max' or 'deviation', which keep them, or pass "
                "X.toarray()."
            )
        X = validate_features(self, X, reset=method == "fit")
        return X, group_rows(groups, X.shape[0])


def _missing_groups_message(caller: str, name: str) -> str:
    """Return advice on passing groups to a transformer, by scikit-learn's settings."""
    if sklearn.get_config()["enable_metadata_routing"]:
        state = (
            "metadata routing is on, but nothing passed groups this far: pass groups= "
            "to the outer call, also to predict and score of a pipeline. predict of a "
            "search and cross_val_predict pass no groups on: put them on the index of "
            "a pandas X."
        )
    else:
        state = (
            "metadata routing is off, so they do not pass groups on: call "
            "sklearn.set_config(enable_metadata_routing=True) and pass groups= to the "
            "outer call."
        )
    return (
        f"{caller} needs to know which rows form a list, and no groups were given. "
        f"Pass groups=, one label per row, or give a pandas {name} with an index level "
        f"named '{LEVEL}'; the index of y does not get here. Inside pipelines and "
        f"searches: {state} To scale all rows as one list pass "
        f"groups=np.zeros(len({name}))."
    )
