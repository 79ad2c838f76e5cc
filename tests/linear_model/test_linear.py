"""What every linear ranker does: parameters, attributes, progress, repeated fits."""

import copy

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import InvalidParameterError

from skrank import LinearRanker, ListMLERanker, PMOPRanker, with_groups
from skrank.losses import ListMLE, ListNet, Loss
from skrank.model_selection import QueryKFold

# Models of ties say when no rows are tied, or all are.
pytestmark = pytest.mark.filterwarnings("ignore:.*parameter of ties stops at its")


def near_optimum(fitted, other):
    """Compare two fits with the settings of ``exact``.

    The solver ends where the objective is flat to its last digit, eps: the root of
    that in the weights.
    """
    np.testing.assert_allclose(fitted.coef_, other.coef_, rtol=0, atol=1e-7)


def test_what_a_fit_leaves(ranker, lists):
    X, y, groups = lists
    estimator = ranker()
    assert estimator.fit(X, y, groups) is estimator
    assert estimator.coef_.shape == (5,)
    assert estimator.coef_.dtype == np.float64
    assert estimator.extra_.ndim == 1
    assert isinstance(estimator.n_iter_, int)
    assert estimator.n_iter_ >= 1
    assert isinstance(estimator.objective_, float)
    assert estimator.n_features_in_ == 5
    np.testing.assert_array_equal(estimator.predict(X), X @ estimator.coef_)
    score = estimator.score(X, y, groups)
    assert type(score) is float
    assert 0.8 < score <= 1.0


def test_one_iteration_is_counted_where_nothing_is_to_be_done(ranker, lists):
    X, y, groups = lists
    with pytest.warns(UserWarning, match="all rows of each list are"):
        fitted = ranker().fit(X, np.ones(len(y)), groups)
    if not len(fitted.extra_):  # parameters of ties have much to do
        assert fitted.n_iter_ == 1


def test_a_fit_changes_neither_inputs_nor_parameters(ranker, lists):
    X, y, groups = lists
    groups = np.random.default_rng(0).permutation(groups)
    weight = np.ones(len(y))
    copies = [np.array(values) for values in (X, y, groups, weight)]
    estimator = ranker()
    before = copy.deepcopy(estimator.get_params())
    estimator.fit(X, y, groups, sample_weight=weight)
    for values, kept in zip((X, y, groups, weight), copies, strict=True):
        np.testing.assert_array_equal(values, kept)
    assert repr(estimator.get_params()) == repr(before)


def test_a_second_fit_forgets_the_first(ranker, lists):
    X, y, groups = lists
    twice = ranker().fit(-3 * X[:100], y[:100], groups[:100]).fit(X, y, groups)
    once = ranker().fit(X, y, groups)
    np.testing.assert_array_equal(twice.coef_, once.coef_)
    assert twice.n_iter_ == once.n_iter_


def test_a_warm_start_reaches_the_same_optimum_in_fewer_iterations(
    ranker, lists, exact
):
    cold = ranker(alpha=0.1, **exact).fit(*lists)
    warm = ranker(alpha=0.1001, warm_start=True, **exact).fit(*lists)
    warm.set_params(alpha=0.1).fit(*lists)
    near_optimum(warm, cold)
    # The last digits take as long from anywhere.
    cold = ranker(alpha=0.1).fit(*lists)
    warm = ranker(alpha=0.1001, warm_start=True).fit(*lists)
    assert warm.set_params(alpha=0.1).fit(*lists).n_iter_ < cold.n_iter_


def test_a_warm_start_leaves_features_that_are_constant_now(ranker, lists):
    X, y, groups = lists
    warm = ranker(warm_start=True).fit(X, y, groups)
    constant = X.copy()
    constant[:, 0] = groups
    with pytest.warns(UserWarning, match="constant inside every list"):
        warm.fit(constant, y, groups)
    assert warm.coef_[0] == 0.0


def test_a_warm_start_with_other_features_raises(ranker, lists):
    X, y, groups = lists
    warm = ranker(warm_start=True).fit(X, y, groups)
    with pytest.raises(ValueError, match="had 5 features and this one has 3"):
        warm.fit(X[:, :3], y, groups)


def test_a_warm_start_with_another_loss_raises(lists):
    warm = LinearRanker(Centred(), warm_start=True).fit(*lists)
    warm.set_params(loss=CentredShifted())
    with pytest.raises(ValueError, match="had 0 parameters of the loss and this one"):
        warm.fit(*lists)


def test_progress_is_printed_on_request_only(ranker, lists, capsys):
    ranker().fit(*lists)
    assert capsys.readouterr().out == ""
    fitted = ranker(verbose=1).fit(*lists)
    out = capsys.readouterr().out.splitlines()
    assert all(line.startswith(f"[{ranker.__name__}] ") for line in out)
    if ranker is not PMOPRanker:  # which is fitted from two starts
        assert len(out) == fitted.n_iter_ + 2  # zero weights, iterations, the end


def test_a_limit_of_iterations_warns_with_advice_where_fit_was_called(ranker, lists):
    with pytest.warns(ConvergenceWarning, match="Raise max_iter") as caught:
        fitted = ranker(max_iter=2).fit(*lists)
    assert caught[0].filename == __file__
    assert fitted.n_iter_ == 2


@pytest.mark.parametrize("n_jobs", [2, 4, -1])
@pytest.mark.parametrize("together", [True, False], ids=["together", "shuffled"])
def test_any_number_of_threads_gives_the_same_bits(ranker, n_jobs, together):
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(300), 20)
    if not together:
        groups = rng.permutation(groups)
    X = rng.normal(size=(6000, 20))
    y = rng.integers(0, 4, 6000)
    alone = ranker().fit(X, y, groups)
    fitted = ranker(n_jobs=n_jobs).fit(X, y, groups)
    np.testing.assert_array_equal(fitted.coef_, alone.coef_)
    assert fitted.objective_ == alone.objective_


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", -1.0),
        ("alpha", np.nan),
        ("alpha", "1"),
        ("normalize", "rows"),
        ("max_iter", 0),
        ("tol", -1e-3),
        ("ftol", -1e-3),
        ("warm_start", "yes"),
        ("n_jobs", 1.5),
        ("verbose", -1),
    ],
)
def test_invalid_parameters_raise_scikit_learns_message(ranker, lists, name, value):
    message = f"The '{name}' parameter of {ranker.__name__} must be"
    with pytest.raises(InvalidParameterError, match=message):
        ranker(**{name: value}).fit(*lists)


def test_a_loss_that_is_none_raises(lists):
    with pytest.raises(InvalidParameterError, match="'loss' parameter of LinearRanker"):
        LinearRanker("listmle").fit(*lists)


def test_no_loss_is_listmle(lists):
    np.testing.assert_array_equal(
        LinearRanker().fit(*lists).coef_, ListMLERanker().fit(*lists).coef_
    )


class Centred(Loss):
    """Squares of labels less scores, both about their mean in the list."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def prepare(self, y, lists):
        return self.scale * (y - lists.expand(lists.sum(y) / lists.sizes))

    def value_and_gradient(self, scores, prepared, lists):
        mean = lists.expand(lists.sum(scores) / lists.sizes)
        error = scores - mean - prepared
        return lists.sum(error**2) / 2, error


class CentredShifted(Centred):
    """The same with a parameter that does nothing but find its best value, 3."""

    def extra_parameters(self, y, lists):
        return np.zeros(1)

    def value_and_gradient(self, scores, prepared, lists, extra):
        values, gradient = super().value_and_gradient(scores, prepared, lists)
        off = extra[0] - 3.0
        in_extra = np.full((lists.n_lists, 1), off)
        return values + off**2 / 2, gradient, in_extra


def test_a_strangers_loss_is_fitted_to_its_closed_form(lists, exact):
    X, y, groups = lists
    fitted = LinearRanker(Centred(2.0), alpha=0.3, **exact).fit(X, y, groups)
    centred = X.copy()
    target = 2.0 * y
    for group in range(40):
        rows = groups == group
        centred[rows] -= centred[rows].mean(axis=0)
        target[rows] -= target[rows].mean()
    ridge = centred.T @ centred / 40 + 0.3 * np.eye(5)
    expected = np.linalg.solve(ridge, centred.T @ target / 40)
    np.testing.assert_allclose(fitted.coef_, expected, rtol=0, atol=1e-7)


class Linear(Loss):
    """Scores times labels about their mean: the gradient is always the same."""

    def prepare(self, y, lists):
        gradient = lists.expand(lists.sum(y) / lists.sizes) - y
        gradient.flags.writeable = False
        return gradient

    def value_and_gradient(self, scores, prepared, lists):
        return lists.sum(prepared * scores), prepared


def test_a_gradient_that_a_loss_keeps_is_not_written_to(lists):
    X, y, groups = lists
    fitted = LinearRanker(Linear(), alpha=1.0).fit(X, y, groups)
    mean = np.bincount(groups, y) / np.bincount(groups)
    expected = X.T @ (y - mean[groups]) / len(mean)
    np.testing.assert_allclose(fitted.coef_, expected, rtol=0, atol=1e-7)


def test_parameters_of_a_strangers_loss_are_learned(lists, exact):
    fitted = LinearRanker(CentredShifted(), **exact).fit(*lists)
    near_optimum(fitted, LinearRanker(Centred(), **exact).fit(*lists))
    np.testing.assert_allclose(fitted.extra_, [3.0], rtol=0, atol=1e-7)


def test_a_grid_over_the_parameters_of_a_loss_fits_each(lists):
    X, y, groups = lists
    search = GridSearchCV(
        LinearRanker(ListNet("softmax")),
        {"loss__temperature": [0.1, 10.0], "alpha": [0.1, 1.0]},
        cv=QueryKFold(3),
    ).fit(X, with_groups(y, groups))
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    best = search.best_params_
    loss = ListNet("softmax", best["loss__temperature"])
    expected = LinearRanker(loss, alpha=best["alpha"]).fit(X, y, groups)
    np.testing.assert_array_equal(search.best_estimator_.coef_, expected.coef_)


def test_a_grid_may_choose_the_loss(lists):
    X, y, groups = lists
    search = GridSearchCV(
        LinearRanker(), {"loss": [ListMLE(), ListNet()]}, cv=QueryKFold(3)
    ).fit(X, with_groups(y, groups))
    assert len(set(search.cv_results_["mean_test_score"])) == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite_raise(ranker, lists, bad):
    X, y, groups = lists
    fitted = ranker().fit(X, y, groups)
    X = X.copy()
    X[7, 2] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        ranker().fit(X, y, groups)
    with pytest.raises(ValueError, match="Input X contains"):
        fitted.predict(X)


def test_masked_features_raise_rather_than_show_what_is_under_the_mask(ranker, lists):
    X, y, groups = lists
    fitted = ranker().fit(X, y, groups)
    masked = np.ma.array(X, mask=X > 2)
    with pytest.raises(ValueError, match="masked entries"):
        ranker().fit(masked, y, groups)
    with pytest.raises(ValueError, match="masked entries"):
        fitted.predict(masked)
    ranker().fit(np.ma.array(X, mask=False), y, groups)
