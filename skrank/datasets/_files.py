"""Open text files, packed or not, and give them in blocks of whole lines."""

from __future__ import annotations

import importlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

BLOCK = 2**20  # bytes of text in memory at a time; larger ones leave the cache
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Packing(NamedTuple):
    """How one compressed format is known and opened."""

    name: str
    magic: bytes  # first bytes of each file of the format
    module: str  # module with open(); some builds of Python lack it
    advice: str


PACKINGS = {
    ".gz": Packing("gzip", b"\x1f\x8b", "gzip", "gunzip"),
    ".bz2": Packing("bzip2", b"BZh", "bz2", "bunzip2"),
    ".xz": Packing("xz", b"\xfd7zXZ\0", "lzma", "unxz"),
    ".zst": Packing("zstd", b"\x28\xb5\x2f\xfd", "compression.zstd", "unzstd"),
}


def packing_of(start: bytes) -> Packing | None:
    """Return the packing whose files begin with these bytes, or None."""
    for packing in PACKINGS.values():
        if start.startswith(packing.magic):
            return packing
    return None


def name_of(path: Any) -> str:
    """Return the name of a file for messages."""
    if hasattr(path, "read"):
        return str(getattr(path, "name", path))
    return os.fsdecode(os.fspath(path))


@contextmanager
def opened(path: Any) -> Iterator[BinaryIO]:
    """Open a path, unpacked by its content; an open file is passed on as it is.

    Raises
    ------
    ValueError
        If a file is not what its name says, is packed in a way that this interpreter
        cannot read, or is cut short or damaged.
    """
    if hasattr(path, "read"):
        yield path
        return
    name = name_of(path)
    with open(os.fspath(path), "rb") as raw:
        packing = packing_of(raw.peek(8)[:8])
        if packing is None:
            suffix = os.path.splitext(name)[1]
            if suffix in PACKINGS and raw.peek(1):
                raise ValueError(
                    f"{name}: not a {PACKINGS[suffix].name} file, in spite of its name."
                )
            yield raw
            return
        try:
            module = importlib.import_module(packing.module)
        except ImportError as error:
            raise ValueError(
                f"{name}: this Python cannot read {packing.name} files, since it has "
                f"no module {packing.module}. Unpack the file first: "
                f"{packing.advice} {name}"
            ) from error
        errors: tuple[type[Exception], ...]
        errors = (EOFError, zlib.error, OSError, *_own_errors(module))
        try:
            with module.open(raw) as file:
                yield file
        except errors as error:
            if getattr(error, "errno", None) is not None:
                raise  # an error of the disk, not of the content
            raise ValueError(
                f"{name}: the {packing.name} file is cut short or damaged ({error})."
            ) from error


def _own_errors(module: Any) -> tuple[type[Exception], ...]:
    """Return the exceptions of a module for damaged files; gzip and bz2 have none."""
    names = ("LZMAError", "ZstdError")
    return tuple(getattr(module, name) for name in names if hasattr(module, name))


def blocks_of_lines(file: BinaryIO, name: str) -> Iterator[tuple[bytes, bool]]:
    """Yield a file in blocks of whole lines, each line with its newline.

    Also yields the start of a line longer than a block, marked by False, before the
    rest is read, so that a file that is not text can be refused at once.
    """
    pieces: list[bytes] = []
    any_text = start_was_yielded = False
    while block := file.read(BLOCK):
        if not isinstance(block, bytes):
            raise TypeError(
                f"{name}: reading gives {type(block).__name__}; open files as binary."
            )
        stop = block.rfind(b"\n") + 1
        if not stop:
            pieces.append(block)
            if not start_was_yielded:
                start = b"".join(pieces)
                yield (
                    (start if any_text else start.removeprefix(BYTE_ORDER_MARK)),
                    False,
                )
                start_was_yielded = True
            continue
        text = b"".join([*pieces, block[:stop]])
        yield (text if any_text else text.removeprefix(BYTE_ORDER_MARK)), True
        any_text, start_was_yielded = True, False
        pieces = [block[stop:]]
    last_line = b"".join(pieces)
    if last_line:
        yield (
            (last_line if any_text else last_line.removeprefix(BYTE_ORDER_MARK))
            + b"\n",
            True,
        )
