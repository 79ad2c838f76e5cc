"""The options of the comparison."""

from __future__ import annotations

import argparse

import skrank
from skrank._cli.arguments import (
    METRIC_NAMES,
    Parser,
    integer_from,
    metric_name,
    number_from,
    positive,
    threshold,
)
from skrank._cli.commands import COMMANDS
from skrank._cli.data import FILES, N_LISTS
from skrank._cli.read import FORMATS, add_columns

DESCRIPTION = """\
Fit every linear ranker of skrank, ranking_pipeline() and pointwise regressions, on
features of all rows and on features scaled by list, to the same lists and print how
well each ranks lists that it has not seen, best first. With LightGBM installed, its
ranker too.

Without TRAIN it does so on data drawn from a model, half of the lists for training
and half for the test. "skrank NAME --help" explains another command:

"""
DESCRIPTION += "\n".join(f"  {name:10}{text}" for name, text in COMMANDS.items())
DESCRIPTION += f"\n\n{FORMATS}"
EPILOG = """\
examples:
  skrank                                      built-in data
  skrank train.txt.gz --test test.txt.gz      learn from one file, rank the other
  skrank train.txt                            cross-validation, 5 folds of whole lists
  skrank train.txt --cv 10 --metric err@10    10 folds, sorted by ERR at 10
  skrank train.txt --sparse --budget 600      many zeros; up to ten minutes a row
  skrank S1 S2 S3 --cv files                  each file ranked by the others
  skrank train.txt --second-order             products of two features as well

The table goes to standard output and progress to standard error. All measures are
between 0 and 1 and larger is better. The row "(random order)" is what they are on
average if rows are shuffled. Exit status: 0 done, 2 wrong option or file, 1 output
cannot be written or memory does not suffice, 130 stopped by Ctrl-C.
"""
BUDGET_HELP = """\
seconds of fitting that a row of the table may be expected to take, all folds together
(default: %(default)g; inf for no limit). Before the first fit, a trial fit to at most
50 whole lists is timed and multiplied by the ratio of rows or of pairs of rows,
whichever is larger, and by the number of folds. If that is too much, it is repeated,
and on more lists until a trial takes 1/20 of the budget. A fit that has begun is not
stopped."""


def options() -> Parser:
    """Return the parser of all options of the comparison."""
    parser = Parser("skrank", description=DESCRIPTION, epilog=EPILOG)
    _add_data(parser)
    _add_measures(parser)
    _add_fitting(parser)
    other = parser.add_argument_group("other")
    other.add_argument("--json", action="store_true", help="print JSON, not a table")
    other.add_argument("-q", "--quiet", action="store_true", help="no progress")
    other.add_argument(
        "--version", action="version", version=f"skrank {skrank.__version__}"
    )
    return parser


def _add_data(parser: Parser) -> None:
    """Add the options of training and test data."""
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
        "deviation 1 on the training part, but for ranking_pipeline(), which scales "
        "them itself",
    )
    data.add_argument(
        "--second-order",
        metavar="THRESHOLD",
        nargs="?",
        type=threshold,
        const=0.15,
        help="add the products of two features whose absolute correlation with the "
        "label is above THRESHOLD on the training part (default: %(const)s)",
    )
    data.add_argument(
        "--lists",
        metavar="N",
        type=integer_from(2),
        help=f"without TRAIN: number of lists to draw (default: {N_LISTS})",
    )
    add_columns(data)


def _add_measures(parser: Parser) -> None:
    """Add the options of measures."""
    measures = parser.add_argument_group("measures")
    measures.add_argument(
        "--metric",
        metavar="NAME",
        type=metric_name,
        default="ndcg@10",
        help="measure to sort by (default: %(default)s), added to the table if it is "
        f"not there: {METRIC_NAMES}",
    )
    measures.add_argument(
        "--max-grade",
        metavar="G",
        type=positive,
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
        "difference of each ranker from ridge regression on features scaled by list, "
        "its alpha tuned",
    )


def _add_fitting(parser: Parser) -> None:
    """Add the options of fits."""
    fitting = parser.add_argument_group("fitting")
    fitting.add_argument(
        "--alpha",
        metavar="A",
        type=number_from(0, finite=True),
        help="penalty of the rankers of skrank (default: that of each ranker); the "
        "ridge regression keeps its own, 1",
    )
    fitting.add_argument(
        "--budget",
        metavar="SECONDS",
        type=number_from(0, finite=False),
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
        type=integer_from(0, 2**32 - 1),
        default=0,
        help="draws built-in data, folds, and what rankers draw (default: %(default)s)",
    )


def refuse_contradictions(parser: Parser, args: argparse.Namespace) -> None:
    """End the command at options that contradict each other."""
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


def _folds_or_files(text: str) -> int | str:
    return FILES if text == FILES else integer_from(2)(text)
