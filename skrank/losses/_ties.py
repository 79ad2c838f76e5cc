"""The base of the two models of pairs with ties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank._data.lists import Floats, Levels, Lists
from skrank._kernels.paired_ties import paired_ties
from skrank.losses import _pairs
from skrank.losses._pairs import n_pairs, n_tied
from skrank.losses.base import Loss


class Ratios(NamedTuple):
    """The numbers of a model that the kernel takes, at one value of its parameter."""

    scale: float
    win: float
    square: float
    tie: float


class Ties(NamedTuple):
    """The levels of each list, and its number of tied pairs."""

    levels: Levels
    n_tied: Floats


class TieLoss(Loss):
    """Base of the two models of pairs with ties, of one parameter each.

    A subclass gives the numbers for the kernel, and adds the constant cost of a tie.
    """

    model = "pairs"
    # Beyond this, a model differs from its limit by less than one part in e^20 = 5e8.
    extra_limit = 20.0

    def extra_parameters(self, y: Floats, lists: Lists) -> Floats:
        r"""Return the best parameter for equal scores, where t of all pairs are tied.

        Both models then have P(tie) = e^a / (2 + e^a), so a = log(2t / (1 - t)).
        """
        tied = n_tied(Levels(y, lists)).sum()
        different = n_pairs(lists.sizes).sum() - tied
        if tied == different == 0.0:
            return np.zeros(1)
        with np.errstate(divide="ignore"):
            start = np.log(2.0 * tied) - np.log(different)
        return np.clip([start], -self.extra_limit, self.extra_limit)

    def at_limit(self, extra: Floats) -> str:
        """Return a text that names the limit, and the model there."""
        if extra[0] < 0:
            return (
                "no two rows of a list are tied, so the parameter of ties stops at its "
                "lower limit, where the model is that of RankNetRanker. Use that one."
            )
        return (
            "the parameter of ties stops at its upper limit: all rows of each list are "
            "tied, or rows tie however far apart their scores. Scale X or raise alpha, "
            "unless labels hold no information."
        )

    def prepare(self, y: Floats, lists: Lists) -> Ties:
        """Return the levels of each list."""
        levels = Levels(y, lists)
        return Ties(levels, n_tied(levels))

    def n_terms(self, prepared: Ties, lists: Lists) -> Floats:
        """Return the number of pairs in each list."""
        return n_pairs(lists.sizes)

    def ratios(self, parameter: float) -> Ratios:
        """Return the kernel's numbers."""
        raise NotImplementedError

    def hessian_product(
        self,
        scores: Floats,
        prepared: Ties,
        lists: Lists,
        direction: Floats,
        extra: Floats,
    ) -> Floats:
        """Return the exact second derivative in the scores times a direction."""
        ratios = self.ratios(float(extra[0]))
        return visit(scores, prepared, ratios, direction)[3]


def visit(
    scores: Floats,
    ties: Ties,
    ratios: Ratios,
    direction: Floats | None = None,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the kernel's sums for each list, and the gradient or product.

    These are the sums of log f over all pairs, of its derivative in log k over wins,
    and in t over ties.
    """
    levels = ties.levels
    sums, out = paired_ties(
        scores,
        levels.order,
        levels.starts,
        levels.offsets,
        *ratios,
        _pairs.MOST_PAIRS_A_ROW,
        direction,
    )
    return sums[0], sums[1], sums[2], out
