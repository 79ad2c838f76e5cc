"""NDCG and DCG against their formulas, all orders of ties, and other packages."""

import itertools
import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from skrank import with_groups
from skrank.metrics import dcg_score, list_labels, ndcg_score

EPS = np.finfo(float).eps
TOL = 64 * EPS


def one_list(values):
    return np.zeros(len(values))


def plain_dcg(ranked, k=None, gain=lambda y: 2.0**y - 1):
    """The formula, for labels in ranked order."""
    return sum(gain(y) / math.log2(1 + r) for r, y in enumerate(ranked[:k], start=1))


def orders(y, scores):
    """Every order of the rows by score, as labels; ties in any order."""
    for rows in itertools.permutations(range(len(y))):
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(rows)):
            yield [y[row] for row in rows]


small_lists = st.integers(1, 7).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from([0, 0.5, 1, 2, 3, 4]), min_size=n, max_size=n),
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.integers(1, 8),
    )
)


@settings(deadline=None, max_examples=150)
@given(small_lists)
def test_tied_scores_count_by_the_mean_over_all_orders(case):
    y, scores, k = case
    dcgs = [plain_dcg(order, k) for order in orders(y, scores)]
    groups = one_list(y)
    for ties, expected in [
        ("average", np.mean(dcgs)),
        ("worst", min(dcgs)),
        ("best", max(dcgs)),
    ]:
        value = dcg_score(y, scores, groups, k=k, ties=ties)
        assert value == pytest.approx(expected, rel=TOL, abs=TOL)
        ideal = plain_dcg(sorted(y, reverse=True), k)
        ndcg = ndcg_score(y, scores, groups, k=k, ties=ties, average=None)
        expected_ndcg = expected / ideal if ideal else np.nan
        np.testing.assert_allclose(ndcg, [expected_ndcg], rtol=TOL, atol=TOL)


@settings(deadline=None, max_examples=60)
@given(small_lists)
def test_ties_by_order_keep_the_order_of_rows(case):
    y, scores, k = case
    ranked = [y[i] for i in sorted(range(len(y)), key=lambda i: -scores[i])]
    value = dcg_score(y, scores, one_list(y), k=k, ties="order")
    assert value == pytest.approx(plain_dcg(ranked, k), rel=TOL, abs=TOL)


@pytest.mark.parametrize("ties", ["average", "worst", "best", "order"])
@pytest.mark.parametrize("k", [1, 2, 5, 33, 63, 64, 65, 100, 199, 200, 1000, None])
@pytest.mark.parametrize("n_distinct", [2, 10, 1000])
def test_long_lists_equal_a_slow_reference(ties, k, n_distinct):
    rng = np.random.default_rng(n_distinct)
    n = 200
    y = rng.integers(0, 5, n)
    scores = rng.integers(0, n_distinct, n).astype(float)
    gains = 2.0**y - 1
    second = {"average": 0 * gains, "order": 0 * gains, "best": -gains, "worst": gains}
    rows = np.lexsort((second[ties], -scores))
    ranked = gains[rows]
    if ties == "average":
        for score in np.unique(scores):
            tied = scores[rows] == score
            ranked[tied] = ranked[tied].mean()
    discount = 1 / np.log2(np.arange(2, n + 2))
    expected = (ranked * discount)[:k].sum()
    value = dcg_score(y, scores, one_list(y), k=k, ties=ties)
    assert value == pytest.approx(expected, rel=n * EPS)
    ideal = (np.sort(gains)[::-1] * discount)[:k].sum()
    value = ndcg_score(y, scores, one_list(y), k=k, ties=ties)
    assert value == pytest.approx(expected / ideal, rel=n * EPS)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.floats(-9, 9), st.integers(0, 4)),
        min_size=1,
        max_size=40,
    ),
    st.integers(1, 12),
    st.randoms(use_true_random=False),
)
def test_neither_row_order_nor_names_nor_units_of_scores_matter(rows, k, random):
    y, scores, groups = map(np.array, zip(*rows, strict=True))
    # Halves survive the transformation below exactly, so no ties come or go.
    scores = np.round(scores * 2) / 2
    values = ndcg_score(y, scores, groups, k=k, average=None)
    assert np.all(np.isnan(values) | ((values >= 0) & (values <= 1)))
    shuffled = list(range(len(rows)))
    random.shuffle(shuffled)
    names = np.array(["e", "d", "c", "b", "a"])[groups]
    again = ndcg_score(
        y[shuffled],
        scores[shuffled] ** 3 * 4 + 100,
        names[shuffled],
        k=k,
        average=None,
    )
    np.testing.assert_allclose(again[::-1], values, rtol=TOL)
    apart = [
        ndcg_score(
            y[groups == g], scores[groups == g], groups[groups == g], k=k, empty=7
        )
        for g in list_labels(groups)
    ]
    np.testing.assert_allclose(np.where(np.isnan(values), 7, values), apart, rtol=TOL)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(0, 2000), min_size=1, max_size=150), st.integers(1, 200))
def test_the_order_by_label_scores_one(y, k):
    for gain in ("exponential", "linear"):
        value = ndcg_score(y, y, one_list(y), k=k, gain=gain, empty=1.0)
        assert value == pytest.approx(1.0, abs=TOL)
        assert value <= 1.0


@pytest.mark.parametrize("k", [None, 3, 10, 40])
def test_scikit_learn_agrees_when_given_gains(k):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, (20, 40))
    scores = rng.integers(0, 12, (20, 40)) / 4
    groups = np.repeat(np.arange(20), 40)
    gains = 2.0**y - 1
    flat = y.ravel(), scores.ravel(), groups
    assert ndcg_score(*flat, k=k) == pytest.approx(
        sklearn.metrics.ndcg_score(gains, scores, k=k), rel=1e-13
    )
    assert dcg_score(*flat, k=k) == pytest.approx(
        sklearn.metrics.dcg_score(gains, scores, k=k), rel=1e-13
    )
    assert ndcg_score(*flat, k=k, gain="linear") == pytest.approx(
        sklearn.metrics.ndcg_score(y, scores, k=k), rel=1e-13
    )


def test_values_asserted_by_other_projects(published_values):
    entries = published_values
    entries = [entry for entry in entries if entry["metric"] in ("dcg", "ndcg")]
    assert len(entries) in (16, 21)  # those of pyltr, and of others too
    for entry in entries:
        y = entry.get("y_true", entry.get("y_ranked"))
        scores = entry.get("y_score", -np.arange(len(y)))
        gain = {"2^r-1": "exponential", "r": "linear"}[entry["gain"]]
        options = {"k": entry["k"], "gain": gain}
        if entry["metric"] == "dcg":
            value = dcg_score(y, scores, one_list(y), **options)
        else:
            value = ndcg_score(y, scores, one_list(y), empty=0, **options)
        assert value == pytest.approx(entry["expected"], abs=entry["tol"], rel=0), entry


def test_values_are_the_worked_numbers(worked_numbers):
    cases = worked_numbers["metrics"]
    y = cases["ranked_labels"]
    for k, expected in cases["ndcg"].items():
        value = ndcg_score(y, -np.arange(len(y)), one_list(y), k=int(k))
        assert value == pytest.approx(expected, rel=TOL)


# Wrong answers of other packages, by the number of the case.


def test_constant_scores_do_not_score_one():
    y = [10, 0, 0, 1, 5]
    value = dcg_score(y, np.ones(5), one_list(y), gain="linear")
    assert value == pytest.approx(9.435069180414056, rel=TOL)
    value = ndcg_score(y, np.ones(5), one_list(y), gain="linear")
    assert value == pytest.approx(0.6909785334518438, rel=TOL)


def test_tied_scores_among_others_count_by_the_mean_over_their_orders():
    y = [10, 0, 0, 1, 5]
    value = ndcg_score(y, [1, 1, 1, 0.5, 0.5], one_list(y), gain="linear")
    assert value == pytest.approx(0.699812015449946, rel=TOL)


def test_without_ties_ndcg_is_that_of_the_one_order():
    y = [10, 0, 0, 1, 5]
    value = ndcg_score(y, [0.1, 0.2, 0.3, 4, 70], one_list(y), gain="linear")
    assert value == pytest.approx(0.6956940443813074, rel=TOL)


@pytest.mark.parametrize("y", [[0, 0, 1, 0, 1], [1, 0, 1, 0, 0]])
def test_row_order_does_not_matter_for_constant_scores(y):
    value = ndcg_score(y, np.zeros(5), one_list(y))
    assert value == pytest.approx(0.7231357726898465, rel=TOL)


@pytest.mark.parametrize(
    ("ties", "gain", "expected"),
    [
        ("average", "exponential", 0.7825102285809601),
        ("worst", "exponential", 0.58688267143572),
        ("best", "exponential", 1.0),
        ("average", "linear", 0.8099531166420328),
        ("worst", "linear", 0.6199062332840657),
        ("best", "linear", 1.0),
    ],
)
def test_ties_by_choice(ties, gain, expected):
    y = [0, 1, 2]
    value = ndcg_score(y, np.ones(3), one_list(y), ties=ties, gain=gain)
    assert value == pytest.approx(expected, rel=TOL)


def test_swapped_labels_and_scores_give_another_number():
    groups = np.zeros(4)
    assert ndcg_score([1, 1, 1, 1], [1, 1, 1, 0], groups, k=4) == 1.0
    value = ndcg_score([1, 1, 1, 0], [1, 1, 1, 1], groups, k=4)
    assert value == pytest.approx(0.9015805098754106, rel=TOL)


@pytest.mark.parametrize(
    ("empty", "expected"), [("skip", 1.0), (0, 0.5), (1, 1.0), (0.5, 0.75)]
)
def test_lists_without_a_relevant_row_count_as_asked(empty, expected):
    y, groups = [1, 0, 1, 0, 0, 0], [1, 1, 1, 2, 2, 2]
    assert ndcg_score(y, y, groups, empty=empty) == expected
    values = ndcg_score(y, y, groups, empty=empty, average=None)
    np.testing.assert_array_equal(values, [1.0, np.nan])


def test_a_list_of_one_row_scores_one_or_is_undefined():
    assert ndcg_score([3], [5], [0]) == 1.0
    assert np.isnan(ndcg_score([0], [1], [0], average=None)).all()
    with pytest.warns(UndefinedMetricWarning, match="every list"):
        assert ndcg_score([0], [1], [0]) == 0.0
    assert ndcg_score([0], [1], [0], empty=0.25) == 0.25


@pytest.mark.parametrize(("empty", "expected"), [(1, 1.0), (0, 0.8), ("skip", 1.0)])
def test_an_empty_list_counts_with_its_weight(empty, expected):
    value = ndcg_score(
        [1, 0, 0, 0],
        [2, 1, 2, 1],
        [1, 1, 2, 2],
        sample_weight=[1, 1, 0.25, 0.25],
        empty=empty,
    )
    assert value == expected


@settings(deadline=None)
@given(st.lists(st.floats(0.01, 9), min_size=1, max_size=20))
def test_a_weighted_mean_of_ones_is_not_above_one(weights):
    n = len(weights)
    groups = np.arange(n)
    value = ndcg_score(np.ones(n), np.ones(n), groups, sample_weight=weights)
    assert value == 1.0


def test_large_labels_do_not_overflow():
    y = np.arange(60)
    value = ndcg_score(y, -y, one_list(y), k=10)
    assert value == pytest.approx(3.4663492319211473e-16, rel=TOL)
    value = ndcg_score(y, -y, one_list(y), k=10, gain="linear")
    assert value == pytest.approx(0.061240904519826916, rel=TOL)


@pytest.mark.parametrize("largest", [72, 899, 901, 1023, 5000, 1e6])
def test_labels_of_thousands_give_exact_ratios(largest):
    """The label below the best by one has half its gain, to rounding."""
    y = [largest - 1, largest, 0]
    value = ndcg_score(y, [3, 2, 1], np.zeros(3))
    second = 1 / math.log2(3)
    assert value == pytest.approx((0.5 + second) / (1 + 0.5 * second), rel=TOL)


def test_dcg_of_large_labels_is_exact_or_refused():
    assert dcg_score([0, 1, 5000], [1, 3, 2], np.zeros(3), k=1) == 1.0
    value = dcg_score([1023, 1023], [1, 1], np.zeros(2))
    assert value == pytest.approx(2.0**1023 * (1 + 1 / math.log2(3)), rel=TOL)
    with pytest.raises(ValueError, match="exceeds the largest float"):
        dcg_score([0, 5000], [0, 1], np.zeros(2))


def test_labels_close_to_zero_keep_their_digits():
    y = np.array([1e-12, 2e-12])
    value = ndcg_score(y, [1, 0], np.zeros(2))
    expected = np.expm1(y * np.log(2))
    second = 1 / math.log2(3)
    expected = (expected @ [1, second]) / (expected @ [second, 1])
    assert value == pytest.approx(expected, rel=TOL)


def test_labels_are_not_cut_to_integers():
    y = np.array([3, 0, 1, 2])
    for labels in (y, y / 3):
        value = ndcg_score(labels, [1, 2, 3, 4], one_list(y), gain="linear")
        assert value == pytest.approx(0.8238293090980726, rel=TOL)
    ideal = dcg_score([0.2, 0.9, 0.5], [0.2, 0.9, 0.5], np.zeros(3), gain="linear")
    assert ideal == pytest.approx(1.3154648767857289, rel=TOL)


@pytest.mark.parametrize("factor", [1e-300, 0.1, 3, 1e150, 1e307])
def test_linear_gain_does_not_depend_on_the_unit_of_labels(factor):
    y = np.array([15.17134, 0, 3.2])
    scores = [1.0, 3.0, 2.0]
    expected = ndcg_score(y, scores, one_list(y), gain="linear")
    value = ndcg_score(y * factor, scores, one_list(y), gain="linear")
    assert value == pytest.approx(expected, rel=TOL)


def test_the_example_of_wikipedia_has_its_numbers():
    y, scores = [3, 2, 3, 0, 1, 2], -np.arange(6)
    groups = one_list(y)
    value = dcg_score(y, scores, groups, gain="linear")
    assert value == pytest.approx(6.861126688593503, rel=TOL)
    assert dcg_score(y, y, groups, gain="linear") == pytest.approx(
        7.140995184095701, rel=TOL
    )
    value = ndcg_score(y, scores, groups, gain="linear")
    assert value == pytest.approx(0.9608081943360617, rel=TOL)
    value = ndcg_score(y, scores, groups)
    assert value == pytest.approx(0.9488107485678986, rel=TOL)


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, 0.5),
        (2, 0.6934264036172708),
        (3, 0.8467132018086354),
        (5, 0.8467132018086354),
        (10, 0.8467132018086354),
        (None, 0.8467132018086354),
    ],
)
def test_a_cutoff_may_exceed_a_list(k, expected):
    groups = [0, 0, 0, 1, 1, 1, 1]
    scores = [0.2, 0.3, 0.5, 0.1, 0.3, 0.5, 0.2]
    value = ndcg_score([0, 0, 1, 0, 1, 0, 1], scores, groups, k=k)
    assert value == pytest.approx(expected, rel=TOL)


def test_lists_are_not_pooled():
    y, scores = [0, 1, 0, 1, 0, 0], [0.1, 0.2, 0.3, 0.8, 0.1, 0.05]
    groups = [1, 1, 1, 2, 2, 2]
    values = ndcg_score(y, scores, groups, average=None)
    np.testing.assert_allclose(values, [0.6309297535714575, 1.0], rtol=TOL)
    assert ndcg_score(y, scores, groups) == pytest.approx(0.8154648767857288, rel=TOL)


def test_missing_groups_are_an_error():
    y, scores = [0, 1, 1, 0], [10, 11, 2, 1]
    assert ndcg_score(y, scores, ["a", "a", "b", "b"]) == 1.0
    assert ndcg_score(with_groups(y, ["a", "a", "b", "b"]), scores) == 1.0
    with pytest.raises(ValueError, match="ndcg_score needs to know which rows"):
        ndcg_score(y, scores)


def test_labels_of_groups_do_not_matter():
    y, scores = np.array([1, 0, 0, 2, 1, 1]), np.array([1, 2, 3, 1, 2, 1.0])
    groups = np.array([3, 3, 1, 1, 1, 2])
    expected = ndcg_score(y, scores, groups)
    names = np.array(["", "x", "a", "m"])[groups]
    rows = [4, 0, 5, 2, 1, 3]
    value = ndcg_score(y[rows], scores[rows], names[rows])
    assert value == pytest.approx(expected, rel=TOL)


def test_a_model_that_learned_nothing_scores_as_a_random_order():
    y, groups = [0, 0, 1, 0, 3, 0, 4, 0, 0], [0] * 7 + [1] * 2
    value = ndcg_score(y, np.zeros(9), groups)
    assert value == pytest.approx(0.6001768593817169, rel=TOL)
    value = ndcg_score(y, np.zeros(9), groups, gain="linear")
    assert value == pytest.approx(0.6503755565758812, rel=TOL)


def test_one_list_needs_saying_so():
    y = [1, 2, 3, 4, 5]
    assert ndcg_score(y, y, np.zeros(5)) == 1.0
    with pytest.raises(ValueError, match=r"groups=np\.zeros\(len\(y_true\)\)"):
        ndcg_score(y, y)


def test_gain_and_discount_may_be_functions():
    y, scores = [3, 0, 2, 1], [1, 2, 2, 3]
    groups = one_list(y)
    value = dcg_score(
        y, scores, groups, gain=lambda y: y**2, discount=lambda rank: 1 / rank, k=3
    )
    # Label 1 first, then the mean of 0 and 4 at ranks 2 and 3.
    assert value == pytest.approx(1 + 2 / 2 + 2 / 3, rel=TOL)
    value = ndcg_score(
        y, scores, groups, gain=lambda y: y**2, discount=lambda rank: 1 / rank, k=3
    )
    assert value == pytest.approx((1 + 1 + 2 / 3) / (9 + 4 / 2 + 1 / 3), rel=TOL)
    # A function decides which rows are best: here those with small labels.
    value = ndcg_score(y, [0, 3, 1, 2], groups, gain=lambda y: 3 - y)
    assert value == 1.0


def test_a_discount_may_be_constant():
    y, scores = [3, 0, 2, 1], [1, 2, 3, 4]
    value = dcg_score(y, scores, one_list(y), k=3, gain="linear", discount=np.ones_like)
    assert value == 1 + 2 + 0
    # One relevant row within the first two ranks is worth as much as at the first.
    value = ndcg_score(
        [0, 1, 0], [3, 2, 1], one_list(y[:3]), k=2, discount=np.ones_like
    )
    assert value == 1.0


def test_a_gain_of_one_is_enough_where_rows_are_not_retrieved():
    groups = ["a", "a", "b", "b"]
    values = ndcg_score(
        *([1, 0, 1, 0], [2, 1, 2, 1], groups),
        retrieved=[True, True, False, True],
        average=None,
    )
    assert values.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gain": lambda y: y[:1]}, "gain must return one number per label"),
        ({"gain": lambda y: y - 2}, "gain must return finite numbers"),
        ({"gain": lambda y: y * np.nan}, "gain must return finite numbers"),
        ({"discount": lambda rank: 1.0}, "discount must return one factor per rank"),
        ({"discount": lambda rank: rank}, "never grow"),
        ({"discount": lambda rank: 0 * rank}, "never grow"),
        ({"discount": lambda rank: 1 / (1 + (rank - 1) % 2)}, "never grow"),
        ({"discount": lambda rank: 2.5 - rank}, "finite factors of at least 0"),
        ({"discount": lambda rank: rank * np.nan}, "never grow"),
        ({"discount": lambda rank: np.where(rank > 1, 1.0, np.inf)}, "never grow"),
        ({"gain": "exp"}, "gain must be 'exponential', 'linear' or callable"),
        ({"gain": None}, "gain must be 'exponential', 'linear' or callable"),
        ({"discount": "log"}, "discount must be 'log2' or callable"),
    ],
)
@pytest.mark.parametrize("metric", [ndcg_score, dcg_score])
def test_a_bad_gain_or_discount_is_named(metric, options, message):
    with pytest.raises(ValueError, match=message):
        metric([0, 1, 2], [3, 2, 1], np.zeros(3), **options)


def test_negative_labels_point_to_a_metric_that_takes_them():
    for metric in (ndcg_score, dcg_score):
        with pytest.raises(ValueError, match="pairwise_accuracy_score"):
            metric([-1, 0, 2], [3, 2, 1], np.zeros(3))
