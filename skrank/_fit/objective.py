"""What a linear ranker minimises, in one pass over blocks of whole lists."""

from __future__ import annotations

import math
import mmap
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from itertools import cycle, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import skrank._kernels.gemv as gemv
from skrank._data.lists import Floats, Indices, Lists
from skrank._fit.threads import one_blas_thread
from skrank.losses.base import Loss

BLOCK_BYTES = 2**21  # of X: more leaves the caches, less makes threads wait
SMALLEST_BLOCK_BYTES = 2**17  # below this the calls cost more than the products
N_BLOCKS = 16  # of an X that is smaller than so many blocks of full size
SAMPLED_BLOCKS, SAMPLED_ROWS = 4, 2048  # to see the spread of features
NEAR = 10.0  # spreads that differ by less are treated alike
LARGEST_INT = 2**31 - 1  # that BLAS takes for a number of rows
PART = 1 / 16  # of the blocks that are left: a run of them, handed to a thread


class Block:
    """A run of whole lists: its rows of X, its lists, and what the loss prepared.

    Parameters
    ----------
    X : ndarray, csr_array or None
        The rows as a view; None where they are gathered from ``source`` each time.
    source, rows : ndarray or None
        A memory map and the row numbers to gather from it.
    start, stop : int
        The rows' places in the order of the lists.
    lists : Lists
        The lists of the block.
    prepared : object
        What ``loss.prepare`` returned for the block.
    factors : ndarray of shape (n_lists,)
        What each list's value counts in the objective.
    """

    __slots__ = (
        "X",
        "X_transposed",
        "factors",
        "lists",
        "prepared",
        "row_factors",
        "rows",
        "source",
        "start",
        "stop",
    )

    def __init__(
        self,
        X: Any,
        source: Any,
        rows: Indices | None,
        start: int,
        stop: int,
        lists: Lists,
        prepared: Any,
        factors: Floats,
    ) -> None:
        self.X, self.source, self.rows = X, source, rows
        self.X_transposed = None if X is None else _transposed(X)
        self.start, self.stop = start, stop
        self.lists, self.prepared, self.factors = lists, prepared, factors
        same = bool(np.all(factors == factors[0]))
        self.row_factors = factors[0] if same else None

    def features(self, buffer: Floats | None) -> tuple[Any, Any]:
        """Return the rows and their transpose, float64, the caller's buffer reused."""
        if self.source is not None:
            X = self.source[self.rows]
        else:
            X = self.X
        if buffer is not None:
            cast = buffer[: self.stop - self.start]
            np.copyto(cast, X)
            return cast, cast.T
        if self.source is not None:
            return X, X.T
        return X, self.X_transposed

    def scale_rows(self, gradient: Floats) -> Floats:
        """Return a gradient in the scores times the factor of each row's list.

        Not in place: a loss may return an array that it keeps.
        """
        if self.row_factors is None:
            return gradient * self.lists.expand(self.factors)
        return gradient * self.row_factors


class LinearObjective:
    r"""Weighted mean of a loss over lists, plus a penalty, as a function of weights.

    .. math::

        F(w, e) = \sum_q c_q\, \ell_q(X_q w, e) + \frac{\alpha}{2} \|w\|^2,
        \qquad c_q = \frac{v_q}{\sum_p v_p} \frac{1}{m_q}

    with :math:`v` the list weights and :math:`m_q` 1, the number of rows or the
    number of terms of a list. Calling it with the parameters ``[w, e]`` returns the
    value and the gradient. Each block of whole lists is read once: scores, loss and
    ``X.T @ gradient`` follow each other while the block is in cache. The order in
    which sums are added depends on the data alone, never on ``n_jobs``.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        float64 or float32 features. Rows are together by list, unless ``rows`` says
        where they are.
    y : ndarray of shape (n_rows,)
        Labels in the order of the lists, as ``loss.check_labels`` returned them.
    lists : Lists
        The lists.
    loss : Loss
        The loss; ``loss.extra_parameters`` tells how many parameters of its own.
    alpha : float
        Strength of the penalty, at least 0.
    weights : ndarray of shape (n_lists,), default=None
        List weights; None counts each list once.
    normalize : {None, "size", "terms"}, default=None
        What each list's value is divided by.
    rows : ndarray of shape (n_rows,), default=None
        Row of ``X`` at each place in the order of the lists, for an ``X`` that is
        gathered block by block.
    constant : ndarray of bool of shape (n_features,), default=None
        Features that cannot rank, whose gradient is rounding alone: it is set to 0.
    n_jobs : int, default=1
        Number of threads inside :meth:`running`.
    """

    def __init__(
        self,
        X: Any,
        y: Floats,
        lists: Lists,
        loss: Loss,
        *,
        alpha: float,
        weights: Floats | None = None,
        normalize: str | None = None,
        rows: Indices | None = None,
        constant: NDArray[np.bool_] | None = None,
        n_jobs: int = 1,
    ) -> None:
        self.X, self.lists, self.loss = X, lists, loss
        self.alpha, self.n_jobs = alpha, n_jobs
        self.n_rows, self.n_features = X.shape
        self.constant = constant
        self.extra_start = loss.extra_parameters(y, lists)
        if weights is None:
            weights = np.ones(lists.n_lists)
        shares = weights / weights.max()  # the sum of huge weights overflows
        shares /= shares.sum()
        bounds = _block_bounds(X, lists)
        self.blocks = []
        for first, last in pairwise(bounds):
            part = lists.part(first, last)
            start, stop = int(lists.offsets[first]), int(lists.offsets[last])
            prepared = loss.prepare(y[start:stop], part)
            factors = shares[first:last].copy()
            if normalize == "size":
                factors /= part.sizes
            elif normalize == "terms":
                factors /= np.maximum(loss.n_terms(prepared, part), 1.0)
            view = _row_view(X, start, stop) if rows is None else None
            source = None if rows is None else X
            where = None if rows is None else rows[start:stop]
            self.blocks.append(
                Block(view, source, where, start, stop, part, prepared, factors)
            )
        # A wide sparse X: adding n_features numbers a block would cost more than
        # reading X again.
        self.product_at_end = sparse.issparse(X) and (
            self.n_features * len(self.blocks) > X.nnz
        )
        self._parts = _parts(len(self.blocks))
        # More threads than parts would only wait.
        self.n_jobs = min(self.n_jobs, len(self._parts))
        self._pool: ThreadPoolExecutor | None = None

    @property
    def start(self) -> Floats:
        """Zero weights, and the start of the loss's own parameters."""
        return np.concatenate((np.zeros(self.n_features), self.extra_start))

    def with_loss(self, loss: Loss) -> LinearObjective:
        """Return the same objective for a loss that prepares labels the same way."""
        other = copy(self)
        other.loss = loss
        return other

    @contextmanager
    def running(self) -> Iterator[LinearObjective]:
        """Use ``n_jobs`` threads inside, and one thread for each BLAS product.

        BLAS threads would make the last bits depend on how many there are, and blocks
        are too small to gain from them.
        """
        with one_blas_thread():
            if self.n_jobs == 1:
                yield self
                return
            with ThreadPoolExecutor(self.n_jobs - 1) as pool:
                self._pool = pool
                try:
                    yield self
                finally:
                    self._pool = None

    def __call__(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the value at ``[coef, extra]`` and the gradient there."""
        coef = np.ascontiguousarray(parameters[: self.n_features])
        extra = parameters[self.n_features :]
        row_gradient = np.empty(self.n_rows) if self.product_at_end else None
        sums: list[Any] = [None] * len(self._parts)
        waiting = deque(range(len(self._parts)))

        def work() -> None:
            # Two, since a block is still there when the next one is read. Memory that
            # is not written to costs nothing.
            buffers = self._buffers(2)
            while True:
                try:
                    number = waiting.popleft()
                except IndexError:
                    return
                sums[number] = self._visit(
                    self._parts[number], buffers, coef, extra, row_gradient
                )

        helpers = []
        if self._pool is not None:
            helpers = [self._pool.submit(work) for _ in range(self.n_jobs - 1)]
        work()
        for helper in helpers:
            helper.result()
        value, gradient = 0.0, np.zeros(len(parameters))
        for part_value, part_gradient in sums:
            value += part_value
            gradient[len(gradient) - len(part_gradient) :] += part_gradient
        in_coef = gradient[: self.n_features]
        if row_gradient is not None:
            in_coef += self.X.T @ row_gradient
        if self.constant is not None:
            in_coef[self.constant] = 0.0
        pull = self.alpha * coef  # first, since squares of huge weights overflow
        value += 0.5 * float(pull @ coef)
        in_coef += pull
        return value, gradient

    def _visit(
        self,
        part: slice,
        buffers: list[Floats | None],
        coef: Floats,
        extra: Floats,
        row_gradient: Floats | None,
    ) -> tuple[float, Floats]:
        """Return the sums over some blocks, in their order.

        The gradient in ``coef`` is left out where ``row_gradient`` is filled instead.
        """
        value = 0.0
        n_here = len(coef) if row_gradient is None else 0
        gradient = np.zeros(n_here + len(extra))
        in_coef, in_extra = gradient[:n_here], gradient[n_here:]
        given = (extra,) if len(extra) else ()
        before: tuple[Any, Any, float] = (None, None, 0.0)
        for block, buffer in zip(self.blocks[part], cycle(buffers)):
            X, X_transposed = block.features(buffer)
            direct = row_gradient is None and _is_plain(X)
            if direct:
                scores = np.empty(len(X))
                gemv.gradient_then_scores(*before, in_coef, X, coef, scores)
            else:
                scores = X.dot(coef)
            result = self._of_block(block, scores, *given)
            values, slope = np.asarray(result[0]), np.asarray(result[1])
            if (
                values.shape != block.factors.shape
                or slope.shape != scores.shape
                or (given and np.shape(result[2]) != (len(values), len(extra)))
            ):
                raise ValueError(_misshapen(self.loss, result, block, len(extra)))
            value += float(block.factors.dot(values))
            if given:
                in_extra += block.factors @ result[2]
            factor = block.row_factors
            if factor is None:
                slope, factor = block.scale_rows(slope), 1.0
            slope = slope.astype(np.float64, "C", "same_kind", copy=False)
            if direct:
                before = X, slope, factor
            elif row_gradient is None:
                in_coef += factor * X_transposed.dot(slope)
            else:
                row_gradient[block.start : block.stop] = factor * slope
        gemv.gradient_then_scores(*before, in_coef, None, coef, None)
        return value, gradient

    def _of_block(self, block: Block, scores: Floats, *given: Floats) -> Any:
        """Return the loss and its gradients at a block's scores."""
        return self.loss.value_and_gradient(scores, block.prepared, block.lists, *given)

    def spread(self) -> Floats:
        """Return the mean range of each feature inside a list, from a few rows.

        Sparse features are taken to reach from 0 to their size. Features near the
        median, or without variation among these rows, count as the median: small
        differences of spread are no guide to the curvature.
        """
        total = np.zeros(self.n_features)
        for block in self.blocks[:: -(-len(self.blocks) // SAMPLED_BLOCKS)]:
            n_rows = min(block.stop - block.start, SAMPLED_ROWS)
            X = block.features(None)[0][:n_rows]
            if sparse.issparse(X):
                size = np.abs(X.data) / n_rows
                total += np.bincount(X.indices, size, minlength=self.n_features)
                continue
            starts = block.lists.starts[block.lists.starts < n_rows]
            high = np.maximum.reduceat(X, starts, axis=0)
            low = np.minimum.reduceat(X, starts, axis=0)
            with np.errstate(over="ignore"):
                total += np.mean(high - low, axis=0, dtype=np.float64)
        known = (total > 0) & np.isfinite(total)
        median = np.median(total[known]) if known.any() else 1.0
        with np.errstate(over="ignore"):
            share = np.clip(np.where(known, total, median) / median, 1e-250, 1e250)
        return median * share / np.clip(share, 1 / NEAR, NEAR)

    def _buffers(self, n_buffers: int) -> list[Floats | None]:
        """Return room for the float64 rows of any block, if they need it."""
        if sparse.issparse(self.X) or self.X.dtype == np.float64:
            return [None] * n_buffers
        longest = max(block.stop - block.start for block in self.blocks)
        return [np.empty((longest, self.n_features)) for _ in range(n_buffers)]

    def rounding(self, parameters: Floats) -> Floats:
        r"""Return a bound on what rounding alone adds to each entry of the gradient.

        64 roundings of :math:`\sum_i |x_{ij}| (c_i + |r_i|) + \alpha |w_j|`, with r the
        gradient in the scores and c what a list counts; for extra parameters, of the
        number of terms, each of a slope of about 1 at most. Reads X once more.
        """
        coef = np.ascontiguousarray(parameters[: self.n_features])
        extra = parameters[self.n_features :]
        given = (extra,) if len(extra) else ()
        total, n_terms = np.zeros(self.n_features), 0.0
        (buffer,) = self._buffers(1)
        for block in self.blocks:
            X, X_transposed = block.features(buffer)
            slope = self.loss.value_and_gradient(
                X.dot(coef), block.prepared, block.lists, *given
            )[1]
            size = block.scale_rows(1.0 + np.abs(slope))
            total += abs(X_transposed).dot(size)
            counts = self.loss.n_terms(block.prepared, block.lists)
            n_terms += float(counts @ block.factors)
        total += self.alpha * np.abs(coef)
        total = np.append(total, np.full(len(extra), n_terms))
        return 64.0 * np.finfo(np.float64).eps * total


def _misshapen(loss: Loss, result: Any, block: Block, n_extra: int) -> str:
    """Say what a loss should have returned for a block, and what it did."""
    n_lists = len(block.factors)
    also = f", and in {n_extra} parameters for each of {n_lists} lists"
    return (
        f"{loss}.value_and_gradient must return one value for each of {n_lists} lists "
        f"and one derivative for each of {block.stop - block.start} rows"
        f"{also if n_extra else ''}, got arrays of shape "
        f"{', '.join(str(np.shape(part)) for part in result)}."
    )


def linear_scores(X: Any, coef: Floats) -> Floats:
    """Return ``X @ coef`` in float64, without a float64 copy of all of a float32 X."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return np.asarray(X @ coef, dtype=np.float64)
    scores = np.empty(X.shape[0])
    step = max(1, BLOCK_BYTES // (X.itemsize * X.shape[1]))
    for start in range(0, X.shape[0], step):
        part = np.asarray(X[start : start + step], dtype=np.float64)
        scores[start : start + step] = part @ coef
    return scores


def is_memory_mapped(X: Any) -> bool:
    """Tell whether an array's memory is a file."""
    while X is not None:
        if isinstance(X, np.memmap | mmap.mmap):
            return True
        X = getattr(X, "base", None)
    return False


def _is_plain(X: Any) -> bool:
    """Tell whether rows can be handed to BLAS as they lie in memory."""
    return (
        gemv.available
        and isinstance(X, np.ndarray)
        and X.flags.c_contiguous
        and 0 < X.shape[1] <= LARGEST_INT
        and len(X) <= LARGEST_INT
    )


def _block_bounds(X: Any, lists: Lists) -> Indices:
    """Return the first list of each block, and the number of lists at the end."""
    if sparse.issparse(X):
        before = X.indptr[lists.offsets].astype(np.float64) * 16.0
    else:
        before = lists.offsets * float(X.dtype.itemsize * X.shape[1])
    total = before[-1]
    size = min(BLOCK_BYTES, max(total / N_BLOCKS, SMALLEST_BLOCK_BYTES))
    # A block ends with the list that reaches the next multiple of its size.
    number = np.floor(before[:-1] / size)
    first = np.flatnonzero(np.diff(number, prepend=-1.0) > 0)
    return np.append(first, lists.n_lists)


def _parts(n_blocks: int) -> list[slice]:
    """Return runs of blocks, long ones first, so that threads end at the same time."""
    parts, start = [], 0
    while start < n_blocks:
        stop = start + math.ceil(PART * (n_blocks - start))
        parts.append(slice(start, stop))
        start = stop
    return parts


def _row_view(X: Any, start: int, stop: int) -> Any:
    """Return rows of X without a copy."""
    if not sparse.issparse(X):
        return X[start:stop]
    low, high = X.indptr[start], X.indptr[stop]
    view = sparse.csr_array((stop - start, X.shape[1]), dtype=X.dtype)
    _share(
        view, X.data[low:high], X.indices[low:high], X.indptr[start : stop + 1] - low
    )
    return view


def _transposed(X: Any) -> Any:
    """Return the transpose without a copy."""
    if not sparse.issparse(X):
        return X.T
    view = sparse.csc_array((X.shape[1], X.shape[0]), dtype=X.dtype)
    _share(view, X.data, X.indices, X.indptr)
    return view


def _share(view: Any, data: NDArray, indices: NDArray, indptr: NDArray) -> None:
    """Set the arrays of a sparse matrix; its constructor would copy parts of arrays."""
    view.data, view.indices, view.indptr = data, indices, indptr
