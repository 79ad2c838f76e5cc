"""Sizes of layers, several networks, warm starts, callbacks and networks of users."""

import numpy as np
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank import Lists  # noqa: E402
from skrank.datasets import make_ranking  # noqa: E402
from skrank.losses import Davidson, RankNet  # noqa: E402
from skrank.metrics import list_labels, ndcg_score, ndcg_scorer  # noqa: E402
from skrank.neural import ListData, MLPRanker, STARanker  # noqa: E402
from skrank.neural._callbacks import HAS_CALLBACKS  # noqa: E402
from skrank.neural._fitting import lists_in_a_step  # noqa: E402

ONE_NETWORK = {"n_networks": 1, "early_stopping": False, "dropout": 0.0}
QUICK = {**ONE_NETWORK, "max_epochs": 4, "hidden_size": 8, "random_state": 0}
BOTH = pytest.mark.parametrize("ranker", [STARanker, MLPRanker])
needs_callbacks = pytest.mark.skipif(
    not HAS_CALLBACKS, reason="scikit-learn has callbacks from 1.9 on"
)


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_lists=30, list_size=(2, 6), n_features=4, random_state=0)


def test_sizes_of_layers_are_those_asked_for(data):
    head = MLPRanker(**{**QUICK, "hidden_size": (8, 5, 3)}).fit(*data).network_["head"]
    assert [tuple(layer.weight.shape) for layer in head.hidden] == [(5, 8), (3, 5)]
    assert head.v.weight.shape == (1, 3)
    head = STARanker(**{**QUICK, "hidden_size": (8, 5)}).fit(*data).network_["head"]
    assert head.of_row.weight.shape == head.of_state.weight.shape == (5, 8)


@BOTH
def test_one_size_stands_for_all_layers(data, ranker):
    X, y, groups = data
    one = ranker(**QUICK).fit(X, y, groups).predict(X, groups)
    for sizes in [(8,), (8, 8), [8, 8]]:
        same = ranker(**{**QUICK, "hidden_size": sizes}).fit(X, y, groups)
        np.testing.assert_array_equal(same.predict(X, groups), one)


@BOTH
@pytest.mark.parametrize("sizes", [0, (), (8, 0), (8, 2.0), (8, True)])
def test_sizes_that_are_no_positive_integers_are_refused(data, ranker, sizes):
    with pytest.raises(ValueError, match="hidden_size"):
        ranker(**{**QUICK, "hidden_size": sizes}).fit(*data)


def test_an_arranger_has_two_sizes_at_most(data):
    with pytest.raises(ValueError, match="the sizes of h and of v"):
        STARanker(**{**QUICK, "hidden_size": (8, 4, 2)}).fit(*data)


def parts(model, data):
    """Return rankers with one each of the networks of a ranker."""
    single = []
    for network in model.networks_:
        part = clone(model).fit(*data)
        part.networks_ = [network]
        single.append(part)
    return single


def test_scores_of_several_networks_are_averaged(data):
    X, y, groups = data
    model = MLPRanker(**{**QUICK, "n_networks": 3}).fit(X, y, groups)
    scores = [part.predict(X, groups) for part in parts(model, data)]
    assert not np.allclose(scores[0], scores[1], atol=1e-3)
    expected = np.mean(scores, axis=0)
    np.testing.assert_allclose(model.predict(X, groups), expected, atol=1e-14)
    assert model.loss_curves_.shape == (3, 4)
    np.testing.assert_allclose(model.loss_curve_, model.loss_curves_.mean(0))


def test_several_networks_arrange_by_their_mean_scores_at_each_place(data):
    X, y, groups = data
    model = STARanker(**{**QUICK, "n_networks": 2}).fit(X, y, groups)
    ranks, scores = model.arrange(X, groups, return_scores=True)
    for label in list_labels(groups):
        of_list = groups == label
        np.testing.assert_array_equal(
            scores[label].argmax(1), np.argsort(ranks[of_list])
        )
    # The likelihood is that of the softmax of these scores over what is left.
    values = model.log_likelihood(X, -ranks.astype(float), groups, average=None)
    for label, value in zip(list_labels(groups), values, strict=True):
        best = scores[label].max(1)
        total = np.log(np.exp(scores[label]).sum(1))
        assert value == pytest.approx((best - total).sum(), abs=1e-12)
    single = [part.arrange(X, groups) for part in parts(model, data)]
    assert not np.array_equal(single[0], single[1])


@BOTH
def test_networks_stop_each_for_itself(data, ranker):
    model = ranker(
        **{
            **{**QUICK, "max_epochs": 40, "learning_rate": 0.1, "n_networks": 3},
            **{"early_stopping": True, "n_epochs_no_change": 2},
        }
    ).fit(*data)
    lengths = np.isfinite(model.loss_curves_).sum(axis=1)
    assert model.n_epochs_ == lengths.max() > lengths.min()
    for curve, length in zip(model.validation_curves_, lengths, strict=True):
        assert np.isfinite(curve).sum() == length
        assert np.nanargmin(curve) == length - 3 or length == 40


@BOTH
def test_a_warm_start_goes_on_where_the_last_fit_ended(data, ranker):
    X, y, groups = data
    model = ranker(**QUICK, warm_start=True).fit(X, y, groups)
    first = model.loss_curve_
    before = {key: value.clone() for key, value in model.network_.state_dict().items()}
    network = model.network_
    second = model.fit(X, y, groups).loss_curve_
    assert second[0] < first[-1] + 0.1 * (first[0] - first[-1])
    for key, value in network.state_dict().items():  # the old one is left alone
        assert torch.equal(value, before[key])
    cold = model.set_params(warm_start=False).fit(X, y, groups)
    np.testing.assert_array_equal(cold.loss_curve_, first)


@BOTH
def test_a_warm_start_keeps_the_scale_of_the_first_fit(data, ranker):
    X, y, groups = data
    model = ranker(**QUICK, warm_start=True).fit(X, y, groups)
    scores = model.predict(X, groups)
    model.set_params(learning_rate=1e-12).fit(5.0 * X + 3.0, y, groups)
    np.testing.assert_allclose(model.predict(X, groups), scores, atol=1e-6)


@BOTH
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 5}, "the layers of the last fit were others"),
        ({"set_encoder": "mlp"}, "the layers of the last fit were others"),
        ({"n_networks": 2}, "the last fit had n_networks=1 and this one has 2"),
    ],
    ids=str,
)
def test_a_warm_start_of_other_layers_is_refused(data, ranker, change, message):
    model = ranker(**QUICK, warm_start=True).fit(*data)
    with pytest.raises(ValueError, match=message):
        model.set_params(**change).fit(*data)


def test_longer_lists_than_before_can_be_warm_started(data):
    X, y, groups = data
    model = STARanker(**QUICK, warm_start=True).fit(X, y, groups)
    longer = groups // 2
    assert model.fit(X, y, longer).predict(X, longer).min() < -6


@pytest.mark.parametrize("n_columns", [0, 1])
def test_a_module_of_the_user_is_trained(data, n_columns):
    X, y, groups = data
    layers = [torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)]
    if n_columns == 0:
        layers.append(torch.nn.Flatten(-2))
    module = torch.nn.Sequential(*layers)
    before = module[0].weight.clone()
    options = {**QUICK, "max_epochs": 30, "learning_rate": 0.02}
    model = MLPRanker(RankNet(), scorer=module, **options).fit(X, y, groups)
    assert model.loss_curve_[-1] < 0.8 * model.loss_curve_[0]
    assert torch.equal(module[0].weight, before)  # a copy was trained
    again = clone(model).fit(X, y, groups)
    np.testing.assert_array_equal(again.predict(X, groups), model.predict(X, groups))
    other = clone(model).set_params(random_state=1).fit(X, y, groups)
    assert other.loss_curve_[0] != model.loss_curve_[0]  # weights are drawn anew


class SetScorer(torch.nn.Module):
    """Scores candidates beside the mean of their list."""

    def __init__(self, n_features):
        super().__init__()
        self.layer = torch.nn.Linear(2 * n_features, 1)

    def forward(self, candidates, valid):
        assert (candidates[~valid] == 0).all()
        mean = candidates.sum(1) / valid.sum(1, keepdim=True)
        both = torch.cat((candidates, mean[:, None].expand_as(candidates)), -1)
        return self.layer(both)


def test_a_module_may_be_made_for_the_features_and_see_which_rows_are_valid(data):
    X, y, groups = data
    model = MLPRanker(Davidson(), scorer=SetScorer, **{**QUICK, "n_networks": 2})
    model.fit(X, y, groups)
    assert model.extra_.shape == Davidson().extra_parameters(y, Lists([len(y)])).shape
    scores = model.predict(X, groups)
    alone = model.predict(X[groups == 3], groups[groups == 3])
    np.testing.assert_allclose(scores[groups == 3], alone, atol=1e-14)


def test_modules_that_do_not_score_candidates_are_refused(data):
    X, y, groups = data
    with pytest.raises(ValueError, match=r"must return one score a candidate.*, 2\)"):
        MLPRanker(scorer=torch.nn.Linear(4, 2), **QUICK).fit(X, y, groups)
    with pytest.raises(TypeError, match=r"scorer must be a torch\.nn\.Module"):
        MLPRanker(scorer=lambda n_features: 3, **QUICK).fit(X, y, groups)
    profile = ListData({label: [0.0] for label in list_labels(groups)})
    with pytest.raises(ValueError, match="scorer= reads candidates alone"):
        MLPRanker(scorer=SetScorer, **QUICK).fit(X, y, groups, profile=profile)


def test_lists_in_a_step_follow_their_work_and_number():
    mlp, star = MLPRanker(), STARanker()
    assert lists_in_a_step(MLPRanker(batch_size=32), Lists([5] * 10)) == 32
    assert lists_in_a_step(mlp, Lists([100] * 1000)) == 8  # 5.12, but at least 8
    assert lists_in_a_step(mlp, Lists([20] * 1000)) == 26
    assert lists_in_a_step(star, Lists([20] * 1000)) == 20  # 512 / (20 + 400 / 64)
    assert lists_in_a_step(star, Lists([8, 24] * 500)) == 25  # 512 / (16 + 320 / 64)
    assert lists_in_a_step(mlp, Lists([2] * 5000)) == 128
    assert lists_in_a_step(mlp, Lists([5] * 200)) == 20  # ten steps an epoch


@BOTH
def test_a_metric_of_validation_may_be_a_name_a_function_or_a_scorer(data, ranker):
    X, y, groups = data
    options = {**QUICK, "early_stopping": True, "validation_fraction": 0.3}
    curves = [
        ranker(**options, validation_metric=metric).fit(X, y, groups).validation_curve_
        for metric in ("ndcg", ndcg_score, ndcg_scorer())
    ]
    np.testing.assert_array_equal(curves[1], curves[0])
    np.testing.assert_array_equal(curves[2], curves[0])
    with pytest.raises(ValueError, match="there is no metric 'ndgc'"):
        ranker(**options, validation_metric="ndgc").fit(X, y, groups)


@BOTH
def test_validation_weighs_lists_as_training_does(data, ranker):
    X, y, groups = data
    passed = []

    def metric(y, scores, groups, sample_weight=None):
        passed.append((y, groups, sample_weight))
        return 0.5

    weights = 1.0 + groups % 3
    options = {**QUICK, "early_stopping": True, "validation_fraction": 0.3}
    model = ranker(**options, validation_metric=metric)
    model.fit(X, y, groups, sample_weight=weights)
    labels, of_list, passed_weights = passed[0]
    assert len(np.unique(of_list)) == 9
    assert len(labels) == len(passed_weights)
    np.testing.assert_allclose(
        np.unique(passed_weights) / passed_weights.min(), [1.0, 2.0, 3.0]
    )


@needs_callbacks
@BOTH
def test_callbacks_of_scikit_learn_see_each_epoch_and_the_state_so_far(data, ranker):
    from sklearn.callback import ScoringMonitor

    X, y, groups = data
    two = {**QUICK, "n_networks": 2}
    monitor = ScoringMonitor(scoring={"ndcg": ndcg_scorer()})
    model = ranker(**two).set_callbacks(monitor).fit(X, y, groups)
    expected = ranker(**two).fit(X, y, groups)
    np.testing.assert_array_equal(model.loss_curves_, expected.loss_curves_)
    logs = monitor.get_logs().data
    epochs = [row for row in logs if row["task_name"] == "epoch"]
    assert len(epochs) == 8
    assert epochs[-1]["ndcg"] == model.score(X, y, groups)
    assert "_callback_fit_ctx" not in vars(model)


@needs_callbacks
@BOTH
def test_a_callback_may_stop_a_network_and_is_torn_down_after_an_error(data, ranker):
    class Stopper:
        """Stops after two epochs; an error comes if it shall."""

        def __init__(self, error=None):
            self.calls, self.error, self.torn_down = 0, error, 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            self.torn_down += 1

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            if context.task_name != "epoch":
                return False
            self.calls += 1
            if self.error is not None:
                raise self.error
            return self.calls == 2

    stopper = Stopper()
    model = ranker(**QUICK).set_callbacks(stopper).fit(*data)
    assert (model.n_epochs_, stopper.torn_down) == (2, 1)
    failing = Stopper(RuntimeError("of the callback"))
    model.set_callbacks(failing)
    with pytest.raises(RuntimeError, match="of the callback"):
        model.fit(*data)
    assert (model.n_epochs_, failing.torn_down) == (2, 1)


@BOTH
def test_lists_are_set_apart_by_default_where_there_are_ten(data, ranker):
    X, y, groups = data
    model = ranker(max_epochs=2, hidden_size=4, n_networks=1, random_state=0)
    for n_lists, n_values in [(9, 0), (10, 2)]:
        part = groups < n_lists
        model.fit(X[part], y[part], groups[part])
        assert len(model.validation_curve_) == n_values
    weights = np.where(groups == 0, 0.0, 1.0)
    model.fit(X[part], y[part], groups[part], sample_weight=weights[part])
    assert len(model.validation_curve_) == 0
