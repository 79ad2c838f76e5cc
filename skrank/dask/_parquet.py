"""LETOR files as parquet, partition by partition of whole lists."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from skrank._data.checks import check_count
from skrank.datasets import load_letor
from skrank.datasets._files import blocks_of_lines, name_of, opened

FIRST_LINES = 2**16  # bytes of a block in which a query may begin


def letor_to_parquet(
    path: Any,
    folder: str | os.PathLike,
    *,
    n_features: int,
    rows_per_file: int = 250_000,
    dtype: Any = np.float32,
    zero_based: bool = False,
) -> list[str]:
    """Write LETOR files as parquet files that each hold whole lists.

    Reads in one streaming pass: memory holds one file's rows. Neighbouring rows of one
    query are a list. If a query has rows elsewhere in the file, they may come into
    another partition; :func:`skrank.dask.fit` finds such lists and shuffles.

    Parameters
    ----------
    path : str, path-like, binary file, or list of these
        Files in the LETOR format, packed or not; see
        :func:`~skrank.datasets.load_letor`.
    folder : path-like
        Where to write ``part-00000.parquet`` and so on; made if it is not there.
    n_features : int
        Number of columns; all files of a folder must have as many.
    rows_per_file : int, default=250000
        Number of rows after which a file ends, at the end of a list.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Kind of number of the features.
    zero_based : bool, default=False
        Whether the first feature id is 0.

    Returns
    -------
    files : list of str
        The files written, for ``dask.dataframe.read_parquet(folder)``. Columns are
        "label", "group" and "f1", "f2", ... (from "f0" if ``zero_based``).

    Raises
    ------
    ImportError
        If pyarrow is not installed (extra "dask").
    FileExistsError
        If the folder holds parquet files already.
    ValueError
        If a line is malformed.

    Examples
    --------
    >>> from skrank.dask import letor_to_parquet
    >>> letor_to_parquet("train.txt.gz", "train", n_features=136)  # doctest: +SKIP
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            'letor_to_parquet needs pyarrow: pip install "skrank[dask]".'
        ) from error
    check_count(n_features, "n_features")
    check_count(rows_per_file, "rows_per_file")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    if any(target.glob("*.parquet")):
        raise FileExistsError(f"{target} holds parquet files already; name another.")
    first = 0 if zero_based else 1
    names = [f"f{number}" for number in range(first, first + n_features)]
    files: list[str] = []
    options = {"n_features": n_features, "zero_based": zero_based, "dtype": dtype}
    for one in path if isinstance(path, list | tuple) else [path]:
        for X, y, groups in _tables(one, rows_per_file, options):
            # Groups are text, since later queries of the file may be names, not
            # numbers.
            columns = {"label": y, "group": np.asarray(groups).astype(str)}
            columns |= dict(zip(names, X.T, strict=True))
            file = target / f"part-{len(files):05d}.parquet"
            pq.write_table(pa.table(columns), file)
            files.append(str(file))
    return files


def _tables(path: Any, rows_per_file: int, options: dict[str, Any]) -> Any:
    """Yield rows of whole lists, read piece by piece."""
    import io

    held: list[Any] = []
    n_held = 0
    with opened(path) as file:
        for text, is_whole in blocks_of_lines(file, name_of(path)):
            if not is_whole:
                continue
            if not _has_rows(text):
                continue
            X, y, groups = load_letor(io.BytesIO(text), **options)
            held.append((X, y, np.asarray(groups).astype(str)))
            n_held += len(y)
            if n_held < rows_per_file:
                continue
            X, y, groups = (np.concatenate(part) for part in zip(*held, strict=True))
            # The last list may continue in the next block.
            stop = (
                int(np.flatnonzero(groups != groups[-1])[-1] + 1)
                if np.any(groups != groups[-1])
                else 0
            )
            while stop > rows_per_file:
                cut = _end_of_list(groups, rows_per_file, stop)
                yield X[:cut], y[:cut], groups[:cut]
                X, y, groups, stop = X[cut:], y[cut:], groups[cut:], stop - cut
            held, n_held = [(X, y, groups)], len(y)
    if held:
        X, y, groups = (np.concatenate(part) for part in zip(*held, strict=True))
        while len(y) > rows_per_file:
            cut = _end_of_list(groups, rows_per_file, len(y))
            yield X[:cut], y[:cut], groups[:cut]
            X, y, groups = X[cut:], y[cut:], groups[cut:]
        if len(y):
            yield X, y, groups


def _end_of_list(groups: Any, at_least: int, at_most: int) -> int:
    """Return the end of the list that holds a row, no further than a bound."""
    after = np.flatnonzero(groups[at_least:at_most] != groups[at_least - 1])
    return at_least + int(after[0]) if len(after) else at_most


def _has_rows(text: bytes) -> bool:
    """Return whether any line of a block is neither blank nor a comment."""
    lines = (line.lstrip() for line in text.split(b"\n"))
    return any(line and not line.startswith(b"#") for line in lines)
