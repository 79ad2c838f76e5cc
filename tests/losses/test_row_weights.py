"""Weights of rows: the terms of each row count its weight over the mean of its list."""

from math import exp, fsum, log, log2

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skrank import Lists
from skrank.losses import (
    PMOP,
    Davidson,
    DavidsonLuce,
    ListMLE,
    ListNet,
    Loss,
    RankNet,
    RankRegression,
    RankSVM,
    RaoKupper,
    _pairs,
    base,
    ranksvm,
)

EPS = np.finfo(np.float64).eps
STEP = np.cbrt(EPS)
LABELS = [
    [3],
    [1, 0],
    [0, 1],
    [2, 2],
    [1, 2, 0, 1],
    [4, 0, 2, 1, 3],
    [0, 0, 0, 0, 0],
    [0, 7, 0, 2, 7, 7, 0, 2, 0],
    [0, 1, 0, 0, 2, 0, 1, 3, 0, 0, 1, 0, 4, 0, 2, 1, 0, 0, 1, 0] * 2,
]
EQUAL = 4  # the list whose weights do not vary
LISTS = Lists([len(labels) for labels in LABELS])


def softplus(t):
    return max(t, 0.0) + np.log1p(exp(-abs(t)))


def log_sum_exp(values):
    top = max(values)
    return top + log(fsum(exp(value - top) for value in values))


def ideal_of(gains):
    ranked = sorted(gains, reverse=True)
    return fsum(g / log2(1 + rank) for rank, g in enumerate(ranked, start=1))


def of_pairs(cost, gain=False):
    """Return the oracle of pairs: each counts the share of its better row."""

    def oracle(s, y, u):
        gains = [2.0**label - 1 for label in y] if gain else y
        ideal = (ideal_of(gains) or 1.0) if gain else 1.0
        return fsum(
            u[i] * ((gains[i] - gains[j]) / ideal if gain else 1.0) * cost(s[i] - s[j])
            for i in range(len(y))
            for j in range(len(y))
            if y[i] > y[j]
        )

    return oracle


def log_first(level, below):
    """Return the log of the chance that a level is picked before what is below it."""
    logs = [0.0]
    for chosen in range(1, 1 << len(level)):
        rows = [i for i in range(len(level)) if chosen >> i & 1]
        total = log_sum_exp([below, *(level[i] for i in rows)])
        logs.append(
            log_sum_exp([level[i] - total + logs[chosen ^ 1 << i] for i in rows])
        )
    return logs[-1]


def of_stages(loss):
    """Return the oracle of ListMLE: a stage counts the mean share of its rows."""

    def oracle(s, y, u):
        best_first = sorted(range(len(y)), key=lambda i: -y[i])
        by_rows = loss.ties in ("order", "random")
        levels = [[i] for i in best_first]
        if not by_rows:
            labels = sorted(set(y), reverse=True)
            levels = [[i for i in best_first if y[i] == label] for label in labels]
            if loss.last_level == "skip" or loss.ties == "marginal":
                levels = levels[:-1]
        value, n_done = 0.0, 0
        for level in levels:
            left, place = best_first[n_done:], n_done + 1
            n_done += len(level)
            if loss.top_k is not None and place > loss.top_k:
                break
            weight = fsum(u[i] for i in level) / len(level)
            weight *= stage_weight(loss, y, level, place)
            scores = [s[i] for i in left]
            if loss.ties == "marginal":
                below = log_sum_exp([s[i] for i in left if i not in level])
                value -= weight * log_first([s[i] for i in level], below)
                continue
            top = max(scores)
            for done, pick in enumerate(level):
                share = done / len(level) if loss.ties == "efron" else 0.0
                total = fsum(
                    exp(s[i] - top) * ((1 - share) if i in level else 1.0) for i in left
                )
                value += weight * (log(total) + top - s[pick])
        return value

    return oracle


def stage_weight(loss, y, level, place):
    n, places = len(y), range(place, place + len(level))
    if loss.stage_weights == "uniform":
        return 1.0
    if loss.stage_weights == "discount":
        return fsum(1 / log2(1 + p) for p in places) / len(level)
    if loss.stage_weights == "position":
        return fsum(2.0 ** (1 - p) - 2.0 ** (1 - n) for p in places) / len(level)
    grades = [float(int(label)) for label in y] if loss.ties == "random" else y
    if min(grades) < 0:  # the random order of labels that are no grades
        return 1.0
    gains = [2.0 ** (g - min(grades)) - 1 for g in grades]
    return gains[level[0]] / ideal_of(gains) if any(gains) else 0.0


def of_target(loss):
    """Return the oracle of ListNet: a row's target counts its share, renormalised."""

    def oracle(s, y, u):
        target = [2.0**label - 1 for label in y]
        if loss.target == "softmax":
            target = [exp((label - max(y)) / loss.temperature) for label in y]
        target = [t * share for t, share in zip(target, u, strict=True)]
        total = fsum(target)
        if total == 0:
            return 0.0
        logs = [log_sum_exp(s) - score for score in s]
        return fsum(t / total * one for t, one in zip(target, logs, strict=True))

    return oracle


def rounded(width):
    def cost(d):
        t = max(0.0, 1 - d)
        return t * t / (2 * width) if t < width else t - width / 2

    return cost


STAGES = [
    ListMLE(),
    ListMLE("efron", last_level="rank"),
    ListMLE("efron", top_k=2),
    ListMLE("breslow"),
    ListMLE("breslow", stage_weights="discount"),
    ListMLE("order"),
    ListMLE("order", top_k=3, stage_weights="position"),
    ListMLE("random", random_state=0),
    ListMLE("random", stage_weights="auto", random_state=1),
    ListMLE("efron", stage_weights="gain"),
    ListMLE("marginal"),
    ListMLE("marginal", stage_weights="gain"),
    ListMLE("marginal", top_k=2),
]
CASES = {
    "ranknet": (RankNet(), of_pairs(lambda d: softplus(-d))),
    "gain": (RankNet("gain"), of_pairs(lambda d: softplus(-d), gain=True)),
    "squared": (RankSVM(), of_pairs(lambda d: max(0.0, 1 - d) ** 2)),
    "linear": (RankSVM("linear"), of_pairs(lambda d: max(0.0, 1 - d))),
    "rounded": (RankSVM("linear").smoothed(0.3), of_pairs(rounded(0.3))),
    "listnet": (ListNet(), of_target(ListNet())),
    "softmax": (ListNet("softmax", 0.3), of_target(ListNet("softmax", 0.3))),
    **{repr(loss): (loss, of_stages(loss)) for loss in STAGES},
}
ROUTES = [(name, "short") for name in CASES]
# Long lists go by boxes of scores and by sorting, which short ones can be made to.
ROUTES += [(name, "long") for name in list(CASES)[:5]]


@pytest.fixture(params=ROUTES, ids=["-".join(route) for route in ROUTES])
def weighed(request, monkeypatch):
    name, route = request.param
    if route == "long":
        monkeypatch.setattr(_pairs, "MOST_PAIRS_A_ROW", 1.5)
        monkeypatch.setattr(ranksvm, "MOST_PAIRS_A_ROW", 0)
    return CASES[name]


def shares_of(lists, seed=1):
    """Return shares of mean 1 in each list; some rows weigh 0, one list alike."""
    weights = np.random.default_rng(seed).uniform(0.0, 3.0, lists.n_rows)
    weights[weights < 0.4] = 0.0
    weights[[0, 1]] = 1.0
    shares = weights * lists.expand(lists.sizes / lists.sum(weights))
    return shares


class Weighed:
    """A loss on the lists above, by shares of their rows."""

    def __init__(self, loss, scale=1.0, lists=LISTS, labels=LABELS):
        self.loss, self.lists = loss, lists
        y = np.concatenate(labels).astype(float)
        self.y = loss.check_labels(y, lists)
        self.scores = scale * np.random.default_rng(8).standard_normal(lists.n_rows)
        self.shares = shares_of(lists)
        if lists is LISTS:
            self.shares[lists.offsets[EQUAL] : lists.offsets[EQUAL + 1]] = 1.0
        self.plain = loss.prepare(self.y, lists)
        self.prepared = loss.weigh_rows(self.plain, self.shares, lists)

    def __call__(self, scores=None):
        scores = self.scores if scores is None else scores
        return self.loss.value_and_gradient(scores, self.prepared, self.lists)

    def rounding(self):
        """Return a bound on the rounding of each list's value; see the laws."""
        sizes = self.lists.sizes.astype(float)
        largest = 1.0 + self.lists.max(np.abs(self.scores))
        power = 2 if isinstance(self.loss, RankSVM) else 1
        return EPS * (4 + sizes) * sizes**2 * largest**power * self.shares.max()


pytestmark = [
    pytest.mark.filterwarnings("ignore:ListMLE.*order of rows"),
    pytest.mark.filterwarnings("ignore:ListMLE.*labels differ"),
]
SCALES = [0.0, 1.0, 10.0, 400.0]


@pytest.mark.parametrize("scale", SCALES)
def test_values_equal_a_plain_loop(weighed, scale):
    loss, oracle = weighed
    problem = Weighed(loss, scale)
    expected = [
        oracle(*(part.tolist() for part in parts))
        for parts in zip(
            *(
                np.split(column, LISTS.offsets[1:-1])
                for column in (problem.scores, problem.y, problem.shares)
            ),
            strict=True,
        )
    ]
    assert (np.abs(problem()[0] - expected) <= problem.rounding()).all()


@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0])
def test_gradients_equal_central_differences_and_sum_to_zero(weighed, scale):
    problem = Weighed(weighed[0], scale)
    gradient = problem()[1]
    place = np.arange(LISTS.n_rows) - LISTS.expand(LISTS.starts)
    differences = np.empty_like(gradient)
    for moved in range(LISTS.sizes.max()):
        change = np.where(place == moved, STEP, 0.0)
        above, below = (
            problem(problem.scores + way * change)[0] for way in (1.0, -1.0)
        )
        slope = LISTS.expand((above - below) / (2 * STEP))
        differences[place == moved] = slope[place == moved]
    tolerance = problem.rounding() / STEP + STEP**2 * LISTS.sizes * 10
    error = LISTS.max(np.abs(gradient - differences))
    assert (error <= tolerance).all()
    assert (np.abs(LISTS.sum(gradient)) <= problem.rounding()).all()


@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0])
def test_hessian_products_equal_differences_of_the_gradient(weighed, scale):
    problem = Weighed(weighed[0], scale)
    loss, lists = problem.loss, problem.lists
    rng = np.random.default_rng(3)
    u, v = rng.standard_normal((2, lists.n_rows))
    product = loss.hessian_product(problem.scores, problem.prepared, lists, v)
    above, below = (problem(problem.scores + way * STEP * v)[1] for way in (1.0, -1.0))
    tolerance = problem.rounding() / STEP + 90 * STEP**2 * lists.sizes
    error = np.abs(product - (above - below) / (2 * STEP))
    assert (lists.max(error) <= tolerance).all()
    other = loss.hessian_product(problem.scores, problem.prepared, lists, u)
    gap = np.abs(lists.sum(u * product) - lists.sum(v * other))
    own = type(loss).hessian_product is not Loss.hessian_product
    assert (gap <= problem.rounding() * lists.sizes / (1.0 if own else STEP)).all()


def test_curvature_weights_are_those_of_the_hessian_in_lists_of_two(
    weighed, monkeypatch
):
    # The mean over 400 random signs is off by a twentieth, as one deviation.
    monkeypatch.setattr(base, "N_PROBES", 400)
    loss = weighed[0]
    if isinstance(loss, ListMLE) and (
        loss.last_level == "rank" or loss.ties in ("order", "random")
    ):
        return  # the last stage counts there, though it has no curvature
    lists, labels = Lists([2] * 6), [[1, 0], [0, 1]] * 3
    problem = Weighed(loss, 0.3, lists, labels)
    d = loss.curvature_weights(problem.scores, problem.prepared, lists).reshape(-1, 2)
    assert (d >= 0).all()
    total = d.sum(axis=1)
    computed = d.prod(axis=1) / np.where(total > 0, total, 1.0)
    if not isinstance(loss, ranksvm._RoundedHinge):  # which takes a width of 1
        e = np.tile([1.0, 0.0], 6)
        expected = loss.hessian_product(problem.scores, problem.prepared, lists, e)
        np.testing.assert_allclose(computed, expected[::2], rtol=0.25, atol=1e-12)


def test_lists_of_equal_weights_keep_their_bits(weighed):
    problem = Weighed(weighed[0])
    plain = problem.loss.value_and_gradient(problem.scores, problem.plain, LISTS)
    computed = problem()
    rows = slice(LISTS.offsets[EQUAL], LISTS.offsets[EQUAL + 1])
    assert_array_equal(computed[0][EQUAL], plain[0][EQUAL])
    assert_array_equal(computed[1][rows], plain[1][rows])
    assert np.abs(computed[0] - plain[0]).max() > 0.01
    ones = problem.loss.weigh_rows(problem.plain, np.ones(LISTS.n_rows), LISTS)
    for part, other in zip(
        problem.loss.value_and_gradient(problem.scores, ones, LISTS),
        plain,
        strict=True,
    ):
        assert_array_equal(part, other)


@pytest.mark.parametrize("loss", [RankNet(), RankNet("gain"), RankSVM()])
@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0])
def test_long_lists_by_boxes_or_sorting_equal_all_pairs(loss, spread):
    rng = np.random.default_rng(5)
    n = 900
    lists, y = Lists([n]), rng.permutation(n) * (50.0 / n)
    scores, shares = spread * rng.standard_normal(n), rng.uniform(0.0, 2.0, n)
    direction = rng.standard_normal(n)
    prepared = loss.weigh_rows(loss.prepare(y, lists), shares, lists)
    values, gradient = loss.value_and_gradient(scores, prepared, lists)
    product = loss.hessian_product(scores, prepared, lists, direction)
    d = scores[:, None] - scores
    weight = np.where(y[:, None] > y, shares[:, None], 0.0)
    if isinstance(loss, RankSVM):
        t = np.maximum(1.0 - d, 0.0)
        cost, slope, bend = t**2, -2.0 * t, 2.0 * (t > 0)
    else:
        cost = np.logaddexp(0.0, -d)
        slope = -np.exp(-np.logaddexp(0.0, d))
        bend = np.exp(-np.logaddexp(0.0, d) - np.logaddexp(0.0, -d))
        if loss.pair_weight == "gain":
            gain = 2.0**y - 1
            weight *= (gain[:, None] - gain) / ideal_of(gain.tolist())
    gaps = direction[:, None] - direction
    for computed, table in [(gradient, slope), (product, bend * gaps)]:
        terms = weight * table
        size = np.abs(terms).sum(0) + np.abs(terms).sum(1)
        error = np.abs(computed - (terms.sum(1) - terms.sum(0)))
        # Boxes leave 1e-16 a pair of weight 1, and sums of squares their rounding.
        bound = 1e-12 * size + 1e-15 * n * weight.max() * (1.0 + spread)
        assert (error <= bound).all()
    np.testing.assert_allclose(values[0], (weight * cost).sum(), rtol=1e-12)


@pytest.mark.parametrize(
    "loss", [RankRegression(), RaoKupper(), Davidson(), PMOP(), DavidsonLuce()]
)
def test_losses_without_terms_of_rows_refuse_in_words(loss):
    lists = Lists([3])
    prepared = loss.prepare(np.array([2.0, 1.0, 0.0]), lists)
    message = (
        f"{type(loss).__name__} has no terms.*RankNet, RankSVM, ListMLE or ListNet"
    )
    with pytest.raises(ValueError, match=message):
        loss.weigh_rows(prepared, np.array([2.0, 1.0, 0.0]), lists)
