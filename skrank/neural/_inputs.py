"""Turn the arguments of fit and predict into standardised tables of lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from skrank._data.checks import as_written
from skrank._data.grouping import Grouping
from skrank._data.lists import Floats, Indices
from skrank.neural._batches import ListTables, Ragged
from skrank.neural._list_data import ListData
from skrank.neural._scaling import Standardizer


class ListInputs:
    """Standardises candidates, histories and profiles as those of a fit.

    Parameters
    ----------
    name : str
        Name of the ranker, for messages.
    by_list : bool
        Whether candidates are standardised inside each list.
    reads_history : bool
        Whether histories are used at all.
    """

    def __init__(self, name: str, by_list: bool, reads_history: bool) -> None:
        self.name, self.reads_history = name, reads_history
        self.candidates = Standardizer("X", by_list)
        self.history: Standardizer | None = None
        self.profile: Standardizer | None = None

    def fit(
        self, X: Floats, grouping: Grouping, history: Any, profile: Any
    ) -> ListInputs:
        """Learn means and deviations of columns."""
        self.candidates.fit(grouping.gather(X), grouping.lists.sizes)
        for kind, data in (("history", history), ("profile", profile)):
            rows = self._rows(kind, data, grouping)
            if rows is not None:
                setattr(self, kind, Standardizer(kind, by_list=False).fit(*rows))
        return self

    def tables(
        self,
        X: Floats,
        grouping: Grouping,
        history: Any,
        profile: Any,
        dtype: torch.dtype,
        device: torch.device,
    ) -> ListTables:
        """Return standardised tables of lists, on the device.

        Raises
        ------
        TypeError
            If ``history`` or ``profile`` is not a ListData.
        ValueError
            If one was given in ``fit`` and now is not, or the other way round; if it
            misses a list; if columns are not as many as in ``fit``; if a list has not
            one profile; if values are too far from those in ``fit``.
        """
        sizes = grouping.lists.sizes
        candidates = self.candidates.transform(grouping.gather(X), sizes)
        browsed, profiles = None, None
        rows = self._rows("history", history, grouping)
        scaled = self._scaled("history", self.history, rows)
        if scaled is not None:
            assert rows is not None
            browsed = Ragged(scaled, rows[1], dtype, device)
        rows = self._rows("profile", profile, grouping)
        scaled = self._scaled("profile", self.profile, rows)
        if scaled is not None:
            profiles = torch.as_tensor(scaled, dtype=dtype, device=device)
        return ListTables(Ragged(candidates, sizes, dtype, device), browsed, profiles)

    def _rows(
        self, kind: str, data: Any, grouping: Grouping
    ) -> tuple[Floats, Indices] | None:
        """Return the rows of a history or a profile, and their number in each list."""
        if data is not None and not isinstance(data, ListData):
            raise TypeError(
                f"{kind} must be a skrank.neural.ListData, got {type(data).__name__}: "
                "scikit-learn's tools would cut other containers by row."
            )
        if data is None or (kind == "history" and not self.reads_history):
            return None
        rows, sizes = data.gather(grouping.labels, kind)
        if kind == "profile" and not np.all(sizes == 1):
            label = grouping.labels[np.argmax(sizes != 1)]
            raise ValueError(
                "profile must have one row a list, but list "
                f"{as_written(label)} has {sizes[sizes != 1][0]}. Several rows in "
                "order are a history."
            )
        return rows, sizes

    def _scaled(
        self,
        kind: str,
        scaler: Standardizer | None,
        rows: tuple[Floats, Indices] | None,
    ) -> Floats | None:
        """Return standardised rows, after a check against the columns of the fit."""
        if (rows is None) != (scaler is None):
            had = "without" if scaler is None else "with"
            raise ValueError(
                f"{self.name} was fitted {had} {kind}; "
                + ("leave it out." if scaler is None else f"pass {kind}=.")
            )
        if rows is None or scaler is None:
            return None
        if rows[0].shape[1] != scaler.n_columns:
            raise ValueError(
                f"{kind} has {rows[0].shape[1]} features, but {self.name} was fitted "
                f"with {scaler.n_columns}."
            )
        return scaler.transform(*rows)
