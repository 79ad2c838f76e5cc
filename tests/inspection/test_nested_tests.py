"""Tests of nested models against other packages, published numbers and simulation."""

import csv

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.discrete.conditional_models import ConditionalLogit
from statsmodels.duration.hazard_regression import PHReg

from skrank import (
    DavidsonLuceRanker,
    DavidsonRanker,
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
)
from skrank.datasets import load_mode_choice
from skrank.inspection import likelihood_ratio_test, wald_test

EXACT = {"alpha": 0, "tol": 1e-12, "ftol": 0.0, "max_iter": 5000}
NAMES = ["pace", "age", "weight", "draw"]


def races(n_lists=80, size=5, seed=0):
    """Return a frame of four features of which two matter, orders, and groups."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_lists * size, 4))
    utility = 0.5 * X[:, 0] - 0.4 * X[:, 1] + rng.gumbel(size=len(X))
    y = utility.reshape(-1, size).argsort(1).argsort(1).ravel()
    return pd.DataFrame(X, columns=NAMES), y, np.repeat(np.arange(n_lists), size)


def read(path):
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def fitted(X, y, groups, ranker=ListMLERanker, **options):
    return ranker(**{**EXACT, **options}).fit(X, y, groups)


def test_the_likelihood_ratio_is_that_of_cox_regression():
    X, y, groups = races()
    large, small = fitted(X, y, groups), fitted(X[["age", "pace"]], y, groups)
    test = likelihood_ratio_test(small, large, X, y, groups)
    of_large, of_small = (
        PHReg(5 - y, part, strata=groups).fit() for part in (X, X[["pace", "age"]])
    )
    expected = 2 * (of_large.llf - of_small.llf)
    assert test.statistic == pytest.approx(expected, rel=1e-7)
    assert test.log_likelihoods == pytest.approx((of_small.llf, of_large.llf), rel=1e-9)
    assert test.df == 2
    assert test.p_value == pytest.approx(stats.chi2.sf(expected, 2), rel=1e-7)
    assert test.hypothesis == "coefficients 0: weight, draw"
    none = likelihood_ratio_test(None, large, X, y, groups)
    assert none.df == 4
    # Every order of five rows is as likely.
    null = -80 * np.log(120)
    assert none.statistic == pytest.approx(2 * (of_large.llf - null), rel=1e-9)


def test_the_likelihood_ratio_is_that_of_a_conditional_logit():
    X, y, groups = races()
    chosen = (y == 4).astype(int)
    large = fitted(X, chosen, groups)
    arrays = X.to_numpy()[:, [0, 3]]
    small = fitted(arrays, chosen, groups)
    test = likelihood_ratio_test(small, large, X, chosen, groups, X_small=arrays)
    of_large, of_small = (
        ConditionalLogit(chosen, part, groups=groups).fit(disp=0, gtol=1e-9)
        for part in (X.to_numpy(), arrays)
    )
    expected = 2 * (of_large.llf - of_small.llf)
    assert test.statistic == pytest.approx(expected, rel=1e-7)
    assert test.hypothesis == "2 of 4 features"


@pytest.mark.parametrize("covariance", ["model", "clustered"])
def test_walds_statistic_is_that_of_cox_regression(covariance):
    X, y, groups = races()
    large = fitted(X, y, groups)
    users = groups // 2
    clusters = {} if covariance == "model" else {"groups": users}
    fit = PHReg(5 - y, X.to_numpy(), strata=groups).fit(**clusters)
    options = {"covariance": covariance}
    if covariance == "clustered":
        options["clusters"] = users
    for R, r in ([np.eye(4)[2:], 0], [[[1, 1, 0, 0], [0, 0, 2, -1]], [0.1, 0.2]]):
        expected = fit.wald_test(
            (np.array(R), np.ones(2) * r), use_f=False, scalar=True
        )
        test = wald_test(large, X, y, groups, R=R, r=r, **options)
        assert test.statistic == pytest.approx(expected.statistic, rel=1e-5)
        assert test.p_value == pytest.approx(expected.pvalue, rel=1e-5)
        assert (test.df, test.covariance) == (2, covariance)
    by_name = wald_test(large, X, y, groups, features=["draw", "weight"], **options)
    by_number = wald_test(large, X, y, groups, features=[2, 3], **options)
    by_sums = wald_test(large, X, y, groups, R=np.eye(4)[2:], **options)
    assert by_name.statistic == by_number.statistic == by_sums.statistic
    assert by_name.hypothesis == "coefficients 0: weight, draw"


def test_one_coefficients_statistic_is_the_square_of_its_z():
    X, y, groups = races()
    ranker = fitted(X, y, groups)
    z = ranker.summary(X, y, groups).to_frame().loc["age", "z"]
    test = wald_test(ranker, X, y, groups, features="age")
    assert test.statistic == pytest.approx(z**2, rel=1e-12)


def test_prisoners_of_rossi_have_the_tests_that_r_prints(reference):
    """R's coxph on these data prints 33.27 and 32.11 on 7 degrees of freedom."""
    rows = read(reference / "rossi.csv")
    names = ["fin", "age", "race", "wexp", "mar", "paro", "prio"]
    X = pd.DataFrame([[float(row[name]) for name in names] for row in rows])
    X.columns = names
    y = np.array(
        [-float(row["week"]) if row["arrest"] == "1" else -53.0 for row in rows]
    )
    groups = np.zeros(len(y))
    large = fitted(X, y, groups, ties="efron")
    likelihood = likelihood_ratio_test(None, large, X, y, groups)
    assert (round(likelihood.statistic, 2), likelihood.df) == (33.27, 7)
    assert likelihood.p_value == pytest.approx(2.362e-05, abs=5e-9)
    with pytest.warns(UserWarning, match="No clustered standard errors"):
        wald = wald_test(large, X, y, groups, covariance="model")
    assert (round(wald.statistic, 2), wald.df) == (32.11, 7)
    assert wald.p_value == pytest.approx(3.871e-05, abs=5e-9)
    small = fitted(X[["age", "prio"]], y, groups, ties="efron")
    test = likelihood_ratio_test(small, large, X, y, groups)
    week = np.array([float(row["week"]) for row in rows])
    arrest = np.array([int(row["arrest"]) for row in rows])
    of_small, of_large = (
        PHReg(week, X[columns], status=arrest, ties="efron").fit().llf
        for columns in (["age", "prio"], names)
    )
    assert test.statistic == pytest.approx(2 * (of_large - of_small), rel=1e-7)


# statsmodels, discrete/tests/results/results_clogit.py of its pull request for a
# conditional logit (BSD licence), from Stata, R's mlogit and Biogeme.
GREENE = {
    "gc": (-0.0155015067043374, 0.00440799307835216),
    "ttme": (-0.0961246217793847, 0.0104398465313473),
    "air": (5.20743292761953, 0.779055142508082),
    "hinc_air": (0.0132870137736127, 0.0102624069997369),
    "train": (3.86903570401292, 0.443126852001293),
    "bus": (3.16319033000995, 0.450265930527341),
}


def test_greenes_travellers_have_the_numbers_of_statsmodels():
    """Greene, "Econometric Analysis" 2003, page 729."""
    columns = ["air", "train", "bus", "ttme", "invc", "invt", "gc", "hinc_air"]
    X, y, groups = load_mode_choice()
    X = pd.DataFrame(X, columns=columns)[list(GREENE)]
    ranker = fitted(X, y, groups)
    summary = ranker.summary(X, y, groups, covariance="model")
    coef, errors = np.array(list(GREENE.values())).T
    # R's own stopped 2e-6 of a coefficient before the maximum.
    np.testing.assert_allclose(summary.coef, coef, rtol=3e-6)
    np.testing.assert_allclose(summary.model, errors, rtol=3e-6)
    assert round(summary.fit_value, 4) == -199.1284
    assert round(summary.criterion, 4) == 410.2567
    constants = ["air", "train", "bus"]
    small = fitted(X[constants], y, groups)
    test = likelihood_ratio_test(small, ranker, X, y, groups)
    assert tuple(np.round(test.log_likelihoods, 4)) == (-283.7588, -199.1284)
    assert test.statistic == pytest.approx(2 * (283.7588 - 199.1284), abs=2e-4)
    assert test.df == 3


def test_travellers_of_canada_have_the_test_that_mlogit_prints(shared):
    """mlogit's vignette c3: chisq = 1771.6 against constants alone."""
    frame = pd.read_csv(shared / "data/choice_modecanada_fishing/ModeCanada.csv")
    frame = frame[(frame["noalt"] == 4) & (frame["alt"] != "bus")]
    chosen = frame.groupby("case")["choice"].transform("sum")
    frame = frame[chosen == 1].reset_index(drop=True)
    modes = {mode: (frame["alt"] == mode).astype(float) for mode in ("train", "air")}
    X = frame[["cost", "freq"]].copy()
    for mode, is_mode in modes.items():
        X[mode], X[f"income_{mode}"] = is_mode, is_mode * frame["income"]
    for mode in ("car", "train", "air"):
        X[f"time_{mode}"] = (frame["alt"] == mode) * (frame["ivt"] + frame["ovt"])
    y, groups = frame["choice"], frame["case"]
    large = fitted(X, y, groups)
    small = fitted(X[["train", "air"]], y, groups)
    test = likelihood_ratio_test(small, large, X, y, groups)
    assert round(test.statistic, 1) == 1771.6
    assert round(test.log_likelihoods[1], 1) == -1951.3
    assert test.df == 7


def test_fishers_have_the_test_that_mlogit_prints(shared):
    """mlogit(mode ~ price + catch): chisq = 533.88, log-likelihood -1230.8."""
    wide = pd.read_csv(shared / "data/choice_modecanada_fishing/Fishing.csv")
    modes = ["beach", "pier", "boat", "charter"]
    X = pd.DataFrame(
        {
            name: wide[[f"{name}.{mode}" for mode in modes]].to_numpy().ravel()
            for name in ("price", "catch")
        }
    )
    for number, mode in enumerate(modes[1:], start=1):
        X[mode] = np.tile(np.eye(4)[number], len(wide))
    y = (wide["mode"].to_numpy()[:, None] == modes).astype(int).ravel()
    groups = np.repeat(np.arange(len(wide)), 4)
    large, small = fitted(X, y, groups), fitted(X[modes[1:]], y, groups)
    test = likelihood_ratio_test(small, large, X, y, groups)
    assert round(test.statistic, 2) == 533.88
    assert round(test.log_likelihoods[1], 1) == -1230.8


@pytest.mark.parametrize("ranker", [ListMLERanker, PMOPRanker, DavidsonLuceRanker])
def test_true_hypotheses_are_rejected_as_often_as_promised(ranker):
    p_values = []
    for seed in range(120):
        X, y, groups = races(n_lists=60, seed=seed)
        if ranker is not ListMLERanker:
            y = y // 2
        large = fitted(X, y, groups, ranker)
        small = fitted(X[["pace", "age"]], y, groups, ranker)
        ratio = likelihood_ratio_test(small, large, X, y, groups)
        wald = wald_test(
            large, X, y, groups, features=["weight", "draw"], covariance="model"
        )
        assert ratio.df == wald.df == 2
        assert ratio.p_value == pytest.approx(wald.p_value, abs=0.1)
        p_values.append(ratio.p_value)
        if len(p_values) == 3 and ranker is not ListMLERanker:
            return  # the agreement of the two is all that is asked of slower fits
    # Uniform on [0, 1] where the hypothesis holds.
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_weights_are_numbers_of_equal_lists():
    X, y, groups = races(n_lists=40)
    weight = np.repeat(np.tile([1.0, 2.0], 20), 5)
    large, small = (
        ListMLERanker(**EXACT).fit(part, y, groups, sample_weight=weight)
        for part in (X, X[["pace"]])
    )
    weighted = likelihood_ratio_test(small, large, X, y, groups, sample_weight=weight)
    rows = np.concatenate([np.arange(200), np.flatnonzero(weight == 2)])
    written = X.iloc[rows].reset_index(drop=True)
    lists = np.append(groups, 100 + groups[weight == 2])
    expected = likelihood_ratio_test(
        fitted(written[["pace"]], y[rows], lists),
        fitted(written, y[rows], lists),
        written,
        y[rows],
        lists,
    )
    assert weighted.statistic == pytest.approx(expected.statistic, rel=1e-7)


def test_an_offset_is_part_of_both_models():
    X, y, groups = races()
    offset = np.random.default_rng(1).standard_normal(len(y))
    large, small = (
        ListMLERanker(**EXACT).fit(part, y, groups, offset=offset)
        for part in (X, X[["pace"]])
    )
    test = likelihood_ratio_test(small, large, X, y, groups, offset=offset)
    of_large, of_small = (
        PHReg(5 - y, part, strata=groups, offset=offset).fit().llf
        for part in (X, X[["pace"]])
    )
    assert test.statistic == pytest.approx(2 * (of_large - of_small), rel=1e-7)
    null = likelihood_ratio_test(None, large, X, y, groups, offset=offset)
    left = np.exp(
        offset.reshape(-1, 5)[np.arange(80)[:, None], y.reshape(-1, 5).argsort(1)]
    )
    chances = left / np.cumsum(left, axis=1)
    expected = 2 * (of_large - np.log(chances).sum())
    assert null.statistic == pytest.approx(expected, rel=1e-7)
    fit = PHReg(5 - y, X, strata=groups, offset=offset).fit(groups=groups)
    R = np.eye(4)[2:]
    wald = wald_test(large, X, y, groups, R=R, offset=offset)
    expected = fit.wald_test(R, use_f=False, scalar=True).statistic
    assert wald.statistic == pytest.approx(expected, rel=1e-5)
    for call in (likelihood_ratio_test, lambda _, *fit: wald_test(*fit)):
        with pytest.raises(ValueError, match="was fitted with an offset"):
            call(None, large, X, y, groups)


def test_models_of_pairs_have_walds_test_and_the_ratio_for_lists_of_two_alone():
    X, y, groups = races()
    large = fitted(X, y, groups, RankNetRanker, normalize=None)
    small = fitted(X[["pace"]], y, groups, RankNetRanker, normalize=None)
    message = (
        r"large \(RankNetRanker\) has no likelihood-ratio test: pairs of one list "
        r"depend on each other.*use wald_test, whose clustered covariance"
    )
    with pytest.raises(ValueError, match=message):
        likelihood_ratio_test(small, large, X, y, groups)
    wald = wald_test(large, X, y, groups, features=["age", "weight", "draw"])
    assert wald.p_value < 1e-4
    pairs = np.sort(np.r_[0:400:5, 1:400:5])
    parts = X.iloc[pairs].reset_index(drop=True), y[pairs], groups[pairs]
    of_pairs, of_orders = (
        likelihood_ratio_test(
            fitted(parts[0][["pace"]], *parts[1:], ranker, **options),
            fitted(*parts, ranker, **options),
            *parts,
        )
        for ranker, options in (
            (RankNetRanker, {"normalize": None}),
            (ListMLERanker, {}),
        )
    )
    assert of_pairs.statistic == pytest.approx(of_orders.statistic, rel=1e-7)


def test_parameters_of_ties_may_be_tested():
    X, y, groups = races()
    ranker = fitted(X, y // 2, groups, DavidsonRanker)
    summary = ranker.summary(X, y // 2, groups)
    R = np.eye(5)[[4]]
    test = wald_test(ranker, X, y // 2, groups, R=R, r=summary.coef[4] - 0.1)
    expected = (0.1 / summary.clustered[4]) ** 2
    assert test.statistic == pytest.approx(expected, rel=1e-9)


def test_a_pipeline_is_tested_like_its_ranker():
    X, y, groups = races()
    pipelines = [
        make_pipeline(StandardScaler(), ListMLERanker(**EXACT)).fit(
            part, y, listmleranker__groups=groups
        )
        for part in (X[["pace", "age"]], X)
    ]
    test = likelihood_ratio_test(*pipelines, X, y, groups)
    small, large = fitted(X[["pace", "age"]], y, groups), fitted(X, y, groups)
    alone = likelihood_ratio_test(small, large, X, y, groups)
    assert test.statistic == pytest.approx(alone.statistic, rel=1e-7)
    assert test.hypothesis == alone.hypothesis
    wald = wald_test(pipelines[1], X, y, groups, features=["weight", "draw"])
    expected = wald_test(large, X, y, groups, features=["weight", "draw"])
    assert wald.statistic == pytest.approx(expected.statistic, rel=1e-6)


def test_a_test_prints_and_is_a_frame():
    X, y, groups = races()
    small, large = fitted(X[["pace", "age"]], y, groups), fitted(X, y, groups)
    test = likelihood_ratio_test(small, large, X, y, groups)
    first, second = str(test).splitlines()
    assert first == "likelihood ratio test of coefficients 0: weight, draw"
    assert "with 2 degrees of freedom, p = " in second
    assert "(log-likelihoods -" in second
    frame = test.to_frame()
    assert frame.index.tolist() == ["coefficients 0: weight, draw"]
    assert frame.loc[test.hypothesis, "statistic"] == test.statistic
    assert frame.loc[test.hypothesis, "p"] == test.p_value
    assert "coefficients 0: weight, draw" in test._repr_html_()
    wald = wald_test(large, X, y, groups)
    assert "(clustered covariance)" in str(wald)
    assert wald.to_frame()["covariance"].tolist() == ["clustered"]
    efron = likelihood_ratio_test(
        None, fitted(X, y // 2, groups, ties="efron"), X, y // 2, groups
    )
    assert "efron" in "\n".join(efron.notes)


def test_models_that_are_not_nested_are_refused():
    X, y, groups = races()
    large = fitted(X[["pace", "age", "weight"]], y, groups)

    def refused(small, message, **options):
        with pytest.raises(ValueError, match=message):
            likelihood_ratio_test(small, large, X[NAMES[:3]], y, groups, **options)

    other = fitted(X[["pace", "draw"]], y, groups)
    refused(other, "small was fitted to columns that X has not: draw")
    refused(
        other, "not nested in large.* feature number 1", X_small=X[["pace", "draw"]]
    )
    breslow = fitted(X[["pace"]], y, groups, ties="breslow")
    refused(breslow, "small has the loss ListMLE")
    refused(fitted(X[NAMES[:3]], y, groups), "small and large are the same model")
    # Sums of features of large are nested, too, with constants of lists added.
    sums = X[["pace"]].to_numpy() - 2 * X[["age"]].to_numpy() + groups[:, None]
    small = fitted(sums, y, groups)
    test = likelihood_ratio_test(small, large, X[NAMES[:3]], y, groups, X_small=sums)
    assert test.df == 2
    array = X.to_numpy()
    with pytest.raises(ValueError, match="pass X_small=, the features of small"):
        likelihood_ratio_test(
            fitted(array[:, :2], y, groups), fitted(array, y, groups), array, y, groups
        )


def test_fits_elsewhere_than_at_the_maximum_are_refused():
    X, y, groups = races()
    large, small = fitted(X, y, groups), fitted(X[["pace"]], y, groups)
    others = np.random.default_rng(0).permutation(y.reshape(-1, 5), axis=1).ravel()
    with pytest.raises(ValueError, match=r"large .* not at the maximum"):
        likelihood_ratio_test(small, large, X, others, groups)
    separated = ListMLERanker(alpha=0)
    with pytest.warns(UserWarning, match="no finite"):
        separated.fit(X[["pace"]], X["pace"].to_numpy().round(6), groups)
    with pytest.raises(ValueError, match="has no maximum"):
        likelihood_ratio_test(None, separated, X[["pace"]], X["pace"].round(6), groups)
    random = fitted(X, y // 2, groups, ties="random")
    with pytest.raises(ValueError, match="draws another order of tied rows"):
        likelihood_ratio_test(None, random, X, y // 2, groups)
    seeded = [
        fitted(part, y // 2, groups, ties="random", random_state=1)
        for part in (X[["pace"]], X)
    ]
    assert likelihood_ratio_test(*seeded, X, y // 2, groups).df == 3
    ties = fitted(X, y // 2, groups, DavidsonLuceRanker)
    with pytest.raises(ValueError, match="one column of zeros"):
        likelihood_ratio_test(None, ties, X, y // 2, groups)


def test_penalties_and_bounds_have_no_tests():
    X, y, groups = races()
    ridge = ListMLERanker(alpha=0.1).fit(X, y, groups)
    with pytest.raises(ValueError, match=r"alpha > 0.* Fit with alpha=0"):
        likelihood_ratio_test(None, ridge, X, y, groups)
    with pytest.raises(ValueError, match="no Wald test: alpha > 0"):
        wald_test(ridge, X, y, groups)
    with pytest.raises(TypeError, match="ListNetRanker is none"):
        wald_test(ListNetRanker().fit(X, y, groups), X, y, groups)
    with pytest.raises(TypeError, match="StandardScaler is none"):
        likelihood_ratio_test(None, StandardScaler().fit(X), X, y, groups)


@pytest.mark.filterwarnings("ignore:.*Only ")
def test_sums_that_cannot_be_tested_are_named():
    X, y, groups = races()
    ranker = fitted(X, y, groups)

    def refused(message, **options):
        with pytest.raises(ValueError, match=message):
            wald_test(ranker, X, y, groups, **options)

    refused("pass one of them", R=np.eye(4), features=["age"])
    refused(r"R has shape \(3,\)", R=[1, 2, 3])
    refused("no row of zeros", R=[[1, 0, 0, 0], [0, 0, 0, 0]])
    refused("depend on each other", R=[[1, -1, 0, 0], [-2, 2, 0, 0]])
    refused(
        r"r must be a finite number or one a sum \(2\)", R=np.eye(4)[:2], r=[1, 2, 3]
    )
    refused("goes with R", features=["age", "pace"], r=[1.0, 2.0])
    refused("features holds 'speed'", features=["speed"])
    refused("3 clusters are too few to show how 4 sums", clusters=groups % 3)
    X = X.assign(constant=groups)
    with pytest.warns(UserWarning, match="constant inside every list"):
        ranker = fitted(X, y, groups)
    refused("no standard error of constant")
