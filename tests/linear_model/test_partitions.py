"""Rankers on ordered partitions: published fits, conditional logit, several optima."""

import re
import warnings
from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from statsmodels.discrete.conditional_models import ConditionalLogit

from skrank import DavidsonLuceRanker, LinearRanker, ListMLERanker, PMOPRanker
from skrank.losses import PMOP

ENDS = re.compile(r" at (\d+\.\d+) from")
EXACT = {"tol": 1e-12, "ftol": 0.0, "max_iter": 5000}


@pytest.fixture(scope="module")
def fits(worked_numbers):
    return worked_numbers["fits"]


def fruit(fits):
    """Return the rankings of four fruits, rank 0 being absent, on one-hot features."""
    rankings = np.array(fits["fruit4"]["rankings"])
    groups, item = np.nonzero(rankings)
    return np.eye(4)[item], -rankings[groups, item], groups


def ghosts():
    """Return each item's win and loss against a ghost of score 0, as lists of two."""
    X = np.zeros((16, 4))
    X[np.arange(0, 16, 2), np.repeat(np.arange(4), 2)] = 1.0
    return X, np.tile([1, 0, 0, 1], 4), 100 + np.repeat(np.arange(8), 2)


@pytest.mark.parametrize("prior", ["npseudo=0", "npseudo=0.5", "normal prior N(0,9)"])
def test_four_fruits(fits, prior):
    """R PlackettLuce, the example of its manual page: ties of two and of three."""
    X, y, groups = fruit(fits)
    weight = np.ones(len(y))
    alpha = 0.0
    if prior == "npseudo=0":
        X = X[:, 1:]  # without a prior only differences to the first are known
    elif prior == "npseudo=0.5":
        more = ghosts()
        X, y, groups = (
            np.concatenate(both) for both in zip((X, y, groups), more, strict=True)
        )
        weight = np.concatenate((weight, np.full(16, 0.5)))
    else:
        alpha = 1 / 9 / 6  # a variance of 9, and the mean of six lists
    ranker = DavidsonLuceRanker(alpha=alpha, **EXACT)
    ranker.fit(X, y, groups, sample_weight=weight)
    worth = np.append(0.0, ranker.coef_) if len(ranker.coef_) == 3 else ranker.coef_
    computed = [*(worth - worth[0]), *np.log(ranker.tie_weights_[1:])]
    ours = fits["fruit4"]["ours"][prior]
    np.testing.assert_allclose(computed, [*ours["coef"], *ours["log_delta"]], atol=2e-8)
    total = ranker.objective_ * (weight / np.bincount(groups)[groups]).sum()
    assert total == pytest.approx(ours["objective"], rel=1e-14)
    # A unit of the last digit printed, the seventh; with a prior it stopped early.
    atol = 2e-5 if prior.startswith("normal") else 1e-7
    np.testing.assert_allclose(computed, fits["fruit4"]["published"][prior], atol=atol)


def test_puddings(fits):
    """Davidson 1970: six brands in pairs, with ties, as lists of two."""
    fit = fits["pudding_davidson"]
    X, y, weight = [], [], []
    for i, j, wins_i, wins_j, ties in fit["data"]:
        for labels, count in [([1, 0], wins_i), ([0, 1], wins_j), ([1, 1], ties)]:
            X += [np.eye(6)[i - 1, 1:], np.eye(6)[j - 1, 1:]]
            y += labels
            weight += [count, count]
    groups = np.repeat(np.arange(len(y) // 2), 2)
    ranker = DavidsonLuceRanker(alpha=0.0, **EXACT)
    ranker.fit(X, y, groups, sample_weight=weight)
    ours, published = fit["ours"], fit["published"]
    np.testing.assert_allclose(ranker.coef_, ours["coef"][1:], atol=1e-8)
    np.testing.assert_allclose(ranker.tie_weights_, [1.0, ours["nu"]], atol=1e-8)
    # The published fit took seven iterations: 0.1752864, of the fourth brand, is no
    # optimum, which the others are to 1.4e-5.
    away = np.abs(ranker.coef_ - published["coef"][1:])
    assert (away < [1.4e-5, 1.4e-5, 1.5e-4, 1.4e-5, 1.4e-5]).all()
    assert ranker.tie_weights_[1] == pytest.approx(published["tie2"], abs=1e-5)
    deviance = sum(weight) * ranker.objective_
    assert deviance == pytest.approx(ours["deviance"], rel=1e-13)
    assert deviance == pytest.approx(published["deviance"], abs=0.05)


def graded(n_lists=15, size=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_lists * size, 2))
    y = rng.integers(0, 3, size=len(X))
    return X, y, np.repeat(np.arange(n_lists), size)


def choices(X, y, groups, sizes):
    """Return every subset of every stage as an alternative: chosen or not."""
    chosen, features, stage = [], [], []
    for q in np.unique(groups):
        for label in np.unique(y[groups == q]):
            left = np.flatnonzero((groups == q) & (y <= label))
            level = set(np.flatnonzero((groups == q) & (y == label)))
            if len(left) == 1:
                continue  # one alternative is no choice
            for m in sizes:
                for subset in combinations(left, m):
                    dummies = [float(m == size) for size in sizes[1:]]
                    features.append([*X[list(subset)].mean(axis=0), *dummies])
                    chosen.append(set(subset) == level)
                    stage.append((q, label))
    numbers = np.unique(stage, axis=0, return_inverse=True)[1]
    return np.array(chosen, dtype=float), np.array(features), numbers.ravel()


@pytest.mark.parametrize("learned", [False, True])
def test_it_is_a_conditional_logit_over_all_subsets(learned):
    X, y, groups = graded()
    if learned:
        ranker = DavidsonLuceRanker(alpha=0.0, **EXACT).fit(X, y, groups)
        occurring = np.flatnonzero(ranker.tie_weights_) + 1
    else:
        ranker = PMOPRanker("geometric", alpha=0.0, **EXACT).fit(X, y, groups)
        occurring = np.arange(1, 6)
    chosen, features, stage = choices(X, y, groups, occurring)
    parameters = ranker.coef_
    if learned:
        logs = np.log(ranker.tie_weights_[occurring[1:] - 1])
        parameters = np.concatenate((parameters, logs))
    else:
        features = features[:, :2]
    model = ConditionalLogit(chosen, features, groups=stage)
    log_likelihood = model.loglike(parameters)
    assert -15 * ranker.objective_ == pytest.approx(log_likelihood, rel=1e-12)
    np.testing.assert_allclose(model.score(parameters), 0.0, atol=1e-8)


def summary_of(ranker, X, y, groups, **options):
    """Return the summary, letting few lists pass."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Only .* lists")
        return ranker.summary(X, y, groups, **options)


@pytest.mark.parametrize("learned", [False, True])
def test_its_errors_are_those_of_the_conditional_logit(learned):
    X, y, groups = graded(n_lists=30)
    kind = DavidsonLuceRanker() if learned else PMOPRanker("geometric")
    y[groups == 2] = [2, 1, 1, 1, 1]  # a level of four, so that sizes have no gap
    ranker = kind.set_params(alpha=0.0, **EXACT).fit(X, y, groups)
    summary = summary_of(ranker, X, y, groups, covariance="model")
    sizes = np.arange(1, 6)
    if learned:
        sizes = np.flatnonzero(ranker.tie_weights_) + 1
        assert sizes.tolist() == [1, 2, 3, 4]
        assert summary.names == ["x0", "x1", *(f"log delta_{m}" for m in sizes[1:])]
    chosen, features, stage = choices(X, y, groups, sizes)
    features = features[:, : len(summary.coef)]
    model = ConditionalLogit(chosen, features, groups=stage)
    known = model.fit(start_params=summary.coef, method="newton", disp=0)
    np.testing.assert_allclose(summary.coef, known.params, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(summary.standard_error, known.bse, rtol=1e-6)
    assert summary.fit_value == pytest.approx(known.llf, rel=1e-12)
    aic = -2 * known.llf + 2 * len(known.params)
    assert summary.criterion == pytest.approx(aic, rel=1e-9)
    assert ranker.aic(X, y, groups) == pytest.approx(aic, rel=1e-9)
    assert ranker.log_likelihood(X, y, groups) == pytest.approx(known.llf, rel=1e-12)


@pytest.mark.parametrize(
    "ranker",
    [
        PMOPRanker(alpha=0.0, **EXACT),
        PMOPRanker("geometric", alpha=0.0, **EXACT),
        DavidsonLuceRanker(alpha=0.0, **EXACT),
        DavidsonLuceRanker("slope", alpha=0.0, **EXACT),
    ],
)
def test_errors_are_those_of_numerical_derivatives_of_the_log_likelihood(ranker):
    X, y, groups = graded(n_lists=60)
    summary = summary_of(ranker.fit(X, y, groups), X, y, groups)
    best = summary.coef

    def of_lists(parameters):
        moved = clone(ranker)
        moved.n_features_in_, moved.coef_, moved.extra_ = 2, *np.split(parameters, [2])
        return moved.log_likelihood(X, y, groups, average=None)

    n_parameters, step = len(best), 1e-4
    moves = step * np.eye(n_parameters)
    scores = np.array([of_lists(best + m) - of_lists(best - m) for m in moves])
    scores /= 2 * step
    hessian = np.array(
        [
            [
                of_lists(best + a + b).sum()
                - of_lists(best + a - b).sum()
                - of_lists(best - a + b).sum()
                + of_lists(best - a - b).sum()
                for a in moves
            ]
            for b in moves
        ]
    ) / (4 * step**2)
    inverse = np.linalg.inv(-hessian)
    # Second differences lose half of the digits.
    model = np.sqrt(np.diag(inverse))
    np.testing.assert_allclose(summary.model, model, rtol=1e-5)
    clustered = np.sqrt(np.diag(inverse @ scores @ scores.T @ inverse))
    np.testing.assert_allclose(summary.clustered, clustered, rtol=1e-5)


def test_sizes_that_do_not_occur_are_left_out_of_the_summary():
    X, _, groups = graded(n_lists=50, size=4)
    y = np.tile([1, 1, 1, 0, 2, 0, 1, 3], 25)  # levels of one and of three
    ranker = DavidsonLuceRanker(alpha=0.0, **EXACT).fit(X, y, groups)
    summary = ranker.summary(X, y, groups)
    assert summary.names == ["x0", "x1", "log delta_3"]
    assert summary.df == pytest.approx(3, abs=1e-6)
    assert np.all(summary.model > 0)
    assert np.isnan(summary.z).tolist() == [False, False, True]
    assert "left out, without an error: log delta_2." in str(summary)
    untied = np.random.default_rng(1).permutation(len(X))
    for tie_weights in ("sizes", "slope"):
        ranker = DavidsonLuceRanker(tie_weights, alpha=0.0, **EXACT)
        summaries = ranker.fit(X, untied, groups).summary(X, untied, groups)
        listmle = ListMLERanker(alpha=0.0, **EXACT).fit(X, untied, groups)
        expected = listmle.summary(X, untied, groups)
        assert summaries.names == ["x0", "x1"]
        np.testing.assert_allclose(summaries.clustered, expected.clustered, rtol=1e-6)
        np.testing.assert_allclose(summaries.model, expected.model, rtol=1e-6)
        assert summaries.criterion == pytest.approx(expected.criterion, rel=1e-9)


def test_an_optimum_of_many_is_said_to_be_one():
    X, y, groups = graded(n_lists=50)
    ranker = PMOPRanker(alpha=0.0, **EXACT).fit(X, y, groups)
    assert "Not convex" in str(ranker.summary(X, y, groups))


@pytest.mark.parametrize("inference", ["gibbs", "metropolis"])
def test_chains_have_a_likelihood_but_not_its_maximum(inference):
    X, y, groups = graded(n_lists=60)
    ranker = PMOPRanker("geometric", inference, random_state=0, max_iter=200)
    ranker.fit(X, y, groups)
    exact = PMOPRanker("geometric").fit(X, y, groups)
    assert ranker.log_likelihood(X, y, groups) == pytest.approx(
        exact.log_likelihood(X, y, groups), rel=0.01
    )
    with pytest.raises(ValueError, match=rf"no AIC.*\(inference='{inference}'\)"):
        ranker.aic(X, y, groups)
    with warnings.catch_warnings():
        # Where the chains end the alarm may or may not go off.
        warnings.filterwarnings("ignore", message=".*Raise n_steps or max_iter")
        summary = ranker.summary(X, y, groups)
        with pytest.raises(ValueError, match="come from chains"):
            ranker.summary(X, y, groups, covariance="model")
    assert summary.fit_name == "log-likelihood"
    assert summary.criterion_name is None
    assert summary.model is None
    expected = exact.summary(X, y, groups).clustered
    np.testing.assert_allclose(summary.clustered, expected, rtol=0.1)
    assert "do not include how far the chains end" in str(summary).replace("\n  ", " ")
    short = PMOPRanker("geometric", inference, random_state=0, max_iter=2)
    short.fit(X, y, groups)
    with pytest.warns(UserWarning, match=r"not the optimum.*Raise n_steps or max_iter"):
        short.summary(X, y, groups)


def test_partitions_have_no_likelihood_of_pairs_and_pairs_go_by_list():
    """The same two rows, alone and with a third: other probabilities."""
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [3.0, 0.0]])
    for ranker in (PMOPRanker(), PMOPRanker("geometric"), DavidsonLuceRanker()):
        assert not hasattr(ranker, "composite_log_likelihood")
        ranker.fit(*graded(n_lists=50))
        ranker.coef_ = np.array([1.0, 0.0])
        alone = ranker.pairwise_proba(X[:2], [0, 0]).proba[0]
        among = ranker.pairwise_proba(X, [0, 0, 0]).proba[0]
        assert np.max(np.abs(alone - among)) > 0.01


def two_optima(seed):
    """Return three lists of six for which the arithmetic model has several optima."""
    rng = np.random.default_rng(seed)
    X = 3.0 * rng.standard_normal((18, 2))
    return X, rng.integers(0, 2, size=18), np.repeat([0, 1, 2], 6)


@pytest.mark.parametrize(("seed", "zero_is_better"), [(21, True), (262, False)])
def test_the_better_of_two_optima_is_kept_with_a_warning(seed, zero_is_better):
    X, y, groups = two_optima(seed)
    from_zero = LinearRanker(PMOP(), alpha=0.001).fit(X, y, groups)
    with pytest.warns(UserWarning, match="the objective has several optima") as caught:
        ranker = PMOPRanker(alpha=0.001).fit(X, y, groups)
    assert caught[0].filename == __file__
    ends = ENDS.findall(str(caught[0].message))
    from_listmle = LinearRanker(PMOP(), alpha=0.001, warm_start=True)
    from_listmle.coef_ = ListMLERanker(alpha=0.001).fit(X, y, groups).coef_
    from_listmle.extra_ = np.empty(0)
    from_listmle.fit(X, y, groups)
    best = from_zero if zero_is_better else from_listmle
    other = from_listmle if zero_is_better else from_zero
    assert best.objective_ < other.objective_
    decimals = len(ends[0].partition(".")[2])
    objectives = (from_zero.objective_, from_listmle.objective_)
    assert ends == [f"{value:.{decimals}f}" for value in objectives]
    assert len(set(ends)) == 2
    # The second start goes on in the coordinates of the first; a gap of 1e-12 of the
    # objective moves weights that the penalty alone holds by some 1e-6 / sqrt(alpha).
    np.testing.assert_allclose(ranker.coef_, best.coef_, rtol=1e-4)
    assert ranker.objective_ == pytest.approx(best.objective_, rel=1e-11)
    # From the last weights there is one way to go.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.set_params(warm_start=True).fit(X, y, groups)
    assert ranker.objective_ == pytest.approx(best.objective_, rel=1e-12)


def test_ends_less_than_ftol_apart_are_no_sign_of_several_optima():
    X, y, groups = two_optima(21)
    ranker = PMOPRanker(alpha=0.001)
    with pytest.warns(UserWarning, match="several optima") as caught:
        ranker.fit(X, y, groups)
    low, high = sorted(map(float, ENDS.findall(str(caught[0].message))))
    apart = (high - low) / low
    # A solver that stops so early may end in the same basin, not yet at its end.
    ranker.set_params(ftol=2 * apart)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.fit(X, y, groups)


def test_a_fit_cut_short_is_no_sign_of_several_optima():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PMOPRanker(alpha=0.001, max_iter=2).fit(*two_optima(0))
    assert {w.category for w in caught} == {ConvergenceWarning}


@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_one_optimum_gives_no_warning(alpha):
    X, y, groups = graded(n_lists=50)
    ranker = PMOPRanker(alpha=alpha, **EXACT).fit(X, y, groups)
    from_zero = LinearRanker(PMOP(), alpha=alpha, **EXACT).fit(X, y, groups)
    np.testing.assert_allclose(ranker.coef_, from_zero.coef_, atol=1e-9)


def test_without_ties_the_arithmetic_model_is_listmle():
    X, _, groups = graded()
    y = np.random.default_rng(1).permutation(len(X))
    ranker = PMOPRanker(**EXACT).fit(X, y, groups)
    listmle = ListMLERanker(**EXACT).fit(X, y, groups)
    np.testing.assert_allclose(ranker.coef_, listmle.coef_, rtol=1e-9)


def test_tie_weights_tell_which_sizes_occur():
    X, _, groups = graded(n_lists=4, size=4)
    y = [1, 1, 1, 0] * 3 + [2, 0, 1, 3]  # levels of one and of three
    ranker = DavidsonLuceRanker().fit(X, y, groups)
    assert ranker.tie_weights_.shape == (3,)
    assert ranker.tie_weights_[0] == 1.0
    assert ranker.tie_weights_[1] == 0.0
    assert 0 < ranker.tie_weights_[2] < np.inf
    slope = DavidsonLuceRanker("slope").fit(X, y, groups).tie_weights_
    assert slope.shape == (4,)
    np.testing.assert_allclose(slope, slope[1] ** np.arange(4), rtol=1e-14)
    capped = DavidsonLuceRanker("slope", max_tie_size=3).fit(X, y, groups)
    assert capped.tie_weights_.shape == (3,)


@pytest.mark.parametrize("tie_weights", ["sizes", "slope"])
def test_without_ties_davidson_luce_is_listmle(tie_weights):
    X, _, groups = graded()
    y = np.random.default_rng(1).permutation(len(X))
    ranker = DavidsonLuceRanker(tie_weights, **EXACT).fit(X, y, groups)
    listmle = ListMLERanker(**EXACT).fit(X, y, groups)
    np.testing.assert_allclose(ranker.coef_, listmle.coef_, rtol=1e-9)
    np.testing.assert_array_equal(ranker.tie_weights_[1:], 0.0)


def test_a_warm_start_may_meet_other_sizes_of_ties():
    X, y, groups = graded(n_lists=30)
    ranker = DavidsonLuceRanker(warm_start=True, **EXACT)
    for labels in (y, (y > 0), y, np.arange(len(y)), y):
        ranker.fit(X, labels, groups)
        cold = DavidsonLuceRanker(**EXACT).fit(X, labels, groups)
        np.testing.assert_allclose(ranker.coef_, cold.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(ranker.tie_weights_, cold.tie_weights_, rtol=1e-6)
    again = ranker.fit(X, y, groups)
    assert again.n_iter_ <= 2


@pytest.mark.parametrize(
    "ranker",
    [PMOPRanker(), PMOPRanker("geometric"), DavidsonLuceRanker()],
)
def test_the_number_of_threads_changes_no_bit(ranker):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 40, size=400)
    groups = np.repeat(np.arange(400), sizes)
    X = rng.standard_normal((len(groups), 30))
    y = np.digitize(X[:, 0] + rng.standard_normal(len(X)), [0.5, 1.5])
    one = ranker.set_params(n_jobs=1).fit(X, y, groups).coef_
    two = ranker.set_params(n_jobs=2).fit(X, y, groups).coef_
    np.testing.assert_array_equal(one, two)
    assert one[0] > 5 * np.abs(one[1:]).max()


@pytest.mark.parametrize("ranker", [PMOPRanker, DavidsonLuceRanker])
def test_ties_above_the_cap_are_refused(ranker):
    X, y, groups = graded()
    with pytest.raises(ValueError, match=r"max_tie_size=1\): \d rows of list \d+"):
        ranker(max_tie_size=1).fit(X, y, groups)


def test_inference_is_exact_so_far():
    X, y, groups = graded()
    with pytest.raises(ValueError, match="The 'inference' parameter of PMOPRanker"):
        PMOPRanker(inference="guess").fit(X, y, groups)
