"""The arranger: a pointer network that places one candidate after the other."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from skrank.neural._encoders import FLOAT32
from skrank.neural._pointing import Pointing


class Arranger(nn.Module):
    r"""Score candidates at each place, given those placed before.

    .. math::

        s^i_d = v \cdot \tanh(W_h h_d + W_g g_i), \qquad
        P(\pi) = \prod_i \frac{\exp s^i_{\pi_i}}
            {\sum_{d \notin \pi_{<i}} \exp s^i_d}

    with g_i the state of an LSTM that starts at the user vector with cell 0 and reads,
    before place i, the vector h of the candidate placed at i - 1 (zeros at first) and
    the place i as a one-hot vector.

    Parameters
    ----------
    hidden_size : int
        Size of h, u and g.
    pointing_size : int
        Size of v.
    n_places : int
        Length of the one-hot vector; later places count as the last.
    """

    def __init__(self, hidden_size: int, pointing_size: int, n_places: int) -> None:
        super().__init__()
        self.n_places = n_places
        size, dtype = hidden_size, FLOAT32
        self.lstm = nn.LSTM(size + n_places, size, batch_first=True, dtype=dtype)
        self.of_row = nn.Linear(size, pointing_size, bias=False, dtype=dtype)  # W_h
        self.of_state = nn.Linear(size, pointing_size, dtype=dtype)  # W_g
        self.v = nn.Linear(pointing_size, 1, bias=False, dtype=dtype)

    def one_hot(self, first: int, stop: int, like: Tensor) -> Tensor:
        """Return the places from ``first`` to ``stop`` - 1 as one-hot vectors."""
        place = torch.arange(first, stop, device=like.device)
        place = place.clamp(max=self.n_places - 1)
        return nn.functional.one_hot(place, self.n_places).to(like.dtype)

    def forward(self, ordered: Tensor, user: Tensor, masked: str = "placed") -> Tensor:
        """Return the scores at each place when the rows are placed in their order.

        Parameters
        ----------
        ordered : Tensor of shape (n_lists, longest, H)
            Vectors h in the order of an arrangement.
        user : Tensor of shape (n_lists, H)
            User vectors.
        masked : {"placed", "previous"}, default="placed"
            Which scores :func:`arrangement_loss` will not read.

        Returns
        -------
        scores : Tensor of shape (n_lists, longest, longest)
            By place and by candidate, in the order of the arrangement; with "placed"
            0 for candidates placed before.
        """
        before = torch.zeros_like(ordered)
        before[:, 1:] = ordered[:, :-1]
        places = self.one_hot(0, ordered.shape[1], ordered)
        places = places.expand(len(ordered), -1, -1)
        start = user[None].contiguous(), torch.zeros_like(user)[None]
        states = self.lstm(torch.cat((before, places), -1), start)[0]
        rows, states = self.of_row(ordered), self.of_state(states)
        return Pointing.apply(rows, states, self.v.weight[0], masked == "placed")


def arrangement_loss(scores: Tensor, valid: Tensor, masked: str = "placed") -> Tensor:
    r"""Return minus the log-probability of each list's arrangement.

    .. math::

        -\sum_i \Bigl( s^i_i - \log \sum_{d \in A_i} \exp s^i_d \Bigr)

    with candidates numbered by the arrangement, and A_i those not placed before i:
    the exact negative log-likelihood. With ``masked="previous"`` A_i is all but the
    candidate placed at i - 1, as the paper's equation 16 reads literally. Where scores
    do not depend on i, the first is the loss of ListMLE.

    Parameters
    ----------
    scores : Tensor of shape (n_lists, longest, longest)
        By place and by candidate, in the order of the arrangement.
    valid : bool Tensor of shape (n_lists, longest)
        Which candidates are not padding, in the order of the arrangement.
    masked : {"placed", "previous"}, default="placed"
        Which candidates cannot be chosen.

    Returns
    -------
    loss : Tensor of shape (n_lists,)
        In nats.
    """
    place = torch.arange(scores.shape[1], device=scores.device)
    if masked == "placed":
        open_ = place >= place[:, None]
    else:
        open_ = place != place[:, None] - 1
    # At padding only the place itself may be chosen, so that its term is 0, not NaN.
    diagonal = torch.eye(len(place), dtype=torch.bool, device=scores.device)
    open_ = (open_ & valid[:, None, :] & valid[:, :, None]) | diagonal
    total = scores.masked_fill(~open_, -torch.inf).logsumexp(-1)
    return (total - scores.diagonal(dim1=1, dim2=2)).sum(-1)
