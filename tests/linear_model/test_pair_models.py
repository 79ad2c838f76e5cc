"""Pairs with ties: probabilities, composite likelihoods, standard errors."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from statsmodels.discrete.conditional_models import ConditionalLogit
from statsmodels.miscmodels.ordinal_model import OrderedModel

from skrank import DavidsonLuceRanker, DavidsonRanker, RankNetRanker, RaoKupperRanker

EXACT = {"alpha": 0.0, "tol": 1e-12, "ftol": 0.0, "max_iter": 5000}
MODELS = [DavidsonRanker, RaoKupperRanker]


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def model(request):
    return request.param


def graded(n_lists=150, size=2, seed=0):
    """Return lists with labels 0, 1 and 2, a third of pairs tied."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_lists * size, 3))
    utility = X @ [0.9, -0.5, 0.0] + rng.gumbel(size=len(X))
    return X, np.clip(np.round(utility), 0, 2), np.repeat(np.arange(n_lists), size)


def davidson(d, nu):
    """Return the three probabilities by Davidson's formula."""
    weights = np.array([np.exp(d), nu * np.exp(d / 2), np.ones_like(d)])
    return weights / weights.sum(axis=0)


def rao_kupper(d, theta):
    """Return the three probabilities by Rao and Kupper's formula."""
    win, loss = np.exp(d) / (np.exp(d) + theta), 1 / (theta * np.exp(d) + 1)
    return win, (theta**2 - 1) * win * loss, loss


FORMULAS = {DavidsonRanker: davidson, RaoKupperRanker: rao_kupper}


def test_pairs_win_tie_or_lose_by_the_formula(model):
    X, y, groups = graded()
    ranker = model(alpha=0.01).fit(X, y, groups)
    win, tie = ranker.pairwise_proba(X[:100], X[100:200])
    scores = ranker.predict(X)
    expected = FORMULAS[model](scores[:100] - scores[100:200], ranker.tie_parameter_)
    assert_allclose([win, tie], expected[:2], rtol=1e-12)
    mirrored = ranker.pairwise_proba(X[100:200], X[:100])
    assert_allclose(mirrored.tie, tie, rtol=1e-12)
    assert_allclose(win + tie + mirrored.win, 1.0, rtol=1e-14)


def test_probabilities_of_rows_far_apart_are_exact_and_finite(model):
    X, y, groups = graded()
    ranker = model(alpha=0.01).fit(X, y, groups)
    ranker.coef_ = np.array([1.0, 0.0, 0.0])
    apart = np.array([[40.0, 0, 0], [-40.0, 0, 0], [1e4, 0, 0], [-1e4, 0, 0]])
    win, tie = ranker.pairwise_proba(apart, np.zeros((4, 3)))
    expected = FORMULAS[model](np.array([40.0, -40.0]), ranker.tie_parameter_)
    assert_allclose([win[:2], tie[:2]], expected[:2], rtol=1e-12)
    assert win[2:].tolist() == [1.0, 0.0]
    assert tie[2:].tolist() == [0.0, 0.0]


def test_composite_log_likelihoods_add_up_all_pairs_ties_too(model):
    X, y, groups = graded(n_lists=8, size=5)
    ranker = model(alpha=0.1).fit(X, y, groups)
    scores, expected = ranker.predict(X), []
    for q in range(8):
        i, j = (5 * q + rows for rows in np.triu_indices(5, 1))
        proba = FORMULAS[model](scores[i] - scores[j], ranker.tie_parameter_)
        observed = np.where(y[i] > y[j], 0, np.where(y[i] == y[j], 1, 2))
        expected.append(np.log(np.choose(observed, list(proba))).sum())
    shuffled = np.random.default_rng(0).permutation(len(y))
    data = X[shuffled], y[shuffled], groups[shuffled]
    log_likelihoods = ranker.composite_log_likelihood(*data, average=None)
    assert_allclose(log_likelihoods, expected, rtol=1e-12)
    assert_allclose(ranker.composite_log_likelihood(*data), sum(expected), rtol=1e-12)


def test_weighted_pairs_have_the_likelihood_of_pairs_and_no_criterion():
    X, y, groups = graded(n_lists=60, size=4)
    expected = []
    ranker = RankNetRanker("gain", alpha=0.0).fit(X, y, groups)
    scores = ranker.predict(X)
    for q in range(60):
        i, j = (4 * q + rows for rows in np.triu_indices(4, 1))
        sign = np.sign(y[i] - y[j])
        log_proba = np.log(expit(sign * (scores[i] - scores[j])))
        expected.append(log_proba[sign != 0].sum())
    log_likelihoods = ranker.composite_log_likelihood(X, y, groups, average=None)
    assert_allclose(log_likelihoods, expected, rtol=1e-12)
    # Without weights the optimum is higher.
    plain = RankNetRanker(alpha=0.0, normalize=None).fit(X, y, groups)
    assert plain.composite_log_likelihood(X, y, groups) > sum(expected)
    summary = ranker.summary(X, y, groups)
    assert summary.fit_name == "minus the sum of losses"
    assert summary.criterion_name is None
    assert "Pairs are weighted" in str(summary)


def three_alternatives(X, y):
    """Return ConditionalLogit's data of lists of two: first, second, and a tie."""
    first, second = X[::2], X[1::2]
    rows = np.stack((first, second, (first + second) / 2), axis=1).reshape(-1, 3)
    rows = np.column_stack((rows, np.tile([0.0, 0.0, 1.0], len(first))))
    a, b = y[::2], y[1::2]
    observed = np.column_stack((a > b, a < b, a == b)).ravel().astype(float)
    return observed, rows, np.repeat(np.arange(len(first)), 3)


def test_davidson_has_the_errors_of_a_conditional_logit():
    X, y, groups = graded()
    observed, rows, pairs = three_alternatives(X, y)
    known = ConditionalLogit(observed, rows, groups=pairs).fit(method="newton", disp=0)
    ranker = DavidsonRanker(**EXACT).fit(X, y, groups)
    summary = ranker.summary(X, y, groups, covariance="model")
    assert summary.names == ["x0", "x1", "x2", "log nu"]
    assert_allclose(summary.coef, known.params, rtol=1e-6, atol=1e-8)
    assert_allclose(summary.standard_error, known.bse, rtol=1e-6)
    assert np.isnan(summary.z).tolist() == [False, False, False, True]
    # Clustered: the same with the sum of squared scores of pairs between.
    utility = rows @ known.params
    proba = np.exp(utility).reshape(-1, 3)
    proba /= proba.sum(axis=1, keepdims=True)
    scores = (
        (observed.reshape(-1, 3) - proba)[:, :, None] * rows.reshape(-1, 3, 4)
    ).sum(1)
    sandwich = known.cov_params() @ scores.T @ scores @ known.cov_params()
    assert_allclose(summary.clustered, np.sqrt(np.diag(sandwich)), rtol=1e-6)


def test_rao_kupper_has_the_errors_of_an_ordered_logit():
    X, y, groups = graded()
    outcome, d = np.sign(y[::2] - y[1::2]), X[::2] - X[1::2]
    doubled = OrderedModel(np.r_[outcome, -outcome], np.r_[d, -d], distr="logit")
    ranker = RaoKupperRanker(**EXACT).fit(X, y, groups)
    summary = ranker.summary(X, y, groups, covariance="model")
    assert summary.names == ["x0", "x1", "x2", "log(theta - 1)"]
    assert 1 + np.exp(summary.coef[3]) == pytest.approx(ranker.tie_parameter_)
    cut = np.log(ranker.tie_parameter_)
    hessian = doubled.hessian(np.r_[ranker.coef_, -cut, np.log(2 * cut)])
    # The model's cut points -cut and log(2 cut) as functions of a, log(1 + e^a) = cut.
    chain = np.zeros((5, 4))
    chain[:3, :3] = np.eye(3)
    slope = expit(summary.coef[3])
    chain[3:, 3] = -slope, slope / cut
    covariance = np.linalg.inv(-chain.T @ hessian @ chain / 2)  # each pair twice
    # Their Hessian is by differences.
    assert_allclose(summary.model, np.sqrt(np.diag(covariance)), rtol=1e-5)


@pytest.mark.parametrize(
    ("ranker", "name"),
    [
        (DavidsonRanker(**EXACT), "pudding_davidson"),
        (DavidsonLuceRanker(**EXACT), "pudding_davidson"),
        (RaoKupperRanker(**EXACT), "pudding_rao_kupper"),
    ],
)
def test_puddings(worked_numbers, ranker, name):
    """Davidson 1970, example 2; errors as R PlackettLuce prints them."""
    fits = worked_numbers["fits"]
    fit, X, y, weight = fits[name], [], [], []
    for i, j, *counts in fits["pudding_davidson"]["data"]:
        for labels, count in zip([(1, 0), (0, 1), (0, 0)], counts, strict=True):
            X += [np.eye(6)[i - 1, 1:], np.eye(6)[j - 1, 1:]]
            y += labels
            weight += [count, count]
    X, groups = np.array(X), np.repeat(np.arange(45), 2)
    ranker.set_params(normalize=None).fit(X, y, groups, sample_weight=weight)
    summary = ranker.summary(X, y, groups, sample_weight=weight, covariance="model")
    assert_allclose(summary.standard_error, fit["ours"]["se"], rtol=1e-6)
    assert_allclose(summary.fit_value, -fit["ours"]["loss"], rtol=1e-12)
    if name == "pudding_davidson":
        # The published fit stopped early: four digits.
        published = [*fit["published"]["se"], fit["published"]["se_log_tie"]]
        assert_allclose(summary.standard_error, published, rtol=1e-4)


def test_longer_lists_have_clustered_errors_alone(model):
    X, y, groups = graded(n_lists=60, size=4)
    ranker = model(**EXACT).fit(X, y, groups)
    summary = ranker.summary(X, y, groups)
    assert summary.model is None
    assert summary.criterion_name == "CLIC"
    assert np.all(summary.clustered > 0)
    with pytest.raises(ValueError, match="pairs of one list depend on each other"):
        ranker.summary(X, y, groups, covariance="model")


def test_the_scale_of_the_tie_parameter_is_said(model):
    X, y, groups = graded()
    ranker = model(**EXACT).fit(X, y, groups)
    text = str(ranker.summary(X, y, groups)).replace("\n  ", " ")
    assert f"is tie_parameter_, {ranker.tie_parameter_:.6g}." in text


def test_without_ties_the_errors_are_those_of_ranknet(model):
    X, _, groups = graded()
    y = X @ [0.9, -0.5, 0.0] + np.random.default_rng(1).gumbel(size=len(X))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*no two rows of a list are tied")
        ranker = model(**EXACT).fit(X, y, groups)
    summary = ranker.summary(X, y, groups)
    expected = RankNetRanker(**EXACT).fit(X, y, groups).summary(X, y, groups)
    assert summary.names == expected.names == ["x0", "x1", "x2"]
    assert "At a limit of the model, so left out" in str(summary)
    # The limit is one part in e^20 away.
    for what in ("coef", "model", "clustered", "criterion"):
        assert_allclose(getattr(summary, what), getattr(expected, what), rtol=1e-6)
