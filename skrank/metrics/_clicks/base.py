"""Click models: how likely a user reads, clicks and is satisfied at each rank.

A model holds parameters only. Its private methods work on flat arrays:

- ``_satisfaction(y, ...)``: for each row, the chance that a click ends the search;
- ``_worth(rows, ranking, ...)``: expected worth of each list, which is a mean over the
  orders of tied rows, and its standard error;
- ``_arrange(rows, ranking, largest)``: the order of tied rows with the largest (least)
  worth, and for which lists this is proved;
- ``_start``, ``_reads``, ``_after``: simulate many users who go down the ranks.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from skrank._data.checks import is_number
from skrank._data.lists import Floats
from skrank.metrics._clicks.rows import Ranking, Rows, satisfaction_of


class ClickModel(BaseEstimator):
    """Base class of the click models."""

    _doc_link_module = "skrank"
    # Whether a satisfied user stops reading, so that clicks depend on satisfaction.
    _satisfaction_ends = False

    def _satisfaction(self, y: Floats, max_grade: Any, metric: str) -> Floats:
        """Return the chance that a click on each row ends the search."""
        return satisfaction_of(y, self.satisfaction, max_grade, metric)

    @abstractmethod
    def _worth(
        self, rows: Rows, ranking: Ranking, n_samples: int, seed: int
    ) -> tuple[Floats, Floats]:
        """Return the expected worth of each list, and its standard error."""

    @abstractmethod
    def _arrange(
        self, rows: Rows, ranking: Ranking, largest: bool
    ) -> tuple[Ranking, NDArray[np.bool_]]:
        """Return the order of largest (least) worth, and for which lists it is proved.

        Other lists whose whole order is open are searched. Where only blocks of tied
        rows are open, they keep their order.
        """

    def _exchangeable(self, rows: Rows) -> tuple[Floats, Floats | None]:
        """Return keys of rows and of places that describe all best orders.

        In a best order without a cut-off, rows of one list with equal keys may change
        places at no cost, and so may the rows at places with equal keys. None: places
        have no keys, or all best orders are not known.
        """
        return rows.attraction * rows.utility, None

    @abstractmethod
    def _start(self, shape: tuple[int, int]) -> NDArray:
        """Return the state of users who have read nothing."""

    @abstractmethod
    def _reads(self, rank: int, state: NDArray) -> Any:
        """Return the chance that each user reads the row at a rank, from 0."""

    @abstractmethod
    def _after(
        self,
        rank: int,
        state: NDArray,
        clicked: NDArray[np.bool_],
        satisfaction: Floats,
        rng: Generator,
    ) -> NDArray:
        """Return the state of each user after a rank."""


def all_lists(rows):
    """Return True for each list."""
    return np.ones(rows.lists.n_lists, dtype=bool)


def table_of(value, names, argument):
    """Return the table with this name, or the value itself if it is not a string."""
    if not isinstance(value, str):
        return value
    if value not in names:
        raise ValueError(f"{argument} must be one of {list(names)}, got {value!r}.")
    return names[value]


def power_of(tau):
    """Check ``tau``, the exponent of the chances to read, and return it."""
    if not is_number(tau) or not 0 <= tau < np.inf:
        raise ValueError(f"tau must be a number of at least 0, got {tau!r}.")
    return tau
