"""The shape of a loss: pure functions of scores, labels and lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import BaseEstimator

from skrank._data.checks import equally_long, finite_column
from skrank._data.grouping import group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Floats, Lists

N_PROBES = 4  # random vectors for the diagonal of a Hessian
N_STEPS, SMALLEST_REST = 4, 0.3  # of the fixed-point iteration for the weights of rows


class Loss(BaseEstimator):
    """Base class of the losses: a value a list, and its gradient in the scores.

    A loss holds hyper-parameters only. It knows nothing of features, weights, means
    or penalties. A subclass defines ``prepare`` and ``value_and_gradient``; all that
    :class:`~skrank.linear_model.LinearRanker` does follows from these two. The other
    methods have defaults, to be replaced by the losses that need them.

    Inside a loss ``scores`` and ``y`` are float64 arrays of shape (n_rows,) whose
    rows are together by list, and ``lists`` is the :class:`~skrank.Lists` they form.
    ``extra``, the loss's own learned parameters, is an array, empty for most losses; a
    loss without them may leave it out of its signatures.

    A loss that is minus a log-likelihood names its kind in ``model``; rankers then have
    ``summary`` and the probabilities of that model. Each kind needs:

    "pairs"
        Pairs of rows of a list, as if they were independent. Define ``pair_proba`` if
        two rows can tie, or if the chance of a win is not the logistic function.
    "orders"
        Orders of the rows of a list, by Plackett and Luce. ``prepare`` returns an
        object with the fields of ``ListMLE``'s stages. Define ``log_constant`` if
        values leave out a constant.
    "partitions"
        Ordered partitions of the rows of a list into levels of ties. Define
        ``subset_model``, the weights of subsets that a stage can take.

    Examples
    --------
    The quadratic loss on labels, about the mean of each list:

    >>> from skrank.losses import Loss
    >>> class Centred(Loss):
    ...     def prepare(self, y, lists):
    ...         return y - lists.expand(lists.sum(y) / lists.sizes)
    ...     def value_and_gradient(self, scores, prepared, lists):
    ...         mean = lists.expand(lists.sum(scores) / lists.sizes)
    ...         error = scores - mean - prepared
    ...         return lists.sum(error**2) / 2, error
    >>> Centred()([1.0, 0.0, 3.0, 3.0], [2, 0, 1, 1], ["a", "a", "b", "b"])
    0.125
    """

    # The kind of likelihood: None, "pairs", "orders" or "partitions".
    model: str | None = None
    # The solver keeps absolute values of extra parameters within this limit; rankers
    # warn with the text of ``at_limit`` if they stop there.
    extra_limit: float = np.inf

    def __init_subclass__(cls, **options: Any) -> None:
        """Let all losses take ``extra``, also those whose signatures leave it out.

        All callers pass it, so this is the only place that distinguishes the two.
        """
        super().__init_subclass__(**options)
        for name, n_arguments in (
            ("value_and_gradient", 4),
            ("hessian_product", 5),
            ("curvature_weights", 4),
        ):
            # Also of a mixin left of Loss, which does not come by here itself.
            method = getattr(cls, name)
            if not _takes(method, n_arguments):
                setattr(cls, name, _taking_extra(method, n_arguments - 1))

    def check_labels(self, y: Floats, lists: Lists) -> Floats:
        """Check all labels, and return the labels for ``prepare``.

        Called once, before the rows are cut into blocks: the place to refuse labels,
        to warn, and to draw what must be drawn once a fit.
        """
        return y

    def prepare(self, y: Floats, lists: Lists) -> Any:
        """Return results that depend on labels alone, to compute them once."""
        raise NotImplementedError(
            f"{type(self).__name__} must define prepare(self, y, lists), which returns "
            "what value_and_gradient needs of the labels."
        )

    def weigh_rows(self, prepared: Any, shares: Floats, lists: Lists) -> Any:
        """Return the result of ``prepare`` with weights of rows in it.

        ``shares`` (n_rows,) are weights of rows over the mean weight of their list. A
        loss whose terms belong to single rows multiplies each term by the share of its
        row. The list as a whole counts by its mean weight in any case. The default
        refuses weights that vary inside a list.
        """
        raise ValueError(
            f"sample_weight varies inside lists, and {type(self).__name__} has no "
            "terms that belong to single rows. Pass weights that are constant inside "
            "each list, such as their means; or use RankNet, RankSVM, ListMLE or "
            "ListNet, which take weights of rows."
        )

    def value_and_gradient(
        self, scores: Floats, prepared: Any, lists: Lists, extra: Floats | None = None
    ) -> tuple[Floats, ...]:
        """Return values (n_lists,) and the gradient in the scores (n_rows,).

        A loss with extra parameters takes their values as ``extra`` (n_extra,) and
        also returns the gradient in them, (n_lists, n_extra).
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define value_and_gradient(self, scores, "
            "prepared, lists), which returns values (n_lists,) and the gradient in the "
            "scores (n_rows,)."
        )

    def extra_parameters(self, y: Floats, lists: Lists) -> Floats:
        """Return the start of the loss's own learned parameters, shape (n_extra,)."""
        return np.empty(0)

    def smoothed(self, width: float) -> Loss | None:
        """Return a smooth loss at most ``width`` a term below this one, never above.

        None, the default, says that this loss is smooth itself. A loss with kinks
        gives one for any positive width, with the same ``prepare``; rankers then
        minimise a sequence of these, ever closer to it.
        """
        return None

    def at_limit(self, extra: Floats) -> str:
        """Return a text for extra parameters that stopped at their limit."""
        return f"parameters of the loss stopped at their limit: extra_ = {extra}."

    def n_terms(self, prepared: Any, lists: Lists) -> Floats:
        """Return the number of terms that each list's value adds up, (n_lists,)."""
        return np.ones(lists.n_lists)

    def hessian_product(
        self,
        scores: Floats,
        prepared: Any,
        lists: Lists,
        direction: Floats,
        extra: Floats | None = None,
    ) -> Floats:
        """Return the second derivative in the scores times a direction, (n_rows,).

        The default takes central differences of the gradient. The gradient changes over
        differences of scores of about 1, whatever their range r, and scores have a
        rounding error of eps r. The best step has an error of about (eps r)^(2/3),
        which is 4e-11 for a range of 1. Lists do not affect each other, so each has its
        own step.
        """
        reach = lists.max(np.abs(direction))
        scores = scores - lists.expand(lists.max(scores))
        size = np.maximum(1.0, lists.max(-scores))
        step = np.cbrt(np.finfo(np.float64).eps * size)
        step = step / np.where(reach > 0, reach, 1.0)
        change = lists.expand(step) * direction
        extra = np.empty(0) if extra is None else extra
        above = self.value_and_gradient(scores + change, prepared, lists, extra)[1]
        below = self.value_and_gradient(scores - change, prepared, lists, extra)[1]
        return (above - below) / lists.expand(2.0 * step)

    def why_no_likelihood(self) -> str | None:
        """Return why these settings are no likelihood of ``model``, or None."""
        return None

    def log_constant(self, prepared: Any, lists: Lists) -> Floats:
        """Return the constant left out of each list's log-likelihood, (n_lists,)."""
        return np.zeros(lists.n_lists)

    def pair_loss(self) -> Loss:
        """Return the loss whose values are minus log-likelihoods of pairs."""
        return self

    def pair_proba(self, difference: Floats, extra: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of a win and of a tie, given s_a - s_b."""
        return special.expit(difference), np.zeros_like(difference)

    def subset_model(self, extra: Floats, longest: int) -> Any:
        """Return the probabilities of a stage with at most ``longest`` rows."""
        raise NotImplementedError(
            f"{type(self).__name__} must define subset_model(self, extra, longest), "
            "since its model is 'partitions'."
        )

    def extra_names(self, extra: Floats) -> list[str]:
        """Return the names of the extra parameters, as ``summary`` shows them."""
        return [f"extra {number}" for number in range(len(extra))]

    def extra_from(self, last: Floats, start: Floats) -> Floats:
        """Return where a warm start begins, from the last fit's extra parameters."""
        if len(last) != len(start):
            raise ValueError(
                f"warm_start=True: the last fit had {len(last)} parameters of the loss "
                f"and this one has {len(start)}. Use warm_start=False."
            )
        return last

    def estimated(self, extra: Floats, prepared: Sequence[Any]) -> NDArray[np.bool_]:
        """Return which extra parameters the data determine: those not at a limit.

        ``prepared`` is what ``prepare`` returned for each block of lists.
        """
        return np.abs(extra) < self.extra_limit

    def why_slow(self, y: Floats, lists: Lists) -> str | None:
        """Return a warning with advice if a fit will be expensive, else None."""
        return None

    def why_unbounded(self, prepared: Sequence[Any]) -> str | None:
        """Return why extra parameters have no finite best value, or None."""
        return None

    def summary_notes(
        self, extra: Floats, blocks: Sequence[tuple[Any, Lists]]
    ) -> list[str]:
        """Return notes for a summary, given prepared blocks of lists."""
        return []

    def curvature_weights(
        self, scores: Floats, prepared: Any, lists: Lists, extra: Floats | None = None
    ) -> Floats:
        r"""Return d, (n_rows,), of a simple form for the Hessian of each list.

        The form is :math:`\mathrm{diag}(d) - d d^T / 1^T d`. The solver whitens
        features with d, which changes the speed of a fit, not its result. By default h,
        the diagonal of the Hessian, is the mean of v (H v) over a few random signs v,
        and d solves :math:`d_i (1 - d_i / \sum_j d_j) = h_i`. That is exact for a
        softmax, for lists of two, and for pairs of equal curvature.
        """
        # A fixed seed, so that a fit gives the same bits each time.
        random = np.random.default_rng(lists.n_rows)
        extra = np.empty(0) if extra is None else extra
        diagonal = np.zeros(lists.n_rows)
        for _ in range(N_PROBES):
            signs = np.where(random.random(lists.n_rows) < 0.5, 1.0, -1.0)
            # The mean of v (H v) over independent signs is the diagonal of H, since
            # v_i v_j has mean 0 for other j.
            product = self.hessian_product(scores, prepared, lists, signs, extra)
            diagonal += signs * product / N_PROBES
        diagonal = np.where(diagonal > 0.0, diagonal, 0.0)
        # Fixed-point steps d <- h / (1 - d / sum d), kept away from a division by 0.
        weights = diagonal
        for _ in range(N_STEPS):
            total = lists.sum(weights)
            share = weights / lists.expand(np.where(total > 0.0, total, 1.0))
            weights = diagonal / np.maximum(1.0 - share, SMALLEST_REST)
        return weights

    @suggests_groups
    def __call__(
        self, scores: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> float:
        """Return the mean of the loss over lists, at the start of extra parameters.

        No penalty, no weights, no normalisation.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
            One score a row, larger is better.
        y : array-like of shape (n_rows,)
            Labels, higher is better.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.

        Returns
        -------
        value : float
            The mean over lists.

        Raises
        ------
        ValueError
            If lengths differ, groups are missing, or values are not finite.
        """
        groups = find_groups(y, groups, type(self).__name__, "y")
        scores = finite_column(scores, "scores")
        labels = finite_column(y, "y")
        equally_long(scores, labels, ("scores", "y"))
        grouping = group_rows(groups, len(labels))
        lists = grouping.lists
        labels = self.check_labels(grouping.gather(labels), lists)
        extra = self.extra_parameters(labels, lists)
        prepared = self.prepare(labels, lists)
        scores = grouping.gather(scores)
        values = self.value_and_gradient(scores, prepared, lists, extra)[0]
        return float(np.mean(values))


def _takes(method: Callable[..., Any], n_arguments: int) -> bool:
    """Return whether a method takes so many arguments by position, besides ``self``."""
    if getattr(method, "accepts_extra", False):
        return True
    kinds = [parameter.kind for parameter in signature(method).parameters.values()]
    by_position = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    n_taken = sum(kind in by_position for kind in kinds)
    return n_taken > n_arguments or Parameter.VAR_POSITIONAL in kinds


def _taking_extra(method: Callable[..., Any], n_arguments: int) -> Callable[..., Any]:
    """Return a method that takes one more argument, ``extra``, and ignores it.

    A method that takes ``extra`` by its name alone gets it so.
    """
    known = signature(method).parameters
    by_name = "extra" in known or any(
        parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values()
    )

    @wraps(method)
    def with_extra(self: Loss, *arguments: Any, **named: Any) -> Any:
        if len(arguments) == n_arguments + 1 and "extra" not in named:
            *arguments, named["extra"] = arguments  # type: ignore[assignment]
        if not by_name:
            named.pop("extra", None)
        return method(self, *arguments, **named)

    with_extra.accepts_extra = True  # type: ignore[attr-defined]
    return with_extra
