"""The objective of a linear ranker, where whole lists are spread over workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from types import SimpleNamespace
from typing import Any

import numpy as np

from skrank._data.lists import Floats, Lists
from skrank._fit.composite import Penalised
from skrank._fit.data import FitData
from skrank._fit.derivatives import Counts, Derivatives, derivatives, score_range
from skrank._fit.diagnostics import all_in_order
from skrank._fit.gram import (
    LARGEST_GRAM,
    MULTIPLY,
    READ,
    Gram,
    needs_basis,
    passes_of_gram,
    weighted_gram,
)
from skrank._fit.objective import LinearObjective, spread_from
from skrank._fit.penalty import largest_value, moments, penalty_from
from skrank.dask._parts import Part
from skrank.losses.base import Loss

LARGE = 10**5  # parameters from which they are sent to each worker once


class Shape(tuple):
    """Shape of features that workers hold, in place of the features."""

    __slots__ = ()
    shape = property(lambda self: tuple(self))
    nbytes = property(lambda self: 8 * self[0] * self[1])


class DistributedObjective(Penalised):
    r"""The objective of a linear ranker as a sum over parts that workers hold.

    .. math::

        F(w, e) = \sum_k \frac{V_k}{V} F_k(w, e) + \frac{\alpha}{2} \|w\|^2

    with :math:`F_k` the objective of part k without a penalty, :math:`V_k` the sum of
    the weights of its lists and :math:`V` of all. Parts are summed in a tree that
    depends on their number alone, so the bits do not depend on the workers.

    Parameters
    ----------
    client : distributed.Client
        Runs the tasks.
    shards : list of Future
        Objectives of the parts that have a weight, each a LinearObjective of alpha 0.
    shares : ndarray of shape (n_shards,)
        :math:`V_k / V`.
    data : FitData
        Labels, lists, weights and constant features of all data; no features.
    loss : Loss
        The loss.
    alpha : float
        Strength of the penalty.
    normalize : {None, "size", "terms"}
        What each list's value is divided by.
    extra_start : ndarray of shape (n_extra,)
        Start of the loss's own parameters, known from all labels.
    """

    def __init__(
        self,
        client: Any,
        shards: list[Any],
        shares: Floats,
        data: FitData,
        loss: Loss,
        *,
        alpha: float,
        normalize: str | None,
        extra_start: Floats,
    ) -> None:
        self.client, self.shards, self.shares = client, shards, shares
        self.data, self.loss, self.alpha = data, loss, alpha
        self.normalize, self.extra_start = normalize, extra_start
        self.n_features = data.X.shape[1]
        self.homes: list[str | None] = []
        self._sampled_ranges: Floats | None = None
        self.shared: dict[str, Any] = {}  # results that one solver leaves for the next

    @property
    def blocks(self) -> list[Any]:
        """One block of all lists, with prepared labels and without features."""
        lists = self.data.lists
        prepared = self.loss.prepare(self.data.y, lists)
        block = SimpleNamespace(
            prepared=prepared,
            lists=lists,
            start=0,
            stop=max(1, 2**21 // max(8 * self.n_features, 1)),
            factors=self._factors(prepared),
        )
        return [block]

    def _factors(self, prepared: Any) -> Floats:
        """Return the factor of each list in the objective."""
        weights = self.data.list_weights()
        shares = weights / weights.max()
        shares = shares / shares.sum()
        if self.normalize == "size":
            return shares / self.data.lists.sizes
        if self.normalize == "terms":
            terms = self.loss.n_terms(prepared, self.data.lists)
            return shares / np.maximum(terms, 1.0)
        return shares

    def with_loss(self, loss: Loss) -> DistributedObjective:
        """Return the same objective for a loss that prepares labels the same way."""
        other = copy(self)
        other.loss, other.shared = loss, {}
        return other

    @contextmanager
    def running(self) -> Iterator[DistributedObjective]:
        """Do nothing: workers start and stop their threads themselves."""
        yield self

    def on_shards(self, function: Callable, *arguments: Any) -> list[Any]:
        """Return ``function(shard, *arguments)`` of every shard, in their order.

        Shards stay where they are: only arguments and results travel.
        """
        sent = tuple(
            self.client.scatter(argument, broadcast=True, hash=False)
            if isinstance(argument, np.ndarray) and argument.size > LARGE
            else argument
            for argument in arguments
        )
        homes = self._homes()
        tasks: list[Any] = [None] * len(homes)
        for home in dict.fromkeys(homes):  # one message to the scheduler each
            numbers = [number for number, at in enumerate(homes) if at == home]
            futures = self.client.map(
                function,
                [self.shards[number] for number in numbers],
                *[[argument] * len(numbers) for argument in sent],
                pure=False,
                workers=home,
                allow_other_workers=home is not None,
            )
            for number, future in zip(numbers, futures, strict=True):
                tasks[number] = future
        return self.client.gather(tasks)

    def _homes(self) -> list[str | None]:
        """Return the worker that holds each shard, so that idle ones take no copies."""
        if len(self.homes) != len(self.shards):
            from distributed import wait

            wait(self.shards)
            held = self.client.who_has(self.shards)
            self.homes = [(held.get(s.key) or (None,))[0] for s in self.shards]
        return self.homes

    def summed(self, function: Callable, *arguments: Any) -> tuple[Any, ...]:
        """Return weighted sums, over shards, of the results of a function."""
        results = self.on_shards(function, *arguments)
        weighted = [
            tuple(share * part for part in result)
            for share, result in zip(self.shares, results, strict=True)
        ]
        return _tree_sum(weighted)

    def __call__(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the value at ``[coef, extra]`` and the gradient there."""
        value, gradient = self.summed(_value_and_gradient, parameters, self.loss)
        coef = parameters[: self.n_features]
        pull = self.ridge * coef
        gradient[: self.n_features] += pull
        return float(value) + 0.5 * float(pull @ coef), gradient

    def ranges(self, *, sampled: bool = True) -> Floats:
        """Return the sum over shards of mean ranges of features inside a list."""
        results = self.on_shards(_ranges, sampled)
        return _tree_sum([(part,) for part in results])[0]

    def spread(self) -> Floats:
        """Return the mean range of each feature inside a list, for the solver."""
        return spread_from(self.sampled_ranges())

    def sampled_ranges(self) -> Floats:
        """Return the ranges in a few blocks of each shard; computed once."""
        if self._sampled_ranges is None:
            self._sampled_ranges = self.ranges()
        return self._sampled_ranges

    def rounding(self, parameters: Floats) -> Floats:
        """Return a bound on the rounding error of each entry of the gradient."""
        (total,) = self.summed(_rounding, parameters, self.loss)
        total[: self.n_features] += (
            64.0
            * np.finfo(np.float64).eps
            * self.ridge
            * np.abs(parameters[: self.n_features])
        )
        return total

    def remade(self, data: FitData, loss: Loss) -> DistributedObjective:
        """Return an objective of the same settings for another loss."""
        other = self.with_loss(loss)
        other.homes, other.shared = [], {}
        other.extra_start = loss.extra_parameters(data.y, data.lists)
        other.shards = [
            self.client.submit(_remade, shard, loss, other.extra_start, pure=False)
            for shard in self.shards
        ]
        return other


def make_shard(
    part: Part,
    constant: Any,
    y: Any,
    weights: Any,
    loss: Loss,
    normalize: str | None,
    extra_start: Floats,
) -> LinearObjective:
    """Return the objective of a part, without a penalty.

    ``y`` replaces the part's labels where the loss changed them (ties broken at
    random).
    """
    assert part.lists is not None
    labels = part.y if y is None else y
    data = FitData(
        part.X, labels, part.lists, weights, constant=constant, shares=part.shares
    )
    shard = LinearObjective(data, loss, alpha=0.0, normalize=normalize)
    shard.extra_start = extra_start
    return shard


def _value_and_gradient(
    shard: LinearObjective, parameters: Floats, loss: Loss
) -> tuple[float, Floats]:
    with shard.with_loss(loss).running() as objective:
        return objective(parameters)


def _ranges(shard: LinearObjective, sampled: bool) -> Floats:
    return shard.ranges(sampled=sampled)


def _rounding(shard: LinearObjective, parameters: Floats, loss: Loss) -> tuple[Floats]:
    return (shard.with_loss(loss).rounding(parameters),)


def _remade(shard: LinearObjective, loss: Loss, extra_start: Floats) -> LinearObjective:
    other = shard.remade(shard.data, loss)
    other.extra_start = extra_start
    return other


@all_in_order.register
def _all_in_order(objective: DistributedObjective, coef: Floats) -> bool:
    """Return whether some weights put every pair of rows in order."""
    return all(objective.on_shards(_shard_in_order, coef))


def _shard_in_order(shard: LinearObjective, coef: Floats) -> bool:
    lists: Lists = shard.data.lists
    if not np.any(lists.max(shard.data.y) > lists.min(shard.data.y)):
        return True
    return all_in_order(shard, coef)


@passes_of_gram.register
def _passes_of_gram(objective: DistributedObjective) -> float:
    """Return the cost of one whitening, in evaluations of the objective."""
    free = _n_free(objective)
    n_rows = objective.data.lists.n_rows
    stored = max(n_rows * objective.n_features, 1)
    if free**2 > max(LARGEST_GRAM, stored):
        return np.inf
    return MULTIPLY * (n_rows * free**2 + free**3) / (stored * READ)


@needs_basis.register
def _needs_basis(objective: DistributedObjective) -> bool:
    """Return False: data that need a cluster have more rows than features."""
    return False


@weighted_gram.register
def _weighted_gram(
    objective: DistributedObjective, parameters: Floats, basis: Any = None
) -> Gram:
    """Return the sums over all shards."""
    gram, cross, extra = objective.summed(_shard_gram, parameters, objective.loss)
    constant = objective.data.constant
    free = (
        np.arange(objective.n_features)
        if constant is None
        else np.flatnonzero(~constant)
    )
    return Gram(free, None, gram, cross, extra)


def _shard_gram(
    shard: LinearObjective, parameters: Floats, loss: Loss
) -> tuple[Floats, Floats, Floats]:
    with shard.with_loss(loss).running() as objective:
        sums = weighted_gram(objective, parameters)
    return sums.gram, sums.cross, sums.extra


@derivatives.register
def _derivatives(
    objective: DistributedObjective, parameters: Floats, clusters: Any = None
) -> Derivatives:
    """Return the first and second derivatives, summed over shards."""
    if clusters is not None:
        raise ValueError("clusters of lists are not known on Dask; leave them out.")
    results = objective.on_shards(_shard_derivatives, parameters, objective.loss)
    # A shard's factors become its share of all lists; the meat of the sandwich has
    # squares of factors.
    weighted = [
        (
            share * one.gradient,
            share * one.hessian,
            share**2 * one.meat,
            one.gram,
            one.counts.n_lists,
            one.counts.of_parameters,
        )
        for share, one in zip(objective.shares, results, strict=True)
    ]
    gradient, hessian, meat, gram, n_lists, informing = _tree_sum(weighted)
    p = objective.n_features
    gradient[:p] += objective.ridge * parameters[:p]
    counts = Counts(int(n_lists), int(n_lists), informing)
    return Derivatives(gradient, hessian, meat, gram, counts)


def _shard_derivatives(
    shard: LinearObjective, parameters: Floats, loss: Loss
) -> Derivatives:
    with shard.with_loss(loss).running() as objective:
        return derivatives(objective, parameters)


@score_range.register
def _score_range(objective: DistributedObjective, coef: Floats) -> float:
    """Return the largest range of ``X @ coef`` inside a list."""
    return max(objective.on_shards(score_range, coef), default=0.0)


def penalty_on_shards(objective: DistributedObjective) -> float:
    """Return the strength of the penalty by rule, from sums over shards."""
    unit = max(objective.on_shards(_largest), default=0.0)

    def moments_in(unit: float) -> tuple[float, Floats]:
        return _tree_sum(objective.on_shards(_moments, unit))

    return penalty_from(objective.data, unit, moments_in)


def _largest(shard: LinearObjective) -> float:
    return largest_value(shard.data)


def _moments(shard: LinearObjective, unit: float) -> tuple[float, Floats]:
    return moments(shard.data, unit)


def _n_free(objective: DistributedObjective) -> int:
    constant = objective.data.constant
    return objective.n_features - (0 if constant is None else int(constant.sum()))


def _tree_sum(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return sums of tuples in a tree that depends on how many there are."""
    while len(parts) > 1:
        pairs = [
            tuple(a + b for a, b in zip(left, right, strict=True))
            for left, right in zip(parts[::2], parts[1::2], strict=False)
        ]
        parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]
