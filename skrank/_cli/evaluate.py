"""Measure TREC runs, with error bars: ``skrank evaluate QRELS RUN...``."""

from __future__ import annotations

import argparse
import inspect
from collections import Counter
from pathlib import PurePath
from typing import Any

import numpy as np

from skrank._cli.arguments import METRIC_NAMES, Parser, integer_from, metric_name
from skrank._cli.as_json import comparison_as_json, print_json
from skrank._cli.tables import heading, note, say
from skrank.interop import from_run, read_qrels, read_run
from skrank.metrics import list_labels
from skrank.metrics._conventions import CONVENTIONS
from skrank.metrics._registry import look_up
from skrank.model_selection import RankerComparison, RankerResult
from skrank.model_selection._report import interval_text, metric_table

METRICS = ("map", "ndcg@10", "p@10", "mrr")
DESCRIPTION = """\
Measure runs by judgments, both in TREC's formats (plain or gzip), and say how sure the
numbers are: means over topics with bootstrap intervals, and the difference of each run
from the first one, topic by topic, with p values by Holm's correction.

Numbers are those of trec_eval -c, where it has the measure: every topic that has
judgments counts, with 0 where a run has nothing; the gain of nDCG is the grade; equal
scores are ranked by document name, descending; grades below 0 mean not judged.
"""
EPILOG = """\
examples:
  skrank evaluate qrels.txt bm25.run neural.run
  skrank evaluate qrels.txt *.run --metric ndcg@20 --metric rprec --per-query
"""


def parser() -> Parser:
    """Return the parser of the options."""
    parser = Parser("skrank evaluate", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("qrels", metavar="QRELS", help="judgments")
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        help="runs; the first is what others are compared to",
    )
    parser.add_argument(
        "--metric",
        metavar="NAME",
        type=metric_name,
        action="append",
        help=f"measure, several times for several (default: {', '.join(METRICS)}): "
        f"{METRIC_NAMES}",
    )
    parser.add_argument(
        "--test",
        choices=("randomization", "t", "wilcoxon"),
        default="randomization",
        help="test of the differences (default: %(default)s)",
    )
    parser.add_argument(
        "--per-query",
        action="store_true",
        help="print a line per run, measure and topic instead, divided by tabs",
    )
    parser.add_argument(
        "--seed", metavar="S", type=integer_from(0, 2**32 - 1), default=0
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(parser: Parser, args: argparse.Namespace) -> None:
    """Measure, and print tables, lines or JSON."""
    names = args.metric or [metric_name(name) for name in METRICS]
    comparison = _measured(parser, args, list(dict.fromkeys(names)))
    if args.json:
        print_json(_as_json(comparison, args.per_query))
    elif args.per_query:
        for run_name, result in comparison.results.items():
            for metric, values in result.values.items():
                for topic, value in zip(comparison.lists, values, strict=True):
                    say(f"{run_name}\t{metric}\t{topic}\t{value:.6g}")
    else:
        for metric in comparison.metrics:
            table = metric_table(comparison, metric, heading(metric), fit_times=False)
            say(f"{table}\n")
        note(f"{len(comparison.lists):,} topics. {interval_text(comparison)}")
        for metric, reason in comparison.refused.items():
            note(f"{heading(metric)} not shown: {reason}")


def _measured(
    parser: Parser, args: argparse.Namespace, names: list[str]
) -> RankerComparison:
    """Return the value of each topic, for every run and measure."""
    try:
        qrels = read_qrels(args.qrels)
        runs = {path: read_run(path) for path in dict.fromkeys(args.runs)}
        rows = {path: from_run(qrels, one, complete=True) for path, one in runs.items()}
    except OSError as problem:
        parser.error(f"cannot read {problem.filename}: {problem.strerror or problem}")
    except ValueError as problem:
        parser.error(str(problem))
    labels = _labels(list(runs))
    results = {label: RankerResult() for label in labels.values()}
    refused: dict[str, str] = {}
    topics = list_labels(next(iter(rows.values())).groups)
    highest = max(grade for grades in qrels.values() for grade in grades.values())
    for name in names:
        for path, one in rows.items():
            try:
                values = _values(one, name, highest)
            except (TypeError, ValueError) as problem:
                refused[name] = str(problem)
                break
            results[labels[path]].values[name] = values
    for name in refused:
        for result in results.values():
            result.values.pop(name, None)
    if len(refused) == len(names):
        reasons = "; ".join(f"{name}: {why}" for name, why in refused.items())
        parser.error(f"no measure applies. {reasons}")
    return RankerComparison(
        results, topics, refused, method=args.test, random_state=args.seed
    )


def _values(rows: Any, name: str, max_grade: float) -> Any:
    """Return one value a topic, by trec_eval's convention where there is one."""
    entry, cutoff = look_up(name)
    options: dict[str, Any] = {"average": None}
    if cutoff is not None:
        options["k"] = cutoff
    if entry.metric.__name__ in CONVENTIONS["trec_eval"]:
        options["convention"] = "trec_eval"
    elif "max_grade" in inspect.signature(entry.metric).parameters:
        options["max_grade"] = max(max_grade, 1.0)
    sign = -1.0 if entry.name.startswith("neg_") else 1.0
    return sign * np.nan_to_num(rows.score(entry.metric, **options))


def _labels(paths: list[str]) -> dict[str, str]:
    """Return the names of files, with folders where names alone are not different."""
    count = Counter(PurePath(path).name for path in paths)
    return {
        path: path if count[PurePath(path).name] > 1 else PurePath(path).name
        for path in paths
    }


def _as_json(comparison: RankerComparison, per_query: bool) -> dict[str, Any]:
    """Return the statistics, and the values of topics if asked for."""
    report = comparison_as_json(comparison)
    del report["fits"]
    report["n_topics"] = report.pop("n_lists")
    if per_query:
        report["per_query"] = {
            name: {
                metric: dict(zip(comparison.lists.tolist(), values, strict=True))
                for metric, values in result.values.items()
            }
            for name, result in comparison.results.items()
        }
    return report
