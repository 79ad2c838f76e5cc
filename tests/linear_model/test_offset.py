"""The offset: a known part of the score of each row, as a feature of weight 1."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import (
    DavidsonLuceRanker,
    ListMLERanker,
    PMOPRanker,
    RankNetRanker,
    RankSVMRanker,
)
from skrank._data.grouping import group_rows
from skrank._fit.data import LARGEST_OFFSET, FitData
from skrank._fit.objective import LinearObjective
from skrank.metrics import make_ranking_scorer, ndcg_score
from skrank.model_selection import QueryKFold, RankerCV


@pytest.fixture
def offset(lists):
    return np.random.default_rng(3).normal(scale=1.5, size=len(lists[1]))


def optimum(ranker, X, y, groups, offset):
    """Return weights and own parameters of a loss where the offset has weight 1."""
    grouping = group_rows(groups, len(y))
    lists, loss = grouping.lists, ranker._loss()
    rows = np.arange(len(y)) if grouping.rows is None else grouping.rows
    labels = loss.check_labels(y[rows].astype(float), lists)
    prepared = loss.prepare(labels, lists)
    X, known = X[rows], offset[rows]
    p, divisor = X.shape[1], np.ones(len(lists))
    if ranker.normalize == "terms":
        divisor = np.maximum(loss.n_terms(prepared, lists), 1.0)
    elif ranker.normalize == "size":
        divisor = lists.sizes
    shares = 1.0 / divisor / len(lists)

    def objective(parameters):
        w, extra = parameters[:p], parameters[p:]
        result = loss.value_and_gradient(X @ w + known, prepared, lists, extra)
        gradient = X.T @ (lists.expand(shares) * result[1]) + ranker.alpha * w
        if len(extra):
            gradient = np.append(gradient, shares @ result[2])
        value = shares @ result[0] + ranker.alpha / 2 * w @ w
        return value, gradient

    start = np.append(np.zeros(p), loss.extra_parameters(labels, lists))
    options = {"gtol": 1e-11, "ftol": 1e-16, "maxiter": 10_000, "maxfun": 100_000}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options)


@pytest.mark.parametrize("together", [True, False], ids=["together", "shuffled"])
def test_a_fit_is_that_with_a_feature_whose_weight_is_held_at_one(
    ranker, lists, offset, exact, together
):
    X, y, groups = lists
    if not together:
        rows = np.random.default_rng(0).permutation(len(y))
        X, y, groups, offset = X[rows], y[rows], groups[rows], offset[rows]
    fitted = ranker(**exact).fit(X, y, groups, offset=offset)
    best = optimum(fitted, X, y, groups, offset)
    p = X.shape[1]
    assert fitted.objective_ == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(fitted.coef_, best.x[:p], rtol=0, atol=1e-5)
    np.testing.assert_allclose(fitted.extra_, best.x[p:], rtol=0, atol=1e-4)
    plain = ranker(**exact).fit(X, y, groups)
    assert np.abs(plain.coef_ - fitted.coef_).max() > 1e-3


def test_what_the_offset_adds_to_features_moves_their_weights(ranker, lists, exact):
    X, y, groups = lists
    shift = np.array([0.3, -0.2, 0.0, 0.1, 0.0])
    free = ranker(alpha=1e-9, tol=1e-10).fit(X, y, groups, offset=X @ shift)
    plain = ranker(alpha=1e-9, tol=1e-10).fit(X, y, groups)
    np.testing.assert_allclose(free.coef_ + shift, plain.coef_, rtol=0, atol=1e-3)


def test_a_constant_of_each_list_changes_nothing(ranker, lists, exact):
    X, y, groups = lists
    fitted = ranker(**exact).fit(X, y, groups, offset=10.0 * groups)
    plain = ranker(**exact).fit(X, y, groups)
    np.testing.assert_allclose(fitted.coef_, plain.coef_, rtol=0, atol=1e-6)
    zeros = ranker().fit(X, y, groups, offset=np.zeros(len(y)))
    np.testing.assert_array_equal(zeros.coef_, ranker().fit(X, y, groups).coef_)


def test_first_choices_are_those_of_statsmodels(exact):
    discrete = pytest.importorskip("statsmodels.discrete.conditional_models")
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(150), 5)
    X, offset = rng.normal(size=(750, 3)), rng.normal(size=750)
    utility = X @ [1.0, -0.5, 0.2] + offset + rng.gumbel(size=750)
    best = np.maximum.reduceat(utility, np.arange(0, 750, 5))
    y = (utility == np.repeat(best, 5)).astype(int)
    model = discrete.ConditionalLogit(y, X, groups=groups, offset=offset)
    # Its own fit stops 2e-5 away.
    expected = minimize(
        lambda w: -model.loglike(w), np.zeros(3), method="BFGS", options={"gtol": 1e-9}
    )
    ranker = ListMLERanker(alpha=0.0, **exact).fit(X, y, groups, offset=offset)
    np.testing.assert_allclose(ranker.coef_, expected.x, rtol=0, atol=1e-6)
    log_likelihoods = ranker.log_likelihood(X, y, groups, offset=offset)
    assert log_likelihoods == pytest.approx(-expected.fun, rel=1e-9)


def test_the_objective_has_it_everywhere(lists, offset):
    X, y, groups = lists
    grouping = group_rows(groups)
    loss = ListMLERanker()._loss()
    data = FitData(X, y.astype(float), grouping.lists, offset=offset)
    one = LinearObjective(data, loss, alpha=0.1)
    wide = np.column_stack((X, offset))
    other = LinearObjective(
        FitData(wide, y.astype(float), grouping.lists), loss, alpha=0.1
    )
    from skrank._fit.derivatives import derivatives
    from skrank._fit.gram import weighted_gram

    w = np.random.default_rng(0).normal(size=5)
    longer = np.append(w, 1.0)
    value, gradient = one(w)
    expected = other(longer)
    assert value == pytest.approx(expected[0] - 0.05, rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1][:5], rtol=1e-10, atol=1e-14)
    computed, wanted = derivatives(one, w), derivatives(other, longer)
    np.testing.assert_allclose(computed.hessian, wanted.hessian[:5, :5], rtol=1e-9)
    np.testing.assert_allclose(computed.meat, wanted.meat[:5, :5], rtol=1e-9)
    sums, wider = weighted_gram(one, w).gram, weighted_gram(other, longer).gram
    np.testing.assert_allclose(sums, wider[:5, :5], rtol=1e-9)
    part = data.part(np.array([3, 1, 7]))
    np.testing.assert_array_equal(part.scores(w), data.scores(w)[part_rows(data)])
    assert (one.rounding(w) > 0).all()


def part_rows(data):
    """Return the rows of the lists 3, 1 and 7."""
    bounds = data.lists.offsets
    return np.concatenate([np.arange(bounds[q], bounds[q + 1]) for q in (3, 1, 7)])


# Where it is read.


def test_predict_and_score_add_it_where_it_is_given(lists, offset):
    X, y, groups = lists
    ranker = RankNetRanker().fit(X, y, groups, offset=offset)
    np.testing.assert_allclose(ranker.predict(X), X @ ranker.coef_)
    np.testing.assert_allclose(ranker.predict(X, offset), X @ ranker.coef_ + offset)
    known = ndcg_score(y, ranker.predict(X, offset), groups)
    assert ranker.score(X, y, groups, offset=offset) == known
    assert ranker.score(X, y, groups) == ndcg_score(y, ranker.predict(X), groups)
    computed = ranker.predict_rank(X, groups, offset=offset)
    first = ranker.predict(X, offset)[groups == 0]
    assert computed[groups == 0][np.argmax(first)] == 1


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda o: o[:-1], "offset has 198 entries for 199 rows"),
        (lambda o: np.where(o > 0, np.nan, o), "offset has .* NaN"),
        (lambda o: o[:, None], "offset must be one-dimensional"),
        (lambda o: np.ma.masked_less(o, 0), "offset has .* masked"),
        (lambda o: 2.0, "offset must be one-dimensional"),
    ],
)
def test_an_offset_that_means_nothing_raises(ranker, lists, offset, spoil, message):
    X, y, groups = lists
    with pytest.raises(ValueError, match=message):
        ranker().fit(X, y, groups, offset=spoil(offset))
    fitted = ranker().fit(X, y, groups)
    with pytest.raises(ValueError, match=message):
        fitted.predict(X, spoil(offset))


MODELS = {
    "orders": (
        ListMLERanker(alpha=0.01),
        ["log_likelihood", "deviance", "composite_log_likelihood", "stage_proba"],
        ["sample_rankings", "top_k_proba"],
    ),
    "pairs": (RankNetRanker(alpha=0.01), ["composite_log_likelihood"], []),
    "partitions": (
        DavidsonLuceRanker(alpha=0.01),
        ["log_likelihood", "deviance", "stage_proba", "partition_proba"],
        ["sample_partitions", "expected_level", "pairwise_proba"],
    ),
}


def numbers_of(result):
    parts = result if isinstance(result, tuple) else [result]
    return np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts])


@pytest.mark.filterwarnings("ignore:.*Only .* lists for")
@pytest.mark.parametrize("kind", MODELS)
def test_probabilities_are_those_of_scores_with_it(kind, lists, offset):
    X, y, groups = lists
    rows = np.random.default_rng(1).permutation(len(y))
    X, y, groups, offset = X[rows], y[rows], groups[rows], offset[rows]
    ranker, of_labels, of_features = MODELS[kind]
    ranker.fit(X, y, groups, offset=offset)
    # The same model, in which the offset is a feature of weight 1.
    wide, other = (
        np.column_stack((X, offset)),
        clone(ranker).fit(np.column_stack((X, offset)), y, groups),
    )
    other.coef_, other.extra_ = np.append(ranker.coef_, 1.0), ranker.extra_
    message = "was fitted with an offset, and .* got none: pass offset="
    for name in of_labels:
        computed = getattr(ranker, name)(X, y, groups, offset=offset)
        expected = getattr(other, name)(wide, y, groups)
        np.testing.assert_allclose(
            numbers_of(computed), numbers_of(expected), rtol=1e-9
        )
        with pytest.raises(ValueError, match=message):
            getattr(ranker, name)(X, y, groups)
    for name in of_features:
        options = {"random_state": 0, **({"k": 2} if name == "top_k_proba" else {})}
        computed = getattr(ranker, name)(X, groups, offset=offset, **options)
        expected = getattr(other, name)(wide, groups, **options)
        np.testing.assert_allclose(
            numbers_of(computed), numbers_of(expected), rtol=1e-9
        )
        with pytest.raises(ValueError, match=message):
            getattr(ranker, name)(X, groups, **options)
    with pytest.raises(ValueError, match=message):
        ranker.summary(X, y, groups)
    summary = ranker.summary(X, y, groups, offset=offset)
    assert summary.standard_error.min() > 0
    if kind == "pairs":
        proba = ranker.pairwise_proba(X[:5], X[5:10]).win
        gaps = (X[:5] - X[5:10]) @ ranker.coef_
        np.testing.assert_allclose(proba, 1 / (1 + np.exp(-gaps)), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*Only .* lists for")
def test_standard_errors_are_those_of_differences_with_it(lists, offset):
    X, y, groups = lists
    settings = {"alpha": 0.0, "tol": 1e-10}
    ranker = ListMLERanker("breslow", **settings).fit(X, y, groups, offset=offset)
    summary = ranker.summary(X, y, groups, offset=offset, covariance="model")

    def value(w):
        known = ranker.log_likelihood(X, y, groups, offset=offset)
        ranker.coef_ = w
        moved = ranker.log_likelihood(X, y, groups, offset=offset)
        ranker.coef_ = best
        return moved - known

    best, step = ranker.coef_, 1e-4
    unit = step * np.eye(5)
    hessian = np.array(
        [
            [
                (value(best + a + b) - value(best + a) - value(best + b)) / step**2
                for a in unit
            ]
            for b in unit
        ]
    )
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    np.testing.assert_allclose(summary.standard_error, errors, rtol=1e-3)
    deviance = ranker.deviance(X, y, groups, offset=offset)
    assert ranker.aic(X, y, groups, offset=offset) == pytest.approx(deviance + 10)


# Kinds of features and settings.


@pytest.mark.parametrize("kind", ["sparse", "float32", "memmap", "threads", "terms"])
def test_all_kinds_of_fits_take_it(kind, tmp_path):
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(500), 20))
    X = np.where(rng.random((10_000, 12)) < 0.4, rng.normal(size=(10_000, 12)), 0.0)
    y, offset = rng.integers(0, 3, 10_000), rng.normal(size=10_000)
    settings = {"tol": 1e-10}
    table = X
    if kind == "sparse":
        table = sparse.csr_array(X)
    elif kind == "float32":
        table = X.astype(np.float32)
        X = table.astype(float)
    elif kind == "memmap":
        table = np.memmap(tmp_path / "X", dtype=float, mode="w+", shape=X.shape)
        table[:] = X
    elif kind == "threads":
        settings["n_jobs"] = 2
    else:
        settings["normalize"] = "terms"
    fitted = RankNetRanker(**settings).fit(table, y, groups, offset=offset)
    best = optimum(fitted, X, y, groups, offset)
    np.testing.assert_allclose(fitted.coef_, best.x, rtol=0, atol=1e-6)


def test_a_warm_start_goes_on_with_it(lists, offset):
    X, y, groups = lists
    ranker = ListMLERanker(warm_start=True, max_iter=2, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        first = ranker.fit(X, y, groups, offset=offset).objective_
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        second = ranker.fit(X, y, groups, offset=offset).objective_
    assert second < first


def test_the_linear_hinge_and_chains_take_it(lists, offset):
    X, y, groups = lists
    ranker = RankSVMRanker("linear", alpha=1e-6).fit(X, y, groups, offset=-offset)
    wide = np.column_stack((X, -offset))
    other = RankSVMRanker("linear", alpha=1e-6).fit(wide, y, groups)
    assert ranker.objective_ >= other.objective_ * (1 - 1e-4)
    chains = PMOPRanker(
        "geometric", inference="gibbs", max_iter=300, random_state=0
    ).fit(X, y, groups, offset=offset)
    exactly = PMOPRanker("geometric").fit(X, y, groups, offset=offset)
    np.testing.assert_allclose(chains.coef_, exactly.coef_, rtol=0, atol=0.15)


def test_no_finite_weights_are_best_beside_any_offset():
    groups = np.repeat(np.arange(20), 2)
    X = np.tile([[1.0], [0.0]], (20, 1))
    y, offset = np.tile([1, 0], 20), np.tile([-3.0, 0.0], 20)
    with pytest.warns(UserWarning, match="puts every pair of rows in order"):
        RankNetRanker(alpha=0.0, max_iter=2000).fit(X, y, groups, offset=offset)


# Inside scikit-learn's tools.


def test_routing_brings_it_through_pipelines_and_searches_unasked(lists, offset):
    X, y, groups = lists
    cv, grid = QueryKFold(3), {"ranknetranker__alpha": [0.01, 1.0]}
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), RankNetRanker())
        pipeline.fit(X, y, groups=groups, offset=offset)
        scores = pipeline.predict(X, offset=offset)
        asked = {
            "score": None,
            "scorer": make_ranking_scorer("ndcg"),
        }
        searches = {
            name: GridSearchCV(pipeline, grid, cv=cv, scoring=scoring).fit(
                X, y, groups=groups, offset=offset
            )
            for name, scoring in asked.items()
        }
    scaled = StandardScaler().fit_transform(X)
    by_hand = RankNetRanker().fit(scaled, y, groups, offset=offset)
    np.testing.assert_allclose(scores, scaled @ by_hand.coef_ + offset, rtol=1e-12)
    for search in searches.values():
        for number, (train, test) in enumerate(cv.split(X, y, groups)):
            scaler = StandardScaler().fit(X[train])
            one = RankNetRanker(alpha=0.01).fit(
                scaler.transform(X[train]),
                y[train],
                groups[train],
                offset=offset[train],
            )
            expected = one.score(
                scaler.transform(X[test]), y[test], groups[test], offset=offset[test]
            )
            score = search.cv_results_[f"split{number}_test_score"][0]
            assert score == pytest.approx(expected, rel=1e-12)
    with sklearn.config_context(enable_metadata_routing=True):
        refused = RankNetRanker().set_fit_request(offset=False)
        with pytest.raises(TypeError, match="offset"):
            make_pipeline(refused).fit(X, y, groups=groups, offset=offset)


def test_ranker_cv_fits_and_scores_with_it(lists, offset):
    X, y, groups = lists
    rows = np.random.default_rng(1).permutation(len(y))
    X, y, groups, offset = X[rows], y[rows], groups[rows], offset[rows]
    cv = QueryKFold(3)
    search = RankerCV(RankNetRanker(), [0.01, 1.0], cv=cv, scoring="ndcg")
    search.fit(X, y, groups, offset=offset)
    for number, (train, test) in enumerate(cv.split(X, y, groups)):
        for place, alpha in enumerate(search.alphas_):
            one = RankNetRanker(alpha=alpha)
            one.fit(X[train], y[train], groups[train], offset=offset[train])
            expected = one.score(X[test], y[test], groups[test], offset=offset[test])
            score = search.cv_results_[f"split{number}_test_score"][place]
            assert score == pytest.approx(expected, rel=1e-9)
    best = RankNetRanker(alpha=search.alpha_).fit(X, y, groups, offset=offset)
    np.testing.assert_array_equal(search.predict(X, offset), best.predict(X, offset))
    score = search.score(X, y, groups, offset=offset)
    assert score == best.score(X, y, groups, offset=offset)


def test_a_scorer_that_hands_on_no_offset_is_refused(lists, offset):
    scorer = sklearn.metrics.make_scorer(lambda y, scores: 0.0)
    with pytest.raises(ValueError, match="passes no offset to predict"):
        RankerCV(scoring=scorer).fit(*lists, offset=offset)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.7])
def test_it_is_a_column_whose_bounds_are_one_and_one(ranker, lists, offset, l1_ratio):
    X, y, groups = lists
    settings = {"alpha": 0.02, "l1_ratio": l1_ratio, "tol": 1e-9}
    fitted = ranker(**settings).fit(X, y, groups, offset=offset)
    bounds = (np.append(np.full(5, -np.inf), 1.0), np.append(np.full(5, np.inf), 1.0))
    held = ranker(**settings, bounds=bounds)
    held.fit(np.column_stack((X, offset)), y, groups)
    np.testing.assert_allclose(fitted.coef_, held.coef_[:5], rtol=0, atol=1e-5)
    penalty = 0.02 * (l1_ratio + 0.5 * (1 - l1_ratio))
    assert fitted.objective_ == pytest.approx(held.objective_ - penalty, rel=1e-7)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_offsets_beside_which_scores_lose_their_digits_are_refused(lists, offset, sign):
    X, y, groups = lists
    fitted = ListMLERanker().fit(X, y, groups, offset=offset)
    message = "offset must be between .* in row 7: .* Subtract from offset"
    for size in (np.nextafter(LARGEST_OFFSET, np.inf), 1e10, 1e300):
        large = offset.copy()
        large[7] = sign * size
        for call in (
            lambda known: RankNetRanker().fit(X, y, groups, offset=known),
            lambda known: fitted.predict(X, known),
            lambda known: fitted.log_likelihood(X, y, groups, offset=known),
        ):
            with pytest.raises(ValueError, match=message):
                call(large)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_beside_the_largest_offset_half_of_the_digits_are_left(lists, sign):
    X, y, groups = lists
    plain = RankNetRanker().fit(X, y, groups)
    shared = np.full(len(y), sign * LARGEST_OFFSET)  # changes nothing but rounding
    moved = RankNetRanker().fit(X, y, groups, offset=shared)
    # Scores are rounded to half of the spacing; the fit of each is within tol.
    half = 0.5 * np.spacing(LARGEST_OFFSET)
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=0, atol=1e-5)
    scores = moved.predict(X, shared) - shared
    np.testing.assert_allclose(scores, moved.predict(X), rtol=0, atol=half)
