"""What is particular to RankSVM: its numbers, long lists, and the rounded hinge."""

import time
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank import Lists
from skrank.losses import RankSVM, ranksvm

EPS = np.finfo(np.float64).eps
LOSSES = [RankSVM(), RankSVM("linear"), RankSVM("linear").smoothed(0.3)]
all_hinges = pytest.mark.parametrize("loss", LOSSES, ids=["squared", "linear", "round"])


@pytest.fixture
def sorted_lists(monkeypatch):
    """Let all lists be sorted, however short."""
    monkeypatch.setattr(ranksvm, "MOST_PAIRS_A_ROW", 0)


def value_and_gradient(loss, scores, y, sizes=None):
    lists = Lists([len(y)] if sizes is None else sizes)
    scores, y = np.array(scores, dtype=float), np.array(y, dtype=float)
    return loss.value_and_gradient(scores, loss.prepare(y, lists), lists)


def by_formula(loss, scores, y):
    """Return the value and gradient from the table of all pairs."""
    t = 1.0 - (scores[:, np.newaxis] - scores)
    t = np.where(y[:, np.newaxis] > y, np.maximum(t, 0.0), 0.0)
    if isinstance(loss, ranksvm._RoundedHinge):
        w = loss.width
        cost, slope = np.where(t < w, t**2 / (2 * w), t - w / 2), np.minimum(t / w, 1)
    elif loss.hinge == "squared":
        cost, slope = t**2, 2 * t
    else:
        cost, slope = t, (t > 0).astype(float)
    return cost.sum(), slope.sum(axis=0) - slope.sum(axis=1)


@pytest.mark.parametrize("name", ["hinge", "sqhinge"])
def test_values_and_gradients_are_the_worked_numbers(worked_numbers, name):
    cases = worked_numbers["cases"]
    cases = [case for case in cases if case["id"].startswith(f"{name}/")]
    assert len(cases) >= 2
    loss = RankSVM("linear" if name == "hinge" else "squared")
    for case in cases:
        values, gradient = value_and_gradient(loss, case["s"], case["y"])
        assert_allclose(values, case["loss"], rtol=4 * EPS)
        assert_allclose(gradient, case["grad_s"], rtol=4 * EPS, atol=8 * EPS)


@pytest.mark.parametrize("by_sorting", [False, True])
def test_one_pair_with_a_margin_of_04(request, by_sorting):
    if by_sorting:
        request.getfixturevalue("sorted_lists")
    for hinge, expected, slope in [("linear", 0.6, 1.0), ("squared", 0.36, 1.2)]:
        values, gradient = value_and_gradient(RankSVM(hinge), [0.4, 0.0], [1, 0])
        assert_allclose(values, expected, rtol=4 * EPS)
        assert_allclose(gradient, [-slope, slope], rtol=4 * EPS)


@pytest.mark.parametrize("by_sorting", [False, True])
@all_hinges
def test_a_pair_a_margin_apart_costs_nothing(request, loss, by_sorting):
    if by_sorting:
        request.getfixturevalue("sorted_lists")
    values, gradient = value_and_gradient(loss, [2.0, 1.0, 0.0], [2, 1, 0])
    assert_array_equal(values, 0.0)
    assert_array_equal(gradient, 0.0)


@pytest.mark.parametrize("n_levels", [1, 2, 5, 1000])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 8, 9, 17, 100, 256, 257, 700])
@all_hinges
def test_sorted_lists_and_lists_by_pairs_equal_the_table_of_pairs(
    monkeypatch, loss, n_rows, n_levels
):
    rng = np.random.default_rng(n_rows + n_levels)
    # Tied scores and pairs exactly a margin apart among them.
    scores = np.round(4 * rng.standard_normal(n_rows)) / 4 + 50.0
    y = rng.integers(0, n_levels, n_rows) - 0.5
    value, slopes = by_formula(loss, scores, y)
    for longest in [0, 10**6]:
        monkeypatch.setattr(ranksvm, "MOST_PAIRS_A_ROW", longest)
        values, gradient = value_and_gradient(loss, scores, y)
        bound = EPS * (4 + n_rows) * (1 + np.ptp(scores)) ** 2
        assert_allclose(values, value, rtol=0, atol=bound * n_rows)
        assert_allclose(gradient, slopes, rtol=0, atol=bound)


def crowded(kind, rng):
    """Return scores that fall into very unequal parts of their range."""
    n_rows = 300
    if kind == "an outlier":
        return np.append(rng.standard_normal(n_rows - 1), 1e6)
    if kind == "two crowds a margin apart":
        return rng.integers(0, 2, n_rows) + 1e-3 * rng.standard_normal(n_rows)
    if kind == "all equal":
        return np.full(n_rows, 3.0)
    return np.sign(rng.standard_normal(n_rows)) * 10.0 ** rng.uniform(-12, 4, n_rows)


@pytest.mark.parametrize(
    "kind", ["an outlier", "two crowds a margin apart", "all equal", "many scales"]
)
@pytest.mark.parametrize("n_levels", [2, 8, 9, 64, 65, 1000])
@all_hinges
def test_scores_that_crowd_are_sorted_all_the_same(sorted_lists, loss, n_levels, kind):
    rng = np.random.default_rng(n_levels)
    scores = crowded(kind, rng)
    y = rng.integers(0, n_levels, len(scores))
    value, slopes = by_formula(loss, scores, y)
    values, gradient = value_and_gradient(loss, scores, y)
    # A slope is a sum of at most n terms, added one by one, over the width.
    bound = EPS * len(y) ** 2 * (1 + np.ptp(scores)) / getattr(loss, "width", 1.0)
    assert_allclose(gradient, slopes, rtol=0, atol=bound)
    bound *= len(y) * (1 + np.ptp(scores))
    assert_allclose(values, value, rtol=0, atol=bound)


def far_apart(kind, rng, n_rows):
    """Return scores and labels of clusters far apart, each some margins wide.

    All scores are whole numbers of 1/1024, so that differences have no rounding.
    """
    scores = np.round(1024 * rng.standard_normal(n_rows)) / 1024
    y = rng.integers(0, 4, n_rows)
    far = float(kind.split()[0])
    if "best" in kind:
        scores[0], y[0] = far, 9
    elif "worst" in kind:
        scores[0], y[0] = far, -9
    else:
        scores += far * rng.integers(0, 3, n_rows)
    return scores, y


@pytest.mark.parametrize(
    "kind",
    ["1e6 best", "1e17 best", "1e17 worst", "1e3 shift", "1e7 shift", "1e10 shift"],
)
@pytest.mark.parametrize("n_rows", [40, 400])
@pytest.mark.parametrize("by_sorting", [False, True])
@all_hinges
def test_scores_far_apart_lose_nothing(request, loss, by_sorting, n_rows, kind):
    if by_sorting:
        request.getfixturevalue("sorted_lists")
    scores, y = far_apart(kind, np.random.default_rng(5), n_rows)
    value, slopes = by_formula(loss, scores, y)
    values, gradient = value_and_gradient(loss, scores, y)
    # Sums are of numbers at most 8 + 1 margins from what is counted.
    t = np.maximum(1.0 - (scores[:, np.newaxis] - scores), 0.0)
    size = np.where((y[:, np.newaxis] > y) & (t > 0), t + 9.0, 0.0)
    per_row = size.sum(axis=0) + size.sum(axis=1)
    width = getattr(loss, "width", 1.0)
    assert (np.abs(gradient - slopes) <= EPS * n_rows * per_row / width).all()
    assert abs(values[0] - value) <= EPS * n_rows * (size**2).sum() / width


@all_hinges
def test_a_long_list_of_few_pairs_is_not_sorted(monkeypatch, loss):
    # One row above a thousand: a pair a row, whose slopes come out in the last bit as
    # pair by pair.
    rng = np.random.default_rng(4)
    scores, y = rng.standard_normal(1000), np.arange(1000) == 500
    by_default = value_and_gradient(loss, scores, y)
    monkeypatch.setattr(ranksvm, "MOST_PAIRS_A_ROW", np.inf)
    by_pairs = value_and_gradient(loss, scores, y)
    monkeypatch.setattr(ranksvm, "MOST_PAIRS_A_ROW", 0)
    sorted_ = value_and_gradient(loss, scores, y)
    assert by_default[0] == by_pairs[0] != sorted_[0]


@all_hinges
def test_lists_of_many_sizes_do_not_disturb_each_other(loss):
    rng = np.random.default_rng(1)
    sizes = [3, 400, 1, 90, 300]
    y = rng.integers(0, 3, sum(sizes)).astype(float)
    scores = 3.0 * rng.standard_normal(len(y))
    values, gradient = value_and_gradient(loss, scores, y, sizes)
    stops = np.cumsum(sizes)
    for number, stop in enumerate(stops):
        part = slice(stop - sizes[number], stop)
        alone, slopes = value_and_gradient(loss, scores[part], y[part])
        assert_array_equal(values[number], alone[0])
        assert_array_equal(gradient[part], slopes)


@pytest.mark.parametrize("distinct", [False, True])
@all_hinges
def test_a_hundred_thousand_rows_take_little_time_and_memory(loss, distinct):
    n_rows = 100_000
    rng = np.random.default_rng(2)
    y = np.arange(n_rows, dtype=float) if distinct else np.arange(n_rows) % 2.0
    y = rng.permutation(y)
    scores = np.zeros(n_rows)
    lists = Lists([n_rows])
    prepared = loss.prepare(y, lists)
    pairs = loss.n_terms(prepared, lists)[0]
    assert pairs == (n_rows * (n_rows - 1) / 2 if distinct else n_rows**2 / 4)
    tracemalloc.start()
    start = time.process_time()
    values, gradient = loss.value_and_gradient(scores, prepared, lists)
    taken = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 2.0  # some 0.03 s; pair by pair, 5e9 pairs would take many
    assert peak <= 14 * 8 * n_rows
    # With equal scores each pair has d = 0.
    cost, slopes = by_formula(loss, np.zeros(2), np.array([1.0, 0.0]))
    assert_allclose(values[0], cost * pairs, rtol=1e-12)
    below = y if distinct else y * n_rows / 2
    above = n_rows - 1 - y if distinct else (1 - y) * n_rows / 2
    assert_allclose(gradient, slopes[1] * (above - below), rtol=1e-12, atol=1e-6)


def test_scores_that_are_not_finite_do_not_look_like_numbers():
    for loss in LOSSES:
        for n_rows in [4, 400]:
            for bad in [np.nan, np.inf]:
                scores = np.zeros(n_rows)
                scores[1] = bad
                values, _ = value_and_gradient(loss, scores, np.arange(n_rows))
                assert not np.isfinite(values[0])


@pytest.mark.parametrize("n_rows", [9, 300])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_the_hessian_is_that_of_the_formula(n_rows, scale):
    rng = np.random.default_rng(6)
    scores = scale * rng.standard_normal(n_rows)
    y = rng.integers(0, 4, n_rows).astype(float)
    direction = rng.standard_normal(n_rows)
    active = (y[:, np.newaxis] > y) & (1 - (scores[:, np.newaxis] - scores) > 0)
    active = 2.0 * (active | active.T)
    hessian = np.diag(active.sum(axis=1)) - active
    lists, loss = Lists([n_rows]), RankSVM()
    product = loss.hessian_product(scores, loss.prepare(y, lists), lists, direction)
    assert_allclose(product, hessian @ direction, rtol=0, atol=EPS * n_rows**2)


def test_the_linear_hinge_has_no_curvature():
    lists, loss = Lists([3]), RankSVM("linear")
    prepared = loss.prepare(np.array([2.0, 1.0, 0.0]), lists)
    product = loss.hessian_product(np.zeros(3), prepared, lists, np.arange(3.0))
    assert_array_equal(product, 0.0)


@pytest.mark.parametrize("width", [1.0, 0.1, 1e-4])
def test_the_rounded_hinge_is_below_the_hinge_by_half_its_width_a_pair(width):
    rng = np.random.default_rng(3)
    y, scores = rng.integers(0, 3, 50).astype(float), rng.standard_normal(50)
    loss, lists = RankSVM("linear"), Lists([50])
    rounded, prepared = loss.smoothed(width), loss.prepare(y, lists)
    value = loss.value_and_gradient(scores, prepared, lists)[0][0]
    below = rounded.value_and_gradient(scores, prepared, lists)[0][0]
    pairs = loss.n_terms(prepared, lists)[0]
    assert value - width / 2 * pairs <= below < value
    assert rounded.n_terms(prepared, lists)[0] == pairs


def test_only_the_linear_hinge_needs_rounding():
    assert RankSVM().smoothed(0.1) is None
    assert RankSVM("linear").smoothed(0.1).smoothed(0.1) is None


def test_unknown_hinges_are_named():
    with pytest.raises(ValueError, match="hinge must be 'squared' or 'linear', got 2"):
        RankSVM(2)([0.0, 1.0], [1, 0], [0, 0])


@pytest.mark.parametrize("width", [0.01, 0.25, 1.0])
def test_a_rounded_hinge_is_whitened_by_the_pairs_inside_a_width_of_1(width):
    # A pair bends where t = 1 - (difference of scores) is between 0 and 1. Random signs
    # find that of a pair with a chance, so that there are ten pairs of each kind.
    differences = np.repeat([0.2, 0.9, -0.2, 1.2], 10)
    scores = np.column_stack((differences, np.zeros(40))).ravel()
    lists, y = Lists([2] * 40), np.array([1.0, 0.0] * 40)
    loss = ranksvm._RoundedHinge(width)
    weights = loss.curvature_weights(scores, loss.prepare(y, lists), lists)
    assert (weights.reshape(4, 20) > 0).any(axis=1).tolist() == [
        True,
        True,
        False,
        False,
    ]
