"""Faults of earlier versions: settings of torch, devices, validation, scales."""

from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="skrank.neural needs PyTorch")
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from skrank.datasets import make_ranking  # noqa: E402
from skrank.losses import RankNet  # noqa: E402
from skrank.metrics import list_labels  # noqa: E402
from skrank.neural import ListData, MLPRanker, STARanker, _trainer  # noqa: E402
from skrank.neural import _device as device_module  # noqa: E402
from skrank.neural._batches import bounded_parts  # noqa: E402

ONE_NETWORK = {"n_networks": 1, "early_stopping": False, "dropout": 0.0}
QUICK = {**ONE_NETWORK, "max_epochs": 3, "hidden_size": 8, "random_state": 0}
BOTH = pytest.mark.parametrize("ranker", [STARanker, MLPRanker])


@pytest.fixture(scope="module")
def data():
    """Return lists of 2 to 6 rows, with histories and profiles."""
    X, y, groups = make_ranking(
        n_lists=20, list_size=(2, 6), n_features=4, random_state=0
    )
    rng = np.random.default_rng(0)
    labels = list_labels(groups)
    history = ListData({q: rng.normal(size=(rng.integers(4), 2)) for q in labels})
    profile = ListData({q: rng.normal(size=3) for q in labels})
    return X, y, groups, history, profile


@pytest.mark.parametrize(
    "setting",
    [
        torch.no_grad,
        torch.inference_mode,
        partial(torch.autocast, "cpu", dtype=torch.bfloat16),
        partial(torch.device, "meta"),
    ],
    ids=["no_grad", "inference_mode", "autocast", "default device"],
)
def test_settings_of_torch_change_no_arrangement_draw_or_likelihood(data, setting):
    X, y, groups, *of_lists = data
    model = STARanker(**QUICK).fit(*data)
    order = y + 1e-3 * np.arange(len(y))

    def answers():
        ranks, scores = model.arrange(X, groups, *of_lists, return_scores=True)
        drawn = model.sample_arrangements(
            X, groups, *of_lists, n_samples=3, random_state=0
        )
        chances = model.log_likelihood(X, order, groups, *of_lists, average=None)
        return ranks, np.concatenate([*map(np.ravel, scores.values())]), drawn, chances

    expected = answers()
    with setting():
        computed = answers()
    for one, other in zip(computed, expected, strict=True):
        # How memory is aligned may change the last bit.
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-14)


class Doubles(TorchDispatchMode):
    """Notes operations that make numbers of float64."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        results = result if isinstance(result, tuple | list) else [result]
        is_double = any(getattr(one, "dtype", None) == torch.float64 for one in results)
        if is_double and str(function) != "aten.lift_fresh.default":  # numpy's own
            self.seen.append(str(function))
        return result


@BOTH
@pytest.mark.parametrize("metric", [None, "ndcg@3"])
def test_training_needs_no_float64_which_mps_has_not(data, ranker, metric):
    options = {**QUICK, "early_stopping": True, "validation_metric": metric}
    with Doubles() as doubles:
        model = ranker(**options).fit(*data)
    assert doubles.seen == []
    X, _, groups, *of_lists = data
    with Doubles() as doubles:  # predictions, on the CPU, are float64
        model.predict(X, groups, *of_lists)
    assert doubles.seen


@BOTH
def test_auto_computes_on_the_cpu_where_nothing_else_is(data, ranker, monkeypatch):
    for name in device_module.ACCELERATORS:
        monkeypatch.setattr(getattr(torch, name), "is_available", lambda: False)
    X, y, groups, *of_lists = data
    expected = ranker(**QUICK).fit(*data).predict(X, groups, *of_lists)
    model = ranker(**QUICK, device="auto").fit(X, y, groups, *of_lists)
    np.testing.assert_array_equal(model.predict(X, groups, *of_lists), expected)


@BOTH
@pytest.mark.parametrize("exponent", [532, -664])
def test_the_scale_of_histories_and_profiles_does_not_matter(data, ranker, exponent):
    X, y, groups, *of_lists = data
    expected = ranker(**QUICK).fit(*data).predict(X, groups, *of_lists)
    scaled = [
        ListData({q: np.ldexp(table.rows_of(q), exponent) for q in list_labels(groups)})
        for table in of_lists
    ]
    model = ranker(**QUICK).fit(X, y, groups, *scaled)
    np.testing.assert_array_equal(model.predict(X, groups, *scaled), expected)


@BOTH
def test_a_warm_start_that_fails_leaves_the_ranker_as_it_was(data, ranker):
    X, _, groups, *of_lists = data
    model = ranker(**QUICK, warm_start=True).fit(*data)
    expected, curve = model.predict(X, groups, *of_lists), model.loss_curve_
    model.set_params(learning_rate=1e30, weight_decay=0.0)
    with pytest.raises(ValueError, match="Lower learning_rate"):
        model.fit(*data)
    np.testing.assert_array_equal(model.loss_curve_, curve)
    np.testing.assert_array_equal(model.predict(X, groups, *of_lists), expected)


class Broken(RankNet):
    """A loss that is NaN for lists with a label of 7."""

    def value_and_gradient(self, scores, prepared, lists):
        values, gradient = super().value_and_gradient(scores, prepared[0], lists)
        return np.where(prepared[1], np.nan, values), gradient

    def prepare(self, y, lists):
        has_seven = np.add.reduceat(y == 7, lists.starts) > 0
        return super().prepare(y, lists), has_seven


def test_a_validation_loss_that_is_nan_is_an_error_in_words():
    X, y, groups = make_ranking(n_lists=2, list_size=4, n_features=4, random_state=0)
    model = MLPRanker(Broken(), **{**QUICK, "early_stopping": True})
    messages = []
    for label in (0, 1):  # of two lists one is for training and one for validation
        with pytest.raises(ValueError, match="is nan after epoch 1") as error:
            model.fit(X, np.where(groups == label, np.maximum(y, 7), y), groups)
        messages.append(str(error.value).split(" is nan")[0])
    assert sorted(messages) == [
        "MLPRanker.fit: the loss",
        "MLPRanker.fit: the validation value",
    ]


def test_ties_are_drawn_anew_in_training_and_keep_their_order_in_validation(data):
    X, y, groups, *_ = data
    options = {**QUICK, "learning_rate": 1e-12, "weight_decay": 0.0, "max_epochs": 5}
    model = STARanker(**{**options, "early_stopping": True}, n_epochs_no_change=9)
    model.fit(X, np.minimum(y, 1), groups)  # grades 0 and 1, so that many are tied
    assert np.ptp(model.loss_curve_) > 1e-4
    np.testing.assert_allclose(
        model.validation_curve_, model.validation_curve_[0], rtol=1e-6
    )


@BOTH
def test_a_step_computed_in_parts_is_the_same_step(data, ranker, monkeypatch):
    options = {**QUICK, "batch_size": 20, "early_stopping": True}
    whole = ranker(**options).fit(*data)
    sizes = []

    def small_parts(numbers, sizes_of_lists):
        for part in bounded_parts(numbers, sizes_of_lists, most_pairs=40):
            sizes.append(len(part))
            yield part

    monkeypatch.setattr(_trainer, "bounded_parts", small_parts)
    parts = ranker(**options).fit(*data)
    assert max(sizes) < 16
    for curve in ("loss_curve_", "validation_curve_"):
        expected = getattr(whole, curve)
        np.testing.assert_allclose(getattr(parts, curve), expected, rtol=1e-5)
