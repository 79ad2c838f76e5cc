"""Likelihoods, probabilities and draws of fitted rankers."""

import re
import warnings
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from skrank import LinearRanker, ListMLERanker, Lists, RankNetRanker, rank_within
from skrank._probability.likelihood import log_likelihoods
from skrank.losses import ListMLE, RankNet
from skrank.metrics import list_labels

TIES = ["efron", "breslow"]


def data(n_lists=8, size=5, n_grades=None, seed=0):
    """Return shuffled lists with labels that tie if there are grades."""
    rng = np.random.default_rng(seed)
    groups = np.repeat([f"q{i}" for i in rng.permutation(n_lists)], size)
    rng.shuffle(groups)
    X = rng.standard_normal((len(groups), 3))
    y = rng.permutation(len(groups)) * 1.0
    if n_grades is not None:
        y = y % n_grades
    return X, y, groups


def plain(y, scores, ties="efron", last_level="rank", top_k=None):
    """Return the log-likelihood of one list, stage by stage, with its log d!."""
    total, before = 0.0, 0
    for label in sorted(set(y), reverse=True):
        tied = y == label
        d, left = int(tied.sum()), y <= label
        last = left.sum() == d
        if (last and last_level == "skip") or (top_k is not None and before >= top_k):
            break
        for number in range(d):
            share = number / d if ties == "efron" else 0.0
            denominator = (
                np.exp(scores[left]).sum() - share * np.exp(scores[tied]).sum()
            )
            total -= np.log(denominator) - np.log(number + 1)
        total += scores[tied].sum()
        before += d
    return total


def each_list(groups):
    return [(label, groups == label) for label in np.unique(groups)]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("last_level", ["rank", "skip"])
@pytest.mark.parametrize("top_k", [None, 1, 3])
@pytest.mark.parametrize("n_grades", [None, 3])
def test_log_likelihoods_equal_a_plain_loop(ties, last_level, top_k, n_grades):
    X, y, groups = data(n_grades=n_grades)
    ranker = ListMLERanker(ties, last_level, top_k).fit(X, y, groups)
    scores = ranker.predict(X)
    expected = [
        plain(y[rows], scores[rows], ties, last_level, top_k)
        for _, rows in each_list(groups)
    ]
    assert list_labels(groups).tolist() == np.unique(groups).tolist()
    log_likelihoods = ranker.log_likelihood(X, y, groups, average=None)
    np.testing.assert_allclose(log_likelihoods, expected, rtol=1e-12)
    total = ranker.log_likelihood(X, y, groups)
    assert total == pytest.approx(sum(expected), rel=1e-12)
    assert ranker.deviance(X, y, groups) == -2 * total
    mean = ranker.log_likelihood(X, y, groups, average="mean")
    assert mean == pytest.approx(total / 8, rel=1e-14)
    weights = np.where(groups == "q1", 3.0, 0.0)
    weighed = ranker.log_likelihood(X, y, groups, sample_weight=weights)
    assert weighed == pytest.approx(3 * expected[1], rel=1e-12)


@pytest.mark.parametrize("top_k", [None, 2])
def test_probabilities_of_all_orders_sum_to_one(top_k):
    X, y, groups = data(n_lists=1, size=5)
    ranker = ListMLERanker(top_k=top_k, alpha=0.01).fit(X, y, groups)
    orders = np.array(list(permutations(range(5)))) * 1.0
    total = sum(np.exp(ranker.log_likelihood(X, order, groups)) for order in orders)
    # Of each first k any order of the rest: (5 - 2)! of them.
    assert total == pytest.approx(1.0 if top_k is None else 6.0, rel=1e-13)


def test_efron_is_nearer_than_breslow_to_the_sum_over_the_orders_of_tied_rows():
    X, _, groups = data(n_lists=1, size=4)
    y = np.array([1.0, 1.0, 0.0, 0.0])
    ranker = ListMLERanker(alpha=0.5).fit(X, y, groups)
    orders = [p for p in permutations(range(4)) if min(p[0], p[1]) > 1]
    exact = np.log(
        sum(np.exp(ranker.log_likelihood(X, np.array(p), groups)) for p in orders)
    )
    miss = {}
    for ties in TIES:
        at_the_same_scores = (np.empty(0), ranker.predict(X), y, Lists([4]))
        (value,) = log_likelihoods(ListMLE(ties), *at_the_same_scores)
        miss[ties] = abs(value - exact)
    assert 3 * miss["efron"] < miss["breslow"]


def plackett_luce(scores):
    """Return the probability of rows in the order in which they stand."""
    weights = np.exp(scores)
    return np.prod(weights / np.cumsum(weights[::-1])[::-1])


@pytest.mark.parametrize("top_k", [None, 1, 3])
def test_marginal_ties_are_summed_over_all_orders_exactly(top_k):
    X, y, groups = data(n_grades=3)
    ranker = ListMLERanker("marginal", top_k=top_k).fit(X, y, groups)
    scores, expected = ranker.predict(X), []
    for _, rows in each_list(groups):
        s, labels = scores[rows], y[rows]
        if top_k is not None:
            # Levels that begin later may come in any order.
            before = np.array([np.sum(labels > label) for label in labels])
            labels = np.where(before < top_k, labels, -1)
        orders = [np.array(order) for order in permutations(range(5))]
        total = sum(
            plackett_luce(s[order]) for order in orders if in_order(labels[order])
        )
        expected.append(np.log(total))
    log_likelihoods = ranker.log_likelihood(X, y, groups, average=None)
    np.testing.assert_allclose(log_likelihoods, expected, rtol=1e-12, atol=1e-14)
    assert "approximate" not in str(ranker.summary(X, y, groups, covariance="model"))


def in_order(labels):
    return np.all(np.diff(labels) <= 0)


@pytest.mark.parametrize("ties", ["order", "efron", "marginal"])
@pytest.mark.parametrize("stage_weights", ["position", "discount", "gain", "auto"])
def test_weighted_stages_are_no_model_and_say_so(stage_weights, ties):
    X, y, groups = data(n_lists=45)
    y = rank_within(-y, groups)  # whole numbers, of which "gain" makes weights
    ranker = ListMLERanker(ties, stage_weights=stage_weights).fit(X, y, groups)
    for name in (
        *("summary", "log_likelihood", "deviance", "aic", "composite_log_likelihood"),
        *("pairwise_proba", "stage_proba", "top_k_proba", "sample_rankings"),
    ):
        assert not hasattr(ranker, name)
        message = f"stage_weights='{stage_weights}' weighs stages.*use 'uniform'"
        with pytest.raises(AttributeError, match=message):
            getattr(ranker, name)
    ranker.set_params(stage_weights="uniform")
    assert not hasattr(ranker, "summary")  # of a fit with weighted stages
    assert hasattr(ranker.fit(X, y, groups), "summary")


def test_stage_probabilities_multiply_to_the_likelihood():
    X, y, groups = data()
    ranker = ListMLERanker().fit(X, y, groups)
    proba = ranker.stage_proba(X, y, groups)
    log_probabilities = [np.log(proba[rows]).sum() for _, rows in each_list(groups)]
    expected = ranker.log_likelihood(X, y, groups, average=None)
    np.testing.assert_allclose(log_probabilities, expected, rtol=1e-12)


def test_rows_that_are_not_picked_have_no_stage_probability():
    X = np.zeros((6, 1))
    y, groups = np.array([2.0, 2.0, 1.0, 1.0, 0.0, 0.0]), np.zeros(6)
    nothing = pytest.warns(UserWarning, match="constant inside every list")
    for settings, expected in (
        ({}, [1 / 6, 1 / 6, 1 / 4, 1 / 4, np.nan, np.nan]),
        ({"last_level": "rank"}, [1 / 6, 1 / 6, 1 / 4, 1 / 4, 1 / 2, 1 / 2]),
        ({"top_k": 2}, [1 / 6, 1 / 6] + [np.nan] * 4),
        ({"ties": "random"}, None),
    ):
        with nothing:
            ranker = ListMLERanker(random_state=0, **settings).fit(X, y, groups)
        probabilities = ranker.stage_proba(X, y, groups)
        if expected is None:
            probabilities, expected = np.sort(probabilities), 1 / np.arange(6, 0, -1)
        np.testing.assert_allclose(probabilities, expected, rtol=1e-14)
    with nothing:
        ranker = ListMLERanker().fit(X, y, groups)
    last_alone = ranker.stage_proba(X[:3], [1, 1, 0], groups[:3])
    np.testing.assert_allclose(last_alone, [1 / 3, 1 / 3, 1.0])


def test_the_best_of_many_draws_is_the_softmax():
    X, y, groups = data(n_lists=3, size=4)
    ranker = ListMLERanker().fit(X, y, groups)
    ranks = ranker.sample_rankings(X, groups, 8000, random_state=0)
    assert ranks.shape == (8000, 12)
    assert ranks.dtype.kind == "i"
    proba = ranker.top_k_proba(X, groups, 1).probability
    for _, rows in each_list(groups):
        assert (np.sort(ranks[:, rows], axis=1) == np.arange(1, 5)).all()
        counts = np.sum(ranks[:, rows] == 1, axis=0)
        assert stats.chisquare(counts, 8000 * proba[rows]).pvalue > 1e-3
    again = ranker.sample_rankings(X, groups, 8000, random_state=0)
    np.testing.assert_array_equal(ranks, again)


def test_top_k_probabilities_come_row_by_row():
    X, y, groups = data(n_lists=5, size=6)
    ranker = ListMLERanker(alpha=0.01).fit(X, y, groups)
    whole = ranker.top_k_proba(X, groups, 2)
    assert not whole.standard_error.any()
    for _, rows in each_list(groups):
        alone = ranker.top_k_proba(X[rows], groups[rows], 2).probability
        np.testing.assert_allclose(whole.probability[rows], alone, rtol=1e-13)
        first = np.exp(ranker.predict(X[rows]))
        first = first / first.sum()
        second = [
            sum(first[j] * first[i] / (1 - first[j]) for j in range(6) if j != i)
            for i in range(6)
        ]
        np.testing.assert_allclose(alone, first + second, rtol=1e-12)


@pytest.mark.parametrize("ranker", [ListMLERanker(), RankNetRanker()])
def test_pairs_follow_the_logistic_function(ranker):
    X, y, groups = data()
    ranker.fit(X, y, groups)
    win, tie = ranker.pairwise_proba(X[:20], X[20:])
    difference = ranker.predict(X[:20]) - ranker.predict(X[20:])
    np.testing.assert_allclose(win, expit(difference), rtol=1e-14)
    assert not tie.any()
    lost = ranker.pairwise_proba(X[20:], X[:20]).win
    np.testing.assert_allclose(win + lost, 1.0, rtol=1e-14)
    with pytest.raises(ValueError, match="X_a has 40 entries and X_b has 3"):
        ranker.pairwise_proba(X, X[:3])


@pytest.mark.parametrize("ranker", [ListMLERanker(), RankNetRanker()])
def test_composite_log_likelihoods_add_up_pairs(ranker):
    X, y, groups = data(n_grades=3)
    scores = ranker.fit(X, y, groups).predict(X)
    expected = []
    for _, rows in each_list(groups):
        s, labels = scores[rows], y[rows]
        above = labels[:, None] > labels
        expected.append(np.log(expit(s[:, None] - s))[above].sum())
    log_likelihoods = ranker.composite_log_likelihood(X, y, groups, average=None)
    np.testing.assert_allclose(log_likelihoods, expected, rtol=1e-12)
    total = ranker.composite_log_likelihood(X, y, groups)
    assert total == pytest.approx(sum(expected), rel=1e-12)


PAIRS = {"summary", "pairwise_proba", "composite_log_likelihood"}
LIKELIHOOD = {"summary", "pairwise_proba", "log_likelihood", "deviance", "aic"}
PARTITIONS = LIKELIHOOD | {
    "stage_proba",
    "partition_proba",
    "sample_partitions",
    "expected_level",
}
WHO_HAS = {
    "ListMLERanker": PAIRS
    | LIKELIHOOD
    | {"stage_proba", "sample_rankings", "top_k_proba"},
    "RankNetRanker": PAIRS,
    "DavidsonRanker": PAIRS,
    "RaoKupperRanker": PAIRS,
    "PMOPRanker": PARTITIONS,
    "DavidsonLuceRanker": PARTITIONS,
    "ListNetRanker": set(),
    "RankSVMRanker": set(),
    "RankRegressionRanker": set(),
}
WHO_HAS["LinearRanker"] = WHO_HAS["ListMLERanker"]  # its loss unless told otherwise


def test_each_ranker_has_the_methods_of_its_model_and_no_others(ranker):
    methods = set().union(*WHO_HAS.values())
    # The class tells what its default loss has; a generic ranker what its own has.
    generic = LinearRanker(ranker()._loss())
    for owner in (ranker, ranker(), generic):
        own = {name for name in methods if hasattr(owner, name)}
        assert own == WHO_HAS[ranker.__name__]


def test_the_guide_s_table_is_true():
    page = Path(__file__).parents[2] / "doc/likelihoods.md"
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", page.read_text("utf-8"), re.MULTILINE)
    cells_of_guide = {
        name: [cell.strip() for cell in cells.split("|")] for name, cells in rows
    }
    names = [name for name in WHO_HAS if WHO_HAS[name] and name != "LinearRanker"]
    assert set(cells_of_guide) == set.union(*WHO_HAS.values())
    for method, cells in cells_of_guide.items():
        assert len(cells) == len(names)
        having = {name for name, cell in zip(names, cells, strict=True) if cell}
        assert having == {name for name in names if method in WHO_HAS[name]}, method


def test_aic_is_deviance_plus_twice_the_number_of_coefficients():
    X, y, groups = data(n_lists=50)
    free = ListMLERanker(alpha=0).fit(X, y, groups)
    deviance = free.deviance(X, y, groups)
    assert free.aic(X, y, groups) == pytest.approx(deviance + 6, rel=1e-12)
    doubled = np.column_stack((X, X[:, 0] - X[:, 1]))
    ranker = ListMLERanker(alpha=0).fit(doubled, y, groups)
    assert ranker.aic(doubled, y, groups) == pytest.approx(deviance + 6, rel=1e-9)
    held = ListMLERanker(alpha=1).fit(X, y, groups)
    extra = held.aic(X, y, groups) - held.deviance(X, y, groups)
    assert 0 < extra < 6


def test_what_did_not_maximise_the_likelihood_has_no_aic():
    X, y, groups = data()
    ranker = ListMLERanker(normalize="size").fit(X[1:], y[1:], groups[1:])
    with pytest.raises(ValueError, match="normalize='size' divides lists"):
        ranker.aic(X[1:], y[1:], groups[1:])
    with pytest.warns(UserWarning, match="every pair"):
        ranker = ListMLERanker(alpha=0).fit(y[:, None], y, groups)
    with pytest.raises(ValueError, match="separated"):
        ranker.aic(y[:, None], y, groups)


def test_wrong_arguments_are_named():
    X, y, groups = data()
    ranker = ListMLERanker().fit(X, y, groups)
    with pytest.raises(ValueError, match="average must be 'sum', 'mean' or None"):
        ranker.log_likelihood(X, y, groups, average="max")
    with pytest.raises(ValueError, match="k must be an integer of at least 1, got 0"):
        ranker.top_k_proba(X, groups, 0)
    with pytest.raises(ValueError, match=r"n_samples must be .*, got 2\.5"):
        ranker.sample_rankings(X, groups, 2.5)
    with pytest.raises(ValueError, match=r"ListMLERanker\.stage_proba needs to know"):
        ranker.stage_proba(X, y)
    with pytest.raises(ValueError, match=r"ListMLERanker\.top_k_proba needs to know"):
        ranker.top_k_proba(X, None, 2)


def test_losses_give_the_same_values_as_the_methods():
    X, y, groups = data()
    ranker = ListMLERanker().fit(X, y, groups)
    scores = ranker.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean = ranker.log_likelihood(X, y, groups, average="mean")
        pairs = ranker.composite_log_likelihood(X, y, groups, average="mean")
    assert mean == pytest.approx(-ListMLE()(scores, y, groups), rel=1e-13)
    assert pairs == pytest.approx(-RankNet()(scores, y, groups), rel=1e-13)


@pytest.mark.parametrize("top_k", [None, 2])
@pytest.mark.parametrize("n_grades", [3, 100])
def test_full_stages_are_the_softmax_over_the_rows_that_are_left(top_k, n_grades):
    X, y, groups = data(n_grades=n_grades)
    order = np.random.default_rng(0).permutation(len(X))
    X, y, groups = X[order], y[order], groups[order]
    ranker = ListMLERanker(top_k=top_k).fit(X, y, groups)
    scores = ranker.predict(X)
    full = ranker.stage_proba(X, y, groups, full=True)
    picked = ranker.stage_proba(X, y, groups)
    for label, proba in zip(list_labels(groups), full, strict=True):
        rows = np.flatnonzero(groups == label)
        s, labels = scores[rows], y[rows]
        levels = np.unique(labels)[::-1][: len(proba)]
        assert proba.shape == (len(levels), len(rows))
        for stage, level in zip(proba, levels, strict=True):
            left = labels <= level
            expected = np.where(left, np.exp(s), 0) / np.exp(s)[left].sum()
            np.testing.assert_allclose(stage, expected, rtol=1e-12)
            # What the short form tells is the softmax at the rows that were picked.
            at = labels == level
            np.testing.assert_allclose(stage[at], picked[rows][at], rtol=1e-12)
        beyond = ~np.isin(labels, levels)
        assert np.isnan(picked[rows][beyond]).all()
