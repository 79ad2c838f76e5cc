"""Objectives of gradient boosters that are made from losses of skrank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skrank._data.checks import check_choice, finite_column
from skrank._data.grouping import Grouping, group_rows
from skrank._data.groups import suggests_groups
from skrank._data.lists import Floats, Lists
from skrank._data.weights import split_weights
from skrank.interop._sizes import groups_from_sizes
from skrank.losses import Loss

LONGEST_EXACT = 512  # rows of a list, up to which each has its own second derivative
SMALLEST_SHARE = 1e-6  # of the mean curvature, below which a step would be too long


class Prepared(NamedTuple):
    """Labels of all rows, checked and prepared once."""

    y: Floats
    sizes: Any
    grouping: Grouping
    labels: Any

    def weighed(self, loss: Loss, weight: Any) -> tuple[Prepared, Floats]:
        """Return what counts the weights of rows, and the weight of each row's list."""
        weights, shares = split_weights(weight, self.grouping)
        assert weights is not None
        lists, prepared = self.grouping.lists, self
        if shares is not None:
            labels = loss.weigh_rows(self.labels, shares, lists)
            prepared = self._replace(labels=labels)
        return prepared, self.grouping.scatter(lists.expand(weights))


@suggests_groups
def make_booster_objective(
    loss: Loss, y: Any = None, groups: Any = None, *, library: str
) -> Callable[..., tuple[Floats, Floats]]:
    r"""Return a function that trains a booster by a loss of skrank.

    A booster asks for the gradient in the scores and a positive curvature of each row,
    and takes Newton's steps :math:`-g / h` in the leaves of its trees. The gradient is
    the loss's, summed over lists; the curvature is the diagonal of its Hessian, exact
    for lists of up to 512 rows and an upper estimate beyond, and its absolute value
    where a loss is not convex. Weights that the library passes, one a row, count as
    ``sample_weight`` does in ``fit`` of the linear rankers: where they vary inside a
    list, only with losses that take weights of rows.

    Parameters
    ----------
    loss : Loss
        A loss without parameters of its own, such as ``PMOP()`` or ``RankNet("gain")``;
        also one of yours.
    y : array-like of shape (n_rows,), default=None
        Labels of the rows of ``DMatrix``, in their order; only for XGBoost. LightGBM
        passes its own to the objective.
    groups : array-like of shape (n_rows,), default=None
        One group label a row, in any order; only for XGBoost.
    library : {"lightgbm", "xgboost"}
        Whose calling convention: ``LGBMRanker(objective=f)``, which calls
        ``f(y, scores, weight, group)``, or ``xgboost.train(..., obj=f)``, which calls
        ``f(scores, data)`` (XGBRanker takes no functions).

    Returns
    -------
    objective : callable
        Returns gradient and curvature, both of shape (n_rows,).

    Raises
    ------
    ValueError
        If ``library`` is another one, the loss has parameters of its own, ``y`` or
        ``groups`` are missing for XGBoost or given for LightGBM, or the loss refuses
        the labels.

    See Also
    --------
    BoosterRanker : Fit boosters to rows with group labels.

    References
    ----------
    .. [1] J. Friedman, "Greedy function approximation: a gradient boosting machine",
       Annals of Statistics 29 (2001).

    Examples
    --------
    >>> from skrank.datasets import make_ranking
    >>> from skrank.interop import make_booster_objective
    >>> from skrank.losses import ListNet
    >>> X, y, groups = make_ranking(20, random_state=0)
    >>> objective = make_booster_objective(ListNet(), y, groups, library="xgboost")
    >>> gradient, curvature = objective(0.0 * y, None)
    >>> gradient.shape == curvature.shape == y.shape
    True
    """
    check_choice(library, "library", ("lightgbm", "xgboost"))
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be a skrank.losses.Loss, got {type(loss).__name__}."
        )
    if library == "xgboost":
        if y is None or groups is None:
            raise ValueError(
                "XGBoost passes no groups to its objective: pass y and groups of the "
                "rows of the DMatrix, in its order."
            )
        return XGBoostObjective(loss, y, groups)
    if y is not None or groups is not None:
        raise ValueError(
            "LightGBM passes labels and groups to its objective itself: leave out y "
            "and groups."
        )
    return LightGBMObjective(loss)


class LightGBMObjective:
    """The objective as LGBMRanker calls it; pickles with the ranker."""

    # LightGBM and scikit-learn print the name of an objective.
    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self._prepared: Prepared | None = None

    def __repr__(self) -> str:
        return f'make_booster_objective({self.loss!r}, library="lightgbm")'

    def __getstate__(self) -> dict[str, Any]:
        return {"loss": self.loss, "_prepared": None}

    def __call__(
        self, y: Any, scores: Any, weight: Any = None, group: Any = None
    ) -> tuple[Floats, Floats]:
        """Return gradient and curvature; ``group`` has the sizes of the lists."""
        if group is None:
            raise ValueError(
                "the objective got no groups: train it by LGBMRanker, which has them."
            )
        labels, sizes = np.asarray(y, dtype=np.float64), np.asarray(group)
        known = self._prepared
        if (
            known is None
            or not np.array_equal(known.sizes, sizes)
            or not np.array_equal(known.y, labels)
        ):
            grouping = group_rows(groups_from_sizes(sizes), len(labels))
            known = self._prepared = _prepare(self.loss, labels, grouping, sizes)
        if weight is None:
            return _derivatives(self.loss, known, np.asarray(scores))
        known, weight = known.weighed(self.loss, weight)
        gradient, curvature = _derivatives(self.loss, known, np.asarray(scores))
        return gradient * weight, curvature * weight


class XGBoostObjective:
    """The objective as ``xgboost.train`` calls it, for one DMatrix."""

    def __init__(self, loss: Loss, y: Any, groups: Any) -> None:
        self.loss = loss
        labels = finite_column(y, "y")
        grouping = group_rows(groups, len(labels))
        self._prepared = _prepare(loss, labels, grouping, None)

    def __call__(self, scores: Any, data: Any) -> tuple[Floats, Floats]:
        """Return gradient and curvature in the order of the rows."""
        column = np.asarray(scores, dtype=np.float64).ravel()
        n_rows = len(self._prepared.y)
        if len(column) != n_rows:
            raise ValueError(
                f"the objective was made for {n_rows} rows and got {len(column)} "
                "scores: make one for this DMatrix."
            )
        weights = None if data is None else data.get_weight()
        if weights is None or len(weights) != n_rows:
            return _derivatives(self.loss, self._prepared, column)
        known, weights = self._prepared.weighed(self.loss, weights)
        gradient, curvature = _derivatives(self.loss, known, column)
        return gradient * weights, curvature * weights


def _prepare(loss: Loss, y: Floats, grouping: Grouping, sizes: Any) -> Prepared:
    """Check labels and prepare them once."""
    lists = grouping.lists
    labels = loss.check_labels(grouping.gather(y), lists)
    if len(loss.extra_parameters(labels, lists)):
        raise ValueError(
            f"{loss!r} learns parameters of its own, which a booster has no place for. "
            "Use a loss without any, such as RankNet, ListMLE or PMOP."
        )
    return Prepared(y, sizes, grouping, loss.prepare(labels, lists))


def _derivatives(
    loss: Loss, prepared: Prepared, scores: Floats
) -> tuple[Floats, Floats]:
    """Return gradient and positive curvature in row order."""
    grouping = prepared.grouping
    lists = grouping.lists
    listed = np.ascontiguousarray(grouping.gather(scores), dtype=np.float64)
    gradient = loss.value_and_gradient(listed, prepared.labels, lists)[1]
    if lists.sizes.max() <= LONGEST_EXACT:
        curvature = np.abs(_diagonal(loss, prepared.labels, listed, lists))
    else:
        curvature = loss.curvature_weights(listed, prepared.labels, lists)
    # A booster divides by the curvature, so keep it above 0.
    curvature = np.maximum(curvature, SMALLEST_SHARE * max(curvature.mean(), 1e-300))
    return grouping.scatter(np.asarray(gradient)), grouping.scatter(curvature)


def _diagonal(loss: Loss, labels: Any, scores: Floats, lists: Lists) -> Floats:
    """Return the diagonal of the Hessian, by one product for each place in a list.

    Rows of different lists do not affect each other, so a product takes a row of each.
    """
    diagonal = np.zeros(lists.n_rows)
    for place in range(int(lists.sizes.max())):
        rows = lists.starts[lists.sizes > place] + place
        direction = np.zeros(lists.n_rows)
        direction[rows] = 1.0
        diagonal[rows] = loss.hessian_product(scores, labels, lists, direction)[rows]
    return diagonal
