r"""Second derivatives and covariances of a fitted linear objective.

The algebra, in the units of :class:`~skrank._fit.objective.LinearObjective`. With
:math:`\theta = [w, e]`, list weights :math:`v_q`, their sum V and divisors
:math:`m_q`, the fit minimises

.. math::

    F(\theta) = \sum_q c_q \ell_q(\theta) + \frac{\alpha}{2} \|w\|^2,
    \qquad c_q = \frac{v_q}{V m_q}.

:math:`g_q` is the gradient of :math:`\ell_q`, in w :math:`X_q^T` times the gradient in
the scores. Then

.. math::

    H = \sum_q c_q \nabla^2 \ell_q, \qquad J = \sum_q c_q^2\, g_q g_q^T, \qquad
    A = \mathrm{diag}(\alpha, \ldots, \alpha, 0, \ldots, 0),

and the covariances of the estimate around the minimum that endless data would give are

.. math::

    C_\mathrm{clustered} &= (H + A)^{-1} J (H + A)^{-1} \\
    C_\mathrm{model} &= (H + A)^{-1} \frac{H}{V m} (H + A)^{-1}.

The first (sandwich, Godambe) holds for any loss whose lists are independent, each list
one cluster. The second holds where :math:`\ell_q` is minus a log-likelihood, since the
variance of its gradient is then its second derivative, and all :math:`m_q = m`; with
:math:`\alpha = 0` and weights 1 it is the inverse of the second derivative of the sum.
It takes :math:`v_q` as a number of equal lists; the first as the weight of one list.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np
from scipy import linalg, sparse

from skrank._data.checks import LARGEST_SQUARED
from skrank._data.lists import Floats, Lists
from skrank._fit.objective import Block, LinearObjective

# Relative eigenvalue of the correlations of features inside lists below which they
# are taken as exactly dependent: differences of gradients do not see less.
COLLINEAR = 1e-10
# Share of a feature's own length below which a direction does not involve it.
INVOLVED = 1e-5
FLAT = 1e-10  # relative curvature that rounding alone can give
FAR = 150.0  # range of scores at which losses have become straight
# A step that moves no two rows of a list further apart than this is no sign of trouble.
SMALL_MOVE = 0.05
# The loss rises this much slower one way than the other: it does not rise at all.
RECEDES = 1e-4

# Errors from the spread between lists and from curvature differ by less, unless lists
# have no spread.
SILENT = 1e-6


class Derivatives(NamedTuple):
    """What a fit's covariances are made of; P parameters, p of them weights.

    Attributes
    ----------
    gradient : ndarray of shape (P,)
        Of the whole objective, penalty and all.
    hessian, meat : ndarray of shape (P, P)
        H and J of the module's docstring, both without the penalty.
    gram : ndarray of shape (p, p)
        Products of the features about their means inside lists, over the lists that
        have a gradient.
    n_lists : int
        Number of lists that have a gradient.
    """

    gradient: Floats
    hessian: Floats
    meat: Floats
    gram: Floats
    n_lists: int


def derivatives(objective: LinearObjective, parameters: Floats) -> Derivatives:
    """Return the first and second derivatives of an objective, block by block.

    The Hessian takes one product ``loss.hessian_product`` a feature, and central
    differences in each extra parameter; no matrix of n by n rows is ever made. Raises
    ValueError where products of features would leave the range of float64.
    """
    p, n_parameters = objective.n_features, len(parameters)
    gradient = np.zeros(n_parameters)
    hessian = np.zeros((n_parameters, n_parameters))
    meat = np.zeros((n_parameters, n_parameters))
    gram = np.zeros((p, p))
    size = np.zeros(p)
    n_lists = 0
    for block in objective.blocks:
        scores, centred = _scores_and_features(block, parameters[:p])
        np.maximum(size, np.max(np.abs(centred), axis=0), out=size)
        if np.max(size) > LARGEST_SQUARED:
            _refuse_size(int(np.argmax(size)), "large")
        rows, lists = np.ascontiguousarray(centred.T), block.lists
        extra = parameters[p:]
        given = (extra,) if len(extra) else ()
        loss, prepared = objective.loss, block.prepared
        result = loss.value_and_gradient(scores, prepared, lists, *given)
        own = np.add.reduceat(centred * result[1][:, None], lists.starts, axis=0)
        if given:
            own = np.hstack((own, result[2]))
        own *= block.factors[:, None]
        gradient += own.sum(axis=0)
        meat += own.T @ own
        informed = (lists.max(np.abs(result[1])) > 0) & (block.factors > 0)
        n_lists += int(informed.sum())
        gram += rows @ (centred * lists.expand(informed)[:, None])
        products = np.empty_like(rows)
        for column, direction in zip(products, rows, strict=True):
            column[:] = loss.hessian_product(scores, prepared, lists, direction, *given)
        products *= lists.expand(block.factors)
        hessian[:p, :p] += rows @ products.T
        for number in range(len(extra)):
            _add_extra(hessian, number, objective, block, scores, rows, extra)
    small = (size > 0) & (size < 1.0 / LARGEST_SQUARED)
    if small.any():
        _refuse_size(int(np.argmax(small)), "small")
    gradient[:p] += objective.alpha * parameters[:p]
    # Differences in the extra parameters give the columns; products are symmetric.
    hessian[p:, :p] = hessian[:p, p:].T
    hessian = (hessian + hessian.T) / 2
    return Derivatives(gradient, hessian, meat, gram, n_lists)


def _refuse_size(column: int, size: str) -> NoReturn:
    raise ValueError(
        f"X has a feature so {size} (column {column}) that products of features are "
        "no float64 numbers, and so there are no standard errors. Scale X, for example "
        "with StandardScaler."
    )


def _scores_and_features(block: Block, coef: Floats) -> tuple[Floats, Floats]:
    """Return a block's features about their means inside lists, and their scores.

    Losses do not depend on a list's mean score, but differences lose digits to it.
    """
    X = block.features(None)[0]
    X = X.toarray() if sparse.issparse(X) else X
    X = np.asarray(X, dtype=np.float64)
    lists = block.lists
    # The first row out first, so that what is constant is exactly 0.
    centred = X - lists.expand(X[lists.starts])
    means = np.add.reduceat(centred, lists.starts, axis=0) / lists.sizes[:, None]
    centred -= lists.expand(means)
    return centred @ coef, centred


def _add_extra(
    hessian: Floats,
    number: int,
    objective: LinearObjective,
    block: Block,
    scores: Floats,
    rows: Floats,
    extra: Floats,
) -> None:
    """Add a block's derivatives of the gradient in one extra parameter."""
    p = objective.n_features
    step = np.zeros(len(extra))
    step[number] = np.cbrt(np.finfo(np.float64).eps) * max(1.0, abs(extra[number]))
    above, below = (
        objective.loss.value_and_gradient(scores, block.prepared, block.lists, moved)
        for moved in (extra + step, extra - step)
    )
    width = 2.0 * step[number]
    slope = (above[1] - below[1]) * block.lists.expand(block.factors)
    hessian[:p, p + number] += rows @ slope / width
    hessian[p:, p + number] += block.factors @ (above[2] - below[2]) / width


class Estimate(NamedTuple):
    """Covariances of a fit, and what is wrong with it.

    Attributes
    ----------
    clustered, model : ndarray of shape (P, P)
        Covariances of the module's docstring, the second without its factor
        1 / (V m); NaN for parameters that have none.
    df : float
        Effective number of parameters, the trace of H (H + A)^-1.
    optimism : float
        The trace of (H + A)^-1 J: what CLIC takes twice, times V.
    constant : ndarray of bool of shape (p,)
        Features without any variation inside lists.
    collinear : list of ndarray of shape (p,)
        Weights of features, each a sum that is constant inside every list.
    separating : ndarray of shape (P,) or None
        Where the objective never rises in some direction: each parameter's part in
        it, times its feature's spread, the largest 1. All covariances are NaN then.
    silent : ndarray of bool of shape (P,)
        Parameters about which the gradients of lists say nothing, though curvatures
        do: clustered errors of 0, which are NaN here.
    curved : bool
        Whether the objective is curved upwards wherever the data can tell.
    step : float
        Newton step to the minimum, the largest number of (clustered) standard errors.
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


def estimate(
    whole: LinearObjective, parameters: Floats, free: np.ndarray | None = None
) -> tuple[Estimate, int]:
    """Return the covariances of a fit and the number of lists that inform it.

    Only ``free`` parameters are estimated; covariances have these alone. Weights are
    always free, other parameters are where they are at no limit of the model.
    """
    with whole.running():  # BLAS threads would stall on products of blocks
        found = derivatives(whole, parameters)
    objective: LinearObjective | _Held = whole
    if free is not None:
        objective, parameters = _Held(whole, parameters, free), parameters[free]
        found = found._replace(
            gradient=found.gradient[free],
            hessian=found.hessian[np.ix_(free, free)],
            meat=found.meat[np.ix_(free, free)],
        )
    p, n_parameters = objective.n_features, len(parameters)
    penalty = np.zeros(n_parameters)
    penalty[:p] = objective.alpha
    constant, dependent, basis = _estimable(found.gram)
    if objective.alpha > 0:
        # The penalty tells even dependent features apart.
        basis = np.eye(p)[:, ~constant]
    n_weights = basis.shape[1]
    basis = linalg.block_diag(basis, np.eye(n_parameters - p))
    curvature = np.diag(basis.T @ (found.hessian + np.diag(penalty)) @ basis).copy()
    if objective.alpha == 0 and n_weights:
        # Weights compare already; extra parameters are brought to the same size.
        curvature[:n_weights] = curvature[:n_weights].mean()
        curvature /= curvature[0] if curvature[0] > 0 else 1.0
    basis /= np.sqrt(np.where(curvature > 0, curvature, 1.0))
    H = basis.T @ found.hessian @ basis
    J = basis.T @ found.meat @ basis
    bread = H + (basis.T * penalty) @ basis
    values, vectors = np.linalg.eigh(bread)
    largest = np.max(np.abs(values), initial=0.0)
    floored = np.maximum(values, FLAT * largest) if largest > 0 else np.ones(len(H))
    scaled = vectors / floored
    step = -basis @ (scaled @ (vectors.T @ (basis.T @ found.gradient)))
    separating = None
    if objective.alpha == 0 and len(values):
        separating = _recession(
            objective, parameters, step, basis @ vectors[:, 0], values[0], largest
        )
    if separating is not None:
        separating[:p] *= np.sqrt(np.diag(found.gram))
        separating = np.abs(separating) / np.max(np.abs(separating))
    inverse = scaled @ vectors.T
    clustered = basis @ (inverse @ J @ inverse) @ basis.T
    model = basis @ (inverse @ H @ inverse) @ basis.T
    undefined = np.zeros(n_parameters, dtype=bool)
    undefined[:p] = constant
    if objective.alpha == 0:
        for direction in dependent:
            undefined[:p] |= direction != 0
    curved = bool((values > 0).all())
    if separating is not None or not curved:
        undefined[:] = True
    for covariance in (clustered, model):
        covariance[undefined] = np.nan
        covariance[:, undefined] = np.nan
    silent = ~undefined & (
        np.diag(clustered) * max(found.n_lists, 1) < SILENT**2 * np.diag(model)
    )
    clustered[silent] = np.nan
    clustered[:, silent] = np.nan
    errors = standard_errors(clustered)
    told = errors > 0
    moves = np.abs(step[told]) / errors[told]
    return (
        Estimate(
            clustered,
            model,
            float(np.trace(inverse @ H)),
            float(np.trace(inverse @ J)),
            constant,
            dependent,
            separating,
            silent,
            curved,
            float(np.max(moves, initial=0.0)),
        ),
        found.n_lists,
    )


class _Held:
    """An objective whose parameters that are not free stay where they are."""

    def __init__(
        self, objective: LinearObjective, parameters: Floats, free: np.ndarray
    ) -> None:
        self.objective, self.parameters, self.free = objective, parameters, free
        self.n_features, self.alpha = objective.n_features, objective.alpha
        self.blocks = objective.blocks

    def __call__(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the value, and the gradient in the free parameters."""
        whole = self.parameters.copy()
        whole[self.free] = parameters
        value, gradient = self.objective(whole)
        return value, gradient[self.free]


def standard_errors(covariance: Floats) -> Floats:
    """Return the roots of a covariance's diagonal, NaN where that is NaN."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))  # rounding below 0


def _estimable(gram: Floats) -> tuple[np.ndarray, list[Floats], Floats]:
    """Return constant features, dependent sums, and a basis (p, r) of the rest.

    The basis makes the features' products the identity, so that curvatures along it
    compare.
    """
    length = np.sqrt(np.diag(gram))
    constant = length == 0
    varied = np.flatnonzero(~constant)
    scale = length[varied]
    values, vectors = np.linalg.eigh(
        gram[np.ix_(varied, varied)] / np.outer(scale, scale)
    )
    small = values <= COLLINEAR
    basis = np.zeros((len(length), int((~small).sum())))
    basis[varied] = vectors[:, ~small] / np.sqrt(values[~small]) / scale[:, None]
    dependent = []
    for row in _echelon(vectors[:, small].T.copy()):
        direction = np.zeros(len(length))
        direction[varied] = row / scale
        dependent.append(direction / np.max(np.abs(direction)))
    return constant, dependent, basis


def _echelon(rows: Floats) -> Floats:
    """Return rows that span the same space, each with a column of its own."""
    for number in range(len(rows)):
        at, pivot = divmod(int(np.argmax(np.abs(rows[number:]))), rows.shape[1])
        rows[[number, number + at]] = rows[[number + at, number]]
        rows[number] /= rows[number, pivot]
        others = np.arange(len(rows)) != number
        rows[others] -= np.outer(rows[others, pivot], rows[number])
    rows[np.abs(rows) < INVOLVED] = 0.0
    return rows


def _recession(
    objective: LinearObjective | _Held,
    parameters: Floats,
    step: Floats,
    flattest: Floats,
    smallest: float,
    largest: float,
) -> Floats | None:
    """Return a direction, up to its sign, in which the objective never rises, or None.

    Where lists are separated the curvature and the gradient fade alike, so that the
    Newton step stays of the size of the gap however long the solver runs; or both
    have vanished, and the flattest direction or the coefficients' own is meant.
    """
    p = objective.n_features
    candidates = []
    if score_range(objective, step[:p]) > SMALL_MOVE:
        candidates += [step, flattest]
    if smallest <= FLAT * largest:
        candidates += [flattest, parameters]
    for direction in candidates:
        reach = score_range(objective, direction[:p])
        if reach == 0:
            continue
        far = direction * (FAR / reach)
        slopes = [
            objective(parameters + 2.0 * way * far)[0]
            - objective(parameters + way * far)[0]
            for way in (1.0, -1.0)
        ]
        if min(slopes) < RECEDES * max(slopes):
            return direction.copy()
    return None


def score_range(objective: LinearObjective | _Held, coef: Floats) -> float:
    """Return the largest range of ``X @ coef`` inside a list."""
    ranges = [0.0]
    for block in objective.blocks:
        scores = np.asarray(block.features(None)[0] @ coef, dtype=np.float64)
        lists: Lists = block.lists
        ranges.append(float(np.max(lists.max(scores) - lists.min(scores))))
    return max(ranges)
