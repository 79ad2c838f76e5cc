"""Weights of rows in fits: what a search, a score and a likelihood make of them."""

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from sklearn.model_selection import GridSearchCV

from skrank import (
    DavidsonLuceRanker,
    DavidsonRanker,
    LinearRanker,
    ListMLERanker,
    ListNetRanker,
    Lists,
    PMOPRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
    RaoKupperRanker,
)
from skrank.ensemble import FusionRanker
from skrank.losses import Loss, RankNet
from skrank.metrics import make_ranking_scorer
from skrank.model_selection import (
    QueryKFold,
    RankerCV,
    compare_rankers,
    learning_curve,
)

WEIGHING = [
    RankNetRanker(),
    RankNetRanker("gain"),
    RankSVMRanker(),
    ListMLERanker(),
    ListMLERanker("breslow", stage_weights="gain"),
    ListMLERanker("marginal"),
    ListNetRanker(),
    LinearRanker(),
]
OTHERS = [
    RankRegressionRanker(),
    DavidsonRanker(),
    RaoKupperRanker(),
    PMOPRanker(),
    DavidsonLuceRanker(),
]


@pytest.fixture
def weights(lists):
    return np.random.default_rng(0).uniform(0.0, 3.0, len(lists[1]))


def means_of(weights, groups):
    """Return the mean weight of each row's list."""
    means = np.empty(len(weights))
    for label in np.unique(groups):
        means[groups == label] = weights[groups == label].mean()
    return means


def by_hand(ranker, X, y, groups, weights, normalize=None):
    """Return the optimum of the weighted mean over lists, each list on its own."""
    loss = ranker._loss()
    parts = []
    for label in np.unique(groups):
        rows = np.flatnonzero(groups == label)
        one = Parts(loss, X[rows], y[rows], weights[rows], normalize)
        if one.weight > 0:
            parts.append(one)
    total = sum(part.weight for part in parts)

    def objective(w):
        value, gradient = ranker.alpha / 2 * w @ w, ranker.alpha * w
        for part in parts:
            one = part(w)
            value += part.weight / total * one[0]
            gradient = gradient + part.weight / total * one[1]
        return value, gradient

    start = np.zeros(X.shape[1])
    options = {"gtol": 1e-11, "ftol": 1e-16, "maxiter": 10_000}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x


class Parts:
    """The loss of one list as a function of the weights of features."""

    def __init__(self, loss, X, y, weights, normalize):
        self.loss, self.X, self.lists = loss, X, Lists([len(y)])
        self.weight = weights.mean()
        y = y.astype(float)
        self.prepared = loss.prepare(loss.check_labels(y, self.lists), self.lists)
        self.divisor = 1.0
        if normalize == "size":
            self.divisor = len(y)
        elif normalize == "terms":
            self.divisor = max(loss.n_terms(self.prepared, self.lists)[0], 1.0)
        if self.weight > 0:
            shares = weights / self.weight
            self.prepared = loss.weigh_rows(self.prepared, shares, self.lists)

    def __call__(self, w):
        values, gradient = self.loss.value_and_gradient(
            self.X @ w, self.prepared, self.lists
        )
        return values[0] / self.divisor, self.X.T @ gradient / self.divisor


@pytest.mark.parametrize("ranker", WEIGHING, ids=repr)
@pytest.mark.parametrize("normalize", [None, "size", "terms"])
def test_a_fit_ends_where_its_lists_one_by_one_do(
    ranker, normalize, lists, weights, exact
):
    X, y, groups = lists
    weights = np.where(groups == groups[0], 0.0, weights)  # one list is left out
    rows = np.random.default_rng(1).permutation(len(y))
    X, y, groups, weights = X[rows], y[rows], groups[rows], weights[rows]
    fitted = ranker.set_params(normalize=normalize, **exact)
    fitted.fit(X, y, groups, sample_weight=weights)
    expected = by_hand(ranker, X, y, groups, weights, normalize)
    np.testing.assert_allclose(fitted.coef_, expected, rtol=0, atol=2e-6)
    other = fitted.fit(X, y, groups).coef_
    assert np.abs(other - expected).max() > 1e-3


def test_the_linear_hinge_takes_them_through_its_smooth_losses(lists, weights):
    X, y, groups = lists
    ranker = RankSVMRanker("linear", tol=1e-6).fit(X, y, groups, sample_weight=weights)
    plain = RankSVMRanker("linear", tol=1e-6).fit(X, y, groups)
    loss = ranker._loss()
    parts = [
        Parts(
            loss, X[groups == g], y[groups == g], weights[groups == g], ranker.normalize
        )
        for g in np.unique(groups)
    ]
    total = sum(part.weight for part in parts)

    def objective(w):
        mean = sum(part.weight / total * part(w)[0] for part in parts)
        return mean + ranker.alpha / 2 * w @ w

    assert ranker.objective_ == pytest.approx(objective(ranker.coef_), rel=1e-10)
    assert objective(ranker.coef_) < objective(plain.coef_)
    rng = np.random.default_rng(0)
    for step in 1e-3 * rng.standard_normal((20, X.shape[1])):
        least = ranker.objective_ * (1 - 1e-6)
        assert objective(ranker.coef_ + step) >= least


@pytest.mark.parametrize("ranker", WEIGHING, ids=repr)
def test_weights_equal_inside_lists_give_the_same_bits(ranker, lists):
    X, y, groups = lists
    weights = 0.1 + groups % 3  # a mean of equal numbers may round
    fitted = ranker.fit(X, y, groups, sample_weight=weights).coef_.copy()
    # Rows that weigh differently in a list that weighs next to nothing.
    rows = groups == groups[0]
    tiny = np.where(rows, 1e-300 * (1.0 + np.arange(len(y))), weights)
    without = np.where(rows, 0.0, weights)
    expected = ranker.fit(X, y, groups, sample_weight=without).coef_.copy()
    coef = ranker.fit(X, y, groups, sample_weight=tiny).coef_
    np.testing.assert_array_equal(coef, expected)
    assert (fitted != expected).any()


@pytest.mark.parametrize("ranker", OTHERS, ids=repr)
def test_other_losses_refuse_them_in_words(ranker, lists, weights):
    name = type(ranker._loss()).__name__
    message = f"varies inside lists, and {name} has no terms.*RankNet, RankSVM"
    with pytest.raises(ValueError, match=message):
        ranker.fit(*lists, sample_weight=weights)
    assert not hasattr(ranker, "coef_")


class Squares(Loss):
    """A loss of one's own, which knows nothing of weights."""

    def prepare(self, y, lists):
        return y

    def value_and_gradient(self, scores, prepared, lists):
        error = scores - lists.expand(lists.sum(scores - prepared) / lists.sizes)
        error = error - prepared
        return lists.sum(error**2) / 2, error


class WeighedSquares(Squares):
    """The same loss, which lets rows weigh by their labels."""

    def weigh_rows(self, prepared, shares, lists):
        return prepared * shares


def test_a_loss_of_ones_own_refuses_them_until_it_says_what_they_do(lists, weights):
    with pytest.raises(ValueError, match="Squares has no terms"):
        LinearRanker(Squares()).fit(*lists, sample_weight=weights)
    X, y, groups = lists
    means = means_of(weights, groups)
    shares = weights / means
    fitted = LinearRanker(WeighedSquares()).fit(*lists, sample_weight=weights)
    plain = LinearRanker(Squares()).fit(X, y * shares, groups, sample_weight=means)
    np.testing.assert_allclose(fitted.coef_, plain.coef_, rtol=0, atol=1e-6)


def test_a_row_twice_is_another_list(lists):
    X, y, groups = lists
    rows = np.arange(len(y)) % 4 == 0
    weighed = RankNetRanker().fit(X, y, groups, sample_weight=1.0 + rows)
    twice = np.concatenate((np.arange(len(y)), np.flatnonzero(rows)))
    repeated = RankNetRanker().fit(X[twice], y[twice], groups[twice])
    assert np.abs(weighed.coef_ - repeated.coef_).max() > 1e-2


# Metrics keep weights of lists.


def test_score_refuses_them_and_says_what_to_do(lists, weights):
    X, y, groups = lists
    fitted = RankNetRanker().fit(X, y, groups, sample_weight=weights)
    message = r"constant inside each list.*mean of its list.*set_score_request"
    with pytest.raises(ValueError, match=message):
        fitted.score(X, y, groups, sample_weight=weights)


def test_a_search_weighs_fits_alone_where_the_scorer_asks_for_no_weights(
    lists, weights
):
    X, y, groups = lists
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = RankNetRanker().set_fit_request(sample_weight=True)
        cv = QueryKFold(3)
        grid = {"alpha": [0.01, 1.0]}
        search = GridSearchCV(
            ranker.set_score_request(sample_weight=False), grid, cv=cv
        ).fit(X, y, groups=groups, sample_weight=weights)
        both = GridSearchCV(
            ranker.set_score_request(sample_weight=True),
            grid,
            cv=cv,
            error_score="raise",
        )
        with pytest.raises(ValueError, match=r"set_score_request\(sample_weight=False"):
            both.fit(X, y, groups=groups, sample_weight=weights)
    best = RankNetRanker(**search.best_params_)
    best.fit(X, y, groups, sample_weight=weights)
    np.testing.assert_array_equal(search.best_estimator_.coef_, best.coef_)


def test_ranker_cv_fits_with_them_and_scores_by_their_means(lists, weights):
    X, y, groups = lists
    alphas, cv = [0.01, 1.0], QueryKFold(3)
    search = RankerCV(RankNetRanker(), alphas, cv=cv, scoring="ndcg")
    search.fit(X, y, groups, sample_weight=weights)
    means = means_of(weights, groups)
    scorer = make_ranking_scorer("ndcg")
    for number, (train, test) in enumerate(cv.split(X, y, groups)):
        for alpha, score in zip(
            search.alphas_,
            search.cv_results_[f"split{number}_test_score"],
            strict=True,
        ):
            one = RankNetRanker(alpha=alpha)
            one.fit(X[train], y[train], groups[train], sample_weight=weights[train])
            expected = scorer(
                one, X[test], y[test], groups=groups[test], sample_weight=means[test]
            )
            assert score == pytest.approx(expected, rel=1e-9)
    best = RankNetRanker(alpha=search.alpha_)
    best.fit(X, y, groups, sample_weight=weights)
    np.testing.assert_array_equal(search.coef_, best.coef_)


# With weights that vary no likelihood is maximised.


@pytest.mark.parametrize("method", ["log_likelihood", "deviance", "aic", "summary"])
def test_nothing_is_told_of_a_likelihood_of_weighted_rows(method, lists, weights):
    fitted = ListMLERanker(alpha=0.0).fit(*lists, sample_weight=weights)
    message = f"ListMLERanker.{method}: sample_weight varies.*maximises no likelihood"
    if method in ("deviance", "aic"):
        message = message.replace(method, "log_likelihood")
    with pytest.raises(ValueError, match=message):
        getattr(fitted, method)(*lists, sample_weight=weights)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_maps_and_threads_give_the_same_bits(tmp_path, lists, weights, n_jobs):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(400), 25)
    X = rng.standard_normal((10_000, 12))
    y = rng.integers(0, 3, 10_000)
    weights = rng.uniform(0.5, 2.0, 10_000)
    rows = rng.permutation(10_000)
    path = tmp_path / "X"
    mapped = np.memmap(path, dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X[rows]
    ranker = RankNetRanker(n_jobs=n_jobs)
    ranker.fit(mapped, y[rows], groups[rows], sample_weight=weights[rows])
    plain = RankNetRanker().fit(
        X[rows], y[rows], groups[rows], sample_weight=weights[rows]
    )
    np.testing.assert_array_equal(ranker.coef_, plain.coef_)


@pytest.mark.filterwarnings("ignore:.*Only .* lists for")
def test_a_summary_without_the_weights_says_that_the_fit_was_another(lists, weights):
    fitted = ListMLERanker(alpha=0.0).fit(*lists, sample_weight=weights)
    with pytest.warns(UserWarning, match="not the optimum for these data") as caught:
        fitted.summary(*lists)
    assert caught


# What knows lists alone.


def test_networks_refuse_them_in_words(lists, weights):
    pytest.importorskip("torch", reason="networks need PyTorch")
    from skrank.neural import MLPRanker

    model = MLPRanker(max_epochs=1, loss=RankNet())
    with pytest.raises(ValueError, match=r"constant inside each list.*linear rankers"):
        model.fit(*lists, sample_weight=weights)


@pytest.mark.parametrize("function", [compare_rankers, learning_curve])
def test_comparisons_take_no_weights(function, lists, weights):
    X, y, groups = lists
    with pytest.raises(TypeError, match="sample_weight"):
        function(RankNetRanker(), X, y, groups, sample_weight=weights)


def test_a_penalty_on_absolute_values_weighs_rows_too(lists, weights):
    X, y, groups = lists
    ranker = RankNetRanker(alpha=0.05, l1_ratio=0.8, positive=True, tol=1e-9)
    ranker.fit(X, y, groups, sample_weight=weights)
    parts = [
        Parts(ranker._loss(), X[rows], y[rows], weights[rows], ranker.normalize)
        for rows in (np.flatnonzero(groups == g) for g in np.unique(groups))
    ]
    total = sum(part.weight for part in parts)

    def objective(w):  # of weights that are not negative, where |w| is w
        value = 0.05 * (0.8 * w.sum() + 0.1 * w @ w)
        gradient = 0.05 * (0.8 + 0.2 * w)
        for part in parts:
            one = part(w)
            value += part.weight / total * one[0]
            gradient = gradient + part.weight / total * one[1]
        return value, gradient

    best = minimize(
        objective,
        np.zeros(5),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * 5,
        options={"gtol": 1e-10, "ftol": 1e-16},
    )
    np.testing.assert_allclose(ranker.coef_, best.x, rtol=0, atol=1e-5)
    assert (ranker.coef_ == 0).any()


def test_fused_rankers_get_them_and_count_by_the_means_of_lists(lists, weights):
    X, y, groups = lists
    members = [("ranknet", RankNetRanker()), ("listnet", ListNetRanker())]
    fused = FusionRanker(members).fit(X, y, groups, sample_weight=weights)
    alone = RankNetRanker().fit(X, y, groups, sample_weight=weights)
    np.testing.assert_array_equal(fused.estimators_[0].coef_, alone.coef_)
    assert fused.weights_.sum() == pytest.approx(1)  # chosen by lists left out
