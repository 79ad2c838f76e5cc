"""Run the subcommand that the first word names."""

from __future__ import annotations

import importlib

# Their modules have ``parser()`` and ``run(parser, args)``.
COMMANDS = {
    "compare": "which ranker does best on lists not seen (the default)",
    "fit": "learn from files, and write the model",
    "predict": "rank a file by a model, as a TREC run",
    "evaluate": "measure TREC runs, with error bars",
    "describe": "look at a file before learning from it",
}


def run(argv: list[str]) -> None:
    """Run the subcommand that the first word names, else the comparison.

    To compare on a file with such a name, users write its folder too, as in ``./fit``.
    """
    name = "compare"
    if argv and argv[0] in COMMANDS:
        name, *argv = argv
    module = importlib.import_module(f"skrank._cli.{name}")
    parser = module.parser()
    module.run(parser, parser.parse_args(argv))
