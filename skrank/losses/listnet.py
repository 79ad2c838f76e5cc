"""Softmax cross-entropy over each list (ListNet), in plain numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank._data.checks import check_choice, check_positive
from skrank._data.lists import Floats, Lists
from skrank.losses._gains import relative_gains
from skrank.losses.base import Loss


class Target(NamedTuple):
    """The target distribution, its sum in each list (1 or 0), and if all sums are 1."""

    probabilities: Floats
    total: Floats
    complete: bool


class ListNet(Loss):
    r"""Cross-entropy between a list's labels and the softmax of its scores.

    .. math::

        \ell(s) = \log \sum_j e^{s_j} - \sum_i p_i s_i

    where :math:`p` are the gains :math:`2^{y_i} - 1` over their sum, or a softmax of
    the labels. A list without gain has no target and value 0. This is the top-one form
    of the loss of [1]_.

    Where ``sample_weight`` of a ranker varies inside a list, with :math:`\omega_i` the
    weight of a row over the mean of its list, the target is
    :math:`p_i \omega_i / \sum_j p_j \omega_j`; a list whose gains all weigh 0 has
    value 0. Such weights are not repetitions of rows: a row twice would also stand
    twice in the softmax of the scores.

    Parameters
    ----------
    target : {"gain", "softmax"}, default="gain"
        "gain": :math:`p_i = (2^{y_i} - 1) / \sum_j (2^{y_j} - 1)`, for labels that
        are not negative. "softmax": :math:`p_i = e^{y_i/T} / \sum_j e^{y_j/T}`, for
        any labels.
    temperature : float, default=1.0
        The T of ``target="softmax"``, positive, in units of the labels: small values
        put all of the target on the best rows. It does not matter for "gain".

    References
    ----------
    .. [1] Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai, H. Li, "Learning to rank: from
       pairwise approach to listwise approach", ICML 2007, section 4.

    Examples
    --------
    >>> from skrank.losses import ListNet
    >>> round(ListNet()([0.0, 0.0], [1, 0], [7, 7]), 6)
    0.693147
    """

    def __init__(self, target="gain", temperature=1.0):
        self.target = target
        self.temperature = temperature

    def check_labels(self, y: Floats, lists: Lists) -> Floats:
        """Refuse negative labels for gains, and a temperature that is not positive."""
        check_choice(self.target, "target", ("gain", "softmax"))
        check_positive(self.temperature, "temperature")
        if self.target == "gain" and y.min() < 0:
            raise ValueError(
                f"ListNet(target='gain') needs labels of at least 0, got {y.min()}: "
                "the gain 2**y - 1 would be negative. target='softmax' takes any "
                "labels."
            )
        return y

    def prepare(self, y: Floats, lists: Lists) -> Target:
        """Return the target distribution of each list."""
        if self.target == "softmax":
            best = lists.expand(lists.max(y))
            # Labels far below the best get probability 0.
            with np.errstate(over="ignore"):
                below = (y - best) / self.temperature
            return Target(lists.softmax(below)[0], np.ones(len(lists)), True)
        gain = relative_gains(y, lists)
        total = lists.sum(gain)
        some = total > 0
        probabilities = gain / lists.expand(np.where(some, total, 1.0))
        return Target(probabilities, some.astype(np.float64), bool(some.all()))

    def weigh_rows(self, prepared: Target, shares: Floats, lists: Lists) -> Target:
        """Multiply each row's target by its share, and divide so that the sum is 1."""
        varies = lists.max(shares) > lists.min(shares)
        probabilities = prepared.probabilities * shares
        total = lists.sum(probabilities)
        some = np.where(varies, total > 0, prepared.total > 0)
        # Leave targets as they are where shares change nothing, to keep their bits.
        probabilities /= lists.expand(np.where(varies & some, total, 1.0))
        return Target(probabilities, some.astype(np.float64), bool(some.all()))

    def value_and_gradient(
        self, scores: Floats, prepared: Target, lists: Lists
    ) -> tuple[Floats, Floats]:
        """Return values (n_lists,) and the gradient in the scores (n_rows,)."""
        target, total, complete = prepared
        # Both terms of a value are at least 0 here, so nothing cancels.
        below = scores - lists.expand(lists.max(scores))
        behind = lists.sum(target * below)
        gradient = np.exp(below, out=below)
        sum_exp = lists.sum(gradient)
        values = np.log(sum_exp)
        gradient /= lists.expand(sum_exp)
        if not complete:
            values *= total
            gradient *= lists.expand(total)
        gradient -= target
        values -= behind
        return values, gradient

    def hessian_product(
        self, scores: Floats, prepared: Target, lists: Lists, direction: Floats
    ) -> Floats:
        """Return the exact second derivative in the scores times a direction."""
        weights = lists.softmax(scores)[0] * lists.expand(prepared.total)
        product = weights * direction
        return product - weights * lists.expand(lists.sum(product))

    def curvature_weights(
        self, scores: Floats, prepared: Target, lists: Lists
    ) -> Floats:
        """Return the softmax of each list's scores, which is exact."""
        return lists.softmax(scores)[0] * lists.expand(prepared.total)
