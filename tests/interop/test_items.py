"""Items in orderings and pairs: what is built, and published fits of such data."""

import csv
import io
import itertools
import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import spearmanr

from skrank import DavidsonRanker, ListMLERanker, RankNetRanker, RaoKupperRanker
from skrank.interop import (
    from_best_worst,
    from_orderings,
    from_pair_counts,
    from_pairs,
    from_rankings,
    read_preflib,
)

EXACT = {"alpha": 0, "tol": 1e-12, "ftol": 0.0, "max_iter": 5000}


def fitted(rows, ranker):
    """Return worths of the rows by a ranker without a penalty."""
    ranker.set_params(**EXACT)
    ranker.fit(rows.X, rows.y, rows.groups, sample_weight=rows.sample_weight)
    return rows.worths(ranker)


def by_list(rows):
    """Return what each list says: items with labels, and its weight."""
    return [
        (
            {
                rows.items[item]: label
                for item, label in zip(
                    rows.item_of_row[rows.groups == group],
                    rows.y[rows.groups == group],
                    strict=True,
                )
            },
            rows.sample_weight[rows.groups == group][0],
        )
        for group in range(rows.groups.max() + 1)
    ]


# What the builders make


def test_orderings_become_lists_whose_labels_fall_with_the_place():
    rows = from_orderings(
        [["b", "a"], ["c", ("a", "b")], [{"c"}, "a"]], weights=[1, 2, 3]
    )
    assert by_list(rows) == [
        ({"b": 2, "a": 1}, 1),
        ({"c": 2, "a": 1, "b": 1}, 2),
        ({"c": 2, "a": 1}, 3),
    ]
    assert rows.items == ["a", "b", "c"]
    assert rows.columns == ["b", "c"]
    np.testing.assert_array_equal(rows.X[0], [1, 0])  # b
    np.testing.assert_array_equal(rows.X[1], [0, 0])  # a, the reference


def test_items_that_an_ordering_leaves_out_are_absent_or_last():
    orderings = [["b"], ["a", "c"]]
    absent = from_orderings(orderings, items=["a", "b", "c"])
    last = from_orderings(orderings, items=["a", "b", "c"], unranked="last")
    assert by_list(absent) == [({"b": 1}, 1), ({"a": 2, "c": 1}, 1)]
    assert by_list(last) == [
        ({"b": 1, "a": 0, "c": 0}, 1),
        ({"a": 2, "c": 1, "b": 0}, 1),
    ]


def test_a_frame_of_places_and_a_table_of_ranks_say_the_same():
    places = pd.DataFrame({"first": ["b", "a"], "second": ["a", None]})
    ranks = pd.DataFrame({"a": [2, 1], "b": [1, np.nan]})
    assert by_list(from_orderings(places)) == [({"b": 2, "a": 1}, 1), ({"a": 1}, 1)]
    assert by_list(from_rankings(ranks)) == [({"a": 1, "b": 2}, 1), ({"a": 1}, 1)]
    zeros = from_rankings([[2, 1], [1, 0]], items=["a", "b"])
    assert by_list(zeros) == by_list(from_rankings(ranks))
    last = from_rankings(ranks, unranked="last")
    assert by_list(last)[1] == ({"a": 1, "b": 0}, 1)


def test_pairs_and_counts_of_pairs_say_the_same():
    pairs = from_pairs(
        ["a", "a", "b", "a"],
        ["b", "b", "a", "c"],
        tied=np.array([False, False, False, True]),
    )
    counts = from_pair_counts(["a", "a"], ["b", "c"], [2, 0], [1, 0], [0, 1])
    assert by_list(counts) == [
        ({"a": 1, "b": 0}, 2),
        ({"a": 0, "b": 1}, 1),
        ({"a": 0, "c": 0}, 1),
    ]
    assert by_list(pairs)[0] == ({"a": 1, "b": 0}, 1)
    a, b = (fitted(rows, DavidsonRanker()).worth for rows in (pairs, counts))
    np.testing.assert_allclose(a, b, atol=1e-7)


def test_the_best_and_the_worst_of_a_set_leave_the_rest_tied_between():
    rows = from_best_worst([["a", "b", "c", "d"]], ["c"], ["a"])
    assert by_list(rows) == [({"a": 0, "b": 1, "c": 2, "d": 1}, 1)]
    choice = from_best_worst([["a", "b", "c"]], ["b"])
    assert by_list(choice) == [({"a": 0, "b": 1, "c": 0}, 1)]


def test_sum_to_zero_codes_the_same_model():
    rng = np.random.default_rng(0)
    orderings = [list(rng.permutation(list("abcd"))) for _ in range(60)]
    by_reference = fitted(from_orderings(orderings), ListMLERanker())
    by_sum = fitted(from_orderings(orderings, coding="sum"), ListMLERanker())
    assert by_sum.worth.sum() == pytest.approx(0, abs=1e-12)
    centred = by_reference.worth - by_reference.worth.mean()
    np.testing.assert_allclose(by_sum.worth, centred, atol=1e-7)
    centre = np.eye(4) - 0.25
    np.testing.assert_allclose(
        by_sum.covariance_matrix,
        centre @ by_reference.covariance_matrix @ centre,
        atol=1e-6,
    )
    np.testing.assert_allclose(
        by_sum.quasi_standard_error, by_reference.quasi_standard_error, rtol=1e-5
    )


def test_the_reference_is_a_choice_of_words_alone():
    orderings = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]
    one = fitted(from_orderings(orderings), ListMLERanker())
    other = fitted(from_orderings(orderings, reference="c"), ListMLERanker())
    np.testing.assert_allclose(one.worth - one.worth[2], other.worth, atol=1e-7)
    assert other.worth[2] == 0
    assert other.standard_error[2] == 0


def test_many_items_make_sparse_rows_with_the_same_fit(monkeypatch):
    from skrank.interop import _items

    orderings = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]
    dense = fitted(from_orderings(orderings), ListMLERanker())
    monkeypatch.setattr(_items, "LARGEST_DENSE", 1)
    rows = from_orderings(orderings)
    assert sparse.issparse(rows.X)
    np.testing.assert_allclose(
        fitted(rows, ListMLERanker()).worth, dense.worth, atol=1e-7
    )


def test_frames_name_the_items_in_summaries():
    rows = from_pair_counts(["a", "b"], ["b", "c"], [3, 2], [1, 2])
    ranker = RankNetRanker(**EXACT)
    frame = rows.to_frame()
    ranker.fit(frame, rows.y, rows.groups, sample_weight=rows.sample_weight)
    assert list(ranker.feature_names_in_) == ["b", "c"]
    ranker.fit(rows.X, rows.y, rows.groups, sample_weight=rows.sample_weight)
    worths = rows.worths(ranker)
    table = worths.to_frame()
    assert list(table.index) == ["a", "b", "c"]
    assert str(worths).splitlines()[0].split()[0] == "item"
    assert len(str(worths).splitlines()) == 4


def test_sets_that_never_lost_to_others_are_named_best_first():
    rows = from_pairs(["a", "b", "c", "d"], ["b", "a", "d", "e"])
    assert [sorted(part) for part in rows.separated] in (
        [["a", "b"], ["c"], ["d"], ["e"]],
        [["c"], ["a", "b"], ["d"], ["e"]],
    )
    whole = from_pairs(["a", "b", "c"], ["b", "c", "a"])
    assert [sorted(part) for part in whole.separated] == [["a", "b", "c"]]
    tied = from_pairs(["a"], ["b"], tied=np.array([True]))
    assert [sorted(part) for part in tied.separated] == [["a", "b"]]
    ranked = from_orderings([["a", "b", "c"], ["b", "a", "c"]])
    assert [sorted(part) for part in ranked.separated] == [["a", "b"], ["c"]]


def test_separation_is_by_the_wins_between_all_rows_of_a_list():
    rng = np.random.default_rng(1)
    for _ in range(30):
        table = np.where(rng.random((3, 5)) < 0.3, 0, rng.integers(1, 4, (3, 5)))
        if not ((table > 0).sum(axis=1) > 1).all() or not (table > 0).any(axis=0).all():
            continue
        rows = from_rankings(table)
        reach = np.eye(5, dtype=bool)  # by brute force: who beat whom, and on
        for row in table:
            for i, j in itertools.permutations(np.flatnonzero(row), 2):
                reach[i, j] |= row[i] <= row[j]
        for middle in range(5):
            reach |= reach[:, [middle]] & reach[[middle], :]
        both = reach & reach.T
        expected = {frozenset(np.flatnonzero(line).tolist()) for line in both}
        assert {frozenset(part) for part in rows.separated} == expected


def test_worths_without_a_finite_estimate_are_warned_of_by_name():
    rows = from_pairs(["a", "b", "b", "c"], ["b", "c", "c", "b"])
    ranker = RankNetRanker(alpha=0)
    with pytest.warns(UserWarning, match="alpha=0"):
        ranker.fit(rows.X, rows.y, rows.groups)
    with (
        pytest.warns(UserWarning, match=r"2 sets .*first set: 'a'"),
        pytest.warns(UserWarning, match="no finite optimum and no standard errors"),
    ):
        rows.worths(ranker)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: from_orderings([]), "no comparisons"),
        (lambda: from_orderings([[], []]), "no comparisons"),
        (lambda: from_rankings(np.zeros((2, 0))), "no comparisons"),
        (lambda: from_orderings([["a", None, "b"]]), "an item is missing .None."),
        (lambda: from_pairs(["a", np.nan], ["b", "c"]), "an item is missing .nan."),
        (lambda: from_pair_counts(["a"], ["b", "c"], [1], [1]), "first has 1 entries"),
        (
            lambda: from_rankings(np.ma.masked_array([[1.0, 2.0]], [[0, 1]])),
            "ranks.*mask",
        ),
        (lambda: from_orderings(["abc"]), "must be a sequence of items, got 'abc'"),
        (lambda: from_orderings([["a", "b", "a"]]), "'a' stands twice in comparison 0"),
        (lambda: from_orderings([["a", "b"]], weights=[1, 2]), "2 entries for 1 lists"),
        (lambda: from_orderings([["a", "b"]], weights=[-1]), "not be negative, got -1"),
        (lambda: from_orderings([["a", "b"]], items=["a"]), "items has no 'b'"),
        (lambda: from_orderings([["a", "b"]], items=list("abc")), "'c' was never"),
        (
            lambda: from_orderings([["a", "b"]], reference="c"),
            "must be one of the items that are compared, .* got 'c'",
        ),
        (lambda: from_orderings([["a", "b"]], coding="treatment"), "coding must be"),
        (lambda: from_orderings([["a", "b"]], unranked="first"), "unranked must be"),
        (lambda: from_rankings([1, 2]), "must be a table, got shape"),
        (lambda: from_rankings([[1, -2]]), "1 or more, or missing .*got -2"),
        (lambda: from_rankings([[1, 0.5]]), "1 or more, or missing .*got 0.5"),
        (lambda: from_rankings([[1, 2]], items=["a"]), "1 names for 2 columns"),
        (lambda: from_pairs(["a"], ["b", "c"]), "winners has 1 entries and losers 2"),
        (lambda: from_pairs(["a"], ["a"]), "'a' stands twice"),
        (lambda: from_pairs(["a"], ["b"], tied=[1]), "tied must hold True or False"),
        (lambda: from_pair_counts(["a"], ["b"], [1, 2], [1]), "wins_first has 2"),
        (lambda: from_pair_counts(["a"], ["b"], [-1], [1]), "not be negative, got -1"),
        (lambda: from_pair_counts(["a"], ["b"], [0], [0]), "no comparisons"),
        (lambda: from_best_worst([["a", "b"]], ["c"]), "best item 'c' is not in set 0"),
        (lambda: from_best_worst([["a", "b"]], ["a"], ["c"]), "worst item 'c' is not"),
        (lambda: from_best_worst([["a", "b"]], ["a"], ["a"]), "is its worst, too"),
        (lambda: from_best_worst([["a", "b"]], ["a", "b"]), "must be as many"),
    ],
)
def test_what_does_not_fit_together_raises(build, message):
    with pytest.raises(ValueError, match=message):
        build()


# Files of PrefLib

FILE = """# FILE NAME: x.toc
# NUMBER ALTERNATIVES: 4
# ALTERNATIVE NAME 1: Ann: the first
# ALTERNATIVE NAME 2: Bob
# ALTERNATIVE NAME 3: Cy
# ALTERNATIVE NAME 4: Dee
5: 1,{2,3}
2: {3, 1}, 2

1: 2
"""


def test_preflib_files_are_read_with_names_ties_and_counts(tmp_path):
    path = tmp_path / "x.toc"
    path.write_text(FILE)
    rows = read_preflib(path)
    assert rows.items == ["Ann: the first", "Bob", "Cy"]
    assert by_list(rows) == [
        ({"Ann: the first": 2, "Bob": 1, "Cy": 1}, 5),
        ({"Cy": 2, "Ann: the first": 2, "Bob": 1}, 2),
        ({"Bob": 1}, 1),
    ]
    last = read_preflib(path, unranked="last")
    assert by_list(last)[2] == (
        {"Bob": 1, "Ann: the first": 0, "Cy": 0, "Dee": 0},
        1,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# ALTERNATIVE NAME 1: a\n", "has no orders"),
        ("# ALTERNATIVE NAME 1: a\n1: 1,2\n", "alternative 2 has no name"),
        ("# ALTERNATIVE NAME 1: a\nx\n", "line 2: not a PrefLib line: 'x'"),
        ("# ALTERNATIVE NAME 1: a\n1: {1\n", "line 2: not a PrefLib line"),
        ("# ALTERNATIVE NAME 1: a\n1:\n", "line 2: not a PrefLib line"),
    ],
)
def test_a_file_that_is_not_of_preflib_raises_with_the_line(tmp_path, text, message):
    path = tmp_path / "x.soc"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_preflib(path)


def test_two_items_have_no_quasi_errors():
    rows = from_pairs(["a", "a", "b"], ["b", "b", "a"])
    assert np.isnan(fitted(rows, RankNetRanker()).quasi_standard_error).all()


# Published fits


@pytest.fixture(scope="module")
def small(shared):
    return shared / "data/plackett_luce_small"


@pytest.fixture(scope="module")
def expected(small):
    return json.loads((small / "expected.json").read_text())


def agree(worths, published, atol=2e-6):
    coef = published["coef"]
    worth = dict(zip(map(str, worths.items), worths.worth, strict=True))
    error = dict(zip(map(str, worths.items), worths.standard_error, strict=True))
    for item, value in coef.items():
        assert worth[item] == pytest.approx(value, abs=atol)
        if published["se"][item] is not None:
            assert error[item] == pytest.approx(published["se"][item], rel=1e-5)


@pytest.mark.parametrize("name", ["netflix", "shirt"])
def test_preflib_sets_have_the_fits_of_coxph(small, expected, name):
    reference = next(k for k, v in expected[name]["se"].items() if v is None)
    rows = read_preflib(small / f"{name}.soc", reference=reference)
    agree(fitted(rows, ListMLERanker()), expected[name])


def test_salad_has_the_published_worths(small, expected):
    rows = from_rankings(pd.read_csv(small / "salad.csv"))
    agree(fitted(rows, ListMLERanker()), expected["salad_items"])


def test_skaters_tie_and_all_are_ranked(small):
    rows = read_preflib(small / "skaters.toc")
    assert len(rows.items) == 30
    assert len(np.unique(rows.groups)) == 9
    ranker = ListMLERanker(ties="marginal", alpha=0.01)
    worths = rows.worths(ranker.fit(rows.X, rows.y, rows.groups))
    # Nine judges rank all thirty, so mean ranks tell nearly the same.
    frame = pd.DataFrame({"group": rows.groups, "y": rows.y, "item": rows.item_of_row})
    mean_rank = (
        frame.groupby("group").y.rank(ascending=False).groupby(frame["item"]).mean()
    )
    assert spearmanr(worths.worth, -mean_rank.sort_index()).statistic > 0.99
    assert worths.worth.argmax() == mean_rank.sort_index().to_numpy().argmin()


def test_skaters_have_the_fit_of_coxph_where_it_is_finite(small):
    rows = read_preflib(small / "skaters.toc")
    assert rows.separated[0] == ["Alexei Yagudin"]  # first with every judge
    ranks = pd.DataFrame(
        {
            "judge": rows.groups,
            "skater": [rows.items[item] for item in rows.item_of_row],
            "rank": rows.y.max() + 1 - rows.y,
        }
    ).pivot(index="judge", columns="skater", values="rank")
    without_one = from_rankings(
        ranks.drop(columns="Alexei Yagudin"), reference="Sergeis Telenkov"
    )
    worths = fitted(
        without_one, ListMLERanker(ties="efron", last_level="rank")
    ).to_frame()
    # coxph(Surv(rank, 1) ~ skater + strata(judge), ties = "efron") of R's survival 3.5
    for skater, value in {
        "Alexander Abt": 16.1170638745,
        "Evgeni Plushenko": 15.2617333671,
        "Philippe Candeloro": 10.1150999859,
        "Matthew Van Den Broeck": -3.0893621441,
    }.items():
        assert worths.worth[skater] == pytest.approx(value, abs=1e-5)


def test_pudding_has_davidsons_worths_and_deviance(small):
    with open(small / "pudding.csv") as file:
        table = list(csv.DictReader(file))
    columns = {key: [int(row[key]) for row in table] for key in table[0]}
    rows = from_pair_counts(
        columns["i"], columns["j"], columns["w_ij"], columns["w_ji"], columns["t_ij"]
    )
    worths = fitted(rows, DavidsonRanker())
    worth = np.exp(worths.worth)
    np.testing.assert_allclose(
        worth / worth.sum(),
        [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855],
        atol=3e-5,  # the published fit stopped after 7 iterations
    )
    rao_kupper = fitted(rows, RaoKupperRanker()).worth
    np.testing.assert_allclose(
        rao_kupper[1:],
        [0.1737181, 0.1200492, 0.1398787, 0.1049691, 0.2980093],
        atol=2e-6,
    )


def test_citations_have_the_fit_of_bradleyterry2(small, expected):
    table = pd.read_csv(small / "citations_pairs.csv")
    rows = from_pair_counts(table.player1, table.player2, table.win1, table.win2)
    worths = fitted(rows, RankNetRanker())
    agree(worths, expected["citations_bradley_terry"])
    # qvcalc(BTabilities(...)) of R
    np.testing.assert_allclose(
        worths.quasi_standard_error,
        [0.04212098, 0.09223596, 0.04284588, 0.05851594],
        rtol=1e-5,
    )


@pytest.fixture(scope="module")
def bradleyterry2():
    """Return a function that reads a data set of R's BradleyTerry2, where it is."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")

    def read(name):
        code = f"library(BradleyTerry2); data({name}); write.csv({name})"
        done = subprocess.run(
            ["Rscript", "-e", code], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip("R has no package BradleyTerry2")
        return pd.read_csv(io.StringIO(done.stdout))

    return read


def test_baseball_has_the_published_home_advantage(bradleyterry2):
    table = bradleyterry2("baseball")
    columns = [table[name] for name in ("home.team", "away.team")]
    wins = [table[name] for name in ("home.wins", "away.wins")]
    plain = fitted(from_pair_counts(*columns, *wins), RankNetRanker())
    # The vignette of BradleyTerry2 and Agresti's table 10.10: reference Baltimore.
    np.testing.assert_allclose(
        plain.worth, [0, 1.1077, 0.6839, 1.4364, 1.5814, 1.2476, 1.2945], atol=6e-5
    )
    rows = from_pair_counts(*columns, *wins, first_effect="at.home")
    worths = fitted(rows, RankNetRanker())
    np.testing.assert_allclose(
        worths.worth, [0, 1.1438, 0.7047, 1.4754, 1.6196, 1.2813, 1.3271], atol=6e-5
    )
    assert rows.columns[-1] == "at.home"
    assert worths.summary.coef[-1] == pytest.approx(0.3022606555, abs=1e-7)
    assert worths.summary.standard_error[-1] == pytest.approx(0.1309436425, rel=1e-6)
    np.testing.assert_allclose(
        worths.quasi_standard_error[:3], [0.2593386, 0.2179751, 0.2234723], rtol=1e-5
    )


def test_icehockey_counts_a_tie_as_half_a_win_of_each(bradleyterry2):
    table = bradleyterry2("icehockey")
    rows = from_pair_counts(
        table.visitor, table.opponent, table.result, 1 - table.result, 0 * table.result
    )
    worths = fitted(rows, RankNetRanker()).to_frame()
    against = worths.worth - worths.worth["Alaska Anchorage"]
    for team, value in {
        "Air Force": -1.413509150,
        "Denver": 1.618235710,
        "Wisconsin": 1.497606233,
        "Yale": 0.392218121,
    }.items():
        assert against[team] == pytest.approx(value, abs=2e-6)
