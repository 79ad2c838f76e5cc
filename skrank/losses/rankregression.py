"""Quadratic loss on pairs of rows: differences of scores as targets (Rank Regress)."""

from __future__ import annotations

import numpy as np

from skrank._data.checks import LARGEST_SQUARED, check_choice
from skrank._data.lists import Floats, Levels, Lists
from skrank._kernels.quadratic import margin_squares
from skrank.losses._pairs import n_different, n_pairs
from skrank.losses.base import Loss


class RankRegression(Loss):
    r"""Quadratic loss on the differences of scores inside a list.

    .. math::

        \ell(s) = \sum_{y_i > y_j} (1 - (s_i - s_j))^2

    for "margin"; for "labels", over all pairs, tied ones too,

    .. math::

        \ell(s) = \sum_{i < j} \big( (s_i - s_j) - (y_i - y_j) \big)^2
        = n \sum_i (e_i - \bar e)^2, \qquad e = s - y

    which is least squares with an intercept for each list. Both cost time in
    proportion to the number of rows.

    Parameters
    ----------
    differences : {"margin", "labels"}, default="margin"
        What a difference of scores should be: 1 for a better row over a worse one,
        or the difference of their labels, which then count as numbers.

    References
    ----------
    .. [1] D. Sculley, "Large scale learning to rank", NIPS Workshop on Advances in
       Ranking, 2009, section 2.
    .. [2] T. Pahikkala, E. Tsivtsivadze, A. Airola, J. Jarvinen, J. Boberg, "An
       efficient algorithm for learning to rank from preference graphs", Machine
       Learning 75 (2009), section 3.

    Examples
    --------
    >>> from skrank.losses import RankRegression
    >>> RankRegression()([0.5, 0.0, 0.0], [2, 1, 1], [7, 7, 7])
    0.5
    >>> RankRegression("labels")([2.0, 0.0, 0.0], [2, 1, 1], [7, 7, 7])
    2.0
    """

    def __init__(self, differences="margin"):
        self.differences = differences

    def check_labels(self, y: Floats, lists: Lists) -> Floats:
        """Refuse unknown differences, and labels whose squares overflow."""
        check_choice(self.differences, "differences", ("margin", "labels"))
        if self.differences == "labels":
            largest = float(y[np.argmax(np.abs(y))])
            if abs(largest) > LARGEST_SQUARED:
                raise ValueError(
                    "RankRegression(differences='labels') squares differences of "
                    f"labels, and y holds {largest:g}: beyond {LARGEST_SQUARED:g} sums "
                    "of squares overflow. Divide y by a number, or set "
                    "differences='margin', for which only the order of labels counts."
                )
        return y

    def prepare(self, y: Floats, lists: Lists) -> Levels | Floats:
        """Return the levels of each list, or its labels less their mean."""
        if self.differences == "margin":
            return Levels(y, lists)
        return _centred(y, lists)

    def value_and_gradient(
        self, scores: Floats, prepared: Levels | Floats, lists: Lists
    ) -> tuple[Floats, Floats]:
        """Return values (n_lists,) and the gradient in the scores (n_rows,)."""
        if isinstance(prepared, Levels):
            return _margin_squares(scores, prepared, 1.0)
        # With e = s - y, the sum over pairs of (e_i - e_j)^2 is n times the sum of
        # squares about the mean. Centre twice: the first removes a large common score,
        # the second its rounding.
        error = _centred(_centred(scores, lists) - prepared, lists)
        sizes = lists.sizes.astype(np.float64)
        return sizes * lists.sum(error**2), 2.0 * lists.expand(sizes) * error

    def n_terms(self, prepared: Levels | Floats, lists: Lists) -> Floats:
        """Return the number of pairs that count in each list."""
        if isinstance(prepared, Levels):
            return n_different(prepared, lists)
        return n_pairs(lists.sizes)

    def hessian_product(
        self,
        scores: Floats,
        prepared: Levels | Floats,
        lists: Lists,
        direction: Floats,
    ) -> Floats:
        """Return the exact second derivative in the scores times a direction."""
        if isinstance(prepared, Levels):
            # The loss is quadratic, so its second derivative times v is the gradient at
            # scores v, without the margin.
            return _margin_squares(direction, prepared, 0.0)[1]
        # The second derivative of n |C s - c|^2, with C the matrix that centres a list.
        return 2.0 * lists.expand(lists.sizes) * _centred(direction, lists)


def _centred(values: Floats, lists: Lists) -> Floats:
    """Return row values less the mean of their list."""
    return values - lists.expand(lists.sum(values) / lists.sizes)


def _margin_squares(
    scores: Floats, levels: Levels, margin: float
) -> tuple[Floats, Floats]:
    return margin_squares(scores, levels.order, levels.starts, levels.offsets, margin)
