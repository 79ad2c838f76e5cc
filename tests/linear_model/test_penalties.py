"""Linear rankers with a penalty on absolute weights, positive weights and bounds."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skrank.linear_model import (
    DavidsonRanker,
    LinearRanker,
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
)


@pytest.fixture(scope="module")
def data():
    """Return lists of 8 rows; of twelve features two rank, and one is constant."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(40), 8)
    X = rng.normal(size=(320, 12))
    X[:, 11] = groups
    y = np.digitize(X[:, 0] - X[:, 1] + rng.normal(size=320), [0, 1, 2])
    return X, y, groups


pytestmark = pytest.mark.filterwarnings("ignore:.*constant inside every list")


def test_more_of_the_penalty_on_absolute_weights_sets_more_to_0(ranker, data):
    alpha = 20.0 if ranker.__name__ == "RankRegressionRanker" else 0.5
    fits = [ranker(alpha=alpha, l1_ratio=ratio).fit(*data) for ratio in (0.0, 0.1, 1.0)]
    n_active = [fit.n_features_active_ for fit in fits]
    assert n_active[0] == 11  # all but the constant one
    assert n_active[0] >= n_active[1] > n_active[2]
    for fit, n in zip(fits, n_active, strict=True):
        assert np.count_nonzero(fit.coef_) == n
        assert not fit.at_bounds_.any()
        assert fit.coef_[11] == 0.0


def test_positive_weights_are_positive_or_exactly_0(ranker, data):
    fit = ranker(positive=True, alpha=0.01).fit(*data)
    assert fit.coef_[0] > 0.1
    assert fit.coef_[1] == 0.0  # whose weight would be negative
    assert fit.coef_.min() == 0.0
    np.testing.assert_array_equal(fit.at_bounds_[:11], fit.coef_[:11] == 0.0)
    assert not fit.at_bounds_[11]  # which no bound holds


def test_bounds_and_positive_hold_together(ranker, data):
    fit = ranker(bounds=(-0.1, 0.05), positive=True, alpha=1e-4).fit(*data)
    assert fit.coef_[0] == 0.05
    assert fit.coef_[1] == 0.0


def test_bounds_by_name_number_and_array_are_the_same(data):
    X, y, groups = data
    low, high = np.full(12, -np.inf), np.full(12, np.inf)
    high[0], low[1], high[2] = 0.1, -0.2, 0.0
    names = [f"f{j}" for j in range(12)]
    frame = pd.DataFrame(X, columns=names)
    by_array = ListMLERanker(bounds=(low, high)).fit(X, y, groups)
    by_number = ListMLERanker(bounds={0: (None, 0.1), 1: (-0.2, None), 2: (None, 0)})
    by_number.fit(X, y, groups)
    by_name = ListMLERanker(
        bounds={"f0": (-np.inf, 0.1), "f1": [-0.2, None], "f2": (None, 0)}
    ).fit(frame, y, groups)
    assert by_array.coef_[0] == 0.1
    np.testing.assert_array_equal(by_number.coef_, by_array.coef_)
    # From the same frame, whose columns may lie otherwise in memory than X.
    by_array.fit(frame, y, groups)
    np.testing.assert_array_equal(by_name.coef_, by_array.coef_)
    np.testing.assert_array_equal(by_name.at_bounds_.nonzero()[0][:2], [0, 1])
    clone(by_name)


@pytest.mark.parametrize(
    ("bounds", "error", "message"),
    [
        ([(0, 1)] * 12, TypeError, "must be a tuple, a dict or None, got list"),
        ((0, 1, 2), ValueError, r"bounds must be a pair \(low, high\)"),
        ((1.0, 0.0), ValueError, "weight of column 0: low 1 is above high 0"),
        ((np.nan, 1.0), ValueError, "low of bounds must not be NaN or inf, got nan"),
        ((0.0, -np.inf), ValueError, "high of bounds must not be NaN or -inf"),
        (("a", 1.0), ValueError, "low of bounds must be numbers or None, got 'a'"),
        ((np.zeros(3), None), ValueError, r"array of shape \(12,\), got an array of"),
        ({"price": (0, 1)}, ValueError, "'price', but X has no names of columns"),
        ({12: (0, 1)}, ValueError, "the column 12, but X has 12 columns"),
        ({-1: (0, 1)}, ValueError, "the column -1, but X has 12 columns"),
        ({1.0: (0, 1)}, ValueError, "must have names or numbers of columns as keys"),
        ({3: 1.0}, ValueError, r"bounds\[3\] must be a pair \(low, high\), got 1.0"),
        ({3: (np.zeros(2), 1)}, ValueError, r"low of bounds\[3\] must be one number"),
    ],
    ids=str,
)
def test_wrong_bounds_are_refused_in_words(data, bounds, error, message):
    with pytest.raises(error, match=message):
        ListMLERanker(bounds=bounds).fit(*data)


def test_unknown_names_are_refused_with_those_that_exist(data):
    X, y, groups = data
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    with pytest.raises(ValueError, match=r"'g', which X does not have. It has 'f0'"):
        ListMLERanker(bounds={"g": (0, 1)}).fit(frame, y, groups)


def test_no_room_beside_positive_says_so(data):
    with pytest.raises(ValueError, match="low 0 is above high -1 with positive=True"):
        ListMLERanker(bounds=(None, -1.0), positive=True).fit(*data)


@pytest.mark.parametrize("ratio", [-0.1, 1.1, "most"])
def test_shares_beyond_0_and_1_are_refused(data, ratio):
    with pytest.raises(ValueError, match="The 'l1_ratio' parameter of ListMLERanker"):
        ListMLERanker(l1_ratio=ratio).fit(*data)


def test_a_penalty_by_rule_is_for_squares(data):
    with pytest.raises(ValueError, match="rule suits the squared penalty alone"):
        ListMLERanker(alpha="auto", l1_ratio=0.5).fit(*data)
    ListMLERanker(alpha="auto", positive=True).fit(*data)


@pytest.mark.parametrize(
    "settings", [{"l1_ratio": 0.5}, {"positive": True}, {"bounds": (0, 1)}], ids=str
)
def test_chains_refuse_what_they_cannot_end_at(data, settings):
    with pytest.raises(ValueError, match="climbs by drawn gradients"):
        PMOPRanker("geometric", "gibbs", **settings).fit(*data)


def test_weights_that_cannot_rank_are_nearest_to_0(data):
    fit = ListMLERanker(bounds={11: (1.0, 2.0)}).fit(*data)
    assert fit.coef_[11] == 1.0
    assert not fit.at_bounds_[11]
    free = ListMLERanker(bounds={0: (-99, 99)}).fit(*data)
    np.testing.assert_allclose(fit.coef_[:11], free.coef_[:11], atol=1e-6)


def test_bounds_that_exclude_0_are_met(data):
    fit = RankNetRanker(bounds={0: (2.0, None), 5: (0.3, 0.3)}).fit(*data)
    assert fit.coef_[0] == 2.0
    assert fit.coef_[5] == 0.3
    assert fit.at_bounds_.nonzero()[0].tolist() == [0, 5]


def test_bounds_of_nothing_change_no_bit(ranker, data):
    plain = ranker().fit(*data)
    for settings in ({"bounds": (None, None)}, {"bounds": {}}):
        np.testing.assert_array_equal(plain.coef_, ranker(**settings).fit(*data).coef_)
    without = ranker(alpha=0.0, l1_ratio=0.7).fit(*data)
    np.testing.assert_array_equal(without.coef_, ranker(alpha=0.0).fit(*data).coef_)


def test_far_bounds_leave_the_optimum_where_it_is(ranker, data):
    plain = ranker().fit(*data)
    within = ranker(bounds=(-50, 50)).fit(*data)
    assert within.objective_ == pytest.approx(plain.objective_, rel=1e-4)
    if ranker is not RankSVMRanker:
        assert within.objective_ == pytest.approx(plain.objective_, rel=1e-10)


SETTINGS = [
    {"l1_ratio": 0.6, "alpha": 0.05},
    {"positive": True},
    {"l1_ratio": 1.0, "alpha": 0.02, "bounds": (-0.3, 0.3)},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_kinds_of_arrays_end_at_the_same_weights(data, settings, tmp_path):
    X, y, groups = data
    X = X.astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = ListMLERanker(**settings).fit(X.astype(np.float64), y, groups).coef_
    for other in (X, mapped, sparse.csr_array(X)):
        coef = ListMLERanker(**settings).fit(other, y, groups).coef_
        np.testing.assert_allclose(coef, expected, atol=1e-6)
        np.testing.assert_array_equal(coef == 0, expected == 0)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = ListMLERanker(**settings).fit(X[order], y[order], groups[order])
    np.testing.assert_allclose(shuffled.coef_, expected, atol=1e-6)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("X_kind", [np.asarray, sparse.csr_array])
def test_threads_change_no_bit(settings, X_kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 30)) * (rng.random((6000, 30)) < 0.5)
    y, groups = rng.integers(0, 4, 6000), np.repeat(np.arange(600), 10)
    one, three = (
        RankNetRanker(n_jobs=n_jobs, **settings).fit(X_kind(X), y, groups)
        for n_jobs in (1, 3)
    )
    np.testing.assert_array_equal(one.coef_, three.coef_)


@pytest.fixture(scope="module")
def wide():
    """Return 1,500 sparse columns, of which two tell the order."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 1500), density=0.02, random_state=rng).tolil()
    X[:, :2] = rng.normal(size=(3000, 2))
    y = np.digitize((X[:, [0]] - X[:, [1]]).toarray()[:, 0], [-1, 0, 1])
    return sparse.csr_array(X), y, np.repeat(np.arange(300), 10)


def test_wide_data_are_fitted_by_sets_of_columns_with_the_same_bits(wide):
    settings = {"alpha": 0.05, "l1_ratio": 0.9, "bounds": {0: (None, 0.4)}}
    one, three = (
        ListNetRanker(n_jobs=n_jobs, **settings).fit(*wide) for n_jobs in (1, 3)
    )
    np.testing.assert_array_equal(one.coef_, three.coef_)
    assert one.coef_[0] == 0.4
    assert one.coef_[1] < -0.3
    assert one.n_features_active_ < 100
    X, y, groups = wide
    columns = np.append(np.flatnonzero(one.coef_), np.arange(500, 600))
    narrow = ListNetRanker(**settings).fit(X[:, columns], y, groups)
    np.testing.assert_allclose(narrow.coef_, one.coef_[columns], atol=1e-6)
    assert narrow.objective_ == pytest.approx(one.objective_, rel=1e-9)


def test_ftol_and_max_iter_end_fits_of_wide_data(wide):
    settings = {"alpha": 0.01, "l1_ratio": 0.9}
    whole = RankNetRanker(**settings).fit(*wide)
    early = RankNetRanker(ftol=0.1, **settings).fit(*wide)
    assert early.n_iter_ < whole.n_iter_
    assert early.objective_ > whole.objective_
    with pytest.warns(ConvergenceWarning, match="stopped before it converged"):
        RankNetRanker(max_iter=2, **settings).fit(*wide)


@pytest.mark.parametrize("settings", [{"positive": True}, {"bounds": (-0.5, 0.2)}])
def test_an_offset_moves_the_bounds(data, settings):
    X, y, groups = data
    known = np.linspace(-0.1, 0.2, 12)
    low, high = (0.0, np.inf) if "positive" in settings else settings["bounds"]
    fit = RankNetRanker(alpha=0.0, **settings)
    fit.fit(X, y, groups, offset=X @ known)
    moved = RankNetRanker(alpha=0.0, bounds=(low + known, high + known))
    moved.fit(X, y, groups)
    varied = slice(0, 11)
    np.testing.assert_allclose(
        fit.coef_[varied] + known[varied], moved.coef_[varied], atol=1e-5
    )
    np.testing.assert_array_equal(fit.at_bounds_, moved.at_bounds_)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_warm_start_goes_on_from_the_last_fit(data, settings):
    fit = DavidsonRanker(warm_start=True, **settings).fit(*data)
    cold, n_iter = fit.coef_.copy(), fit.n_iter_
    fit.fit(*data)
    assert fit.n_iter_ <= max(1, n_iter // 3)
    np.testing.assert_allclose(fit.coef_, cold, atol=1e-5)
    fit.set_params(bounds=(-0.01, 0.01)).fit(*data)  # from beyond the bounds
    assert np.abs(fit.coef_).max() == 0.01


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_list_of_weight_2_is_two_lists(data, settings):
    X, y, groups = data
    weight = np.where(groups < 10, 2.0, 1.0)
    weighted = ListNetRanker(**settings).fit(X, y, groups, sample_weight=weight)
    twice = groups < 10
    repeated = ListNetRanker(**settings).fit(
        np.concatenate((X, X[twice])),
        np.concatenate((y, y[twice])),
        np.concatenate((groups, groups[twice] + 100)),
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)


def test_a_fit_that_stops_early_tells_how_far_it_is(data):
    message = (
        r"stopped before it converged, after 1 iterations \(it reached max_iter\). "
        r"The least subgradient is .* of the largest entry .* tol=1e-06 asks for"
    )
    with pytest.warns(ConvergenceWarning, match=message):
        ListMLERanker(l1_ratio=0.5, alpha=0.01, max_iter=1).fit(*data)


def test_the_printed_objective_includes_the_whole_penalty(data, capsys):
    fit = ListMLERanker(l1_ratio=0.5, alpha=0.1, verbose=1).fit(*data)
    last = capsys.readouterr().out.splitlines()[-1]
    assert f"objective {fit.objective_:.9g}" in last
    smooth = LinearRanker(alpha=0.1, l1_ratio=0.5)
    assert smooth.fit(*data).objective_ == pytest.approx(fit.objective_, rel=1e-12)


def test_the_linear_hinge_has_exact_zeros_too(data):
    fit = RankSVMRanker("linear", l1_ratio=1.0, alpha=0.3).fit(*data)
    assert 2 <= fit.n_features_active_ < 11


def test_features_of_wild_scales_are_fitted_as_their_scaled_twins():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 10)
    X = rng.normal(size=(500, 6))
    y = np.digitize(X @ [1, -1, 0.5, 0, 0, 0.2] + rng.normal(size=500), [0, 1])
    scale = 10.0 ** np.array([0, 7, 3, 0, 5, 1])
    # Without a penalty units do not matter; bounds of 0 have none.
    settings = {"alpha": 0.0, "bounds": ([0, -np.inf, 0, 0, 0, 0], None)}
    plain = RankNetRanker(**settings).fit(X, y, groups)
    wild = RankNetRanker(**settings).fit(X * scale, y, groups)
    np.testing.assert_allclose(wild.coef_ * scale, plain.coef_, atol=1e-4)


def test_without_a_penalty_growth_is_told_only_where_bounds_allow_it():
    X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]] * 10
    y, groups = [0, 1, 2] * 10, np.repeat(np.arange(10), 3)
    with pytest.warns(UserWarning, match="alpha=0 the fit puts every pair"):
        RankNetRanker(alpha=0.0, positive=True).fit(X, y, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = RankNetRanker(alpha=0.0, bounds=(-1, 1)).fit(X, y, groups)
        RankNetRanker(alpha=0.0, bounds=(None, 1)).fit(X, y, groups)
    assert fit.coef_[0] == 1.0


def test_a_direction_of_growth_that_meets_a_bound_is_none():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 6)
    X = rng.normal(size=(360, 2))
    y = (X[:, 0] + rng.normal(size=360) > 0).astype(int)
    winner = (y == 1) & (rng.random(360) < 0.3)
    X = np.column_stack((X, winner))  # only rows of label 1 have it
    with pytest.warns(UserWarning, match="a direction of x2"):
        RankNetRanker(alpha=0.0, bounds={0: (0, None)}).fit(X, y, groups)
    for most in (3, 12, 20):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit = RankNetRanker(alpha=0.0, bounds={2: (None, most)}).fit(X, y, groups)
        assert fit.coef_[2] == most


def test_a_penalty_too_large_for_any_weight_is_no_failure():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 5)
    X = rng.normal(size=(100, 3)) * [1.0, 1.0, 1e8]
    y = rng.integers(0, 3, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = RankRegressionRanker(alpha=1e12, l1_ratio=0.5).fit(X, y, groups)
    assert fit.n_features_active_ == 0
    np.testing.assert_array_equal(fit.predict(X), 0.0)
