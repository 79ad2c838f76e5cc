"""The rows of one LETOR file, read block by block, and errors of malformed lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skrank._kernels.reading import Fault, parse_lines, scatter
from skrank.datasets._files import blocks_of_lines, packing_of
from skrank.datasets._letor_comments import document_ids
from skrank.datasets._rows_on_disk import RowsOnDisk

LARGEST_COLUMN = 2**31 - 2  # column numbers are 32-bit, and so is their count
# Dense arrays above this size must hold one number in a hundred from the file.
LARGE_ARRAY = 2**30
EMPTIEST = 0.01


class Form(NamedTuple):
    """Feature ids allowed in a file, and the type that must hold its values."""

    first_id: int
    last_id: int
    dtype: np.dtype

    @property
    def largest_value(self) -> float:
        """Largest magnitude that is rounded to a finite number of the type."""
        largest = np.finfo(self.dtype).max
        if self.dtype == np.float64:
            return float(largest)
        # From half way to the next power of two, a number is rounded to infinity.
        half_step = (
            float(largest) - float(np.nextafter(largest, self.dtype.type(0)))
        ) / 2
        return float(np.nextafter(float(largest) + half_step, 0.0))


@dataclass(slots=True)
class Part:
    """The rows of one block of text, as `parse_lines` returns them."""

    labels: NDArray[np.float64]
    row_ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float64]
    run_sizes: NDArray[np.int64]
    qids: Any  # int64 array or list of str, one a run


@dataclass(slots=True)
class Table:
    """The rows of one file, block by block.

    Values of rows that are written to ``on_disk`` are not kept. Documents are read
    from the comments only where ``docids`` is a list.
    """

    name: str
    form: Form
    on_disk: RowsOnDisk | None = None
    docids: list[str | None] | None = None
    parts: list[Part] = field(default_factory=list)
    n_rows: int = 0
    n_values: int = 0
    n_entries: int = 0
    largest_id: int = field(init=False)
    largest_line: int = 0

    def __post_init__(self) -> None:
        self.largest_id = self.form.first_id - 1

    def read(self, file: BinaryIO) -> None:
        """Read the rows of an open file."""
        line = 0
        first_id, last_id, _ = self.form
        limit = self.form.largest_value
        for text, is_whole in blocks_of_lines(file, self.name):
            end = b"" if is_whole else b"\n"
            labels, row_ends, columns, values, runs, qids, counts, fault = parse_lines(
                text + end, first_id, last_id, limit
            )
            if fault is not None and (is_whole or _is_sure(text, fault[2])):
                kind, fault_line, start = fault
                problem = _explain(Fault(kind), text, start, self.form)
                raise ValueError(f"{self.name}, line {line + fault_line}: {problem}")
            if not is_whole:
                continue
            if qids is None:
                qids = [
                    text[start:stop].decode("utf-8", "surrogateescape")
                    for start, stop in runs[:, 1:].tolist()
                ]
            run_sizes = np.diff(runs[:, 0], append=len(labels))
            part = Part(labels, row_ends, columns, values, run_sizes, qids)
            n_lines, n_entries, largest_id, largest_line = counts
            if largest_id > self.largest_id:
                self.largest_id, self.largest_line = largest_id, line + largest_line
            line += n_lines
            self.n_entries += n_entries
            self._take(part)
            if self.docids is not None:
                self.docids += document_ids(text)
        if self.n_rows == 0:
            raise ValueError(f"{self.name}: the file has no rows.")

    def _take(self, part: Part) -> None:
        """Keep the rows of a block, or write them and keep labels and queries."""
        self.n_rows += len(part.labels)
        self.n_values += len(part.values)
        if self.on_disk is not None:
            width = max(self.on_disk.width, self.largest_id - self.form.first_id + 1)
            self._refuse_zeros(width)
            self.on_disk.widen(width)
            self.on_disk.append(part.values, part.columns, part.row_ends)
            part.values, part.columns = part.values[:0].copy(), part.columns[:0].copy()
            part.row_ends = part.row_ends[:0].copy()
        self.parts.append(part)

    @property
    def has_integer_qids(self) -> bool:
        return all(isinstance(part.qids, np.ndarray) for part in self.parts)

    def groups(self, integers: bool) -> NDArray:
        """Return the query of each row."""
        sizes = np.concatenate([part.run_sizes for part in self.parts])
        if integers:
            qids = np.concatenate([part.qids for part in self.parts])
        else:
            # Integers were read as such only if `str` writes them the same way.
            qids = np.array(
                [str(qid) for part in self.parts for qid in part.qids], dtype=object
            )
        return np.repeat(qids, sizes)

    def take_parts(self) -> Iterator[Part]:
        """Yield the parts one by one, and forget each to free its memory."""
        while self.parts:
            yield self.parts.pop(0)

    def labels(self) -> NDArray:
        """Return the label of each row."""
        return np.concatenate([part.labels for part in self.parts])

    def features(self, width: int, sparse: bool) -> NDArray | csr_array:
        """Return the rows as an array of some columns, and forget them."""
        if sparse:
            return self._csr(width)
        self._refuse_zeros(width)
        if self.on_disk is None:
            return self._dense(width)
        self.on_disk.widen(width)
        return self.on_disk.finish()

    def _refuse_zeros(self, width: int) -> None:
        """Raise ValueError for a large dense array with hardly a number in it."""
        size = self.n_rows * width * self.form.dtype.itemsize
        if size > LARGE_ARRAY and self.n_entries < EMPTIEST * self.n_rows * width:
            raise ValueError(
                f"{self.name}: a dense array of {self.n_rows} rows and {width} columns "
                f"would take {size / 1e9:.3g} GB, but the file has only "
                f"{self.n_entries} values for it (its largest feature id, "
                f"{self.largest_id}, is on line {self.largest_line}). Use sparse=True."
            )

    def _dense(self, width: int) -> NDArray:
        X = np.zeros((self.n_rows, width), dtype=self.form.dtype)
        row = 0
        for part in self.take_parts():
            rows = X[row : row + len(part.labels)]
            scatter(part.values, part.columns, part.row_ends, rows)
            row += len(part.labels)
        return X

    def _csr(self, width: int) -> csr_array:
        index = np.int32 if self.n_values < 2**31 else np.int64
        data = np.empty(self.n_values, dtype=self.form.dtype)
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


def _is_sure(start_of_line: bytes, place: int) -> bool:
    """Return whether a fault in an unfinished line is certain.

    It is not in the last field, which may continue, nor at the start of the line, where
    the query may still follow.
    """
    return place < max(start_of_line.rfind(b" "), start_of_line.rfind(b"\t"), 1)


def _explain(fault: Fault, text: bytes, start: int, form: Form) -> str:
    """Return the message for a fault at a place in the text."""
    packing = packing_of(text)
    if packing is not None and start == 0:
        return (
            f"the data are packed by {packing.name}. Give the path, or what "
            f"{packing.module}.open returns."
        )
    first_id, last_id, dtype = form
    matched = re.match(rb"[^\s#]{0,41}", text[start : start + 41])
    token = matched[0] if matched else b""
    quoted = repr(token[:40].decode("utf-8", "backslashreplace"))
    quoted += "..." if len(token) > 40 else ""
    if not token:
        quoted = "the end of the line"
    label_faults = {Fault.BAD_LABEL, Fault.INFINITE_LABEL}
    number = token if fault in label_faults else token.partition(b":")[2]
    match fault:
        case Fault.BAD_LABEL | Fault.BAD_VALUE if not _is_not_finite(number):
            part = "label" if fault == Fault.BAD_LABEL else "value of a feature"
            return f"the {part} must be a decimal number, got {quoted}."
        case Fault.BAD_LABEL | Fault.INFINITE_LABEL:
            return f"the label must be finite, got {quoted}."
        case Fault.BAD_VALUE | Fault.INFINITE_VALUE:
            return f"values must be finite in {dtype}, got {quoted}."
        case Fault.NO_QID:
            return f"qid:<query> must follow the label, got {quoted}."
        case Fault.EMPTY_QID:
            return "the qid is empty."
        case Fault.BAD_FEATURE:
            return (
                f"expected <feature>:<value> with a whole number as feature, got "
                f"{quoted}."
            )
        case Fault.ID_TOO_SMALL:
            return (
                f"feature ids start at {first_id}, got {quoted}. If this file counts "
                "from 0, use zero_based=True."
            )
        case Fault.ID_TOO_LARGE if last_id - first_id == LARGEST_COLUMN:
            return f"feature ids go up to {last_id}, got {quoted}."
        case Fault.ID_TOO_LARGE:
            return (
                f"feature ids go up to {last_id} for n_features="
                f"{last_id - first_id + 1}, got {quoted}."
            )
    return (
        "feature ids must increase along the line, each at most once; got "
        f"{quoted} after the same or a larger id."
    )


def _is_not_finite(token: bytes) -> bool:
    """Return whether a token is NaN or infinity, which this format does not allow."""
    try:
        return not np.isfinite(float(token))
    except ValueError:
        return False
