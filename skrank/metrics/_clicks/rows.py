"""Rows as a click model sees them: chances, worth of a click, and their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._data.checks import check_choice, check_positive, is_number
from skrank._data.lists import Floats, Indices, Levels, Lists

KINDS = ("clicks", "satisfied", "effort")
LN2 = np.log(2.0)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of lists as a click model sees them.

    Attributes
    ----------
    attraction, satisfaction : ndarray of shape (n_rows,)
        Chance of a click on a row that is read, and that this click ends the search.
    kind : {"clicks", "satisfied", "effort"}
        What counts.
    rank_weight : ndarray of shape (k,)
        Factor of each rank; its length is the cut-off.
    lists : Lists
        The lists of these rows.
    """

    attraction: Floats
    satisfaction: Floats
    kind: str
    rank_weight: Floats
    lists: Lists

    @property
    def utility(self) -> Floats:
        """Worth of a click on each row."""
        if self.kind == "clicks":
            return np.ones_like(self.attraction)
        return self.satisfaction

    def part(self, number: int) -> Rows:
        """Return the rows of one list."""
        rows = slice(*self.lists.offsets[number : number + 2])
        return Rows(
            self.attraction[rows],
            self.satisfaction[rows],
            self.kind,
            self.rank_weight,
            self.lists.part(number, number + 1),
        )


@dataclass(frozen=True, slots=True)
class Ranking:
    """An order of the rows of each list, with blocks of tied rows in any order.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Rows from the first rank to the last, list by list.
    starts : ndarray of shape (n_blocks + 1,)
        First place in ``order`` of each block, and the number of rows at the end.
    offsets : ndarray of shape (n_lists + 1,)
        First block of each list, and the number of blocks at the end.
    """

    order: Indices
    starts: Indices
    offsets: Indices

    @classmethod
    def by_score(cls, scores: Floats, lists: Lists) -> Ranking:
        """Rank by score; rows with equal scores form a block."""
        levels = Levels(scores, lists)
        return cls(levels.order, levels.starts, levels.offsets)

    @classmethod
    def open(cls, lists: Lists) -> Ranking:
        """Return a ranking in which each list is one block."""
        return cls(np.arange(lists.n_rows), lists.offsets, np.arange(lists.n_lists + 1))

    @classmethod
    def settled(cls, order: Indices, lists: Lists) -> Ranking:
        """Return a ranking in which each row is a block."""
        return cls(order, np.arange(lists.n_rows + 1), lists.offsets)

    @property
    def sizes(self) -> Indices:
        """Number of rows of each block."""
        return np.diff(self.starts)

    @property
    def blocks(self) -> Indices:
        """Block of each place."""
        return np.repeat(np.arange(len(self.starts) - 1), self.sizes)

    def sort_blocks(self, *keys: Floats) -> Ranking:
        """Sort the rows of each block by keys of the rows, the smallest first.

        The first key counts most.
        """
        places = np.lexsort((*(key[self.order] for key in reversed(keys)), self.blocks))
        return Ranking(self.order[places], self.starts, self.offsets)


def ranks_of(lists: Lists) -> Indices:
    """Return the rank, from 0, of each place in a ranking."""
    return np.arange(lists.n_rows) - lists.expand(lists.starts)


def rank_weights(kind: Any, n_ranks: int) -> Floats:
    """Return the factor of each rank, and refuse an unknown kind."""
    check_choice(kind, "kind", KINDS)
    if kind == "effort":
        return 1.0 / np.arange(1, n_ranks + 1)
    return np.ones(n_ranks)


def attraction_of(
    y: Floats, attraction: Any, noise: Any, max_grade: Any, metric: str
) -> Floats:
    """Return the chance of a click on each row that is read."""
    if callable(attraction):
        return _checked(attraction, y, "attraction")
    if attraction not in ("graded", "err"):
        raise ValueError(
            "attraction must be 'graded', 'err' or a function of all labels, got "
            f"{attraction!r}."
        )
    check_chance(noise, "noise")
    grades = stop_chances(y, max_grade, metric)
    if attraction == "graded":
        # Scale such that the best grade has chance 1: divide by 1 - 2^-max_grade.
        grades /= -np.expm1(-max_grade * LN2)
    return noise + (1.0 - noise) * grades


def satisfaction_of(y: Floats, satisfaction: Any, max_grade: Any, metric: str) -> Any:
    """Return the chance that a click on each row ends the search."""
    if callable(satisfaction):
        return _checked(satisfaction, y, "satisfaction")
    if isinstance(satisfaction, str):
        if satisfaction != "err":
            raise ValueError(
                "satisfaction must be 'err', a number or a function of all labels, "
                f"got {satisfaction!r}."
            )
        return stop_chances(y, max_grade, metric)
    check_chance(satisfaction, "satisfaction")
    return np.full(len(y), float(satisfaction))


def stop_chances(y: Floats, max_grade: Any, metric: str) -> Floats:
    """Return (2**y - 1) / 2**max_grade, without overflow or cancellation."""
    check_positive(max_grade, "max_grade")
    lowest, highest = y.min(), y.max()
    if lowest < 0 or highest > max_grade:
        raise ValueError(
            f"{metric} needs labels from 0 to max_grade={max_grade}, got {lowest} to "
            f"{highest}. Set max_grade to the best grade of the scale, the same for "
            "all data, or give functions that map labels to chances."
        )
    # (2^y - 1) / 2^max_grade = 2^(y - max_grade) (1 - 2^-y).
    return np.exp2(y - max_grade) * -np.expm1(-y * LN2)


def check_chance(value: Any, name: str) -> None:
    """Raise ValueError for a value that is not a number from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}.")


def check_chances(values: NDArray, name: str) -> None:
    """Raise ValueError for numbers that are not all from 0 to 1."""
    if not (values.size and values.min() >= 0 and values.max() <= 1):
        raise ValueError(f"{name} must hold numbers from 0 to 1, got {values}.")


def _checked(function: Callable, y: Floats, name: str) -> Floats:
    """Call a function of the labels, and check that it gives one chance a label."""
    chances = np.array(function(y), dtype=np.float64)
    if chances.shape != y.shape:
        raise ValueError(
            f"{name} must return one number per label, got shape {chances.shape} for "
            f"{len(y)} labels."
        )
    check_chances(chances, f"what {name} returns")
    return chances
