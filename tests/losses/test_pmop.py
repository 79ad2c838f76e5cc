"""PMOP: worked numbers, sums of probabilities, enumeration, precision, extremes."""

import tracemalloc
from itertools import combinations, product
from math import comb, log

import numpy as np
import pytest
from skrank._kernels.subsets_geometric import IMPOSSIBLE

from skrank import Lists
from skrank.losses import PMOP, DavidsonLuce, ListMLE

EPS = np.finfo(np.float64).eps
FUBINI = [1, 3, 13, 75, 541, 4683]


def evaluate(loss, scores, y, sizes=None, *extra):
    """Return values, gradient and, with extra parameters, the gradient in them."""
    scores, y = np.asarray(scores, dtype=float), np.asarray(y, dtype=float)
    lists = Lists([len(y)] if sizes is None else sizes)
    return loss.value_and_gradient(scores, loss.prepare(y, lists), lists, *extra)


def largest_level(y):
    return int(np.unique(y, return_counts=True)[1].max())


WORKED = {
    "pmop_fd": lambda y: PMOP(),
    "pmop_general": lambda y: PMOP("geometric"),
    "pmop_general_cap": lambda y: PMOP("geometric", largest_level(y)),
}


def test_values_and_gradients_are_the_worked_numbers(worked_numbers):
    cases = worked_numbers["cases"]
    distinct = set()
    for case in cases:
        model = case["id"].split("/")[0]
        if model not in WORKED:
            continue
        distinct.add(model)
        values, gradient = evaluate(WORKED[model](case["y"]), case["s"], case["y"])
        size = max(1.0, *map(abs, case["s"]))
        assert values[0] == pytest.approx(case["loss"], rel=1e-15, abs=1e-15)
        np.testing.assert_allclose(gradient, case["grad_s"], atol=2 * EPS * size)
    assert distinct == set(WORKED)


def ordered_partitions(n):
    """Return the labels of all ordered partitions of n rows into levels."""
    return [
        labels
        for labels in product(range(n), repeat=n)
        if set(labels) == set(range(max(labels) + 1))
    ]


def capped(cap):
    return lambda y: largest_level(y) <= cap


@pytest.mark.parametrize(
    ("loss", "possible", "extra"),
    [
        (PMOP(), capped(6), ()),
        (PMOP(max_tie_size=2), capped(2), ()),
        (PMOP("geometric"), capped(6), ()),
        (PMOP("geometric", max_tie_size=2), capped(2), ()),
        (DavidsonLuce(), capped(6), (np.array([0.7, -1.0, 0.2, 3.0, -0.4]),)),
        (DavidsonLuce("slope"), capped(6), (np.array([-0.8]),)),
        (DavidsonLuce("slope", max_tie_size=3), capped(3), (np.array([0.5]),)),
        (
            DavidsonLuce(),
            lambda y: set(np.unique(y, return_counts=True)[1]) <= {1, 3},
            (np.array([IMPOSSIBLE, 0.3]),),
        ),
    ],
)
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("n", range(1, 7))
def test_probabilities_of_all_ordered_partitions_sum_to_one(
    loss, possible, extra, scale, n
):
    scores = scale * np.cos(np.arange(n) ** 2 + 1.0)
    labels = ordered_partitions(n)
    assert len(labels) == FUBINI[n - 1]
    labels = [y for y in labels if possible(y)]
    values = evaluate(
        loss,
        np.tile(scores, len(labels)),
        np.concatenate(labels),
        np.full(len(labels), n),
        *extra,
    )[0]
    # Values of up to 1000 are rounded to 1000 eps.
    tolerance = 8 * n * EPS * (1 + scale)
    assert np.exp(-values).sum() == pytest.approx(1.0, rel=tolerance)


def enumerate_geometric(s, y, log_weights):
    """Return value and gradients by enumeration of all subsets of each stage."""
    n = len(s)
    takes = (np.arange(1, 2**n)[:, np.newaxis] >> np.arange(n)) & 1
    sizes = takes.sum(axis=1)
    value, gradient, in_weights = 0.0, np.zeros(n), np.zeros(len(log_weights))
    for label in np.unique(y):
        allowed = ~takes[:, y > label].any(axis=1) & (sizes <= len(log_weights))
        size, mean = sizes[allowed], takes[allowed] @ s / sizes[allowed]
        logs = mean + log_weights[size - 1]
        top = logs.max()
        share = np.exp(logs - top)
        total = share.sum()
        share /= total
        level = np.flatnonzero(y == label)
        value += log(total) + top - s[level].mean() - log_weights[len(level) - 1]
        gradient += (share / size) @ takes[allowed]
        gradient[level] -= 1 / len(level)
        in_weights += np.bincount(size - 1, share, len(log_weights))
        in_weights[len(level) - 1] -= 1
    return value, gradient, in_weights


@pytest.mark.parametrize("scale", [1.0, 10.0, 300.0])
@pytest.mark.parametrize("n", range(1, 13))
def test_all_subsets_are_counted(n, scale):
    rng = np.random.default_rng(n)
    s, y = scale * rng.standard_normal(n), rng.integers(0, 3, size=n).astype(float)
    logs = np.zeros(n)
    value, gradient, _ = enumerate_geometric(s, y, logs)
    values, slope = evaluate(PMOP("geometric"), s, y)
    assert values[0] == pytest.approx(value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=0, atol=1e-12)
    logs[1:] = rng.standard_normal(n - 1)
    value, gradient, in_weights = enumerate_geometric(s, y, logs)
    if n > 1:
        result = evaluate(DavidsonLuce(), s, y, None, logs[1:])
        assert result[0][0] == pytest.approx(value, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(result[1], gradient, rtol=0, atol=1e-12)
        np.testing.assert_allclose(result[2][0], in_weights[1:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 400.0])
@pytest.mark.parametrize("n", [25, 50, 100])
def test_sixty_digits_agree(n, scale):
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(n)
    s = scale * rng.standard_normal(n)
    y = (np.arange(n) < n // 3).astype(float)
    row = n // 2  # whose gradient is checked; it is left at both stages
    value = gradient = 0
    with mpmath.workdps(60):
        for label in (0.0, 1.0):
            left, level = np.flatnonzero(y <= label), np.flatnonzero(y == label)
            total = 0
            in_row = 0
            for m in range(1, len(left) + 1):
                a = [mpmath.exp(mpmath.mpf(s[i]) / m) for i in left[left != row]]
                own = mpmath.exp(mpmath.mpf(s[row]) / m)
                without, taken = elementary(a, m), own * elementary(a, m - 1)
                total += without + taken
                in_row += taken / m
            value += mpmath.log(total) - mpmath.fsum(s[level].tolist()) / len(level)
            gradient += in_row / total - (row in level) / mpmath.mpf(len(level))
    values, slope = evaluate(PMOP("geometric"), s, y)
    assert values[0] == pytest.approx(float(value), rel=1e-11)
    assert slope[row] == pytest.approx(float(gradient), abs=1e-11)


def elementary(a, m):
    """Return the sum of the products of m different numbers, 0 if there are fewer."""
    e = [1] + [0] * m
    for number, factor in enumerate(a, start=1):
        for j in range(min(number, m), 0, -1):
            e[j] += factor * e[j - 1]
    return e[m]


def in_logarithms(s, y, log_weights):
    """Return value and gradient from logs of sums, added row after row.

    ``log_weights`` has the log of the weight of each size that is possible.
    """
    worst_first = np.argsort(y, kind="stable")
    s, y = s[worst_first], y[worst_first]
    ends = np.append(np.flatnonzero(np.diff(y)) + 1, len(y))
    starts = np.append(0, ends[:-1])
    forward = {m: log_sums(s / m, m) for m in log_weights}
    value, gradient = 0.0, np.zeros(len(s))
    log_total = {}
    for start, end in zip(starts, ends, strict=True):
        logs = [forward[m][end, m] + w for m, w in log_weights.items()]
        log_total[end] = np.logaddexp.reduce(logs)
        value += log_total[end] - s[start:end].mean() - log_weights[end - start]
        gradient[start:end] -= 1 / (end - start)
    for m, log_weight in log_weights.items():
        after = np.full(m + 2, -np.inf)  # log derivative in e_j; beyond m it is 0
        for i in range(len(s) - 1, -1, -1):
            if i + 1 in log_total:
                after[m] = np.logaddexp(after[m], log_weight - log_total[i + 1])
            logs = after[1 : m + 1] + forward[m][i, :m]
            gradient[i] += np.exp(np.logaddexp.reduce(logs) + s[i] / m) / m
            after[:-1] = np.logaddexp(after[:-1], after[1:] + s[i] / m)
    unsorted = np.empty(len(s))
    unsorted[worst_first] = gradient
    return value, unsorted


def log_sums(log_a, m):
    """Return the log of e_0, ..., e_m of the first 0, 1, ... rows."""
    logs = np.full((len(log_a) + 1, m + 1), -np.inf)
    logs[:, 0] = 0.0
    for i, add in enumerate(log_a):
        logs[i + 1, 1:] = np.logaddexp(logs[i, 1:], logs[i, :-1] + add)
    return logs


@pytest.mark.parametrize("gap", [0.0, 700.0, 1e4])
@pytest.mark.parametrize("gap_follows_labels", [True, False])
@pytest.mark.parametrize("n", [1100, 2000])
def test_long_lists_with_gaps_between_scores(n, gap, gap_follows_labels):
    rng = np.random.default_rng(n)
    sizes = [1, 3, n // 4 - 4, n // 4, n // 2]  # of the levels, best first
    y = np.repeat(np.arange(5.0)[::-1], sizes)
    high = y > 0 if gap_follows_labels else np.arange(n) % 97 == 0
    s = rng.standard_normal(n) + gap * high
    logs = np.full(n, float(IMPOSSIBLE))
    # Few sizes, for the sake of time; weights make all of them matter.
    logs[np.array(sizes) - 1] = -log(2.0) * np.array(sizes)
    logs[0] = 0.0
    chosen = {size: logs[size - 1] for size in sizes}
    value, gradient = in_logarithms(s, y, chosen)
    values, slope, _ = evaluate(DavidsonLuce(), s, y, None, logs[1:])
    # Sums of n logs, each rounded by gap * eps; then five logs as large as the value.
    tolerance = EPS * n * (1 + gap) + 5 * EPS * value
    assert values[0] == pytest.approx(value, rel=0, abs=tolerance)
    np.testing.assert_allclose(slope, gradient, rtol=0, atol=tolerance)


@pytest.mark.parametrize("n", [1100, 2000])
@pytest.mark.parametrize("gap", [0.0, 700.0, 1e4])
def test_long_lists_with_small_ties(n, gap):
    rng = np.random.default_rng(n)
    y = rng.permutation(np.repeat(np.arange(n // 5), 5)).astype(float)
    s = rng.standard_normal(n) + gap * rng.integers(0, 2, size=n)
    value, gradient = in_logarithms(s, y, dict.fromkeys(range(1, 7), 0.0))
    values, slope = evaluate(PMOP("geometric", max_tie_size=6), s, y)
    assert values[0] == pytest.approx(value, rel=0, abs=EPS * n * n * (1 + gap))
    np.testing.assert_allclose(slope, gradient, rtol=0, atol=EPS * n * (1 + gap))


def test_long_lists_and_all_sizes():
    """Where every subset is as likely, log Z = log(2^n - 1)."""
    n = 1100
    y = (np.arange(n) < 40).astype(float)
    values, gradient = evaluate(PMOP("geometric"), np.full(n, 7.0), y)
    assert values[0] == pytest.approx((2 * n - 40) * log(2.0), rel=1e-13)
    np.testing.assert_allclose(gradient[:40], 1 / n - 1 / 40, rtol=1e-11)


def test_memory_is_that_of_one_size_of_subsets():
    n, cap, n_levels = 1000, 60, 20
    y = np.arange(n) // (n // n_levels)
    lists, loss = Lists([n]), PMOP("geometric", max_tie_size=cap)
    prepared = loss.prepare(y.astype(float), lists)
    tracemalloc.start()
    try:
        loss.value_and_gradient(np.linspace(-2.0, 2.0, n), prepared, lists)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    sums = 8 * n * cap + 24 * n_levels * cap
    assert sums < peak < 1.5 * sums
    assert peak < 8 * n * cap**2 / 20  # of all sizes at once


@pytest.mark.parametrize("width", [1.0, 100.0, 560.0, 640.0, 1e3, 1e5])
@pytest.mark.parametrize("n_labels", [3, 60])
def test_scores_of_any_range(width, n_labels):
    rng = np.random.default_rng(5)
    s, y = rng.uniform(0, width, size=60), rng.integers(0, n_labels, size=60)
    s[:2] = 0, width
    value, gradient = in_logarithms(s, y * 1.0, dict.fromkeys(range(1, 61), 0.0))
    values, slope = evaluate(PMOP("geometric"), s, y)
    assert values[0] == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(slope, gradient, rtol=0, atol=60 * EPS * (1 + width))


def enumerate_exactly(mpmath, s, y, log_weights):
    """Return the value, gradient and second derivatives of one list."""
    n, s = len(s), [mpmath.mpf(float(score)) for score in s]
    value, gradient = mpmath.mpf(0), [mpmath.mpf(0)] * n
    hessian = mpmath.zeros(n)
    for label in set(y):
        left = [i for i in range(n) if y[i] <= label]
        level = [i for i in range(n) if y[i] == label]
        weights = {
            rows: mpmath.exp(log_weights[size - 1] + sum(s[i] for i in rows) / size)
            for size in range(1, len(left) + 1)
            for rows in combinations(left, size)
            if log_weights[size - 1] > IMPOSSIBLE
        }
        total = sum(weights.values())
        value += mpmath.log(total) - sum(s[i] for i in level) / len(level)
        value -= log_weights[len(level) - 1]
        mean = [mpmath.mpf(0)] * n
        for rows, weight in weights.items():
            for i in rows:
                mean[i] += weight / total / len(rows)
                for j in rows:
                    hessian[i, j] += weight / total / len(rows) ** 2
        for i in left:
            gradient[i] += mean[i] - (y[i] == label) / mpmath.mpf(len(level))
            for j in left:
                hessian[i, j] -= mean[i] * mean[j]
    return value, np.array(gradient, dtype=float), np.array(hessian.tolist(), float)


def drawn_far_apart(rng, n, size):
    """Return scores of some size: all different, of few values, or near each other."""
    return [
        size * rng.standard_normal(n),
        rng.choice([size, -size, 0.0, 0.3, 0.7, 1.0 + size / 2], n),
        size + rng.standard_normal(n) * rng.choice([1.0, size], n),
    ][rng.integers(3)]


@pytest.mark.parametrize("size", [1.0, 1e3, 1e5, 2e5, 1e6, 1e10, 1e15, 1e60, 1e150])
@pytest.mark.parametrize("loss", [PMOP("geometric"), DavidsonLuce()], ids=repr)
def test_scores_of_any_size_lose_no_digit(loss, size):
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(7)
    # exp reaches 10 ** (4 * size), which is no matter, and sums all its digits.
    with mpmath.workdps(40 + 2 * int(np.log10(size))):
        for n in (2, 3, 3, 4, 4, 5, 5, 6, 8):
            s = drawn_far_apart(rng, n, size)
            y = rng.integers(0, rng.integers(1, n + 1), n).astype(float)
            lists = Lists([n])
            extra = loss.extra_parameters(y, lists)
            extra_arguments = (extra,) if len(extra) else ()
            logs = np.zeros(n)
            if isinstance(loss, DavidsonLuce):
                logs[1:] = IMPOSSIBLE
                logs[1 : len(extra) + 1] = extra
            value, gradient, hessian = enumerate_exactly(mpmath, s, y, logs)
            values, slope, *_ = evaluate(loss, s, y, None, *extra_arguments)
            # Rounding of differences d is d EPS, and they matter where exp(-d) > 0.
            reach = 750 * EPS
            assert values[0] == pytest.approx(float(value), rel=4 * EPS, abs=reach)
            np.testing.assert_allclose(slope, gradient, rtol=0, atol=reach)
            assert abs(slope.sum()) < 8 * n * EPS
            if size <= 1e6:
                prepared, direction = loss.prepare(y, lists), rng.uniform(-1, 1, n)
                product = loss.hessian_product(
                    s, prepared, lists, direction, *extra_arguments
                )
                # Scores are rounded to EPS of their range, gradients bend within 1.
                tolerance = 8 * (EPS * max(1.0, np.ptp(s))) ** (2 / 3)
                np.testing.assert_allclose(
                    product, hessian @ direction, rtol=0, atol=tolerance
                )


@pytest.mark.parametrize("size", [1e200, 8e307])
def test_the_largest_numbers_are_scores(size):
    s = [size, -size, size, 0.0, -size]
    for y in product(range(3), repeat=5):
        log_weights = np.zeros(largest_level(y) - 1)
        for loss, extra_arguments in (
            (PMOP("geometric"), ()),
            (DavidsonLuce(), (log_weights,)),
        ):
            values, gradient, *_ = evaluate(loss, s, y, None, *extra_arguments)
            assert values[0] >= 0.0
            assert abs(gradient.sum()) < 40 * EPS


def test_a_level_may_need_another_way_of_adding_up():
    """Rows 1e4 apart: what is rare before a level is all there is below it."""
    rng = np.random.default_rng(6)
    s = rng.standard_normal(300) - 1e4 * np.repeat(np.arange(6.0), 50)
    y = np.repeat(np.arange(6.0)[::-1], 50)
    value, gradient = in_logarithms(s, y, dict.fromkeys(range(1, 51), 0.0))
    values, slope = evaluate(PMOP("geometric", max_tie_size=50), s, y)
    assert values[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=0, atol=300 * EPS * 5e4)


@pytest.mark.parametrize("loss", [PMOP(), PMOP("geometric"), DavidsonLuce("slope")])
def test_lists_of_all_lengths_at_once(loss):
    """Short, long, near and far lists side by side equal each of them alone."""
    rng = np.random.default_rng(7)
    sizes = rng.permutation([*range(1, 45), 127, 128, 129, 140])
    lists = Lists(sizes)
    wide = rng.integers(0, 5, size=len(lists)) == 0
    s = rng.standard_normal(lists.n_rows) * lists.expand(np.where(wide, 1e3, 1.0))
    y = rng.integers(0, 4, size=lists.n_rows).astype(float)
    extra = loss.extra_parameters(y, lists) - 0.1
    extra_arguments = (extra,) if len(extra) else ()
    values, gradient = evaluate(loss, s, y, sizes, *extra_arguments)[:2]
    for q, (start, size) in enumerate(zip(lists.starts, sizes, strict=True)):
        rows = slice(start, start + size)
        alone = evaluate(loss, s[rows], y[rows], None, *extra_arguments)
        assert alone[0][0] == pytest.approx(values[q], rel=1e-12, abs=1e-13)
        np.testing.assert_allclose(alone[1], gradient[rows], rtol=0, atol=1e-11)


@pytest.mark.parametrize("width", [1.0, 500.0, 1e4])
def test_arithmetic_without_ties_has_the_gradient_of_listmle(width):
    rng = np.random.default_rng(3)
    s, y = width * rng.random(50), rng.permutation(50).astype(float)
    values, gradient = evaluate(PMOP(), s, y)
    expected, by_listmle = evaluate(ListMLE(), s, y)
    # A sum of probabilities, each rounded in proportion to the scores.
    error = np.abs(gradient - by_listmle) / (1 + np.abs(gradient))
    assert error.max() <= 4 * EPS * (1 + width)
    constant = sum(log((2**n - 1) / n) for n in range(1, 51))
    assert values[0] == pytest.approx(expected[0] + constant, rel=1e-14)


def test_arithmetic_is_not_convex():
    values = [evaluate(PMOP(), [t, -t, 0.0], [1, 1, 0])[0][0] for t in (-1, 0, 1)]
    # The first stage is (1/7) 3/2 times the share of its rows in all three.
    cosh = np.cosh(1.0)
    at_one = -log(1.5 / 7 * 2 * cosh / (2 * cosh + 1))
    expected = [at_one, log(7.0), at_one]
    np.testing.assert_allclose(values, expected, rtol=1e-15)
    assert values[1] > max(values[0], values[2])


def test_geometric_with_subsets_of_one_row_is_plackett_luce():
    rng = np.random.default_rng(3)
    s, y = rng.standard_normal(30), rng.permutation(30)
    computed = evaluate(PMOP("geometric", max_tie_size=1), s, y)
    for ours, expected in zip(computed, evaluate(ListMLE(), s, y), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-14)


def test_a_cap_changes_arithmetic_by_a_constant():
    s, y = np.linspace(-2.0, 3.0, 40), np.arange(40) // 2
    free, capped = evaluate(PMOP(), s, y), evaluate(PMOP(max_tie_size=3), s, y)
    np.testing.assert_array_equal(free[1], capped[1])
    subsets = [sum(comb(n, m) for m in (1, 2, 3)) for n in range(2, 41, 2)]
    constant = sum(
        log(few / (2**n - 1)) for few, n in zip(subsets, range(2, 41, 2), strict=True)
    )
    assert capped[0][0] - free[0][0] == pytest.approx(constant, rel=1e-13)


@pytest.mark.parametrize("potential", ["arithmetic", "geometric"])
def test_a_tie_above_the_cap_is_refused_by_name(potential):
    with pytest.raises(ValueError, match=r"3 rows of list 1 .* share the label 5\."):
        PMOP(potential, max_tie_size=2)([0] * 6, [1, 1, 5, 5, 2, 5], [0, 0, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("loss", "complaint"),
    [
        (PMOP("harmonic"), "potential must be .*, got 'harmonic'"),
        (PMOP(max_tie_size=0), "max_tie_size must be None or an integer of at least 1"),
        (PMOP(max_tie_size=2.5), "max_tie_size must be .* got 2.5"),
    ],
)
def test_wrong_parameters_are_named(loss, complaint):
    with pytest.raises(ValueError, match=complaint):
        loss([0.0, 1.0], [1, 0], [0, 0])
