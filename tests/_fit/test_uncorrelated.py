"""Features that are uncorrelated inside lists are whitened by a diagonal."""

import numpy as np
import pytest
from scipy import sparse

from skrank import ListMLERanker, Lists
from skrank._fit import proximal, search
from skrank._fit.data import FitData
from skrank._fit.gram import weighted_gram
from skrank._fit.lbfgs import LAST_DIGITS, minimize_lbfgs
from skrank._fit.objective import LinearObjective
from skrank._fit.proximal import minimize_proximal
from skrank._fit.uncorrelated import diagonal_of_few
from skrank.losses import Davidson, ListMLE, ListNet, RankNet, RankSVM

N_ROWS, LENGTH, N_FEATURES = 40_000, 20, 64
SCALES = 10.0 ** np.linspace(-3.0, 3.0, N_FEATURES)


def drawn(mixed=None, weights=None, signal=0.0):
    """Return independent normal features of many scales, but for what is mixed in."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_FEATURES))
    if mixed is not None:
        X = X @ mixed
    noise = rng.standard_normal(N_ROWS)
    y = np.digitize(signal * X[:, :5].sum(axis=1) + noise, [0.0, 1.0, 2.0])
    lists = Lists(np.full(N_ROWS // LENGTH, LENGTH))
    return FitData(X * SCALES, y.astype(float), lists, weights)


def with_correlation(c):
    """Return what gives the first two features a correlation."""
    mixed = np.eye(N_FEATURES)
    mixed[:2, 1] = c, np.sqrt(1.0 - c**2)
    return mixed


def solve(objective, **options):
    options = {"tol": 1e-6, "ftol": LAST_DIGITS, "max_iter": 1000, **options}
    return minimize_lbfgs(objective, objective.start, **options)


@pytest.mark.parametrize("loss", [ListMLE(), ListNet(), RankNet(), RankSVM()], ids=str)
def test_the_diagonal_of_few_rows_is_near_that_of_all(loss):
    objective = LinearObjective(drawn(), loss, alpha=0.1)
    few = diagonal_of_few(objective, objective.start).gram
    np.testing.assert_array_equal(few, np.diag(np.diag(few)))
    blocks = weighted_gram(objective, objective.start).gram
    # 2,048 rows of normal features: a deviation of sqrt(2 / 2048) = 3 %.
    np.testing.assert_allclose(np.diag(few), np.diag(blocks), rtol=0.15)


def test_the_parameters_of_a_loss_keep_their_derivatives():
    objective = LinearObjective(drawn(), Davidson(), alpha=0.1, normalize="size")
    few = diagonal_of_few(objective, objective.start)
    blocks = weighted_gram(objective, objective.start)
    np.testing.assert_allclose(few.extra, blocks.extra, rtol=0.1)
    assert few.cross.shape == (N_FEATURES, 1)


@pytest.mark.parametrize("c", [0.6, -0.9, 1.0])
def test_one_correlated_pair_of_features_asks_for_products(c):
    objective = LinearObjective(drawn(with_correlation(c)), RankNet(), alpha=0.1)
    assert diagonal_of_few(objective, objective.start) is None


def test_many_small_correlations_ask_for_products():
    rng = np.random.default_rng(1)
    mixed = np.eye(N_FEATURES) + 0.03 * rng.standard_normal((N_FEATURES, N_FEATURES))
    objective = LinearObjective(drawn(mixed), RankNet(), alpha=0.1)
    assert diagonal_of_few(objective, objective.start) is None


def test_values_that_a_few_rows_do_not_tell_ask_for_more_rows():
    data = drawn()
    heavy = np.random.default_rng(2).standard_t(1.2, data.X.shape)
    objective = LinearObjective(FitData(heavy, data.y, data.lists), RankNet(), alpha=1)
    assert diagonal_of_few(objective, objective.start) is None


def test_few_rows_are_whitened_by_products_since_they_cost_little():
    data = drawn().part(np.arange(300))
    objective = LinearObjective(data, RankNet(), alpha=0.1)
    assert diagonal_of_few(objective, objective.start) is None


def test_lists_without_weight_are_not_looked_at():
    weights = np.zeros(N_ROWS // LENGTH)
    weights[::3] = 2.0
    objective = LinearObjective(drawn(weights=weights), RankNet(), alpha=0.1)
    few = diagonal_of_few(objective, objective.start).gram
    blocks = weighted_gram(objective, objective.start).gram
    np.testing.assert_allclose(np.diag(few), np.diag(blocks), rtol=0.15)
    weights[:-5] = 0.0
    alone = LinearObjective(drawn(weights=weights), RankNet(), alpha=0.1)
    assert diagonal_of_few(alone, alone.start) is None


def test_stored_and_dense_features_have_the_same_diagonal():
    data, at = drawn(), 0.1 / SCALES
    loose = np.where(np.random.default_rng(3).random(data.X.shape) < 0.5, data.X, 0.0)
    one, other = (
        LinearObjective(FitData(features, data.y, data.lists), RankNet(), alpha=0.1)
        for features in (loose, sparse.csr_array(loose))
    )
    np.testing.assert_allclose(
        diagonal_of_few(one, at).gram, diagonal_of_few(other, at).gram, rtol=1e-12
    )


@pytest.mark.parametrize("signal", [0.0, 1.0])
@pytest.mark.parametrize("c", [0.0, 0.3])
@pytest.mark.parametrize(
    ("loss", "normalize"),
    [(ListMLE(), None), (RankNet(), "size"), (RankSVM(), "size"), (Davidson(), "size")],
    ids=str,
)
def test_fits_end_at_the_optimum_after_no_more_evaluations(
    monkeypatch, signal, c, loss, normalize
):
    data = drawn(with_correlation(c), signal=signal)
    fits = []
    for whiten in (diagonal_of_few, lambda *arguments: None):
        monkeypatch.setattr(search, "diagonal_of_few", whiten)
        objective = LinearObjective(data, loss, alpha=1e-3, normalize=normalize)
        fits.append(solve(objective))
    few, products = fits
    assert few.problem is None
    assert few.n_evaluations <= products.n_evaluations + 2
    best = solve(objective, tol=1e-9).value
    assert few.value - best <= 1e-9 * abs(best)


def test_penalties_on_absolute_weights_begin_with_the_diagonal_too(monkeypatch):
    data, fits = drawn(signal=1.0), []
    for whiten in (diagonal_of_few, lambda *arguments: None):
        monkeypatch.setattr(proximal, "diagonal_of_few", whiten)
        objective = LinearObjective(data, RankNet(), alpha=3e-3, l1_ratio=0.5)
        fits.append(
            minimize_proximal(
                objective, objective.start, tol=1e-6, ftol=LAST_DIGITS, max_iter=1000
            )
        )
    few, products = fits
    assert few.problem is None
    assert few.n_whitenings == 1
    assert few.n_evaluations <= products.n_evaluations + 2
    assert few.value == pytest.approx(products.value, rel=1e-11)
    kept = products.parameters != 0.0
    assert 0 < kept.sum() < N_FEATURES
    np.testing.assert_array_equal(few.parameters != 0.0, kept)


def test_the_estimate_of_the_gap_is_near_the_gap():
    for loss, c in ((ListMLE(), 0.0), (RankNet(), 0.3), (RankSVM(), 0.0)):
        data = drawn(with_correlation(c), signal=1.0)
        objective = LinearObjective(data, loss, alpha=0.01)
        assert diagonal_of_few(objective, objective.start) is not None
        best = solve(objective, tol=1e-9).value
        for n in (1, 2, 3):
            short = solve(objective, max_iter=n)
            gap = short.value - best
            assert gap > 0.0
            assert 1 / 15 < short.gap / gap < 15


def test_the_number_of_threads_changes_no_bit():
    data, ends = drawn(signal=1.0), []
    for n_jobs in (1, 2):
        objective = LinearObjective(data, ListMLE(), alpha=1e-3, n_jobs=n_jobs)
        with objective.running():
            ends.append(solve(objective).parameters)
    np.testing.assert_array_equal(*ends)


def test_short_fits_to_ordinary_features_read_x_no_more(monkeypatch):
    """Noise ends a fit after some four steps, which says nothing of sizes."""

    def refused(self, **options):
        raise AssertionError("all of X was read for its extremes")

    monkeypatch.setattr(LinearObjective, "largest_range", refused)
    data = drawn()
    groups = data.lists.expand(np.arange(len(data.lists)))
    y = np.random.default_rng(5).integers(0, 3, N_ROWS)
    ranker = ListMLERanker(tol=1e-4).fit(data.X / SCALES, y, groups)
    assert ranker.n_iter_ <= 4
