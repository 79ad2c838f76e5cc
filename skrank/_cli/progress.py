"""Progress of fits, printed on standard error."""

from __future__ import annotations

import sys

from skrank._cli.tables import WIDTH


class Progress:
    """Lines on standard error; on a terminal, one line that changes."""

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
        """Clear the line."""
        if self.terminal:
            self._write("", end="\r")

    def _write(self, text: str, end: str | None = None) -> None:
        if self.quiet:
            return
        if self.terminal:
            text = "\r" + text[: WIDTH - 1].ljust(WIDTH - 1)
            end = end or ""
        try:
            print(text, end="\n" if end is None else end, file=sys.stderr, flush=True)
        except OSError:
            # A full disk or a reader that went away does not end the comparison.
            self.quiet = True
