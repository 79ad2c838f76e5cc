"""Probabilistic model over ordered partitions (PMOP): full decomposition, geometric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from skrank._data.checks import check_choice
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank._kernels.subsets_arithmetic import arithmetic
from skrank.losses._partition import (
    Partitions,
    SubsetModel,
    check_tie_size,
    geometric_likelihood,
    size_weights,
    why_slow,
)
from skrank.losses.base import Loss

POTENTIALS = ("arithmetic", "geometric")


class Prepared(NamedTuple):
    """The ordered partition of each list, and the part of its loss without scores."""

    partitions: Partitions
    constants: Floats


class PMOP(Loss):
    r"""Minus log-likelihood of each list's ordered partition into levels of ties.

    Of the rows :math:`R_k` of level k and below, a stage takes the level
    :math:`X_k` among all non-empty subsets:

    .. math::

        \ell(s) = -\sum_k \log \frac{\Phi(X_k)}{\sum_{S \subseteq R_k} \Phi(S)}

    with the potential of a subset, of at most ``max_tie_size`` rows,

    .. math::

        \Phi(S) = \frac{1}{|S|} \sum_{i \in S} e^{s_i} \;\text{(arithmetic)}, \qquad
        \Phi(S) = \exp \Big( \frac{1}{|S|} \sum_{i \in S} s_i \Big)
        \;\text{(geometric)}.

    Probabilities of all ordered partitions of a list sum to 1. The last level counts,
    since it might have been split.

    "arithmetic" is the full decomposition of [1]_, PMOP-FD. One strong row is enough
    for its stage. It takes linear time and is not convex. Without ties its gradient
    is that of Plackett-Luce.

    "geometric" is the general case of [1]_. Its stage wants all rows strong. The sum
    over subsets is exact, in time :math:`n D \min(n, D)` for n rows and D the
    ``max_tie_size``. It is convex. Without ties it is not Plackett-Luce, unless
    ``max_tie_size=1``.

    The geometric mean as general potential is our reading of [1]_: the formula is
    missing from the text that we had. But the text says that the gradient compares
    feature means of the chosen subset and of a sampled one, and no other potential does
    that.

    Parameters
    ----------
    potential : {"arithmetic", "geometric"}, default="arithmetic"
        What a subset of rows weighs.
    max_tie_size : int, default=None
        Largest number of rows that a stage can take; None for all. With "arithmetic"
        it changes the value by a constant alone.

    References
    ----------
    .. [1] T. Truyen, D. Phung, S. Venkatesh, "Probabilistic models over ordered
       partitions with applications in document ranking and collaborative filtering",
       SDM 2011.

    Examples
    --------
    Two rows can be tied or in one of two orders:

    >>> from skrank.losses import PMOP
    >>> round(PMOP()([0.0, 0.0], [1, 0], [7, 7]), 6)  # log 3
    1.098612
    """

    model = "partitions"

    def __init__(self, potential="arithmetic", max_tie_size=None):
        self.potential = potential
        self.max_tie_size = max_tie_size

    def check_labels(self, y: Floats, lists: Lists) -> Floats:
        """Check the parameters, and that no level has more than ``max_tie_size``."""
        check_choice(self.potential, "potential", POTENTIALS)
        check_tie_size("PMOP", self.max_tie_size, y, lists)
        return y

    def prepare(self, y: Floats, lists: Lists) -> Prepared:
        """Return the levels of each list, and the constant part of its loss."""
        partitions = Partitions.of(y, lists)
        if self.potential == "geometric":
            return Prepared(partitions, np.zeros(lists.n_lists))
        levels = partitions.levels
        ends = np.repeat(lists.offsets[1:], levels.n_levels)
        # Rows that remain at each stage: those of its level and of all below.
        n_left = ends - levels.starts[:-1]
        # log(d_k (2^N_k - 1) / N_k), the part of stage k that does not depend on
        # scores.
        terms = np.log(levels.sizes) - np.log(n_left)
        terms += _log_subsets(n_left, self.max_tie_size)
        return Prepared(partitions, np.add.reduceat(terms, levels.offsets[:-1]))

    def value_and_gradient(
        self, scores: Floats, prepared: Prepared, lists: Lists
    ) -> tuple[Floats, Floats]:
        """Return values (n_lists,) and the gradient in the scores (n_rows,)."""
        if self.potential == "arithmetic":
            return _visit(scores, prepared, None)
        largest = int(lists.sizes.max())
        if self.max_tie_size is not None:
            largest = min(largest, int(self.max_tie_size))
        return geometric_likelihood(
            scores, prepared.partitions, np.zeros(largest), with_weights=False
        )[:2]

    def n_terms(self, prepared: Prepared, lists: Lists) -> Floats:
        """Return the number of stages of each list: of its levels."""
        return prepared.partitions.levels.n_levels.astype(np.float64)

    def hessian_product(
        self,
        scores: Floats,
        prepared: Prepared,
        lists: Lists,
        direction: Floats,
        extra: Floats | None = None,
    ) -> Floats:
        """Return second derivatives times a direction, exactly for "arithmetic"."""
        if self.potential == "arithmetic":
            return _visit(scores, prepared, direction)[1]
        return super().hessian_product(scores, prepared, lists, direction)

    def why_slow(self, y: Floats, lists: Lists) -> str | None:
        """Return a warning if sums over subsets are expensive, else None."""
        if self.potential == "arithmetic":
            return None
        return why_slow(
            Levels(y, lists),
            lists,
            int(self.max_tie_size or lists.sizes.max()),
            "Set max_tie_size, use potential='arithmetic', or chains: "
            "PMOPRanker('geometric', inference='gibbs').",
        )

    def subset_model(self, extra: Floats, longest: int) -> SubsetModel:
        """Return the probabilities of a stage with at most ``longest`` rows."""
        weights = size_weights(longest, self.max_tie_size)
        return SubsetModel(self.potential == "arithmetic", weights)

    def summary_notes(
        self, extra: Floats, blocks: Sequence[tuple[Any, Lists]]
    ) -> list[str]:
        """Return a note that "arithmetic" may have other optima."""
        if self.potential == "geometric":
            return []
        return ["Not convex: the errors are around the optimum that was found."]


def _visit(
    scores: Floats, prepared: Prepared, direction: Floats | None
) -> tuple[Floats, Floats]:
    """Return values and gradient of "arithmetic", or the product with a direction."""
    levels = prepared.partitions.levels
    values, out = arithmetic(
        scores, levels.order, levels.starts, levels.offsets, direction
    )
    return values + prepared.constants, out


def _log_subsets(n_rows: Indices, max_size: int | None) -> Floats:
    """Return the log of the number of non-empty subsets, of at most some size."""
    sizes, of_rows = np.unique(n_rows, return_inverse=True)
    # log(2^n - 1) = n log 2 + log(1 - 2^-n), which no n overflows.
    logs = sizes * np.log(2.0) + np.log1p(-np.exp2(-sizes.astype(np.float64)))
    if max_size is not None:
        taken = np.arange(1.0, int(max_size) + 1.0)
        for place in np.flatnonzero(sizes > max_size):
            n = float(sizes[place])
            logs[place] = logsumexp(
                gammaln(n + 1.0) - gammaln(taken + 1.0) - gammaln(n - taken + 1.0)
            )
    return logs[of_rows]
