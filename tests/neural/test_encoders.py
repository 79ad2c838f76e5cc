"""The encoders: formulas by loops, order of history, sets of candidates, padding."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank.neural._batches import (  # noqa: E402
    MOST_PAIRS,
    Batch,
    Ragged,
    bounded_parts,
    drawn_batches,
    like_sizes,
)
from skrank.neural._encoders import Encoder  # noqa: E402

H, N_FEATURES, N_HISTORY, N_PROFILE = 4, 3, 2, 2


def encoder(set_encoder="attention", history_encoder="lstm", profile=True):
    torch.manual_seed(0)
    made = Encoder(
        N_FEATURES, N_HISTORY, N_PROFILE if profile else None, H,
        set_encoder, history_encoder, 0.0,
    )  # fmt: skip
    return made.double()


def lists(sizes, n_browsed, seed=0, longest=None):
    """Return a batch, its padding 0."""
    rng = np.random.default_rng(seed)
    sizes, n_browsed = torch.tensor(sizes), torch.tensor(n_browsed)
    longest = longest or int(sizes.max())
    valid = torch.arange(longest) < sizes[:, None]
    candidates = torch.zeros(len(sizes), longest, N_FEATURES, dtype=torch.float64)
    rows = []
    profile = torch.zeros(len(sizes), N_PROFILE, dtype=torch.float64)
    for number in range(len(sizes)):  # list by list, so that a list is the same alone
        shape = int(sizes[number]), N_FEATURES
        candidates[number, valid[number]] = torch.tensor(rng.standard_normal(shape))
        rows.append(rng.standard_normal((int(n_browsed[number]), N_HISTORY)))
        profile[number] = torch.tensor(rng.standard_normal(N_PROFILE))
    return Batch(candidates, valid, sizes.numpy(), histories(rows), profile)


def histories(rows):
    """Return histories as networks read them."""
    sizes = np.array([len(table) for table in rows])
    ragged = Ragged(np.concatenate(rows), sizes, torch.float64, torch.device("cpu"))
    return ragged.histories(np.arange(len(rows)))


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@torch.no_grad()
def test_the_encoders_follow_the_formulas_written_as_loops():
    net, batch = encoder(), lists([3], [2])
    p = {name: value.numpy() for name, value in net.state_dict().items()}
    u = p["users.profile.weight"] @ batch.profile[0].numpy() + p["users.profile.bias"]
    cell = np.zeros(H)
    for row in batch.histories[0].rows[0].numpy():
        gates = p["users.lstm.weight_ih_l0"] @ row + p["users.lstm.bias_ih_l0"]
        gates = gates + p["users.lstm.weight_hh_l0"] @ u + p["users.lstm.bias_hh_l0"]
        i, f, g, o = np.split(gates, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        u = sigmoid(o) * np.tanh(cell)
    of_set = {
        name.removeprefix("candidates."): value
        for name, value in p.items()
        if name.startswith("candidates.")
    }
    query, key = of_set["query.weight"], of_set["key.weight"]
    rows = [np.concatenate((x, u)) for x in batch.candidates[0].numpy()]
    m = [
        np.tanh(of_set["message.weight"] @ row + of_set["message.bias"]) for row in rows
    ]
    for d, row in enumerate(rows):
        match = [(query @ m[d]) @ (key @ other) / np.sqrt(H) for other in m]
        alpha = np.exp(match) / np.exp(match).sum()
        attended = sum(a * other for a, other in zip(alpha, m, strict=True))
        pre = of_set["output.weight"] @ np.concatenate((row, attended))
        pre = pre + of_set["output.bias"]
        h, user = net(batch)
        np.testing.assert_allclose(h[0, d].numpy(), np.maximum(pre, 0.0), atol=1e-13)
        np.testing.assert_allclose(user[0].numpy(), u, atol=1e-13)


@pytest.mark.parametrize("set_encoder", ["attention", "mlp"])
@torch.no_grad()
def test_permuted_candidates_have_permuted_vectors(set_encoder):
    net, batch = encoder(set_encoder), lists([5], [2])
    order = [3, 0, 4, 1, 2]
    permuted = replace(batch, candidates=batch.candidates[:, order])
    torch.testing.assert_close(
        net(permuted)[0], net(batch)[0][:, order], rtol=0, atol=1e-13
    )


@torch.no_grad()
def test_only_attention_sees_the_other_candidates():
    batch = lists([3], [2])
    changed = batch.candidates.clone()
    changed[0, 2] += 1.0
    other = replace(batch, candidates=changed)
    for set_encoder, sees in [("attention", True), ("mlp", False)]:
        net = encoder(set_encoder)
        same = torch.equal(net(batch)[0][0, 0], net(other)[0][0, 0])
        assert same is not sees


@torch.no_grad()
def test_the_lstm_reads_the_history_in_its_order_and_the_mean_does_not():
    batch = lists([3], [4])
    turned = replace(
        batch, histories=histories([batch.histories[0].rows[0].numpy()[::-1]])
    )
    for history_encoder, in_order in [("lstm", True), ("mlp", False)]:
        net = encoder(history_encoder=history_encoder)
        same = torch.allclose(net(batch)[1], net(turned)[1], rtol=0, atol=1e-13)
        assert same is not in_order


@pytest.mark.parametrize("history_encoder", ["lstm", "mlp", None])
@pytest.mark.parametrize("set_encoder", ["attention", "mlp"])
@torch.no_grad()
def test_a_list_is_read_the_same_alone_and_padded(set_encoder, history_encoder):
    net = encoder(set_encoder, history_encoder)
    h, user = net(lists([2, 5, 3], [0, 1, 6], longest=7))
    alone_h, alone_user = net(lists([2], [0]))
    torch.testing.assert_close(h[:1, :2], alone_h, rtol=0, atol=1e-13)
    torch.testing.assert_close(user[:1], alone_user, rtol=0, atol=1e-13)


@torch.no_grad()
def test_without_history_the_user_is_the_profile_and_without_both_zero():
    batch = lists([2], [0])
    for history_encoder in ("lstm", "mlp", None):
        net = encoder(history_encoder=history_encoder)
        expected = net.users.profile(batch.profile)
        torch.testing.assert_close(net(batch)[1], expected, rtol=0, atol=0)
        assert (encoder("mlp", history_encoder, profile=False)(batch)[1] == 0).all()


def test_gradients_are_right_and_finite_with_an_empty_history():
    net, batch = encoder(), lists([2, 3], [0, 2])

    def read(candidates, rows, profile):
        browsed = (replace(batch.histories[0], rows=rows),)
        inputs = replace(
            batch, candidates=candidates, histories=browsed, profile=profile
        )
        h, user = net(inputs)
        return h * batch.valid[..., None], user

    inputs = [batch.candidates, batch.histories[0].rows, batch.profile]
    for table in inputs:
        table.requires_grad_()
    assert torch.autograd.gradcheck(read, inputs)
    read(*inputs)[0].sum().backward()
    assert (batch.candidates.grad[0, 2:] == 0).all()


def test_ragged_rows_become_padded_tables():
    rows = np.arange(8.0).reshape(4, 2)
    ragged = Ragged(rows, np.array([1, 0, 3]), torch.float64, torch.device("cpu"))
    table, valid = ragged.padded(np.array([2, 1, 0]))
    assert valid.tolist() == [[True] * 3, [False] * 3, [True, False, False]]
    np.testing.assert_array_equal(table[0], rows[1:])
    np.testing.assert_array_equal(table[2, 0], rows[0])
    assert (table[~valid] == 0).all()
    assert ragged.padded(np.array([1]))[0].shape == (1, 1, 2)


def test_batches_hold_each_list_once_and_pad_little():
    sizes = np.random.default_rng(0).integers(1, 100, size=101)
    batches = drawn_batches(np.arange(101), sizes, 10, np.random.RandomState(0))
    assert sorted(np.concatenate(batches)) == list(range(101))
    assert max(len(batch) for batch in batches) == 10
    padded = sum(len(batch) * sizes[batch].max() for batch in batches)
    assert padded < 1.3 * sizes.sum()


def test_long_and_short_histories_are_read_apart():
    sizes = np.array([5, 900, 0, 7, 6, 1000, 5, 5])
    parts = [list(lists) for lists in like_sizes(sizes)]
    assert parts == [[5, 1], [3, 4, 0, 6, 7]]
    assert [list(part) for part in like_sizes(np.array([20, 15, 10]))] == [[0, 1, 2]]
    assert list(like_sizes(np.array([0, 0]))) == []
    rows = np.arange(2.0 * sizes.sum()).reshape(-1, 2)
    ragged = Ragged(rows, sizes, torch.float64, torch.device("cpu"))
    starts = np.cumsum(sizes) - sizes
    for part, read in zip(parts, ragged.histories(np.arange(8)), strict=True):
        assert read.lists.tolist() == part
        assert read.sizes.tolist() == sizes[part].tolist()
        assert read.rows.shape == (len(part), sizes[part].max(), 2)
        for table, number in zip(read.rows, part, strict=True):
            own = rows[starts[number] :][: sizes[number]]
            np.testing.assert_array_equal(table[: sizes[number]], own)
            assert (table[sizes[number] :] == 0).all()


def test_parts_of_a_step_hold_each_list_once_and_bound_pairs_and_rows():
    sizes = np.array([3, 2000, 1, 1500, 10, 10, 1000, 1000])
    parts = list(bounded_parts(np.arange(8), sizes, most_rows=2000))
    assert sorted(np.concatenate(parts)) == list(range(8))
    assert [list(sizes[part]) for part in parts] == [
        [2000], [1500], [1000, 1000], [10, 10, 3, 1]
    ]  # fmt: skip
    for part in parts:
        pairs = len(part) * sizes[part].max() ** 2
        assert len(part) == 1 or pairs <= MOST_PAIRS
