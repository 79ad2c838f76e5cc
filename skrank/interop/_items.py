"""Rows with indicators of items that occur in many comparisons, and their worths."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from skrank._data.checks import as_written, check_choice, finite_column
from skrank._data.lists import Floats, Indices, Lists
from skrank._data.warnings import warn
from skrank.interop._worths import ItemWorths

LARGEST_DENSE = 10**6  # entries of X that are held as a table of numbers
CODINGS = ("reference", "sum")
LISTED = 5  # items in a message


@dataclass(frozen=True, slots=True, eq=False)
class ItemRows:
    """Comparisons of items as rows for a ranker: one row an item of each list.

    The builders of ``skrank.interop`` make it: :func:`from_orderings`,
    :func:`from_rankings`, :func:`from_pairs`, :func:`from_pair_counts`,
    :func:`from_best_worst` and :func:`read_preflib`.

    Attributes
    ----------
    X : {ndarray, csr_array} of shape (n_rows, n_columns)
        Indicators of the items: with the coding "reference" one column for each item
        but the reference, with "sum" the last item is -1 in all columns. Further
        columns, such as the advantage of playing at home, stand last.
    y : ndarray of shape (n_rows,)
        Labels, higher is better, equal for ties.
    groups : ndarray of shape (n_rows,)
        Number of each row's list.
    sample_weight : ndarray of shape (n_rows,)
        How often each row's list was observed.
    columns : list of str
        Name of each column of ``X``.
    items : list
        The items.
    item_of_row : ndarray of shape (n_rows,)
        Place of each row's item in ``items``.
    coding : {"reference", "sum"}
        How items are coded.
    reference : object
        The item whose worth is 0 under "reference".

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.interop import from_orderings
    >>> rows = from_orderings([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]])
    >>> ranker = ListMLERanker(alpha=0.1).fit(rows.X, rows.y, rows.groups)
    >>> rows.worths(ranker).items
    ['a', 'b', 'c']
    """

    X: Any
    y: Floats
    groups: NDArray
    sample_weight: Floats
    columns: list[str]
    items: list[Any]
    item_of_row: Indices
    coding: str
    reference: Any

    def __len__(self) -> int:
        return len(self.y)

    @property
    def separated(self) -> list[list[Any]]:
        """Sets of items, best first, each of which won all comparisons with later sets.

        One set of all items means that worths without a penalty are finite; with
        several some go to infinity, or cannot be compared (Ford 1957). Ties count as a
        win of each.
        """
        n_items = len(self.items)
        lists = Lists(np.bincount(self.groups))
        order = np.lexsort((-self.y, self.groups))
        item, label = self.item_of_row[order], self.y[order]
        # Wins over neighbours imply all wins; tied rows count as a win of each.
        first, second = _neighbours(lists, label)
        better = sparse.coo_array(
            (np.ones(len(first)), (item[first], item[second])), (n_items, n_items)
        )
        n_sets, of_item = connected_components(
            better.tocsr(), directed=True, connection="strong"
        )
        sets = [np.flatnonzero(of_item == number) for number in range(n_sets)]
        wins = np.bincount(item[first], minlength=n_items) - np.bincount(
            item[second], minlength=n_items
        )
        sets.sort(key=lambda members: -float(np.mean(wins[members])))
        return [[self.items[place] for place in members] for members in sets]

    def worths(
        self, ranker: Any, *, covariance: str = "model", confidence: float = 0.95
    ) -> ItemWorths:
        """Return the log worth of each item with errors, from a fitted ranker.

        Parameters
        ----------
        ranker : LinearRanker
            Fitted to ``X``, ``y``, ``groups`` and, where lists were observed several
            times, ``sample_weight``.
        covariance : {"model", "clustered"}, default="model"
            Which standard errors; see the ranker's ``summary``. "clustered" counts a
            list that was observed several times as one.
        confidence : float, default=0.95
            Coverage of the intervals of the summary.

        Returns
        -------
        worths : ItemWorths
            Prints as a table.

        Raises
        ------
        ValueError
            If the ranker was fitted to other columns, or has no such errors.

        Warns
        -----
        UserWarning
            If the ranker has no penalty and some items beat all others, or lost to
            them, in every comparison: their worths have no finite estimate.
        """
        if getattr(ranker, "alpha_", ranker.alpha) == 0 and len(self.separated) > 1:
            best = ", ".join(as_written(item) for item in self.separated[0][:LISTED])
            warn(
                f"worths: the items fall into {len(self.separated)} sets that won or "
                f"lost every comparison with each other (first set: {best}), so some "
                "worths have no finite estimate. Set alpha above 0, or leave these "
                "items out."
            )
        summary = ranker.summary(
            self.X,
            self.y,
            self.groups,
            sample_weight=self.sample_weight,
            covariance=covariance,
            confidence=confidence,
        )
        code = _coding_matrix(len(self.items), self.coding, self._reference_place)
        n_codes = code.shape[1]
        matrix = code @ summary.covariance_matrix[:n_codes, :n_codes] @ code.T
        return ItemWorths(
            items=list(self.items),
            worth=code @ np.asarray(ranker.coef_)[:n_codes],
            covariance_matrix=matrix,
            summary=summary,
        )

    def to_frame(self) -> Any:
        """Return ``X`` as a pandas DataFrame whose columns have names.

        Returns
        -------
        frame : pandas.DataFrame of shape (n_rows, n_columns)
            To be fitted in place of ``X``, so that summaries name the items.
        """
        import pandas as pd

        table = self.X.toarray() if sparse.issparse(self.X) else self.X
        return pd.DataFrame(table, columns=self.columns)

    @property
    def _reference_place(self) -> int:
        return 0 if self.coding == "sum" else self.items.index(self.reference)


def item_rows(
    lists_of_items: Sequence[Sequence[Hashable]],
    lists_of_labels: Sequence[Sequence[float]],
    weights: Any,
    *,
    items: Sequence[Hashable] | None,
    coding: str,
    reference: Any,
    first_effect: str | None = None,
) -> ItemRows:
    """Return rows from the items of each list and their labels.

    Parameters
    ----------
    lists_of_items : sequence of sequence
        The items of each list, none twice.
    lists_of_labels : sequence of sequence of float
        Their labels, higher is better.
    weights : array-like of shape (n_lists,) or None
        How often each list was observed.
    items : sequence or None
        All items, in the order that is wanted; None sorts those that occur.
    coding, reference
        See :class:`ItemRows`.
    first_effect : str, default=None
        Name of a further column that is 1 for the first item of each list.
    """
    check_choice(coding, "coding", CODINGS)
    if not any(len(members) for members in lists_of_items):
        raise ValueError("there are no comparisons; give at least one list of items.")
    sizes = np.array([len(members) for members in lists_of_items], dtype=np.intp)
    flat = [item for members in lists_of_items for item in members]
    missing = [item for item in flat if is_missing(item)]
    if missing:
        raise ValueError(
            f"an item is missing ({missing[0]!r}); leave it out of its comparison."
        )
    names = _all_items(flat, items)
    place = {item: number for number, item in enumerate(names)}
    item_of_row = np.array([place[item] for item in flat], dtype=np.intp)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    _refuse_twice(item_of_row, groups, names)
    if weights is None:
        weights = np.ones(len(sizes))
    counts = finite_column(weights, "weights")
    if len(counts) != len(sizes):
        raise ValueError(
            f"weights has {len(counts)} entries for {len(sizes)} lists; it needs one "
            "for each."
        )
    if counts.min() < 0:
        raise ValueError(f"weights must not be negative, got {counts.min():g}.")
    if reference is None:
        reference = names[0]
    elif reference not in place:
        raise ValueError(
            "reference must be one of the items that are compared, such as "
            f"{as_written(names[0])}, got {as_written(reference)}."
        )
    code = _coding_matrix(len(names), coding, place[reference])
    X, columns = _indicators(code, names, item_of_row, coding, place[reference])
    if first_effect is not None:
        first = np.zeros((len(flat), 1))
        first[np.cumsum(sizes) - sizes] = 1.0
        columns.append(str(first_effect))
        X = (
            sparse.hstack([X, sparse.csr_array(first)], format="csr")
            if sparse.issparse(X)
            else np.hstack([X, first])
        )
    y = np.concatenate([np.asarray(part, dtype=float) for part in lists_of_labels])
    return ItemRows(
        X, y, groups, counts[groups], columns, names, item_of_row, coding, reference
    )


def is_missing(item: Any) -> bool:
    """Return whether an item is None, NaN, NaT or pandas.NA, which are not names."""
    if item is None or type(item).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    return isinstance(item, float | np.floating) and bool(np.isnan(item))


def _all_items(flat: list, items: Sequence[Hashable] | None) -> list:
    """Check the items given, or return those that occur, sorted."""
    occurring = dict.fromkeys(flat)
    if items is None:
        try:
            return sorted(occurring)
        except TypeError:  # items of kinds that do not compare
            return list(occurring)
    names = list(dict.fromkeys(items))
    unknown = [item for item in occurring if item not in set(names)]
    if unknown:
        raise ValueError(
            f"items has no {as_written(unknown[0])}, which was compared; add it, or "
            "drop its comparisons."
        )
    absent = [item for item in names if item not in occurring]
    if absent:
        raise ValueError(
            f"item {as_written(absent[0])} was never compared, so nothing is known of "
            "it; leave it out of items."
        )
    return names


def _refuse_twice(item_of_row: Indices, groups: NDArray, names: list) -> None:
    order = np.lexsort((item_of_row, groups))
    item, group = item_of_row[order], groups[order]
    twice = (item[1:] == item[:-1]) & (group[1:] == group[:-1])
    if twice.any():
        at = int(np.argmax(twice))
        raise ValueError(
            f"item {as_written(names[item[at]])} stands twice in comparison "
            f"{int(group[at])} (counted from 0)."
        )


def _coding_matrix(n_items: int, coding: str, reference: int) -> Floats:
    """Return the matrix from coefficients to worths, shape (n_items, n_items - 1)."""
    if coding == "sum":
        return np.vstack([np.eye(n_items - 1), -np.ones((1, n_items - 1))])
    return np.delete(np.eye(n_items), reference, axis=1)


def _indicators(
    code: Floats, names: list, item_of_row: Indices, coding: str, reference: int
) -> tuple[Any, list[str]]:
    """Return the rows' codes, sparse where they are many, and the columns' names."""
    left_out = len(names) - 1 if coding == "sum" else reference
    columns = [str(name) for place, name in enumerate(names) if place != left_out]
    if len(item_of_row) * code.shape[1] <= LARGEST_DENSE:
        return code[item_of_row], columns
    return sparse.csr_array(sparse.csr_array(code)[item_of_row]), columns


def _neighbours(lists: Lists, label: Floats) -> tuple[Indices, Indices]:
    """Return pairs (winner, loser) of rows from which all other wins follow.

    Rows come best first. Each row beats the next one; a tied row is beaten by the next
    one, too.
    """
    n_rows = len(label)
    upper = np.arange(n_rows - 1)
    inside = np.ones(n_rows - 1, dtype=bool)
    inside[lists.offsets[1:-1] - 1] = False
    upper = upper[inside]
    tied = upper[label[upper] == label[upper + 1]]
    return np.concatenate([upper, tied + 1]), np.concatenate([upper + 1, tied])
