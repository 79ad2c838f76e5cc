"""Sets of lists that the trials of defaults are made on: real ones, and drawn families.

Real sets give training and validation parts only. Each family draws data of one kind
that real sets are mixtures of; see ``FAMILIES``.
"""

from __future__ import annotations

import csv

import numpy as np
from real_data import SHARED, folds_of, validation_folds

from skrank.datasets import make_ranking

SHARES = np.cumsum([0.52, 0.32, 0.13, 0.02])


def fishing():
    """Return choices among four places to fish: price, catch and the place."""
    path = SHARED / "data/choice_modecanada_fishing/Fishing.csv"
    places = ("beach", "pier", "boat", "charter")
    X, y, groups = [], [], []
    with open(path, encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            for place in places:
                price, catch = row[f"price.{place}"], row[f"catch.{place}"]
                kind = [float(place == other) for other in places[1:]]
                X.append([float(price), float(catch), *kind])
                y.append(float(row["mode"] == place))
                groups.append(number)
    return np.array(X), np.array(y), np.array(groups)


def graded(utility, groups, rng):
    """Return grades that cut each list's order of noisy utilities."""
    utility = utility + 0.7 * rng.gumbel(size=len(utility))
    y = np.empty(len(utility))
    for group in range(groups.max() + 1):
        rows = np.flatnonzero(groups == group)
        place = np.argsort(np.argsort(utility[rows])) + rng.uniform()
        y[rows] = np.searchsorted(SHARES, place / len(rows), side="right")
    return y


def drawn_lists(rng, n_lists):
    """Return 20 normal features of lists, their lists, and eight weights."""
    sizes = rng.integers(5, 31, n_lists)
    groups = np.repeat(np.arange(n_lists), sizes)
    coef = np.zeros(20)
    coef[:8] = rng.normal(size=8)
    return rng.normal(size=(len(groups), 20)), groups, coef / np.linalg.norm(coef)


def plain(seed, n_lists=100):
    """Return lists that are as linear rankers like them."""
    return make_ranking(n_lists, random_state=seed)


def few_lists(seed):
    """Return 15 lists of 20 to 60 rows."""
    return make_ranking(15, list_size=(20, 60), n_features=30, random_state=seed)


def short_lists(seed):
    """Return 300 lists of 2 to 5 rows."""
    return make_ranking(
        300,
        list_size=(2, 5),
        n_features=10,
        n_informative=6,
        grade_shares=(0.5, 0.3, 0.2),
        random_state=seed,
    )


def noise_features(seed):
    """Return lists of 300 features, of which 10 matter."""
    return make_ranking(100, n_features=300, noise=1.0, random_state=seed)


def interactions(seed, n_lists=100):
    """Return lists ordered by products of features, too."""
    rng = np.random.default_rng(seed)
    X, groups, coef = drawn_lists(rng, n_lists)
    products = 0.7 * X[:, 0] * X[:, 1] + 0.7 * X[:, 2] * X[:, 3] - 0.5 * X[:, 4] ** 2
    return X, graded(X @ coef + products, groups, rng), groups


def tails_of_logs(seed, n_lists=100):
    """Return lists ordered by logs of features that span orders of magnitude."""
    rng = np.random.default_rng(seed)
    X, groups, coef = drawn_lists(rng, n_lists)
    heavy = np.sign(X) * np.expm1(1.8 * np.abs(X))
    return heavy, graded(X @ coef, groups, rng), groups


def heavy_tails(seed, n_lists=100):
    """Return lists ordered by features with Student's t distribution."""
    rng = np.random.default_rng(seed)
    X, groups, coef = drawn_lists(rng, n_lists)
    X = rng.standard_t(2.2, size=X.shape)
    return X, graded(X @ coef, groups, rng), groups


def list_effects(seed, n_lists=100):
    """Return lists that have their own mean and scale of each feature."""
    rng = np.random.default_rng(seed)
    X, groups, coef = drawn_lists(rng, n_lists)
    y = graded(X @ coef, groups, rng)
    X *= np.exp(0.7 * rng.normal(size=(n_lists, 20)))[groups]
    return X + 2 * rng.normal(size=(n_lists, 20))[groups], y, groups


def counts(seed, n_lists=100):
    """Return lists ordered by skewed counts."""
    rng = np.random.default_rng(seed)
    X, groups, coef = drawn_lists(rng, n_lists)
    X = rng.poisson(np.exp(0.8 * X)).astype(float)
    return X, graded(X @ coef, groups, rng), groups


FAMILIES = {
    "plain": plain,
    "few lists": few_lists,
    "short lists": short_lists,
    "noise features": noise_features,
    "interactions": interactions,
    "tails of logs": tails_of_logs,
    "heavy tails": heavy_tails,
    "list effects": list_effects,
    "counts": counts,
}


def real_sets():
    """Return (train, validation) pairs of each real set, without a test list."""
    return validation_folds() | {"Fishing": folds_of(fishing(), 5)}


def drawn_sets(n_draws=2):
    """Return (train, validation) pairs of each family: draws, cut in two both ways."""
    return {
        name: [
            fold
            for seed in range(100, 100 + n_draws)
            for fold in folds_of(draw(seed), 2, seed)
        ]
        for name, draw in FAMILIES.items()
    }
