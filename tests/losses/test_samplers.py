"""Chains over subsets: their random numbers, moves, and long-run means."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare
from skrank._kernels.sampling import contrast

from skrank import Lists
from skrank.losses import PMOP
from skrank.losses._samplers import PartitionSampler, Streams, size_weights

MASK = 2**64 - 1
prepare = PMOP("geometric").prepare


def mix(z):
    """Return the output of splitmix64, as published."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def xoshiro(state):
    """Yield the words of xoshiro256++, as published."""

    def rotated(word, by):
        return (word << by | word >> (64 - by)) & MASK

    a, b, c, d = state
    while True:
        yield (rotated((a + d) & MASK, 23) + a) & MASK
        shifted = b << 17 & MASK
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = rotated(d, 45)


def stream_state(seed, step, place):
    """Return the four words a stream starts from: splitmix64 from a hash of three."""
    golden = 0x9E3779B97F4A7C15
    state = 0
    for number in (seed, step, place):
        state = mix((state + number + golden) & MASK)
    return tuple(mix((state + k * golden) & MASK) for k in (1, 2, 3, 4))


def log_odds(scores, chosen, weights):
    """Return, for each row, log P of the subset with the row flipped, less log P."""

    def log_target(chosen):
        n = int(chosen.sum())
        return weights[n] + (scores[chosen].mean() if n else 0.0)

    odds = np.empty(len(scores))
    for row in range(len(scores)):
        flipped = chosen.copy()
        flipped[row] = not flipped[row]
        odds[row] = log_target(flipped) - log_target(chosen)
    return odds


def flips(odds, uniform, metropolis):
    """Return whether a move is made: by min(1, r), or by r / (1 + r)."""
    if metropolis:
        return odds > np.log(uniform)
    return odds > np.log(uniform / (1.0 - uniform))


def chain_gradient(scores, starts, weights, metropolis, n_steps, streams):
    """Return the draw for one list of levels, best first, move by move."""
    words = xoshiro(stream_state(*streams))
    gradient = np.zeros(len(scores))
    for start, stop in pairwise(starts):
        n_left = len(scores) - start
        if len(scores) == 1:
            continue
        # Chosen rows come first; a flip swaps a row with the one at the border.
        rows = list(range(start, len(scores)))
        n = stop - start
        gradient[start:stop] -= 1.0 / n
        for _ in range(n_steps):
            for _ in range(n_left):
                i = (next(words) >> 32) * n_left >> 32
                uniform = (next(words) >> 11) * 2.0**-53
                chosen = np.zeros(len(scores), dtype=bool)
                chosen[rows[:n]] = True
                odds = log_odds(scores[start:], chosen[start:], weights)
                if flips(odds[rows[i] - start], uniform, metropolis):
                    border = n - 1 if i < n else n
                    n += -1 if i < n else 1
                    rows[i], rows[border] = rows[border], rows[i]
            gradient[rows[:n]] += 1.0 / (n * n_steps)
    return gradient


def test_the_generator_gives_the_published_words():
    words = xoshiro((1, 2, 3, 4))
    # As published with the generator's Rust package.
    assert [next(words) for _ in range(3)] == [41943041, 58720359, 3588806011781223]


@pytest.mark.parametrize("metropolis", [False, True])
@pytest.mark.parametrize(
    "streams", [(0, 0, 0), (5, 1, 70), (2**63, 2**40, 2**33), (7, 123, 4)]
)
def test_the_kernel_makes_the_moves_of_the_chain_one_by_one(streams, metropolis):
    scores = np.array([0.7, -0.2, 1.5, 0.1, -0.9, 0.4, 2.0])
    weights = np.array([-np.inf, 0.0, -0.4, 0.3, 0.1, -np.inf, -np.inf, -np.inf])
    starts = np.array([0, 2, 3, 6, 7])
    drawn = contrast(
        scores,
        np.arange(7),
        starts,
        np.array([0, 4]),
        weights,
        metropolis,
        5,
        *streams,
    )
    with np.errstate(divide="ignore"):
        expected = chain_gradient(scores, starts, weights, metropolis, 5, streams)
    assert_allclose(drawn, expected, rtol=0, atol=1e-15)


def test_no_two_streams_start_alike():
    states = {
        stream_state(seed, step, place)
        for seed in range(20)
        for step in range(20)
        for place in range(20)
    }
    assert len(states) == 8000


def move_probability(odds, metropolis):
    """Return the largest uniform number at which a move is made, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if flips(odds, middle, metropolis):
            low = middle
        else:
            high = middle
    return low


def transition_matrix(scores, subsets, weights, metropolis):
    """Return how likely one move leads from each subset to each other."""
    matrix = np.zeros((len(subsets), len(subsets)))
    for start, subset in enumerate(subsets):
        chosen = np.zeros(len(scores), dtype=bool)
        chosen[subset] = True
        for row, odds in enumerate(log_odds(scores, chosen, weights)):
            after = sorted({*subset} ^ {row})
            proba = move_probability(odds, metropolis) / len(scores)
            if after in subsets:
                matrix[start, subsets.index(after)] += proba
            else:
                assert proba == 0.0  # the empty set
        matrix[start, start] = 1.0 - matrix[start].sum()
    return matrix


RULES = {"gibbs": "gibbs_random_scan", "metropolis": "mh_single_flip"}


@pytest.mark.parametrize("rule", RULES)
def test_moves_keep_detailed_balance_and_the_worked_transition_matrix(
    worked_numbers, rule
):
    worked = worked_numbers["structure"]
    worked = worked["samplers_N4"]
    scores, subsets = np.array(worked["scores"]), worked["subsets"]
    target = np.array(worked["stationary"])
    matrix = transition_matrix(scores, subsets, size_weights(4), rule == "metropolis")
    flow = target[:, None] * matrix
    assert_allclose(flow, flow.T, atol=1e-16)
    assert_allclose(target @ matrix, target, atol=1e-15)
    expected = worked[RULES[rule]]
    assert_allclose(matrix[subsets.index([0, 2])], expected["row_of_0_2"], atol=1e-15)
    second = np.sort(np.abs(np.linalg.eigvals(matrix)))[-2]
    assert_allclose(second, expected["second_eigenvalue"], rtol=1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_detailed_balance_holds_with_weights_of_sizes(rule):
    scores = np.array([0.4, -0.8, 1.3, 0.1])
    weights = np.array([-np.inf, 0.0, -0.7, 0.4, -np.inf])
    subsets = [[i for i in range(4) if code >> i & 1] for code in range(1, 15)]
    target = np.array([np.exp(weights[len(s)] + scores[s].mean()) for s in subsets])
    target /= target.sum()
    matrix = transition_matrix(scores, subsets, weights, rule == "metropolis")
    flow = target[:, None] * matrix
    assert_allclose(flow, flow.T, atol=1e-16)


@pytest.mark.parametrize("rule", RULES)
def test_a_sweep_is_as_many_moves_as_rows(rule):
    scores, y = np.array([0.4, -0.8, 1.3]), [1.0, 0.0, 1.0]
    subsets = [[i for i in range(3) if code >> i & 1] for code in range(1, 8)]
    matrix = transition_matrix(scores, subsets, size_weights(3), rule == "metropolis")
    proba = np.linalg.matrix_power(matrix, 3)[subsets.index([0, 2])]
    # Many lists that start at rows 0 and 2; the level below has one row: no chain.
    n_lists = 50_000
    lists = Lists(np.full(n_lists, 3))
    prepared = prepare(np.tile(y, n_lists), lists)
    sampler = PartitionSampler(rule)
    draws = sampler.draw(np.tile(scores, n_lists), prepared, lists, Streams(0, 0))
    inside = draws.reshape(n_lists, 3) > [-0.499, 0.001, -0.499]
    code = inside @ [1, 2, 4]
    counts = [np.sum(code == sum(2**i for i in subset)) for subset in subsets]
    assert chisquare(counts, n_lists * proba).pvalue > 1e-3


def exact_gradient(scores, y, largest):
    """Return the gradient of minus log-likelihood of one list, by all subsets."""
    gradient = np.zeros(len(scores))
    for grade in np.unique(y):
        left = np.flatnonzero(y <= grade)
        members = (np.arange(1, 2 ** len(left))[:, None] >> np.arange(len(left))) & 1
        members = members[members.sum(axis=1) <= largest]
        share = members / members.sum(axis=1, keepdims=True)
        weight = np.exp(share @ scores[left])
        gradient[left] += weight @ share / weight.sum()
        gradient[y == grade] -= 1.0 / np.sum(y == grade)
    return gradient


@pytest.mark.parametrize("max_tie_size", [None, 3])
@pytest.mark.parametrize("rule", RULES)
def test_long_chains_have_the_exact_gradient_as_their_mean(rule, max_tie_size):
    rng = np.random.default_rng(2)
    scores, y = 1.5 * rng.standard_normal(8), np.array([1.0, 0, 2, 1, 2, 0, 3, 1])
    n_lists, lists = 400, Lists(np.full(400, 8))
    prepared = prepare(np.tile(y, n_lists), lists)
    sampler = PartitionSampler(rule, 300, max_tie_size)
    draws = sampler.draw(np.tile(scores, n_lists), prepared, lists, Streams(0, 0))
    draws = draws.reshape(n_lists, 8)
    assert_allclose(draws.sum(axis=1), 0.0, atol=1e-13)
    error = draws.std(axis=0, ddof=1) / np.sqrt(n_lists)
    exact = exact_gradient(scores, y, max_tie_size or 8)
    # Chains start at the level: a bias of 1 / 300 of what one sweep leaves of it.
    bias = np.abs(draws.mean(axis=0) - exact) - 4.5 * error
    assert np.max(bias) < 0.01
    assert np.max(error) < 0.01


def test_draws_depend_on_place_and_step_but_not_on_blocks():
    rng = np.random.default_rng(1)
    lists, sampler = Lists([5, 3, 4, 6]), PartitionSampler()
    scores, y = rng.standard_normal(18), rng.integers(0, 3, 18).astype(float)

    def draw(first, last, step=4):
        part, rows = lists.part(first, last), slice(*lists.offsets[[first, last]])
        streams = Streams(9, step, rows.start)
        return sampler.draw(scores[rows], prepare(y[rows], part), part, streams)

    whole = draw(0, 4)
    assert_array_equal(whole, np.concatenate((draw(0, 1), draw(1, 3), draw(3, 4))))
    assert np.any(whole != draw(0, 4, step=5))


def test_lists_of_one_row_and_last_single_rows_have_no_chain():
    lists = Lists([1, 2])
    prepared = prepare(np.array([3.0, 1.0, 0.0]), lists)
    draw = PartitionSampler(n_steps=3).draw(np.zeros(3), prepared, lists, Streams(0, 0))
    assert draw[0] == 0.0
    assert_allclose(draw[1:].sum(), 0.0, atol=1e-15)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [700.0, 1e5, 1e300])
def test_scores_far_apart_leave_the_best_row_alone(rule, size):
    lists = Lists([4])
    prepared = prepare(np.array([1.0, 0.0, 0.0, 1.0]), lists)
    scores = size * np.array([1.0, 0.0, -1.0, 0.5])
    sampler = PartitionSampler(rule, 200)
    draw = sampler.draw(scores, prepared, lists, Streams(0, 0))
    # The top stage leaves row 0 alone, the second row 1.
    assert_allclose(draw, [0.5, 0.5, -0.5, -0.5], atol=0.1)
