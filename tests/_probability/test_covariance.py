"""First and second derivatives of a fit against differences and stacked lists."""

import numpy as np
import pytest
from scipy import sparse

from skrank import Lists
from skrank._fit.data import FitData
from skrank._fit.derivatives import derivatives
from skrank._fit.objective import LinearObjective
from skrank._probability.covariance import estimate
from skrank.losses import ListMLE, Loss, RankNet

SIZES = [3, 1, 5, 4, 2]


class TiedPairs(Loss):
    """Davidson's pairs written as loops, with b = log nu an extra parameter."""

    def prepare(self, y, lists):
        return y

    def extra_parameters(self, y, lists):
        return np.array([0.1])

    def value_and_gradient(self, scores, y, lists, extra):
        values, gradient = np.zeros(lists.n_lists), np.zeros(lists.n_rows)
        in_extra = np.zeros((lists.n_lists, 1))
        for q in range(lists.n_lists):
            rows = range(lists.offsets[q], lists.offsets[q + 1])
            for i in rows:
                for j in range(rows.start, i):
                    middle = extra[0] + (scores[i] + scores[j]) / 2
                    logits = np.array([scores[i], scores[j], middle])
                    total = np.logaddexp.reduce(logits)
                    p = np.exp(logits - total)
                    observed = np.array([y[i] > y[j], y[i] < y[j], y[i] == y[j]])
                    values[q] += total - logits @ observed
                    p = p - observed
                    gradient[i] += p[0] + p[2] / 2
                    gradient[j] += p[1] + p[2] / 2
                    in_extra[q] += p[2]
        return values, gradient, in_extra


def data(seed=0, n_features=3):
    rng = np.random.default_rng(seed)
    n_rows = sum(SIZES)
    return rng.standard_normal((n_rows, n_features)), rng.integers(0, 3, n_rows) * 1.0


def objective_of(loss, alpha=0.2, X=None, *, weights=None, rows=None, **options):
    data_of_fit, y = data()
    X = data_of_fit if X is None else X
    return LinearObjective(
        FitData(X, y, Lists(SIZES), weights, rows), loss, alpha=alpha, **options
    )


LOSSES = [ListMLE(), ListMLE("breslow"), RankNet(), RankNet("gain"), TiedPairs()]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("normalize", [None, "size"])
def test_derivatives_equal_differences_of_the_objective(loss, normalize):
    weights = np.array([1.0, 2.0, 0.5, 0.0, 3.0])
    objective = objective_of(loss, weights=weights, normalize=normalize)
    rng = np.random.default_rng(1)
    point = objective.start + 0.5 * rng.standard_normal(len(objective.start))
    computed = derivatives(objective, point)
    np.testing.assert_allclose(computed.gradient, objective(point)[1], atol=1e-14)
    step = 1e-5
    columns = [
        (objective(point + step * e)[1] - objective(point - step * e)[1]) / (2 * step)
        for e in np.eye(len(point))
    ]
    expected = np.array(columns) - np.diag([0.2] * 3 + [0.0] * (len(point) - 3))
    # Differences over 1e-5 are exact to about 1e-10.
    np.testing.assert_allclose(computed.hessian, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_meat_adds_the_squares_of_single_lists(loss):
    X, y = data()
    point = np.array([0.3, -0.8, 0.1, 0.4])
    objective = objective_of(loss, alpha=0.0)
    point = point[: len(objective.start)]
    expected = 0.0
    for first, last in zip(np.cumsum([0, *SIZES[:-1]]), np.cumsum(SIZES), strict=True):
        rows = slice(first, last)
        alone = LinearObjective(
            FitData(X[rows], y[rows], Lists([last - first])), loss, alpha=0
        )
        gradient = alone(point)[1] / 5
        expected = expected + np.outer(gradient, gradient)
    computed = derivatives(objective, point)
    np.testing.assert_allclose(computed.meat, expected, rtol=1e-12, atol=1e-15)
    assert computed.counts.n_lists == 4  # a list of one row tells nothing


def test_sparse_narrow_and_gathered_features_give_the_same(tmp_path):
    X = data()[0]
    X[np.abs(X) < 0.5] = 0.0
    point = np.array([0.3, -0.8, 0.1])
    expected = derivatives(objective_of(ListMLE(), X=X), point)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = np.memmap(tmp_path / "x", dtype=X.dtype, mode="w+", shape=X.shape)
    shuffled[order] = X
    for other, rows in ((sparse.csr_array(X), None), (shuffled, order)):
        computed = derivatives(objective_of(ListMLE(), X=other, rows=rows), point)
        for first, second in zip(computed[:4], expected[:4], strict=True):
            np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-14)
    narrow = derivatives(objective_of(ListMLE(), X=X.astype(np.float32)), point)
    np.testing.assert_allclose(narrow.hessian, expected.hessian, atol=1e-6)


@pytest.mark.parametrize(
    ("alpha", "units"), [(0.0, np.array([1e6, 1.0, 1e-5])), (0.5, np.ones(3))]
)
def test_covariances_do_not_depend_on_origins_or_without_penalty_units(alpha, units):
    X, point = data()[0], np.array([0.3, -0.8, 0.1])
    one = estimate(objective_of(ListMLE(), alpha), point)
    other = objective_of(ListMLE(), alpha, X=(X + 1e3) * units)
    two = estimate(other, point / units)
    scale = np.outer(units, units)
    # Taking 1e3 out of numbers near 1 leaves 13 digits, of which differences over
    # 6e-6 leave 7 or 8.
    np.testing.assert_allclose(two.clustered * scale, one.clustered, rtol=1e-7)
    np.testing.assert_allclose(two.model * scale, one.model, rtol=1e-7)


def test_covariances_with_a_penalty_are_those_of_the_formula():
    objective = objective_of(ListMLE(), alpha=0.3)
    point = np.array([0.3, -0.8, 0.1])
    parts = derivatives(objective, point)
    bread = np.linalg.inv(parts.hessian + 0.3 * np.eye(3))
    estimated = estimate(objective, point)
    assert estimated.counts.n_lists == parts.counts.n_lists
    np.testing.assert_allclose(
        estimated.clustered, bread @ parts.meat @ bread, rtol=1e-10
    )
    np.testing.assert_allclose(
        estimated.model, bread @ parts.hessian @ bread, rtol=1e-10
    )
    assert estimated.df == pytest.approx(np.trace(parts.hessian @ bread))
    assert estimated.optimism == pytest.approx(np.trace(bread @ parts.meat))
