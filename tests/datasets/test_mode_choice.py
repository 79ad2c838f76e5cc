"""The data set that comes with the package is the published one."""

import numpy as np
import pytest

from skrank import ListMLERanker
from skrank.datasets import load_mode_choice

# W. H. Greene, "Econometric Analysis", table of the conditional logit on these data:
# constants of air, train and bus, generalized cost, terminal time, income by air.
PUBLISHED = [5.2074, 3.8690, 3.1632, -0.0961, -0.0155, 0.0133]
COLUMNS = [0, 1, 2, 3, 6, 7]


def test_the_conditional_logit_on_these_data_has_the_published_numbers():
    X, y, groups = load_mode_choice()
    X = X[:, COLUMNS]
    ranker = ListMLERanker(alpha=0, tol=1e-9).fit(X, y, groups)
    # Published with four digits after the point.
    assert ranker.coef_ == pytest.approx(PUBLISHED, abs=6e-5)
    assert ranker.log_likelihood(X, y, groups) == pytest.approx(-199.1284, abs=6e-5)


def test_every_traveller_chooses_one_of_four_modes():
    X, y, groups = load_mode_choice()
    assert X.shape == (840, 8)
    assert np.array_equal(groups, np.repeat(np.arange(1, 211), 4))
    assert np.array_equal(y.reshape(210, 4).sum(axis=1), np.ones(210))
    assert np.array_equal(X[:4, :3], np.eye(4)[:, :3])


def test_the_frame_has_the_columns_of_the_source():
    pytest.importorskip("pandas")
    X, y, groups = load_mode_choice(as_frame=True)
    arrays = load_mode_choice()
    assert list(X.columns) == ["mode", "ttme", "invc", "invt", "gc", "hinc", "psize"]
    assert X["mode"].tolist()[:4] == ["air", "train", "bus", "car"]
    assert np.array_equal(X[["ttme", "invc", "invt", "gc"]], arrays[0][:, 3:7])
    assert np.array_equal(X["hinc"] * (X["mode"] == "air"), arrays[0][:, 7])
    assert (y.name, groups.name) == ("choice", "individual")
    assert np.array_equal(y, arrays[1])
    assert np.array_equal(groups, arrays[2])


def test_a_frame_without_pandas_is_a_clear_error(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas \(pip install pandas\)"):
        load_mode_choice(as_frame=True)
