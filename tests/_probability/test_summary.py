"""Standard errors against published fits, statsmodels, and simulation."""

import csv
import json
import sys
import warnings
from functools import partial

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import linprog
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning
from statsmodels.discrete.conditional_models import ConditionalLogit
from statsmodels.duration.hazard_regression import PHReg

from skrank import (
    DavidsonLuceRanker,
    DavidsonRanker,
    LinearRanker,
    ListMLERanker,
    PMOPRanker,
    RankNetRanker,
    RaoKupperRanker,
)
from skrank.losses import Loss

EXACT = {"alpha": 0, "tol": 1e-12, "ftol": 0.0, "max_iter": 5000}


@pytest.fixture
def small(shared):
    return shared / "data/plackett_luce_small"


def fit_of(folder, name):
    """Return names, coefficients, standard errors, log-likelihood of a known fit."""
    fit = json.loads((folder / "expected.json").read_text())[name]
    free = [item for item in fit["coef"] if fit["se"][item] is not None]
    coef, errors = ([fit[what][item] for item in free] for what in ("coef", "se"))
    return free, coef, errors, fit["loglik"]


def read(path):
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def read_orders(path):
    """Return item names, counts, and orders best first, of a PrefLib file."""
    names, counts, orders = {}, [], []
    for line in path.read_text().splitlines():
        head, _, tail = line.partition(":")
        if head.startswith("# ALTERNATIVE NAME"):
            names[int(head.split()[-1])] = tail.strip()
        elif not line.startswith("#"):
            counts.append(float(head))
            orders.append([int(item) for item in tail.split(",")])
    return names, np.array(counts), orders


def one_hot(items, free):
    """Return a column for each free item."""
    return np.array([[float(item == name) for name in free] for item in items])


def summary_of(ranker, X, y, groups, **options):
    """Fit and return the summary, letting few lists pass."""
    weights = options.get("sample_weight")
    ranker.fit(X, y, groups, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Only .* lists")
        return ranker.summary(X, y, groups, **options)


def check(summary, known):
    """Compare with a known fit, given to eight decimals."""
    _, coef, errors, log_likelihood = known
    np.testing.assert_allclose(summary.coef, coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(summary.model, errors, rtol=1e-6, atol=1e-8)
    assert summary.fit_value == pytest.approx(log_likelihood, rel=1e-9)
    expected = -2 * log_likelihood + 2 * len(coef)
    assert summary.criterion == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["salad_features", "salad_items"])
def test_salad_dressings(small, name):
    """R PlackettLuce and survival::coxph; published errors 0.57650 and 0.04505."""
    known = fit_of(small, name)
    salad = read(small / "salad.csv")
    items = list("ABCD")
    rank = np.array([float(row[item]) for row in salad for item in items])
    if name == "salad_items":
        X = one_hot(items, known[0])
    else:
        features = read(small / "salad_features.csv")
        X = np.array([[float(row[name]) for name in known[0]] for row in features])
    X, groups = np.tile(X, (32, 1)), np.repeat(np.arange(32), 4)
    summary = summary_of(ListMLERanker(**EXACT), X, -rank, groups, covariance="model")
    check(summary, known)
    if name == "salad_features":
        # The published fit stopped early; half of the last digit besides.
        expected = [0.57650, 0.04505]
        np.testing.assert_allclose(summary.model, expected, rtol=1e-4, atol=5e-6)
    robust = PHReg(rank, X, strata=groups).fit(groups=groups).bse
    np.testing.assert_allclose(summary.clustered, robust, rtol=1e-6)


@pytest.mark.parametrize("name", ["netflix", "shirt"])
def test_orders_with_counts(small, name):
    """R survival::coxph; a list's weight is the number of voters."""
    known = fit_of(small, name)
    names, counts, orders = read_orders(small / f"{name}.soc")
    X = one_hot([names[item] for order in orders for item in order], known[0])
    y = np.concatenate([-np.arange(len(order)) for order in orders])
    sizes = [len(order) for order in orders]
    groups = np.repeat(np.arange(len(orders)), sizes)
    weights = np.repeat(counts, sizes)
    summary = summary_of(
        ListMLERanker(**EXACT), X, y, groups, sample_weight=weights, covariance="model"
    )
    check(summary, known)
    # Clustered: a voter is a list, so that counts must be written out.
    times = np.repeat(np.arange(len(orders)), counts.astype(int))
    rows = np.concatenate([np.flatnonzero(groups == number) for number in times])
    voters = np.repeat(np.arange(len(times)), np.array(sizes)[times])
    written = summary_of(ListMLERanker(**EXACT), X[rows], y[rows], voters)
    check(written, known)


@pytest.mark.filterwarnings("ignore:.*Fewer than 10 lists inform")  # counts as weights
def test_citations_of_journals(small):
    """R BradleyTerry2: pairs as lists of two, by RankNet and ListMLE alike."""
    known = fit_of(small, "citations_bradley_terry")
    rows = read(small / "citations_pairs.csv")
    first, second, wins, losses = (
        list(column) for column in zip(*map(dict.values, rows), strict=True)
    )
    pairs = [
        (a, b, float(count))
        for a, b, n, m in zip(first, second, wins, losses, strict=True)
        for a, b, count in ((a, b, n), (b, a, m))
    ]
    X = one_hot(
        [item for winner, loser, _ in pairs for item in (winner, loser)], known[0]
    )
    y, groups = np.tile([1.0, 0.0], len(pairs)), np.repeat(np.arange(len(pairs)), 2)
    weights = np.repeat([count for *_, count in pairs], 2)
    for ranker in (ListMLERanker(**EXACT), RankNetRanker(**EXACT)):
        summary = summary_of(ranker, X, y, groups, sample_weight=weights)
        _, coef, errors, log_likelihood = known
        np.testing.assert_allclose(summary.coef, coef, rtol=1e-6)
        np.testing.assert_allclose(summary.model, errors, rtol=1e-6)
        value = ranker.composite_log_likelihood(X, y, groups, sample_weight=weights)
        assert value == pytest.approx(log_likelihood, rel=1e-9)


def test_fishing_modes(shared):
    """R mlogit: a conditional logit is ListMLE of the first place."""
    folder = shared / "data/choice_modecanada_fishing"
    known = fit_of(folder, "fishing_price_catch")
    modes = ["beach", "pier", "boat", "charter"]
    rows = read(folder / "Fishing.csv")
    X = np.array(
        [
            [float(row[f"{n}.{mode}"]) for n in known[0]]
            for row in rows
            for mode in modes
        ]
    )
    y = np.array([float(row["mode"] == mode) for row in rows for mode in modes])
    groups = np.repeat(np.arange(len(rows)), 4)
    check(summary_of(ListMLERanker(top_k=1, **EXACT), X, y, groups), known)


@pytest.mark.parametrize("name", ["modecanada_3alt", "modecanada_4alt_generic"])
def test_travel_modes_in_canada(shared, name):
    """R mlogit, vignette c3: cost -0.02849715, log-likelihood -1951.3."""
    folder = shared / "data/choice_modecanada_fishing"
    known = fit_of(folder, name)
    rows = [row for row in read(folder / "ModeCanada.csv") if row["noalt"] == "4"]
    if name == "modecanada_3alt":
        bus = {
            row["case"] for row in rows if row["alt"] == "bus" and row["choice"] == "1"
        }
        rows = [row for row in rows if row["alt"] != "bus" and row["case"] not in bus]
    X = np.array([[column(row, feature) for feature in known[0]] for row in rows])
    y = np.array([float(row["choice"]) for row in rows])
    groups = [row["case"] for row in rows]
    # Columns of unlike units; the fit is the same in any.
    scale = X.std(axis=0)
    summary = summary_of(ListMLERanker(top_k=1, **EXACT), X / scale, y, groups)
    _, coef, errors, log_likelihood = known
    np.testing.assert_allclose(summary.coef / scale, coef, rtol=1e-5)
    np.testing.assert_allclose(summary.model / scale, errors, rtol=1e-5)
    assert summary.fit_value == pytest.approx(log_likelihood, rel=1e-9)


def column(row, name):
    """Return a feature of a traveller and mode, such as inc_air or time_car."""
    value, _, mode = name.partition("_")
    if value == "is":
        return float(row["alt"] == mode)
    numbers = {
        "inc": float(row["income"]),
        "time": float(row["ivt"]) + float(row["ovt"]),
    }
    number = numbers[value] if value in numbers else float(row[value])
    return number * float(mode in ("", row["alt"]))


def graded(n_lists=80, size=6, seed=0, n_grades=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_lists * size, 3))
    utility = X @ [0.7, -0.4, 0.0] + rng.gumbel(size=len(X))
    y = utility if n_grades is None else np.clip(np.round(utility), 0, n_grades - 1)
    return X, y, np.repeat(np.arange(n_lists), size)


@pytest.mark.parametrize(("ties", "n_grades"), [("efron", None), ("breslow", 3)])
def test_errors_of_both_kinds_are_those_of_cox_regression(ties, n_grades):
    X, y, groups = graded(n_grades=n_grades)
    summary = summary_of(ListMLERanker(ties, "rank", **EXACT), X, y, groups)
    time = np.empty(len(y))
    for group in np.unique(groups):
        rows = groups == group
        time[rows] = np.unique(-y[rows], return_inverse=True)[1] + 1
    model = PHReg(time, X, strata=groups, ties=ties)
    fitted, robust = model.fit(), model.fit(groups=groups)
    np.testing.assert_allclose(summary.model, fitted.bse, rtol=1e-6)
    np.testing.assert_allclose(summary.clustered, robust.bse, rtol=1e-6)
    np.testing.assert_allclose(summary.z, robust.tvalues, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(summary.p_value, robust.pvalues, rtol=1e-4)
    np.testing.assert_allclose(
        summary.interval, robust.conf_int(), rtol=1e-5, atol=1e-8
    )


def test_errors_of_pairs_are_those_of_logistic_regression():
    X, y, groups = graded(n_lists=120, size=2)
    summary = summary_of(RankNetRanker(**EXACT), X, y, groups)
    better, difference = y[::2] > y[1::2], X[::2] - X[1::2]
    model = sm.Logit(better.astype(float), difference)
    np.testing.assert_allclose(summary.model, model.fit(disp=0).bse, rtol=1e-6)
    robust = model.fit(disp=0, cov_type="HC0")
    np.testing.assert_allclose(summary.clustered, robust.bse, rtol=1e-6)


def test_clustered_errors_of_long_lists_are_those_of_logistic_regression_on_pairs():
    X, y, groups = graded(n_lists=50, size=7)
    differences, cluster = [], []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        above = [(i, j) for i in rows for j in rows if y[i] > y[j]]
        differences += [X[i] - X[j] for i, j in above]
        cluster += [group] * len(above)
    # Half of the pairs turned round, since all would be wins.
    turn = np.where(np.arange(len(cluster)) % 2, 1.0, -1.0)
    logit = sm.Logit((turn > 0).astype(float), np.array(differences) * turn[:, None])
    robust = logit.fit(
        disp=0,
        cov_type="cluster",
        cov_kwds={"groups": np.array(cluster), "use_correction": False},
    )
    # Lists of one size: dividing by it changes nothing.
    for normalize in (None, "size"):
        ranker = RankNetRanker(normalize=normalize, **EXACT)
        summary = summary_of(ranker, X, y, groups)
        np.testing.assert_allclose(summary.clustered, robust.bse, rtol=1e-6)
        assert summary.model is None
    # The covariance is H^-1 J H^-1, so that tr(H^-1 J) is its product with H.
    H = -logit.hessian(robust.params)
    penalty = np.trace(robust.cov_params() @ H)
    unweighted = summary_of(RankNetRanker(normalize=None, **EXACT), X, y, groups)
    expected = -2 * robust.llf + 2 * penalty
    assert unweighted.criterion_name == "CLIC"
    assert unweighted.criterion == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="pairs of one list depend on each other"):
        ranker.summary(X, y, groups, covariance="model")


def test_clustered_errors_are_right_where_those_of_independent_pairs_are_far_off():
    """Estimates scatter as the sandwich says; the Hessian alone says a quarter."""
    rng = np.random.default_rng(0)
    n_lists, size, coefs, clustered, naive = 60, 40, [], [], []
    groups = np.repeat(np.arange(n_lists), size)
    ranker = RankNetRanker(alpha=0, normalize=None)
    for _ in range(60):
        X = rng.standard_normal((len(groups), 2))
        y = X @ [0.5, 0.0] + rng.gumbel(size=len(groups))
        summary = summary_of(ranker, X, y, groups)
        coefs.append(summary.coef)
        clustered.append(summary.clustered)
        p = ranker.pairwise_proba(X[:size], X[size : 2 * size]).win
        pairs = n_lists * size * (size - 1) / 2
        # Of independent pairs: 1 / sqrt(number * mean of p (1 - p) d^2), d^2 about 2.
        naive.append(1 / np.sqrt(pairs * np.mean(p * (1 - p)) * 2.0))
    scatter = np.std(coefs, axis=0)
    # A standard deviation of 60 draws is known to 9 per cent.
    np.testing.assert_allclose(np.mean(clustered, axis=0), scatter, rtol=0.3)
    assert np.mean(naive) < 0.4 * scatter.min()


def test_counts_as_weights_are_repeated_lists_for_model_based_errors():
    X, y, groups = graded(n_lists=45)
    counts = np.random.default_rng(0).integers(1, 4, 45)
    weighed = summary_of(
        ListMLERanker(**EXACT), X, y, groups, sample_weight=counts[groups]
    )
    rows = np.concatenate(
        [np.flatnonzero(groups == q) for q in np.repeat(np.arange(45), counts)]
    )
    copies = np.repeat(np.arange(counts.sum()), 6)
    written = summary_of(ListMLERanker(**EXACT), X[rows], y[rows], copies)
    np.testing.assert_allclose(weighed.model, written.model, rtol=1e-8)
    assert weighed.fit_value == pytest.approx(written.fit_value, rel=1e-10)
    # Weights that are all multiplied change no clustered error.
    twice = summary_of(
        ListMLERanker(**EXACT), X, y, groups, sample_weight=2.0 * counts[groups]
    )
    np.testing.assert_allclose(twice.clustered, weighed.clustered, rtol=1e-8)


class DavidsonOfTwo(Loss):
    """Davidson's model of lists of two rows; b, the log of nu, is learned."""

    model = "pairs"

    def prepare(self, y, lists):
        first, second = y.reshape(-1, 2).T
        return np.column_stack((first > second, first < second, first == second))

    def extra_parameters(self, y, lists):
        return np.zeros(1)

    def value_and_gradient(self, scores, observed, lists, extra):
        first, second = scores.reshape(-1, 2).T
        logits = np.column_stack((first, second, extra[0] + (first + second) / 2))
        values = logsumexp(logits, axis=1) - np.sum(logits * observed, axis=1)
        slope = softmax(logits, axis=1) - observed
        gradient = slope[:, :2] + slope[:, 2:] / 2
        return values, gradient.ravel(), slope[:, 2:]

    def extra_names(self, extra):
        return ["log nu"]

    def pair_proba(self, difference, extra):
        tie = extra[0] + difference / 2
        logits = np.column_stack((difference, tie, np.zeros_like(tie)))
        return softmax(logits, axis=1)[:, :2].T


def test_a_model_with_a_tie_parameter_plugs_in():
    X, y, groups = graded(n_lists=150, size=2, n_grades=3)
    ranker = LinearRanker(DavidsonOfTwo(), **EXACT)
    summary = summary_of(ranker, X, y, groups)
    # Three alternatives a pair; a tie's features are the mean of the two rows.
    rows = np.stack((X[::2], X[1::2], (X[::2] + X[1::2]) / 2), axis=1)
    is_tie = np.tile([0.0, 0.0, 1.0], 150)
    observed = DavidsonOfTwo().prepare(y, None).ravel().astype(float)
    known = ConditionalLogit(
        observed,
        np.column_stack((rows.reshape(-1, 3), is_tie)),
        groups=np.repeat(np.arange(150), 3),
    ).fit(method="newton", disp=0)
    assert summary.names == ["x0", "x1", "x2", "log nu"]
    np.testing.assert_allclose(summary.coef, known.params, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(summary.model, known.bse, rtol=1e-6)
    # The model is not that of the data, but not far off.
    np.testing.assert_allclose(summary.clustered, summary.model, rtol=0.3)
    assert np.isnan(summary.p_value).tolist() == [False, False, False, True]
    win, tie = ranker.pairwise_proba(X[::2], X[1::2])
    lose = ranker.pairwise_proba(X[1::2], X[::2]).win
    np.testing.assert_allclose(win + tie + lose, 1.0, rtol=1e-14)
    # The score equation of the tie parameter.
    assert tie.sum() == pytest.approx(np.sum(y[::2] == y[1::2]), rel=1e-6)


def test_with_a_penalty_there_are_no_p_values():
    X, y, groups = graded()
    summary = summary_of(ListMLERanker(alpha=0.5), X, y, groups)
    assert np.isnan(summary.p_value).all()
    assert 0 < summary.df < 3
    text = str(summary)
    assert "around the penalised optimum" in text.replace("\n  ", " ")
    assert "alpha=0.5" in text
    assert " z " not in text.splitlines()[4]


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize(
    ("covariance", "kind"),
    [
        ("clustered", "clustered by list (sandwich)"),
        ("model", "model-based (inverse second derivative)"),
    ],
)
def test_the_covariance_in_use_is_printed_and_used(alpha, covariance, kind):
    X, y, groups = graded()
    ranker = ListMLERanker(alpha=alpha)
    summary = summary_of(ranker, X, y, groups, covariance=covariance, confidence=0.9)
    tested = "z, p and intervals" if alpha == 0 else "intervals"
    line = str(summary).splitlines()[2]
    assert line == f"covariance of {tested}: {kind}, 90%"
    used = {"clustered": summary.clustered, "model": summary.model}[covariance]
    assert (summary.clustered != summary.model).all()
    np.testing.assert_array_equal(summary.standard_error, used)
    half = np.diff(summary.interval, axis=1)[:, 0] / 2
    np.testing.assert_allclose(half, 1.6448536269514722 * used, rtol=1e-12)
    expected = summary.coef / used if alpha == 0 else np.full(3, np.nan)
    np.testing.assert_allclose(summary.z, expected, rtol=1e-14)


def test_collinear_features_are_named_and_the_rest_keep_their_errors():
    X, y, groups = graded()
    alone = summary_of(ListMLERanker(**EXACT), X, y, groups)
    by_list = np.random.default_rng(0).standard_normal(80)[groups]
    both = np.column_stack((X, X[:, 0] - 2 * X[:, 1] + by_list))
    ranker = ListMLERanker(**EXACT).fit(both, y, groups)
    with pytest.warns(UserWarning, match=r"Collinear .* [+-]\S+ x0 [+-]\S+ x1 .* x3"):
        summary = ranker.summary(both, y, groups)
    assert np.isnan(summary.clustered).tolist() == [True, True, False, True]
    np.testing.assert_allclose(summary.clustered[2], alone.clustered[2], rtol=1e-6)
    np.testing.assert_allclose(summary.model[2], alone.model[2], rtol=1e-6)
    assert summary.df == pytest.approx(3, abs=1e-9)
    held = summary_of(ListMLERanker(alpha=0.1), both, y, groups)
    assert np.isfinite(held.clustered).all()
    assert "Only alpha separates" in str(held).replace("\n  ", " ")


def test_features_constant_inside_lists_have_no_error():
    X, y, groups = graded()
    X[:, 1] = 0.1 * groups
    for alpha in (0.0, 0.1):
        with pytest.warns(UserWarning, match="constant inside every list"):
            ranker = ListMLERanker(alpha=alpha).fit(X, y, groups)
        summary = ranker.summary(X, y, groups)
        assert np.isnan(summary.clustered).tolist() == [False, True, False]
        assert "Constant inside every list: x1" in str(summary)


def test_one_list_names_its_constant_feature_too():
    X, y, groups = graded(n_lists=1, size=40)
    X[:, 1] = 0.1
    with pytest.warns(UserWarning, match="constant inside every list"):
        ranker = ListMLERanker().fit(X, y, groups)
    with pytest.warns(UserWarning, match="one list does not tell how much"):
        summary = ranker.summary(X, y, groups, covariance="model")
    assert "Constant inside every list: x1" in str(summary)


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("kind", [ListMLERanker, RankNetRanker])
def test_separation_is_named_however_long_the_solver_runs(tol, kind):
    X, y, groups = graded(n_lists=60)
    # x2 marks the best row of every other list, and no other row.
    best = np.array(
        [np.flatnonzero(groups == q)[np.argmax(y[groups == q])] for q in range(60)]
    )
    X[:, 2] = 0.0
    X[best[::2], 2] = 1.0
    with pytest.warns(UserWarning, match=r"improves for ever .* direction of x2, so"):
        ranker = kind(alpha=0, tol=tol, ftol=0.0).fit(X, y, groups)
    with pytest.warns(UserWarning, match=r"Separation: .* direction of x2, so"):
        summary = ranker.summary(X, y, groups)
    assert np.isnan(summary.clustered).all()
    assert np.isnan(summary.criterion)
    held = summary_of(kind(alpha=0.01), X, y, groups)
    assert np.isfinite(held.clustered).all()


def separates(X, y, groups):
    """Return, by linear programming, whether weights put no pair out of order."""
    gaps = np.array(
        [
            X[i] - X[j]
            for q in np.unique(groups)
            for i in np.flatnonzero(groups == q)
            for j in np.flatnonzero(groups == q)
            if y[i] > y[j]
        ]
    )
    solution = linprog(
        -gaps.sum(axis=0), -gaps, np.zeros(len(gaps)), bounds=[(-1, 1)] * X.shape[1]
    )
    return -solution.fun > 1e-7


@pytest.mark.filterwarnings("ignore:.*fit puts every pair", "ignore:.*Only .* list")
def test_separation_is_found_where_linear_programming_finds_it():
    rng = np.random.default_rng(0)
    reported, true = [], []
    for number in range(80):
        n_lists, size, p = rng.integers((3, 2, 1), (14, 5, 4))
        groups = np.repeat(np.arange(n_lists), size)
        X = rng.standard_normal((len(groups), p))
        y = 2 * X @ rng.standard_normal(p) + rng.gumbel(size=len(groups))
        kind = (ListMLERanker, RankNetRanker)[number % 2]
        ranker = kind(alpha=0, tol=1e-7, ftol=0.0).fit(X, y, groups)
        true.append(separates(X, y, groups))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*Separation")
            reported.append("Separation" in str(ranker.summary(X, y, groups)))
    assert reported == true
    assert 10 < sum(true) < 70


def test_a_fit_tells_what_linear_programming_and_the_summary_find_of_items():
    # Items that always win, or a set of items that does, part the data in two.
    rng = np.random.default_rng(0)
    reported, true = [], []
    for number in range(60):
        n_lists = rng.integers(8, 40)
        items = np.concatenate(
            [rng.permutation(5)[:3] for _ in range(n_lists)], dtype=np.intp
        )
        groups = np.repeat(np.arange(n_lists), 3)
        X = np.eye(5)[items][:, 1:]
        y = 3.0 * rng.standard_normal(5)[items] + rng.gumbel(size=len(items))
        kind = (ListMLERanker, RankNetRanker)[number % 2]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ranker = kind(alpha=0).fit(X, y, groups)
            summary = ranker.summary(X, y, groups)
        at_fit = any("no finite weights" in str(warning.message) for warning in caught)
        assert at_fit == ("Separation" in str(summary))
        reported.append(at_fit)
        true.append(separates(X, y, groups))
    assert reported == true
    assert 10 < sum(true) < 50


def test_strong_fits_that_are_not_separated_are_not_called_so():
    X, _, groups = graded(n_lists=100)
    rng = np.random.default_rng(2)
    y = 30 * X[:, 0] + rng.gumbel(size=len(X))
    summary = summary_of(ListMLERanker(alpha=0), X, y, groups)
    assert np.isfinite(summary.clustered).all()
    assert abs(summary.coef[0] - 30) < 3 * summary.clustered[0]


def test_other_data_than_those_of_the_fit_are_noticed():
    X, y, groups = graded()
    ranker = ListMLERanker(alpha=0).fit(X, y, groups)
    with pytest.warns(UserWarning, match="not the optimum for these data"):
        ranker.summary(X[::-1], y, groups)


def test_a_fit_cut_short_is_told_how_to_come_nearer():
    X, y, groups = graded()
    ranker = ListMLERanker(alpha=0, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="stopped before it converged"):
        ranker.fit(X, y, groups)
    with pytest.warns(UserWarning, match=r"not the optimum.*or raise max_iter\."):
        ranker.summary(X, y, groups)


@pytest.mark.filterwarnings("ignore:.*no order to learn")
def test_lists_that_tell_nothing_give_no_errors():
    X, _, groups = graded()
    y = np.zeros(len(X))
    for kind in (ListMLERanker, RankNetRanker):
        for alpha in (0.0, 0.1):
            ranker = kind(alpha=alpha).fit(X, y, groups)
            with pytest.warns(UserWarning, match="No list has an order"):
                summary = ranker.summary(X, y, groups)
            assert np.isnan(summary.clustered).all()
            assert summary.df == 0


@pytest.mark.filterwarnings("ignore:.*parameter of ties stops at", "ignore:.*Only ")
@pytest.mark.filterwarnings("ignore:.*no order to learn")
@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize(
    "kind",
    [
        PMOPRanker,
        partial(PMOPRanker, "geometric"),
        DavidsonLuceRanker,
        partial(DavidsonLuceRanker, "slope"),
        DavidsonRanker,
        RaoKupperRanker,
    ],
)
def test_lists_all_tied_give_no_errors_of_0_but_say_that_they_tell_nothing(
    kind, alpha, size
):
    X, _, groups = graded(size=size)
    y = np.zeros(len(X))
    ranker = kind(alpha=alpha).fit(X, y, groups)
    message = "No list has an order|No clustered standard errors of x0, x1"
    with pytest.warns(UserWarning, match=message):
        summary = ranker.summary(X, y, groups)
    assert np.isnan(summary.clustered[: X.shape[1]]).all()


def test_few_lists_are_fewer_than_forty():
    X, y, groups = graded(n_lists=40)
    ranker = ListMLERanker().fit(X, y, groups)
    ranker.summary(X, y, groups)  # warnings are errors here
    some = groups < 39
    with pytest.warns(UserWarning, match="Only 39 lists for 3 coefficients"):
        ListMLERanker().fit(X[some], y[some], groups[some]).summary(
            X[some], y[some], groups[some]
        )


def test_few_lists_are_warned_of():
    X, y, groups = graded(n_lists=20)
    ranker = ListMLERanker().fit(X, y, groups)
    with pytest.warns(UserWarning, match="Only 20 lists"):
        ranker.summary(X, y, groups)
    ranker.summary(X, y, groups, covariance="model")
    wide = np.random.default_rng(0).standard_normal((480, 80))
    X, y, groups = graded()
    ranker = ListMLERanker().fit(wide, y, groups)
    with pytest.warns(UserWarning, match="Only 80 lists for 80 coefficients"):
        ranker.summary(wide, y, groups)


def test_a_summary_prints_on_88_columns_and_gives_a_frame():
    pd = pytest.importorskip("pandas")
    X, y, groups = graded(n_grades=3)
    names = ["a", "b", "a name of a feature that is long"]
    frame = pd.DataFrame(X * [1e-9, 1e9, 1.0], columns=names)
    for options in (EXACT, {"alpha": 0.1}):
        ranker = ListMLERanker(**options)
        if options is EXACT:
            frame = pd.DataFrame(X, columns=names)
        summary = summary_of(ranker, frame, y, groups)
        assert max(map(len, str(summary).splitlines())) <= 88
        table = summary.to_frame()
        assert table.index.tolist() == names
        assert (
            table.columns.tolist() == "coef lists clustered model z p low high".split()
        )
        printed = next(li for li in str(summary).splitlines() if " low " in li)
        columns = [name for name in table if options is EXACT or name not in "zp"]
        assert printed.split() == columns
        np.testing.assert_array_equal(table["clustered"], summary.clustered)
        assert "approximate" in str(summary)


def test_a_frame_without_pandas_says_what_to_do(monkeypatch):
    X, y, groups = graded()
    summary = summary_of(ListMLERanker(), X, y, groups)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        summary.to_frame()


def test_wrong_arguments_are_named():
    X, y, groups = graded()
    ranker = ListMLERanker().fit(X, y, groups)
    with pytest.raises(ValueError, match="covariance must be"):
        ranker.summary(X, y, groups, covariance="robust")
    with pytest.raises(ValueError, match=r"confidence must be .* 0 and 1, got 95"):
        ranker.summary(X, y, groups, confidence=95)
    masked = np.ma.masked_array(X, mask=X > 2)
    with pytest.raises(ValueError, match="mask"):
        ranker.summary(masked, y, groups)
    weighed = RankNetRanker("gain").fit(X, y - y.min(), groups)
    summary = weighed.summary(X, y - y.min(), groups)
    assert summary.model is None


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_z_does_not_depend_on_the_size_of_features(lists, scale):
    X, y, groups = lists
    summaries = [
        summary_of(RankNetRanker(**EXACT), size * X, y, groups).z
        for size in (1.0, scale)
    ]
    # The fits differ by roundings alone.
    np.testing.assert_allclose(summaries[1], summaries[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("scale", "word"), [(1e-300, "small"), (1e-150, "small"), (1e150, "large")]
)
def test_features_whose_products_are_no_numbers_are_named(lists, scale, word):
    X, y, groups = lists
    X = X * np.where(np.arange(X.shape[1]) == 2, scale, 1.0)
    ranker = RankNetRanker().fit(X, y, groups)
    with pytest.raises(ValueError, match=rf"so {word} \(column 2\)"):
        ranker.summary(X, y, groups)


def test_the_printed_numbers_have_the_digits_of_their_columns():
    X, y, groups = graded(n_grades=3)
    summary = summary_of(ListMLERanker(**EXACT), X, y, groups)
    table = summary.to_frame()
    lines = str(summary).splitlines()
    columns = next(line for line in lines if " low " in line).split()
    for name, row in table.iterrows():
        (line,) = [line for line in lines if line.split()[:1] == [name]]
        cells = dict(zip(columns, line.split()[1:], strict=True))
        assert cells["z"] == f"{row['z']:.2f}"
        assert cells["coef"] == f"{row['coef']:.4g}"
        assert cells["lists"] == f"{row['lists']:.0f}"
        assert cells["p"] == ("<1e-4" if row["p"] < 1e-4 else f"{row['p']:.4f}")
