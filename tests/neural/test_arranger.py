"""The arranger: worked numbers, gradients, masks and draws."""

import json
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from skrank import Lists
from skrank.losses import ListMLE

torch = pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank.neural._arranger import Arranger, arrangement_loss  # noqa: E402
from skrank.neural._pointing import Pointing  # noqa: E402


@pytest.fixture(scope="module")
def worked(shared):
    path = shared / "cases" / "math_cases.json"
    return json.loads(path.read_text())["starank"]


class Table(Arranger):
    """Scores by place and candidate that are given."""

    def __init__(self, scores):
        super().__init__(1, 1)
        self.scores = torch.tensor([scores], dtype=torch.float64)

    def step(self, rows, place, before, state):
        return self.scores[:, place], state


def arrange(scores, generator=None):
    """Return the order in which a table of scores places its candidates."""
    n = len(scores[0])
    h, user = torch.zeros(1, n, 1), torch.zeros(1, 1)
    valid = torch.ones(1, n, dtype=torch.bool)
    return Table(scores).arrange(h, user, valid, generator)[0][0].tolist()


def draw(*shape, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return torch.tensor(scale * rng.standard_normal(shape))


@pytest.fixture
def arranger():
    torch.manual_seed(0)
    return Arranger(hidden_size=3, n_places=4).double()


def all_valid(n_lists, n):
    return torch.ones(n_lists, n, dtype=torch.bool)


@pytest.mark.parametrize(
    ("masked", "case"), [("placed", "all_masked"), ("previous", "previous_masked")]
)
def test_worked_loss_and_gradient_of_both_readings(worked, masked, case):
    scores = torch.tensor(worked["step_scores"], dtype=torch.float64)
    scores.requires_grad_()
    ordered = scores[None, :, worked["target"]]
    loss = arrangement_loss(ordered, all_valid(1, 4), masked)
    loss.sum().backward()
    assert loss.item() == pytest.approx(worked[f"loss_{case}"], rel=1e-14)
    np.testing.assert_allclose(scores.grad, worked[f"grad_{case}"], atol=1e-15)


def test_worked_greedy_order(worked):
    assert arrange(worked["step_scores"]) == worked["greedy_order"]


def test_scores_without_places_give_the_loss_and_gradient_of_listmle():
    scores = draw(5)
    scores.requires_grad_()
    table = scores.expand(5, 5)[None]
    loss = arrangement_loss(table, all_valid(1, 5))
    loss.sum().backward()
    listmle, lists = ListMLE("order"), Lists([5])
    prepared = listmle.prepare(np.arange(5.0)[::-1].copy(), lists)
    values, gradient = listmle.value_and_gradient(
        scores.detach().numpy(), prepared, lists
    )
    assert loss.item() == pytest.approx(values[0], rel=1e-14)
    np.testing.assert_allclose(scores.grad, gradient, atol=1e-15)


@pytest.mark.parametrize("masked", ["placed", "previous"])
def test_gradients_of_the_loss_are_right(masked):
    valid = torch.tensor([[True] * 4, [True, True, False, False]])
    scores = draw(2, 4, 4).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda table: arrangement_loss(table, valid, masked), scores
    )


@pytest.mark.parametrize("upper", [True, False])
def test_gradients_of_the_scores_are_right(upper):
    given = [draw(2, 6, 3, seed=0), draw(2, 6, 3, seed=1), draw(3, seed=2)]
    for tensor in given:
        tensor.requires_grad_()
    assert torch.autograd.gradcheck(lambda *all_: Pointing.apply(*all_, upper), given)


def test_scores_are_those_of_the_formula():
    rows, states, v = draw(2, 6, 3, seed=0), draw(2, 6, 3, seed=1), draw(3, seed=2)
    whole = Pointing.apply(rows, states, v, False)
    for i, j in np.ndindex(6, 6):
        expected = (v * torch.tanh(rows[:, j] + states[:, i])).sum(-1)
        torch.testing.assert_close(whole[:, i, j], expected, rtol=0, atol=1e-14)
    half = Pointing.apply(rows, states, v, True)
    for i, j in zip(*np.triu_indices(6), strict=True):
        torch.testing.assert_close(half[:, i, j], whole[:, i, j], rtol=0, atol=1e-14)


@pytest.mark.parametrize("masked", ["placed", "previous"])
def test_gradients_of_the_arranger_are_right(arranger, masked):
    h, user = draw(2, 5, 3).requires_grad_(), draw(2, 3, seed=1).requires_grad_()
    valid = torch.tensor([[True] * 5, [True, True, True, False, False]])
    assert torch.autograd.gradcheck(
        lambda h, user: arrangement_loss(arranger(h, user, masked), valid, masked),
        (h, user),
    )


def test_a_list_has_the_same_loss_and_gradient_alone_and_padded(arranger):
    h, user = draw(1, 3, 3), draw(1, 3, seed=1)
    padded = torch.cat((h, 100.0 * draw(1, 2, 3, seed=2)), 1)
    longer = torch.cat((padded, draw(1, 5, 3, seed=3)))
    users = torch.cat((user, draw(1, 3, seed=4)))
    valid = torch.tensor([[True, True, True, False, False], [True] * 5])
    for masked in ("placed", "previous"):
        alone = arrangement_loss(arranger(h, user, masked), all_valid(1, 3), masked)
        longer.requires_grad_()
        longer.grad = None
        together = arrangement_loss(arranger(longer, users, masked), valid, masked)
        torch.testing.assert_close(together[0], alone[0], rtol=1e-12, atol=0)
        together[0].backward()
        assert (longer.grad[0, 3:] == 0).all()
        assert (longer.grad[1] == 0).all()
        assert (longer.grad[0, :3] != 0).any()


def log_probability(arranger, h, user, order):
    """Return log P of an order, one step of the decoder after the other."""
    rows, state = arranger.of_row(h), arranger.start(user)
    before, left, total = torch.zeros_like(user), list(range(h.shape[1])), 0.0
    for place, chosen in enumerate(order):
        scores, state = arranger.step(rows, place, before, state)
        total = total + scores[0, chosen] - scores[0, left].logsumexp(0)
        left.remove(chosen)
        before = h[:, chosen]
    return total


@torch.no_grad()
def test_teacher_forcing_is_the_decoder_step_by_step_and_orders_add_up_to_one(arranger):
    h, user = draw(1, 4, 3), draw(1, 3, seed=1)
    total = 0.0
    for order in permutations(range(4)):
        forced = arranger(h[:, order], user)
        loss = arrangement_loss(forced, all_valid(1, 4)).item()
        expected = log_probability(arranger, h, user, order).item()
        assert -loss == pytest.approx(expected, abs=1e-12)
        total += np.exp(-loss)
    assert total == pytest.approx(1.0, abs=1e-12)


def test_later_places_than_known_count_as_the_last(arranger):
    like = torch.zeros(1, dtype=torch.float64)
    last = arranger.one_hot(3, 4, like)
    torch.testing.assert_close(arranger.one_hot(7, 8, like), last)


def test_padding_is_placed_last_and_changes_nothing(arranger):
    h, user = draw(1, 3, 3), draw(1, 3, seed=1)
    alone, scores = arranger.arrange(h, user, all_valid(1, 3))
    padded = torch.cat((h, 100.0 * draw(1, 2, 3, seed=2)), 1)
    valid = torch.tensor([[True, True, True, False, False]])
    order, with_padding = arranger.arrange(padded, user, valid)
    assert order.tolist() == [[*alone[0].tolist(), 3, 4]]
    torch.testing.assert_close(with_padding[:, :3, :3], scores, rtol=1e-12, atol=0)
    assert (with_padding[:, :, 3:] == -torch.inf).all()
    for place, chosen in enumerate(alone[0].tolist()):
        assert (scores[0, place + 1 :, chosen] == -torch.inf).all()


def test_draws_follow_the_probabilities_of_all_orders():
    scores = draw(3, 3)
    generator = torch.Generator().manual_seed(0)
    drawn = [tuple(arrange(scores.tolist(), generator)) for _ in range(1500)]
    orders = list(permutations(range(3)))
    chances = []
    for order in orders:
        table = scores[None][:, :, order]
        chances.append(np.exp(-arrangement_loss(table, all_valid(1, 3)).item()))
    counts = [drawn.count(order) for order in orders]
    assert chisquare(counts, 1500 * np.array(chances)).pvalue > 1e-3
