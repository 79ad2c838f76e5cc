"""Explanations add up to scores, and keep the names of the user."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skrank import ListMLERanker, RankNetRanker, with_groups
from skrank.datasets import load_mode_choice, make_ranking
from skrank.inspection import explain_scores
from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryScaler

X, Y, GROUPS = make_ranking(
    30, list_size=(1, 8), n_features=4, shuffle=True, random_state=0
)


def list_means(values):
    return np.array([values[GROUPS == label].mean(axis=0) for label in GROUPS])


def test_contributions_are_weights_times_distances_from_the_mean_of_the_list():
    ranker = ListMLERanker().fit(X, Y, GROUPS)
    explanation = explain_scores(ranker, X, GROUPS)
    expected = (X - list_means(X)) * ranker.coef_
    np.testing.assert_allclose(explanation.contributions, expected, atol=1e-14)
    scores = ranker.predict(X)
    np.testing.assert_allclose(explanation.baseline, list_means(scores), atol=1e-14)
    for label in np.unique(GROUPS):
        mine = GROUPS == label
        ranks = 1 + (scores[mine] > scores[mine][:, None]).sum(axis=1)
        assert explanation.ranks[mine].tolist() == ranks.tolist()


@pytest.mark.parametrize(
    "model",
    [
        RankNetRanker(),
        Ridge(),
        make_pipeline(StandardScaler(), ListMLERanker()),
        make_pipeline(QueryScaler("rank"), ListMLERanker()),
        make_pipeline(QueryScaler(), "passthrough", StandardScaler(), Ridge()),
    ],
    ids=str,
)
def test_contributions_add_up_to_scores(model):
    with sklearn.config_context(enable_metadata_routing=True):
        wants = {} if isinstance(model, Ridge) else {"groups": GROUPS}
        model.fit(X, Y, **wants)
        wants = wants if "QueryScaler" in str(model) else {}
        scores = model.predict(X, **wants)
    explanation = explain_scores(model, X, GROUPS)
    np.testing.assert_allclose(explanation.scores, scores, rtol=1e-12)
    total = explanation.contributions.sum(axis=1) + explanation.baseline
    np.testing.assert_allclose(total, scores, atol=1e-12)


def test_a_search_and_sparse_features_are_explained_alike():
    search = GridSearchCV(ListMLERanker(), {"alpha": [0.1, 1.0]}, cv=QueryKFold(3))
    search.fit(X, with_groups(Y, GROUPS))
    dense = explain_scores(search, X, GROUPS).contributions
    of_sparse = explain_scores(search.best_estimator_, sparse.csr_array(X), GROUPS)
    np.testing.assert_array_equal(of_sparse.contributions, dense)


def test_two_rows_are_compared_feature_by_feature():
    ranker = ListMLERanker().fit(X, Y, GROUPS)
    explanation = explain_scores(ranker, X, GROUPS)
    a, b = np.flatnonzero(GROUPS == GROUPS[np.argmax(np.bincount(GROUPS)[GROUPS])])[:2]
    pair = explanation.why(a, b)
    np.testing.assert_allclose(
        pair.contributions, (X[a] - X[b]) * ranker.coef_, atol=1e-14
    )
    assert pair.difference == pytest.approx(pair.contributions.sum())
    where = "above" if pair.difference > 0 else "below"
    assert str(pair).startswith(f"row {a} {where} row {b} by ")
    sizes = np.abs(pair.to_frame()["contribution"])
    assert (np.diff(sizes) <= 0).all()


def test_rows_of_different_lists_and_unknown_rows_are_refused():
    explanation = explain_scores(ListMLERanker().fit(X, Y, GROUPS), X, GROUPS)
    other = int(np.argmax(GROUPS != GROUPS[0]))
    with pytest.raises(ValueError, match="of different lists"):
        explanation.why(0, other)
    with pytest.raises(ValueError, match="-1 is the label of 0 rows"):
        explanation.why(-1, 0)
    with pytest.raises(ValueError, match="no list 'a'"):
        explanation.of_list("a")


def test_names_and_labels_of_a_frame_are_kept_through_a_pipeline():
    pd = pytest.importorskip("pandas")
    frame, y, groups = load_mode_choice(as_frame=True)
    frame.index = [f"{a} {b}" for a, b in zip(groups, frame["mode"], strict=True)]
    coder = make_column_transformer(
        (OneHotEncoder(drop=["car"]), ["mode"]),
        (StandardScaler(), ["gc", "ttme"]),
        verbose_feature_names_out=False,
    )
    model = make_pipeline(coder, ListMLERanker(alpha=0.001))
    model.fit(frame, y, listmleranker__groups=groups)
    explanation = explain_scores(model, frame, groups)
    names = ["mode_air", "mode_bus", "mode_train", "gc", "ttme"]
    assert explanation.feature_names == names
    table = explanation.to_frame()
    assert table.index.equals(frame.index)
    assert table.columns.tolist() == ["groups", "rank", "score", "list_mean", *names]
    np.testing.assert_allclose(
        table[names].sum(axis=1), table["score"] - table["list_mean"], atol=1e-12
    )
    one = explanation.of_list(1)
    assert sorted(one.rows) == ["1 air", "1 bus", "1 car", "1 train"]
    assert one.ranks.tolist() == [1, 2, 3, 4]
    assert "1 car" in str(one)
    assert "mode_air" in one._repr_html_()
    assert str(explanation.why("1 car", "1 air")).startswith("row 1 car ")
    assert isinstance(pd.concat([table, frame], axis=1), pd.DataFrame)


def test_long_tables_say_that_there_is_more():
    explanation = explain_scores(ListMLERanker().fit(X, Y, GROUPS), X, GROUPS)
    more = f"{len(X) - 12} more rows: to_frame() has all."
    assert str(explanation).splitlines()[-1] == more
    assert more in explanation._repr_html_()
    assert more not in str(explanation.of_list(GROUPS[0]))


def test_models_that_are_not_linear_are_refused():
    class Doubled(Ridge):
        def predict(self, X):
            return np.exp(super().predict(X))

    forest = RandomForestRegressor(2, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match="RandomForestRegressor has no coef_"):
        explain_scores(forest, X, GROUPS)
    with pytest.raises(TypeError, match="Doubled are no weighted sums"):
        explain_scores(Doubled().fit(X, Y), X, GROUPS)
    with pytest.raises(ValueError, match="explain_scores needs to know which rows"):
        explain_scores(Ridge().fit(X, Y), X)
