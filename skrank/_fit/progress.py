"""Report the progress of a fit: in printed lines, and to scikit-learn's callbacks."""

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


def solver_began(name: str, value: float, verbose: int) -> None:
    """Print the objective at zero weights, where ``verbose`` is positive."""
    if verbose > 0:
        print(f"[{name}] zero weights: objective {value:.9g}")


def iteration_done(name: str, n_iter: int, value: float, verbose: int) -> None:
    """Notify the callbacks of a finished iteration; print each ``verbose``-th."""
    listener = _listener.get()
    if listener is not None:
        listener()
    if verbose > 0 and n_iter % verbose == 0:
        print(f"[{name}] iteration {n_iter}: objective {value:.9g}")


def solver_ended(
    name: str, n_iter: int, value: float, gap: float, verbose: int
) -> None:
    """Print where the solver ended, where ``verbose`` is positive."""
    if verbose > 0:
        print(
            f"[{name}] stopped after {n_iter} iterations: objective {value:.9g}, by "
            f"estimate {gap:.2g} above the least"
        )


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
