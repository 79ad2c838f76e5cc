"""An error about NaN or infinity names the columns that hold it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skrank import ListMLERanker
from skrank.preprocessing import QueryScaler, SecondOrderFeatures

y, groups = [1, 0, 2, 0], ["a", "a", "b", "b"]
nan, inf = np.nan, np.inf
TABLE = np.array([[1.0, nan, 5.0], [2.0, 0.0, inf], [0.0, nan, 1.0], [4.0, 1.0, 2.0]])
COLUMNS = {"price": TABLE[:, 0], "age": TABLE[:, 1], "rate": TABLE[:, 2]}
NAMED = r"in columns 'age' \(2 rows\), 'rate' \(1 row\)\.\n"
NUMBERED = r"in columns 1 \(2 rows\), 2 \(1 row\)\.\n"


@pytest.mark.parametrize(
    ("X", "where"),
    [
        (TABLE, NUMBERED),
        (TABLE.astype(np.float32), NUMBERED),
        (TABLE.tolist(), NUMBERED),
        (sparse.csr_array(TABLE), NUMBERED),
        (sparse.csc_matrix(TABLE), NUMBERED),
        (pd.DataFrame(COLUMNS), NAMED),
        (pl.DataFrame(COLUMNS), NAMED),
        (pd.DataFrame(COLUMNS).astype(object), NAMED),
    ],
)
def test_a_fit_names_the_columns_and_counts_their_rows(X, where):
    with pytest.raises(ValueError, match="Input X contains .*, " + where) as error:
        ListMLERanker().fit(X, y, groups)
    assert "ListMLERanker takes finite numbers alone: fill these" in str(error.value)


def test_missing_values_of_pandas_own_are_counted():
    X = pd.DataFrame({"price": pd.array([1, None, 3, 4], dtype="Int64"), "age": 1.0})
    with pytest.raises(ValueError, match=r"NaN, in column 'price' \(1 row\)\.\n"):
        ListMLERanker().fit(X, y, groups)


def test_prediction_names_them_as_well():
    good = pd.DataFrame(np.nan_to_num(TABLE, posinf=9.0), columns=list(COLUMNS))
    ranker = ListMLERanker().fit(good, y, groups)
    with pytest.raises(ValueError, match="NaN, " + NAMED):
        ranker.predict(pd.DataFrame(COLUMNS))


@pytest.mark.parametrize(
    "fit",
    [
        lambda X: QueryScaler().fit(X, groups=groups),
        lambda X: SecondOrderFeatures().fit(X, y),
    ],
)
def test_transformers_name_them(fit):
    with pytest.raises(ValueError, match=NAMED):
        fit(pd.DataFrame(COLUMNS))


def test_many_columns_are_cut_short():
    X = np.zeros((4, 9))
    X[1] = nan
    with pytest.raises(ValueError, match=r"4 \(1 row\) and 4 more\.\n"):
        ListMLERanker().fit(X, y, groups)


def test_rows_are_looked_at_in_blocks(monkeypatch):
    monkeypatch.setattr("skrank._data.features.BLOCK", 3)
    with pytest.raises(ValueError, match=NUMBERED):
        ListMLERanker().fit(TABLE, y, groups)


def test_a_value_too_large_for_float32_keeps_the_words_of_scikit_learn():
    frame = pd.DataFrame({"a": [1.0, nan, 3.0, 4.0], "b": ["1", "2", "3", "x"]})
    with pytest.raises(ValueError, match="could not convert string to float: 'x'"):
        ListMLERanker().fit(frame, y, groups)
