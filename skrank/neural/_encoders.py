"""Encoders: a user vector from the history, a vector of each candidate in its set."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from skrank.neural._batches import Batch, Histories

FLOAT32 = torch.float32  # of all layers, whatever torch's default is


class HistoryEncoder(nn.Module):
    """Encode the user of each list as a vector of size H.

    It starts as an affine function u_0 of the profile (0 without one) and, of kind
    "lstm", is the last state of an LSTM over the browsed rows that starts at u_0 with
    cell 0; "mlp" makes it a perceptron of their mean and u_0. A list without history
    keeps u_0.

    Parameters
    ----------
    n_history, n_profile : int or None
        Features of a browsed row and of a profile; None without them.
    hidden_size : int
        H.
    kind : {"lstm", "mlp"} or None
        How the history is read; not at all without ``n_history``.
    """

    def __init__(
        self,
        n_history: int | None,
        n_profile: int | None,
        hidden_size: int,
        kind: str | None,
    ) -> None:
        super().__init__()
        size = self.hidden_size = hidden_size
        self.profile = None
        if n_profile is not None:
            self.profile = nn.Linear(n_profile, size, dtype=FLOAT32)
        self.lstm = self.pooled = None
        if n_history is not None and kind == "lstm":
            self.lstm = nn.LSTM(n_history, size, batch_first=True, dtype=FLOAT32)
        elif n_history is not None and kind == "mlp":
            self.pooled = perceptron(n_history + size, size)

    @property
    def knows_users(self) -> bool:
        """Whether a vector can be other than 0."""
        layers = self.profile, self.lstm, self.pooled
        return any(layer is not None for layer in layers)

    def forward(self, batch: Batch) -> Tensor:
        """Return the user vector of each list, (n_lists, H)."""
        if self.profile is None or batch.profile is None:
            n_lists = len(batch.candidates)
            start = batch.candidates.new_zeros(n_lists, self.hidden_size)
        else:
            start = self.profile(batch.profile)
        user = start
        for histories in batch.histories or ():
            read = self._read(histories, start[histories.lists])
            user = user.index_copy(0, histories.lists, read)
        return user

    def _read(self, histories: Histories, start: Tensor) -> Tensor:
        """Return the vectors of users with a history, who start at (n, H)."""
        if self.lstm is not None:
            states = self.lstm(
                histories.rows, (start[None], torch.zeros_like(start)[None])
            )[0]
            # Padding after the last row of a list cannot change the state at that row.
            last = (histories.sizes - 1)[:, None, None]
            return states.gather(1, last.expand(-1, 1, states.shape[-1]))[:, 0]
        if self.pooled is not None:
            mean = histories.rows.sum(1) / histories.sizes[:, None]  # padding is 0
            return self.pooled(torch.cat((mean, start), -1))
        return start


class SetEncoder(nn.Module):
    r"""Encode candidates as a set, with attention to each other.

    .. math::

        m_d = \tanh(W_1 x_d + W_2 u + b_1), \quad
        \alpha_{dd'} = \mathrm{softmax}_{d'}\bigl(W_Q m_d \cdot W_K m_{d'} / \sqrt H
        \bigr), \quad
        h_d = \mathrm{ReLU}\bigl(W_3 [x_d; u; \textstyle\sum_{d'} \alpha_{dd'} m_{d'}]
        + b_3\bigr)

    Permuting the candidates permutes h. Products with u are taken once a list.
    """

    def __init__(self, n_features: int, hidden_size: int) -> None:
        super().__init__()
        size, self.n_features = hidden_size, n_features
        # W_1, W_2 and b_1
        self.message = nn.Linear(n_features + size, size, dtype=FLOAT32)
        self.query = nn.Linear(size, size, bias=False, dtype=FLOAT32)
        self.key = nn.Linear(size, size, bias=False, dtype=FLOAT32)
        # W_3 and b_3
        self.output = nn.Linear(n_features + 2 * size, size, dtype=FLOAT32)

    def forward(
        self, candidates: Tensor, valid: Tensor | None, user: Tensor | None
    ) -> Tensor:
        """Return h (n_lists, longest, H).

        ``user`` is None for zeros, ``valid`` where nothing is padding.
        """
        message = torch.tanh(with_user(self.message, candidates, user))
        # As one head, so that torch computes in blocks and never stores all pairs.
        # torch divides by the root of the size.
        others = functional.scaled_dot_product_attention(
            self.query(message)[:, None],
            self.key(message)[:, None],
            message[:, None],
            None if valid is None else valid[:, None, None],
        )[:, 0]
        size = message.shape[-1]
        output = with_user(self.output, candidates, user)
        output = output + functional.linear(others, self.output.weight[:, -size:])
        return torch.relu(output)


class RowEncoder(nn.Module):
    """Encode each candidate alone: a perceptron of [x; u]."""

    def __init__(self, n_features: int, hidden_size: int) -> None:
        super().__init__()
        self.layers = perceptron(n_features + hidden_size, hidden_size)

    def forward(
        self, candidates: Tensor, valid: Tensor | None, user: Tensor | None
    ) -> Tensor:
        """Return h (n_lists, longest, H).

        ``user`` is None for zeros, ``valid`` where nothing is padding.
        """
        first = with_user(self.layers[0], candidates, user)
        return self.layers[1:](first)


class Encoder(nn.Module):
    """Encode users and candidates.

    Parameters
    ----------
    n_features : int
        Features of a candidate.
    n_history, n_profile : int or None
        Features of a browsed row and of a profile; None without them.
    hidden_size : int
        H.
    set_encoder : {"attention", "mlp"}
        Whether candidates see each other.
    history_encoder : {"lstm", "mlp"} or None
        How the history is read.
    dropout : float
        Share of the entries of h set to 0 in training.
    """

    def __init__(
        self,
        n_features: int,
        n_history: int | None,
        n_profile: int | None,
        hidden_size: int,
        set_encoder: str,
        history_encoder: str | None,
        dropout: float,
    ) -> None:
        super().__init__()
        self.users = HistoryEncoder(n_history, n_profile, hidden_size, history_encoder)
        kind = SetEncoder if set_encoder == "attention" else RowEncoder
        self.candidates = kind(n_features, hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return h of the candidates (n_lists, longest, H) and u (n_lists, H)."""
        user = self.users(batch)
        known = user if self.users.knows_users else None
        is_full = batch.sizes.min() == batch.candidates.shape[1]
        valid = None if is_full else batch.valid
        h = self.candidates(batch.candidates, valid, known)
        return self.dropout(h), user


def with_user(layer: nn.Linear, candidates: Tensor, user: Tensor | None) -> Tensor:
    """Return the first part of a layer of [x; u; ...], its products with x and u."""
    n_features = candidates.shape[-1]
    out = functional.linear(candidates, layer.weight[:, :n_features], layer.bias)
    if user is None:
        return out
    of_user = layer.weight[:, n_features : n_features + user.shape[-1]]
    return out + functional.linear(user, of_user)[:, None]


def perceptron(n_in: int, n_out: int) -> nn.Sequential:
    """Return two layers with ReLU."""
    return nn.Sequential(
        nn.Linear(n_in, n_out, dtype=FLOAT32),
        nn.ReLU(),
        nn.Linear(n_out, n_out, dtype=FLOAT32),
        nn.ReLU(),
    )
