"""The solver: what it reaches, what it says, and that scales do not matter."""

import re
import warnings

import numpy as np
import pytest

from skrank import Lists
from skrank._fit.data import FitData
from skrank._fit.lbfgs import LAST_DIGITS, minimize_lbfgs
from skrank._fit.objective import LinearObjective
from skrank._fit.smoothing import minimize_by_smoothing
from skrank.losses import ListMLE, ListNet, Loss, RankNet, RankSVM


class Scaled(Loss):
    """A loss times a factor, plus a constant a list."""

    def __init__(self, loss=None, factor=1.0, constant=0.0):
        self.loss = loss
        self.factor = factor
        self.constant = constant

    def prepare(self, y, lists):
        return self.loss.prepare(y, lists)

    def value_and_gradient(self, scores, prepared, lists):
        value, gradient = self.loss.value_and_gradient(scores, prepared, lists)
        return self.factor * value + self.constant, self.factor * gradient


def problem(loss, alpha=0.1, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    lists = Lists(np.full(50, 8))
    X = scale * rng.standard_normal((lists.n_rows, 5))
    y = rng.integers(0, 3, size=lists.n_rows).astype(float)
    return LinearObjective(FitData(X, y, lists), loss, alpha=alpha)


def solve(objective, **options):
    options = {"tol": 1e-8, "ftol": 1e-15, "max_iter": 500, **options}
    return minimize_lbfgs(objective, objective.start, **options)


def test_the_gradient_at_the_end_is_within_tol_of_the_first():
    objective = problem(ListMLE())
    first = np.abs(objective(objective.start)[1]).max()
    solution = solve(objective, tol=1e-6)
    value, gradient = objective(solution.parameters)
    assert np.abs(gradient).max() <= 1e-6 * first
    assert solution.value == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("factor", "constant"), [(2.0**40, 0.0), (2.0**-40, 0.0), (1.0, 1e6)]
)
def test_factors_and_constants_of_a_loss_do_not_change_the_path(factor, constant):
    plain = solve(problem(Scaled(ListMLE()), alpha=0.1), tol=1e-4)
    loss = Scaled(ListMLE(), factor, constant)
    other = solve(problem(loss, alpha=0.1 * factor), tol=1e-4)
    assert other.n_iter == plain.n_iter
    # Powers of two change no digit; a constant of 1e6 leaves ten of them.
    np.testing.assert_allclose(
        other.parameters, plain.parameters, rtol=1e-13 if constant == 0 else 1e-4
    )


def test_a_limit_reached_is_told_with_advice():
    solution = solve(problem(ListMLE()), max_iter=2, name="Someone")
    assert re.match("Someone .* after 2 iterations .*Raise max_iter", solution.problem)
    assert solution.n_iter == 2


def test_nothing_to_learn_needs_no_iteration():
    objective = problem(Scaled(ListMLE(), factor=0.0))
    solution = solve(objective)
    assert solution.n_iter == 0
    assert not solution.parameters.any()


def test_sums_that_overflow_are_told():
    rng = np.random.default_rng(0)
    X = np.full((20, 1), 1e308)
    X[::2] *= -1
    y = rng.permutation(20).astype(float)
    objective = LinearObjective(FitData(X, y, Lists([20])), ListMLE(), alpha=0.1)
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ValueError, match="not finite at zero weights"),
    ):
        solve(objective)


def test_progress_is_shown_on_request(capsys):
    solve(problem(ListMLE()), verbose=2, name="Someone")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[Someone] zero weights: objective ")
    assert lines[1].startswith("[Someone] iteration 2: objective ")
    assert "stopped after" in lines[-1]
    solve(problem(ListMLE()), name="Someone")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_the_scale_of_all_features_does_not_change_the_path(alpha):
    plain, scaled = (
        problem(ListMLE(), alpha),
        problem(ListMLE(), alpha * 2.0**40, 2**20),
    )
    first, second = solve(plain), solve(scaled)
    assert first.n_iter == second.n_iter
    # Powers of two change no digit.
    np.testing.assert_array_equal(second.parameters * 2.0**20, first.parameters)


def test_scales_a_million_apart_reach_the_optimum_by_the_same_rule():
    scale = 10.0 ** np.array([-6, -3, 0, 3, 6])
    even = solve(problem(ListMLE(), 0.0), tol=1e-6)
    wild = solve(problem(ListMLE(), 0.0, scale), tol=1e-6)
    np.testing.assert_allclose(wild.parameters * scale, even.parameters, atol=1e-4)


def test_rounding_that_is_left_of_a_gradient_is_no_failure():
    # Each list beside its reverse: gradients cancel, and the solver finds no way down.
    quiet = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((5, 3)), rng.permutation(5).astype(float)
        objective = LinearObjective(
            FitData(np.r_[X, X], np.r_[y, -y], Lists([5, 5])), RankNet(), alpha=0.1
        )
        # The root of the last digit of the value.
        solution = solve(objective)
        assert np.abs(solution.parameters).max() < 1e-7
        assert solution.problem is None
        quiet += objective(objective.start)[1].any()
    assert quiet > 0


def test_a_step_that_nothing_lowers_far_from_the_optimum_is_told():
    class Walled(ListMLE):
        def value_and_gradient(self, scores, prepared, lists):
            value, gradient = super().value_and_gradient(scores, prepared, lists)
            return value + 100.0 * (np.abs(scores).max() > 0.01), gradient

    solution = solve(problem(Walled()))
    assert "no step lowers the objective" in solution.problem


def test_gradients_go_on_where_values_have_run_out_of_digits():
    objective = problem(Scaled(ListMLE(), constant=1e8), alpha=0.01)
    first = np.abs(objective(objective.start)[1]).max()
    # Values near 1e8 hide steps that gradients still see.
    solution = solve(objective, tol=1e-11, ftol=LAST_DIGITS)
    gradient = objective(solution.parameters)[1]
    assert np.abs(gradient).max() < 1e-10 * first
    early = solve(objective, tol=1e-11, ftol=1e-5)
    assert early.n_iter < solution.n_iter
    assert np.abs(objective(early.parameters)[1]).max() > 1e-10 * first


def test_smoothing_reports_the_objective_itself_near_its_least_value():
    objective = problem(RankSVM("linear"))
    options = {"ftol": 0.0, "max_iter": 20_000}
    solution = minimize_by_smoothing(objective, objective.start, tol=1e-6, **options)
    assert solution.value == objective(solution.parameters)[0]
    closer = minimize_by_smoothing(objective, solution.parameters, tol=1e-8, **options)
    assert solution.value == pytest.approx(closer.value, rel=1e-4)


def test_the_loss_s_own_parameters_stay_within_its_limit():
    class Downhill(Loss):
        """Falls with its parameter, whatever the scores."""

        extra_limit = 3.0

        def prepare(self, y, lists):
            return None

        def extra_parameters(self, y, lists):
            return np.zeros(1)

        def value_and_gradient(self, scores, prepared, lists, extra):
            values = np.full(lists.n_lists, -extra[0])
            return values, np.zeros(lists.n_rows), np.full((lists.n_lists, 1), -1.0)

    solution = solve(problem(Downhill()))
    assert solution.parameters[-1] == 3.0
    assert not solution.parameters[:-1].any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("of", ["value", "gradient"])
def test_an_objective_that_is_no_number_where_the_solver_ends_is_refused(value, of):
    class Bad(ListNet):
        def value_and_gradient(self, scores, prepared, lists):
            values, gradient = super().value_and_gradient(scores, prepared, lists)
            if scores.any() and of == "value":
                values = np.full_like(values, value)
            elif scores.any():
                gradient = np.full_like(gradient, value)
            return values, gradient

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.integers(0, 3, 20).astype(float)
    objective = LinearObjective(FitData(X, y, Lists([10, 10])), Bad(), alpha=0.1)
    options = {"tol": 1e-6, "ftol": LAST_DIGITS, "max_iter": 100}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="is not finite after"):
            minimize_lbfgs(objective, objective.start, **options)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16])
def test_a_small_integer_of_numpy_is_a_number_of_iterations(kind):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 3, 60).astype(float)
    objective = LinearObjective(
        FitData(X, y, Lists([20, 20, 20])), ListMLE(), alpha=1e-4
    )
    solution, expected = (
        minimize_lbfgs(
            objective, objective.start, tol=1e-6, ftol=LAST_DIGITS, max_iter=limit
        )
        for limit in (kind(100), 100)
    )
    assert solution.n_iter == expected.n_iter > 5
    np.testing.assert_array_equal(solution.parameters, expected.parameters)


def test_the_limit_of_iterations_is_told_also_where_gradients_alone_went_on():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)) * [1, 0.1, 3], rng.integers(0, 3, 200)
    lists = Lists(np.full(40, 5))
    objective = LinearObjective(
        FitData(X, y.astype(float), lists), RankNet(), alpha=0.1
    )
    options = {"tol": 1e-13, "ftol": LAST_DIGITS}

    def solved(max_iter):
        return minimize_lbfgs(objective, objective.start, max_iter=max_iter, **options)

    end = solved(1000)
    assert end.problem is None
    assert all(solved(limit).problem is not None for limit in range(1, end.n_iter))


@pytest.mark.parametrize("alpha", [1e-6, 1e-10, 1e-310])
def test_a_linear_hinge_with_next_to_no_penalty_is_near_or_says_how_near(alpha):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 4))
    y = np.round(2 * X @ [1.0, 0.5, 0.0, -1.0] + 0.1 * rng.standard_normal(600))
    objective = LinearObjective(
        FitData(X, y, Lists(np.full(60, 10))), RankSVM("linear"), alpha=alpha
    )
    options = {"tol": 1e-6, "ftol": LAST_DIGITS}
    solution = minimize_by_smoothing(
        objective, objective.start, max_iter=1000, **options
    )
    longer = minimize_by_smoothing(
        objective, solution.parameters, max_iter=5000, **options
    )
    if solution.problem is None:
        assert solution.value <= longer.value * (1 + 1e-4)
    else:
        assert "above the least possible" in solution.problem


@pytest.mark.parametrize("seed", range(3))
def test_the_evaluations_of_all_widths_together_have_one_budget(seed):
    calls = 0

    class Counted(RankSVM):
        def value_and_gradient(self, scores, prepared, lists):
            nonlocal calls
            calls += 1
            return super().value_and_gradient(scores, prepared, lists)

        def smoothed(self, width):
            rounded = super().smoothed(width)
            plain = rounded.value_and_gradient

            def counted(*arguments):
                nonlocal calls
                calls += 1
                return plain(*arguments)

            rounded.value_and_gradient = counted
            return rounded

    rng = np.random.default_rng(seed)
    X = rng.standard_normal((180, 4))
    y = np.digitize(X[:, 0] + rng.standard_normal(180), [-1, 0, 1]) * 1.0
    X[rng.integers(180), 1] = 1e8
    data = FitData(X, y, Lists(np.full(30, 6)))
    objective = LinearObjective(data, Counted("linear"), alpha=0.1)
    blocks = len(objective.blocks)
    solution = minimize_by_smoothing(
        objective, objective.start, tol=1e-6, ftol=LAST_DIGITS, max_iter=2
    )
    # 100 evaluations an iteration; the linear objective is evaluated beside some.
    assert solution.n_iter <= 2
    assert calls <= 2 * 2 * 100 * blocks
    assert calls <= (solution.n_evaluations + 10) * blocks


def test_one_entry_of_a_gradient_beyond_numbers_is_refused():
    class Steep(ListNet):
        def value_and_gradient(self, scores, prepared, lists):
            values, gradient = super().value_and_gradient(scores, prepared, lists)
            return values, gradient - 1e300 * scores.any()

    rng = np.random.default_rng(0)
    X, y = rng.random((20, 3)), rng.integers(0, 3, 20).astype(float)
    X[:, 2] *= 1e10  # its entry is minus infinity, those of the others are numbers
    objective = LinearObjective(FitData(X, y, Lists([10, 10])), Steep(), alpha=0.1)
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match="is not finite after"),
    ):
        solve(objective, max_iter=1)
