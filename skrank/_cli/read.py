"""Read files of rows: LETOR text, CSV and parquet."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from skrank._data.checks import LARGEST_SQUARED
from skrank.datasets import load_letor

TABLES = {".csv": ",", ".tsv": "\t", ".parquet": None}
PACKED = {".gz", ".bz2", ".xz", ".zst"}
FORMATS = """\
Files are LETOR text (svmlight with qid), one row a line,

  <label> qid:<query> <feature>:<value> <feature>:<value> ...

or tables by their names (.csv, .tsv, .parquet), of which --group, --label and --doc
name columns, and all others are features. Text may be packed (.gz, .bz2, .xz)."""


class Rows(NamedTuple):
    """Features, labels, groups and ids of the rows of a file, and names of features."""

    X: Any
    y: Any
    groups: Any
    doc_ids: Any
    names: list[str] | None


def add_columns(group: Any) -> None:
    """Add the options that name the columns of tables."""
    group.add_argument(
        "--group",
        metavar="COLUMN",
        default="group",
        help="column of tables that says which rows form a list (default: %(default)s)",
    )
    group.add_argument(
        "--label",
        metavar="COLUMN",
        default="label",
        help="column of tables with the label, larger is better (default: %(default)s)",
    )
    group.add_argument(
        "--doc",
        metavar="COLUMN",
        help="column of tables with the id of a row, which is no feature",
    )


def read_files(
    paths: Sequence[str],
    args: argparse.Namespace,
    error: Callable[[str], NoReturn],
    labels: bool = True,
) -> list[Rows]:
    """Return the rows of each file, with the same features.

    Parameters
    ----------
    paths : sequence of str
        Names of files.
    args : Namespace
        With ``sparse``, ``group``, ``label`` and ``doc``.
    error : callable
        Ends the command with a message.
    labels : bool, default=True
        Whether tables must have labels.
    """
    kinds = [_suffix(path) in TABLES for path in paths]
    if any(kinds) and not all(kinds):
        error("LETOR files and tables cannot be read together")
    try:
        if kinds[0]:
            parts = [_table(path, args, labels) for path in paths]
            _refuse_other_columns(paths, parts)
        else:
            loaded = load_letor(list(paths), sparse=args.sparse)
            parts = [
                Rows(X, y, groups, _line_numbers(len(y)), None)
                for X, y, groups in loaded
            ]
    except ImportError as problem:
        error(str(problem))
    except OSError as problem:
        name = problem.filename or " or ".join(paths)
        error(f"cannot read {name}: {problem.strerror or problem}")
    except ValueError as problem:
        error(str(problem))
    except MemoryError:
        error(f"{' and '.join(paths)}: memory does not suffice; try --sparse")
    if parts[0].X.shape[1] == 0:
        error(f"{' and '.join(paths)}: no row has a feature")
    for path, part in zip(paths, parts, strict=True):
        _refuse_huge(path, part.X, error)
    return parts


def _suffix(path: str) -> str:
    """Return the ending of a file's name that shows its format."""
    name = PurePath(path)
    return PurePath(name.stem).suffix if name.suffix in PACKED else name.suffix


def _line_numbers(n_rows: int) -> np.ndarray:
    """Return ids for rows that have none: the number of the row, from 1."""
    return np.arange(1, n_rows + 1).astype(str)


def _table(path: str, args: argparse.Namespace, labels: bool) -> Rows:
    """Read a CSV or parquet file."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            f"{path}: tables need pandas (pip install pandas pyarrow)"
        ) from None
    suffix = _suffix(path)
    if suffix == ".parquet":
        frame = pd.read_parquet(path)
    else:
        frame = pd.read_csv(path, sep=TABLES[suffix])
    named = {"--group": args.group}
    if labels or args.label in frame.columns:
        named["--label"] = args.label
    if args.doc is not None:
        named["--doc"] = args.doc
    for option, column in named.items():
        if column not in frame.columns:
            raise ValueError(
                f"{path} has no column {column!r}, which {option} names; it has "
                f"{', '.join(map(str, frame.columns[:20]))}"
            )
    if len(frame) == 0:
        raise ValueError(f"{path} has no rows; give a table with at least one")
    features = frame.drop(columns=list(named.values()))
    for column in features.columns:
        if features[column].dtype.kind not in "biuf":
            raise ValueError(
                f"{path}: column {column!r} holds no numbers; leave it out, or name it "
                "by --doc if it identifies rows"
            )
    X = features.to_numpy(dtype=np.float64)
    if not np.isfinite(X).all():
        column = features.columns[np.argmin(np.isfinite(X).all(axis=0))]
        raise ValueError(
            f"{path}: column {column!r} has values that are missing or infinite; fill "
            "them in, or drop these rows"
        )
    y = np.zeros(len(frame))
    if "--label" in named:
        y = frame[args.label].to_numpy(dtype=np.float64)
        if not np.isfinite(y).all():
            raise ValueError(
                f"{path}: column {args.label!r} has rows without a label; drop them"
            )
    if frame[args.group].isna().any():
        raise ValueError(
            f"{path}: column {args.group!r} has rows without a group; drop them"
        )
    doc_ids = _line_numbers(len(frame))
    if args.doc is not None:
        doc_ids = frame[args.doc].astype(str).to_numpy()
    return Rows(
        sparse.csr_matrix(X) if args.sparse else X,
        y,
        frame[args.group].to_numpy(),
        doc_ids,
        [str(name) for name in features.columns],
    )


def _refuse_other_columns(paths: Sequence[str], parts: Sequence[Rows]) -> None:
    for path, part in zip(paths, parts, strict=True):
        if part.names != parts[0].names:
            raise ValueError(
                f"{path} has other columns, or in another order, than {paths[0]}"
            )


def _refuse_huge(path: str, X: Any, error: Callable[[str], NoReturn]) -> None:
    """End the command if sums of squared features would overflow."""
    low, high = _dense(X.min(axis=0)), _dense(X.max(axis=0))
    largest = np.maximum(np.abs(low), np.abs(high))
    column = int(np.argmax(largest))
    if largest[column] > LARGEST_SQUARED:
        error(
            f"{path}: feature {column + 1} reaches {largest[column]:g}: beyond "
            f"{LARGEST_SQUARED:g} sums of squares overflow; divide it by a number"
        )


def _dense(row: Any) -> np.ndarray:
    return row.toarray().ravel() if sparse.issparse(row) else row
