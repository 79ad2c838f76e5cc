"""The objective: its value, its gradient, and what they must not depend on."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad

import skrank._fit.blocks as blocks
from skrank import Lists
from skrank._fit.blocks import is_memory_mapped, linear_scores, runs_of_blocks
from skrank._fit.data import FitData
from skrank._fit.objective import LinearObjective
from skrank._kernels import gemv
from skrank.losses import ListMLE, ListNet, Loss, RankNet


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def data(rng):
    """Return X, y and the lists of 12 lists of 1 to 9 rows."""
    lists = Lists(rng.integers(1, 10, size=12))
    X = rng.standard_normal((lists.n_rows, 4))
    return X, rng.integers(0, 3, size=lists.n_rows).astype(float), lists


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut even small tables into blocks."""
    monkeypatch.setattr(blocks, "SMALLEST_BLOCK_BYTES", 200)


class Shift(Loss):
    """A loss with two parameters of its own, quadratic in them."""

    def prepare(self, y, lists):
        return y

    def extra_parameters(self, y, lists):
        return np.array([0.5, -1.0])

    def value_and_gradient(self, scores, prepared, lists, extra):
        error = scores - prepared - extra[0]
        value = lists.sum(error**2) / 2 + extra[1] ** 2 * lists.sizes
        in_extra = np.column_stack((-lists.sum(error), 2 * extra[1] * lists.sizes))
        return value, error, in_extra

    def n_terms(self, prepared, lists):
        return 2.0 * lists.sizes


def by_hand(X, y, lists, loss, parameters, alpha, weights, divide):
    """Return the objective list by list, as the formula has it."""
    coef, extra = parameters[: X.shape[1]], parameters[X.shape[1] :]
    total = 0.0
    for q in range(lists.n_lists):
        rows = slice(lists.offsets[q], lists.offsets[q + 1])
        one = Lists([lists.sizes[q]])
        extra_arguments = (extra,) if len(extra) else ()
        scores = np.array([float(np.dot(row, coef)) for row in X[rows]])
        value = loss.value_and_gradient(
            scores, loss.prepare(y[rows], one), one, *extra_arguments
        )
        total += weights[q] / weights.sum() * value[0][0] / divide[q]
    return total + alpha / 2 * sum(c**2 for c in coef)


@pytest.mark.parametrize("loss", [ListMLE(), ListNet(), Shift()], ids=str)
@pytest.mark.parametrize("normalize", [None, "size", "terms"])
def test_the_value_is_the_weighted_mean_of_the_formula(
    data, rng, loss, normalize, small_blocks
):
    X, y, lists = data
    weights = rng.integers(0, 3, size=lists.n_lists) + 0.5
    objective = LinearObjective(
        FitData(X, y, lists, weights=weights), loss, alpha=0.7, normalize=normalize
    )
    assert len(objective.blocks) > 3
    parameters = rng.standard_normal(len(objective.start))
    divide = np.ones(lists.n_lists)
    if normalize == "size":
        divide = lists.sizes
    elif normalize == "terms":
        divide = np.maximum(loss.n_terms(loss.prepare(y, lists), lists), 1)
    expected = by_hand(X, y, lists, loss, parameters, 0.7, weights, divide)
    assert objective(parameters)[0] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("loss", [ListMLE(), ListNet(), Shift()], ids=str)
@pytest.mark.parametrize("normalize", [None, "size"])
def test_the_gradient_is_the_slope_of_the_value(data, rng, loss, normalize):
    X, y, lists = data
    weights = rng.random(lists.n_lists)
    objective = LinearObjective(
        FitData(X, y, lists, weights=weights), loss, alpha=0.3, normalize=normalize
    )
    parameters = rng.standard_normal(len(objective.start))
    gradient = objective(parameters)[1]
    step = np.cbrt(np.finfo(float).eps)
    for i, direction in enumerate(np.eye(len(parameters))):
        above = objective(parameters + step * direction)[0]
        below = objective(parameters - step * direction)[0]
        # Central differences lose 2/3 of the digits.
        assert gradient[i] == pytest.approx((above - below) / (2 * step), abs=1e-8)
    error = check_grad(lambda p: objective(p)[0], lambda p: objective(p)[1], parameters)
    assert error < 1e-5


def test_extra_parameters_start_where_the_loss_says(data):
    X, y, lists = data
    objective = LinearObjective(FitData(X, y, lists), Shift(), alpha=0.0)
    np.testing.assert_array_equal(objective.start, [0, 0, 0, 0, 0.5, -1.0])


def sparse_of(X, n_features):
    """Return a CSR array of so many columns, three of a row not zero."""
    rows, column = np.repeat(np.arange(len(X)), 3), np.arange(3 * len(X)) * 7919
    return sparse.csr_array(
        (X[:, :3].ravel(), (rows, column % n_features)), (len(X), n_features)
    )


LAYOUTS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "Fortran order, float32": lambda X: np.asfortranarray(X, dtype=np.float32),
    "CSR": lambda X: sparse_of(X, 30),
    "wide CSR": lambda X: sparse_of(X, 20_000),
    "rows elsewhere": lambda X: X[::-1].copy(),
    "rows elsewhere, float32": lambda X: X[::-1].astype(np.float32),
}


@pytest.mark.parametrize("loss", [ListMLE(), Shift()], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_number_of_threads_gives_the_same_bits(rng, layout, loss):
    lists = Lists(rng.integers(1, 60, size=900))
    X = LAYOUTS[layout](rng.standard_normal((lists.n_rows, 30)))
    rows = None
    if layout.startswith("rows elsewhere"):
        rows = np.arange(lists.n_rows)[::-1]
    y = rng.integers(0, 4, size=lists.n_rows).astype(float)
    results = []
    for jobs in (1, 2, 3, 7):
        objective = LinearObjective(
            FitData(X, y, lists, rows=rows), loss, alpha=0.1, n_jobs=jobs
        )
        assert len(objective.blocks) > 7
        assert objective.n_jobs == jobs
        assert objective.product_at_end == (layout == "wide CSR")
        parameters = np.random.default_rng(0).standard_normal(len(objective.start))
        with objective.running():
            results += [objective(parameters) for _ in range(3)]
    for value, gradient in results[1:]:
        assert value == results[0][0]
        np.testing.assert_array_equal(gradient, results[0][1])


def test_a_fault_in_a_thread_reaches_the_caller(rng):
    class Faulty(ListNet):
        def value_and_gradient(self, scores, prepared, lists):
            raise RuntimeError("broken loss")

    lists = Lists(np.full(2000, 20))
    X = rng.standard_normal((lists.n_rows, 10))
    objective = LinearObjective(
        FitData(X, np.zeros(lists.n_rows), lists), Faulty(), alpha=0.1, n_jobs=2
    )
    with objective.running(), pytest.raises(RuntimeError, match="broken loss"):
        objective(np.zeros(10))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_layout_and_kind_of_x_do_not_matter(data, rng, dtype, order, small_blocks):
    X, y, lists = data
    X = np.array(X, dtype=dtype, order=order)
    coef = rng.standard_normal(4)
    value, gradient = LinearObjective(FitData(X, y, lists), ListMLE(), alpha=0.1)(coef)
    X64 = np.ascontiguousarray(X, dtype=np.float64)
    expected = LinearObjective(FitData(X64, y, lists), ListMLE(), alpha=0.1)(coef)
    assert value == pytest.approx(expected[0], rel=1e-14)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_products_by_numpy_serve_where_blas_cannot_be_called(
    data, rng, monkeypatch, dtype, weighted, small_blocks
):
    X, y, lists = data
    weights = rng.random(lists.n_lists) if weighted else None
    coef = rng.standard_normal(4)
    computed = []
    for available in (True, False):
        monkeypatch.setattr(gemv, "available", available)
        objective = LinearObjective(
            FitData(X.astype(dtype), y, lists, weights=weights), ListMLE(), alpha=0.1
        )
        computed.append(objective(coef))
    assert computed[0][0] == pytest.approx(computed[1][0], rel=1e-14)
    np.testing.assert_allclose(computed[0][1], computed[1][1], rtol=1e-12, atol=1e-15)


def test_blas_can_be_called_directly():
    assert gemv.available


@pytest.mark.parametrize("n_rows", [1, 999, 4000, 10_000])
def test_gradient_then_scores_adds_one_and_finds_the_other(rng, n_rows):
    n_features = 131_072 * 3 // n_rows  # of which a piece takes a third, and a rest
    X, following = rng.standard_normal((2, n_rows, n_features))
    slope, coef = rng.standard_normal(n_rows), rng.standard_normal(n_features)
    start = rng.standard_normal(n_features)
    gradient, scores = start.copy(), np.full(n_rows, np.nan)
    gemv.gradient_then_scores(X, slope, 0.3, gradient, following, coef, scores)
    # As many roundings as terms, of sizes that add up to this at most.
    bound = np.finfo(float).eps * n_rows * (np.abs(X).T @ np.abs(slope) + 10)
    assert (np.abs(gradient - (start + 0.3 * X.T @ slope)) <= bound).all()
    bound = np.finfo(float).eps * n_features * (np.abs(following) @ np.abs(coef))
    assert (np.abs(scores - following @ coef) <= bound).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "odd",
    [
        lambda values, slope: (values, slope[1:]),
        lambda values, slope: (values, 0.0),
        lambda values, slope: (values, slope[:, np.newaxis]),
        lambda values, slope: (values.sum(), slope),
        lambda values, slope: (slope, slope),
    ],
    ids=["short", "a number", "a column", "a sum", "a value a row"],
)
def test_a_loss_that_returns_what_does_not_fit_is_told_so(data, odd, weighted, order):
    class Odd(ListNet):
        def value_and_gradient(self, scores, prepared, lists):
            return odd(*super().value_and_gradient(scores, prepared, lists))

    X, y, lists = data
    weights = np.arange(1.0, lists.n_lists + 1) if weighted else None
    objective = LinearObjective(
        FitData(np.array(X, order=order), y, lists, weights=weights), Odd(), alpha=0.1
    )
    with pytest.raises(ValueError, match="one value for each of 12 lists"):
        objective(np.zeros(4))


def test_derivatives_in_extra_parameters_that_do_not_fit_are_told(data):
    class Odd(Shift):
        def value_and_gradient(self, scores, prepared, lists, extra):
            *values_and_gradient, of_extra = super().value_and_gradient(
                scores, prepared, lists, extra
            )
            return (*values_and_gradient, of_extra[:, :1])

    X, y, lists = data
    objective = LinearObjective(FitData(X, y, lists), Odd(), alpha=0.1)
    with pytest.raises(ValueError, match="2 parameters for each of 12 lists"):
        objective(objective.start)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [complex, object])
def test_a_loss_must_return_real_numbers(data, kind, order):
    class Odd(ListNet):
        def value_and_gradient(self, scores, prepared, lists):
            values, slope = super().value_and_gradient(scores, prepared, lists)
            return values, slope.astype(kind)

    X, y, lists = data
    objective = LinearObjective(
        FitData(np.array(X, order=order), y, lists), Odd(), alpha=0.1
    )
    with pytest.raises(TypeError, match="Cannot cast"):
        objective(np.zeros(4))


@pytest.mark.parametrize("kind", ["float32", "a stride", "a list"])
def test_a_loss_may_return_any_kind_of_gradient(data, rng, kind):
    class Odd(ListNet):
        def value_and_gradient(self, scores, prepared, lists):
            values, gradient = super().value_and_gradient(scores, prepared, lists)
            if kind == "float32":
                return values, gradient.astype(np.float32)
            if kind == "a list":
                return values.tolist(), gradient.tolist()
            return values, np.repeat(gradient, 2)[::2]

    X, y, lists = data
    coef = rng.standard_normal(4)
    for weights in (None, rng.random(lists.n_lists)):
        results, expected = (
            LinearObjective(FitData(X, y, lists, weights=weights), loss, alpha=0.1)(
                coef
            )
            for loss in (Odd(), ListNet())
        )
        assert results[0] == pytest.approx(expected[0], rel=1e-14)
        np.testing.assert_allclose(results[1], expected[1], rtol=1e-6, atol=1e-7)


def test_parts_are_all_blocks_once_and_end_in_single_ones():
    for n_blocks in (1, 2, 15, 16, 17, 300):
        parts = runs_of_blocks(n_blocks)
        together = [number for part in parts for number in range(n_blocks)[part]]
        assert together == list(range(n_blocks))
        assert parts[-1].stop - parts[-1].start == 1


def sparse_rows(rng, n_rows, n_features, density):
    stored = rng.random((n_rows, n_features)) < density
    return sparse.csr_array(stored * rng.standard_normal((n_rows, n_features)))


@pytest.mark.parametrize("n_features", [6, 4000])
def test_sparse_equals_dense(rng, n_features, small_blocks):
    lists = Lists(rng.integers(1, 8, size=30))
    X = sparse_rows(rng, lists.n_rows, n_features, density=2 / n_features)
    y = rng.integers(0, 3, size=lists.n_rows).astype(float)
    coef = rng.standard_normal(n_features)
    objective = LinearObjective(FitData(X, y, lists), ListMLE(), alpha=0.1)
    assert objective.product_at_end == (n_features == 4000)
    value, gradient = objective(coef)
    expected = LinearObjective(FitData(X.toarray(), y, lists), ListMLE(), alpha=0.1)(
        coef
    )
    assert value == pytest.approx(expected[0], rel=1e-14)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-14)


def test_sparse_blocks_share_the_memory_of_x(rng, small_blocks):
    lists = Lists([4] * 40)
    X = sparse_rows(rng, 160, 9, density=0.4)
    objective = LinearObjective(FitData(X, np.zeros(160), lists), ListNet(), alpha=0.1)
    assert len(objective.blocks) > 3
    for block in objective.blocks:
        for view in (block.X, block.X_transposed):
            assert np.shares_memory(view.data, X.data)
            assert np.shares_memory(view.indices, X.indices)


def test_rows_elsewhere_are_gathered_block_by_block(data, rng, small_blocks):
    X, y, lists = data
    rows = rng.permutation(lists.n_rows)
    shuffled = np.empty_like(X)
    shuffled[rows] = X
    coef = rng.standard_normal(4)
    for kind in (np.float64, np.float32):
        apart = LinearObjective(
            FitData(shuffled.astype(kind), y, lists, rows=rows), ListMLE(), alpha=0.1
        )(coef)
        together = LinearObjective(
            FitData(X.astype(kind), y, lists), ListMLE(), alpha=0.1
        )(coef)
        assert apart[0] == together[0]
        np.testing.assert_array_equal(apart[1], together[1])


def test_blocks_hold_whole_lists_and_all_rows(data, small_blocks):
    X, y, lists = data
    objective = LinearObjective(FitData(X, y, lists), ListMLE(), alpha=0.1)
    assert [block.start for block in objective.blocks[1:]] == [
        block.stop for block in objective.blocks[:-1]
    ]
    assert objective.blocks[0].start == 0
    assert objective.blocks[-1].stop == lists.n_rows
    sizes = np.concatenate([block.lists.sizes for block in objective.blocks])
    np.testing.assert_array_equal(sizes, lists.sizes)


def test_a_memory_map_is_recognised_through_views(tmp_path):
    mapped = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=(6, 2))
    assert is_memory_mapped(np.asarray(mapped)[1:4])
    assert not is_memory_mapped(np.zeros((6, 2))[1:4])


def test_the_gradient_of_constant_features_is_that_of_the_penalty_alone(data, rng):
    X, y, lists = data
    constant = np.array([False, True, False, True])
    coef = rng.standard_normal(4)
    plain = LinearObjective(FitData(X, y, lists), ListMLE(), alpha=0.3)(coef)
    masked = LinearObjective(
        FitData(X, y, lists, constant=constant), ListMLE(), alpha=0.3
    )(coef)
    assert masked[0] == plain[0]
    np.testing.assert_array_equal(masked[1][~constant], plain[1][~constant])
    np.testing.assert_array_equal(masked[1][constant], 0.3 * coef[constant])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_spread_is_the_mean_range_inside_lists_where_features_differ(data, dtype):
    X, y, lists = data
    scales = np.array([1e-3, 1.0, 2.0, 1e4])
    X = (X * scales).astype(dtype)
    spread = LinearObjective(FitData(X, y, lists), ListMLE(), alpha=0.1).spread()
    parts = np.split(X.astype(float), lists.starts[1:])
    ranges = np.mean([np.ptp(part, axis=0) for part in parts], axis=0)
    middle = np.median(ranges)
    expected = [10 * ranges[0], middle, middle, ranges[3] / 10]
    # float32 ranges hold seven digits.
    np.testing.assert_allclose(spread, expected, rtol=1e-6)


def test_the_spread_of_features_that_show_none_is_the_median(data):
    X, y, lists = data
    X = X * [1.0, 1.0, 0.0, 1e300]
    X[:2, 3] = 1.7e308, -1.7e308  # a range beyond floats
    spread = LinearObjective(FitData(X, y, lists), ListMLE(), alpha=0.1).spread()
    assert spread[2] == spread[3] == spread[0]
    X[:] = 0.0
    np.testing.assert_array_equal(
        LinearObjective(FitData(X, y, lists), ListMLE(), alpha=0.1).spread(), 1.0
    )


def test_the_spread_of_sparse_features_is_their_mean_size(rng):
    X = rng.standard_normal((60, 3)) * [1e-3, 1.0, 1e4]
    X[rng.random(X.shape) < 0.5] = 0.0
    objective = LinearObjective(
        FitData(sparse.csr_array(X), np.zeros(60), Lists([20] * 3)),
        ListMLE(),
        alpha=0.1,
    )
    size = np.abs(X).mean(axis=0)
    expected = [10 * size[0], size[1], size[2] / 10]
    np.testing.assert_allclose(objective.spread(), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_bounds_what_remains_of_gradients_that_cancel(data, rng, dtype):
    X, _, lists = data
    order = rng.permutation(lists.n_rows).astype(float)
    twice = Lists(np.tile(lists.sizes, 2))
    objective = LinearObjective(
        FitData(np.r_[X, X].astype(dtype), np.r_[order, -order], twice),
        RankNet(),
        alpha=0.0,
    )
    gradient = np.abs(objective(np.zeros(4))[1])
    bound = objective.rounding(np.zeros(4))
    assert np.all(gradient <= bound)
    assert np.all(bound < 1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_are_the_product_in_float64(data, rng, kind, dtype, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)
    X = data[0].astype(dtype)
    coef = rng.standard_normal(4)
    scores = linear_scores(kind(X), coef)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, X.astype(float) @ coef, rtol=0, atol=1e-14)


def test_the_bound_of_rounding_is_that_of_its_formula(data, rng):
    X, y, lists = data
    objective = LinearObjective(FitData(X, y, lists), Shift(), alpha=0.3)
    coef, extra = rng.standard_normal(4), np.array([0.25, -0.5])
    slope = X @ coef - y - extra[0]
    terms = np.abs(X).T @ (1.0 + np.abs(slope)) / lists.n_lists
    n_terms = np.mean(2 * lists.sizes)
    expected = np.append(terms + 0.3 * np.abs(coef), np.full(2, n_terms))
    bound = objective.rounding(np.concatenate((coef, extra)))
    np.testing.assert_allclose(
        bound, 64 * np.finfo(np.float64).eps * expected, rtol=1e-12
    )
