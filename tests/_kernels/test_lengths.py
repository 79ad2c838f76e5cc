"""Every kernel compares the lengths of its arrays before it reads any of them."""

import importlib
import pkgutil
import types

import numpy as np
import pytest
from scipy.special import gammaln

import skrank._kernels
from skrank import Lists
from skrank._data.lists import Levels
from skrank.linear_model import LinearRanker
from skrank.losses import PMOP, Davidson, DavidsonLuce, ListMLE, RaoKupper

LISTS = Lists([5, 4, 3])
LEVELS = Levels(np.array([2.0, 1, 1, 0, 0, 3, 1, 1, 0, 2, 2, 1]), LISTS)
SCORES = np.array([0.3, -0.2, 0.8, 0.0, 0.0, 1.0, 0.5, -1.0, 0.1, 0.4, -0.3, 0.9])
DIRECTION = np.array([1.0, -0.5, 0.2, 0.0, 0.7, -0.1, 0.3, 0.6, -0.9, 0.4, 0.8, -0.2])


def levels(**others):
    """Return the arguments of a kernel that takes rows by level."""
    return {
        "scores": SCORES,
        "order": LEVELS.order,
        "level_starts": LEVELS.starts,
        "level_offsets": LEVELS.offsets,
        **others,
    }


def metric(labels="labels", **others):
    """Return the arguments of a kernel that takes rows list by list."""
    values = (np.arange(12) % 3 == 0).astype(float)
    return {labels: values, "scores": SCORES, "offsets": LISTS.offsets, **others}


def blocks(first, second, **others):
    """Return the arguments of a kernel that takes blocks of tied rows."""
    return {
        first: CHANCES,
        second: CHANCES,
        "starts": LEVELS.starts,
        "offsets": LEVELS.offsets,
        **others,
    }


CHANCES = np.sort(np.linspace(0.1, 0.9, 12))
STAGES = LEVELS.n_levels - 1

# Each kernel with arguments that fit, by module and name.
CALLS = {
    "listwise.plackett_luce": levels(
        n_stages=STAGES, weights=np.ones(LISTS.n_rows), efron=True
    ),
    "listwise.plackett_luce_curvature": levels(
        n_stages=STAGES,
        weights=np.ones(LISTS.n_rows),
        efron=True,
        direction=DIRECTION,
    ),
    "marginal.marginal": levels(
        n_stages=STAGES, weights=np.ones(LISTS.n_rows), direction=DIRECTION
    ),
    "pairwise.logistic": levels(
        level_gains=np.arange(float(LEVELS.n_levels.sum()))[::-1].copy(),
        shares=np.linspace(0.0, 2.0, LISTS.n_rows),
        most_pairs_a_row=250.0,
        direction=DIRECTION,
    ),
    "paired_ties.paired_ties": levels(
        scale=1.0,
        win=1.5,
        square=0.0,
        tie=2.0,
        most_pairs_a_row=250.0,
        direction=DIRECTION,
    ),
    "hinge.hinge": levels(
        shares=np.linspace(0.0, 2.0, LISTS.n_rows),
        width=np.inf,
        most_pairs_a_row=1.0,
        direction=DIRECTION,
    ),
    "quadratic.margin_squares": levels(margin=1.0),
    "subsets_arithmetic.arithmetic": levels(direction=DIRECTION),
    "subsets_geometric.geometric": levels(
        by_size=np.arange(3), log_weights=np.zeros(2), with_weights=True
    ),
    "subsets_enumerated.enumerate_stages": {
        "scores": SCORES,
        "starts": LISTS.starts,
        "sizes": LISTS.sizes,
        "log_weights": np.zeros(6),
        "arithmetic": False,
    },
    "race.among_first": {
        "scores": SCORES,
        "offsets": LISTS.offsets,
        "pivots": np.zeros(3),
        "steps": np.full(3, 0.2),
        "k": 2,
    },
    "sampling.contrast": levels(
        log_weights=np.array([-np.inf, 0, 0, 0, 0, 0]),
        metropolis=False,
        n_steps=1,
        seed=1,
        step=0,
        first_place=0,
    ),
    "sampling.ordered_partitions": {
        "scores": SCORES,
        "offsets": LISTS.offsets,
        "log_weights": np.array([-np.inf, 0, 0, 0, 0, 0]),
        "log_factorials": gammaln(np.arange(1.0, 7.0)),
        "arithmetic": False,
        "n_samples": 2,
        "seed": 1,
        "first_place": 0,
    },
    "metrics.best_first": {"scores": SCORES, "offsets": LISTS.offsets},
    "metrics.discounted_gain": metric(
        discount=np.array([1.0, 0.5]), tie=0, linear=False, normalize=True
    ),
    "metrics.count_pairs": metric(),
    "metrics.expected_reciprocal_rank": metric(cutoff=3, tie=0, max_grade=4.0),
    "binary.hits_within": metric("relevant", cutoffs=LISTS.sizes - 1, tie=0),
    "binary.hit_chance": metric("relevant", cutoffs=LISTS.sizes - 1, tie=0),
    "binary.average_precision": metric(
        "relevant", totals=np.full(3, 2.0), cutoff=3, tie=0, divisor=0
    ),
    "binary.reciprocal_rank": metric("relevant", cutoff=3, tie=0),
    "binary.search_length": metric("relevant", n_wanted=1, tie=0),
    "binary.binary_preference": metric(
        "judgments", n_relevant=np.full(3, 2.0), n_other=np.full(3, 2.0), tie=0
    ),
    "cascade.cascade_worth": blocks("value", "passing", rank_weight=np.ones(3)),
    "cascade.choose_rows": {
        "value": CHANCES,
        "passing": CHANCES,
        "starts": LISTS.offsets,
        "slots": np.array([2, 1, 3]),
        "largest": True,
    },
    "browsing.browsing_worth": blocks(
        "attraction",
        "utility",
        rank_weight=np.ones(3),
        table=np.full((3, 3), 0.5),
        limit=100,
    ),
    "browsing.count_orders": blocks("attraction", "utility", cutoff=3),
    "browsing_orders.browsing_extreme_order": blocks(
        "attraction",
        "utility",
        rank_weight=np.ones(3),
        table=np.full((3, 3), 0.5),
        wanted=np.ones(3, dtype=np.uint8),
        largest=True,
    ),
    "browsing_orders.browsing_search": {
        "attraction": CHANCES,
        "utility": CHANCES,
        "rank_weight": np.ones(3),
        "table": np.full((3, 3), 0.5),
        "offsets": LISTS.offsets,
        "wanted": np.ones(3, dtype=np.uint8),
    },
    "reading.scatter": {
        "values": np.ones(4),
        "columns": np.array([0, 2, 1, 0], dtype=np.int32),
        "row_ends": np.array([2, 3, 4]),
        "out": np.zeros((3, 3)),
    },
    "gemv.gradient_then_scores": {
        "X": np.ones((4, 3)),
        "slope": np.ones(4),
        "factor": 1.0,
        "gradient": np.zeros(3),
        "following": np.ones((5, 3)),
        "coef": np.ones(3),
        "scores": np.zeros(5),
    },
    "descent.descend": {
        "matrix": np.eye(3),
        "slope": np.ones(3),
        "point": np.zeros(3),
        "l1": np.zeros(3),
        "low": np.full(3, -1.0),
        "high": np.ones(3),
        "n_sweeps": 2,
        "share": 0.0,
    },
}
# Arrays whose length is free: the number of ranks that count, of subsets' sizes beyond
# those that occur, and of lines to read.
FREE = {
    ("metrics.discounted_gain", "discount"),
    ("subsets_enumerated.enumerate_stages", "scores"),
    ("cascade.cascade_worth", "rank_weight"),
    ("browsing.browsing_worth", "rank_weight"),
    ("browsing_orders.browsing_extreme_order", "rank_weight"),
    ("browsing_orders.browsing_search", "rank_weight"),
}
MAY_BE_LONGER = {"log_weights", "log_factorials"}
# Kernels without lists of rows.
OTHERS = {"race.n_nodes", "reading.parse_lines"}
CHANGES = [
    (call, name, change)
    for call, arguments in CALLS.items()
    for name, argument in arguments.items()
    for change in ("too short", "too long", "empty")
    if isinstance(argument, np.ndarray)
    and (call, name) not in FREE
    and not (change == "too long" and name in MAY_BE_LONGER)
]


# The kernels' own words, and those of products of features.
REFUSALS = r"must (have|rise|be below)|too few|do not fit|a slope of"


def run(call, arguments):
    module, name = call.split(".")
    module = importlib.import_module(f"skrank._kernels.{module}")
    return getattr(module, name)(**arguments)


def test_every_kernel_is_called_here():
    entries = {
        f"{module.name}.{name}"
        for module in pkgutil.iter_modules(skrank._kernels.__path__)
        for name, entry in vars(
            importlib.import_module(f"skrank._kernels.{module.name}")
        ).items()
        if not name.startswith("_")
        and (
            isinstance(entry, types.BuiltinFunctionType)
            or "cython_function" in type(entry).__name__  # of several types of arrays
        )
    }
    assert entries - OTHERS == set(CALLS)


@pytest.mark.parametrize("call", CALLS)
def test_arguments_that_fit_are_taken(call):
    run(call, CALLS[call])


@pytest.mark.parametrize(("call", "name", "change"), CHANGES)
def test_an_array_of_another_length_is_refused(call, name, change):
    array = CALLS[call][name]
    wrong = {
        "too short": array[:-1],
        "too long": np.concatenate((array, array[-1:])),
        "empty": array[:0],
    }[change]
    wrong = np.ascontiguousarray(wrong)
    with pytest.raises(ValueError, match=REFUSALS):
        run(call, {**CALLS[call], name: wrong})


@pytest.mark.parametrize("call", CALLS)
def test_none_is_no_array(call):
    optional = {"weights", "direction", "level_gains", "shares", "X", "following"}
    for name, argument in CALLS[call].items():
        if isinstance(argument, np.ndarray) and name not in optional:
            with pytest.raises(
                (TypeError, ValueError), match=r"None|fit|slope|matching"
            ):
                run(call, {**CALLS[call], name: None})


class Half(ListMLE):
    """A loss of a user who passes on fewer scores than there are rows."""

    def value_and_gradient(self, scores, prepared, lists):
        scores = scores[: len(scores) // 8].copy()
        return super().value_and_gradient(scores, prepared, lists)


def test_a_loss_that_drops_scores_raises_instead_of_writing_elsewhere():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 3)), rng.integers(0, 3, 6000)
    with pytest.raises(
        ValueError,
        match=r"scores must have [0-9]+ entries, one for each row, got [0-9]+",
    ):
        LinearRanker(Half()).fit(X, y, np.arange(6000) // 6)


@pytest.mark.parametrize(
    "loss", [PMOP(), PMOP("geometric"), Davidson(), RaoKupper(), DavidsonLuce()]
)
def test_five_scores_for_twelve_rows_are_refused(loss):
    y = np.array([2.0, 1, 1, 0, 0, 3, 1, 1, 0, 2, 2, 1])
    prepared = loss.prepare(y, LISTS)
    extra = loss.extra_parameters(y, LISTS)
    extra_arguments = (extra,) if len(extra) else ()
    match = "scores must have 12 entries, one for each row, got 5"
    with pytest.raises(ValueError, match=match):
        loss.value_and_gradient(SCORES[:5].copy(), prepared, LISTS, *extra_arguments)
    if not isinstance(loss, DavidsonLuce):  # whose products are differences
        with pytest.raises(ValueError, match=r"must have|needs one entry"):
            loss.hessian_product(
                SCORES[:5].copy(), prepared, LISTS, DIRECTION, *extra_arguments
            )
