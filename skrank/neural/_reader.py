"""The reader: a user vector from the history, a vector of each candidate in its set."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from skrank.neural._batches import Batch


class Reader(nn.Module):
    r"""Encode the history in its order, and the candidates as a set.

    With H = ``hidden_size``, the user vector starts as an affine function u_0 of the
    profile (0 without one) and, with ``history_encoder="lstm"``, is the last state of
    an LSTM over the browsed rows that starts at u_0 with cell 0; "mlp" makes it a
    perceptron of their mean and u_0. A list without history keeps u_0. Candidates:

    .. math::

        m_d = \tanh(W_1 x_d + W_2 u + b_1), \quad
        \alpha_{dd'} = \mathrm{softmax}_{d'}\bigl(W_Q m_d \cdot W_K m_{d'} / \sqrt H
        \bigr), \quad
        h_d = \mathrm{ReLU}\bigl(W_3 [x_d; u; \textstyle\sum_{d'} \alpha_{dd'} m_{d'}]
        + b_3\bigr)

    or, with ``set_encoder="mlp"``, a perceptron of [x_d; u] alone. Permuting the
    candidates permutes h.

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
        How the history is read; not at all without ``n_history``.
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
        size = self.hidden_size = hidden_size
        self.profile = None if n_profile is None else nn.Linear(n_profile, size)
        self.lstm = self.pooled = None
        if n_history is not None and history_encoder == "lstm":
            self.lstm = nn.LSTM(n_history, size, batch_first=True)
        elif n_history is not None and history_encoder == "mlp":
            self.pooled = _perceptron(n_history + size, size)
        self.message = self.alone = None
        if set_encoder == "attention":
            self.message = nn.Linear(n_features + size, size)  # W_1, W_2 and b_1
            self.query = nn.Linear(size, size, bias=False)
            self.key = nn.Linear(size, size, bias=False)
            self.output = nn.Linear(n_features + 2 * size, size)  # W_3 and b_3
        else:
            self.alone = _perceptron(n_features + size, size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return h of the candidates (n_lists, longest, H) and u (n_lists, H)."""
        user = self.read_user(batch)
        return self.dropout(self.read_set(batch.candidates, batch.valid, user)), user

    def read_user(self, batch: Batch) -> Tensor:
        """Return the user vector of each list, (n_lists, H)."""
        if self.profile is None or batch.profile is None:
            n_lists = len(batch.candidates)
            start = batch.candidates.new_zeros(n_lists, self.hidden_size)
        else:
            start = self.profile(batch.profile)
        if batch.history is None or batch.n_browsed is None:
            return start
        n_browsed = batch.n_browsed[:, None]
        if self.lstm is not None:
            state = start[None], torch.zeros_like(start)[None]
            states = self.lstm(batch.history, state)[0]
            # What follows a list's last row cannot reach its state there.
            last = (n_browsed - 1).clamp(min=0)[..., None]
            read = states.gather(1, last.expand(-1, 1, states.shape[-1]))[:, 0]
        elif self.pooled is not None:
            mean = batch.history.sum(1) / n_browsed.clamp(min=1)  # padding is 0
            read = self.pooled(torch.cat((mean, start), -1))
        else:
            return start
        return torch.where(n_browsed > 0, read, start)

    def read_set(self, candidates: Tensor, valid: Tensor, user: Tensor) -> Tensor:
        """Return the vector of each candidate, (n_lists, longest, H)."""
        user = user[:, None].expand(-1, candidates.shape[1], -1)
        rows = torch.cat((candidates, user), -1)
        if self.message is None:
            assert self.alone is not None
            return self.alone(rows)
        message = torch.tanh(self.message(rows))
        match = self.query(message) @ self.key(message).transpose(1, 2)
        match = match / math.sqrt(self.hidden_size)
        match = match.masked_fill(~valid[:, None], -torch.inf)
        seen = torch.softmax(match, -1) @ message
        return torch.relu(self.output(torch.cat((rows, seen), -1)))


def _perceptron(n_in: int, n_out: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(n_in, n_out), nn.ReLU(), nn.Linear(n_out, n_out), nn.ReLU()
    )
