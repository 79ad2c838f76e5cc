"""The parser, and types of values, that all subcommands share."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from skrank.metrics._registry import METRICS, plain_name
from skrank.model_selection._comparison import one_line

METRIC_NAMES = (
    f"{', '.join(sorted(METRICS))}, or another name for one, such as map, mrr, p@5; @K "
    "where only the top K rows count"
)


class Parser(argparse.ArgumentParser):
    """Parser that prints an error as one line, also if help cannot be written."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(
            prog=name,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,
        )

    def error(self, message: str) -> NoReturn:
        """Print an error, and exit with status 2."""
        # Messages of functions name parameters; users of the command know them as
        # options.
        text = one_line(message).replace("sparse=True", "--sparse")
        self.exit(2, f"{self.prog.split()[0]}: error: {text}\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        # On a full disk argparse would print nothing, and exit with status 0.
        if message:
            file = sys.stderr if file is None else file
            file.write(message)
            file.flush()


def metric_name(text: str) -> str:
    """Return the registry's name of a measure, or raise for argparse."""
    try:
        return plain_name(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _number(text: str) -> float:
    """Return a number, NaN for text that is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def threshold(text: str) -> float:
    """Return a correlation, or raise for argparse."""
    value = _number(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of at least 0 and below 1; files stand before it"
        )
    return value


def integer_from(smallest: int, largest: int | None = None) -> Callable[[str], int]:
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


def positive(text: str) -> float:
    """Return a finite number above 0, or raise for argparse."""
    value = number_from(0, finite=True)(text)
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not above 0")
    return value


def number_from(smallest: float, *, finite: bool) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = _number(text)
        if not value >= smallest or (finite and value == math.inf):
            kind = "finite number" if finite else "number"
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a {kind} of at least {smallest:g}"
            )
        return value

    return number
