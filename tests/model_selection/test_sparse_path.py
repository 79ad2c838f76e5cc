"""RankerCV along paths with exact zeros and within bounds."""

import numpy as np
import pandas as pd
import pytest

from skrank._fit.objective import LinearObjective
from skrank.linear_model import (
    DavidsonLuceRanker,
    DavidsonRanker,
    ListMLERanker,
    PMOPRanker,
    RankNetRanker,
    RankSVMRanker,
    RaoKupperRanker,
)
from skrank.model_selection import QueryKFold, RankerCV

RANKERS = [
    ListMLERanker,
    RankNetRanker,
    RankSVMRanker,
    DavidsonRanker,
    RaoKupperRanker,
    PMOPRanker,
    DavidsonLuceRanker,
]


@pytest.fixture(scope="module")
def data():
    """Return shuffled lists of 8 rows; two of twelve features tell the order."""
    rng = np.random.default_rng(3)
    groups = rng.permutation(np.repeat(np.arange(40), 8))
    X = rng.normal(size=(320, 12))
    y = np.digitize(X[:, 0] - X[:, 1] + rng.normal(size=320), [0, 1, 2])
    return X, y, groups


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: ranker.__name__)
@pytest.mark.parametrize("settings", [{}, {"positive": True}], ids=str)
def test_a_path_begins_where_the_first_weight_leaves_0(data, ranker, settings):
    # Uneven weights, so that parameters of ties do not start at their best.
    options = {"sample_weight": np.where(data[2] % 4 == 0, 9.0, 0.5)}
    search = RankerCV(ranker(l1_ratio=0.8, **settings), alphas=4, cv=3)
    search.fit(*data, **options)
    largest, ratio = search.alphas_[0], search.alphas_[-1] / search.alphas_[0]
    assert ratio == pytest.approx(1e-3)
    np.testing.assert_allclose(np.diff(np.log10(search.alphas_)), -1.0)
    for alpha, any_weight in ((largest * (1 + 1e-6), False), (0.99 * largest, True)):
        fit = ranker(alpha=alpha, l1_ratio=0.8, **settings).fit(*data, **options)
        assert (fit.n_features_active_ > 0) == any_weight


def test_weights_along_a_path_are_exactly_0_until_they_enter(data):
    search = RankerCV(ListMLERanker(l1_ratio=1.0), alphas=10, cv=QueryKFold(3))
    search.fit(*data)
    active = np.count_nonzero(search.coef_path_, axis=2)
    assert search.coef_path_.shape == (3, 10, 12)
    assert np.all(active[:, 0] <= 2)
    assert np.all(active[:, -1] >= 10)
    assert np.all(active[:, 2] < 12)
    # The two that tell enter first.
    assert np.all(search.coef_path_[:, 3, :2] != 0)


@pytest.mark.parametrize("settings", [{"l1_ratio": 0.7}, {"positive": True}], ids=str)
def test_each_fold_ends_at_the_optimum_of_its_lists(data, settings):
    X, y, groups = data
    alphas = [0.003, 0.03, 0.3]
    search = RankerCV(RankNetRanker(**settings), alphas, cv=QueryKFold(3))
    search.fit(*data)
    for (train, _), path in zip(
        QueryKFold(3).split(X, y, groups), search.coef_path_, strict=True
    ):
        for alpha, coef in zip(search.alphas_, path, strict=True):
            fit = RankNetRanker(alpha=alpha, **settings)
            fit.fit(X[train], y[train], groups[train])
            # tol is a share of the steps left, of about 1
            np.testing.assert_allclose(coef, fit.coef_, atol=1e-5)
            np.testing.assert_array_equal(coef == 0, fit.coef_ == 0)


def test_a_path_takes_far_fewer_evaluations_than_single_fits(data, monkeypatch):
    calls, grams = [], []
    evaluate = LinearObjective.__call__
    monkeypatch.setattr(
        LinearObjective,
        "__call__",
        lambda self, parameters: calls.append(1) or evaluate(self, parameters),
    )
    import skrank._fit.proximal as proximal

    gram = proximal.weighted_gram
    monkeypatch.setattr(
        proximal,
        "weighted_gram",
        lambda *arguments: grams.append(1) or gram(*arguments),
    )
    search = RankerCV(ListMLERanker(l1_ratio=0.9), alphas=20, cv=3).fit(*data)
    together, n_grams = len(calls), len(grams)
    calls.clear(), grams.clear()
    for alpha in search.alphas_:
        ListMLERanker(l1_ratio=0.9, alpha=alpha).fit(*data)
    assert n_grams < len(grams) / 3
    assert together / 3 < 0.75 * len(calls)


def test_bounds_by_name_hold_in_folds_and_at_the_end(data):
    X, y, groups = data
    frame = pd.DataFrame(X, columns=[f"feature {j}" for j in range(12)])
    bounds = {"feature 0": (None, 0.2), "feature 1": (-0.1, 0)}
    search = RankerCV(ListMLERanker(bounds=bounds), [0.01, 0.1], cv=3)
    search.fit(frame, y, groups)
    assert search.coef_path_[..., 0].max() == 0.2
    assert search.coef_path_[..., 1].min() == -0.1
    assert search.coef_[0] == 0.2
    assert search.ranker_.bounds == bounds
    np.testing.assert_array_equal(search.ranker_.at_bounds_.nonzero()[0], [0, 1])
    search.score(frame, y, groups)


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (ListMLERanker(l1_ratio=2.0), "The 'l1_ratio' parameter of ListMLERanker"),
        (ListMLERanker(ties="none"), "The 'ties' parameter of ListMLERanker"),
        (RankNetRanker(max_iter=0), "The 'max_iter' parameter of RankNetRanker"),
        (ListMLERanker(bounds=(1, 0)), "bounds leave no room for the weight of"),
        (ListMLERanker(bounds={"x": (0, 1)}), "but X has no names of columns"),
        (
            PMOPRanker("geometric", "gibbs", l1_ratio=0.5),
            "climbs by drawn gradients",
        ),
    ],
    ids=lambda value: "",
)
def test_settings_of_the_ranker_are_checked_before_any_fit(
    data, ranker, message, monkeypatch
):
    monkeypatch.setattr(LinearObjective, "__call__", None)  # no fit gets so far
    with pytest.raises(ValueError, match=message):
        RankerCV(ranker, cv=3).fit(*data)
