"""Read LETOR files: svmlight text in which every row names its query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from skrank._data.checks import Integers
from skrank._data.groups import with_groups
from skrank._data.parameters import checks_arguments
from skrank.datasets._files import name_of, opened
from skrank.datasets._letor_table import LARGEST_COLUMN, Form, Table
from skrank.datasets._rows_on_disk import RowsOnDisk


@checks_arguments(
    {
        "sparse": ["boolean"],
        "n_features": [Integers(1, LARGEST_COLUMN + 1), None],
        "zero_based": ["boolean"],
        "dtype": "no_validation",
        "to_memmap": "no_validation",
        "return_docids": ["boolean"],
        "as_frame": ["boolean"],
    },
)
def load_letor(
    path: Any,
    *,
    sparse: bool = False,
    n_features: int | None = None,
    zero_based: bool = False,
    dtype: Any = float,
    to_memmap: Any = None,
    return_docids: bool = False,
    as_frame: bool = False,
) -> Any:
    r"""Load rows, labels and groups from LETOR files (svmlight text with ``qid``).

    One line is one row::

        <label> qid:<query> <feature>:<value> <feature>:<value> ... # <comment>

    Labels and values are decimal numbers, read to the same bits as Python's
    ``float``. A query is any text without blanks. Feature ids increase along the
    line; features left out are 0. Fields are separated by spaces or tabs. Blank
    lines and everything after ``#`` are skipped; lines may end with CR LF.

    Memory in use peaks at the arrays returned plus 12 bytes for each value that is
    not zero (for dense data twice ``X``, or less) plus about 10 MB and four times the
    longest line. With ``to_memmap`` it is that without ``X`` and its values.

    Parameters
    ----------
    path : str, path-like, binary file, or list of these
        Files to read. Those that begin as gzip, bzip2, xz or (from Python 3.14)
        zstd files do are decompressed, whatever their name; a binary file that is
        already open is read as it is, from where it stands.
    sparse : bool, default=False
        Return ``X`` in CSR form, without the zeros written in the file, instead of
        dense.
    n_features : int, default=None
        Number of columns of ``X``. None: as many as the largest feature id of all
        files asks for.
    zero_based : bool, default=False
        The first feature id, and so column 0 of ``X``, is 1 as in LETOR (False) or
        0 (True).
    dtype : {numpy.float64, numpy.float32}, default=float
        Data type of ``X``; float32 is rounded from float64.
    to_memmap : path-like, or list of as many as files, default=None
        Write ``X`` to this .npy file while reading, and return it as a read-only
        memory map, for files larger than memory. ``X`` is dense. Give
        ``n_features`` where later rows have more features than the first ones,
        since what was written must then be moved.
    return_docids : bool, default=False
        Also return the document of each row, from its comment.
    as_frame : bool, default=False
        Return ``X`` and ``y`` as pandas objects; not with ``sparse`` or
        ``to_memmap``.

    Returns
    -------
    X : ndarray, scipy.sparse.csr_array or DataFrame of shape (n_rows, n_features)
        Features. The columns of the frame are named by feature id, "f1", "f2", ...
    y : ndarray or Series of float64 of shape (n_rows,)
        Labels. Series and frame have the groups on their index, in a level named
        "groups", as :func:`~skrank.with_groups` gives them.
    groups : ndarray of shape (n_rows,)
        Queries: int64 if those of all files are 64-bit integers without leading
        zeros, else an object array of str. Rows keep the order of the file.
    docids : ndarray of str or None of shape (n_rows,)
        Only with ``return_docids``: the word behind ``docid =`` in the comment of the
        row, or the whole comment if it has no ``docid =``; None without a comment.

    A list of paths gives a list of such tuples, all with the same number of columns.

    Raises
    ------
    ValueError
        If a line is malformed (the message names file, line and what it reads
        there), a number is not finite in ``dtype``, a file has no rows, is packed
        and broken or in a way that this Python cannot read, or a dense array above
        1 GB would be 99 % empty, or arguments contradict each other.
    ImportError
        If ``as_frame`` is True and pandas is not installed.
    MemoryError
        If memory is too small for a file, which the message names.
    OSError
        If a file cannot be opened, such as FileNotFoundError.

    References
    ----------
    T. Qin, T.-Y. Liu, "Introducing LETOR 4.0 datasets", arXiv:1306.2597, 2013.

    Examples
    --------
    >>> from io import BytesIO
    >>> from skrank.datasets import load_letor
    >>> text = b"2 qid:10 1:0.5 2:-1 # best\n0 qid:10 2:25e-2\n1 qid:11 1:3\n"
    >>> X, y, groups = load_letor(BytesIO(text))
    >>> X
    array([[ 0.5 , -1.  ],
           [ 0.  ,  0.25],
           [ 3.  ,  0.  ]])
    >>> y
    array([2., 0., 1.])
    >>> groups
    array([10, 10, 11])
    >>> load_letor(BytesIO(text), return_docids=True)[3]
    array(['best', None, None], dtype=object)
    """
    kind = np.dtype(dtype)
    if kind not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}.")
    several = isinstance(path, list | tuple)
    paths = list(path) if several else [path]
    if not paths:
        raise ValueError("path is an empty list; give at least one file.")
    targets = _targets(to_memmap, paths, several, sparse)
    if as_frame:
        _refuse_no_frame(sparse, to_memmap)
    first_id = 0 if zero_based else 1
    form = Form(first_id, first_id + (n_features or LARGEST_COLUMN + 1) - 1, kind)
    tables, results = [], []
    with ExitStack() as files:
        for source, target in zip(paths, targets, strict=True):
            table = Table(name_of(source), form, docids=[] if return_docids else None)
            tables.append(table)
            if target is not None:
                table.on_disk = files.enter_context(
                    RowsOnDisk(target, n_features or 0, kind)
                )
            with _memory_errors_name(table.name), opened(source) as file:
                table.read(file)
        width = n_features or max(table.largest_id for table in tables) - first_id + 1
        integers = all(table.has_integer_qids for table in tables)
        for table in tables:
            with _memory_errors_name(table.name):
                groups, y = table.groups(integers), table.labels()
                X = table.features(width, sparse)
            if as_frame:
                X, y = _frames(X, y, groups, first_id)
            docids = [np.array(table.docids, dtype=object)] if return_docids else []
            results.append((X, y, groups, *docids))
    return results if several else results[0]


def _refuse_no_frame(sparse: bool, to_memmap: Any) -> None:
    """Raise an error if a frame cannot be made, before a file is read."""
    if sparse or to_memmap is not None:
        argument = "sparse=True" if sparse else "to_memmap"
        raise ValueError(
            f"as_frame=True returns a dense DataFrame in memory; leave out {argument}, "
            "or use as_frame=False."
        )
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "load_letor(as_frame=True) needs pandas (pip install pandas); "
            "as_frame=False returns arrays."
        ) from error


def _frames(X: Any, y: Any, groups: Any, first_id: int) -> tuple[Any, Any]:
    """Return features and labels as pandas objects with groups on their index."""
    import pandas as pd

    labels = with_groups(y, groups)
    names = [f"f{first_id + column}" for column in range(X.shape[1])]
    return pd.DataFrame(X, index=labels.index, columns=names, copy=False), labels


def _targets(to_memmap: Any, paths: list, several: bool, sparse: bool) -> list:
    """Return the file that each table is written to, or None for each."""
    if to_memmap is None:
        return [None] * len(paths)
    if sparse:
        raise ValueError("to_memmap writes a dense array; use sparse=False with it.")
    if several != isinstance(to_memmap, list | tuple):
        raise ValueError(
            "to_memmap must be one file for one path and a list of as many files for "
            f"a list of paths, got {to_memmap!r}."
        )
    targets = list(map(os.fspath, to_memmap if several else [to_memmap]))
    if len(targets) != len(paths) or len({*map(os.path.abspath, targets)}) < len(paths):
        raise ValueError(
            f"to_memmap must name a file of its own for each of {len(paths)} paths, "
            f"got {targets}."
        )
    sources = [os.path.abspath(name_of(path)) for path in paths]
    for target in targets:
        if os.path.abspath(target) in sources:
            raise ValueError(f"to_memmap names {target}, which is read.")
    return targets


@contextmanager
def _memory_errors_name(name: str) -> Iterator[None]:
    """Name the file in the message of a MemoryError."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(
            f"{name}: not enough memory to read this file "
            f"({str(error) or 'for a line or a block of lines'}). "
            "sparse=True, dtype=np.float32 and to_memmap= need less."
        ) from error
