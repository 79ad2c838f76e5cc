"""Fit a ranker to files, and write the model: ``skrank fit TRAIN -o model.skops``."""

from __future__ import annotations

import argparse
import ast
import warnings
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from skrank import linear_model
from skrank._cli.arguments import (
    METRIC_NAMES,
    Parser,
    integer_from,
    metric_name,
    number_from,
)
from skrank._cli.as_json import print_json
from skrank._cli.measures import scorer_of
from skrank._cli.models import check_end, write_model
from skrank._cli.read import FORMATS, Rows, add_columns, read_files
from skrank._cli.tables import describe, note
from skrank.model_selection import QueryKFold, RankerCV
from skrank.model_selection._comparison import one_line

ALPHAS = np.logspace(-3, 2, 6)
RANKERS = {
    name.removesuffix("Ranker").lower(): getattr(linear_model, name)
    for name in linear_model.__all__
    if name.endswith("Ranker") and name != "LinearRanker"
}
EPILOG = """\
examples:
  skrank fit train.txt -o model.json
  skrank fit train.txt.gz --ranker ranknet --alpha 0.01 -o model.skops
  skrank fit train.csv --group query --label grade --cv 5 -o model.skops
  skrank fit train.txt --ranker listmle --set ties=breslow -o model.skops
"""


def parser() -> Parser:
    """Return the parser of the options."""
    parser = Parser(
        "skrank fit",
        description="Learn from files, and write the model: features scaled to mean 0 "
        "and standard\ndeviation 1, and a linear ranker.\n\n" + FORMATS,
        epilog=EPILOG,
    )
    parser.add_argument("train", metavar="TRAIN", nargs="+", help="files to learn from")
    parser.add_argument(
        "-o",
        "--output",
        metavar="MODEL",
        required=True,
        help="file to write: .json has the weights of the raw features alone, .skops "
        "the pipeline itself",
    )
    parser.add_argument(
        "--ranker",
        choices=sorted(RANKERS),
        default="listmle",
        help="what to fit (default: %(default)s)",
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="parameter of the ranker, as ties=breslow; may be given several times",
    )
    _add_strength(parser)
    parser.add_argument("--no-standardize", action="store_true", help="do not scale")
    parser.add_argument(
        "--sparse", action="store_true", help="keep only values that are not zero"
    )
    add_columns(parser)
    parser.add_argument("--n-jobs", metavar="N", type=int, default=1, help="threads")
    parser.add_argument(
        "--seed", metavar="S", type=integer_from(0, 2**32 - 1), default=0
    )
    parser.add_argument("--json", action="store_true", help="say what was done as JSON")
    return parser


def _add_strength(parser: Parser) -> None:
    """Add the options of the penalty and of its choice."""
    strength = parser.add_mutually_exclusive_group()
    strength.add_argument(
        "--alpha",
        metavar="A",
        type=number_from(0, finite=True),
        help="penalty (default: that of the ranker)",
    )
    strength.add_argument(
        "--cv",
        metavar="FOLDS",
        nargs="?",
        const=5,
        type=integer_from(2),
        help="choose the penalty among 0.001, 0.01, ..., 100 by cross-validation over "
        "whole lists (default: %(const)s folds)",
    )
    parser.add_argument(
        "--metric",
        metavar="NAME",
        type=metric_name,
        default="ndcg@10",
        help=f"what --cv looks at (default: %(default)s): {METRIC_NAMES}",
    )


def run(parser: Parser, args: argparse.Namespace) -> None:
    """Fit, write the model, and print a summary."""
    check_end(args.output, parser.error)
    ranker = _ranker(parser, args)
    parts = read_files(args.train, args, parser.error)
    X, y, groups, names = _joined(parts)
    model = make_pipeline(StandardScaler(with_mean=not args.sparse), ranker)
    if args.no_standardize:
        model = make_pipeline(ranker)
    chosen: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if args.cv is not None:
                means = _mean_scores(model, args, X, y, groups)
                chosen = _chosen(means, args.metric)
                model[-1].set_params(alpha=chosen["alpha"])
            with sklearn.config_context(enable_metadata_routing=True):
                model.fit(X, y, groups=groups)
            # Features of LETOR files have numbers as names.
            numbered = [str(number) for number in range(1, X.shape[1] + 1)]
            write_model(model, names or numbered, args.output)
        except OSError as problem:
            parser.error(f"cannot write {args.output}: {problem.strerror or problem}")
        except (ImportError, ValueError) as problem:
            parser.error(str(problem))
    summary = {
        "model": args.output,
        "ranker": " ".join(str(model[-1]).split()),
        "lists": len(np.unique(groups)),
        "rows": len(y),
        "features": X.shape[1],
        **chosen,
    }
    texts = list(dict.fromkeys(one_line(one.message) for one in caught))
    if args.json:
        print_json({**summary, "warnings": texts})
        return
    describe({name: str(value) for name, value in summary.items()})
    for text in texts:
        note(text)


def _ranker(parser: Parser, args: argparse.Namespace) -> Any:
    """Return the ranker that the options describe."""
    ranker = RANKERS[args.ranker]()
    known = ranker.get_params()
    settings: dict[str, Any] = {"n_jobs": args.n_jobs}
    if "random_state" in known:
        settings["random_state"] = args.seed
    if args.alpha is not None:
        settings["alpha"] = args.alpha
    for text in args.set:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            parser.error(
                f"--set {text}: give NAME=VALUE; {args.ranker} has "
                f"{', '.join(sorted(known))}"
            )
        settings[name] = _literal(value)
    return ranker.set_params(**settings)


def _literal(text: str) -> Any:
    """Return a number, None, True or False, and other words as they are."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _joined(parts: list[Rows]) -> tuple[Any, Any, Any, list[str] | None]:
    """Return the rows of several files one after the other, tables as frames."""
    from scipy import sparse

    X = parts[0].X
    if len(parts) > 1:
        rows = [part.X for part in parts]
        stacked = sparse.vstack(rows, format="csr") if sparse.issparse(X) else None
        X = np.concatenate(rows) if stacked is None else stacked
    y = np.concatenate([part.y for part in parts])
    groups = np.concatenate([part.groups for part in parts])
    return as_frame(X, parts[0].names), y, groups, parts[0].names


def as_frame(X: Any, names: list[str] | None) -> Any:
    """Return a frame where features have names, so that models remember them."""
    if names is None or not isinstance(X, np.ndarray):
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=names)


def _mean_scores(
    model: Pipeline, args: argparse.Namespace, X: Any, y: Any, groups: Any
) -> np.ndarray:
    """Return the mean score over folds of each of ``ALPHAS``.

    Each fold is a search of its own, so that only its training lists set the scale.
    """
    splitter = QueryKFold(args.cv, shuffle=True, random_state=args.seed)
    scorer = scorer_of(args.metric, float(y.max()))
    scores = []
    for train, test in splitter.split(X, y, groups):
        scaled = X
        if len(model) > 1:
            scaler = clone(model[0]).fit(_safe_indexing(X, train))
            scaled = scaler.transform(X)
        search = RankerCV(model[-1], ALPHAS, cv=[(train, test)], scoring=scorer)
        search.fit(scaled, y, groups)
        # The search goes from the largest penalty to the smallest.
        scores.append(search.cv_results_["mean_test_score"][::-1])
    return np.mean(scores, axis=0)


def _chosen(means: np.ndarray, metric: str) -> dict[str, Any]:
    """Return the penalty of the best mean score, and the mean score of each."""
    return {
        "alpha": float(ALPHAS[np.argmax(means)]),
        metric: {
            f"{a:g}": float(f"{m:.4g}") for a, m in zip(ALPHAS, means, strict=True)
        },
    }
