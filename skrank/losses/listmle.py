"""Plackett-Luce likelihood of each list's order, with levels of ties (ListMLE)."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from skrank._kernels.listwise import plackett_luce
from skrank._lists import Floats, Indices, Levels, Lists
from skrank.losses.base import Loss

TIES = ("order", "random", "breslow", "efron")


class Stages(NamedTuple):
    """Levels of each list, of which the first ``n_stages`` are picked from the rest."""

    order: Indices
    level_starts: Indices
    level_offsets: Indices
    n_stages: Indices


class ListMLE(Loss):
    r"""Minus log-likelihood of each list's order under the Plackett-Luce model.

    The best row is picked from all rows with probability proportional to
    :math:`e^{s_i}`, the next from the rest, and so on. With levels
    :math:`D_1, D_2, \ldots` of :math:`d_k` tied rows, :math:`R_k` the rows of level k
    and below:

    .. math::

        \ell(s) = \sum_k \Big[ \sum_{l=0}^{d_k - 1} \log \Big(
        \sum_{j \in R_k} e^{s_j} - f_l \sum_{j \in D_k} e^{s_j} \Big)
        - \sum_{i \in D_k} s_i \Big]

    with :math:`f_l = l / d_k` for "efron" and 0 for "breslow", as in the partial
    likelihood of Cox regression, one stratum a list. Without ties all kinds agree.

    Parameters
    ----------
    ties : {"efron", "breslow", "order", "random"}, default="efron"
        What tied rows mean. "efron" and "breslow" approximate the sum over the orders
        of tied rows; "efron" is much the closer. "order" takes tied rows as ranked by
        their place in the data, so that the fit learns the order of the file, and
        warns. "random" breaks ties at random, once a fit.
    last_level : {"skip", "rank"}, default="skip"
        Whether "efron" and "breslow" count the lowest level as a stage. It carries no
        information: when it is its turn, nothing else is left. "rank" counts it all
        the same, as Cox regression without censoring does. With "order" and "random"
        the lowest level is the single last row, whose stage is 0 either way.
    top_k : int, default=None
        Count only stages whose level begins among the first ``top_k`` rows; None
        counts all.
    random_state : int, RandomState instance or None, default=None
        Draws the order of tied rows for ``ties="random"``.

    References
    ----------
    .. [1] F. Xia, T.-Y. Liu, J. Wang, W. Zhang, H. Li, "Listwise approach to learning
       to rank: theory and algorithm", ICML 2008, section 4.
    .. [2] B. Efron, "The efficiency of Cox's likelihood function for censored data",
       JASA 72 (1977), section 3.

    Examples
    --------
    >>> from skrank.losses import ListMLE
    >>> round(ListMLE()([0.0, 0.0, 0.0], [2, 1, 0], [7, 7, 7]), 6)  # log 3!
    1.791759
    """

    def __init__(self, ties="efron", last_level="skip", top_k=None, random_state=None):
        self.ties = ties
        self.last_level = last_level
        self.top_k = top_k
        self.random_state = random_state

    def check_labels(self, y: Floats, lists: Lists) -> Floats:
        """Check the parameters; warn of ties by order; break ties at random."""
        if self.ties not in TIES:
            raise ValueError(f"ties must be one of {TIES}, got {self.ties!r}.")
        if self.last_level not in ("skip", "rank"):
            raise ValueError(
                f"last_level must be 'skip' or 'rank', got {self.last_level!r}."
            )
        if self.top_k is not None and not (
            isinstance(self.top_k, Integral) and int(self.top_k) >= 1
        ):
            raise ValueError(
                f"top_k must be None or an integer of at least 1, got {self.top_k!r}."
            )
        if self.ties == "order":
            self._warn_of_ties(y, lists)
        elif self.ties == "random":
            draw = check_random_state(self.random_state).random_sample(lists.n_rows)
            of_list = lists.expand(np.arange(lists.n_lists))
            worst_first = np.lexsort((draw, y, of_list))
            ranks = np.empty(lists.n_rows)
            ranks[worst_first] = np.arange(lists.n_rows) - lists.expand(lists.starts)
            return ranks
        return y

    def _warn_of_ties(self, y: Floats, lists: Lists) -> None:
        """Warn what share of stages the order of tied rows decides."""
        levels = Levels(y, lists)
        place = np.arange(lists.n_rows) - lists.expand(lists.starts)
        counted = place < (self.top_k or lists.n_rows)
        # The pick of a level's last row is told by the labels, of the others not.
        by_labels = np.zeros(lists.n_rows, dtype=bool)
        by_labels[levels.starts[1:] - 1] = True
        share = np.mean(~by_labels[counted])
        if share > 0:
            warnings.warn(
                f"ListMLE(ties='order'): the order of rows in the data decides "
                f"{share:.0%} of the stages, because labels are tied there. The fit "
                "learns that order; ties='efron' does not.",
                stacklevel=2,
            )

    def prepare(self, y: Floats, lists: Lists) -> Stages:
        """Return the rows of each list sorted into stages."""
        levels = Levels(y, lists)
        if self.ties in ("order", "random"):
            starts = np.arange(lists.n_rows + 1)
            n_stages = np.minimum(lists.sizes, self.top_k or lists.n_rows)
            return Stages(levels.order, starts, lists.offsets, n_stages)
        n_stages = levels.n_levels
        if self.last_level == "skip":
            n_stages = n_stages - 1
        if self.top_k is not None:
            place = levels.starts[:-1] - np.repeat(lists.starts, levels.n_levels)
            early = np.add.reduceat(place < self.top_k, levels.offsets[:-1])
            n_stages = np.minimum(n_stages, early)
        return Stages(levels.order, levels.starts, levels.offsets, n_stages)

    def value_and_gradient(
        self, scores: Floats, prepared: Stages, lists: Lists
    ) -> tuple[Floats, Floats]:
        """Return values (n_lists,) and the gradient in the scores (n_rows,)."""
        return plackett_luce(scores, *prepared, self.ties != "breslow")

    def n_terms(self, prepared: Stages, lists: Lists) -> Floats:
        """Return the number of rows picked in each list."""
        ends = prepared.level_starts[prepared.level_offsets[:-1] + prepared.n_stages]
        return (ends - lists.starts).astype(np.float64)
