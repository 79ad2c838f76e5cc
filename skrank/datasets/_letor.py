"""Read LETOR files: svmlight text in which every row names its query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from sklearn.utils._param_validation import validate_params

from skrank._data.checks import Integers
from skrank.datasets._files import name_of, opened
from skrank.datasets._letor_table import LARGEST_COLUMN, Form, Table
from skrank.datasets._rows_on_disk import RowsOnDisk


@validate_params(
    {
        "sparse": ["boolean"],
        "n_features": [Integers(1, LARGEST_COLUMN + 1), None],
        "zero_based": ["boolean"],
        "dtype": "no_validation",
        "to_memmap": "no_validation",
    },
    prefer_skip_nested_validation=True,
)
def load_letor(
    path,
    *,
    sparse=False,
    n_features=None,
    zero_based=False,
    dtype=float,
    to_memmap=None,
):
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

    Returns
    -------
    X : ndarray or scipy.sparse.csr_array of shape (n_rows, n_features)
        Features.
    y : ndarray of float64 of shape (n_rows,)
        Labels.
    groups : ndarray of shape (n_rows,)
        Queries: int64 if those of all files are 64-bit integers without leading
        zeros, else an object array of str. Rows keep the order of the file.

    A list of paths gives a list of such triples, all with the same number of
    columns.

    Raises
    ------
    ValueError
        If a line is malformed (the message names file, line and what it reads
        there), a number is not finite in ``dtype``, a file has no rows, is packed
        and broken or in a way that this Python cannot read, or a dense array above
        1 GB would be 99 % empty.
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
    """
    kind = np.dtype(dtype)
    if kind not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}.")
    several = isinstance(path, list | tuple)
    paths = list(path) if several else [path]
    if not paths:
        raise ValueError("path is an empty list; give at least one file.")
    targets = _targets(to_memmap, paths, several, sparse)
    first_id = 0 if zero_based else 1
    form = Form(first_id, first_id + (n_features or LARGEST_COLUMN + 1) - 1, kind)
    tables, triples = [], []
    with ExitStack() as files:
        for one, target in zip(paths, targets, strict=True):
            table = Table(name_of(one), form)
            tables.append(table)
            if target is not None:
                table.on_disk = files.enter_context(
                    RowsOnDisk(target, n_features or 0, kind)
                )
            with _memory_errors_name(table.name), opened(one) as file:
                table.read(file)
        width = n_features or max(table.largest_id for table in tables) - first_id + 1
        integers = all(table.has_integer_qids for table in tables)
        for table in tables:
            with _memory_errors_name(table.name):
                groups, y = table.groups(integers), table.labels()
                triples.append((table.features(width, sparse), y, groups))
    return triples if several else triples[0]


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
    """Add the file to the message where memory is too small for it."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(
            f"{name}: not enough memory to read this file "
            f"({str(error) or 'for a line or a block of lines'}). "
            "sparse=True, dtype=np.float32 and to_memmap= need less."
        ) from error
