"""Rankers rank: each row's place in its list, in the order of the rows."""

import numpy as np
import pytest

from skrank import ListMLERanker, RankNetRanker, rank_within
from skrank.datasets import make_ranking

X, Y, GROUPS = make_ranking(20, list_size=(1, 6), shuffle=True, random_state=0)


def test_ranks_are_those_of_the_scores_in_each_list():
    ranker = RankNetRanker().fit(X, Y, GROUPS)
    scores, ranks = ranker.predict(X), ranker.predict_rank(X, GROUPS)
    for row, group in enumerate(GROUPS):
        better = scores[GROUPS == group] > scores[row]
        assert ranks[row] == 1 + better.sum()


def test_a_single_row_is_first_and_equal_rows_share_a_rank():
    ranker = RankNetRanker().fit(X, Y, GROUPS)
    assert ranker.predict_rank(X[:1], ["new"]).tolist() == [1]
    same, groups = X[[3, 3, 3]], ["a", "a", "b"]
    assert ranker.predict_rank(same, groups).tolist() == [1, 1, 1]
    assert ranker.predict_rank(same, groups, method="average").tolist() == [1.5, 1.5, 1]


def test_ranks_become_a_column_of_the_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X).add_prefix("f").set_index(np.arange(len(X))[::-1])
    ranker = ListMLERanker().fit(frame, Y, GROUPS)
    ranked = frame.assign(rank=ranker.predict_rank(frame, GROUPS))
    expected = rank_within(ranker.predict(frame), GROUPS)
    assert ranked["rank"].tolist() == expected.tolist()
    indexed = frame.set_index(pd.Index(GROUPS, name="groups"))
    assert ranker.predict_rank(indexed).tolist() == expected.tolist()


def test_missing_groups_and_misspelt_arguments_are_refused():
    ranker = RankNetRanker().fit(X, Y, GROUPS)
    with pytest.raises(ValueError, match=r"RankNetRanker\.predict_rank needs to know"):
        ranker.predict_rank(X)
    with pytest.raises(TypeError, match="Did you mean 'groups'"):
        ranker.predict_rank(X, qid=GROUPS)
    with pytest.raises(TypeError, match="colour"):
        ranker.predict_rank(X, GROUPS, colour="red")
