"""Intervals and tests over lists against SciPy and statsmodels."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from skrank.metrics import (
    bootstrap_interval,
    bpref_score,
    compare_scores,
    err_score,
    holm,
    ndcg_score,
)

EPS = np.finfo(float).eps


def paired(seed=0, n=40, shift=0.05):
    rng = np.random.default_rng(seed)
    first = rng.beta(2, 2, n)
    return first, first - shift + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("n", [2, 5, 10, 13])
@pytest.mark.parametrize("n_equal", [0, 1])
def test_few_lists_have_the_exact_share_of_signs(n, n_equal):
    a, b = paired(n=n)
    b[:n_equal] = a[:n_equal]
    d = a - b
    sums = [abs(np.dot(signs, d)) for signs in itertools.product([1.0, -1.0], repeat=n)]
    share = np.mean(np.array(sums) >= abs(d.sum()) - 1e-12)
    assert compare_scores(a, b).p_value == share
    result = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert compare_scores(a, b).p_value == pytest.approx(result.pvalue, rel=1e-12)


def test_equal_sums_count_in_spite_of_rounding():
    # 0.1 + 0.2 - 0.3 is not 0 in floats; four of eight sums reach 0.6 - 0 = 0.6.
    d = np.array([0.1, 0.2, 0.3])
    assert compare_scores(d, np.zeros(3)).p_value == 2 / 8
    assert compare_scores(d * [1, 1, -1], np.zeros(3)).p_value == 1


def test_many_lists_draw_signs():
    a, b = paired(shift=0.02)
    p = compare_scores(a, b, n_resamples=20_000, random_state=0).p_value
    result = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        vectorized=True,
        random_state=np.random.default_rng(1),
    )
    error = np.sqrt(2 * p * (1 - p) / 20_000)
    assert 0.01 < p < 0.9
    assert abs(p - result.pvalue) < 4.5 * error
    assert (p * 20_001) == pytest.approx(round(p * 20_001), abs=1e-6)
    # Never 0, since the order observed is one of those that could be.
    assert compare_scores(np.ones(40), np.zeros(40), n_resamples=99).p_value == 0.01


def test_true_nulls_are_rejected_as_often_as_promised():
    rng = np.random.default_rng(3)
    d = rng.standard_normal((400, 25))
    p = [
        compare_scores(row, np.zeros(25), n_resamples=200, random_state=i).p_value
        for i, row in enumerate(d)
    ]
    assert stats.kstest(p, "uniform").pvalue > 1e-3


def test_student_and_wilcoxon_are_those_of_scipy():
    a, b = paired()
    comparison = compare_scores(a, b, method="t", confidence=0.9)
    result = stats.ttest_rel(a, b)
    low, high = result.confidence_interval(0.9)
    assert comparison.p_value == pytest.approx(result.pvalue, rel=1e-12)
    assert comparison.low == pytest.approx(low, rel=1e-10)
    assert comparison.high == pytest.approx(high, rel=1e-10)
    p_value = compare_scores(a, b, method="wilcoxon").p_value
    assert p_value == pytest.approx(stats.wilcoxon(a, b).pvalue, rel=1e-12)
    # Beyond 50 lists that differ both take the statistic as normal.
    a, b = (values.round(1) for values in paired(n=90))
    assert np.count_nonzero(a - b) > 50
    tenths = np.rint(10 * a), np.rint(10 * b)  # where ties are ties in floats too
    p_value = compare_scores(a, b, method="wilcoxon").p_value
    expected = stats.wilcoxon(*tenths, method="approx").pvalue
    assert p_value == pytest.approx(expected, rel=1e-12)


def share_of_signs(d):
    """Return Wilcoxon's p value by all signs of the ranks, tied ones their mean."""
    d = d[d != 0]
    sizes = np.abs(d)
    ranks = np.array([(sizes < s).sum() + ((sizes == s).sum() + 1) / 2 for s in sizes])
    observed = ranks[d > 0].sum()
    sums = np.array(list(itertools.product([0, 1], repeat=len(d)))) @ ranks
    return min(1.0, 2 * min(np.mean(sums <= observed), np.mean(sums >= observed)))


@pytest.mark.parametrize("n", [2, 6, 12])
@pytest.mark.parametrize("seed", range(3))
def test_wilcoxon_counts_all_signs_of_tied_ranks(n, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, (2, n))
    a[0] = b[0] + 1
    expected = share_of_signs((a - b).astype(float))
    for first, second in ((a, b), (a / 10, b / 10), (a / 7 + 0.1, b / 7 + 0.1)):
        p_value = compare_scores(first, second, method="wilcoxon").p_value
        assert p_value == pytest.approx(expected, rel=1e-13)


def test_wilcoxon_of_tenths_is_that_of_whole_numbers():
    a, b = [0.3, 0.8, 0.2, 0.9, 0.6, 0.7], [0.2, 0.7, 0.3, 0.7, 0.5, 0.5]
    assert compare_scores(a, b, method="wilcoxon").p_value == 0.15625
    many = np.array(a * 8), np.array(b * 8)
    # The exact share of 2^48 signs, by whole numbers of ways to reach a sum.
    ways = {0: 1}
    doubled = [33] * 32 + [81] * 16  # ranks 1 to 32 are tied, and 33 to 48
    for rank in doubled:
        added = {}
        for total, count in ways.items():
            for reached in (total, total + rank):
                added[reached] = added.get(reached, 0) + count
        ways = added
    low = 33 * 8  # the negative differences
    tail = sum(count for total, count in ways.items() if total <= low)
    p_value = compare_scores(*many, method="wilcoxon").p_value
    assert p_value == pytest.approx(2 * tail / 2**48, rel=1e-13)


def test_lists_without_a_difference_do_not_move_wilcoxon():
    a, b = paired(n=30)
    plain = compare_scores(a, b, method="wilcoxon").p_value
    for n_equal in (1, 30, 300):
        same = np.full(n_equal, 0.5)
        p_value = compare_scores(
            np.append(a, same), np.append(b, same), method="wilcoxon"
        )
        assert p_value.p_value == plain


@pytest.mark.parametrize("method", ["randomization", "t", "wilcoxon"])
def test_differences_of_rounding_alone_are_none(method):
    comparison = compare_scores([0.1 + 0.2] * 12, [0.3] * 12, method=method)
    assert comparison.p_value == 1
    assert (comparison.low, comparison.difference, comparison.high) == (0, 0, 0)
    # One real difference among them counts as it does among exact ones.
    real = [0.8] + [0.1 + 0.2] * 11
    for observed in (real, [0.8] + [0.3] * 11):
        computed = compare_scores(observed, [0.3] * 12, method=method, random_state=0)
        expected = stats.ttest_1samp([0.5] + [0.0] * 11, 0).pvalue
        assert computed.p_value == pytest.approx(expected if method == "t" else 1.0)


@pytest.mark.parametrize("method", ["randomization", "t", "wilcoxon"])
@pytest.mark.parametrize("factor", [10.0, 1 / 3, 1e-200, 1e150])
def test_the_unit_of_a_metric_does_not_matter(method, factor):
    rng = np.random.default_rng(5)
    a, b = rng.binomial(10, 0.4, (2, 20, 30)) / 10  # precision at 10
    for first, second in zip(a, b, strict=True):
        one = compare_scores(
            first, second, method=method, n_resamples=500, random_state=0
        )
        two = compare_scores(
            first * factor, second * factor, method=method, n_resamples=500,
            random_state=0,
        )  # fmt: skip
        assert two.p_value == pytest.approx(one.p_value, rel=1e-10)
        ends = np.array([one.difference, one.low, one.high])
        computed = np.array([two.difference, two.low, two.high]) / factor
        np.testing.assert_allclose(computed, ends, rtol=1e-9, atol=1e-12)


def test_metrics_that_are_equal_in_exact_arithmetic_do_not_differ():
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(40), 7)
    y = rng.integers(0, 3, groups.size)
    scores = rng.standard_normal(groups.size)
    # Rows of equal labels change places: the sums run in another order.
    order = np.lexsort((rng.random(groups.size), y, groups))
    ranks = np.argsort(np.lexsort((-scores, groups)))
    for metric in (err_score, bpref_score, ndcg_score):
        one = metric(y, scores, groups, average=None)
        swapped = scores.copy()
        swapped[order] = scores[order]
        tied = np.round(scores, 1)
        two = metric(y[order], tied[order], groups[order], average=None)
        three = metric(y, tied, groups, average=None)
        assert compare_scores(two, three).p_value == 1
        assert compare_scores(one, metric(y, -ranks, groups, average=None)).p_value == 1


def test_values_that_overflow_are_refused():
    huge = [1e308, -1e308, 1e308]
    for a, b in ((huge, [0.5, 0.5, 0.5]), ([0.5, 0.5, 0.5], huge)):
        with pytest.raises(
            ValueError, match=r"values up to 1e\+308, whose sum overflows"
        ):
            compare_scores(a, b)
    with pytest.raises(ValueError, match=r"values up to 1e\+308, whose sum overflows"):
        bootstrap_interval(huge)
    with pytest.raises(ValueError, match="so large that their difference overflows"):
        compare_scores([1.5e308, 0.0], [-1.5e308, 0.0])


@pytest.mark.parametrize("method", ["randomization", "t", "wilcoxon"])
def test_equal_rankers_do_not_differ(method):
    a, _ = paired()
    comparison = compare_scores(a, a, method=method)
    assert comparison.p_value == 1
    assert (comparison.low, comparison.difference, comparison.high) == (0, 0, 0)


def test_a_constant_difference_leaves_no_doubt_to_student():
    comparison = compare_scores([0.75, 0.5], [0.5, 0.25], method="t")
    assert comparison.p_value == 0
    assert comparison.low == comparison.high == 0.25
    rounded = np.array([0.3, 0.7, 0.9])  # differences of 0.1 that rounding moves
    assert compare_scores(rounded, rounded - 0.1, method="t").p_value < 1e-20


@pytest.mark.parametrize("method", ["randomization", "t", "wilcoxon"])
def test_the_other_way_round_only_signs_change(method):
    a, b = paired()
    one = compare_scores(a, b, method=method, random_state=0)
    two = compare_scores(b, a, method=method, random_state=0)
    assert one.difference == -two.difference == pytest.approx(np.mean(a - b))
    assert one.p_value == two.p_value
    assert one.low == pytest.approx(-two.high, abs=0.005)
    assert one.low < one.difference < one.high


def test_lists_without_a_value_are_left_out_in_pairs():
    a, b = paired()
    with_gaps = np.append(a, [np.nan, 0.5, np.nan]), np.append(b, [0.5, np.nan, np.nan])
    full = compare_scores(a, b, random_state=0)
    gaps = compare_scores(*with_gaps, random_state=0)
    assert (gaps.n_lists, gaps.n_dropped) == (40, 3)
    assert (gaps.mean_a, gaps.mean_b, gaps.p_value, gaps.low) == (
        full.mean_a,
        full.mean_b,
        full.p_value,
        full.low,
    )
    assert "40 lists, 3 without a value left out" in str(gaps)
    assert "left out" not in str(full)
    interval = bootstrap_interval(with_gaps[0], random_state=0)
    assert interval.n_lists == 41
    assert interval.n_dropped == 2
    assert interval.mean == np.nanmean(with_gaps[0])


@pytest.mark.parametrize(
    ("method", "theirs"), [("percentile", "percentile"), ("bca", "BCa")]
)
def test_intervals_are_those_of_scipy(method, theirs):
    values = paired(n=30)[0] ** 4  # skewed, so that corrections matter
    interval = bootstrap_interval(
        values, method=method, n_resamples=40_000, random_state=0
    )
    result = stats.bootstrap(
        (values,), np.mean, method=theirs, n_resamples=40_000, batch=1000,
        random_state=np.random.default_rng(5),
    )  # fmt: skip
    # A quantile at 2.5 % of 40,000 means has an error of about 0.013 of their spread.
    spread = result.standard_error
    low, high = result.confidence_interval
    assert abs(interval.low - low) < 0.1 * spread
    assert abs(interval.high - high) < 0.1 * spread


def test_intervals_hold_the_mean_as_often_as_promised():
    rng = np.random.default_rng(4)
    held = [
        (i := bootstrap_interval(row, confidence=0.8, n_resamples=300, random_state=n))
        and i.low <= 0.5 <= i.high
        for n, row in enumerate(rng.uniform(size=(400, 60)))
    ]
    # 80 % of 400, four standard errors of 2 points, and a point that 60 lists cost.
    assert 0.71 < np.mean(held) < 0.88


def test_intervals_repeat_with_a_seed_and_take_what_metrics_return():
    rng = np.random.default_rng(0)
    groups, y = np.repeat(np.arange(30), 5), rng.integers(0, 3, 150)
    values = ndcg_score(y, rng.standard_normal(150), groups, average=None)
    one = bootstrap_interval(values, random_state=1)
    assert one == bootstrap_interval(values, random_state=1)
    assert one != bootstrap_interval(values, random_state=2)
    assert one.mean == np.nanmean(values)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_values_all_equal_have_an_interval_without_width(method):
    for values in ([0.3, 0.3, 0.3], [0.3]):
        interval = bootstrap_interval(values, method=method)
        assert interval.low == interval.high == 0.3


def test_many_lists_need_no_more_memory_at_once(monkeypatch):
    a, b = paired(n=500)
    recorded = []
    original = np.random.Generator.integers
    for module in ("_intervals", "_paired_tests"):
        monkeypatch.setattr(f"skrank.metrics.{module}.AT_ONCE", 10_000)

    class Watching(np.random.Generator):
        def integers(self, *args, size=None, **kwargs):
            recorded.append(np.prod(size))
            return original(self, *args, size=size, **kwargs)

    monkeypatch.setattr(
        "skrank.metrics._significance.generator_of",
        lambda seed: Watching(np.random.PCG64(0)),
    )
    compare_scores(a, b, n_resamples=200)
    assert max(recorded) <= 10_000


@pytest.mark.parametrize(
    "p", [[0.03], [0.01, 0.04, 0.03, 0.01], [0.9, 0.5, 0.0, 1.0, 0.2, 1e-9, 0.2]]
)
def test_holm_equals_statsmodels(p):
    expected = multipletests(p, method="holm")[1]
    np.testing.assert_allclose(holm(p), expected, rtol=8 * EPS)
    named = holm({str(i): value for i, value in enumerate(p)})
    assert list(named) == [str(i) for i in range(len(p))]
    np.testing.assert_array_equal(list(named.values()), holm(p))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_rejects_step_by_step(p):
    """In order, p_(j) is compared with 0.05 / (m - j + 1) until one is too large."""
    rejected = np.zeros(len(p), dtype=bool)
    for step, i in enumerate(np.argsort(p, kind="stable")):
        if p[i] * (len(p) - step) > 0.05:
            break
        rejected[i] = True
    np.testing.assert_array_equal(holm(p) <= 0.05, rejected)


@pytest.mark.parametrize("method", ["randomization", "t", "wilcoxon"])
def test_several_rankers_are_compared_one_by_one_and_corrected(method):
    rankers = {name: paired(seed)[0] for seed, name in enumerate("abc")}
    reference = paired(9, shift=0.1)[1]
    options = {"method": method, "n_resamples": 200, "random_state": 4}
    several = compare_scores(rankers, reference, **options)
    alone = {
        name: compare_scores(values, reference, **options)
        for name, values in rankers.items()
    }
    corrected = holm({name: result.p_value for name, result in alone.items()})
    assert list(several) == list("abc")
    for name, result in several.items():
        assert alone[name].p_holm is None
        assert result == replace(alone[name], p_holm=corrected[name])
        assert f"({method}, {corrected[name]:.3g} by Holm)" in str(result)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare_scores([1, 2], [1, 2, 3]), "values_a has 2 lists and"),
        (lambda: compare_scores([1, np.nan], [1, 2]), "at least two lists with both"),
        (lambda: compare_scores([1, 2], [1, 2], method="f"), "method must be 'random"),
        (lambda: compare_scores([1, 2], [1, 2], n_resamples=0), "n_resamples must be"),
        (lambda: compare_scores([1, 2], 0.5), "values_b must hold one number per list"),
        (lambda: bootstrap_interval([np.nan]), "values has no list with a value"),
        (lambda: bootstrap_interval([1, np.inf]), "values has 1 infinite values"),
        (lambda: bootstrap_interval([1, 2], method="t"), "method must be 'percentile'"),
        (lambda: bootstrap_interval([1, 2], confidence=95), "confidence must be"),
        (lambda: holm([0.5, 1.5]), "p_values must lie between 0 and 1"),
        (lambda: holm([np.nan]), "p_values must lie between 0 and 1"),
        (lambda: compare_scores({}, [1, 2]), "p_values must hold one number per test"),
        (lambda: holm([]), "p_values must hold one number per test"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
