"""Leave an estimator as it was when its fit raises."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def keeps_old_state(fit: F) -> F:
    """Decorate a ``fit`` so that an error leaves the estimator as it was before.

    Checks of scikit-learn store names and number of the features before the rest of
    the arguments are looked at. A refit that failed half way would answer with the
    weights of one table for the columns of another.
    """

    @wraps(fit)
    def all_or_nothing(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(F, all_or_nothing)
