"""Write the rows of a table to a .npy file, block by block."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank._kernels.reading import scatter

ENTRIES_AT_ONCE = 2**20  # numbers of a dense block in memory
HEADER = 128  # bytes, enough for any shape


class RowsOnDisk:
    """A .npy file of rows that grows, in rows and, where it must, in columns.

    The file has a temporary name until it is whole, so that an error does not harm an
    older file of that name.

    Parameters
    ----------
    path : path-like
        Name of the finished file.
    width : int
        Number of columns to begin with.
    dtype : numpy.dtype
        Data type of the numbers.
    """

    def __init__(self, path: Any, width: int, dtype: np.dtype) -> None:
        self.path = os.fspath(path)
        self.unfinished = f"{self.path}.unfinished"
        self.width = width
        self.dtype = dtype
        self.n_rows = 0
        self.file = open(self.unfinished, "w+b")
        self.file.write(bytes(HEADER))

    def __enter__(self) -> RowsOnDisk:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.file.close()
        if os.path.exists(self.unfinished):  # an error was raised before finish
            os.remove(self.unfinished)

    def append(self, values: NDArray, columns: NDArray, row_ends: NDArray) -> None:
        """Write rows given by their stored values, as `parse_lines` returns them."""
        step = max(1, ENTRIES_AT_ONCE // max(1, self.width))
        for first in range(0, len(row_ends), step):
            ends = row_ends[first : first + step]
            start = row_ends[first - 1] if first else 0
            part = slice(start, ends[-1])
            rows = np.zeros((len(ends), self.width), self.dtype)
            scatter(values[part], columns[part], ends - start, rows)
            self.file.write(rows.data)
        self.n_rows += len(row_ends)

    def widen(self, width: int) -> None:
        """Give the rows written so far more columns, of zeros."""
        if width <= self.width:
            return
        narrow, self.width = self.width, width
        step = max(1, ENTRIES_AT_ONCE // width)
        # Move the last row first, since rows move towards the end over later ones.
        for stop in range(self.n_rows, 0, -step):
            start = max(0, stop - step)
            rows = np.zeros((stop - start, width), self.dtype)
            self.file.seek(HEADER + start * narrow * self.dtype.itemsize)
            old = self.file.read((stop - start) * narrow * self.dtype.itemsize)
            rows[:, :narrow] = np.frombuffer(old, self.dtype).reshape(
                stop - start, narrow
            )
            self.file.seek(HEADER + start * width * self.dtype.itemsize)
            self.file.write(rows.data)
        self.file.seek(0, os.SEEK_END)

    def finish(self) -> NDArray:
        """Write the header, give the file its name and return it as a memory map."""
        shape = (self.n_rows, self.width)
        kind = np.lib.format.dtype_to_descr(self.dtype)
        header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}"
        start = np.lib.format.magic(1, 0) + (HEADER - 10).to_bytes(2, "little")
        self.file.seek(0)
        self.file.write(start + header.ljust(HEADER - 11).encode("latin1") + b"\n")
        self.file.close()
        os.replace(self.unfinished, self.path)
        # No operating system maps an empty file.
        return np.load(self.path, mmap_mode="r" if self.width else None)
