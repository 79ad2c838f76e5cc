"""STARanker as an estimator: arrangements, targets, repeatability, what it refuses."""

import pickle
from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank import rank_within, with_groups  # noqa: E402
from skrank._data.lists import Lists  # noqa: E402
from skrank.datasets import make_ranking  # noqa: E402
from skrank.metrics import (  # noqa: E402
    PositionBased,
    UserBrowsing,
    best_order,
    list_labels,
    ndcg_score,
)
from skrank.neural import ListData, MLPRanker, STARanker, make_browsing  # noqa: E402
from skrank.neural._fitting import LabelledLists  # noqa: E402
from skrank.neural._targets import ArrangementTarget  # noqa: E402
from skrank.neural._validation import split_lists  # noqa: E402

ONE_NETWORK = {"n_networks": 1, "early_stopping": False}
QUICK = {**ONE_NETWORK, "max_epochs": 3, "hidden_size": 8, "random_state": 0}
BOTH = pytest.mark.parametrize("ranker", [STARanker, MLPRanker])


@pytest.fixture(scope="module")
def data():
    """Return shuffled lists of 1 to 6 rows, with history and profile."""
    X, y, labels = make_ranking(
        n_lists=40, list_size=(1, 6), n_features=4, shuffle=True, random_state=0
    )
    rng = np.random.default_rng(0)
    groups = np.array([f"list {label}" for label in labels])
    names = np.unique(groups)
    history = ListData({q: rng.normal(size=(rng.integers(4), 2)) for q in names})
    profile = ListData({q: rng.normal(size=3) for q in names})
    return X, y, groups, history, profile


@pytest.fixture(scope="module")
def fitted(data):
    return STARanker(**QUICK).fit(*data)


def new(data):
    X, _, *of_lists = data
    return X, *of_lists


def test_an_arrangement_ranks_each_list_and_predict_sorts_to_it(data, fitted):
    _, _, groups, *_ = data
    ranks = fitted.arrange(*new(data))
    for name in np.unique(groups):
        of_list = ranks[groups == name]
        assert sorted(of_list) == list(range(1, len(of_list) + 1))
    scores = fitted.predict(*new(data))
    np.testing.assert_array_equal(rank_within(scores, groups), ranks)
    assert fitted.score(data[0], data[1], groups, history=data[3], profile=data[4]) == (
        ndcg_score(data[1], -ranks.astype(float), groups)
    )


def test_scores_by_place_choose_the_arrangement(data, fitted):
    _, _, groups, *_ = data
    ranks, scores = fitted.arrange(*new(data), return_scores=True)
    assert set(scores) == set(groups)
    for name, table in scores.items():
        of_list = ranks[groups == name]
        assert table.shape == (len(of_list), len(of_list))
        np.testing.assert_array_equal(table.argmax(1), np.argsort(of_list))


@BOTH
@pytest.mark.parametrize("set_encoder", ["attention", "mlp"])
def test_permuted_candidates_are_arranged_the_same(data, ranker, set_encoder):
    model = ranker(set_encoder=set_encoder, **QUICK).fit(*data)
    X, groups, *of_lists = new(data)
    rows = np.random.default_rng(1).permutation(len(groups))
    scores = model.predict(X, groups, *of_lists)
    permuted = model.predict(X[rows], groups[rows], *of_lists)
    np.testing.assert_allclose(permuted, scores[rows], rtol=0, atol=1e-12)


@BOTH
def test_a_list_is_ranked_the_same_alone_and_among_others(data, ranker):
    model = ranker(**QUICK).fit(*data)
    X, groups, *of_lists = new(data)
    scores = model.predict(X, groups, *of_lists)
    for name in list_labels(groups)[:10]:
        rows = groups == name
        alone = model.predict(X[rows], groups[rows], *of_lists)
        np.testing.assert_allclose(alone, scores[rows], rtol=0, atol=1e-12)


@BOTH
def test_the_same_seed_gives_the_same_network_and_leaves_torch_as_it_was(data, ranker):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    models = [ranker(dropout=0.2, **QUICK).fit(*data) for _ in range(2)]
    torch.testing.assert_close(torch.rand(3), expected)
    first, second = (model.predict(*new(data)) for model in models)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(models[0].loss_curve_, models[1].loss_curve_)
    other = ranker(dropout=0.2, **{**QUICK, "random_state": 1}).fit(*data)
    assert not np.array_equal(other.loss_curve_, models[0].loss_curve_)


@BOTH
def test_a_copy_is_unfitted_and_a_pickle_predicts_the_same(data, ranker):
    model = ranker(**QUICK).fit(*data)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(*new(data)), model.predict(*new(data)))
    copied = clone(model)
    assert not hasattr(copied, "network_")
    np.testing.assert_array_equal(copied.fit(*data).loss_curve_, model.loss_curve_)


def test_groups_may_ride_on_the_labels(data):
    X, y, groups, history, profile = data
    groups = groups.astype(object)  # as an index has them: in order of appearance
    passed = STARanker(**QUICK).fit(X, y, groups, history, profile)
    indexed = STARanker(**QUICK).fit(X, with_groups(y, groups), None, history, profile)
    np.testing.assert_array_equal(indexed.loss_curve_, passed.loss_curve_)


def test_log_likelihoods_of_all_arrangements_of_a_list_add_up_to_one(data, fitted):
    X, groups, history, profile = new(data)
    sizes = {name: np.sum(groups == name) for name in groups}
    name = next(name for name, size in sizes.items() if size == 4)
    rows = groups == name
    values = [
        fitted.log_likelihood(
            X[rows], order, groups[rows], history, profile, average=None
        )
        for order in permutations([1.0, 2.0, 3.0, 4.0])
    ]
    assert np.exp(values).sum() == pytest.approx(1.0, abs=1e-12)


def test_log_likelihood_of_lists_is_their_sum_or_weighted_mean(data, fitted):
    X, groups, history, profile = new(data)
    y = np.random.default_rng(0).permutation(len(groups)).astype(float)

    def value(**options):
        return fitted.log_likelihood(X, y, groups, history, profile, **options)

    by_list = value(average=None)
    names = list_labels(groups)
    rows = groups == names[7]
    alone = fitted.log_likelihood(X[rows], y[rows], groups[rows], history, profile)
    assert by_list[7] == pytest.approx(alone, abs=1e-12)
    assert value() == pytest.approx(by_list.sum())
    weights = dict(zip(names, np.arange(len(names)), strict=True))
    row_weights = np.array([weights[name] for name in groups])
    expected = np.average(by_list, weights=np.arange(len(names)))
    computed = value(average="mean", sample_weight=row_weights)
    assert computed == pytest.approx(expected)


def test_sampled_arrangements_are_as_likely_as_their_likelihood(data, fitted):
    X, groups, history, profile = new(data)
    sizes = {name: np.sum(groups == name) for name in groups}
    rows = groups == next(name for name, size in sizes.items() if size == 3)
    arguments = X[rows], groups[rows], history, profile
    drawn = fitted.sample_arrangements(*arguments, n_samples=600, random_state=0)
    again = fitted.sample_arrangements(*arguments, n_samples=600, random_state=0)
    np.testing.assert_array_equal(drawn, again)
    for ranks in permutations([1, 2, 3]):
        y = -np.array(ranks, dtype=float)
        chance = np.exp(fitted.log_likelihood(X[rows], y, *arguments[1:]))
        share = np.mean((drawn == ranks).all(1))
        assert abs(share - chance) < 4 * np.sqrt(chance * (1 - chance) / 600)
    whole = fitted.sample_arrangements(X, groups, history, profile, n_samples=2)
    for name in np.unique(groups):
        n = np.sum(groups == name)
        assert (np.sort(whole[:, groups == name], 1) == np.arange(1, n + 1)).all()


def target(y, ranks, sizes, redrawn=True, seed=0):
    rng = np.random.RandomState(seed)
    return ArrangementTarget(y, ranks, Lists(sizes), "placed", redrawn, rng), rng


# As a click model may have them, the rows of a label apart, and as labels sort.
APART = [1.0, 2, 3, 4, 5, 1, 2], [1, 0, 1, 0, 0, 2, 2]
SORTED = [-1.0, 0, -1, 0, 0, -2, -2], [1, 1, 0, 0, 0, 2, 2]


@pytest.mark.parametrize(("ranks", "labels"), [APART, SORTED], ids=["apart", "sorted"])
@pytest.mark.parametrize("redrawn", [True, False])
def test_equal_labels_share_their_places_anew_each_epoch_or_once(
    ranks, labels, redrawn
):
    y = np.array([1.0, 0, 1, 0, 0, 2, 2])
    distinct, first = set(), set()
    for seed in range(60):
        made, rng = target(y, np.array(ranks), [5, 2], redrawn, seed)
        first.add(tuple(made.order))
        if seed == 0:
            for _ in range(60):
                made.redraw(rng)
                distinct.add(tuple(made.order))
    for order in first | distinct:
        order = np.array(order)
        arranged = np.concatenate((y[:5][order[:5]], y[5:][order[5:]]))
        np.testing.assert_array_equal(arranged, labels)
    # There are 2! 3! 2! = 24 orders; 60 draws miss each with probability 0.08.
    assert len(first) > 16
    assert (len(distinct) > 16) if redrawn else (len(distinct) == 1)


@pytest.mark.parametrize("model", ["ndcg", PositionBased(), UserBrowsing()])
def test_the_target_is_the_best_arrangement(model):
    y = np.array([0.0, 3, 1, 4, 2, 1, 0, 2])
    groups = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    ranker = STARanker(target=model)
    lists_of_labels = LabelledLists(None, Lists([5, 3]), y, np.ones(2))
    made = ranker._target(lists_of_labels, np.random.RandomState(0))
    ranks = rank_within(y, groups)
    if model != "ndcg":
        ranks = best_order(y, groups, model=model).ranks
    np.testing.assert_array_equal(made.order[:5], np.argsort(ranks[:5]))
    np.testing.assert_array_equal(made.order[5:], np.argsort(ranks[5:]))


@pytest.mark.parametrize(
    "setting",
    [
        {"loss": "previous"},
        {"set_encoder": "mlp"},
        {"history_encoder": "mlp"},
        {"history_encoder": None},
        {"target": PositionBased()},
        {"target": UserBrowsing()},
        {"ties": "fixed"},
    ],
    ids=repr,
)
def test_every_variant_learns(data, setting):
    options = {**QUICK, "max_epochs": 30, "learning_rate": 0.02, **setting}
    model = STARanker(**options).fit(*data)
    assert model.loss_curve_[-1] < 0.9 * model.loss_curve_[0]


def test_without_history_and_profile_it_arranges_sets(data):
    X, y, groups, *_ = data
    model = STARanker(**{**QUICK, "max_epochs": 20}, learning_rate=0.01)
    model.fit(X, y, groups)
    assert model.score(X, y, groups) > 0.9
    with pytest.raises(ValueError, match="was fitted without history"):
        model.predict(X, groups, data[3])


def test_arranging_gains_where_neighbours_depend_on_each_other():
    train, test = (make_browsing(n_lists=150, random_state=seed) for seed in (0, 1))
    arguments = test.X, test.groups, test.history, test.profile
    worth = {}
    for ranker in (STARanker, MLPRanker):
        model = ranker(
            **{**QUICK, "max_epochs": 25, "hidden_size": 64}, learning_rate=0.005
        )
        model.fit(train.X, train.y, train.groups, train.history, train.profile)
        worth[ranker] = test.worth(model.predict(*arguments), average=None)
    gain = worth[STARanker] - worth[MLPRanker]
    assert gain.mean() > 4 * gain.std(ddof=1) / np.sqrt(len(gain))


def test_early_stopping_keeps_whole_lists_apart_and_the_best_network(data):
    model = STARanker(
        **{**QUICK, "max_epochs": 200, "early_stopping": True},
        learning_rate=0.05, n_epochs_no_change=3, ties="fixed", validation_fraction=0.1,
    ).fit(*data)  # fmt: skip
    curve = model.validation_curve_
    assert model.n_epochs_ == len(curve) < 200
    assert np.argmin(curve) == len(curve) - 4
    training, apart = split_lists(model, np.ones(40), np.random.RandomState(0))
    assert (len(training), len(apart)) == (36, 4)
    assert sorted([*training, *apart]) == list(range(40))
    again = STARanker(
        **{**QUICK, "max_epochs": int(np.argmin(curve)) + 1, "early_stopping": True},
        learning_rate=0.05, n_epochs_no_change=3, ties="fixed", validation_fraction=0.1,
    ).fit(*data)  # fmt: skip
    np.testing.assert_array_equal(again.predict(*new(data)), model.predict(*new(data)))


def test_progress_is_printed_every_so_many_epochs(data, capsys):
    STARanker(**{**QUICK, "verbose": 2, "max_epochs": 4}).fit(*data)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "[STARanker] epoch 2",
        "[STARanker] epoch 4",
    ]


@BOTH
def test_lists_of_weight_zero_teach_nothing(data, ranker):
    X, y, groups, history, profile = data
    options = {**QUICK, "batch_size": 64, "weight_decay": 0.0}
    if ranker is STARanker:
        options["ties"] = "fixed"
    weights = np.where(groups < "list 2", 1.0, 0.0)
    recorded = []
    for labels in (y, np.where(weights > 0, y, 0)):
        model = ranker(**options)
        model.fit(X, labels, groups, history, profile, sample_weight=weights)
        recorded.append(model.loss_curve_)
    if ranker is MLPRanker:  # ties of other lists are drawn otherwise in the other
        np.testing.assert_allclose(recorded[0], recorded[1], rtol=1e-6)
    same = ranker(**options).fit(*data).loss_curve_
    ones = ranker(**options).fit(*data, sample_weight=np.full(len(y), 3.0)).loss_curve_
    np.testing.assert_allclose(ones, same, rtol=1e-6)
    assert not np.allclose(recorded[0], same, rtol=1e-3)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"groups": None}, ValueError, "needs to know which rows form a list"),
        ({"history": {"a": [1.0]}}, TypeError, "must be a skrank.neural.ListData"),
        ({"profile": ListData({"a": [1.0]})}, ValueError, "profile has no rows for 40"),
        ({"qid": [1]}, TypeError, "Did you mean 'groups'"),
    ],
    ids=["groups", "history", "profile", "qid"],
)
def test_what_does_not_fit_is_refused_with_advice(data, change, error, message):
    X, y, groups, history, profile = data
    arguments = {"groups": groups, "history": history, "profile": profile, **change}
    with pytest.raises(error, match=message):
        STARanker(**QUICK).fit(X, y, **arguments)


def test_data_other_than_in_fit_are_refused(data, fitted):
    X, groups, history, profile = new(data)
    with pytest.raises(ValueError, match="was fitted with history"):
        fitted.predict(X, groups, None, profile)
    with pytest.raises(ValueError, match="history has 3 features, but STARanker was"):
        fitted.predict(X, groups, profile, profile)
    with pytest.raises(ValueError, match="profile must have one row a list"):
        clone(fitted).fit(*data[:3], None, history)
    with pytest.raises(ValueError, match="needs to know which rows form a list"):
        fitted.predict(X)
    with pytest.raises(ValueError, match="y must arrange each list"):
        fitted.log_likelihood(X, np.zeros(len(X)), groups, history, profile)
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1"):
        fitted.sample_arrangements(X, groups, history, profile, n_samples=0)
    with pytest.raises(ValueError, match="there is only one"):
        STARanker(early_stopping=True).fit(X[:3], [0, 1, 2], [0, 0, 0])


def test_grades_beyond_the_best_of_a_click_model_are_refused(data):
    X, y, groups, *_ = data
    model = STARanker(target=PositionBased(), max_grade=2, **QUICK)
    with pytest.raises(ValueError, match="max_grade"):
        model.fit(X, y + 1, groups)


def test_a_loss_that_is_not_finite_is_reported(data):
    with pytest.raises(ValueError, match="Lower learning_rate"):
        STARanker(learning_rate=1e30, weight_decay=0.0, **QUICK).fit(*data)


def test_a_fit_takes_its_threads_and_leaves_those_of_others(data):
    before = torch.get_num_threads()
    recorded = []

    def count(module, arguments):
        recorded.append(torch.get_num_threads())

    hook = torch.nn.modules.module.register_module_forward_pre_hook(count)
    try:
        torch.set_num_threads(2)
        STARanker(**QUICK).fit(*data).predict(*new(data))
        assert set(recorded) == {1}
        assert torch.get_num_threads() == 2
    finally:
        hook.remove()
        torch.set_num_threads(before)
