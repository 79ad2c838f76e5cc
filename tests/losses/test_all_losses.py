"""Laws that every loss keeps. The losses and their oracles are listed in cases.py."""

import pickle
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import skrank.losses
from skrank import Lists

EPS = np.finfo(np.float64).eps
STEP = np.cbrt(EPS)  # of least error for central differences
SCALES = [0.0, 0.01, 1.0, 10.0, 100.0]

# One row, two rows in either order, two tied, ties, none, all tied, gaps, long.
LABELS = [
    [3],
    [1, 0],
    [0, 1],
    [2, 2],
    [1, 2, 0, 1],
    [4, 0, 2, 1, 3],
    [0, 0, 0, 0, 0],
    [1, 1, 1],
    [0, 7, 0, 2, 7, 7, 0, 2, 0],
    [0, 1, 0, 0, 2, 0, 1, 3, 0, 0, 1, 0, 4, 0, 2, 1, 0, 0, 1, 0] * 2,
]


class Problem:
    """Scores and labels of some lists, and a loss prepared for them."""

    def __init__(self, case, scores, labels):
        self.case, self.loss = case, case.loss
        self.lists = Lists([len(part) for part in labels])
        self.scores = np.array(scores, dtype=np.float64)
        y = self.labels = np.concatenate(labels).astype(np.float64)
        with row_order_allowed(case):
            self.y = self.loss.check_labels(y, self.lists)
        self.prepared = self.loss.prepare(self.y, self.lists)
        start = self.loss.extra_parameters(self.y, self.lists)
        # Away from the start, which may be a special point.
        self.extra = start + 0.3 * np.cos(np.arange(len(start)))

    def __call__(self, scores=None, extra=None):
        """Return values, gradient, and the gradient in the extra parameters."""
        scores = self.scores if scores is None else scores
        extra = self.extra if extra is None else extra
        extra_arguments = (extra,) if len(extra) else ()
        result = self.loss.value_and_gradient(
            scores, self.prepared, self.lists, *extra_arguments
        )
        values, gradient = result[:2]
        in_extra = result[2] if extra_arguments else np.empty((len(self.lists), 0))
        assert values.shape == (len(self.lists),)
        assert gradient.shape == (self.lists.n_rows,)
        assert in_extra.shape == (len(self.lists), len(extra))
        return values, gradient, in_extra

    def hessian_product(self, direction):
        extra_arguments = (self.extra,) if len(self.extra) else ()
        return self.loss.hessian_product(
            self.scores, self.prepared, self.lists, direction, *extra_arguments
        )

    def parts(self):
        """Yield the rows of each list as a slice."""
        for start, stop in zip(
            self.lists.offsets[:-1], self.lists.offsets[1:], strict=True
        ):
            yield slice(start, stop)

    def oracle(self):
        """Return the value of each list by the plain loop."""
        return np.array(
            [
                self.case.oracle(
                    self.scores[part].tolist(), self.y[part].tolist(), *self.extra
                )
                for part in self.parts()
            ]
        )

    def rounding(self):
        """Return a bound on the rounding of each list's value.

        A value adds at most n^2 terms (one a pair), each rounded in proportion to the
        scores and parameters, or to their squares where it grows with them; the n^2
        roundings of the partial sums walk at random, a factor n.
        """
        sizes = self.lists.sizes.astype(float)
        largest = 1.0 + self.lists.max(np.abs(self.scores))
        largest += np.abs(self.extra).max(initial=0.0)
        return EPS * (4 + sizes) * sizes**2 * largest**self.case.degree


@contextmanager
def row_order_allowed(case):
    """Ignore the warning of a loss that says that it depends on row order."""
    with warnings.catch_warnings():
        if case.row_order_of_ties:
            warnings.simplefilter("ignore", UserWarning)
        yield


def example(case, scale=1.0, labels=LABELS):
    """Return lists chosen by hand, with normal scores times a scale."""
    rng = np.random.default_rng(8)
    n_rows = sum(map(len, labels))
    if case.negative_labels:
        labels = [[label - 1.5 for label in part] for part in labels]
    return Problem(case, scale * rng.standard_normal(n_rows), labels)


@st.composite
def lists_of_rows(draw, distinct=False):
    """Draw one to four lists of labels, and scores for their rows."""
    label = st.integers(0, 4)
    if distinct:
        sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
        labels = [draw(st.permutations(range(size))) for size in sizes]
    else:
        one_list = st.lists(label, min_size=1, max_size=8)
        labels = draw(st.lists(one_list, min_size=1, max_size=4))
    n_rows = sum(map(len, labels))
    score = st.floats(-50.0, 50.0)
    return draw(st.lists(score, min_size=n_rows, max_size=n_rows)), labels


quick = settings(max_examples=30, deadline=None, derandomize=True)


def test_every_public_loss_is_listed(all_cases):
    public = set(skrank.losses.__all__) - {"Loss"}
    assert public == {type(case.loss).__name__ for case in all_cases}


@pytest.mark.parametrize("scale", SCALES)
def test_the_value_equals_a_plain_loop(case, scale):
    problem = example(case, scale)
    values = problem()[0]
    expected = problem.oracle()
    assert (np.abs(values - expected) <= problem.rounding()).all()


@quick
@given(data=st.data())
def test_the_value_of_any_lists_equals_a_plain_loop(case, data):
    problem = Problem(case, *data.draw(lists_of_rows()))
    assert (np.abs(problem()[0] - problem.oracle()) <= problem.rounding()).all()


@pytest.mark.parametrize("scale", SCALES)
def test_the_gradient_equals_central_differences(case, scale):
    problem = example(case, scale)
    gradient = problem()[1]
    place = np.arange(problem.lists.n_rows) - problem.lists.expand(problem.lists.starts)
    differences = np.empty_like(gradient)
    for moved in range(problem.lists.sizes.max()):
        # The same place of every list at once: lists do not mix.
        change = np.where(place == moved, STEP, 0.0)
        above = problem(problem.scores + change)[0]
        below = problem(problem.scores - change)[0]
        slope = problem.lists.expand((above - below) / (2 * STEP))
        differences[place == moved] = slope[place == moved]
    tolerance = problem.rounding() / STEP + STEP**2 * problem.lists.sizes
    error = problem.lists.max(np.abs(gradient - differences))
    assert (error <= tolerance).all()


def test_the_gradient_in_extra_parameters_equals_central_differences(case):
    problem = example(case)
    in_extra = problem()[2]
    for number in range(len(problem.extra)):
        change = STEP * (np.arange(len(problem.extra)) == number)
        above = problem(extra=problem.extra + change)[0]
        below = problem(extra=problem.extra - change)[0]
        differences = (above - below) / (2 * STEP)
        tolerance = problem.rounding() / STEP + STEP**2 * problem.lists.sizes**2
        assert (np.abs(in_extra[:, number] - differences) <= tolerance).all()


@pytest.mark.parametrize("scale", [*SCALES, 1000.0])
def test_the_gradient_sums_to_zero_in_each_list(case, scale):
    problem = example(case, scale)
    total = problem.lists.sum(problem()[1])
    assert (np.abs(total) <= problem.rounding()).all()


def test_lists_together_equal_lists_apart(case):
    problem = example(case)
    together = problem()
    for number, part in enumerate(problem.parts()):
        lists = Lists([part.stop - part.start])
        prepared = problem.loss.prepare(problem.y[part], lists)
        extra_arguments = (problem.extra,) if len(problem.extra) else ()
        apart = problem.loss.value_and_gradient(
            problem.scores[part], prepared, lists, *extra_arguments
        )
        bound = problem.rounding()[number]
        assert_allclose(apart[0], together[0][[number]], rtol=0, atol=bound)
        assert_allclose(apart[1], together[1][part], rtol=0, atol=bound)
        if extra_arguments:
            assert_allclose(apart[2], together[2][[number]], rtol=0, atol=bound)


@quick
@given(data=st.data())
def test_neither_row_order_nor_names_of_groups_matter(case, data):
    drawn = data.draw(lists_of_rows(distinct=case.row_order_of_ties))
    scores, labels = np.array(drawn[0]), np.concatenate(drawn[1])
    groups = np.repeat(np.arange(len(drawn[1])), [len(part) for part in drawn[1]])
    rows = np.array(data.draw(st.permutations(range(len(scores)))))
    names = np.array(["the first", "7", "a list", "Q"])[groups]
    with row_order_allowed(case):
        value = case.loss(scores, labels, groups)
        shuffled = case.loss(scores[rows], labels[rows], names[rows])
    bound = Problem(case, *drawn).rounding().max()
    assert_allclose(shuffled, value, rtol=0, atol=bound)


def test_the_gradient_goes_with_the_rows(case):
    labels = [[5, 3, 8, 1, 2, 9]] if case.row_order_of_ties else [[2, 0, 2, 1, 0, 0]]
    problem = example(case, labels=labels)
    rows = np.array([3, 0, 5, 1, 4, 2])
    shuffled = Problem(case, problem.scores[rows], [problem.labels[rows]])
    bound = problem.rounding().max()
    assert_allclose(shuffled()[1], problem()[1][rows], rtol=0, atol=bound)


def test_a_constant_added_to_a_list_changes_nothing(case):
    problem = example(case)
    shift = problem.lists.expand(np.linspace(-40.0, 25.0, len(problem.lists)))
    moved = Problem(
        case, problem.scores + shift, [problem.y[p] for p in problem.parts()]
    )
    moved.prepared = problem.prepared
    before, after, bound = problem(), moved(), moved.rounding()
    assert (np.abs(after[0] - before[0]) <= bound).all()
    assert (problem.lists.max(np.abs(after[1] - before[1])) <= bound).all()


def test_scores_of_a_thousand_give_the_exact_value(case):
    problem = example(case)
    problem.scores = 1e3 * np.sign(problem.scores)
    values, gradient, in_extra = problem()
    assert np.isfinite(gradient).all()
    assert np.isfinite(in_extra).all()
    assert (np.abs(values - problem.oracle()) <= problem.rounding()).all()


def test_lists_of_one_row_have_no_loss(case):
    problem = Problem(case, [3.0, -700.0, 0.0], [[0], [2], [1]])
    values, gradient, in_extra = problem()
    assert_allclose(values, 0.0, atol=problem.rounding().max())
    assert_allclose(gradient, 0.0, atol=4 * EPS)
    assert_allclose(in_extra, 0.0, atol=4 * EPS)


@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0])
def test_the_hessian_product_equals_differences_of_the_gradient(case, scale):
    problem = example(case, scale)
    direction = np.random.default_rng(3).standard_normal(problem.lists.n_rows)
    product = problem.hessian_product(direction)
    above = problem(problem.scores + STEP * direction)[1]
    below = problem(problem.scores - STEP * direction)[1]
    differences = (above - below) / (2 * STEP)
    tolerance = problem.rounding() / STEP + 9 * STEP**2 * problem.lists.sizes
    assert (problem.lists.max(np.abs(product - differences)) <= tolerance).all()


def test_the_hessian_is_symmetric_and_ignores_constants(case):
    problem = example(case)
    rng = np.random.default_rng(4)
    u, v = rng.standard_normal((2, problem.lists.n_rows))
    left = problem.lists.sum(u * problem.hessian_product(v))
    right = problem.lists.sum(v * problem.hessian_product(u))
    # The default of Loss is differences of the gradient, good to rounding / STEP.
    own = type(problem.loss).hessian_product is not skrank.losses.Loss.hessian_product
    exact = own and case.exact_hessian
    tolerance = problem.rounding() * problem.lists.sizes / (1.0 if exact else STEP)
    assert (np.abs(left - right) <= tolerance).all()
    constant = problem.hessian_product(np.ones(problem.lists.n_rows))
    assert (problem.lists.max(np.abs(constant)) <= tolerance).all()


def test_the_number_of_terms_is_counted(case):
    problem = example(case)
    expected = [case.n_terms(problem.y[part].tolist()) for part in problem.parts()]
    assert_array_equal(problem.loss.n_terms(problem.prepared, problem.lists), expected)


def test_inputs_are_not_written_to_and_results_are_fresh(case):
    problem = example(case)
    problem.scores.flags.writeable = False
    problem.y.flags.writeable = False
    problem.prepared = problem.loss.prepare(problem.y, problem.lists)
    first = problem()
    kept = [array.copy() for array in first]
    for array in first:  # the objective scales gradients in place
        array *= -3.0
    for again, before in zip(problem(), kept, strict=True):
        assert_array_equal(again, before)


def test_the_loss_can_be_cloned_pickled_and_typed_in_again(case):
    problem = example(case)
    typed_in = eval(repr(case.loss), vars(skrank.losses).copy())
    for copy in [clone(case.loss), pickle.loads(pickle.dumps(case.loss)), typed_in]:
        assert copy.get_params() == case.loss.get_params()
        prepared = copy.prepare(problem.y, problem.lists)
        extra_arguments = (problem.extra,) if len(problem.extra) else ()
        values = copy.value_and_gradient(
            problem.scores, prepared, problem.lists, *extra_arguments
        )[0]
        assert_array_equal(values, problem()[0])


@pytest.mark.parametrize(
    ("scores", "y", "groups", "complaint"),
    [
        ([0.0, 1.0], [1, 0], None, "no groups were given"),
        ([0.0, np.nan], [1, 0], [0, 0], "scores has 1 NaN"),
        ([0.0, 1.0], [1, np.inf], [0, 0], "y has 0 NaN and 1 infinite"),
        ([0.0, 1.0], [1, 0, 2], [0, 0, 0], "scores has 2 entries and y has 3"),
    ],
)
def test_bad_arguments_are_named(case, scores, y, groups, complaint):
    with pytest.raises(ValueError, match=complaint):
        case.loss(scores, y, groups)


def test_labels_below_zero_are_taken_or_refused_with_advice(case):
    scores, y, groups = [0.2, 0.1, 0.5], [-1.0, 0.5, 2.0], [0, 0, 0]
    if case.negative_labels:
        assert np.isfinite(case.loss(scores, y, groups))
    else:
        with pytest.raises(ValueError, match=r"labels of at least 0, got -1\.0"):
            case.loss(scores, y, groups)
