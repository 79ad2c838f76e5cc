"""The checked data of a fit: features, labels, lists and their weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skrank._data.checks import finite_column
from skrank._data.features import validate_features
from skrank._data.grouping import Grouping, group_rows
from skrank._data.groups import find_groups
from skrank._data.lists import Floats, Indices, Lists
from skrank._data.weights import split_weights
from skrank._fit.blocks import is_memory_mapped, linear_scores
from skrank._fit.features import constant_features

LARGEST_OFFSET = 2.0**26  # half of the 52 binary digits are left for sums with it


@dataclass(frozen=True, slots=True)
class FitData:
    """Rows with labels, in lists; made by :func:`check_data`.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        float64 or float32 features.
    y : ndarray of shape (n_rows,)
        Labels in the order of the lists.
    lists : Lists
        The lists.
    weights : ndarray of shape (n_lists,) or None
        List weights; None counts each list once.
    rows : ndarray of shape (n_rows,) or None
        Row of ``X`` at each place in the order of the lists; None where the rows of
        ``X`` are in that order.
    constant : ndarray of bool of shape (n_features,) or None
        Features that cannot rank, whose gradient is rounding alone: fits set it to 0.
    grouping : Grouping or None
        The labels of the lists.
    shares : ndarray of shape (n_rows,) or None
        Weight of each row over the mean of its list, in the order of the lists; None
        where no weights vary inside a list.
    offset : ndarray of shape (n_rows,) or None
        Known part of the score of each row, in the order of the lists.
    """

    X: Any
    y: Floats
    lists: Lists
    weights: Floats | None = None
    rows: Indices | None = None
    constant: NDArray[np.bool_] | None = None
    grouping: Grouping | None = None
    shares: Floats | None = None
    offset: Floats | None = None

    def gathered(self) -> FitData:
        """Return the data with the rows of each list together in memory.

        A memory map is left as it is, and gathered block by block.
        """
        if self.rows is None or is_memory_mapped(self.X):
            return self
        return replace(self, X=self.X[self.rows], rows=None)

    def part(self, chosen: Indices) -> FitData:
        """Return the data of some lists; X is copied only where it is sparse."""
        lists = Lists(self.lists.sizes[chosen])
        places = np.arange(lists.n_rows) + lists.expand(
            self.lists.starts[chosen] - lists.starts
        )
        weights = None if self.weights is None else self.weights[chosen]
        rows = places if self.rows is None else self.rows[places]
        X: Any = self.X
        if sparse.issparse(X):
            X, rows = X[rows], None
        shares = None if self.shares is None else self.shares[places]
        offset = None if self.offset is None else self.offset[places]
        return FitData(
            X,
            self.y[places],
            lists,
            weights,
            rows,
            self.constant,
            shares=shares,
            offset=offset,
        )

    def list_weights(self) -> Floats:
        """Return the weight of each list, 1 where there are none."""
        return np.ones(len(self.lists)) if self.weights is None else self.weights

    def scores(self, coef: Floats) -> Floats:
        """Return ``X @ coef``, and the offset, in the order of the lists."""
        scores = linear_scores(self.X, coef)
        scores = scores if self.rows is None else scores[self.rows]
        return scores if self.offset is None else scores + self.offset

    def scatter(self, values: Floats) -> Floats:
        """Return values in the order of the lists as values in row order."""
        assert self.grouping is not None
        return self.grouping.scatter(values)


def check_data(
    ranker: Any,
    X: Any,
    y: Any,
    groups: Any,
    sample_weight: Any = None,
    *,
    offset: Any = None,
    method: str,
    fitting: bool = False,
) -> FitData:
    """Check the data arguments of a ranker's method, and find the lists.

    Parameters
    ----------
    ranker : estimator
        The ranker, whose name and features messages and checks use.
    X, y, groups, sample_weight, offset : array-like
        As documented in ``fit`` of the rankers.
    method : str
        Name of the method, for messages.
    fitting : bool, default=False
        Whether the method is ``fit``, which learns number and names of the features,
        takes weights that vary inside lists, and needs no offset. Other methods need
        a fitted ranker, and compare features and offset with those of the fit.

    Returns
    -------
    data : FitData
        The data; ``X`` is not copied if it is float64 or float32.

    Raises
    ------
    NotFittedError
        If the ranker has to be fitted and is not.
    ValueError
        As documented in ``fit`` of the rankers.
    """
    if not fitting:
        check_is_fitted(ranker)
    groups = find_groups(y, groups, f"{type(ranker).__name__}.{method}", "y")
    X, y = validate_features(ranker, X, y, reset=fitting)
    grouping = group_rows(groups, len(y))
    weights, shares = split_weights(sample_weight, grouping)
    if shares is not None and not fitting:
        raise ValueError(
            f"{type(ranker).__name__}.{method}: sample_weight varies inside lists. A "
            "fit with such weights maximises no likelihood, so this method has no "
            "meaning; pass weights that are constant inside each list, or none."
        )
    known = known_scores(offset, len(y))
    if not fitting:
        refuse_missing_offset(ranker, offset, method)
    labels = grouping.gather(finite_column(y, "y"))
    return FitData(
        X,
        labels,
        grouping.lists,
        weights,
        grouping.rows,
        grouping=grouping,
        shares=shares,
        offset=None if known is None else grouping.gather(known),
    )


def with_constant_features(data: FitData) -> FitData:
    """Return gathered data with the features that cannot rank."""
    data = data.gathered()
    return replace(data, constant=constant_features(data.X, data.lists, data.rows))


def refuse_missing_offset(ranker: Any, offset: Any, method: str) -> None:
    """Raise ValueError for probabilities without the offset of the fit."""
    if offset is None and getattr(ranker, "_has_offset", False):
        raise ValueError(
            f"{type(ranker).__name__} was fitted with an offset, and {method} got "
            "none: pass offset=, the known part of the score of each row, zeros where "
            "there is none. What takes no offset= is for fits without one."
        )


def known_scores(offset: Any, n_rows: int) -> Floats | None:
    """Return a checked offset in row order, or None.

    Beside an offset above ``LARGEST_OFFSET`` sums keep less than half of the digits of
    ``X @ coef_``; beside 1e17 they keep none, and a fit would learn rounding.
    """
    if offset is None:
        return None
    column = finite_column(offset, "offset")
    if len(column) != n_rows:
        raise ValueError(
            f"offset has {len(column)} entries for {n_rows} rows; it needs the known "
            "part of the score of each row."
        )
    largest = int(np.argmax(np.abs(column)))
    if abs(column[largest]) > LARGEST_OFFSET:
        raise ValueError(
            f"offset must be between -{LARGEST_OFFSET:.3g} and {LARGEST_OFFSET:.3g}, "
            f"got {column[largest]:.3g} in row {largest}: beside it X @ coef_ loses "
            "most digits. Subtract from offset what all rows of a list share, which "
            "changes no ranking; leave out rows that are certain to be first or last; "
            "count labels such as prices, and their offset, in a larger unit."
        )
    return column


def check_features(ranker: Any, X: Any) -> Any:
    """Check features for a fitted ranker; float64 and float32 stay."""
    check_is_fitted(ranker)
    return validate_features(ranker, X, reset=False)


def scores_of_lists(
    ranker: Any, X: Any, groups: Any, method: str, offset: Any = None
) -> tuple[Floats, Grouping]:
    """Return scores of a ranker in the order of the lists, and the lists."""
    groups = find_groups(X, groups, f"{type(ranker).__name__}.{method}", "X")
    refuse_missing_offset(ranker, offset, method)
    scores = ranker.predict(X) if offset is None else ranker.predict(X, offset)
    grouping = group_rows(groups, len(scores))
    return grouping.gather(scores), grouping
