"""The fit on Dask against the fit on one machine, and what goes wrong on clusters."""

import gc
import itertools
import os
import signal
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("dask.dataframe", reason="dask is not installed (extra dask)")
distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from dask import delayed  # noqa: E402

import skrank.dask  # noqa: E402
from skrank import (  # noqa: E402
    DavidsonLuceRanker,
    DavidsonRanker,
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
    RankSVMRanker,
)
from skrank._fit.derivatives import derivatives  # noqa: E402
from skrank.dask import _sources  # noqa: E402
from skrank.dask._client import find_client  # noqa: E402
from skrank.dask._fit import (  # noqa: E402
    columns_of,
    distributed_objective,
    loaded,
    merged,
)
from skrank.datasets import make_ranking  # noqa: E402
from skrank.metrics import err_score, ndcg_score  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"
)
EXACT = {"tol": 1e-10, "ftol": 0.0}
FEATURES = [f"f{number}" for number in range(10)]
NAMED = {"label": "label", "group": "group"}


def cluster_of(n_workers, processes=True):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        dashboard_address=":0",
        processes=processes,
    )


@pytest.fixture(scope="module")
def client():
    """Return a client of two worker processes on this machine."""
    with cluster_of(2) as cluster, distributed.Client(cluster) as client:
        yield client


def table(n_lists=60, seed=0, text=True, shuffled=True):
    """Return rows whose lists are apart if shuffled, groups as text or numbers."""
    X, y, groups = make_ranking(n_lists, n_features=10, random_state=seed)
    names = [f"q{group:04d}" for group in groups] if text else groups
    frame = pd.DataFrame(X, columns=FEATURES).assign(label=y, group=names)
    return frame.sample(frac=1, random_state=seed) if shuffled else frame


def on_dask(frame, n_partitions=4):
    return dd.from_pandas(frame, npartitions=n_partitions, sort=False)


def on_one_machine(ranker, frame):
    return ranker.fit(frame[FEATURES], frame.label, frame.group)


def objective_here(ranker, frame):
    data = ranker._fit_data(frame[FEATURES], frame.label, frame.group, None, None)
    ranker.alpha_ = ranker.alpha
    return ranker._objective(data, ranker._loss())


def objective_there(ranker, data, client):
    """Return the distributed objective of a ranker's loss."""
    columns = columns_of(data, "label", "group", None, None)
    parts, facts = loaded(_sources.sources(data, columns, client, "auto"), client)
    objective = distributed_objective(
        client, parts, facts, merged(facts), ranker._loss(), ranker.normalize
    )
    objective.alpha, objective.l1_ratio = ranker.alpha, ranker.l1_ratio
    return objective


RANKERS = [
    ListMLERanker(),
    ListMLERanker(ties="marginal", normalize="terms"),
    ListNetRanker(),
    RankNetRanker(),
    RankSVMRanker(),
    DavidsonRanker(),
    PMOPRanker(alpha=1.0),
    DavidsonLuceRanker(),
    ListMLERanker(l1_ratio=0.8, alpha=0.1),
    DavidsonRanker(l1_ratio=0.5, alpha=0.02, bounds={"f1": (None, 0.1)}),
    RankSVMRanker(positive=True),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: repr(r).replace(" ", ""))
def test_value_gradient_and_fit_are_those_of_one_machine(client, ranker):
    frame = table()
    local = objective_here(ranker, frame)
    parameters = (
        local.start + np.random.default_rng(0).normal(size=len(local.start)) / 3
    )
    value, gradient = objective_there(ranker, on_dask(frame), client)(parameters)
    expected_value, expected = local(parameters)
    assert value == pytest.approx(expected_value, rel=1e-12)
    size = np.abs(expected).max()
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-12 * size)

    ranker.set_params(**EXACT)
    distributed = skrank.dask.fit(ranker, on_dask(frame), **NAMED)
    on_one_machine(ranker, frame)
    size = np.abs(ranker.coef_).max()
    np.testing.assert_allclose(
        distributed.coef_, ranker.coef_, rtol=0, atol=1e-7 * size
    )
    np.testing.assert_allclose(distributed.extra_, ranker.extra_, rtol=0, atol=1e-6)
    assert distributed.objective_ == pytest.approx(ranker.objective_, rel=1e-11)
    np.testing.assert_array_equal(distributed.coef_ == 0, ranker.coef_ == 0)
    assert distributed.n_features_active_ == ranker.n_features_active_
    np.testing.assert_array_equal(distributed.at_bounds_, ranker.at_bounds_)
    np.testing.assert_array_equal(distributed.feature_names_in_, FEATURES)
    expected = ranker.predict(frame[FEATURES])
    np.testing.assert_allclose(
        distributed.predict(frame[FEATURES]),
        expected,
        rtol=0,
        atol=1e-6 * np.ptp(expected),
    )


@pytest.mark.parametrize(
    "kind", ["frame", "arrays", "delayed arrays", "delayed frames"]
)
def test_all_kinds_of_data_give_the_same_fit(client, kind):
    frame = table(shuffled=False, text=False)
    cuts = [int((frame.group < group).sum()) for group in (0, 13, 13, 40, 60)]
    pieces = [frame.iloc[a:b] for a, b in itertools.pairwise(cuts)]
    X, y, groups = (frame[c].to_numpy() for c in (FEATURES, "label", "group"))
    sizes = tuple(len(piece) for piece in pieces if len(piece))
    names = {}
    if kind == "frame":
        data, names = on_dask(frame, 3), NAMED
    elif kind == "arrays":
        data = (
            da.from_array(X, chunks=(sizes, 4)),
            da.from_array(y, chunks=(sizes,)),
            da.from_array(groups, chunks=(sizes,)),
        )
    elif kind == "delayed frames":  # one of them is empty
        data, names = [delayed(piece) for piece in pieces], NAMED
    else:
        data = [
            delayed((p[FEATURES].to_numpy(), p.label.to_numpy(), p.group.to_numpy()))
            for p in pieces
        ]
    distributed = skrank.dask.fit(ListMLERanker(**EXACT), data, **names)
    local = on_one_machine(ListMLERanker(**EXACT), frame)
    np.testing.assert_allclose(distributed.coef_, local.coef_, atol=1e-7)


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.filterwarnings("ignore:.*ties='order'")
def test_ties_by_file_order_and_at_random_do_not_depend_on_partitions(
    client, text, shuffled
):
    frame = table(text=text, shuffled=shuffled)
    for ties in ("order", "random"):
        ranker = ListMLERanker(ties=ties, random_state=3, **EXACT)
        local = on_one_machine(ranker, frame).coef_.copy()
        for n_partitions in (2, 5):
            distributed = skrank.dask.fit(ranker, on_dask(frame, n_partitions), **NAMED)
            np.testing.assert_allclose(distributed.coef_, local, atol=1e-7)


def test_more_partitions_than_workers_and_uneven_or_empty_ones_are_right(client):
    frame = table(shuffled=False, text=False)
    bounds = [0, 1, 1, 2, 3, 30, 31, 58, 59, 60]
    parts = [
        delayed(frame[(frame.group >= a) & (frame.group < b)])
        for a, b in itertools.pairwise(bounds)
    ]
    distributed = skrank.dask.fit(RankNetRanker(**EXACT), parts, **NAMED)
    local = on_one_machine(RankNetRanker(**EXACT), frame)
    np.testing.assert_allclose(distributed.coef_, local.coef_, atol=1e-7)


def test_the_bits_do_not_depend_on_the_number_of_workers(client):
    data = on_dask(table())
    two = skrank.dask.fit(ListNetRanker(), data, **NAMED).coef_
    with (
        cluster_of(1, processes=False) as cluster,
        distributed.Client(cluster, set_as_default=False) as alone,
    ):
        one = skrank.dask.fit(ListNetRanker(), data, client=alone, **NAMED).coef_
    np.testing.assert_array_equal(one, two)


def test_weights_and_a_penalty_by_rule_are_those_of_one_machine(client):
    frame = table()
    frame = frame.assign(weight=frame.group.str[-1].astype(float))  # some weigh nothing
    ranker = RankNetRanker(alpha="auto", **EXACT)
    distributed = skrank.dask.fit(ranker, on_dask(frame), weight="weight", **NAMED)
    local = ranker.fit(
        frame[FEATURES], frame.label, frame.group, sample_weight=frame.weight
    )
    assert distributed.alpha_ == pytest.approx(local.alpha_, rel=1e-12)
    np.testing.assert_allclose(distributed.coef_, local.coef_, atol=1e-7)


def test_weights_of_rows_are_those_of_one_machine(client):
    frame = table()
    frame = frame.assign(weight=np.arange(len(frame)) % 5 / 2.0)
    ranker = RankNetRanker(**EXACT)
    distributed = skrank.dask.fit(ranker, on_dask(frame), weight="weight", **NAMED)
    local = ranker.fit(
        frame[FEATURES], frame.label, frame.group, sample_weight=frame.weight
    )
    np.testing.assert_allclose(distributed.coef_, local.coef_, atol=1e-7)
    with pytest.raises(ValueError, match=r"PMOP has no terms that belong to single"):
        skrank.dask.fit(PMOPRanker(), on_dask(frame), weight="weight", **NAMED)
    for function in (skrank.dask.summary, skrank.dask.evaluate):
        message = f"{function.__name__}: weights vary inside lists, and only fits"
        with pytest.raises(ValueError, match=message):
            function(distributed, on_dask(frame), weight="weight", **NAMED)


def test_a_list_in_two_partitions_is_named_where_it_cannot_be_moved(client):
    frame = table(shuffled=False)
    with pytest.raises(ValueError, match=r"list 'q\d+' has rows in partitions 0 and 1"):
        skrank.dask.fit(ListMLERanker(), on_dask(frame), shuffle=False, **NAMED)
    half = len(frame) // 2
    parts = [delayed(frame.iloc[:half]), delayed(frame.iloc[half:])]
    with pytest.raises(ValueError, match=r"list 'q\d+' has rows in parts 0 and 1"):
        skrank.dask.fit(ListMLERanker(), parts, **NAMED)


def test_a_frame_of_whole_lists_is_not_shuffled(client, monkeypatch):
    def refuse(*_):
        raise AssertionError("shuffled")

    frame = table(shuffled=False).set_index("group", drop=False)
    whole = dd.from_pandas(frame, npartitions=3)
    monkeypatch.setattr(_sources, "_shuffled", refuse)
    skrank.dask.fit(ListMLERanker(), whole, features=FEATURES, **NAMED)
    with pytest.raises(AssertionError, match="shuffled"):
        skrank.dask.fit(ListMLERanker(), whole, shuffle=True, **NAMED)


def test_constant_features_are_those_of_all_parts_together(client):
    frame = table(shuffled=False)
    frame["f0"] = 1.0  # everywhere
    frame.loc[frame.group < "q0030", "f1"] = 2.0  # in the first half alone
    with pytest.warns(UserWarning, match="1 of 10 features are constant") as caught:
        distributed = skrank.dask.fit(ListMLERanker(**EXACT), on_dask(frame), **NAMED)
    assert len([w for w in caught if "constant" in str(w.message)]) == 1
    assert distributed.coef_[0] == 0
    assert distributed.coef_[1] != 0
    with pytest.warns(UserWarning, match="1 of 10 features are constant"):
        local = on_one_machine(ListMLERanker(**EXACT), frame)
    np.testing.assert_allclose(distributed.coef_, local.coef_, atol=1e-7)


@pytest.mark.parametrize(
    "ranker",
    [ListMLERanker(ties="order"), ListMLERanker(max_iter=1, alpha=1e-4)],
    ids=["ties", "stops"],
)
def test_warnings_are_those_of_one_machine_told_once(client, ranker):
    frame = table()
    texts = []
    for fit in (
        lambda: skrank.dask.fit(ranker, on_dask(frame), **NAMED),
        lambda: on_one_machine(ranker, frame),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", ConvergenceWarning)
            warnings.filterwarnings("always", "ListMLE", UserWarning)
            fit()
        texts.append([str(w.message)[:60] for w in caught])
    assert texts[0] == texts[1]
    assert len(texts[0]) == 1


def test_separation_without_a_penalty_is_warned_of(client):
    frame = table(n_lists=20, shuffled=False)
    frame["f0"] = frame.label + 0.0
    ranker = RankNetRanker(alpha=0, max_iter=30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        skrank.dask.fit(ranker, on_dask(frame), **NAMED)
    assert any("puts every pair of rows in order" in str(w.message) for w in caught)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("label", np.nan, "NaN"),
        ("label", -1.0, "labels of at least 0, got -1"),
        ("f3", np.inf, "infinity"),
        ("group", None, "missing"),
    ],
)
def test_bad_values_on_a_worker_raise_as_on_one_machine(client, column, value, message):
    frame = table(n_lists=20, shuffled=False)
    frame[column] = frame[column].astype(object if column == "group" else float)
    frame.iloc[7, frame.columns.get_loc(column)] = value
    with pytest.raises(ValueError, match=message):
        skrank.dask.fit(ListNetRanker(), [delayed(frame)], **NAMED)


def test_a_killed_worker_costs_its_parts_not_the_fit():
    frame = table()
    local = on_one_machine(ListMLERanker(**EXACT), frame)
    data = on_dask(frame, 6)
    with (
        cluster_of(2) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        objective = objective_there(ListMLERanker(), data, client)
        before = objective(local.coef_)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        after = objective(local.coef_)
        assert after[0] == before[0]
        np.testing.assert_array_equal(after[1], before[1])
        after_loss = skrank.dask.fit(
            ListMLERanker(**EXACT), data, client=client, **NAMED
        )
    np.testing.assert_allclose(after_loss.coef_, local.coef_, atol=1e-7)


def test_a_lost_cluster_is_an_error_in_words_and_nothing_is_stored():
    cluster = cluster_of(1, processes=False)
    client = distributed.Client(cluster, set_as_default=False)
    client.close()
    cluster.close()
    ranker = ListMLERanker()
    with pytest.raises(RuntimeError, match="the cluster is lost"):
        skrank.dask.fit(ranker, on_dask(table(20)), client=client, **NAMED)
    assert not hasattr(ranker, "coef_")


class Interrupted(ListMLERanker):
    """A ranker whose user presses Ctrl-C while it solves."""

    def _solve(self, objective, start):
        raise KeyboardInterrupt("Ctrl-C")


def test_an_interrupted_fit_leaves_nothing_on_the_workers(client):
    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"):
        skrank.dask.fit(Interrupted(), on_dask(table(20), 2), **NAMED)
    for _ in range(100):
        gc.collect()
        held = [str(key) for keys in client.has_what().values() for key in keys]
        if not any("make_shard" in key for key in held):
            return
        time.sleep(0.05)
    raise AssertionError(held)


def shards_held(client, objective):
    own = {shard.key for shard in objective.shards}
    return {worker: own & set(keys) for worker, keys in client.has_what().items()}


def test_shards_stay_where_they_are_while_it_runs(client):
    objective = objective_there(ListMLERanker(), on_dask(table()), client)
    objective(objective.start)
    before = shards_held(client, objective)
    for _ in range(5):
        objective(objective.start)
    assert shards_held(client, objective) == before
    assert sum(map(len, before.values())) == 4


def test_metrics_are_added_up_where_the_lists_are(client):
    frame = table()
    ranker = on_one_machine(ListMLERanker(), frame)
    means = skrank.dask.evaluate(
        ranker, on_dask(frame), metrics=["ndcg@10", "err"], **NAMED
    )
    y, groups = frame.label.to_numpy(), frame.group.to_numpy()
    scores = ranker.predict(frame[FEATURES])
    expected = {
        "ndcg@10": ndcg_score(y, scores, groups, k=10),
        "err": err_score(y, scores, groups),
    }
    assert means == pytest.approx(expected, rel=1e-12)


def test_scores_keep_the_index_and_the_partitions(client):
    frame = table()
    data = on_dask(frame, 3)
    ranker = on_one_machine(ListMLERanker(), frame)
    scores = skrank.dask.predict(ranker, data)
    assert scores.npartitions == data.npartitions
    computed = scores.compute()
    np.testing.assert_array_equal(computed.index, frame.index)
    np.testing.assert_allclose(computed, ranker.predict(frame[FEATURES]), rtol=1e-12)
    table_of_numbers = frame[FEATURES].to_numpy()
    bare = ListMLERanker().fit(table_of_numbers, frame.label, frame.group)
    X = da.from_array(table_of_numbers, chunks=(50, 4))
    np.testing.assert_allclose(
        skrank.dask.predict(bare, X).compute(), bare.predict(table_of_numbers)
    )


@pytest.mark.parametrize(
    "ranker", [ListMLERanker(alpha=0), DavidsonRanker()], ids=["orders", "pairs"]
)
def test_summaries_are_those_of_one_machine(client, ranker):
    frame = table()
    ranker.set_params(**EXACT)
    local = on_one_machine(ranker, frame)
    one = local.summary(frame[FEATURES], frame.label, frame.group)
    local.set_params(normalize="size")  # which is for the next fit
    distributed = skrank.dask.summary(local, on_dask(frame), **NAMED)
    local.set_params(normalize=None)
    np.testing.assert_allclose(
        distributed.standard_error, one.standard_error, rtol=1e-8
    )
    assert distributed.n_lists == one.n_lists
    assert distributed.fit_value == pytest.approx(one.fit_value, rel=1e-10)
    assert distributed.names == one.names
    parameters = np.concatenate((local.coef_, local.extra_))
    objective = objective_there(local, on_dask(frame), client)
    meat = derivatives(objective, parameters).meat
    expected = derivatives(objective_here(local, frame), parameters).meat
    np.testing.assert_allclose(meat, expected, rtol=1e-9, atol=1e-16)


def test_summaries_say_what_penalties_and_offsets_leave_untold(client):
    frame = table()
    lasso = on_one_machine(ListMLERanker(alpha=0.05, l1_ratio=0.5), frame)
    data = frame[FEATURES], frame.label, frame.group
    with pytest.warns(UserWarning, match="No standard errors: .*l1_ratio > 0"):
        one = lasso.summary(*data)
    with pytest.warns(UserWarning, match="No standard errors: .*l1_ratio > 0"):
        distributed = skrank.dask.summary(lasso, on_dask(frame), **NAMED)
    assert distributed.fit_value == pytest.approx(one.fit_value, rel=1e-10)
    moved = ListMLERanker().fit(*data, offset=np.arange(len(frame)) % 3)
    with pytest.raises(ValueError, match="was fitted with an offset"):
        skrank.dask.summary(moved, on_dask(frame), **NAMED)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda d: skrank.dask.fit(object(), d), TypeError, "must be a linear ranker"),
        (
            lambda d: skrank.dask.fit(ListMLERanker(), d),
            ValueError,
            "label= and group=",
        ),
        (
            lambda d: skrank.dask.fit(ListMLERanker(), d, label="y", group="group"),
            ValueError,
            "label='y' is no column",
        ),
        (
            lambda d: skrank.dask.fit(ListMLERanker(), d, features=["f99"], **NAMED),
            ValueError,
            "'f99', which is no column",
        ),
        (
            lambda d: skrank.dask.fit(
                PMOPRanker("geometric", inference="gibbs"), d, **NAMED
            ),
            ValueError,
            "use inference='exact'",
        ),
        (
            lambda d: skrank.dask.fit(ListMLERanker(), 3, **NAMED),
            TypeError,
            "must be a dask DataFrame",
        ),
        (lambda d: skrank.dask.fit(ListMLERanker(), []), ValueError, "empty list"),
        (
            lambda d: skrank.dask.fit(ListMLERanker(), d, shuffle="no", **NAMED),
            ValueError,
            "shuffle must be",
        ),
        (lambda d: skrank.dask.predict(ListMLERanker(), 3), TypeError, "dask array"),
    ],
)
def test_what_cannot_be_fitted_says_why(client, call, error, message):
    with pytest.raises(error, match=message):
        call(on_dask(table(n_lists=5), 2))


def test_without_a_cluster_the_error_says_how_to_start_one(monkeypatch):
    def no_client():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "get_client", no_client)
    with pytest.raises(ValueError, match=r"client = Client\(\)"):
        find_client(None, "fit")
