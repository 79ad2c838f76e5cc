"""Methods that a ranker has only if its loss is a certain kind of model."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any, Generic, TypeVar, cast

R = TypeVar("R")


class ByModel(Generic[R]):
    """A method of rankers, chosen by the ``model`` of the ranker's loss.

    This is like scikit-learn's ``available_if``: if the loss has no such model, the
    ranker has no such attribute. In addition, each model may have a function of its
    own, with other arguments. The function gets the ranker with the parameters, and so
    the loss, of its fit. And a class shows the function of its default loss, so
    that ``help`` and the site show the right arguments.

    Parameters
    ----------
    **functions : callable
        For each model a function whose first argument is the ranker.
    """

    def __init__(self, **functions: Callable[..., R]) -> None:
        self.functions = {
            model: _of_fit(function) for model, function in functions.items()
        }

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, ranker: Any, owner: type) -> Callable[..., R]:
        try:
            loss = (owner() if ranker is None else ranker._as_fitted())._loss()
        except (NotImplementedError, TypeError):
            if ranker is None:  # a class without a default loss
                return cast(Callable[..., R], self)
            raise
        function = self.functions.get(loss.model)
        if function is None:
            known = " or ".join(map(repr, self.functions))
            reason = f"{loss} is a model of {loss.model}."
            if loss.model is None:
                reason = loss.why_no_likelihood() or f"{loss} is no probability model."
            raise AttributeError(
                f"{owner.__name__!r} object has no attribute {self.name!r}: that needs "
                f"a loss whose model is {known}, and {reason}"
            )
        return function if ranker is None else MethodType(function, ranker)


def _of_fit(function: Callable[..., R]) -> Callable[..., R]:
    """Return a function that gets the ranker as it was fitted."""

    @wraps(function)
    def method(ranker: Any, *args: Any, **kwargs: Any) -> R:
        # Of a class the method may be called with anything; function refuses that.
        if hasattr(ranker, "_as_fitted"):
            ranker = ranker._as_fitted()
        return function(ranker, *args, **kwargs)

    return method
