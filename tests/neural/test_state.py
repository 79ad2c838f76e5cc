"""What a fit changes, what changes a fit, and input that used to break one."""

import copy
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank._data.grouping import group_rows  # noqa: E402
from skrank.datasets import make_ranking  # noqa: E402
from skrank.metrics import ndcg_score  # noqa: E402
from skrank.neural import ListData, MLPRanker, STARanker  # noqa: E402
from skrank.neural import _device as device_module  # noqa: E402
from skrank.neural._copies import by_content  # noqa: E402
from skrank.neural._device import find_device, prediction_device  # noqa: E402
from skrank.neural._trainer import Trainer  # noqa: E402

ONE_NETWORK = {"n_networks": 1, "early_stopping": False}
QUICK = {
    **ONE_NETWORK,
    "max_epochs": 3,
    "hidden_size": 8,
    "random_state": 0,
    "dropout": 0.2,
}
BOTH = pytest.mark.parametrize("ranker", [STARanker, MLPRanker])


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_lists=20, list_size=(2, 6), n_features=4, random_state=0)


@BOTH
@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        ("groups", ValueError, "groups has 76 entries for 77 rows"),
        ("labels", ValueError, "y contains NaN"),
        ("weights", ValueError, "sample_weight must be constant"),
        ("loss", ValueError, "Lower learning_rate"),
        ("interrupt", KeyboardInterrupt, "by the user"),
    ],
)
def test_a_refit_that_fails_leaves_the_ranker_as_it_was(
    data, ranker, fault, error, message, monkeypatch
):
    X, y, groups = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = ranker(**QUICK).fit(frame, y, groups)
    scores, before = model.predict(frame, groups), copy.copy(vars(model))
    changed = {"X": 1000.0 * frame[list("dcba")], "y": y, "groups": groups}
    if fault == "groups":
        changed["groups"] = groups[:-1]
    elif fault == "labels":
        changed["y"] = np.where(np.arange(len(y)) == 3, np.nan, y)
    elif fault == "weights":
        changed["sample_weight"] = np.arange(len(y), dtype=float)
    elif fault == "loss":
        model.set_params(learning_rate=1e30, weight_decay=0.0)
        before.update(learning_rate=1e30, weight_decay=0.0)
    else:

        def stop(*arguments):
            raise KeyboardInterrupt("by the user")

        monkeypatch.setattr(Trainer, "_train_epoch", stop)
    with pytest.raises(error, match=message):
        model.fit(**changed)
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(frame, groups), scores)


def inference_mode():
    return torch.inference_mode()


def autocast():
    return torch.autocast("cpu", dtype=torch.bfloat16)


class DefaultDtype:
    """Sets torch's default dtype inside."""

    def __enter__(self):
        torch.set_default_dtype(torch.float64)

    def __exit__(self, *error):
        torch.set_default_dtype(torch.float32)


class DefaultDevice:
    """Sets a default device that holds no numbers."""

    def __enter__(self):
        torch.set_default_device("meta")

    def __exit__(self, *error):
        torch.set_default_device(None)


@BOTH
@pytest.mark.parametrize(
    "setting", [DefaultDtype, DefaultDevice, torch.no_grad, inference_mode, autocast]
)
def test_settings_of_torch_change_neither_fits_nor_predictions(data, ranker, setting):
    X, y, groups = data
    options = {**QUICK, "early_stopping": True}
    expected = ranker(**options).fit(X, y, groups)
    with setting():
        model = ranker(**options).fit(X, y, groups)
        inside = model.predict(X, groups)
    np.testing.assert_array_equal(model.loss_curve_, expected.loss_curve_)
    np.testing.assert_array_equal(inside, expected.predict(X, groups))
    np.testing.assert_array_equal(model.predict(X, groups), inside)
    assert torch.is_grad_enabled()
    assert not torch.is_autocast_enabled("cpu")


@BOTH
def test_a_fit_inside_inference_mode_can_be_refitted_outside(data, ranker):
    X, y, groups = data
    with torch.inference_mode():
        model = ranker(**QUICK, warm_start=True).fit(X, y, groups)
    first = model.loss_curve_[-1]
    assert model.fit(X, y, groups).loss_curve_[-1] < first


@BOTH
def test_a_fit_on_the_cpu_seeds_no_other_device(data, ranker, monkeypatch):
    seeded = []
    for module in (torch.cuda, torch.mps, torch.xpu):
        for name in ("manual_seed", "manual_seed_all", "set_rng_state"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, seeded.append)
    torch.manual_seed(0)
    assert seeded  # as torch's own seeding does
    seeded.clear()
    ranker(**QUICK).fit(*data)
    assert seeded == []


@BOTH
def test_validation_lists_are_drawn_among_those_that_weigh(data, ranker):
    X, y, groups = data
    model = ranker(**{**QUICK, "early_stopping": True}, validation_fraction=0.9)
    weights = np.where(groups < 2, 1.0, 0.0)
    model.fit(X, y, groups, sample_weight=weights)
    assert np.isfinite(model.validation_curve_).all()
    with pytest.raises(ValueError, match="only one with a weight above 0"):
        model.fit(X, y, groups, sample_weight=np.where(groups < 1, 1.0, 0.0))


@BOTH
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_validation_value_that_is_no_number_is_an_error_in_words(data, ranker, value):
    model = ranker(
        **{**QUICK, "early_stopping": True},
        validation_metric=lambda y, scores, groups: value,
    )
    with pytest.raises(ValueError, match=r"validation value is -?(nan|inf) after"):
        model.fit(*data)


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns", "M"])
def test_dates_find_their_rows_whatever_kind_of_date_they_are(unit):
    days = [date(2020, 2, 1), date(2021, 3, 1), date(1969, 7, 1)]
    labels = np.array(days, dtype=f"datetime64[{unit}]")
    groups, y = np.repeat(labels, 2), np.tile([0.0, 1.0], 3)
    X = np.arange(6.0).reshape(6, 1)
    times = [datetime(day.year, day.month, day.day) for day in days]
    predictions = []
    for keys in (days, times, list(map(pd.Timestamp, days)), list(labels)):
        browsed = {key: [[number]] for number, key in enumerate(keys)}
        history = ListData(browsed)
        assert [history.rows_of(label).item() for label in labels] == [0.0, 1.0, 2.0]
        model = STARanker(**QUICK).fit(X, y, groups, history)
        predictions.append(model.predict(X, pd.Series(groups), history))
    for other in predictions[1:]:
        np.testing.assert_array_equal(other, predictions[0])


def test_times_are_told_apart_to_the_nanosecond_and_by_kind():
    stamp = pd.Timestamp("2020-01-01 00:00:00.000000001")
    rows = {stamp: [0.0], pd.Timestamp("2020-01-01"): [1.0], pd.Timedelta(1): [2.0]}
    table = ListData(rows)
    assert table.rows_of(stamp.to_numpy()).item() == 0.0
    assert table.rows_of(np.datetime64("2020-01-01", "D")).item() == 1.0
    assert table.rows_of(np.timedelta64(1, "ns")).item() == 2.0
    aware = pd.Timestamp("2020-01-01", tz="UTC")
    assert ListData({aware: [3.0]}).rows_of(aware).item() == 3.0


@BOTH
def test_a_device_may_be_an_object_of_torch(data, ranker):
    X, y, groups = data
    model = ranker(**QUICK, device=torch.device("cpu")).fit(X, y, groups)
    expected = ranker(**QUICK).fit(X, y, groups).predict(X, groups)
    np.testing.assert_array_equal(model.predict(X, groups), expected)
    assert clone(model).device == torch.device("cpu")


def test_auto_takes_an_accelerator_where_there_is_one(monkeypatch):
    for name in device_module.ACCELERATORS:
        module = getattr(torch, name)
        monkeypatch.setattr(module, "is_available", lambda: False)
    assert find_device("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.mps, "is_available", lambda: True)
    assert find_device("auto") == torch.device("mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert find_device("auto") == torch.device("cuda")


def test_devices_without_float64_leave_predictions_to_the_cpu():
    assert prediction_device(torch.device("mps")) == torch.device("cpu")
    assert prediction_device(torch.device("cuda", 1)) == torch.device("cuda", 1)


@pytest.mark.parametrize("device", ["gpu", "meta", torch.device("meta"), "cuda:99"])
def test_a_device_that_is_not_there_is_named_with_those_that_are(data, device):
    with pytest.raises(
        ValueError, match=r"device='.*' cannot be used .*Available:.*cpu"
    ):
        MLPRanker(**QUICK, device=device).fit(*data)


@BOTH
@pytest.mark.parametrize("standardize", ["all", "list"])
@pytest.mark.parametrize("exponent", [532, -664, -1040])
def test_the_scale_of_features_does_not_matter(data, ranker, standardize, exponent):
    # 2.0**532 is 1e160, 2.0**-664 is 1e-200, and the last makes subnormal numbers.
    X, y, groups = data
    X = np.round(X, 2)
    X = np.ldexp(np.ldexp(X, exponent), -exponent)  # subnormal numbers have few digits
    options = {**QUICK, "standardize": standardize}
    expected = ranker(**options).fit(X, y, groups).predict(X, groups)
    scaled = np.ldexp(X, exponent)
    predicted = ranker(**options).fit(scaled, y, groups).predict(scaled, groups)
    # Weights are the same. Sorted by content rows come in another order, and round so.
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-14)


@BOTH
def test_values_of_another_world_than_those_in_fit_are_refused(data, ranker):
    X, y, groups = data
    model = ranker(**QUICK).fit(X, y, groups)
    far = X.copy()
    far[0, 2] = 1e300
    with pytest.raises(ValueError, match="column 2 of X holds values more than 1e"):
        model.predict(far, groups)


@pytest.fixture(scope="module")
def copies():
    """Return lists in which each row stands three times, shuffled."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((60, 4)), 3, axis=0)
    groups = np.repeat(np.arange(12), 15)
    order = rng.permutation(len(X))
    y = rng.integers(0, 3, len(X))
    return X[order], y, groups[order]


def test_equal_rows_of_a_list_have_equal_scores(copies):
    X, y, groups = copies
    scores = MLPRanker(**QUICK).fit(X, y, groups).predict(X, groups)
    for label in np.unique(groups):
        of_list = groups == label
        _, copy_of = np.unique(X[of_list], axis=0, return_inverse=True)
        for number in range(5):
            assert len(set(scores[of_list][copy_of == number])) == 1
        assert len(set(scores[of_list])) == 5


def test_equal_rows_are_arranged_in_row_order_alone_and_among_others(copies):
    X, y, groups = copies
    model = STARanker(**QUICK).fit(X, y, groups)
    ranks, scores = model.arrange(X, groups, return_scores=True)
    for label in np.unique(groups):
        of_list = groups == label
        _, copy_of = np.unique(X[of_list], axis=0, return_inverse=True)
        for number in range(5):
            assert (np.diff(ranks[of_list][copy_of == number]) > 0).all()
        alone = model.arrange(X[of_list], groups[of_list])
        np.testing.assert_array_equal(alone, ranks[of_list])
        order = scores[label].argmax(1)
        np.testing.assert_array_equal(np.argsort(ranks[of_list]), order)


@BOTH
def test_the_order_of_rows_changes_not_even_rounding(copies, ranker):
    X, y, groups = copies
    X = X + np.arange(len(X))[:, None] / 7.0  # no copies
    model = ranker(**QUICK).fit(X, y, groups)
    rows = np.random.default_rng(1).permutation(len(X))
    permuted = model.predict(X[rows], groups[rows])
    np.testing.assert_array_equal(permuted, model.predict(X, groups)[rows])


@BOTH
def test_early_stopping_by_a_metric_keeps_the_epoch_with_the_largest(data, ranker):
    X, y, groups = data
    options = {**QUICK, "max_epochs": 30, "early_stopping": True}
    model = ranker(**options, validation_metric="ndcg@3", n_epochs_no_change=5)
    model.fit(X, y, groups)
    curve = model.validation_curve_
    assert ((curve > 0.0) & (curve <= 1.0)).all()
    assert model.n_epochs_ == min(np.argmax(curve) + 6, 30)

    def ndcg(y, scores, groups):
        return ndcg_score(y, scores, groups, k=3)

    same = ranker(**options, validation_metric=ndcg, n_epochs_no_change=5)
    np.testing.assert_array_equal(same.fit(X, y, groups).validation_curve_, curve)


def test_rows_are_sorted_by_content_inside_lists_and_copies_found():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 3)).astype(float)
    X[X == 0] *= rng.choice([-1.0, 1.0], size=int((X == 0).sum()))  # -0.0 is 0.0
    groups = rng.integers(0, 8, size=60)
    grouping, first = by_content(X, group_rows(groups))
    for number in range(grouping.lists.n_lists):
        rows_of_list = slice(*grouping.lists.offsets[number : number + 2])
        rows = grouping.rows[rows_of_list]
        assert set(groups[rows]) == {grouping.labels[number]}
        assert list(rows) == sorted(rows, key=lambda row: (*X[row], row))
        for place, row in enumerate(rows):
            equal = [k for k, other in enumerate(rows) if (X[other] == X[row]).all()]
            assert first[rows_of_list][place] - rows_of_list.start == equal[0] <= place
    assert by_content(np.arange(60.0)[:, None], group_rows(groups))[1] is None
