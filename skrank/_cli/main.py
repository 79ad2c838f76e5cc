"""The command ``skrank``: errors become one line and an exit status.

This module imports nothing slow, so that Ctrl-C works from the start. The work is in
``skrank._cli.commands``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments; None takes those of the process.

    Returns
    -------
    status : int
        0 if done, 1 if output cannot be written or memory does not suffice, 130 if
        stopped by Ctrl-C, 141 if nobody reads the output.

    Raises
    ------
    SystemExit
        After ``--help`` and ``--version``, and with status 2 for wrong options and
        files that cannot be read.
    """
    # Python has no stream if the shell closed it.
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")
    if sys.stdout is None:
        print("skrank: error: cannot write: output is closed", file=sys.stderr)
        return 1
    try:
        try:
            from skrank._cli.commands import run

            run(sys.argv[1:] if argv is None else list(argv))
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        _complain("\nskrank: stopped")
        return 130
    except MemoryError:
        _complain("skrank: error: memory does not suffice; use less data or --sparse")
        return 1
    except OSError as error:
        # Discard what is still in the buffer, or Python would print an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        _complain(f"skrank: error: cannot write: {error.strerror}")
        return 1
    return 0


def _complain(text: str) -> None:
    """Write to standard error, if that can be written."""
    try:
        print(text, file=sys.stderr)
    except OSError:
        pass
