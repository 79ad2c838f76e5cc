"""scikit-learn's decorators that check parameters, with types for type checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn.base import _fit_context
from sklearn.utils._param_validation import validate_params

F = TypeVar("F", bound=Callable[..., Any])


def checks_parameters(*, prefer_skip_nested_validation: bool) -> Callable[[F], F]:
    """Decorate a ``fit`` so that the estimator's parameters are checked first.

    scikit-learn has no types, so its decorator alone would hide those of ``fit``.
    """
    decorate = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return cast(Callable[[F], F], decorate)


def checks_arguments(constraints: dict[str, Any]) -> Callable[[F], F]:
    """Decorate a function so that its arguments are checked by ``constraints``."""
    decorate = validate_params(constraints, prefer_skip_nested_validation=True)
    return cast(Callable[[F], F], decorate)
