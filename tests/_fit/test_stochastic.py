"""Stochastic ascent reaches the exact optimum, the same way for the same seed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize

import skrank._fit.blocks
from skrank import Lists
from skrank._fit.data import FitData
from skrank._fit.objective import LinearObjective
from skrank._fit.stochastic import SampledObjective, ascend
from skrank._probability.partitions import SubsetModel
from skrank.losses import PMOP
from skrank.losses._samplers import PartitionSampler, size_weights

ALPHA, LENGTH = 0.01, 6
MEMBERS = (np.arange(1, 2**LENGTH)[:, None] >> np.arange(LENGTH)) & 1
SHARES = MEMBERS / MEMBERS.sum(axis=1, keepdims=True)


def exact(scores, y, weights):
    """Return the weighted mean loss of lists of six rows and its gradient, by sums."""
    scores, y = scores.reshape(-1, LENGTH), y.reshape(-1, LENGTH)
    values, gradient = np.zeros(len(scores)), np.zeros(scores.shape)
    for grade in np.unique(y):
        at = np.flatnonzero((y == grade).any(axis=1))
        top = (y[at] == grade) / np.sum(y[at] == grade, axis=1, keepdims=True)
        left = (y[at] > grade) @ MEMBERS.T == 0
        phi = np.exp(scores[at] @ SHARES.T) * left
        total = phi.sum(axis=1, keepdims=True)
        values[at] += np.log(total[:, 0]) - np.sum(top * scores[at], axis=1)
        gradient[at] += (phi / total) @ SHARES - top
    shares = weights / weights.sum()
    return shares @ values, (shares[:, None] * gradient).ravel()


@pytest.fixture(scope="module")
def problem():
    """Return features, labels drawn from the model, lists, and list weights."""
    rng = np.random.default_rng(0)
    lists = Lists(np.full(300, LENGTH))
    X = rng.standard_normal((lists.n_rows, 4))
    scores = X @ [1.5, -1.0, 0.5, 0.0]
    model = SubsetModel(False, size_weights(LENGTH))
    y = -model.draw(scores, lists, 1, seed=0)[0].astype(float)
    return X, y, lists, rng.choice([0.0, 1.0, 3.0], size=300)


def objective(problem, rule="gibbs", n_steps=1, **settings):
    X, y, lists, weights = problem
    settings = {"alpha": ALPHA, "weights": weights, "seed": 3} | settings
    data = FitData(
        settings.pop("X", X),
        y,
        lists,
        settings.pop("weights"),
        settings.pop("rows", None),
    )
    seed = settings.pop("seed")
    exact_objective = LinearObjective(data, PMOP("geometric"), **settings)
    return SampledObjective(exact_objective, PartitionSampler(rule, n_steps), seed)


def climb(objective, **settings):
    settings = {"learning_rate": 0.1, "max_iter": 20, "seed": 0} | settings
    rng = np.random.RandomState(settings.pop("seed"))
    start = objective.objective.start
    return ascend(objective, start, random_state=rng, **settings)


@pytest.mark.parametrize("batch_size", [None, 40])
@pytest.mark.parametrize("n_steps", [1, 3])
@pytest.mark.parametrize("rule", ["gibbs", "metropolis"])
def test_a_thousand_passes_come_within_one_percent_of_the_optimum(
    problem, rule, n_steps, batch_size
):
    X, y, _, weights = problem

    def penalised(coef):
        value, gradient = exact(X @ coef, y, weights)
        return value + ALPHA / 2 * coef @ coef, X.T @ gradient + ALPHA * coef

    best = minimize(penalised, np.zeros(4), jac=True, method="L-BFGS-B")
    solution = climb(
        objective(problem, rule, n_steps), max_iter=1000, batch_size=batch_size
    )
    value, at_zero = penalised(solution.parameters)[0], penalised(np.zeros(4))[0]
    assert value < 1.01 * best.fun
    # And of the way there, which is the stricter.
    assert value - best.fun < 0.01 * (at_zero - best.fun)
    assert solution.n_iter == 1000
    assert np.isnan(solution.value)


@pytest.mark.parametrize("batch_size", [None, 7])
def test_results_depend_on_seeds_alone(problem, batch_size, monkeypatch):
    monkeypatch.setattr(skrank._fit.blocks, "SMALLEST_BLOCK_BYTES", 2**9)
    assert len(objective(problem).objective._parts) > 10

    def fit(n_jobs=1, seed=3, order=0):
        drawn = objective(problem, n_jobs=n_jobs, seed=seed)
        return climb(drawn, batch_size=batch_size, seed=order).parameters

    first = fit()
    assert_array_equal(first, fit())
    assert_array_equal(first, fit(n_jobs=2))
    assert_array_equal(first, fit(n_jobs=3))
    assert np.any(first != fit(seed=4))
    if batch_size is not None:
        assert np.any(first != fit(order=1))


@pytest.mark.parametrize("batch_size", [None, 50])
def test_kinds_of_features_agree(problem, batch_size):
    X = problem[0]
    expected = climb(objective(problem), batch_size=batch_size).parameters
    for kind in (sparse.csr_array(X), np.asfortranarray(X)):
        coef = climb(objective(problem, X=kind), batch_size=batch_size).parameters
        # A sum in another order may tip a draw, if rarely.
        assert_allclose(coef, expected, rtol=1e-12)


def test_lists_may_be_gathered_from_rows_in_any_order(problem):
    X = problem[0]
    rows = np.random.default_rng(1).permutation(len(X))
    scattered = np.empty_like(X)
    scattered[rows] = X
    for batch_size in (None, 50):
        expected = climb(objective(problem), batch_size=batch_size).parameters
        gathered = objective(problem, X=scattered, rows=rows)
        coef = climb(gathered, batch_size=batch_size).parameters
        assert_allclose(coef, expected, rtol=1e-12)


@pytest.mark.parametrize("normalize", [None, "size"])
def test_a_draw_of_all_batches_adds_up_to_the_draw_of_all_lists(problem, normalize):
    whole = objective(problem, n_steps=400, normalize=normalize)
    batches = whole.batches(64, np.random.RandomState(0))
    assert len(batches) == -(-np.sum(problem[3] > 0) // 64)
    coef = np.array([0.5, 0.0, -0.3, 0.2])
    means = np.mean([b.factor * b.draws.draw(coef, 0) for b in batches], axis=0)
    X, y, _, weights = problem
    expected = X.T @ exact(X @ coef, y, weights)[1]
    expected /= LENGTH if normalize == "size" else 1.0
    assert_allclose(means, expected, atol=0.01)
    assert_allclose(whole.draw(coef, 1), expected, atol=0.01)


def test_a_penalty_of_any_size_is_stable(problem):
    coef = climb(objective(problem, alpha=1e6), max_iter=100).parameters
    assert 0 < np.max(np.abs(coef)) < 1e-5


def test_steps_that_overshoot_are_told(problem):
    wide = objective(problem, X=100 * problem[0], alpha=0.0)
    for batch_size in (None, 30):
        problem = climb(wide, max_iter=100, batch_size=batch_size).problem
        assert "Lower learning_rate" in problem


def test_sums_that_overflow_are_an_error(problem):
    huge = objective(problem, X=1e307 * problem[0])
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="scale X"):
        climb(huge)


def test_progress_is_printed_every_so_many_passes(problem, capsys):
    climb(objective(problem), max_iter=5, verbose=2, name="Me")
    lines = capsys.readouterr().out.splitlines()
    assert [line[:12] for line in lines] == ["[Me] pass 2:", "[Me] pass 4:"]
    climb(objective(problem), max_iter=5)
    assert capsys.readouterr().out == ""


def test_the_result_is_the_mean_of_the_last_quarter_of_the_weights(problem):
    def mean_of_passes(n):
        return climb(objective(problem), max_iter=n).parameters

    # The first pass is its own mean; the step to the next is the draw of its number.
    first = mean_of_passes(1)
    gradient = objective(problem).draw(np.zeros(4), 0)
    assert_allclose(first, -0.1 * gradient / (1 + 0.1 * ALPHA), rtol=1e-14)
    trace, coef = [], np.zeros(4)
    for step in range(8):
        gradient = objective(problem).draw(coef, step)
        coef = (coef - 0.1 * gradient) / (1 + 0.1 * ALPHA)
        trace.append(coef)
    assert_allclose(mean_of_passes(8), np.mean(trace[-2:], axis=0), rtol=1e-13)


def test_updates_can_be_counted_and_the_last_weights_taken(problem):
    batches = objective(problem).batches(40, np.random.RandomState(0))
    assert len(batches) == 6  # an update each, so that 8 end in the second pass
    ends = [
        climb(objective(problem), batch_size=40, max_updates=n, average=0.0)
        for n in range(1, 9)
    ]
    assert [end.n_iter for end in ends] == [1] * 6 + [2] * 2
    weights = np.array([end.parameters for end in ends])
    assert len(np.unique(weights, axis=0)) == 8
    one_pass = climb(objective(problem), batch_size=40, max_iter=1, average=0.0)
    assert_array_equal(one_pass.parameters, weights[5])
    mean = climb(objective(problem), batch_size=40, max_updates=8, average=1.0)
    assert_allclose(mean.parameters, weights.mean(axis=0), rtol=1e-14)
    # max_iter passes are the most there are.
    most = climb(objective(problem), batch_size=40, max_iter=1, max_updates=99)
    assert most.n_iter == 1


def test_an_update_with_one_list_is_a_step_along_the_draw_of_that_list(problem):
    lists = problem[2]
    drawn = objective(problem, weights=None, alpha=0.0)
    rng = np.random.RandomState(0)
    batches = drawn.batches(1, rng)
    assert len(batches) == len(lists.sizes)
    first = batches[rng.permutation(len(batches))[0]]
    gradient = first.draws.draw(np.zeros(4), 0)
    end = climb(
        objective(problem, weights=None, alpha=0.0),
        batch_size=1,
        max_updates=1,
        average=0.0,
        learning_rate=0.1,
    )
    assert_allclose(end.parameters, -0.1 * gradient, rtol=1e-14)
    assert np.abs(gradient).max() > 0
