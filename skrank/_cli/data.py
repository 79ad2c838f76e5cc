"""Data of the comparison: built-in data or files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

import numpy as np
from scipy import sparse

from skrank._cli.read import read_files
from skrank.datasets import make_ranking
from skrank.model_selection import QueryKFold, QueryShuffleSplit
from skrank.model_selection._comparison import Fold, Ranked, cut_folds

N_LISTS = 2000
LIST_SIZE = (5, 40)
N_FEATURES = 40
N_INFORMATIVE = 20
LIST_EFFECT = 1.0
FILES = "files"  # instead of a number of folds: each file in turn is the test part


def built_in(
    args: argparse.Namespace, error: Callable[[str], NoReturn]
) -> tuple[list[Fold], dict[str, str]]:
    """Draw data, and return them as one fold, with a description."""
    n_lists = args.lists or N_LISTS
    try:
        drawn = make_ranking(
            n_lists,
            list_size=LIST_SIZE,
            n_features=N_FEATURES,
            n_informative=N_INFORMATIVE,
            list_effect=LIST_EFFECT,
            random_state=args.seed,
        )
        splitter = QueryShuffleSplit(1, test_size=0.5, random_state=args.seed)
        (fold,) = cut_folds(Ranked(*drawn), splitter)
        fold = Fold(*fold.parts())
    except MemoryError:
        error(f"--lists {n_lists}: memory does not suffice for so many")
    return [fold], {
        "Data": "built in, drawn by skrank.datasets.make_ranking: "
        f"{N_INFORMATIVE} of {N_FEATURES} features matter, and lists differ in the "
        "mean of their features, as queries do",
        "Training": _size(fold.train),
        "Test": _size(fold.test),
    }


def from_files(
    args: argparse.Namespace, error: Callable[[str], NoReturn]
) -> tuple[list[Fold], dict[str, str]]:
    """Read files, and return folds with a description; ``error`` ends the command."""
    paths = args.train if args.test is None else [*args.train, args.test]
    parts = [
        Ranked(part.X, part.y, part.groups) for part in read_files(paths, args, error)
    ]
    test = None if args.test is None else parts.pop()
    data = _joined(parts)
    names = " + ".join(args.train)
    if test is not None:
        n_known = len(np.intersect1d(data.groups, test.groups))
        return [Fold(data, test)], {
            "Training": f"{names}: {_size(data)}{_remark(parts)}",
            "Test": f"{args.test}: {_size(test)}{_known(n_known, 'TRAIN')}",
        }
    lines = {"Data": f"{names}: {_size(data)}{_remark(parts)}"}
    if args.cv == FILES:
        of_file = np.repeat(np.arange(len(parts)), [len(part.y) for part in parts])
        lines["Test"] = (
            f"{len(parts)} folds: each file is ranked by what was learned from the "
            "others"
        )
        return [
            Fold(data, data, np.flatnonzero(of_file != i), np.flatnonzero(of_file == i))
            for i in range(len(parts))
        ], lines
    n_folds = args.cv or 5
    splitter = QueryKFold(n_folds, shuffle=True, random_state=args.seed)
    try:
        folds = cut_folds(data, splitter)
    except ValueError:
        n_lists = _counted(len(np.unique(data.groups)), "list")
        error(
            f"{names} has {n_lists}, too few for {n_folds} folds; give --cv or --test"
        )
    by_default = (
        "" if args.cv else " by default, since neither --test nor --cv is given"
    )
    lines["Test"] = (
        f"{n_folds} folds of whole lists{by_default}: each list is ranked by what was "
        "learned from the other folds"
    )
    return folds, lines


def _joined(parts: list[Ranked]) -> Ranked:
    """Return the rows of several files one after the other."""
    if len(parts) == 1:
        return parts[0]
    X, y, groups = zip(*parts, strict=True)
    if sparse.issparse(X[0]):
        rows = sparse.vstack(X, format="csr")
    else:
        rows = np.concatenate(X)
    return Ranked(rows, np.concatenate(y), np.concatenate(groups))


def _remark(parts: list[Ranked]) -> str:
    """Return a text on lists with rows in more than one file."""
    ids = np.concatenate([np.unique(part.groups) for part in parts])
    n_shared = int(np.count_nonzero(np.unique(ids, return_counts=True)[1] > 1))
    return _known(n_shared, "several files")


def _size(data: Ranked) -> str:
    n_rows, n_features = data.X.shape
    n_lists = len(np.unique(data.groups))
    counts = ((n_lists, "list"), (n_rows, "row"), (n_features, "feature"))
    return ", ".join(_counted(n, what) for n, what in counts)


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"


def _known(n: int, where: str) -> str:
    """Return a text on lists that are also elsewhere; empty if there are none."""
    return f"; {n:,} of these lists have ids that are in {where}" if n else ""
