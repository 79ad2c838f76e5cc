"""Pairs with ties, the second way: a tie as a third alternative (Davidson)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import softmax

from skrank._data.lists import Floats, Lists
from skrank.losses._ties import Ratios, TieLoss, Ties, visit


class Davidson(TieLoss):
    r"""Minus log-likelihood of all pairs of a list, ties included, by Davidson.

    .. math::

        P(i \succ j) : P(j \succ i) : P(i \sim j) =
        e^{s_i} : e^{s_j} : \nu e^{(s_i + s_j)/2}

    with :math:`\nu = e^b > 0` and :math:`b` learned. Only the order of labels counts.
    Without tied rows the best :math:`\nu` is 0, which is
    :class:`~skrank.losses.RankNet`; with nothing but ties it is infinite. Rankers keep
    :math:`|b| \le 20`. It costs time n log n in
    the number of rows of a list, and memory in proportion to it.

    References
    ----------
    .. [1] R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in
       paired comparison experiments", JASA 65 (1970), section 2.

    Examples
    --------
    With equal scores a tie has probability nu / (2 + nu), and the start is where that
    is the share of ties, here 1/3:

    >>> import math
    >>> from skrank.losses import Davidson
    >>> value = Davidson()([0.0, 0.0, 0.0], [1, 0, 0], [7, 7, 7])
    >>> math.isclose(value, 3 * math.log(3))
    True
    """

    def ratios(self, parameter: float) -> Ratios:
        """Return the kernel's numbers: f = 1 + nu r + r^2; f = r + 1/r + nu.

        Here r is exp((s_j - s_i) / 2), and P(tie) is nu / f.
        """
        nu = np.exp(parameter)
        return Ratios(0.5, nu, 1.0, nu)

    def value_and_gradient(
        self,
        scores: Floats,
        prepared: Ties,
        lists: Lists,
        extra: Floats,
    ) -> tuple[Floats, ...]:
        """Return values (n_lists,), the gradients in the scores (n_rows,) and in b."""
        b = float(extra[0])
        values, wins, ties, gradient = visit(scores, prepared, self.ratios(b))
        # A tie costs log f - b. With nu = e^b the derivative of log f in b is nu r / f
        # for a win, and nu / f for a tie.
        values -= b * prepared.n_tied
        in_b = wins + np.exp(b) * ties - prepared.n_tied
        return values, gradient, in_b[:, np.newaxis]

    def pair_proba(self, difference: Floats, extra: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of a win and of a tie, given s_a - s_b."""
        half = difference / 2
        odds = np.stack((half, np.full_like(half, extra[0]), -half))
        win, tie, _ = softmax(odds, axis=0)
        return win, tie

    def extra_names(self, extra: Floats) -> list[str]:
        """Return the name of b."""
        return ["log nu"]

    def summary_notes(
        self, extra: Floats, blocks: Sequence[tuple[Any, Lists]]
    ) -> list[str]:
        """Return the parameter of ties in its natural scale, as a note."""
        return [f"nu is tie_parameter_, {float(np.exp(extra[0])):.6g}."]
