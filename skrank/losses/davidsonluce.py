"""Ordered partitions with a learned weight for each size of tie (Davidson-Luce)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import check_choice, listing
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank._kernels.subsets_geometric import IMPOSSIBLE
from skrank.losses._partition import (
    Partitions,
    SubsetModel,
    check_tie_size,
    geometric_likelihood,
    size_weights,
    why_slow,
)
from skrank.losses._tie_growth import rows_of_stages, sizes_that_grow
from skrank.losses.base import Loss

TIE_WEIGHTS = ("sizes", "slope")


class DavidsonLuce(Loss):
    r"""Minus log-likelihood of levels of ties, each size of tie with its own weight.

    Of the rows :math:`R_k` of level k and below, a stage takes the level
    :math:`X_k` among all non-empty subsets:

    .. math::

        \ell(s, \beta) = -\sum_k \log \frac{\Phi(X_k)}{\sum_{S \subseteq R_k} \Phi(S)},
        \qquad
        \Phi(S) = \delta_{|S|} \exp \Big( \frac{1}{|S|} \sum_{i \in S} s_i \Big)

    with learned :math:`\beta_m = \log \delta_m` and :math:`\delta_1 = 1`. It is convex
    in the scores and :math:`\beta` together. :class:`PMOP` with "geometric" is the
    case of equal weights, Plackett-Luce that of :math:`\delta_m = 0` for m > 1, and
    lists of two rows make it Davidson's model of pairs.

    Parameters
    ----------
    tie_weights : {"sizes", "slope"}, default="sizes"
        "sizes": one weight for each size of level that occurs in the data; other
        sizes are impossible, which is their best estimate. "slope": one number b with
        :math:`\beta_m = b (m - 1)`, for long lists with many sizes.
    max_tie_size : int, default=None
        Largest number of rows that a stage can take; None for the largest level
        ("sizes") or all rows ("slope").

    References
    ----------
    .. [1] D. Firth, I. Kosmidis, H. Turner, "Davidson-Luce model for multi-item choice
       with ties", arXiv:1909.07123, 2019.

    Examples
    --------
    Two rows can be tied or in one of two orders:

    >>> from skrank.losses import DavidsonLuce
    >>> round(DavidsonLuce()([0.0, 0.0], [1, 1], [7, 7]), 6)  # log 3
    1.098612
    """

    model = "partitions"

    def __init__(self, tie_weights="sizes", max_tie_size=None):
        self.tie_weights = tie_weights
        self.max_tie_size = max_tie_size

    def check_labels(self, y: Floats, lists: Lists) -> Floats:
        """Check the parameters, and that no level has more than ``max_tie_size``."""
        check_choice(self.tie_weights, "tie_weights", TIE_WEIGHTS)
        check_tie_size("DavidsonLuce", self.max_tie_size, y, lists)
        return y

    def extra_parameters(self, y: Floats, lists: Lists) -> Floats:
        """Return the start of the log weights of sizes 2 to the largest, or of b.

        Blocks of lists know only their own sizes, so sizes that occur nowhere have an
        entry too, ``IMPOSSIBLE``: a finite number that solvers carry along, whose
        gradient is 0 and whose exponential is 0. So has b if nothing is tied.
        """
        sizes = Levels(y, lists).sizes
        if self.tie_weights == "slope":
            return np.array([0.0 if sizes.max() > 1 else IMPOSSIBLE])
        # The likelihood only falls as the weight of a size that never occurs grows, so
        # its best weight is 0.
        start = np.full(int(sizes.max()), IMPOSSIBLE)
        start[sizes - 1] = 0.0
        return start[1:]

    def prepare(self, y: Floats, lists: Lists) -> Partitions:
        """Return the levels of each list."""
        return Partitions.of(y, lists)

    def value_and_gradient(
        self,
        scores: Floats,
        prepared: Partitions,
        lists: Lists,
        extra: Floats | None = None,
    ) -> tuple[Floats, ...]:
        """Return values (n_lists,), and the gradients (n_rows,), (n_lists, n_extra)."""
        log_weights = self.log_weights(extra, int(lists.sizes.max()))
        values, gradient, in_weights = geometric_likelihood(
            scores, prepared, log_weights, with_weights=extra is not None
        )
        if in_weights is None:
            return values, gradient
        if self.tie_weights == "slope":
            # log delta_m = b (m - 1), so the chain rule weighs the derivative in log
            # delta_m by m - 1.
            steps = np.arange(float(len(log_weights)))
            return values, gradient, (in_weights @ steps)[:, np.newaxis]
        return values, gradient, in_weights[:, 1:]

    def log_weights(self, extra: Floats | None, n_rows: int) -> Floats:
        """Return the log weights of sizes 1 to the largest in lists of so many rows."""
        if extra is None:
            return np.zeros(1)
        if self.tie_weights == "sizes":
            return np.concatenate((np.zeros(1), extra))
        largest = n_rows
        if self.max_tie_size is not None:
            largest = min(largest, int(self.max_tie_size))
        # The size 1 has log weight 0, since a common factor of all subsets cancels.
        return extra[0] * np.arange(float(largest))

    def n_terms(self, prepared: Partitions, lists: Lists) -> Floats:
        """Return the number of stages of each list: of its levels."""
        return prepared.levels.n_levels.astype(np.float64)

    def why_slow(self, y: Floats, lists: Lists) -> str | None:
        """Return a warning if sums over subsets are expensive, else None."""
        levels = Levels(y, lists)
        largest = int(levels.sizes.max())
        if self.tie_weights == "slope":
            largest = int(self.max_tie_size or lists.sizes.max())
        return why_slow(
            levels,
            lists,
            largest,
            "Cut levels of so many tied rows, set max_tie_size with "
            "tie_weights='slope', or use PMOPRanker(), whose potential='arithmetic' "
            "takes linear time.",
        )

    def subset_model(self, extra: Floats, longest: int) -> SubsetModel:
        """Return the probabilities of a stage with at most ``longest`` rows."""
        learned = self.log_weights(extra, longest)[:longest]
        weights = size_weights(longest, len(learned))
        weights[1 : len(learned) + 1] = np.where(learned > IMPOSSIBLE, learned, -np.inf)
        return SubsetModel(False, weights)

    def extra_names(self, extra: Floats) -> list[str]:
        """Return the names of the sizes of ties, or of the slope."""
        if self.tie_weights == "slope":
            return ["log delta slope"]
        return [f"log delta_{size}" for size in range(2, len(extra) + 2)]

    def extra_from(self, last: Floats, start: Floats) -> Floats:
        """Return the last fit's weights of those sizes that occur in both fits."""
        start = start.copy()
        shared = min(len(start), len(last))
        known = (start[:shared] > IMPOSSIBLE) & (last[:shared] > IMPOSSIBLE)
        start[:shared][known] = last[:shared][known]
        return start

    def estimated(
        self, extra: Floats, prepared: Sequence[Partitions]
    ) -> NDArray[np.bool_]:
        """Return which weights of sizes have a finite best value."""
        determined = extra > IMPOSSIBLE
        growing = self._growing(prepared)
        if self.tie_weights == "sizes":
            determined[growing - 2] = False
        elif len(growing):
            determined[:] = False
        return determined

    def why_unbounded(self, prepared: Sequence[Partitions]) -> str | None:
        """Return why weights of sizes have no finite best value, or None."""
        growing = self._growing(prepared)
        if not len(growing):
            return None
        return (
            f"Weights of ties of {listing([str(size) for size in growing])} rows grow "
            f"without end: all stages of {growing[0]} rows or more take {growing[0]} "
            "or more."
        )

    def _growing(self, prepared: Sequence[Partitions]) -> Indices:
        """Return sizes of ties whose weights have no finite best value."""
        parts = [partitions.levels for partitions in prepared]
        taken = np.concatenate([levels.sizes for levels in parts])
        rows = np.concatenate([rows_of_stages(levels) for levels in parts])
        if self.tie_weights == "sizes":
            return sizes_that_grow(taken, rows)
        most = np.minimum(rows, self.max_tie_size or rows.max())
        return np.unique(taken[taken > 1]) if (taken == most).all() else taken[:0]
