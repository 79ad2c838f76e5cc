"""Wrong answers that users of other packages reported, and the right ones."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold

from skrank import (
    ListMLERanker,
    ListNetRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
    rank_within,
    with_groups,
)
from skrank.metrics import ndcg_score, ndcg_scorer
from skrank.model_selection import QueryKFold, group_train_test_split

# Models of ties say when no rows are tied, or all are.
pytestmark = pytest.mark.filterwarnings("ignore:.*parameter of ties stops at its")

PAIR = [[1.0], [0.0]], [1, 0], ["q", "q"]


@pytest.mark.parametrize(
    ("alpha", "weight"),
    [(1, 0.40105813754), (0.1, 1.63350617016), (0.01, 3.35927504537)],
)
def test_one_pair_has_the_weight_of_the_formula(logistic_ranker, exact, alpha, weight):
    fitted = logistic_ranker(alpha=alpha, normalize=None, **exact).fit(*PAIR)
    assert fitted.coef_[0] == pytest.approx(weight, abs=1e-7)
    root = brentq(lambda w: alpha * w - expit(-w), 0, 10, xtol=1e-12)
    assert root == pytest.approx(weight, abs=1e-11)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_without_penalty_no_finite_weights_are_best(logistic_ranker, scale):
    X, y, groups = PAIR
    with pytest.warns(UserWarning, match="no finite weights are best") as caught:
        fitted = logistic_ranker(alpha=0).fit(scale * np.array(X), y, groups)
    assert caught[0].filename == __file__
    assert np.isfinite(fitted.coef_).all()
    assert fitted.coef_[0] > 0


def test_shuffled_rows_warn_too(logistic_ranker):
    X, y, groups = np.array([[1.0], [2], [0], [0]]), [1, 1, 0, 0], ["a", "b", "a", "b"]
    with pytest.warns(UserWarning, match="no finite weights are best"):
        logistic_ranker(alpha=0).fit(X, y, groups)


def marked_winners(lists):
    """Return lists with a feature that is 1 for the best row of some, else 0."""
    X, y, groups = lists
    mark = np.zeros(len(y))
    for q in np.unique(groups)[::3]:
        rows = np.flatnonzero(groups == q)
        if np.sum(y[rows] == y[rows].max()) == 1:
            mark[rows[np.argmax(y[rows])]] = 1.0
    return np.column_stack((X, mark)), y, groups


def test_without_penalty_a_feature_that_tells_winners_for_sure_is_named(
    logistic_ranker, lists
):
    X, y, groups = marked_winners(lists)
    frame = pd.DataFrame(X, columns=[*"abcde", "winner"])
    if logistic_ranker is ListNetRanker:  # a winner has a share of all gains only
        assert abs(logistic_ranker(alpha=0).fit(frame, y, groups).coef_[5]) < 10
        return
    message = "with alpha=0 the fit improves for ever .* a direction of winner, so"
    with pytest.warns(UserWarning, match=message) as caught:
        fitted = logistic_ranker(alpha=0).fit(frame, y, groups)
    assert [warning.filename for warning in caught] == [__file__]
    assert fitted.coef_[5] > 3
    logistic_ranker(alpha=1e-3).fit(frame, y, groups)


@pytest.mark.parametrize("hinge", ["squared", "linear"])
def test_a_hinge_has_finite_weights_for_such_a_feature(lists, hinge):
    for ranker in (RankSVMRanker(hinge, alpha=0), RankRegressionRanker(alpha=0)):
        fitted = ranker.fit(*marked_winners(lists))
        assert 0 < fitted.coef_[5] < 5


def test_a_loss_with_finite_weights_does_not_warn_where_pairs_are_in_order(exact):
    # Probabilities of labels 1, 0 are met exactly by scores 1 apart.
    fitted = ListNetRanker("softmax", alpha=0, **exact).fit(*PAIR)
    assert fitted.coef_[0] == pytest.approx(1.0, abs=1e-7)


def test_without_penalty_overlapping_pairs_do_not_warn(ranker, lists):
    fitted = ranker(alpha=0).fit(*lists)
    assert np.abs(fitted.coef_).max() < 10


@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_lists_of_two_are_logistic_regression_on_differences(
    logistic_ranker, exact, alpha
):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    groups, y = np.repeat(np.arange(60), 2), np.tile([1, 0], 60)
    fitted = logistic_ranker(alpha=alpha, normalize=None, **exact).fit(X, y, groups)
    difference = X[::2] - X[1::2]
    logistic = LogisticRegression(
        C=1 / (60 * alpha), fit_intercept=False, tol=1e-12, max_iter=1000
    )
    logistic.fit(
        np.r_[difference, -difference], np.repeat([1, 0], 60), np.full(120, 0.5)
    )
    np.testing.assert_allclose(fitted.coef_, logistic.coef_[0], rtol=0, atol=1e-7)


@pytest.mark.parametrize("level", [1.0, 1e7])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_a_feature_constant_in_every_list_has_weight_zero(ranker, lists, level, alpha):
    X, y, groups = lists
    constant = np.column_stack((X, level * np.sin(groups)))
    with pytest.warns(UserWarning, match="1 of 6 features are constant.*column 5"):
        fitted = ranker(alpha=alpha).fit(constant, y, groups)
    assert fitted.coef_[5] == 0.0
    plain = ranker(alpha=alpha).fit(X, y, groups)
    np.testing.assert_allclose(fitted.coef_[:5], plain.coef_, rtol=0, atol=1e-5)


def test_two_thousand_rows_with_a_thousand_positives_are_finite(ranker):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 2)), np.repeat([0, 1], 1000)
    X[:, 0] += y
    fitted = ranker().fit(X, y, np.zeros(2000))
    assert np.isfinite(fitted.objective_)
    assert fitted.coef_[0] > 0.01


def test_relabelled_groups_give_the_same_weights(ranker, exact):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 2)), np.array([1, 0, 2, 0, 1, 0])
    numbers = np.array([3, 3, 1, 1, 1, 2])
    first = ranker().fit(X, y, numbers).coef_
    assert first.any()
    for labels in ([1, 1, 2, 2, 2, 3], list("ccaaab"), [0.5, 0.5, -1, -1, -1, 0]):
        np.testing.assert_array_equal(ranker().fit(X, y, labels).coef_, first)
    rows = rng.permutation(6)
    # In another order the way to the optimum is another, but not the optimum.
    best = ranker(**exact).fit(X, y, numbers)
    shuffled = ranker(**exact).fit(X[rows], y[rows], numbers[rows])
    np.testing.assert_allclose(shuffled.coef_, best.coef_, rtol=0, atol=1e-8)


def test_a_list_repeated_under_new_names_has_that_weight(ranker, lists, exact):
    X, y, groups = lists
    times = 1 + groups % 3
    weighted = ranker(**exact).fit(X, y, groups, sample_weight=times)
    rows = np.concatenate([np.flatnonzero(times > copy) for copy in range(3)])
    names = np.concatenate([groups[times > copy] + 100 * copy for copy in range(3)])
    repeated = ranker(**exact).fit(X[rows], y[rows], names)
    np.testing.assert_allclose(repeated.coef_, weighted.coef_, rtol=0, atol=1e-7)


def test_rows_repeated_inside_a_list_are_another_list(ranker, lists):
    X, y, groups = lists
    rows = np.r_[np.arange(len(y)), np.flatnonzero(y == 0)]
    other = ranker().fit(X[rows], y[rows], groups[rows])
    assert np.abs(other.coef_ - ranker().fit(*lists).coef_).max() > 1e-3


@pytest.mark.filterwarnings("ignore:.*constant inside every list")  # two rows, tiny set
@pytest.mark.parametrize("cv", [QueryKFold(2), GroupKFold(2)], ids=repr)
def test_a_search_over_group_folds_runs(cv):
    X = [[0, 0, 0.01], [1, 0, 1], [0.43, 0, 0], [0.43, 0, 0.4], [0, 0, 0.01]]
    X = np.array([*X, [0, 0, 0.31], [0, 0, 1], [0, 0, 0], [0, 0, 0.15]])
    y, groups = np.array([0, 0, 1, 0, 3, 0, 4, 0, 0]), np.repeat([0, 1], [7, 2])
    # The fold without a relevant row is undefined, says so and counts 0.
    search = GridSearchCV(ListMLERanker(), {"alpha": [0.1, 1]}, cv=cv)
    tied = pytest.warns(UserWarning, match="all rows of each list are tied")
    with pytest.warns(UndefinedMetricWarning, match="no relevant row"), tied:
        search.fit(X, with_groups(y, groups), groups=groups)
    folds = [list(test) for _, test in cv.split(X, y, groups)]
    trained_on_zeros = folds.index([0, 1, 2, 3, 4, 5, 6])
    values = search.cv_results_[f"split{trained_on_zeros}_test_score"]
    np.testing.assert_allclose(values, 0.6001768593817169, rtol=1e-14)
    undefined = search.cv_results_[f"split{1 - trained_on_zeros}_test_score"]
    np.testing.assert_array_equal(undefined, 0.0)
    assert search.best_params_["alpha"] in (0.1, 1)
    with tied:
        zeros = ListMLERanker().fit(X[7:], y[7:], groups[7:])
    np.testing.assert_array_equal(zeros.coef_, 0.0)
    linear = ndcg_score(y[:7], zeros.predict(X[:7]), groups[:7], gain="linear")
    assert linear == pytest.approx(0.6503755565758812, rel=1e-14)


def test_a_reversed_ranker_scores_low(ranker, lists):
    X, y, groups = lists
    fitted = ranker().fit(X, y, groups)
    high = fitted.score(X, y, groups)
    fitted.coef_ = -fitted.coef_
    assert fitted.score(X, y, groups) < 0.75 < 0.9 < high


@pytest.mark.parametrize("name", ["group", "qid", "query_id"])
def test_the_groups_of_other_packages_raise_with_the_name_of_ours(ranker, lists, name):
    X, y, groups = lists
    message = f"{ranker.__name__}.fit\\(\\) got .*'{name}'. Did you mean 'groups'"
    with pytest.raises(TypeError, match=message):
        ranker().fit(X, y, **{name: groups})
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'grups'"):
        ranker().fit(X, y, grups=groups)
    fitted = ranker().fit(X, y, groups)
    with pytest.raises(TypeError, match=message.replace("fit", "score")):
        fitted.score(X, y, **{name: groups})
    with pytest.raises(TypeError, match=r"^RankingScorer.*Did you mean 'groups'"):
        ndcg_scorer()(fitted, X, y, **{name: groups})
    for function in (ndcg_score, rank_within, group_train_test_split):
        with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) .*'groups'"):
            function(fitted.predict(X), y, **{name: groups})


def test_one_weight_a_list_raises_and_one_a_row_is_taken(ranker):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 2)), rng.integers(0, 3, 1000)
    groups = np.sort(np.arange(1000) % 33)
    weights = rng.random(33)
    with pytest.raises(ValueError, match=r"shape \(33,\) for 1000 rows in 33 lists"):
        ranker().fit(X, y, groups, sample_weight=weights)
    fitted = ranker().fit(X, y, groups, sample_weight=weights[groups])
    assert np.abs(fitted.coef_ - ranker().fit(X, y, groups).coef_).max() > 1e-4


@pytest.mark.parametrize(
    "labels",
    [
        ["q1", "q1", "q2", "q2"],
        [1.0, 1.0, 2.5, 2.5],
        [("a", 1), ("a", 1), ("a", 2), ("a", 2)],
        np.array(["2026-11-30"] * 2 + ["2026-12-01"] * 2, dtype="M8[D]"),
        pd.Categorical(["x", "x", "y", "y"]),
    ],
    ids=["strings", "floats", "tuples", "dates", "categories"],
)
def test_labels_of_every_kind_are_groups(ranker, labels):
    X, y = [[0.0], [1.0], [5.0], [7.0]], [0, 1, 0, 1]
    expected = ranker().fit(X, y, [0, 0, 1, 1]).coef_
    np.testing.assert_array_equal(ranker().fit(X, y, labels).coef_, expected)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT, pd.NA], ids=repr)
def test_missing_groups_raise(ranker, missing):
    X, y = [[0.0], [1.0], [5.0], [7.0]], [0, 1, 0, 1]
    with pytest.raises(ValueError, match="1 missing value"):
        ranker().fit(X, y, ["a", "a", "b", missing])


def test_no_groups_raise_rather_than_rank_all_rows_as_one(ranker):
    with pytest.raises(ValueError, match=r"pass groups=np.zeros\(len\(y\)\)"):
        ranker().fit(np.eye(5), [1, 2, 3, 4, 5])


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_one_win_each_puts_both_level(ranker, alpha):
    X = np.array([[0.3], [0.7], [0.3], [0.7]])
    y, groups = [1, 0, 0, 1], [0, 0, 1, 1]
    half = np.full(4, 0.5)
    fitted = ranker(alpha=alpha).fit(X, y, groups, sample_weight=half)
    # Gradients cancel but for rounding, whose root is what the solver can tell.
    assert fitted.coef_[0] == pytest.approx(0.0, abs=1e-7)


def test_a_tie_beside_a_win_is_half_a_win_each():
    # a = b, b > c: Efron's likelihood of the tie over both orders of a and b.
    X, groups = np.array([[1.0, 0], [0, 1], [0, 0]]), np.zeros(3)
    tied = ListMLERanker().fit(X, [1, 1, 0], groups).coef_
    assert tied[0] == pytest.approx(tied[1], abs=1e-7)
    pairs = RankNetRanker().fit(X, [1, 1, 0], groups).coef_
    assert pairs[0] == pytest.approx(pairs[1], abs=1e-7)
