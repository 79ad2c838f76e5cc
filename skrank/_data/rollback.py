"""Restore an estimator if its ``fit`` raises."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def keeps_old_state(fit: F) -> F:
    """Decorate a ``fit`` so that an error leaves the estimator as it was before.

    scikit-learn stores names and number of the features before other arguments are
    checked. Without this, a refit that fails half way would leave weights of the old
    columns beside names of the new ones.
    """

    @wraps(fit)
    def all_or_nothing(self: Any, *args: Any, **kwargs: Any) -> Any:
        old_state = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(old_state)
            raise

    return cast(F, all_or_nothing)
