"""Products of two features that correlate with the label."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from skrank._data.checks import Integers, finite_column
from skrank._data.features import validate_features
from skrank._data.parameters import checks_parameters
from skrank._data.rollback import keeps_old_state
from skrank._data.warnings import warn
from skrank.preprocessing._blocks import row_blocks
from skrank.preprocessing._kept import Kept
from skrank.preprocessing._products import (
    column_moments,
    panels,
    product_columns,
    product_moments,
)

MOST_PRODUCTS = 2**31  # to look at; minutes of work for a few thousand sparse rows
MOST_KEPT = 2**24  # which take 0.7 GB


class SecondOrderFeatures(TransformerMixin, BaseEstimator):
    r"""Add products of two features that correlate with the label.

    Keeps the products :math:`p = f_a f_b`, :math:`a \le b`, whose correlation with
    the label over all training rows,

    .. math::

        r_{ab} = \frac{\sum_i (p_i - \bar p)(y_i - \bar y)}
                      {\sqrt{\sum_i (p_i - \bar p)^2 \sum_i (y_i - \bar y)^2}},

    has :math:`|r_{ab}|` above ``threshold``. The correlations come from three or four
    matrix products of the size of ``X.T @ X``; only the products that are kept are
    ever formed. Lists play no part in it.

    Parameters
    ----------
    threshold : float, default=0.15
        Least absolute correlation, not itself enough; at least 0 and below 1.
    center : bool, default=True
        Multiply features less their training means, :math:`f_a = x_a - \bar x_a`,
        or (False) features as they are. The two select very different sets.
    include_first : bool, default=True
        Put the features themselves before the products.
    include_squares : bool, default=True
        Let a feature be multiplied by itself.
    standardize : bool, default=True
        Bring every column of the output, the features themselves too, to mean 0 and
        standard deviation 1 over the training rows. Columns of sparse output are
        divided by the deviation only.
    max_features : int, default=None
        Keep only so many products, those of largest absolute correlation; of equal
        ones the first pairs. None keeps all above ``threshold``.

    Attributes
    ----------
    pairs_ : ndarray of int of shape (n_kept, 2)
        Columns of ``X`` that are multiplied, in the order of the output: sorted by
        the first, then the second.
    correlations_ : ndarray of shape (n_kept,)
        Correlation of each product kept with the label.
    n_candidates_ : int
        Number of products that were looked at.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        Mean and standard deviation of each feature; of a constant its absolute
        value, or 1, instead of the deviation.
    product_mean_, product_scale_ : ndarray of shape (n_kept,)
        Mean and standard deviation of each product of features that are divided by
        their scale.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where ``X`` had names that are all strings.

    Notes
    -----
    Constant products have no correlation and are never kept; with ``center`` every
    product with a constant feature is constant. Equal features give equal products,
    which are all kept. With a constant label nothing is kept.

    The rows of ``X`` are read in blocks, so a memory map is never in memory whole.
    Besides ``X`` and what is kept, ``fit`` needs about twenty matrices of n_features
    squared, or of 2**22 numbers where that is less (0.7 GB together): it then goes
    through the rows once for each few features, 48 times for 20,000 of them. More
    than 2**31 products (65,535 features) to look at, or more than 2**24 to keep, are
    refused. Sparse ``X`` gives CSR output: with ``center`` a product is
    :math:`x_a x_b - \bar x_b x_a - \bar x_a x_b`, which lacks the constant
    :math:`\bar x_a \bar x_b` and is 0 where both features are 0. A constant cannot
    rank.

    References
    ----------
    T. Truyen, D. Phung, S. Venkatesh, "Probabilistic models over ordered partitions
    with applications in document ranking and collaborative filtering", SDM 2011.

    Examples
    --------
    >>> from skrank.preprocessing import SecondOrderFeatures
    >>> X = [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    >>> y = [0, 1, 1, 0]  # higher where the features are alike
    >>> products = SecondOrderFeatures(standardize=False).fit(X, y)
    >>> products.get_feature_names_out()
    array(['x0', 'x1', 'x0*x1'], dtype=object)
    >>> products.transform(X)
    array([[ 0.  ,  1.  , -0.25],
           [ 1.  ,  1.  ,  0.25],
           [ 0.  ,  0.  ,  0.25],
           [ 1.  ,  0.  , -0.25]])
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "threshold": [Interval(Real, 0, 1, closed="left")],
        "center": ["boolean"],
        "include_first": ["boolean"],
        "include_squares": ["boolean"],
        "standardize": ["boolean"],
        "max_features": [Integers(1), None],
    }

    def __init__(
        self,
        threshold: float = 0.15,
        *,
        center: bool = True,
        include_first: bool = True,
        include_squares: bool = True,
        standardize: bool = True,
        max_features: int | None = None,
    ) -> None:
        self.threshold = threshold
        self.center = center
        self.include_first = include_first
        self.include_squares = include_squares
        self.standardize = standardize
        self.max_features = max_features

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @checks_parameters(prefer_skip_nested_validation=True)
    @keeps_old_state
    def fit(self, X: Any, y: Any) -> Self:
        """Choose the products.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features. float64 and float32 arrays and memory maps are not copied;
            sparse input stays sparse.
        y : array-like of shape (n_rows,)
            Labels.

        Returns
        -------
        self : SecondOrderFeatures
            The fitted transformer.

        Raises
        ------
        ValueError
            If ``X`` or ``y`` hold NaN, infinity or masked entries, if ``X`` has one
            row, if products are too many, or if nothing is kept and
            ``include_first`` is False. With ``include_first`` a warning says so. A
            transformer that was fitted before stays as it was.
        """
        X, y = validate_features(self, X, y, ensure_min_samples=2)
        y = finite_column(y, "y")
        n_features = X.shape[1]
        n_products = n_features * (n_features - 1) // 2
        n_products += n_features * self.include_squares
        if n_products > MOST_PRODUCTS:
            raise ValueError(
                f"{n_features:,} features have {n_products:,} products, and "
                f"{type(self).__name__}.fit looks at no more than {MOST_PRODUCTS:,}. "
                "Choose features first, such as those of large weight of a "
                "ListMLERanker, or those that SelectKBest keeps."
            )
        columns = column_moments(X)
        kept = self._kept_products(X, y, columns)
        if not len(kept.pairs):
            self._explain_nothing(n_products, kept.strongest)
        self.pairs_, self.correlations_ = kept.pairs, kept.correlation
        self.product_mean_, self.product_scale_ = kept.mean, kept.deviation
        self.mean_, self.scale_ = columns.mean, columns.scale
        self.n_candidates_ = n_products
        return self

    def _kept_products(self, X, y, columns):
        """Return the products above the threshold, or the strongest of them."""
        most = self.max_features
        kept = Kept.nothing()
        for panel in panels(X.shape[1]):
            part = product_moments(
                X, y, columns, self.center, self.include_squares, panel
            )
            kept = kept.joined(part, panel.start, self.threshold, self.include_squares)
            if most is not None:
                kept = kept.strongest_of(most)
            elif len(kept.pairs) > MOST_KEPT:
                raise ValueError(
                    f"{type(self).__name__}.fit: more than {MOST_KEPT:,} products are "
                    f"correlated with y by more than threshold={self.threshold:g}. "
                    "Raise threshold or set max_features."
                )
        return kept

    def _explain_nothing(self, n_products, strongest):
        """Warn that no product is kept, or raise ValueError if no column remains."""
        name, advice = f"{type(self).__name__}.fit", "Lower threshold"
        # The message starts without numbers, since filters match its start.
        message = (
            f"{name}: no product of features is correlated with y by more than "
            f"threshold={self.threshold:g}: "
        )
        if not n_products:
            message = (
                f"{name}: there are no products, since X has one feature and "
                "include_squares=False."
            )
            advice = "Set include_squares=True"
        elif strongest is not None:
            message += f"the largest absolute correlation is {strongest:.4g}."
        else:
            message += "every product, or the label, is constant."
        if not self.include_first:
            raise ValueError(
                f"{message} {advice}, or set include_first=True to pass the features "
                "on."
            )
        warn(f"{message} The features are passed on alone.")

    def transform(self, X: Any) -> Any:
        """Return the features and the products that were kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Features.

        Returns
        -------
        out : {ndarray, CSR} of shape (n_rows, n_features_out)
            In the data type of ``X``, if that is float64 or float32; CSR where ``X``
            is sparse.

        Raises
        ------
        NotFittedError
            If :meth:`fit` has not run.
        ValueError
            If ``X`` has another number or other names of features than in ``fit``, or
            holds NaN, infinity or masked entries; if a column of the output is too
            large for its type.
        """
        check_is_fitted(self)
        X = validate_features(self, X, reset=False)
        n_first = X.shape[1] if self.include_first else 0
        n_out = n_first + len(self.pairs_)
        blocks = row_blocks(X, n_out)
        with np.errstate(over="ignore", invalid="ignore"):  # an error of ours
            if sparse.issparse(X):
                parts = [self._transform_sparse(X[rows]) for rows in blocks]
                return sparse.vstack(parts, format="csr")
            out = np.empty((X.shape[0], n_out), dtype=X.dtype)
            for rows in blocks:
                self._transform_dense(X[rows], out[rows])
        return out

    def _refuse_overflow(self, finite, dtype):
        """Raise ValueError if a column of the output is too large for its type."""
        if finite.all():
            return
        column = int(np.argmin(finite))
        n_first = len(finite) - len(self.pairs_)
        what = f"column {column} of X, if standardized,"
        if column >= n_first:
            a, b = self.pairs_[column - n_first].tolist()
            what = f"the product of columns {a} and {b} of X"
        raise ValueError(
            f"{type(self).__name__}.transform: {what} exceeds {np.dtype(dtype)}. "
            "Divide by a power of ten before fit, or look at why values are so large."
        )

    def _products(self, block):
        """Return the kept products of a few rows as float64."""
        nothing, one = np.zeros(block.shape[1]), np.ones(block.shape[1])
        return product_columns(
            block,
            self.pairs_,
            self.mean_ if self.center else nothing,
            self.scale_ if self.standardize else one,
        )

    def _transform_dense(self, block, out):
        """Write the output of a few rows to ``out``."""
        n_first = out.shape[1] - len(self.pairs_)
        products = self._products(block)
        if self.standardize:
            products -= self.product_mean_
            products /= self.product_scale_
        out[:, n_first:] = products
        if n_first:
            out[:, :n_first] = (
                (block - self.mean_) / self.scale_ if self.standardize else block
            )
        self._refuse_overflow(np.isfinite(out).all(axis=0), out.dtype)

    def _transform_sparse(self, block):
        """Return the output of a few CSR rows."""
        products = self._products(block)
        if self.standardize:
            products.data = products.data / self.product_scale_[products.indices]
        parts = [products]
        if self.include_first:
            first = block.astype(np.float64)
            if self.standardize:
                first.data = first.data / self.scale_[first.indices]
            parts.insert(0, first)
        out = sparse.hstack(parts, format="csr").astype(block.dtype)
        finite = np.ones(out.shape[1], dtype=bool)
        finite[out.indices[~np.isfinite(out.data)]] = False
        self._refuse_overflow(finite, out.dtype)
        return out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of the output.

        Parameters
        ----------
        input_features : array-like of str of shape (n_features,), default=None
            Names of the features; None takes ``feature_names_in_``, or "x0", "x1"
            and so on.

        Returns
        -------
        names : ndarray of str objects
            Those of the features, then "a*b" and "a^2" for products.

        Raises
        ------
        ValueError
            If ``input_features`` differ from those in ``fit``.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        products = [
            f"{names[a]}^2" if a == b else f"{names[a]}*{names[b]}"
            for a, b in self.pairs_
        ]
        first = list(names) if self.include_first else []
        return np.array(first + products, dtype=object)
