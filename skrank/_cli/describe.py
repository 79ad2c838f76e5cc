"""Describe the data of a file: ``skrank describe FILE``."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from skrank._cli.arguments import Parser
from skrank._cli.as_json import print_json
from skrank._cli.fit import as_frame
from skrank._cli.read import FORMATS, add_columns, read_files
from skrank._cli.tables import say
from skrank.inspection import describe_lists


def parser() -> Parser:
    """Return the parser of the options."""
    parser = Parser(
        "skrank describe",
        description="Describe the lists, labels and features of a file, and say what "
        "may be wrong.\n\n" + FORMATS,
    )
    parser.add_argument("file", metavar="FILE", help="what to describe")
    parser.add_argument(
        "--sparse", action="store_true", help="keep only values that are not zero"
    )
    add_columns(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, not a page")
    return parser


def run(parser: Parser, args: argparse.Namespace) -> None:
    """Describe the file."""
    (rows,) = read_files([args.file], args, parser.error)
    description = describe_lists(as_frame(rows.X, rows.names), rows.y, rows.groups)
    if args.json:
        print_json(asdict(description))
    else:
        say(str(description))
