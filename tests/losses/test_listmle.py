"""ListMLE: worked numbers, extreme scores, ties, and what it says about row order."""

import warnings
from itertools import permutations
from math import exp, fsum, log

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from skrank import ListMLERanker, Lists
from skrank.datasets import make_ranking
from skrank.losses import ListMLE

WORKED = {
    "listmle": {"ties": "order"},
    "listmle_top2": {"ties": "order", "top_k": 2},
    "listmle_position": {"ties": "order", "stage_weights": "position"},
    "listmle_discount": {"ties": "order", "stage_weights": "discount"},
    "marginal": {"ties": "marginal"},
    "breslow": {"ties": "breslow", "last_level": "rank"},
    "efron": {"ties": "efron", "last_level": "rank"},
}


def value_and_gradient(loss, scores, y):
    lists = Lists([len(y)])
    prepared = loss.prepare(np.asarray(y, dtype=float), lists)
    values, gradient = loss.value_and_gradient(
        np.asarray(scores, dtype=float), prepared, lists
    )
    return values[0], gradient


def test_values_and_gradients_are_the_worked_numbers(worked_numbers):
    cases = worked_numbers["cases"]
    distinct = set()
    for case in cases:
        model = case["id"].split("/")[0]
        if model not in WORKED:
            continue
        distinct.add(model)
        value, gradient = value_and_gradient(
            ListMLE(**WORKED[model]), case["s"], case["y"]
        )
        # Scores of 800 leave 800 eps of a difference.
        size = max(1.0, *map(abs, case["s"]))
        if model == "listmle_position":  # whose weights are whole numbers there
            value *= 2.0 ** (len(case["y"]) - 1)
            gradient *= 2.0 ** (len(case["y"]) - 1)
            size *= 2.0 ** (len(case["y"]) - 1)
        assert value == pytest.approx(case["loss"], rel=1e-14, abs=1e-15)
        np.testing.assert_allclose(gradient, case["grad_s"], atol=4e-16 * size)
    assert distinct == set(WORKED)


def test_random_ties_are_right_on_average(worked_numbers):
    """The mean over all orders of tied rows is the worked number."""
    cases = worked_numbers["cases"]
    case = next(c for c in cases if c["id"] == "listmle_random_ties/ties")
    worst_last = -np.asarray(case["y"])
    strict = range(len(worst_last), 0, -1)
    orders = {
        tuple(np.lexsort((draw, worst_last)))
        for draw in permutations(range(len(worst_last)))
    }
    assert len(orders) == 2**3
    values = [
        value_and_gradient(ListMLE("order"), np.take(case["s"], list(order)), strict)[0]
        for order in orders
    ]
    assert np.mean(values) == pytest.approx(case["loss"], rel=1e-13)


def test_random_ties_are_drawn_once_and_by_the_seed():
    y, scores, groups = np.zeros(30), np.arange(30.0), np.repeat([0, 1, 2], 10)
    first, again, other = (
        ListMLE("random", random_state=seed)(scores, y, groups) for seed in (0, 0, 1)
    )
    assert first == again != other
    lists = Lists([10, 10, 10])
    drawn = ListMLE("random", random_state=0).check_labels(y, lists)
    for q in range(3):
        assert sorted(drawn[10 * q : 10 * q + 10]) == list(range(10))


def test_random_ties_keep_the_order_of_labels():
    y = np.array([2.0, 0.0, 2.0, 1.0, 0.0])
    drawn = ListMLE("random", random_state=0).check_labels(y, Lists([5]))
    assert set(drawn[[0, 2]]) == {3, 4}
    assert drawn[3] == 2
    assert set(drawn[[1, 4]]) == {0, 1}


def log_sum_exp(values, weights=None):
    weights = np.ones(len(values)) if weights is None else weights
    top = np.max(values)
    return top + log(
        fsum(w * exp(v - top) for v, w in zip(values, weights, strict=True))
    )


def in_logarithms(loss, s, y):
    """Return the loss from sums of logarithms, safe for any scores."""
    value = 0.0
    for label in sorted(set(y))[:0:-1]:
        level = np.flatnonzero(y == label)
        left = np.flatnonzero(y <= label)
        for n_picked in range(len(level)):
            share = n_picked / len(level) if loss.ties == "efron" else 0.0
            weights = np.where(y[left] == label, 1 - share, 1.0)
            value += log_sum_exp(s[left], weights) - s[level[n_picked]]
    return value


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("width", [40, 100, 300, 599, 601, 650, 2000, 1e5])
@pytest.mark.parametrize("seed", range(5))
def test_scores_of_any_range(ties, width, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=40).astype(float)
    scores = rng.uniform(0, width, size=40)
    scores[:2] = 0, width
    loss = ListMLE(ties)
    value, gradient = value_and_gradient(loss, scores, y)
    assert value == pytest.approx(in_logarithms(loss, scores, y), rel=1e-13)
    assert np.isfinite(gradient).all()
    # In logarithms a score of 1e5 leaves 1e5 eps of each probability.
    assert abs(gradient.sum()) < 40 * max(width, 1) * np.finfo(float).eps


def test_a_list_of_100_000_rows():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(100_000)
    y = np.arange(100_000, 0, -1)
    value, gradient = value_and_gradient(ListMLE(), scores, y)
    below = np.logaddexp.accumulate(scores[::-1])[::-1]
    assert value == pytest.approx(np.sum(below - scores), rel=1e-12)
    before = np.logaddexp.accumulate(-below)
    np.testing.assert_allclose(gradient, np.exp(scores + before) - 1, atol=1e-9)


def test_scores_far_apart_give_no_minus_infinity():
    loss = ListMLE()
    assert loss(np.float32([200, 0]), [1, 0], [0, 0]) == pytest.approx(0, abs=1e-13)
    assert loss(np.float32([200, 0]), [0, 1], [0, 0]) == pytest.approx(200, rel=1e-15)
    upward, group = np.arange(1000), np.zeros(1000)
    assert loss(upward, upward, group) == pytest.approx(457.9908165201273, rel=1e-13)
    assert loss(upward, -upward, group) == pytest.approx(499957.99081652984, rel=1e-13)


def test_no_overflow_at_1000():
    for top in (1000, -1000):
        value = ListMLE()([top, top - 1, top - 2], [2, 1, 0], [0, 0, 0])
        assert value == pytest.approx(0.7208676519626, abs=1e-12)


def test_only_the_order_of_labels_counts():
    rng = np.random.default_rng(0)
    y, scores, groups = rng.integers(0, 4, 30), rng.standard_normal(30), np.zeros(30)
    for ties in ("breslow", "efron"):
        expected = ListMLE(ties)(scores, y, groups)
        for same in (100 * y, y**2, np.exp(y)):
            assert ListMLE(ties)(scores, same, groups) == expected


def test_labels_are_used():
    right = log(1 + exp(-1) + exp(-2)) + log(1 + exp(-1))
    assert right == pytest.approx(0.7208676519626)
    wrong = log(exp(2) + exp(1) + 1) + log(exp(2) + exp(1)) - 0 - 1 + (2 - 2)
    assert wrong == pytest.approx(3.7208676519627)
    scores, groups = [1, 0, -1], [0, 0, 0]
    assert ListMLE()(scores, [2, 1, 0], groups) == pytest.approx(right, rel=1e-14)
    assert ListMLE()(scores, [0, 1, 2], groups) == pytest.approx(wrong, rel=1e-14)


def test_ties_have_one_value():
    scores, y, groups = np.array([1.0, 0.0, -1.0]), np.array([1, 1, 0]), np.zeros(3)
    strict = [ListMLE()(scores, labels, groups) for labels in ([2, 1, 0], [1, 2, 0])]
    np.testing.assert_allclose(strict, [0.7208676520, 1.5345339755], atol=1e-10)
    for order in permutations(range(3)):
        rows = list(order)
        efron = ListMLE("efron")(scores[rows], y[rows], groups)
        breslow = ListMLE("breslow", "rank")(scores[rows], y[rows], groups)
        marginal = ListMLE("marginal")(scores[rows], y[rows], groups)
        assert efron == pytest.approx(1.2082704930, abs=1e-10)
        assert marginal == pytest.approx(0.3539839539, abs=1e-10)
        assert breslow == pytest.approx(1.8152119289, abs=1e-10)


def test_ties_by_order_say_what_share_of_stages_they_decide():
    scores, groups = np.zeros(10), np.repeat([0, 1], 5)
    y = [2, 1, 1, 0, 0, 4, 3, 2, 1, 0]
    with pytest.warns(UserWarning, match="decides 20% of the stages"):
        ListMLE("order")(scores, y, groups)
    with pytest.warns(UserWarning, match="decides 17% of the stages"):
        ListMLE("order", top_k=3)(scores, y, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ListMLE("order", top_k=1)(scores, y, groups)
        ListMLE("order")(scores, range(10), groups)
        ListMLE("efron")(scores, y, groups)


def test_a_list_with_one_label_tells_nothing_unless_ranked():
    scores, y = [0.2, -0.4, 0.9], [1.0, 1.0, 1.0]
    for ties in ("breslow", "efron"):
        value, gradient = value_and_gradient(ListMLE(ties), scores, y)
        assert value == 0
        assert not gradient.any()
        value, gradient = value_and_gradient(ListMLE(ties, "rank"), scores, y)
        assert value > 0
        assert gradient.all()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"ties": "exact"}, "ties must be 'order'"),
        ({"last_level": "drop"}, "last_level must be"),
        ({"top_k": 0}, "top_k must be None or an integer of at least 1, got 0"),
        ({"top_k": 1.5}, "got 1.5"),
        ({"stage_weights": "gains"}, "stage_weights must be 'uniform'"),
    ],
)
def test_settings_that_do_not_exist_are_refused(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        ListMLE(**settings)([1, 0], [1, 0], [0, 0])


def log_integral(a):
    """Return the log of the integral of MATH 1.4c by adaptive quadrature."""

    def log_integrand(x):
        return x - exp(x) + np.log(-np.expm1(-np.exp(a + x))).sum()

    def slope(x):
        z = np.exp(a + x)
        return 1 - exp(x) + (z / np.expm1(np.minimum(z, 700))).sum()

    peak = brentq(slope, -1, log(len(a) + 2))
    top = log_integrand(peak)
    near = [peak + shift for shift in (-8, -2, -0.5, -0.1, 0, 0.1, 0.5, 1)]
    area = quad(
        lambda x: exp(log_integrand(x) - top),
        *(peak - 42, peak + 4),
        points=near,
        epsabs=0,
        epsrel=1e-13,
        limit=400,
    )[0]
    return top + log(area)


@pytest.mark.parametrize("n_tied", [2, 10, 60, 300, 1000])
@pytest.mark.parametrize("shift", [-3.0, 0.0, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("spread", [0.0, 0.3, 2.0])
def test_marginal_equals_adaptive_quadrature(n_tied, shift, spread):
    """Large levels well above the rest are cut off sharply: the rule's hard case."""
    a = shift + spread * np.random.default_rng(n_tied).standard_normal(n_tied)
    y = np.append(np.ones(n_tied), 0)
    value, gradient = value_and_gradient(ListMLE("marginal"), np.append(a, 0), y)
    assert value == pytest.approx(-log_integral(a), rel=1e-12, abs=2e-13)
    # The sum over the level, up to its size, goes through a logarithm.
    bound = n_tied * (4 + log(n_tied)) * np.finfo(float).eps
    assert abs(gradient.sum()) < bound


@pytest.mark.parametrize("width", [40, 300, 650, 2000, 1e5])
def test_marginal_takes_scores_of_any_range(width):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=40).astype(float)
    scores = rng.uniform(0, width, size=40)
    value, gradient = value_and_gradient(ListMLE("marginal"), scores, y)
    assert np.isfinite(value)
    assert value >= 0
    assert ((-1 <= gradient) | (y < 2)).all()
    assert (gradient[y == 0] >= 0).all()
    assert abs(gradient.sum()) < 40 * width * np.finfo(float).eps


def test_marginal_of_a_level_of_100_000_rows():
    """Equal scores: P = d! / ((1 + c) (2 + c) ... (d + c)) with c rows below."""
    n_tied, n_below = 100_000, 3
    y = np.append(np.ones(n_tied), np.zeros(n_below))
    value, gradient = value_and_gradient(ListMLE("marginal"), 0 * y, y)
    expected = fsum(log((n_tied + i) / i) for i in range(1, n_below + 1))
    assert value == pytest.approx(expected, rel=1e-9)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("ahead", [15.0, 30.0, 50.0, 900.0])
def test_marginal_of_a_large_level_far_ahead_is_near_zero(ahead):
    """P is between 1 and 1 minus the chance that the row below beats any other."""
    y = np.append(np.ones(100_000), 0)
    value, gradient = value_and_gradient(ListMLE("marginal"), ahead * y, y)
    first_below = 1e5 * exp(-ahead)
    assert 0 <= value <= max(-np.log1p(-min(first_below, 0.999999)), 1e-12)
    assert np.isfinite(gradient).all()


def test_marginal_gives_the_lowest_level_nothing():
    for last_level in ("skip", "rank"):
        loss = ListMLE("marginal", last_level)
        value, gradient = value_and_gradient(loss, [0.2, -0.4, 0.9], [1, 1, 1])
        assert value == 0
        assert not gradient.any()


@pytest.mark.parametrize("seed", range(5))
def test_marginal_is_convex_and_below_the_mean_over_orders(seed):
    rng = np.random.default_rng(seed)
    y = np.array([2, 2, 1, 1, 1, 0])
    left, right = 3 * rng.standard_normal((2, 6))
    loss, group = ListMLE("marginal"), np.zeros(6)
    middle = loss(0.5 * (left + right), y, group)
    assert middle <= 0.5 * (loss(left, y, group) + loss(right, y, group)) + 1e-13
    strict = ListMLE("order")
    orders = [
        strict(left[[*top, *mid, 5]], range(6, 0, -1), group)
        for top in permutations([0, 1])
        for mid in permutations([2, 3, 4])
    ]
    assert np.mean(orders) >= loss(left, y, group) + log(2) + log(6) - 1e-13
    total = -log(fsum(exp(-value) for value in orders))
    assert loss(left, y, group) == pytest.approx(total, rel=1e-13)


def test_marginal_alone_recovers_the_scale_of_the_weights():
    """The truth is 1.5; the bound is four standard errors from the curvature."""
    X, y, groups, coef = make_ranking(
        400, list_size=20, n_features=1, n_informative=1, noise=1 / 1.5,
        return_coef=True, random_state=0,
    )  # fmt: skip
    fitted = {
        ties: ListMLERanker(ties, alpha=0).fit(X, y, groups).coef_[0] * coef[0]
        for ties in ("efron", "marginal")
    }
    lists, loss = Lists(np.full(400, 20)), ListMLE("marginal")
    prepared = loss.prepare(y.astype(float), lists)
    scores = X[:, 0] * fitted["marginal"] * coef[0]
    curved = loss.hessian_product(scores, prepared, lists, X[:, 0])
    error = (X[:, 0] @ curved) ** -0.5
    assert abs(fitted["marginal"] - 1.5) < 4 * error
    assert fitted["efron"] < 1.5 - 4 * error


@pytest.mark.parametrize("ties", ["efron", "breslow", "marginal"])
@pytest.mark.parametrize("top_k", [1, 2, 3])
def test_the_first_stages_of_a_list_do_not_depend_on_lists_before_it(ties, top_k):
    rng = np.random.default_rng(0)
    sizes = [5, 1, 6, 4]
    groups = np.repeat(np.arange(4), sizes)
    y, scores = rng.integers(0, 4, size=16).astype(float), rng.normal(size=16)
    loss = ListMLE(ties, top_k=top_k)
    lists = Lists(sizes)
    together, _ = loss.value_and_gradient(scores, loss.prepare(y, lists), lists)
    for group, value in enumerate(together):
        rows = groups == group
        alone = Lists([sizes[group]])
        (expected,), _ = loss.value_and_gradient(
            scores[rows], loss.prepare(y[rows], alone), alone
        )
        assert value == pytest.approx(expected, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_orders_of_tied_rows_are_counted_in_every_list(ties):
    loss, lists = ListMLE(ties, last_level="rank"), Lists([5, 4])
    labels = np.array([2.0, 2.0, 2.0, 1.0, 1.0, 3.0, 3.0, 0.0, 1.0])
    counted = loss.log_constant(loss.prepare(labels, lists), lists)
    np.testing.assert_allclose(counted, [log(6 * 2), log(2)], rtol=1e-14)
