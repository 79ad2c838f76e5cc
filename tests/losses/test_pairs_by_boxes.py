"""Lists of very many pairs: the same sums as over all pairs, in time n log n."""

import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skrank import Lists
from skrank.losses import Davidson, RankNet, RaoKupper, _pairs

N = 330
ROWS = np.random.default_rng(3).normal(size=N)
PLACES = np.random.default_rng(4).permutation(N).astype(float)
SCORES = {
    "equal": np.zeros(N),
    "near": ROWS,
    "spread": 10.0 * ROWS,
    "wide": 1e3 * ROWS,
    "even to 1e4": np.linspace(-1e4, 1e4, N)[PLACES.astype(int)],
    "two clusters": np.where(PLACES % 2 == 0, -1e4, 1e4) + ROWS,
    "heavy tails": ROWS / ROWS[::-1],
    "far from 0": 1e6 + ROWS,
}
rng = np.random.default_rng(5)
LABELS = {
    "all different": rng.permutation(N).astype(float),
    "few": rng.integers(0, 4, N).astype(float),
    "one large level": np.where(rng.random(N) < 0.8, 0.0, rng.integers(1, 99, N)),
}
DIRECTION = rng.normal(size=N)


def log_of_sum(*logs):
    top = np.maximum.reduce(logs)
    return top + np.log(sum(np.exp(log - top) for log in logs))


def shares(d, log_ratios, multiples):
    """Return log f and the shares in f of its terms exp(log_ratio - multiple d)."""
    logs = [log - m * d for log, m in zip(log_ratios, multiples, strict=True)]
    total = log_of_sum(*logs)
    return total, [np.exp(log - total) for log in logs]


def moments(parts, multiples):
    """Return the mean multiple over shares, and the variance from pairs of shares."""
    mean = sum(p * m for p, m in zip(parts, multiples, strict=True))
    variance = sum(
        parts[i] * parts[j] * (multiples[i] - multiples[j]) ** 2
        for i in range(len(parts))
        for j in range(i)
    )
    return mean, variance


@pytest.fixture(autouse=True)
def boxes_for_short_lists(monkeypatch):
    """Lists of few pairs a row go by boxes too, so that all pairs are soon visited."""
    monkeypatch.setattr(_pairs, "MOST_PAIRS_A_ROW", 1.5)


class AllPairs:
    """The sums over all pairs, with the sums of their absolute values."""

    def __init__(self, loss, scores, y, a):
        d = scores[:, None] - scores[None, :]
        if isinstance(loss, Davidson):
            win, multiples, tie = [0.0, a, 0.0], [0.0, 0.5, 1.0], [0.0, a, 0.0]
            ends, constant = [-0.5, 0.0, 0.5], a
        else:
            theta = 1.0 + np.exp(a) if isinstance(loss, RaoKupper) else 1.0
            win, multiples = [0.0, np.log(theta)], [0.0, 1.0]
            tie, ends = [0.0, np.log(theta + 1.0 / theta), 0.0], [-1.0, 0.0, 1.0]
            constant = np.log(theta - 1.0 / theta) if theta > 1.0 else 0.0
        cost, parts = shares(d, win, multiples)
        slope, bend = moments(parts, multiples)
        weight = (y[:, None] > y[None, :]).astype(float)
        if getattr(loss, "pair_weight", None) == "gain":
            gain = np.exp2(y - y.max())
            ideal = np.sort(gain - np.exp2(-y.max()))[::-1]
            ideal = np.sum(ideal / np.log2(np.arange(2.0, len(y) + 2.0)))
            weight *= (gain[:, None] - gain[None, :]) / ideal
        self.weight, self.terms = weight, [(weight, cost, slope, bend)]
        if not isinstance(loss, RankNet):
            cost, parts = shares(d, tie, ends)
            slope, bend = moments(parts, ends)
            tied = np.triu(y[:, None] == y[None, :], 1).astype(float)
            self.terms.append((tied, cost - constant, slope, bend))

    def value(self):
        values = [weight * cost for weight, cost, *_ in self.terms]
        return sum(v.sum() for v in values), sum(np.abs(v).sum() for v in values)

    def gradient(self):
        """Return the sums and the absolute sums, the row i losing its slopes."""
        slopes = [weight * slope for weight, _, slope, _ in self.terms]
        sums = sum(s.sum(0) - s.sum(1) for s in slopes)
        return sums, sum(np.abs(s).sum(0) + np.abs(s).sum(1) for s in slopes)

    def product(self, v):
        gaps = v[:, None] - v[None, :]
        bends = [weight * bend * gaps for weight, _, _, bend in self.terms]
        sums = sum(b.sum(1) - b.sum(0) for b in bends)
        return sums, sum(np.abs(b).sum(1) + np.abs(b).sum(0) for b in bends)


def assert_within(computed, sums, n_pairs):
    """Check the error against 1e-12 of the absolute terms, or 1e-16 a pair."""
    exact, absolute = sums
    assert np.all(
        np.abs(computed - exact) <= np.maximum(1e-12 * absolute, 1e-16 * n_pairs)
    )


CASES = [
    (RankNet(), 0.0),
    (RankNet("gain"), 0.0),
    (RaoKupper(), 0.4),
    (Davidson(), -0.3),
]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize(("loss", "a"), CASES)
def test_sums_are_those_over_all_pairs(loss, a, kind, labels):
    y, s, lists = LABELS[labels], SCORES[kind], Lists([N])
    if loss.get_params().get("pair_weight") == "gain":
        y = y % 30.0  # gains of 2^30 and beyond leave all but the best pairs nothing
    prepared = loss.prepare(y, lists)
    extra_arguments = () if isinstance(loss, RankNet) else (np.array([a]),)
    pairs = AllPairs(loss, s, y, a)
    values, gradient = loss.value_and_gradient(s, prepared, lists, *extra_arguments)[:2]
    assert_within(values[0], pairs.value(), N * (N - 1) / 2)
    assert_within(gradient, pairs.gradient(), N)
    product = loss.hessian_product(s, prepared, lists, DIRECTION, *extra_arguments)
    assert_within(product, pairs.product(DIRECTION), N * np.abs(DIRECTION).max())


@pytest.mark.parametrize("labels", LABELS)
def test_a_number_added_to_all_gains_changes_no_bit(labels):
    loss, lists = RankNet("gain"), Lists([N])
    prepared = loss.prepare(LABELS[labels] % 30.0, lists)
    # Whole numbers below 2^52, so that differences of gains are exact.
    gains = np.arange(len(prepared.gains), 0.0, -1.0)
    near, far = (prepared._replace(gains=gains + shift) for shift in (0.0, 2.0**40))
    for one, other in zip(
        loss.value_and_gradient(ROWS, near, lists),
        loss.value_and_gradient(ROWS, far, lists),
        strict=True,
    ):
        assert_array_equal(one, other)
    assert_array_equal(
        loss.hessian_product(ROWS, near, lists, DIRECTION),
        loss.hessian_product(ROWS, far, lists, DIRECTION),
    )


@pytest.mark.parametrize("loss", [RaoKupper(), Davidson()])
@pytest.mark.parametrize("a", [-20.0, -3.0, 0.0, 3.0, 20.0])
def test_the_derivative_in_the_tie_parameter_is_that_of_the_value(loss, a):
    """And parameters at their limits keep sums exact."""
    y, s, lists = LABELS["one large level"], SCORES["near"], Lists([N])
    prepared = loss.prepare(y, lists)
    if abs(a) < 20.0:
        step = 1e-5
        up, down = (
            loss.value_and_gradient(s, prepared, lists, np.array([a + sign * step]))[0]
            for sign in (1.0, -1.0)
        )
        slope = loss.value_and_gradient(s, prepared, lists, np.array([a]))[2][0, 0]
        # Rounding of the value over the step, and the step squared.
        tolerance = 1e-15 * abs(up[0]) / step + 1e-9 * abs(up[0])
        assert abs((up - down)[0] / (2 * step) - slope) < tolerance
    value, gradient = loss.value_and_gradient(s, prepared, lists, np.array([a]))[:2]
    if isinstance(loss, RaoKupper) and a == -20.0:
        return  # theta - 1/theta of a rounded theta is no reference
    pairs = AllPairs(loss, s, y, a)
    assert_within(value[0], pairs.value(), N * (N - 1) / 2)
    assert_within(gradient, pairs.gradient(), N)


@pytest.mark.parametrize("spread", [2.0, 10.0, 100.0])
@pytest.mark.parametrize("a", [-6.0, 2.0])
def test_long_lists_go_by_boxes_and_series(monkeypatch, spread, a):
    """The same sums, where boxes hold many rows, and far ones go by series."""
    monkeypatch.undo()
    draw = np.random.default_rng(10)
    y, s = draw.permutation(1000) / 33.0, spread * draw.normal(size=1000)
    v, lists = draw.normal(size=1000), Lists([1000])
    for loss, extra_arguments in (
        (RankNet(), ()),
        (RankNet("gain"), ()),
        (Davidson(), (np.array([a]),)),
        (RaoKupper(), (np.array([a]),)),
    ):
        labels = y if isinstance(loss, RankNet) else y // 10.0  # ties by boxes, too
        prepared, pairs = loss.prepare(labels, lists), AllPairs(loss, s, labels, a)
        values, gradient = loss.value_and_gradient(
            s, prepared, lists, *extra_arguments
        )[:2]
        assert_within(values[0], pairs.value(), 1000 * 999 / 2)
        assert_within(gradient, pairs.gradient(), 1000)
        product = loss.hessian_product(s, prepared, lists, v, *extra_arguments)
        assert_within(product, pairs.product(v), 1000 * np.abs(v).max())
        if extra_arguments:
            step = 1e-4
            in_a = loss.value_and_gradient(s, prepared, lists, *extra_arguments)[2][
                0, 0
            ]
            up, down = (
                AllPairs(loss, s, labels, a + h).value()[0] for h in (step, -step)
            )
            # Rounding of the value over the step, and the step squared.
            tolerance = 1e-15 * abs(up) / step + step**2 * len(s) ** 2 / 8
            assert abs((up - down) / (2 * step) - in_a) < tolerance


def test_a_constant_direction_gives_no_more_than_rounding():
    lists = Lists([N])
    for labels in LABELS.values():
        prepared = RankNet().prepare(labels, lists)
        product = RankNet().hessian_product(ROWS, prepared, lists, np.ones(N))
        assert np.abs(product).max() < 1e-16 * N


def test_lists_with_and_without_boxes_do_not_touch_each_other():
    sizes = [40, N, 7, N, 1]
    lists = Lists(sizes)
    draw = np.random.default_rng(8)
    s = draw.normal(size=lists.n_rows)
    y = draw.integers(0, 400, lists.n_rows).astype(float)
    for loss, extra_arguments in ((RankNet(), ()), (Davidson(), (np.array([0.2]),))):
        prepared = loss.prepare(y, lists)
        values, gradient = loss.value_and_gradient(
            s, prepared, lists, *extra_arguments
        )[:2]
        for q, size in enumerate(sizes):
            rows = slice(lists.offsets[q], lists.offsets[q + 1])
            own = Lists([size])
            alone = loss.value_and_gradient(
                s[rows].copy(), loss.prepare(y[rows], own), own, *extra_arguments
            )
            assert values[q] == pytest.approx(alone[0][0], rel=1e-14)
            np.testing.assert_allclose(gradient[rows], alone[1], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_give_nan_at_once(bad):
    s, lists = ROWS.copy(), Lists([N])
    s[17] = bad
    prepared = RankNet().prepare(LABELS["all different"], lists)
    values, gradient = RankNet().value_and_gradient(s, prepared, lists)
    assert_array_equal(values, [np.nan])
    assert np.isnan(gradient).all()


@pytest.mark.parametrize("loss", [RaoKupper(), Davidson()])
def test_scores_that_are_no_numbers_give_no_number_with_ties(loss):
    s, lists, extra = ROWS.copy(), Lists([N]), np.array([0.1])
    s[17] = np.nan
    prepared = loss.prepare(LABELS["few"], lists)
    values, gradient, in_extra = loss.value_and_gradient(s, prepared, lists, extra)
    assert_array_equal(values, [np.nan])
    assert_array_equal(in_extra, [[np.nan]])
    assert np.isnan(gradient).all()


def test_a_list_of_100_000_rows_takes_little_time(monkeypatch):
    """Half a second of a quiet core; all pairs would take some seven seconds."""
    monkeypatch.undo()
    lists, draw = Lists([100_000]), np.random.default_rng(9)
    y, s = draw.permutation(100_000).astype(float), draw.normal(size=100_000)
    prepared = RankNet().prepare(y, lists)
    times = []
    for _ in range(3):
        start = time.process_time()
        RankNet().value_and_gradient(s, prepared, lists)
        times.append(time.process_time() - start)
    assert min(times) < 0.5
