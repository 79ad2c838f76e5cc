"""Callbacks of scikit-learn 1.9 and later; with earlier versions there are none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn 1.8
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable) -> Callable:
        """Return the method as it is."""
        return method


class FitTasks:
    """Notify callbacks of the networks of a fit, and of their epochs.

    Parameters
    ----------
    estimator : estimator
        Being fitted.
    X, y : array-like
        Data of the fit.
    metadata : dict
        Other arguments of ``fit``; those that are None are left out.
    n_networks : int
        Number of tasks of the fit.
    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, metadata: dict, n_networks: int
    ) -> None:
        self.estimator = estimator
        metadata = {key: value for key, value in metadata.items() if value is not None}
        self.data = {"X": X, "y": y, "metadata": metadata}
        self.root, self.is_watched = None, hasattr(estimator, "_skl_callbacks")
        if HAS_CALLBACKS:
            self.root = estimator._init_callback_context(max_subtasks=n_networks)
            self.root.call_on_fit_task_begin(estimator=estimator, **self.data)

    def end(self, state: dict) -> None:
        """Notify callbacks that the fit ends with these attributes."""
        if self.root is not None:
            self.root.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=state, **self.data
            )

    @contextmanager
    def network(self, max_epochs: int, state: Callable[[Any], dict]) -> Any:
        """Yield a function to call after each epoch, which returns whether to stop.

        ``state(network)`` returns the attributes of an estimator fitted so far.
        """
        if self.root is None or not self.is_watched:
            yield None
            return
        task = self.root.subcontext("network", max_subtasks=max_epochs)
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        epochs = [self._begin(task)]
        epoch_numbers: list[int] = []

        def after_epoch(network: Any) -> bool:
            stop = epochs.pop().call_on_fit_task_end(
                estimator=self.estimator,
                reconstruction_attributes=lambda: state(network),
                **self.data,
            )
            epoch_numbers.append(len(epoch_numbers))
            if not stop and len(epoch_numbers) < max_epochs:
                epochs.append(self._begin(task))
            return stop

        yield after_epoch
        for epoch in epochs:  # begun, but training stopped before
            epoch.call_on_fit_task_end(estimator=self.estimator)
        task.call_on_fit_task_end(estimator=self.estimator, **self.data)

    def _begin(self, task: Any) -> Any:
        """Begin the next epoch."""
        epoch = task.subcontext("epoch")
        epoch.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return epoch
