"""Compare the rankers of the package from a shell, on built-in data or files."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

import skrank
from skrank import linear_model
from skrank._folds import FILES, N_LISTS, built_in, from_files
from skrank._paper import TITLE, feature_sets, paper_rankers, protocol, run_paper
from skrank._paper_tables import print_names, print_paper
from skrank._settings import made, shown
from skrank._table import (
    RANDOM_ORDER,
    WIDTH,
    describe,
    note,
    print_intervals,
    print_kept,
    print_notes,
    print_table,
    say,
)
from skrank.model_selection._comparison import Fold, compare, one_line
from skrank.model_selection._named_metrics import Metric, list_metric, named_scorer
from skrank.preprocessing import SecondOrderFeatures

COLUMNS = ("err", "ndcg@1", "ndcg@5", "ndcg@10")
POINTWISE = "Ridge() pointwise"

DESCRIPTION = """\
Fit every ranker of skrank, and a pointwise ridge regression, to the same lists and
print how well each ranks lists that it has not seen, best first.

Without TRAIN it does so on data drawn from a model, half of the lists for training
and half for the test. TRAIN and FILE are LETOR files (svmlight text with qid, plain
or gzip), one row a line:

  <label> qid:<query> <feature>:<value> <feature>:<value> ...
"""
EPILOG = """\
examples:
  skrank                                      built-in data
  skrank train.txt.gz --test test.txt.gz      learn from one file, rank the other
  skrank train.txt                            cross-validation, 5 folds of whole lists
  skrank train.txt --cv 10 --metric err@10    10 folds, sorted by ERR at 10
  skrank train.txt --sparse --budget 600      many zeros; up to ten minutes a row
  skrank S1 S2 S3 --cv files                  each file ranked by the others
  skrank train.txt --second-order --paper     the experiment that PMOP comes from

The table goes to standard output and progress to standard error. All measures are
between 0 and 1 and larger is better. The row "(random order)" is what they are on
average if rows are shuffled. Exit status: 0 done, 2 wrong option or file, 1 output
cannot be written, 130 stopped by Ctrl-C.
"""
PAPER_HELP = (
    f"run {TITLE}: its rankers and ours, without a penalty unless --alpha gives one; "
    "with --second-order on three sets of features, without products and with those "
    "of centred and of raw features; differences are of the measure to sort by"
)
BUDGET_HELP = """\
seconds of fitting that a row of the table may be expected to take, all folds together
(default: %(default)g; inf for no limit). Before the first fit, a trial fit to at most
50 whole lists is timed and multiplied by the ratio of rows or of pairs of rows,
whichever is larger, and by the number of folds. If that is too much, it is repeated,
and on more lists until a trial takes 1/20 of the budget. A fit that has begun is not
stopped."""


class Parser(argparse.ArgumentParser):
    """Parser that answers a mistake with one line."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and exit with status 2."""
        self.exit(2, f"{self.prog}: error: {one_line(message)}\n")


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
            _run(_parser(), argv)
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


def _parser() -> Parser:
    parser = Parser(
        prog="skrank",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    data = parser.add_argument_group("data")
    data.add_argument(
        "train",
        metavar="TRAIN",
        nargs="*",
        help="file to learn from; the rows of several are joined",
    )
    how = data.add_mutually_exclusive_group()
    how.add_argument("--test", metavar="FILE", help="file with the lists to rank")
    how.add_argument(
        "--cv",
        metavar="FOLDS",
        type=_folds_or_files,
        help="without --test: cut TRAIN into so many parts of whole lists, and rank "
        'each by what is learned from the others (default: 5); "files": each TRAIN is '
        "a part",
    )
    data.add_argument(
        "--sparse",
        action="store_true",
        help="keep only values that are not zero, for files with many zeros; features "
        "are then scaled but not centred, which changes no ranking by skrank",
    )
    data.add_argument(
        "--no-standardize",
        action="store_true",
        help="take features as they are; otherwise each gets mean 0 and standard "
        "deviation 1 on the training part",
    )
    data.add_argument(
        "--second-order",
        metavar="THRESHOLD",
        nargs="?",
        type=_threshold,
        const=0.15,
        help="add the products of two features whose absolute correlation with the "
        "label is above THRESHOLD on the training part (default: %(const)s)",
    )
    data.add_argument(
        "--lists",
        metavar="N",
        type=_integer_from(2),
        help=f"without TRAIN: number of lists to draw (default: {N_LISTS})",
    )
    measures = parser.add_argument_group("measures")
    measures.add_argument(
        "--metric",
        metavar="NAME",
        type=_metric_name,
        default="ndcg@10",
        help="measure to sort by (default: %(default)s), added to the table if it is "
        f"not there: {_metric_names()}, where K is the number of top rows that count",
    )
    measures.add_argument(
        "--max-grade",
        metavar="G",
        type=_number_from(0, finite=True),
        help="highest grade of the scale, for ERR (default: the largest label seen)",
    )
    measures.add_argument(
        "--empty-as-zero",
        action="store_true",
        help="count lists without a relevant row as 0 in NDCG, as published numbers "
        "often do; otherwise they are left out",
    )
    measures.add_argument(
        "--intervals",
        action="store_true",
        help="show, for the measure to sort by, bootstrap intervals and the paired "
        "difference of each ranker from the pointwise ridge regression",
    )
    fitting = parser.add_argument_group("fitting")
    fitting.add_argument(
        "--alpha",
        metavar="A",
        type=_number_from(0, finite=True),
        help="penalty of all rankers of skrank (default: that of each ranker); the "
        "ridge regression keeps its own, 1",
    )
    fitting.add_argument(
        "--budget",
        metavar="SECONDS",
        type=_number_from(0, finite=False),
        default=60.0,
        help=" ".join(BUDGET_HELP.split()),
    )
    fitting.add_argument(
        "--n-jobs",
        metavar="N",
        type=int,
        default=1,
        help="threads of each fit, -1 for all cores (default: %(default)s)",
    )
    fitting.add_argument(
        "--seed",
        metavar="S",
        type=_integer_from(0, 2**32 - 1),
        default=0,
        help="draws built-in data, folds, and what rankers draw (default: %(default)s)",
    )
    other = parser.add_argument_group("other")
    other.add_argument("--paper", action="store_true", help=PAPER_HELP)
    other.add_argument("-q", "--quiet", action="store_true", help="no progress")
    other.add_argument(
        "--version", action="version", version=f"skrank {skrank.__version__}"
    )
    return parser


def _run(parser: Parser, argv: Sequence[str] | None) -> None:
    args = parser.parse_args(argv)
    _refuse_contradictions(parser, args)
    folds, lines = from_files(args, parser.error) if args.train else built_in(args)
    labels = [data.y for data in (folds[0].train, folds[0].test)]
    lowest = min(y.min() for y in labels)
    highest = max(y.max() for y in labels)
    max_grade = highest if args.max_grade is None else args.max_grade
    source = "the largest label" if args.max_grade is None else "--max-grade"
    lines["Labels"] = f"{lowest:g} to {highest:g}; ERR: highest grade {max_grade:g}"
    lines["Labels"] += f" ({source})"
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
        warnings.filterwarnings("ignore", message=".* products of features is correl")
        try:
            (_paper if args.paper else _compare_all)(args, folds, lines, metrics)
        except MemoryError:
            parser.error("the products do not fit into memory; raise --second-order")
    if not args.train:
        say("")
        note("Your own data: skrank TRAIN --test FILE; see skrank --help.")


def _refuse_contradictions(parser: Parser, args: argparse.Namespace) -> None:
    """Stop at options that do not go together."""
    if not args.train:
        for name in ("test", "cv", "sparse"):
            if getattr(args, name):
                parser.error(f"--{name} needs TRAIN, the file to learn from")
    elif args.lists is not None:
        parser.error("--lists is for built-in data, without TRAIN")
    if args.cv == FILES and len(args.train) < 2:
        parser.error("--cv files needs two or more files TRAIN")
    if args.n_jobs == 0:
        parser.error("--n-jobs must be positive, or -1 for all cores")
    if args.paper and args.no_standardize:
        parser.error("--paper standardises; leave out --no-standardize")
    if args.paper and args.intervals:
        parser.error("--paper shows its own intervals; leave out --intervals")


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


def _begin(args: argparse.Namespace, title: str, lines: dict[str, str]) -> None:
    """Print what is about to be done."""
    lines["Fits"] += f"; budget: {args.budget:g} s a row (--budget)"
    say(f"skrank {skrank.__version__}: {title}\n")
    describe(lines)
    sys.stdout.flush()


def _compare_all(
    args: argparse.Namespace,
    folds: list[Fold],
    lines: dict[str, str],
    metrics: dict[str, Metric],
) -> None:
    """Compare every ranker of the package, and print one table."""
    rankers = _rankers(args.alpha, args.n_jobs, args.seed)
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


def _paper(
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
    """Return the settings that the package's rankers declare, and two yardsticks."""
    rankers: dict[str, Any] = {}
    common: dict[str, Any] = {"n_jobs": n_jobs, "random_state": seed}
    if alpha is not None:
        common["alpha"] = alpha
    for name in linear_model.__all__:
        ranker = getattr(linear_model, name)
        for settings in getattr(ranker, "_compared", ()):
            rankers[shown(name, settings)] = made(ranker, settings, **common)
    rankers[POINTWISE] = Ridge(random_state=seed)
    # A constant score ties all rows, and ties count by their average over orders.
    rankers[RANDOM_ORDER] = DummyRegressor()
    return rankers


def _metric(name: str, max_grade: float, empty_as_zero: bool) -> Metric:
    """Return the function that gives one value of the measure per list."""
    base = name.partition("@")[0]
    options: dict[str, Any] = {"max_grade": max_grade} if base == "err" else {}
    if base == "ndcg" and empty_as_zero:
        options["empty"] = 0.0
    return list_metric(named_scorer(name, **options))


def _metric_names() -> str:
    return "ndcg, ndcg@K, err, err@K or pairwise_accuracy"


def _metric_name(text: str) -> str:
    """Return the name of a measure, or raise for argparse."""
    name = text.lower()
    if not re.fullmatch(r"(ndcg|err)(@[1-9]\d{0,8})?|pairwise_accuracy", name):
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {_metric_names()}")
    return name


def _folds_or_files(text: str) -> int | str:
    return FILES if text == FILES else _integer_from(2)(text)


def _threshold(text: str) -> float:
    """Return a correlation, or raise for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of at least 0 and below 1; files stand before it"
        )
    return value


def _integer_from(smallest: int, largest: int | None = None) -> Callable[[str], int]:
    def integer(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = smallest - 1
        if value < smallest or (largest is not None and value > largest):
            limit = "" if largest is None else f" and at most {largest}"
            raise argparse.ArgumentTypeError(
                f"{text!r} is not an integer of at least {smallest}{limit}"
            )
        return value

    return integer


def _number_from(smallest: float, *, finite: bool) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not value >= smallest or (finite and value == math.inf):
            kind = "finite number" if finite else "number"
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a {kind} of at least {smallest:g}"
            )
        return value

    return number


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


if __name__ == "__main__":
    sys.exit(main())
