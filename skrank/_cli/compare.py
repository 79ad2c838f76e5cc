"""Compare the rankers of the package, on built-in data or files."""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

import skrank
from skrank import linear_model
from skrank._cli.arguments import Parser
from skrank._cli.as_json import comparison_as_json, print_json
from skrank._cli.data import built_in, from_files
from skrank._cli.measures import measure_of
from skrank._cli.options import options, refuse_contradictions
from skrank._cli.progress import Progress
from skrank._cli.rankers import compared, made, shown
from skrank._cli.tables import (
    describe,
    note,
    print_intervals,
    print_kept,
    print_notes,
    print_table,
    say,
)
from skrank._cli.yardsticks import PIPELINE, reference_of, yardsticks
from skrank.model_selection import RankerComparison
from skrank.model_selection._comparison import Fold, compare
from skrank.model_selection._named_metrics import Metric
from skrank.preprocessing import SecondOrderFeatures

COLUMNS = ("err", "ndcg@1", "ndcg@5", "ndcg@10")


def parser() -> Parser:
    """Return the parser of the comparison's options."""
    return options()


def run(parser: Parser, args: argparse.Namespace) -> None:
    """Compare the rankers, and print tables or JSON."""
    refuse_contradictions(parser, args)
    read = from_files if args.train else built_in
    folds, lines = read(args, parser.error)
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
    metrics = {
        name: measure_of(name, max_grade, args.empty_as_zero) for name in columns
    }
    if args.second_order is not None and min(map(_n_training_rows, folds)) < 2:
        parser.error("--second-order needs at least two rows to learn from")
    alpha = "the default of each" if args.alpha is None else f"{args.alpha:g}"
    lines["Fits"] = f"alpha: {alpha}; budget: {args.budget:g} s a row (--budget)"
    if not args.json:
        say(f"skrank {skrank.__version__}: which ranker does best on lists not seen?\n")
        describe(lines)
        sys.stdout.flush()
    with warnings.catch_warnings():
        # A note below the table says that nothing is kept, so ignore the warning.
        warnings.filterwarnings("ignore", message=".*no product of features is correl")
        try:
            comparison, fitted = _compare(args, folds, metrics)
        except MemoryError:
            if args.second_order is None:
                raise
            parser.error("the products do not fit into memory; raise --second-order")
    if args.json:
        print_json({"data": lines, **comparison_as_json(comparison)})
    else:
        _print(args, comparison, columns, fitted, len(folds))


def _features(args: argparse.Namespace) -> str:
    """Return a text on how features are scaled and multiplied."""
    text = "divided by their standard deviation in training"
    if not args.sparse:
        text = "mean 0 and standard deviation 1 in training"
    if args.no_standardize:
        text = "as they are"
    if args.second_order is None:
        as_they_are = args.sparse or args.no_standardize
        return text if as_they_are else f"{text}; as they are for {PIPELINE}"
    return text + (
        "; with products of two centred ones whose absolute correlation with the label "
        f"in training is above {args.second_order:g}"
    )


def _n_training_rows(fold: Fold) -> int:
    return len(fold.train.y if fold.train_rows is None else fold.train_rows)


def _n_training_lists(fold: Fold) -> int:
    rows = slice(None) if fold.train_rows is None else fold.train_rows
    return len(np.unique(fold.train.groups[rows]))


def _compare(
    args: argparse.Namespace, folds: list[Fold], metrics: dict[str, Metric]
) -> tuple[RankerComparison, list[Any]]:
    """Compare every linear ranker; also return the transformer of each fold."""
    rankers = _rankers(args.alpha, args.n_jobs, args.seed)
    n_lists = min(map(_n_training_lists, folds))
    rankers |= yardsticks(args.sparse, n_lists, args.n_jobs, args.seed)
    as_they_are = {PIPELINE} & set(rankers)
    transformer = StandardScaler(copy=bool(as_they_are), with_mean=not args.sparse)
    if args.no_standardize:
        transformer = None
    if args.second_order is not None:
        as_they_are = set()  # the products are for all rows
        transformer = SecondOrderFeatures(
            args.second_order, standardize=not args.no_standardize
        )
    progress = Progress(len(rankers), len(folds), args.quiet)
    fitted: list[Any] = []
    try:
        comparison = compare(
            rankers,
            folds,
            metrics,
            transformer=transformer,
            as_they_are=as_they_are,
            learned=fitted.append,
            budget=args.budget,
            progress=progress,
            random_state=args.seed,
        )
    finally:
        progress.end()
    reference = reference_of(comparison.results)
    return replace(comparison, reference=reference, random_state=args.seed), fitted


def _print(
    args: argparse.Namespace,
    comparison: RankerComparison,
    columns: list[str],
    fitted: list[Any],
    n_folds: int,
) -> None:
    """Print the table and the notes below it."""
    say("")
    print_table(comparison, columns, args.metric, n_folds)
    if args.second_order is not None:
        print_kept("", fitted)
    print_notes(comparison, columns)
    if args.intervals:
        print_intervals(comparison, args.metric)
    if not args.train:
        say("")
        note("Your own data: skrank TRAIN --test FILE; see skrank --help.")


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
