"""Leave an estimator as it was where its fit ends in an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Give an estimator its attributes back if what runs inside raises.

    A fit stores names of features before all is checked, which beside the weights of
    an earlier fit would answer wrongly and in silence. Attributes must be replaced,
    not changed in place.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
