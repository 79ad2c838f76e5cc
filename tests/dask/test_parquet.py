"""LETOR files as parquet partitions of whole lists."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe", reason="dask is not installed (extra dask)")

import skrank.dask
from skrank.datasets import _files, load_letor


def letor_text(n_queries=30, seed=0):
    rng = np.random.default_rng(seed)
    lines = ["# a comment first", ""]
    for query in range(n_queries):
        for _ in range(rng.integers(1, 9)):
            values = " ".join(f"{j}:{rng.normal():.4f}" for j in (1, 3, 4))
            lines.append(f"{rng.integers(0, 3)} qid:{query + 100} {values} # doc")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("rows_per_file", [1, 7, 40, 10_000])
def test_letor_becomes_parquet_of_whole_lists(tmp_path, rows_per_file, monkeypatch):
    monkeypatch.setattr(_files, "BLOCK", 300)  # bytes read at once
    path = tmp_path / "train.txt"
    path.write_text(letor_text())
    files = skrank.dask.letor_to_parquet(
        path, tmp_path / "out", n_features=5, rows_per_file=rows_per_file, dtype=float
    )
    parts = [pd.read_parquet(file) for file in files]
    X, y, groups = load_letor(path, n_features=5)
    whole = pd.concat(parts)
    np.testing.assert_array_equal(whole.filter(regex="^f").to_numpy(), X)
    np.testing.assert_array_equal(whole.label, y)
    np.testing.assert_array_equal(whole.group.astype(int), groups)
    queries = [set(part.group) for part in parts]
    assert sum(map(len, queries)) == len(set.union(*queries))  # no list is cut
    # Files end with the list that reaches the number of rows.
    for part in parts[:-1]:
        assert rows_per_file <= len(part) < rows_per_file + 8
    with pytest.raises(FileExistsError, match="holds parquet files already"):
        skrank.dask.letor_to_parquet(path, tmp_path / "out", n_features=5)


def test_several_files_and_first_ids_of_zero(tmp_path):
    for number in range(2):
        text = f"1 qid:{number} 0:1.5\n0 qid:{number} 1:2.5\n"
        (tmp_path / f"{number}.txt").write_text(text)
    files = skrank.dask.letor_to_parquet(
        [tmp_path / "0.txt", tmp_path / "1.txt"],
        tmp_path / "out",
        n_features=2,
        zero_based=True,
    )
    assert len(files) == 2
    table = pd.read_parquet(tmp_path / "out")
    assert list(table.columns) == ["label", "group", "f0", "f1"]
    assert table.f0.dtype == np.float32
    assert list(table.group) == ["0", "0", "1", "1"]
