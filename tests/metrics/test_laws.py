"""What holds for every metric of labels and scores, the ones to come included."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from skrank import metrics
from skrank.metrics._registry import METRICS as REGISTERED

METRICS = [  # click_score needs a model, and has tests of its own
    getattr(metrics, name)
    for name in metrics.__all__
    if name.endswith("_score") and name != "click_score"
]
LOWER_IS_BETTER = {  # as they are registered
    entry.metric.__name__ for entry in REGISTERED.values() if entry.name[:4] == "neg_"
}
# A new metric whose values may be above 1, or below 0, is named here.
UNBOUNDED = {"dcg_score", "expected_search_length_score"}
SIGNED = {"kendall_tau_score", "spearman_score"}
EPS = np.finfo(float).eps
# Sums in another order: one rounding a rank, and 30 rows have ties of 30 at most.
TOL = 128 * EPS

tables = st.lists(
    st.tuples(st.integers(0, 4), st.integers(-3, 3), st.integers(0, 3)),
    min_size=1,
    max_size=30,
)


def columns(table):
    y, scores, groups = map(np.array, zip(*table, strict=True))
    return y.astype(float), scores.astype(float), groups


def values(metric, *rows, **options):
    return metric(*rows, average=None, **options)


@pytest.mark.parametrize("metric", METRICS)
@settings(deadline=None, max_examples=30)
@given(tables, st.randoms(use_true_random=False))
def test_order_names_and_scale_do_not_matter(metric, table, random):
    y, scores, groups = columns(table)
    expected = values(metric, y, scores, groups)
    order = random.sample(range(len(y)), len(y))
    np.testing.assert_allclose(
        values(metric, y[order], scores[order], groups[order]), expected, rtol=TOL
    )
    names = np.array(["d", "c", "b", "a"])[groups]
    np.testing.assert_array_equal(values(metric, y, scores, names), expected[::-1])
    monotone = np.exp(scores) * 3 - 7
    np.testing.assert_array_equal(values(metric, y, monotone, groups), expected)


@pytest.mark.parametrize("metric", METRICS)
@settings(deadline=None, max_examples=30)
@given(tables, st.integers(0, 3))
def test_a_list_does_not_depend_on_other_lists(metric, table, label):
    y, scores, groups = columns(table)
    rows = groups == label
    if rows.any():
        of_list = values(metric, y, scores, groups)[
            metrics.list_labels(groups).tolist().index(label)
        ]
        alone = values(metric, y[rows], scores[rows], groups[rows])
        np.testing.assert_array_equal(alone, [of_list])


@pytest.mark.parametrize("metric", METRICS)
@settings(deadline=None, max_examples=30)
@given(tables, st.sampled_from([0.1, 0.25, 1.0, 3.0]), st.sampled_from([0.0, 1.0]))
def test_values_and_weighted_means_stay_within_bounds(metric, table, weight, empty):
    y, scores, groups = columns(table)
    weights = 1 + weight * groups
    options = {}
    if "empty" in inspect.signature(metric).parameters:
        options["empty"] = empty
    mean = metric(y, scores, groups, sample_weight=weights, **options)
    each = values(metric, y, scores, groups)
    low = -1.0 if metric.__name__ in SIGNED else 0.0
    high = np.inf if metric.__name__ in UNBOUNDED else 1.0
    for value in (mean, *each[~np.isnan(each)]):
        assert low <= value <= high, (
            f"{metric.__name__} is {value}, outside [{low}, {high}]: if that is right, "
            "add it to UNBOUNDED or SIGNED"
        )


@pytest.mark.parametrize("metric", METRICS)
@settings(deadline=None, max_examples=30)
@given(tables)
def test_the_order_by_label_is_the_best(metric, table):
    y, scores, groups = columns(table)
    sign = -1 if metric.__name__ in LOWER_IS_BETTER else 1
    best = sign * values(metric, y, y, groups)
    given_order = sign * values(metric, y, scores, groups)
    compared = ~np.isnan(given_order)  # constant scores have no tau
    assert (given_order <= best + TOL)[compared].all(), (
        f"{metric.__name__}: the order by label is not the best; where less is better, "
        "register it with greater_is_better=False"
    )


@pytest.mark.parametrize(
    "metric",
    [m for m in METRICS if "ties" in inspect.signature(m).parameters],
)
@settings(deadline=None, max_examples=30)
@given(tables)
def test_the_mean_over_orders_lies_between_worst_and_best(metric, table):
    y, scores, groups = columns(table)
    sign = -1 if metric.__name__ in LOWER_IS_BETTER else 1
    worst, mean, best = (
        sign * values(metric, y, scores, groups, ties=ties)
        for ties in ("worst", "average", "best")
    )
    known = ~np.isnan(mean)
    assert (worst <= mean + TOL)[known].all()
    assert (mean <= best + TOL)[known].all()


@pytest.mark.parametrize(
    "metric",
    [m for m in METRICS if "empty" in inspect.signature(m).parameters],
)
def test_the_warning_that_all_lists_are_undefined_points_at_the_caller(metric):
    with pytest.warns(
        UndefinedMetricWarning, match="undefined for every list"
    ) as caught:
        assert metric([0, 0], [1, 2], [0, 0]) == 0.0
    assert caught[0].filename == __file__
