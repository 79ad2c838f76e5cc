"""Code the labels of groups, and sort rows by list."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import refuse_lazy
from skrank._data.lists import Indices, Lists

LEVEL = "groups"  # name of the index level that carries groups
SIZES_ADVICE = (
    " If these are list sizes, as LightGBM takes them, use "
    "groups=np.repeat(np.arange(len(sizes)), np.int64(sizes))."
)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The rows of a table as lists.

    Attributes
    ----------
    lists : Lists
        The lists, over the rows in the order ``rows``.
    rows : ndarray of shape (n_rows,) or None
        Row numbers that bring the rows of each list together, in row order inside
        each list; None where they are together already.
    labels : ndarray of shape (n_lists,)
        The group label of each list.
    """

    lists: Lists
    rows: Indices | None
    labels: NDArray

    def gather(self, values: NDArray) -> NDArray:
        """Return values in row order as values in the order of the lists."""
        return values if self.rows is None else values[self.rows]

    def scatter(self, values: NDArray) -> NDArray:
        """Return values in the order of the lists as values in row order."""
        if self.rows is None:
            return values
        out = np.empty_like(values)
        out[self.rows] = values
        return out

    def label_of_rows(self) -> NDArray:
        """Return the group label of each row, in row order."""
        return self.scatter(self.lists.expand(self.labels))

    def list_of_rows(self) -> Indices:
        """Return the number of the list of each row, in row order."""
        return self.scatter(self.lists.expand(np.arange(self.lists.n_lists)))

    def label_order(self) -> Indices | None:
        """Return the permutation that sorts the lists by label.

        Returns None where they are sorted already, or where labels of different kinds
        cannot be compared; such lists stay in the order of first appearance.
        """
        labels = self.labels
        if labels.dtype.kind != "O":
            if bool(np.all(labels[1:] > labels[:-1])):
                return None
            return np.argsort(labels, kind="stable")
        try:
            return np.array(sorted(range(len(labels)), key=labels.__getitem__))
        except TypeError:
            return None


def group_rows(
    groups: Any, n_rows: int | None = None, name: str = "groups"
) -> Grouping:
    """Check groups and bring the rows of each list together.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        One label a row: integers, strings, floats, dates, categories, tuples or any
        other hashable values, in any order.
    n_rows : int, default=None
        Number of rows that there should be.
    name : str, default="groups"
        Name of the argument, a plural, for messages.

    Returns
    -------
    grouping : Grouping
        Lists in row order where each list's rows are together, else in the order of
        their labels (of first appearance for labels that are coded as objects). Rows
        keep their order inside a list.

    Raises
    ------
    ValueError
        If groups are not one-dimensional, have another length, miss values or
        cannot be hashed.
    """
    is_plain = type(groups) is np.ndarray  # which needs no further checks
    categorical = None if is_plain else _codes_and_categories(groups, n_rows)
    labels = one_dimensional(groups, name) if categorical is None else categorical[0]
    if n_rows is not None and len(labels) != n_rows:
        message = (
            f"{name} has {len(labels)} entries for {n_rows} rows; it needs one "
            f"{name[:-1]} label per row."
        )
        if name == "groups" and _are_sizes(labels, n_rows):
            message += SIZES_ADVICE
        raise ValueError(message)
    if len(labels) == 0:
        raise ValueError(f"{name} is empty; it needs one {name[:-1]} label per row.")
    kind = labels.dtype.kind
    if categorical is not None:
        codes, values = categorical
    elif kind == "O":
        codes, values = _code_objects(labels, name)
    else:
        if kind in "fc":
            _refuse_missing(int(np.isnan(labels).sum()), name)
        elif kind in "mM":
            _refuse_missing(int(np.isnat(labels).sum()), name)
        codes, values = labels, None
    lists = _runs_of(codes)
    runs = codes[lists.starts]
    if values is None:
        if len(runs) == 1 or bool(np.all(runs[1:] > runs[:-1])):
            return Grouping(lists, None, runs)
        run_codes, values = _code_sortable(runs)
    elif categorical is not None:
        run_codes, values = _code_categories(runs, values)
    else:
        run_codes = runs
    if len(values) == len(runs):
        return Grouping(lists, None, values[run_codes])
    codes = np.repeat(run_codes, lists.sizes)
    return Grouping(Lists(np.bincount(codes)), _stable_order(codes), values)


def _runs_of(codes: NDArray) -> Lists:
    """Return the runs of equal codes as lists."""
    (ends,) = (codes[1:] != codes[:-1]).nonzero()
    offsets = np.empty(len(ends) + 2, dtype=np.intp)
    offsets[0], offsets[-1] = 0, len(codes)
    np.add(ends, 1, out=offsets[1:-1])
    return Lists.of_offsets(offsets)


def one_dimensional(groups: Any, name: str = "groups") -> NDArray:
    """Return groups as a one-dimensional array without changing any label."""
    if (
        type(groups) is np.ndarray
        and groups.ndim == 1
        and groups.dtype.kind not in "VT"
    ):
        return groups
    if isinstance(groups, np.ma.MaskedArray):
        _refuse_missing(int(np.ma.getmaskarray(groups).sum()), name)
    refuse_lazy(groups, name)
    if isinstance(groups, memoryview):  # a scalar, by np.isscalar
        groups = np.asarray(groups)
    if isinstance(groups, str | bytes) or np.isscalar(groups) or groups is None:
        message = f"{name} must hold one label per row, got {groups!r}."
        if name == "groups":
            message += " To rank all rows as one list pass groups=np.zeros(len(y))."
        raise ValueError(message)
    if hasattr(groups, "__array__"):
        labels = np.asarray(groups)
    elif getattr(groups, "ndim", 1) != 1:
        labels = groups  # a sparse matrix, refused below
    elif isinstance(groups, Set | Mapping) or not isinstance(groups, Collection):
        raise ValueError(
            f"{name} must be an array or a list with one label per row, got "
            f"{type(groups).__name__}, which has no rows."
        )
    else:
        # np.asarray would turn [1, "1"] into strings and flatten tuples.
        labels = np.fromiter(groups, dtype=object)
        kinds = set(map(type, labels))
        if kinds <= {int}:
            try:
                labels = labels.astype(np.int64)
            except OverflowError:
                pass
        elif kinds == {float}:
            labels = labels.astype(np.float64)
        elif any(issubclass(kind, list | np.ndarray) for kind in kinds):
            raise ValueError(
                f"{name} must be one-dimensional, got a sequence of sequences. Pass "
                "one label per row; labels of several parts must be tuples."
            )
    if labels.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, got shape {labels.shape}. Pass one "
            f"label per row, such as {name}[:, 0]; for a combination of columns pass "
            "a list of tuples."
        )
    if labels.dtype.kind in "VT":
        # Records become tuples; strings may hold an object for missing ones.
        labels = np.fromiter(labels.tolist(), dtype=object, count=len(labels))
    return labels


def groups_on_index(y: Any) -> Any:
    """Return the index level named "groups" of a pandas object, else None."""
    index = getattr(y, "index", None)
    names = getattr(index, "names", None) or ()
    if index is not None and any(
        isinstance(name, str) and name == LEVEL for name in names
    ):
        return index.get_level_values(LEVEL)
    return None


def same_labels(a: Any, b: Any) -> bool:
    """Return whether two sequences hold the same group labels row by row."""
    first, second = one_dimensional(a), one_dimensional(b)
    kinds = {first.dtype.kind, second.dtype.kind}
    if kinds <= set("biu") or kinds == {"f"} or kinds == {"M"} or kinds == {"m"}:
        return bool(np.array_equal(first, second))
    if kinds in ({"O", "M"}, {"O", "m"}):
        dates, objects = (first, second) if second.dtype == object else (second, first)
        try:
            return bool(np.array_equal(dates, objects.astype(dates.dtype)))
        except (TypeError, ValueError):
            return False
    return first.tolist() == second.tolist()


def _are_sizes(labels: NDArray, n_rows: int) -> bool:
    """Return whether labels may be list sizes: integers whose sum is the row number."""
    if labels.dtype.kind not in "iuf" or not len(labels):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((labels == np.floor(labels)).all() and labels.sum() == n_rows)


def _refuse_missing(n_missing: int, name: str) -> None:
    if n_missing:
        raise ValueError(
            f"{name} has {n_missing} missing values; every row needs a {name[:-1]} "
            f"label. Drop these rows, or give them {name} of their own."
        )


def is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, NaT or pandas.NA, or a tuple with one."""
    if label is None:
        return True
    if isinstance(label, tuple):
        return any(map(is_missing, label))
    pandas = sys.modules.get("pandas")
    if pandas is not None and label is pandas.NA:
        return True
    try:
        return bool(label != label)
    except (TypeError, ValueError):
        return False


def _codes_and_categories(
    groups: Any, n_rows: int | None
) -> tuple[NDArray, NDArray] | None:
    """Return the code of each row and the categories of pandas categorical groups.

    Returns None for other groups. Also for a wrong number of rows or missing values,
    where errors should name labels, and for more categories than rows, where labels are
    less work.
    """
    pandas = sys.modules.get("pandas")
    dtype = getattr(groups, "dtype", None)
    if pandas is None or not isinstance(dtype, pandas.CategoricalDtype):
        return None
    values = getattr(groups, "array", groups)  # of a series or an index
    if not isinstance(values, pandas.Categorical):
        return None
    codes, every = values.codes, np.arange(len(values.categories))
    if len(codes) < max(len(every), 1) or codes.min() < 0:
        return None
    if n_rows is not None and len(codes) != n_rows:
        return None
    categories = np.asarray(pandas.Categorical.from_codes(every, dtype=dtype))
    # A category is not missing, but a tuple may have a part that is.
    if categories.dtype == object and any(map(is_missing, categories.tolist())):
        return None
    return codes, categories


def _code_categories(codes: NDArray, categories: NDArray) -> tuple[Indices, NDArray]:
    """Return numbers from 0 and their labels for codes of which some may be unused.

    Numbers follow the order of labels: sorted, or by first appearance for objects.
    """
    first = np.full(len(categories), len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last to be written stays
    used = np.flatnonzero(first < len(codes))
    key = first if categories.dtype == object else categories
    used = used[np.argsort(key[used], kind="stable")]
    number = np.empty(len(categories), dtype=np.intp)
    number[used] = np.arange(len(used))
    return number[codes], categories[used]


def _code_objects(labels: NDArray, name: str) -> tuple[Indices, NDArray]:
    """Return a number for each label, in the order of first appearance."""
    sequence = labels.tolist()
    try:
        numbers = {
            label: number for number, label in enumerate(dict.fromkeys(sequence))
        }
    except TypeError as error:
        raise ValueError(
            f"{name} must hold hashable labels ({error}). Use strings, numbers or "
            "tuples."
        ) from error
    codes = np.fromiter(
        map(numbers.__getitem__, sequence), dtype=np.intp, count=len(sequence)
    )
    missing = [number for label, number in numbers.items() if is_missing(label)]
    _refuse_missing(int(np.isin(codes, missing).sum()) if missing else 0, name)
    return codes, np.fromiter(numbers, dtype=object, count=len(numbers))


def _code_sortable(labels: NDArray) -> tuple[Indices, NDArray]:
    """Return a number for each label, in sorted order of labels."""
    if labels.dtype.kind in "iu":
        # Mark which integers occur in a table of the range, instead of a sort.
        low, high = int(labels.min()), int(labels.max())
        if high - low <= 4 * len(labels):
            # 64 bits, so that the difference cannot overflow.
            wide = labels.astype(f"{labels.dtype.kind}8")
            shifted = (wide - wide.dtype.type(low)).astype(np.intp)
            present = np.zeros(high - low + 1, dtype=bool)
            present[shifted] = True
            codes = (np.cumsum(present) - 1)[shifted]
            values = np.flatnonzero(present).astype(wide.dtype)
            return codes, (values + wide.dtype.type(low)).astype(labels.dtype)
    if labels.dtype.kind in "SU":
        # To hash all labels and sort the distinct ones is faster than to sort all.
        codes, distinct = _code_objects(labels, "groups")  # none is missing
        values, places = np.unique(distinct.astype(labels.dtype), return_index=True)
        number = np.empty_like(places)
        number[places] = np.arange(len(values))
        return number[codes], values
    values, codes = np.unique(labels, return_inverse=True)
    return codes, values


def _stable_order(codes: Indices) -> Indices:
    """Sort small non-negative integers, stably: by radix, 16 bits at a time.

    NumPy sorts by radix for types of 16 bits alone, and by merging for larger ones. For
    a million rows in random order, in 10,000 lists, this takes 18 ms instead of 83 ms.
    """
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    for shift in range(16, int(codes.max()).bit_length(), 16):
        digits = (codes >> shift).astype(np.uint16)[order]
        order = order[np.argsort(digits, kind="stable")]
    return order
