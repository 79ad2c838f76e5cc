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
    """Return the BLAS libraries of the process, which take 3 ms to look for.

    Those of numpy and scipy, which all products here use, are loaded by then.
    """
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside, and restore its threads afterwards.

    The limit is the whole process's. A fit that begins while another runs would see
    one thread, take it for what was there, and "restore" it last: so the first to
    enter sets the limit, and the last to leave lifts it.
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
            if _n_inside > 0:  # else this is a child forked inside, without a limit
                _n_inside -= 1
                if _n_inside == 0:
                    _forget_owner()
                    _limit.restore_original_limits()
                    _limit = None
                    _forget_owner()


def _begin_anew() -> None:
    """Lift, in a forked child, the limit of fits whose threads it does not have."""
    global _lock, _n_inside, _limit
    _lock = Lock()
    if _limit is not None:
        _forget_owner()
        _limit.restore_original_limits()
        _forget_owner()
    _n_inside, _limit = 0, None


if hasattr(os, "register_at_fork"):
    # Not while another thread holds the lock, or looks through the loaded libraries,
    # which has a lock of its own: nobody would release them in the child.
    os.register_at_fork(
        before=lambda: _lock.acquire(),
        after_in_parent=lambda: _lock.release(),
        after_in_child=_begin_anew,
    )


def _forget_owner() -> None:
    """Let any Python thread set the number of BLAS threads.

    From threadpoolctl 3.8 on only the thread that set it last can, and what others
    ask is ignored: fits in worker threads would not be limited, nor restored.
    """
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)
