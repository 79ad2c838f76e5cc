"""What displays draw: the right numbers, under the right names, few or many."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import special
from sklearn import config_context
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, LearningCurveDisplay
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import (
    DavidsonRanker,
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
    RankSVMRanker,
    RaoKupperRanker,
    with_groups,
)
from skrank.datasets import load_mode_choice, make_ranking
from skrank.inspection import (
    CoefficientDisplay,
    ContributionDisplay,
    ListsDisplay,
    MetricAtKDisplay,
    RankCalibrationDisplay,
    RankerComparisonDisplay,
    RegularizationPathDisplay,
    StageProbaDisplay,
    describe_lists,
    explain_scores,
    summarize,
)
from skrank.inspection._drawing import COLORS, style_of
from skrank.metrics import (
    bootstrap_interval,
    dcg_score,
    ndcg_score,
    precision_at_k_score,
)
from skrank.model_selection import QueryKFold, compare_rankers, learning_curve
from skrank.preprocessing import QueryScaler

plt = pytest.importorskip("matplotlib.pyplot", reason="displays draw with matplotlib")
plt.switch_backend("Agg")

X, Y, GROUPS = load_mode_choice()
RANKER = ListMLERanker(alpha=0).fit(X, Y, GROUPS)
MANY, MANY_Y, MANY_GROUPS = make_ranking(
    40, list_size=(8, 300), n_features=300, random_state=0
)


@pytest.fixture(scope="module")
def fit_of_many():
    return ListMLERanker(alpha=1.0).fit(MANY, MANY_Y, MANY_GROUPS)


@pytest.fixture(scope="module")
def comparison():
    data = make_ranking(60, list_effect=2.0, random_state=0)
    rankers = {
        "ridge": Ridge(),
        "listmle": ListMLERanker(),
        "ranknet": RankNetRanker(),
    }
    return compare_rankers(
        rankers, *data, metrics=["ndcg@10", "err"], random_state=0, n_resamples=500
    )


def names_of(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def drawn_intervals(container):
    """Return the ends of horizontal error bars, row by row."""
    return np.array([path[:, 0] for path in container.lines[2][0].get_segments()])


# Coefficients


def test_coefficients_and_their_intervals_are_drawn_row_by_row():
    display = CoefficientDisplay.from_estimator(
        RANKER, X, Y, GROUPS, covariance="model"
    )
    summary = RANKER.summary(X, Y, GROUPS, covariance="model")
    x, rows = display.points_.lines[0].get_data()
    np.testing.assert_array_equal(x, summary.coef)
    assert rows.tolist() == list(range(8))
    np.testing.assert_allclose(drawn_intervals(display.points_), summary.interval)
    assert names_of(display.ax_.yaxis) == [f"x{j}" for j in range(8)]
    assert "95% interval" in display.ax_.get_xlabel()
    top, bottom = display.ax_.get_ylim()[::-1]
    assert top < bottom, "the first feature is at the top"


def test_coefficients_of_a_pipeline_have_the_names_of_its_features():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, 3:7], columns=["wait", "cost", "time", "all"])
    model = make_pipeline(StandardScaler(), ListMLERanker())
    search = GridSearchCV(model, {"listmleranker__alpha": [0.1, 1]}, cv=QueryKFold(3))
    search.fit(frame, with_groups(Y, GROUPS))
    display = CoefficientDisplay.from_estimator(search, frame, Y, GROUPS)
    assert display.names == ["wait", "cost", "time", "all"]
    assert np.array_equal(display.coef, search.best_estimator_[-1].coef_)


def test_standardized_coefficients_are_per_deviation_inside_lists():
    display = CoefficientDisplay.from_estimator(RANKER, X, Y, GROUPS, standardize=True)
    within = X.reshape(210, 4, 8) - X.reshape(210, 4, 8).mean(axis=1, keepdims=True)
    deviation = within.reshape(840, 8).std(axis=0)
    np.testing.assert_allclose(display.coef, RANKER.coef_ * deviation)
    summary = RANKER.summary(X, Y, GROUPS)
    np.testing.assert_allclose(
        display.high - display.low, np.ptp(summary.interval, axis=1) * deviation
    )
    assert "per deviation" in display.ax_.get_xlabel()


def test_chosen_coefficients_keep_their_names():
    display = CoefficientDisplay.from_estimator(RANKER, X, Y, GROUPS, features=["x1"])
    assert display.names == ["x1"]
    np.testing.assert_array_equal(display.coef, RANKER.coef_[[1]])
    with pytest.raises(ValueError, match="deviations of all features: leave out"):
        CoefficientDisplay.from_estimator(
            RANKER, X, Y, GROUPS, features=["x1"], standardize=True
        )


def test_coefficients_take_the_groups_of_labels_to_the_steps_before():
    """The drawn numbers and names are those of summarize, also shown an array."""
    pd = pytest.importorskip("pandas")
    frame, y = pd.DataFrame(X[:, 3:5], columns=["wait", "cost"]), with_groups(Y, GROUPS)
    pipeline = make_pipeline(QueryScaler(), ListMLERanker())
    ranker = ListMLERanker().fit(frame, Y, GROUPS)
    with config_context(enable_metadata_routing=True):
        pipeline.fit(frame, y, groups=GROUPS)
    for model in (pipeline, ranker):
        for features in (frame, frame.to_numpy()):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                display = CoefficientDisplay.from_estimator(model, features, y)
                summary = summarize(model, features, y)
                standard = CoefficientDisplay.from_estimator(
                    model, features, y, standardize=True
                )
                explanation = explain_scores(model, features, GROUPS)
            assert display.names == summary.names == ["wait", "cost"]
            assert standard.names == explanation.feature_names == ["wait", "cost"]
            np.testing.assert_array_equal(display.high, summary.interval[:, 1])


def test_items_are_drawn_with_quasi_intervals_and_their_reference():
    pd = pytest.importorskip("pandas")
    names = ["air", "train", "bus", "wait", "cost", "time", "all", "income"]
    frame = pd.DataFrame(X, columns=names)
    summary = ListMLERanker(alpha=0).fit(frame, Y, GROUPS).summary(frame, Y, GROUPS)
    display = CoefficientDisplay.from_summary(
        summary, items=["air", "train", "bus"], reference="car"
    )
    values = dict(zip(display.names, display.coef, strict=True))
    assert values["car"] == 0
    best_first = sorted(values, key=values.get, reverse=True)
    assert names_of(display.ax_.yaxis) == best_first
    # The variance of each difference is about the sum of two quasi variances.
    error = (display.high - display.low) / 2 / special.ndtri(0.975)
    covariance = np.pad(summary.covariance_matrix[:3, :3], ((1, 0), (1, 0)))
    for i, j in [(0, 1), (0, 3), (1, 2), (2, 3)]:
        exact = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        assert error[i] ** 2 + error[j] ** 2 == pytest.approx(exact, rel=0.25)
    with pytest.raises(ValueError, match="items has 'plane', which is no name"):
        CoefficientDisplay.from_summary(summary, items=["plane"])


def test_of_many_features_the_surest_are_drawn(fit_of_many):
    with pytest.warns(UserWarning, match="Only 40 lists for 300 coefficients"):
        display = CoefficientDisplay.from_estimator(
            fit_of_many, MANY, MANY_Y, MANY_GROUPS, max_shown=12
        )
    ratio = np.abs(display.coef) / (display.high - display.low)
    expected = [f"x{j}" for j in np.argsort(-ratio)[:12]]
    assert names_of(display.ax_.yaxis) == expected
    assert display.ax_.get_title() == "12 of 300"


def test_a_ranker_without_a_model_has_no_intervals():
    ranker = ListNetRanker().fit(X, Y, GROUPS)
    with pytest.raises(TypeError, match="ListNetRanker has no summary"):
        CoefficientDisplay.from_estimator(ranker, X, Y, GROUPS)


# Contributions


def test_contributions_of_one_list_are_a_table_of_colours_best_row_first():
    display = ContributionDisplay.from_estimator(RANKER, X, GROUPS, list_label=7)
    one = explain_scores(RANKER, X, GROUPS).of_list(7)
    drawn = np.asarray(display.image_.get_array())
    order = np.argsort(-np.abs(one.contributions).sum(axis=0))
    np.testing.assert_allclose(drawn, one.contributions[:, order])
    assert names_of(display.ax_.xaxis) == [f"x{j}" for j in order]
    rows = names_of(display.ax_.yaxis)
    assert [row.split()[0] for row in rows] == ["1.", "2.", "3.", "4."]
    assert {text.get_text() for text in display.ax_.texts} == {
        f"{value:.2f}" for value in drawn.ravel()
    }
    low, high = display.image_.get_clim()
    assert low == -high, "0 has the middle colour"


def test_of_many_features_the_others_are_added_up(fit_of_many):
    display = ContributionDisplay.from_estimator(
        fit_of_many, MANY, MANY_GROUPS, max_rows=5, max_features=3
    )
    drawn = np.asarray(display.image_.get_array())
    assert drawn.shape == (5, 4)
    one = explain_scores(fit_of_many, MANY, MANY_GROUPS).of_list(0)
    np.testing.assert_allclose(
        drawn.sum(axis=1), (one.scores - one.baseline)[:5], atol=1e-12
    )
    assert names_of(display.ax_.xaxis)[-1] == "297 others"
    assert f"best 5 of {len(one.rows)} rows" in display.ax_.get_title()


def test_why_one_row_is_above_another_is_drawn_as_bars():
    pair = explain_scores(RANKER, X, GROUPS).why(3, 0)
    display = ContributionDisplay.from_pair(pair)
    widths = np.array([bar.get_width() for bar in display.bars_])
    assert widths.sum() == pytest.approx(pair.difference)
    assert (np.diff(np.abs(widths)) <= 0).all()
    assert display.ax_.get_title() == pair._title()
    colors = [bar.get_facecolor()[:3] for bar in display.bars_]
    assert len({colors[j] for j in np.flatnonzero(widths > 0)}) == 1
    assert colors[np.argmax(widths)] != colors[np.argmin(widths)]


def test_equal_rows_can_be_drawn():
    ranker = ListMLERanker().fit([[1.0], [2.0]], [0, 1], [7, 7])
    display = ContributionDisplay.from_estimator(ranker, [[1.0], [1.0]], [7, 7])
    assert np.asarray(display.image_.get_array()).tolist() == [[0.0], [0.0]]


# A metric against k


def test_the_metric_is_drawn_at_each_cutoff_with_its_bootstrap_band():
    scores = {"fit": RANKER.predict(X), "flat": np.zeros(len(Y))}
    display = MetricAtKDisplay.from_predictions(
        Y, scores, GROUPS, ks=[1, 2, 4], n_resamples=300, random_state=3
    )
    for line, band, (name, column) in zip(
        display.lines_, display.bands_, scores.items(), strict=True
    ):
        assert line.get_label() == name
        expected = [ndcg_score(Y, column, GROUPS, k=k) for k in (1, 2, 4)]
        np.testing.assert_allclose(line.get_ydata(), expected)
        assert line.get_xdata().tolist() == [1, 2, 4]
        values = ndcg_score(Y, column, GROUPS, k=2, average=None)
        interval = bootstrap_interval(values, n_resamples=300, random_state=3)
        at_two = band.get_paths()[0].vertices
        at_two = at_two[at_two[:, 0] == 2, 1]
        assert {round(value, 12) for value in at_two} == {
            round(interval.low, 12),
            round(interval.high, 12),
        }
    assert "ndcg@k" in display.ax_.get_ylabel()
    assert "210 lists" in display.ax_.get_ylabel()


def test_other_metrics_their_options_and_fitted_rankers_are_taken(fit_of_many):
    models = {"many": fit_of_many}
    display = MetricAtKDisplay.from_estimator(
        models, MANY, MANY_Y, MANY_GROUPS, metric=dcg_score, gain="linear", ks=[3]
    )
    expected = dcg_score(
        MANY_Y, fit_of_many.predict(MANY), MANY_GROUPS, k=3, gain="linear"
    )
    assert display.lines_[0].get_ydata()[0] == pytest.approx(expected)
    assert "dcg@k" in display.ax_.get_ylabel()


def test_cutoffs_are_all_of_short_lists_and_spread_over_long_ones():
    short = MetricAtKDisplay.from_predictions(Y, Y, GROUPS, metric=precision_at_k_score)
    assert short.ks.tolist() == [1, 2, 3, 4]
    assert short.ax_.get_xscale() == "linear"
    long = MetricAtKDisplay.from_predictions(
        MANY_Y, MANY_Y, MANY_GROUPS, n_resamples=50
    )
    assert (long.ks[0], long.ks[-1]) == (1, 100)
    assert len(long.ks) <= 24
    assert long.ax_.get_xscale() == "log"


def test_lists_without_a_value_leave_the_means():
    y = np.concatenate((Y[:8], np.zeros(4)))
    groups = np.repeat([1, 2, 3], 4)
    display = MetricAtKDisplay.from_predictions(y, np.arange(12.0), groups, ks=[2])
    expected = ndcg_score(y[:8], np.arange(8.0), groups[:8], k=2)
    assert display.lines_[0].get_ydata()[0] == pytest.approx(expected)


# Comparisons


def test_means_and_sorted_differences_of_a_comparison_are_drawn(comparison):
    display = RankerComparisonDisplay.from_comparison(comparison)
    assert display.metric == "ndcg@10"
    reference = np.asarray(comparison.results["ridge"].values["ndcg@10"])
    assert set(display.lines_) == {"listmle", "ranknet"}
    for name, line in display.lines_.items():
        values = np.asarray(comparison.results[name].values["ndcg@10"]) - reference
        np.testing.assert_allclose(line.get_ydata(), np.sort(values))
        share = np.mean(values > 0)
        assert line.get_label().startswith(f"{name}: {share:.0%} better")
    rows = names_of(display.axes_[0].yaxis)
    assert any(row == "ridge (reference)" for row in rows)
    means = [
        container.lines[0].get_xdata()[0] for container in display.axes_[0].containers
    ]
    assert means == sorted(means, reverse=True), "the best is at the top"
    statistics = comparison.statistics("ndcg@10")["listmle"]
    (row,) = (row for row in rows if row.startswith("listmle"))
    assert f"{statistics.difference.difference:+.4f}" in row


def test_a_metric_of_a_comparison_can_be_chosen(comparison):
    display = RankerComparisonDisplay.from_comparison(comparison, metric="err")
    assert "err" in display.axes_[0].get_xlabel()
    with pytest.raises(
        ValueError, match="metric must be 'ndcg@10' or 'err', got 'map'"
    ):
        RankerComparisonDisplay.from_comparison(comparison, metric="map")


# Stages


def test_stages_are_the_softmax_over_the_rows_that_are_left():
    display = StageProbaDisplay.from_estimator(RANKER, X, Y, GROUPS, list_label=7)
    rows = np.flatnonzero(GROUPS == 7)
    order = rows[np.lexsort((-RANKER.predict(X)[rows], -Y[rows]))]
    weights = np.exp(RANKER.predict(X)[order])
    for stage, bars in enumerate(display.bars_):
        expected = weights[stage:] / weights[stage:].sum()
        np.testing.assert_allclose(display.proba_[stage, stage:], expected)
        widths = np.array([bar.get_width() for bar in bars])
        np.testing.assert_allclose(widths / widths.sum(), expected)
        picked = [bar.get_facecolor() for bar in bars]
        assert picked[0] != picked[1], "the pick stands out"
    assert len(display.bars_) == 3
    assert names_of(display.ax_.yaxis) == [str(row) for row in order]
    # Without ties this is the probability that the model gives each pick.
    first = RANKER.stage_proba(X[order], np.arange(4)[::-1], np.zeros(4))
    np.testing.assert_allclose(np.diag(display.proba_), first[:3])


def test_of_a_long_list_other_rows_are_added_up():
    scores = np.random.default_rng(0).normal(size=300)
    display = StageProbaDisplay(range(300), scores).plot(max_stages=4, max_rows=10)
    assert names_of(display.ax_.yaxis)[-1] == "290 others together"
    for bars in display.bars_:
        assert sum(bar.get_width() for bar in bars) == pytest.approx(0.9)
    with pytest.raises(ValueError, match="no list 'a' among groups"):
        StageProbaDisplay.from_estimator(RANKER, X, Y, GROUPS, list_label="a")


def test_stages_are_those_of_plackett_luce_alone():
    for ranker in (RankNetRanker(), RankSVMRanker(), PMOPRanker()):
        ranker.fit(X[:, 3:7], Y, GROUPS)
        with pytest.raises(TypeError, match="of the Plackett-Luce model, and scores"):
            StageProbaDisplay.from_estimator(ranker, X[:, 3:7], Y, GROUPS)


# Calibration


@pytest.mark.parametrize(
    "ranker", [RankSVMRanker(), RaoKupperRanker(), ListNetRanker(), PMOPRanker()]
)
def test_scores_of_other_models_are_no_probabilities(ranker):
    model = make_pipeline(ranker.fit(X[:, 3:7], Y, GROUPS))
    message = f"{type(ranker).__name__} with the loss .* are of another: fit"
    for estimator in (ranker, model):
        with pytest.raises(TypeError, match=message):
            RankCalibrationDisplay.from_estimator(estimator, X[:, 3:7], Y, GROUPS)


@pytest.mark.parametrize("ranker", [RankNetRanker(), DavidsonRanker(), Ridge()])
def test_pairs_with_a_winner_are_drawn_by_their_logistic_probability(ranker):
    """Those of Davidson's model too: given no tie, e^a / (e^a + e^b) wins."""
    with_lists = {} if isinstance(ranker, Ridge) else {"groups": GROUPS}
    ranker.fit(X[:, 3:7], Y, **with_lists)
    display = RankCalibrationDisplay.from_estimator(
        ranker, X[:, 3:7], Y, GROUPS, n_bins=1, n_resamples=10
    )
    scores = ranker.predict(X[:, 3:7]).reshape(210, 4)
    best = np.take_along_axis(scores, Y.reshape(210, 4).argmax(axis=1)[:, None], axis=1)
    others = scores[Y.reshape(210, 4) == 0].reshape(210, 3)
    expected = special.expit(np.abs(best - others)).mean()
    assert display.predicted[0] == pytest.approx(expected)


def test_a_model_that_drew_the_data_is_calibrated():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=4000)
    groups = np.repeat(np.arange(1000), 4)
    y = scores + rng.gumbel(size=4000)
    for kind in ("pairs", "first"):
        display = RankCalibrationDisplay.from_predictions(
            y, scores, groups, kind=kind, confidence=0.999, n_resamples=400
        )
        assert (display.low <= display.predicted).all()
        assert (display.predicted <= display.high).all()
        off = RankCalibrationDisplay.from_predictions(
            y, 3 * scores, groups, kind=kind, confidence=0.999, n_resamples=400
        )
        assert not ((off.low <= off.predicted) & (off.predicted <= off.high)).all()


def test_bins_hold_all_pairs_and_their_shares():
    display = RankCalibrationDisplay.from_estimator(
        RANKER, X, Y, GROUPS, n_bins=4, strategy="uniform", n_resamples=20
    )
    scores = RANKER.predict(X)
    pairs = []
    for label in np.unique(GROUPS):
        rows = np.flatnonzero(GROUPS == label)
        (best,) = rows[Y[rows] == 1]
        for other in rows[Y[rows] == 0]:
            won = scores[best] > scores[other]
            pairs.append((special.expit(abs(scores[best] - scores[other])), won))
    proba, won = np.array(pairs).T
    assert display.counts.sum() == len(pairs) == 630
    places = np.digitize(proba, [0.625, 0.75, 0.875])
    for place in range(4):
        mine = places == place
        assert display.counts[place] == mine.sum()
        assert display.observed[place] == pytest.approx(won[mine].mean())
        assert display.predicted[place] == pytest.approx(proba[mine].mean())
    line = display.points_.lines[0]
    np.testing.assert_array_equal(line.get_xdata(), display.predicted)
    np.testing.assert_array_equal(line.get_ydata(), display.observed)
    assert display.ax_.get_title() == "630 pairs"


def test_first_places_that_are_shared_count_as_parts():
    y, groups = [1, 1, 0, 1, 0], ["a", "a", "a", "b", "b"]
    display = RankCalibrationDisplay.from_predictions(
        y, np.zeros(5), groups, kind="first", n_bins=1, n_resamples=10
    )
    assert display.predicted.tolist() == [0.4]
    assert display.observed.tolist() == [0.4]


def test_long_lists_are_sampled_and_lists_without_an_order_refused():
    display = RankCalibrationDisplay.from_predictions(
        np.arange(300) % 2, np.zeros(300), np.zeros(300), n_resamples=10
    )
    assert 500 < display.counts.sum() <= 2000
    with pytest.raises(ValueError, match="all labels are equal inside each list"):
        RankCalibrationDisplay.from_predictions([1, 1], [0.0, 1.0], [0, 0])
    with pytest.raises(ValueError, match="kind must be 'pairs' or 'first'"):
        RankCalibrationDisplay.from_predictions([1, 0], [0.0, 1.0], [0, 0], kind="top")


# Regularisation path


def test_each_point_of_the_path_is_a_fit():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, 3:], columns=["wait", "cost", "time", "all", "income"])
    alphas = [10.0, 0.1, 1.0]
    display = RegularizationPathDisplay.from_estimator(
        make_pipeline(StandardScaler(), ListMLERanker(tol=1e-10)),
        frame,
        Y,
        GROUPS,
        alphas=alphas,
        chosen=0.1,
    )
    assert display.alphas.tolist() == sorted(alphas)
    scaled = StandardScaler().fit_transform(frame)
    for alpha, coef in zip(display.alphas, display.coefs, strict=True):
        fit = ListMLERanker(alpha=alpha, tol=1e-10).fit(scaled, Y, GROUPS)
        np.testing.assert_allclose(coef, fit.coef_, rtol=1e-6, atol=1e-8)
    labels = [line.get_label() for line in display.lines_]
    assert set(labels) == set(frame.columns)
    largest = frame.columns[np.argmax(np.abs(display.coefs[0]))]
    assert labels[0] == largest
    assert display.ax_.get_xscale() == "log"
    assert "alpha = 0.1" in {t.get_text() for t in display.ax_.get_legend().texts}


def test_a_path_with_absolute_weights_has_exact_zeros_and_bounds():
    display = RegularizationPathDisplay.from_estimator(
        ListMLERanker(l1_ratio=1.0, bounds=(-0.5, 0.5)),
        StandardScaler().fit_transform(X[:, 3:]),
        Y,
        GROUPS,
        alphas=[1e-4, 0.01, 0.1, 100.0],
    )
    n_active = np.count_nonzero(display.coefs, axis=1)
    assert n_active[0] == 5
    assert n_active[-1] == 0
    assert np.all(np.diff(n_active) <= 0)
    assert np.abs(display.coefs).max() == 0.5
    for line in display.lines_:
        assert line.get_ydata()[-1] == 0.0


def test_of_many_features_the_largest_have_names():
    coefs = np.random.default_rng(0).normal(size=(4, 300))
    display = RegularizationPathDisplay.from_path([1, 2, 4, 8], coefs, max_labels=5)
    texts = [text.get_text() for text in display.ax_.get_legend().texts]
    largest = np.argsort(-np.abs(coefs[0]))[:5]
    assert texts == [*(f"x{j}" for j in largest), "295 others"]
    assert len(display.lines_) == 300
    with pytest.raises(ValueError, match="alphas must be above 0, got 0"):
        RegularizationPathDisplay.from_estimator(RANKER, X, Y, GROUPS, alphas=[0, 1])


# Lists


def test_sizes_labels_and_pairs_are_drawn_as_histograms():
    y = np.array([1, 0, 0, 2, 2, 1, 0])
    groups = np.array(["a", "a", "a", "b", "b", "c", "c"])
    display = ListsDisplay.from_data(y, groups)
    sizes, labels, pairs = display.axes_
    assert [bar.get_height() for bar in sizes.patches] == [2, 1]
    assert [bar.get_height() for bar in labels.patches] == pytest.approx(
        [3 / 7, 2 / 7, 2 / 7]
    )
    assert names_of(labels.xaxis) == ["0", "1", "2"]
    # Shares of pairs with an order: 2/3, 0 and 1.
    heights = np.array([bar.get_height() for bar in pairs.patches])
    assert np.flatnonzero(heights).tolist() == [0, 13, 19]
    assert pairs.get_title() == "1 list without an order"
    same = ListsDisplay.from_description(describe_lists(np.eye(7), y, groups))
    assert [bar.get_height() for bar in same.axes_[0].patches] == [2, 1]


# Learning curves, by scikit-learn's own display


def test_a_learning_curve_is_drawn_by_the_display_of_scikit_learn():
    data = make_ranking(60, random_state=0)
    sizes, train_scores, test_scores = learning_curve(
        RankNetRanker(), *data, train_sizes=[5, 20, 40], cv=3, random_state=0
    )
    display = LearningCurveDisplay(
        train_sizes=sizes,
        train_scores=train_scores,
        test_scores=test_scores,
        score_name="NDCG",
    ).plot()
    test_line = display.lines_[1]
    assert test_line.get_xdata().tolist() == [5, 20, 40]
    np.testing.assert_allclose(test_line.get_ydata(), test_scores.mean(axis=1))


# All displays


def test_given_axes_are_drawn_on(comparison):
    figure, axes = plt.subplots(1, 3)
    display = CoefficientDisplay.from_estimator(RANKER, X, Y, GROUPS, ax=axes[0])
    assert display.ax_ is axes[0]
    assert display.figure_ is figure
    pair = RankerComparisonDisplay.from_comparison(comparison, ax=axes[1:])
    assert list(pair.axes_) == list(axes[1:])
    assert pair.figure_ is figure
    with pytest.raises(ValueError, match="ax must be 3 Axes, or None, got 1"):
        ListsDisplay.from_data(Y, GROUPS, ax=axes[0])


def test_long_names_are_wrapped_and_not_cut():
    name = "how long the traveller waits at the terminal before the departure"
    display = CoefficientDisplay(
        [name], np.ones(1), np.zeros(1), 2 * np.ones(1), confidence=0.95
    ).plot()
    (drawn,) = names_of(display.ax_.yaxis)
    assert " ".join(drawn.split()) == name
    assert "\n" in drawn


def luminance(color):
    values = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(
        values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4
    )
    return linear @ [0.2126, 0.7152, 0.0722]


def seen_without(kind, color):
    """Return linear RGB as seen by a dichromat, by Machado and others (2009)."""
    matrix = {
        "red": [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        "green": [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    }[kind]
    values = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.clip(np.array(matrix) @ values, 0, 1)


MATPLOTLIB = [
    "#1f77b4",
    "#ff7f0e",
    "#2ca02c",
    "#d62728",
    "#9467bd",
    "#8c564b",
    "#e377c2",
]


def nearest(kind, colors):
    simulated = [seen_without(kind, color) for color in colors]
    return min(
        np.linalg.norm(a - b) for i, a in enumerate(simulated) for b in simulated[:i]
    )


@pytest.mark.parametrize("kind", ["red", "green"])
def test_colours_stay_apart_for_colour_blind_people(kind):
    assert nearest(kind, COLORS) > 1.5 * nearest(kind, MATPLOTLIB)


def test_the_first_seven_lines_differ_by_marker_too():
    styles = [style_of(number) for number in range(49)]
    assert len({style["marker"] for style in styles[:7]}) == 7
    assert len({tuple(style.values()) for style in styles}) == 49


def test_lines_can_be_seen_on_white():
    for color in COLORS:
        assert 1.05 / (luminance(color) + 0.05) > 2, "contrast to white"


def test_a_missing_matplotlib_is_a_clear_error(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'skrank\[plot\]'"):
        ListsDisplay.from_data(Y, GROUPS)


LONG = "ListMLE with the penalty of 0.1 and scaled features, number {}"


def boxes(artists, figure):
    figure.canvas.draw()
    return [artist.get_window_extent() for artist in artists]


def assert_apart(labels, figure):
    """Check that names at rows do not overlap, from the top to the bottom."""
    drawn = boxes(labels, figure)
    assert all(upper.y0 >= lower.y1 for upper, lower in itertools.pairwise(drawn))


def test_rows_of_long_names_do_not_overlap():
    names = [LONG.format(j) for j in range(30)]
    coefficients = CoefficientDisplay(
        names, np.ones(30), np.zeros(30), np.full(30, 2.0), confidence=0.95
    ).plot()
    assert_apart(coefficients.ax_.get_yticklabels(), coefficients.figure_)
    stages = StageProbaDisplay(names, np.zeros(30)).plot(max_rows=30)
    assert_apart(stages.ax_.get_yticklabels(), stages.figure_)
    parts = np.random.default_rng(0).normal(size=(30, 3))
    table = ContributionDisplay(["a", "b", "c"], names, parts).plot(max_rows=30)
    assert_apart(table.ax_.get_yticklabels(), table.figure_)


@pytest.mark.parametrize("n_rankers", [3, 5, 30])
def test_legends_of_many_rankers_stay_inside_the_figure_and_off_the_lines(n_rankers):
    scores = {LONG.format(j): np.roll(RANKER.predict(X), j) for j in range(n_rankers)}
    display = MetricAtKDisplay.from_predictions(Y, scores, GROUPS, n_resamples=20)
    axes, legend = boxes([display.ax_, display.ax_.get_legend()], display.figure_)
    assert legend.x0 >= 0
    assert legend.x1 <= display.figure_.bbox.x1
    assert legend.y0 >= 0
    assert legend.y1 <= display.figure_.bbox.y1
    assert axes.width > 300
    assert n_rankers < 5 or legend.x0 >= axes.x1


def test_many_rankers_with_long_names_can_be_compared():
    data = make_ranking(20, random_state=0)
    rankers = {LONG.format(a): ListMLERanker(alpha=a) for a in range(1, 41)}
    many = compare_rankers(
        rankers, *data, reference=LONG.format(40), cv=2, n_resamples=50
    )
    display = RankerComparisonDisplay.from_comparison(many, metric="ndcg@10")
    means, lists = display.axes_
    assert means.get_title() == "30 of 40"
    rows = [" ".join(row.split()) for row in names_of(means.yaxis)]
    assert sum("(reference)" in row for row in rows) == 1
    assert_apart(means.get_yticklabels(), display.figure_)
    label = lists.yaxis.label.get_window_extent()
    assert label.y0 >= 0
    assert label.y1 <= display.figure_.bbox.y1
    (first,) = RankerComparisonDisplay.from_comparison(
        many, metric="ndcg@10", max_shown=2
    ).lines_
    assert rows[0].startswith(first)


def test_vertical_axes_that_count_lists_have_whole_numbers():
    display = ListsDisplay.from_data(Y[:12], GROUPS[:12])
    for axes in (display.axes_[0], display.axes_[2]):
        ticks = axes.get_yticks()
        np.testing.assert_array_equal(ticks, np.rint(ticks))
