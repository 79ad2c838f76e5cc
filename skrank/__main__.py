"""Compare the rankers of the package from a shell, on built-in data or files."""

from __future__ import annotations

import argparse
import inspect
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

import skrank
from skrank import linear_model
from skrank._table import (
    RANDOM_ORDER,
    WIDTH,
    describe,
    note,
    print_intervals,
    print_notes,
    print_table,
    say,
)
from skrank.datasets import load_letor, make_ranking
from skrank.model_selection import QueryKFold, QueryShuffleSplit
from skrank.model_selection._comparison import (
    Fold,
    Ranked,
    compare,
    cut_folds,
    one_line,
)
from skrank.model_selection._named_metrics import Metric, list_metric, named_scorer

COLUMNS = ("err", "ndcg@1", "ndcg@5", "ndcg@10")
N_LISTS = 2000
LIST_SIZE = (5, 40)
N_FEATURES = 40
N_INFORMATIVE = 20
LIST_EFFECT = 1.0
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

The table goes to standard output and progress to standard error. All measures are
between 0 and 1 and larger is better. The row "(random order)" is what they are on
average if rows are shuffled. Exit status: 0 done, 2 wrong option or file, 1 output
cannot be written, 130 stopped by Ctrl-C.
"""
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
    data.add_argument("train", metavar="TRAIN", nargs="?", help="file to learn from")
    how = data.add_mutually_exclusive_group()
    how.add_argument("--test", metavar="FILE", help="file with the lists to rank")
    how.add_argument(
        "--cv",
        metavar="FOLDS",
        type=_integer_from(2),
        help="without --test: cut TRAIN into so many parts of whole lists, and rank "
        "each by what is learned from the others (default: 5)",
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
    other.add_argument("-q", "--quiet", action="store_true", help="no progress")
    other.add_argument(
        "--version", action="version", version=f"skrank {skrank.__version__}"
    )
    return parser


def _run(parser: Parser, argv: Sequence[str] | None) -> None:
    args = parser.parse_args(argv)
    if args.train is None:
        for name in ("test", "cv", "sparse"):
            if getattr(args, name):
                parser.error(f"--{name} needs TRAIN, the file to learn from")
    elif args.lists is not None:
        parser.error("--lists is for built-in data, without TRAIN")
    if args.n_jobs == 0:
        parser.error("--n-jobs must be positive, or -1 for all cores")

    folds, lines = _built_in(args) if args.train is None else _from_files(parser, args)
    labels = [data.y for data in (folds[0].train, folds[0].test)]
    lowest = min(y.min() for y in labels)
    highest = max(y.max() for y in labels)
    max_grade = highest if args.max_grade is None else args.max_grade
    source = "the largest label" if args.max_grade is None else "--max-grade"
    lines["Labels"] = f"{lowest:g} to {highest:g}; ERR: highest grade {max_grade:g}"
    lines["Labels"] += f" ({source})"
    if args.empty_as_zero:
        lines["Labels"] += "; NDCG: lists without a relevant row are 0"
    scaling = "divided by their standard deviation in training"
    if not args.sparse:
        scaling = "mean 0 and standard deviation 1 in training"
    lines["Features"] = "as they are" if args.no_standardize else scaling
    alpha = "the default of each" if args.alpha is None else f"{args.alpha:g}"
    lines["Fits"] = f"alpha: {alpha}; budget: {args.budget:g} s a row (--budget)"

    columns = list(COLUMNS)
    if args.metric not in columns:
        columns.append(args.metric)
    rankers = _rankers(args.alpha, args.n_jobs, args.seed)
    scaler = StandardScaler(copy=False, with_mean=not args.sparse)
    progress = _Progress(len(rankers), len(folds), args.quiet)
    say(f"skrank {skrank.__version__}: which ranker does best on lists not seen?\n")
    describe(lines)
    sys.stdout.flush()
    try:
        comparison = compare(
            rankers,
            folds,
            {name: _metric(name, max_grade, args.empty_as_zero) for name in columns},
            transformer=None if args.no_standardize else scaler,
            budget=args.budget,
            progress=progress,
            random_state=args.seed,
        )
    finally:
        progress.end()
    say("")
    print_table(comparison, columns, args.metric, len(folds))
    print_notes(comparison, columns)
    if args.intervals:
        comparison = replace(comparison, reference=POINTWISE, random_state=args.seed)
        print_intervals(comparison, args.metric)
    if args.train is None:
        say("")
        note("Your own data: skrank TRAIN --test FILE; see skrank --help.")


def _built_in(args: argparse.Namespace) -> tuple[list[Fold], dict[str, str]]:
    """Draw data, and return them as one fold, with a description."""
    data = Ranked(
        *make_ranking(
            args.lists or N_LISTS,
            list_size=LIST_SIZE,
            n_features=N_FEATURES,
            n_informative=N_INFORMATIVE,
            list_effect=LIST_EFFECT,
            random_state=args.seed,
        )
    )
    splitter = QueryShuffleSplit(1, test_size=0.5, random_state=args.seed)
    (fold,) = cut_folds(data, splitter)
    fold = Fold(*fold.parts())
    return [fold], {
        "Data": "built in, drawn by skrank.datasets.make_ranking: "
        f"{N_INFORMATIVE} of {N_FEATURES} features matter, and lists differ in the "
        "mean of their features, as queries do",
        "Training": _size(fold.train),
        "Test": _size(fold.test),
    }


def _from_files(
    parser: Parser, args: argparse.Namespace
) -> tuple[list[Fold], dict[str, str]]:
    """Read files, and return folds with a description."""
    paths = [args.train] if args.test is None else [args.train, args.test]
    try:
        parts = [Ranked(*part) for part in load_letor(paths, sparse=args.sparse)]
    except OSError as error:
        name = error.filename or " or ".join(paths)
        parser.error(f"cannot read {name}: {error.strerror or error}")
    except ValueError as error:
        parser.error(str(error))
    except MemoryError:
        parser.error("the files do not fit into memory; try --sparse")
    if parts[0].X.shape[1] == 0:
        parser.error(f"{' and '.join(paths)}: no row has a feature")
    if len(parts) == 2:
        ids = [set(part.groups.tolist()) for part in parts]
        known = len(ids[0] & ids[1])
        remark = (
            f"; {known:,} of these lists have ids that are in TRAIN" if known else ""
        )
        return [Fold(*parts)], {
            "Training": f"{args.train}: {_size(parts[0])}",
            "Test": f"{args.test}: {_size(parts[1])}{remark}",
        }
    n_folds = args.cv or 5
    splitter = QueryKFold(n_folds, shuffle=True, random_state=args.seed)
    try:
        folds = cut_folds(parts[0], splitter)
    except ValueError:
        n_lists = _counted(len(np.unique(parts[0].groups)), "list")
        parser.error(
            f"{args.train} has {n_lists}, too few for {n_folds} folds; give --cv or "
            "--test"
        )
    by_default = (
        "" if args.cv else " by default, since neither --test nor --cv is given"
    )
    return folds, {
        "Data": f"{args.train}: {_size(parts[0])}",
        "Test": f"{n_folds} folds of whole lists{by_default}: each list is ranked by "
        "what was learned from the other folds",
    }


def _size(data: Ranked) -> str:
    n_rows, n_features = data.X.shape
    n_lists = len(np.unique(data.groups))
    counts = ((n_lists, "list"), (n_rows, "row"), (n_features, "feature"))
    return ", ".join(_counted(n, what) for n, what in counts)


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"


def _rankers(alpha: float | None, n_jobs: int, seed: int) -> dict[str, Any]:
    """Return the settings that the package's rankers declare, and two yardsticks."""
    rankers: dict[str, Any] = {}
    for name in linear_model.__all__:
        ranker = getattr(linear_model, name)
        known = inspect.signature(ranker).parameters
        common = {"n_jobs": n_jobs, "random_state": seed}
        if alpha is not None:
            common["alpha"] = alpha
        common = {key: value for key, value in common.items() if key in known}
        for settings in getattr(ranker, "_compared", ()):
            shown = ", ".join(
                f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}"
                for key, value in settings.items()
            )
            rankers[f"{name}({shown})"] = ranker(**common | settings)
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
        if fold != self.fold:
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
