"""Report the progress of a fit to scikit-learn's callbacks, if it has them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar, cast

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement for scikit-learn's mixin, without callbacks."""


F = TypeVar("F", bound=Callable[..., Any])
# Called after each iteration of the fit that runs in this thread.
_listener: ContextVar[Callable[[], None] | None] = ContextVar("listener", default=None)


def iteration_done() -> None:
    """Notify the callbacks of the running fit, if any, of a finished iteration."""
    listener = _listener.get()
    if listener is not None:
        listener()


def reports_progress(fit: F) -> F:
    """Decorate a ``fit`` so that callbacks are called at its start, iterations and end.

    If no callbacks are set, on the estimator or on a search or pipeline around it, the
    fit runs as it is. Callbacks cannot stop a fit.
    """

    @wraps(fit)
    def reporting(self: Any, X: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        if not (
            hasattr(self, "_skl_callbacks") or hasattr(self, "_parent_callback_ctx")
        ):
            return fit(self, X, y, *args, **kwargs)
        # The number of iterations is not known in advance.
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)

        def one_more() -> None:
            iteration = context.subcontext(task_name="iteration")
            iteration.call_on_fit_task_begin(estimator=self)
            iteration.call_on_fit_task_end(estimator=self)

        token = _listener.set(one_more)
        try:
            result = fit(self, X, y, *args, **kwargs)
        finally:
            _listener.reset(token)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return result

    return cast(F, reporting)
