"""One part of the data on a worker: checked rows of whole lists, and facts about it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from skrank._data.checks import finite_column
from skrank._data.grouping import Grouping, group_rows
from skrank._data.lists import Floats, Lists
from skrank._data.weights import split_weights
from skrank._fit.features import constant_features
from skrank.dask._sources import RawPart


class Part(NamedTuple):
    """Checked rows of whole lists; rows of a list together, in the order of the file.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        float64 or float32 features.
    y : ndarray of shape (n_rows,)
        Labels.
    lists : Lists or None
        The lists; None where there are no rows.
    shares : ndarray of shape (n_rows,) or None
        Weight of each row over the mean of its list, where weights vary inside one.
    """

    X: Any
    y: Floats
    lists: Lists | None
    shares: Floats | None = None


class Facts(NamedTuple):
    """Facts about a part that the client needs: about 10 bytes a row.

    Attributes
    ----------
    labels : ndarray of shape (n_lists,)
        Group of each list.
    sizes : ndarray of shape (n_lists,)
        Number of rows of each list.
    first : ndarray of shape (n_lists,)
        Number of the first row of each list in the whole data.
    together : bool
        Whether the rows of each list follow each other in the whole data.
    y : ndarray of shape (n_rows,)
        Labels, in as few bytes as hold them.
    weights : ndarray of shape (n_lists,) or None
        Weight of each list.
    n_features : int
        Number of features; 0 where there are no rows.
    constant : ndarray of bool of shape (n_features,)
        Features that are constant inside each of these lists.
    dtype : str
        Kind of number of the features.
    varies : bool
        Whether weights vary inside a list.
    """

    labels: NDArray
    sizes: NDArray
    first: NDArray
    together: bool
    y: NDArray
    weights: Floats | None
    n_features: int
    constant: NDArray
    dtype: str
    varies: bool = False

    def refuse_weights_of_rows(self, function: str) -> None:
        """Raise ValueError where weights vary, for what knows those of lists alone."""
        if self.varies:
            raise ValueError(
                f"{function}: weights vary inside lists, and only fits take weights "
                "of rows. Give each row the mean of its list, or no weights."
            )


def load(raw: RawPart) -> tuple[Part, Facts]:
    """Check the rows of a part and sort them by list."""
    if len(raw.groups) == 0:
        no = np.zeros(0)
        facts = Facts(no.astype(object), no, no, True, no, None, 0, no, "")
        return Part(None, no, None), facts
    X = check_array(
        raw.X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        input_name="X",
        ensure_min_samples=0,
    )
    y = np.zeros(X.shape[0]) if raw.y is None else finite_column(raw.y, "y")
    grouping, numbers = _in_file_order(raw, X.shape[0])
    if len(y) != X.shape[0]:
        raise ValueError(
            f"X has {X.shape[0]} rows and y has {len(y)}; it needs one label per row."
        )
    weights, shares = split_weights(raw.weights, grouping)
    lists, rows = grouping.lists, grouping.rows
    X, y = X if rows is None else X[rows], grouping.gather(y)
    numbers = grouping.gather(numbers)
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    last = numbers[lists.offsets[1:] - 1]
    first = numbers[lists.starts]
    facts = Facts(
        labels=grouping.labels,
        sizes=lists.sizes,
        first=first,
        together=bool(np.all(last - first + 1 == lists.sizes)),
        y=_small(y),
        weights=weights,
        n_features=X.shape[1],
        constant=constant_features(X, lists),
        dtype=str(X.dtype),
        varies=shares is not None,
    )
    return Part(X, y, lists, shares), facts


def _in_file_order(raw: RawPart, n_rows: int) -> tuple[Grouping, NDArray]:
    """Return the lists, rows of each list by their number in the whole data."""
    grouping = group_rows(raw.groups, n_rows)
    numbers = np.asarray(raw.numbers)
    listed = grouping.gather(numbers)
    of_list = grouping.lists.expand(np.arange(grouping.lists.n_lists))
    if np.all((np.diff(listed) > 0) | (np.diff(of_list) > 0)):
        return grouping, numbers
    # A shuffle does not keep the order of rows, so sort them by number.
    order = np.lexsort((listed, of_list))
    rows = order if grouping.rows is None else grouping.rows[order]
    return Grouping(grouping.lists, rows, grouping.labels), numbers


def _small(y: Floats) -> NDArray:
    """Return labels in one byte each where they are small whole numbers."""
    low, high = y.min(), y.max()
    if -128 <= low and high <= 127 and np.all(y == np.floor(y)):
        return y.astype(np.int8)
    return y
