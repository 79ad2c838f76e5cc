"""The arranger: worked numbers, gradients, masks and draws."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from skrank import Lists
from skrank.losses import ListMLE

torch = pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank.neural import _pointing  # noqa: E402
from skrank.neural._arranger import Arranger, arrangement_loss  # noqa: E402
from skrank.neural._decoding import Decoder, arrange  # noqa: E402
from skrank.neural._pointing import Pointing  # noqa: E402


@pytest.fixture(scope="module")
def worked(worked_numbers):
    return worked_numbers["starank"]


class Table(Decoder):
    """Scores by place and candidate that are given."""

    def __init__(self, scores):
        self.rows = torch.tensor(scores, dtype=torch.float64)[None]
        self.numbers = torch.arange(self.rows.shape[1]).repeat(1, 1)
        self.bound = 0.0

    def scores(self, place, n_lists, width):
        return self.rows[:, place][:, self.numbers[0, :width]]

    def take(self, lists, rows, slots, left):
        self.numbers[lists, slots] = self.numbers[lists, left]


def arranged(scores, generator=None):
    """Return the order in which a table of scores places its candidates."""
    sizes = np.array([len(scores)])
    return arrange([Table(scores)], sizes, generator)[0].tolist()


def draw(*shape, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return torch.tensor(scale * rng.standard_normal(shape))


@pytest.fixture
def arranger():
    torch.manual_seed(0)
    return Arranger(hidden_size=3, pointing_size=2, n_places=4).double()


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
    assert arranged(worked["step_scores"]) == worked["greedy_order"]


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
    inputs = [draw(2, 6, 3, seed=0), draw(2, 6, 3, seed=1), draw(3, seed=2)]
    for tensor in inputs:
        tensor.requires_grad_()
    assert torch.autograd.gradcheck(lambda *all_: Pointing.apply(*all_, upper), inputs)


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


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def log_probability(arranger, h, user, order):
    """Return log P of an order, from the formulas of the model written as loops."""
    p = {name: value.numpy() for name, value in arranger.state_dict().items()}
    h, state = h[0].numpy(), user[0].numpy()
    cell, before = np.zeros(len(state)), np.zeros(h.shape[1])
    left, total = list(range(len(h))), 0.0
    for place, chosen in enumerate(order):
        read = np.concatenate((before, np.eye(arranger.n_places)[min(place, 3)]))
        gates = p["lstm.weight_ih_l0"] @ read + p["lstm.bias_ih_l0"]
        gates = gates + p["lstm.weight_hh_l0"] @ state + p["lstm.bias_hh_l0"]
        i, f, g, o = np.split(gates, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        state = sigmoid(o) * np.tanh(cell)
        pointing = p["of_state.weight"] @ state + p["of_state.bias"]
        scores = np.tanh(h @ p["of_row.weight"].T + pointing) @ p["v.weight"][0]
        total += scores[chosen] - np.log(np.exp(scores[left]).sum())
        left.remove(chosen)
        before = h[chosen]
    return total


@torch.no_grad()
def test_teacher_forcing_follows_the_formulas_and_orders_add_up_to_one(arranger):
    h, user = draw(1, 4, 3), draw(1, 3, seed=1)
    total = 0.0
    for order in permutations(range(4)):
        forced = arranger(h[:, order], user)
        loss = arrangement_loss(forced, all_valid(1, 4)).item()
        expected = log_probability(arranger, h, user, order)
        assert -loss == pytest.approx(expected, abs=1e-12)
        total += np.exp(-loss)
    assert total == pytest.approx(1.0, abs=1e-12)


def greedy_order(arranger, h, user):
    """Return the best order, each place found by the likelihood of what it adds."""
    order, left = [], list(range(h.shape[1]))
    while left:
        chances = [log_probability(arranger, h, user, [*order, j]) for j in left]
        order.append(left.pop(int(np.argmax(chances))))
    return order


@pytest.mark.parametrize("exact", [True, False])
@torch.no_grad()
def test_decoding_takes_the_best_at_each_place_in_lists_of_any_length(arranger, exact):
    h, user, sizes = draw(3, 7, 3), draw(3, 3, seed=1), np.array([7, 4, 1])
    order = arrange([Decoder(arranger, h, user, exact)], sizes)
    for number, size in enumerate(sizes):
        of_list = h[number : number + 1, :size], user[number : number + 1]
        assert order[number, :size].tolist() == greedy_order(arranger, *of_list)
        assert order[number, size:].tolist() == list(range(size, 7))


@torch.no_grad()
def test_the_order_is_that_of_float64_where_float32_cannot_tell():
    torch.manual_seed(0)
    arranger = Arranger(hidden_size=8, pointing_size=8, n_places=4).double()
    # Candidates that differ by less than float32 can see.
    h = 1.0 + 1e-9 * draw(2, 40, 8)
    user, sizes = draw(2, 8, seed=1), np.array([40, 40])
    exact = arrange([Decoder(arranger, h, user, True)], sizes)
    assert torch.equal(arrange([Decoder(arranger, h, user)], sizes), exact)


@torch.no_grad()
def test_errors_of_float32_stay_within_their_bound():
    torch.manual_seed(0)
    arranger = Arranger(hidden_size=16, pointing_size=16, n_places=4).double()
    h, user = 30.0 * draw(5, 50, 16), draw(5, 16, seed=1)
    fast, exact = (Decoder(arranger, h, user, exact) for exact in (False, True))
    error = (fast.scores(0, 5, 50) - exact.scores(0, 5, 50)).abs().max()
    assert 0.0 < error < fast.bound < 1e-2


@torch.no_grad()
def test_several_networks_arrange_by_their_mean_scores():
    tables = [draw(4, 4, seed=seed).tolist() for seed in (0, 1)]
    mean = np.mean(tables, axis=0).tolist()
    order = arrange([Table(table) for table in tables], np.array([4]))
    assert order[0].tolist() == arranged(mean)


def test_later_places_than_known_count_as_the_last(arranger):
    like = torch.zeros(1, dtype=torch.float64)
    last = arranger.one_hot(3, 4, like)
    torch.testing.assert_close(arranger.one_hot(7, 8, like), last)


@pytest.mark.parametrize("upper", [True, False])
def test_gradients_do_not_depend_on_how_much_is_kept_for_them(upper, monkeypatch):
    inputs = [draw(2, 9, 3, seed=0), draw(2, 9, 3, seed=1), draw(3, seed=2)]
    outer, gradients = draw(2, 9, 9, seed=3), []
    for most_kept in (2**24, 200, 0):
        monkeypatch.setattr(_pointing, "MOST_KEPT", most_kept)
        tensors = [tensor.clone().requires_grad_() for tensor in inputs]
        Pointing.apply(*tensors, upper).backward(outer)
        gradients.append([tensor.grad for tensor in tensors])
    for others in gradients[1:]:
        for one, other in zip(gradients[0], others, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_draws_follow_the_probabilities_of_all_orders():
    scores = draw(3, 3)
    generator = torch.Generator().manual_seed(0)
    drawn = [tuple(arranged(scores.tolist(), generator)) for _ in range(1500)]
    orders = list(permutations(range(3)))
    chances = []
    for order in orders:
        table = scores[None][:, :, order]
        chances.append(np.exp(-arrangement_loss(table, all_valid(1, 3)).item()))
    counts = [drawn.count(order) for order in orders]
    assert chisquare(counts, 1500 * np.array(chances)).pvalue > 1e-3
