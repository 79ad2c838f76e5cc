"""Compare the rankers of the package from a shell, on built-in data or files."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

import skrank
from skrank import linear_model
from skrank._cli.data import built_in, from_files
from skrank._cli.options import Parser, options, refuse_contradictions
from skrank._cli.paper import TITLE, feature_sets, paper_rankers, protocol, run_paper
from skrank._cli.paper_tables import print_names, print_paper
from skrank._cli.rankers import compared, made, shown
from skrank._cli.tables import (
    WIDTH,
    describe,
    note,
    print_intervals,
    print_kept,
    print_notes,
    print_table,
    say,
)
from skrank._cli.yardsticks import POINTWISE, yardsticks
from skrank.metrics._registry import named_scorer
from skrank.model_selection._comparison import Fold, compare
from skrank.model_selection._named_metrics import Metric, list_metric
from skrank.preprocessing import SecondOrderFeatures

COLUMNS = ("err", "ndcg@1", "ndcg@5", "ndcg@10")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments; None takes those of the process.

    Returns
    -------
    status : int
        0 after a table, 1 if it cannot be written, 130 if stopped by Ctrl-C, 141 if
        nobody reads the output.

    Raises
    ------
    SystemExit
        After ``--help`` and ``--version``, and with status 2 for wrong options and
        files that cannot be read.
    """
    # Python has no stream where the shell closed it.
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")
    if sys.stdout is None:
        print("skrank: error: cannot write: output is closed", file=sys.stderr)
        return 1
    try:
        try:
            _run(options(), argv)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("\nskrank: stopped", file=sys.stderr)
        return 130
    except OSError as error:
        # What is still in the buffer goes nowhere, so that exit says nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        print(f"skrank: error: cannot write: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _run(parser: Parser, argv: Sequence[str] | None) -> None:
    args = parser.parse_args(argv)
    refuse_contradictions(parser, args)
    folds, lines = from_files(args, parser.error) if args.train else built_in(args)
    labels = [data.y for data in (folds[0].train, folds[0].test)]
    lowest = min(y.min() for y in labels)
    highest = max(y.max() for y in labels)
    max_grade = highest if args.max_grade is None else args.max_grade
    source = "the largest label" if args.max_grade is None else "--max-grade"
    lines["Labels"] = f"{lowest:g} to {highest:g}"
    if max_grade > 0:
        lines["Labels"] += f"; ERR: highest grade {max_grade:g} ({source})"
    if args.empty_as_zero:
        lines["Labels"] += "; NDCG: lists without a relevant row are 0"
    lines["Features"] = _features(args)

    columns = list(COLUMNS)
    if args.metric not in columns:
        columns.append(args.metric)
    metrics = {name: _metric(name, max_grade, args.empty_as_zero) for name in columns}
    if args.second_order is not None and min(map(_n_training_rows, folds)) < 2:
        parser.error("--second-order needs at least two rows to learn from")
    with warnings.catch_warnings():
        # That nothing is kept stands below the table.
        warnings.filterwarnings("ignore", message=".*no product of features is correl")
        run = _run_experiment if args.paper else _run_comparison
        try:
            run(args, folds, lines, metrics)
        except MemoryError:
            if args.second_order is None:
                raise
            parser.error("the products do not fit into memory; raise --second-order")
    if not args.train:
        say("")
        note("Your own data: skrank TRAIN --test FILE; see skrank --help.")


def _features(args: argparse.Namespace) -> str:
    """Say what is done with features."""
    text = "divided by their standard deviation in training"
    if not args.sparse:
        text = "mean 0 and standard deviation 1 in training"
    if args.no_standardize:
        text = "as they are"
    if args.second_order is None:
        return text
    if args.paper:
        text += (
            '; also with products of two centred ("+ centred") or raw ("+ raw") ones'
        )
    else:
        text += "; with products of two centred ones"
    return text + (
        " whose absolute correlation with the label in training is above "
        f"{args.second_order:g}"
    )


def _n_training_rows(fold: Fold) -> int:
    return len(fold.train.y if fold.train_rows is None else fold.train_rows)


def _n_training_lists(fold: Fold) -> int:
    rows = slice(None) if fold.train_rows is None else fold.train_rows
    return len(np.unique(fold.train.groups[rows]))


def _begin(args: argparse.Namespace, title: str, lines: dict[str, str]) -> None:
    """Print what is about to be done."""
    lines["Fits"] += f"; budget: {args.budget:g} s a row (--budget)"
    say(f"skrank {skrank.__version__}: {title}\n")
    describe(lines)
    sys.stdout.flush()


def _run_comparison(
    args: argparse.Namespace,
    folds: list[Fold],
    lines: dict[str, str],
    metrics: dict[str, Metric],
) -> None:
    """Compare every linear ranker of the package, and print one table."""
    n_lists = min(map(_n_training_lists, folds))
    rankers = _rankers(args.alpha, args.n_jobs, args.seed)
    rankers |= yardsticks(args.sparse, n_lists, args.n_jobs, args.seed)
    transformer = StandardScaler(copy=False, with_mean=not args.sparse)
    if args.no_standardize:
        transformer = None
    if args.second_order is not None:
        transformer = SecondOrderFeatures(
            args.second_order, standardize=not args.no_standardize
        )
    alpha = "the default of each" if args.alpha is None else f"{args.alpha:g}"
    lines["Fits"] = f"alpha: {alpha}"
    _begin(args, "which ranker does best on lists not seen?", lines)
    progress = _Progress(len(rankers), len(folds), args.quiet)
    learned: list[Any] = []
    try:
        comparison = compare(
            rankers,
            folds,
            metrics,
            transformer=transformer,
            learned=learned.append,
            budget=args.budget,
            progress=progress,
            random_state=args.seed,
        )
    finally:
        progress.end()
    columns = list(metrics)
    say("")
    print_table(comparison, columns, args.metric, len(folds))
    if args.second_order is not None:
        print_kept("", learned)
    print_notes(comparison, columns)
    if args.intervals:
        comparison = replace(comparison, reference=POINTWISE, random_state=args.seed)
        print_intervals(comparison, args.metric)


def _run_experiment(
    args: argparse.Namespace,
    folds: list[Fold],
    lines: dict[str, str],
    metrics: dict[str, Metric],
) -> None:
    """Run the paper's experiment, and print its tables."""
    rankers = paper_rankers(args.alpha, args.n_jobs, args.seed)
    sets = feature_sets(args.second_order, with_mean=not args.sparse)
    lines["Fits"] = protocol(rankers)
    _begin(args, TITLE, lines)
    print_names()
    sys.stdout.flush()
    progress = _Progress(len(rankers), len(folds), args.quiet)
    try:
        found, learned = run_paper(
            rankers,
            sets,
            folds,
            metrics,
            progress,
            budget=args.budget,
            random_state=args.seed,
        )
    finally:
        progress.end()
    found = {k: replace(one, random_state=args.seed) for k, one in found.items()}
    print_paper(found, learned, list(metrics), args.metric)


def _rankers(alpha: float | None, n_jobs: int, seed: int) -> dict[str, Any]:
    """Return the package's rankers in the settings to compare."""
    rankers: dict[str, Any] = {}
    common: dict[str, Any] = {"n_jobs": n_jobs, "random_state": seed}
    if alpha is not None:
        common["alpha"] = alpha
    for name in linear_model.__all__:
        ranker = getattr(linear_model, name)
        for settings in compared(name, ranker):
            rankers[shown(name, settings)] = made(ranker, settings, **common)
    return rankers


def _metric(name: str, max_grade: float, empty_as_zero: bool) -> Metric:
    """Return the function that gives one value of the measure per list."""
    base = name.partition("@")[0]
    if base == "err" and max_grade <= 0:
        return _no_grades
    options: dict[str, Any] = {"max_grade": max_grade} if base == "err" else {}
    if base == "ndcg" and empty_as_zero:
        options["empty"] = 0.0
    return list_metric(named_scorer(name, **options))


def _no_grades(y: Any, scores: Any, groups: Any) -> Any:
    """Say why ERR does not apply."""
    raise ValueError("all labels are 0" if np.max(y) == 0 else "no label is above 0")


class _Progress:
    """Lines on standard error, one that changes where it is a terminal."""

    def __init__(self, n_rankers: int, n_folds: int, quiet: bool):
        self.total = n_rankers
        self.n_folds = n_folds
        self.quiet = quiet
        self.terminal = sys.stderr.isatty()
        self.fold = -1
        self.done = 0

    def __call__(self, fold: int, name: str) -> None:
        """Show which fit begins."""
        if fold != self.fold or self.done == self.total:
            self.fold, self.done = fold, 0
        self.done += 1
        where = f" of fold {fold + 1}/{self.n_folds}" if self.n_folds > 1 else ""
        self._write(f"fitting {self.done}/{self.total}{where}: {name}")

    def end(self) -> None:
        """Wipe the line."""
        if self.terminal:
            self._write("", end="\r")

    def _write(self, text: str, end: str | None = None) -> None:
        if self.quiet:
            return
        if self.terminal:
            text = "\r" + text[: WIDTH - 1].ljust(WIDTH - 1)
            end = end or ""
        print(text, end="\n" if end is None else end, file=sys.stderr, flush=True)
