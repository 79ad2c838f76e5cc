"""Out-of-sample log-likelihood in searches and cross-validation."""

from math import log

import numpy as np
import pytest
import sklearn
from scipy import special
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import (
    DavidsonLuceRanker,
    DavidsonRanker,
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
    with_groups,
)
from skrank.metrics import (
    LogLikelihoodScorer,
    log_likelihood_scorer,
    make_ranking_scorer,
    metric_names,
)
from skrank.model_selection import QueryKFold, RankerCV, compare_rankers
from skrank.preprocessing import QueryScaler

ALPHAS = [1e-3, 0.1, 10.0]


def orders(n_lists=45, size=4, seed=0):
    """Return features, untied labels and groups, rows in random order."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_lists * size, 5))
    utility = X @ [1.0, -0.5, 0.2, 0.0, 0.0] + rng.gumbel(size=len(X))
    y = utility.reshape(-1, size).argsort(1).argsort(1).ravel()
    groups = np.repeat(np.arange(n_lists), size)
    mixed = rng.permutation(len(X))
    return X[mixed], y[mixed], groups[mixed]


def by_hand(scores, y, groups):
    """Return the log-probability of each list's order: a product of softmaxes."""
    values = []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        left = scores[rows][np.argsort(-y[rows])]
        values.append(
            sum(left[i] - special.logsumexp(left[i:]) for i in range(len(left)))
        )
    return np.array(values)


def routed(function, *arguments, **options):
    with sklearn.config_context(enable_metadata_routing=True):
        return function(*arguments, **options)


def test_the_score_is_the_mean_of_products_of_softmaxes():
    X, y, groups = orders()
    ranker = ListMLERanker().fit(X, y, groups)
    other = orders(seed=1)
    values = by_hand(ranker.predict(other[0]), *other[1:])
    scorer = log_likelihood_scorer()
    assert scorer(ranker, *other) == pytest.approx(values.mean(), rel=1e-12)
    weight = (1.0 + np.arange(45))[other[2]]
    expected = np.average(values, weights=1.0 + np.arange(45))
    weighted = scorer(ranker, *other, sample_weight=weight)
    assert weighted == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("way", ["routing", "labels with groups"])
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_a_search_chooses_the_penalty_that_a_loop_by_hand_chooses(way, in_pipeline):
    X, y, groups = orders()
    steps = [StandardScaler()] if in_pipeline else []
    model = make_pipeline(*steps, ListMLERanker())
    grid = {"listmleranker__alpha": ALPHAS}
    search = GridSearchCV(
        model, grid, scoring=make_ranking_scorer("log_likelihood"), cv=QueryKFold(3)
    )
    if way == "routing":
        routed(search.fit, X, y, groups=groups)
        score = routed(search.score, X, y, groups=groups)
    else:
        search.fit(X, with_groups(y, groups))
        score = search.score(X, with_groups(y, groups))
    means = []
    for alpha in ALPHAS:
        scores = []
        for train, test in QueryKFold(3).split(X, y, groups):
            scaler = StandardScaler().fit(X[train])
            change = scaler.transform if in_pipeline else np.asarray
            ranker = ListMLERanker(alpha=alpha)
            ranker.fit(change(X[train]), y[train], groups[train])
            coef = ranker.coef_
            scores.append(by_hand(change(X[test]) @ coef, y[test], groups[test]).mean())
        means.append(np.mean(scores))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, rtol=1e-9)
    assert (
        search.best_params_["listmleranker__alpha"] == ALPHAS[np.argmax(means)] == 0.1
    )
    best = routed(search.best_estimator_.predict, X)
    assert score == pytest.approx(by_hand(best, y, groups).mean(), rel=1e-12)


def test_a_path_and_a_search_agree():
    X, y, groups = orders()
    path = RankerCV(alphas=ALPHAS, cv=3, scoring="log_likelihood").fit(X, y, groups)
    search = GridSearchCV(
        ListMLERanker(),
        {"alpha": path.alphas_},
        scoring=log_likelihood_scorer(),
        cv=QueryKFold(3),
    )
    routed(search.fit, X, y, groups=groups)
    np.testing.assert_allclose(
        path.cv_results_["mean_test_score"],
        search.cv_results_["mean_test_score"],
        rtol=1e-6,
    )
    assert path.alpha_ == search.best_params_["alpha"]
    expected = path.ranker_.log_likelihood(X, y, groups, average="mean")
    assert path.score(X, y, groups) == expected
    weighted = RankerCV(alphas=ALPHAS, cv=3, scoring="log_likelihood")
    weight = np.where(groups < 20, 3.0, 1.0)
    weighted.fit(X, y, groups, sample_weight=weight)
    means = weighted.cv_results_["mean_test_score"]
    assert not np.allclose(means, path.cv_results_["mean_test_score"], rtol=1e-3)


def test_steps_that_ask_for_groups_get_them():
    X, y, groups = orders()
    model = make_pipeline(QueryScaler(), ListMLERanker())
    scores = routed(
        cross_val_score,
        model,
        X,
        y,
        cv=QueryKFold(3),
        scoring=log_likelihood_scorer(),
        params={"groups": groups},
    )
    expected = []
    for train, test in QueryKFold(3).split(X, y, groups):
        fitted = routed(clone(model).fit, X[train], y[train], groups=groups[train])
        predicted = routed(fitted.predict, X[test], groups=groups[test])
        expected.append(by_hand(predicted, y[test], groups[test]).mean())
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_models_of_pairs_have_the_composite_score():
    X, y, groups = orders()
    scorer = log_likelihood_scorer(composite=True)
    assert repr(scorer) == "LogLikelihoodScorer(composite=True)"
    for ranker in (RankNetRanker(), ListMLERanker(), DavidsonRanker()):
        labels = y if type(ranker) is not DavidsonRanker else y // 2
        ranker.fit(X, labels, groups)
        expected = ranker.composite_log_likelihood(X, labels, groups, average="mean")
        assert scorer(ranker, X, labels, groups) == expected
    ranker = RankNetRanker(normalize=None).fit(X, y, groups)
    total = 0.0
    scores = ranker.predict(X)
    for group in range(45):
        rows = np.flatnonzero(groups == group)
        for i in rows:
            for j in rows:
                if y[i] > y[j]:
                    total += log(special.expit(scores[i] - scores[j]))
    assert scorer(ranker, X, y, groups) == pytest.approx(total / 45, rel=1e-12)


def test_an_offset_reaches_fit_and_score():
    X, y, groups = orders()
    offset = np.random.default_rng(2).standard_normal(len(y))
    scores = routed(
        cross_val_score,
        make_pipeline(StandardScaler(), ListMLERanker()),
        X,
        y,
        cv=QueryKFold(3),
        scoring=log_likelihood_scorer(),
        params={"groups": groups, "offset": offset},
    )
    expected = []
    for train, test in QueryKFold(3).split(X, y, groups):
        scaler = StandardScaler().fit(X[train])
        parts = scaler.transform(X[train]), y[train], groups[train]
        ranker = ListMLERanker().fit(*parts, offset=offset[train])
        predicted = scaler.transform(X[test]) @ ranker.coef_ + offset[test]
        expected.append(by_hand(predicted, y[test], groups[test]).mean())
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    path = RankerCV(alphas=[0.1], cv=3, scoring="log_likelihood")
    path.fit(X, y, groups, offset=offset)
    known = path.score(X, y, groups, offset=offset)
    expected = by_hand(X @ path.coef_ + offset, y, groups).mean()
    assert known == pytest.approx(expected, rel=1e-12)


def test_models_of_partitions_may_find_ties_impossible():
    X, y, groups = orders()
    ranker = DavidsonLuceRanker().fit(X, y // 2, groups)
    scorer = log_likelihood_scorer()
    assert np.isfinite(scorer(ranker, X, y // 2, groups))
    with pytest.warns(UserWarning, match="log-likelihood of minus infinity"):
        assert scorer(ranker, X, np.minimum(y, 1), groups) == -np.inf
    ranker = PMOPRanker().fit(X, y // 2, groups)
    expected = ranker.log_likelihood(X, y // 2, groups, average="mean")
    assert scorer(ranker, X, y // 2, groups) == expected


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RankNetRanker(), r"RankNetRanker has that of pairs \(composite=True\)"),
        (ListNetRanker(), "such as ListMLERanker: ListNetRanker has none"),
        (Ridge(), "Ridge has none"),
        (
            ListMLERanker(stage_weights="position"),
            "ListMLERanker has none. .*no attribute 'log_likelihood'",
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_models_without_a_likelihood_are_named(model, message, in_pipeline):
    X, y, groups = orders(n_lists=10)
    fit = {} if isinstance(model, Ridge) else {"groups": groups}
    scaled = StandardScaler().fit_transform(X)
    model = clone(model).fit(scaled, y, **fit)
    if in_pipeline:
        model = make_pipeline(StandardScaler().fit(X), model)
    with pytest.raises(TypeError, match=message):
        log_likelihood_scorer()(model, X, y, groups)


def test_groups_that_do_not_reach_the_scorer_are_asked_for():
    X, y, groups = orders(n_lists=10)
    ranker = ListMLERanker().fit(X, y, groups)
    with pytest.raises(ValueError, match=r"Scorer\(\) needs to know which"):
        log_likelihood_scorer()(ranker, X, y)
    with pytest.raises(TypeError, match="Did you mean 'groups'"):
        log_likelihood_scorer()(ranker, X, y, qid=groups)


def test_a_comparison_of_scores_says_where_the_scorer_belongs():
    X, y, groups = orders(n_lists=10)
    with pytest.raises(ValueError, match=r"pass scoring=log_likelihood_scorer\(\) to"):
        compare_rankers([ListMLERanker()], X, y, groups, metrics="log_likelihood")
    with pytest.raises(TypeError, match="metrics must hold names"):
        compare_rankers(
            [ListMLERanker()], X, y, groups, metrics=log_likelihood_scorer()
        )
    assert "log_likelihood" not in metric_names()


def test_names_make_the_scorer_and_several_go_together():
    assert log_likelihood_scorer().__name__ == "log_likelihood"
    scorer = make_ranking_scorer("composite_log_likelihood")
    assert isinstance(scorer, LogLikelihoodScorer)
    assert scorer.composite
    assert scorer.__name__ == "composite_log_likelihood"
    assert not make_ranking_scorer("log_likelihood").composite
    X, y, groups = orders()
    result = routed(
        cross_validate,
        ListMLERanker(),
        X,
        y,
        cv=QueryKFold(3),
        scoring={
            "fit": log_likelihood_scorer(),
            "order": make_ranking_scorer("ndcg@3"),
        },
        params={"groups": groups},
    )
    assert (result["test_fit"] > -log(24)).all()  # better than chance
