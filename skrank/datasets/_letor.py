"""Read LETOR files: svmlight text in which every row names its query."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils._param_validation import validate_params

from skrank._data.checks import Integers
from skrank._kernels.reading import Fault, parse_lines, scatter

BLOCK = 2**20  # bytes of text in memory at a time; larger ones leave the cache
LARGEST_COLUMN = 2**31 - 2  # column numbers are 32-bit, and so is their count
# Dense arrays above this size must hold one number in a hundred from the file.
LARGE_ARRAY = 2**30
EMPTIEST = 0.01


@validate_params(
    {
        "sparse": ["boolean"],
        "n_features": [Integers(1, LARGEST_COLUMN + 1), None],
        "zero_based": ["boolean"],
        "dtype": "no_validation",
    },
    prefer_skip_nested_validation=True,
)
def load_letor(path, *, sparse=False, n_features=None, zero_based=False, dtype=float):
    r"""Load rows, labels and groups from LETOR files (svmlight text with ``qid``).

    One line is one row::

        <label> qid:<query> <feature>:<value> <feature>:<value> ... # <comment>

    Labels and values are decimal numbers, read to the same bits as Python's
    ``float``. A query is any text without blanks. Feature ids increase along the
    line; features left out are 0. Fields are separated by spaces or tabs. Blank
    lines and everything after ``#`` are skipped; lines may end with CR LF.

    Memory in use peaks at the arrays returned plus 12 bytes for each value that is
    not zero (for dense data twice ``X``, or less) plus about 10 MB.

    Parameters
    ----------
    path : str, path-like, binary file, or list of these
        Files to read. Those that begin as gzip does are decompressed; a binary
        file that is already open is read as it is, from where it stands.
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
        there), a number is not finite in ``dtype``, a file has no rows or is a
        broken gzip file, or a dense array above 1 GB would be 99 % empty.
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
    paths = path if several else [path]
    if not paths:
        raise ValueError("path is an empty list; give at least one file.")
    first_id = 0 if zero_based else 1
    last_id = first_id + (n_features or LARGEST_COLUMN + 1) - 1
    tables = [_read_table(one, first_id, last_id, kind) for one in paths]
    width = n_features or max(table.largest_id for table in tables) - first_id + 1
    integers = all(table.has_integer_qids for table in tables)
    triples = []
    for table in tables:
        groups = table.groups(integers)
        y = np.concatenate([part.labels for part in table.parts])
        X = table.csr(width, kind) if sparse else table.dense(width, kind)
        triples.append((X, y, groups))
    return triples if several else triples[0]


@dataclass(slots=True)
class _Part:
    """The rows of one block of text; as `parse_lines` gives them."""

    labels: NDArray[np.float64]
    row_ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float64]
    run_sizes: NDArray[np.int64]
    qids: Any  # int64 array or list of str, one a run


@dataclass(slots=True)
class _Table:
    """The rows of one file, block by block."""

    name: str
    first_id: int
    parts: list[_Part] = field(default_factory=list)
    n_rows: int = 0
    n_values: int = 0
    n_entries: int = 0
    largest_id: int = -1
    largest_line: int = 0

    @property
    def has_integer_qids(self) -> bool:
        return all(isinstance(part.qids, np.ndarray) for part in self.parts)

    def groups(self, integers: bool) -> NDArray:
        """Return the query of each row."""
        sizes = np.concatenate([part.run_sizes for part in self.parts])
        if integers:
            qids = np.concatenate([part.qids for part in self.parts])
        else:
            # Only integers written as str writes them are ever read as integers.
            qids = np.array(
                [str(qid) for part in self.parts for qid in part.qids], dtype=object
            )
        return np.repeat(qids, sizes)

    def take_parts(self) -> Iterator[_Part]:
        """Give the parts one by one and forget them, to use their memory again."""
        while self.parts:
            yield self.parts.pop(0)

    def dense(self, width: int, dtype: np.dtype) -> NDArray:
        """Return the rows as a dense array."""
        size = self.n_rows * width * dtype.itemsize
        if size > LARGE_ARRAY and self.n_entries < EMPTIEST * self.n_rows * width:
            raise ValueError(
                f"{self.name}: a dense array of {self.n_rows} rows and {width} columns "
                f"would take {size / 1e9:.3g} GB, but the file has only "
                f"{self.n_entries} values for it (its largest feature id, "
                f"{self.largest_id}, is on line {self.largest_line}). Use sparse=True."
            )
        X = np.zeros((self.n_rows, width), dtype=dtype)
        row = 0
        for part in self.take_parts():
            rows = X[row : row + len(part.labels)]
            scatter(part.values, part.columns, part.row_ends, rows)
            row += len(part.labels)
        return X

    def csr(self, width: int, dtype: np.dtype) -> csr_array:
        """Return the rows as a sparse array."""
        index = np.int32 if self.n_values < 2**31 else np.int64
        data = np.empty(self.n_values, dtype=dtype)
        indices = np.empty(self.n_values, dtype=index)
        indptr = np.zeros(self.n_rows + 1, dtype=index)
        row = start = 0
        for part in self.take_parts():
            stop, last = start + len(part.values), row + len(part.labels)
            data[start:stop] = part.values
            indices[start:stop] = part.columns
            indptr[row + 1 : last + 1] = part.row_ends + start
            row, start = last, stop
        return csr_array((data, indices, indptr), shape=(self.n_rows, width))


def _read_table(path: Any, first_id: int, last_id: int, dtype: np.dtype) -> _Table:
    """Read one file."""
    if hasattr(path, "read"):
        name = str(getattr(path, "name", path))
        return _read_file(path, name, first_id, last_id, dtype)
    name = os.fspath(path)
    with open(name, "rb") as raw:
        name = os.fsdecode(name)
        zipped = raw.peek(2)[:2] == b"\x1f\x8b"
        if not zipped:
            if name.endswith(".gz") and raw.peek(1):
                raise ValueError(f"{name}: not a gzip file, in spite of its name.")
            return _read_file(raw, name, first_id, last_id, dtype)
        with gzip.GzipFile(fileobj=raw) as file:
            try:
                return _read_file(file, name, first_id, last_id, dtype)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise ValueError(
                    f"{name}: the gzip file is cut short or damaged ({error})."
                ) from error


def _read_file(
    file: BinaryIO, name: str, first_id: int, last_id: int, dtype: np.dtype
) -> _Table:
    """Read one open file."""
    table = _Table(name, first_id, largest_id=first_id - 1)
    limit = float(np.finfo(dtype).max)
    line = 0
    for text in _blocks_of_lines(file, name):
        *arrays, runs, qids, counts, fault = parse_lines(text, first_id, last_id, limit)
        if fault is not None:
            kind, fault_line, start = fault
            problem = _explain(Fault(kind), text, start, first_id, last_id, dtype)
            raise ValueError(f"{name}, line {line + fault_line}: {problem}")
        if qids is None:
            qids = [
                text[start:stop].decode("utf-8", "surrogateescape")
                for start, stop in runs[:, 1:].tolist()
            ]
        part = _Part(*arrays, np.diff(runs[:, 0], append=len(arrays[0])), qids)
        n_lines, n_entries, largest_id, largest_line = counts
        if largest_id > table.largest_id:
            table.largest_id, table.largest_line = largest_id, line + largest_line
        line += n_lines
        table.n_rows += len(part.labels)
        table.n_values += len(part.values)
        table.n_entries += n_entries
        table.parts.append(part)
    if table.n_rows == 0:
        raise ValueError(f"{name}: the file has no rows.")
    return table


def _blocks_of_lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Give a file in blocks of whole lines, each line with its newline."""
    held: list[bytes] = []
    begun = False
    while block := file.read(BLOCK):
        if not isinstance(block, bytes):
            raise TypeError(
                f"{name}: reading gives {type(block).__name__}; open files as binary."
            )
        stop = block.rfind(b"\n") + 1
        if not stop:
            held.append(block)
            continue
        text = b"".join([*held, block[:stop]])
        yield text if begun else text.removeprefix(b"\xef\xbb\xbf")
        begun = True
        held = [block[stop:]]
    rest = b"".join(held)
    if rest:
        yield (rest if begun else rest.removeprefix(b"\xef\xbb\xbf")) + b"\n"


def _explain(
    fault: Fault, text: bytes, start: int, first_id: int, last_id: int, dtype: np.dtype
) -> str:
    """Say what is wrong at a place in the text."""
    token = re.match(rb"[^\s#]{0,41}", text[start : start + 41])[0]
    shown = repr(token[:40].decode("utf-8", "backslashreplace"))
    shown += "..." if len(token) > 40 else ""
    if not token:
        shown = "the end of the line"
    label_faults = {Fault.BAD_LABEL, Fault.INFINITE_LABEL}
    number = token if fault in label_faults else token.partition(b":")[2]
    match fault:
        case Fault.BAD_LABEL | Fault.BAD_VALUE if not _is_not_finite(number):
            part = "label" if fault == Fault.BAD_LABEL else "value of a feature"
            return f"the {part} must be a decimal number, got {shown}."
        case Fault.BAD_LABEL | Fault.INFINITE_LABEL:
            return f"the label must be finite, got {shown}."
        case Fault.BAD_VALUE | Fault.INFINITE_VALUE:
            return f"values must be finite in {dtype}, got {shown}."
        case Fault.NO_QID:
            return f"qid:<query> must follow the label, got {shown}."
        case Fault.EMPTY_QID:
            return "the qid is empty."
        case Fault.BAD_FEATURE:
            return (
                f"expected <feature>:<value> with a whole number as feature, got "
                f"{shown}."
            )
        case Fault.ID_TOO_SMALL:
            return (
                f"feature ids start at {first_id}, got {shown}. If this file counts "
                "from 0, use zero_based=True."
            )
        case Fault.ID_TOO_LARGE if last_id - first_id == LARGEST_COLUMN:
            return f"feature ids go up to {last_id}, got {shown}."
        case Fault.ID_TOO_LARGE:
            return (
                f"feature ids go up to {last_id} for n_features="
                f"{last_id - first_id + 1}, got {shown}."
            )
    return (
        "feature ids must increase along the line, each at most once; got "
        f"{shown} after the same or a larger id."
    )


def _is_not_finite(token: bytes) -> bool:
    """Tell a NaN or an infinity, which Python reads and this format does not."""
    try:
        return not np.isfinite(float(token))
    except ValueError:
        return False
