"""Penalties and bounds that restrain estimates, and the results they rule out."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import listing

RIDGE = (
    "alpha > 0: standard errors are around the penalised optimum, which is pulled "
    "towards 0"
)


def why_no_errors(ranker: Any, names: list[str]) -> str | None:
    """Return why a fit has no standard errors and no AIC, or None.

    ``names`` are those of the features, and may be followed by others.
    """
    if ranker.alpha_ > 0 and getattr(ranker, "l1_ratio", 0.0) > 0:
        return (
            "alpha > 0 with l1_ratio > 0: the penalty chose the non-zero coefficients "
            "from these data, so that estimates are far from normal, and errors that "
            "take the choice as given are too small. Fit the chosen features with "
            "alpha=0, to other lists than those that chose them."
        )
    held = np.flatnonzero(getattr(ranker, "at_bounds_", np.zeros(0, dtype=bool)))
    if held.size:
        return (
            f"coefficients stopped at their bounds ({listing([names[j] for j in held])}"
            "), where estimates are not normal, and the others would be computed as if "
            "these were known. Fit without bounds (positive=False, bounds=None), or "
            "leave these features out."
        )
    return None


def why_no_tests(ranker: Any, names: list[str]) -> str | None:
    """Return why hypotheses about a fit cannot be tested, or None."""
    reason = why_no_errors(ranker, names)
    if reason is None and ranker.alpha_ > 0:
        reason = f"{RIDGE}, not around the truth. Fit with alpha=0."
    return reason
