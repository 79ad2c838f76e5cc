r"""Covariances of the parameters of a fitted linear objective.

In the notation of :mod:`skrank._fit.curvature` (H second derivatives, J squares of the
gradients of lists, A the penalty, V the sum of list weights, m the divisor of each
list), the covariances of the estimate around the minimum for endless data are

.. math::

    C_\mathrm{clustered} &= (H + A)^{-1} J (H + A)^{-1} \\
    C_\mathrm{model} &= (H + A)^{-1} \frac{H}{V m} (H + A)^{-1}.

The first (sandwich, Godambe) holds for any loss if lists are independent; each list is
a cluster. The second holds if :math:`\ell_q` is minus a log-likelihood, since the
variance of its gradient is then its second derivative, and if all :math:`m_q = m`. With
:math:`\alpha = 0` and weights 1 it is the inverse of the second derivative of the sum.
The second takes the weight of a list as a number of equal lists, the first as the
weight of one list. With clusters of lists, the gradients of a cluster are added up
before they are squared in J.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank._data.lists import Floats, Indices
from skrank._fit.curvature import curvature
from skrank._fit.derivatives import Counts
from skrank._fit.objective import LinearObjective

# Clustered errors that are smaller than this share of those from curvature come from
# lists without any spread.
SILENT = 1e-6
LARGEST_BYTES = 2**31  # limit for matrices of all parameters
# Matrices of all parameters, and copies of a block's features, in memory at once.
N_MATRICES, N_COPIES = 12, 4
N_COLUMNS = 4  # columns of all parameters, for each solved one


class Estimate(NamedTuple):
    """Covariances of a fit, and its problems.

    Attributes
    ----------
    clustered, model : ndarray of shape (P, P)
        Covariances of the module's docstring, the second without its factor
        1 / (V m); NaN for parameters that have none.
    df : float
        Effective number of parameters, the trace of H (H + A)^-1.
    optimism : float
        The trace of (H + A)^-1 J; CLIC adds 2 V times this.
    constant : ndarray of bool of shape (p,)
        Features without any variation inside lists.
    collinear : list of ndarray of shape (p,)
        Weights of features, each a sum that is constant inside every list.
    separating : ndarray of shape (P,) or None
        A direction in which the objective never rises: the part of each parameter,
        times the spread of its feature, with the largest part 1; covariances are then
        NaN. None if there is no such direction.
    silent : ndarray of bool of shape (P,)
        Parameters in which the gradient of every list is 0, although the objective is
        curved; all of them where there is one cluster. Their clustered errors would be
        0 or no more than the penalty, and are NaN here.
    curved : bool
        Whether the curvature is positive in all directions that the data determine.
    step : float
        Newton step to the minimum, the largest number of (clustered) standard errors.
    counts : Counts
        Numbers of lists and clusters that inform the parameters.
    """

    clustered: Floats
    model: Floats
    df: float
    optimism: float
    constant: np.ndarray
    collinear: list[Floats]
    separating: Floats | None
    silent: np.ndarray
    curved: bool
    step: float
    counts: Counts

    def without_errors(self) -> Estimate:
        """Return an estimate with counts alone, where there can be no errors."""
        nothing = np.full_like(self.clustered, np.nan)
        return self._replace(
            clustered=nothing,
            model=nothing.copy(),
            df=np.nan,
            optimism=np.nan,
            collinear=[],
            separating=None,
            silent=np.zeros_like(self.silent),
            curved=True,
            step=0.0,
        )

    def of(self, places: Indices, n_features: int) -> Estimate:
        """Return the estimate of some of its parameters."""
        weights = places[places < n_features]
        return self._replace(
            clustered=self.clustered[np.ix_(places, places)],
            model=self.model[np.ix_(places, places)],
            constant=self.constant[weights],
            collinear=[one[weights] for one in self.collinear if one[weights].any()],
            separating=None if self.separating is None else self.separating[places],
            silent=self.silent[places],
            counts=self.counts._replace(
                of_parameters=self.counts.of_parameters[places]
            ),
        )


def fits_in_memory(objective: LinearObjective, n_parameters: int) -> bool:
    """Return whether matrices of so many parameters are within the bound."""
    return _n_bytes(objective, n_parameters) <= LARGEST_BYTES


def refuse_too_many(objective: LinearObjective, n_parameters: int) -> None:
    """Raise ValueError if matrices would take more memory than the bound."""
    if fits_in_memory(objective, n_parameters):
        return
    raise ValueError(
        f"Standard errors of {n_parameters:,} coefficients would need about "
        f"{_gib(_n_bytes(objective, n_parameters))} for matrices of all of them, more "
        f"than the {_gib(LARGEST_BYTES)} that are allowed. Ask for fewer: "
        "summary(..., features=[...]) with names or numbers of at most "
        f"{_most_solved(n_parameters):,} features finds theirs by solving."
    )


def refuse_too_many_solved(n_parameters: int, n_chosen: int) -> None:
    """Raise ValueError if solving for so many would take too much memory."""
    most = _most_solved(n_parameters)
    if n_chosen > most:
        raise ValueError(
            f"Standard errors of {n_chosen:,} out of {n_parameters:,} coefficients "
            f"would need more than {_gib(LARGEST_BYTES)}. Ask for at most {most:,} at "
            "once in features=."
        )


def _most_solved(n_parameters: int) -> int:
    """Return how many coefficients of so many can be solved for at once."""
    return LARGEST_BYTES // (8 * N_COLUMNS * n_parameters)


def _gib(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:,.3g} GiB"


def _n_bytes(objective: LinearObjective, n_parameters: int) -> int:
    """Return about how much memory matrices of parameters and blocks take."""
    n_rows = max(block.stop - block.start for block in objective.blocks)
    return 8 * n_parameters * (N_MATRICES * n_parameters + N_COPIES * n_rows)


def estimate(
    objective: LinearObjective,
    parameters: Floats,
    free: np.ndarray | None = None,
    clusters: Indices | None = None,
) -> Estimate:
    """Return the covariances of a fit.

    Only ``free`` parameters are estimated, and covariances have these alone. Weights
    are always free, other parameters unless they are at a limit of the model.
    ``clusters`` are numbers of the clusters of lists, whose gradients are added up for
    J; None makes each list one.
    """
    curve = curvature(objective, parameters, free, clusters)
    p, n_lists = objective.n_features, curve.derivatives.counts.n_lists
    basis, inverse = curve.basis, curve.inverse
    clustered = basis @ (inverse @ curve.meat @ inverse) @ basis.T
    model = basis @ (inverse @ curve.hessian @ inverse) @ basis.T
    undefined = np.zeros(len(curve.step), dtype=bool)
    undefined[:p] = curve.constant
    if objective.alpha == 0:
        for direction in curve.collinear:
            undefined[:p] |= direction != 0
    if curve.separating is not None or not curve.curved:
        undefined[:] = True
    for covariance in (clustered, model):
        covariance[undefined] = np.nan
        covariance[:, undefined] = np.nan
    # One cluster has no spread: its gradient is minus that of the penalty.
    silent = ~undefined & (
        (np.diag(clustered) * max(n_lists, 1) < SILENT**2 * np.diag(model))
        | (curve.derivatives.counts.n_clusters == 1)
    )
    clustered[silent] = np.nan
    clustered[:, silent] = np.nan
    errors = standard_errors(clustered)
    known = errors > 0
    moves = np.abs(curve.step[known]) / errors[known]
    return Estimate(
        clustered,
        model,
        float(np.trace(inverse @ curve.hessian)),
        float(np.trace(inverse @ curve.meat)),
        curve.constant,
        curve.collinear,
        curve.separating,
        silent,
        curve.curved,
        float(np.max(moves, initial=0.0)),
        curve.derivatives.counts,
    )


def standard_errors(covariance: Floats) -> Floats:
    """Return the roots of a covariance's diagonal, NaN where that is NaN."""
    # Rounding may give less than 0.
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))
