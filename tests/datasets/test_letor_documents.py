"""Documents from the comments of LETOR files, and tables as pandas objects."""

import io
import sys

import numpy as np
import pytest

from skrank import ListMLERanker
from skrank.datasets import _files, load_letor

# As in MQ2008 and OHSUMED, and comments of other kinds.
TEXT = (
    "\ufeff# docid = of no row\n\n"
    "2 qid:10 1:0.5 3:-2 #docid = GX029-35-5894638 inc = 1 prob = 0.02\r\n"
    "0 qid:10 1:0.25 # docid = 244338\n"
    "   \t\f# docid = of a blank line\n"
    "1 qid:9 2:1 # http://a.b/#c d \n"
    "0 qid:9 2:3\n"
    "0 qid:9 2:4 #  \n"
    "0 qid:9 2:4 # mydocid = 7\n"
    "0 qid:8#docid=é"
)
DOCIDS = [
    "GX029-35-5894638",
    "244338",
    "http://a.b/#c d",
    None,
    None,
    "mydocid = 7",
    "é",
]


def file_of(text=TEXT):
    return io.BytesIO(text.encode())


def test_the_document_is_the_docid_of_the_comment_or_all_of_it():
    *table, docids = load_letor(file_of(), return_docids=True)
    assert docids.dtype == object
    assert docids.tolist() == DOCIDS
    for one, other in zip(table, load_letor(file_of()), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [4, 7, 64])
def test_documents_do_not_depend_on_where_blocks_end(size, monkeypatch):
    monkeypatch.setattr(_files, "BLOCK", size)
    assert load_letor(file_of(), return_docids=True)[3].tolist() == DOCIDS


def test_documents_come_with_sparse_tables_and_with_memory_maps(tmp_path):
    sparse = load_letor(file_of(), sparse=True, return_docids=True)
    mapped = load_letor(file_of(), to_memmap=tmp_path / "X.npy", return_docids=True)
    assert sparse[3].tolist() == mapped[3].tolist() == DOCIDS
    np.testing.assert_array_equal(sparse[0].toarray(), mapped[0])


def test_each_of_several_files_has_its_own_documents():
    (*_, first), (*_, second) = load_letor(
        [file_of(), file_of("1 qid:1 4:1 # last\n")], return_docids=True
    )
    assert first.tolist() == DOCIDS
    assert second.tolist() == ["last"]


def test_a_frame_has_features_by_id_and_groups_on_the_index():
    pd = pytest.importorskip("pandas")
    arrays = load_letor(file_of())
    X, y, groups = load_letor(file_of(), as_frame=True)
    assert isinstance(X, pd.DataFrame)
    assert isinstance(y, pd.Series)
    assert X.columns.tolist() == ["f1", "f2", "f3"]
    assert y.index.names == X.index.names == ["groups"]
    assert y.index.tolist() == X.index.tolist() == groups.tolist()
    for one, other in zip((X, y, groups), arrays, strict=True):
        np.testing.assert_array_equal(one, other)


def test_frames_of_several_files_have_the_same_columns_and_documents():
    pytest.importorskip("pandas")
    results = load_letor(
        [file_of("1 qid:a 0:1 # x"), file_of("0 qid:7 3:2")],
        zero_based=True,
        dtype=np.float32,
        as_frame=True,
        return_docids=True,
    )
    for X, *_ in results:
        assert X.columns.tolist() == ["f0", "f1", "f2", "f3"]
        assert set(X.dtypes) == {np.dtype(np.float32)}
    assert [y.index.tolist() for _, y, *_ in results] == [["a"], ["7"]]
    assert [docids.tolist() for *_, docids in results] == [["x"], [None]]


def test_a_ranker_fits_a_frame_without_groups_beside_it():
    pytest.importorskip("pandas")
    X, y, _ = load_letor(file_of(), as_frame=True)
    ranker = ListMLERanker().fit(X, y)
    np.testing.assert_array_equal(ranker.feature_names_in_, ["f1", "f2", "f3"])
    by_arrays = ListMLERanker().fit(*load_letor(file_of()))
    np.testing.assert_array_equal(ranker.coef_, by_arrays.coef_)


@pytest.mark.parametrize(
    ("options", "argument"), [({"sparse": True}, "sparse"), ({}, "to_memmap")]
)
def test_frames_are_dense_and_in_memory(options, argument, tmp_path):
    target = tmp_path / "X.npy"
    if not options:
        options = {"to_memmap": target}
    with pytest.raises(ValueError, match=f"as_frame=True .* leave out {argument}"):
        load_letor(file_of(), as_frame=True, **options)
    assert not target.exists()


def test_without_pandas_a_frame_is_refused_before_the_file_is_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas"):
        load_letor("no such file", as_frame=True)
