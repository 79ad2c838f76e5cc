"""Pairs with ties, the first way: a threshold that a win must pass (Rao-Kupper)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from skrank._data.lists import Floats, Lists
from skrank.losses._ties import Ratios, TieLoss, Ties, visit


class RaoKupper(TieLoss):
    r"""Minus log-likelihood of all pairs of a list, ties included, by Rao and Kupper.

    .. math::

        P(i \succ j) = \frac{e^{s_i}}{e^{s_i} + \theta e^{s_j}}, \qquad
        P(i \sim j) = \frac{(\theta^2 - 1) e^{s_i} e^{s_j}}
        {(e^{s_i} + \theta e^{s_j})(\theta e^{s_i} + e^{s_j})}

    with :math:`\theta = 1 + e^a > 1` and :math:`a` learned: the logistic model of
    ordered outcomes with cut points :math:`\pm\log\theta`. Only the order of labels
    counts. Without tied rows the best :math:`\theta` is 1, which is
    :class:`~skrank.losses.RankNet`; with nothing but ties it is infinite. Rankers keep
    :math:`|a| \le 20`. It costs time n log n in
    the number of rows of a list, and memory in proportion to it.

    References
    ----------
    .. [1] P. V. Rao, L. L. Kupper, "Ties in paired-comparison experiments: a
       generalization of the Bradley-Terry model", JASA 62 (1967), section 2.

    Examples
    --------
    With equal scores a tie has probability (theta - 1) / (theta + 1), and the start is
    where that is the share of ties, here 1/3:

    >>> import math
    >>> from skrank.losses import RaoKupper
    >>> value = RaoKupper()([0.0, 0.0, 0.0], [1, 0, 0], [7, 7, 7])
    >>> math.isclose(value, 3 * math.log(3))
    True
    """

    def ratios(self, parameter: float) -> Ratios:
        """Return the kernel's numbers: f = 1 + theta r; f = r + 1/r + theta + 1/theta.

        P(tie) is (theta - 1/theta) / f.
        """
        theta = 1.0 + np.exp(parameter)
        return Ratios(1.0, theta, 0.0, theta + 1.0 / theta)

    def value_and_gradient(
        self,
        scores: Floats,
        prepared: Ties,
        lists: Lists,
        extra: Floats,
    ) -> tuple[Floats, ...]:
        """Return values (n_lists,), the gradients in the scores (n_rows,) and in a."""
        a = float(extra[0])
        odds = np.exp(a)
        theta = 1.0 + odds
        values, wins, ties, gradient = visit(scores, prepared, self.ratios(a))
        # theta - 1/theta = odds (2 + odds) / theta, also where theta rounds to 1.
        values -= prepared.n_tied * (a + np.log((2.0 + odds) / theta))
        in_log_theta = wins + ties * (odds * (2.0 + odds) / theta)
        # d log theta / da = odds / theta, since theta = 1 + e^a.
        in_a = in_log_theta * (odds / theta)
        in_a -= prepared.n_tied * ((theta**2 + 1.0) / (theta * (theta + 1.0)))
        return values, gradient, in_a[:, np.newaxis]

    def pair_proba(self, difference: Floats, extra: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of a win and of a tie, given s_a - s_b."""
        odds = np.exp(extra[0])  # theta - 1
        cut = np.log1p(odds)
        win, lose = expit(difference - cut), expit(-difference - cut)
        # Not 1 - win - lose, which cancels; theta^2 - 1 = odds (2 + odds).
        return win, odds * (2.0 + odds) * win * lose

    def extra_names(self, extra: Floats) -> list[str]:
        """Return the name of a."""
        return ["log(theta - 1)"]

    def summary_notes(
        self, extra: Floats, blocks: Sequence[tuple[Any, Lists]]
    ) -> list[str]:
        """Return the parameter of ties in its natural scale, as a note."""
        return [f"theta is tie_parameter_, {1.0 + float(np.exp(extra[0])):.6g}."]
