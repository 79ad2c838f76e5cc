"""Correlations of products of features with a label, from matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skrank._data.lists import Floats, Indices
from skrank.preprocessing._blocks import canonical, row_blocks

# Mean over standard deviation above which moments of raw values lose too many digits.
LARGE_MEAN = 100.0
# Variance over the size of its terms below which too few of its digits are left.
DOUBTFUL = 1e-6
EPS = float(np.finfo(np.float64).eps)
PAIRS_AT_ONCE = 512
MATRIX_ENTRIES = 2**22  # of each matrix of products at a time: 32 MB


class Columns(NamedTuple):
    """Mean and scale of each feature.

    Attributes
    ----------
    mean, scale : ndarray of shape (n_features,)
        Mean, and standard deviation; the scale of a constant is its size, or 1.
    constant : ndarray of bool of shape (n_features,)
        True where all rows have the same value.
    """

    mean: Floats
    scale: Floats
    constant: NDArray[np.bool_]


class Products(NamedTuple):
    """Moments of products of features, each feature divided by its scale.

    Product ``[i, j]`` is that of features ``first + i`` and ``first + j``.

    Attributes
    ----------
    mean, deviation : ndarray of shape (n_panel, n_features - first)
        Mean and standard deviation of each product.
    correlation : ndarray of shape (n_panel, n_features - first)
        Pearson correlation with the label; NaN where a product is constant.
    """

    mean: Floats
    deviation: Floats
    correlation: Floats


def column_moments(X: Any) -> Columns:
    """Return the moments of each column in one pass over dense or CSR rows.

    Blocks are merged by the formula of Chan, Golub and LeVeque (1983), which keeps
    the digits of a small variance around a large mean.
    """
    n_features = X.shape[1]
    count = 0
    mean, squares = np.zeros(n_features), np.zeros(n_features)
    with np.errstate(over="ignore", invalid="ignore"):  # an error below
        for rows in row_blocks(X):
            part_mean, part_squares, n_rows = _block_moments(X[rows])
            delta = part_mean - mean
            total = count + n_rows
            mean += delta * (n_rows / total)
            squares += part_squares + delta**2 * (count * n_rows / total)
            count = total
    scale = np.sqrt(squares / count)
    if not np.isfinite(scale).all():
        column = int(np.argmin(np.isfinite(scale)))
        raise ValueError(
            f"X has values so large in column {column} that their variance exceeds "
            "float64. Divide the column by a power of ten."
        )
    constant = np.zeros(n_features, dtype=bool)
    # The variance of a constant is a rounding error, so check such columns exactly.
    suspects = np.flatnonzero(scale <= 1e-10 * np.abs(mean))
    if len(suspects):
        low, high = _extremes(X, suspects)
        constant[suspects] = low == high
        same = suspects[low == high]
        mean[same] = low[low == high]
        scale[same] = np.where(mean[same] == 0, 1.0, np.abs(mean[same]))
        tiny = suspects[(low != high) & (scale[suspects] == 0)]
        scale[tiny] = (high - low)[np.isin(suspects, tiny)]
    return Columns(mean, scale, constant)


def _block_moments(block: Any) -> tuple[Floats, Floats, int]:
    """Return column means, sums of squares around them, and the number of rows."""
    n_rows, n_features = block.shape
    if not sparse.issparse(block):
        mean = block.mean(axis=0, dtype=np.float64)
        centred = block - mean
        return mean, np.einsum("ij,ij->j", centred, centred), n_rows
    block = canonical(block)
    columns, values = block.indices, block.data.astype(np.float64)
    counts = np.bincount(columns, minlength=n_features)
    mean = np.bincount(columns, values, n_features) / n_rows
    squares = np.bincount(columns, (values - mean[columns]) ** 2, n_features)
    return mean, squares + (n_rows - counts) * mean**2, n_rows


def _extremes(X: Any, columns: Indices) -> tuple[Floats, Floats]:
    """Return the smallest and the largest value of some columns."""
    low, high = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
    for rows in row_blocks(X):
        block = X[rows][:, columns]
        if sparse.issparse(block):
            block = block.tocsc()
            part = block.min(axis=0).toarray(), block.max(axis=0).toarray()
        else:
            part = block.min(axis=0), block.max(axis=0)
        low = np.minimum(low, part[0].ravel())
        high = np.maximum(high, part[1].ravel())
    return low, high


def panels(n_features: int) -> Iterator[slice]:
    """Yield runs of features whose products with all later ones fit into memory."""
    first = 0
    while first < n_features:
        stop = min(n_features, first + max(1, MATRIX_ENTRIES // (n_features - first)))
        yield slice(first, stop)
        first = stop


def product_moments(
    X: Any, y: Floats, columns: Columns, center: bool, squares: bool, panel: slice
) -> Products:
    r"""Return moments of products of two features without forming them.

    With :math:`z` the features in units of their scale around a base, and sums over
    rows, :math:`G = \sum z_a z_b`, :math:`M = \sum y z_a z_b`,
    :math:`Q = \sum z_a^2 z_b^2` give mean, variance and covariance of
    :math:`z_a z_b`. Where products are not to be taken around the base,
    :math:`T = \sum z_a^2 z_b` moves the moments to where they are.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,)
        Labels.
    columns : Columns
        Moments of the columns of ``X``.
    center : bool
        Products of features less their means, or as they are.
    squares : bool
        Whether products of a feature with itself are wanted.
    panel : slice
        The features a; b runs from the first of them to the last of ``X``.

    Returns
    -------
    products : Products
        All pairs; only those with a <= b are sure to be right in their last digits.
    """
    n_rows, n_features = X.shape
    level = columns.mean / columns.scale
    is_large = bool(np.abs(level[~columns.constant]).max(initial=0.0) > LARGE_MEAN)
    on_mean = not sparse.issparse(X) and (center or is_large)
    # Shift of z from the base to the point around which products are taken.
    move = np.zeros(n_features)
    if on_mean != center:
        move = -level if center else level
    low, span = float(y.min()), float(np.ptp(y))
    y = (y - low) / span if span > 0 else np.zeros(n_rows)
    means = _means(X, y, columns, on_mean, bool(move.any()), panel)
    y -= y.mean()
    mean, variance, covariance, size = _moved(means, move[panel.start :])

    # If all terms are 0, the product is 0 in every row.
    doubtful = (variance <= DOUBTFUL * size) & (size > 0)
    doubtful = np.triu(doubtful, 0 if squares else 1)
    if center:
        nothing = columns.constant[panel, None] | columns.constant[panel.start :]
        doubtful &= ~nothing
        variance[nothing] = 0.0
    pairs = np.argwhere(doubtful)
    for first in range(0, len(pairs), PAIRS_AT_ONCE):
        a, b = pairs[first : first + PAIRS_AT_ONCE].T
        mean[a, b], variance[a, b], covariance[a, b] = _direct_moments(
            X, y, columns, center, a + panel.start, b + panel.start
        )
    deviation = np.sqrt(np.maximum(variance, 0.0))
    norm = deviation * np.sqrt(np.mean(y**2))
    correlation = np.full_like(norm, np.nan)
    np.divide(covariance, norm, out=correlation, where=norm > 0)
    return Products(mean, deviation, np.clip(correlation, -1.0, 1.0))


class _Means(NamedTuple):
    """Means over rows: of y, z, zy and z^2, and of matrices of products of two z.

    These are zz', yzz', z^2 z'^2 and, if needed, z^2 z' and z z'^2, for z of a panel
    and z' of all later features too.
    """

    y: float
    first: Floats
    first_y: Floats
    square: Floats
    second: Floats
    second_y: Floats
    fourth: Floats
    third: tuple[Floats, Floats] | None


def _moved(means: _Means, move: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return moments of products of ``z + move``.

    These are mean, variance, covariance with the label, and the size of the terms whose
    difference is the variance.
    """
    mean, first = means.second, means.first
    covariance = means.second_y - mean * means.y
    variance = means.fourth - mean**2
    size = means.fourth + mean**2
    if means.third is None:
        return mean, variance, covariance, size
    n_panel = len(mean)
    a, move_a = first[:n_panel, None], move[:n_panel, None]
    square_a = means.square[:n_panel, None]
    # Terms of the shift of one factor, of the panel or of all features.
    for square, other, moved, third in (
        (square_a, a, move, means.third[0]),
        (means.square, first, move_a, means.third[1]),
    ):
        skew = 2 * moved * third
        variance += (square - other**2) * moved**2
        variance += skew - 2 * moved * mean * other
        size += square * moved**2 + np.abs(skew)
    both = 2 * move_a * move
    variance += both * (mean - a * first)
    size += np.abs(both * mean)
    with_y = means.first_y - first * means.y
    covariance += with_y[:n_panel, None] * move + move_a * with_y
    mean = mean + a * move + move_a * (first + move)
    return mean, variance, covariance, size


def _means(
    X: Any, y: Floats, columns: Columns, on_mean: bool, with_third: bool, panel: slice
) -> _Means:
    """Return the means, block by block of rows.

    ``y`` is at least 0, so that ``yzz'`` is the product of one matrix with itself,
    which costs half of a product of two where the panel is all features.
    """
    n_rows, start = X.shape[0], panel.start
    n_panel, n_later = panel.stop - start, X.shape[1] - start
    first, first_y, square = np.zeros((3, n_later))
    second, second_y, fourth = np.zeros((3, n_panel, n_later))
    third = tuple(np.zeros((2, n_panel, n_later))) if with_third else None
    base = columns.mean[start:] if on_mean else np.zeros(n_later)
    for rows in row_blocks(X):
        z = _scaled(X[rows][:, start:], base, columns.scale[start:])
        root = np.sqrt(y[rows])
        labelled = root > 0
        weighted = _times_rows(z[labelled], root[labelled])
        squared = z.multiply(z).tocsr() if sparse.issparse(z) else z * z
        first += np.asarray(z.sum(axis=0)).ravel()
        first_y += z.T @ y[rows]
        square += np.asarray(squared.sum(axis=0)).ravel()
        second += _dense(z[:, :n_panel].T @ z)
        second_y += _dense(weighted[:, :n_panel].T @ weighted)
        fourth += _dense(squared[:, :n_panel].T @ squared)
        if third is not None:
            in_panel = _dense(squared[:, :n_panel].T @ z)
            third[0][...] += in_panel
            if n_panel == n_later:
                third[1][...] += in_panel.T
            else:
                third[1][...] += _dense(z[:, :n_panel].T @ squared)
    matrices = (second, second_y, fourth, *(third or ()))
    for total in (first, first_y, square, *matrices):
        total /= n_rows
    return _Means(
        float(y.mean()), first, first_y, square, second, second_y, fourth, third
    )


def _scaled(block: Any, base: Floats, scale: Floats) -> Any:
    """Return rows around a base (0 for CSR) in units of the scale, as float64."""
    if sparse.issparse(block):
        block = canonical(block).astype(np.float64)
        block.data = block.data / scale[block.indices]
        return block
    z = block - base
    z /= scale
    return z


def _times_rows(z: Any, factor: Floats) -> Any:
    """Multiply each row of a copy by a number."""
    if sparse.issparse(z):
        z.data = z.data * np.repeat(factor, np.diff(z.indptr))
    else:
        z *= factor[:, None]
    return z


def _dense(matrix: Any) -> Floats:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _direct_moments(
    X: Any, y: Floats, columns: Columns, center: bool, a: Indices, b: Indices
) -> tuple[Floats, Floats, Floats]:
    """Return mean, variance and covariance of few products in two passes.

    A variance is set to 0 if rounding errors of the factors can explain it.
    """
    n_rows = X.shape[0]

    def products() -> Iterator[tuple[slice, Floats]]:
        for rows in row_blocks(X, 2 * PAIRS_AT_ONCE):
            factors = []
            for side in (a, b):
                block = _dense(X[rows][:, side]).astype(np.float64)
                if center:
                    block -= columns.mean[side]
                block /= columns.scale[side]
                factors.append(block)
            yield rows, factors[0] * factors[1]

    mean = sum(block.sum(axis=0) for _, block in products()) / n_rows
    variance, covariance = np.zeros(len(a)), np.zeros(len(a))
    for rows, block in products():
        block -= mean
        variance += np.einsum("ij,ij->j", block, block)
        covariance += y[rows] @ block
    variance /= n_rows
    covariance /= n_rows
    rounding = np.ones(len(a))
    if center:
        level = np.abs(columns.mean / columns.scale)
        rounding += level[a] + level[b]
    largest = 64 * EPS * rounding
    variance[variance <= largest**2 * (mean**2 + variance)] = 0.0
    return mean, variance, covariance


def product_columns(X: Any, pairs: Indices, mean: Floats, scale: Floats) -> Any:
    """Return products of pairs of columns of a few rows.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        Features.
    pairs : ndarray of shape (n_pairs, 2)
        Columns to multiply.
    mean, scale : ndarray of shape (n_features,)
        Subtracted from the factors, and what they are then divided by. CSR products are
        less the product of both means too, so that they are 0 where both features are.

    Returns
    -------
    products : float64 ndarray or CSR of shape (n_rows, n_pairs)
        In the form of ``X``.
    """
    a, b = pairs.T
    z = _scaled(X, mean, scale)
    first, second = z[:, a], z[:, b]
    if not sparse.issparse(X):
        first *= second
        return first
    products = first.multiply(second).tocsr()
    if mean.any():
        level = mean / scale
        first.data = first.data * level[b][first.indices]
        second.data = second.data * level[a][second.indices]
        products = products - first - second
    return products
