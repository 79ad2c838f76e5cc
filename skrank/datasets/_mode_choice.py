"""A real data set that comes with the package: how travellers chose."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import numpy as np

FILE = "mode_choice.csv"
NUMBERS = ("ttme", "invc", "invt", "gc", "hinc", "psize")


def load_mode_choice(*, as_frame: bool = False) -> Any:
    """Load which of four modes of travel 210 people chose.

    Each list is one traveller between Sydney, Canberra and Melbourne, its four rows
    are air, train, bus and car, and the label of the chosen mode is 1. A small example
    for conditional logit, choice and Plackett-Luce models.

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects with the columns of the source; otherwise arrays with
        the features of the model in [1]_, one of a mode in three indicators.

    Returns
    -------
    X : ndarray of shape (840, 8) or DataFrame of shape (840, 7)
        As array: air, train and bus (1 for that mode), terminal waiting time in
        minutes, cost in the vehicle in dollars, time in the vehicle in minutes,
        generalized cost in dollars, and the household's income in 1,000 dollars for
        air, else 0. As frame: ``mode`` (categories air, train, bus, car), ``ttme``,
        ``invc``, ``invt``, ``gc`` (the same four), ``hinc`` (the household's income
        in 1,000 dollars) and ``psize`` (number of people that travel together); the
        last two are the same for all rows of a traveller.
    y : ndarray or Series of int64 of shape (840,)
        1 for the mode chosen, else 0. The Series is named "choice".
    groups : ndarray or Series of int64 of shape (840,)
        The traveller, 1 to 210. The Series is named "individual".

    Raises
    ------
    ImportError
        If ``as_frame`` is True and pandas is not installed.

    Notes
    -----
    In the public domain. The sample was drawn by choice: air, train and bus are more
    frequent in it than among all travellers.

    References
    ----------
    .. [1] W. H. Greene, "Econometric Analysis", 7th edition, Prentice Hall (2011),
       table F18-2 of its data, and W. H. Greene, D. A. Hensher, "Multinomial logit
       and discrete choice models" (1997). The file is that of statsmodels'
       ``modechoice``.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import load_mode_choice
    >>> X, y, groups = load_mode_choice()
    >>> X.shape
    (840, 8)
    >>> ListMLERanker(alpha=0).fit(X[:, :3], y, groups).coef_.round(3)
    array([-0.017,  0.066, -0.676])
    """
    text = (files("skrank.datasets") / FILE).read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    mode = np.array([row["mode"] for row in rows])
    y = np.array([int(row["choice"]) for row in rows], dtype=np.int64)
    groups = np.array([int(row["individual"]) for row in rows], dtype=np.int64)
    numbers = {name: np.array([float(row[name]) for row in rows]) for name in NUMBERS}
    if not as_frame:
        is_mode = [(mode == name).astype(float) for name in ("air", "train", "bus")]
        costs = [numbers[name] for name in ("ttme", "invc", "invt", "gc")]
        return (
            np.column_stack([*is_mode, *costs, numbers["hinc"] * is_mode[0]]),
            y,
            groups,
        )
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "load_mode_choice(as_frame=True) needs pandas (pip install pandas); "
            "as_frame=False returns arrays."
        ) from error
    modes = pd.Categorical(mode, categories=["air", "train", "bus", "car"])
    return (
        pd.DataFrame({"mode": modes, **numbers}),
        pd.Series(y, name="choice"),
        pd.Series(groups, name="individual"),
    )
