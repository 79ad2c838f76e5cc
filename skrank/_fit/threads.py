"""One BLAS thread while rankers are fitted, however many fits run at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController

_lock = Lock()
_n_inside = 0
_limit: Any = None


@cache
def _libraries() -> ThreadpoolController:
    """Return the BLAS libraries of the process; the search takes 3 ms, so it is cached.

    All products use those of numpy and scipy, which are loaded by then.
    """
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside, and restore its threads afterwards.

    The limit holds for the whole process. A fit that begins while another runs would
    see the limit, and later restore it as if it were the user's setting. So the first
    fit sets the limit, and the last one to end lifts it.
    """
    global _n_inside, _limit
    with _lock:
        if _n_inside == 0:
            _forget_owner()
            _limit = _libraries().limit(limits=1, user_api="blas")
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            # The count is 0 in a child that was forked inside, where there is no limit.
            if _n_inside > 0:
                _n_inside -= 1
                if _n_inside == 0:
                    _forget_owner()
                    _limit.restore_original_limits()
                    _limit = None
                    _forget_owner()


def _begin_anew() -> None:
    """Lift the limit in a forked child, which does not run the fits that set it."""
    global _lock, _n_inside, _limit
    _lock = Lock()
    if _limit is not None:
        _forget_owner()
        _limit.restore_original_limits()
        _forget_owner()
    _n_inside, _limit = 0, None


if hasattr(os, "register_at_fork"):
    # Hold the locks during a fork: if another thread held one, nobody would release it
    # in the child. Looking through the loaded libraries takes a lock of its own.
    os.register_at_fork(
        before=lambda: _lock.acquire(),
        after_in_parent=lambda: _lock.release(),
        after_in_child=_begin_anew,
    )


def _forget_owner() -> None:
    """Let any Python thread set the number of BLAS threads.

    With threadpoolctl 3.8 and later, only the thread that set the number last can
    change it; calls of others are ignored. Then fits in worker threads would not be
    limited, or the number not restored.
    """
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)
