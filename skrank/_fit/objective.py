"""The objective of a linear ranker, in one pass over blocks of whole lists."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from itertools import cycle, pairwise
from typing import Any

import numpy as np
from scipy import sparse

import skrank._kernels.gemv as gemv
from skrank._data.lists import Floats
from skrank._fit.blocks import (
    Block,
    block_bounds,
    is_plain,
    row_view,
    runs_of_blocks,
)
from skrank._fit.composite import Penalised
from skrank._fit.data import FitData
from skrank._fit.threads import one_blas_thread
from skrank.losses.base import Loss

SAMPLED_BLOCKS, SAMPLED_ROWS = 4, 2048  # to estimate the spread of features
SMALLEST_SPREAD = 1e-300  # of a feature: its inverse is a number, too
NEAR = 10.0  # spreads that differ by less count as equal

# Returns the value of each list of a block at its scores and extra parameters, the
# gradient in the scores, and that in the extra parameters where there are any.
BlockLoss = Callable[[Block, Floats, Floats], Any]


class LinearObjective(Penalised):
    r"""Weighted mean of a loss over lists, plus a penalty, as a function of weights.

    .. math::

        F(w, e) = \sum_q c_q\, \ell_q(X_q w, e)
        + \alpha \frac{1 - \rho}{2} \|w\|^2,
        \qquad c_q = \frac{v_q}{\sum_p v_p} \frac{1}{m_q}

    with :math:`v` the list weights and :math:`m_q` 1, the number of rows or the
    number of terms of a list. Calling it with the parameters ``[w, e]`` returns the
    value and the gradient. Each block of whole lists is read once: scores, loss and
    ``X.T @ gradient`` follow each other while the block is in cache. The order in
    which sums are added depends on the data alone, never on ``n_jobs``.

    Parameters
    ----------
    data : FitData
        Features, lists, and labels as ``loss.check_labels`` returned them. With
        ``rows``, features are gathered block by block.
    loss : Loss
        The loss; ``loss.extra_parameters`` gives the start of its own parameters.
    alpha : float
        Strength of the penalty, at least 0.
    l1_ratio : float, default=0.0
        Share :math:`\rho` of the penalty that is :math:`\alpha \rho \|w\|_1`. This part
        has kinks: it is not part of F but left to the solver, as are bounds.
    bounds : tuple of two ndarray of shape (n_features,), default=None
        Least and largest weights.
    normalize : {None, "size", "terms"}, default=None
        Divisor of each list's value.
    n_jobs : int, default=1
        Number of threads inside :meth:`running`.
    """

    def __init__(
        self,
        data: FitData,
        loss: Loss,
        *,
        alpha: float,
        l1_ratio: float = 0.0,
        bounds: tuple[Floats, Floats] | None = None,
        normalize: str | None = None,
        n_jobs: int = 1,
    ) -> None:
        self.data, self.loss = data, loss
        self.l1_ratio, self.bounds = l1_ratio, bounds
        self.alpha, self.normalize, self.n_jobs = alpha, normalize, n_jobs
        X, y, lists, rows = data.X, data.y, data.lists, data.rows
        self.n_features = X.shape[1]
        self.shared: dict[str, Any] = {}
        self.extra_start = loss.extra_parameters(y, lists)
        weights = data.list_weights()
        # Divide first, so that the sum of huge weights cannot overflow.
        shares = weights / weights.max()
        shares /= shares.sum()
        firsts = block_bounds(X, lists)
        self.blocks: list[Block] = []
        for first, last in pairwise(firsts):
            part = lists.part(first, last)
            start, stop = int(lists.offsets[first]), int(lists.offsets[last])
            prepared = loss.prepare(y[start:stop], part)
            if data.shares is not None:
                prepared = loss.weigh_rows(prepared, data.shares[start:stop], part)
            factors = shares[first:last].copy()
            if normalize == "size":
                factors /= part.sizes
            elif normalize == "terms":
                factors /= np.maximum(loss.n_terms(prepared, part), 1.0)
            view = row_view(X, start, stop) if rows is None else None
            source = None if rows is None else X
            where = None if rows is None else rows[start:stop]
            offset = None if data.offset is None else data.offset[start:stop]
            self.blocks.append(
                Block(view, source, where, start, stop, part, prepared, factors, offset)
            )
        # For a wide sparse X, adding n_features numbers for each block costs more than
        # reading X twice.
        self.product_at_end = sparse.issparse(X) and (
            self.n_features * len(self.blocks) > X.nnz
        )
        self._parts = runs_of_blocks(len(self.blocks))
        # More threads than parts would have nothing to do.
        self.n_jobs = min(self.n_jobs, len(self._parts))
        self._pool: ThreadPoolExecutor | None = None
        self._sampled_ranges: Floats | None = None

    def with_loss(self, loss: Loss) -> LinearObjective:
        """Return the same objective for a loss that prepares labels the same way."""
        other = copy(self)
        other.loss, other.shared = loss, {}
        return other

    def with_penalty(self, alpha: float, shared: dict[str, Any]) -> LinearObjective:
        """Return the same objective with another penalty.

        Solvers share through ``shared`` results that no penalty changes.
        """
        other = copy(self)
        other.alpha, other.shared = alpha, shared
        return other

    def remade(self, data: FitData, loss: Loss) -> LinearObjective:
        """Return an objective of the same settings for other data or another loss."""
        return LinearObjective(
            data,
            loss,
            alpha=self.alpha,
            l1_ratio=self.l1_ratio,
            bounds=self.bounds,
            normalize=self.normalize,
            n_jobs=self.n_jobs,
        )

    @contextmanager
    def running(self) -> Iterator[LinearObjective]:
        """Use ``n_jobs`` threads inside, and one thread for each BLAS product.

        With BLAS threads the last bits would depend on their number, and blocks are too
        small to gain from them.
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

    def share_threads(self, other: LinearObjective) -> None:
        """Use the threads of an objective that is :meth:`running`."""
        self._pool = other._pool

    def __call__(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the value at ``[coef, extra]`` and the gradient there."""
        value, gradient = self.data_term(parameters, self._loss_of_block)
        coef = parameters[: self.n_features]
        pull = self.ridge * coef  # first, since squares of huge weights overflow
        value += 0.5 * float(pull @ coef)
        gradient[: self.n_features] += pull
        return value, gradient

    def data_term(
        self, parameters: Floats, of_block: BlockLoss
    ) -> tuple[float, Floats]:
        """Return the objective without its penalty, for any loss of blocks.

        ``of_block`` returns values and gradients at a block's scores.
        """
        coef = np.ascontiguousarray(parameters[: self.n_features])
        extra = parameters[self.n_features :]
        row_gradient = np.empty(self.data.lists.n_rows) if self.product_at_end else None
        sums: list[Any] = [None] * len(self._parts)
        waiting = deque(range(len(self._parts)))

        def work() -> None:
            # Two buffers, since a block is still in use when the next one is read.
            # Memory that is never written costs nothing.
            buffers = self._buffers(2)
            while True:
                try:
                    number = waiting.popleft()
                except IndexError:
                    return
                sums[number] = self._visit(
                    self._parts[number], of_block, buffers, coef, extra, row_gradient
                )

        # Threads take parts in any order, but sums are added in the order of the parts,
        # so that the bits do not depend on n_jobs.
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
        coef_gradient = gradient[: self.n_features]
        if row_gradient is not None:
            coef_gradient += self.data.X.T @ row_gradient
        if self.data.constant is not None:
            coef_gradient[self.data.constant] = 0.0
        return value, gradient

    def _visit(
        self,
        part: slice,
        of_block: BlockLoss,
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
        coef_gradient, extra_gradient = gradient[:n_here], gradient[n_here:]
        pending: tuple[Any, Any, float] = (None, None, 0.0)
        for block, buffer in zip(self.blocks[part], cycle(buffers)):
            X, X_transposed = block.features(buffer)
            # One call adds the last block's gradient and takes this block's scores, so
            # that the thread returns to Python half as often.
            fused = row_gradient is None and is_plain(X)
            if fused:
                scores = np.empty(len(X))
                gemv.gradient_then_scores(*pending, coef_gradient, X, coef, scores)
            else:
                scores = X.dot(coef)
            scores = block.with_offset(scores)
            result = of_block(block, scores, extra)
            values, slope = np.asarray(result[0]), np.asarray(result[1])
            if (
                values.shape != block.factors.shape
                or slope.shape != scores.shape
                or (len(extra) and np.shape(result[2]) != (len(values), len(extra)))
            ):
                raise ValueError(_misshapen(self.loss, result, block, len(extra)))
            value += float(block.factors.dot(values))
            if len(extra):
                extra_gradient += block.factors @ result[2]
            factor = block.row_factors
            if factor is None:
                slope, factor = block.scale_rows(slope), 1.0
            slope = slope.astype(np.float64, "C", "same_kind", copy=False)
            if fused:
                pending = X, slope, factor
            elif row_gradient is None:
                coef_gradient += factor * X_transposed.dot(slope)
            else:
                row_gradient[block.start : block.stop] = factor * slope
        # The gradient of the last block is still to be added.
        gemv.gradient_then_scores(*pending, coef_gradient, None, coef, None)
        return value, gradient

    def _loss_of_block(self, block: Block, scores: Floats, extra: Floats) -> Any:
        """Return the loss and its gradients at a block's scores."""
        return self.loss.value_and_gradient(scores, block.prepared, block.lists, extra)

    def spread(self) -> Floats:
        """Return the mean range of each feature inside a list, for the solver.

        Features near the median, or without variation among a few rows, count as the
        median: small differences of spread are no guide to the curvature.
        """
        return spread_from(self.sampled_ranges())

    def sampled_ranges(self) -> Floats:
        """Return the ranges in a few blocks; computed once."""
        if self._sampled_ranges is None:
            self._sampled_ranges = self.ranges()
        return self._sampled_ranges

    @property
    def n_sampled_blocks(self) -> int:
        """Number of blocks that ``sampled_ranges`` adds up."""
        step = -(-len(self.blocks) // SAMPLED_BLOCKS)
        return len(self.blocks[::step])

    def largest_range(self) -> float:
        """Return the largest difference between two values of a block, in one pass."""
        largest = 0.0
        for block in self.blocks:
            X = block.features(None)[0]
            values = X.data if sparse.issparse(X) else X
            low, high = (float(f(values, initial=0.0)) for f in (np.min, np.max))
            largest = max(largest, high - low)
        return largest

    def ranges(self, *, sampled: bool = True) -> Floats:
        """Return the sum over blocks of mean ranges inside a list, (n_features,).

        Sparse features are taken to reach from 0 to their size. ``sampled`` takes a few
        blocks, and not more of each than a few rows.
        """
        total = np.zeros(self.n_features)
        step = -(-len(self.blocks) // SAMPLED_BLOCKS) if sampled else 1
        for block in self.blocks[::step]:
            n_rows = block.stop - block.start
            n_rows = min(n_rows, SAMPLED_ROWS) if sampled else n_rows
            X = block.features(None)[0][:n_rows]
            if sparse.issparse(X):
                size = np.abs(X.data) / n_rows
                total += np.bincount(X.indices, size, minlength=self.n_features)
                continue
            starts = block.lists.starts[block.lists.starts < n_rows]
            high = np.maximum.reduceat(X, starts, axis=0)
            low = np.minimum.reduceat(X, starts, axis=0)
            # In float64, since the range of huge float32 values exceeds float32.
            with np.errstate(over="ignore"):
                total += np.mean(np.subtract(high, low, dtype=np.float64), axis=0)
        return total

    def _buffers(self, n_buffers: int) -> list[Floats | None]:
        """Return a buffer for the float64 rows of any block, if blocks need it."""
        X = self.data.X
        if sparse.issparse(X) or X.dtype == np.float64:
            return [None] * n_buffers
        longest = max(block.stop - block.start for block in self.blocks)
        return [np.empty((longest, self.n_features)) for _ in range(n_buffers)]

    def rounding(self, parameters: Floats) -> Floats:
        r"""Return a bound on the rounding error of each entry of the gradient.

        The bound is 64 eps times :math:`\sum_i |x_{ij}| (c_i + |r_i|) + \alpha |w_j|`,
        with r the gradient in the scores and c the factors of lists; for extra
        parameters, times the number of terms, whose slopes are about 1 at most. Reads X
        once more.
        """
        coef = np.ascontiguousarray(parameters[: self.n_features])
        extra = parameters[self.n_features :]
        total, n_terms = np.zeros(self.n_features), 0.0
        (buffer,) = self._buffers(1)
        for block in self.blocks:
            X, X_transposed = block.features(buffer)
            slope = self.loss.value_and_gradient(
                block.scores(X, coef), block.prepared, block.lists, extra
            )[1]
            size = block.scale_rows(1.0 + np.abs(slope))
            total += abs(X_transposed).dot(size)
            counts = self.loss.n_terms(block.prepared, block.lists)
            n_terms += float(counts @ block.factors)
        total += self.ridge * np.abs(coef)
        total = np.append(total, np.full(len(extra), n_terms))
        return 64.0 * np.finfo(np.float64).eps * total


def spread_from(total: Floats) -> Floats:
    """Return the spread of features for the solver, from sums of ranges."""
    known = (total > 0) & np.isfinite(total)
    median = np.median(total[known]) if known.any() else 1.0
    total = np.where(known, total, median)
    with np.errstate(over="ignore"):  # no quotient: two ranges may be 1e600 apart
        spread = np.where(total > NEAR * median, total / NEAR, median)
        spread = np.where(total < median / NEAR, total * NEAR, spread)
    return np.clip(spread, SMALLEST_SPREAD, 1.0 / SMALLEST_SPREAD)


def _misshapen(loss: Loss, result: Any, block: Block, n_extra: int) -> str:
    """Return an error text on the shapes that a loss must return and has returned."""
    n_lists = len(block.factors)
    also = f", and in {n_extra} parameters for each of {n_lists} lists"
    return (
        f"{loss}.value_and_gradient must return one value for each of {n_lists} lists "
        f"and one derivative for each of {block.stop - block.start} rows"
        f"{also if n_extra else ''}, got arrays of shape "
        f"{', '.join(str(np.shape(part)) for part in result)}."
    )
