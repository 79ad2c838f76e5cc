"""Logistic loss on pairs of rows with different labels (RankNet, Bradley-Terry)."""

from __future__ import annotations

import numpy as np

from skrank._data.checks import check_choice
from skrank._data.lists import Floats, Levels, Lists
from skrank._kernels.pairwise import logistic
from skrank.losses import _pairs
from skrank.losses._gains import relative_gains
from skrank.losses._pairs import Pairs, n_different
from skrank.losses.base import Loss


class RankNet(Loss):
    r"""Logistic loss on the pairs of a list with different labels: Bradley-Terry.

    .. math::

        \ell(s) = \sum_{y_i > y_j} w_{ij} \log(1 + e^{-(s_i - s_j)})

    Only the order of labels counts, unless pairs weigh their gains: see [1]_ for the
    loss. It costs time n log n in the number of rows of a list, however many labels
    there are, and memory in proportion to that of rows.

    Where ``sample_weight`` of a ranker varies inside a list, with :math:`\omega_i` the
    weight of a row over the mean of its list, each pair counts that of its better row:
    :math:`\sum_{y_i > y_j} \omega_i w_{ij} \log(1 + e^{-(s_i - s_j)})`. Such weights
    are not repetitions of rows: a row twice would be worse in more pairs, too.

    Parameters
    ----------
    pair_weight : {None, "gain"}, default=None
        None: :math:`w_{ij} = 1`. "gain": :math:`w_{ij} = (2^{y_i} - 2^{y_j}) / D`
        with D the DCG of the whole list in its best order, :math:`\sum_r (2^{y_{(r)}}
        - 1) / \log_2(1 + r)`, for labels that are not negative. A list without gain
        then has value 0.

    References
    ----------
    .. [1] C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton,
       G. Hullender, "Learning to rank using gradient descent", ICML 2005, section 3.

    Examples
    --------
    >>> from skrank.losses import RankNet
    >>> round(RankNet()([0.0, 0.0, 0.0], [2, 1, 0], [7, 7, 7]) / 3, 6)
    0.693147
    """

    model = "pairs"

    def __init__(self, pair_weight=None):
        self.pair_weight = pair_weight

    def check_labels(self, y: Floats, lists: Lists) -> Floats:
        """Refuse unknown pair weights, and negative labels for gains."""
        check_choice(self.pair_weight, "pair_weight", (None, "gain"))
        if self.pair_weight == "gain" and y.min() < 0:
            raise ValueError(
                "RankNet(pair_weight='gain') needs labels of at least 0, got "
                f"{y.min()}: the gain 2**y - 1 would be negative. pair_weight=None "
                "takes any labels."
            )
        return y

    def prepare(self, y: Floats, lists: Lists) -> Pairs:
        """Return the levels of each list, and their gains over the ideal DCG."""
        levels = Levels(y, lists)
        if self.pair_weight is None:
            return Pairs(levels)
        gain = relative_gains(y, lists)[levels.order]
        rank = np.arange(1, lists.n_rows + 1) - lists.expand(lists.starts)
        # Levels are ordered from the best, so this is the DCG of the best order.
        ideal = lists.sum(gain / np.log2(1.0 + rank))
        # A list without an ideal has equal labels, and no pair.
        gain /= lists.expand(np.where(ideal > 0, ideal, 1.0))
        return Pairs(levels, gain[levels.starts[:-1]])

    def weigh_rows(self, prepared: Pairs, shares: Floats, lists: Lists) -> Pairs:
        """Multiply each pair by the share of its better row."""
        return prepared.weighed(shares)

    def value_and_gradient(
        self, scores: Floats, prepared: Pairs, lists: Lists
    ) -> tuple[Floats, Floats]:
        """Return values (n_lists,) and the gradient in the scores (n_rows,)."""
        return _visit_pairs(scores, prepared, None)

    def n_terms(self, prepared: Pairs, lists: Lists) -> Floats:
        """Return the number of pairs with different labels in each list."""
        return n_different(prepared.levels, lists)

    def hessian_product(
        self, scores: Floats, prepared: Pairs, lists: Lists, direction: Floats
    ) -> Floats:
        """Return the exact second derivative in the scores times a direction."""
        return _visit_pairs(scores, prepared, direction)[1]

    def why_no_likelihood(self) -> str | None:
        """Return why weighted pairs are no likelihood, or None."""
        return None if self.pair_weight is None else "pairs are weighted."

    def pair_loss(self) -> Loss:
        """Return the loss that counts each pair once."""
        return RankNet()


def _visit_pairs(
    scores: Floats, pairs: Pairs, direction: Floats | None
) -> tuple[Floats, Floats]:
    """Return values and gradient, or with a direction the product with it."""
    levels, gains, shares = pairs
    return logistic(
        scores,
        levels.order,
        levels.starts,
        levels.offsets,
        gains,
        shares,
        _pairs.MOST_PAIRS_A_ROW,
        direction,
    )
