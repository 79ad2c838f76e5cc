"""Expected reciprocal rank against its formula and all orders of ties."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.metrics import err_score

EPS = np.finfo(float).eps
TOL = 64 * EPS


def plain_err(ranked, k=None, max_grade=4):
    """The formula, for labels in ranked order."""
    total, reached = 0.0, 1.0
    for rank, y in enumerate(ranked[:k], start=1):
        stop = (2.0**y - 1) / 2.0**max_grade
        total += reached * stop / rank
        reached *= 1 - stop
    return total


def ranked(y):
    return y, -np.arange(len(y)), np.zeros(len(y))


@settings(deadline=None, max_examples=150)
@given(
    st.integers(1, 7).flatmap(
        lambda n: st.tuples(
            st.lists(st.sampled_from([0, 0, 0.5, 1, 2, 4]), min_size=n, max_size=n),
            st.lists(st.integers(0, 2), min_size=n, max_size=n),
            st.integers(1, 7),
        )
    )
)
def test_tied_scores_count_by_the_mean_over_all_orders(case):
    y, scores, k = case
    values = [
        plain_err([y[i] for i in rows], k)
        for rows in itertools.permutations(range(len(y)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(rows))
    ]
    groups = np.zeros(len(y))
    for ties, expected in [
        ("average", np.mean(values)),
        ("worst", min(values)),
        ("best", max(values)),
    ]:
        value = err_score(y, scores, groups, k=k, ties=ties)
        assert value == pytest.approx(expected, rel=TOL, abs=TOL)


@pytest.mark.parametrize("k", [1, 3, 10, 49, 50, None])
def test_a_long_tied_block_equals_the_elementary_symmetric_means(k):
    """The chance to pass j rows is e_j(1 - V) / C(m, j), added up place by place."""
    rng = np.random.default_rng(3)
    y = rng.choice([0, 1, 2, 3, 4], 50, p=[0.5, 0.2, 0.1, 0.1, 0.1])
    passing = 1 - (2.0**y - 1) / 16
    mean = np.zeros(len(y) + 1)
    mean[0] = 1
    for n, u in enumerate(passing, start=1):
        j = np.arange(1, n + 1)
        mean[1 : n + 1] = (n - j) / n * mean[1 : n + 1] + j / n * u * mean[:n]
    expected = ((mean[:-1] - mean[1:]) / np.arange(1, 51))[:k].sum()
    value = err_score(y, np.ones(50), np.zeros(50), k=k)
    assert value == pytest.approx(expected, rel=50 * EPS * 8)


@pytest.mark.parametrize("n_relevant", [1, 10, 1000, 50_000, 100_000])
def test_a_tied_list_of_1e5_rows_is_quick_and_right(n_relevant):
    """Rows of one grade: the first relevant row of a random order stops the most."""
    n = 100_000
    y = np.zeros(n)
    y[:n_relevant] = 4
    value = err_score(y, np.ones(n), np.zeros(n))
    # Chance that the i-th relevant row stands at place j, by adding places.
    stop, places = 15 / 16, np.arange(1, n + 1)
    share = np.zeros(15)
    share[0] = 1
    expected = 0.0
    for place in places:
        i = np.arange(15)
        move = share * np.clip((n_relevant - i) / (n - place + 1), 0, 1)
        expected += (move * stop * (1 - stop) ** i).sum() / place
        share -= move
        share[1:] += move[:-1]
        if share.sum() < 1e-18:
            break
    # (1/16)**15 is left out of the reference.
    assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("ties", ["average", "worst", "best", "order"])
@pytest.mark.parametrize("k", [None, 5])
def test_lists_apart_equal_lists_together(ties, k):
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 9, 100)
    y, scores = rng.integers(0, 5, 100), rng.integers(0, 3, 100)
    values = err_score(y, scores, groups, ties=ties, k=k, average=None)
    for g in range(9):
        rows = groups == g
        value = err_score(y[rows], scores[rows], groups[rows], ties=ties, k=k)
        assert value == values[g]
    assert err_score(y, scores, groups, ties=ties, k=k) == values.mean()
    if ties != "order":
        rows = rng.permutation(100)
        again = err_score(y[rows], scores[rows], groups[rows], ties=ties, k=k)
        assert again == pytest.approx(values.mean(), rel=TOL)
        again = err_score(y, scores * 3 - 7, -groups, ties=ties, k=k, average=None)
        np.testing.assert_array_equal(again[::-1], values)


def test_values_asserted_by_other_projects(published_values):
    entries = published_values
    entries = [entry for entry in entries if entry["metric"] == "err"]
    assert len(entries) == 10
    for entry in entries:
        value = err_score(
            *ranked(entry["y_ranked"]), k=entry["k"], max_grade=entry["gmax"]
        )
        assert value == pytest.approx(entry["expected"], abs=entry["tol"], rel=0)


def test_values_are_the_worked_numbers(worked_numbers):
    cases = worked_numbers["metrics"]
    y = cases["ranked_labels"]
    assert err_score(*ranked(y)) == pytest.approx(cases["err_full"], rel=TOL)
    for k, expected in cases["err"].items():
        assert err_score(*ranked(y), k=int(k)) == pytest.approx(expected, rel=TOL)


def test_the_best_grade_is_given_not_read_from_the_list():
    assert err_score(*ranked([1, 0])) == 0.0625
    assert err_score(*ranked([1, 0]), max_grade=1) == 0.5
    assert err_score(*ranked([4, 0, 2])) == 0.94140625
    assert err_score(*ranked([3, 2, 4])) == pytest.approx(0.633056640625, rel=TOL)
    assert err_score(*ranked([3, 2, 4]), k=2) == pytest.approx(0.490234375, rel=TOL)
    assert err_score(*ranked([0, 1]), max_grade=1) == 0.25
    with pytest.raises(ValueError, match=r"label of 5\.0 above max_grade=4"):
        err_score(*ranked([5, 0]))


def test_lists_without_a_relevant_row_have_zero():
    values = err_score([0, 0, 1, 0], [1, 2, 3, 4], [1, 1, 2, 2], average=None)
    np.testing.assert_array_equal(values, [0, 0.03125])


def test_large_grades_do_not_overflow():
    y = [4999, 5000, 0]
    value = err_score(*ranked(y), max_grade=5000)
    assert value == pytest.approx(0.5 + 0.5 / 2, rel=TOL)


@pytest.mark.parametrize("max_grade", [0, -1, np.inf, np.nan, "4", None])
def test_a_bad_max_grade_is_named(max_grade):
    with pytest.raises(ValueError, match="max_grade must be"):
        err_score(*ranked([0, 1]), max_grade=max_grade)


def test_negative_labels_are_refused():
    with pytest.raises(ValueError, match=r"at least 0, got -1\.0"):
        err_score(*ranked([-1, 1]))


def test_labels_are_chances_to_stop_where_a_convention_says_so():
    # The first row stops half of the users, the second all that are left.
    value = err_score(*ranked([0.5, 1.0, 0.25]), convention="catboost")
    assert value == pytest.approx(0.5 * 1 + 0.5 * 1 / 2, rel=TOL)
    with pytest.raises(ValueError, match=r"got a label of 1\.25 above 1\. This conv"):
        err_score(*ranked([1.25, 0.0]), convention="catboost")


def test_gdeval_leaves_out_lists_without_a_relevant_row():
    y, scores, groups = [0, 0, 2, 0], [2.0, 1.0, 2.0, 1.0], [0, 0, 1, 1]
    options = {"convention": "gdeval", "doc_ids": list("abab")}
    values = err_score(y, scores, groups, average=None, **options)
    assert np.isnan(values[0])
    assert values[1] == pytest.approx(3 / 16, rel=TOL)
    assert err_score(y, scores, groups, **options) == values[1]
    # By default such a list counts as 0.
    assert err_score(y, scores, groups, average=None)[0] == 0.0
