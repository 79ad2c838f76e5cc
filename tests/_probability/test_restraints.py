"""What penalties on absolute values, bounds and ridge penalties leave untold."""

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import DavidsonRanker, ListMLERanker, PMOPRanker, RankNetRanker
from skrank.inspection import (
    CoefficientDisplay,
    likelihood_ratio_test,
    pairwise_intervals,
    summarize,
    top_k_intervals,
    wald_test,
)
from skrank.metrics import log_likelihood_scorer

RANKERS = [ListMLERanker, RankNetRanker, DavidsonRanker, PMOPRanker]
LASSO = {"alpha": 0.05, "l1_ratio": 0.5}
HELD = {"alpha": 0, "positive": True}


@pytest.fixture(scope="module")
def data():
    """Return lists of which the second feature says the opposite, the third nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    utility = X @ [0.8, -0.6, 0.02] + rng.gumbel(size=400)
    return X, np.digitize(utility, [0.0, 1.0]), np.repeat(np.arange(80), 5)


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (LASSO, "chose the non-zero coefficients from these data"),
        ({**LASSO, "l1_ratio": 1.0}, "chose the non-zero coefficients from these data"),
        (HELD, r"stopped at their bounds \(x1"),
        ({"alpha": 0, "bounds": (-0.1, 0.1)}, r"stopped at their bounds \(x0, x1"),
    ],
    ids=str,
)
def test_a_summary_warns_and_has_coefficients_without_errors(
    ranker, options, reason, data
):
    model = ranker(**options).fit(*data)
    with pytest.warns(UserWarning, match=f"No standard errors: .*{reason}") as caught:
        summary = model.summary(*data)
    assert len(caught) == 1  # nothing of a far optimum, which it is not
    np.testing.assert_array_equal(summary.coef[:3], model.coef_)
    frame = summary.to_frame()
    assert frame[["clustered", "z", "p", "low", "high"]].isna().all(axis=None)
    # One in which all labels are equal tells nothing.
    assert (frame["lists"] > 70).all()
    assert summary.criterion_name is None
    assert np.isnan(summary.df)
    assert "No standard errors" in str(summary)
    assert "by solving" not in str(summary)
    pipeline = make_pipeline(StandardScaler(), ranker(**options))
    step = ranker.__name__.lower()
    pipeline.fit(data[0], data[1], **{f"{step}__groups": data[2]})
    with pytest.warns(UserWarning, match=reason):
        summarize(pipeline, *data)


def test_the_value_of_the_fit_is_that_of_the_likelihood(data):
    for options in (LASSO, HELD):
        model = ListMLERanker(ties="marginal", **options).fit(*data)
        with pytest.warns(UserWarning, match="No standard errors"):
            summary = model.summary(*data)
        expected = model.log_likelihood(*data)
        assert summary.fit_value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (LASSO, "l1_ratio > 0: the penalty chose"),
        (HELD, r"at their bounds \(x1"),
        ({"alpha": 0.1}, "alpha > 0: standard errors are around the penalised"),
    ],
    ids=str,
)
def test_tests_and_intervals_are_refused_or_warn_and_say_why(options, reason, data):
    X, _, groups = data
    model = ListMLERanker(**options).fit(*data)
    with pytest.raises(ValueError, match=f"no Wald test: .*{reason}"):
        wald_test(model, *data)
    with pytest.raises(ValueError, match=f"no likelihood-ratio test: .*{reason}"):
        likelihood_ratio_test(None, model, *data)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "ListMLERanker.summary: No standard errors")
        summary = model.summary(*data)
    calls = (
        lambda: top_k_intervals(model, summary, X[:5], groups[:5]),
        lambda: pairwise_intervals(model, summary, X[:2], X[2:4]),
    )
    for call in calls:
        if "l1_ratio" in options or "positive" in options:
            with pytest.raises(ValueError, match=f"there are no intervals: .*{reason}"):
                call()
        else:
            with pytest.warns(UserWarning, match=f"_intervals: {reason}"):
                assert (call()[1] > 0).all()
    # Predictions are judged, not coefficients.
    expected = model.log_likelihood(*data, average="mean")
    assert log_likelihood_scorer()(model, *data) == expected


def test_aic_is_refused_where_the_data_chose_or_bounds_hold(data):
    for options, reason in ((LASSO, "l1_ratio > 0"), (HELD, "bounds")):
        model = ListMLERanker(**options).fit(*data)
        with pytest.raises(ValueError, match=f"There is no AIC: .*{reason}"):
            model.aic(*data)
    assert np.isfinite(ListMLERanker(alpha=0.1).fit(*data).aic(*data))


def test_bounds_that_hold_nothing_and_a_share_of_no_penalty_change_nothing(data):
    free = ListMLERanker(alpha=0, tol=1e-12).fit(*data)
    expected = free.summary(*data)
    small = ListMLERanker(alpha=0, tol=1e-12).fit(data[0][:, :2], *data[1:])
    for options in ({"bounds": (-9, 9)}, {"l1_ratio": 0.5}):
        model = ListMLERanker(alpha=0, tol=1e-12, **options).fit(*data)
        assert not model.at_bounds_.any()
        summary = model.summary(*data)
        np.testing.assert_allclose(summary.clustered, expected.clustered, rtol=1e-6)
        assert summary.criterion == pytest.approx(expected.criterion, rel=1e-9)
        assert wald_test(model, *data).p_value < 1e-4
        test = likelihood_ratio_test(small, model, *data, X_small=data[0][:, :2])
        assert test.df == 1


def test_coefficients_without_errors_are_drawn(data):
    mpl = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
    with mpl.rc_context({"backend": "agg"}):
        model = ListMLERanker(**LASSO).fit(*data)
        with pytest.warns(UserWarning, match="No standard errors"):
            display = CoefficientDisplay.from_estimator(model, *data)
    assert len(display.ax_.get_yticklabels()) == 3
