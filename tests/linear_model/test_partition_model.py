"""What rankers over ordered partitions tell besides scores."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skrank import DavidsonLuceRanker, PMOPRanker
from skrank.metrics import list_labels

COEF = np.array([1.0, -0.7, 0.4, 0.0])
RANKERS = {
    "arithmetic": PMOPRanker(alpha=1e-3),
    "arithmetic, at most 3": PMOPRanker(alpha=1e-3, max_tie_size=3),
    "geometric": PMOPRanker("geometric", alpha=1e-3),
    "geometric, at most 3": PMOPRanker("geometric", alpha=1e-3, max_tie_size=3),
    "davidson-luce": DavidsonLuceRanker(alpha=1e-3),
    "davidson-luce, slope": DavidsonLuceRanker("slope", alpha=1e-3),
}


def model(name):
    """Return a ranker with weights that are set, not learned."""
    ranker = clone(RANKERS[name])
    ranker.n_features_in_ = len(COEF)
    ranker.coef_ = COEF.copy()
    ranker.extra_ = {
        "davidson-luce": np.array([-0.5, -1.2]),
        "davidson-luce, slope": np.array([-0.6]),
    }.get(name, np.empty(0))
    return ranker


@pytest.fixture(params=RANKERS)
def name(request):
    return request.param


def all_gradings(n_rows):
    """Return one grading of rows for each ordered partition."""
    return [
        grades
        for grades in product(range(n_rows), repeat=n_rows)
        if set(grades) == set(range(max(grades) + 1))
    ]


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 5])
@pytest.mark.filterwarnings("ignore:.*minus infinity:UserWarning")
def test_probabilities_of_all_partitions_sum_to_one(name, n_rows):
    gradings = np.array(all_gradings(n_rows))
    assert len(gradings) == [1, 3, 13, 75, 541][n_rows - 1]
    X = np.random.default_rng(n_rows).standard_normal((n_rows, len(COEF)))
    groups = np.repeat(np.arange(len(gradings)), n_rows)
    proba = model(name).partition_proba(
        np.tile(X, (len(gradings), 1)), gradings.ravel(), groups
    )
    assert_allclose(proba.sum(), 1.0, rtol=1e-12)


def scattered(n_lists=40, longest=6, seed=0):
    """Return features and groups of lists whose rows are not together."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_lists), rng.integers(1, longest + 1, n_lists))
    groups = rng.permutation(groups)
    return rng.standard_normal((len(groups), len(COEF))), groups


def test_the_product_of_stages_is_the_probability_of_the_partition(name):
    X, groups = scattered()
    ranker = model(name)
    y = -ranker.sample_partitions(X, groups, random_state=0)[0]
    stages = ranker.stage_proba(X, y, groups)
    whole = ranker.partition_proba(X, y, groups)
    logs = ranker.log_likelihood(X, y, groups, average=None)
    assert_allclose(np.log(whole), logs, rtol=1e-12)
    assert_allclose(ranker.log_likelihood(X, y, groups), logs.sum(), rtol=1e-12)
    mean = ranker.log_likelihood(X, y, groups, average="mean")
    assert_allclose(mean, logs.mean(), rtol=1e-12)
    assert ranker.deviance(X, y, groups) == -2 * ranker.log_likelihood(X, y, groups)
    for group, proba in zip(list_labels(groups), whole, strict=True):
        rows = groups == group
        levels = {grade: stages[rows & (y == grade)] for grade in np.unique(y[rows])}
        for shares in levels.values():
            assert np.all(shares == shares[0])
        product_of_stages = np.prod([shares[0] for shares in levels.values()])
        assert_allclose(product_of_stages, proba, rtol=1e-11)


def test_draws_are_levels_of_each_list_and_depend_on_the_seed(name):
    X, groups = scattered()
    ranker = model(name)
    levels = ranker.sample_partitions(X, groups, n_samples=3, random_state=0)
    assert levels.shape == (3, len(X))
    for group in np.unique(groups):
        for drawn in levels[:, groups == group]:
            assert_array_equal(np.unique(drawn), np.arange(1, drawn.max() + 1))
    again = ranker.sample_partitions(X, groups, n_samples=3, random_state=0)
    assert_array_equal(levels, again)
    other = ranker.sample_partitions(X, groups, n_samples=3, random_state=1)
    assert np.any(levels != other)


def test_expected_levels_and_pairs_are_the_means_of_draws(name):
    X, groups = scattered(n_lists=12)
    ranker, n_samples = model(name), 20_000
    levels = ranker.sample_partitions(X, groups, n_samples, random_state=0)
    value, error = ranker.expected_level(X, groups)
    assert_array_equal(error, 0.0)
    spread = levels.std(axis=0) / np.sqrt(n_samples)
    assert np.all(np.abs(levels.mean(axis=0) - value) <= 4.5 * spread + 1e-12)
    pairs = ranker.pairwise_proba(X, groups)
    assert_array_equal(groups[pairs.first], groups[pairs.second])
    sizes = np.unique(groups, return_counts=True)[1]
    assert len(pairs.first) == np.sum(sizes * (sizes - 1) // 2)
    one, other = levels[:, pairs.first], levels[:, pairs.second]
    for column, happened in enumerate((one < other, one == other, one > other)):
        p = pairs.proba[:, column]
        spread = np.sqrt(np.maximum(p * (1 - p), 0) / n_samples)
        assert np.all(np.abs(happened.mean(axis=0) - p) <= 4.5 * spread + 1e-12)


def test_long_lists_have_standard_errors(name):
    X, groups = np.random.default_rng(0).standard_normal((20, 4)), np.zeros(20)
    ranker = model(name)
    level = ranker.expected_level(X, groups, n_samples=100, random_state=0)
    pairs = ranker.pairwise_proba(X, groups, n_samples=100, random_state=0)
    assert np.all(level.standard_error > 0)
    assert np.all(pairs.standard_error > 0)
    assert_allclose(pairs.proba.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["geometric, at most 3", "arithmetic, at most 3", "davidson-luce"]
)
def test_a_tie_that_the_model_never_makes_has_no_likelihood_and_is_told(name):
    X = np.random.default_rng(0).standard_normal((7, 4))
    y, groups = [2, 1, 1, 1, 1, 1, 0], ["a", "a", "a", "a", "a", "b", "b"]
    ranker = model(name)
    with pytest.warns(UserWarning, match="1 of 2 lists have a log-likelihood of minus"):
        values = ranker.log_likelihood(X, y, groups, average=None)
    alone = ranker.log_likelihood(X[5:], y[5:], groups[5:])
    assert_array_equal(values, [-np.inf, alone])
    with pytest.warns(
        UserWarning, match="of minus infinity, because they contain ties"
    ):
        assert ranker.log_likelihood(X, y, groups) == -np.inf
    # A list without weight does not count, however unlikely.
    weight = np.repeat([0.0, 2.0], [5, 2])
    with pytest.warns(UserWarning, match="minus infinity"):
        total = ranker.log_likelihood(X, y, groups, sample_weight=weight)
    assert total == 2 * alone
    with pytest.raises(ValueError, match=r"max_tie_size=3|1 lists have ties of a size"):
        ranker.summary(X, y, groups)
    stages = ranker.stage_proba(X, y, groups)
    assert 0 < stages[0] < 1
    assert_array_equal(stages[1:5], 0.0)
    assert np.all(stages[5:] > 0)


def test_sizes_that_davidson_luce_has_not_seen_are_never_drawn():
    X, y, groups = np.eye(4)[[0, 1, 2, 3, 0, 1]], [1, 1, 1, 0, 1, 0], [0] * 4 + [1] * 2
    ranker = DavidsonLuceRanker().fit(X, y, groups)
    assert_array_equal(ranker.tie_weights_ > 0, [True, False, True])
    levels = ranker.sample_partitions(X, groups, 500, random_state=0)[:, :4]
    counts = (levels[:, :, None] == np.arange(1, 5)).sum(axis=1)
    assert set(np.unique(counts)) == {0, 1, 3}


@pytest.mark.parametrize(
    "method", ["sample_partitions", "expected_level", "pairwise_proba"]
)
def test_bad_arguments_are_refused(method):
    draw = getattr(model("geometric"), method)
    X = np.zeros((3, 4))
    for n_samples in (0, 2.5):
        with pytest.raises(ValueError, match="n_samples must be an integer of at leas"):
            draw(X, [0, 0, 1], n_samples=n_samples)
    with pytest.raises(ValueError, match="groups"):
        draw(X, None)
    with pytest.raises(ValueError, match="2 entries for 3 rows"):
        draw(X, [0, 0])


@pytest.fixture(scope="module")
def drawn():
    """Return lists whose labels are drawn from each of three models."""
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(3000), 6)
    X = rng.standard_normal((len(groups), len(COEF)))
    truth = {}
    for name in ("arithmetic", "geometric", "davidson-luce"):
        ranker = model(name)
        truth[name] = -ranker.sample_partitions(X, groups, random_state=0)[0]
    return X, groups, truth


@pytest.mark.parametrize("name", ["arithmetic", "geometric", "davidson-luce"])
def test_models_find_themselves_in_data_that_they_drew(drawn, name):
    X, groups, truth = drawn
    y, train = truth[name], groups < 2000
    held_out = {}
    for other in truth:
        ranker = clone(RANKERS[other]).fit(X[train], y[train], groups[train])
        held_out[other] = ranker.log_likelihood(
            X[~train], y[~train], groups[~train], average=None
        )
        if other == name:
            cosine = ranker.coef_ @ COEF / np.linalg.norm(ranker.coef_)
            assert cosine / np.linalg.norm(COEF) > 0.99
            assert_allclose(ranker.coef_, COEF, atol=0.15)
        if other == name == "davidson-luce":
            assert_allclose(np.log(ranker.tie_weights_), [0, -0.5, -1.2], atol=0.25)
    for values in held_out.values():
        # The same space of all ordered partitions, so the truth is best on average.
        difference = held_out[name] - values
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        assert difference.mean() >= -2 * error
