"""Metrics of relevant rows against their formulas, over all orders of ties."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from skrank.metrics import (
    average_precision_score,
    bpref_score,
    expected_search_length_score,
    f_measure_at_k_score,
    hit_rate_score,
    precision_at_k_score,
    r_precision_score,
    rank_biased_precision_score,
    recall_at_k_score,
    reciprocal_rank_score,
)

EPS = np.finfo(float).eps
TOL = 64 * EPS


# Formulas for relevance in ranked order, the cut-off and what there is to find.
def precision(ranked, k, n_relevant):
    return sum(ranked[:k]) / k


def recall(ranked, k, n_relevant):
    return sum(ranked[:k]) / n_relevant if n_relevant else np.nan


def f_measure(ranked, k, n_relevant):
    p, r = precision(ranked, k, n_relevant), recall(ranked, k, n_relevant)
    return 5 * p * r / (4 * p + r) if p + r > 0 else p * r


def hit_rate(ranked, k, n_relevant):
    return float(any(ranked[:k]))


def r_precision(ranked, k, n_relevant):
    return sum(ranked[:n_relevant]) / n_relevant if n_relevant else np.nan


def reciprocal_rank(ranked, k, n_relevant):
    return 1 / (ranked.index(1) + 1) if any(ranked[:k]) else 0.0


def rank_biased(ranked, k, n_relevant):
    return 0.25 * sum(0.75**i * hit for i, hit in enumerate(ranked[:k]))


def search_length(ranked, k, n_relevant):
    places = [i for i, hit in enumerate(ranked) if hit]
    return places[1] - 1 if len(places) > 1 else np.nan


def average_precision(divisor):
    def value(ranked, k, n_relevant):
        if not n_relevant:
            return np.nan
        total = sum(
            sum(ranked[: i + 1]) / (i + 1) for i in range(k) if ranked[i : i + 1] == [1]
        )
        hits = sum(ranked[:k])
        return (
            total
            / {"all": n_relevant, "min": min(n_relevant, k), "found": hits or 1}[
                divisor
            ]
        )

    return value


def bpref(ranked, k, n_relevant):
    if not n_relevant:
        return np.nan
    least = min(n_relevant, len(ranked) - sum(ranked)) or 1
    above = [ranked[:i].count(0) for i, hit in enumerate(ranked) if hit]
    return sum(1 - min(n, n_relevant) / least for n in above) / n_relevant


CASES = {
    "precision": (precision_at_k_score, {}, precision),
    "recall": (recall_at_k_score, {}, recall),
    "f": (f_measure_at_k_score, {"beta": 2}, f_measure),
    "hit_rate": (hit_rate_score, {}, hit_rate),
    "r_precision": (r_precision_score, {}, r_precision),
    "rr": (reciprocal_rank_score, {}, reciprocal_rank),
    "rbp": (rank_biased_precision_score, {"p": 0.75}, rank_biased),
    "esl": (expected_search_length_score, {"n_wanted": 2}, search_length),
    "ap_all": (average_precision_score, {}, average_precision("all")),
    "ap_min": (
        average_precision_score,
        {"normalizer": "min"},
        average_precision("min"),
    ),
    "ap_found": (
        average_precision_score,
        {"normalizer": "found"},
        average_precision("found"),
    ),
    "bpref": (bpref_score, {}, bpref),
}
WITHOUT_CUTOFF = {"r_precision", "esl", "bpref"}

lists = st.integers(1, 7).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.integers(0, 2), min_size=n, max_size=n),
        st.lists(st.sampled_from([True, True, False]), min_size=n, max_size=n),
        st.integers(1, 9),
    )
)


def over_all_orders(relevant, scores, rows, formula, k, n_relevant):
    """Return a formula's values over the orders that scores leave open."""
    orders = [
        order
        for order in itertools.permutations(rows)
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    return [formula([relevant[i] for i in order], k, n_relevant) for order in orders]


@pytest.mark.parametrize("name", CASES)
@settings(deadline=None, max_examples=100)
@given(lists)
def test_tied_scores_count_by_the_mean_over_all_orders(name, case):
    metric, options, formula = CASES[name]
    y, scores, _, k = case
    relevant = [int(label >= 2) for label in y]
    rows = range(len(y))
    values = over_all_orders(relevant, scores, rows, formula, k, sum(relevant))
    in_order = sorted(rows, key=lambda i: -scores[i])
    by_rows = formula([relevant[i] for i in in_order], k, sum(relevant))
    if name not in WITHOUT_CUTOFF:
        options = {**options, "k": k}
    worst, best = min(values), max(values)
    if name == "esl":
        worst, best = best, worst
    for ties, expected in [
        ("average", np.mean(values)),
        ("worst", worst),
        ("best", best),
        ("order", by_rows),
    ]:
        value = metric(
            *(y, scores, np.zeros(len(y))),
            **options,
            ties=ties,
            relevance_level=2,
            average=None,
        )
        if ties in ("best", "worst") and name == "ap_found":
            # More hits within k can lower the mean precision at hits.
            assert worst - TOL <= value[0] <= best + TOL or np.isnan(expected)
            continue
        np.testing.assert_allclose(value, [expected], rtol=TOL, atol=TOL)


@pytest.mark.parametrize("name", CASES)
@settings(deadline=None, max_examples=60)
@given(lists)
def test_rows_not_retrieved_are_only_there_to_be_found(name, case):
    metric, options, formula = CASES[name]
    y, scores, retrieved, k = case
    relevant = [int(label >= 1) for label in y]
    rows = [i for i in range(len(y)) if retrieved[i]]
    n_relevant = sum(relevant)

    def full(ranked, k, n_relevant):
        if name == "bpref":  # judged rows that are not retrieved count in N
            least = min(n_relevant, len(y) - n_relevant) or 1
            above = [ranked[:i].count(0) for i, hit in enumerate(ranked) if hit]
            lost = sum(1 - min(n, n_relevant) / least for n in above)
            return lost / n_relevant if n_relevant else np.nan
        return formula(ranked, k, n_relevant)

    values = over_all_orders(relevant, scores, rows, full, k, n_relevant)
    if name not in WITHOUT_CUTOFF:
        options = {**options, "k": k}
    value = metric(
        *(y, scores, np.zeros(len(y))), **options, retrieved=retrieved, average=None
    )
    np.testing.assert_allclose(value, [np.mean(values)], rtol=TOL, atol=TOL)


@settings(deadline=None, max_examples=60)
@given(lists)
def test_bpref_leaves_out_rows_that_nobody_judged(case):
    y, scores, judged, _ = case
    rows = [i for i in range(len(y)) if judged[i]]
    value = bpref_score(y, scores, np.zeros(len(y)), judged=judged, average=None)
    if not rows:
        assert np.isnan(value)
        return
    kept = [[values[i] for i in rows] for values in (y, scores)]
    expected = bpref_score(*kept, np.zeros(len(rows)), average=None)
    np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("n_relevant", [1, 7, 500, 999])
@pytest.mark.parametrize("k", [1, 10, 400, 1000])
def test_a_long_block_equals_closed_forms(n_relevant, k):
    """Constant scores: what is expected of a random order of m rows, q relevant."""
    m, q = 1000, n_relevant
    y = (np.arange(m) < q).astype(float)
    flat = np.ones(m), np.zeros(m)
    missed = math.comb(m - k, q) / math.comb(m, q)
    assert hit_rate_score(y, *flat, k=k) == pytest.approx(1 - missed, rel=m * EPS)
    first = sum(
        math.comb(m - j, q - 1) / math.comb(m, q) / j
        for j in range(1, min(k, m - q + 1) + 1)
    )
    value = reciprocal_rank_score(y, *flat, k=k)
    assert value == pytest.approx(first, rel=m * EPS)
    chances = [
        math.comb(q, x) * math.comb(m - q, k - x) / math.comb(m, k)
        for x in range(min(q, k) + 1)
    ]
    places = np.arange(1, k + 1)
    expected = 0.0
    for x, chance in enumerate(chances):
        if x and chance:
            growth = (places - 1) * (x - 1) / max(k - 1, 1)
            expected += chance * ((1 + growth) / places).sum() / k
    value = average_precision_score(y, *flat, k=k, normalizer="found")
    assert value == pytest.approx(expected, rel=4 * m * EPS)


def ranked(y):
    return y, -np.arange(len(y)), np.zeros(len(y))


@pytest.mark.parametrize(
    ("normalizer", "expected"), [("all", 2 / 3), ("min", 1.0), ("found", 1.0)]
)
def test_the_three_divisors_of_ap_at_k_have_names(normalizer, expected):
    value = average_precision_score(*ranked([1, 1, 1, 0]), k=2, normalizer=normalizer)
    assert value == pytest.approx(expected, rel=EPS)


def test_a_list_without_a_hit_has_reciprocal_rank_0():
    y, scores, groups = [0, 0, 0, 0, 1, 0], [3, 2, 1, 3, 2, 1], [1, 1, 1, 2, 2, 2]
    assert reciprocal_rank_score(y, scores, groups) == 0.25
    assert reciprocal_rank_score(*ranked([0, 1, 1])) == 0.5


def test_average_precision_follows_the_scores():
    y = [1, 0, 0]
    assert average_precision_score(y, [0, 1, 2], [0] * 3) == pytest.approx(
        1 / 3, rel=EPS
    )
    assert average_precision_score(y, [2, 1, 0], [0] * 3) == 1.0


def test_precision_divides_by_k_even_beyond_the_list():
    assert precision_at_k_score(*ranked([1, 0]), k=4) == 0.25
    assert precision_at_k_score(*ranked([1, 0])) == 0.5


@pytest.mark.parametrize(
    "metric",
    [
        average_precision_score,
        recall_at_k_score,
        f_measure_at_k_score,
        r_precision_score,
        bpref_score,
        expected_search_length_score,
    ],
)
def test_a_list_without_a_relevant_row_is_undefined(metric):
    y, scores, groups = [0, 0, 1, 0], [1, 2, 2, 1], ["a", "a", "b", "b"]
    values = metric(y, scores, groups, average=None)
    assert np.isnan(values[0])
    assert not np.isnan(values[1])
    assert metric(y, scores, groups) == values[1]
    assert metric(y, scores, groups, empty=0.5) == (0.5 + values[1]) / 2
    with pytest.warns(UndefinedMetricWarning, match="undefined for every list"):
        assert metric(y[:2], scores[:2], groups[:2]) == 0.0


def test_the_geometric_mean_has_trec_evals_floor():
    y, scores, groups = [1, 0, 0, 1], [2, 1, 2, 1], [1, 1, 2, 2]
    assert average_precision_score(
        y, scores, groups, average="geometric"
    ) == pytest.approx(math.sqrt(0.5), rel=4 * EPS)
    value = average_precision_score(
        [1, 0, 0], [2, 1, 1], [1, 1, 2], empty=0.0, average="geometric"
    )
    assert value == pytest.approx(math.sqrt(1e-5), rel=8 * EPS)


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        (average_precision_score, {"normalizer": "R"}, "normalizer must be 'all'"),
        (rank_biased_precision_score, {"p": 1}, "p must be at least 0 and below 1"),
        (rank_biased_precision_score, {"p": "x"}, "p must be at least 0"),
        (f_measure_at_k_score, {"beta": 0}, "beta must be a positive finite"),
        (
            expected_search_length_score,
            {"n_wanted": 0},
            "n_wanted must be an inte",
        ),
        (recall_at_k_score, {"relevance_level": np.nan}, "relevance_level must be"),
        (bpref_score, {"judged": [1, 0, 1]}, "judged needs one bool per row"),
        (bpref_score, {"retrieved": [True]}, r"retrieved needs.*\(1,\) for 3 rows"),
        (precision_at_k_score, {"average": "geometric"}, "average must be 'mean' or"),
    ],
)
def test_wrong_options_are_named(metric, options, message):
    with pytest.raises(ValueError, match=message):
        metric([0, 1, 2], [1, 2, 3], [0, 0, 0], **options)


PUBLISHED = {
    "ap": average_precision_score,
    "map": average_precision_score,
    "mrr": reciprocal_rank_score,
    "precision": precision_at_k_score,
}


def test_values_asserted_in_other_projects_tests(published_values):
    entries = published_values
    distinct = set()
    for entry in entries:
        if entry["metric"] not in PUBLISHED:
            continue
        distinct.add(entry["metric"])
        options = {"relevance_level": entry.get("threshold", 1)}
        if entry.get("k") is not None:
            options["k"] = entry["k"]
        if "y_ranked" in entry:
            y, scores, groups = ranked(entry["y_ranked"])
        else:
            y, scores = entry["y_true"], entry["y_score"]
            sizes = entry.get("groups", [len(y)])
            groups = np.repeat(np.arange(len(sizes)), sizes)
        if "min(k" in entry.get("note", ""):
            options["normalizer"] = "min"
        if entry["metric"] == "ap":
            options["empty"] = 0.0
        if "XGBoost counts" in entry.get("note", ""):
            options["convention"] = "xgboost"
        value = PUBLISHED[entry["metric"]](y, scores, groups, **options)
        assert value == pytest.approx(entry["expected"], abs=entry["tol"]), entry
    assert distinct in ({"ap"}, set(PUBLISHED))  # those of pyltr, and of others too
    others = {entry["metric"] for entry in entries} - distinct
    assert others == {"dcg", "ndcg", "err", "kendall_tau"}  # beside their metrics


def test_lists_of_which_nothing_is_retrieved_have_a_precision_of_0():
    y, scores, groups = [1, 1, 1, 0], [4.0, 3.0, 2.0, 1.0], [7, 7, 8, 8]
    retrieved = [False, False, True, True]
    for k in (None, 1):
        value = precision_at_k_score(
            y, scores, groups, k=k, average=None, retrieved=retrieved
        )
        np.testing.assert_array_equal(value, [0.0, 0.5 if k is None else 1.0])


def test_scikit_learns_average_precision_refuses_a_cut_off_and_only_that():
    y, scores, groups = [1, 0, 1], [3.0, 2.0, 1.0], [7, 7, 7]
    value = average_precision_score(y, scores, groups, convention="sklearn")
    assert value == pytest.approx((1 + 2 / 3) / 2, abs=TOL)
    with pytest.raises(ValueError, match="no cut-off for average precision"):
        average_precision_score(y, scores, groups, k=2, convention="sklearn")
