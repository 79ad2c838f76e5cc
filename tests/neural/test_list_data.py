"""ListData: rows by list that scikit-learn's tools leave whole."""

import pickle

import numpy as np
import pytest
from sklearn.utils._indexing import _safe_indexing
from sklearn.utils.validation import _check_method_params

pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank.neural import ListData


def test_it_is_handed_on_whole_whatever_the_number_of_rows():
    data = ListData({0: [[1.0]], 1: [[2.0]]})
    for name in ("__len__", "shape", "__array__"):
        assert not hasattr(data, name)
    X, rows = np.zeros((2, 1)), np.array([0])
    kept = _check_method_params(X, {"history": data}, rows)["history"]
    assert kept is data
    assert len(_safe_indexing(X, rows)) == 1  # what happens to all else


def test_rows_come_in_the_order_asked_for_with_their_numbers():
    data = ListData({"a": [[1, 2], [3, 4]], "b": np.empty((0, 2)), "c": [5, 6]})
    rows, sizes = data.gather(["c", "b", "a"], "history")
    np.testing.assert_array_equal(rows, [[5, 6], [1, 2], [3, 4]])
    np.testing.assert_array_equal(sizes, [1, 0, 2])


def test_from_a_table_rows_keep_their_order():
    data = ListData.from_rows([[1.0], [2.0], [3.0]], ["b", "a", "b"])
    np.testing.assert_array_equal(data.rows_of("b"), [[1.0], [3.0]])
    np.testing.assert_array_equal(data.rows_of("a"), [[2.0]])


def test_labels_of_arrays_find_those_of_python_and_back():
    data = ListData({1: [1.0], "x": [2.0]})
    assert data.rows_of(np.int64(1))[0, 0] == 1.0
    assert data.rows_of(np.str_("x"))[0, 0] == 2.0
    assert ListData({np.int64(1): [1.0]}).rows_of(1)[0, 0] == 1.0


def test_it_can_be_pickled_and_keeps_its_own_copy():
    rows = np.ones((1, 1))
    data = ListData({0: rows})
    rows[0, 0] = 2.0
    assert pickle.loads(pickle.dumps(data)).rows_of(0)[0, 0] == 1.0


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([[1.0]], TypeError, "takes a dictionary"),
        ({}, ValueError, "at least one list"),
        ({0: [[1.0]], 1: [[1.0, 2.0]]}, ValueError, "same number of features"),
        ({0: [[np.nan]]}, ValueError, "NaN or infinity"),
        ({0: ["one"]}, ValueError, "no table of numbers"),
        ({0: [[[1.0]]]}, ValueError, "a table of rows"),
        ({0: []}, ValueError, "a table of rows"),
    ],
)
def test_what_is_no_table_by_list_is_refused(rows, error, message):
    with pytest.raises(error, match=message):
        ListData(rows)


def test_a_list_without_an_entry_is_named():
    with pytest.raises(ValueError, match=r"history has no rows for 1 of 2 .*'b'"):
        ListData({"a": [1.0]}).gather(["a", "b"], "history")
