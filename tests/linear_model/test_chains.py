"""PMOPRanker with Markov chains in place of the sum over subsets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank._fit.blocks
from skrank import PMOPRanker, with_groups
from skrank.datasets import make_ranking
from skrank.losses import PMOP

CHAINS = ("gibbs", "metropolis")


@pytest.fixture(scope="module")
def data():
    return make_ranking(150, list_size=(1, 12), n_features=6, random_state=0)


def chain(inference="gibbs", **settings):
    settings = {"max_iter": 20, "random_state": 0} | settings
    return PMOPRanker("geometric", inference, **settings)


@pytest.mark.parametrize("batch_size", [None, 30])
@pytest.mark.parametrize("inference", CHAINS)
def test_the_paper_s_settings_come_within_one_percent_of_the_optimum(
    data, inference, batch_size
):
    X, y, groups = data
    exact = PMOPRanker("geometric").fit(X, y, groups)
    coef = PMOPRanker(
        "geometric", inference, batch_size=batch_size, random_state=0
    ).fit(X, y, groups)
    assert (coef.n_steps, coef.learning_rate, coef.max_iter) == (1, 0.1, 1000)
    value = PMOP("geometric")(coef.predict(X), y, groups)
    value += coef.alpha / 2 * coef.coef_ @ coef.coef_
    assert exact.objective_ <= value < 1.01 * exact.objective_
    assert coef.n_iter_ == 1000
    assert np.isnan(coef.objective_)


def test_fits_depend_on_the_seed_but_not_on_threads(data, monkeypatch):
    monkeypatch.setattr(skrank._fit.blocks, "SMALLEST_BLOCK_BYTES", 2**10)
    X, y, groups = data
    for batch_size in (None, 20):
        first = chain(batch_size=batch_size).fit(X, y, groups).coef_
        again = chain(batch_size=batch_size, n_jobs=2).fit(X, y, groups).coef_
        assert_array_equal(first, again)
        other = chain(batch_size=batch_size, random_state=1).fit(X, y, groups).coef_
        assert np.any(first != other)


def test_scattered_rows_are_fitted_as_gathered_ones(data):
    X, y, groups = data
    order = np.concatenate([np.arange(len(y))[0::2], np.arange(len(y))[1::2]])
    rows = np.argsort(groups[order], kind="stable")
    gathered = chain().fit(X[order][rows], y[order][rows], groups[order][rows])
    scattered = chain().fit(X[order], y[order], groups[order])
    assert_allclose(scattered.coef_, gathered.coef_, rtol=1e-12)


def test_more_sweeps_and_a_limit_on_ties_change_the_fit(data):
    X, y, groups = data
    largest = max(
        np.unique(y[groups == g], return_counts=True)[1].max() for g in groups
    )
    base = chain().fit(X, y, groups).coef_
    assert np.any(base != chain(n_steps=3).fit(X, y, groups).coef_)
    assert np.any(base != chain(max_tie_size=largest).fit(X, y, groups).coef_)
    with pytest.raises(ValueError, match="share the label"):
        chain(max_tie_size=largest - 1).fit(X, y, groups)


def test_a_warm_start_goes_on_from_the_last_weights(data):
    X, y, groups = data
    ranker = chain(max_iter=1, warm_start=True).fit(X, y, groups)
    before = ranker.coef_
    after = ranker.fit(X, y, groups).coef_
    cold = chain(max_iter=1).fit(X, y, groups).coef_
    assert_array_equal(before, cold)
    assert np.linalg.norm(after) > 1.5 * np.linalg.norm(before)


@pytest.mark.parametrize("inference", CHAINS)
def test_chains_are_refused_where_they_are_of_no_use(data, inference):
    with pytest.raises(ValueError, match="needs potential='geometric'"):
        PMOPRanker("arithmetic", inference).fit(*data)
    with pytest.raises(ValueError, match="cannot move at all"):
        PMOPRanker("geometric", inference, max_tie_size=1).fit(*data)


def test_steps_that_overshoot_are_told_where_fit_is_called(data):
    X, y, groups = data
    with pytest.warns(
        ConvergenceWarning, match="PMOPRanker: steps overshoot"
    ) as caught:
        chain(max_iter=100, alpha=0.0).fit(100 * X, y, groups)
    assert caught[0].filename == __file__


def test_features_that_cannot_rank_have_no_weight(data):
    X, y, groups = data
    for batch_size in (None, 20):
        with pytest.warns(UserWarning, match="1 of 7 features are constant"):
            ranker = chain(batch_size=batch_size).fit(
                np.column_stack((X, 1e3 * groups + 0.1)), y, groups
            )
        assert ranker.coef_[6] == 0.0
        coef = chain(batch_size=batch_size).fit(X, y, groups).coef_
        assert_allclose(ranker.coef_[:6], coef, rtol=1e-9)


def test_progress_names_the_ranker(data, capsys):
    chain(max_iter=2, verbose=1).fit(*data)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("[PMOPRanker] pass 2: gradient ")


def test_inference_can_be_searched_over_in_a_pipeline(data):
    X, y, groups = data
    pipeline = make_pipeline(StandardScaler(), chain())
    search = GridSearchCV(
        pipeline,
        {"pmopranker__inference": ["exact", "gibbs", "metropolis"]},
        cv=GroupKFold(3),
    ).fit(X, with_groups(y, groups), groups=groups)
    assert np.all(search.cv_results_["mean_test_score"] > 0.5)
