"""Every loss, once: its settings, what it may depend on, and a plain-loop oracle.

A new loss is one or more entries of ``CASES``; all laws of test_all_losses.py follow.
An oracle gets the scores and labels of one list as sequences of floats (and the values
of the extra parameters, where there are some) and returns the list's value, written
straight from the formula.
"""

from collections.abc import Callable
from itertools import combinations, product
from math import comb, exp, fsum, log, log1p, log2
from typing import NamedTuple

import numpy as np

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
)


class Case(NamedTuple):
    """A loss with its settings, and what the laws need to know about it."""

    loss: Loss
    oracle: Callable[..., float]
    n_terms: Callable[[list], float] = lambda y: 1
    row_order_of_ties: bool = False  # rows with equal labels depend on row order
    negative_labels: bool = True
    degree: int = 1  # the power of the scores with which terms grow
    exact_hessian: bool = True  # if it has a hessian_product of its own

    @property
    def name(self):
        return repr(self.loss).replace(" ", "")


def softplus(t):
    return max(t, 0.0) + log1p(exp(-abs(t)))


def log_sum_exp(values):
    top = max(values)
    return top + log(fsum(exp(value - top) for value in values))


def different_pairs(y):
    """Return the pairs (i, j) of a better and a worse row."""
    return [(i, j) for i, j in product(range(len(y)), repeat=2) if y[i] > y[j]]


def cross_entropy(s, target):
    total = log_sum_exp(s)
    return fsum(p * (total - score) for p, score in zip(target, s, strict=True))


def listnet_gain(s, y):
    gain = [2**label - 1 for label in y]
    total = sum(gain)
    return cross_entropy(s, [g / total if total else 0.0 for g in gain])


def listnet_softmax(temperature):
    def oracle(s, y):
        logs = [label / temperature for label in y]
        return cross_entropy(s, [exp(t - log_sum_exp(logs)) for t in logs])

    return oracle


def ranknet(s, y):
    return fsum(softplus(s[j] - s[i]) for i, j in different_pairs(y))


def ranknet_gain(s, y):
    gain = [2**label - 1 for label in y]
    best_first = sorted(gain, reverse=True)
    ideal = fsum(g / log2(1 + rank) for rank, g in enumerate(best_first, start=1))
    return fsum(
        (gain[i] - gain[j]) / ideal * softplus(s[j] - s[i])
        for i, j in different_pairs(y)
    )


def plackett_luce(loss):
    """Return the oracle of ListMLE: stage by stage, as the formula has it."""

    def oracle(s, y):
        value = 0.0
        for picked, left in stages(loss, y):
            top = max(s[i] for i in left)
            weight = weight_of(loss, picked, left, y)
            for n_picked, pick in enumerate(picked):
                share = n_picked / len(picked) if loss.ties == "efron" else 0.0
                total = fsum(
                    exp(s[i] - top) * ((1 - share) if i in picked else 1.0)
                    for i in left
                )
                value += weight * (log(total) + top - s[pick])
        return value

    return oracle


def weight_of(loss, picked, left, y):
    """Return what each pick of a stage counts, the mean over the places it takes."""
    n = len(y)
    if loss.stage_weights == "uniform":
        return 1.0
    if loss.stage_weights in ("gain", "auto"):
        above = [label - min(y) for label in y]
        if loss.ties == "random":  # labels have got fractions that break ties
            above = [float(int(label)) for label in y]
        if max(above) > 31 or any(a != int(a) for a in above):
            return 1.0
        gains = sorted((2.0**a - 1 for a in above), reverse=True)
        ideal = fsum(g / log2(1 + rank) for rank, g in enumerate(gains, start=1))
        return (2.0 ** above[picked[0]] - 1) / ideal if ideal else 0.0
    first = n - len(left) + 1
    places = range(first, first + len(picked))
    if loss.stage_weights == "position":
        return fsum(2.0 ** (1 - p) - 2.0 ** (1 - n) for p in places) / len(picked)
    return fsum(1 / log2(1 + p) for p in places) / len(picked)


def all_orders(loss):
    """Return the oracle of ListMLE that sums over all orders of tied rows."""

    def oracle(s, y):
        value = 0.0
        for picked, left in stages(loss, y):
            below = [s[i] for i in left if i not in picked]
            log_probability = log_first([s[i] for i in picked], log_sum_exp(below))
            value -= weight_of(loss, picked, left, y) * log_probability
        return value

    return oracle


def log_first(level, below):
    """Return the log of the probability that a level is picked before what is below.

    The orders of equal rows share their last pick, so sums over orders are sums over
    the rows still to be picked: those of a set, in all orders, have the probability

        sum_i P(i is picked first of the set and below) P(the others, in all orders)
    """
    logs = [0.0]
    for chosen in range(1, 1 << len(level)):
        rows = [i for i in range(len(level)) if chosen >> i & 1]
        total = log_sum_exp([below, *(level[i] for i in rows)])
        logs.append(
            log_sum_exp([level[i] - total + logs[chosen ^ 1 << i] for i in rows])
        )
    return logs[-1]


def stages(loss, y):
    """Return the rows picked at each stage that counts, and the rows left till then."""
    best_first = sorted(range(len(y)), key=lambda i: -y[i])  # ties stay in row order
    levels = [[i] for i in best_first]
    if loss.ties in ("breslow", "efron", "marginal"):
        levels = [
            [i for i in best_first if y[i] == label] for label in sorted(set(y))[::-1]
        ]
        if loss.last_level == "skip" or loss.ties == "marginal":
            levels = levels[:-1]
    picks = []
    done = 0
    for level in levels:
        if loss.top_k is None or done < loss.top_k:
            picks.append((level, best_first[done:]))
        done += len(level)
    return picks


def n_picked(loss):
    return lambda y: sum(len(picked) for picked, _ in stages(loss, y))


def listmle(*args, **settings):
    loss = ListMLE(*args, **settings)
    by_rows = loss.ties in ("order", "random")
    oracle = all_orders(loss) if loss.ties == "marginal" else plackett_luce(loss)
    return Case(loss, oracle, n_picked(loss), row_order_of_ties=by_rows)


def n_different(y):
    return len(different_pairs(y))


def n_pairs(y):
    return len(y) * (len(y) - 1) // 2


def margins(power):
    """Return the oracle of the hinges (1 and 2)."""

    def oracle(s, y):
        return fsum(max(0.0, 1 - (s[i] - s[j])) ** power for i, j in different_pairs(y))

    return oracle


def squared_margins(s, y):
    return fsum((1 - (s[i] - s[j])) ** 2 for i, j in different_pairs(y))


def squared_differences(s, y):
    return fsum(
        ((s[i] - s[j]) - (y[i] - y[j])) ** 2 for i, j in combinations(range(len(y)), 2)
    )


def pairs_with_ties(win, tie):
    """Return the oracle of a model from its losses of a win and of a tie."""

    def oracle(s, y, parameter):
        wins = [win(s[i] - s[j], parameter) for i, j in different_pairs(y)]
        ties = [
            tie(s[i] - s[j], parameter)
            for i, j in combinations(range(len(y)), 2)
            if y[i] == y[j]
        ]
        return fsum(wins + ties)

    return oracle


def raokupper_win(d, a):
    return softplus(log1p(exp(a)) - d)


def raokupper_tie(d, a):
    # theta^2 - 1 = e^a (2 + e^a)
    eta = log1p(exp(a))
    return softplus(eta - d) + softplus(eta + d) - a - log(2 + exp(a))


def davidson_win(d, b):
    return log_sum_exp([d / 2, -d / 2, b]) - d / 2


def davidson_tie(d, b):
    return log_sum_exp([d / 2, -d / 2, b]) - b


def levels_and_left(y):
    """Return the rows of each level, best first, and the rows left till then."""
    for label in sorted(set(y), reverse=True):
        yield (
            [i for i in range(len(y)) if y[i] == label],
            [i for i in range(len(y)) if y[i] <= label],
        )


def log_geometric(s, log_weights):
    """Return the log of the sum of weight * exp(mean) over subsets of at least 1 row.

    Of each size by enumeration; in longer lists by adding row after row, in logs.
    """
    terms = []
    for m, log_weight in enumerate(log_weights[: len(s)], start=1):
        if len(s) <= 9:
            means = [fsum(subset) / m for subset in combinations(s, m)]
            terms.append(log_weight + log_sum_exp(means))
            continue
        logs = np.full(m + 1, -np.inf)
        logs[0] = 0.0
        for score in s:
            logs[1:] = np.logaddexp(logs[1:], logs[:-1] + score / m)
        terms.append(log_weight + logs[m])
    return log_sum_exp(terms)


def geometric(log_weights):
    """Return the oracle of ordered partitions by geometric means."""

    def oracle(s, y, *extra):
        logs = log_weights(*extra)
        value = 0.0
        for level, left in levels_and_left(y):
            value += log_geometric([s[i] for i in left], logs) - logs[len(level) - 1]
            value -= fsum(s[i] for i in level) / len(level)
        return value

    return oracle


def arithmetic(max_tie_size):
    """Return the oracle of ordered partitions by arithmetic means."""

    def oracle(s, y):
        value = 0.0
        for level, left in levels_and_left(y):
            sizes = range(1, min(len(left), max_tie_size) + 1)
            if len(left) <= 9:
                subsets = [t for m in sizes for t in combinations(left, m)]
                logs = [log_sum_exp([s[i] for i in t]) - log(len(t)) for t in subsets]
            else:  # each row is in so many subsets of each size
                times = fsum(comb(len(left) - 1, m - 1) / m for m in sizes)
                logs = [log(times) + s[i] for i in left]
            own = log_sum_exp([s[i] for i in level]) - log(len(level))
            value += log_sum_exp(logs) - own
        return value

    return oracle


def pmop(*args, **settings):
    loss = PMOP(*args, **settings)
    cap = loss.max_tie_size or 100
    if loss.potential == "arithmetic":
        return Case(loss, arithmetic(cap), n_levels)
    oracle = geometric(lambda: [0.0] * cap)
    return Case(loss, oracle, n_levels, exact_hessian=False)


def n_levels(y):
    return len(set(y))


CASES = [
    listmle(),
    listmle("efron", last_level="rank"),
    listmle("efron", top_k=2),
    listmle("breslow"),
    listmle("breslow", last_level="rank", top_k=3),
    listmle("order"),
    listmle("order", top_k=2),
    listmle("order", stage_weights="position"),
    listmle("order", top_k=3, stage_weights="discount"),
    listmle("random", random_state=0),
    listmle("random", stage_weights="discount", random_state=1),
    listmle("order", stage_weights="auto"),
    listmle("random", stage_weights="auto", random_state=2),
    listmle("efron", stage_weights="auto"),
    listmle("efron", top_k=2, stage_weights="auto"),
    listmle("efron", last_level="rank", stage_weights="discount"),
    listmle("efron", stage_weights="position"),
    listmle("breslow", stage_weights="auto"),
    listmle("breslow", stage_weights="discount"),
    listmle("marginal"),
    listmle("marginal", stage_weights="auto"),
    listmle("marginal", top_k=2, stage_weights="position"),
    listmle("marginal", last_level="rank", top_k=2),
    Case(ListNet(), listnet_gain, negative_labels=False),
    Case(ListNet("softmax"), listnet_softmax(1.0)),
    Case(ListNet("softmax", temperature=0.3), listnet_softmax(0.3)),
    Case(RankNet(), ranknet, n_different),
    Case(RankNet("gain"), ranknet_gain, n_different, negative_labels=False),
    Case(RankSVM(), margins(2), n_different, degree=2),
    Case(RankSVM("linear"), margins(1), n_different),
    Case(RankRegression(), squared_margins, n_different, degree=2),
    Case(RankRegression("labels"), squared_differences, n_pairs, degree=2),
    Case(RaoKupper(), pairs_with_ties(raokupper_win, raokupper_tie), n_pairs),
    Case(Davidson(), pairs_with_ties(davidson_win, davidson_tie), n_pairs),
    pmop(),
    pmop(max_tie_size=25),
    pmop("geometric"),
    pmop("geometric", max_tie_size=25),
    Case(DavidsonLuce(), geometric(lambda *logs: [0.0, *logs]), n_levels),
    Case(
        DavidsonLuce("slope"),
        geometric(lambda slope: [slope * m for m in range(100)]),
        n_levels,
    ),
    Case(
        DavidsonLuce("slope", max_tie_size=25),
        geometric(lambda slope: [slope * m for m in range(25)]),
        n_levels,
    ),
]
