"""Plackett-Luce likelihood of each list's order, with levels of ties (ListMLE)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from sklearn.utils import check_random_state

from skrank._data.checks import check_choice, check_count
from skrank._data.lists import Floats, Indices, Levels, Lists
from skrank._data.warnings import warn
from skrank._kernels.listwise import plackett_luce, plackett_luce_curvature
from skrank._kernels.marginal import marginal
from skrank.losses.base import Loss
from skrank.losses.ranknet import RankNet

TIES = ("order", "random", "breslow", "efron", "marginal")
STAGE_WEIGHTS = ("uniform", "position", "discount", "gain", "auto")
# Labels that differ by more are no grades: their gains 2^y - 1 pass 2^31, the largest
# that other libraries take, and would leave all but the best rows without weight.
WIDEST_GRADES = 31.0


class Stages(NamedTuple):
    """Levels of each list; each of the first ``n_stages`` is picked from the rest.

    ``weights`` has one weight a place in ``order``, equal inside a level; None gives
    all stages the same weight.
    """

    order: Indices
    level_starts: Indices
    level_offsets: Indices
    n_stages: Indices
    weights: Floats | None = None


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
    "marginal" is the exact sum over all orders of tied rows: the probability that the
    rows of each level are picked before those below, in whatever order,

    .. math::

        \ell(s) = -\sum_{k < K} \log \int_0^\infty e^{-t} \prod_{i \in D_k}
        \Big( 1 - \exp \frac{-t\, e^{s_i}}{\sum_{j \in R_{k+1}} e^{s_j}} \Big) dt

    integrated to rounding. It is convex, and near Efron's less
    :math:`\sum_k \log d_k!` while levels are small beside what is below them.

    Parameters
    ----------
    ties : {"efron", "breslow", "order", "random", "marginal"}, default="efron"
        What tied rows mean. "marginal" sums over all orders of tied rows, exactly, at
        some 15 times the cost of "efron". "efron" and "breslow" approximate the sum;
        "efron" is much the closer, and ranks about as well. On data of graded labels
        that do follow the model, "marginal" alone recovers the scale of the weights;
        the others shrink it, by half where most rows are tied. "order" takes tied
        rows as ranked by their place in the data, so that the fit learns the order of
        the file, and warns. "random" breaks ties at random, once a fit.
    last_level : {"skip", "rank"}, default="skip"
        Whether "efron" and "breslow" count the lowest level as a stage. It carries no
        information: when it is its turn, nothing else is left. "rank" counts it all
        the same, as Cox regression without censoring does. With "order" and "random"
        the lowest level is the single last row, whose stage is 0 either way, as is
        the whole lowest level with "marginal".
    top_k : int, default=None
        Count only stages whose level begins among the first ``top_k`` rows; None
        counts all.
    stage_weights : {"uniform", "position", "discount", "gain", "auto"}, \
            default="uniform"
        What the pick at place p of n counts: 1, or as p-ListMLE
        :math:`2^{1-p} - 2^{1-n}`, or :math:`1 / \log_2(1 + p)`, or the gain of its
        label over the list's ideal DCG (see Notes). Picks of a tied level all count
        the mean of "position" or "discount" over the places the level takes. "auto"
        is "gain", without its warning about labels that are not grades. All leave the
        loss convex; only with "uniform" it is a log-likelihood.
    random_state : int, RandomState instance or None, default=None
        Draws the order of tied rows for ``ties="random"``.

    Notes
    -----
    "gain" weighs the stages of a list with the best and worst labels :math:`y_{\max}`
    and :math:`y_{\min}` by

    .. math::

        \omega_i = \frac{g_i}{\sum_r g_{(r)} / \log_2(1 + r)}, \qquad
        g_i = 2^{y_i - y_{\max}} - 2^{y_{\min} - y_{\max}}

    with :math:`g_{(r)}` the gains sorted, largest first. Adding a number to all labels
    of a list changes nothing, no label overflows, and the lowest level weighs 0, also
    with ``last_level="rank"``; a list of one level has loss 0. Lists whose labels
    differ by amounts that are not whole, or by more than 31, weigh all stages 1, and
    "gain" warns. ``top_k`` drops stages but leaves the ideal DCG, a sum over all rows,
    as it is. ``normalize="terms"`` of a ranker divides by the number of rows picked,
    whatever their weights.

    Where ``sample_weight`` of a ranker varies inside a list, with :math:`\omega_i` the
    weight of a row over the mean of its list, the terms of level k are multiplied by
    :math:`\frac{1}{d_k} \sum_{i \in D_k} \omega_i`, for all kinds of ties; with "order"
    and "random" each row is a level of its own. It comes on top of ``stage_weights``,
    and ``top_k`` and ``last_level`` drop stages as ever. Such weights are no
    repetitions of rows: a row twice would also be left twice at each stage before.

    Weights by gain learn from few of the stages. On graded search results they rank
    better than "uniform"; where most features are noise, or lists are few, they rank
    worse, whatever ``alpha`` (measured in the guide, "How the defaults were chosen").

    References
    ----------
    .. [1] F. Xia, T.-Y. Liu, J. Wang, W. Zhang, H. Li, "Listwise approach to learning
       to rank: theory and algorithm", ICML 2008, section 4.
    .. [2] B. Efron, "The efficiency of Cox's likelihood function for censored data",
       JASA 72 (1977), section 3.
    .. [3] J. D. Kalbfleisch, R. L. Prentice, "Marginal likelihoods based on Cox's
       regression and life model", Biometrika 60 (1973), for "marginal".
    .. [4] Y. Lan, Y. Zhu, J. Guo, S. Niu, X. Cheng, "Position-aware ListMLE: a
       sequential learning process for ranking", UAI 2014, for "position", whose
       weights :math:`2^{n-p} - 1` are divided by :math:`2^{n-1}` here, so that
       long lists neither overflow nor outweigh all others.

    Examples
    --------
    >>> from skrank.losses import ListMLE
    >>> round(ListMLE()([0.0, 0.0, 0.0], [2, 1, 0], [7, 7, 7]), 6)  # log 3!
    1.791759
    >>> tied = ListMLE("marginal")
    >>> round(tied([0.0, 0.0, 0.0], [1, 1, 0], [7, 7, 7]), 6)  # 2 orders of 6: log 3
    1.098612
    """

    def __init__(
        self,
        ties="efron",
        last_level="skip",
        top_k=None,
        stage_weights="uniform",
        random_state=None,
    ):
        self.ties = ties
        self.last_level = last_level
        self.top_k = top_k
        self.stage_weights = stage_weights
        self.random_state = random_state

    def check_labels(self, y: Floats, lists: Lists) -> Floats:
        """Check the parameters; warn of ties by order; break ties at random."""
        check_choice(self.ties, "ties", TIES)
        check_choice(self.last_level, "last_level", ("skip", "rank"))
        check_count(self.top_k, "top_k", optional=True)
        check_choice(self.stage_weights, "stage_weights", STAGE_WEIGHTS)
        if self.stage_weights == "gain":
            self._warn_of_other_labels(y, lists)
        if self.ties == "order":
            self._warn_of_ties(y, lists)
        elif self.ties == "random":
            draw = check_random_state(self.random_state).random_sample(lists.n_rows)
            of_list = lists.expand(np.arange(lists.n_lists))
            worst_first = np.lexsort((draw, y, of_list))
            ranks = np.empty(lists.n_rows)
            ranks[worst_first] = np.arange(lists.n_rows) - lists.expand(lists.starts)
            if self.stage_weights in ("gain", "auto"):
                return _ranked_grades(y, ranks, lists)
            return ranks
        return y

    def _warn_of_other_labels(self, y: Floats, lists: Lists) -> None:
        """Warn about lists whose labels are not grades."""
        others = np.count_nonzero(~grades_of(y, lists)[1])
        if others > 0:
            warn(
                f"ListMLE(stage_weights='gain'): in {others} of {lists.n_lists} lists "
                "labels differ by amounts that are not whole, or by more than "
                f"{WIDEST_GRADES:.0f}, so their stages weigh alike. Use "
                "stage_weights='uniform', or labels that are grades."
            )

    @property
    def _row_by_row(self) -> bool:
        """Whether each stage picks one row."""
        return self.ties in ("order", "random")

    def _warn_of_ties(self, y: Floats, lists: Lists) -> None:
        """Warn about the share of stages that the order of tied rows decides."""
        levels = Levels(y, lists)
        place = np.arange(lists.n_rows) - lists.expand(lists.starts)
        counted = place < (self.top_k or lists.n_rows)
        # Labels decide the pick of the last row of a level, the order of rows all
        # earlier ones.
        by_labels = np.zeros(lists.n_rows, dtype=bool)
        by_labels[levels.starts[1:] - 1] = True
        share = np.mean(~by_labels[counted])
        if share > 0:
            warn(
                f"ListMLE(ties='order'): the order of rows in the data decides "
                f"{share:.0%} of the stages, because labels are tied there. The fit "
                "learns that order; ties='efron' does not.",
            )

    def prepare(self, y: Floats, lists: Lists) -> Stages:
        """Return the rows of each list sorted into stages."""
        levels = Levels(y, lists)
        starts, offsets = levels.starts, levels.offsets
        if self._row_by_row:
            # Each row is a level of its own.
            starts, offsets = np.arange(lists.n_rows + 1), lists.offsets
            n_stages = np.minimum(lists.sizes, self.top_k or lists.n_rows)
        else:
            n_stages = levels.n_levels
            if self.last_level == "skip" or self.ties == "marginal":
                n_stages = n_stages - 1
            if self.top_k is not None:
                # A stage counts if its level begins among the first rows.
                place = starts[:-1] - np.repeat(lists.starts, levels.n_levels)
                early = np.add.reduceat(place < self.top_k, offsets[:-1])
                n_stages = np.minimum(n_stages, early)
        weights = self._weights(y, levels.order, starts, lists)
        return Stages(levels.order, starts, offsets, n_stages, weights)

    def weigh_rows(self, prepared: Stages, shares: Floats, lists: Lists) -> Stages:
        """Multiply each stage by the mean share of its level."""
        starts = prepared.level_starts
        sizes = np.diff(starts)
        means = np.add.reduceat(shares[prepared.order], starts[:-1]) / sizes
        weights = np.repeat(means, sizes)
        if prepared.weights is not None:
            weights *= prepared.weights
        return prepared._replace(weights=weights)

    def _weights(
        self, y: Floats, order: Indices, starts: Indices, lists: Lists
    ) -> Floats | None:
        """Return the weight of the pick at each place, (n_rows,); None is uniform."""
        if self.stage_weights == "uniform":
            return None
        if self.stage_weights in ("gain", "auto"):
            if self.ties == "random":  # labels are those of _ranked_grades
                grades, graded = np.floor(y), lists.min(y) >= 0
            else:
                grades, graded = grades_of(y, lists)
            return gain_weights(grades[order], graded, lists)
        place = np.arange(1.0, lists.n_rows + 1) - lists.expand(lists.starts)
        if self.stage_weights == "position":
            weights = np.exp2(1.0 - place) - np.exp2(1.0 - lists.expand(lists.sizes))
        else:
            weights = 1.0 / np.log2(1.0 + place)
        if self._row_by_row:
            return weights
        sizes = np.diff(starts)
        return np.repeat(np.add.reduceat(weights, starts[:-1]) / sizes, sizes)

    def value_and_gradient(
        self, scores: Floats, prepared: Stages, lists: Lists
    ) -> tuple[Floats, Floats]:
        """Return values (n_lists,) and the gradient in the scores (n_rows,)."""
        order, starts, offsets, n_stages, weights = prepared
        if self.ties == "marginal":
            return marginal(scores, order, starts, offsets, n_stages, weights, None)
        efron = self.ties != "breslow"
        return plackett_luce(scores, order, starts, offsets, n_stages, weights, efron)

    def hessian_product(
        self,
        scores: Floats,
        prepared: Stages,
        lists: Lists,
        direction: Floats,
        extra: Floats | None = None,
    ) -> Floats:
        """Return the second derivative in the scores times a direction, (n_rows,).

        It is exact: in closed form, or for "marginal" by the quadrature of the value.
        """
        if self.ties == "marginal":
            return marginal(scores, *prepared, direction)[1]
        efron = self.ties != "breslow"
        return plackett_luce_curvature(scores, *prepared, efron, direction)

    def curvature_weights(
        self, scores: Floats, prepared: Stages, lists: Lists
    ) -> Floats:
        """Return the sum of each row's probabilities over stages, from the gradient.

        It is the gradient plus the weight of each pick, and exact for one stage.
        """
        if self.ties == "marginal":
            return super().curvature_weights(scores, prepared, lists)
        # The gradient of a row is its probabilities over stages less its picks.
        sums = self.value_and_gradient(scores, prepared, lists)[1].copy()
        picks = np.ones(lists.n_rows) if prepared.weights is None else prepared.weights
        place = np.arange(lists.n_rows) - lists.expand(lists.starts)
        picked = place < lists.expand(self.n_terms(prepared, lists))
        sums[prepared.order] += np.where(picked, picks, 0.0)
        return np.maximum(sums, 0.0)

    def n_terms(self, prepared: Stages, lists: Lists) -> Floats:
        """Return the number of rows picked in each list."""
        ends = prepared.level_starts[prepared.level_offsets[:-1] + prepared.n_stages]
        return (ends - lists.starts).astype(np.float64)

    @property
    def model(self) -> str | None:  # type: ignore[override]
        """The model of the likelihood: "orders", or None if stages have weights."""
        return "orders" if self.stage_weights == "uniform" else None

    def why_no_likelihood(self) -> str | None:
        """Return why weighted stages are no likelihood, or None."""
        if self.stage_weights == "uniform":
            return None
        return (
            f"stage_weights={self.stage_weights!r} weighs stages, so that the loss is "
            "no log-likelihood; use 'uniform'."
        )

    def log_constant(self, prepared: Stages, lists: Lists) -> Floats:
        """Return log d! of each level of d rows that is a stage, summed by list."""
        if self.ties not in ("efron", "breslow"):
            return np.zeros(lists.n_lists)
        offsets = prepared.level_offsets
        orders = gammaln(np.diff(prepared.level_starts) + 1.0)
        stage = np.arange(len(orders)) - np.repeat(offsets[:-1], np.diff(offsets))
        orders[stage >= np.repeat(prepared.n_stages, np.diff(offsets))] = 0.0
        return np.add.reduceat(orders, offsets[:-1])

    def pair_loss(self) -> Loss:
        """Return the loss of Bradley and Terry: which of two rows comes first."""
        return RankNet()

    def summary_notes(
        self, extra: Floats, blocks: Sequence[tuple[Stages, Lists]]
    ) -> list[str]:
        """Return a note if the likelihood is approximate, since rows are tied."""
        # Only tied levels leave a constant out.
        if not any(self.log_constant(*block).any() for block in blocks):
            return []
        return [f"Labels are tied: the likelihood is approximate (ties={self.ties!r})."]


def grades_of(y: Floats, lists: Lists) -> tuple[Floats, NDArray[np.bool_]]:
    """Return whole labels above the worst of a list, and which lists have them.

    Differences may be away from whole numbers by the rounding error of labels.
    """
    above = y - lists.expand(lists.min(y))
    grades = np.rint(above)
    rounding = lists.expand(4.0 * np.finfo(np.float64).eps * lists.max(np.abs(y)))
    whole = (np.abs(above - grades) <= rounding) & (grades <= WIDEST_GRADES)
    return grades, lists.min(whole)


def gain_weights(grades: Floats, graded: NDArray[np.bool_], lists: Lists) -> Floats:
    """Return the gain over the list's ideal DCG of each place, best grade first.

    Stages of lists that are not ``graded`` weigh 1, those of lists of one level 0.
    """
    # 2^y - 1 over 2^best, so that no power overflows; the ratio stays the same.
    best = lists.expand(grades[lists.starts])
    gains = np.exp2(grades - best) - np.exp2(-best)
    place = np.arange(1.0, lists.n_rows + 1) - lists.expand(lists.starts)
    ideal = lists.sum(gains / np.log2(1.0 + place))
    weights = gains / lists.expand(np.where(ideal > 0, ideal, 1.0))
    return np.where(lists.expand(graded), weights, 1.0)


def _ranked_grades(y: Floats, ranks: Floats, lists: Lists) -> Floats:
    """Return labels without ties that hold the grade and the drawn order.

    ``check_labels`` may return only one number a row, but "random" with "gain" needs
    the grade and the drawn order. So the grade above the worst is the whole part, the
    drawn rank the fraction; negative numbers mark a list whose labels are not grades.
    """
    grades, graded = grades_of(y, lists)
    sizes = lists.expand(lists.sizes)
    untied = grades + ranks / (2.0 * sizes)
    return np.where(lists.expand(graded), untied, ranks - sizes)
