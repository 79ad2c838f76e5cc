"""Hinge losses on pairs of rows with different labels (Ranking SVM)."""

from __future__ import annotations

import numpy as np

from skrank._data.checks import check_choice
from skrank._data.lists import Floats, Levels, Lists
from skrank._kernels.hinge import hinge
from skrank.losses._pairs import Pairs, n_different
from skrank.losses.base import Loss

MOST_PAIRS_A_ROW = 48.0  # lists with more pairs are faster with sorting


class RankSVM(Loss):
    r"""Hinge loss on the pairs of a list with different labels: Ranking SVM.

    .. math::

        \ell(s) = \sum_{y_i > y_j} \max(0, 1 - (s_i - s_j))^p

    with p = 2 for "squared" and 1 for "linear". Only the order of labels counts. It
    costs time n log n in the number of rows of a list, however many labels there are
    [2]_.

    Where ``sample_weight`` of a ranker varies inside a list, with :math:`\omega_i` the
    weight of a row over the mean of its list, each pair counts that of its better row:
    :math:`\sum_{y_i > y_j} \omega_i \max(0, 1 - (s_i - s_j))^p`. Such weights are no
    repetitions of rows: a row twice would be worse in more pairs, too.

    Parameters
    ----------
    hinge : {"squared", "linear"}, default="squared"
        "squared" is smooth; "linear", the hinge of [1]_, has kinks, so that rankers
        minimise it through smooth losses that come ever closer.

    References
    ----------
    .. [1] T. Joachims, "Optimizing search engines using clickthrough data", KDD 2002,
       section 4.2.
    .. [2] T. Joachims, "Training linear SVMs in linear time", KDD 2006, section 4.

    Examples
    --------
    One pair, 0.4 apart:

    >>> from skrank.losses import RankSVM
    >>> round(RankSVM("linear")([0.4, 0.0], [1, 0], [7, 7]), 6)
    0.6
    >>> round(RankSVM()([0.4, 0.0], [1, 0], [7, 7]), 6)
    0.36
    """

    def __init__(self, hinge="squared"):
        self.hinge = hinge

    def check_labels(self, y: Floats, lists: Lists) -> Floats:
        """Refuse unknown hinges."""
        check_choice(self.hinge, "hinge", ("squared", "linear"))
        return y

    def prepare(self, y: Floats, lists: Lists) -> Pairs:
        """Return the levels of each list."""
        return Pairs(Levels(y, lists))

    def weigh_rows(self, prepared: Pairs, shares: Floats, lists: Lists) -> Pairs:
        """Multiply each pair by the share of its better row."""
        return prepared.weighed(shares)

    def value_and_gradient(
        self, scores: Floats, prepared: Pairs, lists: Lists
    ) -> tuple[Floats, Floats]:
        """Return values (n_lists,) and the gradient in the scores (n_rows,).

        At the kink of the linear hinge the slope is taken as 0.
        """
        if self.hinge == "linear":
            return _visit_pairs(scores, prepared, 0.0)
        values, gradient = _visit_pairs(scores, prepared, np.inf)
        return 2.0 * values, 2.0 * gradient

    def n_terms(self, prepared: Pairs, lists: Lists) -> Floats:
        """Return the number of pairs with different labels in each list."""
        return n_different(prepared.levels, lists)

    def hessian_product(
        self, scores: Floats, prepared: Pairs, lists: Lists, direction: Floats
    ) -> Floats:
        """Return the exact second derivative in the scores times a direction.

        It is exact unless a pair is at the kink. That of the linear hinge is 0.
        """
        if self.hinge == "linear":
            return np.zeros(lists.n_rows)
        return 2.0 * _visit_pairs(scores, prepared, np.inf, direction)[1]

    def smoothed(self, width: float) -> Loss | None:
        """Return the linear hinge with its kink rounded off over a width."""
        return _RoundedHinge(width) if self.hinge == "linear" else None


class _RoundedHinge(RankSVM):
    r"""Hinge with a parabola between 0 and a width: a loss with a gradient everywhere.

    With :math:`t = \max(0, 1 - d)` a pair costs :math:`t^2 / 2w` up to :math:`t = w`
    and :math:`t - w/2` beyond: never more than the hinge, and at most w/2 less.
    """

    def __init__(self, width=1.0):
        self.width = width

    def check_labels(self, y: Floats, lists: Lists) -> Floats:
        return y

    def value_and_gradient(
        self, scores: Floats, prepared: Pairs, lists: Lists
    ) -> tuple[Floats, Floats]:
        values, gradient = _visit_pairs(scores, prepared, self.width)
        return values / self.width, gradient / self.width

    def curvature_weights(
        self, scores: Floats, prepared: Pairs, lists: Lists
    ) -> Floats:
        """Return the weights for a width of 1, since few pairs lie in a small one."""
        wide = _RoundedHinge(1.0)
        return Loss.curvature_weights(wide, scores, prepared, lists)

    hessian_product = Loss.hessian_product
    smoothed = Loss.smoothed


def _visit_pairs(
    scores: Floats,
    pairs: Pairs,
    width: float,
    direction: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return values and gradient, or with a direction the product with it."""
    levels = pairs.levels
    return hinge(
        scores,
        levels.order,
        levels.starts,
        levels.offsets,
        pairs.shares,
        width,
        MOST_PAIRS_A_ROW,
        direction,
    )
