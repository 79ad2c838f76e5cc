"""Find a cluster, and explain its errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Errors of a lost cluster; which one is raised depends on the version of distributed.
LOST = {
    *("CancelledError", "ClosedClientError", "CommClosedError"),
    *("FutureCancelledError", "TimeoutError"),
}


def check_shuffle(shuffle: Any) -> None:
    """Raise ValueError unless ``shuffle`` is "auto", True or False."""
    if shuffle != "auto" and not isinstance(shuffle, bool):
        raise ValueError(f"shuffle must be 'auto', True or False, got {shuffle!r}.")


def find_client(client: Any, caller: str) -> Any:
    """Return the client to use: the argument, or the current one.

    Raises
    ------
    ImportError
        If distributed is not installed.
    ValueError
        If there is no client.
    """
    try:
        from distributed import get_client
    except ImportError as error:
        raise ImportError(
            f'skrank.dask.{caller} needs dask: pip install "skrank[dask]".'
        ) from error
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError as error:
        raise ValueError(
            f"skrank.dask.{caller} found no cluster. Start one, for example "
            "`from distributed import Client; client = Client()`, or pass client=."
        ) from error


@contextmanager
def errors_in_words(caller: str) -> Iterator[None]:
    """Turn errors of a lost cluster into one error that explains it."""
    from distributed.scheduler import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise RuntimeError(
            f"skrank.dask.{caller}: workers died again and again on the same part, as "
            "they do where memory is too small. Use smaller partitions, float32, or "
            f"more memory a worker. ({error})"
        ) from error
    except Exception as error:
        if not isinstance(error, OSError) and type(error).__name__ not in LOST:
            raise
        raise RuntimeError(
            f"skrank.dask.{caller}: the connection to the cluster is lost "
            f"({type(error).__name__}: {error}). Nothing was stored; start a cluster "
            "and fit again."
        ) from error
