"""Tests of nested models: by likelihood ratio, and by Wald's statistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from skrank._data.checks import is_integer, listing
from skrank._data.html import Table, list_html, number_text, page_html, table_html
from skrank._data.lists import Floats
from skrank._fit.diagnostics import free_parameters
from skrank._fit.objective import LinearObjective
from skrank._probability.covariance import Estimate, estimate, refuse_too_many
from skrank._probability.fit_summary import FitSummary
from skrank._probability.likelihood import (
    constants_of,
    divisor_of,
    fit_without_penalty,
    why_no_model_errors,
)
from skrank._probability.nestedness import features_outside
from skrank._probability.notes import FAR_FROM_OPTIMUM
from skrank._probability.restraints import why_no_tests

SMALLEST = 1e-10  # eigenvalue of correlations of tested sums: less is rounding
ROUNDING = 1e-8  # of a likelihood, relative


@dataclass(frozen=True, eq=False)
class NestedTest:
    """A test of a smaller model against a larger one; prints in a few lines.

    Attributes
    ----------
    method : {"likelihood ratio", "Wald"}
        The test.
    hypothesis : str
        What holds in the smaller model.
    statistic : float
        About chi-squared with ``df`` degrees of freedom where the hypothesis holds and
        lists are many.
    df : int
        Number of coefficients, determined by the data, by which the models differ.
    p_value : float
        Chance of a statistic at least as large if the hypothesis holds.
    log_likelihoods : tuple of two float, or None
        Of the smaller and of the larger model; None for Wald's test.
    covariance : {"clustered", "model"} or None
        Covariance of Wald's test; None for the likelihood ratio.
    notes : tuple of str
        Other things that a reader must know.

    Examples
    --------
    >>> from skrank.inspection import NestedTest
    >>> test = NestedTest("Wald", "coefficient 0: x1", 3.84, 1, 0.05, None, "model")
    >>> print(test)
    Wald test of coefficient 0: x1
    chi-squared 3.84 with 1 degree of freedom, p = 0.05 (model covariance)
    """

    method: str
    hypothesis: str
    statistic: float
    df: int
    p_value: float
    log_likelihoods: tuple[float, float] | None
    covariance: str | None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        degrees = f"{self.df} degree{'s' * (self.df != 1)} of freedom"
        basis = f"{self.covariance} covariance"
        if self.log_likelihoods is not None:
            small, large = self.log_likelihoods
            basis = f"log-likelihoods {small:.8g} and {large:.8g}"
        return "\n".join(
            [
                f"{self.method} test of {self.hypothesis}",
                f"chi-squared {self.statistic:.6g} with {degrees}, "
                f"p = {self.p_value:.3g} ({basis})",
                *self.notes,
            ]
        )

    def _row(self) -> dict[str, Any]:
        """Return the numbers by the heads of their columns."""
        row: dict[str, Any] = {"statistic": self.statistic, "df": self.df}
        row["p"] = self.p_value
        if self.log_likelihoods is not None:
            row["log_likelihood_small"], row["log_likelihood_large"] = (
                self.log_likelihoods
            )
        else:
            row["covariance"] = self.covariance
        return row

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame of one row, named by the hypothesis.

        Returns
        -------
        frame : DataFrame
            With columns statistic, df and p, and the log-likelihoods or the
            covariance.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame([self._row()], index=[self.hypothesis])

    def _repr_html_(self) -> str:
        row = self._row()
        cells = [
            number_text(value, 6) if isinstance(value, float) else str(value)
            for value in row.values()
        ]
        table = Table(["", *row], [[self.hypothesis, *cells]], 1, f"{self.method} test")
        return page_html(table_html(table), list_html(self.notes))


class Maximum:
    """A fitted ranker at the maximum of the likelihood of its data.

    Parameters
    ----------
    ranker : estimator
        Fitted.
    objective : LinearObjective
        Its objective, on the data of the fit.
    name : str
        Its name in messages: "small" or "large".

    Raises
    ------
    ValueError
        If the fit is not a maximum of a likelihood.
    """

    def __init__(self, ranker: Any, objective: LinearObjective, name: str) -> None:
        self.ranker, self.objective, self.name = ranker, objective, name
        kind = type(ranker).__name__
        reason = why_no_tests(ranker, ranker._parameter_names())
        if reason is None:
            reason = why_no_model_errors(ranker, objective)
            if reason is not None and objective.loss.model == "pairs":
                reason += (
                    " Twice the difference of composite likelihoods is not chi-squared "
                    "(Varin, Reid, Firth 2011, section 2.3): use wald_test, whose "
                    "clustered covariance holds for them."
                )
        reason = reason or _why_drawn_again(objective.loss)
        if reason is not None:
            raise ValueError(f"{name} ({kind}) has no likelihood-ratio test: {reason}")
        self.parameters = np.concatenate((ranker.coef_, ranker.extra_))
        self.free = free_parameters(objective, ranker.extra_)
        refuse_too_many(objective, int(self.free.sum()))
        self.estimate = estimate(objective, self.parameters, self.free)
        self._refuse_other_points(kind)

    def _refuse_other_points(self, kind: str) -> None:
        """Raise ValueError if the likelihood is not at its maximum."""
        result: Estimate = self.estimate
        if result.separating is not None or not result.curved:
            raise ValueError(
                f"{self.name} ({kind}): the likelihood has no maximum, since it grows "
                "for ever in some direction (separated rows) or is not curved there."
            )
        if result.step > FAR_FROM_OPTIMUM:
            raise ValueError(
                f"{self.name} ({kind}) is not at the maximum of the likelihood of "
                f"these data, but about {result.step:.2g} standard errors away. Pass "
                "the data and weights of fit, or lower tol and ftol."
            )

    @property
    def df(self) -> int:
        """Number of parameters that the data determine."""
        return round(self.estimate.df)

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood, lists counting by their weights."""
        value = self.objective(self.parameters)[0]
        return _log_likelihood(self.objective, self.ranker.coef_, value)


def _log_likelihood(objective: LinearObjective, coef: Floats, value: float) -> float:
    """Return the log-likelihood from the value of an objective."""
    divisor = divisor_of(objective)
    assert divisor is not None  # else why_no_model_errors gives a reason
    fit = fit_without_penalty(objective, coef, value)
    return divisor * (fit + constants_of(objective))


def likelihood_ratio(
    small: Maximum | None, large: Maximum, hypothesis: str
) -> NestedTest:
    """Return the likelihood-ratio test of a model inside another; None has no features.

    Raises ValueError where the models are the same, or not inside one another.
    """
    if small is None:
        if len(large.ranker.extra_):
            raise ValueError(
                "small=None is the model without features, which for "
                f"{type(large.ranker).__name__} has parameters of its own to fit: fit "
                "it to one column of zeros, and pass it as small with X_small."
            )
        nothing = np.zeros_like(large.ranker.coef_)
        value = large.objective(nothing)[0]
        of_small, df = _log_likelihood(large.objective, nothing, value), large.df
    else:
        _refuse_other_losses(small, large)
        _refuse_other_features(small.objective, large.objective)
        of_small, df = small.log_likelihood, large.df - small.df
    of_large = large.log_likelihood
    if df < 1:
        raise ValueError(
            "small and large are the same model: their features are equivalent inside "
            "lists, and leave no degree of freedom to test."
        )
    statistic = 2.0 * (of_large - of_small)
    if statistic < -ROUNDING * abs(of_large):
        raise ValueError(
            f"small has a larger likelihood ({of_small:.8g}) than large "
            f"({of_large:.8g}), so large did not end at its maximum. Lower tol and "
            "ftol, or raise max_iter."
        )
    # A difference this close to 0 is rounding of the two likelihoods.
    statistic = max(statistic, 0.0)
    blocks = [(block.prepared, block.lists) for block in large.objective.blocks]
    notes = large.objective.loss.summary_notes(large.ranker.extra_, blocks)
    return NestedTest(
        "likelihood ratio",
        hypothesis,
        statistic,
        df,
        float(stats.chi2.sf(statistic, df)),
        (of_small, of_large),
        None,
        tuple(notes),
    )


def _why_drawn_again(loss: Any) -> str | None:
    """Return why a loss draws other labels for each fit, or None."""
    if getattr(loss, "ties", None) != "random" or is_integer(loss.random_state):
        return None
    return (
        "ties='random' draws another order of tied rows for each model. Give both "
        "rankers the same number as random_state, or take ties='marginal'."
    )


def _refuse_other_losses(small: Maximum, large: Maximum) -> None:
    """Raise ValueError if two models differ in more than their features."""
    first, second = small.objective.loss, large.objective.loss
    if repr(first) != repr(second):
        raise ValueError(
            f"small has the loss {first!r} and large {second!r}; models are nested "
            "where they differ in features alone."
        )
    of_extra = [one.free[one.objective.n_features :].tolist() for one in (small, large)]
    if of_extra[0] != of_extra[1]:
        raise ValueError(
            "a parameter of ties is at a limit of the model in one of small and large "
            "alone, where twice the difference of likelihoods is not chi-squared."
        )


def _refuse_other_features(small: LinearObjective, large: LinearObjective) -> None:
    """Raise ValueError if features of one model are not sums of those of the other."""
    outside = features_outside(small.data, large)
    if outside.any():
        raise ValueError(
            "small is not nested in large: inside lists, its feature number "
            f"{int(np.argmax(outside))} is no sum of features of large. Features of "
            "small must be among those of large, made of the same rows."
        )


def wald(
    summary: FitSummary, R: Floats, r: Floats, hypothesis: str, covariance: str
) -> NestedTest:
    r"""Return Wald's test that :math:`R \theta = r`.

    Raises ValueError where what is tested has no covariance, or too few clusters.
    """
    unknown = np.isnan(np.diag(summary.covariance_matrix))
    involved = unknown & (R != 0).any(axis=0)
    if involved.any():
        names = [summary.names[j] for j in np.flatnonzero(involved)]
        raise ValueError(
            f"there is no standard error of {listing(names)}, so that no hypothesis "
            "about it can be tested; summary says why."
        )
    n_parts = summary.n_lists if summary.n_clusters is None else summary.n_clusters
    if covariance == "clustered" and n_parts <= len(R):
        raise ValueError(
            f"{n_parts} clusters are too few to show how {len(R)} sums of coefficients "
            "vary together. Test fewer at once, or take covariance='model'."
        )
    matrix = np.where(
        np.isnan(summary.covariance_matrix), 0.0, summary.covariance_matrix
    )
    of_sums = R @ matrix @ R.T
    errors = np.sqrt(np.diag(of_sums))
    known = bool((errors > 0).all())
    scaled = of_sums / np.outer(errors, errors) if known else of_sums
    if not known or np.linalg.eigvalsh(scaled)[0] < SMALLEST:
        raise ValueError(
            "the sums of coefficients that are tested depend on each other: drop rows "
            "of R (or features) that follow from others."
        )
    distance = (R @ summary.coef - r) / errors
    statistic = float(distance @ np.linalg.solve(scaled, distance))
    p_value = float(stats.chi2.sf(statistic, len(R)))
    return NestedTest("Wald", hypothesis, statistic, len(R), p_value, None, covariance)
