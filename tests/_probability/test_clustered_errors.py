"""Standard errors by clusters of lists, against the covariances of statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.duration.hazard_regression import PHReg

from skrank import ListMLERanker, RankNetRanker

EXACT = {"alpha": 0, "tol": 1e-12, "ftol": 0.0, "max_iter": 5000}


def of_users(n_users=50, size=5, seed=0):
    """Return lists of users, whose own taste their lists share, in random order."""
    rng = np.random.default_rng(seed)
    of_list = rng.permutation(
        np.repeat(np.arange(n_users), rng.integers(1, 6, n_users))
    )
    taste = rng.standard_normal((n_users, 3))[of_list]
    X = rng.standard_normal((len(of_list), size, 3))
    utility = np.einsum("qij,qj->qi", X, taste + np.array([0.5, 0.0, -0.5]))
    y = (utility + rng.gumbel(size=utility.shape)).argsort(1).argsort(1)
    groups = np.repeat(np.arange(len(of_list)), size)
    return X.reshape(-1, 3), y.ravel(), groups, np.repeat(of_list, size)


def fitted(ties, X, y, groups):
    return ListMLERanker(ties, last_level="rank", **EXACT).fit(X, y, groups)


@pytest.mark.parametrize("tied", [False, True])
def test_clustered_errors_are_those_of_cox_regression(tied):
    X, y, groups, users = of_users()
    if tied:
        y = y // 2
    ranker = fitted("breslow", X, y, groups)
    summary = ranker.summary(X, y, groups, clusters=users)
    fit = PHReg(5 - y, X, strata=groups).fit(groups=users)
    np.testing.assert_allclose(summary.coef, fit.params, rtol=1e-6)
    np.testing.assert_allclose(summary.covariance_matrix, fit.cov_params(), rtol=1e-6)
    naive = PHReg(5 - y, X, strata=groups).fit(groups=groups)
    by_list = ranker.summary(X, y, groups)
    np.testing.assert_allclose(by_list.covariance_matrix, naive.cov_params(), rtol=1e-6)
    # Users have tastes of their own, so that their lists tell less than as many users.
    assert (summary.clustered > 1.1 * naive.bse).all()


def test_clustered_errors_of_tied_stages_are_made_of_cox_regressions_scores():
    # The robust covariance of statsmodels takes the residuals of Breslow for Efron's
    # ties, too; so it is made here of its scores and second derivative.
    X, y, groups, users = of_users()
    y = y // 2
    summary = fitted("efron", X, y, groups).summary(X, y, groups, clusters=users)
    scores = np.zeros((users.max() + 1, 3))
    for label in np.unique(groups):
        rows = groups == label
        of_list = PHReg(5 - y[rows], X[rows], ties="efron")
        scores[users[rows][0]] += of_list.score(summary.coef)
    bread = np.linalg.inv(
        -PHReg(5 - y, X, strata=groups, ties="efron").hessian(summary.coef)
    )
    expected = bread @ (scores.T @ scores) @ bread
    np.testing.assert_allclose(summary.covariance_matrix, expected, rtol=1e-6)


@pytest.mark.parametrize("ranker", [ListMLERanker, RankNetRanker])
def test_clustered_errors_of_pairs_are_those_of_logistic_regression(ranker):
    X, y, groups, users = of_users(size=2)
    summary = ranker(**EXACT).fit(X, y, groups).summary(X, y, groups, clusters=users)
    fit = sm.Logit(y[::2] > y[1::2], X[::2] - X[1::2]).fit(
        disp=0,
        tol=1e-12,
        cov_type="cluster",
        cov_kwds={"groups": users[::2], "use_correction": False},
    )
    np.testing.assert_allclose(summary.coef, fit.params, rtol=1e-6)
    np.testing.assert_allclose(summary.covariance_matrix, fit.cov_params(), rtol=1e-6)
