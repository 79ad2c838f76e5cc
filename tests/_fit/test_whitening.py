"""Whitened coordinates: what they are, and how few evaluations fits then need."""

import numpy as np
import pytest
from scipy import sparse

from skrank import ListMLERanker, Lists, RankNetRanker
from skrank._fit.data import FitData
from skrank._fit.features import constant_features
from skrank._fit.gram import Gram, row_space, weighted_gram
from skrank._fit.lbfgs import LAST_DIGITS, minimize_lbfgs
from skrank._fit.objective import LinearObjective
from skrank._fit.whitening import Root, Whitened
from skrank.losses import (
    Davidson,
    ListMLE,
    ListNet,
    RankNet,
    RankRegression,
    RankSVM,
    RaoKupper,
)
from skrank.metrics import pairwise_accuracy_score

STANDARD = {"tol": 1e-6, "ftol": LAST_DIGITS, "max_iter": 1000}


def data(n_lists=30, length=7, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    lists = Lists(np.full(n_lists, length))
    X = rng.standard_normal((lists.n_rows, n_features))
    y = np.digitize(X[:, 0] + rng.standard_normal(len(X)), [-1.0, 0.0, 1.0])
    return FitData(X, y.astype(float), lists)


def hessian(objective, parameters):
    """Return second derivatives by central differences of the whole gradient."""
    columns = []
    for unit in np.eye(len(parameters)):
        above = objective(parameters + 1e-5 * unit)[1]
        below = objective(parameters - 1e-5 * unit)[1]
        columns.append((above - below) / 2e-5)
    return np.array(columns)


def solve(objective, **options):
    return minimize_lbfgs(objective, objective.start, **{**STANDARD, **options})


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_a_root_of_a_regular_matrix_is_exact(alpha):
    A = np.random.default_rng(0).standard_normal((9, 5))
    A *= 10.0 ** np.arange(-6.0, 9.0, 3.0)  # raw scales
    root = Root(A.T @ A, alpha)
    inverse = np.array([root.move(unit) for unit in np.eye(5)]).T
    unit = 1.0 / root.scale  # in which all entries are of size 1
    product = inverse.T @ (A.T @ A + alpha * np.eye(5)) @ inverse
    np.testing.assert_allclose(product, np.eye(5), atol=1e-8)
    gradient = np.arange(1.0, 6.0) / unit
    np.testing.assert_allclose(root.slope(gradient), inverse.T @ gradient, rtol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_root_of_few_features_is_one_matrix_in_both_directions(n):
    A = np.random.default_rng(1).standard_normal((9, n)) * 7.0
    root = Root(A.T @ A, 0.0)
    u, gradient = np.arange(1.0, n + 1), np.arange(3.0, n + 3)
    step = root.move(u)
    assert step @ (A.T @ A) @ step == pytest.approx(u @ u, rel=1e-12)
    assert root.slope(gradient) @ u == pytest.approx(gradient @ step, rel=1e-12)


def test_a_deficient_matrix_without_a_penalty_has_a_root_too():
    A = np.random.default_rng(0).standard_normal((9, 3))
    A = np.c_[A, A[:, 0] - 2 * A[:, 1]]
    root = Root(A.T @ A, 0.0)
    direction = root.move(np.arange(1.0, 5.0))
    assert np.all(np.isfinite(direction))
    inverse = np.array([root.move(unit) for unit in np.eye(4)]).T
    eigenvalues = np.linalg.eigvalsh(inverse.T @ A.T @ A @ inverse)
    np.testing.assert_allclose(eigenvalues, [0.0, 1.0, 1.0, 1.0], atol=1e-5)


def test_without_a_penalty_equal_features_share_the_weight():
    one = data()
    X = np.c_[one.X, one.X[:, 0]]
    both = FitData(X, one.y, one.lists)
    twice = solve(LinearObjective(both, ListNet(), alpha=0.0), tol=1e-9)
    once = solve(LinearObjective(one, ListNet(), alpha=0.0), tol=1e-9)
    assert twice.problem is None
    expected = np.r_[once.parameters, once.parameters[0]] * [0.5, 1, 1, 1, 0.5]
    # An eigenvalue of 0 is raised to 1e-8, by which rounding of gradients is divided.
    np.testing.assert_allclose(twice.parameters, expected, atol=1e-6)


@pytest.mark.parametrize("loss", [ListNet(), ListNet("softmax", temperature=0.1)])
def test_the_gram_matrix_of_a_softmax_is_its_hessian(loss):
    objective = LinearObjective(data(), loss, alpha=0.0)
    at = np.array([1.0, -0.5, 0.2, 0.0])
    gram = weighted_gram(objective, at).gram
    np.testing.assert_allclose(gram, hessian(objective, at), atol=1e-8)


@pytest.mark.parametrize("loss", [RankNet(), RankSVM(), RankRegression(), ListMLE()])
def test_lists_of_two_have_the_hessian_itself(loss):
    objective = LinearObjective(data(60, 2), loss, alpha=0.0)
    at = np.array([0.3, -0.1, 0.2, 0.0])
    gram = weighted_gram(objective, at).gram
    # Four sign vectors seldom give both rows of a list equal signs all the time.
    expected = hessian(objective, at)
    eigenvalues = np.linalg.eigvals(np.linalg.solve(expected, gram)).real
    assert eigenvalues.min() > 0.5
    assert eigenvalues.max() < 2.0


@pytest.mark.parametrize(
    "loss", [ListMLE(), ListMLE("marginal"), RankNet(), RankSVM(), RankRegression()]
)
@pytest.mark.parametrize("at", [0.0, 1.0])
def test_whitened_curvature_is_near_the_same_in_all_directions(loss, at):
    objective = LinearObjective(data(200, 15), loss, alpha=0.01)
    parameters = np.full(4, at)
    sums = weighted_gram(objective, parameters)
    coordinates = Whitened(sums, 0.01, objective(parameters)[1])
    inverse = np.array([coordinates.move(unit) for unit in np.eye(4)]).T
    curvature = inverse.T @ hessian(objective, parameters) @ inverse
    eigenvalues = np.linalg.eigvalsh(curvature)
    assert 1 / 3 < eigenvalues.min() <= eigenvalues.max() < 3


@pytest.mark.parametrize("loss", [Davidson(), RaoKupper()])
def test_extra_parameters_are_whitened_with_their_mixed_derivatives(loss):
    objective = LinearObjective(data(200, 15), loss, alpha=0.01)
    parameters = objective.start + 0.3
    sums = weighted_gram(objective, parameters)
    exact = hessian(objective, parameters)
    np.testing.assert_allclose(sums.cross[:, 0], exact[:4, 4], atol=1e-5)
    np.testing.assert_allclose(sums.extra[0, 0], exact[4, 4], rtol=1e-5)
    coordinates = Whitened(sums, 0.01, objective(parameters)[1])
    inverse = np.array([coordinates.move(unit) for unit in np.eye(5)]).T
    eigenvalues = np.linalg.eigvalsh(inverse.T @ exact @ inverse)
    assert 1 / 3 < eigenvalues.min() <= eigenvalues.max() < 3
    gradient = np.arange(5.0)
    np.testing.assert_allclose(coordinates.slope(gradient), inverse.T @ gradient)


def test_sparse_rows_give_the_gram_matrix_of_dense_ones():
    plain = data(n_features=60)
    X = np.where(np.random.default_rng(1).random(plain.X.shape) < 0.04, plain.X, 0.0)
    dense = LinearObjective(FitData(X, plain.y, plain.lists), RankNet(), alpha=0.1)
    stored = FitData(sparse.csr_array(X), plain.y, plain.lists)
    few = LinearObjective(stored, RankNet(), alpha=0.1)
    at = np.linspace(-1, 1, 60)
    np.testing.assert_allclose(
        weighted_gram(few, at).gram, weighted_gram(dense, at).gram, atol=1e-14
    )


@pytest.mark.parametrize("outside", [False, True])
def test_more_features_than_rows_are_spanned_by_rows_and_the_start(outside):
    wide = data(4, 5, 90)
    objective = LinearObjective(wide, RankNet(), alpha=0.05)
    start = np.zeros(90)
    if outside:
        start = np.random.default_rng(3).standard_normal(90)
    basis = row_space(objective, start)
    assert basis.rows.shape == (20, 20 + outside)
    sums = weighted_gram(objective, start, basis)
    coordinates = Whitened(sums, 0.05, objective(start)[1])
    u = np.linspace(-1, 1, coordinates.size)
    gradient = objective(start)[1]
    # A slope of the objective along any move is that in the coordinates.
    assert gradient @ coordinates.move(u) == pytest.approx(
        coordinates.slope(gradient) @ u, rel=1e-10
    )


def test_a_wide_fit_is_whitened_once_that_has_cost_as_much():
    rng = np.random.default_rng(0)
    lists = Lists(np.full(12, 5))
    # Scales that make a fit without whitening long.
    X = rng.standard_normal((60, 90)) * 10.0 ** rng.uniform(-2, 2, 90)
    y = rng.integers(0, 3, 60).astype(float)
    objective = LinearObjective(FitData(X, y, lists), RankNet(), alpha=1e-4)
    solution = solve(objective)
    assert solution.problem is None
    assert solution.n_whitenings > 0
    gradient = objective(solution.parameters)[1]
    # Without features between, strong convexity bounds what is left.
    assert gradient @ gradient / 2e-4 < 1e-6 * objective(objective.start)[0]


def test_constant_features_keep_weights_of_exactly_zero():
    plain = data()
    X = np.c_[plain.X, plain.lists.expand(np.arange(30.0)), np.ones(len(plain.X))]
    constant = constant_features(X, plain.lists)
    with_constant = FitData(X, plain.y, plain.lists, constant=constant)
    solution = solve(LinearObjective(with_constant, RankNet(), alpha=0.01))
    expected = solve(LinearObjective(plain, RankNet(), alpha=0.01))
    np.testing.assert_array_equal(solution.parameters[4:], 0.0)
    np.testing.assert_allclose(solution.parameters[:4], expected.parameters, rtol=1e-6)


def test_the_number_of_threads_changes_no_bit():
    plain = data(400, 20, 30)
    results = []
    for n_jobs in (1, 2, 3):
        objective = LinearObjective(plain, ListMLE(), alpha=1e-3, n_jobs=n_jobs)
        with objective.running():
            results.append(solve(objective).parameters)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_single_precision_features_end_at_the_same_weights():
    plain = data(400, 20, 30)
    single = FitData(plain.X.astype(np.float32), plain.y, plain.lists)
    same = FitData(single.X.astype(float), plain.y, plain.lists)
    ends = [
        solve(LinearObjective(one, ListMLE(), alpha=1e-3), tol=1e-9).parameters
        for one in (single, same)
    ]
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-8)


LOSSES = [
    (ListMLE(), None),
    (ListMLE("breslow"), None),
    (ListMLE("marginal"), None),
    (ListNet(), None),
    (RankNet(), "size"),
    (RankSVM(), "size"),
    (RankRegression(), "size"),
    (Davidson(), "size"),
    (RaoKupper(), "size"),
]


@pytest.mark.parametrize(("loss", "normalize"), LOSSES, ids=str)
@pytest.mark.parametrize("alpha", [0.1, 1e-4])
def test_correlated_features_of_raw_scales_need_few_evaluations(loss, normalize, alpha):
    rng = np.random.default_rng(0)
    lists = Lists(np.full(150, 12))
    common = rng.standard_normal((lists.n_rows, 3)) @ rng.standard_normal((3, 20))
    X = common + 0.05 * rng.standard_normal(common.shape)
    noise = 2.0 * rng.standard_normal(len(X))
    y = np.digitize(X[:, 0] - X[:, 1] + noise, [-1.0, 1.0, 3.0])
    X *= 10.0 ** rng.uniform(-3, 6, 20)
    objective = LinearObjective(
        FitData(X, y.astype(float), lists), loss, alpha=alpha, normalize=normalize
    )
    solution = solve(objective)
    assert solution.problem is None
    assert solution.n_evaluations <= 20
    # Newton's step with second derivatives by differences, in units of features.
    unit = np.r_[1.0 / X.std(axis=0), np.ones(len(objective.extra_start))]

    def scaled(parameters):
        value, gradient = objective(unit * parameters)
        return value, unit * gradient

    at = solution.parameters / unit
    step = np.linalg.solve(hessian(scaled, at), scaled(at)[1])
    assert solution.value - scaled(at - step)[0] < 1e-9


def test_the_estimate_of_the_gap_is_near_the_gap():
    for loss in (ListMLE(), RankNet(), RankSVM()):
        objective = LinearObjective(data(200, 15), loss, alpha=0.01)
        best = solve(objective, tol=1e-9).value
        for n in (1, 2, 3):
            short = solve(objective, max_iter=n)
            gap = short.value - best
            if gap > 1e-10:
                assert 1 / 15 < short.gap / gap < 15


def test_steps_that_values_do_not_show_cost_one_evaluation_each():
    # Nothing to learn: the last steps lower a value of 3.0 by less than its rounding.
    rng = np.random.default_rng(18)
    X = rng.standard_normal((40_000, 20))
    X[:, 1] = 0.6 * X[:, 0] + 0.8 * X[:, 1]
    y = np.digitize(rng.standard_normal(len(X)), [0, 1, 2]).astype(float)
    noise = FitData(X, y, Lists(np.full(2000, 20)))
    solution = solve(LinearObjective(noise, ListNet(), alpha=0.1))
    assert solution.problem is None
    assert solution.n_evaluations <= solution.n_iter + 1


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_products_beyond_numbers_leave_each_feature_its_own_unit(scale):
    plain = data()
    alpha = 1e-3 if scale > 1 else 0.0
    objective = LinearObjective(
        FitData(scale * plain.X, plain.y, plain.lists), ListMLE(), alpha=alpha
    )
    expected = solve(LinearObjective(plain, ListMLE(), alpha=0.0))
    solution = solve(objective)
    np.testing.assert_allclose(
        solution.parameters * scale, expected.parameters, rtol=0, atol=1e-4
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(4))
def test_more_features_than_rows_tell_are_ranked_in_order_without_a_penalty(seed):
    # Separable, and flat along directions in which rounding must not grow.
    X = np.random.RandomState(seed).randn(3, 4)
    ranker = ListMLERanker(alpha=0).fit(X, [0, 1, 2], [0, 0, 0])
    np.testing.assert_array_equal(np.argsort(ranker.predict(X)), [0, 1, 2])
    wide = np.random.RandomState(seed).randn(40, 60)
    y, groups = np.random.RandomState(seed).randint(0, 3, 40), np.repeat(range(5), 8)
    scores = RankNetRanker(alpha=0).fit(wide, y, groups).predict(wide)
    assert pairwise_accuracy_score(y, scores, groups) == 1.0


@pytest.mark.parametrize("explained", [1e-8, 0.25, 0.94, 0.96, 1.2])
def test_own_parameters_keep_a_curvature_whatever_weights_explain(explained):
    # One feature and one parameter of the loss, with [[1, c], [c, 1]] for the Hessian.
    c = np.sqrt(explained)
    sums = Gram(np.arange(1), None, np.eye(1), np.array([[c]]), np.eye(1))
    coordinates = Whitened(sums, 0.0, np.zeros(2))
    root = np.linalg.inv(np.array([coordinates.move(u) for u in np.eye(2)]).T)
    # A nearly singular matrix would make a step of one coordinate long without end.
    held = c if 1e-6 < explained < 0.95 else 0.0
    np.testing.assert_allclose(root.T @ root, [[1, held], [held, 1]], atol=1e-12)
