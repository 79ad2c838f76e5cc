"""Every loss of the package trains a network."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

import skrank.losses  # noqa: E402
from skrank import Lists  # noqa: E402
from skrank.datasets import make_ranking  # noqa: E402
from skrank.losses import (  # noqa: E402
    PMOP,
    Davidson,
    DavidsonLuce,
    Loss,
    RankNet,
)
from skrank.neural import MLPRanker  # noqa: E402
from skrank.neural._compiled_loss import CompiledLoss  # noqa: E402

LOSSES = [
    getattr(skrank.losses, name)
    for name in skrank.losses.__all__
    if isinstance(getattr(skrank.losses, name), type)
    and issubclass(getattr(skrank.losses, name), Loss)
    and name != "Loss"
]
ONE_NETWORK = {"n_networks": 1, "early_stopping": False}
QUICK = {
    **{**ONE_NETWORK, "max_epochs": 15, "hidden_size": 16},
    **{"dropout": 0.0, "random_state": 0},
}
FAST = {**QUICK, "learning_rate": 0.02, "batch_size": 32}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_lists=60, list_size=(2, 8), n_features=5, random_state=0)


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_of_every_loss_reach_torch(loss):
    rng = np.random.default_rng(0)
    lists, y = Lists([3, 1, 4]), np.array([2.0, 0, 1, 1, 0, 2, 2, 1])
    loss = loss()
    y = loss.check_labels(y, lists)
    extra = torch.tensor(loss.extra_parameters(y, lists)).requires_grad_()
    scores = torch.tensor(rng.standard_normal(8)).requires_grad_()
    prepared = loss.prepare(y, lists)
    values = CompiledLoss.apply(scores, extra, loss, prepared, lists)
    extra_arguments = (extra.detach().numpy(),) if len(extra) else ()
    expected = loss.value_and_gradient(
        scores.detach().numpy(), prepared, lists, *extra_arguments
    )[0]
    np.testing.assert_array_equal(values.detach().numpy(), expected)
    assert torch.autograd.gradcheck(
        lambda *both: CompiledLoss.apply(*both, loss, prepared, lists), (scores, extra)
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_trains_a_network(loss, data):
    X, y, groups = data
    ranker = MLPRanker(loss(), **FAST).fit(X, y, groups)
    assert ranker.loss_curve_[-1] < 0.9 * ranker.loss_curve_[0]
    untrained = MLPRanker(loss(), **QUICK, learning_rate=1e-12).fit(X, y, groups)
    assert ranker.score(X, y, groups) > untrained.score(X, y, groups) + 0.1


def test_pairs_weighed_by_gain_are_the_default_for_grades_alone(data):
    X, grades, groups = data
    for y, loss in [
        (grades, RankNet("gain")),
        (grades - 1, RankNet()),
        (grades + 0.5, RankNet()),
        (10 * grades, RankNet()),
    ]:
        default = MLPRanker(**QUICK).fit(X, y, groups).predict(X, groups)
        named = MLPRanker(loss, **QUICK).fit(X, y, groups).predict(X, groups)
        np.testing.assert_array_equal(default, named)


def test_parameters_of_a_loss_are_learned(data):
    X, y, groups = data
    for loss in (Davidson(), DavidsonLuce()):
        ranker = MLPRanker(loss, **QUICK).fit(X, y, groups)
        flat, lists = y.astype(float), Lists(np.bincount(groups))
        start = loss.extra_parameters(flat, lists)
        assert ranker.extra_.shape == start.shape
        assert not np.allclose(ranker.extra_, start, atol=1e-3)
    assert MLPRanker(RankNet(), **QUICK).fit(X, y, groups).extra_.shape == (0,)


def test_the_loss_of_a_batch_is_that_of_its_lists(data):
    X, y, groups = data
    ranker = MLPRanker(PMOP(), **QUICK).fit(X, y, groups)
    scores = ranker.predict(X, groups)
    again = MLPRanker(PMOP(), **QUICK, learning_rate=1e-12).fit(X, y, groups)
    start = again.predict(X, groups)
    # A step of 1e-12 leaves the network as it was, so that the curve is its loss.
    assert again.loss_curve_[0] == pytest.approx(PMOP()(start, y, groups), rel=1e-5)
    assert PMOP()(scores, y, groups) < PMOP()(start, y, groups)
