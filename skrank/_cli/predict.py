"""Rank the rows of a file by a model: ``skrank predict MODEL FILE -o run.txt``."""

from __future__ import annotations

import argparse

from skrank._cli.arguments import Parser
from skrank._cli.fit import as_frame
from skrank._cli.models import read_model
from skrank._cli.read import FORMATS, add_columns, read_files
from skrank._cli.tables import describe
from skrank.datasets import load_letor
from skrank.interop import to_run, write_run


def parser() -> Parser:
    """Return the parser of the options."""
    parser = Parser(
        "skrank predict",
        description="Rank the rows of a file by a model that skrank fit wrote, and "
        "write a TREC run:\ntopic Q0 document rank score tag, a line each. Documents "
        "are called by --doc, else\nby the number of their row in the file.\n\n"
        + FORMATS,
    )
    parser.add_argument("model", metavar="MODEL", help=".skops or .json file")
    parser.add_argument("file", metavar="FILE", help="rows to rank")
    parser.add_argument(
        "-o", "--output", metavar="RUN", required=True, help="file to write"
    )
    parser.add_argument("--tag", default="skrank", help="name of the run in its lines")
    parser.add_argument(
        "--sparse", action="store_true", help="keep only values that are not zero"
    )
    add_columns(parser)
    return parser


def run(parser: Parser, args: argparse.Namespace) -> None:
    """Read, rank and write."""
    model = read_model(args.model, parser.error)
    (rows,) = read_files([args.file], args, parser.error, labels=False)
    X = as_frame(rows.X, rows.names)
    n_features = getattr(model, "n_features_in_", None)
    if n_features is None:
        n_features = len(model.feature_names)
    if rows.names is None and X.shape[1] < n_features:
        # Features of the model that no row of this file has are 0, as LETOR files omit
        # 0.
        X = load_letor(args.file, sparse=args.sparse, n_features=n_features)[0]
    if args.sparse and hasattr(model, "weights"):
        X = X.toarray()
    try:
        scores = model.predict(X)
        topics = to_run(scores, rows.groups, rows.doc_ids)
        write_run(args.output, topics, tag=args.tag)
    except ValueError as problem:
        parser.error(f"{args.file}: {problem}")
    except OSError as problem:
        parser.error(f"cannot write {args.output}: {problem.strerror or problem}")
    describe(
        {"Run": f"{args.output}: {len(topics):,} topics, {len(scores):,} documents"}
    )
