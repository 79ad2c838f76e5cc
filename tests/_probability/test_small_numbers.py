"""Standard errors of items seen once, of clusters, of wide tables, of pipelines."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skrank._probability.covariance as covariance_module
from skrank import (
    DavidsonRanker,
    LinearRanker,
    ListMLERanker,
    PMOPRanker,
    RankNetRanker,
    RankSVMRanker,
)
from skrank._probability.fit_summary import shortened
from skrank.inspection import summarize
from skrank.losses import DavidsonLuce

EXACT = {"alpha": 0, "tol": 1e-12, "ftol": 0.0, "max_iter": 5000}


def graded(n_lists=80, size=6, n_features=3, seed=0):
    """Return features, labels of three grades, and groups."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_lists * size, n_features))
    y = np.digitize(X[:, 0] + rng.gumbel(size=len(X)), [0.0, 1.5])
    return X, y, np.repeat(np.arange(n_lists), size)


def races(n_races=60, n_runners=5, seed=0):
    """Return races of runners as indicators; the last runner starts three times."""
    rng = np.random.default_rng(seed)
    X, y, groups = [], [], []
    for race in range(n_races):
        runners = [*range(n_runners), *([n_runners] if race % 20 == 0 else [])]
        X += [np.eye(n_runners + 1)[runner, 1:] for runner in runners]
        y += list(rng.permutation(len(runners)))
        groups += [race] * len(runners)
    return np.array(X), np.array(y), np.array(groups)


def test_a_summary_counts_the_lists_that_inform_each_coefficient():
    X, y, groups = races()
    ranker = ListMLERanker(**EXACT).fit(X, y, groups)
    with pytest.warns(UserWarning, match="Fewer than 10 lists inform each of x4: .*"):
        summary = ranker.summary(X, y, groups)
    # Written down race by race: a runner counts where the feature varies.
    expected = [
        sum(np.ptp(X[groups == race, j]) > 0 for race in range(60)) for j in range(5)
    ]
    assert summary.informing.tolist() == expected == [60, 60, 60, 60, 3]
    assert "Use covariance='model'" in "\n".join(summary.notes)
    assert summary.to_frame()["lists"].tolist() == expected
    # The errors of the model are what a runner of three races deserves.
    assert summary.clustered[-1] < summary.model[-1]
    ranker.summary(X, y, groups, covariance="model")  # warnings are errors


def test_a_ranker_without_model_based_errors_says_what_else_to_do():
    X, y, groups = races()
    ranker = RankNetRanker(**EXACT).fit(X, y, groups)
    with pytest.warns(UserWarning, match="Merge or drop these features"):
        ranker.summary(X, y, groups)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_where_there_is_one_list_the_model_has_the_errors(alpha):
    X, y, groups = graded(n_lists=1, size=60)
    ranker = ListMLERanker(**EXACT).set_params(alpha=alpha).fit(X, y, groups)
    # With a penalty the gradient of the list is not 0, which tells no more of spread.
    message = "one list does not tell how much .* covariance='model' has them"
    with pytest.warns(UserWarning, match=message):
        summary = ranker.summary(X, y, groups)
    assert np.isnan(summary.clustered).all()
    assert np.isfinite(summary.model).all()


def test_one_cluster_of_many_lists_tells_no_more_than_one_list():
    X, y, groups = graded(n_lists=50)
    ranker = ListMLERanker(**EXACT).set_params(alpha=0.1).fit(X, y, groups)
    with pytest.warns(UserWarning, match="one cluster does not tell"):
        summary = ranker.summary(X, y, groups, clusters=np.zeros(len(X)))
    assert np.isnan(summary.clustered).all()


@pytest.mark.parametrize(
    ("n_lists", "ends"), [(2, r"below 40\. Use covariance='model'\."), (9, "'model'")]
)
def test_with_fewer_than_ten_lists_errors_of_the_model_are_advised(n_lists, ends):
    X, y, groups = graded(n_lists=n_lists)
    ranker = ListMLERanker(**EXACT).fit(X, y, groups)
    message = f"Only {n_lists} lists for .*{ends}"
    with pytest.warns(UserWarning, match=message):
        ranker.summary(X, y, groups)


@pytest.mark.filterwarnings("ignore:.*Only 38")  # in two, all rows are tied
@pytest.mark.parametrize(
    "ranker", [ListMLERanker, DavidsonRanker, RankNetRanker, PMOPRanker]
)
def test_users_with_four_identical_lists_keep_the_error_of_one_list_each(ranker):
    X, y, groups = graded(n_lists=40)
    once = ranker(**EXACT).fit(X, y, groups).summary(X, y, groups)
    rows = np.tile(np.arange(len(X)), 4)
    lists = np.repeat(np.arange(4), len(X)) * 40 + groups[rows]
    fitted = ranker(**EXACT).fit(X[rows], y[rows], lists)
    fourfold = fitted.summary(X[rows], y[rows], lists, clusters=groups[rows])
    np.testing.assert_allclose(fourfold.clustered, once.clustered, rtol=1e-6)
    assert fourfold.n_clusters == once.n_lists
    assert fourfold.informing.tolist() == once.informing.tolist()
    naive = fitted.summary(X[rows], y[rows], lists)
    np.testing.assert_allclose(naive.clustered, once.clustered / 2, rtol=1e-6)
    line = f"clustered by clusters=, {once.n_lists} clusters (sandwich)"
    assert line in str(fourfold)
    assert "clusters" in fourfold.to_frame().columns


def test_clusters_of_one_list_each_change_nothing_and_their_labels_do_not_matter():
    X, y, groups = graded()
    order = np.random.default_rng(0).permutation(len(X))
    X, y, groups = X[order], y[order], groups[order]
    ranker = ListMLERanker(**EXACT).fit(X, y, groups)
    plain = ranker.summary(X, y, groups)
    labelled = ranker.summary(X, y, groups, clusters=[f"user {q}" for q in groups])
    np.testing.assert_allclose(labelled.clustered, plain.clustered, rtol=1e-12)


def test_clusters_that_cut_lists_or_have_another_length_are_refused():
    X, y, groups = graded()
    ranker = ListMLERanker(**EXACT).fit(X, y, groups)
    with pytest.raises(ValueError, match=r"constant inside each list.* 80 lists"):
        ranker.summary(X, y, groups, clusters=np.arange(len(X)))
    with pytest.raises(ValueError, match="480"):
        ranker.summary(X, y, groups, clusters=groups[:-1])


@pytest.fixture
def no_room(monkeypatch):
    """Allow no matrix of all coefficients."""
    monkeypatch.setattr(covariance_module, "LARGEST_BYTES", 2000)


@pytest.mark.parametrize(
    "ranker",
    [
        ListMLERanker(**EXACT),
        ListMLERanker(alpha=0.3, tol=1e-12),
        RankNetRanker(**EXACT),
        DavidsonRanker(**EXACT),
        LinearRanker(DavidsonLuce(), **EXACT),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_errors_by_solving_are_those_of_the_whole_matrix(ranker, kind, request):
    X, y, groups = graded(n_features=5)
    X[:, 3] += 0.5 * X[:, 0]
    X = kind(X)
    clusters = groups // 2
    ranker.fit(X, y, groups)
    whole = ranker.summary(X, y, groups, clusters=clusters)
    some = ranker.summary(X, y, groups, clusters=clusters, features=[3, "x0"])
    request.getfixturevalue("no_room")
    solved = ranker.summary(X, y, groups, clusters=clusters, features=[3, "x0"])
    n_extra = whole.n_extra
    shown = np.r_[0, 3, 5 : 5 + n_extra]
    assert solved.names == some.names == [whole.names[j] for j in shown]
    for part in ("coef", "clustered", "informing"):
        expected = getattr(whole, part)[shown]
        np.testing.assert_array_equal(getattr(some, part), expected)
        # Differences of gradients in extra parameters keep about 8 digits.
        np.testing.assert_allclose(getattr(solved, part), expected, rtol=1e-6)
    if whole.model is not None:
        np.testing.assert_allclose(solved.model, whole.model[shown], rtol=1e-6)
    assert some.df == whole.df
    assert np.isnan(solved.df)
    assert solved.criterion_name is None
    assert "by solving" in str(solved)
    assert "degrees of freedom" not in str(solved).splitlines()[0]


@pytest.mark.filterwarnings("ignore:.*Fewer than 10", "ignore:.*Only 20 clusters")
@pytest.mark.parametrize("per_cluster", [1, 4])
def test_lists_that_do_not_inform_the_features_asked_for_count_as_lists(
    per_cluster, request
):
    X, y, groups = graded(n_lists=80, n_features=3)
    X[groups > 1, 2] = 0.0
    clusters = groups // per_cluster
    ranker = ListMLERanker(**EXACT).fit(X, y, groups)
    whole = ranker.summary(X, y, groups, clusters=clusters)
    request.getfixturevalue("no_room")
    solved = ranker.summary(X, y, groups, clusters=clusters, features=[2])
    assert solved.n_lists == whole.n_lists > 70
    assert solved.n_clusters == whole.n_clusters
    assert solved.informing.tolist() == whole.informing[[2]].tolist()


def test_wide_tables_state_their_memory_before_they_take_it(no_room):
    X, y, groups = graded(n_features=5)
    ranker = ListMLERanker(alpha=0.1).fit(X, y, groups)
    with pytest.raises(ValueError, match=r"need about .* GiB .* features=\[\.\.\.\]"):
        ranker.summary(X, y, groups)
    with pytest.raises(ValueError, match="GiB"):
        ranker.aic(X, y, groups)


@pytest.mark.filterwarnings("ignore:.*constant inside every list")
def test_fifty_thousand_sparse_columns_are_refused_at_once_and_one_is_solved():
    rng = np.random.default_rng(0)
    X = sparse.random(600, 50_000, 1e-3, random_state=rng, format="csr")
    X = sparse.csr_array(sparse.hstack((rng.standard_normal((600, 1)), X)))
    groups = np.repeat(np.arange(100), 6)
    y = np.digitize(X[:, [0]].toarray()[:, 0] + rng.gumbel(size=600), [0, 1])
    ranker = ListMLERanker(alpha=0.01).fit(X, y, groups)
    with pytest.raises(ValueError, match=r"50,001 coefficients would need about 22\d"):
        ranker.summary(X, y, groups)
    summary = ranker.summary(X, y, groups, features=[0])
    assert 0 < summary.clustered[0] < 1
    # Close to the error where the other 50,000 are not there.
    dense = X[:, [0]].toarray()
    alone = ListMLERanker(alpha=0.01).fit(dense, y, groups).summary(dense, y, groups)
    np.testing.assert_allclose(summary.clustered, alone.clustered, rtol=0.3)


def test_collinear_features_without_a_penalty_have_no_error_by_solving(no_room):
    X, y, groups = graded(n_features=4)
    X = np.column_stack((X, X[:, 0] - X[:, 1]))
    ranker = ListMLERanker(**EXACT).fit(X, y, groups)
    with pytest.raises(ValueError, match=r"x0 was not found by .* collinear"):
        ranker.summary(X, y, groups, features=["x0"])


def test_unknown_features_are_named():
    X, y, groups = graded()
    ranker = ListMLERanker(**EXACT).fit(X, y, groups)
    for wrong in ("x3", 3, -4, 1.0, True):
        with pytest.raises(ValueError, match=f"features holds {wrong!r}, which is"):
            ranker.summary(X, y, groups, features=[0, wrong])


def test_a_pipeline_is_summarised_in_one_call_by_the_names_of_its_columns():
    X, y, groups = graded()
    frame = pd.DataFrame(X * [1.0, 10.0, 100.0], columns=["pace", "age", "weight"])
    ranker = ListMLERanker(**EXACT)
    pipeline = make_pipeline(StandardScaler(), ranker)
    pipeline.fit(frame, y, listmleranker__groups=groups)
    summary = summarize(pipeline, frame, y, groups, covariance="model")
    assert summary.names == ["pace", "age", "weight"]
    scaled = StandardScaler().fit_transform(frame)
    expected = ranker.summary(scaled, y, groups, covariance="model")
    np.testing.assert_array_equal(summary.model, expected.model)
    alone = summarize(ranker, scaled, y, groups)
    np.testing.assert_array_equal(alone.clustered, expected.clustered)
    with pytest.raises(TypeError, match="RankSVMRanker has no summary"):
        summarize(RankSVMRanker().fit(X, y, groups), X, y, groups)


def test_names_are_never_cut_to_the_same_text():
    stem = "a long name of a feature, "
    names = [stem + "front wheel", stem + "rear wheel", stem, "short"]
    for longest in (5, 10, 14, 30):
        short = shortened(names, longest)
        assert len(set(short)) == len(names)
        assert short[3] == "short"
    assert max(map(len, shortened(names, 14))) <= 21
    assert shortened(["a", "b"], 10) == ["a", "b"]
