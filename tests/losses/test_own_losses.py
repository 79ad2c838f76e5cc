"""Losses of one's own: signatures without ``extra``, mixins, what is missing."""

import numpy as np
import pytest

from skrank import LinearRanker
from skrank.losses import Loss

SCORES, Y, GROUPS = [1.0, 0.0, 3.0, 3.0], [2, 0, 1, 1], ["a", "a", "b", "b"]


class Squares:
    """The quadratic loss about the mean of each list, without ``extra``."""

    def prepare(self, y, lists):
        return y - lists.expand(lists.sum(y) / lists.sizes)

    def value_and_gradient(self, scores, prepared, lists):
        mean = lists.expand(lists.sum(scores) / lists.sizes)
        error = scores - mean - prepared
        return lists.sum(error**2) / 2, error


class Mixed(Squares, Loss):
    """The loss of a mixin left of Loss."""


class Doubled(Mixed):
    """A loss that calls its base as it was written, without ``extra``."""

    def value_and_gradient(self, scores, prepared, lists):
        values, gradient = super().value_and_gradient(scores, prepared, lists)
        return 2 * values, 2 * gradient


class ByName(Squares, Loss):
    """A loss with a parameter of its own, which it takes by name alone."""

    def value_and_gradient(self, scores, prepared, lists, *, extra):
        values, gradient = super().value_and_gradient(scores, prepared, lists)
        return values + extra[0], gradient, np.ones((lists.n_lists, 1))

    def extra_parameters(self, y, lists):
        return np.array([7.0])


@pytest.mark.parametrize(
    ("loss", "value"), [(Mixed(), 0.125), (Doubled(), 0.25), (ByName(), 7.125)]
)
def test_a_mixin_left_of_loss_may_leave_extra_out(loss, value):
    assert loss(SCORES, Y, GROUPS) == value


def test_a_ranker_learns_by_a_mixin():
    X = np.random.default_rng(0).standard_normal((40, 2))
    y, groups = X @ [1.0, -2.0], np.repeat(np.arange(10), 4)
    ranker = LinearRanker(Mixed(), alpha=0).fit(X, y, groups)
    np.testing.assert_allclose(ranker.coef_, [1.0, -2.0], rtol=1e-6)


def test_too_many_arguments_are_refused_and_not_dropped():
    with pytest.raises(TypeError, match="takes 4 positional arguments but 6 were"):
        Mixed().value_and_gradient(1, 2, 3, 4, 5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'width'"):
        Mixed().value_and_gradient(1, 2, 3, width=4)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ((), r"^Mine must define prepare\(self, y, lists\)"),
        (
            ("prepare",),
            r"^Mine must define value_and_gradient\(self, scores, prepared, lists\)",
        ),
    ],
)
def test_what_a_loss_lacks_is_named(methods, message):
    own = {name: getattr(Squares, name) for name in methods}
    Mine = type("Mine", (Loss,), own)
    with pytest.raises(NotImplementedError, match=message):
        Mine()(SCORES, Y, GROUPS)
    with pytest.raises(NotImplementedError, match=r"Mine must define subset_model"):
        Mine().subset_model(np.empty(0), 3)
